import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from ismlit import datasets
from ismlit.gamma import Gamma, guidance, unsupervised
from ismlit.ism import ism, solve
from ismlit.kernels import ConstantKernelError, Gaussian, Polynomial, gram, median_distance
from ismlit.optimality import certify
from ismlit.phi import Problem
from ismlit.spectral import NormalizedProblem, alternate, spectral_embedding
from tests.problems import orthonormal


@pytest.fixture
def normalized(rng):
    X, U = rng.standard_normal((30, 4)), orthonormal(30, 3, rng)
    guide = guidance(np.arange(30) % 2, 0.3)
    return NormalizedProblem(X, Gamma(U, [1.0, 1.0, -0.5]), Gaussian(1.5), fixed=guide, tile=7)


def naive(problem, W):
    """The normalised objective by dense matrices."""
    K = gram(problem.kernel, problem.X, W)
    D = K.sum(axis=1)
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
    frozen = Problem(normalized.X, normalized.frozen_gamma(W), normalized.kernel).phi(W)
    assert 2 * np.sum(frozen @ W * Z) != pytest.approx(slope, rel=1e-2)  # what the papers use


def test_effective_gamma_ignores_the_scale_of_k(normalized, rng):
    """J does not change with c K, so its derivative along K vanishes."""
    W = orthonormal(4, 2, rng)
    plain = NormalizedProblem(normalized.X, normalized.gamma, normalized.kernel)
    terms = plain.objective_and_gamma(W)[1].to_dense() * gram(plain.kernel, plain.X, W)
    assert abs(terms.sum()) < 1e-12 * np.abs(terms).sum()


def test_normalised_ism_climbs(normalized):
    found = solve(normalized, 2)
    assert found.converged and np.diff(found.history["objective"]).min() > 0


def test_negative_degrees_are_refused(rng):
    X = rng.standard_normal((20, 3))
    problem = NormalizedProblem(X, Gamma(np.ones((20, 1)), [1.0]), Polynomial(3, c=-5.0))
    with pytest.raises(ValueError, match="positive row sums"):
        problem.objective(np.eye(3, 1))


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("n", [40, 1600])  # dense, and Lanczos
def test_embedding_is_that_of_the_affinity(normalize, n, rng):
    X = rng.standard_normal((n, 3)) + 3 * np.eye(3)[np.arange(n) % 3]
    problem = Problem(X, Gamma(np.ones((n, 1)), [1.0]), Gaussian(1.0))
    U, values = spectral_embedding(problem, np.eye(3), 3, normalize=normalize)
    K = gram(Gaussian(1.0), X)
    D = K.sum(axis=1)
    H = np.eye(n) - 1 / n
    A = K / np.sqrt(np.outer(D, D)) if normalize else H @ K @ H
    expected = np.linalg.eigvalsh(A)[::-1][:3]
    assert_allclose(values, expected, rtol=1e-6)  # eigsh's tolerance
    assert_allclose(A @ U, U * values, atol=1e-4 * values[0])
    assert_allclose(U.T @ U, np.eye(3), atol=1e-10)


def test_embedding_wants_a_possible_k(rng):
    problem = Problem(rng.standard_normal((5, 2)), Gamma(np.ones((5, 1)), [1.0]), Gaussian(1.0))
    with pytest.raises(ValueError, match="between 1 and the number of samples"):
        spectral_embedding(problem, np.eye(2), 6)


@pytest.mark.parametrize("normalize", [False, True, "centred"])
@pytest.mark.parametrize("weight", [None, 2.0, -2.0])
@pytest.mark.parametrize("place", ["guide", "fixed"])
def test_alternation_never_falls_and_ends_where_it_says(normalize, weight, place):
    wine = datasets.load_wine()
    X, y = scale(wine.data), wine.target
    extra = None if weight is None else guidance(y, weight)
    kernel = Gaussian(median_distance(X))
    options = {"max_iter": 300, place: extra}
    found = alternate(X, kernel, 3, 2, normalize=normalize, **options)
    assert found.converged
    assert np.diff(found.history["objective"]).min() > -1e-9 * abs(found.objective)
    K = gram(kernel, X, found.W)
    D = K.sum(axis=1)
    A = K / np.sqrt(np.outer(D, D)) if normalize else K
    U = found.U if normalize is True else found.U - found.U.mean(axis=0)
    value = np.trace(U.T @ A @ U)
    if extra is not None:
        value += np.sum(extra.to_dense() * (A if place == "guide" else K))
    assert found.objective == pytest.approx(value, rel=1e-9)


