"""Beyond the thesis: directions for a response, as they come, on sets that nothing was chosen on.

The sets: all that the public collection of `public` lists under regression, with more than one
column and fewer than 6000 rows, and one more of cars. Every method has its defaults, but that the
bandwidth of gradient-based KDR is chosen on inner folds, since none serves for all; "whitened" is
`ResponseIKDR` after PCA with whitening, which SIR and SAVE have inside. On five folds,
each prepared by its training part: two components, then fifteen nearest neighbours.
"""

from functools import partial
from time import process_time

import numpy as np
import pandas as pd
from ismlit import SAVE, GradientKDR, ResponseIKDR, SlicedInverseRegression
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from ismlit_book import loaders
from ismlit_book.experiments import SEED, clocked, named
from ismlit_book.experiments.public import FOLDS, preparation

SETS = {
    "abalone": "abalone",
    "car prices": "auto_imports",
    "housing": "housing",
    "miles a gallon": "mpg",
    "red wine": "winequality-red",
    "white wine": "winequality-white",
}
"""Names, and those in `loaders.FILES`."""


def load(name):
    """The features as a table, numbers and words, and the response y (n,)."""
    (path,) = loaders.fetch(SETS[name])
    if name == "miles a gallon":
        table = pd.read_csv(path).drop(columns="name")
        return table, table.pop("mpg").to_numpy()
    table = pd.read_csv(path, header=None, na_values="?").rename(columns=str)
    return table, table.pop(table.columns[-1]).to_numpy(float)


class Components(PLSRegression):
    """Partial least squares as a step of a pipeline: the components of X alone."""

    def fit_transform(self, X, y=None):
        """Learn from X (n, d) and y (n,); X on its components (n, q)."""
        return self.fit(X, y).transform(X)


def neighbours(reduce=None):
    """Fifteen nearest neighbours, on what a reduction makes of the columns if there is one."""
    return make_pipeline(reduce or "passthrough", KNeighborsRegressor(15))


def chosen(model):
    """The bandwidth of gradient-based KDR chosen on inner folds."""
    return GridSearchCV(model, {"gradientkdr__bandwidth": [0.25, 0.5, 1.0, 2.0]}, cv=3)


def whitened(step):
    """A step before which columns that say the same are pulled apart."""
    return make_pipeline(PCA(1 - 1e-9, whiten=True), step)


METHODS = {
    "ResponseIKDR": lambda: neighbours(ResponseIKDR(2, ridge=np.inf, random_state=SEED)),
    "whitened": lambda: neighbours(whitened(ResponseIKDR(2, ridge=np.inf, random_state=SEED))),
    "SIR": lambda: neighbours(SlicedInverseRegression(2)),
    "SAVE": lambda: neighbours(SAVE(2)),
    "gradient KDR": lambda: chosen(neighbours(GradientKDR(2))),
    "PLS": lambda: neighbours(Components(2)),
    "PCA": lambda: neighbours(PCA(2)),
    "all columns": neighbours,
    "ridge": partial(RidgeCV, np.logspace(-3, 3, 7)),
    "boosting": partial(HistGradientBoostingRegressor, random_state=SEED),
}


def explained(name, method, read=None, methods=METHODS):
    """The share of the variance explained (R²) and seconds of the fit on each fold."""
    table, y = (read or load)(name)
    found = {"R2": [], "seconds": []}
    for a, b in KFold(FOLDS, shuffle=True, random_state=SEED).split(table):
        prepare = preparation().fit(table.iloc[a])
        A, B = (prepare.transform(table.iloc[part]) for part in (a, b))
        model, seconds = clocked(process_time, methods[method]().fit, A, y[a])
        found["seconds"].append(seconds)
        found["R2"].append(float(r2_score(y[b], model.predict(B))))
    return found


def rows(only="", folds=10, jobs=1):
    """Row by row, those whose name (set/method) starts with `only`."""
    for name, method in named(only, SETS, METHODS):
        samples, columns = load(name)[0].shape
        size = dict(samples=samples, columns=columns)
        yield dict(set=name, method=method) | size | explained(name, method)
