"""Beyond the thesis: the estimators as they come, beside the thesis's choices and other methods.

Three tasks. *reduction*: two components, then five nearest neighbours, on five folds; made sets
are drawn four times. *clusters* and *second clustering*: agreement with the classes, which no
method is shown.
"""

import warnings
from time import perf_counter

import numpy as np
from ismlit import KDAC, SupervisedIKDR, UnsupervisedIKDR, datasets
from sklearn import datasets as sets
from sklearn.base import clone
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import normalized_mutual_info_score
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.preprocessing import scale

from ismlit_book import loaders
from ismlit_book.experiments import SEED, clocked, named, scaled_folds
from ismlit_book.methods.knet import KNetClustering


def both(bunch):
    """Features and classes of a set."""
    return bunch.data, bunch.target


def among_noise(make, columns):
    """A maker of sets with so many columns of noise beside their own, as wide as they are."""

    def made(seed):
        X, y = make(seed)
        noise = np.random.default_rng(seed + 1000).standard_normal((len(X), columns))
        return np.hstack([X, X.std() * noise]), y

    return made


def xor(seed):
    """Four quadrants of a Gaussian cloud, opposite ones alike: both classes have mean 0."""
    X = np.random.default_rng(seed).standard_normal((400, 2))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def rings(seed):
    """Two rings."""
    return sets.make_circles(400, factor=0.4, noise=0.08, random_state=seed)


def moons(seed):
    """Two half moons."""
    return sets.make_moons(400, noise=0.1, random_state=seed)


def spirals(seed):
    """Three spiral arms."""
    return datasets.make_spiral(600, random_state=seed)


def shells(seed):
    """Three nested shells of a Gaussian cloud."""
    return sets.make_gaussian_quantiles(n_samples=400, n_classes=3, random_state=seed)


def blobs(seed):
    """Five round clusters."""
    return sets.make_blobs(400, centers=5, cluster_std=1.5, random_state=seed)


def hypercube(seed):
    """Three classes at corners of a cube, among features that say nothing or the same again."""
    options = dict(n_informative=3, n_redundant=2, n_classes=3, n_clusters_per_class=1)
    return sets.make_classification(400, 10, random_state=seed, **options)


REAL = {
    "iris": lambda: sets.load_iris(return_X_y=True),
    "wine": lambda: both(load_wine()),
    "breast cancer, 30": lambda: both(load_breast_cancer()),
    "digits": lambda: both(load_digits()),
    "cancer, 9": lambda: both(loaders.load_cancer()),
    "divorce": lambda: both(loaders.load_divorce()),
    "car": lambda: both(loaders.load_car()),
    "faces, person": lambda: (loaders.load_face_pca().data, loaders.load_face_pca().existing),
    "faces, pose": lambda: both(loaders.load_face_pca()),
    "WebKb, topic": lambda: both(loaders.load_webkb()),
}
MADE = {
    "xor + 7": among_noise(xor, 7),
    "rings + 7": among_noise(rings, 7),
    "moons + 7": among_noise(moons, 7),
    "spirals + 4": among_noise(spirals, 4),
    "rings in 10, turned": lambda seed: datasets.make_rings(400, 10, random_state=seed)[:2],
    "shells + 5": among_noise(shells, 5),
    "hypercube": hypercube,
    "blobs + 6": among_noise(blobs, 6),
}
DRAWS = 4
LABELLED = REAL | MADE
THESIS = dict(bandwidth="median", init="taylor", ridge=np.inf)
REDUCTIONS = {
    "IKDR": SupervisedIKDR(2, ridge=np.inf),
    "IKDR, median": SupervisedIKDR(2, bandwidth="median", ridge=np.inf),
    "IKDR, Taylor": SupervisedIKDR(2, init="taylor", ridge=np.inf),
    "IKDR, median, Taylor": SupervisedIKDR(2, **THESIS),
    "LDA": LinearDiscriminantAnalysis(),
    "NCA": NeighborhoodComponentsAnalysis(2, random_state=SEED, max_iter=200),
    "PCA": PCA(2, random_state=SEED),
}

