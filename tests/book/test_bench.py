"""The bench measures what it says: heights, when they were reached, targets, and its history."""

import json
import math
import time

import numpy as np
import pytest
from library.problems import slopes
from numpy.testing import assert_allclose

from ismlit.estimators.supervised import SupervisedIKDR
from ismlit.gamma import label_gamma
from ismlit.kernels import Gaussian
from ismlit.objectives.features import even_frequencies
from ismlit.objectives.plain import Problem
from ismlit.solvers.ism import ism
from tools.bench import climbs, growth, rows
from tools.bench.blocks import block, objective_of_blocks
from tools.bench.problems import Case
from tools.bench.rows import Row, store, take_turns
from tools.bench.ways import (
    OURS,
    WAYS,
    Arrived,
    TooSlow,
    Watch,
    climbed,
    in_the_span,
    polar_quasi_newton,
)


@pytest.fixture
def problem(rng):
    X, y = rng.standard_normal((40, 4)), np.arange(40) % 2
    X[:, 0] += 2 * y
    return Problem(X - X.mean(axis=0), label_gamma(y), Gaussian(2.0))


@pytest.mark.parametrize("way", [OURS, *WAYS])
def test_every_way_is_seen_to_climb(way, problem):
    if way in ("trust region", "conjugate gradients"):
        pytest.importorskip("pymanopt")
    best = ism(problem, q=2).objective
    watch = climbed(way, problem, 2)
    heights = [J for _, J, _ in watch.seen]
    assert heights[-1] > heights[0] and max(heights) <= best * (1 + 1e-9)
    assert 0 < watch.reached(heights[0]) <= watch.reached(max(heights)) < math.inf
    assert watch.reached(best + 1) == math.inf
    assert_allclose(max(heights), best, rtol=1e-2 if way == "dimension growth" else 1e-5)


