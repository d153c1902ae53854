"""Clusterings and subspaces learnt together: U by eigenvectors, W by ISM, in turns.

With orthonormal U (n, k) in the place of the labels, Tr(U' A_W U) is maximised over U by the k
leading eigenvectors of the affinity A_W, and over W by any solver of `Tr(Gamma K_XW)`. The
affinity is HKH (then Gamma = HUU'H), or with degrees ``D^(-1/2) K D^(-1/2)``, D = diag(K 1),
as in spectral clustering. D depends on W; `ismlit.problems.normalized` takes that into account.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import orth
from scipy.optimize import linear_sum_assignment
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh, lobpcg
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import silhouette_score
from sklearn.preprocessing import normalize as unit_rows
from sklearn.utils import check_array

from ismlit.problems.gamma import Gamma, centre, embedding_gamma
from ismlit.problems.grassmann import as_frame, half_gradient, outside, top_eigenvectors
from ismlit.problems.kernels import Kernel
from ismlit.problems.normalized import NormalizedProblem, check_gamma
from ismlit.problems.pairs import ConstantKernelError, Count, Pairs, gram
from ismlit.problems.problem import Problem
from ismlit.solvers.solver import Climb, ISMResult, ism

DENSE_SAMPLES = 1500  # up to here the affinity is formed and decomposed directly
MANY = 8  # turns still to come from which on W and U are climbed together,
CLIMB = dict(tol=1e-4, max_iter=200)  # to this residual
NORMALIZE = ("none", "degrees", "centred")
"""Which affinity: HKH; D^(-1/2) K D^(-1/2); or H D^(-1/2) K D^(-1/2) H."""


def check_normalize(normalize):
    """A ValueError unless `normalize` is one of the three."""
    if not (isinstance(normalize, str) and normalize in NORMALIZE):
        raise ValueError(f"normalize must be one of {NORMALIZE}, got {normalize!r}")
    return normalize


# ---------------------------------------------------------------- U given W


class Affinity:
    """HKH, or with degrees, at W: products with blocks of vectors, and leading eigenvectors.

    Parameters
    ----------
    pairs : Pairs
        The samples and the kernel.
    W : array of shape (d, q), optional
        The identity when None.
    normalize : {"none", "degrees", "centred"}
        "none": HKH, whose trace with UU' is HSIC (up to its factor). "degrees": ``D^(-1/2) K
        D^(-1/2)``, not centred, as in spectral clustering. "centred": ``H D^(-1/2) K D^(-1/2)
        H``, the HSIC of the normalised kernel (eq-3.3, eq-4.6).
    away : array of shape (n, m), optional
        Directions that U must be orthogonal to, e.g. centred indicators of a known clustering.

    Attributes
    ----------
    degrees : array of shape (n,), or None
        D = diag(K 1), if it normalises.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Gaussian
    >>> from ismlit.problems.pairs import Pairs
    >>> from ismlit.solvers.spectral import Affinity
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])  # two clusters, hence two eigenvalues of 1
    >>> affinity = Affinity(Pairs(X, Gaussian(1.0)), normalize="degrees")
    >>> affinity.leading(3)[1].round(2)
    array([1.  , 1.  , 0.24])
    """

    def __init__(self, pairs, W=None, normalize="none", away=None):
        check_normalize(normalize)
        self.n, self.dtype, self.kernel = pairs.n, pairs.dtype, pairs.kernel
        self.centred, self.divided = normalize != "degrees", normalize != "none"
        self.pairs, self.W = pairs, W
        self.K = pairs.gram_operator(np.eye(pairs.d) if W is None else W)
        self.degrees = pairs.row_sums(self.K) if self.divided else None
        self.root = np.sqrt(self.degrees)[:, None] if self.divided else 1.0
        self.known = np.zeros((self.n, 0), self.dtype)
        if away is not None:
            self.known = orth(check_array(away, dtype=self.dtype), 1e-10)

    def __matmul__(self, V):
        """The affinity times V (n, m), seen away from what is known."""
        V = self._rest(outside(V.reshape(self.n, -1), self.known))
        return outside(self._rest((self.K @ (V / self.root)) / self.root), self.known)

    def _rest(self, V):
        return centre(V) if self.centred else V

    def dense(self):
        """The affinity (n, n), from K formed at once."""
        if not self.divided:  # for the degrees the pairs have been visited already
            self.pairs.count.passes += 1
        A = gram(self.kernel, self.pairs.X, self.W) / self.root / np.transpose(self.root)
        for _ in range(2):
            A = outside(self._rest(A), self.known).T
        return A

    def leading(self, k, dense=DENSE_SAMPLES, near=None):
        """The k leading eigenvectors U (n, k) and their eigenvalues, falling.

        Directly with up to so many samples as `dense` says, else by Lanczos; from a block of at
        least k vectors `near` to them, where there is one, by LOBPCG, whose products are of all
        columns at once: where eigenvalues nearly coincide Lanczos needs a hundred of them.

        Raises
        ------
        ismlit.problems.pairs.ConstantKernelError
            If the affinity, centred, is zero up to rounding: a bandwidth far above the distances.
        ValueError
            For a k that leaves no room: at most n less the rank of `away`, less one if centred.
        """
        n = self.n
        if not 1 <= k <= n:
            raise ValueError(f"k must be between 1 and the number of samples: k = {k}, n = {n}")
        room = n - self.known.shape[1] - self.centred
        if k > room:
            raise ValueError(
                f"U has room for {room} columns orthogonal to what is known, not for {k}: give "
                "fewer known clusters, or more samples"
            )
        values = None
        if n > max(dense, 3 * k):
            if near is not None:
                values, U = self._by_blocks(near)
            if values is None:
                values, U = self._by_lanczos(k)
        if values is None:
            A = self.dense()
            values, U = top_eigenvectors((A + A.T) / 2, k)
        self._require_signal(values)
        return U, values

    def _by_lanczos(self, k):
        """Eigenvalues and vectors, falling, by products alone; None where they lie too close."""
        start = np.random.default_rng(0).standard_normal(self.n).astype(self.dtype)
        try:
            values, U = eigsh(self._operator(), k, which="LA", v0=start, tol=1e-6)
        except ArpackError:
            return None, None
        return values[::-1], U[:, ::-1]

    def _by_blocks(self, near):
        """As `_by_lanczos`, as many as the columns of `near`, from which it starts."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that it has not converged: seen below
            values, U, left = lobpcg(
                self._operator(), near, tol=1e-6, maxiter=60, retResidualNormsHistory=True
            )
        return (values, U) if left[-1].max() <= 1e-5 else (None, None)

    def _operator(self):
        product, shape = self.__matmul__, (self.n, self.n)
        return LinearOperator(shape, matvec=product, matmat=product, dtype=self.dtype)

    def _require_signal(self, values):
        """A kernel that is 1 for all pairs leaves nothing beside the constant vector."""
        if not self.centred and len(values) < 2:
            return
        largest, level = values[0 if self.centred else 1], 1.0
        if not self.divided:
            level = np.abs(self.K @ np.ones(self.n, self.dtype)).mean()
        if largest <= 100 * np.finfo(self.dtype).eps * level:
            raise ConstantKernelError(
                f"{self.kernel!r} is constant on this data, or leaves nothing beside what is "
                "known: use a bandwidth near the distances (median_distance)"
            )


