"""Tables 3.1 and 3.2: alternative clustering by ISM, SM and DG, from two starts, on seven sets.

The published alternation holds the degrees fixed while W moves; "ISM, exact" is ours.
"""

from __future__ import annotations

import time
import warnings
from functools import cache, partial
from itertools import product

import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import normalize as unit_rows
from sklearn.preprocessing import scale
from sklearn.utils import Bunch

from ismlit import datasets
from ismlit.baselines import dimension_growth, stiefel_descent
from ismlit.experiments import SEED, printed
from ismlit.gamma import Gamma, centre, one_hot
from ismlit.ism import ism
from ismlit.kernels import Gaussian, gram
from ismlit.phi import Problem
from ismlit.spectral import alternate, spectral_embedding

RESTARTS = 10
TURNS = 15
MOST_PASSES = 400  # of SM and DG, for one W
SOLVERS = {
    "ISM": partial(ism, method="published", tol=0.01, max_iter=50),
    "SM": partial(stiefel_descent, tol=1e-4, max_phi=MOST_PASSES),
    "DG": partial(dimension_growth, tol=1e-4, max_phi=MOST_PASSES),
    "ISM, exact": None,
}
READINGS = {
    "centred": dict(normalize="centred", from_labels=True),
    "centred, U from X": dict(normalize="centred", from_labels=False),
    "not centred, U from X": dict(normalize=True, from_labels=False),
}
"""What the text leaves open: whether H is applied, and where U starts."""


def _standardised(bunch, divisor=1):
    """Features scaled to variance 1; those after the fourth, noise, divided by `divisor`."""
    X = scale(bunch.data)
    X[:, 4:] /= divisor
    return Bunch(data=X, existing=bunch.existing, target=bunch.target)


def flower():
    """Flower, standardised; existing: spectral clustering into 2, since none is published."""
    X = scale(datasets.load_flower().data)
    problem = Problem(X, Gamma(np.ones((len(X), 1)), np.ones(1)), Gaussian(2.0))
    U, _ = spectral_embedding(problem, np.eye(3), 2, normalize=True)
    return Bunch(data=X, existing=_discrete(U, 2), target=None)


def _swapped(bunch):
    """What is known and what is sought exchanged."""
    return Bunch(data=bunch.data, existing=bunch.target, target=bunch.existing)


SETS = {
    "SG": datasets.load_small_gaussian,
    "LG": datasets.load_large_gaussian,
    "Moon": lambda: _standardised(datasets.load_moon()),
    "MoonN": lambda: _standardised(datasets.load_moon_noise(), 3),
    "Flower": flower,
    "Faces": lambda: _swapped(datasets.load_face_pca()),
    "WebKb": datasets.load_webkb,
}
"""As the published runs had them: noise of MoonN divided by 3; pose known, identity sought."""
VARIANTS = {
    "LG, 1000 samples": lambda: datasets.load_large_gaussian(1000),
    "LG, standardised": lambda: _standardised(datasets.load_large_gaussian()),
    "Moon, raw": datasets.load_moon,
    "MoonN, noise as it is": lambda: _standardised(datasets.load_moon_noise()),
    "MoonN, 1000 samples": lambda: _standardised(datasets.load_moon_noise(1000), 3),
    "Faces, identity known": datasets.load_face_pca,
    "WebKb, topic known": lambda: _swapped(datasets.load_webkb()),
    "WebKb, standardised": lambda: _standardised(datasets.load_webkb()),
}
"""Other readings of the data, the text's among them; run with ISM and its own start alone."""
CLUSTERS = {"Faces, identity known": 4}
"""Clusters sought, where that is not the number of known ones."""


@cache
def settings(name):
    """sigma, lambda and q of Table 3.2."""
    row = next(row for row in printed("table-3.2") if row["set"] == name.split(",")[0])
    return float(row["sigma"]), float(row["lambda"]), int(row["q"])


def problem_of(name):
    """X (n, d) centred, the set, its kernel, lambda, q, and the number of clusters sought."""
    bunch = (SETS | VARIANTS)[name]()
    sigma, weight, q = settings(name)
    X = bunch.data - bunch.data.mean(axis=0)
    return X, bunch, Gaussian(sigma), weight, q, CLUSTERS.get(name, len(set(bunch.existing)))


def _discrete(U, k, seed=SEED):
    return KMeans(k, n_init=10, random_state=seed).fit_predict(unit_rows(U))


def one(name, method="ISM", init="SI", reading="centred", seed=SEED, turns=TURNS):
    """One run: what Table 3.1 measures, and the traces that any reading of its cost needs."""
    X, bunch, kernel, weight, q, k = problem_of(name)
    Y = one_hot(bunch.existing)
    how = READINGS[reading]
    affinity = how["normalize"]
    columns = centre(Y) if affinity == "centred" else Y
    plain = Problem(X, Gamma(Y, np.ones(Y.shape[1])), kernel)
    if how["from_labels"] and Y.shape[1] == k:
        start = Y / np.sqrt(Y.sum(axis=0))
    else:
        start, _ = spectral_embedding(plain, np.eye(X.shape[1]), k, normalize=affinity)
    W = np.linalg.qr(np.random.default_rng(seed).standard_normal((X.shape[1], q)))[0]
    began = time.perf_counter()
    with warnings.catch_warnings():  # a run that did not settle is a result here
        warnings.simplefilter("ignore")
        found = alternate(
            X,
            kernel,
            k,
            q,
            guide=Gamma(columns, np.full(Y.shape[1], -weight)),
            normalize=affinity,
            solver=SOLVERS[method],
            freeze=SOLVERS[method] is not None,
            start=start,
            init="taylor" if init == "SI" else W,
            tol=1e-4,
            max_iter=turns,
        )
    seconds = time.perf_counter() - began
    labels = _discrete(found.U, k, seed)
    K = gram(kernel, X, found.W)
    K = K / np.sqrt(np.outer(K.sum(axis=0), K.sum(axis=0)))
    trace = lambda A: float(np.sum(A * (K @ A)))
    agree = lambda truth: float(normalized_mutual_info_score(truth, labels))
    return {
        "NMI": None if bunch.target is None else agree(bunch.target),
        "novelty": agree(bunch.existing),
        "CQ": trace(found.U),
        "CQ, centred": trace(centre(found.U)),
        "penalty": trace(Y),
        "penalty, centred": trace(centre(Y)),
        "objective": found.objective,
        "fell": bool(np.diff(found.history["objective"]).min(initial=0) < -1e-6),
        "turns": found.n_iter,
        "passes": found.n_phi,
        "seconds": seconds,
    }


def rows(only="", folds=RESTARTS, jobs=1):
    """Row by row, those whose name (set/method/init) starts with `only`."""
    names = [(name, *row) for name in SETS for row in product(SOLVERS, ("SI", "RI"), READINGS)]
    names = [row for row in names if row[3] == "centred" or row[1:3] == ("ISM", "SI")]
    names += [(name, "ISM", "SI", "centred") for name in VARIANTS]
    for name in names:
        if not "/".join(name).startswith(only):
            continue
        seeds = range(folds if name[2] == "RI" else 1)
        found = Parallel(jobs)(delayed(one)(*name, seed) for seed in seeds)
        numbers = {key: [f[key] for f in found] for key in found[0]}
        yield dict(zip(("set", "method", "init", "reading"), name)) | numbers
