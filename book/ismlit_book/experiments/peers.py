"""Beyond the thesis: what a user might pick instead, each at its best, on the same folds.

Nested folds: within each training part a split of its own chooses the bandwidth of every method
that has one (of NCA the number of steps, of UMAP the neighbours) from a small grid. Then the
method is fitted on the whole training part, a support vector machine classifies what comes out,
and the test part says how well.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from time import perf_counter

import numpy as np
from ismlit import GradientKDR, SlicedInverseRegression, SupervisedIKDR, datasets, median_distance
from scipy.linalg import solve, subspace_angles
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.preprocessing import LabelBinarizer, StandardScaler
from sklearn.svm import SVC
from sklearn.utils import Bunch

from ismlit_book import results
from ismlit_book.experiments import SEED, clocked, over_runs

FACTORS = (1.0, 0.5, 0.25, 0.125, 2.0)
"""Bandwidths tried, in medians of all distances; the first of the best is taken."""

# ---------------------------------------------------------------- the sets


def thirds(t):
    """Classes 0, 1, 2: the lower, middle and upper third of t (n,)."""
    return np.searchsorted(np.quantile(t, [1 / 3, 2 / 3]), t)


def rings():
    """Two rings in a plane of 10 dimensions: the means of the classes coincide."""
    X, y, plane = datasets.make_rings(400, 10, random_state=SEED)
    return Bunch(data=X, target=y, plane=plane)


def two_indices(n=400, d=10):
    """t = u + v² and noise, u and v two directions of d: one shows in means, one in spread."""
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((n, d))
    plane = np.linalg.qr(rng.standard_normal((d, 2)))[0]
    t = X @ plane[:, 0] + (X @ plane[:, 1]) ** 2 + 0.2 * rng.standard_normal(n)
    return Bunch(data=X, target=thirds(t), continuous=t, plane=plane)


def redundant(n=400, groups=5, copies=4):
    """Each of 5 quantities measured four times; what counts is a part of one measurement alone.

    The direction that t depends on is S^-1 c, with the covariance S of X and c of X and t.
    """
    rng = np.random.default_rng(SEED)
    signal = rng.standard_normal(n)
    X = np.repeat(rng.standard_normal((n, groups)), copies, axis=1)
    X += 0.3 * rng.standard_normal(X.shape)
    X[:, 0] += 0.6 * signal
    t = signal + 0.2 * rng.standard_normal(n)
    first = np.eye(groups * copies)[:, :1]
    S = np.kron(np.eye(groups), np.ones((copies, copies))) + 0.09 * np.eye(groups * copies)
    plane = solve(S + 0.36 * first @ first.T, first)
    return Bunch(data=X, target=thirds(t), continuous=t, plane=plane)


@dataclass(frozen=True)
class Data:
    """A set, and how many of ten outer and of three inner folds are run."""

    load: Callable
    outer: int = 10
    inner: int = 3

    def arrays(self):
        """X (n, d), classes y (n,), the target (n,), and the plane (d, p) if one is known."""
        bunch = self.load()
        y = bunch.target
        return bunch.data, y, bunch.get("continuous", y), bunch.get("plane")


SETS = {
    "wine": Data(load_wine),
    "breast cancer": Data(load_breast_cancer),
    "digits": Data(load_digits, outer=3, inner=1),
    "rings": Data(rings),
    "two indices": Data(two_indices),
    "redundant": Data(redundant),
}

# ---------------------------------------------------------------- the methods


def is_classes(y):
    """Whether a target is one of classes."""
    return np.asarray(y).dtype.kind != "f"


class CappedSIR(SlicedInverseRegression):
    """Sliced inverse regression with at most as many components as slices determine."""

    def fit(self, X, y):
        """Of classes at most one component less than there are."""
        if is_classes(y):
            self.n_components = min(self.n_components, len(np.unique(y)) - 1)
        return super().fit(X, y)


class CappedLDA(LinearDiscriminantAnalysis):
    """LDA with as many components as there can be, up to `n_components`."""

    def __init__(self, n_components=2):
        super().__init__(n_components=n_components)

    def fit(self, X, y):
        """Lower n_components to one less than there are classes, then fit."""
        self.n_components = min(self.n_components, len(np.unique(y)) - 1)
        return super().fit(X, y)


class MedianKernelPCA(KernelPCA):
    """Kernel PCA with the Gaussian kernel at so many median distances."""

    def __init__(self, n_components=2, factor=1.0):
        super().__init__(n_components, kernel="rbf", random_state=SEED)
        self.factor = factor

    def fit(self, X, y=None):
        """Set gamma from X, then fit."""
        self.gamma = 1 / (2 * (self.factor * median_distance(X)) ** 2)
        return super().fit(X, y)


@dataclass(frozen=True)
class Peer:
    """A method: how it is made for dimension q, the grid of its parameter, and what it is told.

    Attributes
    ----------
    make : callable
        ``make(q)`` or ``make(q, parameter)`` returns a transformer.
    grid : tuple
        Values of the parameter; empty if it has none.
    weights : str
        Where the fitted transformer has its weights (d, q); empty if it is not linear.
    continuous : bool
        Whether it is given the numbers behind the classes, where there are some.
    rough : dict
        Parameters of the transformer while the grid is walked.
    """

    make: Callable
    grid: tuple = ()
    weights: str = ""
    continuous: bool = False
    rough: dict = field(default_factory=dict)

    def fit(self, X, y, t, q, choice=None, **options):
        """The fitted transformer, from classes y and target t (n,)."""
        target = t if self.continuous else y
        if self.make is PLSRegression and is_classes(target):
            target = LabelBinarizer().fit_transform(target)
        made = self.make(q) if choice is None else self.make(q, choice)
        with warnings.catch_warnings(action="ignore"):  # peers warn of many things
            return made.set_params(**options).fit(X, target)

    def directions(self, fitted):
        """The weights of the features (d, q), or None."""
        if not self.weights:
            return None
        found = np.asarray(getattr(fitted, self.weights))
        return found.T if self.weights == "components_" else found[:, : fitted.n_components]


def gaussian_ikdr(q, factor):
    """Our method with the bandwidth in median distances, else with the library's defaults."""
    bandwidth = lambda X: factor * median_distance(X)
    return SupervisedIKDR(q, bandwidth=bandwidth, ridge=np.inf, random_state=SEED)


