"""Does plain ISM settle? The thesis's sets and the linked one, the Gaussian kernel, q from 1 to 5.

For each: how the last of many steps moves, and how far below the safeguarded solver's J it stays.
"""

import warnings

import numpy as np
from ismlit import Gaussian, Problem, ism, label_gamma, median_distance
from scipy.linalg import subspace_angles
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from ismlit_book.experiments import SETS, prepared

STEPS = {"Face": 60, "MNIST, 2000": 60}
SETTLED = 1e-6  # radians that a step still moves, at the most
COLUMNS = range(1, 6)


def samples(name):
    """X and y of a set; 2000 of MNIST's, so that all pairs are affordable."""
    if name == "cancer, 30":
        bunch = load_breast_cancer()
        return scale(bunch.data), bunch.target
    X, y = prepared(name.split(",")[0])
    if name.startswith("MNIST"):
        rows = np.random.default_rng(0).permutation(len(X))[:2000]
        return X[rows].astype(float), y[rows]
    return X, y


def problem_of(name):
    """HSIC with the labels of a set, by the Gaussian kernel of the median distance."""
    X, y = samples(name)
    return Problem(X, label_gamma(y), Gaussian(median_distance(X)))


def step(problem, W):
    """The next W of plain ISM."""
    return np.linalg.eigh(problem.phi(W))[1][:, ::-1][:, : W.shape[1]]


def outcome(problem, q, steps):
    """What plain ISM does in so many steps from the Taylor start, and J beside the safeguarded.

    "settles" (in how many steps), "2-cycle" (what it does is undone by the next step), or
    "wanders". `swing` is the largest angle of the last step, in degrees.
    """
    path = [np.linalg.eigh(problem.phi_0())[1][:, ::-1][:, :q]]
    moved = np.inf
    while len(path) <= steps and moved > SETTLED:
        path.append(step(problem, path[-1]))
        moved = subspace_angles(*path[-2:]).max()
    back = subspace_angles(path[-1], step(problem, step(problem, path[-1]))).max()
    kind = "settles" if moved <= SETTLED else "2-cycle" if back < SETTLED else "wanders"
    with warnings.catch_warnings(action="ignore"):
        best = ism(problem, q=q).objective
    here = [problem.objective(W) for W in path[-2:]]
    shortfall = [1 - J / best for J in here]
    swing = float(np.degrees(moved))
    return {"outcome": kind, "steps": len(path) - 1, "swing": swing, "shortfall": shortfall}


def rows(only="", folds=10, jobs=1):
    """One row a set and q."""
    for name in (*list(SETS)[:3], "cancer, 30", "MNIST, 2000"):
        if name.startswith(only):
            problem = problem_of(name)
            for q in COLUMNS if folds > 2 else (2,):
                yield {"set": name, "size": q} | outcome(problem, q, STEPS.get(name, 200))
