"""Beyond the thesis: KNet and other ways to cluster winding shapes and to label new samples.

Every draw has rows to learn from and new ones. Agreement with the classes (NMI, adjusted Rand
index) on both, and seconds of a processor. Spectral clustering has no map for new samples: it
gets nearest neighbours, or the extension of its eigenvectors.

And tables that others made, on which the library's own clustering stands beside both.
"""

import warnings
from time import process_time

import numpy as np
from ismlit import UnsupervisedIKDR, datasets, median_distance
from ismlit.estimators.clusters import cluster_rows, embedding_silhouette
from sklearn import datasets as made
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler, normalize

from ismlit_book import loaders
from ismlit_book.experiments import clocked, over_runs, public
from ismlit_book.methods.knet import KNetClustering

# ---------------------------------------------------------------- the sets


def moons(draw, n=3300):
    """Two half moons."""
    return made.make_moons(n, noise=0.08, random_state=draw)


def rings(draw):
    """Two rings."""
    return made.make_circles(3300, factor=0.45, noise=0.08, random_state=draw)


def spirals(draw):
    """Three spiral arms."""
    return datasets.make_spiral(3300, noise=0.1, random_state=draw)


def densities(draw):
    """Three round clusters, one six times as wide as another."""
    spreads = [0.3, 0.9, 1.8]
    return made.make_blobs(3300, cluster_std=spreads, centers=CENTRES, random_state=draw)


def digits(draw):
    """Grey levels of ten digits, as they are: scaled columns make the rarely used ones loud."""
    bunch = load_digits()
    return bunch.data, bunch.target


LARGE, AT_ONCE = "moons, 10 000", "spectral, ten neighbours, all rows"
CENTRES = [[0, 0], [3.5, 0], [0, 7]]
SETS = {
    "moons": (moons, 300),
    "rings": (rings, 300),
    "spirals": (spirals, 300),
    "densities": (densities, 300),
    "digits": (digits, 300),
    LARGE: (lambda draw: moons(draw, 10000), 1000),
}
"""How each is drawn, and how many rows are learnt from; the others are new."""
DRAWS = 2
FEWER = {"digits": 1, LARGE: 1}
"""Draws, where a fit takes a minute."""


def split(name, draw):
    """Rows to learn from and new ones, and their classes, all scaled by the former."""
    make, size = SETS[name]
    X, y = make(draw)
    A, B, y_A, y_B = train_test_split(X, y, train_size=size, random_state=draw, stratify=y)
    scaler = StandardScaler(with_std=name != "digits").fit(A)
    return scaler.transform(A), scaler.transform(B), y_A, y_B


# ---------------------------------------------------------------- the methods


class ByNeighbours:
    """A clustering of the rows given; a new one joins the cluster of the nearest of them."""

    def __init__(self, clustering):
        self.clustering = clustering

    def fit(self, X):
        """Cluster X (n, d)."""
        self.labels_ = self.clustering.fit(X).labels_
        self.nearest = KNeighborsClassifier(1).fit(X, self.labels_)
        return self

    def predict(self, X):
        """Clusters of X (m, d)."""
        return self.nearest.predict(X)


class Extended:
    """Spectral clustering by the features of some rows, whose eigenvectors reach new samples.

    Z (n, m) with ZZ' near the Gaussian Gram matrix (exact where all rows are taken), divided by
    the roots of the degrees; its right singular vectors V map new samples as well.

    Parameters
    ----------
    k : int
    sigma : float
    rows : int or None
        How many rows to take the features from; all of them when None.
    seed : int
    """

    def __init__(self, k, sigma, rows=None, seed=0):
        self.k, self.sigma, self.rows, self.seed = k, sigma, rows, seed

    def fit(self, X):
        """Cluster X (n, d)."""
        rows = len(X) if self.rows is None else self.rows
        options = dict(gamma=1 / (2 * self.sigma**2), n_components=rows, random_state=self.seed)
        self.features = Nystroem(**options).fit(X)
        Z = self.features.transform(X)
        self.total = Z.sum(axis=0)
        self.V = np.linalg.svd(self._divided(Z), full_matrices=False)[2][: self.k].T
        self.means = KMeans(self.k, n_init=10, random_state=self.seed)
        self.labels_ = self.means.fit_predict(self._embedded(Z))
        return self

    def _divided(self, Z):
        return Z / np.sqrt(np.maximum(Z @ self.total, 1e-12))[:, None]

    def _embedded(self, Z):
        return normalize(self._divided(Z) @ self.V)

    def predict(self, X):
        """Clusters of X (m, d)."""
        return self.means.predict(self._embedded(self.features.transform(X)))


