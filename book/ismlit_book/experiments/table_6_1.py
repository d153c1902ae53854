"""Table 6.1 and Table D.7: networks solved layer by layer, against MLPs, on eight sets, ten folds.

Two readings serve the whole table: the text's, here ("H, text", "CE, text", "MSE, text"), and that
of the authors' program, in `program_6_1`. The other methods are readings tried beside them, ours,
and peers. Every fold's training part is scaled by its own mean and deviation; its test part by
those of the training part, and (as the published runs did) by its own.
"""

import warnings
from bisect import bisect
from functools import partial
from time import perf_counter

import numpy as np
from ismlit import (
    ConstantKernelError,
    KernelDependenceNetwork,
    datasets,
    label_gamma,
    one_hot,
)
from ismlit.bandwidth import best_bandwidth
from ismlit.dependence import Alignment, normalized_hsic
from scipy.special import softmax
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss, silhouette_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import Bunch

from ismlit_book import loaders, printed, results
from ismlit_book.experiments import SEED, clocked, named, several
from ismlit_book.methods.measures import geometry
from ismlit_book.methods.networks import PublishedNetwork, plain_ism

SETS = {
    "random": loaders.load_random,
    "adver": loaders.load_adversarial,
    "spiral": loaders.load_spiral,
    "wine": load_wine,
    "cancer": loaders.load_cancer,
    "car": lambda: _published_label(loaders.load_car()),
    "face": loaders.load_face,
    "divorce": loaders.load_divorce,
}
VARIANTS = {
    "random, 80 x 2": lambda: _pair(datasets.make_random_labels(random_state=SEED)),
    "cancer, 615 rows": loaders.load_cancer_615,
    "car, UCI classes": loaders.load_car,
}
"""What the text says of Random, the rows that were read of Cancer, the label that Car has."""
FILES = {"adver": "adversarial", "cancer, 615 rows": "cancer-615", "car, UCI classes": "car"}
"""Names in `loaders.FILES` where they differ."""

DESCRIBED = dict(bandwidth="hsic", random_features=150, random_state=SEED)
NETWORKS = {
    "H": dict(early_stopping=False, bandwidth="normalized_hsic"),
    "H, as described": DESCRIBED,
    "H, as described, exact": DESCRIBED | {"random_features": None},
    "H, as described, normalised": DESCRIBED | {"bandwidth": "normalized_hsic"},
}
"""Ours; by the program's layers until HSIC 0.99; without random features; sigma by (6.14)."""
STOPPED = "H, as described, silhouette"
"""By the program's rules: stopped when the silhouette passes 0.95 instead of HSIC 0.99."""
GRIDS = {
    "SVM, tuned": (SVC(), {"C": [1, 10, 100, 1000], "gamma": ["scale", 0.01, 0.1, 1, 10]}),
    "MLP, tuned": (
        MLPClassifier(max_iter=500, random_state=SEED),
        {"hidden_layer_sizes": [(100,), (100, 100)], "alpha": [1e-4, 1]},
    ),
}
PEERS = {
    "SVM": SVC,
    "random forest": partial(RandomForestClassifier, random_state=SEED),
    **{name: partial(GridSearchCV, *grid, cv=3) for name, grid in GRIDS.items()},
}
MLPS = ("CE", "MSE", "CE, 300 wide", "MSE, 300 wide")
"""As deep as the network of that fold, with its widths or with 300 units a layer."""
TEXT = {loss: f"{loss}, text" for loss in ("H", "CE", "MSE")}
"""Section 6.5 as it is written: exact layers, sigma for the output, H above 0.99; MLPs as wide."""
TURNS = 3
"""Of sigma and W, in a layer of the text's network."""
METHODS = (*NETWORKS, STOPPED, *TEXT.values(), *MLPS, *PEERS)


def _published_label(car):
    return Bunch(data=car.data, target=car.published)


def _pair(found):
    return Bunch(data=found[0], target=found[1])


def data_of(name):
    """X (n, d) without constant columns, and y (n,) as 0, 1, 2, ..."""
    bunch = (SETS | VARIANTS)[name]()
    spread = bunch.data.std(axis=0) > 0
    return bunch.data[:, spread], np.unique(bunch.target, return_inverse=True)[1]


