"""What a solver asks of an objective."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from ismlit.objectives.pairs import Count


@runtime_checkable
class Objective(Protocol):
    """What a solver asks of a problem: J over frames W (d, q), and its first order."""

    X: np.ndarray
    n: int
    d: int
    dtype: np.dtype
    count: Count

    def objective(self, W):
        """J(W)."""

    def objective_and_gradient(self, W):
        """J(W), and half its Euclidean gradient (d, q)."""

    def objective_and_phi(self, W):
        """J(W), and the symmetric Phi(W) (d, d) whose product with W is half the gradient."""

    def phi_0(self):
        """Phi at W = 0."""

    def scatter(self, V=None):
        """How the samples spread along V (d, k), the identity when None: ``V'X'HXV``."""

    def restrict(self, V):
        """The problem of B in W = VB, for orthonormal V (d, k)."""

    def sample(self, rows):
        """The problem of some of the samples, with a count of its own."""

    def check_start(self, W, J, phi):
        """An error where nothing can be learnt from W, given J and Phi there."""

    def solved_by(self, solve, q, init):
        """What ``solve(objective, init)`` returns, of this objective or an equivalent one."""


@runtime_checkable
class TwiceDifferentiable(Objective, Protocol):
    """An `Objective` whose second order is known: Newton, escape and certificates need it."""

    def phi_derivative(self, W, Z):
        """``(d/dt Phi(W + t Z)) W`` at t = 0 for each direction of Z (m, d, q)."""

    def gradient_derivative(self, W, Z):
        """Half the Euclidean Hessian of J applied to Z (d, q)."""
