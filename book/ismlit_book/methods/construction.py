"""Theorem 6.1's network: no training, W from class sums, bandwidths by a stated rule."""

from dataclasses import dataclass, field

import numpy as np
from ismlit import Gaussian, label_gamma, one_hot
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from sklearn.utils import check_X_y

from ismlit_book.methods.measures import class_table, ideal_hsic

FINEST = 6  # the smallest bandwidth tried: so many times below the smallest distance


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
    >>> from ismlit.datasets import make_adversarial
    >>> from ismlit_book.methods.construction import class_sum_network
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
    >>> from ismlit_book.methods.construction import class_sum_images
    >>> K = np.array([[1.0, 0.8, 0.1], [0.8, 1.0, 0.1], [0.1, 0.1, 1.0]])
    >>> class_sum_images(K, ["a", "a", "b"]).round(2)  # a point for each class
    array([[0.95, 0.03],
           [0.95, 0.03],
           [0.07, 1.  ]])
    """
    return _images(K, one_hot(y), orthonormal)


def _images(K, Y, orthonormal):
    """`class_sum_images` for labels one-hot encoded."""
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
        step (the first layer need not) and from which one further layer could reach `share` at
        once. Where there is none, the layer takes that one step to `share`, which the layer
        before has left open; so the rule always arrives where no two rows of X are equal.
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
    >>> from ismlit.datasets import make_random_labels
    >>> from ismlit_book.methods.construction import class_sum_network
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
    squares = _squares(X)
    clash = (squares == 0) & (y[:, None] != y)
    if clash.any():
        i, j = np.argwhere(clash)[0]
        raise ValueError(f"rows {i} and {j} of X coincide but differ in class: drop one of them")
    rule = _Rule(y, layers, share, orthonormal)
    found, images, grams, Z = [], [], [], X
    for level in range(layers if sigmas is None else len(sigmas)):
        squares = _squares(Z)
        sigma = rule.choose(squares, level) if sigmas is None else float(sigmas[level])
        K = Gaussian(sigma).f(squares)
        rule.before = rule.shares_of(K[None])[0]
        found.append((sigma, rule.before))
        images.append(Z)
        grams.append(K)
        if sigmas is None and rule.before >= share:
            break
        Z = _images(K, rule.Y, orthonormal)
    bandwidths, shares = np.array(found).T
    return ClassSumNetwork(bandwidths, shares, images, grams, rule.ideal, bool(shares[-1] >= share))


class _Rule:
    """The rule for sigma: H in equal steps, and one step to the end always left open."""

    def __init__(self, y, layers, share, orthonormal):
        self.layers, self.share, self.orthonormal = layers, share, orthonormal
        self.Y = one_hot(y)
        self.F, self.ideal = label_gamma(y).F, ideal_hsic(y)
        self.before, self.last_step = 0.0, None

    def shares_of(self, grams):
        """Tr(Gamma K) / H* of each K of an array (m, n, n)."""
        return np.einsum("ir,mij,jr->m", self.F, grams, self.F, optimize=True) / self.ideal

    def choose(self, squares, level):
        """sigma of the layer `level` (from 0), for images with these squared distances."""
        grid = _grid(squares, 80, 1e-20 if level else 0)
        grams = _gaussians(squares, grid)
        shares = self.shares_of(grams)
        if level == self.layers - 1 and self.last_step is None:
            return grid[int(np.argmax(shares))]
        target = self.before + (self.share - self.before) / (self.layers - level)
        for sigma, K, value in zip(grid, grams, shares):
            high_enough = value >= target or not level
            if level < self.layers - 1 and value > self.before and high_enough:
                step = self.step_to_the_end(K)
                if step is not None:
                    self.last_step = step
                    return sigma
        return grid[int(np.argmax(shares))] if self.last_step is None else self.last_step

    def step_to_the_end(self, K):
        """The largest sigma with which one further layer on top of K reaches `share`, or None."""
        try:
            squares = _squares(_images(K, self.Y, self.orthonormal))
        except ValueError:  # dependent class sums
            return None
        grid = _grid(squares, 40)
        shares = self.shares_of(_gaussians(squares, grid))
        enough = np.flatnonzero(shares >= self.share)
        return grid[enough[0]] if enough.size else None


def _squares(Z):
    """Squared distances by differences: bandwidths far below the images are of use here."""
    return cdist(Z, Z, "sqeuclidean")


def _gaussians(squares, sigmas):
    """Gram matrices (m, n, n), one for each bandwidth."""
    return np.exp(squares * (-1 / (2 * sigmas**2))[:, None, None])


def _grid(squares, size, rounding=1e-20):
    """Bandwidths from three times the largest distance down to a sixth of the smallest.

    Squares up to `rounding` times the largest stand for equal images.
    """
    apart = np.sqrt(squares[squares > rounding * squares.max()])
    return np.geomspace(3 * apart.max(), apart.min() / FINEST, size)
