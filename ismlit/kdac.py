"""Alternative clustering: another clustering of the same data, different from the known ones."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from numbers import Real

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.metrics import normalized_mutual_info_score
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ismlit.bandwidth import median_distance
from ismlit.base import FLOATS, check_parameters
from ismlit.dependence import normalized_hsic
from ismlit.gamma import guidance_gamma
from ismlit.grassmann import SecondOrder
from ismlit.optimality import gaussian_bound
from ismlit.pairs import ConstantKernelError, gram
from ismlit.reduction import BANDWIDTH, ClusteringIKDR, none_serves
from ismlit.solver import ism
from ismlit.spectral import JointProblem, cluster_rows, embedding_silhouette

WALK = dict(
    solver=partial(ism, tol=1e-3, max_iter=20, escape=False), max_iter=None, max_turns=10, tol=1e-4
)
"""Turns from one bandwidth to the next: near enough to be followed."""


@dataclass(eq=False, repr=False)
class KDAC(ClusteringIKDR):
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
    bandwidth : float, str or function, default="silhouette"
        As for `UnsupervisedIKDR`, but "silhouette" walks from the widest to the narrowest of its
        nine bandwidths, each from where the one before ended too, and W starts there; `search`
        tries several, and weights.
    weight : float, default=2.0
        How much the known clustering is avoided, at least 0. The papers' lambda is
        ``weight / ||HY||_2^2``, which is ``weight k / n`` for k balanced classes.
    n_vectors : int, optional
        Columns of U; n_clusters - 1 when None, since k groups differ in k - 1 centred columns
        (the thesis takes n_clusters, which rewards one group more than is asked for).
    normalize : {"none", "degrees", "centred"}, default="centred"
        The affinity Q; "centred" as above and in the thesis, "none" leaves D out.
    init : {"taylor", "pca", "random", "several"} or array, default="taylor"
        Of the first W. U starts as that part of the embedding of X which is orthogonal to the
        known labels.
    tol : float, default=1e-6
        Stop when a turn raises the objective by less than this share.
    max_iter : int, default=2000
        Most steps of the solver in a turn.
    max_turns : int, default=100
        Most turns of U and W.
    n_jobs : int, optional
    callback, verbose
        As for `UnsupervisedIKDR`.
    random_state : int, RandomState, optional
        For k-means, and for random starts.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The alternative clustering, by k-means on the rows of U (scaled to length 1 if there
        are several columns).
    embedding_ : array of shape (n_samples, n_vectors)
        U.
    quality_ : float
        Tr(U'QU), the thesis's CQ: at most n_vectors, and near it also when the bandwidth is
        far too small.
    novelty_ : float
        Normalised mutual information of ``labels_`` and the known labels (the largest, if there
        are several): 0 is entirely new. NaN without y.
    W_ : array of shape (n_features, n_components)
        Orthonormal columns; the largest entry of each is positive.
    mean_, kernel_, converged_, tried_, n_iter_, history_, result_
        As for `UnsupervisedIKDR`.

    Notes
    -----
    Claims: alg-1, eq-3.2a, kdac-gradient. The published alternation holds D fixed while W moves,
    and its objective may fall; here it never does.

    Examples
    --------
    >>> from sklearn.metrics import normalized_mutual_info_score
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import KDAC
    >>> from ismlit.datasets import make_four_gaussians
    >>> X, known, other = make_four_gaussians(random_state=0)
    >>> model = KDAC(2, bandwidth=1.0, random_state=0).fit(scale(X), known)
    >>> agreement = normalized_mutual_info_score(other, model.labels_)
    >>> round(float(agreement), 2), round(float(model.novelty_), 2)
    (1.0, 0.0)
    """

    _: KW_ONLY
    weight: float = 2.0
    n_vectors: int | None = None
    normalize: str = "centred"

    def fit(self, X, y=None):
        """Learn from X (n_samples, n_features) and what is known.

        y (n_samples,) holds the labels of the known clustering, each value a cluster; or several
        known clusterings (n_samples, m), one a column; or None: X is clustered a first time.
        """
        check_parameters(self, bandwidth=BANDWIDTH)
        X = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2)
        known = None if y is None else _clusterings(y, len(X))
        if known is not None and self.weight and self._components(X.shape[1]) == X.shape[1]:
            warnings.warn(
                f"n_components = n_features = {X.shape[1]}: W keeps every direction, so the known "
                "clustering cannot be avoided; ask for fewer components",
                stacklevel=2,
            )
        self._fit(
            X,
            guide=None if y is None else _to_differ_from(known, self.weight),
            columns=self.n_vectors or max(self.n_clusters - 1, 1),
        )
        problem, found = self.solved()
        alone = JointProblem(problem.X, self.kernel_, self.normalize)
        self.quality_ = alone.given(self.embedding_).objective(found.W)
        self.novelty_ = np.nan if y is None else novelty(self.labels_, known)
        return self

    def _scanned(self, joint_of, rows, sigmas, columns, q):
        """The bandwidth whose clusters stand apart best in U on the `rows`, and its W.

        From wide to narrow; at each bandwidth once afresh and once from the W of the one before,
        and what lies higher is kept: a narrow kernel alone has many poor maxima. Sets ``tried_``.
        """
        found, W = [], None
        for sigma in sigmas:
            joint = joint_of(float(sigma)).sample(rows)
            starts = [None] if W is None else [None, W]
            try:
                ends = [self._alternated(joint, columns, q, start, **WALK) for start in starts]
            except ConstantKernelError:
                found.append((-1.0, sigma, W))
                continue
            end = max(ends, key=lambda end: end.objective)
            labels, W = cluster_rows(end.U, self.n_clusters, self.random_state), end.W
            found.append((embedding_silhouette(end.U, labels), sigma, W))
        self.tried_ = {"bandwidth": sigmas, "silhouette": np.array([row[0] for row in found])}
        value, sigma, W = max(found, key=lambda row: row[0])
        if value == -1:
            return none_serves(self), None
        return float(sigma), W

    def _components(self, d):
        """q for d features: less than all of them, since all would leave nothing to choose."""
        return self.n_components or min(self.n_clusters, max(d - 1, 1))


