"""Distances between pairs of samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from ismlit.grams import squared_distances
from ismlit.kernels import Linear
from ismlit.objectives.pairs import Pairs


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


def test_a_row_whose_kernel_adds_up_to_nothing_is_refused():
    """Its degree is 0, and no root of it can divide: the linear kernel of opposite rows."""
    pairs = Pairs(np.array([[1.0], [-1.0]]), Linear())
    with pytest.raises(ValueError, match=r"positive row sums of K, the smallest of Linear.* is 0"):
        pairs.row_sums(pairs.gram_operator(np.eye(1)))
