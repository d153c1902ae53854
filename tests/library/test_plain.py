""""""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from library.problems import FAMILY, brute_force, orthonormal, random_problem
from numpy.testing import assert_allclose

from ismlit.gamma import label_gamma
from ismlit.grams import gram
from ismlit.kernels import Gaussian, Kernel, Polynomial, RelativeGaussian
from ismlit.objectives.plain import Problem
from ismlit.solvers.ism import ism

KERNELS = pytest.mark.parametrize("name", FAMILY)
seeds = st.integers(0, 2**32 - 1)


@KERNELS
def test_objective_is_the_double_sum(name, rng):
    problem = random_problem(name, rng)
    W = rng.standard_normal((4, 2))
    assert_allclose(problem.objective(W), brute_force(problem, W), rtol=1e-12)
    assert_allclose(problem.objective_and_phi(W)[0], brute_force(problem, W), rtol=1e-12)


@KERNELS
@given(seed=seeds, q=st.integers(1, 4))
@settings(deadline=None, max_examples=15)
def test_gradient_of_the_objective_is_2_phi_w(name, seed, q):
    rng = np.random.default_rng(seed)
    problem, h = random_problem(name, rng), 1e-5
    W, V = rng.standard_normal((2, 4, q)) / 2
    slope = (brute_force(problem, W + h * V) - brute_force(problem, W - h * V)) / (2 * h)
    phi = problem.phi(W)
    # central differences of a sum of size |phi|: truncation 1e-10, rounding 1e-11
    assert abs(slope - 2 * np.sum(phi @ W * V)) <= 1e-6 * np.linalg.norm(phi) * np.linalg.norm(V)
    assert_allclose(phi, phi.T, atol=1e-12 * np.abs(phi).max())


@KERNELS
def test_phi_derivative_is_the_derivative_of_phi(name, rng):
    problem, h = random_problem(name, rng), 1e-5
    W = orthonormal(4, 2, rng)
    Z = rng.standard_normal((3, 4, 2))
    found = problem.phi_derivative(W, Z)
    for direction, image in zip(Z, found, strict=True):
        slope = (problem.phi(W + h * direction) - problem.phi(W - h * direction)) @ W / (2 * h)
        # the same central differences, relative to Phi
        assert_allclose(image, slope, atol=1e-6 * np.linalg.norm(problem.phi(W)))


