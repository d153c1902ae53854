""""""

import sys

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

from ismlit import kernels
from ismlit.bandwidth import as_kernel, median_distance, neighbour_distance
from ismlit.grams import gram
from ismlit.kernels import (
    Gaussian,
    Kernel,
    Linear,
    Multiquadratic,
    Polynomial,
    RelativeGaussian,
    Squared,
)
from ismlit.objectives.plain import Problem


def test_sums_are_flat_and_weighted(rng):
    X = rng.standard_normal((7, 3))
    total = 2 * (Gaussian(1.0) + 3 * Polynomial(2))
    assert [weight for weight, _ in total.terms()] == [2, 6]
    assert_allclose(gram(total, X), 2 * gram(Gaussian(1.0), X) + 6 * gram(Polynomial(2), X))


def test_a_bandwidth_is_a_unit_of_the_samples(rng):
    """f(beta / sigma²) with its derivatives, which sympy derives of the formula written out."""
    X, beta = rng.standard_normal((7, 3)), rng.random(5)
    for kernel in (Multiquadratic(0.5), Gaussian(1.0) * Multiquadratic(2.0), Gaussian(0.7)):
        scaled = kernel.with_bandwidth(1.7)
        assert_allclose(gram(scaled, X), gram(kernel, X / 1.7), rtol=1e-12)
        written = Kernel(lambda b, xp, kernel=kernel: kernel.f(b / 1.7**2, xp))
        for order in ("f", "df", "d2f"):
            assert_allclose(getattr(scaled, order)(beta), getattr(written, order)(beta), rtol=1e-10)
    assert Gaussian(0.5).with_bandwidth(4.0) == Gaussian(2.0)
    for kernel in (Linear(), RelativeGaussian(np.ones(3)), Linear() + Gaussian(1.0)):
        with pytest.raises(ValueError, match="no one bandwidth"):
            kernel.with_bandwidth(1.0)
    with pytest.raises(ValueError, match="sigma of Scaled must be positive"):
        Squared().with_bandwidth(0.0)


def test_a_kernel_with_symbols_for_its_parameters():
    sigma, beta = sp.symbols("sigma beta", positive=True)
    found = Gaussian(sigma).df(beta, kernels.symbolic_functions())
    assert sp.simplify(found + sp.exp(-beta / (2 * sigma**2)) / (2 * sigma**2)) == 0


