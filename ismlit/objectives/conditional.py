"""The conditional covariance of a target given XW: the other end of the line from HSIC."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ismlit.gamma import Gamma
from ismlit.grams import beta_factors, beta_slope_factors, column_means
from ismlit.kernels import Kernel
from ismlit.memory import require_memory
from ismlit.objectives.pairs import Count, Samples
from ismlit.objectives.plain import Problem

ALL = slice(None)
Term = tuple[float, Kernel, np.ndarray, np.ndarray | None]


class Table(NamedTuple):
    """One term of a kernel for some pairs of samples.

    Attributes
    ----------
    kind : str
        "inner" or "difference".
    Xi, Xj : arrays of shape (n, d) and (m, d)
        The samples, as the term sees them.
    derivatives : list of (number, array of shape (n, m))
        Of the orders asked for: the products of both.
    """

    kind: str
    Xi: np.ndarray
    Xj: np.ndarray
    derivatives: list[tuple[float, np.ndarray]]

    def sum(self, A: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return how ``sum A_ij beta_ij`` changes with ``W W'``, times V.

        Parameters
        ----------
        A : array of shape (n, m)
            A weight for each pair.
        V : array of shape (d, k)
            Columns.

        Returns
        -------
        array of shape (d, k)
            ``sum A_ij (x_i - x_j)(x_i - x_j)' V`` for differences, and for inner products the
            symmetric part of ``sum A_ij x_i x_j' V``.
        """
        zi, zj = self.Xi @ V, self.Xj @ V
        if self.kind == "inner":
            return np.asarray((self.Xi.T @ (A @ zj) + self.Xj.T @ (A.T @ zi)) / 2)
        rows = self.Xi.T @ (A.sum(axis=1)[:, None] * zi - A @ zj)
        return np.asarray(rows + self.Xj.T @ (A.sum(axis=0)[:, None] * zj - A.T @ zi))


class Regression(NamedTuple):
    """The kernel ridge regression at one W.

    Attributes
    ----------
    objective : float
        J(W).
    B : array of shape (n, r)
        ``c (K + c I)^-1 F``; with landmarks the coefficients (m, r) of their kernels.
    rest : tuple, or array of shape (m,)
        The factor of the matrix that was inverted; with landmarks the means of their kernels.
    tables : list of Table
        Of f and f' for all pairs; with landmarks for the pairs of these.
    """

    objective: float
    B: np.ndarray
    rest: Any
    tables: list[Table]


