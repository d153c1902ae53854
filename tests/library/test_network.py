""""""

import numpy as np
import pytest
from library.problems import GROWN_ON, grown_by_training, keep_the_contract, layer_solver, unsettled
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from ismlit import datasets
from ismlit.dependence import Alignment, normalized_hsic
from ismlit.estimators.network.classifier import KernelDependenceNetwork
from ismlit.estimators.network.layers import GramColumns, Waves
from ismlit.estimators.network.ridge import spread_rows
from ismlit.estimators.supervised import SupervisedIKDR
from ismlit.gamma import label_gamma
from ismlit.grams import gram
from ismlit.kernels import Gaussian


@parametrize_with_checks([KernelDependenceNetwork()])
@unsettled  # noise
@pytest.mark.filterwarnings("ignore:the rows held out")
def test_scikit_learn_contract(estimator, check):
    keep_the_contract(estimator, check)


@pytest.mark.slow
@parametrize_with_checks(
    [
        KernelDependenceNetwork(random_features=16),
        grown_by_training(ridges=(np.inf,)),
        grown_by_training(ridges=(np.inf,), random_features=16),
    ]
)
@unsettled
@pytest.mark.filterwarnings("ignore:the rows held out")
def test_scikit_learn_contract_of_the_other_ways_to_grow(estimator, check):
    keep_the_contract(estimator, check)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_and_the_number_of_new_samples_do_not_matter(seed):
    """By a wide margin: what is asked for is a thousand times what ten such draws show."""
    rng = np.random.default_rng(seed)
    X = 3 * rng.uniform(size=(20, 3))
    network = grown_by_training(random_state=0).fit(X, X[:, 0].astype(int))
    order = rng.permutation(20)
    whole = network.transform(X)
    assert_allclose(network.transform(X[order]), whole[order], atol=1e-10)
    assert_allclose(np.vstack([network.transform(row[None]) for row in X]), whole, atol=1e-10)
    assert np.array_equal(network.predict(X[order]), network.predict(X)[order])


@pytest.fixture(scope="module")
def network(wine):
    return grown_by_training().fit(*wine)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in ("wine", "spiral", "adversarial", "noise")),
        *((name, {"bandwidth": "hsic"}) for name in ("wine", "adversarial")),
    ],
)
def test_hsic_rises_to_the_threshold(name, options):
    X, y = GROWN_ON[name]()
    found = grown_by_training(**options).fit(X, y)
    assert np.all(np.diff(found.history_["agreement"]) > 0)
    assert found.converged_ and found.history_["agreement"][-1] > 0.99
    assert found.score(X, y) > 0.995  # HSIC of 0.99 leaves room for a sample in 200


def two_clouds(m, seed, twins):
    """Two overlapping classes of m rows; a row of the second may be one of the first again."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(0, 1, (m, 2)), rng.normal(2.5, 1, (m, 2))])
    if twins:
        X[m + seed % m] = X[seed % m]
    return X, np.repeat([0, 1], m)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("m", [50, 100, 130])
@pytest.mark.parametrize("twins", [False, True])
@unsettled
def test_history_is_what_the_gram_matrices_give(twins, m, seed):
    """To rounding, with the sharpest ridge; and twins bound it, as no kernel tells them apart.

    With P the mean over twins, A <= ||P Gamma P|| / ||Gamma||, which is (m - 1) / m.
    """
    X, y = two_clouds(m, seed, twins)
    by_training = grown_by_training(ridges=(1e-10,)).fit(X, y)
    for found in (by_training, KernelDependenceNetwork(max_layers=3).fit(X, y)):
        history = found.history_["agreement"]
        recomputed = [normalized_hsic(found.gram(X, layer=l + 1), y) for l in range(len(history))]
        assert_allclose(history, recomputed, atol=1e-12)
        assert_allclose(history, [layer.agreement for layer in found.layers_], atol=0)
        assert not twins or history[-1] <= (m - 1) / m
    assert by_training.converged_ == (recomputed_end(by_training, X, y) > 0.99)


def recomputed_end(found, X, y):
    return normalized_hsic(found.gram(X), y)


def test_history_of_many_rows_is_that_of_some_of_each_class():
    """Of more than 2000 rows, 2000 by class shares; a bandwidth is searched on fewer."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [1500, 1000])
    X = rng.standard_normal((2500, 2)) + 2 * y[:, None]
    found = KernelDependenceNetwork(max_layers=1, random_features=8, random_state=0)
    with pytest.warns(ConvergenceWarning):
        found.fit(X, y)
    rows = spread_rows(y, 2000)
    assert len(rows) == 2000
    expected = normalized_hsic(found.gram(X[rows]), y[rows])
    assert_allclose(found.history_["agreement"], expected, atol=1e-12)