def test_median_distance_over_all_and_over_distinct_pairs():
    X = np.array([[0.0], [1.0], [3.0]])  # distances 1, 2, 3; full matrix 0,0,0,1,1,2,2,3,3
    assert median_distance(X) == 1


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Gaussian(0), ValueError, "sigma of Gaussian must be positive"),
        (lambda: Gaussian(np.nan), ValueError, "sigma"),
        (lambda: Multiquadratic(0.0), ValueError, "c of Multiquadratic"),
        (lambda: Polynomial(1.5), ValueError, "degree must be an integer"),
        (lambda: Polynomial("a"), (TypeError, ValueError), "degree must"),
        (lambda: Polynomial(2, "b"), (TypeError, ValueError), "c must"),
        (lambda: RelativeGaussian([1.0, -1.0]), ValueError, "one per sample"),
        (lambda: RelativeGaussian([1.0, 0.0]), ValueError, "smallest value 0.0"),
        (lambda: RelativeGaussian(5.0), ValueError, "1-D array"),
        (lambda: Kernel(lambda b, xp: b, pairs="sum"), ValueError, "use 'difference' when"),
        (lambda: Kernel(3), TypeError, "function of"),
        (lambda: -1 * Gaussian(1.0), ValueError, "weights of at least 0"),
        (lambda: Gaussian(1.0) * Linear(), ValueError, "both read the same pairs"),
        (lambda: Gaussian(1.0) * RelativeGaussian([1.0, 2.0]), ValueError, "one bandwidth for all"),
        (lambda: Gaussian(1.0).with_params(c=2.0), ValueError, "has no parameter 'c'"),
        (lambda: Gaussian(1.0).with_params(sigma=0.0), ValueError, "sigma of Gaussian must be"),
        (lambda: (Gaussian(1.0) + Linear()).f(1.0), ValueError, "no single one"),
        (lambda: as_kernel("rbf", None), ValueError, "'gaussian'"),
        (lambda: median_distance(np.zeros((5, 2))), ValueError, "all 5 rows of X are equal"),
        (lambda: gram(RelativeGaussian([1.0]), np.eye(3)), ValueError, "one per sample"),
    ],
)
def test_bad_input_gets_a_clear_error(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_a_far_origin_costs_no_digits(rng):
    X = rng.standard_normal((20, 3))
    assert_allclose(median_distance(X + 1e8), median_distance(X), rtol=1e-6)  # eps * 1e8
    assert_allclose(gram(Gaussian(1.0), X + 1e7), gram(Gaussian(1.0), X), atol=1e-7)


@pytest.mark.parametrize(
    "f",
    [
        lambda beta, xp: xp.maximum(1 - beta, 0),
        lambda beta, xp: np.exp(-beta),
        lambda beta, xp: xp.where(beta > 1, 0, 1),
    ],
)
def test_a_formula_that_sympy_cannot_derive_is_refused_in_words(f):
    with pytest.raises(TypeError, match=r"twice differentiable .*, or subclass Kernel"):
        Kernel(f).d2f(np.ones(3))


@pytest.mark.parametrize("apart", [2.0, 7.0])
def test_a_root_at_zero_is_refused_and_the_cure_works(apart):
    """A hyperbolic secant of the distance is 1 - beta / 2 + ..., but its f' is 0 / 0 in numbers."""
    X, weights = np.array([[0.0], [0.0], [apart]]), [[1, 1, -1], [1, 1, -1], [-1, -1, 1.0]]
    secant = lambda shift: Kernel(lambda beta, xp: 1 / xp.cosh(xp.sqrt(beta + shift)))
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"tiny number under a root"):
        Problem(X, weights, secant(0)).phi([[1.0]])
    slope = -np.sinh(apart) / (2 * apart * np.cosh(apart) ** 2)
    phi = Problem(X, weights, secant(1e-12)).phi([[1.0]])
    assert_allclose(phi, [[-4 * slope * apart**2]], rtol=1e-9)


def test_a_kink_of_inner_products_is_refused_and_the_cure_works():
    beta = np.array([-2.0, 0.0, 0.5])
    with pytest.raises(TypeError, match="a tiny number under a root"):
        Kernel(lambda beta, xp: xp.exp(-xp.abs(beta)), pairs="inner").d2f(beta)
    smooth = Kernel(lambda beta, xp: xp.exp(-xp.sqrt(beta**2 + 1e-12)), pairs="inner")
    assert_allclose(smooth.df(beta), -np.sign(beta) * np.exp(-abs(beta)), atol=1e-9)


def test_a_squared_distance_is_not_negative_where_f_is_derived():
    """Of squared distances |beta| is beta and smooth; of inner products it has a kink at 0."""
    f, beta = (lambda beta, xp: xp.exp(-xp.abs(beta))), np.array([0.0, 0.5, 2.0])
    apart = Kernel(f, pairs="difference")
    assert_allclose(apart.df(beta), -np.exp(-beta), rtol=1e-14)
    assert_allclose(apart.d2f(beta), np.exp(-beta), rtol=1e-14)
    with pytest.raises(TypeError, match="could not be derived"):
        Kernel(f, pairs="inner").d2f(beta)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_derived_constant_is_an_array_of_the_same_precision(dtype):
    """(beta / 2)' = 1/2 and (3 beta)' = 3 hold no beta: their values still have its type."""
    beta = np.array([[0.5, 1.0]], dtype)
    for slope in (0.5, 3):
        kernel = Kernel(lambda beta, xp, slope=slope: slope * beta, pairs="inner")
        assert_allclose(kernel.df(beta), [[slope, slope]])
        assert kernel.df(beta).dtype == kernel.d2f(beta).dtype == dtype