def test_the_gradient_of_the_polar_form_is_that_of_differences(problem, rng):
    """L-BFGS is handed value and slope; its own differences give the slope again."""
    seen = {}

    def catch(fall, start, **options):
        seen["fall"] = fall

    V = rng.standard_normal((4, 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tools.bench.ways.minimize", catch)
        polar_quasi_newton(problem, 2, V)
    fall, v = seen["fall"], V.ravel()
    differences = slopes(lambda v: fall(v)[0], v)
    assert_allclose(fall(v)[1], differences, rtol=1e-5, atol=1e-7)
    assert np.abs(fall(v)[1]).max() > 1e-3


def test_a_way_that_is_too_slow_is_stopped():
    watch = Watch(2, 0.5, time.perf_counter() - 1)
    with pytest.raises(TooSlow):
        watch.note(1.0, 2)
    patient = Watch(2, math.inf, time.perf_counter())
    patient.note(3.0, 1)  # one column of two: another function
    assert patient.reached(2.0) == math.inf and patient.stopped
    with pytest.raises(Arrived):
        Watch(2, math.inf, time.perf_counter(), flat=0.1).note(3.0, 2, 0.05)
    steep = Watch(2, math.inf, time.perf_counter())
    steep.note(3.0, 2, 0.5)
    assert steep.reached(3.0) < math.inf and steep.reached(3.0, 0.1) == math.inf


@pytest.mark.filterwarnings("ignore")
def test_the_span_holds_the_same_problem(rng):
    X, y = rng.standard_normal((12, 40)), np.arange(12) % 3
    problem = Problem(X, label_gamma(y), Gaussian(5.0))
    reduced = in_the_span(problem, 2)
    assert reduced.d == 14 and in_the_span(reduced, 2) is reduced
    assert_allclose(ism(reduced, q=2).objective, ism(problem, q=2).objective, rtol=1e-6)


def test_targets_are_bounds():
    assert Row("a", 1.0, most=1.0).met and not Row("a", 1.1, most=1.0).met
    assert Row("a", 4.0, least=4.0).met and not Row("a", 3.9, least=4.0).met
    assert Row("a", 1.0).met is None and not Row("a", math.nan, least=4.0).met
    assert "≤ 2 s" in str(Row("a", 1.0, most=2, unit=" s"))


def test_a_bound_is_no_value():
    """What was stopped lies beyond the time waited; what ends lower has no time at all."""
    case = climbs.CASES[0]
    waited = climbs.row("trust region", "to the same J", case, math.inf, 8.0, 1.0)
    assert waited.beyond and waited.met and "> 8" in str(waited)
    assert not climbs.row("trust region", "to the same J", case, 0.5, 8.0, 1.0).beyond


def test_ends_that_differ_are_told_apart(problem, monkeypatch):
    """A way that never moves ends lower; it enters no ratio."""
    stay = lambda p, q, init: p.objective_and_gradient(init)
    monkeypatch.setitem(WAYS, "trust region", stay)
    monkeypatch.setattr(climbs, "JUDGED", ("trust region", "polar L-BFGS"))
    case = Case("made", None, 2)
    found = [row for row, _ in climbs.against(case, problem)]
    lower = [row for row in found if row.work == "trust region, ends lower by, made"]
    assert len(lower) == 1 and lower[0].value > 1e-3 and lower[0].met is None
    assert not any(row.work.startswith("trust region /") for row in found)
    same = [row for row in found if row.work.startswith("polar L-BFGS / ism")]
    assert len(same) == 2 and all(0 < row.value < math.inf for row in same)


@pytest.mark.parametrize("case", climbs.CASES[:2], ids=lambda case: case.name)
@pytest.mark.filterwarnings("ignore")
def test_the_cases_are_problems_at_the_bandwidth_they_name(case):
    """The estimators' own rule by default."""
    problem = case.problem()
    model = SupervisedIKDR(case.q, max_iter=1, init="taylor")
    model.fit(problem.X, np.arange(problem.n) % 2)
    assert_allclose(model.kernel_.sigma, problem.kernel.sigma)


def test_an_exponent_is_that_of_the_largest_sizes():
    assert growth.exponent([1, 10, 100], [5.0, 1.0, 100.0]) == pytest.approx(2)


def test_runs_take_turns_after_a_warm_up():
    order = []
    runs = {name: lambda name=name: order.append(name) for name in "ab"}
    assert set(take_turns(runs, 2)) == set("ab") and order == ["a", "b"] * 3


def test_a_missed_target_is_explained():
    """Every row of the stored run that misses its target has a reason, and a met one none."""
    entry = json.loads(rows.HISTORY.read_text("utf-8"))[-1]
    stored = [Row(**{k: v for k, v in row.items()}) for row in entry["rows"]]
    missed = [row for row in stored if row.met is False]
    assert [row.work for row in missed if not any(map(row.work.startswith, rows.EXPLAINED))] == []
    for value in (2.0, np.float64(2.0)):
        assert "eight lanes" in str(Row("one pass / floor, n = 2000, d = 20", value, most=1.1))
    assert "eight lanes" not in str(Row("one pass / floor, n = 2000, d = 20", 1.0, most=1.1))


def test_a_run_is_added_to_the_history_once_a_day(tmp_path):
    path = tmp_path / "bench.json"
    store([Row("a", 1.23456, most=2)], path)
    store([Row("a", 1.5, most=2), Row("b", 0.0)], path)
    (entry,) = json.loads(path.read_text("utf-8"))
    assert entry["rows"] == [{"work": "a", "value": 1.5, "most": 2}, {"work": "b", "value": 0.0}]
    assert {"date", "processor", "cores", "numpy"} <= set(entry)
    assert rows.HISTORY.name == "bench.json"


def test_blocks_give_the_objective_of_all_rows(monkeypatch):
    """J by class sums over blocks is Tr(Gamma RR' / m) with every feature formed; so its slope."""
    monkeypatch.setattr("tools.bench.blocks.BLOCK", 100)
    value, half = objective_of_blocks(300, 3, 3, 16)
    parts = [block(number, 100, 3, 3) for number in range(3)]
    X, y = (np.concatenate(part).astype(float) for part in zip(*parts, strict=True))
    omega = even_frequencies(2, 16, 0) / 3.0
    F = np.eye(3)[y.astype(int)]
    F -= F.mean(axis=0)

    def J(W):
        angles = X @ W @ omega
        R = np.hstack([np.cos(angles), np.sin(angles)])
        return np.sum((F.T @ R) ** 2) / 16

    W = np.eye(3, 2)
    slope = slopes(J, W)
    assert_allclose(value, J(W), rtol=1e-5)
    assert_allclose(2 * half, slope, atol=1e-4 * np.abs(slope).max())
