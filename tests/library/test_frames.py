"""Frames, geodesics, and the exact second-order form against differences along geodesics."""

import numpy as np
import pytest
from library.problems import FAMILY, brute_force, orthonormal, random_problem
from numpy.testing import assert_allclose
from scipy.sparse.linalg import ArpackNoConvergence

from ismlit.gamma import label_gamma
from ismlit.geometry import frames, second_order
from ismlit.geometry.frames import (
    as_frame,
    canonical_frame,
    extreme_eigenvectors,
    geodesic,
    principal_angles,
    project_out,
    projector_distance,
    top_eigenvectors,
)
from ismlit.geometry.second_order import DENSE_LIMIT, SecondOrder
from ismlit.kernels import Gaussian
from ismlit.solvers.ism import ism


@pytest.mark.parametrize("name", FAMILY)
def test_second_order_form_is_the_curvature_along_geodesics(name, rng):
    """-<Z, Hess J Z>/2 = <Z, (Kd - M) Z> at a stationary point; J by the double loop."""
    problem = random_problem(name, rng, n=9)
    W = ism(problem, q=2, init="random", random_state=0).W
    second = SecondOrder(problem, W, problem.phi(W))
    h = 1e-3
    for _ in range(2):
        B = rng.standard_normal(second.size)
        B /= np.linalg.norm(B)
        Z = second.W_bar @ B.reshape(second.shape)
        J = [brute_force(problem, geodesic(second.W, Z, t)) for t in (-h, 0, h)]
        curvature = (J[0] - 2 * J[1] + J[2]) / h**2
        form = B @ (second.kd * B - second.m_times(B[:, None])[:, 0])
        # second differences: truncation h^2 J''''/12 = 1e-7 |J|, rounding eps |J| / h^2 = 1e-9
        assert_allclose(-curvature / 2, form, atol=1e-4 * np.linalg.norm(problem.phi(W)))


def test_eigenvalues_too_close_for_lanczos_are_found_directly(rng, monkeypatch):
    """A matrix that is zero, one that is the identity but for a corner, and Lanczos refused."""
    monkeypatch.setattr(frames, "DENSE_FEATURES", 20)
    corner = np.eye(50)
    corner[0, 0] = 2
    for matrix, largest in ((np.zeros((50, 50)), 0), (corner, 2)):
        values, vectors = extreme_eigenvectors(matrix, 2, "LA")
        assert_allclose(values[-1], largest, atol=1e-12)
        assert_allclose(vectors.T @ vectors, np.eye(2), atol=1e-10)

    def refuse(*args, **options):
        raise ArpackNoConvergence("", np.zeros(0), np.zeros((50, 0)))

    monkeypatch.setattr(frames, "eigsh", refuse)
    A = rng.standard_normal((50, 50))
    values, vectors = extreme_eigenvectors(A + A.T, 2, "LM")
    assert_allclose((A + A.T) @ vectors, vectors * values, atol=1e-10)
    assert_allclose(np.abs(values).max(), np.abs(np.linalg.eigvalsh(A + A.T)).max())


def test_angles_and_distances(rng):
    W = np.eye(4)[:, :2]
    V = np.c_[W[:, 0], np.cos(0.3) * W[:, 1] + np.sin(0.3) * np.eye(4)[:, 2]]
    assert_allclose(principal_angles(W, V), [0.3, 0], atol=1e-12)
    assert_allclose(projector_distance(W, V), np.linalg.norm(W @ W.T - V @ V.T), rtol=1e-12)
    Z = np.eye(4)[:, [2, 3]] * 0.3
    assert_allclose(principal_angles(W, geodesic(W, Z, 1.0)), [0.3, 0.3], atol=1e-12)


@pytest.mark.parametrize("q", [1, 2, 3])
def test_the_lowest_direction_is_a_tangent_at_the_given_frame(q, rng):
    """J along geodesic(W, Z) bends by -2 lowest, for a W whose columns are in no special order."""
    problem = random_problem("gaussian", rng, n=12, d=5)
    W = ism(problem, q=q, tol=1e-10).W @ orthonormal(q, q, rng)
    (lowest, error, *_), Z = SecondOrder(problem, W, problem.phi(W)).lowest()
    assert error == 0 and abs(W.T @ Z).max() < 1e-12 and abs(np.linalg.norm(Z) - 1) < 1e-12
    h = 1e-3
    J = [problem.objective(geodesic(W, Z, t)) for t in (-h, 0, h)]
    bend = (J[0] - 2 * J[1] + J[2]) / h**2
    assert_allclose(bend, -2 * lowest, atol=1e-4 * np.linalg.norm(problem.phi(W)))


def brackets(found, exact, scale, sure=1e-6):
    """A value and its error enclose the exact one; a Rayleigh quotient, it lies above."""
    assert exact <= found.value + 1e-9 * scale
    assert found.value - found.error <= exact + 1e-9 * scale
    assert (found.value > 0) == (exact > 0) or abs(exact) < sure * scale


