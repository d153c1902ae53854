import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score, silhouette_score
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from ismlit import datasets
from ismlit.bandwidth import median_distance
from ismlit.dependence import normalized_hsic
from ismlit.kdac import KDAC, _preference, novelty, search
from ismlit.kernels import Gaussian
from ismlit.pairs import gram
from tests.problems import orthonormal


@pytest.mark.filterwarnings("ignore:n_components = n_features")  # checks with one feature
@parametrize_with_checks([KDAC(bandwidth="median"), KDAC(normalize="none", kernel="linear")])
def test_scikit_learn_contract(estimator, check):
    if "array_api" in str(check):
        pytest.skip("the estimator works on numpy arrays only")
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:n_components = n_features")
@parametrize_with_checks([KDAC()])
def test_scikit_learn_contract_as_it_comes(estimator, check):
    test_scikit_learn_contract(estimator, check)


@pytest.fixture
def views():
    X, known, other = datasets.make_four_gaussians(120, 4, random_state=0)
    return scale(X), known, other


def test_finds_the_other_view(views):
    X, known, other = views
    model = KDAC(2, bandwidth=1.0, random_state=0).fit(X, known)
    assert normalized_mutual_info_score(other, model.labels_) > 0.9  # one of 120 may be wrong
    assert model.novelty_ < 0.05
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
    assert novelty(first.labels_, a) > 0.95 and np.isnan(first.novelty_)
    assert novelty(second.labels_, b) > 0.8 and second.novelty_ < 0.05


def test_several_known_clusterings():
    rng = np.random.default_rng(1)
    bits = (np.arange(160)[:, None] >> np.arange(3)) & 1
    X = np.c_[6 * bits, np.zeros(160)] + 0.5 * rng.standard_normal((160, 4))
    model = KDAC(2, 1, Gaussian(1.0), random_state=0).fit(X, bits[:, :2])
    assert normalized_mutual_info_score(bits[:, 2], model.labels_) > 0.9
    assert model.novelty_ == novelty(model.labels_, bits[:, :2]) < 0.05


def test_quality_and_objective_are_the_traces_they_say(views):
    X, known, _ = views
    model = KDAC(2, bandwidth=1.0, weight=0.7, random_state=0).fit(X, known)
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
    assert novelty(model.fit_predict(X, known), known) == model.novelty_ < 0.05


def test_novelty_is_the_largest_agreement():
    labels, other = np.arange(8) % 2, np.arange(8) // 4
    assert novelty(labels, np.c_[other, labels]) == pytest.approx(1.0)
    assert novelty(labels, other) == pytest.approx(0.0)


def test_columns_of_u_are_those_asked_for(views):
    X, known, _ = views
    options = dict(bandwidth=1.0, random_state=0)
    assert KDAC(3, **options).fit(X, known).embedding_.shape == (120, 2)
    assert KDAC(2, n_vectors=3, **options).fit(X, known).embedding_.shape == (120, 3)


def test_nothing_to_avoid_is_no_warning(views):
    X, known, _ = views
    KDAC(2, 4, bandwidth=1.0, random_state=0).fit(X)
    KDAC(2, 4, bandwidth=1.0, weight=0, random_state=0).fit(X, known)
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


def test_all_directions_leave_nothing_to_choose(views):
    X, known, _ = views
    assert KDAC(5, random_state=0).fit(X, known).W_.shape == (4, 3)  # the default leaves one out
    with pytest.warns(UserWarning, match="cannot be avoided"):
        KDAC(2, n_components=4).fit(X, known)


@pytest.mark.parametrize(
    "y, words",
    [
        (np.zeros(120, int), "at least two classes"),
        (np.arange(100) % 2, "one row per sample"),
        (np.linspace(0, 1, 120), "Unknown label type"),
        (np.r_[np.nan, np.arange(119) % 2], "NaN"),
        (np.array(["a", 1] * 60, dtype=object), "all numbers or all strings"),
    ],
)
def test_bad_known_labels_are_refused(views, y, words):
    with pytest.raises(ValueError, match=words):
        KDAC().fit(views[0], y)


def test_bad_input_is_refused(views):
    X, known, _ = views
    with pytest.raises(ValueError, match="NaN"):
        KDAC().fit(np.where(X > 1, np.nan, X), known)
    with pytest.raises(ValueError, match="n_clusters=200"):
        KDAC(200).fit(X, known)
    with pytest.raises(ValueError, match="n_components = 9"):
        KDAC(2, 9).fit(X, known)
    with pytest.raises(ValueError, match="weight"):
        KDAC(weight=-1).fit(X, known)
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


# ---------------------------------------------------------------- search


def test_search_follows_its_rule(views):
    X, known, other = views
    options = dict(sigmas=(0.1, 1.0, 4.0), weights=(1.0, 4.0), random_state=0)
    found = search(X, known, 2, **options)
    rows = found.rows
    assert len(rows) == 6 and found.best == np.argmax([row["silhouette"] for row in rows])
    model = found.model
    apart = silhouette_score(model.embedding_, model.labels_)
    assert found.chosen["silhouette"] == round(float(apart), 3)
    aligned = search(X, known, 2, rule="alignment", **options)
    assert aligned.best == np.argmax([row["alignment"] for row in rows])
    assert found.model.kernel_.sigma == found.chosen["sigma"]
    assert normalized_mutual_info_score(other, found.model.labels_) > 0.9
    thesis = search(X, known, 2, rule="thesis", **options)
    bounds = np.array([row["bound"] for row in thesis.rows])
    assert (bounds < 1).all() and thesis.best == np.argmax(bounds)
    assert thesis.model.W_.shape[1] == thesis.chosen["q by gap"]
    with pytest.raises(ValueError, match="rule must be"):
        search(X, known, rule="best")
    with pytest.raises(ValueError, match="far too small"):
        search(X, known, sigmas=[1e-9])


