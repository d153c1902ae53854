"""The ISM family: a kernel is a formula ``f(beta)`` and the kind of pair it looks at.

``beta = a' W W' b`` with ``(a, b) = (x_i, x_j)`` ("inner") or both ``x_i - x_j``
("difference"). Every other quantity of the book is derived from that one formula.
Here f is a similarity: ISM keeps the largest algebraic eigenvalues.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_array, check_random_state

PAIRS = ("inner", "difference")


class ConstantKernelError(ValueError):
    """The kernel does not vary on the data, so that nothing can be learnt from it.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from ismlit.kernels import ConstantKernelError, Gaussian, median_distance
    >>> from ismlit.reduction import SupervisedIKDR
    >>> X, y = load_wine(return_X_y=True)
    >>> try:
    ...     model = SupervisedIKDR(2, kernel=Gaussian(1e-3)).fit(X, y)
    ... except ConstantKernelError:
    ...     model = SupervisedIKDR(2, kernel=Gaussian(median_distance(X))).fit(X, y)
    >>> round(model.kernel_.sigma)
    280
    """


class Kernel:
    """A kernel ``k(x, y) = f(beta)``; the base of the family and the way to define your own.

    Parameters
    ----------
    f : callable ``f(beta, xp)``
        The formula, written with the functions of ``xp`` (numpy, sympy, or another array
        library), e.g. ``lambda beta, xp: 1 / (1 + beta)``. Its first two derivatives are
        derived by sympy on first use.
    pairs : {"inner", "difference"}
        Whether beta is ``x' W W' y`` or ``(x - y)' W W' (x - y)``.
    name : str, optional
        Shown in the repr.

    Notes
    -----
    Claims: def-9 (the family), tab-C.1 (its members). A subclass is a frozen
    dataclass that defines `f` and `pairs`; `df` and `d2f` are optional faster forms.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Kernel
    >>> kernel = Kernel(lambda beta, xp: 1 / (1 + beta), name="rational")
    >>> kernel.f(np.array([0.0, 1.0, 4.0]))
    array([1. , 0.5, 0.2])
    >>> kernel.df(np.array([0.0, 1.0, 4.0]))  # derived by sympy
    array([-1.  , -0.25, -0.04])
    """

    pairs: str = "difference"

    def __init__(self, f, pairs="difference", name="user kernel"):
        if not callable(f):
            raise TypeError(f"f must be a function of (beta, xp), got {type(f).__name__}")
        if pairs not in PAIRS:
            raise ValueError(
                f"pairs of kernel {name!r} must be one of {PAIRS}, got {pairs!r}; "
                "use 'difference' when f depends on x - y"
            )
        self._f, self.pairs, self.name = f, pairs, name

    def f(self, beta, xp=np):
        """The kernel value at `beta` (any shape)."""
        return self._f(beta, xp)

    def df(self, beta, xp=np):
        """First derivative of f; derived by sympy unless a subclass has a faster form."""
        return self._derivative(1, beta, xp)

    def d2f(self, beta, xp=np):
        """Second derivative of f; derived by sympy unless a subclass has a faster form."""
        return self._derivative(2, beta, xp)

    def _derivative(self, order, beta, xp):
        expression, symbol = _symbolic_derivative(self, order)
        if xp is not np:
            return expression.subs(symbol, beta)
        values = self._compiled[order](beta)
        beta = np.asarray(beta)
        return np.broadcast_to(np.asarray(values, dtype=_float(beta)), beta.shape)

    @cached_property
    def _compiled(self):
        import sympy as sp

        pairs = {order: _symbolic_derivative(self, order) for order in (1, 2)}
        return {order: sp.lambdify(b, e, "numpy", cse=True) for order, (e, b) in pairs.items()}

    def __getstate__(self):  # compiled functions do not pickle; they are rebuilt on use
        return {key: value for key, value in self.__dict__.items() if key != "_compiled"}

    def __setstate__(self, state):
        self.__dict__.update(state)

    def terms(self):
        """The kernel as ``[(weight, kernel), ...]`` of single formulas."""
        return [(1.0, self)]

    def scale(self, n):
        """Per-sample factors u (shape (n,)) such that f sees ``u_i u_j beta_ij``, or None."""
        return None

    def __add__(self, other):
        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum(tuple(self.terms()) + tuple(other.terms()))

    def __mul__(self, weight):
        if isinstance(weight, Kernel):
            raise TypeError("a product of kernels is not in the ISM family; only sums are")
        return Sum(tuple((weight * w, kernel) for w, kernel in self.terms()))

    __rmul__ = __mul__

    def __repr__(self):
        return f"Kernel({self.name}, pairs={self.pairs!r})"


@lru_cache(maxsize=64)
def _symbolic_derivative(kernel, order):
    import sympy as sp

    symbol = sp.Symbol("beta", nonnegative=True) if kernel.pairs == "difference" else None
    symbol = symbol or sp.Symbol("beta", real=True)
    try:
        derivative = sp.diff(kernel.f(symbol, symbolic_functions()), symbol, order)
        if derivative.has(sp.DiracDelta, sp.Subs, sp.zoo, sp.nan):
            raise TypeError("f has a kink")
    except (TypeError, AttributeError) as error:
        raise TypeError(
            f"the derivatives of {kernel!r} could not be derived ({error}): write f with the "
            "functions of xp, twice differentiable, or subclass Kernel and give df and d2f"
        ) from error
    return derivative, symbol


@lru_cache(maxsize=1)
def symbolic_functions():
    """A stand-in for numpy that answers with sympy's functions under numpy's names."""
    import sympy as sp

    class SymbolicFunctions:
        _renamed = {"abs": "Abs", "arctan": "atan", "arcsin": "asin", "arccos": "acos"}
        _renamed |= {"power": "Pow", "maximum": "Max", "minimum": "Min"}

        log1p = staticmethod(lambda x: sp.log(1 + x))
        expm1 = staticmethod(lambda x: sp.exp(x) - 1)
        square = staticmethod(lambda x: x**2)

        def __getattr__(self, name):
            return getattr(sp, self._renamed.get(name, name))

    return SymbolicFunctions()


def _float(array):
    return array.dtype if array.dtype.kind == "f" else np.float64


def _check_positive(kernel, name):
    value = getattr(kernel, name)
    if hasattr(value, "free_symbols"):  # a symbolic parameter
        return
    number = isinstance(value, int | float | np.number)
    if not (number and value > 0 and np.isfinite(value) and value**2 > 0):
        raise ValueError(
            f"{name} of {type(kernel).__name__} must be positive and finite, got {value!r}; "
            "median_distance(X) is a usual bandwidth"
        )


@dataclass(frozen=True)
class Linear(Kernel):
    """f(beta) = beta on inner products. Claims: tab-5.3-linear, eq-C.1.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Linear, ism
    >>> from ismlit.gamma import supervised
    >>> X, y = load_wine(return_X_y=True)
    >>> ism(scale(X), supervised(y), Linear(), 2).n_iter  # Phi is the same for every W
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
    >>> from ismlit import Linear, Squared, ism
    >>> from ismlit.gamma import supervised
    >>> from ismlit.grassmann import projector_distance
    >>> X, y = load_wine(return_X_y=True)
    >>> W1, W2 = (ism(scale(X), supervised(y), kernel, 2).W for kernel in (Squared(), Linear()))
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
    >>> from ismlit import Polynomial, ism
    >>> from ismlit.gamma import supervised
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> W = ism(X - X.mean(axis=0), supervised(X[:, 1] * X[:, 3] > 0), Polynomial(2), 2).W
    >>> np.flatnonzero(np.linalg.norm(W, axis=1) > 0.8).tolist()
    [1, 3]
    """

    degree: int = 3
    c: float = 1.0
    pairs = "inner"

    def __post_init__(self):
        if hasattr(self.degree, "free_symbols") or hasattr(self.c, "free_symbols"):
            return
        if not (self.degree >= 1 and self.degree % 1 == 0):
            raise ValueError(f"degree must be an integer of at least 1, got {self.degree!r}")
        if not np.isfinite(self.c):
            raise ValueError(f"c must be finite, got {self.c!r}")

    def f(self, beta, xp=np):
        return _power(beta + self.c, self.degree)

    def df(self, beta, xp=np):
        return self.degree * _power(beta + self.c, self.degree - 1)

    def d2f(self, beta, xp=np):
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


@dataclass(frozen=True)
class Gaussian(Kernel):
    """f(beta) = exp(-beta / (2 sigma^2)) on differences. Claims: tab-5.3-gaussian, eq-C.3.

    sigma is in the units of the projected data.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Gaussian, ism
    >>> from ismlit.datasets import make_rings
    >>> from ismlit.gamma import supervised
    >>> from ismlit.grassmann import principal_angles
    >>> X, y, plane = make_rings(d=4, random_state=0)
    >>> W = ism(X, supervised(y), Gaussian(0.5), 2).W
    >>> bool(np.degrees(principal_angles(W, plane)[0]) < 5)
    True
    """

    sigma: float
    pairs = "difference"

    def __post_init__(self):
        _check_positive(self, "sigma")

    def f(self, beta, xp=np):
        return xp.exp(-beta / (2 * self.sigma**2))

    def df(self, beta, xp=np):
        return -self.f(beta, xp) / (2 * self.sigma**2)

    def d2f(self, beta, xp=np):
        return self.f(beta, xp) / (4 * self.sigma**4)


@dataclass(frozen=True)
class Multiquadratic(Kernel):
    """f(beta) = -sqrt(beta + c^2) on differences. Claims: tab-5.3-multiquadratic, eq-C.5.

    Conditionally positive definite; the thesis prints the opposite sign. c > 0, since at
    c = 0 the formula has no derivative at beta = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.kernels import Multiquadratic, gram
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


