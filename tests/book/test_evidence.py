"""Evidence carries out what it says, and refuses what shows nothing."""

import numpy as np
import pytest
import sympy as sp
from ismlit_book import (
    at_most,
    counterexample,
    derived,
    drawn,
    equal,
    exhaustive,
    from_store,
    one_case,
    proof,
    recomputed,
    results,
)
from ismlit_book.record.draws import KERNELS, SIZES, Draw
from ismlit_book.record.evidence import EvidenceError

from ismlit.objectives.plain import Problem

x, y = sp.symbols("x y", real=True)
f = sp.Function("f")


def gradient_case(draw):
    """The gradient of J along Z is 2 Tr(Z' Phi W)."""
    problem, h = draw.problem, 1e-5
    up, down = problem.objective(draw.W + h * draw.Z), problem.objective(draw.W - h * draw.Z)
    slope = 2 * np.vdot(draw.Z, draw.spoilable(problem.phi(draw.W)) @ draw.W)
    return equal((up - down) / (2 * h), slope, tol=1e-6)


def test_drawn_runs_over_the_family_and_says_so():
    found = drawn(120, gradient_case)
    assert found.holds and found.known == "drawn"
    assert found.detail == "120 draws, 3 sizes, 8 kernels, Gammas of both signs"
    assert {"doubled", "negated", "doubled input", "random input"} <= set(found.rejected)


def test_drawn_finds_the_one_case_that_fails():
    found = drawn(100, lambda draw: draw.q < 3)
    assert not found.holds and "draw 2 " in found.detail


def test_drawn_refuses_too_few_and_hypotheses_that_are_never_met():
    with pytest.raises(EvidenceError, match="at least 100"):
        drawn(99, lambda draw: True)
    with pytest.raises(EvidenceError, match="met in 0 of"):
        drawn(100, lambda draw: None)


@pytest.mark.parametrize(
    ("case", "what"),
    [
        (lambda draw: (0 * draw.n, 0), None),
        (lambda draw: at_most(draw.n, draw.n), "turned round"),
        (lambda draw: bool(np.all(draw.spoilable(draw.X) < 1e9)), "doubled input"),
        (lambda draw: equal(draw.X, draw.X, tol=10), "negated"),
    ],
)
def test_drawn_refuses_a_case_that_accepts_what_is_spoilt(case, what):
    if what is None:
        assert drawn(100, case).rejected == ()  # 0 = 0 has nothing to spoil, and says so
        return
    with pytest.raises(EvidenceError, match=what):
        drawn(100, case)


def test_drawn_tries_a_spoilt_case_by_hand():
    right = lambda draw: at_most(0, np.linalg.eigvalsh(draw.W @ draw.W.T).max())

    def half_of_the_norm(draw):
        return at_most(np.linalg.norm(draw.X), np.linalg.norm(draw.X) / 2)

    assert "half of the norm" in drawn(100, right, spoilt=half_of_the_norm).rejected
    with pytest.raises(EvidenceError, match="spoilt case 1"):
        drawn(100, right, spoilt=lambda draw: True)


def test_a_lost_hypothesis_can_be_tried():
    """The spoilt case is asked of all draws, those too that do not meet the hypothesis."""
    holds_if_wide = lambda draw: True if draw.q < 3 else None
    assert drawn(100, holds_if_wide, spoilt=lambda draw: draw.q < 3).rejected == ("spoilt case 1",)


def test_a_draw_is_the_same_again_and_of_every_kind():
    for index in (0, 7, 50):
        one, two = Draw(index, seed=3), Draw(index, seed=3)
        np.testing.assert_array_equal(one.problem.phi(one.W), two.problem.phi(two.W))
    assert not np.array_equal(Draw(0, seed=0).X, Draw(0, seed=1).X)
    n_all = len(SIZES) * len(KERNELS) * 4
    kinds = {(d._size, d._kernel, d._gamma) for d in map(Draw, range(n_all))}
    assert len(kinds) == n_all


@pytest.mark.parametrize("index", range(0, 96, 5))
def test_a_draw_is_what_it_says(index):
    draw = Draw(index)
    n, d, q = draw.n, draw.d, draw.q
    assert draw.X.shape == (n, d) and draw.W.shape == draw.Z.shape == (d, q)
    np.testing.assert_allclose(draw.W.T @ draw.W, np.eye(q), atol=1e-12)
    np.testing.assert_allclose(draw.W.T @ draw.Z, 0, atol=1e-12)
    np.testing.assert_array_equal(draw.Gamma, draw.Gamma.T)
    eigenvalues = np.linalg.eigvalsh(draw.Gamma)
    kind = draw.taken["Gammas"]
    assert kind != "positive" or eigenvalues[0] > -1e-12
    assert kind != "negative" or eigenvalues[-1] < 1e-12
    assert kind != "indefinite" or eigenvalues[0] < 0 < eigenvalues[-1]
    assert min(np.bincount(draw.y)) >= 2 and isinstance(draw.problem, Problem)


