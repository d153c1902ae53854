"""Gradients of a kernel regression: the matrix, the start made of it, and its estimators."""

import numpy as np
import pytest
from library.problems import exclusive_or, share
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge

from ismlit import SupervisedIKDR
from ismlit.memory import few_rows
from ismlit.solvers import gradient_start
from ismlit.solvers.gradient_start import gradient_scatter


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


def test_of_many_rows_some_are_looked_at(rng, monkeypatch):
    """The same each time, their targets with them, about the mean of all."""
    X = rng.standard_normal((600, 5))
    F = np.sign(X[:, :1] * X[:, 3:4])
    monkeypatch.setattr(gradient_start, "MOST_ROWS", 150)
    options = dict(sigma=1.5, ridge=1e-3)
    some = gradient_scatter(X, F, **options)
    rows = few_rows(600, 150)
    assert_allclose(some, gradient_scatter(X[rows], F[rows], **options), rtol=1e-9)
    assert np.array_equal(some, gradient_scatter(X, F, **options))


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
