"""The beta of each pair of rows, and Gram matrices, which hold the kernel of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, gen_batches

from ismlit.kernels import Kernel


class ConstantKernelError(ValueError):
    """The kernel does not vary on the data, so that nothing can be learnt from it.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import ConstantKernelError, SupervisedIKDR
    >>> X, y = load_wine(return_X_y=True)
    >>> try:
    ...     model = SupervisedIKDR(2, bandwidth=1e-3, init="taylor").fit(10 * scale(X), y)
    ... except ConstantKernelError:
    ...     model = SupervisedIKDR(2, bandwidth="median").fit(10 * scale(X), y)
    >>> round(model.kernel_.sigma)
    50
    """


def betas(kind: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return beta for all pairs of rows of two projected samples.

    Parameters
    ----------
    kind : {"inner", "difference"}
        Whether beta is an inner product or a squared distance.
    left : array of shape (n, q)
        Projected samples XW.
    right : array of shape (m, q)
        Others, or the same.

    Returns
    -------
    array of shape (n, m)
        The betas. Squared distances are at least 0, where rounding could leave -1e-16.
    """
    products = beta_factors(kind, left)[0] @ beta_factors(kind, right)[1].T
    return products if kind == "inner" else np.maximum(products, 0, out=products)


def beta_factors(kind: str, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two thin arrays whose product holds the beta of all pairs of rows.

    Parameters
    ----------
    kind : {"inner", "difference"}
        Whether beta is an inner product or a squared distance.
    Z : array of shape (n, q)
        Projected samples.

    Returns
    -------
    tuple of two arrays of shape (n, m)
        Left and right: all betas are ``left @ right.T``; m is q or q + 2.
    """
    if kind == "inner":
        return Z, Z
    sizes = np.einsum("ij,ij->i", Z, Z)[:, None]
    ones = np.ones_like(sizes)
    return np.hstack([-2 * Z, sizes, ones]), np.hstack([Z, ones, sizes])


def beta_slope_factors(kind: str, Z: np.ndarray, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two thin arrays whose product is the derivative of all betas along a direction.

    Parameters
    ----------
    kind : {"inner", "difference"}
        Whether beta is an inner product or a squared distance.
    Z : array of shape (n, q)
        Projected samples.
    U : array of shape (n, q)
        The direction in which they move.

    Returns
    -------
    tuple of two arrays of shape (n, m)
        Left and right: the derivatives are ``left @ right.T``.
    """
    if kind == "inner":
        return np.hstack([Z, U]), np.hstack([U, Z])
    products = 2 * np.einsum("ij,ij->i", Z, U)[:, None]
    ones = np.ones_like(products)
    return np.hstack([-2 * Z, -2 * U, products, ones]), np.hstack([U, Z, ones, products])


def squared_distances(Z: np.ndarray) -> np.ndarray:
    """Return the squared distances of all pairs of rows.

    They are exactly 0 where they would be mere rounding.

    Parameters
    ----------
    Z : array of shape (n, q)
        The rows.

    Returns
    -------
    array of shape (n, n)
        The squared distances, in the squared units of Z.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.grams import squared_distances
    >>> squared_distances(1e9 + np.array([[0.0], [1.0], [5.0]]))  # a far origin costs no digits
    array([[ 0.,  1., 25.],
           [ 1.,  0., 16.],
           [25., 16.,  0.]])
    """
    Z = Z - Z.mean(axis=0)
    squares = betas("difference", Z, Z)
    sizes = np.einsum("ij,ij->i", Z, Z)
    for rows in gen_batches(len(Z), 1024):  # no other n x n array is made
        part = squares[rows]
        part[part <= 1e-13 * (sizes[rows, None] + sizes)] = 0
    np.fill_diagonal(squares, 0)
    return squares


def column_means(X: np.ndarray, sample_weight: ArrayLike | None = None) -> np.ndarray:
    """Return the means of the columns, added up in double precision whatever the type of X.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in rows.
    sample_weight : array of shape (n,), optional
        How much each row counts.

    Returns
    -------
    array of shape (d,)
        In double precision.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.grams import column_means
    >>> X = np.full((1_000_000, 2), 2020.1, dtype=np.float32)  # X.mean(axis=0) is 2018.9
    >>> column_means(X).round(1)
    array([2020.1, 2020.1])
    """
    if sample_weight is None:
        return X.mean(axis=0, dtype=float)
    return np.average(X, axis=0, weights=np.asarray(sample_weight, dtype=float))


@np.errstate(under="ignore")
def gram(
    kernel: Kernel, X: ArrayLike, W: ArrayLike | None = None, X2: ArrayLike | None = None
) -> np.ndarray:
    """Return the Gram matrix: the kernel of all pairs of rows, seen through a projection.

    It is an n x m array, meant for theory and for small n. The solver never forms it.

    Parameters
    ----------
    kernel : Kernel
        The kernel, such as ``Gaussian(1.0)``.
    X : array of shape (n, d)
        Samples in rows.
    W : array of shape (d, q), optional
        The projection; the identity when None.
    X2 : array of shape (m, d), optional
        The samples that those of X are compared with; X itself when None.

    Returns
    -------
    array of shape (n, m)
        Entry (i, j) is k(x_i W, x2_j W).

    Raises
    ------
    TypeError
        If `kernel` is not a Kernel.
    ValueError
        If X2 is given to a kernel that has a bandwidth for each row of X.

    See Also
    --------
    ismlit.hsic : The dependence that two Gram matrices measure.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Gaussian, gram
    >>> X = np.array([[0.0, 7.0], [1.0, -3.0]])
    >>> gram(Gaussian(1.0), X).round(2)
    array([[1., 0.],
           [0., 1.]])
    >>> gram(Gaussian(1.0), X, W=np.array([[1.0], [0.0]])).round(2)  # the first feature alone
    array([[1.  , 0.61],
           [0.61, 1.  ]])
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a Kernel, such as Gaussian(1.0), got {kernel!r}")
    X = np.asarray(X)
    project = lambda A: A if W is None else A @ W
    mean = X.mean(axis=0)  # differences do not see it, and round less without it
    arguments = {
        "inner": (project(X), project(X if X2 is None else X2)),
        "difference": (project(X - mean), project((X if X2 is None else X2) - mean)),
    }
    total: Any = 0
    for weight, part in kernel.terms():
        beta = betas(part.pairs, *arguments[part.pairs])
        if X2 is None and part.pairs == "difference":
            np.fill_diagonal(beta, 0)
        u = part.scale(len(X))
        if u is not None:
            if X2 is not None:
                raise ValueError("RelativeGaussian has bandwidths for one sample only: omit X2")
            beta = beta * np.outer(u, u)
        total = total + weight * part.f(beta)
    return total


def float_array(A: ArrayLike, least: int = 1) -> np.ndarray:
    """Return an array of finite floating-point numbers, without a copy if it is one already.

    Scikit-learn's own check takes longer than a pass over a hundred samples, and every iteration of
    an alternation makes a problem of the same X.

    Parameters
    ----------
    A : array of shape (n, m)
        Single precision (float32) is kept; other types become float64.
    least : int, default=1
        The fewest rows allowed.

    Returns
    -------
    array of shape (n, m)
        The array A itself where it already is what is asked for.

    Raises
    ------
    ValueError
        If A holds NaN or infinity, is not two-dimensional, or has too few rows.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.grams import float_array
    >>> A = np.eye(2)
    >>> float_array(A) is A, float_array([[1, 2]])
    (True, array([[1., 2.]]))
    """
    if type(A) is np.ndarray and A.ndim == 2 and A.size and len(A) >= least:
        if A.dtype in (np.float64, np.float32):
            with np.errstate(over="ignore", invalid="ignore"):
                if np.isfinite(A.sum()):
                    return A
    return check_array(A, dtype=(np.float64, np.float32), ensure_min_samples=least)