@dataclass(frozen=True, eq=False)
class RelativeGaussian(Kernel):
    """exp(-beta / (2 sigma_i sigma_j)): one bandwidth per sample. Claims: eq-C.15, eq-C.39.

    Parameters
    ----------
    sigmas : array of shape (n,)
        Bandwidths of the n samples; `nearest_neighbour_distance` is the usual choice. The
        formula itself is exp(-beta/2), applied to ``beta / (sigma_i sigma_j)``.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.kernels import RelativeGaussian, gram, nearest_neighbour_distance
    >>> X = np.array([[0.0], [1.0], [10.0], [20.0]])  # a close pair and a wide one
    >>> gram(RelativeGaussian(nearest_neighbour_distance(X, 1)), X).round(2)
    array([[1.  , 0.61, 0.  , 0.  ],
           [0.61, 1.  , 0.01, 0.  ],
           [0.  , 0.01, 1.  , 0.57],
           [0.  , 0.  , 0.57, 1.  ]])
    """

    sigmas: Any
    pairs = "difference"

    def __post_init__(self):
        sigmas = np.array(self.sigmas, dtype=float)
        if sigmas.ndim != 1 or not (np.isfinite(sigmas).all() and (sigmas > 0).all()):
            raise ValueError(
                "sigmas must be a 1-D array of positive, finite bandwidths, one per sample; got "
                f"shape {sigmas.shape} with smallest value {sigmas.min() if sigmas.size else None}"
            )

    def f(self, beta, xp=np):
        return xp.exp(-beta / 2)

    def df(self, beta, xp=np):
        return -self.f(beta, xp) / 2

    def d2f(self, beta, xp=np):
        return self.f(beta, xp) / 4

    def scale(self, n):
        sigmas = np.asarray(self.sigmas, dtype=float)
        if len(sigmas) != n:
            raise ValueError(
                f"RelativeGaussian has {len(sigmas)} bandwidths but is used on {n} samples; "
                "it needs exactly one per sample"
            )
        return 1 / sigmas

    def __repr__(self):
        return f"RelativeGaussian({len(np.asarray(self.sigmas))} bandwidths)"


