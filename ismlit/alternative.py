"""Alternative clustering: another clustering of the same data, different from the known ones."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from numbers import Integral, Real

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.metrics import normalized_mutual_info_score
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ismlit import baselines
from ismlit.gamma import guidance, normalized_hsic, unsupervised
from ismlit.grassmann import SecondOrder
from ismlit.kernels import ConstantKernelError, Gaussian, gram, median_distance
from ismlit.optimality import gaussian_bound
from ismlit.phi import Problem
from ismlit.reduction import _ClusteringIKDR
from ismlit.spectral import NormalizedProblem

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
    weight : float, default=2.0
        How much the known clustering is avoided, at least 0. The papers' lambda is
        ``weight / ||HY||_2^2``, which is ``weight k / n`` for k balanced classes.
    n_vectors : int, optional
        Columns of U; n_clusters - 1 when None, since k groups differ in k - 1 centred columns
        (the thesis takes n_clusters, which rewards one group more than is asked for).
    solver : {"ism", "dg", "sm", "gm"}, default="ism"
        For W. All climb the objective above, D included; "dg" ends at no stationary point.
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
    mean_, kernel_, n_iter_, alternation_, certificate_
        As for `UnsupervisedIKDR`.

    Notes
    -----
    Claims: alg-1, eq-3.2a, kdac-gradient. The published alternation holds D fixed while W moves,
    and its objective may fall; here it never does (with solver="ism").

    Examples
    --------
    >>> from sklearn.metrics import normalized_mutual_info_score
    >>> from sklearn.preprocessing import scale
    >>> from ismlit.alternative import KDAC
    >>> from ismlit.datasets import make_four_gaussians
    >>> from ismlit.kernels import Gaussian
    >>> X, known, other = make_four_gaussians(random_state=0)
    >>> model = KDAC(2, kernel=Gaussian(1.0), random_state=0).fit(scale(X), known)
    >>> round(normalized_mutual_info_score(other, model.labels_), 2), round(model.novelty_, 2)
    (1.0, 0.0)
    """

    _parameter_constraints = {
        **_ClusteringIKDR._parameter_constraints,
        "weight": [Interval(Real, 0, None, closed="left")],
        "n_vectors": [None, Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions(set(SOLVERS))],
    }

    def __init__(
        self,
        n_clusters=2,
        n_components=None,
        kernel="gaussian",
        *,
        weight=2.0,
        n_vectors=None,
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
        self.n_vectors = n_vectors
        self.solver = solver

    def fit(self, X, y=None):
        """Learn from X (n_samples, n_features) and what is known.

        y (n_samples,) holds the labels of the known clustering, each value a cluster; or several
        known clusterings (n_samples, m), one a column; or None: X is clustered a first time.
        """
        self._validate_params()
        X = validate_data(self, X, dtype=(np.float64, np.float32), ensure_min_samples=2)
        known = None if y is None else _clusterings(y, len(X))
        if known is not None and self.weight and self._components(X.shape[1]) == X.shape[1]:
            warnings.warn(
                f"n_components = n_features = {X.shape[1]}: W keeps every direction, so the known "
                "clustering cannot be avoided; ask for fewer components",
                stacklevel=2,
            )
        found = self._fit(
            X,
            guide=None if y is None else _to_differ_from(known, self.weight),
            columns=self.n_vectors or max(self.n_clusters - 1, 1),
            normalize="centred" if self.normalize else False,
            solver=SOLVERS[self.solver],
        )
        problem = replace(found.result.problem, gamma=unsupervised(found.U))
        self.quality_ = problem.objective(found.W)
        self.novelty_ = np.nan if y is None else novelty(self.labels_, known)
        return self

    def _components(self, d):
        """q for d features: less than all of them, since all would leave nothing to choose."""
        return self.n_components or min(self.n_clusters, max(d - 1, 1))


def novelty(labels, y):
    """The normalised mutual information of labels (n,) and the known y (n,) or (n, m): the largest.

    0 for a clustering that is entirely new, and for one that puts all samples together. Claim:
    eq-2.15.

    Examples
    --------
    >>> from ismlit.alternative import novelty
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
        if len(kinds) > 1 and kinds - {int, float, bool}:
            raise ValueError(
                "the labels of a clustering must be all numbers or all strings, got "
                f"{sorted(kind.__name__ for kind in kinds)}"
            )
        check_classification_targets(column)
    return np.column_stack([np.unique(c, return_inverse=True)[1] for c in columns.T])


def _to_differ_from(known, weight):
    """The part of Gamma that penalises the clusterings `known` (n, m)."""
    first, *others = (guidance(column, -weight) for column in known.T)
    return sum(others, start=first)


# ---------------------------------------------------------------- which sigma, weight, and q


@dataclass(frozen=True, eq=False)
class Search:
    """What `search` tried.

    Attributes
    ----------
    rows : list of dict
        One per pair: ``sigma``, ``weight``, ``quality``, ``novelty``, ``alignment``, ``bound``
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
    >>> from ismlit.alternative import search
    >>> from ismlit.datasets import make_four_gaussians
    >>> X, known, _ = make_four_gaussians(100, random_state=0)
    >>> found = search(scale(X), known, sigmas=[0.5, 1.0], weights=[2.0], random_state=0)
    >>> found.chosen["sigma"], [round(float(row["alignment"]), 2) for row in found.rows]
    (1.0, [0.5, 0.7])
    """

    rows: list = field(repr=False)
    best: int
    model: KDAC

    @property
    def chosen(self):
        """The row chosen, without its labels."""
        return {key: v for key, v in self.rows[self.best].items() if key != "labels"}


RULES = ("alignment", "thesis")


def search(
    X,
    y,
    n_clusters=2,
    *,
    n_components=None,
    sigmas=None,
    weights=(0.5, 2.0, 8.0),
    rule="alignment",
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
    rule : {"alignment", "thesis"}
        "alignment": the largest normalised HSIC (eq-6.14) of the kernel with the labels found,
        minus that with the known ones; it does not grow as sigma shrinks. "thesis": among the
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
    at ``rows``, and at `ismlit.plots.plot_search`.

    Examples
    --------
    >>> from sklearn.metrics import normalized_mutual_info_score
    >>> from sklearn.preprocessing import scale
    >>> from ismlit.alternative import search
    >>> from ismlit.datasets import make_four_gaussians
    >>> X, known, other = make_four_gaussians(100, random_state=0)
    >>> found = search(scale(X), known, sigmas=[0.5, 1.0], random_state=0)
    >>> round(float(normalized_mutual_info_score(other, found.model.labels_)), 2)
    1.0
    """
    if rule not in RULES:
        raise ValueError(f"rule must be one of {RULES}, got {rule!r}")
    if y is None or n_clusters < 2:
        raise ValueError("search needs a known clustering y, and at least 2 clusters to look for")
    X = check_array(X, dtype=(np.float64, np.float32), ensure_min_samples=2, ensure_min_features=2)
    known = _clusterings(y, len(X))
    sigmas = median_distance(X) * 2.0 ** np.arange(1, -6, -1) if sigmas is None else sigmas
    sigmas, weights = np.atleast_1d(sigmas), np.atleast_1d(weights)
    if not (sigmas.size and weights.size):
        raise ValueError("sigmas and weights must hold at least one number each")
    options = dict(n_components=n_components, random_state=random_state)
    calls = (
        delayed(_tried)(KDAC(n_clusters, kernel=Gaussian(float(s)), weight=w, **options), X, known)
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
    if rule == "alignment":
        return (row["alignment"],)
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
    guide = unsupervised(model.embedding_) + _to_differ_from(known, model.weight)
    problem = NormalizedProblem(centred, guide, model.kernel_)
    frozen = Problem(centred, problem.frozen_gamma(W), model.kernel_)
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
        "alignment": float(agreement[0] - max(agreement[1:])),
        "bound": float(bound.left / bound.right),
        "q by gap": int(np.argmax(-np.diff(eigenvalues)[:useful])) + 1,
        "labels": model.labels_,
    }
