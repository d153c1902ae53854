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
from ismlit_book.record.equality import _approximately, same, values
from ismlit_book.record.evidence import TESTED, EvidenceError

from ismlit.objectives.plain import Problem

x, y = sp.symbols("x y", real=True)
n, t = sp.symbols("n t", positive=True, integer=True)
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
        (lambda draw: at_most(draw.n, draw.n), "turned round"),
        (lambda draw: bool(np.all(draw.spoilable(draw.X) < 1e9)), "doubled input"),
        (lambda draw: equal(draw.X, draw.X, tol=10), "negated"),
    ],
)
def test_drawn_refuses_a_case_that_accepts_what_is_spoilt(case, what):
    with pytest.raises(EvidenceError, match=what):
        drawn(100, case)


@pytest.mark.parametrize(
    ("case", "what"),
    [
        (lambda draw: (2.0, 1 + 1), "one case"),
        (lambda draw: True, "one case"),
        (lambda draw: (0 * draw.n, 0), "nothing spoilt"),
        (lambda draw: bool(draw.X.size), "nothing spoilt"),
        (lambda draw: (draw.X[:0], draw.X[:0]), "empty"),
        (lambda draw: (draw.X / np.inf * np.inf, draw.X), "not finite"),
    ],
)
def test_drawn_refuses_a_case_that_could_not_fail(case, what):
    with pytest.raises(EvidenceError, match=what), np.errstate(invalid="ignore"):
        drawn(100, case)


@pytest.mark.parametrize("name", ["X", "y", "W", "Z", "Gamma", "kernel", "rng", "n", "q"])
def test_a_draw_notes_that_something_was_taken(name):
    draw = Draw(3)
    assert not draw.was_read
    getattr(draw, name)
    assert draw.was_read


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


UNDECIDED = [
    (x**2 - 2 * x + 2, "refute that this is >= 0"),
    (sp.atan(sp.Abs(x) + 1) + sp.atan(1 / (sp.Abs(x) + 1)), "refute that this is zero"),
]


@pytest.mark.parametrize("known", [derived, counterexample, one_case])
def test_what_sympy_cannot_decide_shows_nothing(known):
    """(x - 1)² + 1 is positive, and atan(t) + atan(1/t) is pi/2 for t > 0: both are true."""
    (square, positive), (angle, zero) = UNDECIDED
    with pytest.raises(EvidenceError, match=positive):
        known(at_most(0, square))
    with pytest.raises(EvidenceError, match=zero):
        known(angle, sp.pi / 2)


def test_a_formula_is_refuted_only_where_its_symbols_may_be():
    """cos(2 pi k) = 1 for whole k, sqrt(t²) = -t for negative t; nowhere else."""
    k, t = sp.Symbol("k", integer=True), sp.Symbol("t", negative=True)
    assert derived(sp.cos(2 * sp.pi * k) + k, 1 + k).holds
    assert derived(sp.sqrt(t**2), -t).holds
    assert not derived(sp.sqrt(x**2), -x).holds
    assert not derived(at_most(0, x)).holds and derived(at_most(t, 0)).holds


@pytest.mark.parametrize(
    "expression",
    [
        x**2 * sp.exp(-x * y) + sp.sin(x) / sp.cosh(n),
        sp.sqrt(x) * sp.log(n) + sp.pi * sp.I,
        f(x * y) - 3 * f(x).diff(x, 2),
        f(x * y + t).diff(x) + sp.Function("g")(x, y),
    ],
)
def test_a_first_look_in_double_precision_is_the_value_at_the_first_point(expression):
    value, largest = _approximately(expression)
    assert value == pytest.approx(float(abs(next(values(expression)))), rel=1e-12)
    assert largest >= value


def test_a_first_look_leaves_other_functions_to_mpmath():
    with pytest.raises(ArithmeticError, match="Piecewise is left to mpmath"):
        _approximately(sp.Piecewise((x, x > 0), (y, True)))
    assert not same(sp.log(x - sp.Rational(2, 5)), 0)  # at the first point it has no value


def test_derived_refuses_one_case():
    with pytest.raises(EvidenceError, match="one case"):
        derived(sp.Integer(4), sp.Integer(2) + 2)
    with pytest.raises(EvidenceError, match="one case"):
        derived(4, 2 + 2)


def test_proof_needs_steps_that_are_general():
    with pytest.raises(EvidenceError, match="none"):
        proof({})
    square = derived((x - y) ** 2, x**2 - 2 * x * y + y**2)
    found = proof({"expand": square, "and again": square})
    assert (found.known, found.holds) == ("derived", True)
    assert found.steps == (("expand", square), ("and again", square))
    assert not proof({"expand": square, "wrong": derived(x, y)}).holds
    some = drawn(100, lambda draw: (draw.W.T @ draw.W, np.eye(draw.q)))
    tested = proof({"expand": square, "try": some})
    assert (tested.known, tested.detail) == (TESTED, "2 steps, 1 of them drawn")
    assert proof({"expand": square, "and": tested}).known == TESTED
    every = exhaustive(range(1, 9), lambda n: (sum(range(n + 1)), n * (n + 1) / 2))
    assert proof({"expand": square, "all": every}).known == TESTED
    assert proof({"try": some, "and again": some}).known == "drawn"
    assert proof({"try": some}, cites="Ky Fan").detail == "1 step, and by citation: Ky Fan"
    with pytest.raises(EvidenceError, match="one case"):
        proof({"an example": one_case(1, 1)})


