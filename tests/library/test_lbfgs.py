"""L-BFGS on frames: its first Hessian is Kd, its memory is the BFGS matrix, its climb arrives."""

import numpy as np
import pytest
from library.problems import FAMILY, orthonormal, random_problem
from numpy.testing import assert_allclose

from ismlit import Gaussian, Problem, ism, label_gamma
from ismlit.geometry import second_order
from ismlit.geometry.frames import project_out
from ismlit.geometry.second_order import Scaling, SecondOrder
from ismlit.solvers.lbfgs import Memory


@pytest.mark.parametrize("seed", range(10))
def test_the_scaling_is_the_size_of_kd(seed):
    """By the eigenbasis that the second-order test makes for itself."""
    rng = np.random.default_rng(seed)
    problem = random_problem("gaussian", rng, n=20, d=7)
    W = orthonormal(7, 2, rng)
    phi = problem.phi(W)
    scaling, second = Scaling(phi, W), SecondOrder(problem, W, phi)
    assert_allclose(scaling.W @ scaling.W.T, W @ W.T, atol=1e-12)
    G = project_out(rng.standard_normal((7, 2)), W) @ scaling.rotation
    kd = np.abs(second.kd.reshape(second.shape))
    coordinates = second.W_bar.T @ G @ (scaling.W.T @ second.W)
    expected = second.W_bar @ (coordinates / np.maximum(kd, 0.05 * kd.max(axis=0)))
    assert_allclose(scaling(G) @ (scaling.W.T @ second.W), expected, atol=1e-12)


def test_extreme_eigenvectors_alone_scale_much_alike(rng, monkeypatch):
    """Where the rest of the spectrum is narrow."""
    d, W = 60, orthonormal(60, 2, rng)
    phi = W @ np.diag([9.0, 7.0]) @ W.T + 0.01 * np.diag(rng.standard_normal(d))
    G = project_out(rng.standard_normal((d, 2)), W)
    whole = Scaling(phi, W)
    monkeypatch.setattr(second_order, "DENSE_FEATURES", 10)
    monkeypatch.setattr(second_order, "FULL_SCALING_FEATURES", 10)
    few = Scaling(phi, W)
    assert few.V.shape == (60, 22)
    assert_allclose(few(G), whole(G), atol=1e-3 * np.linalg.norm(whole(G)))


@pytest.mark.parametrize("seed", range(10))
def test_the_two_loops_are_the_bfgs_matrix(seed):
    """Built densely: H <- (I - r s y')H(I - r y s') + r s s', from the scaled first one."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((6, 6))
    A = A @ A.T + np.eye(6)  # the Hessian of -J
    D = np.diag(rng.uniform(0.5, 2, 6))
    memory = Memory(10)
    steps = rng.standard_normal((4, 6, 1))
    for s in steps:
        memory.add(s, A @ s)
    G = rng.standard_normal((6, 1))
    found = memory.ascent(G, lambda V: D @ V)
    s, y = steps[-1], A @ steps[-1]
    cosine = lambda v: np.sum(s * v) / np.linalg.norm(s) / np.linalg.norm(v)
    assert_allclose(memory.lead, 0.2 * (cosine(D @ y) - cosine(y)), atol=1e-12)
    D = D if memory.lead >= 0 else np.eye(6)
    H = D * (np.sum(s * y) / np.sum(y * (D @ y)))
    for s in steps:
        y = A @ s
        r = 1 / np.sum(s * y)
        left = np.eye(6) - r * s @ y.T
        H = left @ H @ left.T + r * s @ s.T
    assert_allclose(found, H @ G, atol=1e-10)


def test_a_pair_that_curves_upwards_is_not_kept(rng):
    memory, s = Memory(3), rng.standard_normal((4, 2))
    memory.add(s, -s)
    assert memory.steps is None
    for _ in range(5):
        memory.add(s, s)
    assert len(memory.steps) == len(memory.changes) == 3
    W = orthonormal(4, 2, rng)
    memory.carry(W)
    assert_allclose(W.T @ memory.steps[0], 0, atol=1e-12)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_what_curves_downwards_is_judged_by_the_angle(size):
    """The threshold is a cosine, of 1e-10: the units of the data do not matter."""
    s = size * np.array([[1.0], [0.0]])
    for cosine, kept in ((1e-9, True), (1e-11, False)):
        memory = Memory(3)
        memory.add(s, size * np.array([[cosine], [1.0]]))
        assert (memory.steps is not None) == kept


def test_pairs_turn_with_their_frame(rng):
    """In turned columns the step for the turned gradient is the turned step."""
    W, rotation = orthonormal(6, 2, rng), orthonormal(2, 2, rng)
    A = np.diag(np.arange(1.0, 7.0))
    here, there = Memory(4), Memory(4)
    for _ in range(3):
        s = project_out(rng.standard_normal((6, 2)), W)
        for memory in (here, there):
            memory.add(s, A @ s)
    G = project_out(rng.standard_normal((6, 2)), W)
    here.carry(W)
    there.carry(W @ rotation, rotation)
    expected = here.ascent(G, lambda V: V) @ rotation
    assert_allclose(there.ascent(G @ rotation, lambda V: V), expected, atol=1e-10)


def test_phi_is_formed_seldom(monkeypatch):
    """A narrow kernel on many features: most passes are of gradients."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 30)), np.arange(200) % 5
    X[:, :5] += np.eye(5)[y]
    problem = Problem(X, label_gamma(y), Gaussian(0.8))
    formed, whole = [], Problem.objective_and_phi

    def counted(self, W):
        formed.append(1)
        return whole(self, W)

    monkeypatch.setattr(Problem, "objective_and_phi", counted)
    found = ism(problem, q=3)
    assert found.converged and len(formed) < found.n_passes / 4


def test_a_scaling_that_misleads_gives_way(rng):
    """Steps that turn against the scaling make the first Hessian a multiple of the identity."""
    A = np.diag([1.0, 2.0, 3.0, 4.0])  # the Hessian of -J: y = A s
    for scaling, leads in ((np.linalg.inv(A), True), (A @ A @ A, False)):
        memory = Memory(4)
        for _ in range(12):
            s = rng.standard_normal((4, 1))
            memory.add(s, A @ s)
            step = memory.ascent(rng.standard_normal((4, 1)), lambda G, M=scaling: M @ G)
        assert (memory.lead > 0) == leads and np.isfinite(step).all()
    plain = memory.ascent(np.ones((4, 1)), lambda G: G)
    assert_allclose(memory.ascent(np.ones((4, 1)), lambda G: A @ A @ A @ G), plain)


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("seed", range(3))
def test_where_it_ends_no_step_of_the_plain_gradient_leads_higher(name, seed):
    """Independent of the climb: random tangents, by the objective alone."""
    rng = np.random.default_rng(seed)
    problem = random_problem(name, rng, n=25, d=5)
    found = ism(problem, q=2, tol=1e-9)
    assert found.converged
    assert (np.diff(found.history["objective"]) >= -1e-11 * abs(found.objective)).all()
    for _ in range(20):
        Z = project_out(rng.standard_normal((5, 2)), found.W)
        near = np.linalg.qr(found.W + 1e-4 * Z / np.linalg.norm(Z))[0]
        assert problem.objective(near) <= found.objective + 1e-11 * abs(found.objective)