def spectral(k, seed, **options):
    """scikit-learn's spectral clustering."""
    return SpectralClustering(k, random_state=seed, **options)


OURS = "KNet"
METHODS = {
    "k-means": lambda k, sigma, seed: KMeans(k, n_init=10, random_state=seed),
    "spectral, ten neighbours": lambda k, sigma, seed: ByNeighbours(
        spectral(k, seed, affinity="nearest_neighbors")
    ),
    "spectral, our bandwidth": lambda k, sigma, seed: ByNeighbours(
        spectral(k, seed, gamma=1 / (2 * sigma**2))
    ),
    "the same, extended": lambda k, sigma, seed: Extended(k, sigma, None, seed),
    "Nystroem, 200 rows": lambda k, sigma, seed: Extended(k, sigma, 200, seed),
}
"""Each made from the number of clusters, the bandwidth that KNet chose, and a seed."""

# ---------------------------------------------------------------- one draw


def seen(model, A, B, y_A, y_B):
    """A method fitted on A (n, d) and asked about B (m, d): agreement, and seconds."""
    _, seconds = clocked(process_time, model.fit, A)
    given, more = clocked(process_time, model.predict, B)
    found = agreement(model.labels_, y_A, given, y_B)
    return found | {"seconds": seconds, "seconds to predict": more}


def agreement(labels, y_A, given, y_B):
    """NMI and adjusted Rand index of the clusters learnt and of those of new rows."""
    return {
        "NMI": float(normalized_mutual_info_score(y_A, labels)),
        "NMI, new": float(normalized_mutual_info_score(y_B, given)),
        "ARI": float(adjusted_rand_score(y_A, labels)),
        "ARI, new": float(adjusted_rand_score(y_B, given)),
    }


def one(name, draw, others=tuple(METHODS), **options):
    """All methods on one draw, as {method: numbers}; `options` go to KNet."""
    A, B, y_A, y_B = split(name, draw)
    k = len(np.unique(y_A))
    knet = KNetClustering(k, random_state=draw, **options)
    found = {OURS: seen(knet, A, B, y_A, y_B)}
    nearest = KNeighborsClassifier(1).fit(A, knet.labels_).predict(B)
    found[OURS] |= {
        "bandwidth": float(knet.sigma_ / median_distance(A)),
        "silhouette": float(max(knet.tried_["silhouette"], default=np.nan)),
        "converged": knet.converged_,
        "by neighbours": agreement(knet.labels_, y_A, nearest, y_B)["NMI, new"],
        "with neighbours": float(np.mean(nearest == knet.predict(B))),
    }
    for method in others:
        found[method] = seen(METHODS[method](k, knet.sigma_, draw), A, B, y_A, y_B)
    if name == LARGE:
        found[AT_ONCE] = at_once(A, B, y_A, y_B, draw)
    return found


def at_once(A, B, y_A, y_B, seed):
    """scikit-learn's spectral clustering of all rows, the new ones among them."""
    model = spectral(len(np.unique(y_A)), seed, affinity="nearest_neighbors")
    labels, seconds = clocked(process_time, model.fit_predict, np.vstack([A, B]))
    found = agreement(labels[: len(A)], y_A, labels[len(A) :], y_B)
    return found | {"seconds": seconds, "seconds to predict": 0.0}


# ---------------------------------------------------------------- signs without labels


def cloud(draw):
    """One round cloud, of one class: there is nothing to find."""
    X = np.random.default_rng(draw).standard_normal((3300, 2))
    return X, np.zeros(len(X), dtype=int)


CASES = {
    "moons, as it comes": (moons, 2, {}),
    "moons, the median": (moons, 2, dict(bandwidth="median", init="spectral")),
    "moons, three clusters": (moons, 3, {}),
    "spirals, as it comes": (spirals, 3, {}),
    "one cloud, two clusters": (cloud, 2, {}),
}
"""What is clustered, into how many clusters, and what KNet is told."""
SIGN_DRAWS = 5


