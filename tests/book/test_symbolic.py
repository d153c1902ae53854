"""The symbolic twin against calculus, and the numeric library against the twin."""

import numpy as np
import pytest
import sympy as sp
from ismlit_book import same
from ismlit_book.record.symbolic import derive
from numpy.testing import assert_allclose

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

sigma, c = sp.symbols("sigma c", positive=True)
SYMBOLIC = [Linear(), Squared(), Polynomial(3, c), Gaussian(sigma), Multiquadratic(c)]
ANY = [Kernel(lambda beta, xp: sp.Function("f")(beta), pairs) for pairs in ("inner", "difference")]


def any_f_else_weekly(kernels):
    """What holds for an f that is not known is shown at once; the named kernels follow weekly."""
    return [pytest.param(k, marks=[pytest.mark.slow] * (k in SYMBOLIC)) for k in kernels]


@pytest.mark.parametrize("kernel", any_f_else_weekly(SYMBOLIC + ANY), ids=repr)
def test_definition_9_and_theorem_5_3(kernel):
    D = derive(kernel, n=2, d=2, q=2)
    assert same(D.gradient, 2 * D.phi() * D.W)
    assert not same(D.gradient, D.phi() * D.W)
    assert same(D.phi(), D.form(D.X, D.psi, D.degree(D.psi)).doit())
    assert same(D.phi(), D.slope_in_P())
    assert same(D.taylor(), (D.W.T * D.phi_0() * D.W).trace())


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(sigma), *ANY], ids=repr)
def test_derivative_of_phi(kernel):
    """For an f that is not known, and so for every kernel; and where f is a formula."""
    D, t = derive(kernel, n=2, d=2, q=1), sp.Symbol("t", real=True)
    Z = sp.Matrix(sp.symbols("z1 z2", real=True))
    assert same(sp.diff(D.phi(D.W + t * Z), t).subs(t, 0), D.phi_derivative(Z))


MU = sp.symbols("mu_1 mu_2", positive=True)
WIDTHS = sp.symbols("sigma_1:4", positive=True)
LINES = [
    *SYMBOLIC,
    *ANY,
    RelativeGaussian(WIDTHS),
    MU[0] * Gaussian(sigma) + MU[1] * Polynomial(3, c),
]


@pytest.mark.parametrize("kernel", any_f_else_weekly(LINES), ids=repr)
def test_the_lines_of_a_derivation_are_what_the_double_sum_gives(kernel):
    """By differentiating J; the letters of the lines stand for matrices that are not Phi's."""
    D = derive(kernel)
    steps = D.steps()
    assert same(2 * steps.explicit("Phi") * D.W, D.gradient)
    assert same((D.W.T * steps.explicit("Phi_0") * D.W)[0], D.taylor())


def test_widths_of_a_kernel_reach_the_library(rng):
    """One bandwidth per sample: symbolic, and then as numbers."""
    widths, X, W = rng.uniform(1, 2, 3), rng.standard_normal((3, 2)), rng.standard_normal((2, 1))
    D, G = derive(RelativeGaussian(WIDTHS)), np.diag([1.0, 2.0, 3.0]) - 1
    values = dict(zip(WIDTHS, widths, strict=True)) | dict(zip(D.W, W.ravel(), strict=True))
    values |= dict(zip(D.X, X.ravel(), strict=True)) | dict(zip(D.Gamma, G.ravel(), strict=True))
    expected = np.array(D.phi().subs(values).evalf(20), dtype=float)
    assert_allclose(Problem(X, G, RelativeGaussian(widths)).phi(W), expected, atol=1e-11)


@pytest.mark.parametrize(
    ("kernel", "factor"),
    [
        (Kernel(lambda beta, xp: -beta, "inner"), "- X"),
        (Kernel(lambda beta, xp: beta / 2, "difference"), "X"),
        (Kernel(lambda beta, xp: 11 * beta, "inner"), "11 X"),
        (Gaussian(2), r"- \frac{1}{4} X"),
    ],
    ids=repr,
)
def test_a_factor_stands_in_front_and_one_is_not_written(kernel, factor):
    step = derive(kernel).steps()["Phi_0"]
    assert step.latex().startswith(rf"\Phi_{{0}} &= {factor}^{{T}}")


def test_same_tells_identities_from_near_misses():
    x = sp.Symbol("x", real=True)
    assert same(sp.sin(x) ** 2 + sp.cos(x) ** 2, sp.Integer(1))
    assert not same((x + 1) ** 2, x**2 + 1)
    assert same(np.ones(3), np.ones(3) + 1e-14) and not same(np.ones(3), np.ones(3) + 1e-6)
    assert not same(np.ones(3), np.ones((3, 1)))


def test_formulas_that_meet_at_the_point_of_trial_are_told_apart():
    """`same` looks at one point first, and x = 2/5 there."""
    x = sp.Symbol("x")
    assert (x - sp.Rational(2, 5)).subs(x, sp.Rational(2, 5)) == 0
    assert not same(x, sp.Rational(2, 5)) and not same(x * (5 * x - 2), 0)
