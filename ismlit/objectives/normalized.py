"""The problem whose kernel is divided by the roots of its degrees, as in spectral clustering."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.sparse.linalg import LinearOperator

from ismlit.gamma import Gamma
from ismlit.kernels import Kernel
from ismlit.objectives.pairs import Count, Pairs, Samples
from ismlit.objectives.plain import Problem


@dataclass(frozen=True, eq=False)
class NormalizedProblem(Samples):
    """max over W of Tr(Gamma D^(-1/2) K D^(-1/2)) + Tr(fixed K), with D = diag(K_XW 1).

    Its gradient is that of `Problem` with an effective Gamma of two more columns,
    ``Gamma_ij / sqrt(D_i D_j) - (r_i + r_j) / 2``, where r_i = (1/D_i) sum_j Gamma_ij K_ij /
    sqrt(D_i D_j) is what K_ij does to the objective through the degrees. Freezing D, as the
    thesis and papers do, leaves r out.

    Parameters
    ----------
    X, gamma, kernel, n_jobs, tile
        As for `Problem`; gamma must be low-rank.
    fixed : Gamma, optional
        A part without degrees, e.g. the labels of semi-supervised clustering.
    K : LinearOperator, optional
        The kernel at the first W that will be asked for, where it has been computed already.

    Notes
    -----
    Claims: neurips-semi, semi-degrees, kdac-gradient.

    See Also
    --------
    ismlit.Problem : with a kernel that is not divided.

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
    _memory: dict = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self):
        check_gamma("gamma", self.gamma, len(self.X))
        if self.fixed is not None:
            check_gamma("fixed", self.fixed, len(self.X))
        plain = Problem(self.X, self.gamma, self.kernel, self.n_jobs, self.tile, self.count)
        object.__setattr__(self, "X", plain.X)
        object.__setattr__(self, "gamma", plain.gamma)

    def __getstate__(self):  # what is kept at the last W has the size of K
        return {**self.__dict__, "_memory": {}, "K": None}

    def _plain(self, gamma):
        """The problem without degrees, under another Gamma."""
        problem = Problem(self.X, gamma, self.kernel, self.n_jobs, self.tile, self.count)
        problem.__dict__["pairs"] = self.pairs  # of one X: what they have prepared is shared
        return problem

    @cached_property
    def pairs(self):
        """K as an operator, without Gamma."""
        return Pairs(self.X, self.kernel, self.n_jobs, self.tile, self.count)

    def degrees(self, W):
        """D = K_XW 1 of shape (n,).

        Raises
        ------
        ValueError
            If a degree is not positive: its square root is then not defined.
        """
        return self.pairs.row_sums(self.pairs.gram_operator(W))

    def frozen(self, W):
        """The plain problem with the degrees of W held fixed, as published."""
        return self._plain(self._with_fixed(self.gamma.F / np.sqrt(self.degrees(W))[:, None]))

    def _with_fixed(self, F):
        normalised = Gamma(F, self.gamma.s)
        return normalised if self.fixed is None else normalised + self.fixed

    # ------------------------------------------------------------ first order

    def objective_and_gamma(self, W):
        """The objective, and the effective Gamma whose Phi is its exact gradient."""
        at = self._at(W)
        return at.objective, at.gamma

    def phi_0(self):
        """Phi of the gradient at W = 0, where K is constant."""
        zero = np.zeros((self.d, 1), self.dtype)
        return self._plain(self._at(zero).gamma).phi_0()

    def objective(self, W):
        """The objective at W, its own degrees included."""
        return self._at(W).objective

    def phi(self, W):
        """Phi (d, d) of the exact gradient 2 Phi W."""
        return self.objective_and_phi(W)[1]

    def objective_and_phi(self, W):
        """The objective and the Phi (d, d) of its gradient 2 Phi W."""
        at = self._at(W)
        return at.objective, self._plain(at.gamma).phi(W)

    def objective_and_gradient(self, W):
        """The objective and half its Euclidean gradient (d, q)."""
        at = self._at(W)
        return at.objective, self._plain(at.gamma).objective_and_gradient(W)[1]

    # ------------------------------------------------------------ second order

    def phi_derivative(self, W, Z):
        """As `Problem.phi_derivative`, the change of the degrees included."""
        at = self._at(W)
        found = self._plain(at.gamma).phi_derivative(W, Z)
        for image, direction in zip(found, np.asarray(Z)):
            change = self._plain(self._gamma_derivative(W, at, direction))
            image += change.objective_and_gradient(W)[1]
        return found

    def gradient_derivative(self, W, Z):
        """As `Problem.gradient_derivative`, the change of the degrees included."""
        at = self._at(W)
        change = self._plain(self._gamma_derivative(W, at, Z))
        along = self._plain(at.gamma).gradient_derivative(W, Z)
        return along + change.objective_and_gradient(W)[1]

    # ------------------------------------------------------------ what they share

    def forget(self):
        """Free what is kept at the last W, which has the size of K."""
        self._memory.clear()

    def _at(self, W):
        """Everything at W that the gradient and the second order share; the last is kept."""
        W = np.ascontiguousarray(W)
        key = W.shape, W.dtype.str, W.tobytes()
        if key not in self._memory:
            self._memory.clear()
            self._memory[key] = self._computed(W)
        return self._memory[key]

    def _computed(self, W):
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

    def _gamma_derivative(self, W, at, direction):
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


def _both_ways(A, B, s):
    """A diag(s) B' + B diag(s) A' for A, B of shape (n, m), as a difference of squares."""
    size = np.linalg.norm(A)
    balance = np.sqrt(np.linalg.norm(B) / size) if size else 1.0
    A, B = A * balance, B / balance
    s = np.broadcast_to(np.asarray(s, float), A.shape[1:])
    return Gamma(np.hstack([A + B, A - B]), np.r_[s, -s] / 2)


def check_gamma(name, gamma, n):
    """A ValueError unless `gamma` is low-rank and for n samples."""
    if not isinstance(gamma, Gamma):
        raise ValueError(f"{name} must be a Gamma(F, s), got {type(gamma).__name__}")
    if gamma.n != n:
        raise ValueError(f"{name} is for {gamma.n} samples but X has {n}")
