"""Gamma, the matrix that says which pairs of samples should look alike, and HSIC.

Every Gamma of the thesis is ``F diag(s) F'`` with a thin F (n, r), so it is stored as that:
an n x n array is never formed. Centring subtracts column means; the matrix H is never built.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls
from sklearn.utils import check_array, column_or_1d

from ismlit.kernels import ConstantKernelError, gram


@dataclass(frozen=True, eq=False)
class Gamma:
    """``Gamma = F diag(s) F'`` with F of shape (n, r) and signs or weights s of shape (r,).

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.gamma import Gamma
    >>> F = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> Gamma(F, [1.0, -0.5]).to_dense()  # alike by the first column, unlike by the second
    array([[ 0.5,  1.5, -1.5, -0.5],
           [ 1.5,  0.5, -0.5, -1.5],
           [-1.5, -0.5,  0.5,  1.5],
           [-0.5, -1.5,  1.5,  0.5]])
    """

    F: np.ndarray
    s: np.ndarray

    def __post_init__(self):
        F, s = check_array(self.F, dtype=(np.float64, np.float32)), np.asarray(self.s)
        if s.shape != (F.shape[1],):
            raise ValueError(f"s must have one entry per column of F: {s.shape} and {F.shape}")
        if not np.isfinite(s).all():
            raise ValueError(f"s must be finite, got {s}")
        object.__setattr__(self, "F", F)
        object.__setattr__(self, "s", s.astype(F.dtype))

    @property
    def n(self):
        """Number of samples."""
        return len(self.F)

    @property
    def size(self):
        """A bound of the spectral norm."""
        return float(np.sum(np.abs(self.s) * np.sum(self.F**2, axis=0)))

    def tile(self, rows, columns):
        """The block ``Gamma[rows, columns]`` for two slices."""
        return (self.F[rows] * self.s) @ self.F[columns].T

    def __add__(self, other):
        """The sum of two: their columns side by side."""
        if not isinstance(other, Gamma):
            return NotImplemented
        return Gamma(np.hstack([self.F, other.F]), np.concatenate([self.s, other.s]))

    def __matmul__(self, V):
        """Gamma V for V of shape (n, m), in O(n r m)."""
        return (self.F * self.s) @ (self.F.T @ V)

    def astype(self, dtype):
        """The same Gamma in another floating-point type."""
        return Gamma(self.F.astype(dtype), self.s)

    def to_dense(self):
        """The n x n array; for theory and small n only."""
        return self.tile(slice(None), slice(None))


@dataclass(frozen=True, eq=False)
class DenseGamma:
    """A symmetric n x n array as Gamma, for theory, tests and hand-made weights.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Gaussian, ism
    >>> from ismlit.gamma import DenseGamma
    >>> gamma = DenseGamma(np.array([[0, 1, -1], [1, 0, 0], [-1, 0, 0]], float))  # 0 like 1, not 2
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> abs(ism(X, gamma, Gaussian(1.0), 1).W).round(2)
    array([[1.],
           [0.]])
    """

    array: np.ndarray

    def __post_init__(self):
        array = check_array(self.array, dtype=(np.float64, np.float32))
        if array.shape[0] != array.shape[1]:
            raise ValueError(f"a dense Gamma must be square, got shape {array.shape}")
        scale = np.abs(array).max()
        skew = np.abs(array - array.T).max()
        if skew > np.sqrt(np.finfo(array.dtype).eps) * scale:  # more than products round to
            raise ValueError(
                f"Gamma must be symmetric, but Gamma - Gamma' has an entry of {skew:.3g}; only "
                "the symmetric part acts on the objective, so pass (Gamma + Gamma.T) / 2"
            )
        object.__setattr__(self, "array", (array + array.T) / 2)

    n = property(lambda self: len(self.array))
    size = property(lambda self: float(np.linalg.norm(self.array)))

    def tile(self, rows, columns):
        """The block ``Gamma[rows, columns]`` for two slices."""
        return self.array[rows, columns]

    def __matmul__(self, V):
        """Gamma V."""
        return self.array @ V

    def astype(self, dtype):
        """The same Gamma in another floating-point type."""
        return DenseGamma(self.array.astype(dtype))

    def to_dense(self):
        """The array itself."""
        return self.array


def as_gamma(gamma):
    """A Gamma object from a Gamma, a DenseGamma, or a symmetric array.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.gamma import as_gamma
    >>> as_gamma(np.array([[0.0, 1.0], [1.0, 0.0]])) @ np.array([3.0, 5.0])
    array([5., 3.])
    """
    return gamma if isinstance(gamma, Gamma | DenseGamma) else DenseGamma(gamma)


# ---------------------------------------------------------------- one builder per paradigm


def one_hot(y):
    """Indicator matrix Y (n, k) of labels y, any 1-D array; columns in sorted label order.

    Raises
    ------
    ValueError
        If there is only one class: HY = 0 and every W is as good as any other.

    Examples
    --------
    >>> from ismlit.gamma import one_hot
    >>> one_hot(["pear", "apple", "pear"])
    array([[0., 1.],
           [1., 0.],
           [0., 1.]])
    """
    classes, index = np.unique(column_or_1d(y), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y must hold at least two classes, got only {classes.tolist()}: with one class "
            "Gamma = 0 and there is nothing to depend on"
        )
    return np.eye(len(classes))[index]


def centre(A):
    """HA: the columns of A minus their means.

    Examples
    --------
    >>> from ismlit.gamma import centre
    >>> centre([[1.0, 10.0], [3.0, 30.0]])
    array([[ -1., -10.],
           [  1.,  10.]])
    """
    A = np.asarray(A)
    return A - A.mean(axis=0)


def supervised(y, balanced=False):
    """Gamma = H Y Y' H of labels y (n,): sums to zero along rows. Claim: eq-5.1.

    balanced: H Y (Y'Y)^-1 Y' H instead, which gives every class the same weight and is negative
    between any two classes, whatever their sizes (claim new-balanced-gamma).

    Examples
    --------
    >>> from ismlit.gamma import supervised
    >>> supervised(["a", "a", "b"]).to_dense().round(2)
    array([[ 0.22,  0.22, -0.44],
           [ 0.22,  0.22, -0.44],
           [-0.44, -0.44,  0.89]])
    """
    Y = one_hot(y)
    F = centre(Y / np.sqrt(Y.sum(axis=0)) if balanced else Y)
    return Gamma(F, np.ones(F.shape[1]))


def class_table(y, balanced=False):
    """What `supervised` says of two samples by their classes: Gamma (k, k), and the class sizes.

    Between classes a and b with shares p the entry is sum p^2 - p_a - p_b, hence negative unless
    both are small; see claim txt-6-gamma. Balanced, it is -1/n.

    Examples
    --------
    >>> from ismlit.gamma import class_table
    >>> table, sizes = class_table(["a", "a", "a", "a", "b"])
    >>> table.round(2)
    array([[ 0.08, -0.32],
           [-0.32,  1.28]])
    >>> sizes
    array([4., 1.])
    """
    Y = one_hot(y)
    gamma = supervised(y, balanced)
    F = gamma.F[Y.argmax(axis=0)]
    return F @ F.T, Y.sum(axis=0)


def ideal_hsic(y, balanced=False):
    """H* = sum of Gamma_ij over the pairs of one class: Tr(Gamma K*) of the ideal kernel.

    An upper bound of Tr(Gamma K) for kernels in [0, 1] only if Gamma is nowhere positive
    between classes. Claims: txt-6-hstar, eq-D.60.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from ismlit.gamma import ideal_hsic, supervised
    >>> from ismlit.kernels import Gaussian, gram
    >>> X, y = load_iris(return_X_y=True)
    >>> value = np.sum(supervised(y).to_dense() * gram(Gaussian(1.0), X))
    >>> round(float(value) / ideal_hsic(y), 2)
    0.55
    """
    table, sizes = class_table(y, balanced)
    return float(np.diag(table) @ sizes**2)


def unsupervised(U, degrees=None):
    """Gamma of a spectral embedding U (n, c), optionally with kernel row sums `degrees` (n,).

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.gamma import unsupervised
    >>> U = np.array([[0.5], [0.5], [-0.5], [-0.5]])  # two clusters
    >>> unsupervised(U).to_dense()
    array([[ 0.25,  0.25, -0.25, -0.25],
           [ 0.25,  0.25, -0.25, -0.25],
           [-0.25, -0.25,  0.25,  0.25],
           [-0.25, -0.25,  0.25,  0.25]])
    """
    return _spectral(U, None, 0.0, degrees)


def alternative(U, y, weight, degrees=None):
    """KDAC: reward the clustering U (n, c), penalise the known labels y. Claim: eq-3.4a.

    ``F = D^(-1/2) H [U, Y]`` and ``s = (1, ..., -weight, ...)``. With `degrees` the rows do
    not sum to zero any more, since D^(-1/2) comes after the centring.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.gamma import alternative
    >>> U = np.array([[0.5], [0.5], [-0.5], [-0.5]])
    >>> alternative(U, [0, 1, 0, 1], weight=0.25).to_dense()
    array([[ 0.125,  0.375, -0.375, -0.125],
           [ 0.375,  0.125, -0.125, -0.375],
           [-0.375, -0.125,  0.125,  0.375],
           [-0.125, -0.375,  0.375,  0.125]])
    """
    return _spectral(U, one_hot(y), -weight, degrees)


def _spectral(U, Y, weight, degrees):
    U = check_array(U)
    F = centre(U if Y is None else np.hstack([U, Y]))
    if degrees is not None:
        degrees = column_or_1d(degrees)
        if len(degrees) != len(F):
            raise ValueError(f"one degree per sample is needed: {len(degrees)} for {len(F)}")
        if not (degrees > 0).all():
            raise ValueError(f"degrees must be positive, the smallest is {degrees.min():.3g}")
        F = F / np.sqrt(degrees)[:, None]
    s = np.ones(F.shape[1])
    s[U.shape[1] :] = weight
    return Gamma(F, s)


def guidance(y, weight):
    """``weight * F F'`` of labels y (n,), -1 for unknown, or of scores y (n, r).

    A negative weight asks for what does not depend on y. F holds the centred columns (over the
    known rows; 0 elsewhere), scaled to spectral norm 1.

    Raises
    ------
    ValueError
        If fewer than two labels are known, or the scores are constant.

    Examples
    --------
    >>> from ismlit.gamma import guidance
    >>> guidance([0, 1, -1], weight=2.0).to_dense().round(2)  # of the third nothing is known
    array([[ 1., -1.,  0.],
           [-1.,  1.,  0.],
           [ 0.,  0.,  0.]])
    """
    y = np.asarray(y)
    if y.dtype.kind not in "biuf" and not all(isinstance(v, numbers.Number) for v in y.flat):
        raise ValueError("labels that guide must be numbers, -1 for unknown: encode them first")
    if y.ndim == 2 and y.shape[1] == 1 and y.dtype.kind in "iu":
        y = column_or_1d(y, warn=True)  # labels in a column, not scores
    if y.ndim == 1:
        known = y != -1
        if not known.any():
            raise ValueError("y says -1 (unknown) for every sample: give some labels")
        Y = one_hot(y[known])
        F = np.zeros((len(y), Y.shape[1]))
        F[known] = centre(Y)
    else:
        F = centre(y.astype(float))
    size = np.linalg.norm(F, 2)
    if size <= 1e-10 * np.linalg.norm(y.astype(float)):
        raise ValueError("the scores are constant: they say nothing of the samples")
    return Gamma(F / size, np.full(F.shape[1], float(weight)))


# ---------------------------------------------------------------- kernels that fit the labels


def aligned_sum(kernels, X, y):
    """The conic combination of `kernels` most aligned with labels y after centring.

    Maximises ``<K_c, YY'> / ||K_c||`` over nonnegative weights (Cortes, Mohri and Rostamizadeh
    2012), which is nonnegative least squares of the centred Gram matrices against HYY'H.

    Parameters
    ----------
    kernels : list of Kernel
    X : array of shape (n, d)
    y : labels of shape (n,)

    Returns
    -------
    Sum
        Weights scaled so that the centred combination has the norm of HYY'H; kernels of weight
        0 are left out. Takes memory of order n^2.

    Examples
    --------
    >>> from ismlit.datasets import make_rings
    >>> from ismlit.gamma import aligned_sum
    >>> from ismlit.kernels import Gaussian, Linear, Polynomial
    >>> X, y, plane = make_rings(random_state=0)
    >>> found = aligned_sum([Linear(), Polynomial(2), Gaussian(1.0)], X @ plane, y)
    >>> [kernel for _, kernel in found.terms()]
    [Polynomial(degree=2, c=1.0), Gaussian(sigma=1.0)]
    """
    if not len(kernels):
        raise ValueError("no kernel was given: a sum needs at least one")
    X, target = check_array(X), supervised(y).to_dense().ravel()
    columns = np.column_stack([_double_centre(gram(k, X)).ravel() for k in kernels])
    norms = np.linalg.norm(columns, axis=0)  # a cubic kernel may be 1e6 times a Gaussian
    for kernel, norm in zip(kernels, norms):
        if not norm > 0:
            raise ValueError(f"{kernel!r} is constant on this data and cannot be aligned")
    weights = nnls(columns / norms, target)[0]
    if not weights.any():
        raise ValueError("no kernel is positively aligned with the labels: use others")
    size = np.linalg.norm(columns / norms @ weights)
    weights = weights / norms * np.linalg.norm(target) / size
    parts = [float(w) * kernel for w, kernel in zip(weights, kernels) if w > 0]
    return sum(parts[1:], start=parts[0])


# ---------------------------------------------------------------- HSIC


def _gram_of(data):
    """A Gram matrix from a square array, or linear on one-hot columns for 1-D labels."""
    data = np.asarray(data)
    return gram_of_labels(data) if data.ndim == 1 else data


def gram_of_labels(y):
    """K_Y = Y Y' of labels y: 1 where two samples share their class.

    Examples
    --------
    >>> from ismlit.gamma import gram_of_labels
    >>> gram_of_labels(["a", "b", "a"])
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """
    y = column_or_1d(y)
    return (y[:, None] == y).astype(float)


def hsic(K, L, *, estimator="biased"):
    """Hilbert-Schmidt independence criterion of two Gram matrices (n, n). Claim: eq-2.9.

    Parameters
    ----------
    K, L : arrays of shape (n, n), or 1-D labels (then K = YY')
    estimator : {"biased", "unbiased"}
        "biased": Tr(KHLH) / (n-1)^2, as in the thesis; its mean under independence is of
        order 1/n, not 0. "unbiased": the U-statistic of Song et al. (2012), n >= 4, which
        may be negative.

    Examples
    --------
    >>> from ismlit.datasets import make_relation
    >>> from ismlit.gamma import hsic
    >>> from ismlit.kernels import Gaussian, gram
    >>> for kind in ("independent", "parabola"):
    ...     K, L = (gram(Gaussian(0.5), v[:, None]) for v in make_relation(kind, random_state=0))
    ...     print(kind, round(hsic(K, L), 2))
    independent 0.0
    parabola 0.04
    """
    K, L = _gram_of(K), _gram_of(L)
    n = len(K)
    if K.shape != (n, n) or L.shape != (n, n):
        raise ValueError(f"K and L must be square and of one size, got {K.shape} and {L.shape}")
    if estimator == "biased":
        return float(np.sum(_double_centre(K) * L) / (n - 1) ** 2)
    if estimator != "unbiased":
        raise ValueError(f"estimator must be 'biased' or 'unbiased', got {estimator!r}")
    if n < 4:
        raise ValueError(f"the unbiased estimator needs at least 4 samples, got {n}")
    K, L = K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
    k, m = K.sum(1), L.sum(1)
    value = np.sum(K * L) + k.sum() * m.sum() / ((n - 1) * (n - 2)) - 2 / (n - 2) * (k @ m)
    return float(value / (n * (n - 3)))


def normalized_hsic(K, L):
    """HSIC(K, L) / sqrt(HSIC(K, K) HSIC(L, L)), in [0, 1] for PSD K and L. Claim: eq-6.14.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ismlit.gamma import normalized_hsic
    >>> from ismlit.kernels import Gaussian, gram
    >>> X, y = load_iris(return_X_y=True)
    >>> sepal, petal = gram(Gaussian(1.0), X[:, :2]), gram(Gaussian(1.0), X[:, 2:])
    >>> round(float(normalized_hsic(sepal, y)), 2), round(float(normalized_hsic(petal, y)), 2)
    (0.56, 0.85)
    """
    K, L = _gram_of(K), _gram_of(L)
    for matrix in (K, L):  # centring a constant matrix leaves rounding, not zero
        if np.linalg.norm(_double_centre(matrix)) <= 1e-12 * np.linalg.norm(matrix):
            raise ConstantKernelError(
                "normalised HSIC is undefined: one of the Gram matrices is constant"
            )
    return hsic(K, L) / np.sqrt(hsic(K, K) * hsic(L, L))


def _double_centre(K):
    """HKH without H."""
    means = K.mean(axis=0)
    return K - means - K.mean(axis=1)[:, None] + means.mean()