@KERNELS
@given(seed=seeds)
@settings(deadline=None, max_examples=15)
def test_only_the_subspace_matters(name, seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(name, rng)
    W, Q = orthonormal(4, 2, rng), orthonormal(2, 2, rng)
    J, phi = problem.objective_and_phi(W)
    turned = problem.objective_and_phi(W @ Q)
    assert_allclose(turned[0], J, atol=1e-12 * np.linalg.norm(phi) + 1e-12 * abs(J))
    assert_allclose(turned[1], phi, atol=1e-11 * np.abs(phi).max())


@KERNELS
def test_order_of_samples_does_not_matter(name, rng):
    problem, W = random_problem(name, rng), orthonormal(4, 2, rng)
    order, kernel = rng.permutation(13), problem.kernel
    if isinstance(kernel, RelativeGaussian):
        kernel = RelativeGaussian(kernel.sigmas[order])
    gamma = problem.gamma.array[np.ix_(order, order)]
    shuffled = replace(problem, X=problem.X[order], gamma=gamma, kernel=kernel)
    assert_allclose(shuffled.phi(W), problem.phi(W), atol=1e-11 * np.abs(problem.phi(W)).max())


@pytest.mark.parametrize("name", ["gaussian", "squared", "multiquadratic", "user", "linear"])
def test_translation_of_the_samples_does_not_matter(name, rng):
    """Differences never see it; the linear kernel does not because Gamma is centred."""
    X, y, W = rng.standard_normal((14, 3)), np.arange(14) % 3, orthonormal(3, 1, rng)
    here = Problem(X, label_gamma(y), FAMILY[name])
    there = Problem(X + [3, -2, 5], label_gamma(y), FAMILY[name])
    assert_allclose(there.objective(W), here.objective(W), atol=1e-10)  # rounding of |X|^2 = 40


def test_translation_matters_to_the_polynomial_kernel(rng):
    X, y, W = rng.standard_normal((14, 3)), np.arange(14) % 3, orthonormal(3, 1, rng)
    values = [Problem(X + t, label_gamma(y), Polynomial(3)).objective(W) for t in (0, 3)]
    assert abs(values[0] - values[1]) > 1


@KERNELS
@pytest.mark.parametrize("tile", [1, 4, 13, 100])
def test_tiles_and_threads_change_nothing(name, tile, rng):
    problem, W = random_problem(name, rng), orthonormal(4, 2, rng)
    J, phi = problem.objective_and_phi(W)
    for n_jobs in (None, 2):
        other = replace(problem, tile=tile, n_jobs=n_jobs)
        assert_allclose(other.objective_and_phi(W)[0], J, rtol=1e-11)
        assert_allclose(other.phi(W), phi, atol=1e-12 * np.abs(phi).max())


@KERNELS
def test_float32_in_float32_out(name, rng):
    problem, W = random_problem(name, rng), orthonormal(4, 2, rng)
    low = replace(problem, X=problem.X.astype("f4"))
    phi = low.phi(W)
    assert phi.dtype == np.float32
    # 13^2 terms of single precision 6e-8
    assert_allclose(phi, problem.phi(W), atol=1e-5 * np.abs(problem.phi(W)).max())


def test_nothing_is_changed_that_the_caller_gave(rng):
    X, F, W = rng.standard_normal((9, 3)) + 2, label_gamma(np.arange(9) % 2), orthonormal(3, 1, rng)
    before = X.copy(), F.F.copy(), W.copy()
    Problem(X, F, Gaussian(1.0)).objective_and_phi(W)
    for now, then in zip((X, F.F, W), before, strict=True):
        assert np.array_equal(now, then)


def test_memory_is_of_the_order_of_a_tile(rng):
    """n = 6000: the n x n array of one Gram matrix alone would take 288 MB."""
    import tracemalloc

    n = 6000
    problem = Problem(rng.standard_normal((n, 3)), label_gamma(np.arange(n) % 3), Gaussian(1.0))
    W = orthonormal(3, 2, rng)
    tracemalloc.start()
    problem.objective_and_phi(W)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda X: Problem(X, np.eye(3), Gaussian(1.0)), "Gamma is for 3 samples but X has 5"),
        (lambda X: Problem(X * np.inf, np.eye(5), Gaussian(1.0)), "infinity|NaN"),
        (lambda X: Problem(X, np.eye(5), Gaussian(1.0)).phi(np.eye(3)), r"W must have shape \(2"),
    ],
)
def test_bad_input_gets_a_clear_error(make, words):
    X = np.arange(10.0).reshape(5, 2) + 1
    with pytest.raises(ValueError, match=words):
        make(X)


def test_float32_objective_is_accumulated_in_float64(rng):
    """Tiles summed in single precision would round each to 6e-8 of its own size."""
    n = 400
    X, W = rng.standard_normal((n, 3)).astype("f4"), orthonormal(3, 2, rng).astype("f4")
    problem = Problem(X, label_gamma(np.arange(n) % 2), Gaussian(1.0))
    assert_allclose(problem.objective_and_phi(W)[0], problem.objective(W), rtol=1e-12)


def test_sums_of_single_precision_are_taken_in_double():
    """2^24 + 1 is the first whole number that single precision does not have."""
    rows = np.array([[2.0**24], [1.0]], dtype="f4")
    assert Problem._double_sum(1.0, rows) == 2 * (2**24 + 1)


