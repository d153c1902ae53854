"""Intervals contain what they are said to contain, and what is not so is not shown."""

import mpmath
import numpy as np
import pytest
import sympy as sp
from ismlit_book.methods.intervals import (
    along_and_across,
    alternates,
    enclosing,
    ends,
    highest,
    hull,
    on_the_circle,
    one_zero,
    plain_step,
)
from mpmath import iv

from ismlit import Gaussian, Problem, label_gamma

x, y = sp.symbols("x y", real=True)


@pytest.fixture(params=[0, 1])
def drawn(request):
    """Points with coordinates of one decimal, their classes and a bandwidth, as rationals."""
    rng = np.random.default_rng(request.param)
    tenths = lambda low, high, shape=(): rng.integers(low, high, shape)
    points = [[sp.Rational(int(v), 10) for v in row] for row in tenths(-30, 31, (5, 2))]
    labels = [0, 1, *map(int, rng.integers(0, 2 + request.param, 3))]
    return points, labels, sp.Rational(int(tenths(5, 20)), 10)


def problem_of(points, labels, sigma):
    return Problem(np.array(points, float), label_gamma(labels), Gaussian(float(sigma)))


def direction(angle):
    return np.array([[np.cos(angle)], [np.sin(angle)]])


# ---------------------------------------------------------------- formulas


@pytest.mark.parametrize(
    "formula",
    [
        x / 3,
        sp.exp(-(x**2) / 7),
        sp.cos(x) * sp.sin(3 * x) - sp.pi,
        sp.atan2(x, x + 2) ** 3,
        sp.Abs(x - sp.Rational(1, 10)),
    ],
)
def test_an_interval_contains_all_that_a_formula_takes(formula):
    """By 50 digits; also where the interval is one number."""
    exact = sp.lambdify(x, formula, "mpmath")
    value = enclosing(formula, x)
    with mpmath.workdps(50):
        for low, high in ((0.1, 0.1), (-0.3, 0.7), (1.0, 1.25)):
            found = value(hull(low, high))
            for share in (0, 1, mpmath.mpf(1) / 3):
                inner = low + share * (mpmath.mpf(high) - low)
                assert found.a <= exact(inner) <= found.b
            assert found.a < found.b


def test_a_formula_with_a_rounded_number_is_refused():
    with pytest.raises(ValueError, match="rounded"):
        enclosing([x, 0.1 * x], x)


@pytest.mark.parametrize("formula", [sp.sqrt(x), sp.atan(x), sp.gamma(x)])
def test_a_function_without_intervals_is_refused(formula):
    with pytest.raises(ValueError, match="of intervals there is"):
        enclosing([x, formula], x)


def test_the_formulas_of_an_angle_are_those_of_the_problem(drawn):
    angle, J, phi = on_the_circle(*drawn)
    problem = problem_of(*drawn)
    for at in (0.3, 2.0):
        value, *entries = enclosing([J, *phi], angle)(iv.mpf(at))
        assert float(value.mid) == pytest.approx(problem.objective(direction(at)), abs=1e-12)
        wanted = problem.phi(direction(at)).ravel()
        assert [float(v.mid) for v in entries] == pytest.approx(wanted, abs=1e-12)


# ---------------------------------------------------------------- maxima


def test_no_angle_is_higher_than_the_interval_that_is_found(drawn):
    angle, J, _ = on_the_circle(*drawn)
    tops = highest(J, angle, start=0.1)
    at = np.linspace(0, np.pi, 2001)
    heights = sp.lambdify(angle, J)(at)
    nearest = min(abs(np.sin(at[heights.argmax()] - float(top.mid))) for top in tops)
    assert nearest < np.pi / 2000
    assert all(enclosing(J, angle)(top).b >= heights.max() for top in tops)
    assert all(high - low < 1e-9 for low, high in map(ends, tops))


