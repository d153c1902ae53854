"""Clusterings and subspaces learnt together: U by eigenvectors, W by ISM, in turns.

With orthonormal U (n, k) in the place of the labels, Tr(U' A_W U) is maximised over U by the k
leading eigenvectors of the affinity A_W, and over W by any solver of `Tr(Gamma K_XW)`. The
affinity is HKH (then Gamma = HUU'H), or with degrees ``D^(-1/2) K D^(-1/2)``, D = diag(K 1),
as in spectral clustering. D depends on W; `NormalizedProblem` takes that into account.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.exceptions import ConvergenceWarning

from ismlit.gamma import Gamma, centre, unsupervised
from ismlit.ism import solve
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
    Claims: neurips-semi, semi-degrees.
    """

    fixed: Gamma | None = None

    has_hessian = False

    def __post_init__(self):
        super().__post_init__()
        for name, gamma in (("gamma", self.gamma), ("fixed", self.fixed)):
            if not (isinstance(gamma, Gamma) or (gamma is None and name == "fixed")):
                raise ValueError(f"{name} must be a Gamma(F, s), got {type(gamma).__name__}")
            if gamma is not None and gamma.n != self.n:
                raise ValueError(f"{name} is for {gamma.n} samples but X has {self.n}")

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
        affinity = self.gram_operator(W)
        degrees = _row_sums(affinity, self.kernel)
        F = self.gamma.F / np.sqrt(degrees)[:, None]
        weighted = (F * self.gamma.s) * (affinity @ F)
        value = float(weighted.sum(dtype=np.float64))
        if self.fixed is not None:
            value += float(((self.fixed.F * self.fixed.s) * (affinity @ self.fixed.F)).sum())
        r = weighted.sum(axis=1) / degrees
        balance = np.sqrt(np.abs(r).max()) or 1.0  # r 1' + 1 r' as a difference of squares
        extra = np.c_[r / balance + balance, r / balance - balance]
        return value, self._with_fixed(F) + Gamma(extra, (-0.25, 0.25))

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

    def _plain(self, gamma):
        return Problem(self.X, gamma, self.kernel, self.n_jobs, self.tile, self.count)


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


def spectral_embedding(problem, W, k, *, normalize=False):
    """The k leading eigenvectors U (n, k) of the affinity at W, and their eigenvalues, falling.

    Parameters
    ----------
    problem : Problem
        Of which only X and the kernel matter.
    W : array of shape (d, q)
    k : int
        1 <= k <= n.
    normalize : bool
        False: HKH, whose trace with UU' is HSIC (up to its factor). True: ``D^(-1/2) K
        D^(-1/2)``, not centred, as in spectral clustering.
    """
    affinity, n = problem.gram_operator(W), problem.n
    if not 1 <= k <= n:
        raise ValueError(f"k must be between 1 and the number of samples: k = {k}, n = {n}")
    if normalize:
        root = np.sqrt(_row_sums(affinity, problem.kernel))[:, None]
        product = lambda V: (affinity @ (V.reshape(n, -1) / root)) / root
    else:
        product = lambda V: centre(affinity @ centre(V.reshape(n, -1)))
    if n <= max(DENSE_SAMPLES, 3 * k):
        A = product(np.eye(n, dtype=problem.X.dtype))
        values, U = eigh((A + A.T) / 2, subset_by_index=(n - k, n - 1))
    else:
        operator = LinearOperator((n, n), matvec=product, matmat=product, dtype=problem.X.dtype)
        start = np.random.default_rng(0).standard_normal(n).astype(problem.X.dtype)
        values, U = eigsh(operator, k, which="LA", v0=start, tol=1e-6)
    return U[:, ::-1], values[::-1]


# ---------------------------------------------------------------- in turns


