"""Random cases of a claim: sizes, kernels and weights of every kind, in turn.

A case takes from its `Draw` what it speaks of. What was taken is noted, so that the evidence can
say over which family it was drawn.
"""

from functools import cached_property

import numpy as np
from ismlit import (
    Gaussian,
    Kernel,
    Linear,
    Multiquadratic,
    Polynomial,
    RelativeGaussian,
    Squared,
)

from ismlit_book.record.statements import spoilt_arrays

SIZES = ((5, 2, 1), (8, 4, 2), (12, 5, 3))
"""Samples, features and components, in turn."""


def _own(beta, xp):
    return 1 / (1 + beta)


KERNELS = {
    "linear": lambda rng, n: Linear(),
    "squared": lambda rng, n: Squared(),
    "polynomial": lambda rng, n: Polynomial(int(rng.integers(2, 4)), rng.uniform(0.3, 1.5)),
    "gaussian": lambda rng, n: Gaussian(rng.uniform(0.8, 2.5)),
    "multiquadratic": lambda rng, n: Multiquadratic(rng.uniform(0.5, 1.5)),
    "relative": lambda rng, n: RelativeGaussian(rng.uniform(0.8, 2.0, n)),
    "own": lambda rng, n: Kernel(_own, pairs="difference", name="own"),
    "sum": lambda rng, n: 2 * Gaussian(rng.uniform(0.8, 2.0)) + 0.1 * Polynomial(2),
}
"""The family, with one kernel that a reader might bring and one sum of two kinds of pairs."""

GAMMAS = ("labels", "positive", "negative", "indefinite")
"""HSIC's centred weights of labels, semidefinite weights of either sign, and arbitrary ones."""


_STATIONARY = {}


