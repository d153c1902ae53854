"""The base of the family, and sums: a formula f(beta), and what beta is made of."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from inspect import signature

import numpy as np

PAIRS = ("inner", "difference")


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
    argument: float = 1.0  # by what beta comes multiplied to `f_and_derivatives`

    def __init__(self, f, pairs="difference", name="user kernel"):
        if not callable(f):
            raise TypeError(f"f must be a function of (beta, xp), got {type(f).__name__}")
        try:
            signature(f).bind(None, None)
        except TypeError:
            raise TypeError(
                "f must take (beta, xp), as in 'lambda beta, xp: xp.exp(-beta)', got a function "
                f"of {signature(f)}"
            ) from None
        if pairs not in PAIRS:
            raise ValueError(
                f"pairs of kernel {name!r} must be one of {PAIRS}, got {pairs!r}; "
                "use 'difference' when f depends on x - y"
            )
        self._f, self.pairs, self.name = f, pairs, name

    tends_to_one = False  # for all pairs, as its bandwidth grows: J is then the sum of Gamma

    @property
    def is_relative(self):
        """Whether it has a bandwidth for each of the samples it was made of."""
        return type(self).scale is not Kernel.scale

    def f(self, beta, xp=np):
        """The kernel value at `beta` (any shape)."""
        return self._f(beta, xp)

    def df(self, beta, xp=np):
        """First derivative of f; derived by sympy unless a subclass has a faster form."""
        return self._derivative(1, beta, xp)

    def d2f(self, beta, xp=np):
        """Second derivative of f; derived by sympy unless a subclass has a faster form."""
        return self._derivative(2, beta, xp)

    def f_and_derivatives(self, beta, orders):
        """f, f' or f'' for each of `orders` as pairs (number, array), whose product it is.

        `beta` (times `argument`) is scratch and is overwritten. A subclass whose derivatives are
        multiples of one array returns that array for each of them.
        """
        found = [(self.f, self.df, self.d2f)[order](beta) for order in orders]
        return [(1.0, np.require(values, requirements="W")) for values in found]

    def _derivative(self, order, beta, xp):
        expression, symbol = self._derived[order]
        if xp is not np:
            return expression.subs(symbol, beta)
        values = self._compiled[order](beta)
        beta = np.asarray(beta)
        return np.broadcast_to(np.asarray(values, dtype=_float(beta)), beta.shape)

    @cached_property
    def _derived(self):  # kept with the kernel, so that `set_params` drops it with the old formula
        return {order: _symbolic_derivative(self, order) for order in (1, 2)}

    @cached_property
    def _compiled(self):
        compiled = lambda e, b: _sympy().lambdify(b, e, "numpy", cse=True)
        return {order: compiled(*pair) for order, pair in self._derived.items()}

    def __getstate__(self):  # compiled functions do not pickle; they are derived again on use
        dropped = ("_derived", "_compiled")
        return {key: value for key, value in self.__dict__.items() if key not in dropped}

    def get_params(self, deep=True):
        """The parameters by name, so that a search reaches them, as in ``kernel__sigma``."""
        if is_dataclass(self):
            return {field.name: getattr(self, field.name) for field in fields(self)}
        return {"f": self._f, "pairs": self.pairs, "name": self.name}

    def set_params(self, **params):
        """Change parameters; scikit-learn's searches do so, on a copy of the kernel."""
        changed = type(self)(**self.get_params() | params)
        vars(self).clear()  # with what was derived from the old ones
        vars(self).update(vars(changed))
        return self

    def terms(self):
        """The kernel as ``[(weight, kernel), ...]`` of single formulas."""
        return [(1, self)]

    def scale(self, n):
        """Per-sample factors u (shape (n,)) such that f sees ``u_i u_j beta_ij``, or None."""
        return None

    def sample(self, rows):
        """The kernel for some of the samples; another one only if it has a factor for each."""
        return self

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


def _sympy():
    try:
        return import_module("sympy")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "sympy derives the slopes of a kernel of your own, and is not installed: pip install "
            "sympy, or subclass Kernel and give df and d2f"
        ) from error


def _symbolic_derivative(kernel, order):
    sp = _sympy()

    symbol = sp.Symbol("beta", nonnegative=True) if kernel.pairs == "difference" else None
    symbol = symbol or sp.Symbol("beta", real=True)
    try:
        derivative = sp.diff(kernel.f(symbol, symbolic_functions()), symbol, order)
        if derivative.has(sp.DiracDelta, sp.Subs, sp.zoo, sp.nan):
            raise TypeError("f has a kink")
    except (TypeError, AttributeError) as error:
        raise TypeError(
            f"the derivatives of {kernel!r} could not be derived ({error}): write f with the "
            "functions of xp (xp.sqrt, not np.sqrt), twice differentiable, or subclass Kernel and "
            "give df and d2f"
        ) from None
    return derivative, symbol


@lru_cache(maxsize=1)
def symbolic_functions():
    """A stand-in for numpy that answers with sympy's functions under numpy's names."""
    sp = _sympy()

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


def _is_symbolic(value):
    return hasattr(value, "free_symbols")


def _is_number(value):
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return number and bool(np.isfinite(value))


def _check_positive(kernel, name):
    value = getattr(kernel, name)
    if _is_symbolic(value):
        return
    if not (_is_number(value) and 1e-150 < value < 1e150):  # its square is one as well
        raise ValueError(
            f"{name} of {type(kernel).__name__} must be positive and finite, got {value!r}; "
            "median_distance(X) is a usual bandwidth"
        )


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

    def sample(self, rows):
        return Sum(tuple((weight, part.sample(rows)) for weight, part in self.parts))

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
        text = lambda weight: str(weight) if _is_symbolic(weight) else f"{weight:g}"
        return " + ".join(f"{text(weight)}*{kernel!r}" for weight, kernel in self.parts)
