"""Whole solves against every other way to climb, on seven problems; estimators and certificates."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
from tqdm import tqdm

from ismlit import datasets
from ismlit.bandwidth import median_distance
from ismlit.edition.experiments.scaling import make_classes
from ismlit.gamma import label_gamma
from ismlit.kernels import Gaussian
from ismlit.problem import Problem
from ismlit.reduction import SupervisedIKDR
from ismlit.solver import ism
from tools.bench.rows import Row, take_turns
from tools.bench.ways import OURS, SLOWEST, WAYS, climbed, patience, quiet

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


JUDGED = "trust region", "conjugate gradients", "L-BFGS, polar"
"""The ways with a target; ISM as published takes our steps without our tests."""
PROBLEMS = "Wine", "cancer, 30", "Digits", "3000 x 50", "200 x 2000", "Face", "MNIST, 10 000"


def rows(quick):
    """Times until J is as high as ours, over our own; the cost of estimators and certificates."""
    ratios = {}
    for name in tqdm(PROBLEMS[: 5 if quick else None], "solves", disable=None, leave=False):
        found = samples(name)
        if found is None:
            print(f"{name}: the data are not at hand, skipped")
            continue
        X, y, q = found
        sigma = median_distance(X)
        problem = Problem(X, label_gamma(y), Gaussian(sigma))
        turns = 1 if len(X) > 5000 else 5
        if name in PROBLEMS[:5]:
            yield from around(name, problem, SupervisedIKDR(q, bandwidth=sigma, init="taylor"), y)
        with quiet():
            height = ism(problem, q=q).objective
        height -= SLACK * abs(height)
        ours = min(climbed(OURS, problem, q).reached(height) for _ in range(turns))
        most = patience(ours)
        for way in tqdm(WAYS, name, disable=None, leave=False):
            seen = [climbed(way, problem, q, most * ours) for _ in range(min(turns, 3))]
            ratios[name, way] = min(watch.reached(height) for watch in seen) / ours, most
    yield from judged(ratios)


def around(name, problem, model, y):
    """What the estimator adds to the solver, and the certificate to the fit."""
    runs = {
        "ism": lambda: ism(problem, q=model.n_components),
        "fit": lambda: model.fit(problem.X, y),
        "certified": lambda: model.fit(problem.X, y).certificate(),
    }
    with quiet():
        best = take_turns(runs, 5, name)
    yield Row(f"SupervisedIKDR.fit / ism, {name}", best["fit"] / best["ism"], 1.05)
    more = best["certified"] / best["fit"] - 1
    yield Row(f"certificate after the fit / fit, {name}", max(more, 0.0), 0.5)


def judged(ratios):
    """A row a problem and way, and the median of each; what never arrives counts as infinite."""
    for (name, way), (ratio, most) in ratios.items():
        note = "" if np.isfinite(ratio) else f"not within {most:.0f} times, or ends lower"
        value = ratio if np.isfinite(ratio) else float(most)
        least = 1.0 if way in JUDGED else None
        yield Row(f"{way} / ism, to the same J, {name}", value, least=least, note=note)
    for way in WAYS:
        found = [ratio for (_, other), (ratio, _) in ratios.items() if other == way]
        middle = min(float(np.median(found)), float(SLOWEST)) if found else np.nan
        least = 4.0 if way in JUDGED else None
        yield Row(f"{way} / ism, median of {len(found)} problems", middle, least=least)
