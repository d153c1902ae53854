"""What the clusterings share: a subspace, an embedding, a search for the bandwidth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from ismlit.bandwidth import MEDIAN_SUBSAMPLE, RULES, SHARES, as_kernel, median_distance
from ismlit.estimators.base import Projection
from ismlit.estimators.clusters import (
    cluster_rows,
    cluster_rows_given,
    embedding_silhouette,
)
from ismlit.estimators.extension import NystroemEmbedding
from ismlit.estimators.linear import FLOATS
from ismlit.estimators.parameters import FUNCTION, POSITIVE, one_of, rule
from ismlit.estimators.scikit import ClusterMixin
from ismlit.grams import ConstantKernelError
from ismlit.kernels import Kernel
from ismlit.memory import few_rows
from ismlit.messages import silenced, warn
from ismlit.objectives.joint import JointProblem
from ismlit.solvers.alternate import alternate, maximize_envelope
from ismlit.solvers.ism import ism

BANDWIDTH = rule(POSITIVE, one_of(*RULES, "silhouette"), FUNCTION)
TRIAL: dict[str, Any] = dict(solver=partial(ism, tol=1e-2, max_iter=5, escape=False), max_iter=None)
"""Options of an alternation that need not arrive: it shows where a bandwidth leads."""
SEARCH_SUBSAMPLE = 400  # A search for the bandwidth looks at no more rows.
MANY_ROWS = 1500  # With more rows W is sought on some of them first.
SILHOUETTE_TIE = 0.05  # Silhouettes that differ by less count as equal.
MOST_SOLVED = 3  # Bandwidths solved with, at most, until one is as good as in the search.


@dataclass(eq=False, repr=False)
class ClusteringIKDR(ClusterMixin, Projection):
    """A base of clusterings that learn a subspace W and a spectral embedding U together.

    k-means on the rows of U gives the labels.
    """

    n_clusters: int = 2
    n_components: int | None = None
    kernel: str | Kernel | Callable[[float], Kernel] = "gaussian"
    _: KW_ONLY
    bandwidth: float | str | Callable[[np.ndarray], float] = "silhouette"
    normalize: str = "degrees"
    init: object = "taylor"
    tol: float = 1e-6
    max_iter: int = 2000
    max_turns: int = 100
    n_jobs: int | None = None
    callback: object = None
    verbose: bool = False
    random_state: object = None

    _glimpse, _follows = TRIAL | dict(max_turns=3), False

    @property
    def _k(self):
        return self.n_clusters

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and return the cluster of each row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples in rows.
        y : array, optional
            What is known, as for `fit`.

        Returns
        -------
        array of shape (n_samples,)
            ``labels_``.
        """
        return self.fit(X, y).labels_

    def _default_components(self, rank):
        return min(self._k, rank)

    def _fit(self, X, *, guide=None, fixed=None, columns=None, known_labels=None) -> None:
        n, k = len(X), self._k
        if n < k:
            raise ValueError(f"n_samples={n} should be >= n_clusters={k}: ask for fewer clusters")
        columns = k if columns is None else columns
        self._guided = guide is not None or fixed is not None
        (centred, q), X_centred = self._centred(X), X - self.mean_
        joint_of = lambda bandwidth: JointProblem(
            centred,
            as_kernel(self.kernel, X_centred, bandwidth, q, self._rank),
            self.normalize,
            guide,
            fixed,
            self.n_jobs,
        )
        best: Any = None
        for bandwidth, W, least in self._candidates(joint_of, centred, columns, q):
            joint = joint_of(bandwidth)
            alternation = self._solved_with(joint, columns, q, W)
            if known_labels is None:
                labels = cluster_rows(alternation.U, k, self.random_state)
            else:
                labels = cluster_rows_given(alternation.U, k, known_labels, self.random_state)
            value = 0.0
            if self._searched:
                value = self._promise(*_some_rows(alternation.U, labels))
                rows = few_rows(n, SEARCH_SUBSAMPLE)
                value = self._judged(joint.on(rows), alternation.W, labels[rows], value)
            if best is None or value > best[0]:
                best = value, joint, alternation, labels
            if self._stopped or (best[0] > -1 and best[0] >= least):
                break
        value, joint, alternation, labels = best
        self.labels_: np.ndarray = labels
        if value < 0:
            warn_of_the_end(self, value)
        self.kernel_ = joint.kernel
        alternation.warn_unless_converged(type(self).__name__)
        self.result_ = replace(alternation, result=self._keep(alternation.result), W=self.W_)
        self._extension = NystroemEmbedding(joint, self._solved.W, alternation.U, self.labels_)
        self.converged_, self.history_ = alternation.converged, alternation.history
        self.embedding_: np.ndarray = alternation.U
        self.n_iter_ = alternation.n_iter

    @np.errstate(under="ignore")
    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster of each row, by its place in the embedding.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples in rows, with the columns of the fit.

        Returns
        -------
        array of shape (n_samples,)
            Their clusters.
        """
        Z = self._projected(X)
        return self._extension.cluster(self._extension(Z))

    @np.errstate(under="ignore")
    def score(self, X: Any, y: Any = None) -> float:
        """Return how well the clusters of new rows stand apart: the silhouette in their embedding.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples in rows, with the columns of the fit.
        y : object, optional
            There for scikit-learn; it makes no difference.

        Returns
        -------
        float
            From -1 to 1. Rows so far from all training rows that the kernel is 0 are left out;
            where they are more than half, or a cluster is nearly empty, the score is -1.
        """
        Z = self._projected(X)
        near = self._extension.near(Z)
        if near.mean() < 0.5:  # too few of them resemble any training row
            return -1.0
        U = self._extension(Z[near])
        return embedding_silhouette(U, self._extension.cluster(U))

    def _projected(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        return (X - self.mean_) @ self.W_

    def _alternated(self, joint, columns, q, W=None, **glimpse):
        """The alternation as asked for or a `glimpse`, from W if given; a warning can wait."""
        options = dict(
            init=self._start(),
            tol=self.tol,
            max_iter=self.max_iter,
            max_turns=self.max_turns,
            random_state=self.random_state,
        )
        if W is not None:
            options |= dict(init=W, start=joint.affinity(W).leading(columns)[0])
        with silenced(ConvergenceWarning):
            return alternate(joint, columns, q, **options | glimpse)

    @property
    def _searched(self):
        """Whether the bandwidth is to be looked for."""
        has_one = self.kernel == "gaussian" or callable(self.kernel)
        return self.bandwidth == "silhouette" and has_one and self._k > 1

    @property
    def _beside(self):
        """The rule that is tried beside the shares of the median distance."""
        return "self_tuning" if self.kernel == "gaussian" else "median"

    def _solved_with(self, joint, columns, q, W):
        """The alternation on all rows; where they are many, from a W that some of them give."""
        n = len(joint.X)
        if W is None and n > MANY_ROWS and isinstance(self.init, str):
            rows = few_rows(n, MANY_ROWS // 2)
            W = maximize_envelope(joint, columns, self._alternated(joint.on(rows), columns, q).W)
        return self._alternated(joint, columns, q, W, callback=self._watched())

    def _candidates(self, joint_of, X, columns, q):
        """The bandwidths to solve with: (bandwidth, W to start from or None, what suffices).

        One if it is given. Else the best first, and the next one where the end is worse than
        what that promises, or holds clusters that are nearly empty; the self-tuning kernel last.
        Sets ``tried_``.
        """
        self.tried_ = {"bandwidth": np.array([]), "silhouette": np.array([])}
        if not self._searched:
            bandwidth = "median" if self.bandwidth == "silhouette" else self.bandwidth
            return [(bandwidth, None, -1.0)]
        rows = few_rows(len(X), SEARCH_SUBSAMPLE)
        sigmas = median_distance(X, max_samples=MEDIAN_SUBSAMPLE) * np.array(SHARES)
        ranked = self._scanned(joint_of, rows, sigmas, columns, q)[:MOST_SOLVED]
        if self._beside not in [bandwidth for _, bandwidth, _ in ranked]:
            ranked.append((-1.0, self._beside, None))
        after = [value - SILHOUETTE_TIE for value, *_ in ranked[1:]] + [-1.0]
        return [(*rest, least) for (_, *rest), least in zip(ranked, after)]

    def _promise(self, U, labels, rows):
        """How good a bandwidth looks by the clusters of some rows, in their embedding U."""
        return embedding_silhouette(U, labels)

    def _judged(self, joint, W, labels, promise):
        """What is left of a promise: 1 less where as good a clustering may be another one.

        So what the data single out comes first, and the order within either kind is as it was.
        """
        if promise <= -1:
            return promise
        return promise - (joint.affinity(W).ambiguity(labels) >= len(np.unique(labels)) - 1)

    def _scanned(self, joint_of, rows, sigmas, columns, q):
        """Bandwidths that serve, the best first: (value, bandwidth, W to start from or None).

        What each promises is seen on the `rows`, after a `_glimpse`. From the widest on: once one
        lets the clusters fall apart, narrower ones do too, and where they seem not to, rounding
        decides. The best are then held to it, see `_held`. Sets ``tried_``.
        """

        def tried(bandwidth, W=None, **glimpse):
            joint = joint_of(bandwidth).on(rows)
            climb = partial(self._alternated, joint, columns, q, **glimpse)
            try:
                ends = [climb(W=start) for start in ([None] if W is None else [None, W])]
            except ConstantKernelError:
                return -1.0, -1.0, W
            end = max(ends, key=lambda end: end.objective)
            labels = cluster_rows(end.U, self._k, self.random_state)
            promise = self._promise(end.U, labels, rows)
            self._say(bandwidth, promise)
            return promise, self._judged(joint, end.W, labels, promise), end.W

        promises, scored, W = np.full(len(sigmas), -1.0), [], None
        for i, sigma in enumerate(sigmas.tolist()):
            promises[i], value, end = tried(sigma, W, **self._glimpse)
            scored.append((value, sigma, end if self._follows else None))
            W = scored[-1][2]
            if promises[i] == -1 and promises.max() > -1:
                break
        self.tried_ = {"bandwidth": sigmas, "silhouette": promises}
        scored = sorted(scored, key=lambda row: -row[0])
        return [row for row in self._held(tried, scored) if row[0] > -1]

    def _held(self, tried, rows):
        """The best of what was found held against 20 turns, the self-tuning kernel, the rest."""
        held: list = []
        longer = TRIAL | dict(max_turns=20)
        for value, sigma, _ in rows:
            if value <= max([-1.0, *(value for value, *_ in held)]):
                break
            held.append((tried(sigma, **longer)[1], sigma, None))
        held.append((tried(self._beside, **longer)[1], self._beside, None))
        first, *others = in_order(held)
        return [first, *sorted(others + rows[len(held) - 1 :], key=lambda row: -row[0])]

    def _say(self, bandwidth, value):
        """How a bandwidth looks, where `verbose` asks for it."""
        if self.verbose:
            named = bandwidth if isinstance(bandwidth, str) else f"{bandwidth:.3g}"
            print(f"{type(self).__name__}: bandwidth {named}, {value:.3f}", flush=True)


def in_order(rows: list) -> list:
    """Order bandwidths by falling silhouette, and ties by a rule.

    Within `SILHOUETTE_TIE` of the best the self-tuning kernel comes first, since groups may differ
    in density, and then the wider bandwidth. Further down the order is that of the silhouettes.

    Parameters
    ----------
    rows : list of (silhouette, bandwidth, ...)
        The bandwidths tried.

    Returns
    -------
    list
        The same entries, the best first.

    Examples
    --------
    >>> from ismlit.estimators.clustering import in_order
    >>> in_order([(0.82, 1.0), (0.85, 0.5), (0.81, "self_tuning"), (0.4, 2.0)])
    [(0.81, 'self_tuning'), (0.82, 1.0), (0.85, 0.5), (0.4, 2.0)]
    """
    best = max((row[0] for row in rows), default=0.0)
    width = lambda row: np.inf if isinstance(row[1], str) else row[1]
    tied = [row for row in rows if row[0] >= best - SILHOUETTE_TIE]
    rest = [row for row in rows if row[0] < best - SILHOUETTE_TIE]
    return sorted(tied, key=width, reverse=True) + sorted(rest, key=lambda row: -row[0])


def _some_rows(U, labels, most=1000):
    """An embedding, its labels and the numbers of its rows; of many rows some, all clusters in it.

    A cluster too small to be drawn has its rows put beside the others.
    """
    n = len(labels)
    rows = np.arange(n)
    if n > most:
        rows = few_rows(n, most)
        sizes = np.bincount(labels)
        small = np.flatnonzero((sizes > 0) & (np.bincount(labels[rows], minlength=len(sizes)) < 2))
        rows = np.union1d(rows, np.flatnonzero(np.isin(labels, small)))
    return U[rows], labels[rows], rows


def warn_of_the_end(estimator: Any, value: float) -> None:
    """Warn that what was found is no clustering of the data, whatever the bandwidth.

    Parameters
    ----------
    estimator : ClusteringIKDR
        What was fitted.
    value : float
        At most -1 where some clusters are nearly empty, and else below 0.
    """
    sizes = ", ".join(map(str, np.bincount(estimator.labels_)))
    what, cause = "of some size", "look for outliers"
    if value > -1:
        what, cause = "that X singles out", "see whether those of half of the rows are the same"
    warn(
        f"no bandwidth tried gives {type(estimator).__name__} n_clusters = {estimator._k} "
        f"clusters {what} (tried_ has what each promised, -1 for none): those found hold "
        f"{sizes} rows. Ask for another number of clusters, or {cause}",
    )