def folds_of(name, folds=10):
    """X, y, and (training rows, test rows) of the folds that are run."""
    X, y = data_of(name)
    return X, y, list(KFold(10, shuffle=True, random_state=SEED).split(X))[:folds]


def scaled(X, train, test):
    """Training part; test part scaled by the training part's numbers, and by its own."""
    scaler = StandardScaler().fit(X[train])
    return *map(scaler.transform, (X[train], X[test])), StandardScaler().fit_transform(X[test])


def one(method, X, y, train, test, widths=None):
    """One fold of one method, as a dict of numbers; `widths` of the network, for the MLPs."""
    A, B, own = scaled(X, train, test)
    with warnings.catch_warnings(action="ignore"):  # a network that stops short is a result here
        fit = lambda: made(method, A, y[train], widths).fit(A, y[train])
        model, seconds = clocked(perf_counter, fit)
        found = {
            "train": model.score(A, y[train]),
            "test": model.score(B, y[test]),
            "test, own scaling": model.score(own, y[test]),
            "H of test predictions": agreement(model.predict(B), y[test]),
            "seconds": seconds,
        }
        found |= described(model, A, y[train])
    return found


def made(method, A, y, widths=None):
    """A model to be fitted; of the one that is stopped this takes a fit as well."""
    if method in (*MLPS, TEXT["CE"], TEXT["MSE"]):
        loss, _, kind = method.partition(", ")
        loss = "one-hot" if method == TEXT["MSE"] else loss
        return perceptron(loss, [300 if kind == "300 wide" else q for q in widths])
    if method == STOPPED:
        return PublishedNetwork(**DESCRIBED | {"threshold": 1.0}, max_layers=stop(A, y))
    if method == TEXT["H"]:
        return FromOutput(bandwidth="normalized_hsic", random_state=SEED)
    if method in NETWORKS:
        kind = PublishedNetwork if "described" in method else KernelDependenceNetwork
        return kind(**NETWORKS[method])
    return PEERS[method]()


def stop(A, y, level=0.95):
    """The first layer whose images have a mean silhouette above `level`, else the twelfth."""
    network = PublishedNetwork(**DESCRIBED | {"threshold": 1.0}).fit(A, y)
    for l in range(1, len(network.layers_) + 1):
        if silhouette_score(network.images(A, l), y) > level:
            return l
    return len(network.layers_)


class FromOutput(PublishedNetwork):
    """Algorithm 5 with the bandwidths of section 6.5: sigma and W in turns.

    sigma is to maximise normalised HSIC of the layer's output; the first one is of the input.
    """

    def _solved(self, solver, R):
        sigma, _ = solver.bandwidth(R)
        for _ in range(TURNS):
            W = plain_ism(solver, R, sigma)
            sigma, _ = solver.bandwidth(R @ W)
        return sigma, W


class OneHot(MLPRegressor):
    """An MLP that regresses the one-hot label; `predict` takes the largest output."""

    def predict(self, X):
        """The class with the largest output."""
        return super().predict(X).argmax(axis=1)

    def fit(self, X, y):
        """Fit to one-hot labels."""
        return super().fit(X, one_hot(y))

    def score(self, X, y):
        """Accuracy."""
        return float(np.mean(self.predict(X) == y))


class Codes(MLPRegressor):
    """An MLP that regresses the class number; `predict` rounds. C in Table 6.1 gives it away."""

    def predict(self, X):
        """The nearest class number."""
        return np.clip(np.rint(super().predict(X)), 0, self.most_).astype(int)

    def fit(self, X, y):
        """Fit to class numbers 0, 1, 2, ..."""
        self.most_ = y.max()
        return super().fit(X, y.astype(float))

    def score(self, X, y):
        """Accuracy."""
        return float(np.mean(self.predict(X) == y))