@pytest.mark.parametrize("q", [1, 2])
def test_the_bound_is_that_of_the_frozen_problem(views, q):
    """(3.10) by two loops over the pairs, its gap between W and what is off W."""
    X, known, _ = views
    X, known = X[:30], known[:30]
    options = dict(n_components=q, sigmas=[1.0], weights=[2.0], random_state=0)
    row = search(X, known, 2, **options)
    W, model = row.model.W_, row.model
    K = gram(Gaussian(1.0), X, W)
    D = K.sum(axis=1)
    H = np.eye(30) - 1 / 30
    Y = H @ np.eye(2)[known]
    U = model.embedding_
    inner = U @ U.T - 2.0 * Y @ Y.T / np.linalg.norm(Y, 2) ** 2
    gamma = H @ inner @ H / np.sqrt(np.outer(D, D))
    phi, right = np.zeros((4, 4)), 0.0
    for i in range(30):
        for j in range(30):
            A = np.outer(X[i] - X[j], X[i] - X[j])
            phi += gamma[i, j] * K[i, j] * A  # of (3.8), sigma = 1
            right += abs(gamma[i, j]) * K[i, j] * np.trace(A.T @ A)
    W_bar = np.linalg.svd(W)[0][:, q:]
    left = np.linalg.eigvalsh(W_bar.T @ phi @ W_bar)[0] - np.linalg.eigvalsh(W.T @ phi @ W)[-1]
    assert row.chosen["bound"] == pytest.approx(left / right, rel=1e-6)
    values = np.linalg.eigvalsh(phi)  # rising; the useful ones are negative in this sign
    gaps = np.diff(values)[: max((values < 0).sum(), 1)]
    assert row.chosen["q by gap"] == np.argmax(gaps) + 1
    normalised = K / np.sqrt(np.outer(D, D))
    agreement = [normalized_hsic(normalised, y) for y in (model.labels_, known)]
    assert row.chosen["alignment"] == pytest.approx(agreement[0] - agreement[1], rel=1e-6)


def test_preference_of_each_rule():
    """Rows made by hand, so that every branch decides once."""
    rows = [
        dict(alignment=0.1, silhouette=0.5, bound=0.2, quality=0.9),
        dict(alignment=0.3, silhouette=0.6, bound=0.5, quality=0.4),
        dict(alignment=0.2, silhouette=0.8, bound=1.5, quality=0.3),
        dict(alignment=0.0, silhouette=-1, bound=1.1, quality=0.6),
    ]
    best = lambda rule, rows: max(range(len(rows)), key=lambda i: _preference(rows[i], rule))
    assert best("alignment", rows) == 1
    assert best("silhouette", rows) == 2
    assert best("thesis", rows) == 3  # met, and of those the highest quality
    assert best("thesis", rows[:2]) == 1  # not met: the closest


def test_thesis_rule_keeps_q_where_the_bound_is_met():
    rng = np.random.default_rng(0)
    X = np.c_[6.0 * (np.arange(60) % 2), rng.standard_normal(60), rng.standard_normal(60)]
    known = np.arange(60) // 2 % 2
    found = search(X, known, 2, n_components=1, sigmas=[40.0], weights=[0.0], rule="thesis")
    assert found.chosen["bound"] >= 1 and found.model.W_.shape == (3, 1)


def test_search_in_parallel_is_the_same_and_leaves_warnings_alone(views):
    X, known, _ = views
    options = dict(sigmas=(1.0, 4.0), weights=(1.0,), random_state=0)
    before = list(warnings.filters)
    alone, both = (search(X, known, 2, n_jobs=jobs, **options) for jobs in (None, 2))
    assert list(warnings.filters) == before
    for a, b in zip(alone.rows, both.rows):
        assert {k: v for k, v in a.items() if k != "labels"} == pytest.approx(
            {k: v for k, v in b.items() if k != "labels"}
        )


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


def test_default_bandwidths_are_halves_of_the_median(views):
    X, known, _ = views
    found = search(X, known, 2, weights=[2.0], random_state=0)
    sigmas = np.array([row["sigma"] for row in found.rows])
    assert_allclose(sigmas / median_distance(X), 2.0 ** np.arange(1, -6, -1), rtol=1e-12)


def test_search_skips_what_cannot_be_fitted_and_refuses_nonsense(views):
    X, known, _ = views
    found = search(X, known, 2, sigmas=[1e9, 1.0, 1e-9], weights=[2.0], random_state=0)
    assert [row["sigma"] for row in found.rows] == [1.0]
    for change, words in (
        (dict(y=None), "needs a known clustering"),
        (dict(n_clusters=1), "at least 2 clusters"),
        (dict(sigmas=[]), "at least one number"),
        (dict(X=X[:, :1]), "minimum of 2"),
    ):
        with pytest.raises(ValueError, match=words):
            search(**(dict(X=X, y=known, n_clusters=2) | change))


def test_agreement_by_alignment_does_not_grow_as_sigma_shrinks(views):
    X, known, _ = views
    found = search(X, known, 2, sigmas=(0.02, 1.0), weights=(2.0,), random_state=0)
    tiny, fit = found.rows[0], found.rows[1]
    assert tiny["quality"] > fit["quality"] and tiny["alignment"] < fit["alignment"]
