import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from ismlit import datasets
from ismlit.gamma import supervised
from ismlit.grassmann import SecondOrder, principal_angles
from ismlit.ism import ism, matrix_free_eigenvectors, solve, starting_point
from ismlit.kernels import Gaussian, Linear, Polynomial, Squared, gram, median_distance
from ismlit.optimality import certify
from ismlit.phi import Problem
from tests.problems import FAMILY, kernel_for, orthonormal

seeds = st.integers(0, 2**32 - 1)


def objective(X, gamma, kernel, W):
    """J by the dense Gram matrix, which the solver never forms."""
    return np.sum(gamma * gram(kernel, X, W))


@pytest.fixture(scope="module")
def breast_cancer():
    bunch = datasets.load_breast_cancer()
    X, y = scale(bunch.data), bunch.target
    return X, supervised(y), Gaussian(median_distance(X))


def test_the_reference_problem(breast_cancer):
    """30 features, q = 2: 19184.652 from the Taylor start, within 40 passes, never falling."""
    result = ism(*breast_cancer, 2)
    assert result.converged and result.n_phi <= 40
    assert_allclose(result.objective, 19184.652, atol=5e-4)  # the digits of the reference
    X, gamma, kernel = breast_cancer
    dense = objective(X, gamma.to_dense(), kernel, result.W)
    assert_allclose(result.objective, dense, rtol=1e-11)
    assert (np.diff(result.history["objective"]) >= 0).all()


def test_published_ism_falls_into_a_2_cycle_there(breast_cancer):
    with pytest.warns(ConvergenceWarning, match=r"did not converge in 60 steps \(max_iter"):
        result = ism(*breast_cancer, 2, method="published", tol=0, max_iter=60)
    tail = result.history["objective"][-6:]
    assert_allclose(tail[::2], tail[0], rtol=1e-6)
    assert_allclose(tail[1::2], tail[1], rtol=1e-6)
    assert_allclose(np.sort(tail[:2]), [19175.18, 19177.06], atol=0.01)
    stopped = ism(*breast_cancer, 2, method="published", tol=0.01)
    assert stopped.converged and stopped.n_iter == 3 and stopped.residual > 0.01


def test_float32_reaches_the_same_maximum(breast_cancer):
    X, gamma, kernel = breast_cancer
    result = ism(X.astype("f4"), gamma, kernel, 2)
    assert result.W.dtype == np.float32
    assert_allclose(result.objective, 19184.652, rtol=1e-6)  # a few units of single precision


