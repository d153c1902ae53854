"""The symbolic twin against calculus, and the numeric library against the twin."""

import re

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

from ismlit.edition import same
from ismlit.edition.symbolic import _factor, derive
from ismlit.kernels import (
    Gaussian,
    Kernel,
    Linear,
    Multiquadratic,
    Polynomial,
    Squared,
)
from ismlit.problem import Problem

sigma, c = sp.symbols("sigma c", positive=True)
SYMBOLIC = [Linear(), Squared(), Polynomial(3, c), Gaussian(sigma), Multiquadratic(c)]
ANY = [Kernel(lambda beta, xp: sp.Function("f")(beta), pairs) for pairs in ("inner", "difference")]


@pytest.mark.parametrize("kernel", SYMBOLIC + ANY, ids=repr)
def test_definition_9_and_theorem_5_3(kernel):
    D = derive(kernel, n=2, d=2, q=2)
    assert same(D.gradient, 2 * D.phi() * D.W)
    assert not same(D.gradient, D.phi() * D.W)
    assert same(D.phi(), D.phi_matrix())
    assert same(D.taylor(), (D.W.T * D.phi_0() * D.W).trace())


@pytest.mark.parametrize("kernel", SYMBOLIC + ANY, ids=repr)
def test_derivative_of_phi(kernel):
    D, t = derive(kernel, n=2, d=2, q=1), sp.Symbol("t", real=True)
    Z = sp.Matrix(sp.symbols("z1 z2", real=True))
    assert same(sp.diff(D.phi(D.W + t * Z), t).subs(t, 0), D.phi_derivative(Z))


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Squared(), Polynomial(3, 0.5), Gaussian(1.5), Multiquadratic(2.0)],
    ids=repr,
)
def test_numbers_agree_with_the_symbolic_twin(kernel, rng):
    D = derive(kernel, n=3, d=2, q=1)
    X, W = rng.standard_normal((3, 2)), rng.standard_normal((2, 1))
    G = rng.standard_normal((3, 3))
    G = G + G.T
    values = dict(zip(D.X, X.ravel(), strict=True)) | dict(zip(D.W, W.ravel(), strict=True))
    values |= dict(zip(D.Gamma, G.ravel(), strict=True))
    problem = Problem(X, G, kernel)
    for twin, number in (
        (D.phi(), problem.phi(W)),
        (D.phi_0(), problem.phi_0()),
        (D.gradient / 2, problem.phi(W) @ W),
        (sp.Matrix([D.objective()]), [[problem.objective(W)]]),
    ):
        expected = np.array(twin.subs(values).evalf(20), dtype=float)
        assert_allclose(number, expected, atol=1e-11)  # rounding of sums of O(10)


def test_latex_is_readable():
    text = derive(Gaussian(sigma), n=2)._repr_latex_()
    assert r"2\,X^T (D_\Psi - \Psi) X" in text and r"- \frac{e^{" in text


def factor_of(kernel):
    """What stands before the matrix in the line of Phi_0."""
    return re.search(r"\\Phi_0 &= (.*?) X\^T", derive(kernel, n=2).latex()).group(1)


def open_signs(text):
    """The plus and minus signs of a formula outside of all braces, its first letter aside."""
    depth, found = 0, 0
    for letter in text[1:]:
        depth += (letter == "{") - (letter == "}")
        found += letter in "+-" and depth == 0
    return found


def test_a_sum_before_a_matrix_stands_in_brackets():
    """-1/s² - 1/t² has no plus sign, and still multiplies the matrix as a whole."""
    s, t = sp.symbols("s t", positive=True)
    for kernel in (Gaussian(s) + Gaussian(t), Gaussian(s) + Squared(), Linear() + Polynomial(2, t)):
        text = factor_of(kernel)
        assert open_signs(text) and text.startswith(r"\left(") and text.endswith(r"\right)")
    for value in (s + t, s - t, -s - t, -1 - s):
        assert _factor(value) == rf"\left({sp.latex(value)}\right)"
    for value in (2 * s, -s / t, s * (s + t)):
        assert _factor(value) == sp.latex(value)


def test_a_factor_of_one_is_not_written():
    """1 is nothing, -1 a sign, any other number itself; differences bring a factor of 2."""
    assert factor_of(Linear()) == "" and factor_of(Squared()) == "-2"
    assert factor_of(Kernel(lambda beta, xp: -beta, "inner")) == "-"
    assert factor_of(Kernel(lambda beta, xp: beta / 2, "difference")) == ""
    assert factor_of(Kernel(lambda beta, xp: -beta / 2, "difference")) == "-"
    assert factor_of(Kernel(lambda beta, xp: 11 * beta, "inner")) == "11"


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
