"""The kernels of the family that have a name, each a formula with its derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ismlit.kernels._base import Kernel, _check_positive, _is_number, _is_symbolic


@dataclass(frozen=True)
class Linear(Kernel):
    """f(beta) = beta on inner products. Claims: tab-5.3-linear, eq-C.1.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Linear, ism, label_gamma
    >>> X, y = load_wine(return_X_y=True)
    >>> ism(scale(X), label_gamma(y), Linear(), 2).n_iter  # Phi is the same for every W
    0
    """

    pairs = "inner"

    def f(self, beta, xp=np):
        return 1 * beta

    def df(self, beta, xp=np):
        return beta * 0 + 1

    def d2f(self, beta, xp=np):
        return beta * 0


@dataclass(frozen=True)
class Squared(Kernel):
    """f(beta) = -beta on differences: minus the squared distance. Claim: tab-5.3-squared.

    The thesis prints +beta, which is a distance, not a similarity. The negative is
    conditionally positive definite, which suffices wherever Gamma is centred.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Linear, Squared, ism, label_gamma
    >>> from ismlit.geometry.frames import projector_distance
    >>> X, y = load_wine(return_X_y=True)
    >>> W1, W2 = (ism(scale(X), label_gamma(y), kernel, 2).W for kernel in (Squared(), Linear()))
    >>> projector_distance(W1, W2) < 1e-3  # where Gamma is centred, the two agree
    True
    """

    pairs = "difference"

    def f(self, beta, xp=np):
        return -beta

    def df(self, beta, xp=np):
        return beta * 0 - 1

    def d2f(self, beta, xp=np):
        return beta * 0


@dataclass(frozen=True)
class Polynomial(Kernel):
    """f(beta) = (beta + c)^degree on inner products. Claims: tab-5.3-polynomial, eq-C.2.

    Not invariant to translation: centre X first (every estimator of the package does).

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Polynomial, ism, label_gamma
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> W = ism(X - X.mean(axis=0), label_gamma(X[:, 1] * X[:, 3] > 0), Polynomial(2), 2).W
    >>> np.flatnonzero(np.linalg.norm(W, axis=1) > 0.8).tolist()
    [1, 3]
    """

    degree: int = 3
    c: float = 1.0
    pairs = "inner"

    def __post_init__(self):
        if _is_symbolic(self.degree) or _is_symbolic(self.c):
            return
        if not (_is_number(self.degree) and self.degree >= 1 and self.degree % 1 == 0):
            raise ValueError(f"degree must be an integer of at least 1, got {self.degree!r}")
        if not _is_number(self.c):
            raise ValueError(f"c must be a finite number, got {self.c!r}")

    def f(self, beta, xp=np):
        return _power(beta + self.c, self.degree)

    def df(self, beta, xp=np):
        return self.degree * _power(beta + self.c, self.degree - 1)

    def d2f(self, beta, xp=np):
        if self.degree == 1:
            return beta * 0
        return self.degree * (self.degree - 1) * _power(beta + self.c, self.degree - 2)

    def f_and_derivatives(self, beta, orders):
        if max(orders) > self.degree or self.degree > 8:
            return super().f_and_derivatives(beta, orders)
        beta += self.c
        powers, factors = {}, (1, self.degree, self.degree * (self.degree - 1))
        for order in sorted(set(orders), reverse=True):  # each from the one below
            lower = powers.get(order + 1)
            powers[order] = _power(beta, self.degree - order) if lower is None else lower * beta
        return [(float(factors[order]), powers[order]) for order in orders]


def _power(x, p):
    """x^p; for small whole p by products, which numpy does 20 times faster than its power."""
    if not (isinstance(p, int | np.integer) and 1 <= p <= 8):
        return x**p
    result = x
    for _ in range(p - 1):
        result = result * x
    return result


class _Exponential(Kernel):
    """f(beta) = exp(-rate beta), whose derivatives are multiples of itself."""

    def f(self, beta, xp=np):
        return xp.exp(-self.rate * beta)

    def df(self, beta, xp=np):
        return -self.rate * self.f(beta, xp)

    def d2f(self, beta, xp=np):
        return self.rate**2 * self.f(beta, xp)

    @property
    def argument(self):
        return -float(self.rate)

    def f_and_derivatives(self, beta, orders):
        values = np.exp(beta, out=beta)  # one exponential for all orders
        return [(self.argument**order, values) for order in orders]


@dataclass(frozen=True)
class Gaussian(_Exponential):
    """f(beta) = exp(-beta / (2 sigma^2)) on differences. Claims: tab-5.3-gaussian, eq-C.3.

    sigma is in the units of the projected data.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Gaussian, ism, label_gamma
    >>> from ismlit.datasets import make_rings
    >>> from ismlit.geometry.frames import principal_angles
    >>> X, y, plane = make_rings(d=4, random_state=0)
    >>> W = ism(X, label_gamma(y), Gaussian(0.5), 2).W
    >>> bool(np.degrees(principal_angles(W, plane)[0]) < 5)
    True
    """

    sigma: float
    pairs = "difference"
    tends_to_one = True

    def __post_init__(self):
        _check_positive(self, "sigma")

    @property
    def rate(self):
        return 1 / (2 * self.sigma**2)


@dataclass(frozen=True)
class Multiquadratic(Kernel):
    """f(beta) = -sqrt(beta + c^2) on differences. Claims: tab-5.3-multiquadratic, eq-C.5.

    Conditionally positive definite; the thesis prints the opposite sign. c > 0, since at
    c = 0 the formula has no derivative at beta = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Multiquadratic, gram
    >>> gram(Multiquadratic(3.0), np.array([[0.0], [4.0]]))
    array([[-3., -5.],
           [-5., -3.]])
    """

    c: float = 1.0
    pairs = "difference"

    def __post_init__(self):
        _check_positive(self, "c")

    def f(self, beta, xp=np):
        return -xp.sqrt(beta + self.c**2)

    def f_and_derivatives(self, beta, orders):
        beta += self.c**2
        root = np.sqrt(beta, out=beta)
        inverse = 1 / root if max(orders) else None
        forms = (
            lambda: (-1.0, root),
            lambda: (-0.5, inverse),
            lambda: (0.25, inverse * inverse * inverse),
        )
        return [forms[order]() for order in orders]


@dataclass(frozen=True, eq=False)
class RelativeGaussian(_Exponential):
    """exp(-beta / (2 sigma_i sigma_j)): one bandwidth per sample. Claims: eq-C.15, eq-C.39.

    Parameters
    ----------
    sigmas : array of shape (n,)
        Bandwidths of the n samples; `neighbour_distance` is the usual choice. The
        formula itself is exp(-beta/2), applied to ``beta / (sigma_i sigma_j)``.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import RelativeGaussian, gram
    >>> from ismlit.bandwidth import neighbour_distance
    >>> X = np.array([[0.0], [1.0], [10.0], [20.0]])  # a close pair and a wide one
    >>> gram(RelativeGaussian(neighbour_distance(X, 1)), X).round(2)
    array([[1.  , 0.61, 0.  , 0.  ],
           [0.61, 1.  , 0.01, 0.  ],
           [0.  , 0.01, 1.  , 0.57],
           [0.  , 0.  , 0.57, 1.  ]])
    """

    sigmas: Any
    pairs = "difference"
    rate = 0.5

    def __post_init__(self):
        sigmas = self._bandwidths()
        if sigmas.dtype == object:  # of symbols
            return
        if sigmas.ndim != 1 or not (np.isfinite(sigmas).all() and (sigmas > 0).all()):
            raise ValueError(
                "sigmas must be a 1-D array of positive, finite bandwidths, one per sample; got "
                f"shape {sigmas.shape} with smallest value {sigmas.min() if sigmas.size else None}"
            )

    def _bandwidths(self):
        """The bandwidths in double precision, or as they are if all are symbols."""
        sigmas = np.array(self.sigmas)
        symbolic = sigmas.size and all(map(_is_symbolic, sigmas.flat))
        return sigmas if symbolic else sigmas.astype(float)

    def scale(self, n):
        sigmas = self._bandwidths()
        if len(sigmas) != n:
            raise ValueError(
                f"RelativeGaussian has {len(sigmas)} bandwidths but is used on {n} samples; "
                "it needs exactly one per sample"
            )
        return 1 / sigmas

    def sample(self, rows):
        return RelativeGaussian(np.asarray(self.sigmas)[rows])

    def __repr__(self):
        return f"RelativeGaussian({len(np.asarray(self.sigmas))} bandwidths)"
