import numpy as np
import pytest
from numpy.testing import assert_allclose

from ismlit.gamma import Gamma, centre, supervised
from ismlit.grassmann import (
    DENSE_LIMIT,
    SecondOrder,
    geodesic,
    principal_angles,
    projector_distance,
)
from ismlit.ism import ism, solve
from ismlit.kernels import Gaussian
from ismlit.optimality import certify
from ismlit.phi import Problem
from tests.problems import FAMILY, brute_force, orthonormal, random_problem


@pytest.mark.parametrize("name", FAMILY)
def test_second_order_form_is_the_curvature_along_geodesics(name, rng):
    """-<Z, Hess J Z>/2 = <Z, (Kd - M) Z> at a stationary point; J by the double loop."""
    problem = random_problem(name, rng, n=9)
    W = ism(problem.X, problem.gamma, problem.kernel, 2, init="random", random_state=0).W
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


def test_lobpcg_agrees_with_the_dense_form(rng):
    X = rng.standard_normal((40, 70))
    X[:, :2] *= 3
    y = np.arange(40) % 3
    result = ism(X, supervised(y), Gaussian(12.0), 4, tol=1e-7)
    second = SecondOrder(result.problem, result.W, result.problem.phi(result.W))
    assert second.size > DENSE_LIMIT
    dense = np.linalg.eigvalsh(np.diag(second.kd) - second.m_dense())
    # the iterative value is asked for 1e-4 of the spectrum's size, and is a Rayleigh quotient
    assert_allclose(second.lowest()[0], dense[0], atol=2e-3 * np.abs(dense).max())


def test_certificate_of_a_maximum_and_of_a_minimum():
    X, y = np.array([[2.0, -1], [0, -1], [-2, 1]]), [0, 1, 0]
    problem = Problem(X, supervised(y), Gaussian(3.0))
    at_minimum = certify(problem, np.array([[0.0], [1.0]]))
    # J'' = 32/81 - 304 exp(-2/9)/729 along the circle, from the claims notes; curvature = -J''/2
    exact = 32 / 81 - 304 * np.exp(-2 / 9) / 729
    assert at_minimum.is_stationary and not at_minimum.is_second_order
    assert_allclose(at_minimum.curvature, -exact / 2, rtol=1e-9)
    maximum = certify(ism(X, supervised(y), Gaussian(3.0), 1))
    assert maximum.is_stationary and maximum.is_second_order and maximum.curvature > 0
    assert "local maximum to second order: yes" in str(maximum)


def test_a_random_point_is_not_certified(rng):
    problem = random_problem("gaussian", rng)
    assert not certify(problem, orthonormal(4, 2, rng)).is_stationary


def test_the_printed_bounds_by_their_formulas(rng):
    X, y = rng.standard_normal((15, 3)), np.arange(15) % 2
    result = ism(X, supervised(y), Gaussian(2.0), 1)
    found = certify(result)
    W, G, sigma = result.W, supervised(y).to_dense(), 2.0
    phi3 = np.zeros((3, 3))  # chapter 3's Phi, eq-3.8
    right = 0.0
    for i in range(15):
        for j in range(15):
            diff = X[i] - X[j]
            value = np.exp(-np.sum((W.T @ diff) ** 2) / (2 * sigma**2))
            A = np.outer(diff, diff)
            phi3 += G[i, j] / sigma**2 * value * A
            right += abs(G[i, j]) / sigma**2 * value * np.trace(A.T @ A)
    values = np.linalg.eigvalsh(phi3)
    assert_allclose(found.bound_310.left, sigma**2 * (values[1] - values[0]), rtol=1e-6)
    assert_allclose(found.bound_310.right, right, rtol=1e-10)
    assert found.bound_c73.left == pytest.approx(found.eigengap)


def test_bounds_imply_the_exact_condition(rng):
    """The printed conditions are sufficient: no counterexample among random maxima."""
    for _ in range(40):
        X, y = rng.standard_normal((12, 3)), rng.permutation(np.arange(12) % 2)
        sigma = rng.uniform(1, 20)
        found = certify(ism(X, supervised(y), Gaussian(sigma), 1))
        for bound in (found.bound_c73, found.bound_310):
            assert not bound.holds or found.is_second_order


def test_angles_and_distances(rng):
    W = np.eye(4)[:, :2]
    V = np.c_[W[:, 0], np.cos(0.3) * W[:, 1] + np.sin(0.3) * np.eye(4)[:, 2]]
    assert_allclose(principal_angles(W, V), [0.3, 0], atol=1e-12)
    assert_allclose(projector_distance(W, V), np.linalg.norm(W @ W.T - V @ V.T), rtol=1e-12)
    Z = np.eye(4)[:, [2, 3]] * 0.3
    assert_allclose(principal_angles(W, geodesic(W, Z, 1.0)), [0.3, 0.3], atol=1e-12)


def test_a_result_without_data_is_refused(rng):
    from dataclasses import replace

    result = ism(rng.standard_normal((9, 2)), supervised(np.arange(9) % 2), Gaussian(1.0), 1)
    with pytest.raises(ValueError, match="pass a Problem"):
        certify(replace(result, problem=None))


