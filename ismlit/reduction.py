"""Interpretable kernel dimension reduction as scikit-learn transformers."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from ismlit.bandwidth import RULES, SHARES, as_kernel, median_distance
from ismlit.base import (
    FLOATS,
    FUNCTION,
    POSITIVE,
    Projection,
    check_labels,
    check_parameters,
    one_of,
    rule,
)
from ismlit.baselines import SOLVERS
from ismlit.gamma import guidance_gamma, label_gamma
from ismlit.kernels import Kernel
from ismlit.pairs import ConstantKernelError
from ismlit.solver import ism
from ismlit.spectral import JointProblem, alternate, cluster_rows, embedding_silhouette


@dataclass(eq=False, repr=False)
class SupervisedIKDR(Projection):
    """Find the linear subspace of X on which the labels depend most, as HSIC measures it.

    Maximises Tr(HYY'H K_XW) over orthonormal W. The new features are linear in the old
    ones, so ``W_`` can be read: entry (i, j) is the weight of feature i in component j.

    Parameters
    ----------
    n_components : int, default=2
        Dimension q of the subspace, at most the number of features.
    kernel : str or Kernel, default="gaussian"
        A kernel of the ISM family, or one of "linear", "squared", "polynomial", "gaussian",
        "multiquadratic", "relative_gaussian".
    bandwidth : float, str or function, default="projected"
        Of the Gaussian: a number in the units of X, or a rule of `ismlit.bandwidth.as_kernel`:
        "projected" knows that n_components of n_features are seen; "median" is the thesis's.
    solver : {"ism", "published", "dg", "sm", "gm"}, default="ism"
        `ismlit.ism`, the iteration as the thesis prints it, or one of its three peers.
    init : {"taylor", "pca", "random", "several"} or array, default="several"
        Where W starts, see `ismlit.ism`: "several" looks around, "taylor" is the thesis's.
    balanced : bool, default=False
        Give every class the same weight, whatever its size.
    random_features : int, optional
        Replace the Gaussian kernel by so many random features: time linear in the samples.
    tol : float, default=1e-6
    max_iter : int, default=200
        Most steps of the solver.
    n_jobs : int, optional
    random_state : int, RandomState, optional
        For random starts and features.

    Attributes
    ----------
    W_ : array of shape (n_features, n_components)
        Orthonormal columns; the largest entry of each is positive. ``components_`` is W'.
    mean_ : array of shape (n_features,)
        Subtracted from X before projecting.
    kernel_ : Kernel
    converged_ : bool
    n_iter_ : int
    history_ : dict of equal-length arrays
        Per accepted point, see `ismlit.ISMResult`.
    result_ : ISMResult
    certificate_ : Certificate
        Whether ``W_`` satisfies the first- and second-order conditions, with the numbers;
        computed when first asked for (with random features on the exact problem).
    classes_ : array

    Notes
    -----
    Claims: eq-5.1, alg-4. Scale the features first, as for any method that uses distances.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ismlit import SupervisedIKDR
    >>> X, y = load_wine(return_X_y=True)
    >>> make_pipeline(StandardScaler(), SupervisedIKDR(2)).fit_transform(X, y).shape
    (178, 2)
    """

    n_components: int | None = 2
    kernel: str | Kernel = "gaussian"
    _: KW_ONLY
    bandwidth: float | str = "projected"
    solver: str = "ism"
    init: object = "several"
    balanced: bool = False
    random_features: int | None = None
    tol: float = 1e-6
    max_iter: int = 200
    n_jobs: int | None = None
    random_state: object = None

    def fit(self, X, y):
        """Learn ``W_`` from X (n_samples, n_features) and class labels y (n_samples,)."""
        check_parameters(self)
        X, y = validate_data(self, X, y, dtype=FLOATS, ensure_min_samples=2)
        self.classes_ = check_labels(y)
        gamma = label_gamma(y, self.balanced)
        q = X.shape[1] if self.n_components is None else self.n_components
        centred = self._centred(X, q)
        self.kernel_ = as_kernel(self.kernel, centred, self.bandwidth, q)
        result = SOLVERS[self.solver](
            centred,
            gamma,
            self.kernel_,
            q,
            init=self.init,
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            **self._in_linear_time(),
        )
        self.result_ = self._keep(result)
        self.converged_, self.history_ = result.converged, result.history
        self.n_iter_ = max(result.n_iter, 1)  # the start counts as one
        return self

    def _in_linear_time(self):
        if self.random_features is None:
            return {}
        if self.solver != "ism":
            raise ValueError(
                f"random_features need solver='ism', got solver={self.solver!r}: the others are "
                "there for comparison, on the exact problem"
            )
        return {"random_features": self.random_features}

    def training_problem(self):
        """What was solved, on the training data; the exact problem where features stood for it."""
        problem = super().training_problem()
        return problem if self.random_features is None else problem.exact

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


BANDWIDTH = rule(POSITIVE, one_of(*RULES, "silhouette"), FUNCTION)
GLIMPSE = dict(solver=partial(ism, tol=1e-2, max_iter=5, escape=False), max_iter=None)
"""Turns that need not arrive: to see where a bandwidth leads,"""
SAMPLE = 400  # on at most so many rows


@dataclass(eq=False, repr=False)
class ClusteringIKDR(ClusterMixin, Projection):
    """W and a spectral embedding U learnt in turns; k-means on the rows of U gives labels."""

    n_clusters: int = 2
    n_components: int | None = None
    kernel: str | Kernel = "gaussian"
    _: KW_ONLY
    bandwidth: float | str = "silhouette"
    normalize: str = "degrees"
    solver: str = "ism"
    init: object = "taylor"
    tol: float = 1e-6
    max_iter: int = 200
    max_turns: int = 100
    n_jobs: int | None = None
    random_state: object = None

    def fit_predict(self, X, y=None):
        """``fit(X, y).labels_``; scikit-learn's own would drop y."""
        return self.fit(X, y).labels_

    def _components(self, d):
        """q for d features."""
        return min(self.n_clusters, d) if self.n_components is None else self.n_components

    def _fit(self, X, *, guide=None, fixed=None, columns=None):
        n, d = X.shape
        k, q = self.n_clusters, self._components(d)
        if n < k:
            raise ValueError(f"n_samples={n} should be >= n_clusters={k}: ask for fewer clusters")
        columns = k if columns is None else columns
        centred = self._centred(X, q)
        joint_of = lambda bandwidth: JointProblem(
            centred,
            as_kernel(self.kernel, centred, bandwidth, q),
            self.normalize,
            guide,
            fixed,
            self.n_jobs,
        )
        bandwidth, W = self._bandwidth(joint_of, centred, columns, q)
        joint = joint_of(bandwidth)
        self.kernel_ = joint.kernel
        found = self._alternated(joint, columns, q, W)
        found.warn_unless_converged(stacklevel=4)
        self.labels_ = cluster_rows(found.U, k, self.random_state)
        self.result_ = replace(found, result=self._keep(found.result))
        self.converged_, self.history_ = found.converged, found.history
        self.embedding_, self.n_iter_ = found.U, found.n_iter

    def _alternated(self, joint, columns, q, W=None, **glimpse):
        """The alternation as asked for or a `glimpse`, from W if given; a warning can wait."""
        options = dict(
            solver=self.solver,
            init=self.init,
            tol=self.tol,
            max_iter=self.max_iter,
            max_turns=self.max_turns,
            random_state=self.random_state,
        )
        if W is not None:
            options |= dict(init=W, start=joint.affinity(W).leading(columns)[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return alternate(joint, columns, q, **options | glimpse)

    def _bandwidth(self, joint_of, X, columns, q):
        """The bandwidth asked for, or that share of the median whose clusters stand apart best.

        And the W to start from, None for a start of its own. Sets ``tried_``.
        """
        self.tried_ = {"bandwidth": np.array([]), "silhouette": np.array([])}
        if self.bandwidth != "silhouette" or self.kernel != "gaussian":
            return "median" if self.bandwidth == "silhouette" else self.bandwidth, None
        rows = np.sort(np.random.default_rng(0).permutation(len(X))[:SAMPLE])
        return self._scanned(joint_of, rows, median_distance(X) * np.array(SHARES), columns, q)

    def _scanned(self, joint_of, rows, sigmas, columns, q):
        """The best of the bandwidths, and the W to start from, None here.

        What a bandwidth promises is seen on the `rows` after 3 turns of a few steps; the best
        first, promises are held against 20 turns. Sets ``tried_``.
        """

        def silhouette(sigma, turns):
            joint = joint_of(float(sigma)).sample(rows)
            try:
                U = self._alternated(joint, columns, q, **GLIMPSE, max_turns=turns).U
            except ConstantKernelError:
                return -1.0
            return embedding_silhouette(U, cluster_rows(U, self.n_clusters, self.random_state))

        promises = np.array([silhouette(sigma, 3) for sigma in sigmas])
        self.tried_ = {"bandwidth": sigmas, "silhouette": promises}
        kept, best = -np.inf, sigmas[0]
        for i in np.argsort(-promises, kind="stable"):
            if promises[i] <= kept:
                break
            value = silhouette(sigmas[i], 20)
            if value > kept:
                kept, best = value, sigmas[i]
        return float(best), None


@dataclass(eq=False, repr=False)
class UnsupervisedIKDR(ClusteringIKDR):
    """Find a linear subspace of X and a clustering that depend most on each other.

    Maximises Tr(U' D^(-1/2) K_XW D^(-1/2) U) over orthonormal W and U in turns: W by ISM, U by
    leading eigenvectors, D = diag(K_XW 1). The objective never falls. The papers' own,
    Tr(HUU'H K_XW) with one bandwidth, is ``normalize="none", bandwidth="median"``.

    Parameters
    ----------
    n_clusters : int, default=2
        Also the number of columns of U.
    n_components : int, optional
        Dimension q of the subspace; min(n_clusters, n_features) when None.
    kernel
        As for `SupervisedIKDR`.
    bandwidth : float, str or function, default="silhouette"
        As for `SupervisedIKDR`; and "silhouette": nine shares of the median distance are tried,
        and the one whose clusters stand apart best in U is kept
        (`ismlit.spectral.embedding_silhouette`, which sees no classes).
    normalize : {"none", "degrees", "centred"}, default="degrees"
        "degrees": divide the kernel by the roots of its row sums, as spectral clustering does;
        "centred": centre it afterwards, too; "none": centre it alone.
    solver : {"ism", "published", "dg", "sm", "gm"}, default="ism"
        For W.
    init : {"taylor", "pca", "random", "several"} or array, default="taylor"
        Of the first W; U starts as the embedding of all of X.
    tol : float, default=1e-6
        Stop when a turn raises the objective by less than this share.
    max_iter : int, default=200
        Most steps of the solver in a turn.
    max_turns : int, default=100
        Most turns of U and W.
    n_jobs : int, optional
    random_state : int, RandomState, optional
        For k-means, and for random starts.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
    embedding_ : array of shape (n_samples, n_clusters)
        U; k-means on its rows, scaled to length 1, gives the labels.
    W_ : array of shape (n_features, n_components)
        Orthonormal columns; the largest entry of each is positive. ``components_`` is W'.
    mean_, kernel_, converged_
        As for `SupervisedIKDR`.
    tried_ : dict of equal-length arrays
        The bandwidths tried, and the silhouette of each; empty where none was searched.
    n_iter_ : int
        Turns.
    history_ : dict of equal-length arrays
        The objective and the passes after every half-turn.
    result_ : Alternation
    certificate_ : Certificate
        Of W for the U found, the degrees included; computed when first asked for.

    Notes
    -----
    Claims: neurips-unsupervised, alternation-monotone.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.metrics import normalized_mutual_info_score
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import UnsupervisedIKDR
    >>> X, y = load_wine(return_X_y=True)
    >>> labels = UnsupervisedIKDR(3, random_state=0).fit_predict(scale(X))
    >>> round(float(normalized_mutual_info_score(y, labels)), 2)
    0.91
    """

    def fit(self, X, y=None):
        """Learn ``W_`` and ``labels_`` from X (n_samples, n_features); y is ignored."""
        check_parameters(self, bandwidth=BANDWIDTH)
        self._fit(validate_data(self, X, dtype=FLOATS, ensure_min_samples=2))
        return self


@dataclass(eq=False, repr=False)
class SemiSupervisedIKDR(ClusteringIKDR):
    """Cluster in a linear subspace of X, guided by labels or scores of some samples.

    Maximises Tr(U' D^(-1/2) K_XW D^(-1/2) U) + weight Tr(K_XW F F') over orthonormal W and U
    in turns, D = diag(K_XW 1). F holds the centred labels, scaled to spectral norm 1, so that
    a weight of 1 is as much as the clustering itself.

    Parameters
    ----------
    n_clusters, n_components, kernel, bandwidth, solver, init, tol, max_iter, max_turns, n_jobs
        As for `UnsupervisedIKDR`.
    weight : float, default=1.0
        At least 0. The papers' mu is ``weight / ||HY||_2^2`` (k / n for k balanced classes).
    normalize : {"none", "degrees", "centred"}, default="degrees"
        As in the papers; "none" takes the affinity HKH.
    random_state : int, RandomState, optional

    Attributes
    ----------
    labels_, embedding_, W_, mean_, kernel_, converged_, tried_, n_iter_, history_, result_
        As for `UnsupervisedIKDR`, as is ``certificate_``.

    Notes
    -----
    Claims: neurips-semi, semi-degrees. The papers hold D fixed while W moves; here D moves
    with W, so that the objective above never falls.

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

    _: KW_ONLY
    weight: float = 1.0

    def fit(self, X, y=None):
        """Learn from X (n_samples, n_features) and what is known of some samples.

        y (n_samples,) holds labels, numbers with -1 or objects with None where nothing is known;
        or (n_samples, r) real scores; or nothing is known (None).
        """
        check_parameters(self, bandwidth=BANDWIDTH)
        X = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2)
        fixed = None
        if y is not None:
            fixed = guidance_gamma(_one_per_sample(y, len(X)), self.weight)
        self._fit(X, fixed=fixed)
        return self


def _one_per_sample(y, n):
    """What is known as an array with n rows; a ValueError for another length or for NaN."""
    y = np.asarray(y)
    if len(y) != n:
        raise ValueError(f"y must have one row per sample: {len(y)} rows for {n} samples")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y holds NaN or infinity: write -1 where a label is not known")
    return y