@pytest.mark.parametrize(
    ("left", "right", "is_one"),
    [
        (n, n + t, True),
        (n**2, n * (n + 3 * t), True),
        ((n - t) ** 2, (n + t) ** 2, True),
        (2 * n * t, n**2 + t**2, False),
        (1 - sp.exp(-n), 1, False),
        (0, (x - y) ** 2, False),
        (x, x + y**2, False),
    ],
)
def test_what_the_signs_of_the_symbols_say_is_a_tautology(left, right, is_one):
    assert derived(at_most(left, right)).tautology == is_one


def test_tautologies_carry_no_proof():
    trivial, some = derived(at_most(n, n + t)), drawn(100, lambda draw: at_most(1, draw.n))
    assert proof({"more": trivial, "try": some}).known == "drawn"
    with pytest.raises(EvidenceError, match="tautologies"):
        proof({"more": trivial, "and more": derived(at_most(t, n + t))})


@pytest.mark.parametrize(
    ("sides", "size"),
    [
        ((x * y, y * x), ""),
        ((sum(sp.symbols("a_1:4")), sum(sp.symbols("a_3 a_2 a_1"))), "size: a 3"),
        ((sp.Symbol("m_23") * 2, sp.Symbol("m_23") + sp.Symbol("m_23")), "size: m 2 × 3"),
        (
            [at_most(0, sp.Symbol("z1", real=True) ** 2 + sp.Symbol("z2", real=True) ** 2)],
            "size: z 2",
        ),
        ((2 * sp.MatrixSymbol("A", 2, 3), sp.MatrixSymbol("A", 2, 3) * 2), "size: A 2 × 3"),
        ((2 * sp.MatrixSymbol("A", n, n), sp.MatrixSymbol("A", n, n) * 2), ""),
    ],
)
def test_an_identity_of_fixed_size_says_of_which(sides, size):
    found = derived(*sides)
    assert (found.holds, found.detail) == (True, size)
    assert proof({"a step": found}).detail == "1 step" + (", 1 of fixed size" if size else "")


def test_exhaustive_tries_all():
    triangle = lambda n: (sum(range(n + 1)), n * (n + 1) / 2)
    assert exhaustive(range(1, 9), triangle).detail == "all 8 cases"
    assert not exhaustive(range(3), lambda n: n < 2).holds
    with pytest.raises(EvidenceError, match="no case"):
        exhaustive([], triangle)
    with pytest.raises(EvidenceError, match="nothing spoilt"):
        exhaustive(range(3), lambda n: n < 3)
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


def test_a_truth_value_refutes_only_beside_a_case_in_which_it_is_true():
    with pytest.raises(EvidenceError, match="never="):
        counterexample(2 > 3)
    assert counterexample(2 > 3, spoilt=4 > 3).rejected == ("a case in which it is true",)
    alone = counterexample(2 > 3, never="two is the largest")
    assert (alone.holds, alone.detail) == (True, "two is the largest")


def test_a_row_of_a_table_is_judged_cell_by_cell():
    found = recomputed({"NMI": (0.5, 0.5), "cost": False})
    assert found.cells == {"NMI": True, "cost": False} and not found.holds
    results("table-3.1")
    assert from_store("table-3.1", {"NMI": True}).known == "stored"
    with pytest.raises(EvidenceError, match="was not read"):
        from_store(("table-3.1", "nowhere"), True)


@pytest.mark.parametrize("known", [one_case, counterexample, recomputed])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_neither_shows_nor_refutes(known, bad):
    for sides in ((bad, 1.0), ([1.0, bad], [1.0, bad]), (0.0, bad)):
        with pytest.raises(EvidenceError, match="not finite"):
            known(*sides)
        with pytest.raises(EvidenceError, match="not finite"):
            known(at_most(*sides))


@pytest.mark.parametrize("known", [one_case, counterexample])
def test_nothing_is_not_equal_to_nothing(known):
    for what in ([([], [])], [at_most([], [])], [at_most(np.zeros((0, 2)), 1.0)]):
        with pytest.raises(EvidenceError, match="empty"):
            known(*what)


@pytest.mark.parametrize("what", [np.ones(2), 1.0, "yes", (1, 2, 3)])
def test_a_statement_is_a_pair_or_a_truth_value(what):
    with pytest.raises(TypeError, match="a pair"):
        one_case(what)
