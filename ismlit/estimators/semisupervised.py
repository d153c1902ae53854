"""A clustering guided by what is known of some rows."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from ismlit.estimators.base import all_or_nothing
from ismlit.estimators.clustering import BANDWIDTH, ClusteringIKDR
from ismlit.estimators.clusters import agreement
from ismlit.estimators.linear import FLOATS
from ismlit.estimators.parameters import NONE, WHOLE, check_parameters, rule
from ismlit.estimators.validation import one_row_per_sample
from ismlit.gamma import guidance_gamma, known_labels
from ismlit.messages import warn


@dataclass(eq=False, repr=False)
class SemiSupervisedIKDR(ClusteringIKDR):
    """Cluster in a linear subspace of X, guided by labels or scores of some samples.

    Maximises Tr(U' D^(-1/2) K_XW D^(-1/2) U) + weight Tr(K_XW F F') over orthonormal W and U
    in turns, D = diag(K_XW 1). F holds the centred labels, scaled to spectral norm 1. Their
    kernel is not divided by the degrees: a weight below 1 may outweigh the clustering, whose
    part is at most n_clusters.

    Parameters
    ----------
    n_clusters : int, optional
        So many as there are known classes, and at least 2, when None. Fewer would put two known
        classes into one cluster: there are then as many as classes, and a warning says so.
    n_components, kernel, bandwidth, init, tol, max_iter, max_turns, n_jobs
        As for `UnsupervisedIKDR`.
    weight : float, default=1.0
        At least 0. The papers' mu is ``weight / ||HY||_2^2`` (k / n for k balanced classes).
    normalize : {"none", "degrees", "centred"}, default="degrees"
        As in the papers; "none" takes the affinity HKH.
    callback, verbose
        As for `UnsupervisedIKDR`.
    random_state : int, RandomState, optional

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Clusters from 0; where labels were given, cluster c is that of ``classes_[c]``, and holds
        every row that was given it.
    classes_ : array, or None
        The classes that were given.
    transduction_ : array of shape (n_samples,)
        Labels by name: those given, and those found; -1 or None for a cluster of no known class.
    embedding_, W_, mean_, kernel_, converged_, tried_, n_iter_, history_, result_
        As for `UnsupervisedIKDR`.

    See Also
    --------
    UnsupervisedIKDR : where nothing is known.
    sklearn.semi_supervised.LabelSpreading : without a projection.
    sklearn.linear_model.LogisticRegression : on the known labels alone; where classes are no
        clusters it is often the better classifier.

    Notes
    -----
    The papers hold D fixed while W moves; here D moves
    with W, so that the objective above never falls. For the time see
    `UnsupervisedIKDR`.

    References
    ----------
    Basu, Banerjee and Mooney 2002, Semi-supervised clustering by seeding.
    Wu, Miller, Chang, Sznaier and Dy 2019, Solving interpretable kernel dimensionality reduction.

    Examples
    --------
    >>> from sklearn.metrics import normalized_mutual_info_score
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import SemiSupervisedIKDR
    >>> from ismlit.datasets import make_four_gaussians
    >>> X, y, _ = make_four_gaussians(200, random_state=0)
    >>> some = [*y[:20], *[-1] * 180]  # 20 labels are known
    >>> model = SemiSupervisedIKDR(2, 1, random_state=0).fit(scale(X), some)
    >>> round(float(normalized_mutual_info_score(y, model.labels_)), 2)
    1.0
    """

    n_clusters: int | None = None  # type: ignore[assignment]  # known classes decide
    _: KW_ONLY
    weight: float = 1.0

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn from rows and what is known of some of them.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, r), optional
            Labels, with -1, NaN, None or pandas's NA where nothing is known; or real scores, r
            of each row; or nothing is known (None).

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter breaks its rule, fewer than two classes are known, or scores are
            constant.

        Warns
        -----
        ConvergenceWarning
            If the alternation did not arrive in `max_turns` turns.
        UserWarning
            If more classes are known than `n_clusters`, one column makes nearly all of the
            variance, a component hardly varies, or no bandwidth gives clusters of some size.
        """
        check_parameters(self, bandwidth=BANDWIDTH, n_clusters=rule(WHOLE, NONE))
        rows = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2)
        fixed = known = codes_of_rows = None
        if y is not None:
            labels = one_row_per_sample(y, len(rows))
            known = known_labels(labels)
            fixed = guidance_gamma(labels, self.weight)
        self.classes_ = None
        if known is not None:
            self.classes_, codes = np.unique(labels[known], return_inverse=True)
            if len(self.classes_) > (self.n_clusters or len(self.classes_)):
                warn(
                    f"y holds {len(self.classes_)} known classes, more than n_clusters = "
                    f"{self.n_clusters}: there is a cluster for each of them; leave n_clusters out"
                )
            codes_of_rows = np.full(len(rows), -1)
            codes_of_rows[known] = codes
            self._unknown = None if labels.dtype.kind in "ObmM" else -1
        self._known = codes_of_rows
        self._fit(rows, fixed=fixed, known_labels=codes_of_rows)
        self.transduction_ = self._names(self.labels_)
        return self

    def _promise(self, U, labels, rows):
        """The silhouette, and beside it the share of given labels that the clusters agree with."""
        value = super()._promise(U, labels, rows)
        if value == -1 or self._known is None or not (self._known[rows] >= 0).any():
            return value
        return round((value + agreement(labels, self._known[rows], self._k)) / 2, 3)

    def _judged(self, joint, W, labels, promise):
        """As of any clustering; where labels are known it is they that single clusters out."""
        return promise if self._known is not None else super()._judged(joint, W, labels, promise)

    @property
    def _k(self):
        classes = getattr(self, "classes_", None)
        return max(self.n_clusters or 2, 0 if classes is None else len(classes))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The class of each row; its cluster where none was known.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
            -1 or None for a cluster of no known class, as in ``transduction_``.
        """
        return self._names(super().predict(X))

    def _names(self, labels):
        """Labels (n,) by the classes known; a cluster of which nothing was known has no name."""
        if self.classes_ is None:
            return labels
        kind = self.classes_.dtype
        if kind.kind in "OUSb":  # no truth value says that a class is not known
            kind = object
        elif kind.kind == "u":
            kind = np.int64
        names = np.full(self._k, self._unknown, dtype=kind)
        names[: len(self.classes_)] = self.classes_
        return names[labels]
