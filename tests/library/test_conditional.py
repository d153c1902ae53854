"""The conditional covariance: its formula, its derivatives, its limit, and what it finds."""

import pickle

import numpy as np
import pytest
from library.problems import exclusive_or, share, slopes
from numpy.testing import assert_allclose
from scipy.linalg import inv, subspace_angles

from ismlit import (
    Gaussian,
    GradientKDR,
    Kernel,
    Linear,
    Multiquadratic,
    Problem,
    ResponseIKDR,
    SupervisedIKDR,
    certify,
    gram,
    ism,
    label_gamma,
    response_gamma,
)
from ismlit.bandwidth import self_tuning_kernel
from ismlit.estimators.conditional import FEWEST_JUDGED, is_clearly_better
from ismlit.gamma import DenseGamma, Gamma
from ismlit.objectives.conditional import ConditionalProblem
from ismlit.solvers.gradient_start import gradient_plane, gradient_scatter

RATIONAL = Kernel(lambda beta, xp: 1 / (1 + beta / 3), name="rational")
KERNELS = {
    "gaussian": Gaussian(1.2),
    "linear": Linear(),
    "multiquadratic": Multiquadratic(1.0),
    "own": RATIONAL,
    "sum": Gaussian(0.8) + 0.5 * Linear(),
}


@pytest.fixture
def given(rng):
    """Forty rows of five columns, the Gamma of three classes, and a frame."""
    X, y = rng.standard_normal((40, 5)), rng.integers(0, 3, 40)
    return X, label_gamma(y), np.linalg.qr(rng.standard_normal((5, 2)))[0]


def covariance(K, K_Y, c):
    """Tr[K_Y (HKH + c)^-1] by an inverse."""
    H = np.eye(len(K)) - 1 / len(K)
    return np.sum(K_Y * inv(H @ K @ H + c * np.eye(len(K))))


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("ridge", [0.003, 1.0])
def test_the_objective_is_minus_the_conditional_covariance(kernel, ridge, given):
    """But for the factor c^2 and the constant c Tr K_Y."""
    X, gamma, W = given
    c, K_Y = 40 * ridge, gamma.to_dense()
    expected = c * np.trace(K_Y) - c**2 * covariance(gram(kernel, X, W), K_Y, c)
    problem = ConditionalProblem(X, gamma, kernel, ridge=ridge)
    assert_allclose(problem.objective(W), expected, rtol=1e-9)
    for J, _ in (problem.objective_and_gradient(W), problem.objective_and_phi(W)):
        assert_allclose(J, expected, rtol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_derivatives_are_those_of_the_objective(kernel, weighted, given, rng):
    X, gamma, W = given
    w = rng.random(40) + 0.5 if weighted else None
    y = np.arange(40) % 3
    problem = ConditionalProblem(X, label_gamma(y, sample_weight=w), kernel, 0.02, w)
    gradient = problem.objective_and_gradient(W)[1]
    tol = dict(rtol=1e-5, atol=1e-6 * np.abs(gradient).max())
    assert_allclose(2 * gradient, slopes(problem.objective, W), **tol)
    assert_allclose(problem.objective_and_phi(W)[1] @ W, gradient, **tol)
    D, t = rng.standard_normal((5, 2)), 1e-5
    along = lambda f: (f(W + t * D) - f(W - t * D)) / (2 * t)
    second = along(lambda V: problem.objective_and_gradient(V)[1])
    tol = dict(rtol=1e-4, atol=1e-6 * np.abs(second).max())
    hessian = problem.phi_derivative(W, D[None])[0] + problem.objective_and_phi(W)[1] @ D
    assert_allclose(hessian, second, **tol)
    own = along(lambda V: problem.objective_and_phi(V)[1] @ W)
    assert_allclose(problem.phi_derivative(W, D[None])[0], own, **tol)


def test_bandwidths_of_rows_stay_with_them(given, rng):
    X, gamma, W = given
    problem = ConditionalProblem(X, gamma, self_tuning_kernel(X), ridge=0.05)
    gradient = problem.objective_and_gradient(W)[1]
    assert_allclose(2 * gradient, slopes(problem.objective, W), rtol=1e-5, atol=1e-8)
    rows = rng.permutation(40)[:30]
    part = problem.on(rows)
    assert np.array_equal(part.kernel.sigmas, problem.kernel.sigmas[rows])


def test_an_infinite_ridge_is_hsic(given):
    """The difference falls as 1 / ridge: the next term of (K + c)^-1 = 1/c - K/c^2 + K^2/c^3."""
    X, gamma, W = given
    hsic = Problem(X, gamma, Gaussian(1.0))
    gaps = []
    for ridge in (1e2, 1e4, 1e6):
        problem = ConditionalProblem(X, gamma, Gaussian(1.0), ridge=ridge)
        gaps.append(1 - problem.objective(W) / hsic.objective(W))
        assert_allclose(
            problem.objective_and_phi(W)[1],
            hsic.objective_and_phi(W)[1],
            rtol=10 / ridge,
            atol=1e-4,
        )
    assert gaps[0] > 0
    assert_allclose(gaps[:-1], 100 * np.array(gaps[1:]), rtol=0.05)
    assert np.array_equal(problem.phi_0(), hsic.phi_0())


def test_a_weight_is_a_repetition(given, rng):
    X, _, W = given
    y, w = np.arange(40) % 3, rng.integers(1, 4, 40)
    again = np.repeat(np.arange(40), w)
    one = ConditionalProblem(X, label_gamma(y, sample_weight=w), Gaussian(1.0), 0.02, w)
    other = ConditionalProblem(X[again], label_gamma(y[again]), Gaussian(1.0), 0.02)
    assert_allclose(one.objective(W), other.objective(W), rtol=1e-10)
    phis = [problem.objective_and_phi(W)[1] for problem in (one, other)]
    assert_allclose(*phis, atol=1e-9 * np.abs(phis[1]).max())


def test_some_of_the_rows_have_a_target_that_is_centred_anew(given, rng):
    X, gamma, W = given
    y = np.arange(40) % 3
    rows = np.sort(rng.permutation(40)[:25])
    for w in (None, rng.random(40) + 0.5):
        whole = ConditionalProblem(X, label_gamma(y, sample_weight=w), Gaussian(1.0), 0.02, w)
        own = None if w is None else w[rows]
        part = label_gamma(y[rows], sample_weight=own)
        expected = ConditionalProblem(X[rows], part, Gaussian(1.0), 0.02, own)
        assert_allclose(whole.on(rows).objective(W), expected.objective(W), rtol=1e-10)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (dict(ridge=0.0), "ridge must be a number above 0, got 0.0"),
        (dict(ridge=np.nan), "ridge must be a number above 0"),
        (dict(gamma=DenseGamma(np.eye(40))), "a Gamma with a factor F"),
        (dict(gamma=Gamma(np.ones((40, 1)), [-1.0])), "weights s of at least 0"),
    ],
)
def test_what_has_no_conditional_covariance_is_refused(change, words, given):
    X, gamma, _ = given
    with pytest.raises(ValueError, match=words):
        ConditionalProblem(**dict(X=X, gamma=gamma, kernel=Gaussian(1.0)) | change)


