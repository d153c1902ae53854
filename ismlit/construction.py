"""Theorem 6.1's network: no training, W from class sums, bandwidths by a stated rule."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import eigh
from sklearn.utils import check_X_y

from ismlit.gamma import class_table, ideal_hsic, one_hot, supervised
from ismlit.kernels import Gaussian, squared_distances

FINEST = 6  # the smallest bandwidth tried: so many times below the smallest distance
STILL = 0.98  # share of H* that the next layer must be able to reach; with 0.9 some jam


@dataclass(frozen=True, eq=False)
class ClassSumNetwork:
    """What `class_sum_network` built.

    Attributes
    ----------
    sigmas, shares : arrays of shape (n_layers,)
        Bandwidth of each layer, and H_l / H* after it.
    images : list of arrays (n, q)
        What each layer's kernel is computed on; the first is X itself.
    grams : list of arrays (n, n)
    ideal : float
        H*.
    reached : bool
        Whether the last share is at least the one asked for.

    Examples
    --------
    >>> from ismlit.construction import class_sum_network
    >>> from ismlit.datasets import make_adversarial
    >>> X, y = make_adversarial(40, random_state=0)
    >>> network = class_sum_network(X, y, layers=8)
    >>> last = network.grams[-1]
    >>> network.ideal, bool(last[:20, :20].min() > 0.9), bool(last[:20, 20:].max() < 0.1)
    (400.0, True, True)
    """

    sigmas: np.ndarray
    shares: np.ndarray
    images: list = field(repr=False)
    grams: list = field(repr=False)
    ideal: float
    reached: bool


def class_sum_images(K, y, orthonormal=True):
    """Images (n, k) of the samples under class-sum weights, from the Gram matrix K (n, n) alone.

    ``W_s = R'Y / sqrt(zeta)``, zeta its squared Frobenius norm, gives ``R W_s = K Y / sqrt(zeta)``
    (eq-D.7). Its columns are not orthonormal; with `orthonormal` they are made so:
    ``W = R'Y (Y'KY)^(-1/2)``.

    Raises
    ------
    ValueError
        With `orthonormal`, if the class sums are linearly dependent.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.construction import class_sum_images
    >>> K = np.array([[1.0, 0.8, 0.1], [0.8, 1.0, 0.1], [0.1, 0.1, 1.0]])
    >>> class_sum_images(K, ["a", "a", "b"]).round(2)  # a point for each class
    array([[0.95, 0.03],
           [0.95, 0.03],
           [0.07, 1.  ]])
    """
    Y = one_hot(y)
    sums, inner = K @ Y, Y.T @ K @ Y
    if not orthonormal:
        return sums / np.sqrt(np.trace(inner))
    values, vectors = eigh(inner)
    if not values[0] > 1e-12 * values[-1]:
        raise ValueError(
            "the class sums are linearly dependent, so that no orthonormal W has their span; "
            "a smaller bandwidth of the layer before makes them independent"
        )
    return sums @ (vectors / np.sqrt(values)) @ vectors.T


def class_sum_network(X, y, *, layers=12, sigmas=None, share=0.999, orthonormal=True):
    """Theorem 6.1's network on X (n, d) and labels y (n,), with exact Gram matrices.

    Parameters
    ----------
    layers : int
        How many layers the rise of H is spread over, at most; ignored when `sigmas` are given.
        Few layers may fall short of `share`.
    sigmas : sequence of float, optional
        The bandwidths, one a layer. By default a rule finds them: H is to rise in equal steps to
        `share` of H*, and each sigma is the largest (on a grid of 80) with which H reaches its
        step (the first layer need not) and the next layer could still reach 0.98 H*. Where
        there is none, the one that leaves the next layer most; in the last layer, the best.
        The network ends when `share` is reached, or when no bandwidth raises H.
    share : float
        Of H*, at which to stop; above 0 and at most 1.
    orthonormal : bool
        False takes the printed W_s, see `class_sum_images`.

    Returns
    -------
    ClassSumNetwork

    Raises
    ------
    ValueError
        If rows of X coincide but differ in class, or Gamma is not negative between all classes
        (then H* is not the largest value: claim txt-6-hstar).

    Notes
    -----
    Claims: thm-6.1, eq-6.6, eq-6.7, eq-6.8.

    Examples
    --------
    >>> from ismlit.construction import class_sum_network
    >>> from ismlit.datasets import make_random_labels
    >>> X, y = make_random_labels(40, random_state=0)
    >>> network = class_sum_network(X, y)
    >>> network.reached, bool((network.shares[1:] > network.shares[:-1]).all())
    (True, True)
    """
    X, y = check_X_y(X, y, ensure_min_samples=2, dtype=float)
    table, _ = class_table(y)
    if not (table[~np.eye(len(table), dtype=bool)] < 0).all():
        raise ValueError(
            "Gamma is not negative between all classes, so H* is not the only largest HSIC: two "
            "classes' shares add up to no more than the sum of all squared shares"
        )
    if not (0 < share <= 1 and layers >= 1 and (sigmas is None or len(sigmas))):
        raise ValueError(
            "share must be in (0, 1], layers at least 1 and sigmas not empty, got "
            f"share = {share!r}, layers = {layers!r}, sigmas = {sigmas!r}"
        )
    squares = squared_distances(X)
    clash = (squares == 0) & (y[:, None] != y)
    if clash.any():
        i, j = np.argwhere(clash)[0]
        raise ValueError(f"rows {i} and {j} of X coincide but differ in class: drop one of them")
    rule = _Rule(y, layers, share, orthonormal)
    found, images, grams, Z = [], [], [], X
    for level in range(layers if sigmas is None else len(sigmas)):
        squares = squared_distances(Z)
        h = found[-1][1] if found else 0.0
        sigma = rule.choose(squares, level, h) if sigmas is None else float(sigmas[level])
        if sigma is None:
            break
        K = _gaussian(squares, sigma)
        found.append((sigma, rule.share_of(K)))
        images.append(Z)
        grams.append(K)
        if sigmas is None and found[-1][1] >= share:
            break
        Z = class_sum_images(K, y, orthonormal)
    bandwidths, shares = np.array(found).T
    return ClassSumNetwork(bandwidths, shares, images, grams, rule.ideal, bool(shares[-1] >= share))


class _Rule:
    """The rule for sigma: H in equal steps, and the next layer never left without a way up."""

    def __init__(self, y, layers, share, orthonormal):
        self.y, self.layers, self.share, self.orthonormal = y, layers, share, orthonormal
        self.F, self.ideal = supervised(y).F, ideal_hsic(y)

    def share_of(self, K):
        """Tr(Gamma K) / H*."""
        return float(np.sum(self.F * (K @ self.F)) / self.ideal)

    def choose(self, squares, level, h):
        """sigma of the layer `level` (from 0), or None: for images with these squared distances."""
        target = h + (self.share - h) / (self.layers - level)
        last, others = level == self.layers - 1, []
        for sigma in _grid(squares, 80):
            K = _gaussian(squares, sigma)
            value = self.share_of(K)
            if value <= h:
                continue
            reach = value if last else self.reach(K)
            if reach >= (target if last else STILL) and (value >= target or not level):
                return sigma
            others.append((value >= target, reach, sigma))
        return max(others)[2] if others else None

    def reach(self, K):
        """The most that one further layer on top of K can reach, over a coarse grid."""
        try:
            squares = squared_distances(class_sum_images(K, self.y, self.orthonormal))
        except ValueError:  # dependent class sums
            return -np.inf
        return max(self.share_of(_gaussian(squares, sigma)) for sigma in _grid(squares, 27))


def _gaussian(squares, sigma):
    return Gaussian(sigma).f(squares)


def _grid(squares, size):
    """Bandwidths from three times the largest distance down to a sixth of the smallest."""
    apart = np.sqrt(squares[squares > 1e-10 * squares.max()])  # less is rounding
    return np.geomspace(3 * apart.max(), apart.min() / FINEST, size)
