"""Whether two results are the same: arrays to rounding, formulas by algebra."""

import numpy as np


def is_symbolic(value):
    """Whether a value is a sympy object (a number of sympy's included)."""
    return hasattr(value, "free_symbols") or hasattr(value, "as_explicit")


def same(left, right, tol=1e-10):
    """Whether two sympy objects are identical, or two arrays agree to `tol` of their scale.

    1e-10 leaves room for the rounding of sums over all pairs in double precision, and none
    for a lost factor, sign or term.

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
    scale = max(np.abs(left).max(initial=0), np.abs(right).max(initial=0))
    if not np.isfinite(scale):
        return False  # infinity is the same as nothing
    return bool(np.abs(left - right).max(initial=0) <= tol * scale)


def _same_symbolic(left, right):
    """Identity of two sympy objects: by expansion, else refuted at a point, else simplified."""
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

    expanded = sp.expand(sp.sympify(entry).doit())
    return expanded == 0 or (not _refuted(expanded) and sp.simplify(expanded) == 0)


def _refuted(expression):
    """Whether an expression is not zero at one rational point, for one choice of functions."""
    import sympy as sp
    from sympy.core.function import AppliedUndef

    for k, function in enumerate(
        sorted({a.func for a in expression.atoms(AppliedUndef)}, key=str), 2
    ):
        some = lambda *args, k=k: sum(sp.exp(a / k) + a**3 for a in args)
        expression = expression.replace(function, some)
    expression = expression.doit()
    symbols = sorted(expression.free_symbols, key=str)
    point = {s: sp.Rational(3 * k + 2, 2 * k + 5) for k, s in enumerate(symbols)}
    value = expression.subs(point).doit()
    return bool(value.is_number and abs(value.evalf(30)) > 1e-12)


def _same_matrix_expressions(left, right):
    """Identity of two matrices of symbolic size: their difference expands to the zero matrix."""
    import sympy as sp

    if left.shape != right.shape:
        return False
    difference = sp.expand((left - right).doit()).doit()
    return isinstance(difference, sp.ZeroMatrix) or getattr(difference, "is_zero_matrix", False)
