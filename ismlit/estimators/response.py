"""Dimension reduction for a response."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from ismlit.dependence import gram_of_labels
from ismlit.estimators.base import all_or_nothing
from ismlit.estimators.collections import fit_collections, is_collection
from ismlit.estimators.dependent import COMPONENTS, DependentIKDR
from ismlit.estimators.linear import FLOATS, column_std
from ismlit.estimators.parameters import NONE, check_parameters, is_integer_at_least, rule
from ismlit.gamma import Gamma, label_gamma, response_gamma
from ismlit.grams import column_means, gram
from ismlit.kernels import Gaussian
from ismlit.objectives.class_sums import class_gamma
from ismlit.targets import read_response, slice_starts

SLICES = (lambda m: is_integer_at_least(m, 2), "a whole number of at least 2")


@dataclass(eq=False, repr=False)
class ResponseIKDR(DependentIKDR):
    """Find the linear subspace of X on which a response depends most, as HSIC measures it.

    The response is cut into slices that hold equally many rows, as in sliced inverse regression
    (SIR), and the subspace is sought on which the slice depends most. SIR sees the means of the
    slices alone; this sees their whole distribution. Without slices a Gaussian kernel compares
    responses, as in kernel dimension reduction (KDR).

    Parameters
    ----------
    n_components, kernel, bandwidth, bandwidth_scale, init, random_features, tol, max_iter, n_jobs
        As for `SupervisedIKDR`.
    n_slices : int or None, default=10
        At least 2. Equal values of y are never parted, so there may be fewer. Of several responses
        each is cut on its own. None: no slices, but a Gaussian kernel of all r responses together,
        each divided by its standard deviation, with the bandwidth sqrt(r).
    ridge : float or "auto", default="auto"
        As for `SupervisedIKDR`. With a number the response is seen through a Gaussian kernel, as
        with n_slices=None, whatever n_slices.
    callback, verbose, random_state
        As for `SupervisedIKDR`.

    Attributes
    ----------
    W_, dependence_ratio_, component_gains_, feature_importances_, n_components_, component_scores_
        As for `SupervisedIKDR`.
    mean_, kernel_
        As for `SupervisedIKDR`.
    converged_, n_iter_, history_, result_, ridge_, ridge_scores_
        As for `SupervisedIKDR`.
    slices_ : array of shape (m,), or list of them, or None
        Values of y at which a new slice begins; m is at most n_slices - 1. Of several responses
        one array for each; None without slices.

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
    n_slices: int | None = 10

    _target_options: ClassVar[dict[str, bool]] = dict(y_numeric=True, multi_output=True)

    @all_or_nothing
    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn ``W_`` from rows and their responses.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples in rows; with random features a Dask collection, too.
        y : array of shape (n_samples,) or (n_samples, n_responses)
            The responses.
        sample_weight : array of shape (n_samples,), optional
            At least 0. A row of weight 2 counts as two rows that coincide.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter breaks its rule, a response is constant or holds words, or a weight is
            below 0.

        Warns
        -----
        ConvergenceWarning
            If the solver did not arrive in `max_iter` steps.
        UserWarning
            If one column makes nearly all of the variance, or a component hardly varies.
        """
        check_parameters(self, n_components=COMPONENTS, n_slices=rule(SLICES, NONE))
        self._weighted = sample_weight is not None
        if is_collection(X):
            return fit_collections(self, X, y, sample_weight, slice_starts)
        y = None if y is None else read_response(y)
        rows, target = validate_data(
            self, X, y, dtype=FLOATS, ensure_min_samples=2, **self._target_options
        )
        return self._fit(rows, target, sample_weight)

    def _gamma(self, y, sample_weight):
        Y = y.reshape(len(y), -1)
        for number in np.flatnonzero(np.ptp(Y, axis=0) == 0):
            which = "y" if y.ndim == 1 else f"column {number} of y"
            raise ValueError(f"{which} is constant: there is nothing for X to say of it")
        if self.n_slices is None:
            self.slices_ = None
            self._units = column_std(Y, column_means(Y, sample_weight), sample_weight)
            return self._regression_gamma(y, sample_weight)
        starts = [slice_starts(column, self.n_slices, sample_weight) for column in Y.T]
        self.slices_ = starts if y.ndim == 2 else starts[0]
        if self.random_features is not None and sample_weight is None and y.ndim == 1:
            return class_gamma(self._slices_of(y)[0])
        parts = [label_gamma(code, sample_weight=sample_weight) for code in self._slices_of(y)]
        return Gamma(np.hstack([part.F for part in parts]), np.hstack([part.s for part in parts]))

    def _regression_gamma(self, y, sample_weight, width=1.0):
        Y = y.reshape(len(y), -1)
        units = column_std(Y, column_means(Y, sample_weight), sample_weight)
        return response_gamma(Y / units, width * Y.shape[1] ** 0.5, sample_weight)

    def _target_gram(self, y):
        if self.n_slices is None:
            Y = y.reshape(len(y), -1) / self._units
            return gram(Gaussian(Y.shape[1] ** 0.5), Y)
        return sum(gram_of_labels(code) for code in self._slices_of(y))

    def _slices_of(self, y):
        """The slice of each value (n,), response by response."""
        starts = self.slices_ if y.ndim == 2 else [self.slices_]
        return [
            np.searchsorted(start, column, side="right")
            for start, column in zip(starts, np.atleast_2d(y.T))
        ]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
