"""Gamma, the matrix that says which pairs of samples should look alike.

Every Gamma of the thesis is ``F diag(s) F'`` with a thin F (n, r), so it is stored as that:
an n x n array is never formed. Centring subtracts column means; the matrix H is never built.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy.linalg import eigh, svd
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import check_array, column_or_1d

from ismlit.bandwidth import median_distance
from ismlit.grams import float_array
from ismlit.targets import is_response, read_labels, read_target

MAX_MULTIPLIED_COLUMNS = 24  # With more columns of F entries are looked up, not multiplied.
MAX_TABLE_CLASSES = 2000  # The table of Gamma between classes holds at most so many.


@dataclass(frozen=True, eq=False)
class Gamma:
    """``Gamma = F diag(s) F'`` with F of shape (n, r) and signs or weights s of shape (r,).

    See Also
    --------
    label_gamma : of class labels.
    guidance_gamma : where some labels are known.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Gamma
    >>> F = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> Gamma(F, [1.0, -0.5]).to_dense()  # alike by the first column, unlike by the second
    array([[ 0.5,  1.5, -1.5, -0.5],
           [ 1.5,  0.5, -0.5, -1.5],
           [-1.5, -0.5,  0.5,  1.5],
           [-0.5, -1.5,  1.5,  0.5]])
    """

    F: np.ndarray
    s: np.ndarray

    def __post_init__(self) -> None:
        F, s = float_array(self.F), np.asarray(self.s)
        if s.shape != (F.shape[1],):
            raise ValueError(f"s must have one entry per column of F: {s.shape} and {F.shape}")
        if not np.isfinite(s).all():
            raise ValueError(f"s must be finite, got {s}")
        object.__setattr__(self, "F", F)
        object.__setattr__(self, "s", s.astype(F.dtype))

    @property
    def n(self) -> int:
        """The number of samples."""
        return len(self.F)

    @property
    def norm_bound(self) -> float:
        """The bound ``sum |s_k| |F_k|^2`` of the spectral norm."""
        return float(np.sum(np.abs(self.s) * np.sum(self.F**2, axis=0, dtype=float)))

    @cached_property
    def _sides(self) -> tuple[np.ndarray, np.ndarray]:
        return self.F * self.s, np.ascontiguousarray(self.F.T)

    @cached_property
    def _by_class(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Gamma between classes (g, g), and the class of each sample; None where it does not pay.

        Rows of F that are equal are one class: with many classes an entry is looked up faster
        than a product over them is formed.
        """
        if self.F.shape[1] <= MAX_MULTIPLIED_COLUMNS:
            return None
        first, codes = distinct_rows(self.F)
        if len(first) > MAX_TABLE_CLASSES or 2 * len(first) > self.n:
            return None
        left, right = self._sides
        return left[first] @ right[:, first], codes

    def tile(self, rows: slice, columns: slice, out: np.ndarray | None = None) -> np.ndarray:
        """Return a block of the matrix.

        Parameters
        ----------
        rows, columns : slice
            Which rows and columns.
        out : array, optional
            Where it is written.

        Returns
        -------
        array
            ``Gamma[rows, columns]``.
        """
        if self._by_class is not None:
            table, codes = self._by_class
            return np.take(table[codes[rows]], codes[columns], axis=1, out=out, mode="clip")
        left, right = self._sides
        return np.matmul(left[rows], right[:, columns], out=out)

    def __add__(self, other: Gamma) -> Gamma:
        """The sum of two: their columns side by side."""
        if not isinstance(other, Gamma):
            return NotImplemented
        return Gamma(np.hstack([self.F, other.F]), np.concatenate([self.s, other.s]))

    def __mul__(self, weight: float) -> Gamma:
        """The same Gamma times a number."""
        if not isinstance(weight, numbers.Real):
            return NotImplemented
        return Gamma(self.F, float(weight) * self.s)

    __rmul__ = __mul__

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """Gamma V for V of shape (n, m), in O(n r m)."""
        return (self.F * self.s) @ (self.F.T @ V)

    def between(self, V: np.ndarray) -> np.ndarray:
        """Return V' Gamma V, in time O(n r m).

        Parameters
        ----------
        V : array of shape (n, m)
            Vectors.

        Returns
        -------
        array of shape (m, m)
            The product.
        """
        images = self.F.T @ V
        return images.T @ (self.s[:, None] * images)

    def on(self, rows: slice | np.ndarray) -> Gamma:
        """Return the Gamma of some of the samples.

        Parameters
        ----------
        rows : array of int
            Which samples are kept.

        Returns
        -------
        Gamma
            With the same weights s.
        """
        return Gamma(self.F[rows], self.s)

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return F and s.

        Returns
        -------
        F : array of shape (n, r)
            The columns.
        s : array of shape (r,)
            Their weights.
        """
        return self.F, self.s

    def astype(self, dtype: DTypeLike) -> Gamma:
        """Return the same Gamma in another floating-point type.

        Parameters
        ----------
        dtype : dtype
            Single or double precision.

        Returns
        -------
        Gamma
            The same numbers.
        """
        return Gamma(self.F.astype(dtype), self.s)

    def to_dense(self) -> np.ndarray:
        """Return the n x n array, for theory and small n only.

        Returns
        -------
        array of shape (n, n)
            The matrix.
        """
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

    def __post_init__(self) -> None:
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
    norm_bound = property(lambda self: float(np.linalg.norm(self.array)))

    def tile(self, rows: slice, columns: slice, out: np.ndarray | None = None) -> np.ndarray:
        """Return a block of the matrix.

        Parameters
        ----------
        rows, columns : slice
            Which rows and columns.
        out : array, optional
            Not needed here.

        Returns
        -------
        array
            ``Gamma[rows, columns]``.
        """
        return self.array[rows, columns]

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """Gamma V."""
        return self.array @ V

    def between(self, V: np.ndarray) -> np.ndarray:
        """Return V' Gamma V.

        Parameters
        ----------
        V : array of shape (n, m)
            Vectors.

        Returns
        -------
        array of shape (m, m)
            The product.
        """
        return V.T @ (self.array @ V)

    def on(self, rows: slice | np.ndarray) -> DenseGamma:
        """Return the Gamma of some of the samples.

        Parameters
        ----------
        rows : array of int
            Which samples are kept.

        Returns
        -------
        DenseGamma
            Their block.
        """
        return DenseGamma(self.array[rows][:, rows])

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the eigenvectors whose eigenvalues are not 0, and these.

        Returns
        -------
        F : array of shape (n, r)
            The eigenvectors.
        s : array of shape (r,)
            The eigenvalues.
        """
        s, F = eigh(self.array)
        is_nonzero = np.abs(s) > 1e-6 * np.abs(s).max()
        return F[:, is_nonzero], s[is_nonzero]

    def astype(self, dtype: DTypeLike) -> DenseGamma:
        """Return the same Gamma in another floating-point type.

        Parameters
        ----------
        dtype : dtype
            Single or double precision.

        Returns
        -------
        DenseGamma
            The same numbers.
        """
        return DenseGamma(self.array.astype(dtype))

    def to_dense(self) -> np.ndarray:
        """Return the array itself.

        Returns
        -------
        array of shape (n, n)
            The matrix.
        """
        return self.array


