"""Beyond the thesis: other ways to a second clustering, on the sets of Table 3.1 and on made ones.

One rule for all: no method sees what is sought, and each is told how many clusters. What has a
bandwidth gets the same nine shares of the median distance, and takes the one whose embedding has
the best silhouette (as `KDAC` does by itself); k-means takes the best of ten starts; of several
clusterings found at once the one least like the known clustering is taken. Made sets are drawn
five times, on the others every method has three seeds. ``pip install './book[peers]'`` for ClustPy.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from time import process_time

import numpy as np
from ismlit import Gaussian, centre, datasets, one_hot
from ismlit.bandwidth import SHARES, median_distance
from ismlit.estimators.clusters import cluster_rows, embedding_silhouette
from ismlit.estimators.kdac import KDAC, nmi_with_known
from ismlit.geometry.frames import project_out
from ismlit.grams import ConstantKernelError
from ismlit.objectives.affinity import Affinity
from ismlit.objectives.pairs import Pairs
from scipy.linalg import orth
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import scale

from ismlit_book.experiments import SEED, clocked, over_runs
from ismlit_book.experiments.defaults import moons
from ismlit_book.experiments.table_3_1 import problem_of

# ---------------------------------------------------------------- the sets


@dataclass(frozen=True)
class Task:
    """X (n, d) centred, what is known and what is sought (n,), and the settings of Table 3.2."""

    X: np.ndarray
    known: np.ndarray
    sought: np.ndarray
    settings: tuple | None = None

    @property
    def k(self):
        """Clusters sought."""
        return len(np.unique(self.sought))


def thesis(name):
    """A set as the thesis's runs had it."""
    X, bunch, *settings, _ = problem_of(name)
    return Task(X, bunch.existing, bunch.target, tuple(settings))


def two_views(seed, noise=0, swapped=False):
    """Two parabolas and two clouds; the clouds are known, or the parabolas."""
    X, side, parabola = datasets.make_two_views(300, noise, random_state=seed)
    return Task(scale(X), *((parabola, side) if swapped else (side, parabola)))


def rings_and_moons(seed):
    """Two rings, known, in two columns, and two half moons in two others."""
    rings, known, _ = datasets.make_rings(400, 2, random_state=seed)
    halves, sought = moons(seed)
    return Task(scale(np.hstack([rings, halves])), known, sought)


def four_gaussians(seed):
    """Four groups, known by one diagonal and sought by the other, among two columns of noise."""
    X, known, sought = datasets.make_four_gaussians(200, 4, random_state=seed)
    return Task(scale(X), known, sought)


MADE = {
    "parabolas": two_views,
    "parabolas + 3": lambda seed: two_views(seed, 3),
    "clouds + 3": lambda seed: two_views(seed, 3, swapped=True),
    "moons, rings known": rings_and_moons,
    "four Gaussians": four_gaussians,
}
NOISE = {f"parabolas + {m}": (lambda seed, m=m: two_views(seed, m)) for m in (1, 6)}
"""Other numbers of columns of noise, for `CURVE` alone."""
FACES = ("Faces", "Faces, identity known")
WEBKB = ("WebKb", "WebKb, topic known")
THESIS = ("SG", "LG", "LG, standardised", "Moon", "MoonN", *FACES, *WEBKB)
"""Flower is not here: nobody has labelled its colours."""
DRAWS, SEEDS = 5, 3


def tasks(name, count=None):
    """The draws of a made set, or one set as often as there are seeds."""
    if name in MADE | NOISE:
        return [(MADE | NOISE)[name](seed) for seed in range(SEED, SEED + (count or DRAWS))]
    return [thesis(name)] * (count or SEEDS)


# ------------------------------------- the known clustering taken out, and clustered again


def without_means(X, known):
    """Directions between the known clusters' means projected out (Cui, Fern and Dy 2007, 2nd)."""
    return project_out(X.T, orth(X.T @ centre(one_hot(known)), rcond=1e-10)).T


def without_lda(X, known):
    """The subspace of linear discriminant analysis for the known labels projected out."""
    directions = LinearDiscriminantAnalysis().fit(X, known).scalings_
    return project_out(X.T, orth(directions[:, : len(np.unique(known)) - 1])).T


def residues(X, known):
    """Of each sample what is orthogonal to its own cluster's mean (Cui, Fern and Dy 2007, 1st)."""
    Y = one_hot(known)
    means = Y @ (Y.T @ X / Y.sum(axis=0)[:, None])
    along = np.sum(X * means, axis=1) / np.maximum(np.sum(means**2, axis=1), 1e-12)
    return X - along[:, None] * means


def far_from_own(X, known):
    """Whitened by the spread about all means but one's own (Qi and Davidson 2009)."""
    Y = one_hot(known)
    means = Y.T @ X / Y.sum(axis=0)[:, None]
    spread = sum((X - m)[y == 0].T @ (X - m)[y == 0] for m, y in zip(means, Y.T)) / len(X)
    values, V = np.linalg.eigh(spread)
    kept = values > 1e-10 * values[-1]
    return X @ (V[:, kept] / np.sqrt(values[kept]))


def k_means(X, k, seed):
    """The best of ten starts."""
    return [KMeans(k, n_init=10, random_state=seed).fit_predict(X)]


def spectral(X, k, seed):
    """Spectral clustering by each bandwidth, that of the best silhouette first."""
    found = []
    for sigma in median_distance(X) * np.array(SHARES):
        try:
            U = Affinity(Pairs(X, Gaussian(sigma)), normalize="centred").leading(k - 1)[0]
        except ConstantKernelError:
            continue
        labels = cluster_rows(U, k, seed)
        found.append((embedding_silhouette(U, labels), labels))
    return [labels for _, labels in sorted(found, key=lambda row: -row[0])]


