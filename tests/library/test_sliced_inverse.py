"""Sliced inverse regression."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.linalg import eigh, subspace_angles

from ismlit import SlicedInverseRegression


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
