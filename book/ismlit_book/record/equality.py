"""Whether two results are the same: arrays to rounding, formulas by algebra."""

import cmath
import math
from contextlib import suppress

import numpy as np


class EvidenceError(ValueError):
    """Evidence that cannot show what it is meant to show."""


class NotFiniteError(EvidenceError):
    """A comparison with NaN or infinity, which can come out neither way."""


def is_symbolic(value):
    """Whether a value is a sympy object (a number of sympy's included)."""
    return hasattr(value, "free_symbols") or hasattr(value, "as_explicit")


def same(left, right, tol=1e-10):
    """Whether two sympy objects are identical, or two arrays agree to `tol` of their scale.

    1e-10 leaves room for the rounding of sums over all pairs in double precision, and none
    for a lost factor, sign or term.

    Raises
    ------
    ValueError
        If there is no answer: an array is empty or not finite, or two formulas are neither
        refuted at a point nor shown to be identical.

    Examples
    --------
    >>> import sympy as sp
    >>> from ismlit_book.record.equality import same
    >>> x = sp.Symbol("x")
    >>> same(sp.sin(x) ** 2 + sp.cos(x) ** 2, 1), same([1.0, 2.0], [1.0, -2.0])
    (True, False)
    """
    if is_symbolic(left) or is_symbolic(right):
        return _same_symbolic(left, right)
    left, right = np.asarray(left, dtype=float), np.asarray(right, dtype=float)
    if left.shape != right.shape:
        return False
    scale = scale_of(left, right)
    return bool(np.abs(left - right).max() <= tol * scale)


def scale_of(*arrays):
    """The largest magnitude in some arrays, which have to have entries, all of them finite."""
    if not all(array.size for array in arrays):
        raise EvidenceError("there is nothing to compare: an array is empty")
    scale = np.max([np.abs(array).max() for array in arrays])  # NaN if one is
    if not np.isfinite(scale):
        raise NotFiniteError(f"a number to compare is not finite: {scale}")
    return scale


def _same_symbolic(left, right):
    """Identity of two sympy objects: refuted at a point, else by expansion, else simplified."""
    import sympy as sp

    left, right = sp.sympify(left), sp.sympify(right)
    explicit = [isinstance(side, sp.MatrixBase) for side in (left, right)]
    if not any(explicit) and any(isinstance(side, sp.MatrixExpr) for side in (left, right)):
        return _same_matrix_expressions(left, right)
    left, right = (s.as_explicit() if isinstance(s, sp.MatrixExpr) else s for s in (left, right))
    if getattr(left, "shape", None) != getattr(right, "shape", None):
        return False
    difference = left - right
    return all(map(_is_zero, difference if isinstance(difference, sp.MatrixBase) else [difference]))


def _is_zero(entry):
    import sympy as sp

    entry = sp.sympify(entry).doit()
    if _refuted(entry):  # before it is expanded, which takes much longer
        return False
    expanded = sp.expand(entry)
    if expanded == 0 or sp.simplify(expanded) == 0:
        return True
    if any(abs(value) > 1e-12 for value in values(expanded)):
        return False
    raise EvidenceError(f"sympy can neither show nor refute that this is zero: {expanded}")


def _refuted(expression):
    """Whether an expression is not zero at the first of the points of `values`."""
    with suppress(ArithmeticError, ValueError):  # such as the logarithm of 0
        value, largest = _approximately(expression)
        if value > 1e-5 * largest:
            return True
        if value < 1e-12 * largest:  # most likely 0, which is still to be shown
            return False
    return abs(next(values(expression), 0)) > 1e-12