@unsettled
def test_the_share_is_the_mean_within_less_the_mean_between():
    """For two classes of one size Tr(Gamma K) is that difference times n/4, and H* is n/4."""
    X, y = make_moons(80, noise=0.2, random_state=0)
    for early in (True, False):
        found = KernelDependenceNetwork(early_stopping=early, ridges=(np.inf,)).fit(X, y)
        same = y[:, None] == y
        for l, share in enumerate(found.history_["share"], 1):
            K = found.gram(X, layer=l)
            assert share == pytest.approx(K[same].mean() - K[~same].mean(), abs=1e-6)


@unsettled
def test_hsic_does_not_fall_where_sigma_maximises_it():
    """By default; where sigma maximises the agreement a layer of these moons loses a tenth."""
    X, y = make_moons(120, noise=0.2, random_state=3)
    falls = {}
    for rule in (None, "normalized_hsic"):
        found = grown_by_training(bandwidth=rule).fit(scale(X), y)
        falls[rule] = np.diff(found.history_["share"]).min()
    assert falls["normalized_hsic"] < -0.1 and falls[None] > -0.02


def test_layers_are_orthonormal_in_feature_space(wine, network):
    X, _ = wine
    first = network.layers_[0]
    assert_allclose(first.W.T @ first.W, np.eye(first.W.shape[1]), atol=1e-10)
    for l, layer in enumerate(network.layers_[1:], 1):
        K = network.gram(X, layer=l)
        # eigenvalues of K below 1e-12 of the largest are cut off
        assert_allclose(layer.W.T @ K @ layer.W, np.eye(layer.W.shape[1]), atol=1e-6)


def test_transform_composes_the_layers(wine, network):
    X, _ = wine
    Z = X
    for l, layer in enumerate(network.layers_, 1):
        Z = layer(Z)
        assert_allclose(network.images(X, l), Z)
    assert_allclose(network.transform(X), Z)
    names = network.get_feature_names_out()
    assert len(names) == Z.shape[1] and names[0].startswith("kerneldependencenetwork")


def test_random_features_approach_the_exact_ones():
    Z = np.random.default_rng(0).standard_normal((40, 3))
    kernel = Gaussian(1.5)
    y = np.arange(40) % 2
    solver = layer_solver(y, random_features=4096)
    lift, R, back = solver.lift(Z, kernel)
    assert isinstance(lift, Waves) and back is None and R.shape == (40, 8192)
    # scrambled Sobol points: error well below 1 / sqrt(4096) = 0.016
    assert_allclose(R @ R.T, gram(kernel, Z), atol=0.01)
    exact, R, back = layer_solver(y).lift(Z, kernel)
    assert isinstance(exact, GramColumns)
    assert_allclose(R @ R.T, gram(kernel, Z), atol=1e-9)
    assert_allclose(exact(Z) @ back, R, atol=1e-6)


@pytest.mark.slow
def test_many_samples_with_random_features():
    X, y = datasets.make_spiral(6000, random_state=0)
    model = grown_by_training(random_features=128, random_state=0, max_layers=4)
    model.fit(scale(X), y)
    assert model._points.shape[0] <= 1003  # the share of each of three classes, rounded up
    assert np.all(np.diff(model.history_["agreement"]) > 0)
    fresh, labels = datasets.make_spiral(600, random_state=1)
    assert model.score(scale(fresh), labels) > 0.97  # three arms apart by several deviations


