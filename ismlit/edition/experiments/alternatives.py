"""Beyond the thesis: other ways to a second clustering, on the sets of Table 3.1.

Those of ClustPy are simultaneous: they give several clusterings and are told nothing. Of these
the one least like the known clustering is taken, as a user would. ``pip install 'ismlit[peers]'``.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from scipy.linalg import orth
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from ismlit.edition.experiments import SEED
from ismlit.edition.experiments.table_3_1 import problem_of
from ismlit.gamma import centre, one_hot
from ismlit.grassmann import outside
from ismlit.kdac import KDAC, novelty, search

NAMES = ("SG", "LG", "Moon", "MoonN", "Faces", "Faces, identity known", "WebKb")


def kdac(X, known, k, task):
    """`KDAC` as it comes."""
    return KDAC(k, random_state=SEED).fit(X, known).labels_


def kdac_table(X, known, k, task):
    """`KDAC` with sigma, lambda and q of Table 3.2."""
    _, _, kernel, weight, q, _ = task
    weight = weight * np.linalg.norm(centre(one_hot(known)), 2) ** 2
    return KDAC(k, q, kernel, weight=weight, random_state=SEED).fit(X, known).labels_


def kdac_search(X, known, k, task):
    """`search` by alignment."""
    return search(X, known, k, random_state=SEED).model.labels_


def without_means(X, known, k, task):
    """k-means after the directions between the known clusters' means are projected out.

    One step of orthogonal clustering (Cui, Fern and Dy 2007) with scikit-learn alone.
    """
    means = orth(X.T @ centre(one_hot(known)), rcond=1e-10)
    return KMeans(k, n_init=10, random_state=SEED).fit_predict(outside(X.T, means).T)


SLOW = {("WebKb", "KDAC, search")}
"""Left out: 21 fits to 1041 samples with 139 features take more than a quarter of an hour."""
METHODS = {
    "KDAC": kdac,
    "KDAC, search": kdac_search,
    "KDAC, Table 3.2": kdac_table,
    "means projected out": without_means,
}


def simultaneous():
    """{name: method} of ClustPy, {} where it is not installed."""
    try:
        from clustpy.alternative import AutoNR, NrKmeans, OrthogonalClustering
    except ImportError:
        return {}

    def method(make):
        def run(X, known, k, task):
            found = make([len(set(known)), k]).fit(X).labels_.reshape(len(X), -1)
            return min(found.T, key=lambda labels: novelty(labels, known))

        return run

    return {
        "NrKmeans": method(lambda ks: NrKmeans(ks, n_init=10, random_state=SEED)),
        "AutoNR": method(lambda ks: AutoNR(outliers=False, random_state=SEED)),
        "OrthogonalClustering": method(lambda ks: OrthogonalClustering(ks, random_state=SEED)),
    }


def one(name, method):
    """A row: agreement with what is sought and with what is known, and seconds."""
    task = problem_of(name)
    X, bunch = task[:2]
    k = len(set(bunch.target))
    began = time.perf_counter()
    with warnings.catch_warnings():  # what converged and what not is seen in the result
        warnings.simplefilter("ignore")
        labels = method(X, bunch.existing, k, task)
    seconds = time.perf_counter() - began
    return {
        "NMI": float(normalized_mutual_info_score(bunch.target, labels)),
        "novelty": float(normalized_mutual_info_score(bunch.existing, labels)),
        "seconds": seconds,
    }


def rows(only="", folds=10, jobs=1):
    """Row by row, those whose name (set/method) starts with `only`."""
    for name in NAMES:
        for label, method in (METHODS | simultaneous()).items():
            if f"{name}/{label}".startswith(only) and (name, label) not in SLOW:
                yield dict(set=name, method=label, **one(name, method))
