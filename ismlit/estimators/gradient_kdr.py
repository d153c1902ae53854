"""Gradient-based kernel dimension reduction: a subspace from one linear solve, without a climb."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.linalg import eigh
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from ismlit.bandwidth import median_distance
from ismlit.estimators.base import FLOATS, KeepsPrecision
from ismlit.estimators.parameters import POSITIVE, WHOLE, check_parameters
from ismlit.estimators.scikit import BaseEstimator
from ismlit.estimators.validation import is_response
from ismlit.gamma import centre, one_hot
from ismlit.geometry.frames import fixed_signs
from ismlit.solvers.gradient_start import N_FEATURES, gradient_scatter

LANDMARKS = 1000  # A response's kernel is decomposed on so many of its values.


class LinearReduction(KeepsPrecision, BaseEstimator):
    """A linear transformer without a climb: a subclass sets ``mean_`` and ``W_`` in `fit`."""

    _doc_page = "starts"
    mean_: np.ndarray
    W_: np.ndarray

    def transform(self, X) -> np.ndarray:
        """Project rows to the subspace.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        return ((X - self.mean_) @ self.W_).astype(X.dtype, copy=False)

    @property
    def components_(self) -> np.ndarray:
        """The transpose of ``W_`` (n_components, n_features), under scikit-learn's name."""
        check_is_fitted(self)
        return self.W_.T

    @property
    def _n_features_out(self) -> int:
        return self.W_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _checked(self, X, y):
        """X (n, d) and y (n,): numbers with fractions are a response, all else are classes."""
        X, y = validate_data(self, X, y, dtype=FLOATS, ensure_min_samples=2, multi_output=False)
        q, d = self.n_components, X.shape[1]
        if q > d:
            raise ValueError(f"n_components = {q} must be at most n_features = {d}")
        self.mean_ = X.mean(axis=0)
        return X.astype(float) - self.mean_, np.asarray(y)


class GradientKDR(LinearReduction):
    """Find the subspace in which a kernel regression of y on X changes most.

    Gradients of the regression function lie in the subspace on which y depends, so the leading
    eigenvectors of their mean outer product estimate it. One linear system is solved, no starting
    point is needed, and an interaction of columns is noticed even where class means coincide. It
    is less exact than a maximum of HSIC and is a good start for one: ``init="gradient"``.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the subspace, at most the number of features.
    bandwidth : float, default=0.5
        Of the Gaussian kernel of X, in median distances of the rows.
    ridge : float, default=1e-4
        The regression minimises the mean squared error plus `ridge` times the squared norm of the
        function; larger is smoother.
    n_features : int, default=512
        Beyond 5000 rows the kernel is replaced by so many random Fourier frequencies, and time and
        memory are linear in the rows.
    random_state : int, RandomState, optional
        Draws the frequencies.

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

    def __init__(
        self,
        n_components: int = 2,
        *,
        bandwidth: float = 0.5,
        ridge: float = 1e-4,
        n_features: int = N_FEATURES,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.bandwidth = bandwidth
        self.ridge = ridge
        self.n_features = n_features
        self.random_state = random_state

    def fit(self, X, y) -> Self:
        """Learn ``W_`` from rows and their classes or response.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Class labels, or a response: numbers with fractions, or of many distinct values.

        Returns
        -------
        GradientKDR
            Itself.
        """
        check_parameters(
            self, n_components=WHOLE, bandwidth=POSITIVE, ridge=POSITIVE, n_features=WHOLE
        )
        X, y = self._checked(X, y)
        F = response_factor(y) if is_response(y) else centre(one_hot(y))
        scatter = gradient_scatter(
            X,
            F,
            sigma=self.bandwidth * median_distance(X),
            ridge=self.ridge,
            n_features=self.n_features,
            random_state=0 if self.random_state is None else self.random_state,
        )
        values, vectors = eigh(scatter)
        self.eigenvalues_ = values[::-1][: self.n_components]
        self.W_ = fixed_signs(vectors[:, ::-1][:, : self.n_components])
        return self


def response_factor(y, tol=1e-4) -> np.ndarray:
    """A thin centred F (n, r) whose product FF' is close to a Gaussian Gram matrix of y.

    The kernel, at the median distance, is decomposed on at most 1000 of the values; eigenvalues
    below `tol` of the largest are left out.

    Parameters
    ----------
    y : array of shape (n,) or (n, m)
        One response, or several.
    tol : float
        Share of the largest eigenvalue below which one is left out.

    Returns
    -------
    array of shape (n, r)

    References
    ----------
    Williams and Seeger 2001, Using the Nyström method to speed up kernel machines.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.estimators.gradient_kdr import response_factor
    >>> F = response_factor(np.linspace(0, 1, 50))
    >>> F.shape[1] < 10, bool(np.abs(F.sum(axis=0)).max() < 1e-9)
    (True, True)
    """
    y = np.asarray(y, float)
    y = check_array(y[:, None] if y.ndim == 1 else y)
    marks = y[np.linspace(0, len(y) - 1, min(len(y), LANDMARKS)).astype(int)]
    slope = 1 / (2 * median_distance(y) ** 2)
    values, vectors = eigh(rbf_kernel(marks, gamma=slope))
    kept = values > tol * values[-1]
    return centre(rbf_kernel(y, marks, gamma=slope) @ (vectors[:, kept] / np.sqrt(values[kept])))
