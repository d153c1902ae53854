"""Gradient-based kernel dimension reduction: a subspace from one linear solve, without a climb."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length, validate_data

from ismlit.bandwidth import median_distance
from ismlit.dependence import gram_of_labels
from ismlit.estimators.base import all_or_nothing
from ismlit.estimators.linear import FLOATS, LinearReduction, Refused, column_std
from ismlit.estimators.parameters import POSITIVE, WHOLE, check_parameters
from ismlit.estimators.validation import check_units, warn_of_a_dominant_column
from ismlit.estimators.weights import agreement, row_weights
from ismlit.gamma import target_factor
from ismlit.geometry.frames import fixed_signs
from ismlit.grams import column_means, gram
from ismlit.kernels import Gaussian
from ismlit.memory import require_memory
from ismlit.solvers.gradient_start import gradient_plane
from ismlit.targets import is_response, read_target


class ClosedFormReduction(LinearReduction):
    """A linear reduction without a climb, of X with a response or with classes."""

    _doc_page = "starts"
    eigenvalues_: np.ndarray

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _checked(self, X, y):
        """X (n, d), centred in double precision, and y (n,): classes or a response."""
        y = None if y is None else read_target(y)
        X, y = validate_data(self, X, y, dtype=FLOATS, ensure_min_samples=2, multi_output=False)
        q, d = self.n_components, X.shape[1]
        if q > d:
            raise ValueError(f"n_components = {q} must be at most {d}, the columns of X")
        check_units(X)
        self.mean_ = column_means(X)
        self._std = column_std(X, self.mean_)
        self._of_classes = not is_response(y)
        return X - self.mean_, y

    def _carried(self):
        return np.diag(np.maximum(self.eigenvalues_, 0))

    certificate = Refused(
        "W_ is an eigenvector and not the end of a climb. dependence_test(X, y, n_components=q) "
        "says whether a plane can be found by chance, and certify(problem, W_) looks at any problem"
    )

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """How strongly y depends on the projected X: normalised HSIC, from 0 to 1.

        The kernel is a Gaussian as wide as the median distance of two projected rows; a response
        has one as wide as its standard deviation.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Classes or a response, as in `fit`.
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
            0 where y is constant on these rows.

        Raises
        ------
        MemoryError
            If the Gram matrices of so many rows are larger than the memory of this machine.
        ValueError
            If most rows have one projection.

        See Also
        --------
        ismlit.SupervisedIKDR.score : of a kernel that was fitted.
        """
        Z = self.transform(X)
        y = read_target(y)
        check_consistent_length(Z, y)
        advice = "score a sample of the rows"
        require_memory(f"score of {type(self).__name__}", advice, len(Z), 5)
        if self._of_classes:
            L = gram_of_labels(y)
        else:
            L = gram(Gaussian(np.std(y) or 1.0), np.asarray(y, float)[:, None])
        K = gram(Gaussian(median_distance(Z)), Z.astype(float))
        return agreement(K, L, row_weights(sample_weight, None, Z, y))


@dataclass(eq=False, repr=False)
class GradientKDR(ClosedFormReduction):
    """Find the subspace in which a kernel regression of y on X changes most.

    Gradients of the regression function lie in the subspace on which y depends, so the leading
    eigenvectors of their mean outer product estimate it. One linear system is solved, no starting
    point is needed, and an interaction of columns is noticed even where class means coincide. It
    is less exact than a maximum of HSIC and is a good start for one: ``init="gradient"``. Of more
    than 5000 rows it looks at 5000.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the subspace, at most the number of columns of X.
    bandwidth : float, default=0.5
        Of the Gaussian kernel of X, in median distances of the rows.
    ridge : float, default=1e-4
        The regression minimises the mean squared error plus `ridge` times the squared norm of the
        function; larger is smoother.
    n_turns : int, default=1
        Repeat it in the metric that the gradients have just given, so that directions without a
        slope move no distance; six turns with a ridge of 1e-3 are usual.

    Attributes
    ----------
    W_ : array of shape (n_features, n_components)
        Orthonormal columns by falling eigenvalue; the largest entry of each is positive.
    eigenvalues_ : array of shape (n_components,)
        Mean squared slopes of the regression along the columns.
    mean_ : array of shape (n_features,)
        Subtracted from X before projecting.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    ismlit.SupervisedIKDR : maximises HSIC, and takes this as a start.
    ismlit.SlicedInverseRegression : faster, and blind where the means of slices coincide.

    References
    ----------
    Fukumizu and Leng 2014, Gradient-based kernel dimension reduction for regression. Journal of
    the American Statistical Association 109.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import GradientKDR
    >>> X = np.random.default_rng(0).standard_normal((300, 6))
    >>> y = X[:, 1] * X[:, 4] > 0  # the classes have equal means
    >>> W = GradientKDR(2).fit(X, y).W_
    >>> sorted(np.argsort(np.linalg.norm(W, axis=1))[-2:].tolist())
    [1, 4]
    """

    n_components: int = 2
    _: KW_ONLY
    bandwidth: float = 0.5
    ridge: float = 1e-4
    n_turns: int = 1

    @all_or_nothing
    def fit(self, X, y) -> Self:
        """Learn ``W_`` from rows and their classes or response.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            A response if its type is a floating-point one, or if it holds more than 20 distinct
            whole numbers; else class labels.

        Returns
        -------
        GradientKDR
            Itself.

        Warns
        -----
        UserWarning
            If one column makes nearly all of the variance, or whole numbers are taken as a
            response.
        """
        check_parameters(
            self,
            n_components=WHOLE,
            bandwidth=POSITIVE,
            ridge=POSITIVE,
            n_turns=WHOLE,
        )
        X, y = self._checked(X, y)
        names = getattr(self, "feature_names_in_", None)
        warn_of_a_dominant_column(self._std, type(self).__name__, names)
        F = target_factor(y)
        self.eigenvalues_, W = gradient_plane(
            X,
            F,
            np.ones(F.shape[1]),
            self.n_components,
            bandwidth=self.bandwidth,
            ridge=self.ridge,
            n_turns=self.n_turns,
        )
        self.W_ = fixed_signs(W)
        return self
