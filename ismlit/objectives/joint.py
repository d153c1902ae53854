"""A clustering and a subspace as one objective of U and W."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ismlit.gamma import Gamma, embedding_gamma
from ismlit.kernels import Kernel
from ismlit.objectives.affinity import Affinity, check_normalize
from ismlit.objectives.normalized import NormalizedProblem, check_gamma
from ismlit.objectives.pairs import Count, Pairs
from ismlit.objectives.plain import Problem


@dataclass(frozen=True, eq=False)
class JointProblem:
    """max over W and orthonormal U of Tr(U' A_W U), and of what guides it.

    Parameters
    ----------
    X : array of shape (n, d)
    kernel : Kernel
    normalize : {"none", "degrees", "centred"}
        Which affinity A_W, see `Affinity`.
    guide : Gamma, optional
        Added to the part of U, and divided by the degrees as that is: labels to differ from
        (s < 0), as in KDAC (eq-3.2a).
    fixed : Gamma, optional
        Added without degrees, as the labels of semi-supervised clustering are.
    n_jobs : int, optional

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

    def __post_init__(self):
        check_normalize(self.normalize)
        X = Pairs(self.X, self.kernel).X
        object.__setattr__(self, "X", X)
        for name in ("guide", "fixed"):
            if getattr(self, name) is not None:
                check_gamma(name, getattr(self, name), len(X))

    @property
    def pairs(self):
        """K as an operator."""
        return Pairs(self.X, self.kernel, self.n_jobs, count=self.count)

    def affinity(self, W, away=None):
        """A_W, whose leading eigenvectors are the best U."""
        return Affinity(self.pairs, W, self.normalize, away)

    def given(self, U, K=None):
        """The problem of W, U (n, k) held; K at the W asked for first, if it is there."""
        uncentred = self.normalize == "degrees"
        gamma = Gamma(U, np.ones(U.shape[1])) if uncentred else embedding_gamma(U)
        gamma = gamma if self.guide is None else gamma + self.guide
        shared = dict(n_jobs=self.n_jobs, count=self.count)
        if self.normalize != "none":
            return NormalizedProblem(self.X, gamma, self.kernel, fixed=self.fixed, K=K, **shared)
        gamma = gamma if self.fixed is None else gamma + self.fixed
        return Problem(self.X, gamma, self.kernel, **shared)

    def sample(self, rows):
        """The same for some of the samples; what guides weighs as much beside U as before."""
        share = self.X.shape[0] / len(rows)
        of_k = share if self.normalize == "none" else share**2  # a trace with K grows with n
        return replace(
            self,
            X=self.X[rows],
            kernel=self.kernel.sample(rows),
            guide=None if self.guide is None else share * self.guide.sample(rows),
            fixed=None if self.fixed is None else of_k * self.fixed.sample(rows),
            count=Count(),
        )

    @property
    def avoided(self):
        """Directions (n, m) that the guide penalises, or None."""
        if self.guide is None or not (self.guide.s < 0).any():
            return None
        return self.guide.F[:, self.guide.s < 0]


class Envelope:
    """max over U of a `JointProblem`, as a function of W alone: an objective that can be climbed.

    Its gradient at W is that of the problem of W under the best U there (Danskin 1967), wherever
    the eigenvalues k and k + 1 of the affinity differ. Every value takes new eigenvectors.

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

    def __init__(self, joint, k):
        self.joint, self.k, self.count = joint, k, joint.count
        self.X, (self.n, self.d), self.dtype = joint.X, joint.X.shape, joint.X.dtype
        self.U, self.near, self.problem, self._key = None, None, None, None

    def problem_at(self, W):
        """The problem of W under the best U at W; the last is kept, as is its U."""
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

    def check_start(self, W, J, phi):
        """As for the problem of W under the best U there."""
        self.problem_at(W).check_start(W, J, phi)

    def objective(self, W):
        """The objective at W, with the best U there."""
        return self.problem_at(W).objective(W)

    def objective_and_gradient(self, W):
        """The objective, and half its Euclidean gradient (d, q)."""
        return self.problem_at(W).objective_and_gradient(W)

    def objective_and_phi(self, W):
        """The objective, and the Phi (d, d) of its gradient 2 Phi W."""
        return self.problem_at(W).objective_and_phi(W)