def test_c73_is_the_largest_curvature_of_f_second(rng):
    """(C.73)'s constant bounds B'MB for every unit B."""
    X, y = rng.standard_normal((15, 3)), np.arange(15) % 2
    result = ism(X, supervised(y), Gaussian(2.0), 1)
    right = certify(result).bound_c73.right
    second = SecondOrder(result.problem, result.W, result.problem.phi(result.W))
    B = rng.standard_normal((second.size, 200))
    B /= np.linalg.norm(B, axis=0)
    assert (np.sum(B * second.m_times(B), axis=0) <= right + 1e-12).all()


@pytest.mark.parametrize("q", [1, 2, 3])
def test_the_lowest_direction_is_a_tangent_at_the_given_frame(q, rng):
    """J along geodesic(W, Z) bends by -2 lowest, for a W whose columns are in no special order."""
    problem = random_problem("gaussian", rng, n=12, d=5)
    W = ism(problem.X, problem.gamma, problem.kernel, q, tol=1e-10).W @ orthonormal(q, q, rng)
    lowest, Z, error = SecondOrder(problem, W, problem.phi(W)).lowest()
    assert error == 0 and abs(W.T @ Z).max() < 1e-12 and abs(np.linalg.norm(Z) - 1) < 1e-12
    h = 1e-3
    J = [problem.objective(geodesic(W, Z, t)) for t in (-h, 0, h)]
    bend = (J[0] - 2 * J[1] + J[2]) / h**2
    assert_allclose(bend, -2 * lowest, atol=1e-4 * np.linalg.norm(problem.phi(W)))


def test_a_saddle_is_left_with_two_components():
    X = np.array([[-1, -1, -1], [1, 0, 1], [0, 0, 0], [0, 2, 0], [1, 1, 1], [-1, -2, -1.0]])
    result = ism(X, supervised([0, 0, 0, 1, 1, 1]), Gaussian(1.0), 2, init="pca")
    assert certify(result).is_second_order
    assert_allclose(result.objective, 3.3406, atol=1e-4)  # the best of many random starts


def test_a_maximum_where_phi_w_vanishes_is_stationary(rng):
    """A Gamma that only penalises: the best W is blind, Phi W = 0 there."""
    x = rng.standard_normal(30)
    gamma = Gamma(centre(rng.standard_normal((30, 2))), -np.ones(2))
    result = ism(np.c_[x, x], gamma, Gaussian(1.0), 1, init="random", random_state=0)
    assert_allclose(np.abs(result.W.ravel()), np.sqrt(0.5), atol=1e-4)
    assert result.converged and certify(result).is_stationary


def test_float32_is_certified_at_its_own_precision(rng):
    X = rng.standard_normal((60, 4))
    result = ism(X.astype("f4"), supervised(X[:, 0] ** 2 > 0.5), Gaussian(1.5), 2)
    assert result.converged and certify(result).is_stationary


@pytest.mark.parametrize(
    ("W", "words"),
    [(None, "pass the W"), (2 * np.eye(4)[:, :2], "orthonormal"), (np.eye(3), r"shape \(4, q\)")],
)
def test_only_frames_are_certified(W, words, rng):
    with pytest.raises(ValueError, match=words):
        certify(random_problem("gaussian", rng), W)


@pytest.mark.parametrize("seed", range(12))
def test_lanczos_brackets_the_lowest_curvature(seed):
    """Against the matrix itself, at maxima and at random points."""
    rng = np.random.default_rng(seed)
    problem = random_problem(("gaussian", "polynomial", "user")[seed % 3], rng, n=20, d=9)
    W = orthonormal(9, 3, rng) if seed % 2 else solve(problem, 3).W
    second = SecondOrder(problem, W, problem.phi(W))
    exact, _, none = second.lowest(dense=True)
    value, Z, error = second.lowest(dense=False)
    scale = np.abs(second.kd).max()
    assert none == 0
    assert value >= exact - 1e-9 * scale  # a Rayleigh quotient
    assert value - error <= exact + 1e-9 * scale
    assert (value > 0) == (exact > 0) or abs(exact) < 0.01 * scale
    assert np.linalg.norm(Z) == pytest.approx(1) and np.abs(W.T @ Z).max() < 1e-9


def test_newton_direction_solves_the_system(rng):
    problem = random_problem("gaussian", rng, n=20, d=9)
    W = solve(problem, 3).W
    second = SecondOrder(problem, W, problem.phi(W))
    slope = rng.standard_normal(second.size)
    matrix = np.diag(second.kd) - second.m_dense()
    expected = second.tangent(np.linalg.solve(matrix, slope))
    found = second.newton(slope, tol=1e-10, max_products=100)
    assert_allclose(found, expected, atol=1e-7 * np.linalg.norm(expected))


def test_newton_direction_ascends_where_the_curvature_is_wrong(rng):
    for _ in range(20):
        problem = random_problem("gaussian", rng, n=20, d=6)
        W = orthonormal(6, 2, rng)
        second = SecondOrder(problem, W, problem.phi(W))
        G = problem.phi(W) @ W
        slope = (second.W_bar.T @ problem.phi(W) @ second.W).ravel()
        assert np.sum(second.newton(slope) * G) > 0


@pytest.mark.parametrize("d", [2, 3, 9])
def test_many_samples_and_few_directions_are_certified(d, rng):
    """So many samples that M is not formed for its own sake."""
    y = np.arange(5000) % 2
    X = rng.standard_normal((5000, d))
    X[:, 0] += 2 * y
    certificate = certify(ism(X, supervised(y), Gaussian(2.0), 1), bounds=False)
    assert certificate.is_stationary and certificate.is_second_order
