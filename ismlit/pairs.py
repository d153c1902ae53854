"""All pairs of samples: beta, the Gram matrix, and sweeps over the pairs tile by tile.

A pass visits each unordered pair of samples once, in square tiles, so memory is O(n * tile) and
half of the n^2 work is saved by symmetry. `Pairs` is the Gram matrix as an operator, which needs
no Gamma; `ismlit.problem` puts weights on the pairs.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse.linalg import LinearOperator
from sklearn.utils import check_array
from threadpoolctl import threadpool_limits

from ismlit.kernels import Kernel


class ConstantKernelError(ValueError):
    """The kernel does not vary on the data, so that nothing can be learnt from it.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from ismlit import ConstantKernelError, SupervisedIKDR
    >>> X, y = load_wine(return_X_y=True)
    >>> try:
    ...     model = SupervisedIKDR(2, bandwidth=1e-3, init="taylor").fit(X, y)
    ... except ConstantKernelError:
    ...     model = SupervisedIKDR(2, bandwidth="median").fit(X, y)
    >>> round(model.kernel_.sigma)  # the features are not scaled
    280
    """


# ---------------------------------------------------------------- beta, and K


def betas(kind, left, right):
    """All beta between rows of two projected samples ``left = XW`` (n, q), ``right`` (m, q).

    Shape (n, m). Differences are clipped at 0, where rounding could leave -1e-16.
    """
    products = _factors(kind, left)[0] @ _factors(kind, right)[1].T
    return products if kind == "inner" else np.maximum(products, 0, out=products)


def _factors(kind, Z):
    """(left, right), each (n, m), whose product ``left @ right'`` is all beta of Z (n, q)."""
    if kind == "inner":
        return Z, Z
    sizes = np.einsum("ij,ij->i", Z, Z)[:, None]
    ones = np.ones_like(sizes)
    return np.hstack([-2 * Z, sizes, ones]), np.hstack([Z, ones, sizes])


