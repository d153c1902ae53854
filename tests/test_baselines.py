import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from ismlit.baselines import (
    cayley,
    dimension_growth,
    grassmann_trust_region,
    stiefel_descent,
)
from ismlit.gamma import supervised
from ismlit.grassmann import principal_angles
from ismlit.ism import ism
from ismlit.kernels import Gaussian, Polynomial
from ismlit.phi import Problem
from tests.problems import orthonormal

PEERS = [dimension_growth, stiefel_descent, grassmann_trust_region]
KERNELS = pytest.mark.parametrize("kernel", [Gaussian(2.0), Polynomial(2)], ids=str)


@pytest.fixture
def problem(rng):
    X, y = rng.standard_normal((60, 5)), np.arange(60) % 3
    X[:, 0] += 2 * (y == 1)
    X[:, 1] += 2 * (y == 2)
    return X - X.mean(axis=0), supervised(y)


@pytest.fixture(params=PEERS, ids=lambda f: f.__name__)
def peer(request):
    if request.param is grassmann_trust_region:
        pytest.importorskip("pymanopt", reason="the Grassmann trust region needs pymanopt")
    return request.param


@KERNELS
def test_peers_and_ism_meet_at_one_maximum(peer, problem, kernel):
    q = 1 if peer is dimension_growth else 2  # greed does no harm to a single column
    ours, theirs = ism(*problem, kernel, q), peer(*problem, kernel, q)
    assert theirs.converged
    assert_allclose(theirs.objective, ours.objective, rtol=1e-9)  # second order in tol = 1e-6
    assert principal_angles(theirs.W, ours.W).max() < 1e-4  # first order in it, over the gap
    assert theirs.residual < 1e-5


def test_trust_region_uses_the_exact_hessian(problem):
    pytest.importorskip("pymanopt", reason="the Grassmann trust region needs pymanopt")
    found = grassmann_trust_region(*problem, Gaussian(2.0), 2)
    assert found.n_iter <= 12  # without the f'' part it takes more


def test_dimension_growth_is_greedy(problem):
    """Its first column is the answer for q = 1, whatever q is; its end is not stationary."""
    one = dimension_growth(*problem, Gaussian(2.0), 1)
    two = dimension_growth(*problem, Gaussian(2.0), 2)
    inside = two.W @ (two.W.T @ one.W)
    assert_allclose(inside, one.W, atol=1e-5)
    assert two.converged and two.residual > 1e-3
    assert two.objective < ism(*problem, Gaussian(2.0), 2).objective


def test_cayley_is_its_formula_and_feasible(rng):
    for _ in range(8):  # a QR that flips a column would show in some
        W, G = orthonormal(6, 2, rng) @ np.diag(rng.choice([-1, 1], 2)), rng.standard_normal((6, 2))
        A = G @ W.T - W @ G.T
        expected = np.linalg.solve(np.eye(6) - 0.2 * A, (np.eye(6) + 0.2 * A) @ W)
        assert_allclose(cayley(W, G, 0.4), expected, atol=1e-13)
    for step in (1e-6, 1.0, 1e6):
        moved = cayley(W, G, step)
        assert_allclose(moved.T @ moved, np.eye(2), atol=1e-13)


def test_a_budget_of_passes_is_kept(peer, problem):
    with pytest.warns(UserWarning, match="not converged"):
        found = peer(*problem, Gaussian(2.0), 2, max_phi=6, init="random", random_state=0)
    assert not found.converged and found.n_phi <= 8  # a column's first pass is always made
    assert found.objective == pytest.approx(
        Problem(*problem, Gaussian(2.0)).objective(found.W), rel=1e-12
    )


def test_history_counts_passes(peer, problem):
    found = peer(*problem, Gaussian(2.0), 2)
    passes = found.history["passes"]
    assert len(passes) == len(found.history["objective"])
    assert (np.diff(passes) > 0).all() and passes[-1] <= found.n_phi


def test_bad_q_is_refused(peer, problem):
    for q in (0, 6, 1.5):
        with pytest.raises(ValueError, match="1 <= q <= d"):
            peer(*problem, Gaussian(2.0), q)


def test_inputs_are_not_changed(peer, problem):
    X, gamma = problem
    W = orthonormal(5, 2, np.random.default_rng(1))
    copies = X.copy(), W.copy()
    peer(X, gamma, Gaussian(2.0), 2, init=W)
    assert (copies[0] == X).all() and (copies[1] == W).all()


def test_a_kernel_that_underflows_is_refused(peer, problem):
    with pytest.raises(ValueError, match="exactly zero"):
        peer(*problem, Gaussian(1e-3), 2)


def test_all_features_leave_nothing_to_choose(peer, problem):
    if peer is dimension_growth:
        pytest.skip("its columns are chosen one by one")
    found = peer(*problem, Gaussian(2.0), 5)
    assert found.converged and found.residual < 1e-12


def test_single_precision_is_kept(peer, problem):
    X, gamma = problem
    found = peer(X.astype("float32"), gamma, Gaussian(2.0), 1)
    assert found.W.dtype == np.float32 and found.converged
    assert found.residual < 1e-4  # 200 roundings of float32, twice over


def test_a_spent_budget_is_not_convergence(problem):
    for budget in range(5, 40):
        options = dict(max_phi=budget, init="random", random_state=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = dimension_growth(*problem, Gaussian(2.0), 1, **options)
        assert not found.converged or found.residual < 1e-5