@pytest.mark.parametrize(
    ("J", "wanted"),
    [
        (sp.sin(2 * x), [np.pi / 4]),
        (sp.cos(4 * (x - 1)), [1, 1 + np.pi / 2]),
        (sp.cos(4 * (x - 1)) + sp.cos(2 * (x - 1)) / 1000, [1]),
        (sp.sin(2 * x) ** 2 + sp.cos(2 * x) / 2, [np.arccos(0.25) / 2, -np.arccos(0.25) / 2]),
    ],
)
def test_equal_maxima_are_all_found_and_lower_ones_are_not(J, wanted):
    found = [float(top.mid) for top in highest(J, x, start=0.3)]
    apart = abs(np.sin(np.subtract.outer(wanted, found)))
    assert apart.shape == (len(wanted), len(wanted))
    assert apart.min(axis=0).max() < 1e-9 and apart.min(axis=1).max() < 1e-9


@pytest.mark.parametrize("J", [sp.Integer(1) + 0 * x, -(sp.sin(x) ** 4)])
def test_a_level_maximum_is_not_shown(J):
    with pytest.raises(ArithmeticError, match="level"):
        highest(J, x, start=1.0)


def test_phi_along_and_across_is_that_at_a_highest_angle(drawn):
    angle, J, _ = on_the_circle(*drawn)
    problem, at = problem_of(*drawn), np.linspace(0, np.pi, 20_001)
    best = at[sp.lambdify(angle, J)(at).argmax()]
    phi = problem.phi(direction(best))
    for turn, (low, high) in zip((0, np.pi / 2), along_and_across(*drawn)):
        u = direction(best + turn)
        assert low == pytest.approx((u.T @ phi @ u).item(), abs=1e-3) == high


def test_phi_along_and_across_is_that_of_all_highest_angles():
    points, labels = [[0, 1], [2, 2], [-1, -1], [1, 0]], [0, 0, 0, 1]
    angle, J, phi = on_the_circle(points, labels, 1)
    assert len(highest(J, angle)) == 2
    own, other = along_and_across(points, labels)
    assert own[0] < own[1] < own[0] + 1e-9 < other[0] < other[1] < other[0] + 1e-9


# ---------------------------------------------------------------- zeros


@pytest.mark.parametrize(
    ("equations", "centre", "radius", "has_one"),
    [
        ([x**2 - 4, y - x], (2.01, 1.99), 0.1, True),
        ([x**2 - 4, y - x], (2.2, 2.0), 0.1, False),  # no zero
        ([x**2 - 4, y - x], (0.5, 0.5), 4.0, False),  # two
        ([x**2 - 2 * x + 1, y - 1], (1.01, 1.0), 0.1, False),  # a double one
        ([x - sp.cos(y), y - sp.sin(x)], (0.77, 0.69), 0.05, True),
    ],
)
def test_a_box_is_said_to_have_one_zero_only_if_it_has(equations, centre, radius, has_one):
    found = one_zero(equations, [x, y], centre, radius)
    assert (found is not None) == has_one
    if has_one:
        zero = sp.nsolve(equations, [x, y], centre, prec=40)
        assert all(side.a <= value <= side.b for side, value in zip(found, zero))
        assert all(high - low < radius for low, high in map(ends, found))


# ---------------------------------------------------------------- cycles


def test_a_plain_step_is_the_dominant_eigenvector_of_phi(drawn):
    step, problem = plain_step(*drawn), problem_of(*drawn)
    for phi, angle in (
        (problem.phi_0(), step()),
        (problem.phi(direction(0.4)), step(iv.mpf(0.4))),
    ):
        dominant = np.linalg.eigh(phi)[1][:, -1]
        low, high = ends(angle)
        assert high - low < 1e-12
        assert abs(dominant @ direction(low)) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("step", "cycles"),
    [
        (lambda angle: iv.mpf(1.5) - (angle - 0.2) / 2, False),  # back at 0.4
        (lambda angle: iv.mpf(0.2) + (angle - 0.2) / 2, False),  # a fixed point
        (lambda angle: 1 + iv.sin(angle - 0.2) / 4 if angle.b < 0.5 else angle - 0.8, True),
        (lambda angle: 1 + iv.sin(angle - 0.2) * 4 if angle.b < 0.5 else angle - 0.8, False),
        (lambda angle: angle + iv.pi, False),  # the same direction
    ],
)
def test_an_iteration_alternates_if_two_steps_lead_back_and_one_does_not(step, cycles):
    assert alternates(step, iv.mpf(0.2)) == cycles
