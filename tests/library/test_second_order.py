"""The exact second-order form against differences along geodesics, and its lowest curvature."""

import warnings

import numpy as np
import pytest
from library.problems import FAMILY, brute_force, orthonormal, random_problem
from numpy.testing import assert_allclose
from scipy.sparse.linalg import ArpackNoConvergence

from ismlit.gamma import label_gamma
from ismlit.geometry import frames, second_order
from ismlit.geometry.frames import (
    extreme_eigenvectors,
    geodesic,
)
from ismlit.geometry.second_order import DENSE_DIRECTIONS, SecondOrder
from ismlit.kernels import Gaussian
from ismlit.objectives.plain import Problem
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


def at_a_saddle(name, seed, sign=1):
    """A stationary point by symmetry: rows come in pairs that differ in the sign of six columns.

    W solves the problem of the other columns alone, so that nothing pulls it out of them, and what
    the six would bring has any sign. With `sign` -1 Gamma only penalises, and Phi of a Gaussian has
    chosen eigenvalues below 0.
    """
    rng = np.random.default_rng(seed)
    half = rng.standard_normal((15, 34))
    X = np.vstack([half, half * np.repeat([1, -1], [28, 6])])
    one, two = rng.standard_normal((2, 15, 15))
    gamma = np.block([[one + one.T, two + two.T], [two + two.T, one + one.T]])
    if sign < 0:
        gamma = -gamma @ gamma
    W = np.zeros((34, 3))
    start = orthonormal(28, 3, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a component that hardly varies
        W[:28] = ism(Problem(X[:, :28], gamma, FAMILY[name]), q=3, init=start, escape=False).W
    problem = Problem(X, gamma, FAMILY[name])
    return SecondOrder(problem, W, problem.phi(W))


def require_bracket(curvature, exact):
    """A Rayleigh quotient lies above the eigenvalue, less its error below; the sign is that of it.

    Rounding is that of Phi; an eigenvalue below the share of Phi that counts as 0 has no sign.
    """
    rounding = 1e-10 * curvature.size
    assert exact <= curvature.value + rounding
    assert curvature.value - curvature.error <= exact + rounding
    flat = second_order.FLAT * curvature.size
    assert (curvature.value > 0) == (exact > 0) or abs(exact) < flat


@pytest.mark.parametrize("in_basis", [True, False], ids=["eigenvectors", "tangents"])
@pytest.mark.parametrize(
    "name",
    ["gaussian", "user", "squared"]
    + [pytest.param(name, marks=pytest.mark.slow) for name in ("multiquadratic", "product")],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_products_find_the_lowest_curvature_of_the_matrix(sign, name, in_basis, monkeypatch):
    """Against the eigenvalues of Kd - M itself, at maxima and saddles, on eight draws."""
    monkeypatch.setattr(second_order, "DENSE_DIRECTIONS", 0)
    signs = []
    for seed in range(8):
        whole = at_a_saddle(name, seed, sign)
        exact = np.linalg.eigvalsh(np.diag(whole.kd) - whole.m_dense())[0]
        with monkeypatch.context() as patch:
            if not in_basis:
                patch.setattr(second_order, "DENSE_FEATURES", 30)
                patch.setattr(second_order, "FULL_SCALING_FEATURES", 30 if seed % 2 else 1000)
            second = SecondOrder(whole.problem, whole.W, whole.phi)
            assert second.in_basis == in_basis
            curvature, Z = second.lowest()
        assert 0 < curvature.error < np.inf
        require_bracket(curvature, exact)
        assert_allclose(curvature.eigengap, whole.eigengap, atol=1e-8 * curvature.size)
        assert np.linalg.norm(Z) == pytest.approx(1) and np.abs(whole.W.T @ Z).max() < 1e-8
        b = whole.W_bar.T @ Z  # the tangent is one along which that curvature is taken
        quotient = np.sum(b * whole.times(b.ravel()).reshape(b.shape))
        assert_allclose(quotient, curvature.value, atol=1e-8 * curvature.size)
        signs.append(exact > 0)
    assert name == "squared" or sign < 0 or 0 < sum(signs) < 8  # of both kinds


@pytest.mark.parametrize("name", ["gaussian", "polynomial", "user"])
def test_few_directions_have_no_error(name, rng):
    """The matrix is formed: what comes is its eigenvalue, and not within something of it."""
    problem = random_problem(name, rng, n=20, d=9)
    W = orthonormal(9, 3, rng)
    second = SecondOrder(problem, W, problem.phi(W))
    values, vectors = np.linalg.eigh(np.diag(second.kd) - second.m_dense())
    curvature, Z = second.lowest()
    assert curvature.error == 0 and curvature.value == pytest.approx(values[0], rel=1e-10)
    assert_allclose(np.abs(np.sum(Z * second.tangent(vectors[:, 0]))), 1)


def test_the_matrix_is_the_same_in_one_block_and_in_several(rng, monkeypatch):
    problem = random_problem("user", rng, n=12, d=9)
    W = orthonormal(9, 3, rng)
    whole, parts = (SecondOrder(problem, W, problem.phi(W)) for _ in range(2))
    assert whole.size == 18 > second_order.BLOCK
    in_blocks = parts.m_dense()
    monkeypatch.setattr(second_order, "BLOCK", 18)
    assert_allclose(in_blocks, whole.m_dense(), atol=1e-10 * np.abs(in_blocks).max())


def test_where_products_do_not_settle_the_matrix_is_formed(monkeypatch):
    """Where it is small enough; else the error says that nothing bounds it from below."""
    second = at_a_saddle("gaussian", 0)
    exact = np.linalg.eigvalsh(np.diag(second.kd) - second.m_dense())[0]
    monkeypatch.setattr(second_order, "DENSE_DIRECTIONS", 0)
    monkeypatch.setattr(second_order, "KRYLOV", 3)
    monkeypatch.setattr(second_order, "RESTARTS", 1)
    formed, _ = second.lowest()
    assert formed.error == 0 and formed.value == pytest.approx(exact)
    monkeypatch.setattr(second_order, "DENSE_LIMIT", 5)
    before = second.problem.count.passes
    unsure, Z = second.lowest()
    assert second.problem.count.passes - before <= 3 * second_order.KRYLOV
    assert unsure.error == np.inf and unsure.value >= exact
    assert np.linalg.norm(Z) == pytest.approx(1) and np.abs(second.W.T @ Z).max() < 1e-12


def test_the_iterative_lowest_curvature_agrees_with_the_dense_one(rng):
    X = rng.standard_normal((40, 70))
    X[:, :2] *= 3
    y = np.arange(40) % 3
    result = ism(X, label_gamma(y), Gaussian(12.0), 4, tol=1e-7)
    second = SecondOrder(result.problem, result.W, result.problem.phi(result.W))
    assert second.size > DENSE_DIRECTIONS
    before = result.problem.count.passes
    curvature = second.lowest()[0]
    most = second_order.KRYLOV * (1 + second_order.RESTARTS)
    assert 0 < result.problem.count.passes - before <= most < second.size
    require_bracket(curvature, np.linalg.eigvalsh(np.diag(second.kd) - second.m_dense())[0])
