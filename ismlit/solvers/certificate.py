"""Certificates: is this W a stationary point, and a local maximum?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ismlit.geometry.frames import first_order_residual
from ismlit.geometry.second_order import SecondOrder
from ismlit.objectives.protocol import Objective, TwiceDifferentiable
from ismlit.solvers.starts import Starts


@dataclass(frozen=True)
class Certificate:
    """The conditions of a local maximum of Tr(Gamma K_XW) at one W, with their numbers.

    Attributes
    ----------
    residual : float
        ||Phi W - W (W' Phi W)||_F / ||Phi||_F: the first-order condition (lem-C.1).
    curvature, curvature_error : float
        Smallest eigenvalue of Kd - M, minus half the Riemannian Hessian of J: the exact
        second-order condition is curvature >= 0 (thm-5.1, in its exact form). The error is 0
        where that matrix was formed; else the true value lies between curvature - error and
        curvature (Lanczos).
    eigengap : float
        Smallest eigenvalue of Phi on span(W) minus the largest off it. Negative when W is
        not the dominant eigenspace: such a W can be a maximum, but no fixed point of ISM.
    is_stationary, is_second_order : bool
        The two conditions, within the tolerance asked for.
    is_orthonormal : bool
        Whether the W given had orthonormal columns. If not, the certificate is of its span.
    objective, n : float, int
        J at W, and of how many rows: what is certified is the dependence on these.
    chance : float or None
        J of a maximum for the same rows with their labels shuffled, where an estimator with labels
        was asked for its certificate. Random labels have maxima, too.
    starts : Starts or None
        Of a solve from several starts, how many were `tried` and how many `agreed` on the highest
        J: a maximum is one among its neighbours, and the only word on others is this one.

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
    chance: float | None = None
    starts: Starts | None = None

    @property
    def is_maximum(self):
        """Whether both conditions are met."""
        return self.is_stationary and self.is_second_order

    def __str__(self):
        of = "" if self.is_orthonormal else " (of the span of W, which was not orthonormal)"
        beside = "" if self.chance is None else f"; with their labels shuffled {self.chance:.4g}"
        lines = [
            f"local maximum to second order: {'yes' if self.is_maximum else 'no'}{of}",
            f"  J         {self.objective:.4g} on these {self.n} rows{beside}",
            f"  residual  {self.residual:.1e}",
            f"  curvature {self.curvature:.4g}{self._no_less()} (smallest eigenvalue of Kd - M)",
            f"  eigengap  {self.eigengap:.4g}",
        ]
        if self.starts is not None:
            lines.append(f"  starts    {self.starts.agreed} of {self.starts.tried} ended here")
        return "\n".join(lines)

    def _no_less(self):
        """What the curvature is at least, in two digits, where it is not exact."""
        if not self.curvature_error:
            return ""
        return f", at least {float(f'{self.curvature - self.curvature_error:.2g}'):g}"


def certify(found, W=None, *, tol: float = 1e-5) -> Certificate:
    """First- and second-order certificate of a solution, whoever found it.

    Parameters
    ----------
    found : fitted estimator, ISMResult, or problem
        What was solved; the first two bring their W.
    W : array of shape (d, q), optional
        The point to certify: any matrix of rank q. It is orthonormalised if it has to be, and the
        certificate says so. Required with a problem. With an estimator it is certified among the
        directions in which X varies, as the estimator's own is, unless it leaves them.
    tol : float
        Largest residual, and most negative curvature (less its error) relative to ||Phi||,
        that pass; raised to 400 times the rounding of X's type.

    Raises
    ------
    ValueError
        If the estimator or result carries no data, W has another shape or too small a rank, or
        the problem has no second order (random features).

    See Also
    --------
    ismlit.ism : finds what can be certified.

    References
    ----------
    Absil, Mahony and Sepulchre 2008, Optimization algorithms on matrix manifolds.
    Kuczynski and Wozniakowski 1992, Estimating the largest eigenvalue by the power and Lanczos
    algorithms with a random start.

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
    problem, result = _what_was_solved(found, W)
    if not isinstance(problem, TwiceDifferentiable):
        raise ValueError(
            f"the second order of a {type(problem).__name__} is not derived; to certify its W as "
            "a solution of the exact problem: certify(result.problem.exact, result.W)"
        )
    tol = max(tol, 400 * np.finfo(problem.dtype).eps)
    if W is None and result is None:
        raise ValueError("to certify a problem, pass the W of shape (d, q) to be certified")
    starts = None
    if W is None:
        W, is_orthonormal, starts = result.W, True, getattr(result, "starts", None)
        J, residual, curvature = result.objective, result.residual, result.curvature
    else:
        W, is_orthonormal = _frame_of(W, problem)
        if isinstance(found, BaseEstimator):
            problem, W = found.problem_at(W)
        curvature = None
    if curvature is None or _undecided(curvature, tol):
        J, residual, curvature = _tested(problem, W)
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
        starts=starts,
    )


def _undecided(curvature, tol):
    """Whether an error of the solver's own test leaves open what the tolerance asks."""
    value, error = curvature.value, curvature.error
    return value >= -tol * curvature.size > value - error


def _tested(problem, W):
    """J, the first-order residual and the `Curvature` at W.

    With more features than samples J sees W through XW alone: the span of the samples, of W and
    of as many more directions holds every curvature.
    """
    problem, V = problem.in_its_span(W.shape[1], W)
    W = W if V is None else V.T @ W
    J, phi = problem.objective_and_phi(W)
    second = SecondOrder(problem, W, phi)
    return J, first_order_residual(phi, W), second.lowest(dense=second.is_small)[0]


def _what_was_solved(found, W=None):
    """The problem, and the result that was found for it if there is one and no W is given."""
    if isinstance(found, Objective):
        return found, None
    if isinstance(found, BaseEstimator):
        check_is_fitted(found)
        if not hasattr(found, "solved"):
            raise ValueError(f"a {type(found).__name__} has no one W to be certified")
        return found.solved() if W is None else (found.training_problem(), None)
    problem = getattr(found, "problem", None)
    if problem is None:
        raise ValueError(
            f"this {type(found).__name__} carries no data (it was stored without): pass the "
            "problem and W, certify(Problem(X, gamma, kernel), W)"
        )
    return problem, found


def _frame_of(W, problem):
    """An orthonormal basis of the span of W, and whether W was one."""
    W = np.array(W, dtype=problem.dtype)
    if W.ndim != 2 or W.shape[0] != problem.d or not 1 <= W.shape[1] <= problem.d:
        raise ValueError(
            f"W must have shape ({problem.d}, q), q from 1 to {problem.d}, got {W.shape}"
        )
    if not np.isfinite(W).all():
        raise ValueError("W must be finite")
    is_orthonormal = bool(np.abs(W.T @ W - np.eye(W.shape[1])).max() < 1e-4)
    W = W / np.maximum(np.linalg.norm(W, axis=0), np.finfo(W.dtype).tiny)
    Q, R = np.linalg.qr(W)
    sizes = np.abs(np.diag(R))
    if sizes.min() < 1e3 * np.finfo(W.dtype).eps:
        raise ValueError("the columns of W are linearly dependent: drop those that repeat others")
    return Q, is_orthonormal
