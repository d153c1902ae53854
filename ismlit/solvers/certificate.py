"""Certificates: whether a W is a stationary point, and a local maximum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ismlit.geometry.frames import first_order_residual
from ismlit.geometry.second_order import Curvature, SecondOrder
from ismlit.geometry.span import in_span
from ismlit.memory import few_rows
from ismlit.objectives.protocol import Objective, TwiceDifferentiable
from ismlit.solvers.result import ISMResult
from ismlit.solvers.starts import Starts

MANY_ROWS = 20_000  # Beyond so many the second order is that of a sample, unless exact=True.
SAMPLE = 2000  # Rows of that sample.


@dataclass(frozen=True)
class Certificate:
    """Whether one W is a local maximum of Tr(Gamma K_XW), and what the answer rests on.

    Attributes
    ----------
    residual : float
        ||Phi W - W (W' Phi W)||_F / ||Phi||_F: 0 at a stationary point.
    curvature, curvature_error : float
        Smallest eigenvalue of Kd - M, minus half the Riemannian Hessian of J: at a maximum it is
        not negative. The error is 0 where that matrix was formed; else the true value lies between
        curvature - error and curvature, provided that ARPACK did not miss the smallest one (see
        `ismlit.geometry.second_order.Curvature`).
    eigengap : float
        Smallest eigenvalue of Phi on span(W) minus the largest off it. Negative when W is
        not the dominant eigenspace: such a W can be a maximum, but no fixed point of ISM.
    is_stationary, is_second_order : bool
        The two conditions, within the tolerance asked for.
    is_orthonormal : bool
        Whether the W given had orthonormal columns. If not, the certificate is of its span.
    objective, n : float, int
        J at W, and of how many rows: what is certified is the dependence on these.
    n_second_order : int or None
        Of how many rows the second order is, where it is not that of the problem itself: with
        random features, and beyond 20,000 rows, it is that of the exact problem on a sample,
        unless ``exact=True``.
    p_value, n_permutations : float or None, int
        Where an estimator with labels or a response was asked: the share of refits, with the rows
        of Gamma permuted, that come to as high a J. Random labels have maxima, too.
    ridge, ridge_gain : float or None
        Where an estimator with a ridge was asked: its ``ridge_``, infinity for HSIC; and with
        ridge="auto" a pair of numbers, by how much the ridge 0.01 scored higher than HSIC on the
        rows held out, and the standard error of that.
    starts : Starts or None
        Of a solve from several starts, where they ended: a maximum is one among its neighbours,
        and this is the only word on others.

    See Also
    --------
    certify : what gives it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import Gaussian, Problem, certify, label_gamma
    >>> X, y = load_iris(return_X_y=True)
    >>> certificate = certify(Problem(X, label_gamma(y), Gaussian(1.0)), np.eye(4)[:, :1])
    >>> certificate.is_stationary, round(certificate.residual, 2)
    (False, 0.23)
    """

    residual: float
    curvature: float
    curvature_error: float
    eigengap: float
    is_stationary: bool
    is_second_order: bool
    is_orthonormal: bool = True
    objective: float = float("nan")
    n: int = 0
    n_second_order: int | None = None
    p_value: float | None = None
    n_permutations: int = 0
    ridge: float | None = None
    ridge_gain: tuple[float, float] | None = None
    starts: Starts | None = None

    @property
    def is_maximum(self) -> bool:
        """Whether both conditions are met."""
        return self.is_stationary and self.is_second_order

    def __str__(self) -> str:
        of = "" if self.is_orthonormal else " (of the span of W, which was not orthonormal)"
        lines = [f"local maximum: {'yes' if self.is_maximum else 'no'}{of}"]
        if self.p_value is not None:
            beyond = "yes" if self.p_value <= 0.05 else "no"
            lines.append(
                f"beyond chance: {beyond}, p = {self.p_value:.2g} "
                f"({self.n_permutations} refits to permuted rows)"
            )
        if self.ridge is not None:
            lines.append(f"quantity:      {self._quantity()}")
        where = self.n_second_order
        sample = "" if where is None else f", of the exact problem on {where} rows"
        lines += [
            f"rows:          {self.n}, J = {self.objective:.4g}",
            f"first order:   residual {self.residual:.1e}, 0 at a stationary point",
            f"second order:  smallest eigenvalue of Kd - M {self._interval()}{sample}",
            f"eigengap:      {self.eigengap:.4g}",
        ]
        if self.starts is not None:
            tried, agreed, higher = self.starts
            above = f", {higher} higher but weaker on held-out rows" if higher else ""
            lines.append(f"starts:        {agreed} of {tried} ended here{above}")
        return "\n".join(lines)

    def _quantity(self) -> str:
        """What was maximised, and by how much held-out rows prefer the ridge that was tried."""
        name = f"minus the conditional covariance, ridge {self.ridge:g}"
        name = "HSIC" if self.ridge == np.inf else name
        if self.ridge_gain is None:
            return name
        gain, error = self.ridge_gain
        return f"{name} (a ridge gains {gain:.3f} ± {error:.3f} on held-out rows)"

    def _interval(self) -> str:
        """Where the smallest eigenvalue lies."""
        if not self.curvature_error:
            return f"{self.curvature:.4g}"
        if not np.isfinite(self.curvature_error):
            return f"at most {self.curvature:.4g}"
        least = self.curvature - self.curvature_error
        unit = 10.0 ** (np.floor(np.log10(abs(least) or 1.0)) - 1)
        least = float(np.floor(least / unit) * unit)  # two digits, and never above the bound
        return f"between {least:g} and {self.curvature:.4g}"


def certify(
    solution: Any, W: ArrayLike | None = None, *, tol: float = 1e-5, exact: bool = False
) -> Certificate:
    """First- and second-order certificate of a solution, whoever found it.

    Parameters
    ----------
    solution : fitted estimator, ISMResult, or problem
        What was solved; the first two bring their W. Of a pipeline, its last step.
    W : array of shape (d, q), optional
        The point to certify: any matrix of rank q. It is orthonormalised if it has to be, and the
        certificate says so. Required with a problem. With an estimator it is certified among the
        directions in which X varies, as the estimator's own is, unless it leaves them.
    tol : float
        Largest residual, and most negative curvature (less its error) relative to ||Phi||,
        that pass; raised to 400 times the rounding of X's type.
    exact : bool
        The second order takes work that grows with the square of the rows. Beyond 20,000 of them,
        and with random features, which have none of their own, it is that of the exact problem on
        a sample of 2000 rows, unless this is True.

    Returns
    -------
    Certificate
        Of the problem that was solved: with random features its first order is theirs.

    Raises
    ------
    TypeError
        If `solution` is none of the three.
    ValueError
        If the estimator has no one W, it or the result carries no data, W has another shape or too
        small a rank, or the problem has no second order.

    See Also
    --------
    ismlit.ism : finds what can be certified.

    References
    ----------
    Absil, Mahony and Sepulchre 2008, Optimization algorithms on matrix manifolds.
    Parlett 1998, The symmetric eigenvalue problem, chapter 4: the bound by a residual.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian, Problem, certify, ism, label_gamma
    >>> X, y = load_wine(return_X_y=True)
    >>> problem = Problem(scale(X), label_gamma(y), Gaussian(3.0))
    >>> certify(ism(problem, q=2)).is_maximum
    True
    >>> certify(problem, PCA(2).fit(scale(X)).components_.T).is_stationary
    False
    """
    problem, result = _what_was_solved(solution, W)
    candidate = result.W if W is None and result is not None else W
    if candidate is None:
        raise ValueError("to certify a problem, pass the W of shape (d, q) to be certified")
    if exact:
        problem = _exact(problem)
    tol = max(tol, 400 * np.finfo(problem.dtype).eps)
    starts = getattr(result, "starts", None)
    is_orthonormal = True
    curvature: Curvature | None = None
    if W is None and result is not None:
        frame = result.W
        if problem is getattr(result, "problem", problem):
            curvature = result.curvature
    else:
        frame, is_orthonormal = _frame_of(candidate, problem)
        if isinstance(solution, BaseEstimator):
            problem, frame = solution.problem_at(frame)
            problem = _exact(problem) if exact else problem
    n_second_order = None
    if result is not None and curvature is not None and not _undecided(curvature, tol):
        J, residual = result.objective, result.residual
    elif isinstance(problem, TwiceDifferentiable) and (exact or problem.n <= MANY_ROWS):
        J, residual, curvature = _tested(problem, frame)
    else:
        if result is None or W is not None:
            J, phi = problem.objective_and_phi(frame)
            residual = first_order_residual(phi, frame)
        else:
            J, residual = result.objective, result.residual
        n = len(problem.X)  # of Dask collections X is a sample
        view = _exact(problem.on(slice(None) if n <= SAMPLE else few_rows(n, SAMPLE)))
        n_second_order = view.n
        curvature = _tested(view, frame)[2]
    return Certificate(
        residual=residual,
        curvature=curvature.value,
        curvature_error=curvature.error,
        eigengap=curvature.eigengap,
        is_stationary=bool(residual <= tol),
        is_second_order=bool(curvature.value - curvature.error >= -tol * curvature.size),
        is_orthonormal=is_orthonormal,
        objective=float(J),
        n=problem.n,
        n_second_order=n_second_order,
        starts=starts,
    )


def _exact(problem: Objective) -> TwiceDifferentiable:
    """The problem, or that which it approximates where it has no second order of its own."""
    exact = problem if isinstance(problem, TwiceDifferentiable) else problem.on(slice(None))
    if not isinstance(exact, TwiceDifferentiable):
        raise ValueError(f"the second order of a {type(problem).__name__} is not derived")
    return exact


def _undecided(curvature: Curvature, tol: float) -> bool:
    """Whether an error of the solver's own test leaves open what the tolerance asks."""
    value, error = curvature.value, curvature.error
    return value >= -tol * curvature.size > value - error


def _tested(problem: TwiceDifferentiable, W: np.ndarray) -> tuple[float, float, Curvature]:
    """J, the first-order residual and the `Curvature` at W.

    With more features than samples J sees W through XW alone: the span of the samples, of W and
    of as many more directions holds every curvature.
    """
    problem, V = in_span(problem, W.shape[1], W)
    W = W if V is None else V.T @ W
    J, phi = problem.objective_and_phi(W)
    second = SecondOrder(problem, W, phi)
    return J, first_order_residual(phi, W), second.lowest()[0]


def _what_was_solved(
    solution: Any, W: ArrayLike | None = None
) -> tuple[Objective, ISMResult | None]:
    """The problem, and the result that was found for it if there is one and no W is given."""
    if isinstance(solution, Objective):
        return solution, None
    if isinstance(solution, BaseEstimator):
        check_is_fitted(solution)
        if not hasattr(solution, "solved"):
            raise ValueError(
                f"a {type(solution).__name__} has no one W to be certified: of a pipeline pass the "
                "last step, of another method certify(Problem(X, gamma, kernel), W)"
            )
        return solution.solved() if W is None else (solution.training_problem(), None)
    if not hasattr(solution, "problem"):
        raise TypeError(
            "certify takes a fitted estimator, the result of ism, or a Problem with W, got "
            f"{type(solution).__name__}: of data make Problem(X, gamma, kernel) first"
        )
    problem = solution.problem
    if problem is None:
        raise ValueError(
            f"this {type(solution).__name__} carries no data (it was stored without): pass the "
            "problem and W, certify(Problem(X, gamma, kernel), W)"
        )
    return problem, solution


def _frame_of(W: ArrayLike, problem: Objective) -> tuple[np.ndarray, bool]:
    """An orthonormal basis of the span of W, and whether W was one."""
    A = np.array(W, dtype=problem.dtype)
    if A.ndim != 2 or A.shape[0] != problem.d or not 1 <= A.shape[1] <= problem.d:
        raise ValueError(
            f"W must have shape ({problem.d}, q), q from 1 to {problem.d}, got {A.shape}"
        )
    if not np.isfinite(A).all():
        raise ValueError("W must be finite")
    is_orthonormal = bool(np.abs(A.T @ A - np.eye(A.shape[1])).max() < 1e-4)
    Q, R = np.linalg.qr(A / np.maximum(np.linalg.norm(A, axis=0), np.finfo(A.dtype).tiny))
    sizes = np.abs(np.diag(R))
    if sizes.min() < 1e3 * np.finfo(A.dtype).eps:
        raise ValueError("the columns of W are linearly dependent: drop those that repeat others")
    return Q, is_orthonormal
