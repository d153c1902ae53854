"""The problem whose kernel is divided by the roots of its degrees, as in spectral clustering."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator

from ismlit.gamma import Gamma
from ismlit.kernels import Kernel
from ismlit.objectives.pairs import Count, Pairs, Samples
from ismlit.objectives.plain import Problem


@dataclass(frozen=True, eq=False)
class NormalizedProblem(Samples):
    """The problem of a kernel that is divided by the roots of its degrees.

    Maximise Tr(Gamma D^(-1/2) K D^(-1/2)) + Tr(fixed K) over W, where D = diag(K_XW 1) holds the
    degrees. They depend on W, and this problem takes that into account; the thesis and the papers
    hold them fixed while W moves.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in rows. Single precision (float32) is kept.
    gamma : Gamma
        Which pairs of samples are to be alike.
    kernel : Kernel
        The kernel; its row sums must be positive.
    n_jobs : int, optional
        Workers of joblib, as for `Problem`.
    tile : int, default=256
        The side of a tile of pairs.
    count : Count, optional
        Where passes over the pairs are counted.
    fixed : Gamma, optional
        A part without degrees, such as the labels of semi-supervised clustering.
    K : LinearOperator, optional
        The kernel at the first W that will be asked for, where it has been computed already.

    Raises
    ------
    ValueError
        If `gamma` or `fixed` is no Gamma, or is for another number of samples.

    See Also
    --------
    ismlit.Problem : With a kernel that is not divided.

    Notes
    -----
    The gradient is that of a `Problem` with an effective Gamma of two more columns, ``Gamma_ij /
    sqrt(D_i D_j) - (r_i + r_j) / 2``. Here ``r_i = (1/D_i) sum_j Gamma_ij K_ij / sqrt(D_i D_j)``
    is what K_ij does to the objective through the degrees. To freeze D means to leave r out.

    References
    ----------
    Ng, Jordan and Weiss 2002, On spectral clustering: analysis and an algorithm.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import Gaussian, certify, ism, label_gamma
    >>> from ismlit.objectives.normalized import NormalizedProblem
    >>> X, y = load_iris(return_X_y=True)
    >>> result = ism(NormalizedProblem(X, label_gamma(y), Gaussian(1.0)), q=2)
    >>> result.converged, certify(result).is_second_order
    (True, True)
    """

    X: np.ndarray
    gamma: Gamma
    kernel: Kernel
    n_jobs: int | None = None
    tile: int = 256
    count: Count = field(default_factory=Count, repr=False)
    fixed: Gamma | None = None
    K: LinearOperator | None = field(default=None, repr=False)
    _memory: dict[tuple[tuple[int, ...], str, bytes], _At] = field(
        default_factory=dict, init=False, repr=False
    )

    def __post_init__(self) -> None:
        check_gamma("gamma", self.gamma, len(self.X))
        if self.fixed is not None:
            check_gamma("fixed", self.fixed, len(self.X))
        plain = Problem(self.X, self.gamma, self.kernel, self.n_jobs, self.tile, self.count)
        object.__setattr__(self, "X", plain.X)
        object.__setattr__(self, "gamma", plain.gamma)

    def __getstate__(self) -> dict[str, object]:  # what is kept at the last W has the size of K
        return {**self.__dict__, "_memory": {}, "K": None}

    def _plain(self, gamma: Gamma) -> Problem:
        """The problem without degrees, under another Gamma."""
        problem = Problem(self.X, gamma, self.kernel, self.n_jobs, self.tile, self.count)
        problem.__dict__["pairs"] = self.pairs  # of one X: what they have prepared is shared
        return problem

    @cached_property
    def pairs(self) -> Pairs:
        """The kernel matrix as an operator, without Gamma."""
        return Pairs(self.X, self.kernel, self.n_jobs, self.tile, self.count)

    def degrees(self, W: ArrayLike) -> np.ndarray:
        """Return the degrees, the row sums of the kernel.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        array of shape (n,)
            D = K_XW 1.

        Raises
        ------
        ValueError
            If a degree is not positive: its square root is then not defined.
        """
        return self.pairs.row_sums(self.pairs.gram_operator(W))

    def frozen(self, W: ArrayLike) -> Problem:
        """Return the plain problem with the degrees of some W held fixed, as published.

        Parameters
        ----------
        W : array of shape (d, q)
            Whose degrees are taken.

        Returns
        -------
        Problem
            Its Gamma is divided by these degrees.
        """
        return self._plain(self._with_fixed(self.gamma.F / np.sqrt(self.degrees(W))[:, None]))

    def _with_fixed(self, F: np.ndarray) -> Gamma:
        normalised = Gamma(F, self.gamma.s)
        return normalised if self.fixed is None else normalised + self.fixed

    # ------------------------------------------------------------ first order

    def objective_and_gamma(self, W: ArrayLike) -> tuple[float, Gamma]:
        """Return the objective, and the Gamma whose plain problem has the same gradient.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        J : float
            The objective.
        gamma : Gamma
            The effective Gamma at W.
        """
        at = self._at(W)
        return at.objective, at.gamma

    def phi_0(self) -> np.ndarray:
        """Return Phi of the gradient at W = 0, where K is constant.

        Returns
        -------
        array of shape (d, d)
            The symmetric matrix.
        """
        zero = np.zeros((self.d, 1), self.dtype)
        return self._plain(self._at(zero).gamma).phi_0()

    def objective(self, W: ArrayLike) -> float:
        """Return the objective, with the degrees that W has.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        float
            The objective.
        """
        return self._at(W).objective

    def phi(self, W: ArrayLike) -> np.ndarray:
        """Return the matrix Phi, whose product with W is half of the exact gradient.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        array of shape (d, d)
            The symmetric matrix Phi(W).
        """
        return self.objective_and_phi(W)[1]

    def objective_and_phi(self, W: ArrayLike) -> tuple[float, np.ndarray]:
        """Return the objective and the matrix Phi of its gradient.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        J : float
            The objective.
        phi : array of shape (d, d)
            The symmetric matrix Phi(W). The gradient is ``2 Phi(W) W``.
        """
        at = self._at(W)
        return at.objective, self._plain(at.gamma).phi(W)

    def objective_and_gradient(self, W: ArrayLike) -> tuple[float, np.ndarray]:
        """Return the objective and half of its gradient.

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
        at = self._at(W)
        return at.objective, self._plain(at.gamma).objective_and_gradient(W)[1]

    # ------------------------------------------------------------ second order

    def phi_derivative(self, W: ArrayLike, Z: ArrayLike) -> np.ndarray:
        """Return what `Problem.phi_derivative` does, the change of the degrees included.

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
        at = self._at(W)
        images = self._plain(at.gamma).phi_derivative(W, Z)
        for image, direction in zip(images, np.asarray(Z)):
            change = self._plain(self._gamma_derivative(W, at, direction))
            image += change.objective_and_gradient(W)[1]
        return images

    # ------------------------------------------------------------ what they share

    def forget(self) -> None:
        """Free what is kept at the last W, which has the size of K."""
        self._memory.clear()

    def _at(self, W: ArrayLike) -> _At:
        """Everything at W that the gradient and the second order share; the last is kept."""
        W = np.ascontiguousarray(W)
        key = W.shape, W.dtype.str, W.tobytes()
        if key not in self._memory:
            self._memory.clear()
            self._memory[key] = self._computed(W)
        return self._memory[key]

    def _computed(self, W: np.ndarray) -> _At:
        affinity = self.pairs.gram_operator(W) if self.K is None else self.K
        object.__setattr__(self, "K", None)
        degrees = self.pairs.row_sums(affinity)
        F = self.gamma.F / np.sqrt(degrees)[:, None]
        KF = affinity @ F
        weighted = (F * self.gamma.s) * KF
        value = float(weighted.sum(dtype=np.float64))
        if self.fixed is not None:
            value += float(((self.fixed.F * self.fixed.s) * (affinity @ self.fixed.F)).sum())
        r = weighted.sum(axis=1) / degrees
        gamma = self._with_fixed(F) + _both_ways(r[:, None], np.ones((self.n, 1)), -0.5)
        return _At(value, gamma, affinity, degrees, F, KF, r)

    def _gamma_derivative(self, W: ArrayLike, at: _At, direction: ArrayLike) -> Gamma:
        """How the effective Gamma changes as W moves along `direction` (d, q)."""
        columns = np.c_[np.ones(self.n), at.F].astype(self.dtype)
        moved = self.pairs.gram_derivative(W, direction, columns)  # dK 1 and dK F
        d_degrees = moved[:, 0]
        dF = -0.5 * at.F * (d_degrees / at.degrees)[:, None]
        s = self.gamma.s
        dt = ((dF * s) * at.KF + (at.F * s) * (moved[:, 1:] + at.affinity @ dF)).sum(axis=1)
        dr = (dt - at.r * d_degrees) / at.degrees
        return _both_ways(dF, at.F, s) + _both_ways(dr[:, None], np.ones((self.n, 1)), -0.5)


@dataclass(frozen=True)
class _At:
    """What `NormalizedProblem` keeps of one W."""

    objective: float
    gamma: Gamma
    affinity: LinearOperator
    degrees: np.ndarray
    F: np.ndarray
    KF: np.ndarray
    r: np.ndarray


def _both_ways(A: np.ndarray, B: np.ndarray, s: float | np.ndarray) -> Gamma:
    """A diag(s) B' + B diag(s) A' for A, B of shape (n, m), as a difference of squares."""
    size = np.linalg.norm(A)
    balance = np.sqrt(np.linalg.norm(B) / size) if size else 1.0
    A, B = A * balance, B / balance
    s = np.broadcast_to(np.asarray(s, float), A.shape[1:])
    return Gamma(np.hstack([A + B, A - B]), np.r_[s, -s] / 2)


def check_gamma(name: str, gamma: object, n: int) -> None:
    """Refuse what is no low-rank Gamma for a number of samples.

    Parameters
    ----------
    name : str
        What the user calls it, for messages.
    gamma : object
        What was given.
    n : int
        The number of samples of X.

    Raises
    ------
    ValueError
        If it is no `Gamma`, or one for another number of samples.
    """
    if not isinstance(gamma, Gamma):
        raise ValueError(f"{name} must be a Gamma(F, s), got {type(gamma).__name__}")
    if gamma.n != n:
        raise ValueError(f"{name} is for {gamma.n} samples but X has {n}")
