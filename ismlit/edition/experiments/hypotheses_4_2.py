"""What else Tables 4.2 and 4.4 may have been: one assumption changed at a time, whole columns.

None of these counts as a reading of the tables: a page shows them where the text and the authors'
program leave a cell unexplained. NMI in percent, seed by seed; whether a clustering has one cluster
only, of which the NMI is undefined, is stored as well.
"""

from __future__ import annotations

import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import scale

from ismlit.edition.experiments import over_runs
from ismlit.edition.experiments.program_4_2 import part_of
from ismlit.edition.experiments.table_4_2 import (
    RATIO,
    SETS,
    SHARE,
    Gram,
    Rows,
    data_of,
    median,
    nmi,
)
from ismlit.solvers.spectral import cluster_rows

SEEDS = 5  # ten of the starts
STARTS = "start on a random part", "start on the best of 20 draws"
"""KNet's on the samples that it is trained on: c columns, unit rows, no diagonal."""


def k_means(c, seed, X, **options):
    """Fitted; ten starts unless told."""
    return KMeans(c, **{"n_init": 10} | options, random_state=seed).fit(X)


def by_spectrum(X, c, seed, **options):
    """Labels by scikit-learn's spectral clustering."""
    return SpectralClustering(c, random_state=seed, **options).fit_predict(X)


def of_median(X):
    """Its gamma for a sigma that is the median distance."""
    return 1 / (2 * median(X) ** 2)


SPECTRAL = {
    "sigma the median": lambda X, raw, c, seed: by_spectrum(X, c, seed, gamma=of_median(X)),
    "sigma the median, raw": lambda X, raw, c, seed: by_spectrum(
        raw, c, seed, gamma=of_median(raw)
    ),
    "sigma the median, unit rows": lambda X, raw, c, seed: Rows(c, 1.0, seed).fit(X).labels_,
    "gamma 1/d": lambda X, raw, c, seed: by_spectrum(X, c, seed, gamma=1 / X.shape[1]),
    "gamma 1/d, raw": lambda X, raw, c, seed: by_spectrum(raw, c, seed, gamma=1 / X.shape[1]),
    "discretised": lambda X, raw, c, seed: by_spectrum(X, c, seed, assign_labels="discretize"),
    "discretised, raw": lambda X, raw, c, seed: by_spectrum(
        raw, c, seed, assign_labels="discretize"
    ),
    "by pivoted QR": lambda X, raw, c, seed: by_spectrum(X, c, seed, assign_labels="cluster_qr"),
    "sigma taken for gamma": None,
}
"""Of all samples: (scaled, raw, clusters, seed) -> labels; None: needs the set's name as well."""
DRAWN = {
    "part scaled by itself": lambda X, raw, c, seed, part: k_means(
        c, seed, scale(raw[part])
    ).predict(X),
    "the part's own samples": None,
    "the new samples alone": None,
    "one start": lambda X, raw, c, seed, part: k_means(c, seed, X[part], n_init=1).predict(X),
    "centres scaled, samples raw": lambda X, raw, c, seed, part: k_means(c, seed, X[part]).predict(
        raw
    ),
    "centres raw, samples scaled": lambda X, raw, c, seed, part: k_means(
        c, seed, raw[part]
    ).predict(X),
    "a centre lost": lambda X, raw, c, seed, part: k_means(c - 1, seed, X[part]).predict(X),
    "best of 20 draws": lambda X, raw, c, seed, part: k_means(c, seed, X[part]).predict(X),
}
"""Centres from a part; None: the plain labels, but not of all samples."""


def arithmetic(y, labels):
    """NMI in percent, over the arithmetic mean of the entropies."""
    return 100 * normalized_mutual_info_score(y, labels)


def of_all(name, hypothesis, seed):
    """A spectral clustering of all samples."""
    (X, y), raw = data_of(name), data_of(name, "raw")[0]
    c = len(np.unique(y))
    if hypothesis == "arithmetic mean":
        return {"NMI": arithmetic(y, by_spectrum(X, c, seed))}
    if hypothesis == "sigma taken for gamma":
        sigma = RATIO.get(name, 1.0) * median(X)
        return {"NMI": nmi(y, by_spectrum(X, c, seed, gamma=sigma))}
    return {"NMI": nmi(y, SPECTRAL[hypothesis](X, raw, c, seed))}


def of_part(name, hypothesis, seed):
    """k-means by the centres of a part, or KNet's start on it."""
    (X, y), raw = data_of(name), data_of(name, "raw")[0]
    c, size, rng = len(np.unique(y)), round(SHARE[name] * len(X)), np.random.RandomState(seed)
    if hypothesis.endswith("best of 20 draws"):
        part = part_of(name, size, rng)
    else:
        part = rng.choice(len(X), size, replace=False)
    if hypothesis in STARTS:
        Z = scale(X[part])
        U = Gram(Z, RATIO.get(name, 1.0) * median(Z)).leading(c)
        return {"NMI": nmi(y[part], cluster_rows(U, c, seed))}
    make = DRAWN.get(hypothesis)
    labels = make(X, raw, c, seed, part) if make else k_means(c, seed, X[part]).predict(X)
    kept = {
        "the part's own samples": part,
        "the new samples alone": np.delete(np.arange(len(X)), part),
    }
    rows = kept.get(hypothesis, slice(None))
    score = arithmetic if hypothesis == "arithmetic mean" else nmi
    return {"NMI": score(y[rows], labels[rows]), "one cluster": len(set(labels)) == 1}


def wanted():
    """(set, where, method, hypothesis) of every row.

    Those that need eigenvectors of all samples not on RCV, for their time.
    """
    for name in SETS:
        if name != "RCV":
            for hypothesis in (*SPECTRAL, "arithmetic mean"):
                yield name, "all", "SC", hypothesis
        for hypothesis in (*DRAWN, "arithmetic mean"):
            if (name, hypothesis) != ("RCV", "best of 20 draws"):
                yield name, "part", "k-means", hypothesis
        for start in STARTS:
            if (name, start) != ("RCV", STARTS[1]):
                yield name, "part", "KNet", start


def one(name, where, hypothesis, seed):
    """One run."""
    with warnings.catch_warnings(action="ignore"):  # what does not converge is a result here
        return (of_all if where == "all" else of_part)(name, hypothesis, seed)


def rows(only="", folds=10, jobs=1):
    """Row by row, those whose name (set/method) starts with `only`."""
    for name, where, method, hypothesis in wanted():
        if f"{name}/{method}/".startswith(only):
            seeds = range(min(folds, 10 if hypothesis in STARTS else SEEDS))
            found = Parallel(jobs)(delayed(one)(name, where, hypothesis, s) for s in seeds)
            key = {"set": name, "where": where, "method": method, "hypothesis": hypothesis}
            yield key | {k: [_short(v) for v in vs] for k, vs in over_runs(found).items()}


def _short(value):
    """To a hundredth, so that another machine finds the same."""
    return value if isinstance(value, bool) else round(float(value), 2)
