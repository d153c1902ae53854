"""Theorem 6.1 on a table: a network whose H rises exactly as asked, beside the solved one."""

import warnings
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from ismlit import Gaussian, KernelDependenceNetwork, label_gamma, median_distance, one_hot
from scipy.linalg import eigh
from scipy.optimize import brentq
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_X_y
from sklearn.utils.multiclass import check_classification_targets

from ismlit_book.methods.measures import class_table, ideal_hsic

SINGULAR = 1e-12  # least eigenvalue of a first Gram matrix that is inverted


@dataclass(frozen=True, eq=False)
class Rise:
    """What `rise` built and measured, a value for each layer.

    Attributes
    ----------
    asked : array of shape (n_layers,)
        H / H* asked for; the first is NaN unless `first` was given.
    measured : array of shape (n_layers,)
        H / H* by a second formula: the sums of K over all pairs of classes.
    deviation : array of shape (n_layers,)
        The largest entry of ``|W'W - I|``.
    spread : array of shape (n_layers,)
        The largest distance within a class over the least distance of two class means.
    sigmas : array of shape (n_layers,)
        Bandwidths.
    images : list of arrays (n_samples, width)
        What each kernel is computed on; the first is X.
    solved : Rise or None
        The same numbers of the network that is solved layer by layer; nothing is asked of it.
    """

    asked: np.ndarray
    measured: np.ndarray
    deviation: np.ndarray
    spread: np.ndarray
    sigmas: np.ndarray
    images: list = field(repr=False)
    solved: "Rise | None" = field(default=None, repr=False)

    def rows(self):
        """One dict of printed numbers for each layer, for a `Grid`; the solved network's last."""
        rows = [
            {
                "layer": layer,
                "asked": "" if np.isnan(asked) else f"{asked:.4f}",
                "measured H / H*": f"{measured:.4f}",
                "|W'W − I| at most": f"{deviation:.6f}",
                "spread of a class": f"{spread:.4f}",
            }
            for layer, (asked, measured, deviation, spread) in enumerate(
                zip(self.asked, self.measured, self.deviation, self.spread), 1
            )
        ]
        solved = self.solved.rows() if self.solved else []
        return rows + [row | {"layer": f"solved {row['layer']}"} for row in solved]

    def plot(self, ax=None):
        """H / H* by layer: crosses as asked, dots as measured, dashed the solved network."""
        from ismlit_book.figures.plots import LINES, _axis, look

        ax = _axis(ax)
        layers = np.arange(1, len(self.measured) + 1)
        ax.plot(layers, self.measured, ls=LINES[0], label="built: measured", **look(0))
        ax.plot(layers, self.asked, "kx", ms=9, label="built: asked for")
        if self.solved:
            other = self.solved.measured
            style = look(1) | dict(ls=LINES[1], label="solved: measured")
            ax.plot(np.arange(1, len(other) + 1), other, **style)
        ax.axhline(1, color="gray", ls=":", lw=0.9)
        longest = max(len(layers), len(self.solved.measured) if self.solved else 0)
        ax.set(xlabel="layer", ylabel="H / H*", xticks=range(1, longest + 1))
        ax.legend(fontsize="small")
        return ax


def rise(X, y, asked=(0.3, 0.6, 0.9, 0.99, 0.999), *, first=None, narrow=0.1, solved=True):
    """Build Theorem 6.1's network on a table: its H is what is asked, at every layer.

    The first layer keeps the samples (W is the identity), the second interpolates the classes,
    further ones are class sums. Only bandwidths are chosen, so that H is what is asked.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Numbers, on comparable scales. Equal rows of one class count once in the second layer.
    y : array of shape (n_samples,)
        Class labels, at least two rows of each.
    asked : sequence of float
        H / H* of the second and further layers: rising, between the first layer's and 1.
    first : float, optional
        H / H* asked of the first layer too. What is below Tr(Gamma) / H* can be had on any table.
    narrow : float, default=0.1
        Bandwidth of the first layer as a share of the median distance, unless `first` is given.
    solved : bool, default=True
        Whether to fit `ismlit.KernelDependenceNetwork` to the same rows, and measure it too.

    Returns
    -------
    Rise

    Raises
    ------
    ValueError
        If equal rows differ in class, rows are so near that K is singular in double precision, a
        class has one row, or a layer is asked for no more than the one before has.

    Notes
    -----
    Takes memory of order n^2 and time of order n^3. Claim: thm-6.1.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit_book import rise
    >>> X, y = load_wine(return_X_y=True)
    >>> rise(scale(X), y, [0.5, 0.9], first=0.05, solved=False).measured.round(6)
    array([0.05, 0.5 , 0.9 ])
    """
    X, y = check_X_y(X, y, dtype=float, ensure_min_samples=2)
    check_classification_targets(y)
    kept = _distinct(X, y)
    asked = _rising(asked, first)
    Y, G = one_hot(y), label_gamma(y).to_dense() / ideal_hsic(y)
    sigma = narrow * median_distance(X)
    if first is not None:
        sigma = _bandwidth(first, X, y, G, "layer 1")
    layers, Z, W_inner = [], X, np.eye(X.shape[1])
    for layer, h in enumerate([*asked[1:], None], 1):
        K = Gaussian(sigma).f(cdist(Z, Z, "sqeuclidean"))
        layers.append((asked[layer - 1], *_measures(Z, K, W_inner, y), sigma, Z))
        if h is None:
            break
        if not h > layers[-1][1]:
            raise ValueError(
                f"layer {layer + 1} is asked for {h}, but layer {layer} has {layers[-1][1]:.4f} "
                "of H*: H is to rise, so ask for more, or for less of the layer before"
            )
        Z, W_inner = _interpolated(K, Y, kept, X) if layer == 1 else _class_sums(K, Y)
        sigma = _bandwidth(h, Z, y, G, f"layer {layer + 1}")
    return _rise(layers, _solve(X, y) if solved else None)