@dataclass(frozen=True, repr=False)
class Sum(Kernel):
    """A conic combination of kernels, e.g. ``2 * Gaussian(1.0) + Polynomial(3)``.

    Claims: prop-1 (it stays in the family), cor-1 (its Phi is the same combination of Phis).
    """

    parts: tuple

    def __post_init__(self):
        for weight, _ in self.parts:
            if isinstance(weight, int | float | np.number) and not (0 <= weight < np.inf):
                raise ValueError(
                    "a conic combination needs finite weights of at least 0, got "
                    f"{weight!r}; a negative weight can destroy positive definiteness"
                )

    @property
    def pairs(self):
        kinds = {kernel.pairs for _, kernel in self.parts}
        return kinds.pop() if len(kinds) == 1 else "mixed"

    def terms(self):
        return list(self.parts)

    def _combined(self, name, beta, xp):
        relative = any(type(kernel).scale is not Kernel.scale for _, kernel in self.parts)
        if self.pairs == "mixed" or relative:
            raise ValueError(
                f"the parts of {self!r} look at different betas, so the sum has no single one; "
                "use terms() and evaluate each part on its own beta, as gram() does"
            )
        return sum(weight * getattr(kernel, name)(beta, xp) for weight, kernel in self.parts)

    def f(self, beta, xp=np):
        return self._combined("f", beta, xp)

    def df(self, beta, xp=np):
        return self._combined("df", beta, xp)

    def d2f(self, beta, xp=np):
        return self._combined("d2f", beta, xp)

    def __repr__(self):
        return " + ".join(f"{weight:g}*{kernel!r}" for weight, kernel in self.parts)


