"""An objective written to the letter of the protocol: every start, solver and certificate."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ismlit import Gaussian, Problem, certify, ism, label_gamma
from ismlit.geometry.frames import first_order_residual, projector_distance
from ismlit.geometry.second_order import SecondOrder
from ismlit.objectives.features import FeatureProblem
from ismlit.objectives.joint import Envelope, JointProblem
from ismlit.objectives.normalized import NormalizedProblem
from ismlit.objectives.pairs import Count
from ismlit.objectives.protocol import Objective, Smooth, TwiceDifferentiable
from ismlit.solvers.starts import INITS


@dataclass(frozen=True)
class Laplacians:
    """Tr(FF' K) for exp(-beta / 2), by n x n arrays: nothing of the library's own objectives."""

    X: np.ndarray
    F: np.ndarray
    count: Count = field(default_factory=Count)
    n = property(lambda self: len(self.X))
    d = property(lambda self: self.X.shape[1])
    dtype = property(lambda self: self.X.dtype)

    def _kernel(self, W):
        self.count.passes += 1
        z = self.X @ W
        return np.exp(-((z[:, None] - z[None]) ** 2).sum(axis=2) / 2)

    def _scatter(self, A, V):
        """``1/2 sum A_ij (x_i - x_j)(x_i - x_j)' V``."""
        return self.X.T @ ((np.diag(A.sum(axis=1)) - A) @ (self.X @ V))

    def objective(self, W):
        return float(np.sum(self.F * (self._kernel(W) @ self.F)))

    def objective_and_phi(self, W):
        A = (self.F @ self.F.T) * self._kernel(W)
        return float(A.sum()), -self._scatter(A, np.eye(self.d))

    def objective_and_gradient(self, W):
        J, phi = self.objective_and_phi(W)
        return J, phi @ W

    def phi_0(self):
        return self.objective_and_phi(np.zeros((self.d, 1)))[1]

    def phi_derivative(self, W, Z):
        z, A = self.X @ W, (self.F @ self.F.T) * self._kernel(W)
        across = lambda v: v[:, None] - v[None]
        slopes = [np.einsum("ijq,ijq->ij", across(z), across(self.X @ one)) for one in Z]
        return np.array([self._scatter(A * slope, W) for slope in slopes])

    def on(self, rows):
        F = self.F[rows]
        return replace(self, X=self.X[rows], F=F - F.mean(axis=0), count=Count())

    def in_basis(self, V):
        return replace(self, X=self.X @ V)

    def near(self, W):
        return self

    def targets(self):
        return self.F, np.ones(self.F.shape[1])

    def score(self, W):
        return self.objective(W)


def rows_and_labels(n=60, d=5, seed=3):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, (X[:, 0] + X[:, 1] ** 2 > 0.7).astype(int)


@pytest.fixture
def ours():
    X, y = rows_and_labels()
    return Laplacians(X, label_gamma(y).F)


@pytest.fixture
def library():
    X, y = rows_and_labels()
    return Problem(X, label_gamma(y), Gaussian(1.0))


def test_the_letter_is_the_protocol_and_no_more(ours):
    members = {name for name in vars(Laplacians) if not name.startswith("_")} | {"X", "count"}
    asked = {n for p in TwiceDifferentiable.__mro__ for n in vars(p) if not n.startswith("_")}
    assert members == asked
    assert isinstance(ours, TwiceDifferentiable)


def test_it_is_the_same_function_as_the_library_s(ours, library):
    W = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 2)))[0]
    Z = np.random.default_rng(1).standard_normal((3, 5, 2))
    assert_allclose(ours.objective_and_phi(W)[1], library.phi(W), atol=1e-10)
    assert_allclose(ours.phi_derivative(W, Z), library.phi_derivative(W, Z), atol=1e-10)


@pytest.mark.parametrize("init", [*INITS, "array"])
def test_every_start_leads_where_it_leads_the_library_s_own(init, ours, library):
    start = np.eye(5)[:, :2] if init == "array" else init
    found, expected = (ism(p, q=2, init=start, random_state=0) for p in (ours, library))
    assert found.objective == pytest.approx(expected.objective, rel=1e-8)
    assert projector_distance(found.W, expected.W) < 1e-4


def test_it_is_certified(ours, library):
    certificates = [certify(p, ism(p, q=2).W) for p in (ours, library)]
    assert certificates[0].is_maximum
    assert certificates[0].curvature == pytest.approx(certificates[1].curvature, rel=1e-5)
    assert certify(ism(ours, q=2)).is_maximum
    assert not certify(ours, np.eye(5)[:, 2:4]).is_stationary


def test_it_is_solved_in_the_span_of_few_rows():
    X, y = rows_and_labels(n=12, d=30)
    problems = Laplacians(X, label_gamma(y).F), Problem(X, label_gamma(y), Gaussian(1.0))
    found, expected = (ism(problem, q=1) for problem in problems)
    assert found.W.shape == (30, 1) and certify(found).is_maximum
    assert found.objective == pytest.approx(expected.objective, rel=1e-8)


def test_a_saddle_is_left_by_its_second_order(ours):
    """The direction that a symmetry of the sample leaves alone is stationary, and no maximum."""
    X = np.vstack([ours.X[:, :2], ours.X[:, :2] * [-1, 1]])
    problem = Laplacians(X, label_gamma((X[:, 0] > 0).astype(int)).F)
    W = np.eye(2)[:, 1:]
    J, phi = problem.objective_and_phi(W)
    assert first_order_residual(phi, W) < 1e-12
    assert SecondOrder(problem, W, phi).lowest()[0].value < 0
    assert ism(problem, q=1, init=W).objective > 1.5 * J


def test_what_the_library_solves_is_an_objective(library):
    X, gamma, kernel = library.X, library.gamma, library.kernel
    for problem in (library, NormalizedProblem(X, gamma, kernel)):
        assert isinstance(problem, TwiceDifferentiable)
    features = FeatureProblem(X, gamma, kernel)
    assert isinstance(features, Objective) and not isinstance(features, TwiceDifferentiable)
    envelope = Envelope(JointProblem(X, kernel), 2)
    assert isinstance(envelope, Smooth) and not isinstance(envelope, Objective)
