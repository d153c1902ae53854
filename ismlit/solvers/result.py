"""What a solver returns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ismlit.geometry.second_order import Curvature
from ismlit.objectives.protocol import Objective
from ismlit.solvers.starts import Starts

STOPPED = "the callback returned True"
"""The message of a solver that was told to stop; the W reached so far is kept."""


@dataclass(frozen=True, eq=False)
class ISMResult:
    """What `ism` found, and how.

    Attributes
    ----------
    W : array of shape (d, q)
        Orthonormal columns, eigenvectors of Phi(W) by falling eigenvalue; the largest entry
        of each column is positive.
    eigenvalues : array of shape (q,)
        Of Phi(W), same order.
    objective : float
        J(W) = Tr(Gamma K_XW).
    residual : float
        First-order residual ||Phi W - W (W' Phi W)||_F / ||Phi||_F, 0 at a stationary point.
    converged : bool
        Whether the stopping rule of the solver was met. `message` says which.
    n_iter, n_passes, n_test_passes : int
        Steps taken; passes over the pairs of samples (an objective, a Phi, or a Hessian product
        each count one); how many of them tested the second-order condition.
    history : dict of equal-length arrays
        Per accepted point: ``objective``, ``passes`` (made so far), and from `ism` also
        ``residual``, ``shift``, ``movement`` (||P_new - P||; 0 where random features or landmarks
        were made anew at the end of a climb, which changes J).
    problem : Problem
        What was solved; `ismlit.certify` reads it.
    curvature : Curvature or None
        What the second-order test found at W, where it was made; `ismlit.certify` reads it.
    starts : Starts or None
        With init="several", how many starts were `tried`, and how many `agreed` on the highest J.

    See Also
    --------
    ism : what gives it.
    ismlit.certify : whether it is a maximum.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian, ism, label_gamma
    >>> X, y = load_wine(return_X_y=True)
    >>> result = ism(scale(X), label_gamma(y), Gaussian(3.0), 2)
    >>> result.converged, bool(result.objective > result.history["objective"][0])
    (True, True)
    """

    W: np.ndarray = field(repr=False)
    eigenvalues: np.ndarray
    objective: float
    residual: float
    converged: bool
    n_iter: int
    n_passes: int
    message: str
    history: dict[str, np.ndarray] = field(repr=False)
    problem: Objective | None = field(repr=False)
    n_test_passes: int = 0
    curvature: Curvature | None = None
    starts: Starts | None = None