def as_in_the_thesis(q):
    """Our method with the median distance as bandwidth, from the Taylor start."""
    return SupervisedIKDR(q, bandwidth="median", init="taylor", ridge=np.inf)


def linear_ikdr(q):
    """Our method with the linear kernel, whose W is that of one eigenproblem."""
    return SupervisedIKDR(q, "linear", init="taylor", ridge=np.inf)


def gradient_kdr(q, factor):
    """Gradient-based KDR with the bandwidth in median distances."""
    return GradientKDR(q, bandwidth=factor)


def nca(q, steps):
    """NCA, which nothing but the number of its steps keeps from fitting too closely."""
    return NeighborhoodComponentsAnalysis(q, random_state=SEED, max_iter=steps)


def supervised_umap(q, neighbours):
    """UMAP told of the classes."""
    from umap import UMAP

    return UMAP(neighbours, q, random_state=SEED, n_jobs=1)


OURS = "IKDR, Gaussian"
PEERS = {
    OURS: Peer(gaussian_ikdr, FACTORS, "W_", rough=dict(init="taylor", tol=1e-3)),
    "IKDR, median": Peer(as_in_the_thesis, (), "W_"),
    "IKDR, linear": Peer(linear_ikdr, (), "W_"),
    "LDA": Peer(CappedLDA, (), "scalings_"),
    "SIR": Peer(CappedSIR, (), "W_", continuous=True),
    "PLS": Peer(PLSRegression, (), "x_rotations_", continuous=True),
    "gKDR": Peer(gradient_kdr, FACTORS, "W_", continuous=True),
    "NCA": Peer(nca, (100, 30, 10), "components_"),
    "PCA": Peer(PCA, (), "components_"),
    "kernel PCA": Peer(MedianKernelPCA, FACTORS),
    "UMAP, supervised": Peer(supervised_umap, (15, 5, 50)),
}
ALL = "all features"

