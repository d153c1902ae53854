"""What solvers ask of an objective: a function of W, and nothing about how it is maximised."""

from __future__ import annotations

from typing import Protocol, Self, runtime_checkable

import numpy as np

from ismlit.objectives.pairs import Count


@runtime_checkable
class Smooth(Protocol):
    """What a climb asks for: J over frames W (d, q), and its first order.

    Attributes
    ----------
    n, d : int
        The numbers of samples and of features.
    dtype : numpy.dtype
        Single or double precision.
    count : Count
        How many passes over the pairs were made.
    """

    @property
    def n(self) -> int: ...
    @property
    def d(self) -> int: ...
    @property
    def dtype(self) -> np.dtype: ...
    @property
    def count(self) -> Count: ...

    def objective(self, W: np.ndarray) -> float:
        """Return J(W)."""

    def objective_and_gradient(self, W: np.ndarray) -> tuple[float, np.ndarray]:
        """Return J(W) and half of its Euclidean gradient (d, q)."""

    def objective_and_phi(self, W: np.ndarray) -> tuple[float, np.ndarray]:
        """Return J(W) and the symmetric Phi(W) (d, d); half of the gradient is Phi(W) W."""


@runtime_checkable
class Objective(Smooth, Protocol):
    """What `ismlit.ism` asks for: a smooth function of W that depends on samples through XW.

    Attributes
    ----------
    X : array of shape (m, d)
        The samples, or some of them where they are not in memory.

    See Also
    --------
    ismlit.Problem : The objective of the thesis.
    ismlit.objectives.conditional.ConditionalProblem : Another one.
    """

    @property
    def X(self) -> np.ndarray: ...

    def phi_0(self) -> np.ndarray:
        """Return Phi at W = 0, whose leading eigenvectors are the "taylor" start."""

    def on(self, rows: slice | np.ndarray) -> Self | Objective:
        """Return the objective of some rows of `X` (a slice, or an array), with its own count."""

    def in_basis(self, V: np.ndarray) -> Self:
        """Return the objective of B in W = VB, for orthonormal columns V (d, k)."""

    def near(self, W: np.ndarray) -> Self:
        """Return the objective for a climb from W: itself, unless it approximates near some W."""

    def targets(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what XW is to depend on: columns F (m, r), and their weights s (r,)."""

    def score(self, W: np.ndarray) -> float:
        """Return what is compared between maxima on held-out rows: J but for scale."""


@runtime_checkable
class TwiceDifferentiable(Objective, Protocol):
    """An `Objective` whose second order is known; escapes from saddles and certificates need it."""

    def phi_derivative(self, W: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return the derivatives of ``Phi(W + t Z) W`` at t = 0 for directions Z (m, d, q)."""