def directions_of_rows(U):
    """The rows of U (n, columns), scaled to length 1 if there are several columns."""
    return unit_rows(U) if U.shape[1] > 1 else U


def cluster_rows(U, k, random_state=None):
    """Labels by k-means on the rows of U (n, columns), scaled to length 1 if there are several."""
    return KMeans(k, n_init=10, random_state=random_state).fit_predict(directions_of_rows(U))


def cluster_rows_given(U, k, given, random_state=None, max_iter=300):
    """Labels by k-means on the rows of U (n, columns), some of which are given and are kept.

    Parameters
    ----------
    given : array of shape (n,)
        The cluster of a row, from 0, or -1 where it is not known.

    Notes
    -----
    Constrained k-means (Basu, Banerjee and Mooney 2002). It starts from the clusters of k-means
    alone, each named after the rows given to it so that as many as can be are named rightly.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.solvers.spectral import cluster_rows_given
    >>> U = np.array([[0.0], [0.2], [0.9], [1.0]])
    >>> cluster_rows_given(U, 2, np.array([1, -1, -1, 0]))
    array([1, 1, 0, 0])
    """
    rows, known = directions_of_rows(U), given >= 0
    free = KMeans(k, n_init=10, random_state=random_state).fit(rows)
    centres, labels = free.cluster_centers_[_matched(free.labels_, given, k)[0]], None
    for _ in range(max_iter):
        found = np.where(known, given, cdist(rows, centres).argmin(axis=1))
        if labels is not None and (found == labels).all():
            break
        labels = found
        for c in np.unique(labels):
            centres[c] = rows[labels == c].mean(axis=0)
    return labels