def signs(case, draw, size=150):
    """What can be seen without labels of two fits, on `size` rows each, and what labels say.

    *stands apart*: the silhouette of the clusters in the first embedding, the lower of the two
    fits; *after training*: that of the last one.
    *halves agree*: the adjusted Rand index of their predictions for 3000 new rows.
    """
    make, k, options = CASES[case]
    X, y = make(draw)
    order = np.random.default_rng(draw).permutation(len(X))
    X, y = StandardScaler().fit_transform(X)[order], y[order]
    new, truth = X[2 * size :], y[2 * size :]
    with warnings.catch_warnings(action="ignore"):  # a fit that stops short is a result here
        fits = [
            KNetClustering(k, random_state=draw, **options).fit(X[i * size : (i + 1) * size])
            for i in range(2)
        ]
    given = [fit.predict(new) for fit in fits]
    return {
        "stands apart": min(
            embedding_silhouette(f.start_, cluster_rows(f.start_, k, 0)) for f in fits
        ),
        "after training": min(embedding_silhouette(f.embedding_, f.labels_) for f in fits),
        "halves agree": float(adjusted_rand_score(*given)),
        "settled": all(f.converged_ for f in fits),
        "NMI": float(np.mean([normalized_mutual_info_score(truth, g) for g in given])),
    }


# ---------------------------------------------------------------- tables that others made


def of_digits(*kept):
    """A maker of the sets of some of the ten digits."""
    X, y = made.load_digits(return_X_y=True)
    return lambda: (X[np.isin(y, kept)], y[np.isin(y, kept)])


def prepared(name):
    """A maker of one of the public sets, its words as columns."""

    def load():
        table, y = public.load(name)
        return public.preparation().fit_transform(table), y

    return load


def original_cancer():
    """Features and classes of the thesis's Cancer."""
    bunch = loaders.load_cancer()
    return bunch.data, bunch.target


TABLES = {
    "iris": lambda: made.load_iris(return_X_y=True),
    "wine": lambda: made.load_wine(return_X_y=True),
    "breast cancer, diagnostic": lambda: made.load_breast_cancer(return_X_y=True),
    "breast cancer, original": original_cancer,
    "digits 0, 1, 2": of_digits(0, 1, 2),
    "digits 3, 5, 8, 9": of_digits(3, 5, 8, 9),
    "all digits": of_digits(*range(10)),
    "seeds": prepared("seeds"),
    "thyroid": prepared("thyroid"),
    "glass": prepared("glass"),
    "ecoli": prepared("ecoli"),
    "ionosphere": prepared("ionosphere"),
    "no clusters": lambda: (np.random.default_rng(0).standard_normal((400, 4)), np.arange(400) % 2),
}
"""Each as features and classes; the last has two classes that no feature knows of."""
TABLE_DRAWS, MOST_ROWS = 10, 240
BY_IKDR = "IKDR"


def of_a_table(name, draw):
    """Adjusted Rand index of clusters and classes on some of the rows, by three methods.

    They are four in five, at most `MOST_ROWS`, and scaled. And whether IKDR warns.
    """
    X, y = TABLES[name]()
    some = np.random.default_rng(draw).permutation(len(X))[: min(MOST_ROWS, 4 * len(X) // 5)]
    X, y = StandardScaler().fit_transform(X[some]), y[some]
    k = len(np.unique(y))
    methods = {
        BY_IKDR: UnsupervisedIKDR(k, random_state=draw),
        "k-means": KMeans(k, n_init=10, random_state=draw),
        "spectral, ten neighbours": spectral(k, draw, affinity="nearest_neighbors"),
    }
    found = {}
    for method, model in methods.items():
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            began = process_time()
            labels = model.fit_predict(X)
            seconds = process_time() - began
        told = [str(warning.message) for warning in said]
        found[method] = {
            "ARI": float(adjusted_rand_score(y, labels)),
            "warned": any(words.startswith("no bandwidth tried") for words in told),
            "seconds": seconds,
        }
    return found


def rows(only="", folds=10, jobs=1):
    """Row by row, the sets whose name starts with `only`; two draws if `folds` is 2."""
    for name in TABLES:
        if name.startswith(only):
            found = [of_a_table(name, draw) for draw in range(min(TABLE_DRAWS, folds))]
            for method in found[0]:
                yield dict(table=name, method=method, **over_runs([f[method] for f in found]))
    for name in SETS:
        if name.startswith(only):
            draws = range(min(FEWER.get(name, DRAWS), folds))
            found = [one(name, draw) for draw in draws]
            for method in found[0]:
                yield dict(set=name, method=method, **over_runs([f[method] for f in found]))
    for case in CASES:
        if case.startswith(only):
            found = [signs(case, draw) for draw in range(min(SIGN_DRAWS, folds))]
            yield dict(case=case, **over_runs(found))