# ---------------------------------------------------------------- values on data


def betas(pairs, left, right):
    """All beta between rows of two projected samples ``left = XW`` (n, q), ``right`` (m, q).

    Shape (n, m). Differences are clipped at 0, where rounding could leave -1e-16.
    """
    inner = left @ right.T
    if pairs == "inner":
        return inner
    inner *= -2  # in place: the solver calls this for every tile
    inner += np.einsum("ij,ij->i", left, left)[:, None]
    inner += np.einsum("ij,ij->i", right, right)
    return np.maximum(inner, 0, out=inner)


def squared_distances(Z):
    """Squared distances of the rows of Z (n, q): exactly 0 where they are mere rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.kernels import squared_distances
    >>> squared_distances(1e9 + np.array([[0.0], [1.0], [5.0]]))  # a far origin costs no digits
    array([[ 0.,  1., 25.],
           [ 1.,  0., 16.],
           [25., 16.,  0.]])
    """
    Z = Z - Z.mean(axis=0)
    squares, sizes = betas("difference", Z, Z), np.einsum("ij,ij->i", Z, Z)
    squares[squares <= 1e-13 * (sizes[:, None] + sizes)] = 0
    np.fill_diagonal(squares, 0)
    return squares


def gram(kernel, X, W=None, X2=None):
    """Gram matrix K of shape (n, m) between X (n, d) and X2 (m, d; default X), seen through W.

    ``W`` (d, q) is the projection, identity when None. Dense: meant for theory and small n;
    the solver never forms it.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.kernels import Gaussian, gram
    >>> X = np.array([[0.0, 7.0], [1.0, -3.0]])
    >>> gram(Gaussian(1.0), X).round(2)
    array([[1., 0.],
           [0., 1.]])
    >>> gram(Gaussian(1.0), X, W=np.array([[1.0], [0.0]])).round(2)  # the first feature alone
    array([[1.  , 0.61],
           [0.61, 1.  ]])
    """
    X = np.asarray(X)
    project = lambda A: A if W is None else A @ W
    mean = X.mean(axis=0)  # differences do not see it, and round less without it
    pairs = {
        "inner": (project(X), project(X if X2 is None else X2)),
        "difference": (project(X - mean), project((X if X2 is None else X2) - mean)),
    }
    total = 0
    for weight, part in kernel.terms():
        beta = betas(part.pairs, *pairs[part.pairs])
        if X2 is None and part.pairs == "difference":
            np.fill_diagonal(beta, 0)
        u = part.scale(len(X))
        if u is not None:
            if X2 is not None:
                raise ValueError("RelativeGaussian has bandwidths for one sample only: omit X2")
            beta = beta * np.outer(u, u)
        total = total + weight * part.f(beta)
    return total


# ---------------------------------------------------------------- bandwidths


def _distances(X):
    """All distances of the rows of X, centred first so that a far origin costs no digits."""
    return pairwise_distances(X - X.mean(axis=0))


def median_distance(X, *, over="all", max_samples=5000, random_state=0):
    """Median pairwise Euclidean distance of the rows of X (n, d), in the units of X.

    Parameters
    ----------
    over : {"all", "distinct"}
        "all": over all n^2 entries of the distance matrix, its n zeros included, as the
        thesis's code does; "distinct": over the n(n-1)/2 pairs i < j, a little larger.
    max_samples : int
        With more rows, a random subset of this size is used (seeded by `random_state`).

    Raises
    ------
    ValueError
        If X has fewer than two rows, or the median is 0 (most rows are duplicates).

    Examples
    --------
    >>> from ismlit.kernels import median_distance
    >>> X = [[0.0], [1.0], [3.0]]
    >>> round(median_distance(X), 2), round(median_distance(X, over="distinct"), 2)
    (1.0, 2.0)
    """
    if over not in ("all", "distinct"):
        raise ValueError(f"over must be 'all' or 'distinct', got {over!r}")
    X = check_array(X, dtype=(np.float64, np.float32), ensure_min_samples=2)
    if len(X) > max_samples:
        rng = check_random_state(random_state)
        X = X[rng.choice(len(X), max_samples, replace=False)]
    distances = _distances(X)
    pairs = distances if over == "all" else distances[np.triu_indices(len(X), 1)]
    median = float(np.median(pairs))
    if median == 0:
        raise ValueError(
            "the median distance is 0: at least half of all pairs of rows coincide; "
            "remove duplicate rows or give sigma yourself"
        )
    return median


