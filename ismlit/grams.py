"""Gram matrices: beta of each pair of rows, and the kernel of it."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_array

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


def betas(kind, left, right):
    """All beta between rows of two projected samples ``left = XW`` (n, q), ``right`` (m, q).

    Shape (n, m). Differences are clipped at 0, where rounding could leave -1e-16.
    """
    products = beta_factors(kind, left)[0] @ beta_factors(kind, right)[1].T
    return products if kind == "inner" else np.maximum(products, 0, out=products)


def beta_factors(kind, Z):
    """(left, right), each (n, m), whose product ``left @ right'`` is all beta of Z (n, q)."""
    if kind == "inner":
        return Z, Z
    sizes = np.einsum("ij,ij->i", Z, Z)[:, None]
    ones = np.ones_like(sizes)
    return np.hstack([-2 * Z, sizes, ones]), np.hstack([Z, ones, sizes])


def beta_slope_factors(kind, Z, U):
    """(left, right) whose product is the derivative of all beta when Z (n, q) moves along U."""
    if kind == "inner":
        return np.hstack([Z, U]), np.hstack([U, Z])
    own = 2 * np.einsum("ij,ij->i", Z, U)[:, None]
    ones = np.ones_like(own)
    return np.hstack([-2 * Z, -2 * U, own, ones]), np.hstack([U, Z, ones, own])


def squared_distances(Z):
    """Squared distances of the rows of Z (n, q): exactly 0 where they are mere rounding.

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
    squares[squares <= 1e-13 * (sizes[:, None] + sizes)] = 0
    np.fill_diagonal(squares, 0)
    return squares


def gram(kernel, X, W=None, X2=None):
    """Gram matrix K of shape (n, m) between X (n, d) and X2 (m, d; default X), seen through W.

    ``W`` (d, q) is the projection, identity when None. Dense: meant for theory and small n;
    the solver never forms it.

    See Also
    --------
    ismlit.hsic : the dependence of two of them.

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
    seen = {
        "inner": (project(X), project(X if X2 is None else X2)),
        "difference": (project(X - mean), project((X if X2 is None else X2) - mean)),
    }
    total = 0
    for weight, part in kernel.terms():
        beta = betas(part.pairs, *seen[part.pairs])
        if X2 is None and part.pairs == "difference":
            np.fill_diagonal(beta, 0)
        u = part.scale(len(X))
        if u is not None:
            if X2 is not None:
                raise ValueError("RelativeGaussian has bandwidths for one sample only: omit X2")
            beta = beta * np.outer(u, u)
        total = total + weight * part.f(beta)
    return total


def float_array(A, least=1):
    """A (n, m) as it is if it holds finite floats, else what scikit-learn's check makes of it.

    That check takes longer than a pass over a hundred samples, and every turn of an alternation
    makes a problem of the same X.

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