@pytest.mark.parametrize("width", [1, 2, 5])
@unsettled
def test_width_is_kept(wine, width):
    X, y = wine
    found = grown_by_training(n_components=width, max_layers=3).fit(X, y)
    assert {layer.W.shape[1] for layer in found.layers_} == {width}


def test_prediction_is_the_nearest_class_mean_by_angle(wine, network):
    X, y = wine
    K = network.gram(X)
    means = np.array([K[:, y == c].mean(axis=1) for c in range(3)]).T
    lengths = np.sqrt([K[np.ix_(y == c, y == c)].mean() for c in range(3)])
    cosines = means / lengths
    assert_allclose(network.predict_proba(X), cosines / cosines.sum(axis=1, keepdims=True))
    assert np.array_equal(network.predict(X), cosines.argmax(axis=1))


def test_alignment_is_normalised_hsic(rng):
    Z, y = rng.standard_normal((40, 3)), rng.integers(0, 3, 40)
    for sigma in (0.05, 1.0, 20.0):
        K = gram(Gaussian(sigma), Z)
        assert Alignment(label_gamma(y))(K) == pytest.approx(normalized_hsic(K, y), rel=1e-7)
    assert Alignment(label_gamma(y))(np.ones((40, 40))) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(X=np.ones((20, 2))), "all rows of X are equal"),
        (dict(y=np.zeros(20)), "at least two classes"),
        (dict(options=dict(n_components=3)), "n_components = 3 must be at most 2, the number of"),
        (dict(options=dict(validation_fraction=1)), "validation_fraction"),
        (dict(options=dict(early_stopping=1)), "early_stopping"),
    ],
)
def test_bad_input(change, message, rng):
    X, y = rng.standard_normal((20, 2)), np.arange(20) % 2
    given = dict(X=X, y=y, options={}) | change
    with pytest.raises(ValueError, match=message):
        grown_by_training(**given["options"]).fit(given["X"], given["y"])


def test_rows_that_coincide_but_differ_in_class_are_named(rng):
    X, y = rng.standard_normal((20, 2)), np.arange(20) % 2
    X[7] = X[2]
    with pytest.warns(ConvergenceWarning, match="rows 2 and 7 of X coincide"):
        found = grown_by_training().fit(X, y)
    assert not found.converged_


def test_a_layer_that_is_not_there(network, wine):
    with pytest.raises(ValueError, match="from 1 to"):
        network.images(wine[0], layer=99)


@pytest.mark.parametrize(("n", "d"), [(20, 5), (60, 20)])
def test_no_dependence_is_found_where_every_row_is_in_both_classes(n, d):
    A = np.random.default_rng(0).standard_normal((n, d))
    X, y = np.vstack([A, A]), np.repeat([0, 1], n)
    with pytest.warns(ConvergenceWarning, match=f"rows 0 and {n} of X coincide"):
        found = grown_by_training(max_layers=4).fit(X, y)
    assert found.history_["agreement"][-1] < 1e-6  # exactly 0 but for the rounding of Gram matrices


