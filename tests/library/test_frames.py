"""Frames: angles, distances, leading eigenvectors, geodesics."""

import numpy as np
import pytest
from library.problems import orthonormal
from numpy.testing import assert_allclose
from scipy.linalg import subspace_angles

from ismlit.geometry.frames import (
    as_frame,
    canonical_frame,
    geodesic,
    project_out,
    projector_distance,
    top_eigenvectors,
)


def test_angles_and_distances(rng):
    W = np.eye(4)[:, :2]
    V = np.c_[W[:, 0], np.cos(0.3) * W[:, 1] + np.sin(0.3) * np.eye(4)[:, 2]]
    assert_allclose(subspace_angles(W, V), [0.3, 0], atol=1e-12)
    assert_allclose(projector_distance(W, V), np.linalg.norm(W @ W.T - V @ V.T), rtol=1e-12)
    Z = np.eye(4)[:, [2, 3]] * 0.3
    assert_allclose(subspace_angles(W, geodesic(W, Z, 1.0)), [0.3, 0.3], atol=1e-12)


@pytest.mark.parametrize("q", [1, 3, 6])
def test_eigenvectors_are_those_asked_for(q, rng):
    A = rng.standard_normal((6, 6))
    A = A + A.T
    values = np.linalg.eigvalsh(A)
    found, V = top_eigenvectors(A, q)
    assert found.shape == (q,) and V.shape == (6, q)
    assert_allclose(found, values[::-1][:q], atol=1e-12)
    assert_allclose(A @ V, V * found, atol=1e-12)


def test_top_eigenvectors_of_equal_values(rng):
    values, V = top_eigenvectors(np.zeros((5, 5)), 3)
    assert not values.any()
    assert_allclose(V.T @ V, np.eye(3), atol=1e-12)


def test_canonical_frames_do_not_depend_on_the_basis(rng):
    A = rng.standard_normal((5, 5))
    W = orthonormal(5, 2, rng)
    values, frame = canonical_frame(A + A.T, W)
    again = canonical_frame(A + A.T, W @ orthonormal(2, 2, rng))
    assert_allclose(again[0], values, atol=1e-12)
    assert_allclose(again[1], frame, atol=1e-10)
    assert values[0] >= values[1] and subspace_angles(frame, W).max() < 1e-7


def test_a_frame_is_copied_and_named_in_errors():
    W = np.eye(4)[:, :2]
    assert as_frame(W, 4, float) is not W
    with pytest.raises(ValueError, match="start must have orthonormal columns"):
        as_frame(2 * W, 4, float, "start")
    with pytest.raises(ValueError, match=r"init must have shape \(5, q\), got \(4, 2\)"):
        as_frame(W, 5, float, "init")


@pytest.mark.parametrize("t", [1e-4, 0.3, -0.3])
def test_a_geodesic_leaves_along_its_tangent(t, rng):
    """Its derivative at 0 is Z, and not -Z: for one column it is the great circle."""
    W = orthonormal(5, 1, rng)
    Z = project_out(rng.standard_normal((5, 1)), W)
    Z /= np.linalg.norm(Z)
    projector = lambda V: V @ V.T  # the signs of its columns do not matter
    circle = np.cos(t) * W + np.sin(t) * Z
    assert_allclose(projector(geodesic(W, Z, t)), projector(circle), atol=1e-12)
    W, Z = orthonormal(5, 2, rng), rng.standard_normal((5, 2))
    Z = project_out(Z, W)
    ahead, back = (projector(geodesic(W, Z, step)) for step in (1e-6, -1e-6))
    assert_allclose((ahead - back) / 2e-6, W @ Z.T + Z @ W.T, atol=1e-8)
