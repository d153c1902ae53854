"""Interpretable kernel dimension reduction as scikit-learn transformers."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize as unit_rows
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ismlit.gamma import guidance, supervised
from ismlit.ism import INITS, METHODS, ism
from ismlit.kernels import KERNELS, Kernel, as_kernel
from ismlit.optimality import certify
from ismlit.spectral import alternate

_COMMON = {
    "kernel": [StrOptions(set(KERNELS)), Kernel],
    "init": [StrOptions(set(INITS)), "array-like"],
    "tol": [Interval(Real, 0, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
}


class _IKDR(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What all share: X is centred, seen through ``W_``, and keeps its precision."""

    def _centred(self, X, q):
        """X minus ``mean_``, after a check that q columns of W are possible; sets ``kernel_``."""
        if q > X.shape[1]:
            raise ValueError(
                f"n_components = {q} must be at most the number of features, "
                f"n_features = {X.shape[1]}"
            )
        self.mean_ = X.mean(axis=0)
        centred = X - self.mean_
        self.kernel_ = as_kernel(self.kernel, centred)
        return centred

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
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def cluster_rows(U, k, random_state=None):
    """Labels by k-means on the rows of U (n, columns), scaled to length 1 if there are several."""
    rows = unit_rows(U) if U.shape[1] > 1 else U
    return KMeans(k, n_init=10, random_state=random_state).fit_predict(rows)