def novelty(labels, y):
    """The normalised mutual information of labels (n,) and the known y (n,) or (n, m): the largest.

    0 for a clustering that is entirely new, and for one that puts all samples together. Claim:
    eq-2.15.

    Examples
    --------
    >>> from ismlit.kdac import novelty
    >>> known = [0, 0, 1, 1]
    >>> round(float(novelty(["a", "a", "b", "b"], known)), 2)
    1.0
    >>> round(float(novelty(["a", "b", "a", "b"], known)), 2)
    0.0
    """
    known = _clusterings(y, len(labels))
    return max(normalized_mutual_info_score(column, labels) for column in known.T)


def _clusterings(y, n):
    """Known labels as numbers, one clustering a column (n, m); a ValueError for bad ones."""
    y = check_array(y, ensure_2d=False, dtype=None)
    columns = y.reshape(len(y), -1)
    if len(columns) != n:
        raise ValueError(f"y must have one row per sample: {len(columns)} rows for {n} samples")
    for column in columns.T:
        kinds = {type(value) for value in column} if column.dtype == object else set()
        if len(kinds) > 1 and not all(issubclass(kind, Real) for kind in kinds):
            raise ValueError(
                "the labels of a clustering must be all numbers or all strings, got "
                f"{sorted(kind.__name__ for kind in kinds)}"
            )
        check_classification_targets(np.array(column.tolist()))
    return np.column_stack([np.unique(c, return_inverse=True)[1] for c in columns.T])


def _to_differ_from(known, weight):
    """The part of Gamma that penalises the clusterings `known` (n, m)."""
    first, *others = (guidance_gamma(column, -weight) for column in known.T)
    return sum(others, start=first)


# ---------------------------------------------------------------- which sigma, weight, and q


@dataclass(frozen=True, eq=False)
class Search:
    """What `search` tried.

    Attributes
    ----------
    rows : list of dict
        One per pair: ``sigma``, ``weight``, ``quality``, ``novelty``, ``silhouette`` (of the labels
        in the embedding; -1 where a cluster is tiny), ``alignment``, ``bound``
        (the left side of (3.10) over its right side: met from 1 on; negative where W is not the
        dominant eigenspace of Phi), ``q by gap`` (the q at which the eigengap (3.11) of Phi is
        widest, among its positive eigenvalues: directions that do harm are not to be kept),
        ``labels``.
    best : int
        The row chosen.
    model : KDAC
        Fitted with it.

    Examples
    --------
    >>> from sklearn.preprocessing import scale
    >>> from ismlit.datasets import make_four_gaussians
    >>> from ismlit.kdac import search
    >>> X, known, _ = make_four_gaussians(100, random_state=0)
    >>> found = search(scale(X), known, sigmas=[0.5, 1.0], weights=[2.0], random_state=0)
    >>> found.chosen["sigma"], [round(float(row["silhouette"]), 2) for row in found.rows]
    (0.5, [0.93, 0.86])
    """

    rows: list = field(repr=False)
    best: int
    model: KDAC

    @property
    def chosen(self):
        """The row chosen, without its labels."""
        return {key: v for key, v in self.rows[self.best].items() if key != "labels"}


CRITERIA = ("silhouette", "alignment", "thesis")


