"""Whole solves against every other way to climb, from one start, on the problems of `CASES`."""

import time

import numpy as np
from tqdm import tqdm

from ismlit.geometry.second_order import SecondOrder
from ismlit.solvers.ism import ism
from tools.bench.problems import CASES
from tools.bench.rows import Row
from tools.bench.ways import JUDGED, OURS, SHOWN, climbed, in_the_span, patience, quiet

SLACK = 1e-6  # a height counts as reached this far below, relative;
HIGHER = 1e-5  # one that lies above by more is another maximum
TOL = 1e-6  # residual of a certified maximum
SHORT = 4.0  # seconds of ours up to which a solve is timed three times, else once


def rows(quick):
    """Times until J is as high as ours, and certified; ends that differ; certificates."""
    ratios = {}
    for case in tqdm(CASES[:6] if quick else CASES, "solves", disable=None, leave=False):
        problem = case.problem()
        if problem is None:
            print(f"{case.name}: the data are not at hand, skipped")
            continue
        for row, way in against(case, problem):
            ratios.setdefault((way, row.work.split(", ")[1]), []).append(row)
            yield row
    for (way, what), found in ratios.items():
        if "ends" not in what:
            middle = float(np.median([np.inf if row.beyond else row.value for row in found]))
            beyond = not np.isfinite(middle)  # then the median is at least that of the bounds
            value = float(np.median([row.value for row in found])) if beyond else middle
            work = f"{way} / ism, {what}, median of {len(found)} problems"
            yield Row(work, value, least=2.0 if way in JUDGED else None, beyond=beyond)


def against(case, problem):
    """(row, way) for every way: when it was as high as ours, and where it ends if not there."""
    q = case.q
    with quiet():
        start = time.perf_counter()
        found = ism(problem, q=q)
        ours = time.perf_counter() - start
    turns = 3 if ours < SHORT else 1
    least = found.objective - SLACK * abs(found.objective)
    seen = [climbed(OURS, problem, q) for _ in range(turns)]
    whole = min([watch.ended for watch in seen])
    first = min(watch.reached(least) for watch in seen)
    test, size = tested(problem, found)
    flat = TOL * size
    most = patience(whole)
    for way in JUDGED + (SHOWN if case.shown else ()):
        watches = [climbed(way, problem, q, most * whole, flat) for _ in range(turns)]
        reached = min(watch.reached(least) for watch in watches)
        certain = min(watch.reached(least, flat) for watch in watches)
        end = max(J for watch in watches for _, J, _ in watch.seen) / found.objective - 1
        stopped = any(watch.stopped for watch in watches)
        bound = 1.0 if way in JUDGED else None
        if np.isfinite(reached) or stopped:
            yield row(way, "to the same J", case, reached / first, most * whole / first, bound), way
        if way in JUDGED and (np.isfinite(certain) or stopped):
            value = (certain + test) / whole
            yield row(way, "to a certified maximum", case, value, most, bound), way
        if (np.isinf(reached) and not stopped) or end > HIGHER:
            side = "lower" if end < 0 else "higher"
            yield Row(f"{way}, ends {side} by, {case.name}", abs(end)), way


def row(way, what, case, ratio, most, least):
    """A ratio, or that it lies beyond what was waited for: such a bound is no value."""
    beyond = not np.isfinite(ratio)
    value = most if beyond else ratio
    return Row(f"{way} / ism, {what}, {case.name}", float(value), least=least, beyond=beyond)


def tested(problem, found):
    """Seconds that a test of the second order takes at what was found, and the size of Phi."""
    reduced = in_the_span(problem, found.W.shape[1])
    W = found.W if reduced is problem else ism(reduced, q=found.W.shape[1]).W
    start = time.perf_counter()
    phi = reduced.phi(W)
    SecondOrder(reduced, W, phi).lowest(enough=0.0)
    return time.perf_counter() - start, np.linalg.norm(phi)