@pytest.mark.parametrize("f", [lambda b, xp: xp.exp(-xp.sqrt(b)), lambda b, xp: 1 / b])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the division itself; the error follows
def test_a_kernel_singular_at_zero_is_refused_in_words(f, rng):
    problem = Problem(rng.standard_normal((6, 2)), np.eye(6), Kernel(f))
    with pytest.raises(ValueError, match="beta = 0 included"):
        problem.phi(np.eye(2)[:, :1])


def test_a_kernel_must_be_a_kernel():
    with pytest.raises(TypeError, match="as_kernel"):
        Problem(np.eye(3), np.eye(3), "gaussian")


@KERNELS
def test_gradient_without_phi(name, rng):
    problem, W = random_problem(name, rng), orthonormal(4, 2, rng)
    J, phi = problem.objective_and_phi(W)
    value, gradient = problem.objective_and_gradient(W)
    assert_allclose(value, J, rtol=1e-12)
    assert_allclose(gradient, phi @ W, atol=1e-12 * np.linalg.norm(phi))


@KERNELS
def test_phi_derivative_and_phi_make_the_hessian_product(name, rng):
    problem, h = random_problem(name, rng), 1e-5
    W, Z = orthonormal(4, 2, rng), rng.standard_normal((4, 2))
    half = lambda t: problem.objective_and_gradient(W + t * Z)[1]
    slope = (half(h) - half(-h)) / (2 * h)
    phi = problem.phi(W)
    product = problem.phi_derivative(W, Z[None])[0] + phi @ Z
    assert_allclose(product, slope, atol=1e-6 * np.linalg.norm(phi))


@KERNELS
def test_phi_0_needs_no_pass_over_the_pairs(name, rng):
    problem = random_problem(name, rng)
    found, passes = problem.phi_0(), problem.count.passes
    expected = problem.phi(np.zeros((4, 1)))
    assert passes == 0
    assert_allclose(found, expected, atol=1e-12 * max(np.linalg.norm(expected), 1.0))


@KERNELS
def test_gram_operator_is_the_gram_matrix(name, rng):
    problem = random_problem(name, rng)
    W, V = orthonormal(4, 2, rng), rng.standard_normal((13, 3))
    K = gram(problem.kernel, problem.X, W)
    for cache_bytes in (2**20, 0):
        operator = problem.pairs.gram_operator(W, cache_bytes)
        for _ in range(2):  # the second product comes from the kept tiles
            assert_allclose(operator @ V, K @ V, atol=1e-12 * np.linalg.norm(K))


def test_each_direction_counts_as_a_pass(rng):
    problem = random_problem("gaussian", rng)
    problem.phi_derivative(orthonormal(4, 2, rng), rng.standard_normal((5, 4, 2)))
    assert problem.count.passes == 5


@KERNELS
def test_gram_derivative_is_that_of_the_gram_matrix(name, rng):
    problem = random_problem(name, rng)
    W, Z, V = (rng.standard_normal(shape) for shape in ((4, 2), (4, 2), (13, 3)))
    h = 1e-5
    at = lambda t: gram(problem.kernel, problem.X, W + t * Z) @ V
    expected = (at(h) - at(-h)) / (2 * h)  # error of order h^2
    scale = np.abs(expected).max()
    assert_allclose(problem.pairs.gram_derivative(W, Z, V), expected, atol=1e-7 * scale)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_phi_0_that_cancels_is_exactly_zero(dtype, rng):
    """Two classes of one mean: what would be left is rounding, and a start must not follow it."""
    X = rng.standard_normal((40, 4)) + 3
    points = np.vstack([X, 6 - X, 2 * X - 3, 9 - 2 * X]).astype(dtype)  # mirrored about (3, ...)
    problem = Problem(points, label_gamma(np.arange(160) < 80), Gaussian(1.0))
    assert not problem.phi_0().any()
    assert Problem(points, label_gamma(np.arange(160) < 70), Gaussian(1.0)).phi_0().any()
    with pytest.warns(UserWarning, match="starting from PCA"):
        ism(points, problem.gamma, problem.kernel, 2, tol=1e-3)