def search(
    X,
    y,
    n_clusters=2,
    *,
    n_components=None,
    sigmas=None,
    weights=(0.5, 2.0, 8.0),
    rule="silhouette",
    n_jobs=None,
    random_state=None,
):
    """Fit `KDAC` with a Gaussian kernel over a grid of bandwidths and weights, and choose.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,) or (n, m)
        What is known.
    n_clusters, n_components, random_state
        As for `KDAC`.
    sigmas : sequence of float, optional
        In units of X; by default the median distance times 2, 1, 1/2, ..., 1/32.
    weights : sequence of float
    rule : {"silhouette", "alignment", "thesis"}
        "silhouette": the labels that stand apart best in the embedding U, as `KDAC` itself chooses
        its bandwidth. "alignment": the largest normalised HSIC (eq-6.14) of the kernel with the
        labels found, minus that with the known ones; it misses curved clusters. "thesis": among the
        pairs that satisfy (3.10) the highest quality; if there are none, the pair closest to
        it, fitted again with the q of the widest eigengap (sec. 3.5).
    n_jobs : int, optional
        Fits run at once.

    Returns
    -------
    Search

    Raises
    ------
    ValueError
        If no pair could be fitted, or an argument makes no sense.

    Notes
    -----
    Claims: txt-3.5-tuning, eq-3.10, eq-3.11. No rule that sees no labels is always right: look
    at ``rows``.

    Examples
    --------
    >>> from sklearn.metrics import normalized_mutual_info_score
    >>> from sklearn.preprocessing import scale
    >>> from ismlit.datasets import make_four_gaussians
    >>> from ismlit.kdac import search
    >>> X, known, other = make_four_gaussians(100, random_state=0)
    >>> found = search(scale(X), known, sigmas=[0.5, 1.0], random_state=0)
    >>> round(float(normalized_mutual_info_score(other, found.model.labels_)), 2)
    1.0
    """
    if rule not in CRITERIA:
        raise ValueError(f"rule must be one of {CRITERIA}, got {rule!r}")
    if y is None or n_clusters < 2:
        raise ValueError("search needs a known clustering y, and at least 2 clusters to look for")
    X = check_array(X, dtype=FLOATS, ensure_min_samples=2, ensure_min_features=2)
    known = _clusterings(y, len(X))
    sigmas = median_distance(X) * 2.0 ** np.arange(1, -6, -1) if sigmas is None else sigmas
    sigmas, weights = np.atleast_1d(sigmas), np.atleast_1d(weights)
    if not (sigmas.size and weights.size):
        raise ValueError("sigmas and weights must hold at least one number each")
    options = dict(n_components=n_components, random_state=random_state)
    calls = (
        delayed(_tried)(KDAC(n_clusters, bandwidth=float(s), weight=w, **options), X, known)
        for s in sigmas
        for w in weights
    )
    found = [pair for pair in Parallel(n_jobs)(calls) if pair is not None]
    if not found:
        raise ValueError(
            "no pair could be fitted: every bandwidth tried is far too small or far too large"
        )
    rows = [row for _, row in found]
    best = max(range(len(rows)), key=lambda i: _preference(rows[i], rule))
    model, row = found[best]
    if rule == "thesis" and row["bound"] < 1 and row["q by gap"] != model.W_.shape[1]:
        model = clone(model).set_params(n_components=row["q by gap"]).fit(X, known)
    return Search(rows, best, model)


def _preference(row, rule):
    if rule != "thesis":
        return (row[rule],)
    met = row["bound"] >= 1
    return met, row["quality"] if met else row["bound"]


def _tried(model, X, known):
    """The model fitted, and its row; None where the kernel is constant on the data."""
    with warnings.catch_warnings():  # some corners of a grid need not converge
        warnings.simplefilter("ignore")
        try:
            return model, _row(model.fit(X, known), X, known)
        except ConstantKernelError:
            return None


def _row(model, X, known):
    """What `Search` reports of a fitted model."""
    W, centred = model.W_, X - model.mean_
    guide = _to_differ_from(known, model.weight)
    problem = JointProblem(centred, model.kernel_, "centred", guide).given(model.embedding_)
    frozen = problem.frozen(W)
    phi = frozen.phi(W)
    eigenvalues = np.linalg.eigvalsh(phi)[::-1]
    useful = max(int((eigenvalues > 0).sum()), 1)
    bound = gaussian_bound(frozen, W, SecondOrder(frozen, W, phi).eigengap)
    root = np.sqrt(problem.degrees(W))
    K = gram(model.kernel_, centred, W) / np.outer(root, root)
    agreement = [normalized_hsic(K, column) for column in (model.labels_, *known.T)]
    return {
        "sigma": model.kernel_.sigma,
        "weight": float(model.weight),
        "quality": float(model.quality_),
        "novelty": float(model.novelty_),
        "silhouette": float(embedding_silhouette(model.embedding_, model.labels_)),
        "alignment": float(agreement[0] - max(agreement[1:])),
        "bound": float(bound.left / bound.right),
        "q by gap": int(np.argmax(-np.diff(eigenvalues)[:useful])) + 1,
        "labels": model.labels_,
    }