def test_frozen_degrees_lose_what_exact_ones_keep():
    X = scale(datasets.load_wine().data)
    kernel = Gaussian(median_distance(X))
    with pytest.warns(ConvergenceWarning, match="fell"):
        frozen = alternate(X, kernel, 3, 3, normalize=True, freeze=True)
    assert np.diff(frozen.history["objective"]).min() < -0.01
    assert frozen.objective < alternate(X, kernel, 3, 3, normalize=True).objective - 0.1


def test_the_first_u_keeps_away_from_what_is_known(rng):
    X = rng.standard_normal((40, 3))
    known = guidance(np.arange(40) % 2, -1.0)
    problem = Problem(X, known, Gaussian(1.0))
    U, values = spectral_embedding(problem, np.eye(3), 2, normalize="centred", away=known.F)
    K = gram(Gaussian(1.0), X)
    D = K.sum(axis=1)
    F = np.c_[np.ones(40), np.arange(40) % 2]
    P = np.eye(40) - F @ np.linalg.pinv(F)
    expected = np.linalg.eigvalsh(P @ (K / np.sqrt(np.outer(D, D))) @ P)[::-1][:2]
    assert_allclose(values, expected, rtol=1e-10)
    assert_allclose(F.T @ U, 0, atol=1e-10)


def test_a_solver_that_falls_is_not_followed(rng):
    """ISM first, a random W afterwards: it is dropped, and the result is that of the kept one."""
    X, calls = scale(datasets.load_wine().data), []

    def random_w(problem, gamma, kernel, q, init):
        calls.append(1)
        if len(calls) == 1:
            return ism(problem, gamma, kernel, q, init=init, escape=False)
        return ism(problem, gamma, kernel, q, init="random", random_state=0, max_iter=0)

    with pytest.warns(ConvergenceWarning, match="the last one, which is kept"):
        found = alternate(X, Gaussian(5.0), 3, 3, normalize=True, solver=random_w)
    assert np.diff(found.history["objective"]).min() > -1e-12
    assert not found.converged and found.n_phi_test == 0
    certificate = certify(found.result)  # of the W that is kept and of the last U
    assert found.result.residual == pytest.approx(certificate.residual, rel=1e-6)
    assert found.result.objective == pytest.approx(found.objective, rel=1e-10)


def test_normalize_is_one_of_three(rng):
    X = rng.standard_normal((30, 3))
    for bad in ("yes", 1, None):
        with pytest.raises(ValueError, match="'centred'"):
            alternate(X, Gaussian(1.0), 2, 1, normalize=bad)
    plain, numpys = (alternate(X, Gaussian(1.0), 2, 1, normalize=v) for v in (True, np.True_))
    assert plain.objective == numpys.objective


def test_the_first_u_is_the_start_or_keeps_away(rng):
    X, known = rng.standard_normal((30, 3)), guidance(np.arange(30) % 2, -1.0)
    start = orthonormal(30, 2, rng)
    once = dict(normalize="centred", max_iter=1, guide=known)
    with pytest.warns(ConvergenceWarning, match="a single one"):
        assert_allclose(alternate(X, Gaussian(1.0), 2, 1, start=start, **once).U, start)
        away = alternate(X, Gaussian(1.0), 2, 1, **once).U
    assert_allclose(known.F.T @ away, 0, atol=1e-10)
    for bad, words in ((start[:, :1], "k = 2 columns"), (3 * start, "orthonormal columns")):
        with pytest.raises(ValueError, match=words):
            alternate(X, Gaussian(1.0), 2, 1, start=bad, **once)


def test_later_turns_start_from_the_last_w():
    X, starts, ends = scale(datasets.load_wine().data), [], []

    def spy(problem, gamma, kernel, q, init):
        starts.append(init)
        result = ism(problem, gamma, kernel, q, init=init)
        ends.append(result.W)
        return result

    alternate(X, Gaussian(5.0), 3, 2, solver=spy, tol=1e-3)
    assert starts[0] == "taylor" and len(starts) > 2
    assert all(a is b for a, b in zip(starts[1:], ends))


def test_single_precision_and_pickles(rng):
    X = scale(datasets.load_wine().data).astype(np.float32)
    known = guidance(datasets.load_wine().target, -1.0)
    found = alternate(X, Gaussian(5.0), 2, 2, normalize="centred", guide=known, tol=1e-3)
    assert found.U.dtype == found.W.dtype == np.float32
    assert pickle.loads(pickle.dumps(found)).objective == found.objective


def test_a_bandwidth_far_too_large_is_refused(rng):
    X = rng.standard_normal((30, 3))
    for normalize in (False, "centred"):
        with pytest.raises(ConstantKernelError, match="constant on this data"):
            alternate(X, Gaussian(1e9), 2, 1, normalize=normalize)