def _matched(labels, given, k):
    """Which of k clusters stands for each given one, and how many given rows it then holds."""
    together = np.zeros((k, k))
    known = given >= 0
    np.add.at(together, (given[known], labels[known]), 1)
    pairs = linear_sum_assignment(-together)
    return pairs[1], int(together[pairs].sum())


def agreement(labels, given, k):
    """The share of given labels (n,), -1 if not known, that k clusters agree with, at best named.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.solvers.spectral import agreement
    >>> agreement(np.array([1, 1, 0, 0]), np.array([0, -1, 1, 0]), 2)  # the last one is not
    0.6666666666666666
    """
    return _matched(labels, given, k)[1] / int((given >= 0).sum())


def embedding_silhouette(U, labels):
    """How well the clusters of an embedding U (n, k) stand apart: a criterion that sees no classes.

    The mean silhouette of its rows, scaled to length 1 if there are several columns; -1 where a
    cluster is smaller than a quarter of an equal share, as a bandwidth far too small makes them.
    To three digits, so that between equals no rounding decides. Claim: new-silhouette.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.solvers.spectral import embedding_silhouette
    >>> U = np.array([[0.5], [0.5], [-0.5], [-0.5], [0.1]])
    >>> embedding_silhouette(U, [0, 0, 1, 1, 0])
    0.787
    """
    counts = np.unique(labels, return_counts=True)[1]
    if not 2 <= len(counts) < len(labels) or counts.min() < 0.25 * len(labels) / len(counts):
        return -1.0
    return round(float(silhouette_score(directions_of_rows(U), labels)), 3)


# ---------------------------------------------------------------- both


@dataclass(frozen=True, eq=False)
class JointProblem:
    """max over W and orthonormal U of Tr(U' A_W U), and of what guides it.

    Parameters
    ----------
    X : array of shape (n, d)
    kernel : Kernel
    normalize : {"none", "degrees", "centred"}
        Which affinity A_W, see `Affinity`.
    guide : Gamma, optional
        Added to the part of U, and divided by the degrees as that is: labels to differ from
        (s < 0), as in KDAC (eq-3.2a).
    fixed : Gamma, optional
        Added without degrees, as the labels of semi-supervised clustering are.
    n_jobs : int, optional

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian
    >>> from ismlit.solvers.spectral import JointProblem
    >>> joint = JointProblem(scale(load_wine().data), Gaussian(3.0))
    >>> U, values = joint.affinity(np.eye(13)).leading(2)
    >>> bool(np.isclose(joint.given(U).objective(np.eye(13)), values.sum()))
    True
    """

    X: np.ndarray
    kernel: Kernel
    normalize: str = "none"
    guide: Gamma | None = None
    fixed: Gamma | None = None
    n_jobs: int | None = None
    count: Count = field(default_factory=Count, repr=False)

    def __post_init__(self):
        check_normalize(self.normalize)
        X = Pairs(self.X, self.kernel).X
        object.__setattr__(self, "X", X)
        for name in ("guide", "fixed"):
            if getattr(self, name) is not None:
                check_gamma(name, getattr(self, name), len(X))

    @property
    def pairs(self):
        """K as an operator."""
        return Pairs(self.X, self.kernel, self.n_jobs, count=self.count)

    def affinity(self, W, away=None):
        """A_W, whose leading eigenvectors are the best U."""
        return Affinity(self.pairs, W, self.normalize, away)

    def given(self, U, K=None):
        """The problem of W, U (n, k) held; K at the W asked for first, if it is there."""
        whole = self.normalize == "degrees"
        gamma = Gamma(U, np.ones(U.shape[1])) if whole else embedding_gamma(U)
        gamma = gamma if self.guide is None else gamma + self.guide
        shared = dict(n_jobs=self.n_jobs, count=self.count)
        if self.normalize != "none":
            return NormalizedProblem(self.X, gamma, self.kernel, fixed=self.fixed, K=K, **shared)
        gamma = gamma if self.fixed is None else gamma + self.fixed
        return Problem(self.X, gamma, self.kernel, **shared)

    def sample(self, rows):
        """The same for some of the samples; what guides weighs as much beside U as before."""
        share = self.X.shape[0] / len(rows)
        of_k = share if self.normalize == "none" else share**2  # a trace with K grows with n
        return replace(
            self,
            X=self.X[rows],
            kernel=self.kernel.sample(rows),
            guide=None if self.guide is None else share * self.guide.sample(rows),
            fixed=None if self.fixed is None else of_k * self.fixed.sample(rows),
            count=Count(),
        )

    @property
    def avoided(self):
        """Directions (n, m) that the guide penalises, or None."""
        if self.guide is None or not (self.guide.s < 0).any():
            return None
        return self.guide.F[:, self.guide.s < 0]


