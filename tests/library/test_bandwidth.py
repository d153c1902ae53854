"""Bandwidths found from the data."""

import numpy as np
from numpy.testing import assert_allclose

from ismlit.bandwidth import (
    as_kernel,
    best_bandwidth,
    neighbour_distance,
    projected_distance,
    self_tuning_kernel,
)


def test_local_bandwidths_are_distances_to_the_seventh_neighbour(rng):
    """By default k = 7, of the function and of the kernel that is made of it."""
    X = rng.standard_normal((40, 3))
    apart = np.sqrt(np.sum((X[:, None] - X) ** 2, axis=2))
    seventh = np.sort(apart, axis=1)[:, 7]  # the 0th is the sample itself
    assert_allclose(neighbour_distance(X), seventh)
    assert_allclose(as_kernel("gaussian", X, "self_tuning").sigmas, seventh / np.sqrt(2))
    assert_allclose(self_tuning_kernel(X).sigmas, seventh / np.sqrt(2))


def test_the_projected_bandwidth_is_half_the_projected_distance(rng):
    X = rng.standard_normal((30, 6))
    assert as_kernel("gaussian", X, "projected", 2).sigma == projected_distance(X, 2) / 2


def test_best_bandwidth_is_refined_to_a_hundredth():
    """One pair at distance 1 whose kernel value should be that of a given sigma.

    The grid of 26 points is a fifth of a unit of log sigma wide, and the sigmas lie off it.
    """
    for sigma in (0.4321, 1.234, 3.3):
        wanted = np.exp(-1 / (2 * sigma**2))
        found, _ = best_bandwidth(np.ones((1, 1)), lambda K: -abs(K[0, 0] - wanted), 0.1, 10.0)  # noqa: B023
        assert abs(np.log(found / sigma)) < 0.02
