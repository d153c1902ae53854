"""Distances between pairs of samples."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from ismlit.grams import squared_distances


def test_twins_are_at_distance_zero(rng):
    """Exactly, though their distance is a difference of rounded products."""
    A = 10 * rng.standard_normal((50, 20))
    squares = squared_distances(np.vstack([A, A]))
    assert (np.diag(squares, 50) == 0).all()
    assert (squares == 0).sum() == 200


def test_columns_far_from_the_origin_lose_nothing(rng):
    X = rng.standard_normal((50, 3))
    far = squared_distances(X + [1e8, -1e8, 0])
    assert_allclose(far, cdist(X, X, "sqeuclidean"), atol=1e-6)