# ---------------------------------------------------------------- the folds


def accuracy(fitted, train, test, y_train, y_test):
    """Of a support vector machine on what the transformer gives, scaled."""
    Z = fitted.transform(train) if fitted else train
    again = StandardScaler().fit(Z)
    classifier = SVC().fit(again.transform(Z), y_train)
    return classifier.score(again.transform(fitted.transform(test) if fitted else test), y_test)


def chosen(peer, X, y, t, q, inner):
    """The first of the best parameters of a grid on inner folds; None without one."""
    if not peer.grid:
        return None
    splits = list(StratifiedKFold(3, shuffle=True, random_state=SEED).split(X, y))[:inner]
    fit = lambda a, value: peer.fit(X[a], y[a], t[a], q, value, **peer.rough)
    score = lambda value: sum(accuracy(fit(a, value), X[a], X[b], y[a], y[b]) for a, b in splits)
    return max(peer.grid, key=score)


def row(name, method, q, *, folds=10):
    """By fold: accuracy, seconds of the fit and of the choice before it, the choice, the angle.

    The angle is by how many degrees at most the known plane leaves the subspace found.
    """
    X, y, t, plane = SETS[name].arrays()
    peer, found = PEERS.get(method), []
    splits = StratifiedKFold(10, shuffle=True, random_state=SEED).split(X, y)
    for a, b in list(splits)[: min(folds, SETS[name].outer)]:
        scaler = StandardScaler().fit(X[a])
        train, test = scaler.transform(X[a]), scaler.transform(X[b])
        if peer is None:
            found.append({"test accuracy": accuracy(None, train, test, y[a], y[b])})
            continue
        task = train, y[a], t[a], q
        choice, before = clocked(perf_counter, chosen, peer, *task, SETS[name].inner)
        fitted, seconds = clocked(perf_counter, peer.fit, *task, choice)
        found.append(
            {
                "test accuracy": float(accuracy(fitted, train, test, y[a], y[b])),
                "seconds": seconds,
                "seconds of the choice": before,
                "chosen": choice,
            }
        )
        weights = peer.directions(fitted)
        if plane is not None and weights is not None:
            angles = subspace_angles(weights, plane * scaler.scale_[:, None])
            found[-1]["angle"] = float(np.degrees(angles.max()))
    return over_runs(found)


def sizes(name):
    """Dimensions tried: two, and the classes less one."""
    classes = len(np.unique(SETS[name].arrays()[1]))
    return sorted({2, classes - 1})


def methods():
    """Those at hand: UMAP is an optional package."""
    try:
        import umap  # noqa: F401
    except ImportError:
        return [*(m for m in PEERS if "UMAP" not in m), ALL]
    return [*PEERS, ALL]


def rows(only="", folds=10, jobs=1):
    """Row by row, those whose name (set/method) starts with `only`."""
    for name in SETS:
        for q in sizes(name):
            for method in methods():
                if f"{name}/{method}".startswith(only):
                    found = row(name, method, q, folds=folds)
                    yield dict(set=name, method=method, size=q, **found)


# ---------------------------------------------------------------- what the stored rows say

PROJECTIONS = [method for method in PEERS if PEERS[method].weights]
"""Methods whose weights can be read."""


@cache
def stored():
    """The stored rows by (set, size, method)."""
    return {(row["set"], row["size"], row["method"]): row for row in results("peers")}


def scores(name, q, method):
    """Test accuracies by fold, in %."""
    return 100 * np.array(stored()[name, q, method]["test accuracy"])


def percent(name, q, method):
    """Their mean, as it is printed."""
    return f"{round(float(scores(name, q, method).mean()), 6):.1f}"


def best(name, q, among=None):
    """The projection with the largest mean accuracy."""
    here = [m for m in among or PROJECTIONS if (name, q, m) in stored()]
    return max(here, key=lambda method: scores(name, q, method).mean())


def near(name, q, method, margin=1):
    """Whether it is within so many standard errors of the best projection, on the same folds."""
    less = scores(name, q, best(name, q)) - scores(name, q, method)
    return bool(less.mean() <= margin * less.std(ddof=1) / np.sqrt(len(less)) + 1e-9)
