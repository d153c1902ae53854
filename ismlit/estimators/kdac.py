"""Alternative clustering: another clustering of the same data, different from the known ones."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.metrics import normalized_mutual_info_score
from sklearn.utils.validation import validate_data

from ismlit.estimators.base import all_or_nothing
from ismlit.estimators.clustering import BANDWIDTH, ClusteringIKDR
from ismlit.estimators.linear import FLOATS
from ismlit.estimators.parameters import check_parameters
from ismlit.gamma import Gamma, guidance_gamma
from ismlit.messages import warn
from ismlit.objectives.joint import JointProblem
from ismlit.solvers.ism import ism
from ismlit.targets import read_labels

SHORT_CLIMB: dict[str, Any] = dict(
    solver=partial(ism, tol=1e-3, max_iter=20, escape=False), max_iter=None, max_turns=10, tol=1e-4
)
"""Turns from one bandwidth to the next: near enough to be followed."""


@dataclass(eq=False, repr=False)
class KDAC(ClusteringIKDR):
    """Cluster the data in another way than they are clustered already (alternative clustering).

    The new clustering and a projection W are learnt together. The clusters should stand apart in
    XW, and the known clustering should not show there; both are measured by HSIC.

    Parameters
    ----------
    n_clusters : int, default=2
        Of the alternative clustering.
    n_components : int, optional
        Dimension q of the subspace, below the number of features: the known clustering can hide in
        what W leaves out. When None, n_clusters, or one less than there are directions in which X
        varies.
    kernel : str, Kernel or function, default="gaussian"
        As for `SupervisedIKDR`. Its row sums must be positive.
    bandwidth : float, str or function, default="silhouette"
        As for `UnsupervisedIKDR`, but "silhouette" goes from the widest to the narrowest of its
        nine bandwidths, each also from where the one before ended, and W starts there.
    penalty : float, default=2.0
        How much the known clustering is avoided, at least 0. The papers' lambda is
        ``penalty / ||HY||_2^2``, which is ``penalty k / n`` for k balanced classes.
    n_vectors : int, optional
        Columns of U. When None, n_clusters - 1, since k groups differ in k - 1 centred columns.
        The thesis takes n_clusters, which rewards one group more than is asked for.
    normalize : {"none", "degrees", "centred"}, default="centred"
        The affinity Q: "centred" as in the Notes and in the thesis; "none" leaves D out.
    init : {"taylor", "pca", "random", "several"} or array, default="taylor"
        The first W. U starts as that part of the embedding of X which is orthogonal to the known
        labels.
    tol : float, default=1e-6
        Stop when an iteration raises the objective by less than this share.
    max_iter : int, default=2000
        Most steps of the solver in an iteration.
    max_turns : int, default=100
        Most iterations, each of which renews U and W.
    n_jobs : int, optional
        Workers of joblib. None takes as many threads as BLAS would.
    callback : callable, optional
        Called after every half of an iteration with an object that has W, U and J. If it returns
        True, the iteration is the last, and no other bandwidth is tried.
    verbose : bool, default=False
        Print a line after every half of an iteration.
    random_state : int, RandomState, optional
        Seed of k-means and of random starts.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The alternative clustering, by k-means on the rows of U (scaled to length 1 if there are
        several columns).
    embedding_ : array of shape (n_samples, n_vectors)
        U.
    quality_ : float
        Tr(U'QU), the thesis's CQ: at most n_vectors, and near it also when the bandwidth is far
        too small.
    known_nmi_ : float
        Normalised mutual information of ``labels_`` and the known labels (the largest, if there
        are several): 0 for a clustering that is entirely new, 1 for the known one. NaN without y.
    W_ : array of shape (n_features, n_components)
        Orthonormal columns; the largest entry of each is positive.
    mean_, kernel_, converged_, feature_importances_, tried_, n_iter_, history_, result_ : object
        As for `UnsupervisedIKDR`.

    Raises
    ------
    ValueError
        For a parameter that breaks its rule, X that is not finite, or labels that are no
        clustering.

    Warns
    -----
    ConvergenceWarning
        When the objective still changes after `max_turns` iterations.
    UserWarning
        When W keeps every direction of X, so that the known clustering cannot be avoided, or no
        bandwidth gives clusters of some size that the data single out.

    See Also
    --------
    UnsupervisedIKDR : A first clustering.

    Notes
    -----
    Maximises ``Tr(U'QU) - penalty Tr(F'QF)`` over orthonormal U and W, one after the other, where
    ``Q = H D^(-1/2) K_XW D^(-1/2) H`` and D = diag(K_XW 1). F holds the centred labels, scaled to
    spectral norm 1. The published alternation holds D fixed while W moves, and its objective may
    fall; here it never does. For the time see `UnsupervisedIKDR`.

    References
    ----------
    Niu, Dy and Jordan 2014, Iterative discovery of multiple alternative clustering views. Wu,
    Ioannidis, Sznaier, Li, Kaeli and Dy 2018, Iterative spectral method for alternative
    clustering.

    Examples
    --------
    >>> from sklearn.metrics import normalized_mutual_info_score
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import KDAC
    >>> from ismlit.datasets import make_four_gaussians
    >>> X, known, other = make_four_gaussians(random_state=0)
    >>> model = KDAC(2, bandwidth=1.0, random_state=0).fit(scale(X), known)
    >>> agreement = normalized_mutual_info_score(other, model.labels_)
    >>> round(float(agreement), 2), round(float(model.known_nmi_), 2)
    (1.0, 0.0)
    """

    _: KW_ONLY
    penalty: float = 2.0
    n_vectors: int | None = None
    normalize: str = "centred"
    quality_: float = field(init=False)
    known_nmi_: float = field(init=False)

    _glimpse, _follows = SHORT_CLIMB, True  # a narrow kernel alone has many poor maxima

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn another clustering of X than the known one.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples in rows.
        y : array of shape (n_samples,) or (n_samples, m), optional
            The labels of the known clustering, each value a cluster; or several known clusterings,
            one a column. When None, X is clustered for a first time.

        Returns
        -------
        KDAC
            The estimator itself, fitted.

        Raises
        ------
        ValueError
            For a parameter that breaks its rule, X that is not finite, or labels that are no
            clustering.
        """
        check_parameters(self, bandwidth=BANDWIDTH)
        X = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2)
        known = None if y is None else clusterings(y, len(X))
        self._fit(
            X,
            guide=None if y is None else to_differ_from(known, self.penalty),
            columns=self.n_vectors or max(self.n_clusters - 1, 1),
        )
        problem, result = self.solved()
        if known is not None and self.penalty and len(result.W) == result.W.shape[1]:
            warn(
                f"X varies in {len(result.W)} directions, and W keeps every one, so the known "
                "clustering cannot be avoided; ask for fewer components",
            )
        alone = JointProblem(problem.X, self.kernel_, self.normalize)
        self.quality_ = alone.given(self.embedding_).objective(result.W)
        self.known_nmi_ = np.nan if y is None else nmi_with_known(self.labels_, known)
        return self

    def _held(self, tried, rows):
        return rows  # what is followed from bandwidth to bandwidth has had its turns

    def _default_components(self, rank):
        return min(self.n_clusters, max(rank - 1, 1))  # all would leave nothing to choose


