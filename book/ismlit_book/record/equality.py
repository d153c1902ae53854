"""Whether two results are the same: arrays to rounding, formulas by algebra."""

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
    return abs(next(values(expression), 0)) > 1e-12


def values(expression, n=8):
    """Values of an expression, to 30 digits, at up to `n` points that its symbols admit.

    A function that is not specified is one choice of it; a point without a real or complex
    value, finite, is passed over.
    """
    import sympy as sp
    from sympy.core.function import AppliedUndef

    functions = sorted({a.func for a in expression.atoms(AppliedUndef)}, key=str)
    for k, function in enumerate(functions, 2):
        some = lambda *args, k=k: sum(sp.exp(a / k) + a**3 for a in args)
        expression = expression.replace(function, some)
    expression = expression.doit()
    symbols = sorted(expression.free_symbols, key=str)
    for shift in range(n if symbols else 1):
        point = {s: _admitted(s, k + shift * (k + 2)) for k, s in enumerate(symbols)}
        value = _value(expression, point)
        if value.is_number and value.is_finite:
            yield value


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
