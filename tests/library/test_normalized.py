"""The problem divided by degrees: against dense matrices and central differences."""

import numpy as np
import pytest
from library.problems import orthonormal
from numpy.testing import assert_allclose

from ismlit import label_gamma
from ismlit.gamma import Gamma, guidance_gamma
from ismlit.grams import gram
from ismlit.kernels import Gaussian, Polynomial
from ismlit.objectives.normalized import NormalizedProblem
from ismlit.objectives.plain import Problem
from ismlit.solvers.certificate import certify
from ismlit.solvers.ism import ism


@pytest.fixture
def normalized(rng):
    X, U = rng.standard_normal((30, 4)), orthonormal(30, 3, rng)
    guide = guidance_gamma(np.arange(30) % 2, 0.3)
    return NormalizedProblem(X, Gamma(U, [1.0, 1.0, -0.5]), Gaussian(1.5), fixed=guide, tile=7)


def naive(problem, W, degrees_at=None):
    """The normalised objective by dense matrices; the degrees are held if a W is given for them."""
    K = gram(problem.kernel, problem.X, W)
    D = gram(problem.kernel, problem.X, W if degrees_at is None else degrees_at).sum(axis=1)
    value = np.sum(problem.gamma.to_dense() * K / np.sqrt(np.outer(D, D)))
    return value + np.sum(problem.fixed.to_dense() * K)


def test_normalised_objective_and_gradient(normalized, rng):
    W, Z, h = orthonormal(4, 2, rng), rng.standard_normal((4, 2)), 1e-5
    slope = (naive(normalized, W + h * Z) - naive(normalized, W - h * Z)) / (2 * h)
    J, phi = normalized.objective_and_phi(W)
    assert J == pytest.approx(naive(normalized, W), rel=1e-12)
    assert normalized.objective(W) == pytest.approx(J, rel=1e-12)
    assert 2 * np.sum(phi @ W * Z) == pytest.approx(slope, rel=1e-6)  # central differences
    J, G = normalized.objective_and_gradient(W)
    assert_allclose(G, phi @ W, atol=1e-12 * np.linalg.norm(phi))
    frozen, held = normalized.frozen(W), lambda step: naive(normalized, W + step * Z, degrees_at=W)
    assert frozen.objective(W) == pytest.approx(J, rel=1e-12)
    of_frozen = 2 * np.sum(frozen.phi(W) @ W * Z)
    assert of_frozen == pytest.approx((held(h) - held(-h)) / (2 * h), rel=1e-6)
    assert of_frozen != pytest.approx(slope, rel=1e-2)  # what the papers use


def test_effective_gamma_ignores_the_scale_of_k(normalized, rng):
    """J does not change with c K, so its derivative along K vanishes."""
    W = orthonormal(4, 2, rng)
    plain = NormalizedProblem(normalized.X, normalized.gamma, normalized.kernel)
    terms = plain.objective_and_gamma(W)[1].to_dense() * gram(plain.kernel, plain.X, W)
    assert abs(terms.sum()) < 1e-12 * np.abs(terms).sum()


def test_normalised_ism_climbs(normalized):
    found = ism(normalized, q=2)
    assert found.converged and np.diff(found.history["objective"]).min() > 0


def test_negative_degrees_are_refused(rng):
    X = rng.standard_normal((20, 3))
    problem = NormalizedProblem(X, Gamma(np.ones((20, 1)), [1.0]), Polynomial(3, c=-5.0))
    with pytest.raises(ValueError, match="positive row sums"):
        problem.objective(np.eye(3, 1))


def test_second_order_of_the_normalised_problem(normalized, rng):
    """Against central differences of the gradient, whose error is about 1e-10 at h = 1e-5."""
    W, Z, h = orthonormal(4, 2, rng), rng.standard_normal((4, 2)), 1e-5
    at = lambda t: normalized.objective_and_gradient(W + t * Z)[1]
    slope = (at(h) - at(-h)) / (2 * h)
    hessian = lambda problem: problem.phi_derivative(W, Z[None])[0] + problem.phi(W) @ Z
    assert_allclose(hessian(normalized), slope, atol=1e-8 * np.abs(slope).max())
    moved = (normalized.phi(W + h * Z) - normalized.phi(W - h * Z)) @ W / (2 * h)
    found = normalized.phi_derivative(W, np.stack([Z, 2 * Z]))
    assert_allclose(found, [moved, 2 * moved], atol=1e-8 * np.abs(moved).max())
    wrong = hessian(normalized.frozen(W))
    assert np.abs(wrong - slope).max() > 0.05 * np.abs(slope).max()


def test_normalised_result_is_certified(normalized):
    certificate = certify(ism(normalized, q=2))
    assert certificate.is_stationary and certificate.is_second_order


def test_taylor_start_of_the_normalised_problem_sees_the_labels(normalized):
    zero = np.zeros((4, 1))
    plain = Problem(normalized.X, normalized.gamma, normalized.kernel)
    assert_allclose(normalized.phi_0(), normalized.objective_and_phi(zero)[1], atol=1e-12)
    assert np.abs(normalized.phi_0() - plain.phi_0()).max() > 1e-3


def test_a_problem_with_degrees_keeps_one_precision(wine):
    """Gamma in double precision beside X in single is brought to that of X."""
    problem = NormalizedProblem(wine[0].astype(np.float32), label_gamma(wine[1]), Gaussian(3.0))
    assert problem.gamma.F.dtype == problem.gamma.s.dtype == np.float32


def test_a_problem_with_degrees_takes_x_as_lists_of_whole_numbers():
    """X becomes an array of floats, whatever it came as, and the answers are the same."""
    X, gamma = np.array([[0, 1], [2, 0], [3, 4], [5, 1]]), label_gamma([0, 0, 1, 1])
    listed = NormalizedProblem(X.tolist(), gamma, Gaussian(2.0))
    assert isinstance(listed.X, np.ndarray) and listed.X.dtype == np.float64
    w = np.array([[0.6], [0.8]])
    plain = NormalizedProblem(X.astype(float), gamma, Gaussian(2.0))
    assert listed.objective(w) == plain.objective(w)
