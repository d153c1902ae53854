"""What a solver asks of an objective."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from ismlit.objectives.pairs import Count


@runtime_checkable
class Objective(Protocol):
    """What every solver asks of a problem: J over frames W (d, q), and its first order.

    Attributes
    ----------
    X : array of shape (n, d)
        Samples in rows.
    n, d : int
        The numbers of samples and of features.
    dtype : numpy.dtype
        Single or double precision.
    count : Count
        How many passes over the pairs were made.
    """

    X: np.ndarray
    n: int
    d: int
    dtype: np.dtype
    count: Count

    def objective(self, W: Any) -> float:
        """Return J(W).

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        float
            The objective.
        """

    def objective_and_gradient(self, W: Any) -> tuple[float, np.ndarray]:
        """Return J(W), and half of its gradient.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        J : float
            The objective.
        gradient : array of shape (d, q)
            Half of the Euclidean gradient.
        """

    def objective_and_phi(self, W: Any) -> tuple[float, np.ndarray]:
        """Return J(W), and the matrix Phi whose product with W is half of the gradient.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        J : float
            The objective.
        phi : array of shape (d, d)
            The symmetric matrix Phi(W).
        """

    def phi_0(self) -> np.ndarray:
        """Return Phi at W = 0.

        Returns
        -------
        array of shape (d, d)
            The symmetric matrix.
        """

    def scatter(self, V: Any = None) -> np.ndarray:
        """Return how the samples spread along some directions.

        Parameters
        ----------
        V : array of shape (d, k), optional
            The directions; the features themselves when None.

        Returns
        -------
        array of shape (k, k)
            The matrix ``V'X'HXV``.
        """

    def restrict(self, V: Any) -> Any:
        """Return the problem of B in W = VB.

        Parameters
        ----------
        V : array of shape (d, k)
            Orthonormal columns.

        Returns
        -------
        Objective
            The smaller problem.
        """

    def sample(self, rows: Any) -> Any:
        """Return the problem of some of the samples, with a count of its own.

        Parameters
        ----------
        rows : array of int
            Which samples are kept.

        Returns
        -------
        Objective
            Their problem.
        """

    def check_start(self, W: Any, J: float, phi: np.ndarray) -> None:
        """Refuse a start from which nothing can be learnt.

        Parameters
        ----------
        W : array of shape (d, q)
            The start.
        J : float
            The objective there.
        phi : array of shape (d, d)
            Phi there.
        """

    def solved_by(self, solve: Any, q: int, init: Any) -> Any:
        """Solve for W, in this problem or in an equivalent one.

        Parameters
        ----------
        solve : callable ``solve(objective, init)``
            The solver; it returns an `ISMResult`.
        q : int
            The number of columns of W.
        init : str or array of shape (d, q)
            Where W starts.

        Returns
        -------
        ISMResult
            What the solver returns, for all features.
        """


@runtime_checkable
class TwiceDifferentiable(Objective, Protocol):
    """An `Objective` whose second order is known; escapes from saddles and certificates need it."""

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
