import numpy as np
import pytest
from library.problems import keep_the_contract, orthonormal
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from ismlit import datasets
from ismlit.estimators.kdac import KDAC, nmi_with_known
from ismlit.grams import gram
from ismlit.kernels import Gaussian


@pytest.mark.filterwarnings("ignore:n_components = n_features")  # checks with one feature
@parametrize_with_checks([KDAC(bandwidth="median"), KDAC(normalize="none", kernel="linear")])
def test_scikit_learn_contract(estimator, check):
    keep_the_contract(estimator, check)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:n_components = n_features", "ignore:no bandwidth")
@parametrize_with_checks([KDAC()])
def test_scikit_learn_contract_as_it_comes(estimator, check):
    keep_the_contract(estimator, check)


@pytest.fixture
def views():
    X, known, other = datasets.make_four_gaussians(120, 4, random_state=0)
    return scale(X), known, other


def test_finds_the_other_view(views):
    X, known, other = views
    model = KDAC(2, bandwidth=1.0, random_state=0).fit(X, known)
    assert normalized_mutual_info_score(other, model.labels_) > 0.9  # one of 120 may be wrong
    assert model.known_nmi_ < 0.05
    assert np.diff(model.history_["objective"]).min() > -1e-9
    assert model.certificate().is_second_order


def test_without_the_known_clustering_it_would_be_found_again():
    """On unequal views the strong one is found first, and the weak one only as alternative."""
    rng = np.random.default_rng(0)
    a, b = np.arange(120) % 2, np.arange(120) // 2 % 2
    X = np.c_[4 * a, 2.5 * b, np.zeros((120, 2))] + 0.5 * rng.standard_normal((120, 4))
    options = dict(n_components=1, bandwidth=1.0, random_state=0)
    first = KDAC(2, **options).fit(X)
    second = KDAC(2, **options).fit(X, first.labels_)
    assert nmi_with_known(first.labels_, a) > 0.95 and np.isnan(first.known_nmi_)
    assert nmi_with_known(second.labels_, b) > 0.8 and second.known_nmi_ < 0.05


def test_several_known_clusterings():
    rng = np.random.default_rng(1)
    bits = (np.arange(160)[:, None] >> np.arange(3)) & 1
    X = np.c_[6 * bits, np.zeros(160)] + 0.5 * rng.standard_normal((160, 4))
    model = KDAC(2, 1, Gaussian(1.0), random_state=0).fit(X, bits[:, :2])
    assert normalized_mutual_info_score(bits[:, 2], model.labels_) > 0.9
    assert model.known_nmi_ == nmi_with_known(model.labels_, bits[:, :2]) < 0.05


def test_quality_and_objective_are_the_traces_they_say(views):
    X, known, _ = views
    model = KDAC(2, bandwidth=1.0, penalty=0.7, random_state=0).fit(X, known)
    K = gram(Gaussian(1.0), X, model.W_)
    D = K.sum(axis=1)
    H = np.eye(len(X)) - 1 / len(X)
    Q = H @ (K / np.sqrt(np.outer(D, D))) @ H
    U, Y = model.embedding_, H @ np.eye(2)[known]
    assert model.quality_ == pytest.approx(np.trace(U.T @ Q @ U), rel=1e-9)
    penalty = np.trace(Y.T @ Q @ Y) / np.linalg.norm(Y, 2) ** 2
    assert model.result_.objective == pytest.approx(model.quality_ - 0.7 * penalty, rel=1e-9)


def test_fit_predict_heeds_what_is_known(views):
    X, known, _ = views
    model = KDAC(2, bandwidth=1.0, random_state=0)
    assert nmi_with_known(model.fit_predict(X, known), known) == model.known_nmi_ < 0.05


def test_known_nmi_is_the_largest_agreement():
    labels, other = np.arange(8) % 2, np.arange(8) // 4
    assert nmi_with_known(labels, np.c_[other, labels]) == pytest.approx(1.0)
    assert nmi_with_known(labels, other) == pytest.approx(0.0)


def test_columns_of_u_are_those_asked_for(views):
    X, known, _ = views
    options = dict(bandwidth=1.0, random_state=0)
    assert KDAC(3, **options).fit(X, known).embedding_.shape == (120, 2)
    assert KDAC(2, n_vectors=3, **options).fit(X, known).embedding_.shape == (120, 3)


