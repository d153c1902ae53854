"""Tables 4.2 to 4.5: clusterings of six sets, of all samples and learnt from a part of them.

NMI (percent, geometric mean) and seconds, seed by seed. Where the text leaves a choice open, or the
printed number does not follow from it, both ways are run: scaled and raw features, sigma by Table
4.1 and by scikit-learn's default.
"""

from __future__ import annotations

import time
import warnings
from importlib.util import find_spec

import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import normalized_mutual_info_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale

from ismlit import datasets
from ismlit.bandwidth import median_distance
from ismlit.edition.experiments import over_runs
from ismlit.edition.experiments.deep_peers import PEERS
from ismlit.kernels import Gaussian
from ismlit.knet import KNetClustering
from ismlit.spectral import cluster_rows
from ismlit.training import embedding_affinity

SETS = {
    "Moon": datasets.load_moon_plane,
    "Spiral1": datasets.load_spiral_3000,
    "Cancer": datasets.load_cancer,
    "Wine": datasets.load_wine,
    "RCV": datasets.load_reuters,
    "Face": datasets.load_face_27,
}
RATIO = {"Moon": 0.1, "Spiral1": 0.1}
"""sigma over the median distance; else 1 (Table 4.1)."""
SHARE = {"Moon": 0.25, "Spiral1": 0.1, "Cancer": 0.3, "Wine": 0.75, "RCV": 0.06, "Face": 0.35}
"""Part of the samples that is trained on in Table 4.4."""
SMALL_STEPS = dict(n_steps=2000, batch_size=32, learning_rate=1e-3)
"""Half the batch, twice the steps and half the rate of the estimator's defaults."""


class Start:
    """KNet's start without KNet: k-means on the rows of U_0 (4.6), scaled to length 1."""

    def __init__(self, n_clusters, ratio=1.0, random_state=None):
        self.k, self.ratio, self.seed = n_clusters, ratio, random_state

    def fit(self, X):
        """Cluster X (n, d)."""
        L = embedding_affinity(X, Gaussian(self.ratio * median_distance(X)))
        self.labels_ = cluster_rows(L.leading(self.k - 1)[0], self.k, self.seed)
        self.near = KNeighborsClassifier(1).fit(X, self.labels_)
        return self

    def predict(self, X):
        """The cluster of the nearest sample."""
        return self.near.predict(X)


def knet(name, c, seed, X, **options):
    """KNet with the sigma of Table 4.1, started as the thesis says."""
    sigma = RATIO.get(name, 1.0) * median_distance(X)
    plain = dict(bandwidth=sigma, init="spectral", random_state=seed)
    options = plain | SMALL_STEPS | options
    return KNetClustering(c, **options)