@pytest.mark.parametrize("name", FAMILY)
@given(seed=seeds, q=st.integers(1, 3))
@settings(deadline=None, max_examples=10)
def test_never_falls_and_ends_stationary(name, seed, q):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((20, 4)), np.arange(20) % 3
    kernel, gamma = kernel_for(name, X), supervised(y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = ism(X, gamma, kernel, q, init="random", random_state=seed % 1000)
    J = result.history["objective"]
    assert (np.diff(J) >= -1e-14 * np.abs(J).max()).all()  # its own rounding at the very end
    assert_allclose(result.W.T @ result.W, np.eye(q), atol=1e-12)
    assert_allclose(result.objective, objective(X, gamma.to_dense(), kernel, result.W), rtol=1e-10)
    # stationary by an independent route: no slope of the dense J along tangent directions
    norm = np.linalg.norm(result.problem.phi(result.W))
    for _ in range(3):
        Z = rng.standard_normal((4, q))
        Z -= result.W @ (result.W.T @ Z)
        h = 1e-5 / np.linalg.norm(Z)
        ends = [objective(X, gamma.to_dense(), kernel, result.W + s * h * Z) for s in (1, -1)]
        assert abs(ends[0] - ends[1]) / 2e-5 <= 1e-5 * norm + 1e-8 * abs(J[-1])


@given(seed=seeds)
@settings(deadline=None, max_examples=40)
def test_brute_force_over_all_directions_of_the_plane(seed):
    """d = 2, q = 1: the result is a local maximum of a scan, and not below plain ISM."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (rng.integers(3, 9), 2)).astype(float)
    y = rng.integers(0, 2, len(X))
    assume(len(set(y)) == 2 and np.unique(X, axis=0).shape[0] > 2)
    gamma, kernel = supervised(y), Gaussian(1.5)
    assume(np.abs(X.T @ gamma.to_dense() @ X).max() > 1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = ism(X, gamma, kernel, 1)
        plain = ism(X, gamma, kernel, 1, method="published", tol=1e-12, max_iter=50)
    assume(result.converged)
    angle = np.arctan2(*result.W[::-1, 0])
    around = angle + np.linspace(-0.02, 0.02, 41)
    values = [
        objective(X, gamma.to_dense(), kernel, np.array([[np.cos(t)], [np.sin(t)]])) for t in around
    ]
    assert result.objective >= max(values) - 1e-9 * abs(result.objective)
    # both start at one point; the safeguard rises from there, so it cannot end below it
    assert result.objective >= plain.history["objective"][0] - 1e-12


def test_the_linear_and_squared_kernels_are_solved_by_one_eigendecomposition(rng):
    X, y = rng.standard_normal((30, 5)), np.arange(30) % 3
    G = supervised(y).to_dense()
    vectors = np.linalg.eigh(X.T @ G @ X)[1][:, ::-1][:, :2]
    for kernel in (Linear(), Squared()):
        result = ism(X, supervised(y), kernel, 2)
        assert result.n_iter <= 1
        assert principal_angles(result.W, vectors).max() < 1e-6


@pytest.mark.parametrize("init", ["taylor", "pca", "random"])
def test_rotating_the_data_rotates_the_answer(init, rng):
    X, y, Q = rng.standard_normal((30, 4)), np.arange(30) % 2, orthonormal(4, 4, rng)
    X[:, 0] += 2 * y
    first = ism(X, supervised(y), Gaussian(2.0), 1, init=init, random_state=0)
    second = ism(X @ Q.T, supervised(y), Gaussian(2.0), 1, init=init, random_state=0)
    assert_allclose(second.objective, first.objective, rtol=1e-8)
    # the angle is as accurate as the residual (1e-6) over the relative eigengap
    assert principal_angles(second.W, Q @ first.W).max() < 1e-4


def test_a_saddle_is_left():
    """Thesis counterexample: plain ISM stops at once at e2, a strict local minimum."""
    X, y = np.array([[2.0, -1], [0, -1], [-2, 1]]), [0, 1, 0]
    plain = ism(X, supervised(y), Gaussian(3.0), 1, method="published", tol=1e-12)
    assert_allclose(np.abs(plain.W.ravel()), [0, 1], atol=1e-8)
    stuck = ism(X, supervised(y), Gaussian(3.0), 1, escape=False)
    free = ism(X, supervised(y), Gaussian(3.0), 1)
    angles = np.linspace(0, np.pi, 2001)
    G, K = supervised(y).to_dense(), Gaussian(3.0)
    best = max(objective(X, G, K, np.array([[np.cos(t)], [np.sin(t)]])) for t in angles)
    assert stuck.objective < best - 0.01
    assert free.objective >= best - 1e-9


def test_q_equal_to_d_is_trivially_solved(rng):
    X, y = rng.standard_normal((10, 3)), np.arange(10) % 2
    result = ism(X, supervised(y), Gaussian(1.0), 3)
    assert_allclose(result.objective, np.sum(supervised(y).to_dense() * gram(Gaussian(1.0), X)))


def test_history_and_signs(rng):
    X, y = rng.standard_normal((25, 4)), np.arange(25) % 2
    result = ism(X, supervised(y), Polynomial(3), 2)
    lengths = {key: len(values) for key, values in result.history.items()}
    assert set(lengths.values()) == {result.n_iter + 1}
    assert {"objective", "residual", "shift", "eigengap"} <= set(lengths)
    assert (result.W[np.abs(result.W).argmax(0), [0, 1]] > 0).all()
    assert (np.diff(result.eigenvalues) <= 0).all()
    ritz = result.W.T @ result.problem.phi(result.W) @ result.W
    assert_allclose(ritz, np.diag(result.eigenvalues), atol=1e-9 * np.abs(ritz).max())


def test_the_start_may_be_given_and_is_not_changed(rng):
    X, y, W = rng.standard_normal((20, 3)), np.arange(20) % 2, orthonormal(3, 1, rng)
    before = W.copy()
    result = ism(X, supervised(y), Gaussian(1.0), 1, init=W)
    assert np.array_equal(W, before)
    again = ism(X, supervised(y), Gaussian(1.0), 1, init=result.W)
    assert again.n_iter == 0


def test_not_converged_is_said(breast_cancer):
    with pytest.warns(ConvergenceWarning, match=r"did not converge in 2 steps .*: residual .* Try"):
        result = ism(*breast_cancer, 2, max_iter=2)
    assert not result.converged


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (dict(q=5), "1 <= q <= d: q = 5, d = 3"),
        (dict(q=0), "1 <= q <= d"),
        (dict(q=1.5), "integer"),
        (dict(method="fast"), "'safeguarded'"),
        (dict(init="best"), "'taylor'"),
        (dict(init=np.ones((3, 1))), "orthonormal columns"),
        (dict(init=np.ones((2, 1))), r"shape \(3, q\)"),
        (dict(kernel=Gaussian(1e-4)), "underflows"),
        (dict(X=np.full((8, 3), np.nan)), "NaN"),
        (dict(X=np.zeros((8, 3))), "Phi is exactly zero"),
    ],
)
def test_bad_input_gets_a_clear_error(change, words, rng):
    good = dict(X=rng.standard_normal((8, 3)), gamma=supervised(np.arange(8) % 2), q=1)
    good |= dict(kernel=Gaussian(1.0), init=np.eye(3)[:, :1])
    with pytest.raises(ValueError, match=words), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ism(**good | change)


def test_starting_points_are_the_leading_directions(rng):
    X, y = rng.standard_normal((60, 5)) * [1, 5, 1, 2, 1], np.arange(60) % 4
    X[:, 0] += 3 * y
    problem = Problem(X, supervised(y), Gaussian(4.0))
    W = starting_point(problem, 1, "taylor")
    assert_allclose(W.T @ problem.phi_0() @ W, [[np.linalg.eigvalsh(problem.phi_0())[-1]]])
    W = starting_point(problem, 2, "pca")
    variances = np.linalg.svd(X - X.mean(0), compute_uv=False)[:2] ** 2 / 59
    assert_allclose(np.trace(W.T @ np.cov(X.T) @ W), variances.sum())


def test_eigengap_of_the_history_is_the_certificates(rng):
    X, y = rng.standard_normal((40, 5)), np.arange(40) % 3
    result = ism(X, supervised(y), Gaussian(2.0), 2)
    second = SecondOrder(result.problem, result.W, result.problem.phi(result.W))
    assert_allclose(result.history["eigengap"][-1], second.eigengap, rtol=1e-6)


@pytest.mark.parametrize("warm", [False, True])
def test_matrix_free_eigenvectors_are_those_of_phi(warm, rng):
    X, y = rng.standard_normal((50, 80)), np.arange(50) % 4
    problem, W = Problem(X, supervised(y), Gaussian(9.0)), orthonormal(80, 3, rng)
    values, vectors = np.linalg.eigh(problem.phi(W))
    start = vectors[:, ::-1][:, :3] if warm else None
    problem.count.passes = 0
    found, V = matrix_free_eigenvectors(problem, W, 3, start=start)
    assert_allclose(found, values[::-1][:3], rtol=1e-7)
    assert principal_angles(V, vectors[:, ::-1][:, :3]).max() < 1e-5  # tol over the relative gap
    assert problem.count.passes == 1
    with pytest.raises(ValueError, match="d >= 5 q"):
        matrix_free_eigenvectors(problem, W, 17)


@pytest.mark.parametrize(("seed", "sigma", "q"), [(13, 0.8, 2), (54, 0.5, 1), (61, 1.2, 2)])
def test_extrapolation_never_lowers_the_objective(seed, sigma, q):
    """Small bandwidths, where a smaller residual can mean a lower J: both tests are needed."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((20, 4)), np.arange(20) % 3
    result = ism(X, supervised(y), Gaussian(sigma), q, init="random", random_state=seed)
    J = result.history["objective"]
    assert result.converged and (np.diff(J) >= -1e-14 * J.max()).all()


def test_a_nearly_flat_valley_is_crossed_by_newton_steps():
    """The fixed-point steps alone shrink the residual by less than 1 % each here."""
    seed = 14103946
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((20, 4)), np.arange(20) % 3
    result = ism(X, supervised(y), FAMILY["user"], 3, init="random", random_state=seed % 1000)
    assert result.converged and result.n_phi <= 100
    assert_allclose(result.objective, 13.68425, atol=1e-4)  # the plain steps stop at 13.607


def test_ties_of_the_taylor_start_are_broken_by_variance(rng):
    """Two classes leave Phi_0 with one positive eigenvalue; the second column is a choice."""
    X, y = rng.standard_normal((40, 5)) * [1, 1, 1, 7, 1], np.arange(40) % 2
    X[:, 0] += 4 * y
    problem = Problem(X, supervised(y), Gaussian(4.0))
    W = starting_point(problem, 2, "taylor")
    null = np.linalg.eigh(problem.phi_0())[1][:, :4]
    spread = null.T @ np.cov(X.T) @ null
    assert_allclose(W[:, 1] @ np.cov(X.T) @ W[:, 1], np.linalg.eigvalsh(spread)[-1], rtol=1e-9)


def test_float32_stops_at_its_own_rounding(rng):
    X, y = rng.standard_normal((40, 4)).astype("f4"), np.arange(40) % 2
    result = ism(X, supervised(y), Gaussian(2.0), 1, tol=0)
    assert result.converged and result.message == "the first-order residual is below tol"


def test_several_starts_go_on_from_the_best_of_two_steps(rng):
    """Independently: two plain steps from each start by published ISM, best J on the way."""
    X, y = rng.standard_normal((60, 6)) ** 3, np.arange(60) % 3
    X -= X.mean(axis=0)
    problem = Problem(X, supervised(y), Polynomial(3))
    best = {}
    for name in ("taylor", "pca", "random"):
        options = dict(method="published", tol=0, max_iter=2, init=name, random_state=0)
        with pytest.warns(ConvergenceWarning):
            steps = ism(X, supervised(y), Polynomial(3), 2, **options)
        best[name] = steps.history["objective"].max()
    W = starting_point(problem, 2, "several", 0)
    assert problem.objective(W) == pytest.approx(max(best.values()), rel=1e-12)
    found = ism(X, supervised(y), Polynomial(3), 2, init="several", random_state=0)
    assert found.objective >= max(best.values())


@pytest.mark.parametrize("kernel", [Gaussian(8.0), Polynomial(2)], ids=str)
@pytest.mark.parametrize("given", [False, True])
def test_more_features_than_samples_are_solved_in_their_span(kernel, given, rng):
    """Against the same problem solved with all features."""
    X, y = rng.standard_normal((20, 50)), np.arange(20) % 2
    X[:, 0] += 3 * y
    X -= X.mean(axis=0)
    init = orthonormal(50, 2, rng) if given else "taylor"
    whole = Problem(X, supervised(y), kernel)
    found, direct = ism(X, supervised(y), kernel, 2, init=init), solve(whole, 2, init=init)
    assert found.W.shape == (50, 2) and found.problem.d == 50
    assert_allclose(found.W.T @ found.W, np.eye(2), atol=1e-12)
    assert whole.objective(found.W) == pytest.approx(found.objective, rel=1e-10)
    assert found.objective == pytest.approx(direct.objective, rel=1e-8)
    assert certify(found).is_stationary
    with pytest.raises(ValueError, match="orthonormal"):
        ism(X, supervised(y), kernel, 2, init=np.ones((50, 2)))
