"""Table 6.1 as the authors' program ran it: not the text's Algorithm 5.

What differs from the text (`table_6_1`): sigma is that of the layer's *input*, by BFGS on at most
200 of its samples; the depth is decided by the silhouette of the images; layers learn from 300
random cosines, not from kernels; H is centred on one side. The perceptrons learn in batches of 10
until their worst batch no longer improves; the MSE net regresses the number of the class with the
sum of its outputs; and the labels of a test part are renumbered by themselves, for them alone.
"""

import warnings
from dataclasses import dataclass
from itertools import product
from time import perf_counter

import numpy as np
from ismlit import ConstantKernelError, Gaussian, Problem, centre, label_gamma
from ismlit.solvers.starts import starting_point
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, silhouette_score
from tqdm import tqdm

from ismlit_book import results
from ismlit_book.experiments import SEED, clocked, several, shortened, table_6_1
from ismlit_book.experiments.program_4_2 import LEAST, WINDOW, started
from ismlit_book.methods.knet.perceptron import Adam
from ismlit_book.methods.published import published_ism

SETS = {name: name for name in table_6_1.SETS} | {"cancer": "cancer, 615 rows"}
"""What was read of each set: of Cancer not all."""
FEATURES, SAMPLE, DEEPEST = 300, 200, 30
APART, NEAR, SETTLED = 0.95, 0.80, 1e-3
"""Silhouettes: above the first a network ends; above the second it does if the change is less."""
BATCH, RATE, EPOCHS, ENOUGH, WIDTH = 10, 1e-3, 5000, 1e-5, 300
BLOCK = 2**14
"""Weights that Adam moves at once: few enough for a processor's cache."""
FOLDS = {
    "H": dict.fromkeys(SETS, 10),
    "CE": dict.fromkeys(SETS, 10) | dict(adver=3),
    "MSE": dict.fromkeys(SETS, 10) | dict(adver=3, spiral=1, cancer=2, car=1, face=1),
}
"""How many of the ten folds are run, for their time. Stored of Face: 200 epochs of the MSE net."""


# ---------------------------------------------------------------- a layer


@dataclass(frozen=True, eq=False)
class CosineLayer:
    """Images R W, and random cosines of them: sqrt(2/m) cos(Z omega / sigma + phase)."""

    W: np.ndarray
    sigma: float
    frequencies: np.ndarray
    phases: np.ndarray

    def images(self, R):
        """Z = R W of shape (n, q)."""
        return R @ self.W

    def __call__(self, R):
        m = len(self.phases)
        angles = self.images(R) @ self.frequencies / self.sigma + self.phases
        return np.sqrt(2 / m) * np.cos(angles)


def sigma_of(R, y, rng, most=SAMPLE):
    """The bandwidth where BFGS from the median distance ends: sum Gamma o K over some rows of R."""
    rows = rng.permutation(len(R))[:most]
    distances = squareform(pdist(R[rows]))
    F = label_gamma(y[rows]).F
    loss = lambda s: -float(np.sum(F * (np.exp(-(distances**2) / (2 * s[0] ** 2)) @ F)))
    start = np.median(distances)
    return abs(float(minimize(loss, [start], method="BFGS").x[0]))


def width_of(R, classes):
    """90 % of the sum of the singular values of R as it is, at least two a class."""
    sizes = np.cumsum(np.linalg.svd(R, compute_uv=False))
    needed = int(np.searchsorted(sizes, 0.9 * sizes[-1])) + 1
    return min(max(needed, 2 * classes), R.shape[1])


def solved(R, y, rng, features=FEATURES):
    """A layer on the input R (n, m)."""
    sigma, q = sigma_of(R, y, rng), width_of(R, y.max() + 1)
    W = directions(R, y, sigma, q)
    frequencies = rng.standard_normal((q, features))
    return CosineLayer(W, sigma, frequencies, rng.uniform(0, 2 * np.pi, features))


def directions(R, y, sigma, q):
    """W by ISM; where sigma is so small that Phi is 0, its start: there is nothing to follow."""
    gamma, options = label_gamma(y), dict(init="taylor", tol=1e-2, max_iter=200)
    with warnings.catch_warnings(action="ignore"):
        try:
            return published_ism(R, gamma, Gaussian(sigma), q, **options).W
        except ConstantKernelError:
            return starting_point(Problem(R, gamma, Gaussian(1.0)), q, "taylor")


