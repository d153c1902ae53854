"""The kernels of the family that have a name, each a formula with its derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ismlit.kernels._base import Kernel, Multiples, _check_positive, _is_number, _is_symbolic


@dataclass(frozen=True)
class Linear(Kernel):
    """The linear kernel, the inner product of two samples: f(beta) = beta.

    See Also
    --------
    Squared : Gives the same W where Gamma is centred.

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

    def __init__(self) -> None: ...

    def f(self, beta: Any, xp: Any = np) -> Any:
        return 1 * beta

    def df(self, beta: Any, xp: Any = np) -> Any:
        return beta * 0 + 1

    def d2f(self, beta: Any, xp: Any = np) -> Any:
        return beta * 0


@dataclass(frozen=True)
class Squared(Kernel):
    """Minus the squared distance of two samples: f(beta) = -beta on differences.

    The thesis prints +beta, which is a distance and no similarity. The negative is conditionally
    positive definite, which is enough wherever Gamma is centred.

    See Also
    --------
    Linear : Gives the same W where Gamma is centred.

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

    def __init__(self) -> None: ...

    def f(self, beta: Any, xp: Any = np) -> Any:
        return -beta

    def df(self, beta: Any, xp: Any = np) -> Any:
        return beta * 0 - 1

    def d2f(self, beta: Any, xp: Any = np) -> Any:
        return beta * 0


@dataclass(frozen=True)
class Polynomial(Kernel):
    """The polynomial kernel: f(beta) = (beta + c)^degree on inner products.

    It changes when all samples are moved by the same vector. So centre the columns of X first, as
    every estimator of this package does.

    Parameters
    ----------
    degree : int, default=3
        At least 1.
    c : float, default=1.0
        The constant, which weighs the lower powers.

    Raises
    ------
    ValueError
        If degree is not a whole number of at least 1, or c is not a finite number.

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

    def f(self, beta: Any, xp: Any = np) -> Any:
        return _power(beta + self.c, self.degree)

    def df(self, beta: Any, xp: Any = np) -> Any:
        return self.degree * _power(beta + self.c, self.degree - 1)

    def d2f(self, beta: Any, xp: Any = np) -> Any:
        if self.degree == 1:
            return beta * 0
        return self.degree * (self.degree - 1) * _power(beta + self.c, self.degree - 2)


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

    rate: Any

    def f(self, beta: Any, xp: Any = np) -> Any:
        return xp.exp(beta * -self.rate)

    def df(self, beta: Any, xp: Any = np) -> Any:
        return self.f(beta, xp) * -self.rate

    def d2f(self, beta: Any, xp: Any = np) -> Any:
        return self.f(beta, xp) * self.rate**2

    @property
    def argument(self) -> float:  # type: ignore[override]
        return -float(self.rate)

    def f_and_derivatives(self, beta: Any, orders: Sequence[int]) -> Multiples:
        values = np.exp(beta, out=beta)  # one for all orders
        return [(self.argument**order, values) for order in orders]


@dataclass(frozen=True)
class Gaussian(_Exponential):
    """The Gaussian kernel: f(beta) = exp(-beta / (2 sigma^2)) on differences.

    It is near 1 for two samples that are much closer than sigma, and near 0 for two that are much
    farther apart.

    Parameters
    ----------
    sigma : float
        The bandwidth, above 0, in the units of the projected data.

    Raises
    ------
    ValueError
        If sigma is not a positive, finite number.

    See Also
    --------
    ismlit.median_distance : The usual bandwidth.
    RelativeGaussian : One bandwidth for each sample.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Gaussian, ism, label_gamma
    >>> from ismlit.datasets import make_rings
    >>> from scipy.linalg import subspace_angles
    >>> X, y, plane = make_rings(d=4, random_state=0)
    >>> W = ism(X, label_gamma(y), Gaussian(0.5), 2).W
    >>> bool(np.degrees(subspace_angles(W, plane)[0]) < 5)
    True
    """

    sigma: float
    pairs = "difference"
    tends_to_one = True

    def __post_init__(self):
        _check_positive(self, "sigma")

    @property
    def rate(self) -> float:  # type: ignore[override]
        """The number that beta is multiplied by in the exponent, up to its sign."""
        return 1 / (2 * self.sigma**2)

    def with_bandwidth(self, sigma: float) -> Gaussian:
        """Return the kernel of x / sigma, a Gaussian as well.

        Parameters
        ----------
        sigma : float
            What the bandwidth is multiplied by.

        Returns
        -------
        Gaussian
            A new one.
        """
        return Gaussian(self.sigma * sigma)