@pytest.mark.parametrize("seed", range(3))
def test_the_solver_rises_to_a_certified_maximum(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 4))
    gamma = response_gamma(X[:, 0] * X[:, 1], 1.0)
    result = ism(ConditionalProblem(X, gamma, Gaussian(1.0), ridge=0.01), q=2, init="gradient")
    assert result.converged
    assert (np.diff(result.history["objective"]) > -1e-9 * result.objective).all()
    assert certify(result).is_maximum


# ---------------------------------------------------------------- gradients in their own metric


def test_gradients_are_repeated_in_the_metric_that_they_give(rng):
    """By a route of its own: a symmetric root, and the scatter of the rows that it moves."""
    X, F = rng.standard_normal((60, 4)), rng.standard_normal((60, 1))
    M = np.eye(4)
    for _ in range(3):
        values, V = np.linalg.eigh(M)
        A = V @ np.diag(np.sqrt(values)) @ V.T
        Z = X @ A
        distances = np.sqrt(((Z[:, None] - Z) ** 2).sum(-1))
        G = A @ gradient_scatter(Z, F, sigma=np.median(distances) / 2, ridge=1e-3) @ A
        M = 4 * G / np.trace(G)
    values, vectors = gradient_plane(X, F, np.ones(1), 2, n_turns=3)
    assert_allclose(values, np.linalg.eigvalsh(G)[:-3:-1], rtol=1e-8)
    assert_allclose(subspace_angles(vectors, np.linalg.eigh(M)[1][:, 2:]), 0, atol=1e-7)


def test_turns_sharpen_a_ratio():
    """x1 / (.5 + (x2 + 1.5)^2), the mean error of the plane over ten draws."""
    errors = {1: [], 6: []}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((200, 10))
        y = X[:, 0] / (0.5 + (X[:, 1] + 1.5) ** 2) + 0.2 * rng.standard_normal(200)
        for turns, found in errors.items():
            W = GradientKDR(2, ridge=1e-3, n_turns=turns).fit(X, y).W_
            found.append(np.sin(subspace_angles(W, np.eye(10)[:, :2])).max())
    assert np.mean(errors[6]) < 0.8 * np.mean(errors[1])


# ---------------------------------------------------------------- estimators


TABLE = [  # the scores of both, and whether the second lead
    ([0.7, 0.7, 0.7], [0.7, 0.7, 0.7], False),  # no gain
    ([0.7, 0.7, 0.7], [0.8, 0.8, 0.8], True),
    ([0.7, 0.7, 0.7], [0.6, 0.6, 0.6], False),
    ([0.5, 0.6, 0.7], [0.9, 0.6, 0.6], False),  # by .1, and the error is .153
    ([0.5, 0.6, 0.7], [0.6, 0.7, 0.8], True),  # the same gain in every fold
    ([0.7, 0.7], [1.0, 0.68], False),  # .14 +- .16
    ([0.7, 0.7], [1.0, 0.702], True),  # .151 +- .149: with n for n - 1, too
    ([0.7, 0.7, 0.7], [0.7, 0.7, 0.8], False),  # .0333 +- .0333: not more than one error
    ([0.98, 0.94, 0.94], [0.98, 0.98, 0.94], False),  # the same, and rounding does not decide
]


