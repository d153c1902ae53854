"""Dimension reduction for a response."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Self

import numpy as np
from sklearn.utils.validation import validate_data

from ismlit.estimators.base import FLOATS, all_or_nothing
from ismlit.estimators.collections import fit_collections, is_collection
from ismlit.estimators.parameters import check_parameters, is_integer_at_least
from ismlit.estimators.supervised import SupervisedIKDR


@dataclass(eq=False, repr=False)
class ResponseIKDR(SupervisedIKDR):
    """Find the linear subspace of X on which a response depends most, as HSIC measures it.

    The response is cut into slices that hold equally many rows, as in sliced inverse regression
    (SIR), and the subspace is sought on which the slice depends most. SIR sees the means of the
    slices alone; this sees their whole distribution.

    Parameters
    ----------
    n_components, kernel, bandwidth, init, random_features, tol, max_iter, n_jobs
        As for `SupervisedIKDR`.
    balanced : bool, default=False
        As for `SupervisedIKDR`; it has little to do where slices hold equally many rows.
    n_slices : int, default=10
        At least 2. Equal values of y are never parted, so there may be fewer.
    callback, verbose, random_state
        As for `SupervisedIKDR`.

    Attributes
    ----------
    W_, mean_, kernel_, converged_, n_iter_, history_, result_
        As for `SupervisedIKDR`.
    slices_ : array of shape (m,)
        Values of y at which a new slice begins; m is at most n_slices - 1.

    See Also
    --------
    SupervisedIKDR : for class labels.

    References
    ----------
    Li 1991, Sliced inverse regression for dimension reduction. Fukumizu, Bach and Jordan 2009,
    Kernel dimension reduction in regression.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import ResponseIKDR
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> model = ResponseIKDR(1).fit(X, X[:, 2] ** 2)  # SIR's slices all have the mean 0 here
    >>> int(abs(model.W_).argmax()), bool(abs(model.W_).max() > 0.98)
    (2, True)
    """

    _: KW_ONLY
    n_slices: int = 10

    @all_or_nothing
    def fit(self, X, y) -> Self:
        """Learn ``W_`` from X (n_samples, n_features) and a response y (n_samples,)."""
        check_parameters(
            self, n_slices=(lambda m: is_integer_at_least(m, 2), "a whole number of at least 2")
        )
        if is_collection(X):
            return fit_collections(self, X, y, slice_starts)
        if np.asarray(y).dtype.kind in "US":
            raise ValueError("a response must be numbers; SupervisedIKDR takes class labels")
        X, y = validate_data(self, X, y, dtype=FLOATS, y_numeric=True, ensure_min_samples=2)
        self.slices_ = slice_starts(y, self.n_slices)
        return self._fit(X, self._target(y))

    def _target(self, y):
        """The slice of each value."""
        return np.searchsorted(self.slices_, y, side="right")


def slice_starts(y, n_slices):
    """The values (m,) of y (n,) at which a new slice begins, m below `n_slices`.

    Slices hold equally many rows. Where so many rows share a value that fewer slices come of it
    than there could be, each next slice takes whole values until it has its share of what is left.

    Raises
    ------
    ValueError
        If y is constant.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.estimators.response import slice_starts
    >>> slice_starts(np.arange(10), 5)
    array([2, 4, 6, 8])
    >>> slice_starts(np.array([0] * 95 + [1, 2, 3, 4, 5]), 3)  # 95 rows are one slice
    array([1, 4])
    """
    values, counts = np.unique(y, return_counts=True)
    if len(values) < 2:
        raise ValueError("y is constant: there is nothing for X to say of it")
    shares = np.arange(1, n_slices) / n_slices
    starts = np.unique(np.quantile(y, shares, method="higher"))
    starts = starts[starts > values[0]]
    if len(starts) + 1 >= min(n_slices, len(values)):
        return starts
    first = [0]
    left = len(y)
    for slices in range(min(n_slices, len(values)), 1, -1):  # as many are still to be made
        held = np.cumsum(counts[first[-1] :])
        most = len(values) - slices + 1 - first[-1]  # values that this one may take
        taken = min(int(np.searchsorted(held, left / slices)) + 1, most)
        first.append(first[-1] + taken)
        left -= int(held[taken - 1])
    return values[first[1:]]