def nearest_neighbour_distance(X, k=7):
    """Distance of each row of X (n, d) to its k-th neighbour, shape (n,): local bandwidths.

    Examples
    --------
    >>> from ismlit.kernels import nearest_neighbour_distance
    >>> nearest_neighbour_distance([[0.0], [1.0], [3.0], [7.0]], k=1).round(2)
    array([1., 1., 2., 4.])
    """
    X = check_array(X, ensure_min_samples=k + 1)
    return np.sort(_distances(X), axis=1)[:, k]


def max_separation(X, y, *, bounds=(0.05, 20.0)):
    """Bandwidth that separates the classes best on average. Claim: eq-D.165 (thesis D.11).

    Maximises (mean kernel value within classes) - (mean between classes), self-pairs
    included as in the thesis. `bounds` are multiples of the median distance; the global
    maximum over a log grid is refined by a bounded search.

    Raises
    ------
    ValueError
        If y has one class only.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ismlit.kernels import max_separation, median_distance
    >>> X, y = load_iris(return_X_y=True)
    >>> round(max_separation(X, y), 2), round(median_distance(X), 2)
    (1.42, 2.33)
    """
    X = check_array(X, ensure_min_samples=2)
    y = np.asarray(y)
    same = y[:, None] == y
    if same.all():
        raise ValueError("max_separation needs at least two classes in y, got one")
    low, high = median_distance(X) * np.asarray(bounds)
    score = lambda K: separation(K, same)
    return best_bandwidth(_distances(X) ** 2, score, low, high, 60, 1e-5)[0]


def separation(K, same):
    """Mean of K over the pairs of one class, `same` (n, n), minus that over the others.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ismlit.kernels import Gaussian, gram, separation
    >>> X, y = load_iris(return_X_y=True)
    >>> same = y[:, None] == y
    >>> [round(separation(gram(Gaussian(sigma), X), same), 2) for sigma in (0.1, 1.0, 10.0)]
    [0.03, 0.55, 0.06]
    """
    return float(K[same].mean() - K[~same].mean())


def best_bandwidth(squares, score, low, high, grid=26, tol=1e-2):
    """The sigma in [low, high] whose Gaussian Gram matrix K scores best, and its score.

    squares (n, n): squared distances. ``score(K)`` is maximised over a log grid, then by a
    bounded search between the neighbours of the best point, to `tol` in log sigma.

    Raises
    ------
    ValueError
        If the score is not finite somewhere on the grid.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ismlit.gamma import normalized_hsic
    >>> from ismlit.kernels import best_bandwidth, squared_distances
    >>> X, y = load_iris(return_X_y=True)
    >>> score = lambda K: normalized_hsic(K, y)
    >>> sigma, value = best_bandwidth(squared_distances(X), score, 0.1, 10.0)
    >>> round(sigma, 1), round(value, 2)
    (1.3, 0.8)
    """
    from scipy.optimize import minimize_scalar

    loss = lambda log_sigma: -score(np.exp(-squares / (2 * np.exp(2 * log_sigma))))
    points = np.linspace(np.log(low), np.log(high), grid)
    losses = [loss(point) for point in points]
    if not np.isfinite(losses).all():
        raise ValueError("the score of a bandwidth is not finite: check the squared distances")
    k = int(np.argmin(losses))
    around = points[max(k - 1, 0)], points[min(k + 1, grid - 1)]
    found = minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": tol})
    value, place = min((losses[k], points[k]), (found.fun, found.x))
    return float(np.exp(place)), -float(value)


KERNELS = {
    "linear": lambda X: Linear(),
    "squared": lambda X: Squared(),
    "polynomial": lambda X: Polynomial(),
    "gaussian": lambda X: Gaussian(median_distance(X)),
    "multiquadratic": lambda X: Multiquadratic(),
    "relative_gaussian": lambda X: RelativeGaussian(nearest_neighbour_distance(X)),
}


def as_kernel(kernel, X):
    """A kernel from an object of the family, or from one of the names in `KERNELS` and data X."""
    if isinstance(kernel, Kernel):
        return kernel
    if kernel in KERNELS:
        return KERNELS[kernel](X)
    raise ValueError(f"kernel must be a Kernel or one of {sorted(KERNELS)}, got {kernel!r}")
