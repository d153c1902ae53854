"""Gradients of a kernel regression: the matrix, the start made of it, and its estimators."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh, subspace_angles
from sklearn.kernel_ridge import KernelRidge
from sklearn.utils.estimator_checks import estimator_checks_generator

from ismlit import SAVE, GradientKDR, SlicedInverseRegression, SupervisedIKDR
from ismlit.solvers import gradient_start
from ismlit.solvers.gradient_start import gradient_scatter

LINEAR = GradientKDR, SlicedInverseRegression, SAVE


def exclusive_or(n, seed, d=20):
    """X (n, d), classes by the sign of a product of two turned features, their plane (d, 2)."""
    rng = np.random.default_rng(seed)
    plane = np.linalg.qr(rng.standard_normal((d, 2)))[0]
    X = rng.standard_normal((n, d))
    return X, (np.prod(X @ plane, axis=1) > 0).astype(int), plane


def share(W, plane):
    """The share of a plane that the span of W holds, from 0 to 1."""
    return np.mean(np.cos(subspace_angles(W, plane)) ** 2)


def test_the_scatter_is_that_of_gradients_of_a_kernel_ridge_regression(rng):
    """Scikit-learn's regression, differentiated by central differences."""
    X, sigma, ridge, h = rng.standard_normal((40, 3)), 1.3, 1e-2, 1e-5
    F = np.c_[np.sin(X[:, 0]), X[:, 1] * X[:, 2]]
    model = KernelRidge(alpha=40 * ridge, kernel="rbf", gamma=1 / (2 * sigma**2)).fit(X, F)
    steps = h * np.eye(3)
    slopes = np.array([(model.predict(X + e) - model.predict(X - e)) / (2 * h) for e in steps])
    weights = np.array([2.0, -0.5])
    expected = np.einsum("inr,jnr,r->ij", slopes, slopes, weights) / 40
    found = gradient_scatter(X, F, weights, sigma=sigma, ridge=ridge)
    assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())


def test_random_features_stand_for_the_kernel(rng, monkeypatch):
    X = rng.standard_normal((600, 5))
    F = np.sign(X[:, :1] * X[:, 3:4])
    exact = gradient_scatter(X, F, sigma=1.5, ridge=1e-3)
    monkeypatch.setattr(gradient_start, "EXACT_ROWS", 100)
    near = gradient_scatter(X, F, sigma=1.5, ridge=1e-3, n_frequencies=2000)
    assert np.linalg.norm(near - exact) < 0.1 * np.linalg.norm(exact)
    assert np.linalg.norm(near - exact) > 1e-9 * np.linalg.norm(exact)  # another route was taken


@pytest.mark.parametrize(
    ("n", "draws", "at_least"), [(300, 6, 4), pytest.param(600, 3, 3, marks=pytest.mark.slow)]
)
def test_several_starts_find_an_exclusive_or_in_most_draws(n, draws, at_least):
    """From Taylor's start the plane is found in none: its class means coincide."""
    found = {"several": [], "taylor": []}
    for X, y, plane in (exclusive_or(n, seed) for seed in range(draws)):
        for init, shares in found.items():
            model = SupervisedIKDR(2, init=init, ridge=np.inf, tol=1e-3).fit(X, y)
            shares.append(share(model.W_, plane))
    assert sum(np.array(found["several"]) > 0.9) >= at_least
    assert max(found["taylor"]) < 0.6


def test_the_estimator_takes_more_rows_by_random_features():
    X, y, plane = exclusive_or(6000, 0, d=10)
    assert share(GradientKDR(2).fit(X, y).W_, plane) > 0.95


def test_sliced_inverse_regression_is_the_generalised_eigenproblem(rng):
    """Between-slice scatter against the total one, as in discriminant analysis."""
    X, y = rng.standard_normal((120, 4)) @ rng.standard_normal((4, 4)), rng.integers(0, 4, 120)
    y[:50] = 0  # slices of unequal size
    X[:, 1] += y
    X[:, 2] -= y**2
    centred = X - X.mean(axis=0)
    means = np.array([centred[y == k].mean(axis=0) for k in y])
    V = eigh(means.T @ means, centred.T @ centred)[1][:, ::-1][:, :2]
    W = SlicedInverseRegression(2).fit(X, y).W_
    assert_allclose(subspace_angles(V, W), 0, atol=1e-6)
    assert_allclose(np.cov((X @ W).T, bias=True), np.eye(2), atol=1e-9)