UNLABELLED = {
    "moons": lambda: sets.make_moons(400, noise=0.05, random_state=SEED),
    "rings": lambda: sets.make_circles(400, factor=0.4, noise=0.05, random_state=SEED),
    "spirals": lambda: datasets.make_spiral(600, noise=0.1, random_state=SEED),
    "blobs": lambda: sets.make_blobs(400, centers=4, cluster_std=1.2, random_state=1),
    **{name: REAL[name] for name in ("iris", "wine", "breast cancer, 30", "cancer, 9")},
}


def clusterers(k):
    """{name: clusterer} for k clusters."""
    plain = dict(bandwidth="median", normalize="none", random_state=SEED)
    spectral = dict(affinity="nearest_neighbors", n_neighbors=10, random_state=SEED)
    return {
        "KNet": KNetClustering(k, random_state=SEED),
        "KNet, median, spectral": KNetClustering(
            k, bandwidth="median", init="spectral", random_state=SEED
        ),
        "IKDR": UnsupervisedIKDR(k, random_state=SEED),
        "IKDR, median, none": UnsupervisedIKDR(k, **plain),
        "spectral clustering": SpectralClustering(k, **spectral),
        "k-means": KMeans(k, n_init=10, random_state=SEED),
    }


def views(load):
    """Features, the clustering known, and the one sought."""
    bunch = load()
    return bunch.data, bunch.existing, bunch.target


TWO_VIEWS = {
    "parabolas": lambda: datasets.make_two_views(300, random_state=SEED),
    "parabolas + 3": lambda: datasets.make_two_views(300, 3, random_state=SEED),
    "four Gaussians": lambda: datasets.make_four_gaussians(200, 4, random_state=SEED),
    "SG": lambda: views(loaders.load_small_gaussian),
    "LG": lambda: views(loaders.load_large_gaussian),
    "Moon": lambda: views(loaders.load_moon),
    "MoonN": lambda: views(loaders.load_moon_noise),
}
ALTERNATIVES = {"KDAC": {}, "KDAC, median": {"bandwidth": "median"}}


def reduction(name, method):
    """Accuracy on each fold of each draw, and seconds of each reduction."""
    scores, seconds = [], []
    for A, B, a, b in folds_of(name):
        step, spent = clocked(perf_counter, clone(REDUCTIONS[method]).fit, A, a)
        seconds.append(spent)
        # LDA gives all its components; the others have two
        near = KNeighborsClassifier(5).fit(step.transform(A)[:, :2], a)
        scores.append(float(near.score(step.transform(B)[:, :2], b)))
    return {"accuracy": scores, "seconds": seconds}


def folds_of(name):
    """`scaled_folds` of each draw."""
    for seed in range(SEED, SEED + DRAWS) if name in MADE else [SEED]:
        X, y = MADE[name](seed) if name in MADE else REAL[name]()
        yield from scaled_folds(X[:, X.std(axis=0) > 0], y)


def clustering(name, method):
    """Agreement with the classes."""
    X, y = UNLABELLED[name]()
    model = clusterers(len(set(y)))[method]
    return _agreement(y, *clocked(perf_counter, model.fit_predict, scale(X)))


def second_clustering(name, method):
    """Agreement with the clustering sought, another being known."""
    X, known, sought = TWO_VIEWS[name]()
    model = KDAC(len(set(sought)), random_state=SEED, **ALTERNATIVES[method])
    _, seconds = clocked(perf_counter, model.fit, scale(X), known)
    return _agreement(sought, model.labels_, seconds)


def _agreement(y, labels, seconds):
    return {"NMI": float(normalized_mutual_info_score(y, labels)), "seconds": seconds}


TASKS = {
    "reduction": (LABELLED, REDUCTIONS, reduction),
    "clusters": (UNLABELLED, clusterers(2), clustering),
    "second clustering": (TWO_VIEWS, ALTERNATIVES, second_clustering),
}


def row(task, name, method):
    """One row of the table."""
    # what converged and what not is seen in the result
    with warnings.catch_warnings(action="ignore"):
        return TASKS[task][2](name, method)


def rows(only="", folds=10, jobs=1):
    """Row by row, those whose name (task/set/method) starts with `only`."""
    for task, (data, methods, _) in TASKS.items():
        for _, name, method in named(only, [task], data, methods):
            yield dict(task=task, set=name, method=method, **row(task, name, method))
