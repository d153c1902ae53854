"""The bench measures what it says: heights, when they were reached, and its history."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from library.problems import slopes
from numpy.testing import assert_allclose

from ismlit.gamma import label_gamma
from ismlit.kernels import Gaussian
from ismlit.objectives.plain import Problem
from ismlit.solvers.ism import ism
from tools.bench import climbs, cluster, growth, passes, peers
from tools.bench.rows import Row, store, take_turns


@pytest.fixture
def problem(rng):
    X, y = rng.standard_normal((40, 4)), np.arange(40) % 2
    X[:, 0] += 2 * y
    return Problem(X - X.mean(axis=0), label_gamma(y), Gaussian(2.0))


@pytest.mark.parametrize("way", [climbs.OURS, *climbs.WAYS])
def test_every_way_is_seen_to_climb(way, problem):
    best = ism(problem, q=2).objective
    watch = climbs.climbed(way, problem, 2)
    heights = [J for _, J in watch.seen]
    assert heights[-1] > heights[0] and max(heights) <= best * (1 + 1e-9)
    assert 0 < watch.reached(heights[0]) <= watch.reached(max(heights)) < math.inf
    assert watch.reached(best + 1) == math.inf
    assert_allclose(max(heights), best, rtol=1e-5)
    assert climbs.climbed(way, problem, 2, 0.0).stopped


def test_the_gradient_of_the_polar_form_is_that_of_differences(problem, rng, monkeypatch):
    monkeypatch.setattr(climbs, "minimize", lambda fall, start, **options: fall)
    V = rng.standard_normal((4, 2))
    fall = climbs.polar_quasi_newton(problem, 2, V)
    differences = slopes(lambda v: fall(v)[0], V.ravel())
    assert_allclose(fall(V.ravel())[1], differences, rtol=1e-5, atol=1e-7)


def test_ends_that_differ_and_bounds_are_told_apart(problem, monkeypatch):
    """A way that never moves ends lower; it enters no ratio. One that is too slow has a bound."""
    stay = lambda p, q, init: p.objective_and_gradient(init)

    def turn(p, q, init):
        while True:
            p.objective_and_gradient(init)

    monkeypatch.setattr(climbs, "WAYS", {"stay": stay, "turn": turn})
    lower, bound = climbs.against("made", problem, 2, turns=1)
    assert lower.work == "stay, ends lower by, made" and lower.value > 1e-3 and lower.met is None
    assert bound.work.startswith("turn / ism") and bound.beyond and bound.met and "> " in str(bound)


def test_a_row_has_a_target_and_runs_take_turns():
    assert Row("a", 1.0, most=1.0).met and not Row("a", 1.1, most=1.0).met
    assert not Row("a", math.nan, least=4.0).met and Row("a", 1.0).met is None
    assert growth.exponent([1, 10, 100], [5.0, 1.0, 100.0]) == pytest.approx(2)
    order = []
    take_turns({name: lambda name=name: order.append(name) for name in "ab"}, 2)
    assert order == ["a", "b"] * 3


def test_a_run_is_added_to_the_history_once_a_day(tmp_path):
    path = tmp_path / "bench.json"
    store([Row("a", 1.23456, most=2)], path)
    store([Row("a", 1.5, most=2), Row("b", 0.0)], path)
    (entry,) = json.loads(path.read_text("utf-8"))
    assert entry["rows"] == [{"work": "a", "value": 1.5, "most": 2}, {"work": "b", "value": 0.0}]
    assert {"date", "processor", "cores", "numpy"} <= set(entry)


@pytest.mark.parametrize(("package", "run"), [("pykeops", "keops_pass"), ("hyppo", "hyppo_hsic")])
def test_peers_compute_the_same(package, run):
    pytest.importorskip(package)
    task = passes.example(200, 5, float)
    ours = task[0].objective_and_phi(task[1]) if package == "pykeops" else peers.our_hsic(*task)
    for theirs, number in zip(np.atleast_1d(getattr(peers, run)(*task)[:2]), ours):
        assert_allclose(theirs, number, rtol=1e-6)


@pytest.mark.parametrize("wrong", [{}, {"killed": False}, {"client": 301.0}])
def test_the_rows_of_the_cluster_are_those_of_its_fit(wrong, monkeypatch):
    found = dict(client=200.0, worker=250.0, seconds=9.0, passes=11, sent=3.0, imported=190.0)
    found |= {"killed": True} | wrong
    done = found, SimpleNamespace(converged_=True)
    monkeypatch.setattr(cluster, "fit_on_workers", lambda n, memory: done)
    if not found["killed"]:
        with pytest.raises(RuntimeError, match="the worker lived"):
            list(cluster.rows(quick=False))
        return
    rows = {row.work: row for row in cluster.rows(quick=False)}
    assert all(work.startswith("10^7 x 50 on two workers of 700MiB: ") for work in rows)
    met = {work.partition(": ")[2]: row.met for work, row in rows.items() if row.met is not None}
    assert met == {"memory of the client": found["client"] <= 300, "sent a pass": True}