def neighbours(X, k, seed):
    """Spectral clustering of the graph of ten nearest neighbours, scikit-learn's."""
    graph = dict(affinity="nearest_neighbors", n_neighbors=10)
    return [SpectralClustering(k, **graph, random_state=seed).fit_predict(X)]


REMOVED = {
    "nothing": lambda X, known: X,
    "means": without_means,
    "LDA": without_lda,
    "residues": residues,
    "whitened": far_from_own,
}
CLUSTERED = {"k-means": k_means, "spectral": spectral, "neighbours": neighbours}


def again(remove, cluster):
    """A method: what is known taken out, the rest clustered."""
    return lambda task, seed: cluster(remove(task.X, task.known), task.k, seed)


# ---------------------------------------------------------------- all methods


def kdac(task, seed):
    """`KDAC` as it comes."""
    return [KDAC(task.k, random_state=seed).fit(task.X, task.known).labels_]


def kdac_by_dimension(task, seed):
    """`KDAC` with q from k to k + 2, that of the best silhouette first."""
    most = max(task.X.shape[1] - 1, 1)
    sizes = sorted({min(q, most) for q in range(task.k, task.k + 3)})
    models = [KDAC(task.k, q, random_state=seed).fit(task.X, task.known) for q in sizes]
    models.sort(key=lambda model: -model.tried_["silhouette"].max())
    return [model.labels_ for model in models]


def kdac_by_bandwidth(task, seed):
    """`KDAC` by each of the nine bandwidths, the median first."""
    found = []
    for sigma in median_distance(task.X) * np.array(SHARES):
        model = KDAC(task.k, bandwidth=float(sigma), random_state=seed)
        with contextlib.suppress(ConstantKernelError):
            found.append(model.fit(task.X, task.known).labels_)
    return found


def kdac_table(task, seed):
    """`KDAC` with sigma, lambda and q of Table 3.2."""
    kernel, weight, q = task.settings
    weight = weight * np.linalg.norm(centre(one_hot(task.known)), 2) ** 2
    model = KDAC(task.k, q, kernel, penalty=weight, random_state=seed)
    return [model.fit(task.X, task.known).labels_]


def simultaneous(make: Callable):
    """A method of ClustPy: several clusterings at once, that least like the known one first."""

    def run(task, seed):
        found = make([len(np.unique(task.known)), task.k], seed).fit(task.X).labels_
        columns = found.reshape(len(task.X), -1).T
        whole = lambda labels: len(np.unique(labels)) == 1  # one cluster is no clustering
        return sorted(
            columns, key=lambda labels: (whole(labels), nmi_with_known(labels, task.known))
        )

    return run


OURS, BY_DIMENSION, BY_BANDWIDTH = "KDAC", "KDAC, q scanned", "KDAC, by bandwidth"
METHODS = {
    OURS: kdac,
    BY_DIMENSION: kdac_by_dimension,
    BY_BANDWIDTH: kdac_by_bandwidth,
    "KDAC, Table 3.2": kdac_table,
    **{
        f"{removed}, {cluster}": again(REMOVED[removed], CLUSTERED[cluster])
        for removed, cluster in product(REMOVED, CLUSTERED)
    },
}
CURVE = (OURS, BY_DIMENSION, "means, k-means", "means, spectral", "means, neighbours")
CLUSTPY = {
    "NrKmeans": dict(n_init=10),
    "AutoNR": dict(outliers=False),
    "OrthogonalClustering": {},
    "ClusteringInOrthogonalSpaces": {},
}
ONCE = {(name, "AutoNR") for name in FACES}
ONCE |= {(name, BY_BANDWIDTH) for name in (*THESIS, *MADE) if name != "parabolas + 3"}
"""Run once."""
SKIPPED = set(product(WEBKB, ("AutoNR", BY_BANDWIDTH, BY_DIMENSION)))
"""Minutes each."""


def methods():
    """Those at hand: ClustPy is an optional package."""
    try:
        from clustpy import alternative
    except ImportError:
        return METHODS

    def method(name):
        given, kind = CLUSTPY[name], getattr(alternative, name)
        alone = name == "AutoNR"  # finds the numbers of clusters by itself
        return simultaneous(
            lambda ks, seed: kind(
                **given | ({} if alone else {"n_clusters": ks}), random_state=seed
            )
        )

    return METHODS | {name: method(name) for name in CLUSTPY}


def one(name, method, count=None):
    """A row: by draw, agreement with what is sought and what is known, and seconds.

    "best": the agreement of the best bandwidth, or of the best of several clusterings, which
    only one who knows the answer can choose; "each" has those of all bandwidths.
    """
    found, run = [], methods()[method]
    for seed, task in enumerate(tasks(name, count), SEED):
        candidates, seconds = clocked(process_time, run, task, seed)
        agreement = [normalized_mutual_info_score(task.sought, c) for c in candidates]
        found.append(
            {
                "NMI": float(agreement[0]),
                "novelty": float(nmi_with_known(candidates[0], task.known)),
                "best": float(max(agreement)),
                "seconds": seconds,
            }
            | ({"each": agreement} if method == BY_BANDWIDTH else {})
        )
    return over_runs(found)


def rows(only="", folds=10, jobs=1):
    """Row by row, those whose name (set/method) starts with `only`."""
    names = [*product([*THESIS, *MADE], methods()), *product(NOISE, CURVE)]
    for name, method in names:
        absent = (name, method) in SKIPPED or (name in MADE and method == "KDAC, Table 3.2")
        if f"{name}/{method}".startswith(only) and not absent:
            count = 1 if (name, method) in ONCE else None
            yield dict(set=name, method=method, **one(name, method, count))