# ---------------------------------------------------------------- derived


def test_derived_of_symbols_and_unspecified_functions():
    assert derived(sp.diff(x**2 * y, x), 2 * x * y).holds
    slope = sp.Derivative(f(y), y).subs(y, x**2)
    assert derived(sp.diff(f(x**2), x), 2 * x * slope).holds
    assert not derived(sp.diff(f(x) * x, x), f(x)).holds
    A, B = sp.MatrixSymbol("A", 3, 3), sp.MatrixSymbol("B", 3, 3)
    assert derived((A + B) * A, A * A + B * A).holds
    assert not derived(A * B, B * A).holds
    assert "transposed" in derived(A.T.T * B, A * B).rejected
    M = sp.Matrix(2, 2, sp.symbols("m1:5"))
    assert derived((M.T * M)[0, 1], M[0, 0] * M[0, 1] + M[1, 0] * M[1, 1]).holds


def test_derived_inequality():
    assert derived(at_most(2 * x * y, x**2 + y**2)).holds
    assert not derived(at_most(x**2 + y**2, 2 * x * y)).holds


def test_derived_refuses_one_case():
    with pytest.raises(EvidenceError, match="one case"):
        derived(sp.Integer(4), sp.Integer(2) + 2)
    with pytest.raises(EvidenceError, match="one case"):
        derived(4, 2 + 2)


def test_proof_needs_steps_that_are_general():
    square = derived((x - y) ** 2, x**2 - 2 * x * y + y**2)
    found = proof({"expand": square, "and again": square})
    assert (found.known, found.holds, found.steps) == ("derived", True, ("expand", "and again"))
    assert not proof({"expand": square, "wrong": derived(x, y)}).holds
    some = drawn(100, lambda draw: (draw.W.T @ draw.W, np.eye(draw.q)))
    assert proof({"expand": square, "try": some}).detail == "2 steps, 1 of them drawn"
    assert proof({"try": some, "and again": some}).known == "drawn"
    with pytest.raises(EvidenceError, match="one case"):
        proof({"an example": one_case(1, 1)})


def test_exhaustive_tries_all():
    triangle = lambda n: (sum(range(n + 1)), n * (n + 1) / 2)
    assert exhaustive(range(1, 9), triangle).detail == "all 8 cases"
    assert not exhaustive(range(3), lambda n: n < 2).holds
    with pytest.raises(EvidenceError, match="spoilt case 1"):
        exhaustive(range(3), lambda n: n < 5, spoilt=lambda n: n < 4)


# ---------------------------------------------------------------- one statement


def test_one_case_spoils_both_sides_it_is_given():
    assert one_case([1.0, 2.0], [1.0, 2.0]).rejected == ("doubled", "negated", "random")
    assert not one_case([1.0, 2.0], [2.0, 1.0]).holds
    with pytest.raises(EvidenceError, match="spoilt"):
        one_case(1.0, 1.0, spoilt=(2, 2))
    assert one_case(True, spoilt=lambda: False).rejected == ("spoilt",)
    with pytest.raises(EvidenceError, match="doubled"):
        one_case(1.0, 1.2, tol=0.8)


def test_counterexample_is_exact_where_its_numbers_are():
    assert counterexample((-1) ** 2, -1).detail == "exact"
    assert counterexample(sp.Rational(1, 3), sp.Rational(1, 2)).detail == "exact"
    assert counterexample(0.5, 0.25).detail == ""
    assert not counterexample(2, 2).holds
    with pytest.raises(EvidenceError, match="spoilt case"):
        counterexample(False, spoilt=False)


def test_a_row_of_a_table_is_judged_cell_by_cell():
    found = recomputed({"NMI": (0.5, 0.5), "cost": False})
    assert found.cells == {"NMI": True, "cost": False} and not found.holds
    results("table-3.1")
    assert from_store("table-3.1", {"NMI": True}).known == "stored"
    with pytest.raises(EvidenceError, match="was not read"):
        from_store(("table-3.1", "nowhere"), True)


def test_infinity_and_nan_agree_with_nothing():
    assert not one_case(np.inf, 1.0).holds
    assert not one_case([np.nan], [np.nan]).holds


@pytest.mark.parametrize("what", [np.ones(2), 1.0, "yes", (1, 2, 3)])
def test_a_statement_is_a_pair_or_a_truth_value(what):
    with pytest.raises(TypeError, match="a pair"):
        one_case(what)