@dataclass(frozen=True, eq=False)
class Conditional(Samples, ABC):
    """What the exact problem and that of landmarks share."""

    X: np.ndarray
    gamma: Gamma
    kernel: Kernel
    ridge: float = 0.01
    sample_weight: np.ndarray | None = None
    count: Count = field(default_factory=Count, repr=False)
    _memory: dict[bytes, Regression] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.ridge > 0:
            raise ValueError(f"ridge must be a number above 0, got {self.ridge!r}")
        if not isinstance(self.gamma, Gamma) or (self.gamma.s < 0).any():
            raise ValueError(
                "the conditional covariance needs a Gamma with a factor F and weights s of at "
                "least 0, as label_gamma and response_gamma give it"
            )
        hsic = Problem(self.X, self.gamma, self.kernel)
        object.__setattr__(self, "X", hsic.X)
        object.__setattr__(self, "gamma", hsic.gamma)

    def __getstate__(self) -> dict[str, Any]:  # what is kept at the last W has the size of K
        return {**self.__dict__, "_memory": {}}

    # ------------------------------------------------------------ the regression

    @cached_property
    def _root(self) -> np.ndarray:
        """The roots of the weights of the rows (n, 1)."""
        w = np.ones(self.n) if self.sample_weight is None else self.sample_weight
        return np.asarray(np.sqrt(np.asarray(w, dtype=float))[:, None])

    @cached_property
    def _mass(self) -> float:
        """How many rows there are, by their weights."""
        return float(np.sum(self._root**2))

    @property
    def _c(self) -> float:
        return self.ridge * self._mass

    @cached_property
    def _F(self) -> np.ndarray:
        """The factor of K_Y (n, r), the rows of which have the roots of the weights."""
        return np.asarray(self.gamma.F / self._root, dtype=float)

    @cached_property
    def _s(self) -> np.ndarray:
        return np.asarray(self.gamma.s, dtype=float)

    def _centred(self, A: np.ndarray) -> np.ndarray:
        """Columns (n, m) without their share along the roots of the weights."""
        u = self._root / np.linalg.norm(self._root)
        return np.asarray(A - u * (u.T @ A))

    @cached_property
    def _terms(self) -> list[Term]:
        """Weight, formula, samples and factors (n, 1) of every term of the kernel."""
        X = self.X.astype(float)
        data, terms = {"inner": X, "difference": X - column_means(X)}, []
        for weight, part in self.kernel.terms():
            u = part.scale(self.n)
            terms.append((float(weight), part, data[part.pairs], None if u is None else u[:, None]))
        return terms

    def _tables(
        self, W: np.ndarray, rows: slice | np.ndarray, columns: slice | np.ndarray, *orders: int
    ) -> list[Table]:
        """The terms of the kernel for some pairs of samples."""
        tables = []
        for weight, part, X, u in self._terms:
            Xi, Xj = X[rows], X[columns]
            beta = beta_factors(part.pairs, Xi @ W)[0] @ beta_factors(part.pairs, Xj @ W)[1].T
            if part.pairs == "difference":
                np.maximum(beta, 0, out=beta)
                if rows is columns:
                    np.fill_diagonal(beta, 0)
            beta *= part.argument
            if u is None:
                values = part.f_and_derivatives(beta, orders)
            else:
                scales = u[rows] * u[columns].T
                beta *= scales
                made = zip(orders, part.f_and_derivatives(beta, orders))
                values = [(number, A * scales**order) for order, (number, A) in made]
            values = [(weight * number, A) for number, A in values]
            tables.append(Table(part.pairs, Xi, Xj, values))
        return tables

    def _factor(self, A: np.ndarray) -> Any:
        try:
            return cho_factor(A, overwrite_a=True, check_finite=False)
        except LinAlgError:
            raise ValueError(
                f"{self.kernel!r} is not positive semidefinite on this data, and the conditional "
                "covariance needs it to be: take another kernel, or ridge=numpy.inf"
            ) from None

    def _at(self, W: np.ndarray) -> Regression:
        """The regression at W; the last one is kept."""
        W = np.ascontiguousarray(W, dtype=float)
        key = W.tobytes()
        if key not in self._memory:
            self._memory.clear()
            self.count.passes += 1
            self._memory[key] = self._regression(W)
        return self._memory[key]

    @abstractmethod
    def _regression(self, W: np.ndarray) -> Regression: ...

    @abstractmethod
    def _slope(self, W: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Phi(W) V (d, k)."""

    # ------------------------------------------------------------ first order

    def objective(self, W: np.ndarray) -> float:
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
        return self._at(W).objective

    def objective_and_gradient(self, W: np.ndarray) -> tuple[float, np.ndarray]:
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
        return self.objective(W), self._slope(W, np.asarray(W, dtype=float))

    def objective_and_phi(self, W: np.ndarray) -> tuple[float, np.ndarray]:
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
        phi = self._slope(W, np.eye(self.d))
        return self.objective(W), (phi + phi.T) / 2

    def phi_0(self) -> np.ndarray:
        """Return Phi at W = 0, where the kernel is constant and Gamma that of HSIC.

        Returns
        -------
        array of shape (d, d)
            The symmetric matrix.
        """
        return Problem(self.X, self.gamma, self.kernel).phi_0()

    def on(self, rows: slice | np.ndarray) -> ConditionalProblem:
        """Return the problem of some of the samples, whose target is centred anew.

        Parameters
        ----------
        rows : slice, or array of int
            Which samples are kept.

        Returns
        -------
        ConditionalProblem
            With a count of its own.
        """
        kernel, gamma = self.kernel.on(rows), self.gamma.on(rows)
        w = None if self.sample_weight is None else self.sample_weight[rows]
        part = ConditionalProblem(self.X[rows], gamma, kernel, self.ridge, w)
        F = part._root * part._centred(part._F)
        return replace(part, gamma=Gamma(F, self.gamma.s))


@dataclass(frozen=True, eq=False)
class ConditionalProblem(Conditional):
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
    ismlit.objectives.landmarks.LandmarkProblem : The same in time linear in the rows.

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

    def __post_init__(self) -> None:
        super().__post_init__()
        advice = "fit a sample of the rows, or take ridge=numpy.inf"
        require_memory("a conditional covariance", advice, self.n, 6)

    def _regression(self, W: np.ndarray) -> Regression:
        tables = self._tables(W, ALL, ALL, 0, 1)
        K = total(tables, 0)
        K *= self._root
        K *= self._root.T
        K = self._centred(self._centred(K).T)
        K[np.diag_indices_from(K)] += self._c
        factor = self._factor(K)
        B = self._c * cho_solve(factor, self._F, check_finite=False)
        value = self._c * float(np.sum(self._s * np.sum(self._F * (self._F - B), axis=0)))
        return Regression(value, B, factor, tables)

    def _slope(self, W: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Phi(W) V (d, k)."""
        regression, left = self._at(W), self._root * self._at(W).B
        gamma, total = (left * self._s) @ left.T, np.zeros((self.d, V.shape[1]))
        for table in regression.tables:
            number, slope = table.derivatives[1]
            total += number * table.sum(gamma * slope, V)
        return total.astype(self.dtype)

    def phi_derivative(self, W: np.ndarray, Z: np.ndarray) -> np.ndarray:
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
        at, W = self._at(W), np.asarray(W, dtype=float)
        left = self._root * at.B
        gamma, images = (left * self._s) @ left.T, np.zeros(np.shape(Z))
        tables = self._tables(W, ALL, ALL, 1, 2)
        for image, direction in zip(images, np.asarray(Z, dtype=float)):
            self.count.passes += 1
            moved = [self._slope_of_betas(term, W, direction) for term in self._terms]
            tilt = [number * A for number, A in (table.derivatives[0] for table in tables)]
            dK = sum(slope * d_beta for slope, d_beta in zip(tilt, moved))
            dB = -cho_solve(at.rest, self._centred(self._root * (dK @ left)))
            d_gamma = 2 * (self._root * dB * self._s) @ left.T  # twice: of a symmetric sum
            for table, slope, d_beta in zip(tables, tilt, moved):
                number, bend = table.derivatives[1]
                image += table.sum(number * gamma * bend * d_beta + d_gamma * slope, W)
        return images.astype(self.dtype)

    def _slope_of_betas(self, term: Term, W: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """How the betas (n, n) of a term change as W moves along Z."""
        _, part, X, u = term
        left, right = beta_slope_factors(part.pairs, X @ W, X @ Z)
        slope: np.ndarray = left @ right.T
        return slope if u is None else np.asarray(slope * (u * u.T))


def total(tables: list[Table], order: int) -> np.ndarray:
    """Return the sum of the terms' derivatives of one order.

    Parameters
    ----------
    tables : list of Table
        The terms.
    order : int
        The place among the orders that the tables have.

    Returns
    -------
    array of shape (n, m)
        One number for each pair.
    """
    terms = (table.derivatives[order] for table in tables)
    return np.asarray(sum(number * A for number, A in terms))