def squared_distances(Z):
    """Squared distances of the rows of Z (n, q): exactly 0 where they are mere rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.pairs import squared_distances
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


# ---------------------------------------------------------------- sweeps


@dataclass
class Count:
    """How many passes over the pairs were made; shared by all calls of one solve."""

    passes: int = 0


class Samples:
    """What every problem knows of its samples: a base of frozen dataclasses with a field X."""

    n = property(lambda self: self.X.shape[0])
    d = property(lambda self: self.X.shape[1])
    dtype = property(lambda self: self.X.dtype)

    def scatter(self, V=None):
        """How the samples spread along V (d, k), the identity when None: ``V'X'HXV``."""
        seen = self.X - self.X.mean(axis=0)
        seen = seen if V is None else seen @ V
        return seen.T @ seen

    def restrict(self, V):
        """The same for the samples XV, V (d, k): the problem of B in W = VB."""
        return replace(self, X=self.X @ V)

    def sample(self, rows):
        """The same for some of the samples; passes over them are counted apart."""
        parts = dict(X=self.X[rows], kernel=self.kernel.sample(rows), count=Count())
        for name in ("gamma", "fixed"):
            if getattr(self, name, None) is not None:
                parts[name] = getattr(self, name).sample(rows)
        return replace(self, **parts)


class View(NamedTuple):
    """Projected samples z = XW (n, q), and two factors whose product holds all their betas."""

    z: np.ndarray
    left: np.ndarray
    right: np.ndarray


@dataclass(frozen=True, eq=False)
class Pairs(Samples):
    """The pairs of samples under a kernel: K_XW as an operator, without an n x n array.

    Parameters
    ----------
    X : array of shape (n, d), float64 or float32 (kept)
    kernel : Kernel
    n_jobs : int, optional
        Workers of joblib (threads unless another backend is active).
    tile : int
        Side of a tile of pairs; memory is a few tile x tile arrays per worker.
    count : Count, optional
        Where passes are counted.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Gaussian, gram
    >>> from ismlit.pairs import Pairs
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> K = Pairs(X, Gaussian(1.0)).gram_operator(np.eye(1))
    >>> bool(np.allclose(K @ np.ones(3), gram(Gaussian(1.0), X).sum(axis=1)))
    True
    """

    X: np.ndarray
    kernel: Kernel
    n_jobs: int | None = None
    tile: int = 512
    count: Count = field(default_factory=Count, repr=False)

    def __post_init__(self):
        X = check_array(self.X, dtype=(np.float64, np.float32), ensure_min_samples=2)
        if not isinstance(self.kernel, Kernel):
            raise TypeError(
                f"kernel must be a Kernel, got {self.kernel!r}; as_kernel(name, X) makes one"
            )
        object.__setattr__(self, "X", X)
        for _, part in self.kernel.terms():
            part.scale(len(X))  # per-sample bandwidths must match X

    @cached_property
    def kinds(self):
        """Which kinds of pair the kernel looks at ("inner", "difference" or both)."""
        return tuple(dict.fromkeys(part.pairs for _, part in self.kernel.terms()))

    @cached_property
    def data(self):
        """X by kind of pair; differences use X minus its mean, which rounds less."""
        return {"inner": self.X, "difference": self.X - self.X.mean(axis=0)}

    @cached_property
    def scales(self):
        """Per-sample factors of each part of the kernel, or None."""
        scales = [part.scale(self.n) for _, part in self.kernel.terms()]
        return [None if u is None else u.astype(self.dtype) for u in scales]

    @cached_property
    def blocks(self):
        """The slices of samples that tiles are made of."""
        return [slice(a, min(a + self.tile, self.n)) for a in range(0, self.n, self.tile)]

    def project(self, directions):
        """{kind: X times each of the directions}, of shape (..., n, q)."""
        return {kind: self.data[kind] @ directions for kind in self.kinds}

    # ------------------------------------------------------------ the sweep over tiles

    def sweep(self, row, W, *arguments):
        """Results of ``row(r, views, *arguments)`` for every block row r, in order: one pass.

        `views` holds a `View` of the samples for every kind of pair.
        """
        W = np.asarray(W, self.dtype)
        if W.ndim != 2 or W.shape[0] != self.d:
            raise ValueError(f"W must have shape ({self.d}, q), got {W.shape}")
        self.count.passes += 1
        views = {kind: View(z, *_factors(kind, z)) for kind, z in self.project(W).items()}
        rows = range(len(self.blocks))
        yield from in_parallel(self.n_jobs, (delayed(row)(r, views, *arguments) for r in rows))

    def tiles(self, r, views, *orders):
        """Tiles (rows, columns, parts) of block row r with columns >= rows.

        `parts` holds (kind, values) for each part of the kernel, `values` weight times the
        derivative of f of each asked order, as arrays that may be overwritten. Tiles on the
        diagonal come halved, so that every unordered pair counts once.
        """
        for c in range(r, len(self.blocks)):
            rows, columns = self.blocks[r], self.blocks[c]
            half = 0.5 if c == r else 1.0
            parts = []
            for (weight, part), u in zip(self.kernel.terms(), self.scales, strict=True):
                view = views[part.pairs]
                beta = view.left[rows] @ view.right[columns].T
                if part.pairs == "difference":
                    np.maximum(beta, 0, out=beta)
                    if c == r:
                        np.fill_diagonal(beta, 0)
                if u is not None:
                    scale = np.outer(u[rows], u[columns])
                    beta *= scale
                values = part.f_and_derivatives(beta, orders)
                for k, order in enumerate(orders):
                    values[k] = values[k].astype(self.dtype, copy=False)
                    if half * weight != 1:
                        values[k] *= half * weight
                    if u is not None and order:
                        values[k] *= scale**order
                parts.append((part.pairs, values))
            yield rows, columns, parts

    def operator(self, size, row, W, cache_bytes, prepare=lambda V: V):
        """A symmetric LinearOperator of products by ``row(r, views, prepare(V), kept)`` at W.

        Tiles are kept if half of n^2 numbers fit in `cache_bytes`, else computed anew for each
        product.
        """
        kept = {} if self.n**2 * self.dtype.itemsize / 2 <= cache_bytes else None

        def product(V):
            V = np.asarray(V, self.dtype).reshape(size, -1)
            self.count.passes -= bool(kept)  # tiles at hand: the pairs are not visited again
            return sum(self.sweep(row, W, prepare(V), kept))

        same = dict(matvec=product, matmat=product, rmatvec=product)
        return LinearOperator((size, size), **same, dtype=self.dtype)

    def kept_tiles(self, kept, r, tiles):
        """The tiles of block row r: from the dict `kept` once they are there, None keeps none."""
        if kept is None:
            return tiles
        if r not in kept:
            kept[r] = list(tiles)
        return kept[r]

    # ------------------------------------------------------------ K as an operator

    def gram_operator(self, W, cache_bytes=2**30):
        """K_XW (n, n) as a LinearOperator on blocks of vectors."""
        return self.operator(self.n, self._gram_row, W, cache_bytes)

    def gram_derivative(self, W, Z, V):
        """``(d/dt K_X(W + t Z)) V`` at t = 0 for V (n, m), in one pass."""
        directions = self.project(np.asarray(Z, self.dtype))
        return sum(self.sweep(self._gram_slope_row, W, directions, np.asarray(V, self.dtype)))

    def row_sums(self, K):
        """K 1 of shape (n,) from K as an operator; a ValueError unless all are positive."""
        sums = np.asarray(K @ np.ones(self.n, self.dtype)).ravel()
        if not (sums > 0).all():
            raise ValueError(
                f"degree normalisation needs positive row sums of K, the smallest of "
                f"{self.kernel!r} is {sums.min():.3g}: use a kernel that is positive, or "
                "normalize='none'"
            )
        return sums

    def _gram_row(self, r, views, V, kept):
        """The share of block row r in K V."""
        total = np.zeros_like(V)
        for rows, columns, parts in self.kept_tiles(kept, r, self.tiles(r, views, 0)):
            for _, (values,) in parts:
                total[rows] += values @ V[columns]
                total[columns] += values.T @ V[rows]
        return total

    def _gram_slope_row(self, r, views, directions, V):
        """The share of block row r in (dK) V when W moves along `directions`."""
        total = np.zeros_like(V)
        for rows, columns, parts in self.tiles(r, views, 1):
            for kind, (values,) in parts:
                values *= beta_slope(kind, rows, columns, views[kind].z, directions[kind])
                total[rows] += values @ V[columns]
                total[columns] += values.T @ V[rows]
        return total


def in_parallel(n_jobs, calls):
    """Results of delayed calls, in order, as they come; each of several workers has one thread."""
    with threadpool_limits(1) if n_jobs not in (None, 1) else nullcontext():
        yield from Parallel(n_jobs, prefer="threads", return_as="generator")(calls)


def beta_slope(kind, rows, columns, z, u):
    """Derivative of the betas of a tile when the projected samples z (n, q) move along u."""
    slope = z[rows] @ u[columns].T
    slope += u[rows] @ z[columns].T
    if kind == "inner":
        return slope
    own = 2 * np.einsum("ij,ij->i", z, u)
    slope *= -2
    slope += own[rows][:, None]
    slope += own[columns]
    return slope
