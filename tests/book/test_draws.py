"""The random cases: what they compute by themselves is what the library computes."""

import numpy as np
import pytest
from ismlit_book.record.draws import KERNELS, Draw
from numpy.testing import assert_allclose

from ismlit.grams import gram


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_the_objective_by_pairs_is_the_library_s(kernel):
    """At any matrix, not only at orthonormal ones."""
    draw = Draw(4, kernels=(kernel,))
    V = draw.rng.standard_normal((draw.d, draw.q))
    assert_allclose(draw.objective(V), draw.problem.objective(V), rtol=1e-10)


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_the_gram_matrix_by_pairs_is_the_library_s(kernel):
    draw = Draw(4, kernels=(kernel,))
    found = draw.gram(draw.W @ draw.W.T)
    assert_allclose(found, gram(draw.kernel, draw.X, draw.W), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("index", range(6))
def test_stationary_points_have_no_slope(index):
    draw = Draw(index, kernels=("gaussian", "polynomial"), sizes=((8, 3, 1), (10, 4, 2)))
    if (at := draw.stationary()) is None:
        return
    phi = draw.problem.phi(at.W)
    assert np.linalg.norm(at.W_bar.T @ phi @ at.W) < 1e-10 * np.linalg.norm(phi)
    assert draw.stationary() is at  # kept


def test_some_stationary_points_are_found():
    found = [Draw(index, sizes=((8, 3, 1),)).stationary() for index in range(24)]
    assert sum(at is not None for at in found) > 8
