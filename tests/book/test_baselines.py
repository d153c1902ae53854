import numpy as np
import pytest
from ismlit_book.methods.baselines import (
    dimension_growth,
    grassmann_trust_region,
    stiefel_descent,
)
from ismlit_book.methods.published import published_ism
from library.problems import orthonormal, unsettled
from numpy.testing import assert_allclose
from scipy.linalg import subspace_angles

from ismlit.gamma import label_gamma
from ismlit.kernels import Gaussian, Polynomial
from ismlit.objectives.joint import JointProblem
from ismlit.objectives.plain import Problem
from ismlit.solvers.alternate import alternate
from ismlit.solvers.ism import ism

PEERS = [dimension_growth, stiefel_descent, grassmann_trust_region]
KERNELS = pytest.mark.parametrize("kernel", [Gaussian(2.0), Polynomial(2)], ids=str)


@pytest.fixture
def problem(rng):
    X, y = rng.standard_normal((60, 5)), np.arange(60) % 3
    X[:, 0] += 2 * (y == 1)
    X[:, 1] += 2 * (y == 2)
    return X - X.mean(axis=0), label_gamma(y)


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
    assert subspace_angles(theirs.W, ours.W).max() < 1e-4  # first order in it, over the gap
    assert theirs.residual < 1e-5


def test_trust_region_uses_the_exact_hessian(problem):
    pytest.importorskip("pymanopt", reason="the Grassmann trust region needs pymanopt")
    found = grassmann_trust_region(*problem, Gaussian(2.0), 2)
    assert found.n_iter <= 12  # without the f'' part it takes more


def test_steps_of_the_stiefel_method_are_those_of_barzilai_and_borwein(rng):
    """Other steps arrive as well, after hundreds of them."""
    X, y = rng.standard_normal((60, 5)), np.arange(60) % 3
    X += 2 * np.eye(5)[y] * (y > 0)[:, None]
    found = stiefel_descent(X - X.mean(axis=0), label_gamma(y), Gaussian(2.0), 2)
    assert found.converged and found.n_passes < 60


def test_dimension_growth_is_greedy(problem):
    """Its first column is the answer for q = 1, whatever q is; its end is not stationary."""
    one = dimension_growth(*problem, Gaussian(2.0), 1)
    two = dimension_growth(*problem, Gaussian(2.0), 2)
    inside = two.W @ (two.W.T @ one.W)
    assert_allclose(inside, one.W, atol=1e-5)
    assert two.converged and two.residual > 1e-3
    assert two.objective < ism(*problem, Gaussian(2.0), 2).objective


def test_a_budget_of_passes_is_kept(peer, problem):
    with pytest.warns(UserWarning, match="not converged"):
        found = peer(*problem, Gaussian(2.0), 2, max_passes=6, init="random", random_state=0)
    assert not found.converged and found.n_passes <= 8  # a column's first pass is always made
    assert found.objective == pytest.approx(
        Problem(*problem, Gaussian(2.0)).objective(found.W), rel=1e-12
    )


def test_history_counts_passes(peer, problem):
    found = peer(*problem, Gaussian(2.0), 2)
    passes = found.history["passes"]
    assert len(passes) == len(found.history["objective"])
    assert (np.diff(passes) > 0).all() and passes[-1] <= found.n_passes


@pytest.mark.parametrize(
    "solve", [ism, published_ism, dimension_growth, stiefel_descent, grassmann_trust_region]
)
def test_a_second_solve_of_one_problem_counts_its_own_passes(solve, rng):
    """The count of a problem goes on; every result and history begins at its own start."""
    if solve is grassmann_trust_region:
        pytest.importorskip("pymanopt", reason="the Grassmann trust region needs pymanopt")
    X, y = rng.standard_normal((40, 4)), np.arange(40) % 3
    X[:, 0] += 2 * y
    problem = Problem(X, label_gamma(y), Gaussian(2.0))
    first, second = (solve(problem, q=2, tol=1e-3) for _ in range(2))
    assert problem.count.passes >= first.n_passes + second.n_passes
    assert first.n_passes == second.n_passes
    assert np.array_equal(first.history["passes"], second.history["passes"])
    assert 1 <= second.history["passes"][0] <= second.history["passes"][-1] <= second.n_passes


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
    with pytest.raises(ValueError, match="Phi is zero"):
        peer(*problem, Gaussian(1e-3), 2)


def test_all_features_leave_nothing_to_choose(peer, problem):
    if peer is dimension_growth:
        pytest.skip("its columns are chosen one by one")
    found = peer(*problem, Gaussian(2.0), 5)
    assert found.converged and found.residual < 1e-12


def test_single_precision_is_kept(peer, problem):
    """To 800 roundings; DG's line search sees J alone, and so the root of its rounding."""
    X, gamma = problem
    found, eps = peer(X.astype("float32"), gamma, Gaussian(2.0), 1), np.finfo(np.float32).eps
    assert found.W.dtype == np.float32 and found.converged
    assert found.residual < (4 * np.sqrt(eps) if peer is dimension_growth else 800 * eps)


@unsettled
def test_a_spent_budget_is_not_convergence(problem):
    for budget in range(5, 40):
        options = dict(max_passes=budget, init="random", random_state=1)
        found = dimension_growth(*problem, Gaussian(2.0), 1, **options)
        assert not found.converged or found.residual < 1e-5


def test_a_trust_region_cut_short_does_not_claim_to_converge(wine):
    """However small the objective: what is small is told by ||Phi||, not by 1."""
    pytest.importorskip("pymanopt", reason="the Grassmann trust region needs pymanopt")
    task = wine[0], 1e-6 * label_gamma(wine[1]), Gaussian(3.0), 2
    with pytest.warns(UserWarning, match="not converged"):
        found = grassmann_trust_region(*task, max_iter=1, init="random", random_state=0)
    assert not found.converged and found.residual > 1e-3


@pytest.mark.parametrize("solver", [published_ism, *PEERS], ids=lambda f: f.__name__)
@unsettled
def test_alternate_by_any_solver_finds_the_clusters_and_never_falls(solver, rng):
    if solver is grassmann_trust_region:
        pytest.importorskip("pymanopt")
    y = np.arange(80) % 2
    X = np.c_[6.0 * y, np.zeros((80, 3))] + rng.standard_normal((80, 4))
    found = alternate(JointProblem(X, Gaussian(2.0), "centred"), 1, 1, solver=solver)
    assert np.mean((found.U[:, 0] > 0) == y) in (0.0, 1.0)
    assert np.diff(found.history["objective"]).min() > -1e-9