def test_a_formula_takes_beta_and_xp():
    """The likeliest slips say what to write, without a chain of tracebacks."""
    with pytest.raises(TypeError, match=r"must take \(beta, xp\).*got a function of \(beta\)"):
        Kernel(lambda beta: 1 / (1 + beta))
    with pytest.raises(TypeError, match=r"xp\.sqrt, not np\.sqrt") as caught:
        Kernel(lambda beta, xp: -np.sqrt(1 + beta)).df(np.ones(2))
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("orders", [(0,), (1,), (2, 0), (0, 1, 2)])
@pytest.mark.parametrize(
    "kernel",
    [*(Polynomial(p, 0.3) for p in (1, 2, 3, 8, 9)), Gaussian(0.7), Multiquadratic(0.4)],
)
def test_value_and_derivatives_at_once_are_those_that_sympy_derives(kernel, orders):
    beta = np.linspace(0.1, 2, 5)
    found = kernel.f_and_derivatives(kernel.argument * beta, orders)
    for order, (number, values) in zip(orders, found):
        one = Kernel._derivative(kernel, order, beta, np) if order else kernel.f(beta)
        assert_allclose(number * np.broadcast_to(values, beta.shape), one, rtol=1e-12)


def test_without_sympy_a_kernel_of_one_s_own_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    kernel = Kernel(lambda beta, xp: 1 / (1 + 3 * beta))
    with pytest.raises(
        ModuleNotFoundError, match=r"pip install 'ismlit\[sympy\]', or subclass Kernel"
    ):
        kernel.df(np.ones(3))
    assert gram(Multiquadratic(), np.eye(2)).shape == (2, 2)


def test_nearest_neighbours_do_not_count_the_sample_itself():
    X = np.array([[0.0], [1.0], [3.0], [7.0]])
    assert neighbour_distance(X, k=1).tolist() == [1, 1, 2, 4]
    assert neighbour_distance(X, k=2).tolist() == [3, 2, 3, 6]


def test_a_product_is_the_product_of_gram_matrices_and_distributes_over_sums(rng):
    """By Schur's theorem it is positive semidefinite where both factors are."""
    X = rng.standard_normal((7, 3))
    own = Kernel(lambda beta, xp: 1 / (1 + beta))
    K, L, M = (gram(kernel, X) for kernel in (Gaussian(1.2), own, Squared()))
    assert_allclose(gram(Gaussian(1.2) * own, X), K * L, rtol=1e-12)
    assert np.linalg.eigvalsh(gram(Gaussian(1.2) * own, X))[0] > -1e-12
    both = 2 * (Gaussian(1.2) + 3 * Squared()) * own
    assert_allclose(gram(both, X), 2 * K * L + 6 * M * L, rtol=1e-12)
    assert [weight for weight, _ in both.terms()] == [2, 6]


def test_a_product_with_symbols_is_what_sympy_multiplies():
    beta, s = sp.symbols("beta s", positive=True)
    kernel = Gaussian(s) * Multiquadratic(sp.Integer(1))
    by_hand = -sp.exp(-beta / (2 * s**2)) * sp.sqrt(beta + 1)
    xp = kernels.symbolic_functions()
    for order, found in enumerate((kernel.f, kernel.df, kernel.d2f)):
        assert sp.simplify(found(beta, xp) - sp.diff(by_hand, beta, order)) == 0


@pytest.mark.parametrize(
    "kernel", [Gaussian(1.0), Kernel(lambda beta, xp: 1 / (1 + beta)), Gaussian(1.0) + Squared()]
)
def test_a_kernel_cannot_be_changed(kernel):
    """What was derived from a formula could else outlive it, and a set would lose the kernel."""
    with pytest.raises(AttributeError):
        kernel.name = "another"
    assert not hasattr(kernel, "set_params")


def test_the_derivatives_follow_the_formula_of_the_new_kernel():
    kernel, at = Kernel(lambda beta, xp: 1 / (1 + beta)), np.array([1.0])
    assert_allclose([kernel.df(at), kernel.d2f(at)], [[-0.25], [0.25]])
    other = kernel.with_params(f=lambda beta, xp: xp.exp(-beta), name="exp")
    assert_allclose([other.df(at), other.d2f(at)], [-np.exp(-at), np.exp(-at)])
    assert_allclose([kernel.df(at), kernel.d2f(at)], [[-0.25], [0.25]])
