"""The base of the family: a formula f(beta), what beta is made of, sums and products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError, dataclass, fields, is_dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from inspect import signature
from typing import Any, Self

import numpy as np

PAIRS = ("inner", "difference")
Formula = Callable[[Any, Any], Any]
Multiples = list[tuple[float, Any]]


class Kernel:
    """A kernel ``k(x, y) = f(beta)`` of your own, and the base of those that have a name.

    The number beta says how x and y lie to each other when they are seen through a projection W.
    It is either an inner product or a squared distance. A kernel cannot be changed once it is
    made; `with_params` gives another one.

    Parameters
    ----------
    f : callable ``f(beta, xp)``
        The formula, written with the functions of ``xp`` (numpy or sympy), for instance
        ``lambda beta, xp: 1 / (1 + beta)``. Sympy derives its first two derivatives when they are
        first needed.
    pairs : {"inner", "difference"}, default="difference"
        Whether beta is ``x' W W' y`` or ``(x - y)' W W' (x - y)``.
    name : str, default="user kernel"
        Shown in the repr.

    Attributes
    ----------
    argument : float
        `f_and_derivatives` gets beta multiplied by this number.
    tends_to_one : bool
        Whether f tends to 1 for all pairs as its bandwidth grows. J is then the sum of Gamma.

    Raises
    ------
    TypeError
        If f is not a function of ``(beta, xp)``.
    ValueError
        If `pairs` is neither of the two words.

    See Also
    --------
    Gaussian : The usual choice.
    ismlit.gram : The kernel of all pairs of rows.

    Notes
    -----
    A subclass is a frozen dataclass that defines `f` and `pairs`. Its `df` and `d2f` are optional
    faster forms.

    References
    ----------
    Wu, Miller, Chang, Sznaier and Dy 2019, Solving interpretable kernel dimensionality reduction.

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
    argument: float = 1.0
    tends_to_one: bool = False

    def __init__(self, f: Formula, pairs: str = "difference", name: str = "user kernel") -> None:
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
        vars(self).update(_f=f, pairs=pairs, name=name)

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(
            f"a kernel cannot be changed: kernel.with_params({name}={value!r}) gives another one"
        )

    @property
    def is_relative(self) -> bool:
        """Whether it has one bandwidth for each of the samples that it was made of."""
        return type(self).scale is not Kernel.scale

    def f(self, beta: Any, xp: Any = np) -> Any:
        """Return the kernel's value.

        Parameters
        ----------
        beta : array of any shape, or a sympy expression
            Inner products or squared distances, as `pairs` says.
        xp : module, default=numpy
            Whose functions the formula is evaluated with.

        Returns
        -------
        array of the shape of beta, or a sympy expression
            The values f(beta).
        """
        return vars(self)["_f"](beta, xp)

    def df(self, beta: Any, xp: Any = np) -> Any:
        """Return the first derivative of f.

        Sympy derives it, unless a subclass has a faster form.

        Parameters
        ----------
        beta : array of any shape, or a sympy expression
            Inner products or squared distances, as `pairs` says.
        xp : module, default=numpy
            Whose functions the formula is evaluated with.

        Returns
        -------
        array of the shape of beta, or a sympy expression
            The values f'(beta).
        """
        return self._derivative(1, beta, xp)

    def d2f(self, beta: Any, xp: Any = np) -> Any:
        """Return the second derivative of f.

        Sympy derives it, unless a subclass has a faster form.

        Parameters
        ----------
        beta : array of any shape, or a sympy expression
            Inner products or squared distances, as `pairs` says.
        xp : module, default=numpy
            Whose functions the formula is evaluated with.

        Returns
        -------
        array of the shape of beta, or a sympy expression
            The values f''(beta).
        """
        return self._derivative(2, beta, xp)

    def f_and_derivatives(self, beta: Any, orders: Sequence[int]) -> Multiples:
        """Return f, f' and f'' together, which can share work.

        A subclass whose derivatives are multiples of one array returns that array for each.

        Parameters
        ----------
        beta : array of any shape
            The betas times `argument`. This array is scratch, and is overwritten.
        orders : sequence of {0, 1, 2}
            Which derivatives are wanted.

        Returns
        -------
        list of (number, array)
            One pair for each order; the derivative is their product.
        """
        formulas = self.f, self.df, self.d2f
        return [(1.0, np.require(formulas[order](beta), requirements="W")) for order in orders]

    def _derivative(self, order, beta, xp):
        expression, symbol = self._derived[order]
        if xp is not np:
            return expression.subs(symbol, beta)
        if order not in self._compiled:
            self._compiled[order] = _sympy().lambdify(symbol, expression, "numpy", cse=True)
        beta = np.asarray(beta)
        values = np.asarray(self._compiled[order](beta), dtype=_float(beta))
        return np.broadcast_to(values, beta.shape)

    @cached_property
    def _derived(self):
        return {order: _symbolic_derivative(self, order) for order in (1, 2)}

    @cached_property
    def _compiled(self):
        return {}  # by order

    def __getstate__(self):  # Compiled functions do not pickle; they are derived again on use.
        dropped = ("_derived", "_compiled")
        return {key: value for key, value in self.__dict__.items() if key not in dropped}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        With them a search over an estimator reaches ``kernel__sigma``.

        Parameters
        ----------
        deep : bool, default=True
            There for scikit-learn; it makes no difference.

        Returns
        -------
        dict
            What the kernel was made with.
        """
        if is_dataclass(self):
            return {field.name: getattr(self, field.name) for field in fields(self)}
        return {name.lstrip("_"): vars(self)[name] for name in ("_f", "pairs", "name")}

    def with_params(self, **params: Any) -> Self:
        """Return a kernel of the same kind with other parameters.

        Parameters
        ----------
        **params : dict
            The parameters that differ, by name.

        Returns
        -------
        Kernel
            A new one; this one stays as it is.

        Raises
        ------
        ValueError
            If the kernel has no parameter of such a name.

        Examples
        --------
        >>> from ismlit import Gaussian
        >>> Gaussian(1.0).with_params(sigma=2.0)
        Gaussian(sigma=2.0)
        """
        current = self.get_params()
        if unknown := [name for name in params if name not in current]:
            raise ValueError(f"{self!r} has no parameter {unknown[0]!r}, only {[*current]}")
        return type(self)(**current | params)

    def with_bandwidth(self, sigma: float) -> Kernel:
        """Return the kernel of x / sigma: ``f(beta / sigma²)`` in place of ``f(beta)``.

        An estimator takes the method itself, ``kernel=own.with_bandwidth``, and finds sigma by its
        `bandwidth`.

        Parameters
        ----------
        sigma : float
            The bandwidth, in the units of the samples.

        Returns
        -------
        Kernel
            A new one; of a Gaussian another Gaussian.

        Raises
        ------
        ValueError
            If the kernel reads inner products, which know no distance, or has a bandwidth for each
            sample; or if sigma is not positive.

        Examples
        --------
        >>> from ismlit import Kernel
        >>> cauchy = Kernel(lambda beta, xp: 1 / (1 + beta), name="Cauchy")
        >>> cauchy.with_bandwidth(2.0).f(4.0)
        0.5
        """
        if self.pairs != "difference" or any(part.is_relative for _, part in self.terms()):
            raise ValueError(
                f"{self!r} has no one bandwidth: it must read differences, and have none for each "
                "sample"
            )
        return Scaled(self, sigma)

    def terms(self) -> list[tuple[Any, Kernel]]:
        """Return the kernel as a weighted sum of single formulas.

        Returns
        -------
        list of (weight, kernel)
            One entry, unless it is a `Sum`.
        """
        return [(1, self)]

    def scale(self, n: int) -> np.ndarray | None:
        """Return the factors by which a kernel with a bandwidth per sample multiplies beta.

        Parameters
        ----------
        n : int
            The number of samples that it is used on.

        Returns
        -------
        array of shape (n,), or None
            Numbers u such that f sees ``u_i u_j beta_ij``. None stands for all ones.
        """
        return None

    def on(self, rows: slice | np.ndarray) -> Kernel:
        """Return the kernel for some of the samples.

        Parameters
        ----------
        rows : array of int
            Which samples are kept.

        Returns
        -------
        Kernel
            Itself, unless it has a bandwidth for each sample.
        """
        return self

    def __add__(self, other):
        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum(tuple(self.terms()) + tuple(other.terms()))

    def __mul__(self, other):
        if not isinstance(other, Kernel):
            return Sum(tuple((other * weight, kernel) for weight, kernel in self.terms()))
        if not isinstance(self, Sum) and not isinstance(other, Sum):
            return Product(self, other)
        return Sum(tuple((a * b, Product(k, m)) for a, k in self.terms() for b, m in other.terms()))

    __rmul__ = __mul__

    def __repr__(self):
        return f"Kernel({self.name}, pairs={self.pairs!r})"


def _sympy():
    try:
        return import_module("sympy")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "sympy derives the slopes of a kernel of your own, and is not installed: pip install "
            "'ismlit[sympy]', or subclass Kernel and give df and d2f"
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
            "functions of xp (xp.sqrt, not np.sqrt), twice differentiable (a tiny number under a "
            "root smooths a kink: xp.sqrt(beta**2 + 1e-12) for abs(beta)), or subclass Kernel and "
            "give df and d2f"
        ) from None
    return derivative, symbol


@lru_cache(maxsize=1)
def symbolic_functions() -> Any:
    """Return a stand-in for numpy that has sympy's functions under numpy's names.

    Returns
    -------
    object
        What a formula gets as ``xp`` when it is to become a sympy expression.

    Examples
    --------
    >>> import sympy
    >>> from ismlit.kernels import Multiquadratic, symbolic_functions
    >>> Multiquadratic(2).f(sympy.Symbol("beta"), symbolic_functions())
    -sqrt(beta + 4)
    """
    sp = _sympy()

    class SymbolicFunctions:
        """Sympy's functions under numpy's names."""

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


@dataclass(frozen=True)
class Scaled(Kernel):
    """A kernel of differences seen at a bandwidth; `Kernel.with_bandwidth` makes it.

    Parameters
    ----------
    kernel : Kernel
        At bandwidth 1.
    sigma : float
        Positive.

    Raises
    ------
    ValueError
        If `sigma` is not positive and finite.

    Examples
    --------
    >>> from ismlit import Multiquadratic
    >>> Multiquadratic(1.0).with_bandwidth(2.0)
    Scaled(kernel=Multiquadratic(c=1.0), sigma=2.0)
    """

    kernel: Kernel
    sigma: float

    def __post_init__(self):
        _check_positive(self, "sigma")

    @property
    def tends_to_one(self) -> bool:  # type: ignore[override]
        """Whether f tends to 1 for all pairs as the bandwidth grows."""
        return self.kernel.tends_to_one

    def f(self, beta: Any, xp: Any = np) -> Any:
        """Return the values f(beta / sigma²).

        Parameters
        ----------
        beta : array or symbol
            Values of beta.
        xp : module, default=numpy
            What provides the functions.

        Returns
        -------
        array or expression
            Of beta's shape.
        """
        return self.kernel.f(beta / self.sigma**2, xp)

    def df(self, beta: Any, xp: Any = np) -> Any:
        """Return the first derivative in beta.

        Parameters
        ----------
        beta, xp : as for `f`

        Returns
        -------
        array or expression
            Of beta's shape.
        """
        return self.kernel.df(beta / self.sigma**2, xp) / self.sigma**2

    def d2f(self, beta: Any, xp: Any = np) -> Any:
        """Return the second derivative in beta.

        Parameters
        ----------
        beta, xp : as for `f`

        Returns
        -------
        array or expression
            Of beta's shape.
        """
        return self.kernel.d2f(beta / self.sigma**2, xp) / self.sigma**4


@dataclass(frozen=True, repr=False)
class Sum(Kernel):
    """A sum of kernels with weights of at least 0, which ``2 * Gaussian(1.0) + Linear()`` makes.

    It belongs to the family as its parts do: its Phi is the same weighted sum of theirs.

    Parameters
    ----------
    parts : tuple of (weight, kernel)
        The kernels, which may read different pairs, and their weights.

    Raises
    ------
    ValueError
        If a weight is negative or not finite.

    See Also
    --------
    Product : The product of two kernels.

    Examples
    --------
    >>> from ismlit import Gaussian, Linear
    >>> (2 * Gaussian(1.0) + Linear()).terms()
    [(2, Gaussian(sigma=1.0)), (1, Linear())]
    """

    parts: tuple

    def __post_init__(self):
        for weight, _ in self.parts:
            if isinstance(weight, int | float | np.number) and not (0 <= weight < np.inf):
                raise ValueError(
                    "a sum of kernels needs finite weights of at least 0, got "
                    f"{weight!r}; a negative weight can destroy positive definiteness"
                )

    @property
    def pairs(self) -> str:  # type: ignore[override]
        """The kind of pairs that all parts read, or "mixed"."""
        kinds = {kernel.pairs for _, kernel in self.parts}
        return kinds.pop() if len(kinds) == 1 else "mixed"

    def terms(self) -> list[tuple[Any, Kernel]]:
        """Return the parts.

        Returns
        -------
        list of (weight, kernel)
            The parts.
        """
        return list(self.parts)

    def on(self, rows: slice | np.ndarray) -> Sum:
        """Return the sum of what the parts are for some of the samples.

        Parameters
        ----------
        rows : array of int
            Which samples are kept.

        Returns
        -------
        Sum
            With the same weights.
        """
        return Sum(tuple((weight, part.on(rows)) for weight, part in self.parts))

    def _combined(self, name, beta, xp):
        if self.pairs == "mixed" or any(kernel.is_relative for _, kernel in self.parts):
            raise ValueError(
                f"the parts of {self!r} look at different betas, so the sum has no single one; "
                "use terms() and evaluate each part on its own beta, as gram() does"
            )
        return sum(weight * getattr(kernel, name)(beta, xp) for weight, kernel in self.parts)

    def f(self, beta: Any, xp: Any = np) -> Any:
        """Return the weighted sum of the parts' values.

        Parameters
        ----------
        beta : array of any shape, or a sympy expression
            What all parts read.
        xp : module, default=numpy
            Whose functions the formulas are evaluated with.

        Returns
        -------
        array of the shape of beta, or a sympy expression
            The values.

        Raises
        ------
        ValueError
            If the parts do not read one and the same beta.
        """
        return self._combined("f", beta, xp)

    def df(self, beta: Any, xp: Any = np) -> Any:
        """Return the weighted sum of the parts' first derivatives.

        Parameters
        ----------
        beta : array of any shape, or a sympy expression
            What all parts read.
        xp : module, default=numpy
            Whose functions the formulas are evaluated with.

        Returns
        -------
        array of the shape of beta, or a sympy expression
            The derivatives.
        """
        return self._combined("df", beta, xp)

    def d2f(self, beta: Any, xp: Any = np) -> Any:
        """Return the weighted sum of the parts' second derivatives.

        Parameters
        ----------
        beta : array of any shape, or a sympy expression
            What all parts read.
        xp : module, default=numpy
            Whose functions the formulas are evaluated with.

        Returns
        -------
        array of the shape of beta, or a sympy expression
            The derivatives.
        """
        return self._combined("d2f", beta, xp)

    def __repr__(self):
        text = lambda weight: str(weight) if _is_symbolic(weight) else f"{weight:g}"
        return " + ".join(f"{text(weight)}*{kernel!r}" for weight, kernel in self.parts)


@dataclass(frozen=True, repr=False)
class Product(Kernel):
    """The product of two kernels that read the same pairs, which ``Gaussian(1.0) * own`` makes.

    It is a formula of the same beta, and its derivatives follow from theirs by the product rule.
    If both kernels are positive semidefinite, so is their product (Schur).

    Parameters
    ----------
    left, right : Kernel
        The factors. Both read inner products, or both read differences.

    Raises
    ------
    ValueError
        If the two read different pairs, or one has a bandwidth for each sample.

    See Also
    --------
    Sum : A weighted sum, whose parts may read different pairs.

    References
    ----------
    Schur 1911, Bemerkungen zur Theorie der beschraenkten Bilinearformen.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Gaussian, Kernel
    >>> kernel = Gaussian(1.0) * Kernel(lambda beta, xp: 1 / (1 + beta), name="rational")
    >>> kernel.f(np.array([0.0, 1.0])).round(3)  # exp(-1/2) / 2 = 0.303
    array([1.   , 0.303])
    """

    left: Kernel
    right: Kernel

    def __post_init__(self):
        kinds = [kernel.pairs for kernel in (self.left, self.right)]
        if kinds[0] != kinds[1] or self.left.is_relative or self.right.is_relative:
            raise ValueError(
                "a product of kernels is in the family where both read the same pairs, with one "
                f"bandwidth for all samples; got {self.left!r} ({kinds[0]}) and {self.right!r} "
                f"({kinds[1]}). A sum has no such rule"
            )

    @property
    def pairs(self) -> str:  # type: ignore[override]
        """The kind of pairs that both factors read."""
        return self.left.pairs

    @property
    def tends_to_one(self) -> bool:  # type: ignore[override]
        """Whether both factors tend to 1 as their bandwidth grows."""
        return self.left.tends_to_one and self.right.tends_to_one

    def f(self, beta: Any, xp: Any = np) -> Any:
        """Return the product of the two values.

        Parameters
        ----------
        beta : array of any shape, or a sympy expression
            Inner products or squared distances, as `pairs` says.
        xp : module, default=numpy
            Whose functions the formulas are evaluated with.

        Returns
        -------
        array of the shape of beta, or a sympy expression
            The values.
        """
        return self.left.f(beta, xp) * self.right.f(beta, xp)

    def df(self, beta: Any, xp: Any = np) -> Any:
        """Return the first derivative by the product rule.

        Parameters
        ----------
        beta : array of any shape, or a sympy expression
            Inner products or squared distances, as `pairs` says.
        xp : module, default=numpy
            Whose functions the formulas are evaluated with.

        Returns
        -------
        array of the shape of beta, or a sympy expression
            The derivatives.
        """
        a, b = self.left, self.right
        return a.df(beta, xp) * b.f(beta, xp) + a.f(beta, xp) * b.df(beta, xp)

    def d2f(self, beta: Any, xp: Any = np) -> Any:
        """Return the second derivative by the product rule.

        Parameters
        ----------
        beta : array of any shape, or a sympy expression
            Inner products or squared distances, as `pairs` says.
        xp : module, default=numpy
            Whose functions the formulas are evaluated with.

        Returns
        -------
        array of the shape of beta, or a sympy expression
            The derivatives.
        """
        a, b = self.left, self.right
        outer = a.d2f(beta, xp) * b.f(beta, xp) + a.f(beta, xp) * b.d2f(beta, xp)
        return outer + 2 * a.df(beta, xp) * b.df(beta, xp)

    def __repr__(self):
        return f"{self.left!r} * {self.right!r}"