@dataclass(frozen=True)
class Multiquadratic(Kernel):
    """The negative multiquadratic kernel: f(beta) = -sqrt(beta + c^2) on differences.

    It falls with the distance as a straight line does, so that far samples still count. It is
    conditionally positive definite; the thesis prints the opposite sign, which is a distance.

    Parameters
    ----------
    c : float, default=1.0
        Above 0, in the units of the projected data. The formula would have no
        derivative at beta = 0 if c were 0.

    Raises
    ------
    ValueError
        If c is not a positive, finite number.

    References
    ----------
    Hardy 1971, Multiquadric equations of topography and other irregular surfaces.

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

    def f(self, beta: Any, xp: Any = np) -> Any:
        return -xp.sqrt(beta + self.c**2)

    def df(self, beta: Any, xp: Any = np) -> Any:
        return -0.5 / xp.sqrt(beta + self.c**2)

    def d2f(self, beta: Any, xp: Any = np) -> Any:
        return 0.25 / xp.sqrt(beta + self.c**2) ** 3

    def f_and_derivatives(self, beta: Any, orders: Sequence[int]) -> Multiples:
        beta += self.c**2
        root = np.sqrt(beta, out=beta)
        inverse = 1 / root if max(orders) else root
        forms = (
            lambda: (-1.0, root),
            lambda: (-0.5, inverse),
            lambda: (0.25, inverse * inverse * inverse),
        )
        return [forms[order]() for order in orders]


@dataclass(frozen=True, eq=False)
class RelativeGaussian(_Exponential):
    """The self-tuning Gaussian kernel: exp(-beta / (2 sigma_i sigma_j)), one bandwidth per sample.

    Where samples lie dense their bandwidths are small, so that groups of different density are seen
    alike. The formula itself is exp(-beta/2), applied to ``beta / (sigma_i sigma_j)``.

    Parameters
    ----------
    sigmas : array of shape (n,)
        The positive bandwidths of the n samples, in the units of the projected data.
        `neighbour_distance` is the usual choice. The array is not copied.

    Raises
    ------
    ValueError
        If sigmas are not n positive, finite numbers.

    See Also
    --------
    Gaussian : One bandwidth for all.
    ismlit.bandwidth.neighbour_distance : The distance to the k-th neighbour of each row.

    References
    ----------
    Zelnik-Manor and Perona 2004, Self-tuning spectral clustering.

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

    def scale(self, n: int) -> np.ndarray:
        """Return the inverse bandwidths, by which beta is multiplied on either side.

        Parameters
        ----------
        n : int
            The number of samples that the kernel is used on.

        Returns
        -------
        array of shape (n,)
            The inverse bandwidths.

        Raises
        ------
        ValueError
            If there are more or fewer bandwidths than samples.
        """
        sigmas = self._bandwidths()
        if len(sigmas) != n:
            raise ValueError(
                f"RelativeGaussian has {len(sigmas)} bandwidths but is used on {n} samples; "
                "it needs exactly one per sample"
            )
        return 1 / sigmas

    def on(self, rows: slice | np.ndarray) -> RelativeGaussian:
        """Return the kernel with the bandwidths of some of the samples.

        Parameters
        ----------
        rows : array of int
            Which samples are kept.

        Returns
        -------
        RelativeGaussian
            The kernel for them.
        """
        return RelativeGaussian(np.asarray(self.sigmas)[rows])

    def __repr__(self):
        return f"RelativeGaussian({len(np.asarray(self.sigmas))} bandwidths)"