@pytest.mark.parametrize("seed", range(12))
def test_lanczos_brackets_the_lowest_curvature(seed):
    """Against the matrix itself, at maxima and at random points."""
    rng = np.random.default_rng(seed)
    problem = random_problem(("gaussian", "polynomial", "user")[seed % 3], rng, n=20, d=9)
    W = orthonormal(9, 3, rng) if seed % 2 else ism(problem, q=3).W
    second = SecondOrder(problem, W, problem.phi(W))
    (exact, none, *_), _ = second.lowest(dense=True)
    found, Z = second.lowest(dense=False)
    assert none == 0
    brackets(found, exact, np.abs(second.kd).max(), sure=0.01)
    assert np.linalg.norm(Z) == pytest.approx(1) and np.abs(W.T @ Z).max() < 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_without_the_other_eigenvectors_the_curvature_is_the_same(seed, monkeypatch):
    """On tangents themselves, scaled by extreme eigenvectors: bracket, gap and tangent."""
    rng = np.random.default_rng(seed)
    problem = random_problem(("gaussian", "user")[seed % 2], rng, n=40, d=34)
    W = orthonormal(34, 3, rng) if seed % 3 == 0 else ism(problem, q=3, escape=False).W
    phi = problem.phi(W)
    whole = SecondOrder(problem, W, phi)
    exact = whole.lowest(dense=True)[0]
    scale = np.abs(whole.kd).max()
    monkeypatch.setattr(second_order, "DENSE_FEATURES", 30)
    monkeypatch.setattr(second_order, "FULL_SCALING_FEATURES", 30 if seed % 4 else 1000)
    large = SecondOrder(problem, W, phi)
    found, Z = large.lowest()
    assert not large.in_basis and not large.is_small
    assert_allclose(large.eigengap, whole.eigengap, atol=1e-8 * scale)
    brackets(found, exact.value, scale)
    assert np.linalg.norm(Z) == pytest.approx(1) and np.abs(W.T @ Z).max() < 1e-9
    b = Z @ large.rotation
    assert_allclose(np.sum(b * large.times(b.ravel()).reshape(b.shape)), found.value, rtol=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_lanczos_stops_when_the_sign_is_certain(seed):
    """Fewer products, the same sign, and the true value within what it says."""
    rng = np.random.default_rng(seed)
    problem = random_problem(("gaussian", "user")[seed % 2], rng, n=30, d=24)
    W = orthonormal(24, 3, rng) if seed % 3 == 0 else ism(problem, q=3, escape=False).W
    second = SecondOrder(problem, W, problem.phi(W))
    before = problem.count.passes
    settled, _ = second.lowest()
    between = problem.count.passes
    found, _ = second.lowest(enough=1e-6 * second.phi_size)
    assert problem.count.passes - between <= between - before
    brackets(found, second.lowest(dense=True)[0].value, np.abs(second.kd).max())


def test_where_lanczos_does_not_settle_the_matrix_is_formed(rng, monkeypatch):
    """Where it is small enough; else the error says what is not known."""
    problem = random_problem("gaussian", rng, n=20, d=9)
    W = orthonormal(9, 3, rng)
    second = SecondOrder(problem, W, problem.phi(W))
    monkeypatch.setattr(second_order, "MOST_PRODUCTS", 2)
    found, Z = second.lowest()
    exact, Z_exact = second.lowest(dense=True)
    assert found == exact and found.error == 0
    assert_allclose(Z, Z_exact)
    monkeypatch.setattr(second_order, "DENSE_LIMIT", 5)
    unsure, _ = second.lowest()
    assert unsure.value >= exact.value and unsure.value - unsure.error <= exact.value


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
    assert values[0] >= values[1] and principal_angles(frame, W).max() < 1e-7


def test_a_frame_is_copied_and_named_in_errors():
    W = np.eye(4)[:, :2]
    assert as_frame(W, 4, float) is not W
    with pytest.raises(ValueError, match="start must have orthonormal columns"):
        as_frame(2 * W, 4, float, "start")
    with pytest.raises(ValueError, match=r"init must have shape \(5, q\), got \(4, 2\)"):
        as_frame(W, 5, float, "init")


def test_the_iterative_lowest_curvature_agrees_with_the_dense_one(rng):
    X = rng.standard_normal((40, 70))
    X[:, :2] *= 3
    y = np.arange(40) % 3
    result = ism(X, label_gamma(y), Gaussian(12.0), 4, tol=1e-7)
    second = SecondOrder(result.problem, result.W, result.problem.phi(result.W))
    assert second.size > DENSE_LIMIT
    dense = np.linalg.eigvalsh(np.diag(second.kd) - second.m_dense())
    # the iterative value is asked for 1e-4 of the spectrum's size, and is a Rayleigh quotient
    assert_allclose(second.lowest()[0].value, dense[0], atol=2e-3 * np.abs(dense).max())


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
