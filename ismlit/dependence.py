"""HSIC, how much two Gram matrices say of each other, and what else is measured with labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ismlit.gamma import Gamma
from ismlit.grams import ConstantKernelError, gram
from ismlit.targets import read_labels


def _gram_of(data):
    """A Gram matrix in double precision: a square array, or that of 1-D labels."""
    if np.ndim(data) == 1:
        return gram_of_labels(data)
    K = np.asarray(data, dtype=float)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"a Gram matrix must be square, got shape {K.shape}")
    if len(K) < 2:
        raise ValueError(f"dependence needs at least 2 samples, got {len(K)}")
    return K


def gram_of_labels(y: Any) -> np.ndarray:
    """Return the Gram matrix of labels: 1 for two samples of one class, else 0.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of any kind.

    Returns
    -------
    array of shape (n, n)
        YY' of the indicator matrix Y.

    Raises
    ------
    ValueError
        If a label is missing, or a number has a fraction: it is then a response.

    Examples
    --------
    >>> from ismlit.dependence import gram_of_labels
    >>> gram_of_labels(["a", "b", "a"])
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """
    labels = read_labels(y)
    return (labels[:, None] == labels).astype(float)


def hsic(K: Any, L: Any, *, estimator: str = "biased") -> float:
    """Measure the dependence of two variables: the Hilbert-Schmidt independence criterion.

    Parameters
    ----------
    K, L : arrays of shape (n, n), or of shape (n,)
        Gram matrices of the two, or 1-D labels (then K = YY').
    estimator : {"biased", "unbiased"}, default="biased"
        "biased": Tr(KHLH) / (n-1)^2, as in the thesis; its mean under independence is of order
        1/n, not 0. "unbiased": the U-statistic of Song et al. (2012), n >= 4, which may be
        negative.

    Returns
    -------
    float
        The larger, the more they depend; its size depends on the kernels.

    Raises
    ------
    ValueError
        If the matrices are not square and of one size, there are too few samples, or 1-D labels
        are a response: give its Gram matrix, as in ``gram(Gaussian(sigma), y[:, None])``.

    See Also
    --------
    normalized_hsic : from 0 to 1.

    References
    ----------
    Gretton, Bousquet, Smola and Schoelkopf 2005, Measuring statistical dependence with
    Hilbert-Schmidt norms.
    Song, Smola, Gretton, Bedo and Borgwardt 2012, Feature selection via dependence maximization.

    Examples
    --------
    >>> from ismlit import Gaussian, gram, hsic
    >>> from ismlit.datasets import make_relation
    >>> for kind in ("independent", "parabola"):
    ...     K, L = (gram(Gaussian(0.5), v[:, None]) for v in make_relation(kind, random_state=0))
    ...     print(kind, round(hsic(K, L), 2))
    independent 0.0
    parabola 0.04
    """
    K, L = _gram_of(K), _gram_of(L)
    n = len(K)
    if L.shape != K.shape:
        raise ValueError(f"K and L must be square and of one size, got {K.shape} and {L.shape}")
    if estimator == "biased":
        return float(np.sum(double_centre(K) * double_centre(L)) / (n - 1) ** 2)
    if estimator != "unbiased":
        raise ValueError(f"estimator must be 'biased' or 'unbiased', got {estimator!r}")
    if n < 4:
        raise ValueError(f"the unbiased estimator needs at least 4 samples, got {n}")
    K, L = K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
    k, m = K.sum(1), L.sum(1)
    value = np.sum(K * L) + k.sum() * m.sum() / ((n - 1) * (n - 2)) - 2 / (n - 2) * (k @ m)
    return float(value / (n * (n - 3)))


def normalized_hsic(K: Any, L: Any, *, estimator: str = "biased") -> float:
    """HSIC divided by the HSIC of each with itself: from 0 to 1 for positive semidefinite K, L.

    Parameters
    ----------
    K, L : arrays of shape (n, n), or 1-D labels (then K = YY')
    estimator : {"biased", "unbiased"}
        As for `hsic`. The biased value of independent data is far from 0 where rows are few or the
        kernel is narrow; the unbiased one is near 0, and may be negative.

    Returns
    -------
    float
        HSIC(K, L) / sqrt(HSIC(K, K) HSIC(L, L)).

    Raises
    ------
    ConstantKernelError
        If one of the matrices is constant, or its unbiased HSIC with itself is not above 0.

    See Also
    --------
    hsic : without the denominator.
    cka : of two sets of features.

    References
    ----------
    Cortes, Mohri and Rostamizadeh 2012, Algorithms for learning kernels based on centered
    alignment.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import Gaussian, gram, normalized_hsic
    >>> X, y = load_iris(return_X_y=True)
    >>> sepal, petal = gram(Gaussian(1.0), X[:, :2]), gram(Gaussian(1.0), X[:, 2:])
    >>> round(float(normalized_hsic(sepal, y)), 2), round(float(normalized_hsic(petal, y)), 2)
    (0.56, 0.85)
    """
    K, L = (matrix / (np.abs(matrix).max() or 1.0) for matrix in (_gram_of(K), _gram_of(L)))
    for matrix in (K, L):  # centring a constant matrix leaves rounding, not zero
        if np.linalg.norm(double_centre(matrix)) <= 1e-12 * np.linalg.norm(matrix):
            raise ConstantKernelError(
                "normalised HSIC is undefined: one of the Gram matrices is constant"
            )
    squares = hsic(K, K, estimator=estimator), hsic(L, L, estimator=estimator)
    if min(squares) <= 0:
        raise ConstantKernelError(
            f"the unbiased HSIC of a matrix with itself is {min(squares):.3g}, which cannot be a "
            "divisor: take more rows or a wider kernel"
        )
    return hsic(K, L, estimator=estimator) / np.sqrt(squares[0] * squares[1])


def cka(X: Any, Z: Any, *, kernel: Any = None, estimator: str = "unbiased") -> float:
    """Centred kernel alignment of two sets of features of the same rows, such as two layers.

    Parameters
    ----------
    X, Z : arrays of shape (n, d) and (n, m)
    kernel : Kernel, optional
        Of both; inner products when None, for which alignment does not change under rotation.
    estimator : {"unbiased", "biased"}
        "biased", the customary one, calls features of few rows and many columns alike though they
        are random; "unbiased" is near 0 for them.

    Returns
    -------
    float
        1 for features equal up to rotation and scale.

    See Also
    --------
    normalized_hsic : of Gram matrices that are at hand.

    References
    ----------
    Kornblith, Norouzi, Lee and Hinton 2019, Similarity of neural network representations
    revisited.
    Murphy, Zylberberg and Fyshe 2024, Correcting biased centered kernel alignment measures in
    biological and artificial neural networks.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import cka
    >>> X, Z = np.random.default_rng(0).standard_normal((2, 50, 200))  # they have nothing in common
    >>> round(cka(X, Z, estimator="biased"), 1), abs(cka(X, Z)) < 0.1
    (0.8, True)
    """
    X, Z = np.asarray(X, float), np.asarray(Z, float)
    for name, features in (("X", X), ("Z", Z)):
        if features.ndim != 2 or len(features) != len(X):
            raise ValueError(
                f"X and Z must have two axes and equally many rows; {name} has {features.shape}"
            )
    K, L = (
        centred @ centred.T if kernel is None else gram(kernel, centred)
        for centred in (X - X.mean(axis=0), Z - Z.mean(axis=0))
    )
    return float(normalized_hsic(K, L, estimator=estimator))


def double_centre(K: np.ndarray) -> np.ndarray:
    """Return HKH: the matrix with row and column means 0.

    Parameters
    ----------
    K : array of shape (n, n)
        A matrix.

    Returns
    -------
    array of shape (n, n)
        The centred matrix; H is not formed.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.dependence import double_centre
    >>> double_centre(np.array([[1.0, 0.0], [0.0, 3.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    means = K.mean(axis=0)
    return K - means - K.mean(axis=1)[:, None] + means.mean()


def weighted_centre(K: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return a Gram matrix centred with weights: means and entries count by them.

    Parameters
    ----------
    K : array of shape (n, n)
        A Gram matrix.
    w : array of shape (n,)
        The weights.

    Returns
    -------
    array of shape (n, n)
        The centred matrix; exactly 0 where K is constant but for rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.dependence import weighted_centre
    >>> 2 * weighted_centre(np.array([[1.0, 0.0], [0.0, 3.0]]), np.ones(2))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    p = w / w.sum()
    root = np.sqrt(np.outer(p, p))
    centred = root * (K - p @ K - (K @ p)[:, None] + p @ K @ p)
    constant = np.linalg.norm(centred) <= 1e-12 * np.linalg.norm(root * K)
    return np.zeros_like(centred) if constant else centred


# ---------------------------------------------------------------- of a kernel and labels


class Alignment:
    """Normalised HSIC of a Gram matrix with labels, in one pass over the matrix.

    Parameters
    ----------
    gamma : Gamma
        Of the labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import Gaussian, gram, label_gamma
    >>> from ismlit.dependence import Alignment
    >>> X, y = load_iris(return_X_y=True)
    >>> align = Alignment(label_gamma(y))
    >>> [round(float(align(gram(Gaussian(sigma), X))), 2) for sigma in (0.1, 1.0, 10.0)]
    [0.15, 0.79, 0.67]
    """

    def __init__(self, gamma: Gamma) -> None:
        self.F = gamma.F
        self.size = np.linalg.norm(gamma.F.T @ gamma.F)

    def __call__(self, K):
        K = K - K.mean()  # centring forgets it, and the difference below rounds less
        centred = np.vdot(K, K) - 2 * np.sum(K.sum(axis=1) ** 2) / len(K)
        if not centred > 1e-20 * K.size:  # what rounding leaves of a constant matrix
            return 0.0
        return self.trace(K) / float(np.sqrt(centred) * self.size)

    def trace(self, K: np.ndarray) -> float:
        """Return Tr(Gamma K), the HSIC that is not normalised.

        Parameters
        ----------
        K : array of shape (n, n)
            A Gram matrix.

        Returns
        -------
        float
            The trace.
        """
        return float(np.sum(self.F * (K @ self.F)))
