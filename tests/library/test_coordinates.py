"""Every estimator on tables whose columns are constant, copied or determined by others.

W is then sought in fewer dimensions than X has columns. Whatever is stored in one of the two
coordinate systems and used in the other must be carried over, in every method.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine, make_blobs, make_moons
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import scale

from ismlit import (
    KDAC,
    KernelDependenceNetwork,
    Problem,
    ResponseIKDR,
    SemiSupervisedIKDR,
    SupervisedIKDR,
    UnsupervisedIKDR,
    certify,
    label_gamma,
)
from ismlit.datasets import make_four_gaussians
from ismlit.grams import gram


def tables():
    """Name -> (X, y): ninety rows in three groups, with columns that add no direction."""
    X, y = make_blobs(90, 4, centers=3, cluster_std=2.5, random_state=0)
    rng = np.random.default_rng(0)
    wide = np.hstack([X[::2], rng.standard_normal((45, 56))])
    return {
        "constant": (np.c_[X, np.full(90, 7.0)], y),
        "copied": (np.c_[X, X[:, 0]], y),
        "dependent": (np.c_[X, X @ [1.0, -2.0, 0.0, 1.0]], y),
        "one-hot": (np.c_[X, np.eye(3)[rng.integers(0, 3, 90)]], y),
        "wide": (wide, y[::2]),
    }


TABLES = {name: (scale(X), y) for name, (X, y) in tables().items()}
PROJECTIONS = {
    "supervised": lambda **more: SupervisedIKDR(2, **more, ridge=np.inf),
    "features": lambda **more: SupervisedIKDR(2, random_features=32, random_state=0, **more),
    "response": lambda **more: ResponseIKDR(2, **more, ridge=np.inf),
    "unsupervised": lambda **more: UnsupervisedIKDR(3, random_state=0, **more),
    "semi": lambda **more: SemiSupervisedIKDR(3, random_state=0, **more),
    "kdac": lambda **more: KDAC(2, 2, random_state=0, **more),
}
CLUSTERINGS = ("unsupervised", "semi", "kdac")


def target(name, X, y):
    """What an estimator learns from."""
    if name == "semi":
        return np.where(np.arange(len(y)) % 4, -1, y)
    return X[:, 0] if name == "response" else y


@pytest.fixture(scope="module")
def fits():
    """(estimator, table) -> the fitted estimator, X, and what its callback saw; fitted once."""
    done = {}

    def get(name, table):
        if (name, table) not in done:
            seen, (X, y) = [], TABLES[table]
            model = PROJECTIONS[name](callback=seen.append).fit(X, target(name, X, y))
            done[name, table] = model, X, seen
        return done[name, table]

    return get


every = pytest.mark.parametrize("table", TABLES)
each = pytest.mark.parametrize("name", PROJECTIONS)
pytestmark = pytest.mark.filterwarnings("ignore:component", "ignore:no bandwidth", "ignore:random")


@every
@pytest.mark.parametrize("name", CLUSTERINGS)
def test_new_rows_that_are_old_get_their_own_cluster(name, table, fits):
    model, X, _ = fits(name, table)
    differ = model.predict(X) != model.labels_
    if name == "semi":  # rows with a label keep it, wherever they lie
        known = target(name, X, TABLES[table][1]) != -1
        differ &= ~known
    assert differ.mean() < 0.02
    assert -1 <= model.score(X) <= 1


@every
@each
def test_w_is_one_in_every_attribute(name, table, fits):
    model, X, _ = fits(name, table)
    assert_allclose(model.W_.T @ model.W_, np.eye(model.W_.shape[1]), atol=1e-10)
    assert_allclose(model.transform(X), (X - X.mean(axis=0)) @ model.W_, atol=1e-10)
    assert_allclose(model.components_, model.W_.T)
    assert_allclose(model.result_.W, model.W_)
    _, solved = model.solved()
    within = model.problem_at(model.W_)[1]
    assert_allclose(within @ within.T, solved.W @ solved.W.T, atol=1e-10)
    largest = abs(model.W_).argmax(axis=0)
    assert (model.W_[largest, range(model.W_.shape[1])] > 0).all()


@every
@each
def test_the_certificate_is_that_of_the_w_that_is_shown(name, table, fits):
    """Asked for the fit, or for its W as any user would pass it: the same numbers."""
    model, _, _ = fits(name, table)
    own, given = model.certificate(), certify(model, model.W_)
    assert own.is_maximum == given.is_maximum
    if name != "features":  # whose fit knows the J of the approximate problem
        assert own.objective == pytest.approx(given.objective, rel=1e-9)
        for one, other in ((own, given), (given, own)):  # Lanczos gives an interval
            assert one.curvature - one.curvature_error <= other.curvature + 1e-6


@every
@pytest.mark.parametrize("name", ["supervised", "response"])
def test_the_training_problem_is_that_of_the_rows(name, table, fits):
    """J of it at W_ by the sum over all pairs of projected rows."""
    model, X, _ = fits(name, table)
    problem = model.training_problem()
    K = gram(model.kernel_, model.transform(X))
    by_hand = np.sum(problem.gamma.to_dense() * K)
    assert problem.objective(model.W_) == pytest.approx(by_hand, rel=1e-9)
    assert model.result_.objective == pytest.approx(by_hand, rel=1e-9)


@every
@pytest.mark.parametrize("name", [name for name in PROJECTIONS if name != "features"])
def test_a_callback_sees_the_w_of_all_columns(name, table, fits):
    model, X, seen = fits(name, table)
    W = seen[-1].W
    assert W.shape == (X.shape[1], model.W_.shape[1])
    if name not in CLUSTERINGS:  # which may solve with another bandwidth afterwards
        assert_allclose(np.linalg.svd(W.T @ model.W_)[1], 1.0, atol=1e-6)
        assert seen[-1].J == pytest.approx(model.result_.objective, rel=1e-6)


@pytest.mark.parametrize("table", [name for name in TABLES if name != "wide"])
def test_the_network_answers_as_without_the_columns(table):
    X, y = TABLES[table]
    model = KernelDependenceNetwork().fit(X, y)
    assert model.score(X, y) > 0.8
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert np.array_equal(
        model.classes_[model.decision_function(X).argmax(axis=1)], model.predict(X)
    )


# ---------------------------------------------------------------- the bandwidth


@pytest.mark.parametrize("more", [1, 3, 30])
def test_columns_without_a_direction_do_not_change_the_bandwidth(more, wine):
    X, y = wine
    plain = SupervisedIKDR(2, ridge=np.inf).fit(X, y)
    padded = SupervisedIKDR(2, ridge=np.inf).fit(np.c_[X, np.ones((len(X), more))], y)
    assert padded.kernel_.sigma == pytest.approx(plain.kernel_.sigma, rel=1e-9)
    assert_allclose(padded.W_[:13], plain.W_, atol=1e-4)


@pytest.mark.parametrize("d", [40, 100, 300])
def test_random_features_take_as_many_columns_as_come(d):
    """The rows resemble each other where the kernel sees them: projected, not in all columns."""
    A = np.random.default_rng(0).standard_normal((400, d))
    model = SupervisedIKDR(1, random_features=64, random_state=0).fit(A, A[:, 0] > 0)
    assert np.isfinite(model.W_).all()


# ---------------------------------------------------------------- rows far from all others


def test_a_row_far_away_gets_the_cluster_of_those_nearest():
    X, _ = make_moons(300, noise=0.05, random_state=0)
    X = scale(X)
    model = UnsupervisedIKDR(2, bandwidth=0.2, random_state=0).fit(X)
    far = X[[0, 5, 9]] * [[5], [50], [1e6]]
    nearest = [((X - row) ** 2).sum(axis=1).argmin() for row in far]
    with np.errstate(all="raise", under="ignore"):
        found = model.predict(np.r_[X[:3], far])
    assert np.array_equal(found, model.labels_[[0, 1, 2, *nearest]])
    assert model.score(X * 1e4) == -1.0  # no row there resembles one in training


def test_rows_on_either_side_get_either_cluster_however_far():
    X, known, other = make_four_gaussians(200, random_state=0)
    X = scale(X)
    model = KDAC(2, random_state=0).fit(X, known)
    for factor in (2, 10, 1e3, 1e8):
        with np.errstate(all="raise", under="ignore"):
            found = model.predict(X * factor)
        assert normalized_mutual_info_score(other, found) > 0.9


# ---------------------------------------------------------------- a fit that does not end

REFUSED = {
    "supervised": (dict(bandwidth=1e-9), ValueError),
    "features": (dict(bandwidth=1e-9), ValueError),
    "response": (dict(bandwidth=1e-9), ValueError),
    "unsupervised": (dict(bandwidth=1e-9), ValueError),
    "semi": (dict(n_clusters=100), ValueError),
    "kdac": (dict(bandwidth=1e12), ValueError),
}


def interrupt(_):
    """As Ctrl-C in a notebook."""
    raise KeyboardInterrupt


@each
@pytest.mark.parametrize("interrupted", [False, True])
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(name, interrupted):
    X, y = TABLES["constant"]
    model = PROJECTIONS[name](bandwidth="median").fit(X, target(name, X, y))
    before, kept = model.transform(X), set(vars(model))
    parameters, error = REFUSED[name]
    if interrupted:
        parameters, error = dict(callback=interrupt), KeyboardInterrupt
    model.set_params(**parameters)
    with pytest.raises(error):
        model.fit(2 * X[:, :4] + 1, target(name, X, y))
    assert np.array_equal(model.transform(X), before) and set(vars(model)) == kept
    assert model.n_features_in_ == X.shape[1]


def test_a_network_whose_fit_fails_stays_as_it_was():
    X, y = TABLES["constant"]
    model = KernelDependenceNetwork().fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="must be at most 2, the number of directions"):
        model.set_params(n_components=9).fit(X[:, :2], y)
    assert np.array_equal(model.predict_proba(X), before)


# ---------------------------------------------------------------- labels and responses of all kinds


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint32", "int64", "uint64", "bool"])
def test_labels_of_any_integer_type(kind):
    X, y = TABLES["constant"]
    y = (y > 0).astype(kind)
    model = SemiSupervisedIKDR(3, random_state=0).fit(X, y)  # one cluster has no name
    assert set(model.transduction_[model.labels_ < 2].tolist()) <= {0, 1}
    nameless = model._names(np.array([2]))[0]
    assert nameless is None if kind == "bool" else nameless == -1
    assert SupervisedIKDR(1, ridge=np.inf).fit(X, y).classes_.dtype == kind
    assert KernelDependenceNetwork().fit(X, y).predict(X).dtype == kind
    assert 0 <= KDAC(2, 2, bandwidth="median", random_state=0).fit(X, y).known_nmi_ <= 1


def test_a_column_of_float_labels_with_gaps_is_labels(wine):
    X, y = wine
    known = np.where(np.arange(178) % 4 == 0, y, -1.0)
    flat = SemiSupervisedIKDR(3, random_state=0).fit(X, known)
    with pytest.warns(match="column-vector y was passed"):
        column = SemiSupervisedIKDR(3, random_state=0).fit(X, known[:, None])
    assert column.classes_.tolist() == [0, 1, 2]
    assert np.array_equal(column.labels_, flat.labels_)
    scores = np.random.default_rng(0).standard_normal((178, 1))
    assert SemiSupervisedIKDR(3, random_state=0).fit(X, scores).classes_ is None


@pytest.mark.parametrize("share", [0.5, 0.9, 0.97])
@pytest.mark.parametrize("where", ["least", "middle", "greatest"])
def test_a_response_with_many_equal_values_is_cut_into_all_slices(share, where, rng):
    X = rng.standard_normal((400, 3))
    y = X[:, 0].copy()
    usual = {"least": y.min() - 1, "middle": 0.0, "greatest": y.max() + 1}[where]
    y[: int(share * 400)] = usual
    model = ResponseIKDR(1, n_slices=5, ridge=np.inf).fit(X, y)
    slices = np.bincount(np.searchsorted(model.slices_, y, side="right"))
    assert len(slices) == 5 and slices.min() >= 1


def test_two_values_are_two_slices():
    X = np.random.default_rng(0).standard_normal((100, 3))
    y = np.r_[np.ones(3), np.zeros(97)]
    assert ResponseIKDR(1, ridge=np.inf).fit(X, y).slices_.tolist() == [1.0]


# ---------------------------------------------------------------- bandwidths that hang on rounding


@pytest.mark.parametrize("change", ["constant", "units", "rounding", "order", "turned"])
def test_a_clustering_does_not_hang_on_rounding(change):
    """Wine: sizes 176, 1, 1 came of a constant column, other units, or the sixteenth digit."""
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    rng = np.random.default_rng(3)
    rows = rng.permutation(178) if change == "order" else np.arange(178)
    changed = {
        "constant": lambda: np.c_[X, np.full(178, 3.0)],
        "units": lambda: X * 1e-6,
        "rounding": lambda: X * (1 + 1e-13 * rng.standard_normal(X.shape)),
        "order": lambda: X[rows],
        "turned": lambda: X @ np.linalg.qr(rng.standard_normal((13, 13)))[0],
    }[change]()
    plain = UnsupervisedIKDR(3, 2, random_state=0).fit(X)
    model = UnsupervisedIKDR(3, 2, random_state=0).fit(changed)
    assert normalized_mutual_info_score(plain.labels_[rows], model.labels_) > 0.95
    assert np.bincount(model.labels_).min() > 20


@pytest.mark.parametrize("change", ["order", "columns", "units", "turned"])
def test_a_guided_clustering_does_not_hang_on_rounding(change):
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    known = np.where(np.random.default_rng(5).random(178) < 0.25, y, -1)
    rng = np.random.default_rng(3)
    rows = rng.permutation(178) if change == "order" else np.arange(178)
    changed = {
        "order": lambda: X[rows],
        "columns": lambda: X[:, rng.permutation(13)],
        "units": lambda: X * 1e6,
        "turned": lambda: X @ np.linalg.qr(rng.standard_normal((13, 13)))[0],
    }[change]()
    plain = SemiSupervisedIKDR(n_components=2, random_state=0).fit(X, known)
    model = SemiSupervisedIKDR(n_components=2, random_state=0).fit(changed, known[rows])
    assert normalized_mutual_info_score(plain.labels_[rows], model.labels_) > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_the_end_of_a_search_turns_with_the_data(seed):
    """The same rows in other coordinates: the same J, whichever frames were drawn to start from."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, 6))
    y = X[:, 0] * X[:, 1] > 0
    turn = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    plain, turned = (
        SupervisedIKDR(2, ridge=np.inf).fit(X, y),
        SupervisedIKDR(2, ridge=np.inf).fit(X @ turn, y),
    )
    assert turned.result_.objective == pytest.approx(plain.result_.objective, rel=1e-6)
    assert np.linalg.svd(plain.W_.T @ turn @ turned.W_)[1].min() > 0.999


def test_a_certificate_says_how_many_starts_agreed(wine):
    X, y = wine
    certificate = SupervisedIKDR(2, ridge=np.inf).fit(X, y).certificate()
    assert 3 <= certificate.starts.agreed <= certificate.starts.tried <= 10
    assert f"{certificate.starts.agreed} of {certificate.starts.tried} ended here" in str(
        certificate
    )
    problem = Problem(X, label_gamma(y), SupervisedIKDR(2, ridge=np.inf).fit(X, y).kernel_)
    assert certify(problem, np.eye(13)[:, :2]).starts is None
