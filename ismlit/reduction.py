"""Interpretable kernel dimension reduction as scikit-learn transformers."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ismlit.gamma import supervised
from ismlit.ism import INITS, METHODS, ism
from ismlit.kernels import KERNELS, Kernel, as_kernel
from ismlit.optimality import certify


class SupervisedIKDR(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Find the linear subspace of X on which the labels depend most, as HSIC measures it.

    Maximises Tr(HYY'H K_XW) over orthonormal W. The new features are linear in the old
    ones, so ``W_`` can be read: entry (i, j) is the weight of feature i in component j.

    Parameters
    ----------
    n_components : int, default=2
        Dimension q of the subspace, at most the number of features.
    kernel : str or Kernel, default="gaussian"
        A kernel of the ISM family, or one of "linear", "squared", "polynomial", "gaussian",
        "multiquadratic". "gaussian" takes the median distance of the training data.
    init : {"taylor", "pca", "random"}, default="taylor"
    method : {"safeguarded", "published"}, default="safeguarded"
    tol : float, default=1e-6
    max_iter : int, default=200
    n_jobs : int, optional
    random_state : int, RandomState, optional
        For init="random".

    Attributes
    ----------
    W_ : array of shape (n_features, n_components)
        Orthonormal columns; the largest entry of each is positive.
    mean_ : array of shape (n_features,)
        Subtracted from X before projecting.
    kernel_ : Kernel
    result_ : ISMResult
    certificate_ : Certificate
        Whether ``W_`` satisfies the first- and second-order conditions, with the numbers.
    classes_ : array
    n_iter_ : int

    Notes
    -----
    Claims: eq-5.1, alg-4. Scale the features first, as for any method that uses distances.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ismlit.reduction import SupervisedIKDR
    >>> X, y = load_wine(return_X_y=True)
    >>> make_pipeline(StandardScaler(), SupervisedIKDR(2)).fit_transform(X, y).shape
    (178, 2)
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "kernel": [StrOptions(set(KERNELS)), Kernel],
        "init": [StrOptions(set(INITS)), "array-like"],
        "method": [StrOptions(set(METHODS))],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=2,
        kernel="gaussian",
        *,
        init="taylor",
        method="safeguarded",
        tol=1e-6,
        max_iter=200,
        n_jobs=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.init = init
        self.method = method
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y):
        """Learn ``W_`` from X (n_samples, n_features) and class labels y (n_samples,)."""
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=(np.float64, np.float32), ensure_min_samples=2)
        check_classification_targets(y)
        if self.n_components > X.shape[1]:
            raise ValueError(
                f"n_components = {self.n_components} must be at most the number of features, "
                f"n_features = {X.shape[1]}"
            )
        self.classes_ = np.unique(y)
        gamma = supervised(y)
        self.mean_ = X.mean(axis=0)
        centred = X - self.mean_
        self.kernel_ = as_kernel(self.kernel, centred)
        result = ism(
            centred,
            gamma,
            self.kernel_,
            self.n_components,
            init=self.init,
            method=self.method,
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        self.certificate_ = certify(result)
        self.result_ = replace(result, problem=None)  # the training data is not kept
        self.W_, self.n_iter_ = result.W, max(result.n_iter, 1)  # the start counts as one
        return self

    def transform(self, X):
        """Project X (n_samples, n_features) to (n_samples, n_components)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        return ((X - self.mean_) @ self.W_).astype(X.dtype, copy=False)

    @property
    def _n_features_out(self):
        return self.W_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