def described(name, c, seed, X):
    """Algorithm 3 as near as the estimator allows: one epoch of batches of 5 a turn, c columns.

    Layers of width d (20 on Moon and Spiral1); one network; at most 60 turns, until U changes by
    less than 0.001.
    """
    width = 20 if name in RATIO else X.shape[1]
    return knet(
        name,
        c,
        seed,
        X,
        n_vectors=c,
        identity="pretrained",
        hidden_layer_sizes=(width, width),
        batch_size=5,
        n_steps=max(len(X) // 5, 1),
        n_init=1,
        min_gain=np.inf,
        max_blocks=60,
    )


def spectral(name, c, seed, X, **options):
    """scikit-learn's spectral clustering."""
    return SpectralClustering(c, random_state=seed, **options)


def gaussian(name, c, seed, X):
    """The same with the sigma of Table 4.1 (the default is 0.71)."""
    sigma = RATIO.get(name, 1.0) * median_distance(X)
    return spectral(name, c, seed, X, gamma=1 / (2 * sigma**2))


METHODS = {
    "k-means": lambda name, c, seed, X: KMeans(c, n_init=10, random_state=seed),
    "SC": spectral,
    "SC, sigma of Table 4.1": gaussian,
    "SC, 10 neighbours": lambda *a: spectral(*a, affinity="nearest_neighbors"),
    "start": lambda name, c, seed, X: Start(c, RATIO.get(name, 1.0), seed),
    "KNet EIG": knet,
    "KNet SMA": lambda *a: knet(*a, update="sma"),
    "KNet, c columns": lambda name, c, seed, X: knet(name, c, seed, X, n_vectors=c),
    "KNet as described": described,
    "KNet, local start": lambda *a: knet(*a, init="self_tuning"),
    **{name: (lambda peer: lambda n, c, seed, X: peer(c, seed))(p) for name, p in PEERS.items()},
}
"""name: (set, clusters, seed, X) -> an object with `fit` and `labels_`, most with `predict`."""


def data_of(name, form="scaled"):
    """X (n, d), scaled or raw, and y (n,)."""
    bunch = SETS[name]()
    X = bunch.data.astype(float)
    return (scale(X) if form == "scaled" else X), bunch.target


def nmi(y, labels):
    """NMI in percent, over the geometric mean of the entropies (4.18)."""
    return 100 * normalized_mutual_info_score(y, labels, average_method="geometric")


def one(name, method, seed, form="scaled", where="all"):
    """{"NMI": ..., "NMI, trained": ..., "seconds": ...} of one run.

    where: "all" samples, or a "part" of the size of Table 4.4, drawn anew for every seed, the
    clusters then of all samples.
    """
    X, y = data_of(name, form)
    rows = np.arange(len(X))
    if where == "part":
        size = round(SHARE[name] * len(X))
        rows = np.random.RandomState(seed).choice(len(X), size, replace=False)
    c = len(np.unique(y))
    with warnings.catch_warnings():  # what does not converge is a result here
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        model = METHODS[method](name, c, seed, X[rows]).fit(X[rows])
        seconds = time.perf_counter() - start
        labels = model.labels_ if where == "all" else model.predict(X)
    found = {
        "NMI": nmi(y, labels),
        "NMI, trained": nmi(y[rows], model.labels_),
        "seconds": seconds,
    }
    if isinstance(model, KNetClustering):
        found |= {"objective": model.renewals_["objective"][-1], "converged": model.converged_}
    return found


def row_of(name, method, form="scaled", where="all", seeds=10, jobs=1):
    """What `one` gives, as lists over the seeds."""
    found = Parallel(jobs)(delayed(one)(name, method, seed, form, where) for seed in range(seeds))
    return over_runs(found)


def seeds_of(name, method, folds=10):
    """How many runs: ten; five of comparators and KNet's variants, three of IMSAT.

    Of KNet five on Spiral1 and Face; on RCV two of all that trains a network.
    """
    if method not in PEERS and not method.startswith("KNet"):
        return folds
    plain = method in ("KNet EIG", "KNet SMA")
    most = {"IMSAT": 3}.get(method, 10 if plain else 5)
    return min(folds, most, {"RCV": 2, "Spiral1": 5, "Face": 5}.get(name, 10))


def wanted():
    """(set, method, form, where) of every row; KNet's variants not on RCV, for their time."""
    for name in SETS:
        for method in METHODS:
            if name == "RCV" and method.startswith(("KNet,", "KNet as")):
                continue
            yield name, method, "scaled", "all"
            if not method.startswith(("SC", "KNet, ")):
                yield name, method, "scaled", "part"
            if name in ("Moon", "Wine") and not method.startswith("KNet, "):
                yield name, method, "raw", "all"
        yield name, "k-means", "raw", "part"
        if name not in ("Moon", "Wine"):
            yield name, "k-means", "raw", "all"
    yield "Spiral1", "KNet, local start", "scaled", "part"


def rows(only="", folds=10, jobs=1):
    """Row by row, those whose name (set/method) starts with `only`; `folds` bounds the seeds.

    Comparators are left out, with a warning, where PyTorch is not installed.
    """
    peers = find_spec("torch") is not None
    for name, method, form, where in wanted():
        if not f"{name}/{method}".startswith(only):
            continue
        if method in PEERS and not peers:
            warnings.warn(f"{method} is left out: pip install ismlit[deep]", stacklevel=2)
            continue
        seeds = seeds_of(name, method, folds)
        key = {"set": name, "method": method, "data": form, "where": where}
        yield key | row_of(name, method, form, where, seeds, jobs)


# ---------------------------------------------------------------- beside the print

MARGIN = 3.0
"""Points of NMI that another implementation or draw may change, besides two standard errors."""
READINGS = {
    "k-means": ["k-means"],
    "SC": ["SC", "SC, sigma of Table 4.1", "SC, 10 neighbours"],
    "KNet EIG": ["KNet EIG", "KNet, c columns", "KNet as described"],
    "KNet SMA": ["KNet SMA", "KNet, c columns", "KNet as described"],
}
"""What a printed column may have been; scaled features and raw ones are tried for each."""


def readings(name, method, where, stored):
    """Stored rows that may be what a printed cell was, the plain one first."""
    order = READINGS.get(method, [method])
    found = [
        row
        for row in stored
        if row["set"] == name and row["method"] in order and row["where"] == where
    ]
    return sorted(found, key=lambda r: (r["data"] == "raw", order.index(r["method"])))


def compare(cell, where, stored):
    """(the stored row nearest to a printed cell, whether it is near) ; (None, None) if empty.

    Near: within `MARGIN` and two standard errors of our mean, these at most another margin.
    """
    if not cell["NMI"]:
        return None, None
    printed = float(cell["NMI"])
    found = readings(cell["set"], cell["method"], where, stored)
    error = lambda row: 2 * np.std(row["NMI"]) / np.sqrt(len(row["NMI"]))
    near = lambda row: abs(np.mean(row["NMI"]) - printed) - min(error(row), MARGIN)
    best = min(found, key=near)
    return best, bool(near(best) <= MARGIN)