def _approximately(expression):
    """The size of an expression at that point in double precision, and that of its largest part.

    Raises ArithmeticError where it has none, or a part is not a sum, a product, a power, a usual
    function, or a function that is not specified or a derivative of one.
    """
    import sympy as sp

    choices = dict(_choices(expression))
    known = {symbol: complex(number) for symbol, number in _point(expression).items()}

    def chosen(function, order, a):
        k, rest = choices[function.func], {0: a**3, 1: 3 * a**2, 2: 6 * a, 3: 6}
        return cmath.exp(a / k) / k**order + rest.get(order, 0)

    def computed(part):
        if part.is_Add or part.is_Mul:
            return (sum if part.is_Add else math.prod)(map(of, part.args))
        if part.is_Pow:
            return of(part.base) ** of(part.exp)
        if part.func in choices:
            return sum(chosen(part, 0, of(a)) for a in part.args)
        if isinstance(part, sp.Subs | sp.Derivative):
            slope, at = (part.expr, *part.point) if isinstance(part, sp.Subs) else (part, None)
            if isinstance(slope, sp.Derivative) and slope.expr.args == (slope.variables[0],):
                at = slope.variables[0] if at is None else at
                return chosen(slope.expr, len(slope.variables), of(at))
        if part.is_number and not part.args:
            return complex(part)
        if part.is_Function and hasattr(cmath, part.func.__name__):
            return getattr(cmath, part.func.__name__)(*map(of, part.args))
        raise ArithmeticError(f"{part.func.__name__} is left to mpmath")

    def of(part):
        if part not in known:
            known[part] = computed(part)
            if not cmath.isfinite(known[part]):
                raise ArithmeticError
        return known[part]

    return abs(of(expression)), max(map(abs, known.values()))


def _choices(expression):
    """Functions that are not specified, each with the number that says which one is chosen."""
    from sympy.core.function import AppliedUndef

    functions = {applied.func for applied in expression.atoms(AppliedUndef)}
    return [(function, k) for k, function in enumerate(sorted(functions, key=str), 2)]


def values(expression, n=8):
    """Values of an expression, to 30 digits, at up to `n` points that its symbols admit.

    A function that is not specified is one choice of it; a point without a real or complex
    value, finite, is passed over.
    """
    import sympy as sp

    for function, k in _choices(expression):
        some = lambda *args, k=k: sum(sp.exp(a / k) + a**3 for a in args)
        expression = expression.replace(function, some)
    expression = expression.doit()
    for shift in range(n if expression.free_symbols else 1):
        value = _value(expression, _point(expression, shift))
        if value.is_number and value.is_finite:
            yield value


def _point(expression, shift=0):
    """A number for each symbol of an expression; for each `shift` others."""
    symbols = sorted(expression.free_symbols, key=str)
    return {s: _admitted(s, k + shift * (k + 2)) for k, s in enumerate(symbols)}


def _value(expression, point):
    """An expression at a point, by mpmath; by substitution if mpmath lacks a function of it."""
    import sympy as sp
    from mpmath import mp, workdps

    cannot = NameError, TypeError, AttributeError, ValueError, ArithmeticError
    with workdps(40), suppress(*cannot):
        found = sp.lambdify(list(point), expression, "mpmath")(*map(mp.mpmathify, point.values()))
        return sp.sympify(found).evalf(30)
    return expression.subs(point).doit().evalf(30)


def _admitted(symbol, k):
    """A number that a symbol can stand for: a fraction, if it may be one, of either sign."""
    import sympy as sp

    fraction, whole = sp.Rational(3 * k + 2, 2 * k + 5), sp.Integer(k + 1)
    signs = (-1, 1) if k % 3 == 2 else (1, -1)
    numbers = [sign * number for number in (fraction, whole, whole + 1) for sign in signs]
    numbers += [fraction / 2, sp.Integer(0)]
    facts = symbol.assumptions0.items()
    agrees = lambda x: all(getattr(x, f"is_{name}") in (fact, None) for name, fact in facts)
    return next(filter(agrees, numbers), fraction)


def _same_matrix_expressions(left, right):
    """Identity of two matrices of symbolic size: their difference expands to the zero matrix."""
    import sympy as sp

    if left.shape != right.shape:
        return False
    difference = sp.expand((left - right).doit()).doit()
    return isinstance(difference, sp.ZeroMatrix) or getattr(difference, "is_zero_matrix", False)
