"""Certificates: is this W a stationary point, a local maximum, and which printed bounds hold?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ismlit.grassmann import (
    SecondOrder,
    first_order_residual,
    principal_angles,
)
from ismlit.ism import ISMResult, check_orthonormal
from ismlit.kernels import Gaussian, betas
from ismlit.phi import Problem

__all__ = ["Bound", "Certificate", "certify", "gaussian_bound", "principal_angles"]


@dataclass(frozen=True)
class Bound:
    """A printed sufficient condition ``left >= right`` for the second-order condition.

    Examples
    --------
    >>> from ismlit.optimality import Bound
    >>> bound = Bound(1.5, 2.0)
    >>> bound, bound.holds
    (1.5 < 2, False)
    """

    left: float
    right: float

    @property
    def holds(self):
        """Whether left >= right."""
        return self.left >= self.right

    def __repr__(self):
        return f"{self.left:.4g} {'>=' if self.holds else '<'} {self.right:.4g}"


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
    bound_c73 : Bound or None
        eq-C.73 with its constant made uniform: eigengap >= lambda_max(M).
    bound_310 : Bound or None
        eq-3.10, for the Gaussian kernel and a Gamma that does not depend on W.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import Gaussian
    >>> from ismlit.gamma import supervised
    >>> from ismlit.optimality import certify
    >>> from ismlit.phi import Problem
    >>> X, y = load_iris(return_X_y=True)
    >>> certificate = certify(Problem(X, supervised(y), Gaussian(1.0)), np.eye(4)[:, :1])
    >>> bool(certificate.is_stationary), round(certificate.residual, 2)
    (False, 0.23)
    """

    residual: float
    curvature: float
    curvature_error: float
    eigengap: float
    is_stationary: bool
    is_second_order: bool
    bound_c73: Bound | None
    bound_310: Bound | None

    def __str__(self):
        verdict = "yes" if self.is_stationary and self.is_second_order else "no"
        return (
            f"local maximum to second order: {verdict}\n"
            f"  residual  {self.residual:.1e}\n"
            f"  curvature {self.curvature:.4g} ± {self.curvature_error:.1g}  "
            "(smallest eigenvalue of Kd - M)\n"
            f"  eigengap  {self.eigengap:.4g}\n"
            f"  (C.73)    {self.bound_c73}\n"
            f"  (3.10)    {self.bound_310}"
        )


def certify(result: ISMResult | Problem, W=None, *, tol=1e-5, bounds=True):
    """First- and second-order certificate of a result, or of any orthonormal W of a problem.

    Parameters
    ----------
    result : ISMResult or Problem
    W : array of shape (d, q), optional
        The point to certify; required with a Problem.
    tol : float
        Largest residual, and most negative curvature (less its error) relative to ||Phi||,
        that pass; raised to 400 times the rounding of X's type.
    bounds : bool
        Also evaluate the printed sufficient conditions (one more pass, and the largest
        eigenvalue of M where M is formed).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian, ism
    >>> from ismlit.gamma import supervised
    >>> from ismlit.optimality import certify
    >>> X, y = load_wine(return_X_y=True)
    >>> certificate = certify(ism(scale(X), supervised(y), Gaussian(3.0), 2))
    >>> bool(certificate.is_stationary), bool(certificate.is_second_order)
    (True, True)
    """
    problem = result if isinstance(result, Problem) else result.problem
    if problem is None:
        raise ValueError("this result carries no data (it was stored without); pass a Problem")
    if not problem.has_hessian:
        raise ValueError(
            f"the second order of a {type(problem).__name__} is not derived; to certify its W as "
            "a solution of the plain problem: certify(Problem(X, gamma, kernel), W)"
        )
    if W is None and result is problem:
        raise ValueError("to certify a Problem, pass the W of shape (d, q) to be certified")
    W = check_orthonormal(result.W if W is None else W, problem.d, problem.X.dtype)
    tol = max(tol, 400 * np.finfo(problem.X.dtype).eps)
    phi = problem.phi(W)
    residual = first_order_residual(phi, W)
    second = SecondOrder(problem, W, phi)
    curvature, _, error = second.lowest(dense=second.is_small)
    gaussian = isinstance(problem.kernel, Gaussian) and type(problem) is Problem
    return Certificate(
        residual=residual,
        curvature=curvature,
        curvature_error=error,
        eigengap=second.eigengap,
        is_stationary=residual <= tol,
        is_second_order=curvature - error >= -tol * np.linalg.norm(phi),
        bound_c73=_c73(second) if bounds and second.is_small else None,
        bound_310=gaussian_bound(problem, W, second.eigengap) if bounds and gaussian else None,
    )


def _c73(second):
    return Bound(second.eigengap, float(np.linalg.eigvalsh(second.m_dense())[-1]))


def gaussian_bound(problem, W, eigengap):
    """Inequality (3.10), ``sigma^2 gap >= sum |Gamma| exp(.) ||x_i - x_j||^4 / sigma^2``.

    The gap of (3.10) is taken in chapter 3's scale of Phi, twice the one used here.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import Gaussian, ism
    >>> from ismlit.gamma import supervised
    >>> from ismlit.optimality import certify, gaussian_bound
    >>> X, y = load_iris(return_X_y=True)
    >>> found = ism(X, supervised(y), Gaussian(1.0), 2)
    >>> bound = gaussian_bound(found.problem, found.W, certify(found).eigengap)
    >>> bool(certify(found).is_second_order), bool(bound.holds)  # sufficient, not necessary
    (True, False)
    """
    sigma = problem.kernel.sigma
    X = problem.X - problem.X.mean(axis=0)
    projected = X @ W
    total = 0.0
    for a in range(0, len(X), 512):
        rows = slice(a, a + 512)
        gamma = np.abs(problem.gamma.tile(rows, slice(None)))
        near = betas("difference", projected[rows], projected)
        total += np.sum(
            gamma * np.exp(-near / (2 * sigma**2)) * betas("difference", X[rows], X) ** 2
        )
    return Bound(sigma**2 * 2 * eigengap, float(total / sigma**2))
