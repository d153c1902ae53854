"""The conditional covariance of a target given XW: the other end of the line from HSIC."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ismlit.gamma import Gamma
from ismlit.grams import gram
from ismlit.kernels import Kernel
from ismlit.memory import require_memory
from ismlit.objectives.pairs import Count, Samples
from ismlit.objectives.plain import Problem


@dataclass(frozen=True, eq=False)
class ConditionalProblem(Samples):
    """How much of a target is explained by XW in a kernel ridge regression.

    With the centred Gram matrices K of XW and ``K_Y = F diag(s) F'`` of the target it is
    ``J(W) = c Tr[K_Y K (K + c I)^-1]`` with ``c = ridge n``. Up to the constant ``c Tr K_Y`` and
    the factor ``c^2`` that is minus the trace of the conditional covariance, which kernel
    dimension reduction minimises. As the ridge grows J tends to ``Tr(K_Y K)``, HSIC. Its gradient
    is ``2 Phi(W) W`` with the Phi of `Problem` for a Gamma that moves with W,
    ``Gamma(W) = B diag(s) B'`` with ``B = c (K + c I)^-1 F``.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in rows.
    gamma : Gamma
        Of the target, with weights s of at least 0; its F is centred.
    kernel : Kernel
        Of XW, positive semidefinite where it is centred.
    ridge : float
        Above 0: the regularisation of the regression, a share of n.
    sample_weight : array of shape (n,), optional
        What gamma was made with: a row of weight 2 counts as two rows that coincide.
    n_jobs : int, optional
        As for `Problem`.
    count : Count, optional
        Where passes over the pairs are counted.

    Raises
    ------
    ValueError
        If ridge is not above 0, or gamma has no factor F or a negative weight.
    MemoryError
        If the Gram matrices of so many rows are larger than the memory of this machine.

    See Also
    --------
    ismlit.Problem : HSIC, the limit of an infinite ridge.

    References
    ----------
    Fukumizu, Bach and Jordan 2009, Kernel dimension reduction in regression. The Annals of
    Statistics 37.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Gaussian, Problem, label_gamma
    >>> from ismlit.objectives.conditional import ConditionalProblem
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> given = X, label_gamma(X[:, 0] > 0), Gaussian(1.0)
    >>> hsic = Problem(*given).objective(np.eye(3)[:, :1])
    >>> for ridge in (0.01, 1.0, 100.0):
    ...     problem = ConditionalProblem(*given, ridge=ridge)
    ...     print(round(problem.objective(np.eye(3)[:, :1]) / hsic, 2))
    0.04
    0.78
    1.0
    """

    X: np.ndarray
    gamma: Gamma
    kernel: Kernel
    ridge: float = 0.01
    sample_weight: np.ndarray | None = None
    n_jobs: int | None = None
    count: Count = field(default_factory=Count, repr=False)
    hsic: Problem = field(init=False, repr=False)

    def __post_init__(self):
        if not self.ridge > 0:
            raise ValueError(f"ridge must be a number above 0, got {self.ridge!r}")
        if not isinstance(self.gamma, Gamma) or (self.gamma.s < 0).any():
            raise ValueError(
                "the conditional covariance needs a Gamma with a factor F and weights s of at "
                "least 0, as label_gamma and response_gamma give it"
            )
        hsic = Problem(self.X, self.gamma, self.kernel, self.n_jobs, count=self.count)
        cure = "fit a sample of the rows, or take ridge=numpy.inf"
        require_memory("a conditional covariance", cure, hsic.n, 4)
        for name in ("X", "gamma"):
            object.__setattr__(self, name, getattr(hsic, name))
        object.__setattr__(self, "hsic", hsic)

    @cached_property
    def _root(self):
        """The roots of the weights of the rows (n, 1)."""
        w = np.ones(self.n) if self.sample_weight is None else self.sample_weight
        return np.sqrt(np.asarray(w, dtype=float))[:, None]

    @cached_property
    def _c(self):
        return self.ridge * float(np.sum(self._root**2))

    @cached_property
    def _F(self):
        """The factor of K_Y, the rows of which have the roots of the weights."""
        return self.gamma.F / self._root

    def _centred(self, A):
        """Columns (n, m) without their share along the roots of the weights."""
        u = self._root / np.linalg.norm(self._root)
        return A - u * (u.T @ A)

    def _regression(self, W):
        """The centred Gram matrix K (n, n), the factor of K + c, and B (n, r)."""
        K = self._root * gram(self.kernel, self.X.astype(float), W) * self._root.T
        K = self._centred(self._centred(K).T)
        factor = cho_factor(K + self._c * np.eye(self.n), overwrite_a=True, check_finite=False)
        self.count.passes += 1
        return K, factor, self._c * cho_solve(factor, self._F)

    def _at(self, W):
        """J, and the problem of HSIC whose Gamma is that of this W."""
        K, factor, B = self._regression(W)
        value = float(np.sum(self.gamma.s * np.sum(B * (K @ self._F), axis=0)))
        return value, self._with(B, self.gamma.s), factor, B

    def _with(self, B, s):
        """The problem of HSIC with Gamma = B diag(s) B', but for the roots of the weights."""
        gamma = Gamma(self._root * B, s).astype(self.dtype)
        return replace(self.hsic, gamma=gamma)

    def objective(self, W: Any) -> float:
        """Return J(W).

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        float
            At least 0.
        """
        return self._at(W)[0]

    def objective_and_gradient(self, W: Any) -> tuple[float, np.ndarray]:
        """Return J(W) and half of its gradient.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        J : float
            The objective.
        gradient : array of shape (d, q)
            Half of the Euclidean gradient, Phi(W) W.
        """
        value, hsic, *_ = self._at(W)
        return value, hsic.objective_and_gradient(W)[1]

    def objective_and_phi(self, W: Any) -> tuple[float, np.ndarray]:
        """Return J(W) and the matrix Phi of its gradient.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        J : float
            The objective.
        phi : array of shape (d, d)
            The symmetric matrix Phi(W) for the Gamma of this W.
        """
        value, hsic, *_ = self._at(W)
        return value, hsic.objective_and_phi(W)[1]

    def phi_0(self) -> np.ndarray:
        """Return Phi at W = 0, where the kernel is constant and Gamma that of HSIC.

        Returns
        -------
        array of shape (d, d)
            The symmetric matrix.
        """
        return self.hsic.phi_0()

    def _gamma_slope(self, W, Z, factor, B):
        """Phi(W) W (d, q) for the derivative of Gamma along Z."""
        own = self.hsic.pairs.gram_derivative(W, Z, (self._root * B).astype(self.dtype))
        dB = -cho_solve(factor, self._centred(self._root * own))
        size, slope = np.linalg.norm(B), np.linalg.norm(dB)
        if not slope > 0:
            return np.zeros_like(W)
        U, s = dB * (size / slope), self.gamma.s  # U B' + B U' by two squares of equal size
        pair = self._with(np.hstack([B + U, B - U]), np.concatenate([s, -s]) / 2)
        return pair.objective_and_gradient(W)[1] * (slope / size)

    def phi_derivative(self, W: Any, Z: Any) -> np.ndarray:
        """Return how Phi(W) W changes because Phi does, along several directions.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.
        Z : array of shape (m, d, q)
            The directions.

        Returns
        -------
        array of shape (m, d, q)
            The derivative of ``Phi(W + t Z) W`` at t = 0, for each direction.
        """
        _, hsic, factor, B = self._at(W)
        moved = [self._gamma_slope(W, direction, factor, B) for direction in np.asarray(Z)]
        return hsic.phi_derivative(W, Z) + np.stack(moved)

    def gradient_derivative(self, W: Any, Z: Any) -> np.ndarray:
        """Return half of the Euclidean Hessian of J applied to one direction.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.
        Z : array of shape (d, q)
            The direction.

        Returns
        -------
        array of shape (d, q)
            The derivative of ``Phi(W + t Z)(W + t Z)`` at t = 0.
        """
        _, hsic, factor, B = self._at(W)
        return hsic.gradient_derivative(W, Z) + self._gamma_slope(W, Z, factor, B)

    def on(self, rows: np.ndarray) -> ConditionalProblem:
        """Return the problem of some of the samples, whose target is centred anew.

        Parameters
        ----------
        rows : array of int
            Which samples are kept.

        Returns
        -------
        ConditionalProblem
            With a count of its own.
        """
        w = None if self.sample_weight is None else self.sample_weight[rows]
        part = replace(
            self,
            X=self.X[rows],
            gamma=self.gamma.on(rows),
            kernel=self.kernel.on(rows),
            sample_weight=w,
            count=Count(),
        )
        F = part._root * part._centred(part._F)
        return replace(part, gamma=Gamma(F, self.gamma.s))
