"""The estimator of gradient-based kernel dimension reduction."""

import numpy as np
from scipy.linalg import subspace_angles

from ismlit import GradientKDR


def exclusive_or(n, seed, d=20):
    """X (n, d), classes by the sign of a product of two turned features, their plane (d, 2)."""
    rng = np.random.default_rng(seed)
    plane = np.linalg.qr(rng.standard_normal((d, 2)))[0]
    X = rng.standard_normal((n, d))
    return X, (np.prod(X @ plane, axis=1) > 0).astype(int), plane


def share(W, plane):
    """The share of a plane that the span of W holds, from 0 to 1."""
    return np.mean(np.cos(subspace_angles(W, plane)) ** 2)


def test_the_estimator_takes_more_rows_by_random_features():
    X, y, plane = exclusive_or(6000, 0, d=10)
    assert share(GradientKDR(2).fit(X, y).W_, plane) > 0.95