@pytest.mark.parametrize("n", [41, 63, 130])
@pytest.mark.parametrize("random_features", [None, 24])
@pytest.mark.parametrize("early", [False, True])
@unsettled
@pytest.mark.filterwarnings("ignore:the rows held out")
def test_equal_rows_have_exactly_equal_images(early, random_features, n, rng):
    """In training and after it, whatever their classes and wherever they stand, at every layer."""
    X, y = rng.standard_normal((n, 3)), np.arange(n) % 3
    first, again = rng.choice(n, (2, n // 4), replace=False)
    X[again] = X[first]
    options = dict(early_stopping=early, random_features=random_features, random_state=0)
    found = KernelDependenceNetwork(max_layers=4, ridges=(1e-2, 1e-9), **options).fit(X, y)
    Z = found.transform(X)
    assert_allclose(found._points, Z, atol=1e-7)
    for l in range(1, len(found.layers_) + 1):
        assert np.array_equal(found.images(X, l)[again], found.images(X, l)[first])
    assert np.array_equal(found._points[again], found._points[first])


@pytest.mark.parametrize("options", [{}, dict(n_components=3), dict(early_stopping=False)])
@pytest.mark.parametrize("load", [load_wine, load_iris])
def test_constant_columns_change_nothing(load, options):
    """Nor do numbers that have no exact mean; W has rows of zeros for them, and no column."""
    bunch = load()
    X, y = scale(bunch.data), bunch.target
    more = np.c_[np.full(len(X), 0.1), X, np.tile([1.0, 1e6 + 0.3, -1 / 3], (len(X), 1))]
    options = dict(ridges=(np.inf, 0.1, 1e-3), threshold=0.9) | options
    plain, found = (KernelDependenceNetwork(**options).fit(A, y) for A in (X, more))
    d, V, W = X.shape[1], plain.layers_[0].W, found.layers_[0].W
    assert np.array_equal(found.predict(more), plain.predict(X)) and found.ridge_ == plain.ridge_
    assert_allclose(W[1 : d + 1] @ W[1 : d + 1].T, V @ V.T, atol=1e-8)
    assert_allclose(np.delete(W, range(1, d + 1), axis=0), 0, atol=1e-12)
    assert_allclose(found.gram(more), plain.gram(X), atol=1e-6)  # a layer passes on what rounds
    other = more.copy()
    other[:, -1] += 5  # new rows may differ where training rows did not
    assert_allclose(found.transform(other), found.transform(more), atol=1e-8)


@pytest.mark.parametrize("options", [{}, dict(n_components=2), dict(early_stopping=False)])
def test_copies_of_all_columns_are_other_units(options, wine):
    """Copies, and differences of columns, leave distances as they are but for a factor."""
    X, y = wine
    options = dict(ridges=(np.inf, 0.1, 1e-3)) | options
    plain = KernelDependenceNetwork(**options).fit(X, y)
    turned = np.c_[X[:, ::2] - X[:, [0]], -X, X]
    for more, factor in ((np.c_[X, X], np.sqrt(2)), (np.c_[X, -2 * X, X], np.sqrt(6))):
        found = KernelDependenceNetwork(**options).fit(more, y)
        assert np.array_equal(found.predict(more), plain.predict(X))
        assert_allclose(found.gram(more), plain.gram(X), atol=1e-6)
        first = found.layers_[0].kernel.sigma, found.layers_[0].W.shape[1]
        assert first == pytest.approx(
            (factor * plain.layers_[0].kernel.sigma, len(plain.layers_[0].W.T))
        )
    assert KernelDependenceNetwork(**options).fit(turned, y).layers_[0].W.shape[1] <= X.shape[1]


@pytest.mark.parametrize("early", [False, True])
def test_more_components_than_directions_are_refused_as_by_others(early, rng):
    A, y = rng.standard_normal((30, 2)), np.arange(30) % 2
    X = np.c_[A, A[:, 0] - A[:, 1], np.full(30, 0.1)]
    said = []
    for estimator in (KernelDependenceNetwork(early_stopping=early), SupervisedIKDR()):
        with pytest.raises(ValueError, match="n_components = 3 must be at most 2") as caught:
            estimator.set_params(n_components=3).fit(X, y)
        said.append(str(caught.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize(
    ("dtype", "unit"), [("f4", 1e-10), ("f4", 1e19), ("f4", 1e36), ("f8", 1e-45), ("f8", 1e45)]
)
def test_units_do_not_matter_where_the_bandwidth_is_a_rule(dtype, unit, early):
    """float32 has 7 digits, and a Gram matrix of the whole network passes on how they round."""
    X, y = make_moons(60, noise=0.1, random_state=0)
    X = X.astype(dtype)
    options = dict(early_stopping=early, ridges=(np.inf, 0.1, 1e-3), threshold=0.8)
    plain = KernelDependenceNetwork(**options).fit(X, y)
    A = X * np.dtype(dtype).type(unit)
    found = KernelDependenceNetwork(**options).fit(A, y)
    assert np.array_equal(found.predict(A), plain.predict(X))
    assert found.history_["sigma"][0] == pytest.approx(unit * plain.history_["sigma"][0], rel=1e-3)


@pytest.mark.parametrize("unit", [1e-310, 1e-160, 1e-100, 1e60, 1e160, 1e170, 1e300])
def test_units_whose_squares_are_no_numbers_are_said_with_what_to_do(unit):
    """The column, the number, and a division after which all is well."""
    X, y = make_moons(60, noise=0.1, random_state=0)
    X = np.c_[np.ones(60), X]
    column = 1 + int(np.ptp(X[:, 1:], axis=0).argmax())
    with pytest.raises(ValueError, match=f"column {column}, which varies most") as caught:
        KernelDependenceNetwork().fit(X * unit, y)
    divisor = float(str(caught.value).rsplit("X / ", 1)[1])
    assert 0.1 < np.ptp(X[:, column]) / 2 * unit / divisor < 10
    other = X * unit / divisor
    expected = KernelDependenceNetwork().fit(X, y).predict(X)
    assert np.array_equal(KernelDependenceNetwork().fit(other, y).predict(other), expected)


@pytest.mark.parametrize("random_features", [None, 16])
@pytest.mark.parametrize("early", [False, True])
def test_kernel_values_that_underflow_are_no_error(early, random_features):
    """Also where numpy is asked to raise one: exp(-1000) is 0, which is right."""
    X = np.vstack([np.random.default_rng(k).normal(9 * k, 0.1, (20, 2)) for k in range(3)])
    y = np.repeat([0, 1, 2], 20)
    options = dict(early_stopping=early, random_features=random_features, random_state=0)
    with np.errstate(all="raise"):
        model = KernelDependenceNetwork(**options).fit(X, y)
        assert model.score(X, y) == 1
        for method in (model.predict, model.predict_proba, model.transform, model.gram):
            assert len(method(1e3 * X)) == 60


def test_gram_matrices_of_single_precision_are_computed_in_double(rng):
    """So that what is rounded is the result alone."""
    X, y = make_moons(80, noise=0.1, random_state=0)
    X = X.astype("f4")
    model = grown_by_training(ridges=(1e-6,), max_layers=3, threshold=1.0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    K = model.gram(X)
    assert K.dtype == np.float32
    assert_allclose(K, model.gram(X.astype(float)), atol=1e-7)
    assert_allclose(model.gram(X, X[:9]), K[:, :9], atol=1e-6)


def test_a_layer_that_passes_the_threshold_is_kept_however_little_it_gains(rng):
    X = np.vstack([rng.normal(0, 0.04, (40, 2)), rng.normal(1, 0.04, (40, 2))])
    found = grown_by_training(threshold=0.9999).fit(X, np.repeat([0, 1], 40))
    assert found.converged_


def test_rare_classes_stay_among_the_measured_samples():
    y = np.r_[np.zeros(2994), np.ones(6)]
    solver = layer_solver(y, random_features=8)
    assert np.bincount(solver.index[solver.sample])[1] == 6


def test_predictions_do_not_depend_on_the_output_container(wine, network, monkeypatch):
    X, y = wine
    expected = network.predict(X)
    monkeypatch.setattr(KernelDependenceNetwork, "transform", lambda *args: "no array")
    assert np.array_equal(network.predict(X), expected)


def test_random_features_are_repeatable(wine):
    X, y = wine
    model = grown_by_training(random_features=64, random_state=3)
    first, again = (clone(model).fit(X, y).transform(X) for _ in range(2))
    assert_allclose(first, again)
