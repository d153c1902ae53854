"""The bench of the kernels' page, with formulas that are not on the page."""

import ast

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
import sympy as sp
from ismlit_book.files import pages
from numpy.testing import assert_allclose

from ismlit.kernels import Kernel
from ismlit.objectives.plain import Problem

YOURS = "yours, pair_of_yours = "
ROOT = "sp.sqrt(beta + sp.Float('1e-12'))"
MATERN_3 = "(1 + sp.sqrt(3) * {0} / sigma) * sp.exp(-sp.sqrt(3) * {0} / sigma)"
MATERN_5 = (
    "(1 + sp.sqrt(5) * {0} / sigma + 5 * beta / (3 * sigma**2)) * sp.exp(-sp.sqrt(5) * {0} / sigma)"
)
KERNELS = {
    "Cauchy": ("1 / (1 + beta / (2 * sigma**2))", "difference", "-1 / (2 * sigma**2)"),
    "rational quadratic": (
        "(1 + beta / (3 * p * sigma**2)) ** -p",
        "difference",
        "-1/(3*sigma**2)",
    ),
    "Matérn 3/2": (MATERN_3.format("sp.sqrt(beta)"), "difference", "-3 / (2 * sigma**2)"),
    "Matérn 5/2": (MATERN_5.format("sp.sqrt(beta)"), "difference", "-5 / (6 * sigma**2)"),
    "tanh": ("sp.tanh(beta / 20 + c)", "inner", "1 / (20 * cosh(c) ** 2)"),
    "sinh": ("sp.sinh(beta / 20)", "inner", "1 / 20"),
    "log": ("-sp.log(1 + beta / sigma**2)", "difference", "-1 / sigma**2"),
    "secant": (
        "1 / sp.cosh(sp.sqrt(beta) / sigma)",
        "difference",
        "-1 / (2 * sigma**2)",
    ),
    "geometric": ("1 / (1 - beta / 100)", "inner", "1 / 100"),
    "sinc": ("sp.sin(sp.sqrt(beta)) / sp.sqrt(beta)", "difference", "-1 / 6"),
    "sum": ("sp.exp(-beta / 3) + 2 / (1 + beta)", "difference", "-7 / 3"),
    "product": ("sp.exp(-beta / c) / sp.sqrt(1 + beta)", "difference", "-1 / c - 1 / 2"),
}
"""{name: (formula, kind of pair, slope at 0 by hand)}."""

NOT_FINITE_AT_0 = {"Matérn 3/2", "Matérn 5/2", "secant", "sinc"}  # as numbers: 0 / 0


@pytest.fixture(scope="module")
def page():
    """The sources of the code cells: before the bench, and from it on."""
    notebook = nbformat.read(pages() / "ch5" / "kernels.ipynb", as_version=4)
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    at = next(i for i, source in enumerate(sources) if source.startswith(YOURS))
    end = next(i for i, source in enumerate(sources) if source.startswith("fig, axes")) + 1
    names = {}
    for source in sources[:at]:
        shown(source, names)
    return names, sources[at:end]


def shown(source, names):
    """Run a cell; the value of its last line."""
    steps = ast.parse(source).body
    last = ast.Expression(steps.pop().value) if isinstance(steps[-1], ast.Expr) else None
    exec(compile(ast.Module(steps, []), "cell", "exec"), names)
    return eval(compile(last, "cell", "eval"), names) if last else None


def on_the_bench(page, formula, pair):
    """What the page's cells leave behind and show, with another formula in the first line."""
    before, (bench, *others) = page
    _, _, below = bench.partition("\n")
    names = dict(before)
    outputs = [shown(source, names) for source in (f"{YOURS}{formula}, {pair}\n{below}", *others)]
    plt.close("all")
    return names, [output for output in outputs if output is not None]


def test_no_formula_for_phi_is_typed_in():
    """What derives it differentiates J by P, and has neither f' nor the matrix of a pair."""
    notebook = nbformat.read(pages() / "ch5" / "kernels.ipynb", as_version=4)
    derive = next(c.source for c in notebook.cells if c.source.startswith("def derive_phi"))
    assert "diff(beta)" not in derive and "a.T +" not in derive


@pytest.mark.parametrize("name", KERNELS)
def test_the_bench_derives_a_kernel_and_shows_what_it_does(page, name):
    formula, pair, by_hand = KERNELS[name]
    names, (derived, numbers) = on_the_bench(page, formula, pair)
    symbols = {str(symbol): symbol for symbol in (names["sigma"], names["c"], names["p"])}
    f, beta = names["yours"], names["beta"]
    _, _, slope, *_ = derived.lines[-1]
    at_0 = names["factors"](f, names["pair_of_yours"])[1]
    assert sp.simplify(at_0 - sp.sympify(by_hand, symbols)) == 0
    exact = {key: sp.nsimplify(number, rational=True) for key, number in names["numbers"].items()}
    value, found = (sp.nsimplify(part, rational=True).subs(exact) for part in (f, slope))
    step = sp.Rational(1, 10**12)
    for at in map(sp.Rational, ("0.3", "1.7", "6.1")):
        rise = (value.subs(beta, at + step) - value.subs(beta, at - step)).evalf(50)
        assert_allclose(float(found.subs(beta, at)), float(rise / (2 * step)), rtol=1e-8)
    assert len(repr(derived)) < 1000
    row = numbers.rows[-1]
    gradient, quotient = (
        np.array(row[key].split(), dtype=float) for key in ("2Φw", "difference quotient")
    )
    assert_allclose(gradient, quotient, rtol=2e-3, atol=1e-3 * abs(quotient).max())
    refused = name in NOT_FINITE_AT_0
    assert row["the library"].startswith("✗" if refused else "✓")
    assert ("a tiny number under a root" in row["the library"]) == refused


@pytest.mark.parametrize("name", ["log", "tanh"])
def test_phi_of_the_samples_is_the_library_s(page, name):
    formula, pair, _ = KERNELS[name]
    names, _ = on_the_bench(page, formula, pair)
    exact, beta = names["yours"].subs(names["numbers"]), names["beta"]
    formula = lambda at, xp: sp.lambdify(beta, exact)(at) if xp is np else exact.subs(beta, at)
    own = Kernel(formula, pair)
    _, Phi = names["on_samples"](names["yours"], names["pair_of_yours"])
    problem = Problem(names["points"], names["weights"], own)
    for angle in (10, 100):
        W = names["direction"](angle)
        assert_allclose(Phi(W), problem.phi(W), rtol=1e-9)


def test_a_tiny_number_under_the_root_is_the_cure(page):
    names, (_, numbers) = on_the_bench(page, MATERN_3.format(ROOT), "difference")
    assert numbers.rows[-1]["the library"].startswith("✓")


@pytest.mark.parametrize("formula", ["sp.exp(-sp.sqrt(beta) / sigma)", "-sp.cbrt(beta)"])
def test_a_kernel_without_phi_0_is_refused_with_its_reason(page, formula):
    with pytest.raises(ValueError, match=r"Phi_0 is infinite: f' = .* tends to -oo at 0"):
        on_the_bench(page, formula, "difference")
