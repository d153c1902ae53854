"""Beyond the thesis: the network beside other classifiers on ten public sets, on the same folds.

Every method is taken as it comes; one more support vector machine has its two parameters chosen
by three inner folds. Accuracy, log loss, seconds of a processor, and how often a probability
keeps its word. Made sets with noise or with nothing to learn show where each gains and fails.
"""

import warnings
from functools import partial
from itertools import islice
from time import process_time

import numpy as np
from ismlit import KernelDependenceNetwork, datasets, median_distance, one_hot
from scipy.spatial.distance import cdist
from sklearn import datasets as shipped
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import scale
from sklearn.svm import SVC
from sklearn.utils import Bunch

from ismlit_book import loaders
from ismlit_book.experiments import SEED, clocked, named, over_runs, scaled_folds

PUBLIC = {
    "iris": shipped.load_iris,
    "divorce": loaders.load_divorce,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "faces": loaders.load_face_27,
    "cancer": loaders.load_cancer,
    "WebKB": loaders.load_webkb,
    "car": loaders.load_car,
    "digits": load_digits,
    "Reuters": lambda: some(loaders.load_reuters(), 1000),
}
MADE = {
    "spiral in noise": lambda: noisy_spiral(600, SEED),
    "random": loaders.load_random,
    "adversarial": loaders.load_adversarial,
}
SETS = PUBLIC | MADE
FOLDS = 5
THESIS = dict(early_stopping=False, bandwidth="normalized_hsic")
"""A network as the thesis grows it: no rows held out, sigma by (6.14) alone."""


def noisy_spiral(n_samples, seed):
    """Three arms in the first two columns; the other ten are noise."""
    plane, arm = datasets.make_spiral(n_samples, random_state=seed)
    noise = np.random.default_rng(seed).standard_normal((n_samples, 10))
    return Bunch(data=np.hstack([scale(plane), noise]), target=arm)


def some(bunch, size):
    """So many rows of a set, drawn at random."""
    rows = np.random.default_rng(SEED).permutation(len(bunch.target))[:size]
    return Bunch(data=bunch.data[rows], target=bunch.target[rows])


# ---------------------------------------------------------------- the methods


def calibrated():
    """The network with a temperature, by three inner folds."""
    return CalibratedClassifierCV(KernelDependenceNetwork(), method="temperature", cv=3)


def tuned_machine():
    """A Gaussian support vector machine, its parameters by three inner folds."""
    grid = {"C": [1, 10, 100], "gamma": ["scale", 0.001, 0.01, 0.1, 1]}
    return GridSearchCV(SVC(), grid, cv=3)


