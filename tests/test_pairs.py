"""Distances between pairs of samples."""

import numpy as np

from ismlit.problems.pairs import squared_distances


def test_twins_are_at_distance_zero(rng):
    """Exactly, though their distance is a difference of rounded products."""
    A = 10 * rng.standard_normal((50, 20))
    squares = squared_distances(np.vstack([A, A]))
    assert (np.diag(squares, 50) == 0).all()
    assert (squares == 0).sum() == 200