def test_nothing_to_avoid_is_no_warning(views):
    X, known, _ = views
    KDAC(2, 4, bandwidth=1.0, random_state=0).fit(X)
    KDAC(2, 4, bandwidth=1.0, penalty=0, random_state=0).fit(X, known)
    with pytest.warns(UserWarning, match="cannot be avoided"):
        KDAC(2, bandwidth=1.0, random_state=0).fit(X[:, :1], known)


def test_names_of_clusters_do_not_matter(views):
    X, known, _ = views
    options = dict(bandwidth=1.0, random_state=0)
    by_number = KDAC(2, **options).fit(X, known)
    by_name = KDAC(2, **options).fit(X, np.array(["b", "a"])[known])
    moved = KDAC(2, **options).fit(X, known * 7 - 1)
    assert_allclose(by_name.W_, by_number.W_, atol=1e-10)
    assert_allclose(moved.W_, by_number.W_, atol=1e-10)


def test_a_turn_of_the_features_turns_w(views, rng):
    X, known, _ = views
    R = orthonormal(4, 4, rng)
    options = dict(bandwidth=1.0, random_state=0)
    plain, turned = KDAC(2, **options).fit(X, known), KDAC(2, **options).fit(X @ R, known)
    same = plain.W_ @ plain.W_.T, R @ turned.W_ @ turned.W_.T @ R.T
    assert_allclose(*same, atol=1e-4)  # the solver's tolerance


@pytest.mark.filterwarnings("ignore:no bandwidth")  # five clusters are more than there are
def test_all_directions_leave_nothing_to_choose(views):
    X, known, _ = views
    assert KDAC(5, random_state=0).fit(X, known).W_.shape == (4, 3)  # the default leaves one out
    more = np.c_[X, X.sum(axis=1)]  # and a column that others determine is no direction more
    assert KDAC(5, random_state=0).fit(more, known).W_.shape == (5, 3)
    with pytest.warns(UserWarning, match="cannot be avoided"):
        KDAC(2, n_components=4).fit(X, known)


@pytest.mark.parametrize(
    "y, words",
    [
        (np.zeros(120, int), "at least two classes"),
        (np.arange(100) % 2, "one row per sample"),
        (np.linspace(0, 1, 120), "Unknown label type"),
        (np.r_[np.nan, np.arange(119) % 2], "NaN"),
        (np.array(["a", 1] * 60, dtype=object), "y mixes numbers and words"),
    ],
)
def test_bad_known_labels_are_refused(views, y, words):
    with pytest.raises(ValueError, match=words):
        KDAC().fit(views[0], y)


def test_bad_input_is_refused(views):
    X, known, _ = views
    with pytest.raises(ValueError, match="n_clusters=200"):
        KDAC(200).fit(X, known)
    with pytest.raises(ValueError, match="n_components = 9"):
        KDAC(2, 9).fit(X, known)
    with pytest.raises(ValueError, match="positive row sums"):
        KDAC(kernel="linear").fit(X, known)
    with pytest.warns(ConvergenceWarning, match="a single one cannot show it"):
        KDAC(max_turns=1).fit(X, known)


def test_input_is_neither_changed_nor_kept(views):
    X, known, _ = views
    copies = X.copy(), known.copy()
    model = clone(KDAC(2, random_state=0)).fit(X, known)
    assert np.array_equal(X, copies[0]) and np.array_equal(known, copies[1])
    assert model.result_.result.problem is None


def test_a_narrow_bandwidth_is_reached_from_a_wide_one():
    """Afresh a few samples are split off; the walk keeps to the plane that the wide one saw."""
    X, side, parabola = datasets.make_two_views(300, 3, random_state=0)
    X = scale(X)
    model = KDAC(random_state=0).fit(X, side)
    sigma = model.kernel_.sigma
    assert sigma == model.tried_["bandwidth"][np.argmax(model.tried_["silhouette"])]
    assert normalized_mutual_info_score(parabola, model.labels_) > 0.95
    afresh = KDAC(bandwidth=sigma, random_state=0).fit(X, side)
    assert normalized_mutual_info_score(parabola, afresh.labels_) < 0.5
    assert model.result_.objective > afresh.result_.objective


def test_known_columns_of_numbers_and_of_words_together():
    X, y = load_iris(return_X_y=True)
    known = np.empty((150, 2), dtype=object)
    known[:, 0], known[:, 1] = y, np.array(["a", "b"])[np.arange(150) % 2]
    model = KDAC(2, 2, bandwidth="median", random_state=0).fit(scale(X), known)
    assert 0 <= model.known_nmi_ <= 1