def perceptron(loss, widths):
    """An MLP with one hidden layer for each layer of a network, as wide as that."""
    kind = {"CE": MLPClassifier, "MSE": Codes, "one-hot": OneHot}[loss]
    options = dict(alpha=0.0, max_iter=500, tol=1e-6, n_iter_no_change=20, random_state=SEED)
    return kind(hidden_layer_sizes=tuple(widths), **options)


def outputs(model, X):
    """Activations (n, k) of an MLP's last layer before the softmax."""
    for k, (W, b) in enumerate(zip(model.coefs_, model.intercepts_)):
        X = X @ W + b
        X = np.maximum(X, 0) if k < len(model.coefs_) - 1 else X
    return X


def agreement(predicted, y):
    """Normalised HSIC of predicted labels with the true ones; 0 if all are the same."""
    try:
        return normalized_hsic(predicted, y)
    except ConstantKernelError:
        return 0.0


def described(model, A, y):
    """The columns of Table 6.1 that only networks have, on the training data."""
    if isinstance(model, KernelDependenceNetwork):
        layers = [
            geometry(model.images(A, l), layer.kernel, y)
            for l, layer in enumerate(model.layers_, 1)
        ]
        return {
            "L": len(layers),
            "sigma": min(layer.kernel.sigma for layer in model.layers_),
            "widths": [layer.W.shape[1] for layer in model.layers_],
            "sequences": {key: [layer[key] for layer in layers] for key in layers[0]},
        } | layers[-1]
    if isinstance(model, MLPClassifier):
        Z, Y = model.predict_proba(A), np.eye(y.max() + 1)[y]
        raw = outputs(model, A)
        errors = raw - (Y if raw.shape[1] > 1 else y[:, None])
        return _of_outputs(Z, y) | {
            "MSE": float(np.mean(errors**2)),
            "MSE of shares": float(np.mean((Z - Y) ** 2)),
            "CE": float(log_loss(y, Z, labels=np.arange(y.max() + 1))),
        }
    if isinstance(model, OneHot):
        Z, Y = outputs(model, A), one_hot(y)
        entropy = log_loss(y, softmax(Z, axis=1), labels=np.arange(Y.shape[1]))
        return _of_outputs(Z, y) | {"MSE": float(np.mean((Z - Y) ** 2)), "CE": float(entropy)}
    if isinstance(model, Codes):
        Z = outputs(model, A)
        return _of_outputs(Z, y) | {"MSE": float(np.mean((Z[:, 0] - y) ** 2))}
    return {"H": agreement(model.predict(A), y)}


def _of_outputs(Z, y):
    """H, C and T of an MLP's outputs Z (n, k): H with the best Gaussian kernel."""
    same, inner = y[:, None] == y, Z @ Z.T
    squares = np.maximum(np.diag(inner)[:, None] + np.diag(inner) - 2 * inner, 0)
    size = np.sqrt(squares.mean()) or 1.0
    score = Alignment(label_gamma(y))
    return {
        "H": best_bandwidth(squares, score, 1e-3 * size, 1e2 * size)[1],
        "C": float(inner[~same].sum() / inner[same].sum()),
        "C mean": float(inner[~same].mean() / inner[same].mean()),
        "T": float(squares[same].sum() / squares[~same].sum()) if squares.any() else None,
    }


def row_of(name, method, folds=10, jobs=1):
    """What `one` gives, as lists over the folds."""
    X, y, splits = folds_of(name, folds)
    extra = [()] * len(splits)
    if method in (*MLPS, TEXT["CE"], TEXT["MSE"]):
        of = STOPPED if method in MLPS else TEXT["H"]
        extra = [(widths,) for widths in network_widths(name, folds, jobs, of)]
    return several(one, [(method, X, y, *a, *b) for a, b in zip(splits, extra)], jobs)


def network_widths(name, folds, jobs, method=STOPPED):
    """The widths of a network, fold by fold; stored, or made."""
    wanted = {"set": name, "method": method}
    row = next((r for r in results("table-6.1") if wanted.items() <= r.items()), None)
    return (row or row_of(name, method, folds, jobs))["widths"][:folds]