@dataclass(frozen=True, eq=False)
class Alternation:
    """What `alternate` found: W (d, q), U (n, k), and how.

    Attributes
    ----------
    objective : float
        Of both, the degrees of W included.
    converged : bool
        Whether the last turn changed the objective by less than tol; `result` tells how
        stationary W is. With a `solver` that freezes the degrees the objective may fall; then
        the best turn is what is returned.
    n_iter, n_phi, n_phi_test : int
        Turns taken; passes over the pairs; how many of them tested second-order conditions.
    history : dict
        ``objective`` after every half-turn (U, W, U, W, ...).
    result : ISMResult
        Of W.
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
    normalize=False,
    solver=None,
    init="taylor",
    tol=1e-6,
    max_iter=50,
    n_jobs=None,
    random_state=None,
):
    """Maximise over U and W in turns, from the embedding of X itself (W = I).

    Parameters
    ----------
    X : array of shape (n, d)
    kernel : Kernel
    k, q : int
        Columns of U and of W.
    guide : Gamma, optional
        Added to the part of U: labels to agree with (s > 0) or to differ from (s < 0).
    normalize : bool
        Which affinity: HKH, or ``D^(-1/2) K D^(-1/2)``.
    solver : callable, optional
        For W, with the signature of `ism`: ``solver(X, gamma, kernel, q, init=...)``. It gets
        D frozen at the last W, as published. None: `ismlit.ism.solve` with D as it is.
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
    falls. Claims: alternation-monotone, semi-degrees.
    """

    def problem_of(U):
        if normalize:
            gamma = Gamma(U, np.ones(k))
            return NormalizedProblem(X, gamma, kernel, n_jobs, count=count, fixed=guide)
        gamma = unsupervised(U)
        gamma = gamma if guide is None else gamma + guide
        return Problem(X, gamma, kernel, n_jobs, count=count)

    if not (k >= 1 and max_iter >= 1):
        raise ValueError(f"k and max_iter must be at least 1, got {k!r} and {max_iter!r}")
    X, count = np.asarray(X), Count()
    problem = problem_of(np.ones((len(X), k)))
    W, objectives, gain = np.eye(problem.d, dtype=problem.X.dtype), [], np.inf
    passes, tests, best = 0, 0, None
    for turn in range(1, max_iter + 1):
        U, _ = spectral_embedding(problem, W, k, normalize=normalize)
        problem = problem_of(U)
        if turn > 1:
            objectives.append(problem.objective(W))
        if solver is None:
            # a saddle is left in the first turn; later ones start near a maximum
            options = dict(init=init, tol=tol, escape=turn == 1, random_state=random_state)
            with warnings.catch_warnings():  # a W step cut short still climbs; turns go on
                warnings.simplefilter("ignore", ConvergenceWarning)
                result = solve(problem, q, **options)
        else:
            gamma = problem.frozen_gamma(W) if normalize else problem.gamma
            result = solver(X, gamma, kernel, q, init=init)
            passes += result.n_phi
        tests += result.n_phi_test
        W = init = result.W
        frozen = normalize and solver is not None  # then J of the solver is not the objective
        objectives.append(problem.objective(W) if frozen else result.objective)
        if best is None or objectives[-1] >= best[2]:
            best = W, U, objectives[-1], result
        if turn > 1:
            gain = (objectives[-1] - objectives[-3]) / abs(objectives[-1])
        if gain <= tol:
            break
    done = bool(abs(gain) <= tol)
    if not done:
        what = "fell" if gain < 0 else "still rose"
        warnings.warn(
            f"the alternation did not converge in {turn} turns: in the last one the objective "
            f"{what} by a share of {abs(gain):.1e}. "
            + ("The best turn is kept." if gain < 0 else "Raise max_iter or tol."),
            ConvergenceWarning,
            stacklevel=2,
        )
    W, U, objective, result = best
    history = {"objective": np.array(objectives)}
    n_phi = count.passes + passes
    return Alternation(W, U, objective, done, turn, n_phi, tests, history, result)
