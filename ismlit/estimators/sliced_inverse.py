"""Sliced inverse regression: directions in which the means of slices differ."""

from __future__ import annotations

from typing import Self

import numpy as np

from ismlit.estimators.base import all_or_nothing
from ismlit.estimators.gradient_kdr import ClosedFormReduction
from ismlit.estimators.parameters import WHOLE, check_parameters, is_integer_at_least
from ismlit.geometry.frames import fixed_signs
from ismlit.messages import warn
from ismlit.targets import is_response, slice_starts


class SlicedInverseRegression(ClosedFormReduction):
    """Find the directions in which the means of slices of a response, or of classes, differ most.

    X is whitened, the mean of each slice is taken, and the leading principal directions of these
    means are carried back. It costs next to nothing. A direction in which every slice has the same
    mean, as with y = x², is not seen: see `SAVE`, `GradientKDR`.

    Parameters
    ----------
    n_components : int, default=2
        At most one less than there are slices, and at most the number of features.
    n_slices : int, default=10
        Slices of a response, with equally many rows each. Class labels are slices themselves.

    Attributes
    ----------
    W_ : array of shape (n_features, n_components)
        The projected training rows have variance 1 and are uncorrelated; the largest entry of
        each column is positive.
    eigenvalues_ : array of shape (n_components,)
        The variance of the slices' means along each column, from 0 to 1.
    mean_ : array of shape (n_features,)
        Subtracted from X before projecting.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    ismlit.SAVE : compares the spread of slices, and not their means.
    ismlit.ResponseIKDR : sees the whole distribution of each slice.

    References
    ----------
    Li 1991, Sliced inverse regression for dimension reduction. Journal of the American
    Statistical Association 86.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import SlicedInverseRegression
    >>> X = np.random.default_rng(0).standard_normal((500, 5))
    >>> W = SlicedInverseRegression(1).fit(X, np.exp(X[:, 3]) + 0.1 * X[:, 0]).W_
    >>> int(np.abs(W).argmax())
    3
    """

    def __init__(self, n_components: int = 2, n_slices: int = 10) -> None:
        self.n_components = n_components
        self.n_slices = n_slices

    @all_or_nothing
    def fit(self, X, y) -> Self:
        """Learn ``W_`` from rows and their response or classes.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            As for `ismlit.GradientKDR`.

        Returns
        -------
        SlicedInverseRegression
            Itself.

        Raises
        ------
        ValueError
            If more components are asked for than the slices determine.

        Warns
        -----
        UserWarning
            If X varies in as many directions as its rows allow: some direction then tells any
            slices apart.
        """
        at_least_2 = (lambda m: is_integer_at_least(m, 2), "a whole number of at least 2")
        check_parameters(self, n_components=WHOLE, n_slices=at_least_2)
        X, y = self._checked(X, y)
        if is_response(y):
            y = np.searchsorted(slice_starts(y, self.n_slices), y, side="right")
        classes, slices = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"y must hold at least two classes or values, got only {classes}")
        U, sizes, Vt = np.linalg.svd(X, full_matrices=False)
        varies = sizes > 1e-9 * sizes[0]
        if varies.sum() >= len(X) - 1:
            warn(
                f"{len(X)} rows vary in {varies.sum()} directions, so that {type(self).__name__} "
                "tells any slices of them apart, and new rows not at all: give more rows, or "
                "fewer columns, for instance by sklearn.decomposition.PCA",
            )
        whitened = U[:, varies] * np.sqrt(len(X))
        values, directions = self._leading([whitened[slices == k] for k in range(len(classes))])
        if directions.shape[1] < self.n_components:
            raise ValueError(
                f"n_components = {self.n_components} must be at most {directions.shape[1]}: "
                f"{len(classes)} slices, and X varies in {varies.sum()} directions"
            )
        back = Vt[varies].T / sizes[varies] * np.sqrt(len(X))
        self.eigenvalues_ = values[: self.n_components]
        self.W_ = fixed_signs(back @ directions[:, : self.n_components])
        return self

    def _leading(self, slices):
        """The directions (rank, m) in which means of whitened slices differ most, and how much."""
        means = np.array([Z.mean(axis=0) * np.sqrt(len(Z)) for Z in slices])
        _, sizes, directions = np.linalg.svd(means, full_matrices=False)
        return sizes**2 / sum(map(len, slices)), directions[: len(slices) - 1].T
