"""Beyond the thesis: what a user might pick instead, on the same folds, before the same SVM."""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ismlit import datasets
from ismlit.bandwidth import median_distance
from ismlit.edition.experiments import SEED
from ismlit.reduction import SupervisedIKDR

SETS = {
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
    "rings": lambda: rings(),
}


def rings():
    """Two rings in a plane of 10 dimensions: what no linear criterion sees."""
    X, y, _ = datasets.make_rings(400, 10, random_state=SEED)
    return datasets.Bunch(data=X, target=y)


class MedianKernelPCA(KernelPCA):
    """Kernel PCA with the Gaussian kernel at the median distance, as IKDR has it."""

    def fit(self, X, y=None):
        """Set gamma from X, then fit."""
        self.gamma = 1 / (2 * median_distance(X) ** 2)
        return super().fit(X, y)


def methods(q, classes):
    """{name: transformer} for dimension q; LDA cannot give more than classes - 1."""
    found = {
        "IKDR, Gaussian": SupervisedIKDR(q, bandwidth="median", init="taylor"),
        "IKDR, linear": SupervisedIKDR(q, "linear", init="taylor"),
        "LDA": LinearDiscriminantAnalysis(n_components=min(q, classes - 1)),
        "NCA": NeighborhoodComponentsAnalysis(q, random_state=SEED, max_iter=200),
        "PCA": PCA(q, random_state=SEED),
        "kernel PCA": MedianKernelPCA(q, kernel="rbf", random_state=SEED),
        "all features": "passthrough",
    }
    try:
        from umap import UMAP
    except ImportError:
        return found
    return found | {"UMAP, supervised": UMAP(n_components=q, random_state=SEED, n_jobs=1)}


def row(name, method, *, q=2, folds=10):
    """Accuracy on test folds after an SVM, and seconds of the reduction, as lists."""
    bunch = SETS[name]()
    X, y = bunch.data, bunch.target
    reduce, scores, seconds = methods(q, len(np.unique(y)))[method], [], []
    splits = StratifiedKFold(10, shuffle=True, random_state=SEED).split(X, y)
    for a, b in list(splits)[:folds]:
        step = reduce if isinstance(reduce, str) else clone(reduce)
        made = make_pipeline(StandardScaler(), step)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # peers warn of many things
            Z = made.fit(X[a], y[a]).transform(X[a])
            seconds.append(time.perf_counter() - start)
            again = StandardScaler().fit(Z)
            classifier = SVC().fit(again.transform(Z), y[a])
            scores.append(classifier.score(again.transform(made.transform(X[b])), y[b]))
    return {"test accuracy": [float(s) for s in scores], "seconds": seconds}


def rows(only="", folds=10, jobs=1):
    """Row by row, those whose name (set/method) starts with `only`; q = 2."""
    for name in SETS:
        for method in methods(2, 2):
            if f"{name}/{method}".startswith(only):
                yield dict(set=name, method=method, **row(name, method, folds=folds))