def _distinct(X, y):
    """One row of each group of equal rows, by number; refuses those that differ in class."""
    classes, sizes = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"all rows are of class {classes[0]}: two classes are needed")
    if sizes.min() < 2:
        raise ValueError(
            f"class {classes[sizes.argmin()]} has one row: with such a class H* need not be the "
            "largest value; leave the class out, or merge it with another"
        )
    _, kept, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
    clash = np.flatnonzero(y != y[kept[group.ravel()]])
    if clash.size:
        i, j = sorted((int(kept[group.ravel()[clash[0]]]), int(clash[0])))
        raise ValueError(
            f"rows {i} and {j} are equal, their classes are not ({y[i]} and {y[j]}): every network "
            "gives them one image; leave one of them out"
        )
    return kept


def _rising(asked, first):
    """What is asked of every layer, NaN for a first one of which nothing is."""
    later = np.asarray(asked, dtype=float).ravel()
    every = later if first is None else np.r_[first, later]
    if not len(later) or not ((every > 0) & (every < 1)).all():
        raise ValueError(f"what is asked must lie between 0 and 1 (of H*), got {every.tolist()}")
    for layer, (before, h) in enumerate(pairwise(every), 2 if first is not None else 3):
        if not h > before:
            raise ValueError(
                f"layer {layer} is asked for {h:g}, no more than the {before:g} of the layer before"
            )
    return np.r_[np.nan if first is None else first, later]


def _bandwidth(h, Z, y, G, name):
    """The narrowest bandwidth at which Tr(GK), G = Gamma / H*, is h: on a grid, then as a root."""
    squares = cdist(Z, Z, "sqeuclidean")

    def above(sigma):
        return np.sum(G * np.exp(-squares / (2 * sigma**2))) - h

    apart = np.sqrt(squares[np.not_equal.outer(y, y)])
    widths = np.geomspace(apart.min() / 10, 300 * apart.max(), 200)
    values = np.array([above(sigma) for sigma in widths])
    passed = np.flatnonzero(np.diff(values > 0))
    if not len(passed):
        raise ValueError(
            f"{name} is asked for {h:.4f}, but no bandwidth gives it more than "
            f"{h + values.max():.4f} of H*: ask for less of it"
        )
    low, high = widths[passed[0]], widths[passed[0] + 1]
    return brentq(above, low, high, xtol=1e-15 * high)


def _inverse_root(M):
    values, vectors = eigh(M)
    return vectors / np.sqrt(values) @ vectors.T


def _interpolated(K, Y, kept, X):
    """Images R W and W'W of the second layer: W = R'K^(-1)Y M^(-1/2), M = Y'K^(-1)Y."""
    distinct = K[np.ix_(kept, kept)]
    if eigh(distinct, eigvals_only=True, subset_by_index=[0, 0])[0] > SINGULAR:
        C = np.linalg.solve(distinct, Y[kept])
        C = C @ _inverse_root(C.T @ distinct @ C)  # M as computed: W stays orthonormal
        W_inner = C.T @ distinct @ C
        if np.abs(W_inner - np.eye(len(W_inner))).max() < SINGULAR**0.5:
            return K[:, kept] @ C, W_inner
    apart = cdist(X[kept], X[kept])
    np.fill_diagonal(apart, np.inf)
    i, j = sorted(int(kept[k]) for k in np.unravel_index(apart.argmin(), apart.shape))
    raise ValueError(
        "the first layer's K is singular in double precision: its kernel is too wide to tell all "
        f"rows apart. The nearest are {i} and {j}, {apart.min():.1e} apart. Take a smaller "
        "`narrow`, or another `first`, or leave one of the two out"
    )


def _class_sums(K, Y):
    """Images R W and W'W of a further layer: W = R'Y (Y'KY)^(-1/2)."""
    C = Y @ _inverse_root(Y.T @ K @ Y)
    return K @ C, C.T @ K @ C


def _measures(Z, K, W_inner, y):
    """H / H* by sums over pairs of classes, the deviation of W'W from I, the spread of a class."""
    table, sizes = class_table(y)
    Y = one_hot(y)
    H = np.sum(table * (Y.T @ K @ Y)) / ideal_hsic(y)
    means = Y.T @ Z / sizes[:, None]
    within = max(cdist(Z[each > 0], Z[each > 0]).max() for each in Y.T)
    between = cdist(means, means)[np.triu_indices(len(means), 1)].min()
    deviation = np.abs(W_inner - np.eye(len(W_inner))).max()
    return H, deviation, np.divide(within, between)


def _rise(layers, solved):
    *numbers, images = zip(*layers)
    return Rise(*np.array(numbers, dtype=float), list(images), solved)


def _solve(X, y):
    """The network solved layer by layer on the training rows alone, measured in the same way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        network = KernelDependenceNetwork(early_stopping=False).fit(X, y)
    layers, K = [], np.eye(X.shape[1])
    for l, layer in enumerate(network.layers_, 1):
        W_inner = layer.W.T @ K @ layer.W  # from layer 2 on W = R'C, and `layer.W` is C
        Z, K = network.images(X, l), network.gram(X, layer=l)
        layers.append((np.nan, *_measures(Z, K, W_inner, y), layer.kernel.sigma, Z))
    return _rise(layers, None)
