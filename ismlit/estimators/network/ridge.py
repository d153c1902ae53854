"""Layers by ridge discriminant directions, on some of the rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import eigsh

from ismlit.dependence import Alignment
from ismlit.estimators.network.layers import (
    MOST_PAIRS,
    GramColumns,
    Layer,
    LayerSolver,
    Recipe,
    Waves,
    first_alike,
    measured,
)
from ismlit.gamma import label_gamma
from ismlit.kernels import Gaussian
from ismlit.objectives.features import even_frequencies
from ismlit.objectives.plain import Problem
from ismlit.solvers.ism import ism
from ismlit.solvers.starts import starting_point

BANDWIDTH_SUBSAMPLE = 150  # A bandwidth is searched on so many rows, by class shares.


def spaced(rows: np.ndarray, size: int) -> np.ndarray:
    """Return some of the rows, evenly spaced.

    Parameters
    ----------
    rows : array of shape (n,)
        Numbers of rows.
    size : int
        How many are wanted.

    Returns
    -------
    array of shape (size,)
        Those chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.estimators.network.ridge import spaced
    >>> spaced(np.arange(9), 3)
    array([1, 4, 7])
    """
    return rows[((np.arange(size) + 0.5) * len(rows) / max(size, 1)).astype(int)]


def spread_rows(index: np.ndarray, most: int) -> np.ndarray:
    """Return some of the rows, by class shares and evenly spaced in each class.

    Parameters
    ----------
    index : array of shape (n,)
        The class of each row, from 0. Two rows of each are taken in any case, if there are two.
    most : int
        About how many rows are wanted.

    Returns
    -------
    array of int
        The rows chosen, sorted.

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


def hold_out(index: np.ndarray, share: float) -> np.ndarray:
    """Choose the rows to hold out: a share of each class, at least one, but never all of it.

    Parameters
    ----------
    index : array of shape (n,)
        The class of each row, from 0.
    share : float
        Between 0 and 1.

    Returns
    -------
    array of shape (n,)
        True for a row that is held out.

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

    With centred features R (n, m) and class indicators F they are an orthonormal basis of the
    columns of ``(R'R + ridge I)^-1 R'F``. Exact features are never formed: those columns are ``R'
    (RR' + ridge I)^-1 F``, and RR' = HKH.

    Parameters
    ----------
    features : GramColumns or Waves
        The feature space.
    Z : array of shape (n, q)
        Images at the layer before.
    F : array of shape (n, k)
        Class indicators.

    References
    ----------
    Mika, Raetsch, Weston, Schoelkopf and Mueller 1999, Fisher discriminant analysis with kernels.

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

    def __init__(self, features: Any, Z: np.ndarray, F: np.ndarray) -> None:
        self.features, self.R, self.alike = features, features(Z), first_alike(Z)
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

    def __call__(self, ridge: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the directions for a ridge.

        Parameters
        ----------
        ridge : float
            A share of the largest eigenvalue of R'R; infinity leaves R'F.

        Returns
        -------
        A : array of shape (m, q)
            Weights of the columns of the features.
        images : array of shape (n, q)
            The training rows, seen along the directions; equal rows have equal ones.
        """
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
        return A, (self.R @ A)[self.alike]


def _largest_eigenvalue(C, start):
    if len(C) < 32:
        return float(np.linalg.eigvalsh(C)[-1])
    return float(eigsh(C, 1, v0=start, return_eigenvectors=False)[0])


class RowsLayerSolver(LayerSolver):
    """The solver of layers for some rows, with bandwidths from few of them.

    Parameters
    ----------
    y : array of shape (n,)
        Class labels.
    recipe : Recipe
        How layers are solved.
    rng : RandomState
        What features are drawn with.
    seeds : array of int
        Of the random features, for one layer after the other.
    """

    search = dict(grid=13, tol=0.03)

    def __init__(self, y: np.ndarray, recipe: Recipe, rng: Any, seeds: np.ndarray) -> None:
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

    def all_columns(self, R: np.ndarray, features: Any) -> tuple[Layer, np.ndarray]:
        """Make a first layer that keeps every column.

        Parameters
        ----------
        R : array of shape (n, r)
            The input, in the basis of the features.
        features : Centred
            What gave it.

        Returns
        -------
        layer : Layer
            The layer.
        Z : array of shape (n, r)
            The images of the training rows.
        """
        W = np.eye(R.shape[1])
        return self._layer(features, R, features.basis, self.bandwidth(R)[0], W)

    def projected(self, R: np.ndarray, features: Any, q: int) -> tuple[Layer, np.ndarray]:
        """Solve a first layer of q columns by ISM.

        Parameters
        ----------
        R : array of shape (n, r)
            The input, in the basis of the features.
        features : Centred
            What gave it.
        q : int
            The number of columns.

        Returns
        -------
        layer : Layer
            The layer.
        Z : array of shape (n, q)
            The images of the training rows.
        """
        problem = Problem(R[self.rows], self.gamma_of_rows, Gaussian(1.0))
        W = starting_point(problem, q, "taylor")
        return self._layer(features, R, features.basis, *self.climb(R, W)[1:])

    def space(self, Z: np.ndarray, kernel: Gaussian, number: int) -> RidgeDirections:
        """Return the feature space of a layer's input.

        Parameters
        ----------
        Z : array of shape (n, q)
            Images at the layer before.
        kernel : Gaussian
            The kernel on them.
        number : int
            Of the layer, which chooses the seed of random features.

        Returns
        -------
        RidgeDirections
            The directions of that space.
        """
        m = self.recipe.random_features
        if m is None:
            features: Any = GramColumns(Z, kernel)
        else:
            features = Waves(even_frequencies(Z.shape[1], m, self.seeds[number]) / kernel.sigma)
        return RidgeDirections(features, Z, self.gamma.F)

    def discriminant(self, space: RidgeDirections, ridge: Any) -> tuple[Layer, np.ndarray]:
        """Make a further layer of ridge discriminant directions.

        Parameters
        ----------
        space : RidgeDirections
            The feature space of its input.
        ridge : float
            The ridge.

        Returns
        -------
        layer : Layer
            The layer.
        Z : array of shape (n, q)
            The images of the training rows.
        """
        A, Z = space(ridge)
        sigma, _ = self.bandwidth(Z)
        measures = measured(self.score, Z, self.sample, sigma)
        return Layer(space.features, A, Gaussian(sigma), *measures), Z

    def measured(self, layer: Layer, Z: np.ndarray) -> Layer:
        """Measure a layer on more rows than its bandwidth was searched on: at most MOST_PAIRS.

        Parameters
        ----------
        layer : Layer
            The layer.
        Z : array of shape (n, q)
            The images of the training rows.

        Returns
        -------
        Layer
            The same with what was found.
        """
        measures = measured(Alignment(self.gamma_of_rows), Z, self.rows, layer.kernel.sigma)
        return replace(layer, agreement=measures[0], share=measures[1])

    @property
    def known(self) -> np.ndarray:
        """The rows that stand for their classes when a sample is classified."""
        exact = self.recipe.random_features is None
        return np.arange(len(self.index)) if exact else self.rows