class Envelope:
    """max over U of a `JointProblem`, as a function of W alone: an objective that can be climbed.

    Its gradient at W is that of the problem of W under the best U there (Danskin 1967), wherever
    the eigenvalues k and k + 1 of the affinity differ. Every value takes new eigenvectors.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian
    >>> from ismlit.solvers.spectral import Envelope, JointProblem
    >>> joint = JointProblem(scale(load_wine().data), Gaussian(3.0))
    >>> W = np.eye(13)[:, :2]
    >>> U, values = joint.affinity(W).leading(3)
    >>> bool(np.isclose(Envelope(joint, 3).objective(W), values.sum()))
    True
    """

    def __init__(self, joint, k):
        self.joint, self.k, self.count = joint, k, joint.count
        self.X, (self.n, self.d), self.dtype = joint.X, joint.X.shape, joint.X.dtype
        self.U, self.near, self.problem, self._key = None, None, None, None

    def at(self, W):
        """The problem of W under the best U at W; the last is kept, as is its U."""
        key = W.tobytes()
        if key != self._key:
            affinity = self.joint.affinity(W)
            if self.near is None or len(self.X) <= 400:
                self.near = affinity.leading(self.k, dense=400)[0]
            else:
                self.near = affinity.leading(self.k, dense=400, near=self.near)[0]
            self.U = self.near
            self.problem, self._key = self.joint.given(self.U, affinity.K), key
        return self.problem

    def objective(self, W):
        """The objective at W, with the best U there."""
        return self.at(W).objective(W)

    def objective_and_gradient(self, W):
        """The objective, and half its Euclidean gradient (d, q)."""
        return self.at(W).objective_and_gradient(W)

    def objective_and_phi(self, W):
        """The objective, and the Phi (d, d) of its gradient 2 Phi W."""
        return self.at(W).objective_and_phi(W)


def climbed(joint, k, W):
    """Where W (d, q) climbs to with the best U (n, k) at every step: near a maximum of both.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian
    >>> from ismlit.solvers.spectral import JointProblem, alternate, climbed
    >>> joint = JointProblem(scale(load_wine().data), Gaussian(3.0))
    >>> W = climbed(joint, 2, np.eye(13)[:, :2])
    >>> alternate(joint, 2, 2, init=W, start=joint.affinity(W).leading(2)[0]).n_iter <= 3
    True
    """
    end = Climb(Envelope(joint, k), W, joint.count.passes, CLIMB["tol"], CLIMB["max_iter"])
    end.to_a_maximum(escape=False)
    return end.at.W


@dataclass(frozen=True, eq=False)
class Alternation:
    """What `alternate` found: W (d, q), U (n, k), and how.

    Attributes
    ----------
    objective : float
        Of both, the degrees of W included.
    converged : bool
        Whether the last turn changed the objective by less than tol, and the solver of W
        converged or left a gradient below tol times the objective;
        `message` says why or why not, `result` how stationary W is.
    n_iter, n_passes, n_test_passes : int
        Turns taken; passes over the pairs; how many of them tested second-order conditions.
    history : dict of equal-length arrays
        After every half-turn (U, W, U, W, ...; U's first one has no W yet and is left out):
        ``objective``, ``passes``.
    result : ISMResult
        Of W.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian
    >>> from ismlit.solvers.spectral import JointProblem, alternate
    >>> X = scale(load_wine().data)
    >>> found = alternate(JointProblem(X, Gaussian(3.0)), 2, 2)
    >>> found.converged, bool(found.objective > found.history["objective"][0])
    (True, True)
    """

    W: np.ndarray = field(repr=False)
    U: np.ndarray = field(repr=False)
    objective: float
    converged: bool
    message: str
    n_iter: int
    n_passes: int
    n_test_passes: int
    history: dict = field(repr=False)
    result: ISMResult = field(repr=False)

    def warn_unless_converged(self, stacklevel=2):
        """A ConvergenceWarning that says why, if it is not taken for converged."""
        if not self.converged:
            warnings.warn(
                f"the alternation did not converge in {self.n_iter} turns: {self.message}",
                ConvergenceWarning,
                stacklevel=stacklevel + 1,
            )


