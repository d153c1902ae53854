"""Interpretable kernel dimension reduction as scikit-learn transformers."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Self

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from ismlit.estimators.base import (
    FLOATS,
    FUNCTION,
    NONE,
    POSITIVE,
    WHOLE,
    Projection,
    all_or_nothing,
    check_labels,
    check_parameters,
    one_of,
    rule,
    whole,
)
from ismlit.problems.bandwidth import ROWS, RULES, SHARES, as_kernel, median_distance
from ismlit.problems.dependence import normalized_hsic
from ismlit.problems.gamma import guidance_gamma, known_labels, label_gamma, labels_of_a_column
from ismlit.problems.kernels import Gaussian, Kernel
from ismlit.problems.pairs import ConstantKernelError, betas, gram
from ismlit.problems.problem import Problem
from ismlit.solvers.solver import as_problem, ism
from ismlit.solvers.spectral import (
    JointProblem,
    agreement,
    alternate,
    climbed,
    cluster_rows,
    cluster_rows_given,
    directions_of_rows,
    embedding_silhouette,
)


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
        "multiquadratic".
    bandwidth : float, str or function, default="projected"
        Of the Gaussian: a number in the units of X, or a rule of `ismlit.problems.bandwidth`:
        "projected" knows that n_components of n_features are seen; "median" is the thesis's.
    init : {"taylor", "pca", "random", "several"} or array, default="several"
        Where W starts, see `ismlit.ism`: "several" looks around, "taylor" is the thesis's.
    balanced : bool, default=False
        Give every class the same weight, whatever its size. Of two classes it changes nothing:
        J is then, up to a factor, the squared distance of the two class means in feature space,
        in which either counts as one whatever its size (claim new-two-classes).
    random_features : int, optional
        Replace the Gaussian kernel by so many random features: time linear in the samples. X may
        then be a numpy.memmap of more rows than memory holds (a Dask array would be gathered:
        store its blocks in one).
    tol : float, default=1e-6
    max_iter : int, default=2000
        Most steps of the solver.
    n_jobs : int, optional
    callback : callable, optional
        Called after every step with an object that has W and J.
    verbose : bool, default=False
        Print J after every step.
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
    classes_ : array

    Notes
    -----
    Claims: eq-5.1, alg-4. Scale the features first, as for any method that uses distances.

    See Also
    --------
    ResponseIKDR : for a response that is a number.
    KernelDependenceNetwork : a classifier of several such layers.
    sklearn.neighbors.NeighborhoodComponentsAnalysis : for nearest neighbours.

    References
    ----------
    Wu, Miller, Chang, Sznaier and Dy 2019, Solving interpretable kernel dimensionality reduction.
    Gretton, Bousquet, Smola and Schoelkopf 2005, Measuring statistical dependence with
    Hilbert-Schmidt norms.

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
    init: object = "several"
    balanced: bool = False
    random_features: int | None = None
    tol: float = 1e-6
    max_iter: int = 2000
    n_jobs: int | None = None
    callback: object = None
    verbose: bool = False
    random_state: object = None

    @all_or_nothing
    def fit(self, X, y) -> Self:
        """Learn ``W_`` from X (n_samples, n_features) and class labels y (n_samples,)."""
        check_parameters(self)
        X, y = validate_data(self, X, y, dtype=FLOATS, ensure_min_samples=2)
        self.classes_ = check_labels(y)
        return self._fit(X, label_gamma(y, self.balanced))

    def _fit(self, X, gamma):
        centred, q = self._centred(X)
        whole = X if self.random_features else X - self.mean_  # to read, not to copy
        self.kernel_ = as_kernel(self.kernel, whole, self.bandwidth, q, self._rank)
        how = self.n_jobs, self.random_features, self.random_state
        result = ism(
            as_problem(centred, gamma, self.kernel_, *how),
            q=q,
            init=self._start(),
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
            callback=self._watched(),
        )
        self.result_ = self._keep(result)
        self.converged_, self.history_ = result.converged, result.history
        self.n_iter_ = max(result.n_iter, 1)  # the start counts as one
        return self

    def score(self, X, y) -> float:
        """How strongly y depends on the projected X: normalised HSIC, from 0 to 1.

        On rows that were not fitted it is a criterion for a search over the parameters.
        """
        check_is_fitted(self)
        X, y = validate_data(self, X, y, dtype=FLOATS, reset=False, ensure_min_samples=2)
        X, kernel = X - self.mean_, self.kernel_
        if is_relative(kernel):  # bandwidths of the new rows, by the same rule
            if isinstance(self.kernel, Kernel):
                raise ValueError(f"{kernel!r} has bandwidths for the training rows alone")
            kernel = as_kernel(self.kernel, X, self.bandwidth)
        K = gram(kernel, X, self.W_)
        try:
            return normalized_hsic(K, self._target(y))
        except ConstantKernelError:  # a kernel that tells no rows apart says nothing of y
            return 0.0

    def _target(self, y):
        return y

    def _chance(self):
        """J of a maximum for the training rows with their labels shuffled."""
        problem, result = self.solved()
        rows = np.random.default_rng(0).permutation(problem.n)
        shuffled = Problem(problem.X, problem.gamma.sample(rows), problem.kernel, self.n_jobs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # near the maximum is near enough
            return ism(
                shuffled, q=result.W.shape[1], tol=1e-3, max_iter=100, escape=False
            ).objective

    def solved(self):
        """What was solved, and the result; the exact problem where features stood for it."""
        problem, result = super().solved()
        return (problem if self.random_features is None else problem.exact), result

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


@dataclass(eq=False, repr=False)
class ResponseIKDR(SupervisedIKDR):
    """Find the linear subspace of X on which a response depends most, as HSIC measures it.

    The response is cut into slices that hold equally many rows, as in sliced inverse regression
    (SIR), and the subspace is sought on which the slice depends most. SIR sees the means of the
    slices alone; this sees their whole distribution.

    Parameters
    ----------
    n_components, kernel, bandwidth, init, random_features, tol, max_iter, n_jobs
        As for `SupervisedIKDR`.
    balanced : bool, default=False
        As for `SupervisedIKDR`; it has little to do where slices hold equally many rows.
    n_slices : int, default=10
        At least 2. Equal values of y are never parted, so there may be fewer.
    callback, verbose, random_state
        As for `SupervisedIKDR`.

    Attributes
    ----------
    W_, mean_, kernel_, converged_, n_iter_, history_, result_
        As for `SupervisedIKDR`.
    slices_ : array of shape (m,)
        Values of y at which a new slice begins; m is at most n_slices - 1.

    See Also
    --------
    SupervisedIKDR : for class labels.

    References
    ----------
    Li 1991, Sliced inverse regression for dimension reduction. Fukumizu, Bach and Jordan 2009,
    Kernel dimension reduction in regression.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import ResponseIKDR
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> model = ResponseIKDR(1).fit(X, X[:, 2] ** 2)  # SIR's slices all have the mean 0 here
    >>> int(abs(model.W_).argmax()), bool(abs(model.W_).max() > 0.98)
    (2, True)
    """

    _: KW_ONLY
    n_slices: int = 10

    @all_or_nothing
    def fit(self, X, y) -> Self:
        """Learn ``W_`` from X (n_samples, n_features) and a response y (n_samples,)."""
        check_parameters(self, n_slices=(lambda m: whole(m, 2), "a whole number of at least 2"))
        if np.asarray(y).dtype.kind in "US":
            raise ValueError("a response must be numbers; SupervisedIKDR takes class labels")
        X, y = validate_data(self, X, y, dtype=FLOATS, y_numeric=True, ensure_min_samples=2)
        self.slices_ = slice_starts(y, self.n_slices)
        return self._fit(X, label_gamma(self._target(y), self.balanced))

    def _target(self, y):
        """The slice of each value."""
        return np.searchsorted(self.slices_, y, side="right")


def slice_starts(y, n_slices):
    """The values (m,) of y (n,) at which a new slice begins, m below `n_slices`.

    Slices hold equally many rows. Where so many rows share a value that fewer slices come of it
    than there could be, each next slice takes whole values until it has its share of what is left.

    Raises
    ------
    ValueError
        If y is constant.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.estimators.reduction import slice_starts
    >>> slice_starts(np.arange(10), 5)
    array([2, 4, 6, 8])
    >>> slice_starts(np.array([0] * 95 + [1, 2, 3, 4, 5]), 3)  # 95 rows are one slice
    array([1, 4])
    """
    values, counts = np.unique(y, return_counts=True)
    if len(values) < 2:
        raise ValueError("y is constant: there is nothing for X to say of it")
    shares = np.arange(1, n_slices) / n_slices
    starts = np.unique(np.quantile(y, shares, method="higher"))
    starts = starts[starts > values[0]]
    if len(starts) + 1 >= min(n_slices, len(values)):
        return starts
    first = [0]
    left = len(y)
    for slices in range(min(n_slices, len(values)), 1, -1):  # as many are still to be made
        held = np.cumsum(counts[first[-1] :])
        most = len(values) - slices + 1 - first[-1]  # values that this one may take
        taken = min(int(np.searchsorted(held, left / slices)) + 1, most)
        first.append(first[-1] + taken)
        left -= int(held[taken - 1])
    return values[first[1:]]


BANDWIDTH = rule(POSITIVE, one_of(*RULES, "silhouette"), FUNCTION)
GLIMPSE = dict(solver=partial(ism, tol=1e-2, max_iter=5, escape=False), max_iter=None)
"""Turns that need not arrive: to see where a bandwidth leads,"""
SAMPLE = 400  # on at most so many rows
LARGE = 1500  # rows beyond which W is sought on some of them first
TIE = 0.05  # silhouettes that differ by less are equal
MOST_SOLVED = 3  # bandwidths, at most, that are solved with until one keeps its promise


@dataclass(eq=False, repr=False)
class ClusteringIKDR(ClusterMixin, Projection):
    """W and a spectral embedding U learnt in turns; k-means on the rows of U gives labels."""

    n_clusters: int = 2
    n_components: int | None = None
    kernel: str | Kernel = "gaussian"
    _: KW_ONLY
    bandwidth: float | str = "silhouette"
    normalize: str = "degrees"
    init: object = "taylor"
    tol: float = 1e-6
    max_iter: int = 2000
    max_turns: int = 100
    n_jobs: int | None = None
    callback: object = None
    verbose: bool = False
    random_state: object = None

    @property
    def _k(self):
        return self.n_clusters

    def fit_predict(self, X, y=None) -> np.ndarray:
        """``fit(X, y).labels_``; scikit-learn's own would drop y."""
        return self.fit(X, y).labels_

    def _default_components(self, rank):
        return min(self._k, rank)

    def _fit(self, X, *, guide=None, fixed=None, columns=None, given=None):
        n, k = len(X), self._k
        if n < k:
            raise ValueError(f"n_samples={n} should be >= n_clusters={k}: ask for fewer clusters")
        columns = k if columns is None else columns
        (centred, q), whole = self._centred(X), X - self.mean_
        joint_of = lambda bandwidth: JointProblem(
            centred,
            as_kernel(self.kernel, whole, bandwidth, q, self._rank),
            self.normalize,
            guide,
            fixed,
            self.n_jobs,
        )
        best = None
        for bandwidth, W, least in self._candidates(joint_of, centred, columns, q):
            joint = joint_of(bandwidth)
            found = self._solved_with(joint, columns, q, W)
            if given is None:
                labels = cluster_rows(found.U, k, self.random_state)
            else:
                labels = cluster_rows_given(found.U, k, given, self.random_state)
            value = self._promise(*_some_rows(found.U, labels)) if self._searched else 0.0
            if best is None or value > best[0]:
                best = value, joint, found, labels
            if best[0] > -1 and best[0] >= least:
                break
        value, joint, found, self.labels_ = best
        if self._searched and value == -1:
            warn_of_sizes(self)
        self.kernel_ = joint.kernel
        found.warn_unless_converged(stacklevel=4)
        self.result_ = replace(found, result=self._keep(found.result), W=self.W_)
        self._extension = Extension(joint, self._solved.W, found.U, self.labels_)
        self.converged_, self.history_ = found.converged, found.history
        self.embedding_, self.n_iter_ = found.U, found.n_iter

    def predict(self, X) -> np.ndarray:
        """The cluster of each row of X (n_samples, n_features), by its place in the embedding."""
        Z = self._projected(X)
        return self._extension.cluster(self._extension(Z))

    def score(self, X, y=None) -> float:
        """How well the clusters of new rows stand apart: the silhouette in their embedding.

        Rows so far from all training rows that the kernel is 0 are left out; where they are more
        than half, or a cluster is nearly empty, the score is -1.
        """
        Z = self._projected(X)
        near = self._extension.near(Z)
        if near.mean() < 0.5:  # the kernel tells too few of them what they resemble
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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return alternate(joint, columns, q, **options | glimpse)

    @property
    def _searched(self):
        """Whether the bandwidth is to be looked for."""
        return self.bandwidth == "silhouette" and self.kernel == "gaussian" and self._k > 1

    def _solved_with(self, joint, columns, q, W):
        """The alternation on all rows; where they are many, from a W that some of them give."""
        n = len(joint.X)
        if W is None and n > LARGE and isinstance(self.init, str):
            rows = np.sort(np.random.default_rng(0).permutation(n)[: LARGE // 2])
            W = climbed(joint, columns, self._alternated(joint.sample(rows), columns, q).W)
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
        rows = np.sort(np.random.default_rng(0).permutation(len(X))[:SAMPLE])
        sigmas = median_distance(X, max_samples=ROWS) * np.array(SHARES)
        found = self._scanned(joint_of, rows, sigmas, columns, q)[:MOST_SOLVED]
        if "self_tuning" not in [bandwidth for _, bandwidth, _ in found]:
            found.append((-1.0, "self_tuning", None))
        after = [value - TIE for value, *_ in found[1:]] + [-1.0]
        return [(*rest, least) for (_, *rest), least in zip(found, after)]

    def _promise(self, U, labels, rows):
        """How good a bandwidth looks by the clusters of some rows, in their embedding U."""
        return embedding_silhouette(U, labels)

    def _scanned(self, joint_of, rows, sigmas, columns, q):
        """Bandwidths that serve, the best first: (silhouette, bandwidth, None). Sets ``tried_``.

        What a bandwidth promises is seen on the `rows` after 3 turns of a few steps; the best
        first, promises are held against 20 turns. From the widest on: once one lets the clusters
        fall apart, narrower ones do too, and where they seem not to, rounding decides.
        """

        def silhouette(bandwidth, turns):
            joint = joint_of(bandwidth).sample(rows)
            try:
                U = self._alternated(joint, columns, q, **GLIMPSE, max_turns=turns).U
            except ConstantKernelError:
                return -1.0
            value = self._promise(U, cluster_rows(U, self._k, self.random_state), rows)
            self._say(bandwidth, value)
            return value

        promises = np.full(len(sigmas), -1.0)
        for i, sigma in enumerate(sigmas):
            promises[i] = silhouette(float(sigma), 3)
            if promises[i] == -1 and promises.max() > -1:
                break
        self.tried_ = {"bandwidth": sigmas, "silhouette": promises}
        held = []
        for i in np.argsort(-promises, kind="stable"):
            if promises[i] <= max([-1.0, *(value for value, *_ in held)]):
                break
            held.append((silhouette(float(sigmas[i]), 20), float(sigmas[i]), None))
        held.append((silhouette("self_tuning", 20), "self_tuning", None))
        return in_order([row for row in held if row[0] > -1])

    def _say(self, bandwidth, value):
        """How a bandwidth looks, where `verbose` asks for it."""
        if self.verbose:
            named = bandwidth if isinstance(bandwidth, str) else f"{bandwidth:.3g}"
            print(f"{type(self).__name__}: bandwidth {named}, {value:.3f}", flush=True)


def in_order(found):
    """Bandwidths (silhouette, bandwidth, ...) by falling silhouette, ties by a rule.

    Within `TIE` of the best the self-tuning kernel comes first, which knows that groups differ in
    density, and then the wider bandwidth. Further down the order is that of the silhouettes.

    Examples
    --------
    >>> from ismlit.estimators.reduction import in_order
    >>> in_order([(0.82, 1.0), (0.85, 0.5), (0.81, "self_tuning"), (0.4, 2.0)])
    [(0.81, 'self_tuning'), (0.82, 1.0), (0.85, 0.5), (0.4, 2.0)]
    """
    best = max((row[0] for row in found), default=0.0)
    width = lambda row: np.inf if row[1] == "self_tuning" else row[1]
    tied = [row for row in found if row[0] >= best - TIE]
    rest = [row for row in found if row[0] < best - TIE]
    return sorted(tied, key=width, reverse=True) + sorted(rest, key=lambda row: -row[0])


def _some_rows(U, labels, most=1000):
    """An embedding, its labels and the numbers of its rows; of many rows some, all clusters in it.

    A cluster too small to be drawn has its rows put beside the others.
    """
    n = len(labels)
    rows = np.arange(n)
    if n > most:
        rows = np.sort(np.random.default_rng(0).permutation(n)[:most])
        sizes = np.bincount(labels)
        small = np.flatnonzero((sizes > 0) & (np.bincount(labels[rows], minlength=len(sizes)) < 2))
        rows = np.union1d(rows, np.flatnonzero(np.isin(labels, small)))
    return U[rows], labels[rows], rows


def warn_of_sizes(estimator):
    """Say that the clusters found are nearly empty, whatever the bandwidth."""
    sizes = ", ".join(map(str, np.bincount(estimator.labels_)))
    warnings.warn(
        f"no bandwidth tried gives {type(estimator).__name__} n_clusters = {estimator._k} "
        "clusters of some size (tried_ has what each promised, -1 for none): those found hold "
        f"{sizes} rows. Ask for another number of clusters, or look for outliers",
        stacklevel=6,
    )


class Extension:
    """A spectral embedding and its clusters, extended to new rows by Nystroem's formula.

    Parameters
    ----------
    joint : JointProblem
        What was solved,
    W, U : arrays of shape (d, q), (n, columns)
        and what was found.
    labels : array of shape (n,)

    References
    ----------
    Bengio, Delalleau, Le Roux, Paiement, Vincent and Ouimet 2004, Learning eigenfunctions links
    spectral embedding and kernel PCA.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Gaussian
    >>> from ismlit.estimators.reduction import Extension
    >>> from ismlit.solvers.spectral import JointProblem, alternate
    >>> X = np.array([[0.0], [1.0], [8.0], [9.0]])
    >>> joint = JointProblem(X, Gaussian(2.0))
    >>> found = alternate(joint, 1, 1)
    >>> extension = Extension(joint, found.W, found.U, np.array([0, 0, 1, 1]))
    >>> extension.cluster(extension(np.array([[0.5], [8.5]])))
    array([0, 1])
    """

    def __init__(self, joint, W, U, labels):
        affinity = joint.affinity(W)
        self.kernel, self.divided, self.centred = joint.kernel, affinity.divided, affinity.centred
        self.points, self.root, self.U = joint.X @ W, affinity.root, U
        self.local = isinstance(self.kernel, Gaussian) or is_relative(self.kernel)
        degrees = affinity.K @ np.ones((len(U), 1), U.dtype) if self.local else np.ones(1)
        self.least_degree = float(degrees.min())
        images = (affinity.K @ (U / self.root)) / self.root
        self.mean = images.mean(axis=0) if self.centred else 0.0
        self.values = np.sum(U * images, axis=0)
        rows = directions_of_rows(U)
        self.named = np.unique(labels)
        self.centres = np.array([rows[labels == c].mean(axis=0) for c in self.named])

    def __call__(self, Z):
        """The embedding (m, columns) of projected rows Z (m, q)."""
        found = []
        for rows in gen_batches(len(Z), 4096):
            K = self._kernel(Z[rows])
            if self.local:
                K = self._brought_near(K, Z[rows])
            if self.divided:
                K = K / np.sqrt(K.sum(axis=1))[:, None] / np.transpose(self.root)
            found.append((K @ self.U - self.mean) / self.values)
        return np.vstack(found)

    def near(self, Z):
        """Which projected rows Z (m, q) have a training row near, (m,): the kernel is not 0."""
        if not self.local:
            return np.ones(len(Z), dtype=bool)
        sums = [self._kernel(Z[rows]).sum(axis=1) for rows in gen_batches(len(Z), 4096)]
        return ~_underflows(np.concatenate(sums))

    def _brought_near(self, K, Z):
        """K (m, n) of rows Z (m, q), with row sums of at least the least one in training.

        A row far from all others has entries that fall to 0, but their ratios have a limit, the
        nearest training row alone. It is what the row is judged by, as if it were one of those
        that have the fewest neighbours.
        """
        sums = K.sum(axis=1)
        lost = _underflows(sums)
        if lost.any():
            K[lost] = 0.0
            K[lost, cdist(Z[lost], self.points).argmin(axis=1)] = 1.0
            sums[lost] = 1.0
        return K * np.maximum(self.least_degree / sums, 1.0)[:, None]

    def _kernel(self, Z):
        """K between projected rows and the training rows.

        Of a kernel with a bandwidth for each training row a new one takes that of the nearest.
        """
        if not is_relative(self.kernel):
            return gram(self.kernel, Z, X2=self.points)
        squares = betas("difference", Z, self.points)
        u = self.kernel.scale(len(self.points))
        return self.kernel.f(u[squares.argmin(axis=1)][:, None] * u * squares)

    def cluster(self, U):
        """The cluster of each row of an embedding."""
        return self.named[cdist(directions_of_rows(U), self.centres).argmin(axis=1)]


def _underflows(sums):
    """Which sums of kernel values are 0, or so small that their ratios have no digits left."""
    return sums < np.finfo(sums.dtype).tiny / np.finfo(sums.dtype).eps


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
        As for `SupervisedIKDR`; and "silhouette": shares of the median distance are tried from
        1 on until clusters fall apart, and the self-tuning kernel; the one whose clusters stand
        apart best in U is kept (`ismlit.solvers.spectral.embedding_silhouette`, which sees no
        classes), among equals the self-tuning kernel or the widest.
    normalize : {"none", "degrees", "centred"}, default="degrees"
        "degrees": divide the kernel by the roots of its row sums, as spectral clustering does;
        "centred": centre it afterwards, too; "none": centre it alone.
    init : {"taylor", "pca", "random", "several"} or array, default="taylor"
        Of the first W; U starts as the embedding of all of X.
    tol : float, default=1e-6
        Stop when a turn raises the objective by less than this share.
    max_iter : int, default=2000
        Most steps of the solver in a turn.
    max_turns : int, default=100
        Most turns of U and W.
    n_jobs : int, optional
    callback : callable, optional
        Called after every half-turn with an object that has W, U and J.
    verbose : bool, default=False
        Print J after every half-turn.
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

    Notes
    -----
    Claims: neurips-unsupervised, alternation-monotone.

    See Also
    --------
    SemiSupervisedIKDR : where some labels are known.
    KDAC : another clustering than a known one.
    sklearn.cluster.SpectralClustering : without a projection.

    References
    ----------
    Niu, Dy and Jordan 2011, Dimensionality reduction for spectral clustering.
    Ng, Jordan and Weiss 2002, On spectral clustering: analysis and an algorithm.

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

    @all_or_nothing
    def fit(self, X, y=None) -> Self:
        """Learn ``W_`` and ``labels_`` from X (n_samples, n_features); y is ignored."""
        check_parameters(self, bandwidth=BANDWIDTH)
        self._fit(validate_data(self, X, dtype=FLOATS, ensure_min_samples=2))
        return self


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
        At least as many as there are known classes; so many, and at least 2, when None.
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

    Notes
    -----
    Claims: neurips-semi, semi-degrees. The papers hold D fixed while W moves; here D moves
    with W, so that the objective above never falls.

    See Also
    --------
    UnsupervisedIKDR : where nothing is known.
    sklearn.semi_supervised.LabelSpreading : without a projection.
    sklearn.linear_model.LogisticRegression : on the known labels alone; where classes are no
        clusters it is often the better classifier.

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
    def fit(self, X, y=None) -> Self:
        """Learn from X (n_samples, n_features) and what is known of some samples.

        y (n_samples,) holds labels, numbers with -1 or objects with None where nothing is known;
        or (n_samples, r) real scores; or nothing is known (None).
        """
        check_parameters(self, bandwidth=BANDWIDTH, n_clusters=rule(WHOLE, NONE))
        X = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2)
        fixed = known = given = None
        if y is not None:
            y = _one_per_sample(y, len(X))
            fixed = guidance_gamma(y, self.weight)
            known = known_labels(y)
        self.classes_ = None
        if known is not None:
            self.classes_, codes = np.unique(y[known], return_inverse=True)
            if len(self.classes_) > self._k:
                raise ValueError(
                    f"y holds {len(self.classes_)} known classes, more than n_clusters = "
                    f"{self._k}: ask for at least as many, or leave it out"
                )
            given = np.full(len(X), -1)
            given[known] = codes
            self._unknown = None if y.dtype.kind in "Ob" else -1
        self._given = given
        self._fit(X, fixed=fixed, given=given)
        self.transduction_ = self._names(self.labels_)
        return self

    def _promise(self, U, labels, rows):
        """The silhouette, and beside it the share of given labels that the clusters agree with."""
        value = super()._promise(U, labels, rows)
        if value == -1 or self._given is None or not (self._given[rows] >= 0).any():
            return value
        return round((value + agreement(labels, self._given[rows], self._k)) / 2, 3)

    @property
    def _k(self):
        return self.n_clusters or max(2, 0 if self.classes_ is None else len(self.classes_))

    def predict(self, X) -> np.ndarray:
        """The class of each row of X (n_samples, n_features); its cluster where none was known."""
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


def is_relative(kernel):
    """Whether a kernel has a bandwidth for each of the samples it was made of."""
    return type(kernel).scale is not Kernel.scale


def _one_per_sample(y, n):
    """What is known as an array with n rows; a ValueError for another length or for NaN."""
    y = np.asarray(y)
    if len(y) != n:
        raise ValueError(f"y must have one row per sample: {len(y)} rows for {n} samples")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y holds NaN or infinity: write -1 where a label is not known")
    y = labels_of_a_column(y)
    if y.ndim == 1 and y.dtype.kind == "f" and (y % 1).any():
        raise ValueError("y holds fractions, which are no labels: pass scores as y[:, None]")
    return y
