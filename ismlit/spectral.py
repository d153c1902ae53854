"""Clusterings and subspaces learnt together: U by eigenvectors, W by ISM, in turns.

With orthonormal U (n, k) in the place of the labels, Tr(U' A_W U) is maximised over U by the k
leading eigenvectors of the affinity A_W, and over W by any solver of `Tr(Gamma K_XW)`. The
affinity is HKH (then Gamma = HUU'H), or with degrees ``D^(-1/2) K D^(-1/2)``, D = diag(K 1),
as in spectral clustering. D depends on W; `NormalizedProblem` takes that into account.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import eigh, orth
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array

from ismlit.gamma import Gamma, centre, unsupervised
from ismlit.grassmann import outside
from ismlit.ism import check_orthonormal, ism
from ismlit.kernels import ConstantKernelError
from ismlit.phi import Count, Problem

DENSE_SAMPLES = 1500  # up to here the affinity is formed and decomposed directly


@dataclass(frozen=True, eq=False)
class NormalizedProblem(Problem):
    """max over W of Tr(Gamma D^(-1/2) K D^(-1/2)) + Tr(fixed K), with D = diag(K_XW 1).

    Its gradient is that of `Problem` with an effective Gamma of two more columns,
    ``Gamma_ij / sqrt(D_i D_j) - (r_i + r_j) / 2``, where r_i = (1/D_i) sum_j Gamma_ij K_ij /
    sqrt(D_i D_j) is what K_ij does to the objective through the degrees. Freezing D, as the
    thesis and papers do, leaves r out.

    Parameters
    ----------
    X, gamma, kernel, n_jobs, tile
        As for `Problem`; gamma must be low-rank.
    fixed : Gamma, optional
        A part without degrees, e.g. the labels of semi-supervised clustering.

    Notes
    -----
    Claims: neurips-semi, semi-degrees, kdac-gradient.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import Gaussian
    >>> from ismlit.gamma import supervised
    >>> from ismlit.ism import solve
    >>> from ismlit.optimality import certify
    >>> from ismlit.spectral import NormalizedProblem
    >>> X, y = load_iris(return_X_y=True)
    >>> result = solve(NormalizedProblem(X, supervised(y), Gaussian(1.0)), 2)
    >>> result.converged, bool(certify(result).is_second_order)
    (True, True)
    """

    fixed: Gamma | None = None
    _memory: dict = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self):
        super().__post_init__()
        check_gamma("gamma", self.gamma, self.n)
        if self.fixed is not None:
            check_gamma("fixed", self.fixed, self.n)

    def __getstate__(self):  # what is kept at the last W has the size of K
        return {key: value for key, value in self.__dict__.items() if key != "_memory"} | {
            "_memory": {}
        }

    def degrees(self, W):
        """D = K_XW 1 of shape (n,).

        Raises
        ------
        ValueError
            If a degree is not positive: its square root is then not defined.
        """
        return _row_sums(self.gram_operator(W), self.kernel)

    def frozen_gamma(self, W):
        """Gamma with the degrees of W held fixed, as published; `fixed` included."""
        return self._with_fixed(self.gamma.F / np.sqrt(self.degrees(W))[:, None])

    def _with_fixed(self, F):
        normalised = Gamma(F, self.gamma.s)
        return normalised if self.fixed is None else normalised + self.fixed

    def objective_and_gamma(self, W):
        """The objective, and the effective Gamma whose Phi is its exact gradient."""
        at = self._at(W)
        return at.objective, at.gamma

    def _at(self, W):
        """Everything at W that the gradient and the second order share; the last is kept."""
        W = np.ascontiguousarray(W)
        key = W.shape, W.dtype.str, W.tobytes()
        if key not in self._memory:
            self._memory.clear()
            self._memory[key] = self._computed(W)
        return self._memory[key]

    def _computed(self, W):
        affinity = self.gram_operator(W)
        degrees = _row_sums(affinity, self.kernel)
        F = self.gamma.F / np.sqrt(degrees)[:, None]
        KF = affinity @ F
        weighted = (F * self.gamma.s) * KF
        value = float(weighted.sum(dtype=np.float64))
        if self.fixed is not None:
            value += float(((self.fixed.F * self.fixed.s) * (affinity @ self.fixed.F)).sum())
        r = weighted.sum(axis=1) / degrees
        gamma = self._with_fixed(F) + _both_ways(r[:, None], np.ones((self.n, 1)), -0.5)
        return _At(value, gamma, affinity, degrees, F, KF, r)

    def _gamma_derivative(self, W, at, direction):
        """How the effective Gamma changes as W moves along `direction` (d, q)."""
        columns = np.c_[np.ones(self.n), at.F].astype(self.X.dtype)
        moved = self.gram_derivative(W, direction, columns)  # dK 1 and dK F
        d_degrees = moved[:, 0]
        dF = -0.5 * at.F * (d_degrees / at.degrees)[:, None]
        s = self.gamma.s
        dt = ((dF * s) * at.KF + (at.F * s) * (moved[:, 1:] + at.affinity @ dF)).sum(axis=1)
        dr = (dt - at.r * d_degrees) / at.degrees
        return _both_ways(dF, at.F, s) + _both_ways(dr[:, None], np.ones((self.n, 1)), -0.5)

    def phi_0(self):
        """Phi of the gradient at W = 0, where K is constant."""
        zero = np.zeros((self.d, 1), self.X.dtype)
        return self._plain(self.objective_and_gamma(zero)[1]).phi_0()

    def objective(self, W):
        """The objective at W, its own degrees included."""
        return self.objective_and_gamma(W)[0]

    def objective_and_phi(self, W):
        """The objective and the Phi (d, d) of its gradient 2 Phi W."""
        value, gamma = self.objective_and_gamma(W)
        return value, self._plain(gamma).phi(W)

    def objective_and_gradient(self, W):
        """The objective and half its Euclidean gradient (d, q)."""
        value, gamma = self.objective_and_gamma(W)
        return value, self._plain(gamma).objective_and_gradient(W)[1]

    def phi_derivative(self, W, Z):
        """As `Problem.phi_derivative`, the change of the degrees included."""
        at = self._at(W)
        found = self._plain(at.gamma).phi_derivative(W, Z)
        for image, direction in zip(found, np.asarray(Z)):
            change = self._plain(self._gamma_derivative(W, at, direction))
            image += change.objective_and_gradient(W)[1]
        return found

    def gradient_derivative(self, W, Z):
        """As `Problem.gradient_derivative`, the change of the degrees included."""
        at = self._at(W)
        change = self._plain(self._gamma_derivative(W, at, Z))
        along = self._plain(at.gamma).gradient_derivative(W, Z)
        return along + change.objective_and_gradient(W)[1]

    def operator(self, W, cache_bytes=2**28):
        """Phi(W) of the effective Gamma as a LinearOperator."""
        return self._plain(self._at(W).gamma).operator(W, cache_bytes)

    def _plain(self, gamma):
        return Problem(self.X, gamma, self.kernel, self.n_jobs, self.tile, self.count)


@dataclass(frozen=True)
class _At:
    objective: float
    gamma: Gamma
    affinity: LinearOperator
    degrees: np.ndarray
    F: np.ndarray
    KF: np.ndarray
    r: np.ndarray


def _both_ways(A, B, s):
    """A diag(s) B' + B diag(s) A' for A, B of shape (n, m), as a difference of squares."""
    size = np.linalg.norm(A)
    balance = np.sqrt(np.linalg.norm(B) / size) if size else 1.0
    A, B = A * balance, B / balance
    s = np.broadcast_to(np.asarray(s, float), A.shape[1:])
    return Gamma(np.hstack([A + B, A - B]), np.r_[s, -s] / 2)


def check_gamma(name, gamma, n):
    """A ValueError unless `gamma` is low-rank and for n samples."""
    if not isinstance(gamma, Gamma):
        raise ValueError(f"{name} must be a Gamma(F, s), got {type(gamma).__name__}")
    if gamma.n != n:
        raise ValueError(f"{name} is for {gamma.n} samples but X has {n}")


def _row_sums(affinity, kernel):
    """K 1 of shape (n,) from K as an operator; a ValueError unless all are positive."""
    sums = np.asarray(affinity @ np.ones(affinity.shape[0], affinity.dtype)).ravel()
    if not (sums > 0).all():
        raise ValueError(
            f"degree normalisation needs positive row sums of K, the smallest of {kernel!r} is "
            f"{sums.min():.3g}: use a kernel that is positive, or normalize=False"
        )
    return sums


# ---------------------------------------------------------------- U given W


class Affinity:
    """HKH, or with degrees, at W: products with blocks of vectors, and leading eigenvectors.

    Parameters
    ----------
    problem : Problem
        Of which only X and the kernel matter.
    W : array of shape (d, q)
    normalize : {False, True, "centred"}
        False: HKH, whose trace with UU' is HSIC (up to its factor). True: ``D^(-1/2) K
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
    >>> from ismlit.gamma import supervised
    >>> from ismlit.phi import Problem
    >>> from ismlit.spectral import Affinity
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])  # two clusters, hence two eigenvalues of 1
    >>> problem = Problem(X, supervised([0, 0, 1, 1]), Gaussian(1.0))
    >>> Affinity(problem, np.eye(1), normalize=True).leading(3)[1].round(2)
    array([1.  , 1.  , 0.24])
    """

    def __init__(self, problem, W, normalize=False, away=None):
        self.normalize, self.n, self.dtype = as_affinity(normalize), problem.n, problem.X.dtype
        self.K, self.kernel = problem.gram_operator(W), problem.kernel
        self.degrees = _row_sums(self.K, problem.kernel) if self.normalize else None
        self.root = np.sqrt(self.degrees)[:, None] if self.normalize else 1.0
        self.known = np.zeros((self.n, 0), self.dtype)
        if away is not None:
            self.known = orth(check_array(away, dtype=self.dtype), 1e-10)

    def __matmul__(self, V):
        """The affinity times V (n, m), seen away from what is known."""
        rest = (lambda A: A) if self.normalize is True else centre
        V = rest(outside(V.reshape(self.n, -1), self.known))
        return outside(rest((self.K @ (V / self.root)) / self.root), self.known)

    def leading(self, k):
        """The k leading eigenvectors U (n, k) and their eigenvalues, falling.

        Raises
        ------
        ismlit.kernels.ConstantKernelError
            If the affinity, centred, is zero up to rounding: a bandwidth far above the distances.
        ValueError
            For a k that leaves no room: at most n less the rank of `away`, less one if centred.
        """
        n = self.n
        if not 1 <= k <= n:
            raise ValueError(f"k must be between 1 and the number of samples: k = {k}, n = {n}")
        room = n - self.known.shape[1] - (self.normalize is not True)
        if k > room:
            raise ValueError(
                f"U has room for {room} columns orthogonal to what is known, not for {k}: give "
                "fewer known clusters, or more samples"
            )
        if n <= max(DENSE_SAMPLES, 3 * k):
            A = self @ np.eye(n, dtype=self.dtype)
            values, U = eigh((A + A.T) / 2, subset_by_index=(n - k, n - 1))
            if len(values) < k:  # LAPACK gives up on a subset of eigenvalues that are all equal
                values, U = (part[..., n - k :] for part in eigh((A + A.T) / 2))
        else:
            product = self.__matmul__
            operator = LinearOperator((n, n), matvec=product, matmat=product, dtype=self.dtype)
            start = np.random.default_rng(0).standard_normal(n).astype(self.dtype)
            values, U = eigsh(operator, k, which="LA", v0=start, tol=1e-6)
        self._require_signal(values[-1])
        return U[:, ::-1], values[::-1]

    def _require_signal(self, largest):
        if self.normalize is True:
            return
        level = 1.0
        if not self.normalize:
            level = np.abs(self.K @ np.ones(self.n, self.dtype)).mean()
        if largest <= 100 * np.finfo(self.dtype).eps * level:
            raise ConstantKernelError(
                f"{self.kernel!r} is constant on this data, or leaves nothing beside what is "
                "known: use a bandwidth near the distances (median_distance)"
            )


def spectral_embedding(problem, W, k, *, normalize=False, away=None):
    """The k leading eigenvectors U (n, k) of the affinity at W, and their eigenvalues, falling.

    ``Affinity(problem, W, normalize, away).leading(k)``, which says what may be asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Gaussian
    >>> from ismlit.gamma import supervised
    >>> from ismlit.phi import Problem
    >>> from ismlit.spectral import spectral_embedding
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> problem = Problem(X, supervised([0, 0, 1, 1]), Gaussian(1.0))
    >>> U, _ = spectral_embedding(problem, np.eye(1), 1)
    >>> U[:, 0] * U[0, 0] > 0  # on the side of the first sample
    array([ True,  True, False, False])
    """
    return Affinity(problem, W, normalize, away).leading(k)


def as_affinity(normalize):
    """False, True or "centred"; a ValueError for anything else."""
    if isinstance(normalize, bool | np.bool_):
        return bool(normalize)
    if isinstance(normalize, str) and normalize == "centred":
        return normalize
    raise ValueError(f"normalize must be False, True or 'centred', got {normalize!r}")


# ---------------------------------------------------------------- in turns


@dataclass(frozen=True, eq=False)
class Alternation:
    """What `alternate` found: W (d, q), U (n, k), and how.

    Attributes
    ----------
    objective : float
        Of both, the degrees of W included.
    converged : bool
        Whether the last turn changed the objective by less than tol and its W step converged;
        `result` tells how stationary W is.
    n_iter, n_phi, n_phi_test : int
        Turns taken; passes over the pairs; how many of them tested second-order conditions.
    history : dict
        ``objective`` after every half-turn (U, W, U, W, ...).
    result : ISMResult
        Of W.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian
    >>> from ismlit.spectral import alternate
    >>> X = scale(load_wine().data)
    >>> found = alternate(X, Gaussian(3.0), 2, 2)
    >>> found.converged, bool(found.objective > found.history["objective"][0])
    (True, True)
    """

    W: np.ndarray = field(repr=False)
    U: np.ndarray = field(repr=False)
    objective: float
    converged: bool
    n_iter: int
    n_phi: int
    n_phi_test: int
    history: dict = field(repr=False)
    result: object = field(repr=False)


def alternate(
    X,
    kernel,
    k,
    q,
    *,
    guide=None,
    fixed=None,
    normalize=False,
    solver=None,
    freeze=False,
    start=None,
    init="taylor",
    tol=1e-6,
    max_iter=50,
    n_jobs=None,
    random_state=None,
):
    """Maximise over U and W in turns.

    Parameters
    ----------
    X : array of shape (n, d)
    kernel : Kernel
    k, q : int
        Columns of U and of W.
    guide : Gamma, optional
        Added to the part of U, and divided by the degrees as that is: labels to differ from
        (s < 0), as in KDAC (eq-3.2a).
    fixed : Gamma, optional
        Added without degrees, as the labels of semi-supervised clustering are.
    normalize : {False, True, "centred"}
        Which affinity, see `spectral_embedding`.
    solver : callable, optional
        For W, with the signature of `ism`; called as ``solver(problem, None, None, q, init=...)``.
        None: `ismlit.ism.ism`.
    freeze : bool
        As published: D is held at the last W while W moves, the objective may fall, turns go
        on until it settles or `max_iter`, and the last turn is what is returned.
    start : orthonormal array of shape (n, k), optional
        The first U. By default the embedding of X itself (W = I); with a guide to differ from,
        that part of it which is orthogonal to the guide.
    init : str or array
        Of the first W; later turns start from the last W.
    tol : float
        Stop when a turn raises the objective by less than this, relatively.
    max_iter : int
        Most turns.

    Returns
    -------
    Alternation

    Notes
    -----
    Each half-turn maximises the same function, so with the default solver the objective never
    falls. Claims: alternation-monotone, semi-degrees, alg-1.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.metrics import normalized_mutual_info_score
    >>> from ismlit import Gaussian
    >>> from ismlit.spectral import alternate
    >>> X, y = make_blobs(100, centers=[[-3, 0, 0], [3, 0, 0]], random_state=0)
    >>> found = alternate(X, Gaussian(2.0), 1, 1)
    >>> round(float(normalized_mutual_info_score(y, found.U[:, 0] > 0)), 2)
    1.0
    >>> int(abs(found.W).argmax())  # the feature that tells the clusters apart
    0
    """

    def problem_of(U):
        gamma = Gamma(U, np.ones(k)) if normalize is True else unsupervised(U)
        gamma = gamma if guide is None else gamma + guide
        if normalize:
            return NormalizedProblem(X, gamma, kernel, n_jobs, count=count, fixed=fixed)
        gamma = gamma if fixed is None else gamma + fixed
        return Problem(X, gamma, kernel, n_jobs, count=count)

    if not (k >= 1 and max_iter >= 1):
        raise ValueError(f"k and max_iter must be at least 1, got {k!r} and {max_iter!r}")
    X, count, normalize = np.asarray(X), Count(), as_affinity(normalize)
    for name, gamma in (("guide", guide), ("fixed", fixed)):
        if gamma is not None:
            check_gamma(name, gamma, len(X))
    problem = problem_of(np.ones((len(X), k)))
    W, objectives, gain = np.eye(problem.d, dtype=problem.X.dtype), [], np.inf
    if start is not None:
        start = check_orthonormal(start, problem.n, problem.X.dtype, "start")
        if start.shape[1] != k:
            raise ValueError(f"start must have k = {k} columns, got {start.shape[1]}")
    avoid = guide.F[:, guide.s < 0] if guide is not None and (guide.s < 0).any() else None
    tests, result = 0, None
    for turn in range(1, max_iter + 1):
        if turn == 1 and start is not None:
            U = start
        else:
            away = avoid if turn == 1 else None
            U, _ = spectral_embedding(problem, W, k, normalize=normalize, away=away)
        problem = problem_of(U)
        if turn > 1:
            objectives.append(problem.objective(W))
        frozen = freeze and normalize
        task = (
            Problem(X, problem.frozen_gamma(W), kernel, n_jobs, count=count) if frozen else problem
        )
        # a saddle is left in the first turn; later ones start near a maximum
        options = dict(tol=tol, escape=turn == 1, random_state=random_state)
        options = options if solver is None else {}
        found = _quiet(solver or ism, task, None, None, q, init=init, **options)
        if turn > 1 and not frozen and found.objective < objectives[-1]:  # as DG can: W stays
            tests += found.n_phi_test
            here = _quiet(ism, task, None, None, q, init=W, max_iter=0, escape=False)
            message = "the solver's W lies lower than the last one, which is kept"
            found = replace(here, converged=found.converged, message=message)
        result = found
        tests += result.n_phi_test
        W = init = result.W
        objectives.append(problem.objective(W) if frozen else result.objective)
        if turn > 1:
            scale = np.abs(objectives).max() or 1.0
            gain = (objectives[-1] - objectives[-3]) / scale
        if abs(gain) <= tol:
            break
    settled = bool(abs(gain) <= tol)
    if not (settled and result.converged):
        _warn(turn, gain, settled, result, frozen)
    if isinstance(problem, NormalizedProblem):
        problem._memory.clear()
    done = settled and bool(result.converged)
    history = {"objective": np.array(objectives)}
    return Alternation(W, U, objectives[-1], done, turn, count.passes, tests, history, result)


def _quiet(solve, *args, **kwargs):
    """`solve` without its ConvergenceWarning: a W step cut short still climbs; turns go on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return solve(*args, **kwargs)


def _warn(turn, gain, settled, result, frozen):
    """Say why the alternation is not taken for converged."""
    what = "fell" if gain < 0 else "still rose"
    what = f"in the last one the objective {what} by a share of {abs(gain):.1e}"
    if turn == 1:
        what = "a single one cannot show it"
    elif settled:
        what = f"the last W has a residual of {result.residual:.1e} ({result.message})"
    hint = "With freeze=False it never falls." if frozen else "Raise max_iter or tol."
    warnings.warn(
        f"the alternation did not converge in {turn} turns: {what}. {hint}",
        ConvergenceWarning,
        stacklevel=3,
    )