class SupervisedIKDR(_IKDR):
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
    init : {"taylor", "pca", "random", "several"}, default="taylor"
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
        "method": [StrOptions(set(METHODS))],
        **_COMMON,
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
        self.classes_ = np.unique(y)
        gamma = supervised(y)
        centred = self._centred(X, self.n_components)
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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class _ClusteringIKDR(ClusterMixin, _IKDR):
    """W and a spectral embedding U learnt in turns; k-means on the rows of U gives labels."""

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "normalize": ["boolean"],
        **_COMMON,
    }

    def __init__(
        self,
        n_clusters=2,
        n_components=None,
        kernel="gaussian",
        *,
        normalize=False,
        init="taylor",
        tol=1e-6,
        max_iter=100,
        n_jobs=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.kernel = kernel
        self.normalize = normalize
        self.init = init
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit_predict(self, X, y=None):
        """``fit(X, y).labels_``; scikit-learn's own would drop y."""
        return self.fit(X, y).labels_

    def _components(self, d):
        """q for d features."""
        return min(self.n_clusters, d) if self.n_components is None else self.n_components

    def _fit(self, X, *, guide=None, fixed=None, columns=None, **options):
        n, d = X.shape
        k = self.n_clusters
        if n < k:
            raise ValueError(f"n_samples={n} should be >= n_clusters={k}: ask for fewer clusters")
        q = self._components(d)
        centred = self._centred(X, q)
        options = dict(normalize=self.normalize) | options
        found = alternate(
            centred,
            self.kernel_,
            k if columns is None else columns,
            q,
            guide=guide,
            fixed=fixed,
            init=self.init,
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            **options,
        )
        self.certificate_ = certify(found.result)
        self.alternation_ = replace(found, result=replace(found.result, problem=None))
        self.W_, self.embedding_, self.n_iter_ = found.W, found.U, found.n_iter
        self.labels_ = cluster_rows(found.U, k, self.random_state)
        return found


class UnsupervisedIKDR(_ClusteringIKDR):
    """Find a linear subspace of X and a clustering that depend most on each other.

    Maximises Tr(HUU'H K_XW) over orthonormal W and U in turns: W by ISM, U by the leading
    eigenvectors of the centred Gram matrix. The objective never falls.

    Parameters
    ----------
    n_clusters : int, default=2
        Also the number of columns of U.
    n_components : int, optional
        Dimension q of the subspace; min(n_clusters, n_features) when None.
    kernel : str or Kernel, default="gaussian"
        As for `SupervisedIKDR`.
    normalize : bool, default=False
        Divide the kernel by the roots of its row sums, as spectral clustering does.
    init : {"taylor", "pca", "random", "several"}, default="taylor"
        Of the first W; U starts as the embedding of all of X.
    tol : float, default=1e-6
        Stop when a turn raises the objective by less than this share.
    max_iter : int, default=100
        Most turns.
    n_jobs : int, optional
    random_state : int, RandomState, optional
        For k-means, and for init="random".

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
    embedding_ : array of shape (n_samples, n_clusters)
        U; k-means on its rows, scaled to length 1, gives the labels.
    W_ : array of shape (n_features, n_components)
        Orthonormal columns; the largest entry of each is positive.
    mean_, kernel_, n_iter_
        As for `SupervisedIKDR`.
    alternation_ : Alternation
        The objective after every half-turn, and whether it converged.
    certificate_ : Certificate
        Of W for the U found, the degrees included.

    Notes
    -----
    Claims: neurips-unsupervised, alternation-monotone.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.metrics import normalized_mutual_info_score
    >>> from sklearn.preprocessing import scale
    >>> from ismlit.reduction import UnsupervisedIKDR
    >>> X, y = load_wine(return_X_y=True)
    >>> labels = UnsupervisedIKDR(3, random_state=0).fit_predict(scale(X))
    >>> round(normalized_mutual_info_score(y, labels), 2)
    0.88
    """

    def fit(self, X, y=None):
        """Learn ``W_`` and ``labels_`` from X (n_samples, n_features); y is ignored."""
        self._validate_params()
        X = validate_data(self, X, dtype=(np.float64, np.float32), ensure_min_samples=2)
        self._fit(X)
        return self


class SemiSupervisedIKDR(_ClusteringIKDR):
    """Cluster in a linear subspace of X, guided by labels or scores of some samples.

    Maximises Tr(U' D^(-1/2) K_XW D^(-1/2) U) + weight Tr(K_XW F F') over orthonormal W and U
    in turns, D = diag(K_XW 1). F holds the centred labels, scaled to spectral norm 1, so that
    a weight of 1 is as much as the clustering itself.

    Parameters
    ----------
    n_clusters, n_components, kernel, init, tol, max_iter, n_jobs, random_state
        As for `UnsupervisedIKDR`.
    weight : float, default=1.0
        At least 0. The papers' mu is ``weight / ||HY||_2^2`` (k / n for k balanced classes).
    normalize : bool, default=True
        As in the papers; False takes the affinity HKH.

    Attributes
    ----------
    labels_, embedding_, W_, mean_, kernel_, n_iter_, alternation_, certificate_
        As for `UnsupervisedIKDR`.

    Notes
    -----
    Claims: neurips-semi, semi-degrees. The papers hold D fixed while W moves; here D moves
    with W, so that the objective above never falls.

    Examples
    --------
    >>> from sklearn.metrics import normalized_mutual_info_score
    >>> from sklearn.preprocessing import scale
    >>> from ismlit.datasets import make_four_gaussians
    >>> from ismlit.reduction import SemiSupervisedIKDR
    >>> X, y, _ = make_four_gaussians(200, random_state=0)
    >>> some = [*y[:20], *[-1] * 180]  # 20 labels are known
    >>> model = SemiSupervisedIKDR(2, 1, random_state=0).fit(scale(X), some)
    >>> round(float(normalized_mutual_info_score(y, model.labels_)), 2)
    1.0
    """

    _parameter_constraints = {
        **_ClusteringIKDR._parameter_constraints,
        "weight": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=2,
        n_components=None,
        kernel="gaussian",
        *,
        weight=1.0,
        normalize=True,
        init="taylor",
        tol=1e-6,
        max_iter=100,
        n_jobs=None,
        random_state=None,
    ):
        super().__init__(
            n_clusters,
            n_components,
            kernel,
            normalize=normalize,
            init=init,
            tol=tol,
            max_iter=max_iter,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.weight = weight

    def fit(self, X, y=None):
        """Learn from X (n_samples, n_features) and what is known of some samples.

        y (n_samples,) holds labels, -1 where none is known; or (n_samples, r) real scores; or
        nothing is known (None).
        """
        self._validate_params()
        dtypes = (np.float64, np.float32)
        if y is None:
            X = validate_data(self, X, dtype=dtypes, ensure_min_samples=2)
            self._fit(X)
            return self
        X, y = validate_data(
            self, X, y, dtype=dtypes, ensure_min_samples=2, multi_output=np.asarray(y).ndim > 1
        )
        self._fit(X, fixed=guidance(y, self.weight))
        return self
