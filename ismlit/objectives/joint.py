"""A clustering and a subspace as one objective of U and W."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from ismlit.gamma import Gamma, embedding_gamma
from ismlit.kernels import Kernel
from ismlit.objectives.affinity import Affinity, check_normalize
from ismlit.objectives.normalized import NormalizedProblem, check_gamma
from ismlit.objectives.pairs import Count, Pairs
from ismlit.objectives.plain import Problem


@dataclass(frozen=True, eq=False)
class JointProblem:
    """The objective of a clustering and a subspace: Tr(U' A_W U), and what guides it.

    It is maximised over W and U, both with orthonormal columns. A_W is the affinity of the samples
    seen through W.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in rows.
    kernel : Kernel
        The kernel.
    normalize : {"none", "degrees", "centred"}, default="none"
        Which affinity A_W, see `Affinity`.
    guide : Gamma, optional
        Added to the part of U, and divided by the degrees as that is. With negative weights s it
        holds labels to differ from, as in KDAC.
    fixed : Gamma, optional
        Added without degrees, as the labels of semi-supervised clustering are.
    n_jobs : int, optional
        Workers of joblib, as for `Problem`.
    count : Count, optional
        Where passes over the pairs are counted.

    Raises
    ------
    ValueError
        If `normalize` is not known, or a Gamma is for another number of samples.

    See Also
    --------
    ismlit.solvers.alternate.alternate : Solves it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian
    >>> from ismlit.objectives.joint import JointProblem
    >>> joint = JointProblem(scale(load_wine().data), Gaussian(3.0))
    >>> U, values = joint.affinity(np.eye(13)).leading(2)
    >>> bool(np.isclose(joint.given(U).objective(np.eye(13)), values.sum()))
    True
    """

    X: np.ndarray
    kernel: Kernel
    normalize: str = "none"
    guide: Gamma | None = None
    fixed: Gamma | None = None
    n_jobs: int | None = None
    count: Count = field(default_factory=Count, repr=False)

    def __post_init__(self) -> None:
        check_normalize(self.normalize)
        X = Pairs(self.X, self.kernel).X
        object.__setattr__(self, "X", X)
        for name in ("guide", "fixed"):
            if getattr(self, name) is not None:
                check_gamma(name, getattr(self, name), len(X))

    @property
    def pairs(self) -> Pairs:
        """The kernel matrix as an operator."""
        return Pairs(self.X, self.kernel, self.n_jobs, count=self.count)

    def affinity(self, W: np.ndarray, away: np.ndarray | None = None) -> Affinity:
        """Return the affinity at W, whose leading eigenvectors are the best U.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.
        away : array of shape (n, m), optional
            Directions that U must be orthogonal to.

        Returns
        -------
        Affinity
            The matrix as an operator.
        """
        return Affinity(self.pairs, W, self.normalize, away)

    def given(self, U: np.ndarray, K: LinearOperator | None = None) -> Problem | NormalizedProblem:
        """Return the problem of W alone, with U held fixed.

        Parameters
        ----------
        U : array of shape (n, k)
            The embedding.
        K : LinearOperator, optional
            The kernel at the first W that will be asked for, where it has been computed already.

        Returns
        -------
        Problem or NormalizedProblem
            What a solver maximises over W.
        """
        uncentred = self.normalize == "degrees"
        gamma = Gamma(U, np.ones(U.shape[1])) if uncentred else embedding_gamma(U)
        gamma = gamma if self.guide is None else gamma + self.guide
        shared: dict[str, Any] = dict(n_jobs=self.n_jobs, count=self.count)
        if self.normalize != "none":
            return NormalizedProblem(self.X, gamma, self.kernel, fixed=self.fixed, K=K, **shared)
        gamma = gamma if self.fixed is None else gamma + self.fixed
        return Problem(self.X, gamma, self.kernel, **shared)

    def on(self, rows: np.ndarray) -> JointProblem:
        """Return the same objective for some of the samples.

        What guides the clustering weighs as much beside U as before.

        Parameters
        ----------
        rows : array of int
            Which samples are kept.

        Returns
        -------
        JointProblem
            With a count of passes of its own.
        """
        share = self.X.shape[0] / len(rows)
        of_k = share if self.normalize == "none" else share**2  # a trace with K grows with n
        return replace(
            self,
            X=self.X[rows],
            kernel=self.kernel.on(rows),
            guide=None if self.guide is None else share * self.guide.on(rows),
            fixed=None if self.fixed is None else of_k * self.fixed.on(rows),
            count=Count(),
        )

    @property
    def avoided(self) -> np.ndarray | None:
        """The directions (n, m) that the guide penalises, or None."""
        if self.guide is None or not (self.guide.s < 0).any():
            return None
        return self.guide.F[:, self.guide.s < 0]


class Envelope:
    """The value function of a `JointProblem`: its maximum over U, as a function of W alone.

    A solver can climb it. Its gradient at W is that of the problem of W under the best U there
    (Danskin), wherever the eigenvalues k and k + 1 of the affinity differ. Every value takes new
    eigenvectors.

    Parameters
    ----------
    joint : JointProblem
        The objective of U and W.
    k : int
        The number of columns of U.

    References
    ----------
    Danskin 1967, The theory of max-min.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian
    >>> from ismlit.objectives.joint import Envelope, JointProblem
    >>> joint = JointProblem(scale(load_wine().data), Gaussian(3.0))
    >>> W = np.eye(13)[:, :2]
    >>> U, values = joint.affinity(W).leading(3)
    >>> bool(np.isclose(Envelope(joint, 3).objective(W), values.sum()))
    True
    """

    U: np.ndarray
    near: np.ndarray | None = None
    problem: Problem | NormalizedProblem

    def __init__(self, joint: JointProblem, k: int) -> None:
        self.joint, self.k, self.count = joint, k, joint.count
        self.X, (self.n, self.d), self.dtype = joint.X, joint.X.shape, joint.X.dtype
        self._key: bytes | None = None

    def problem_at(self, W: np.ndarray) -> Problem | NormalizedProblem:
        """Return the problem of W under the best U at some W; the last one is kept.

        Parameters
        ----------
        W : array of shape (d, q)
            Where U is to be the best.

        Returns
        -------
        Problem or NormalizedProblem
            The problem of W alone.
        """
        key = W.tobytes()
        if key != self._key:
            affinity = self.joint.affinity(W)
            if self.near is None or len(self.X) <= 400:
                self.near = affinity.leading(self.k, dense=400)[0]
            else:
                self.near = affinity.leading(self.k, dense=400, near=self.near)[0]
            self.U = self.near
            self.problem, self._key = self.joint.given(self.U, affinity.K), key
        return self.problem

    def objective(self, W: np.ndarray) -> float:
        """Return the objective with the best U.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        float
            The sum of the k leading eigenvalues, and what guides.
        """
        return self.problem_at(W).objective(W)

    def objective_and_gradient(self, W: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective with the best U, and half of its gradient.

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
        return self.problem_at(W).objective_and_gradient(W)

    def objective_and_phi(self, W: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective with the best U, and the matrix Phi of its gradient.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        J : float
            The objective.
        phi : array of shape (d, d)
            The gradient is ``2 Phi W``.
        """
        return self.problem_at(W).objective_and_phi(W)