def alternate(
    joint: JointProblem,
    k: int,
    q: int,
    *,
    solver: Callable = ism,
    freeze: bool = False,
    start=None,
    init="taylor",
    tol: float = 1e-6,
    max_iter: int | None = None,
    max_turns: int = 50,
    random_state=None,
    callback: Callable | None = None,
) -> Alternation:
    """Maximise over U and W in turns.

    Parameters
    ----------
    joint : JointProblem
    k, q : int
        Columns of U and of W.
    solver : callable
        For W; another one is called as ``solver(problem, q=q, init=...)``, and gets neither tol nor
        random_state.
    freeze : bool
        As published: D is held at the last W while W moves, the objective may fall, turns go
        on until it settles or `max_turns`, and the last turn is what is returned.
    start : orthonormal array of shape (n, k), optional
        The first U. By default the embedding of X itself (W = I); with a guide to differ from,
        that part of it which is orthogonal to the guide.
    init : str or array
        Of the first W; later turns start from the last W.
    tol : float
        Stop when a turn raises the objective by less than this, relatively.
    max_iter : int, optional
        Most steps of the solver in a turn; its own default when None.
    max_turns : int
        Most turns.
    random_state : int, RandomState, optional
    callback : callable, optional
        Called after every half-turn with an object that has W, U and J.

    Returns
    -------
    Alternation

    Notes
    -----
    Each half-turn maximises the same function, so with the default solver the objective never
    falls. Claims: alternation-monotone, semi-degrees, alg-1.

    See Also
    --------
    ismlit.UnsupervisedIKDR, ismlit.KDAC : estimators made of it.

    References
    ----------
    Niu, Dy and Jordan 2014, Iterative discovery of multiple alternative clustering views.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.metrics import normalized_mutual_info_score
    >>> from ismlit import Gaussian
    >>> from ismlit.solvers.spectral import JointProblem, alternate
    >>> X, y = make_blobs(100, centers=[[-3, 0, 0], [3, 0, 0]], random_state=0)
    >>> found = alternate(JointProblem(X, Gaussian(2.0)), 1, 1)
    >>> round(float(normalized_mutual_info_score(y, found.U[:, 0] > 0)), 2)
    1.0
    >>> int(abs(found.W).argmax())  # the feature that tells the clusters apart
    0
    """
    if not (k >= 1 and max_turns >= 1):
        raise ValueError(f"k and max_turns must be at least 1, got {k!r} and {max_turns!r}")
    if not callable(solver):
        raise ValueError(f"solver must be a function such as ismlit.ism, got {solver!r}")
    options = dict(tol=tol, random_state=random_state) if solver is ism else {}
    if max_iter is not None:
        options["max_iter"] = max_iter
    turns = _Turns(joint, k, q, solver, options, freeze, init, tol)
    turns.callback = callback
    for _ in range(max_turns):
        turns.turn_u(start)
        turns.turn_w()
        if turns.settled:
            break
        if turns.crawls:
            turns.climb()
    found = turns.result()
    found.warn_unless_converged(stacklevel=3)
    return found