def distinct_rows(F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the distinct rows of an array.

    It compares their bytes, so that no projection rounds equal rows apart.

    Parameters
    ----------
    F : array of shape (n, r)
        The rows.

    Returns
    -------
    first : array of shape (g,)
        Where each distinct row occurs first.
    codes : array of shape (n,)
        Which of them each row is.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.gamma import distinct_rows
    >>> distinct_rows(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
    (array([1, 0]), array([1, 0, 1]))
    """
    F = np.ascontiguousarray(F + 0.0)  # which makes 0 of -0
    rows = F.view(np.dtype((np.void, F.itemsize * F.shape[1]))).ravel()
    return np.unique(rows, return_index=True, return_inverse=True)[1:]


def as_gamma(gamma: Any) -> Gamma | DenseGamma:
    """Return a Gamma from what a user gives as one.

    Parameters
    ----------
    gamma : Gamma, DenseGamma, or symmetric array of shape (n, n)
        What was given.

    Returns
    -------
    Gamma or DenseGamma
        Itself, or an array as a DenseGamma.

    Raises
    ------
    ValueError
        For labels, or an array that is not symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.gamma import as_gamma
    >>> as_gamma(np.array([[0.0, 1.0], [1.0, 0.0]])) @ np.array([3.0, 5.0])
    array([5., 3.])
    """
    if isinstance(gamma, Gamma | DenseGamma):
        return gamma
    if np.ndim(gamma) == 1:
        raise ValueError(
            f"gamma must be a Gamma or a symmetric array, got a 1-D {type(gamma).__name__} of "
            f"length {len(gamma)}: for class labels y pass label_gamma(y), for a response r "
            "pass Gamma(centre(r)[:, None], [1.0])"
        )
    return DenseGamma(gamma)


# ---------------------------------------------------------------- one builder per paradigm


def one_hot(y: ArrayLike) -> np.ndarray:
    """Turn labels into columns of zeros and ones, one a class.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of any kind.

    Returns
    -------
    array of shape (n, k)
        The indicator matrix Y; its columns are in the sorted order of the classes.

    Raises
    ------
    ValueError
        If a label is missing or has a fraction, which names the row. If there is only one class:
        HY = 0 and every W is as good as any other.

    Examples
    --------
    >>> from ismlit import one_hot
    >>> one_hot(["pear", "apple", "pear"])
    array([[0., 1.],
           [1., 0.],
           [0., 1.]])
    """
    classes, index = np.unique(read_labels(y), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y must hold at least two classes, got only {classes.tolist()}: with one class "
            "there is nothing to tell apart"
        )
    return np.eye(len(classes))[index]


def centre(A: ArrayLike, sample_weight: ArrayLike | None = None) -> np.ndarray:
    """HA: the columns of A minus their means, which rows of more weight may move.

    Parameters
    ----------
    A : array of shape (n,) or (n, m)
    sample_weight : array of shape (n,), optional

    Returns
    -------
    array of the shape of A

    Examples
    --------
    >>> from ismlit import centre
    >>> centre([[1.0, 10.0], [3.0, 30.0]])
    array([[ -1., -10.],
           [  1.,  10.]])
    >>> centre([1.0, 3.0], sample_weight=[3, 1])
    array([-0.5,  1.5])
    """
    A = np.asarray(A)
    w = None if sample_weight is None else np.asarray(sample_weight)
    return A - np.average(A, axis=0, weights=w)


def label_gamma(
    y: ArrayLike, balanced: bool = False, sample_weight: ArrayLike | None = None
) -> Gamma:
    """Gamma = H Y Y' H of class labels: it sums to zero along rows.

    Parameters
    ----------
    y : array of shape (n,)
        Numbers or words.
    balanced : bool, default=False
        ``H Y (Y'Y)^-1 Y' H`` instead, which is negative between any two classes, whatever their
        sizes.
    sample_weight : array of shape (n,), optional
        Above 0. A row of weight 2 counts as two rows that coincide: with D = diag(sample_weight),
        means weighted by D, and class sizes that are sums of weights, D HYY'H D.

    Returns
    -------
    Gamma

    Raises
    ------
    ValueError
        If there is only one class.

    See Also
    --------
    ismlit.ism : takes it.
    response_gamma : of numbers.

    References
    ----------
    Gretton, Bousquet, Smola and Schoelkopf 2005, Measuring statistical dependence with
    Hilbert-Schmidt norms.

    Examples
    --------
    >>> from ismlit import label_gamma
    >>> label_gamma(["a", "a", "b"]).to_dense().round(2)
    array([[ 0.22,  0.22, -0.44],
           [ 0.22,  0.22, -0.44],
           [-0.44, -0.44,  0.89]])
    """
    Y = one_hot(y)
    w = np.ones(len(Y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    F = centre(Y / np.sqrt(w @ Y) if balanced else Y, w) * w[:, None]
    return Gamma(F, np.ones(F.shape[1]))


def response_gamma(
    y: ArrayLike,
    sigma: float,
    sample_weight: ArrayLike | None = None,
    tol: float = 1e-3,
    n_landmarks: int | None = 200,
) -> Gamma:
    """Gamma = H K_y H of a Gaussian kernel on responses, as a product of thin factors.

    Parameters
    ----------
    y : array of shape (n,) or (n, r)
        One response a column, in units in which they count alike.
    sigma : float
        The bandwidth of the kernel, in those units, above 0.
    sample_weight : array of shape (n,), optional
        Above 0; as for `label_gamma`.
    tol : float, default=1e-3
        Eigenvalues of H K_y H below this share of the largest are left out.
    n_landmarks : int, optional
        Nystroem's formula has the kernel of so many of the distinct responses, evenly spaced in
        their order; of all, and is then exact, when None.

    Returns
    -------
    Gamma

    Raises
    ------
    ValueError
        If y is constant or not finite, or sigma is not above 0.

    See Also
    --------
    label_gamma : of class labels, or of slices of a response.

    References
    ----------
    Fukumizu, Bach and Jordan 2009, Kernel dimension reduction in regression.
    Williams and Seeger 2001, Using the Nystroem method to speed up kernel machines.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.gamma import response_gamma
    >>> y = np.linspace(-1, 1, 500)[:, None]
    >>> gamma = response_gamma(y, sigma=0.5)
    >>> gamma.F.shape
    (500, 6)
    """
    if not sigma > 0:
        raise ValueError(f"sigma must be a number above 0, got {sigma!r}")
    y = read_target(y).astype(float)
    y = centre(y.reshape(len(y), -1))  # differences far from 0 would lose their digits
    w = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    landmarks = np.unique(y, axis=0)
    if len(landmarks) < 2:
        raise ValueError("y is constant: there is nothing for X to say of it")
    taken = min(len(landmarks), n_landmarks or len(landmarks))
    evenly = np.linspace(0, len(landmarks) - 1, taken).astype(int)
    kernel = partial(rbf_kernel, Y=landmarks[evenly], gamma=1 / (2 * sigma**2))
    values, vectors = eigh(kernel(landmarks[evenly]))
    is_nonzero = values > 1e-12 * values[-1]
    F = centre(kernel(y) @ (vectors[:, is_nonzero] / np.sqrt(values[is_nonzero])), w)
    _, sizes, right = svd(np.sqrt(w)[:, None] * F, full_matrices=False)
    F = w[:, None] * (F @ right[sizes**2 > tol * sizes[0] ** 2].T)
    return Gamma(F, np.ones(F.shape[1]))


def target_factor(
    y: np.ndarray,
    tol: float = 1e-3,
    n_landmarks: int | None = 200,
    max_samples: int = 5000,
) -> np.ndarray:
    """Return the centred factor F of the Gamma = FF' of a target of either kind.

    Parameters
    ----------
    y : array of shape (n,), or (n, m)
        As `ismlit.targets.read_target` gives it; with two axes always numbers.
    tol, n_landmarks : float, int or None
        Of a response, as for `response_gamma`.
    max_samples : int
        Of how many rows the median distance is taken.

    Returns
    -------
    array of shape (n, r)
        Indicators of classes; of a response that of a Gaussian kernel at its median distance.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.gamma import target_factor
    >>> target_factor(np.array(["a", "b"]))
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    if y.ndim == 1 and not is_response(y):
        return centre(one_hot(y))
    Y = y.reshape(len(y), -1).astype(float)
    sigma = median_distance(Y, max_samples=max_samples)
    return response_gamma(Y, sigma, tol=tol, n_landmarks=n_landmarks).F


def embedding_gamma(U: ArrayLike) -> Gamma:
    """Return the Gamma of a spectral embedding: HUU'H.

    Parameters
    ----------
    U : array of shape (n, c)
        The embedding.

    Returns
    -------
    Gamma
        Centred.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.gamma import embedding_gamma
    >>> U = np.array([[0.5], [0.5], [-0.5], [-0.5]])  # two clusters
    >>> embedding_gamma(U).to_dense()
    array([[ 0.25,  0.25, -0.25, -0.25],
           [ 0.25,  0.25, -0.25, -0.25],
           [-0.25, -0.25,  0.25,  0.25],
           [-0.25, -0.25,  0.25,  0.25]])
    """
    F = centre(check_array(U))
    return Gamma(F, np.ones(F.shape[1]))


def guidance_gamma(y: ArrayLike, weight: float) -> Gamma:
    """Return the Gamma of what is known of some samples: ``weight * F F'``.

    F holds the centred columns of the indicators (over the known rows; 0 elsewhere) or of the
    scores, scaled to spectral norm 1. A negative weight asks for what does not depend on y.

    Parameters
    ----------
    y : array of shape (n,) or (n, r)
        Labels, numbers or words, with -1 where nothing is known, or None in an array of objects;
        or real scores.
    weight : float
        The factor.

    Returns
    -------
    Gamma
        Centred.

    Raises
    ------
    ValueError
        If fewer than two labels are known, or the scores are constant.

    Examples
    --------
    >>> from ismlit.gamma import guidance_gamma
    >>> guidance_gamma([0, 1, -1], weight=2.0).to_dense().round(2)  # of the third nothing is known
    array([[ 1., -1.,  0.],
           [-1.,  1.,  0.],
           [ 0.,  0.,  0.]])
    """
    y = labels_of_a_column(np.asarray(y))
    if y.ndim == 1:
        known = known_labels(y)
        if not known.any():
            raise ValueError("y says unknown for every sample: give some labels")
        Y = one_hot(y[known])
        F = np.zeros((len(y), Y.shape[1]))
        F[known] = centre(Y)
        spread: Any = 1.0
    else:
        F = centre(y.astype(float))
        spread = np.linalg.norm(y.astype(float))
    size = float(np.linalg.norm(F, 2))
    if size <= 1e-10 * spread:
        raise ValueError("the scores are constant: they say nothing of the samples")
    return Gamma(F / size, np.full(F.shape[1], float(weight)))


def labels_of_a_column(y: np.ndarray) -> np.ndarray:
    """Return a column of labels as labels, and a column of scores as it is.

    A column of integers or words holds labels. So does one of floating-point numbers that are all
    whole, with -1 and nothing else below 0: so pandas stores labels of which some are missing.

    Parameters
    ----------
    y : array of shape (n,) or (n, r)
        Labels or scores.

    Returns
    -------
    array of shape (n,) or (n, r)
        The first shape for labels.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.gamma import labels_of_a_column
    >>> labels_of_a_column(np.array([[0.0], [-1.0], [2.5]])).shape  # scores
    (3, 1)
    """
    if y.ndim != 2 or y.shape[1] != 1:
        return y
    if y.dtype.kind == "f":
        marked = (y == -1).any() and not ((y < 0) & (y != -1)).any()
        if not marked or (y % 1).any():
            return y
    return column_or_1d(y, warn=True)


def known_labels(y: np.ndarray) -> Any:
    """Return which labels are known: not -1, NaN or NaT, nor None or pandas's NA.

    Parameters
    ----------
    y : array of shape (n,) or (n, r)
        Labels or scores.

    Returns
    -------
    array of shape (n,), or None
        True where a label is known. None for scores.

    Raises
    ------
    ValueError
        If -1 stands as text among words.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.gamma import known_labels
    >>> known_labels(np.array([0, -1, 1]))
    array([ True, False,  True])
    """
    if y.ndim > 1:
        return None
    if y.dtype.kind in "US" and np.isin(y, ["-1"]).any():
        raise ValueError(
            "y holds '-1' as text: numbers and words in one list become words. For words with "
            "unknown ones pass np.array([...], dtype=object) with None where nothing is known"
        )
    if y.dtype.kind == "O":
        return np.array([_is_a_label(value) for value in y])
    return (y == y) & (y != -1 if y.dtype.kind in "iuf" else True)


def _is_a_label(value):
    """Not -1, not None, and equal to itself, as neither NaN and NaT nor pandas's NA are."""
    same = value == value
    return isinstance(same, bool | np.bool_) and bool(same) and value is not None and value != -1
