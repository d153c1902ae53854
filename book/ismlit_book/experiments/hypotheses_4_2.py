"""What else Tables 4.2 and 4.4 may have been: one assumption changed at a time, whole columns.

None of these counts as a reading of the tables: a page shows them where the text and the authors'
program leave a cell unexplained. NMI in percent, seed by seed; whether a clustering has one cluster
only, of which the NMI is undefined, is stored as well.
"""

import warnings

import numpy as np
from ismlit.estimators.clusters import cluster_rows
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import scale

from ismlit_book.experiments import median, several
from ismlit_book.experiments.program_4_2 import part_of
from ismlit_book.experiments.table_4_2 import (
    RATIO,
    SETS,
    SHARE,
    Gram,
    Rows,
    data_of,
    nmi,
)

SEEDS = 5  # ten of the starts
STARTS = "start on a random part", "start on the best of 20 draws"
"""KNet's on the samples that it is trained on: c columns, unit rows, no diagonal."""


SPECTRAL = (
    *("sigma the median", "sigma the median, raw", "sigma the median, unit rows"),
    *("gamma 1/d", "gamma 1/d, raw", "discretised", "discretised, raw", "by pivoted QR"),
    "sigma taken for gamma",
)
"""Of all samples, scaled unless it says raw."""
DRAWN = (
    *("part scaled by itself", "the part's own samples", "the new samples alone", "one start"),
    *("centres scaled, samples raw", "centres raw, samples scaled", "a centre lost"),
    "best of 20 draws",
)
"""Centres from a part."""


def arithmetic(y, labels):
    """NMI in percent, over the arithmetic mean of the entropies."""
    return 100 * normalized_mutual_info_score(y, labels)


def of_all(name, hypothesis, seed):
    """A spectral clustering of all samples."""
    way, _, form = hypothesis.partition(", ")
    X, y = data_of(name, "raw" if form == "raw" else "scaled")
    c, score = len(np.unique(y)), arithmetic if way == "arithmetic mean" else nmi
    if form == "unit rows":
        return {"NMI": nmi(y, Rows(c, 1.0, seed).fit(X).labels_)}
    options = {
        "sigma the median": lambda: {"gamma": 1 / (2 * median(X) ** 2)},
        "gamma 1/d": lambda: {"gamma": 1 / X.shape[1]},
        "discretised": lambda: {"assign_labels": "discretize"},
        "by pivoted QR": lambda: {"assign_labels": "cluster_qr"},
        "sigma taken for gamma": lambda: {"gamma": RATIO.get(name, 1.0) * median(X)},
    }.get(way, dict)()
    labels = SpectralClustering(c, random_state=seed, **options).fit_predict(X)
    return {"NMI": score(y, labels)}


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
        U = Gram(Z, RATIO.get(name, 1.0) * median(Z)).leading(c)[0]
        return {"NMI": nmi(y[part], cluster_rows(U, c, seed))}
    learnt = {
        "part scaled by itself": scale(raw[part]),
        "centres raw, samples scaled": raw[part],
    }.get(hypothesis, X[part])
    c -= hypothesis == "a centre lost"
    starts = 1 if hypothesis == "one start" else 10
    means = KMeans(c, n_init=starts, random_state=seed).fit(learnt)
    labels = means.predict(raw if hypothesis == "centres scaled, samples raw" else X)
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
            found = several(one, [(name, where, hypothesis, seed) for seed in seeds], jobs)
            key = {"set": name, "where": where, "method": method, "hypothesis": hypothesis}
            yield key | {k: [_short(v) for v in vs] for k, vs in found.items()}


def _short(value):
    """To a hundredth, so that another machine finds the same."""
    return value if isinstance(value, bool) else round(float(value), 2)