@pytest.mark.parametrize(("scores", "others", "expected"), TABLE)
def test_another_ridge_must_lead_by_a_standard_error(scores, others, expected):
    assert is_clearly_better(scores, others) == expected


def test_it_finds_an_exclusive_or_among_many_columns():
    """Where the maximum of HSIC holds a half of the plane at most, by means over three draws."""
    found = {np.inf: [], 0.01: []}
    for seed in range(3):
        X, y, plane = exclusive_or(400, seed, 30)
        for ridge, shares in found.items():
            shares.append(share(SupervisedIKDR(2, ridge=ridge, tol=1e-3).fit(X, y).W_, plane))
    assert np.mean(found[0.01]) > 0.9 > np.mean(found[np.inf]) + 0.1


@pytest.mark.parametrize("kind", [SupervisedIKDR, ResponseIKDR])
def test_a_fit_climbs_the_conditional_covariance(kind, rng):
    X = rng.standard_normal((90, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int) if kind is SupervisedIKDR else X[:, 0] * X[:, 1]
    model = kind(2, ridge=0.05).fit(X, y)
    problem = model.solved()[0]
    assert isinstance(problem, ConditionalProblem)
    assert model.ridge_ == problem.ridge == 0.05
    assert model.certificate().is_maximum
    assert model.certificate().p_value == 0.05
    assert_allclose(model.W_.T @ model.W_, np.eye(2), atol=1e-10)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).transform(X), model.transform(X))


def test_weights_are_repetitions_in_a_fit(rng):
    X, y, w = rng.standard_normal((50, 3)), np.arange(50) % 2, rng.integers(1, 3, 50)
    X[:, 0] += y
    again = np.repeat(np.arange(50), w)
    options = dict(ridge=0.05, init="taylor")
    one = SupervisedIKDR(1, **options).fit(X, y, sample_weight=w)
    other = SupervisedIKDR(1, **options).fit(X[again], y[again])
    assert_allclose(subspace_angles(one.W_, other.W_), 0, atol=1e-4)


@pytest.mark.filterwarnings("ignore:random_features")
def test_auto_takes_hsic_unless_held_out_rows_prefer_another(rng):
    X = rng.standard_normal((150, 3))
    line = SupervisedIKDR(1, ridge="auto", init="taylor").fit(X, X[:, 0] > 0)
    assert line.ridge_ == (0.01 if is_clearly_better(*line.ridge_scores_) else np.inf)
    assert line.ridge_scores_.shape == (2, 3)
    X, y, plane = exclusive_or(300, 5)
    model = SupervisedIKDR(2, ridge="auto", init="taylor").fit(X, y)
    assert model.ridge_ == 0.01
    assert share(model.W_, plane) > 0.9
    features = SupervisedIKDR(1, ridge="auto", random_features=8).fit(X, y)
    few = SupervisedIKDR(1, ridge="auto").fit(X[: FEWEST_JUDGED - 1], y[: FEWEST_JUDGED - 1])
    for model in (features, few):
        assert model.ridge_ == np.inf and model.ridge_scores_ is None
    for ridge in (0, -1.0, "small", None, True):
        with pytest.raises(ValueError, match="ridge of SupervisedIKDR must be a number above 0"):
            SupervisedIKDR(1, ridge=ridge).fit(X, y)


def test_a_kernel_that_is_not_definite_is_refused(rng):
    X = rng.standard_normal((40, 3))
    kernel = Kernel(lambda beta, xp: beta - beta**2, name="saddle")
    with pytest.raises(ValueError, match=r"not positive semidefinite.*ridge=numpy.inf"):
        ism(ConditionalProblem(X, label_gamma(X[:, 0] > 0), kernel), q=1)


def test_ism_takes_the_ridge_of_the_problem(rng):
    """A very large one ends where HSIC does, and 0.01 where a problem made by hand does."""
    X = rng.standard_normal((80, 5))
    gamma, kernel = label_gamma(X[:, 0] * X[:, 1] > 0), Gaussian(1.0)
    ends = {r: ism(X, gamma, kernel, 2, init="gradient", ridge=r) for r in (np.inf, 1e4, 0.01)}
    assert subspace_angles(ends[np.inf].W, ends[1e4].W).max() < 1e-2
    assert ends[1e4].objective == pytest.approx(ends[np.inf].objective, rel=1e-3)
    by_hand = ism(ConditionalProblem(X, gamma, kernel, 0.01), q=2, init="gradient")
    assert_allclose(ends[0.01].W, by_hand.W)
    assert certify(ends[0.01]).is_maximum


def test_ism_refuses_a_ridge_in_words(rng):
    X = rng.standard_normal((30, 3))
    with pytest.raises(ValueError, match="ridge must be above 0, got 0"):
        ism(X, label_gamma(X[:, 0] > 0), Gaussian(1.0), 1, ridge=0.0)