class Draw:
    """One random case, the same for the same `index` and `seed`.

    Parameters
    ----------
    index : int
        Sizes, kernels and kinds of Gamma run through all their combinations with it.
    seed : int
    sizes : sequence of (n, d, q)
    kernels : sequence of str
        Names of `KERNELS`.
    spoil : str or None
        What `spoilable` does to its argument: "doubled", "negated", "transposed", "random".

    Attributes
    ----------
    n, d, q : int
        Samples, features, components.
    rng : numpy.random.Generator
        For everything else that a case needs.
    X : (n, d) array, off centre
    y : (n,) array of labels, two or three classes of at least two samples
    W : (d, q) array with orthonormal columns
    Z : (d, q) array, a tangent direction: W'Z = 0
    Gamma : (n, n) symmetric array, of the kinds `GAMMAS` in turn
    kernel : Kernel
    problem : ismlit.Problem of X, Gamma and the kernel

    Examples
    --------
    >>> from ismlit_book.record.draws import Draw
    >>> draw = Draw(1)
    >>> draw.n, draw.d, draw.q, draw.kernel, draw.X.shape
    (8, 4, 2, Linear(), (8, 4))
    """

    def __init__(self, index, seed=0, sizes=SIZES, kernels=tuple(KERNELS), spoil=None):
        index, size = divmod(index, len(sizes))
        gamma, kernel = divmod(index, len(kernels))
        self._size = sizes[size]
        self._kernel, self._gamma = kernels[kernel], GAMMAS[gamma % len(GAMMAS)]
        self._spoil = spoil
        self.seeds = np.random.SeedSequence([seed, size, index]).spawn(5)
        self.taken = {}
        self.offered = set()

    @property
    def was_read(self):
        """Whether a case has taken anything from it: sizes are noted, all else is kept."""
        kept = (getattr(type(self), name, None) for name in vars(self))
        return bool(self.taken) or any(isinstance(value, cached_property) for value in kept)

    def _take(self, what, value):
        self.taken[what] = value
        return value

    def _sized(self, k):
        return self._take("sizes", self._size)[k]

    n = property(lambda self: self._sized(0), doc="Samples.")
    d = property(lambda self: self._sized(1), doc="Features.")
    q = property(lambda self: self._sized(2), doc="Components.")

    @cached_property
    def rng(self):
        """A generator of the case's own."""
        return np.random.default_rng(self.seeds[0])

    @cached_property
    def X(self):
        """Samples off centre."""
        rng = np.random.default_rng(self.seeds[1])
        return rng.standard_normal((self.n, self.d)) + rng.uniform(-1, 1, self.d)

    @cached_property
    def y(self):
        """Labels of two or three classes."""
        rng = np.random.default_rng(self.seeds[2])
        n_classes = int(rng.integers(2, 4 if self.n >= 6 else 3))
        return rng.permutation(np.arange(self.n) % n_classes)

    @cached_property
    def W(self):
        """Orthonormal columns."""
        rng = np.random.default_rng(self.seeds[3])
        return np.linalg.qr(rng.standard_normal((self.d, self.q)))[0]

    @cached_property
    def Z(self):
        """A tangent direction at W."""
        Z = np.random.default_rng([*self.seeds[3].generate_state(1), 1]).standard_normal(
            self.W.shape
        )
        return Z - self.W @ (self.W.T @ Z)

    @cached_property
    def Gamma(self):
        """Symmetric weights."""
        from ismlit.gamma import label_gamma

        self._take("Gammas", self._gamma)
        if self._gamma == "labels":
            return label_gamma(self.y).to_dense()
        root = np.random.default_rng(self.seeds[4]).standard_normal((self.n, self.n))
        if self._gamma == "indefinite":
            return root + root.T
        return (1 if self._gamma == "positive" else -1) * root @ root.T / self.n

    @cached_property
    def kernel(self):
        """A kernel with random parameters."""
        self._take("kernels", self._kernel)
        rng = np.random.default_rng([*self.seeds[4].generate_state(1), 2])
        return KERNELS[self._kernel](rng, self._size[0])

    @cached_property
    def problem(self):
        """J and its derivatives for these samples, weights and kernel."""
        from ismlit.objectives.plain import Problem

        return Problem(self.X, self.Gamma, self.kernel)

    def gram(self, P):
        """K at any P = WW' (d, d), over all pairs from f alone: not by the library's passes."""
        inner, K = self.X @ P @ self.X.T, 0.0
        apart = np.maximum(np.diag(inner)[:, None] - inner - inner.T + np.diag(inner), 0)
        for weight, part in self.kernel.terms():
            beta = inner if part.pairs == "inner" else apart
            widths = part.scale(self.n)  # 1/sigma_i where each sample has its own
            K = K + weight * part.f(beta if widths is None else beta * np.outer(widths, widths))
        return K

    def objective(self, V):
        """J at any matrix V (d, q), by `gram`."""
        return np.sum(self.Gamma * self.gram(V @ V.T))

    def stationary(self):
        """`SecondOrder` at a point with Phi W = W Lambda, by Newton's method from W; or None.

        Of every kind: maxima, minima and saddles. The points of a draw are kept.
        """
        from ismlit.geometry.frames import geodesic
        from ismlit.geometry.second_order import SecondOrder

        key = (self.n, self.d, self.q, self._kernel, self._gamma, *self.seeds[0].entropy)
        if key in _STATIONARY:
            return _STATIONARY[key]
        V, _STATIONARY[key] = self.W, None
        for _ in range(40):
            phi = self.problem.phi(V)
            at = SecondOrder(self.problem, V, phi)
            slope = (at.W_bar.T @ phi @ at.W).ravel()
            if np.linalg.norm(slope) < 1e-12 * np.linalg.norm(phi):
                _STATIONARY[key] = at
                break
            z = np.linalg.lstsq(np.diag(at.kd) - at.m_dense(), slope)[0]
            z *= min(1, 0.5 / np.linalg.norm(z))
            V = geodesic(at.W, at.W_bar @ z.reshape(at.shape), 1)
        return _STATIONARY[key]

    def frame(self, d, q):
        """A random (d, q) array with orthonormal columns."""
        return np.linalg.qr(self.rng.standard_normal((d, q)))[0]

    def symmetric(self, d):
        """A random symmetric (d, d) array."""
        root = self.rng.standard_normal((d, d))
        return root + root.T

    def spoilable(self, array, invariant=()):
        """The array on which the claim rests; in a spoilt run doubled, negated, ... or random.

        The case must come out false for each of these in at least one draw. `invariant` names
        those that the claim truly does not see, such as the sign of an eigenvector.
        """
        options = {how: v for how, v in spoilt_arrays(array) if how not in invariant}
        self.offered |= set(options)
        return options.get(self._spoil, array) if self._spoil else array