def rows(only="", folds=10, jobs=1):
    """Row by row, those whose name (set/method) starts with `only`."""
    for name, method in named(only, SETS | VARIANTS, METHODS):
        if name in SETS or method in ("H", STOPPED, *PEERS):
            yield {"set": name, "method": method} | row_of(name, method, folds, jobs)


# ---------------------------------------------------------------- beside the print

CELLS = ("train", "test", "H", "sigma", "L", "MSE", "CE", "C", "T")
"""The printed columns but the seconds, which are another machine's."""
MARGIN = {key: (0.03, 0.0) for key in CELLS} | {
    "L": (0.5, 0.0),
    "sigma": (0.0, 0.15),
    "MSE": (0.03, 0.15),
    "CE": (0.03, 0.15),
}
"""What other folds, features and steps may change: a least margin, and a share of the number."""
SHARES = ("train", "test", "H")
"""The columns between 0 and 1."""
SPREAD = dict.fromkeys(CELLS, (0.1, 0.0)) | {
    "L": (1.0, 0.0),
    "sigma": (0.0, 0.15),
    "MSE": (0.03, 0.5),
    "CE": (0.03, 0.5),
}
"""What two standard errors add to it at most, as a number or a share of the printed one: a cell
whose folds differ by more than their mean says nothing of that mean."""
PROGRAM = "program"
OTHERS = {
    "H": [STOPPED, "H, as described", "H, as described, normalised", "H, as described, exact"],
    "CE": ["CE", "CE, 300 wide"],
    "MSE": ["MSE", "MSE, 300 wide"],
}
"""Readings tried beside the two: of the layers, and of the MLPs by scikit-learn's Adam."""


def cells_of(row):
    """The printed columns that a row is judged by; the L of an MLP is its network's."""
    return [key for key in CELLS if row[key] and (key != "L" or row["method"] == "H")]


def values(row, reading, stored, program):
    """{column: its values over the folds} of a printed row by a reading; {} if it was not run."""
    name, method = row["set"], row["method"]
    rows = {(r["set"], r["method"]): r for r in stored}
    if reading == "text":
        found = rows.get((name, TEXT[method]), {})
        return found | ({"MSE": found["MSE of shares"]} if "MSE of shares" in found else {})
    if reading == PROGRAM:
        return {(r["set"], r["method"]): r for r in program}[name, method]
    found = rows[name, reading]
    return found | {"test": found["test, own scaling"], "C": found["C mean"]}


def allowed(found, row, key):
    """How far our mean of a cell may be from the printed one: `MARGIN`, and two standard errors.

    They add at most what `SPREAD` says, so that no spread of the folds lets every value pass.
    """
    here = [value for value in found[key] if value is not None]
    said, spread = float(row[key]), float(row.get(f"{key} sd") or 0)
    error = 2 * np.sqrt(np.var(here) / len(here) + spread**2 / 10)
    margin, most = (max(least, share * said) for least, share in (MARGIN[key], SPREAD[key]))
    return margin + min(error, most)


def near(found, row, key):
    """Whether a printed cell comes out."""
    here = [value for value in found.get(key, []) if value is not None]
    if not here:
        return False
    return bool(abs(np.mean(here) - float(row[key])) <= allowed(found, row, key))


def would_pass(found, row, key):
    """The least and the largest number that would come out in the place of the printed one.

    Both have its digits, and are none below 0 nor, of a share, above 1.
    """
    digits = len(row[key].partition(".")[2])
    here, unit = round(float(row[key]) * 10**digits), 10**-digits
    end = 10**digits if key in SHARES else 10 * here + 10 ** (digits + 1)
    misses = lambda k: not near(found, row | {key: str(k * unit)}, key)
    above = bisect(range(here, end + 1), False, key=misses)
    below = bisect(range(here, -1, -1), False, key=misses)
    return tuple(f"{k * unit:.{digits}f}" for k in (here - below + 1, here + above - 1))


def judge(row, reading, stored, program):
    """{column: whether it comes out} of a printed row by a reading."""
    found = values(row, reading, stored, program)
    return {key: near(found, row, key) for key in cells_of(row) if found}


def table():
    """The printed rows of Table 6.1."""
    return printed("table-6.1")