class FeatureMachine(ClassifierMixin, BaseEstimator):
    """A recursive feature machine (Radhakrishnan et al. 2024): `turns` ridge fits by a Laplace
    kernel of the median distance, each in the metric of the gradients of the one before.
    """

    def __init__(self, turns=5, ridge=1e-3):
        self.turns = turns
        self.ridge = ridge

    def fit(self, X, y):
        """Learn the metric ``root_ root_'`` (d, d) and the weights from X (n, d) and y (n,)."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.sigma_, self.root_ = median_distance(X), np.eye(X.shape[1])
        for turn in range(1, self.turns + 1):
            self.centres_ = X @ self.root_
            r = cdist(self.centres_, self.centres_)
            K = np.exp(-r / self.sigma_)
            self.weights_ = np.linalg.solve(K + self.ridge * np.eye(len(X)), one_hot(codes))
            if turn < self.turns:
                slopes = np.divide(-K, self.sigma_ * r, out=np.zeros_like(K), where=r > 0)
                self.root_ = self._next_root(X, slopes)
        return self

    def _next_root(self, X, slopes):
        """A root of the mean outer product of the gradients, scaled to the trace d."""
        metric = 0
        for weights in self.weights_.T:
            S = slopes * weights
            steps = (S.sum(axis=1)[:, None] * X - S @ X) @ self.root_ @ self.root_.T
            metric = metric + steps.T @ steps
        values, vectors = np.linalg.eigh(metric)
        return vectors * np.sqrt(np.maximum(values, 0) * len(metric) / np.trace(metric))

    def predict(self, X):
        """The class with the largest output, (n,)."""
        K = np.exp(-cdist(X @ self.root_, self.centres_) / self.sigma_)
        return self.classes_[(K @ self.weights_).argmax(axis=1)]


SHAPE = "shape"
CALIBRATED = "network, calibrated"
GROWN, SOONER = "network, until H = 0.99", "network, until H = 0.8"
METHODS = {
    "network": KernelDependenceNetwork,
    CALIBRATED: calibrated,
    "logistic regression": partial(LogisticRegression, max_iter=2000),
    "SVM": SVC,
    "SVM, tuned": tuned_machine,
    "boosting": partial(HistGradientBoostingClassifier, random_state=SEED),
    "MLP": partial(MLPClassifier, max_iter=500, random_state=SEED),
    "feature machine": FeatureMachine,
    GROWN: partial(KernelDependenceNetwork, **THESIS),
    SOONER: partial(KernelDependenceNetwork, **THESIS, threshold=0.8),
}
GROWN_ON = {GROWN: ("wine", "breast cancer", "random", "adversarial"), SOONER: ("breast cancer",)}
"""Where a network that stops by its training rows is run: it takes minutes on the others."""

EDGES = np.linspace(0, 1, 11)
"""Bins of the probability of the predicted class."""

# ---------------------------------------------------------------- one fold


def arrays(name):
    """X (n, d) without constant columns, and y (n,)."""
    bunch = SETS[name]()
    return bunch.data[:, bunch.data.std(axis=0) > 0], bunch.target


def one(method, A, B, y_A, y_B):
    """A method trained on A (n, d), y_A and tried on B (m, d), y_B, as a dict of numbers."""
    with warnings.catch_warnings(action="ignore"):  # a fit that stops short is a result here
        model, seconds = clocked(process_time, METHODS[method]().fit, A, y_A)
        given, more = clocked(process_time, model.predict, B)
        found = {
            "train": float(model.score(A, y_A)),
            "test": float(np.mean(given == y_B)),
            "balanced": float(balanced_accuracy_score(y_B, given)),
            "seconds": seconds,
            "seconds to predict": more,
        }
    if isinstance(model, KernelDependenceNetwork):
        found |= of_network(model)
    if hasattr(model, "predict_proba"):
        found |= of_probabilities(model, B, y_B)
    return found


def of_network(model):
    """What the network says of itself."""
    return {
        "H": float(model.history_["agreement"][-1]),
        "layers": len(model.layers_),
        "projected": bool(model.layers_[0].W.shape[0] > model.layers_[0].W.shape[1]),
        "held out": getattr(model, "validation_score_", None),
    }


def of_probabilities(model, B, y_B):
    """Log loss, and in bins of the largest probability: how many, how many right, their sum."""
    p = model.predict_proba(B)
    surest, right = p.max(axis=1), model.classes_[p.argmax(axis=1)] == y_B
    place = np.clip(np.digitize(surest, EDGES) - 1, 0, len(EDGES) - 2)
    count = lambda weights: np.bincount(place, weights, len(EDGES) - 1).round(4).tolist()
    return {
        "log loss": float(log_loss(y_B, np.clip(p, 1e-12, 1), labels=model.classes_)),
        "bins": [count(None), count(right.astype(float)), count(surest)],
    }


def row(name, method, folds=FOLDS):
    """What `one` gives, as lists over the folds."""
    first = islice(scaled_folds(*arrays(name)), folds)
    return over_runs([one(method, *fold) for fold in first])


def lead(one, other):
    """Points by which one row's accuracies are ahead of another's, and the standard error."""
    ahead = 100 * (np.array(one["test"]) - np.array(other["test"]))
    return ahead.mean(), ahead.std(ddof=1) / np.sqrt(len(ahead))


def shape(name):
    """How many samples, features and classes."""
    X, y = arrays(name)
    return {"samples": len(X), "features": X.shape[1], "classes": len(np.unique(y))}


def wanted(name, method):
    """Whether a method is run on a set."""
    return name in GROWN_ON.get(method, SETS)


def rows(only="", folds=10, jobs=1):
    """Row by row, those whose name (set/method) starts with `only`; two folds if `folds` is 2."""
    for name, method in named(only, SETS, (SHAPE, *METHODS)):
        if method == SHAPE:
            yield dict(set=name, method=SHAPE, **shape(name))
        elif wanted(name, method):
            yield dict(set=name, method=method, **row(name, method, folds))
