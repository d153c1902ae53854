"""Whole solves against every other way to climb, on seven problems; estimators and certificates."""

import time

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
from tqdm import tqdm

from ismlit import datasets
from ismlit.bandwidth import median_distance
from ismlit.edition.experiments.scaling import make_classes
from ismlit.gamma import label_gamma
from ismlit.kernels import Gaussian
from ismlit.optimality import certify
from ismlit.problem import Problem
from ismlit.reduction import SupervisedIKDR
from ismlit.solver import ism
from ismlit.starts import starting_point
from tools.bench.rows import Row, take_turns
from tools.bench.ways import SLOWEST, WAYS, climbed, quiet

SLACK = 1e-6  # a height counts as reached this far below, relative


def samples(name):
    """X with columns of mean 0 and deviation 1, the labels, and q; None without the data."""
    if name == "3000 x 50":
        return (*make_classes(3000, 50, 4), 3)
    if name == "200 x 2000":
        return (*make_classes(200, 2000, 4), 3)
    if name == "cancer, 30":
        X, y = load_breast_cancer(return_X_y=True)
    else:
        key, rows = {"MNIST, 10 000": ("mnist", 10_000)}.get(name, (name.lower(), None))
        if not datasets.is_available(key):
            return None
        bunch = getattr(datasets, f"load_{key}")()
        X, y = bunch.data[:rows], bunch.target[:rows]
    X = scale(X[:, X.std(axis=0) > 0])
    return X, y, {"Digits": 10, "Face": 20, "MNIST, 10 000": 10}.get(name, len(set(y)))


PROBLEMS = "Wine", "cancer, 30", "Digits", "3000 x 50", "200 x 2000", "Face", "MNIST, 10 000"


def in_the_span(problem, W, q):
    """With more features than samples, the problem and the start that ISM itself is given."""
    if problem.d <= problem.n + q:
        return problem, W
    V = np.linalg.qr(np.hstack([problem.X.T, W]))[0]
    return problem.restrict(V), np.linalg.qr(V.T @ W)[0]


def rows(quick):
    """Times to ours until J is as high, and the cost of estimators and certificates."""
    ratios = {}
    for name in tqdm(PROBLEMS[: 5 if quick else None], "solves", disable=None, leave=False):
        found = samples(name)
        if found is None:
            print(f"{name}: the data are not at hand, skipped")
            continue
        X, y, q = found
        gamma, kernel = label_gamma(y), Gaussian(median_distance(X))
        problem = Problem(X, gamma, kernel)
        with quiet():
            turns = 1 if len(X) > 5000 else 5
            runs = {"ours": lambda p=problem, q=q: ism(p, q=q)}
            runs["fit"] = lambda X=X, y=y, q=q: SupervisedIKDR(
                q, bandwidth="median", init="taylor"
            ).fit(X, y)
            best = take_turns(runs, turns, name)
            ours = ism(problem, q=q)
        if turns > 1 and name != "Face":
            yield Row(f"SupervisedIKDR.fit / ism, {name}", best["fit"] / best["ours"], 1.05)
            start = time.perf_counter()
            certify(ours, bounds=False)
            spent = time.perf_counter() - start
            yield Row(f"certificate / ism, {name}", spent / best["ours"], 0.5)
        height = ours.objective - SLACK * abs(ours.objective)
        reduced, start = in_the_span(problem, starting_point(problem, q, "taylor"), q)
        for way in WAYS:
            limit = SLOWEST * best["ours"]
            least = min(
                climbed(way, reduced, q, start, limit).reached(height) for _ in range(min(turns, 3))
            )
            ratios[name, way] = least / best["ours"]
    yield from judged(ratios)


def judged(ratios):
    """A row a problem and way, and the median of each way; what never arrives counts as infinite."""
    for (name, way), ratio in ratios.items():
        note = "" if np.isfinite(ratio) else f"not within {SLOWEST} times, or lower for good"
        value = ratio if np.isfinite(ratio) else float(SLOWEST)
        yield Row(f"{way} / ism, to the same J, {name}", value, least=1.0, note=note)
    for way in WAYS:
        found = [ratio for (_, other), ratio in ratios.items() if other == way]
        if found:
            middle = min(float(np.median(found)), float(SLOWEST))
            yield Row(f"{way} / ism, median of {len(found)} problems", middle, least=4.0)
