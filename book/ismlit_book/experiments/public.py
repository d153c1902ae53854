"""Beyond the thesis: the estimators as they come, on sets that nothing was chosen on.

The sets: all that one public collection (github.com/jbrownlee/Datasets) lists under classification,
of fewer than 6000 rows, which the book uses nowhere else. Classes of fewer than five rows are left
out. Methods have their defaults, but that logistic regression may take 2000 steps, k-means starts
ten times and spectral clustering joins nearest neighbours. On five folds, each prepared by its
training part: two components, then five nearest neighbours; with more than three classes also
k - 1 components for k of them; and classifiers. On all rows: clusterers that are told k.
"""

import warnings
from functools import partial
from time import process_time

import numpy as np
from ismlit import KernelDependenceNetwork, SupervisedIKDR, UnsupervisedIKDR
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, normalized_mutual_info_score
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from ismlit_book import loaders
from ismlit_book.experiments import SEED, clocked
from ismlit_book.experiments.peers import CappedLDA
from ismlit_book.methods.knet import KNetClustering

SETS = {
    "banknote": "banknote_authentication",
    "breast, words": "breast-cancer",
    "ecoli": "ecoli",
    "german credit": "german",
    "glass": "glass",
    "haberman": "haberman",
    "horse colic": "horse-colic",
    "ionosphere": "ionosphere",
    "oil spill": "oil-spill",
    "phoneme": "phoneme",
    "pima": "pima-indians-diabetes",
    "seeds": "wheat-seeds",
    "sonar": "sonar",
    "thyroid": "new-thyroid",
}
"""Names, and those in `loaders.FILES`."""

HORSE = {"target": 23, "without": [2, 24, 25, 26]}
"""The classes of horse colic are not its last column; left out are a number of the hospital, and
three codes of the lesion whose presence is asked for."""

FOLDS = 5
"""And the fewest rows of a class, one a fold."""

SHAPE = "shape"


def load(name):
    """The features as a table, numbers and words, and the classes y (n,)."""
    import pandas as pd

    (path,) = loaders.fetch(SETS[name])
    table = pd.read_csv(path, header=None, na_values="?", quotechar="'")
    where = HORSE if name == "horse colic" else {"target": table.shape[1] - 1, "without": []}
    labels = table.pop(where["target"])
    return frequent(table.drop(columns=where["without"]).rename(columns=str), labels)


def frequent(table, labels):
    """The rows of classes that have enough of them, and the classes as whole numbers."""
    y = np.unique(labels.astype(str), return_inverse=True)[1]
    kept = np.bincount(y)[y] >= FOLDS
    return table[kept], np.unique(y[kept], return_inverse=True)[1]


def preparation():
    """Medians for what is missing, a column for each word, all scaled."""
    numbers, words = (
        make_column_selector(dtype_include="number"),
        make_column_selector(dtype_exclude="number"),
    )
    columns = make_column_transformer(
        (SimpleImputer(strategy="median"), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), words),
    )
    return make_pipeline(columns, VarianceThreshold(), StandardScaler())


class Discriminant(PLSRegression):
    """Partial least squares on the indicator of the classes."""

    def fit(self, X, y):
        """Learn from X (n, d) and classes y (n,)."""
        return super().fit(X, np.eye(y.max() + 1)[y])


ALL = "all columns"
REDUCTIONS = {
    "SupervisedIKDR": partial(SupervisedIKDR, ridge=np.inf),
    "by size": partial(SupervisedIKDR, ridge=np.inf, class_weight="size"),
    "LDA": CappedLDA,
    "PLS": Discriminant,
    "NCA": partial(NeighborhoodComponentsAnalysis, random_state=SEED),
    "PCA": PCA,
    ALL: lambda q: None,
}
CLASSIFIERS = {
    "network": KernelDependenceNetwork,
    "network, rows alike": partial(KernelDependenceNetwork, class_weight=None),
    "SVM": SVC,
    "SVM, classes alike": partial(SVC, class_weight="balanced"),
    "logistic regression": partial(LogisticRegression, max_iter=2000),
    "logistic, classes alike": partial(LogisticRegression, max_iter=2000, class_weight="balanced"),
    "boosting": partial(HistGradientBoostingClassifier, random_state=SEED),
}
CLUSTERERS = {
    "UnsupervisedIKDR": partial(UnsupervisedIKDR, random_state=SEED),
    "KNetClustering": partial(KNetClustering, random_state=SEED),
    "Gaussian mixture": partial(GaussianMixture, random_state=SEED),
    "k-means": partial(KMeans, n_init=10, random_state=SEED),
    "spectral clustering": partial(
        SpectralClustering, affinity="nearest_neighbors", random_state=SEED
    ),
}