def test_save_is_the_mean_squared_departure_of_whitened_covariances(rng):
    X, y = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 3)), np.arange(200) % 5 // 4
    X[y == 1, 2] *= 4
    root = np.linalg.inv(np.linalg.cholesky(np.cov(X.T, bias=True))).T
    whitened = (X - X.mean(axis=0)) @ root
    departures = [np.eye(3) - np.cov(whitened[y == k].T, bias=True) for k in range(2)]
    V = root @ np.linalg.eigh(sum(n * D @ D for n, D in zip((160, 40), departures)))[1][:, -1:]
    assert_allclose(subspace_angles(V, SAVE(1).fit(X, y).W_), 0, atol=1e-6)


@pytest.mark.parametrize("kind", [SlicedInverseRegression, SAVE])
@pytest.mark.parametrize("unit", [1e-7, 1e7])
def test_a_copied_column_is_left_out_in_any_unit(kind, unit, rng):
    X, y = rng.standard_normal((90, 3)), np.arange(90) % 3
    X[:, 0] += y
    X[y == 1, 1] *= 3
    copied = unit * np.column_stack([X, X[:, 0]])
    one, other = kind(1).fit_transform(X, y), kind(1).fit_transform(copied, y)
    assert abs(np.corrcoef(one[:, 0], other[:, 0])[0, 1]) > 1 - 1e-9


@pytest.mark.parametrize("kind", LINEAR)
def test_a_hump_is_seen_by_all_but_the_means(kind, rng):
    X = rng.standard_normal((600, 6))
    W = kind(1).fit(X, X[:, 4] ** 2 + 0.1 * X[:, 0]).W_
    assert (np.abs(W).argmax() == 4) == (kind is not SlicedInverseRegression)


def test_whole_numbers_of_many_values_are_a_response(rng):
    """As scikit-learn's diabetes data have them, stored as floating-point numbers."""
    X = rng.standard_normal((300, 4))
    y = np.round(100 * X[:, 2] + 10 * rng.standard_normal(300))
    for kind in (SlicedInverseRegression, GradientKDR):
        fitted = kind(1).fit(X, y)
        assert np.abs(fitted.W_).argmax() == 2
        with pytest.warns(UserWarning, match="distinct whole numbers"):
            assert_allclose(kind(1).fit(X, y.astype(int)).W_, fitted.W_, atol=1e-12)


@pytest.mark.parametrize("kind", LINEAR)
def test_scikit_learn_s_checks(kind):
    for estimator, check in estimator_checks_generator(kind(1)):
        check(estimator)


@pytest.mark.parametrize("kind", LINEAR)
@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (dict(n_components=0), "n_components of .* whole number"),
        (dict(n_components=9), "must be at most"),
    ],
)
def test_wrong_parameters_are_refused(kind, parameters, words, rng):
    with pytest.raises(ValueError, match=words):
        kind(**parameters).fit(rng.standard_normal((30, 4)), np.arange(30) % 3)


@pytest.mark.parametrize(
    ("parameters", "y", "words"),
    [
        (dict(n_components=3), np.arange(30) % 3, "= 3 must be at most 2: 3 slices, .* in 4 dir"),
        (dict(n_slices=1), np.linspace(0.1, 1, 30), "n_slices .* a whole number of at least 2"),
        (dict(n_components=1, n_slices=2), np.linspace(0.1, 1, 30), None),
        (dict(n_components=2, n_slices=2), np.linspace(0.1, 1, 30), "must be at most 1: 2 slices"),
        (dict(n_components=1), np.zeros(30), "y is constant"),
        (dict(n_components=1), np.zeros(30, int), "at least two classes or values, got only"),
    ],
)
def test_what_slices_cannot_give_is_refused(parameters, y, words, rng):
    X = rng.standard_normal((30, 4))
    if words is None:
        assert SlicedInverseRegression(**parameters).fit(X, y).W_.shape == (4, 1)
        return
    with pytest.raises(ValueError, match=words):
        SlicedInverseRegression(**parameters).fit(X, y)