class _Turns:
    """One alternation: the U and W it has come to, and the objective after every half-turn."""

    callback: Callable | None = None
    climbed = False

    def __init__(self, joint, k, q, solver, options, freeze, init, tol):
        self.joint, self.k, self.q, self.solver, self.options = joint, k, q, solver, options
        self.frozen = freeze and joint.normalize != "none"
        self.init, self.tol = init, tol
        self.W, self.U, self.problem, self.found = None, None, None, None
        self.n_turns, self.n_test_passes, self.log = 0, 0, []
        self.before = joint.count.passes

    def turn_u(self, start):
        """U renewed: the leading eigenvectors of the affinity at W, or the start."""
        self.n_turns += 1
        if self.W is not None:
            self.U = self.joint.affinity(self.W).leading(self.k)[0]
        elif start is None:
            whole = np.eye(self.joint.X.shape[1])
            self.U = self.joint.affinity(whole, self.joint.avoided).leading(self.k)[0]
        else:
            self.U = as_frame(start, len(self.joint.X), self.joint.X.dtype, "start")
            if self.U.shape[1] != self.k:
                raise ValueError(f"start must have k = {self.k} columns, got {self.U.shape[1]}")
        self.problem = self.joint.given(self.U)
        if self.W is not None:
            self._record(self.problem.objective(self.W))

    def turn_w(self):
        """W renewed by the solver, from the last one."""
        here = self.init if self.W is None else self.W
        problem = self.problem
        if self.frozen:
            problem = problem.frozen(np.eye(problem.d) if self.W is None else self.W)
        found = self._solved(problem, here)
        if self.W is not None and not self.frozen and found.objective < self.log[-1][0]:
            found = self._kept(found)  # as DG can fall: W stays
        self.found, self.W = found, found.W
        self.n_test_passes += found.n_test_passes
        self._record(self.problem.objective(found.W) if self.frozen else found.objective)

    def climb(self):
        """W moved up with the best U at every step: what many short turns would come to."""
        self.W, self.climbed = climbed(self.joint, self.k, self.W), True

    @property
    def crawls(self):
        """Whether turns gain so evenly that many more are to come."""
        if self.solver is not ism or self.frozen or self.climbed or len(self.log) < 7:
            return False
        values = np.array([objective for objective, _ in self.log])
        before, last = np.diff(values[-5::2])
        ratio = last / before if before > 0 else 0.0
        left = (
            np.log(self.tol * abs(values[-1]) / last) / np.log(ratio) if 0 < ratio < 1 else np.inf
        )
        return bool(last > 0 and left > MANY)

    def _solved(self, problem, init):
        """The solver's result; a W step cut short still climbs, so it need not converge."""
        options = self.options
        if self.solver is ism:  # a saddle is left in the first turn; later ones start near a top
            options = options | dict(escape=self.W is None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return self.solver(problem, q=self.q, init=init, **options)

    def _kept(self, found):
        """The last W as a result, the solver's own having ended lower."""
        self.n_test_passes += found.n_test_passes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            here = ism(self.problem, q=self.q, init=self.W, max_iter=0, escape=False)
        message = "the solver's W lies lower than the last one, which is kept"
        return replace(here, converged=found.converged, message=message)

    def _record(self, objective):
        self.J = objective
        self.log.append((objective, self.n_passes))
        if self.callback is not None:
            self.callback(self)

    @property
    def n_passes(self):
        """Passes over the pairs that this alternation has made."""
        return self.joint.count.passes - self.before

    @property
    def gain(self):
        """By what share the last turn raised the objective; infinite after the first."""
        if len(self.log) < 3:
            return np.inf
        values = np.array([objective for objective, _ in self.log])
        return (values[-1] - values[-3]) / (np.abs(values).max() or 1.0)

    @property
    def settled(self):
        """Whether the last turn changed next to nothing."""
        return bool(abs(self.gain) <= self.tol)

    def result(self):
        """The end of the alternation, as the caller gets it."""
        converged = self.settled and self._w_settled()
        if isinstance(self.problem, NormalizedProblem):
            self.problem.forget()
        objectives, passes = map(np.array, zip(*self.log))
        return Alternation(
            W=self.W,
            U=self.U,
            objective=float(objectives[-1]),
            converged=converged,
            message=self._message(converged),
            n_iter=self.n_turns,
            n_passes=self.n_passes,
            n_test_passes=self.n_test_passes,
            history={"objective": objectives, "passes": passes},
            result=self.found,
        )

    def _w_settled(self):
        """Whether the solver converged, or what W leaves undone is small beside the objective.

        Where the clusters fall apart entirely Phi is all but 0, and a residual relative to it
        is rounding.
        """
        if self.found.converged:
            return True
        W = self.found.W
        left = 2 * np.linalg.norm(half_gradient(self.problem.phi(W), W))
        return bool(left <= self.tol * abs(self.log[-1][0]))

    def _message(self, converged):
        """Why the alternation ended, and if it is not taken for converged, why."""
        if converged:
            return "a turn changed the objective by less than tol"
        what = "fell" if self.gain < 0 else "still rose"
        what = f"in the last one the objective {what} by a share of {abs(self.gain):.1e}"
        if self.n_turns == 1:
            what = "a single one cannot show it"
        elif self.settled:
            residual = self.found.residual
            what = f"the last W has a residual of {residual:.1e} ({self.found.message})"
        hint = "With freeze=False it never falls." if self.frozen else "Raise max_turns or tol."
        return f"{what}. {hint}"