def folds_of(name, load=load):
    """Training features and classes, test features and classes."""
    table, y = load(name)
    for a, b in StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(table, y):
        prepare = preparation().fit(table.iloc[a])
        yield *map(prepare.transform, (table.iloc[a], table.iloc[b])), y[a], y[b]


class ByNeighbours:
    """Five nearest neighbours on what a reduction makes of the columns; on all of them if None."""

    def __init__(self, step):
        self.step = step

    def fit(self, X, y):
        """Learn the reduction from X (n, d) and classes y (n,), and keep both."""
        if self.step is not None:
            self.step.fit(X, y)
        self.known = X, y
        return self

    def predict(self, X):
        """The classes of X (m, d), (m,)."""
        known, y = self.known
        if self.step is not None:
            known, X = map(self.step.transform, (known, X))
        return KNeighborsClassifier(5).fit(known, y).predict(X)


def by_folds(name, make, load=load):
    """Accuracies on each fold, samples alike and classes alike, and seconds of the fit."""
    found = {"accuracy": [], "balanced": [], "seconds": []}
    for A, B, y_A, y_B in folds_of(name, load):
        model, seconds = clocked(process_time, make().fit, A, y_A)
        found["seconds"].append(seconds)
        given = model.predict(B)
        found["accuracy"].append(float(np.mean(given == y_B)))
        found["balanced"].append(float(balanced_accuracy_score(y_B, given)))
    return found


def reduction(name, method, q=2):
    """What five nearest neighbours see of q components; the seconds are of the reduction."""
    return by_folds(name, lambda: ByNeighbours(REDUCTIONS[method](q)))


def more_components(name, method):
    """The same with k - 1 components, or nothing where these are two or fewer."""
    q = int(load(name)[1].max())
    return reduction(name, method, q) if q > 2 else {}


def classification(name, method):
    """A classifier on all columns."""
    return by_folds(name, CLASSIFIERS[method])


def clustering(name, method):
    """Agreement of the clusters with the classes, over all rows."""
    table, y = load(name)
    X = preparation().fit_transform(table)
    model = CLUSTERERS[method](y.max() + 1)
    labels, seconds = clocked(process_time, model.fit_predict, X)
    return {"NMI": float(normalized_mutual_info_score(y, labels)), "seconds": seconds}


TASKS = {
    "reduction": (REDUCTIONS, reduction),
    "k - 1 components": (REDUCTIONS, more_components),
    "classes": (CLASSIFIERS, classification),
    "clusters": (CLUSTERERS, clustering),
}


def shape(name):
    """How many samples, columns as prepared, classes, and rows of the smallest."""
    table, y = load(name)
    X = preparation().fit_transform(table)
    return dict(samples=len(X), features=X.shape[1], classes=int(y.max()) + 1) | {
        "smallest": int(np.bincount(y).min())
    }


def rows(only="", folds=10, jobs=1):
    """Row by row, those whose name (task/set/method) starts with `only`."""
    for name in SETS:
        if f"{SHAPE}/{name}".startswith(only):
            yield dict(task=SHAPE, set=name, method=SHAPE, **shape(name))
        for task, (methods, run) in TASKS.items():
            for method in methods:
                if f"{task}/{name}/{method}".startswith(only):
                    # a fit that stops short is a result
                    with warnings.catch_warnings(action="ignore"):
                        found = run(name, method)
                    if found:
                        yield dict(task=task, set=name, method=method, **found)