@dataclass(frozen=True, eq=False)
class Network:
    """Layers, and the output: a projection of the last cosines and the class means there."""

    layers: list
    silhouettes: list
    V: np.ndarray
    means: np.ndarray

    def predict(self, X):
        """The class of the nearest mean."""
        return cdist(through(self.layers, X) @ self.V, self.means).argmin(axis=1)


def through(layers, X):
    """The output of the last of some layers."""
    for layer in layers:
        X = layer(X)
    return X


def network(X, y, rng):
    """Layers until the silhouette of the images says that the classes are apart."""
    layers, silhouettes, R = [], [], X
    while len(layers) < DEEPEST and not _apart(silhouettes):
        layers.append(solved(R, y, rng))
        silhouettes.append(float(silhouette_score(layers[-1].images(R), y)))
        R = layers[-1](R)
    classes = y.max() + 1
    A = R.T @ label_gamma(y).F
    V = np.linalg.eigh(A @ A.T)[1][:, -classes:]
    Z = R @ V
    means = np.array([Z[y == k].mean(axis=0) for k in range(classes)])
    return Network(layers, silhouettes, V, means)


def _apart(silhouettes):
    if not silhouettes:
        return False
    settled = len(silhouettes) > 1 and abs(silhouettes[-1] - silhouettes[-2]) < SETTLED
    return silhouettes[-1] >= APART or (silhouettes[-1] > NEAR and settled)


# ---------------------------------------------------------------- what is measured


def one_sided(K, y):
    """<HK, HYY'> / (|HK| |HYY'|): centred by columns only."""
    A, B = centre(K), centre((y[:, None] == y).astype(float))
    return float(np.sum(A * B) / np.linalg.norm(A) / np.linalg.norm(B))


def ratios(inner, Z, y):
    """C: mean inner product between classes over that within. T: distances, summed likewise."""
    same, distances = y[:, None] == y, cdist(Z, Z)
    between = distances[~same].sum()
    return {
        "C": float(inner[~same].mean() / inner[same].mean()),
        "T": float(distances[same].sum() / between) if between else None,
    }


def cross_entropy(F, y):
    """Of softmax regression on features F with scikit-learn's default penalty.

    Two classes have a weight vector each as well, which halves the penalty of their difference.
    """
    C = 2.0 if y.max() == 1 else 1.0
    fitted = LogisticRegression(C=C, max_iter=1000).fit(F, y)
    return float(log_loss(y, fitted.predict_proba(F)))


def measured(layer, R, y):
    """What section 6.5 measures of a layer on its input R."""
    Z, F = layer.images(R), layer(R)
    means = np.array([Z[y == k].mean(axis=0) for k in range(y.max() + 1)])
    inner = F @ F.T
    return {
        "H": one_sided(inner, y),
        "MSE": float(np.mean(np.sum((Z - means[y]) ** 2, axis=1))),
        "CE": cross_entropy(F, y),
        **ratios(inner, Z, y),
    }


# ---------------------------------------------------------------- perceptrons


def renumbered(y):
    """Labels 0, 1, 2, ... of the classes that there are."""
    return np.unique(y, return_inverse=True)[1]


def gradient_of(loss, outputs, y):
    """The loss of every sample, and the gradient of their mean in the outputs (n, c)."""
    if loss == "CE":
        log_p = log_softmax(outputs, axis=1)
        own = np.arange(len(y)), y
        G = np.exp(log_p)
        G[own] -= 1
        return -log_p[own], G / len(y)
    errors = outputs.sum(axis=1) - y
    G = np.repeat(2 * errors[:, None], outputs.shape[1], axis=1)
    return errors**2, G / len(y)


def single(adam):
    """An optimiser in single precision."""
    adam.mean, adam.square = adam.mean.astype(np.float32), adam.square.astype(np.float32)
    return adam


