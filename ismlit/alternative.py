"""Alternative clustering: another clustering of the same data, different from the known ones."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Real

import numpy as np
from sklearn.metrics import normalized_mutual_info_score
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ismlit import baselines
from ismlit.gamma import guidance, unsupervised
from ismlit.reduction import _ClusteringIKDR

SOLVERS = {
    "ism": None,
    "dg": baselines.dimension_growth,
    "sm": baselines.stiefel_descent,
    "gm": baselines.grassmann_trust_region,
}
"""What may solve for W: ISM, Dimension Growth, Stiefel descent, Grassmann trust region."""


class KDAC(_ClusteringIKDR):
    """Cluster the data otherwise than they are clustered already (kernel dimension alternative).

    Maximises ``Tr(U'QU) - weight Tr(F'QF)``, ``Q = H D^(-1/2) K_XW D^(-1/2) H`` with D =
    diag(K_XW 1), over orthonormal U and W in turns: U should depend on XW, as HSIC measures it,
    and the known clustering should not. F holds the centred labels, scaled to spectral norm 1.

    Parameters
    ----------
    n_clusters : int, default=2
        Of the alternative clustering.
    n_components : int, optional
        Dimension q of the subspace, below the number of features: what W leaves out is where
        the known clustering can hide. min(n_clusters, n_features - 1) when None.
    kernel : str or Kernel, default="gaussian"
        As for `SupervisedIKDR`; its row sums must be positive.
    weight : float, default=1.0
        How much the known clustering is avoided, at least 0. The papers' lambda is
        ``weight / ||HY||_2^2``, which is ``weight k / n`` for k balanced classes.
    solver : {"ism", "dg", "sm", "gm"}, default="ism"
        For W. All climb the objective above, D included.
    normalize : bool, default=True
        Divide the kernel by the roots of its row sums, as in the thesis.
    init : {"taylor", "pca", "random", "several"}, default="taylor"
        Of the first W. U starts as that part of the embedding of X which is orthogonal to the
        known labels.
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
        The alternative clustering, by k-means on the rows of U scaled to length 1.
    embedding_ : array of shape (n_samples, n_clusters)
        U.
    quality_ : float
        Tr(U'QU), the thesis's CQ: at most n_clusters; near it also when the bandwidth is far
        too small.
    novelty_ : float
        Normalised mutual information of ``labels_`` and the known labels (the largest, if there
        are several): 0 is entirely new. NaN without y.
    W_ : array of shape (n_features, n_components)
        Orthonormal columns; the largest entry of each is positive.
    mean_, kernel_, n_iter_, alternation_, certificate_
        As for `UnsupervisedIKDR`.

    Notes
    -----
    Claims: alg-1, eq-3.2a, kdac-gradient. The published alternation holds D fixed while W moves,
    and its objective may fall; here it never does (with solver="ism").

    Examples
    --------
    >>> from sklearn.metrics import normalized_mutual_info_score
    >>> from ismlit.alternative import KDAC
    >>> from ismlit.datasets import make_four_gaussians
    >>> X, known, other = make_four_gaussians(random_state=0)
    >>> model = KDAC(2, n_components=1, random_state=0).fit(X, known)
    >>> round(normalized_mutual_info_score(other, model.labels_), 2)
    1.0
    """

    _parameter_constraints = {
        **_ClusteringIKDR._parameter_constraints,
        "weight": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions(set(SOLVERS))],
    }

    def __init__(
        self,
        n_clusters=2,
        n_components=None,
        kernel="gaussian",
        *,
        weight=1.0,
        solver="ism",
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
        self.solver = solver

    def fit(self, X, y=None):
        """Learn from X (n_samples, n_features) and what is known.

        y (n_samples,) holds the labels of the known clustering, each value a cluster; or several
        known clusterings (n_samples, m), one a column; or None: X is clustered a first time.
        """
        self._validate_params()
        X = validate_data(self, X, dtype=(np.float64, np.float32), ensure_min_samples=2)
        guide = None if y is None else _to_differ_from(y, len(X), self.weight)
        normalize = "centred" if self.normalize else False
        found = self._fit(X, guide=guide, normalize=normalize, solver=SOLVERS[self.solver])
        problem = replace(found.result.problem, gamma=unsupervised(found.U))
        self.quality_ = problem.objective(found.W)
        self.novelty_ = np.nan if y is None else novelty(self.labels_, y)
        return self

    def _components(self, d):
        """q for d features: less than all of them, since all would leave nothing to choose."""
        q = min(self.n_clusters, max(d - 1, 1)) if self.n_components is None else self.n_components
        if q == d > 1:
            warnings.warn(
                f"n_components = n_features = {d}: W keeps every direction, so the known "
                "clustering cannot be avoided; ask for fewer components",
                stacklevel=3,
            )
        return q


def novelty(labels, y):
    """The normalised mutual information of labels (n,) and the known y (n,) or (n, m): the largest.

    0 for a clustering that is entirely new. Claim: eq-2.15.
    """
    return max(normalized_mutual_info_score(column, labels) for column in np.c_[y].T)


def _to_differ_from(y, n, weight):
    """The part of Gamma that penalises y (n,), or (n, m) with a known clustering a column."""
    columns = np.c_[y].T
    if columns.shape[1] != n:
        raise ValueError(f"y must have one row per sample: {columns.shape[1]} for {n}")
    total = None
    for column in columns:
        check_classification_targets(column)
        codes = np.unique(column, return_inverse=True)[1]
        part = guidance(codes, -weight)
        total = part if total is None else total + part
    return total