def test_parts_of_the_wrong_size_are_refused(rng):
    X, small = rng.standard_normal((30, 3)), guidance(np.arange(20) % 2, -1.0)
    for name in ("guide", "fixed"):
        with pytest.raises(ValueError, match=f"{name} is for 20 samples"):
            alternate(X, Gaussian(1.0), 2, 1, **{name: small})
        with pytest.raises(ValueError, match=f"{name} must be a Gamma"):
            alternate(X, Gaussian(1.0), 2, 1, **{name: np.eye(30)})
    problem = Problem(X, Gamma(np.ones((30, 1)), [1.0]), Gaussian(1.0))
    with pytest.raises(ValueError, match="room for 1 columns"):
        away = np.eye(30)[:, :28]
        spectral_embedding(problem, np.eye(3), 2, normalize="centred", away=away)
    at_first = NormalizedProblem(X, Gamma(np.ones((30, 1)), [1.0]), Gaussian(1.0))
    at_first.objective(np.eye(3)[:, :1])
    with pytest.raises(ValueError, match="W must have shape"):
        at_first.objective(np.eye(3)[:, 0])


def test_alternation_that_does_not_converge_says_so():
    X = scale(datasets.load_wine().data)
    with pytest.warns(ConvergenceWarning, match="still rose"):
        found = alternate(X, Gaussian(5.0), 3, 3, max_iter=2)
    assert not found.converged and found.n_iter == 2


def test_passes_of_an_alternation_are_those_made(monkeypatch):
    """Counted independently, at the one place where all pairs are visited."""
    made, kept = [], [0]
    sweep = Problem._sweep

    def counted(self, row_function, W, *extra):
        made.append(1)
        kept[0] += bool(extra and isinstance(extra[-1], dict) and extra[-1])  # tiles at hand
        return sweep(self, row_function, W, *extra)

    monkeypatch.setattr(Problem, "_sweep", counted)
    X = scale(datasets.load_wine().data)
    for normalize in (False, True):
        made.clear()
        kept[0] = 0
        found = alternate(X, Gaussian(5.0), 3, 3, normalize=normalize, tol=1e-3)
        assert found.n_phi == len(made) - kept[0]
    problem = Problem(X, unsupervised(found.U), Gaussian(5.0))
    first, second = solve(problem, 2), solve(problem, 2)
    assert first.n_phi == second.n_phi  # not cumulative


def test_second_order_of_the_normalised_problem(normalized, rng):
    """Against central differences of the gradient, whose error is about 1e-10 at h = 1e-5."""
    W, Z, h = orthonormal(4, 2, rng), rng.standard_normal((4, 2)), 1e-5
    at = lambda t: normalized.objective_and_gradient(W + t * Z)[1]
    slope = (at(h) - at(-h)) / (2 * h)
    assert_allclose(normalized.gradient_derivative(W, Z), slope, atol=1e-8 * np.abs(slope).max())
    moved = (normalized.phi(W + h * Z) - normalized.phi(W - h * Z)) @ W / (2 * h)
    found = normalized.phi_derivative(W, np.stack([Z, 2 * Z]))
    assert_allclose(found, [moved, 2 * moved], atol=1e-8 * np.abs(moved).max())
    image = normalized.operator(W) @ np.eye(4)
    assert_allclose(image, normalized.phi(W), atol=1e-12 * np.abs(image).max())
    frozen = Problem(normalized.X, normalized.frozen_gamma(W), normalized.kernel)
    wrong = frozen.gradient_derivative(W, Z)
    assert np.abs(wrong - slope).max() > 0.05 * np.abs(slope).max()


def test_normalised_result_is_certified(normalized):
    certificate = certify(solve(normalized, 2))
    assert certificate.is_stationary and certificate.is_second_order
    assert certificate.bound_310 is None  # of a Gamma that does not depend on W


def test_bad_parts_are_refused(normalized):
    X, U = normalized.X, Gamma(np.ones((30, 1)), [1.0])
    with pytest.raises(ValueError, match="must be a Gamma"):
        NormalizedProblem(X, np.eye(30), Gaussian(1.0))
    with pytest.raises(ValueError, match="fixed is for 20 samples"):
        NormalizedProblem(X, U, Gaussian(1.0), fixed=Gamma(np.ones((20, 1)), [1.0]))
    with pytest.raises(ValueError, match="at least 1"):
        alternate(X, Gaussian(1.0), 0, 2)


def test_taylor_start_of_the_normalised_problem_sees_the_labels(normalized):
    zero = np.zeros((4, 1))
    assert_allclose(normalized.phi_0(), normalized.objective_and_phi(zero)[1], atol=1e-12)
    assert np.abs(normalized.phi_0() - Problem.phi_0(normalized)).max() > 1e-3