def perceptron(loss, X, y, depth, rng, most=EPOCHS, width=WIDTH):
    """An MLP with so many hidden layers, and the loss of the worst batch of each epoch."""
    net = started([X.shape[1], *[width] * depth, y.max() + 1], rng)
    net.theta = net.theta.astype(np.float32)
    parts = np.array_split(np.arange(net.theta.size), -(-net.theta.size // BLOCK))
    adams = [(slice(part[0], part[-1] + 1), single(Adam(len(part), RATE))) for part in parts]
    X, worst = X.astype(np.float32), []
    bar = tqdm(range(most), desc=f"{loss}, {len(X)} samples", unit="epoch", leave=False)
    for _ in bar:
        losses = []
        order = rng.permutation(len(X))
        for B in np.array_split(order, range(BATCH, len(X), BATCH)):
            outputs, inputs = net.forward(X[B])
            values, G = gradient_of(loss, outputs, y[B])
            gradient = net.backward(inputs, -G.astype(np.float32), False)[0]
            for part, adam in adams:
                adam.ascend(net.theta[part], gradient[part])
            losses.append(values.mean())
        worst.append(float(max(losses)))
        bar.set_postfix(worst=worst[-1])
        if worst[-1] < ENOUGH or (len(worst) > LEAST and _slope(worst[-WINDOW:]) >= 0):
            break
    bar.close()
    return net, worst


def _slope(values):
    return np.polyfit(np.arange(len(values)), values, 1)[0]


def of_outputs(loss, outputs, y):
    """The columns of the table that there are of a perceptron."""
    outputs = outputs.astype(float)
    total = outputs.sum(axis=1, keepdims=True)
    shares = np.exp(log_softmax(outputs, axis=1))
    Z = shares if loss == "CE" else total
    K = Z @ Z.T if loss == "CE" else np.exp(-(cdist(Z, Z) ** 2) / (2 * 0.2**2))
    return {
        "H": one_sided(K, y),
        "MSE": float(gradient_of("MSE", outputs, y)[0].mean()),
        "CE": float(gradient_of("CE", outputs, y)[0].mean()),
        **ratios(Z @ Z.T, Z, y),
    }


def classes_of(loss, outputs):
    """The largest output, or the sum of all, rounded."""
    return outputs.argmax(axis=1) if loss == "CE" else np.rint(outputs.sum(axis=1)).astype(int)


# ---------------------------------------------------------------- rows


def fold_of(name, k):
    """Training part and test part of a fold, each scaled by itself, with their labels."""
    X, y, folds = table_6_1.folds_of(SETS[name])
    train, test = folds[k]
    A, _, B = table_6_1.scaled(X, train, test)
    return A, y[train], B, y[test]


def one(name, method, k, depth=None):
    """One fold of one row, as a dict of numbers."""
    A, y, B, truth = fold_of(name, k)
    rng = np.random.RandomState(1000 * SEED + k)
    if method != "H":
        (net, worst), seconds = clocked(perf_counter, perceptron, method, A, y, depth, rng)
        found, guess = net(A.astype(np.float32)), classes_of(method, net(B.astype(np.float32)))
        return {
            "train": float(np.mean(classes_of(method, found) == y)),
            "test": float(np.mean(guess == renumbered(truth))),
            "test, labels kept": float(np.mean(guess == truth)),
            "seconds": seconds,
            "epochs": len(worst),
            "worst": worst[-1],
            "L": depth,
        } | of_outputs(method, found, y)
    model, seconds = clocked(perf_counter, network, A, y, rng)
    inputs = [through(model.layers[:l], A) for l in range(len(model.layers))]
    layers = [measured(*pair, y) for pair in zip(model.layers, inputs)]
    sequences = {key: [layer[key] for layer in layers] for key in layers[0]}
    return {
        "train": float(np.mean(model.predict(A) == y)),
        "test": float(np.mean(model.predict(B) == truth)),
        "sigma": min(layer.sigma for layer in model.layers),
        "seconds": seconds,
        "L": len(layers),
        "widths": [layer.W.shape[1] for layer in model.layers],
        "sigmas": [layer.sigma for layer in model.layers],
        "silhouettes": model.silhouettes,
        "sequences": sequences,
    } | layers[-1]


def rows(only="", folds=10, jobs=1):
    """Row by row, those whose name (set/method) starts with `only`; the networks first."""
    depths = {r["set"]: r["L"] for r in results("program-6.1") if r["method"] == "H"}
    for method, name in product(FOLDS, SETS):
        if not f"{name}/{method}".startswith(only):
            continue
        count = min(folds, FOLDS[method][name])
        depth = depths[name] if method != "H" else [None] * count
        row = several(one, [(name, method, k, depth[k]) for k in range(count)], jobs)
        depths |= {name: row["L"]} if method == "H" else {}
        yield {"set": name, "method": method} | shortened(row)