def nmi_with_known(labels: Any, y: Any) -> float:
    """Measure how much a clustering has in common with known ones.

    Parameters
    ----------
    labels : array of shape (n,)
        The clustering.
    y : array of shape (n,) or (n, m)
        The known clustering, or several, one a column.

    Returns
    -------
    float
        The largest normalised mutual information with a known clustering: 0 for a clustering that
        is entirely new, and for one that puts all samples together.

    Examples
    --------
    >>> from ismlit.estimators.kdac import nmi_with_known
    >>> known = [0, 0, 1, 1]
    >>> round(float(nmi_with_known(["a", "a", "b", "b"], known)), 2)
    1.0
    >>> round(float(nmi_with_known(["a", "b", "a", "b"], known)), 2)
    0.0
    """
    known = clusterings(y, len(labels))
    return max(normalized_mutual_info_score(column, labels) for column in known.T)


def clusterings(y: Any, n: int) -> np.ndarray:
    """Return known clusterings as numbers.

    Parameters
    ----------
    y : array of shape (n,) or (n, m)
        Labels of any kind; one clustering a column.
    n : int
        The number of samples of X.

    Returns
    -------
    array of shape (n, m)
        The labels from 0.

    Raises
    ------
    ValueError
        If y has another number of rows, or a column mixes words and numbers, has gaps, or holds a
        response.
    """
    values = np.asarray(y)
    if len(values) != n:
        raise ValueError(f"y must have one row per sample: {len(values)} rows for {n} samples")
    columns = values.T if values.ndim == 2 else [values]
    return np.column_stack([np.unique(read_labels(c), return_inverse=True)[1] for c in columns])


def to_differ_from(known: Any, penalty: float) -> Gamma:
    """Return the part of Gamma that penalises known clusterings.

    Parameters
    ----------
    known : array of shape (n, m)
        The clusterings, one a column.
    penalty : float
        How much they are avoided.

    Returns
    -------
    Gamma
        With negative weights s.
    """
    first, *others = (guidance_gamma(column, -penalty) for column in known.T)
    return sum(others, start=first)
