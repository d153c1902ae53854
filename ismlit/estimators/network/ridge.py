"""Layers by ridge discriminant directions, on some of the rows."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import eigsh

from ismlit.estimators.network.layers import (
    MOST_PAIRS,
    GramColumns,
    Layer,
    LayerSolver,
    Waves,
)
from ismlit.gamma import label_gamma
from ismlit.kernels import Gaussian
from ismlit.objectives.features import even_frequencies
from ismlit.objectives.plain import Problem
from ismlit.solvers.ism import ism
from ismlit.solvers.starts import starting_point

BANDWIDTH_SUBSAMPLE = 150  # by class shares, on which a bandwidth is searched


def spaced(rows, size):
    """So many of the rows (n,), evenly spaced.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.estimators.network.ridge import spaced
    >>> spaced(np.arange(9), 3)
    array([1, 4, 7])
    """
    return rows[((np.arange(size) + 0.5) * len(rows) / max(size, 1)).astype(int)]


def spread_rows(index, most):
    """About `most` of the rows, by class shares and spaced evenly in each class; sorted.

    Parameters
    ----------
    index : array of shape (n,)
        The class of each row, from 0. Two rows of each are taken in any case, if there are two.
    most : int

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.estimators.network.ridge import spread_rows
    >>> spread_rows(np.array([0, 0, 0, 0, 0, 0, 1, 1, 1]), 6)
    array([0, 2, 3, 5, 6, 8])
    """
    classes = [np.flatnonzero(index == k) for k in range(index.max() + 1)]
    sizes = [min(len(rows), max(round(most * len(rows) / len(index)), 2)) for rows in classes]
    return np.sort(np.concatenate([spaced(*pair) for pair in zip(classes, sizes, strict=True)]))


def hold_out(index, share):
    """Which rows are held out (n,): a share of each class, at least one, but never all of it.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.estimators.network.ridge import hold_out
    >>> hold_out(np.array([0, 0, 0, 0, 1, 1, 2]), 0.25)
    array([False, False,  True, False, False,  True, False])
    """
    held = np.zeros(len(index), dtype=bool)
    for k in range(index.max() + 1):
        rows = np.flatnonzero(index == k)
        held[spaced(rows, min(max(round(share * len(rows)), 1), len(rows) - 1))] = True
    return held


class RidgeDirections:
    """Ridge discriminant directions of a feature space, for one ridge after the other.

    With centred features R (n, m) and class indicators F: an orthonormal basis of the columns of
    ``(R'R + ridge I)^-1 R'F``, the ridge as a share of the largest eigenvalue of R'R. Exact
    features are never formed: those columns are ``R' (RR' + ridge I)^-1 F``, and RR' = HKH.

    Parameters
    ----------
    features : GramColumns or Waves
    Z : array of shape (n, q)
        Images at the layer before.
    F : array of shape (n, k)

    Notes
    -----
    Claim: new-ridge-start.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Gaussian
    >>> from ismlit.estimators.network.ridge import RidgeDirections
    >>> from ismlit.estimators.network.layers import GramColumns
    >>> Z = np.array([[0.0], [1.0], [3.0], [4.0]])
    >>> space = RidgeDirections(GramColumns(Z, Gaussian(1.0)), Z, np.eye(2)[[0, 0, 1, 1]])
    >>> A, images = space(0.1)
    >>> (images - images.mean(axis=0)).round(2).ravel()
    array([-0.63, -0.61,  0.61,  0.63])
    """

    def __init__(self, features, Z, F):
        self.features, self.R = features, features(Z)
        F = F - F.mean(axis=0)
        centred = self.R - self.R.mean(axis=0)
        self.exact = isinstance(features, GramColumns)
        if self.exact:
            self.C = centred - centred.mean(axis=1)[:, None]
            self.right = F
        else:
            self.C = centred.T @ centred
            self.right = centred.T @ F
        self.largest = _largest_eigenvalue(self.C, self.right.sum(axis=1) + self.right[:, 0])

    def __call__(self, ridge):
        """Weights (columns of the features, q) and the images (n, q) of the training rows."""
        B = self.right
        if np.isfinite(ridge):
            C = self.C.copy()
            C[np.diag_indices_from(C)] += ridge * self.largest
            B = cho_solve(cho_factor(C, overwrite_a=True, check_finite=False), B)
        if self.exact:
            B = B - B.mean(axis=0)
        sizes, T = np.linalg.eigh(B.T @ (self.C @ B if self.exact else B))
        keep = sizes > 1e-12 * sizes[-1]
        A = B @ (T[:, keep] / np.sqrt(sizes[keep]))
        return A, self.R @ A


def _largest_eigenvalue(C, start):
    if len(C) < 32:
        return float(np.linalg.eigvalsh(C)[-1])
    return float(eigsh(C, 1, v0=start, return_eigenvectors=False)[0])


class RowsLayerSolver(LayerSolver):
    """Layers for some rows, with bandwidths from few of them.

    Parameters
    ----------
    y, recipe, rng
        As of `LayerSolver`.
    seeds : array of int
        Of the random features, for one layer after the other.
    """

    search = dict(grid=13, tol=0.03)

    def __init__(self, y, recipe, rng, seeds):
        super().__init__(y, recipe, rng)
        self.seeds = seeds
        self.rows = spread_rows(self.index, MOST_PAIRS)
        self.gamma_of_rows = label_gamma(y[self.rows])

    def _sample(self, n):
        return spread_rows(self.index, BANDWIDTH_SUBSAMPLE)

    def _ism(self, R, sigma, W):
        """W by ISM on at most MOST_PAIRS of the rows."""
        options = dict(tol=self.recipe.tol, max_iter=self.recipe.max_iter, escape=False, init=W)
        gamma = self.gamma_of_rows
        return self._solved(ism, R[self.rows], gamma, sigma, W.shape[1], **options)

    def all_columns(self, R, features):
        """A first layer that keeps every column."""
        W = np.eye(R.shape[1])
        sigma, hsic = self.bandwidth(R)
        return self._layer(features, R, None, hsic, sigma, W)

    def projected(self, R, features, q):
        """A first layer of q columns by ISM."""
        problem = Problem(R[self.rows], self.gamma_of_rows, Gaussian(1.0))
        W = starting_point(problem, q, "taylor")
        return self._layer(features, R, None, *self.climb(R, W))

    def space(self, Z, kernel, number):
        """The feature space of layer `number`'s input."""
        m = self.recipe.random_features
        if m is None:
            features = GramColumns(Z, kernel)
        else:
            features = Waves(even_frequencies(Z.shape[1], m, self.seeds[number]) / kernel.sigma)
        return RidgeDirections(features, Z, self.gamma.F)

    def discriminant(self, space, ridge):
        """A further layer, and its images."""
        A, Z = space(ridge)
        sigma, hsic = self.bandwidth(Z)
        return Layer(space.features, A, Gaussian(sigma), hsic, self.share(Z, sigma)), Z

    @property
    def known(self):
        """The rows that stand for their classes when a sample is classified."""
        exact = self.recipe.random_features is None
        return np.arange(len(self.index)) if exact else self.rows
