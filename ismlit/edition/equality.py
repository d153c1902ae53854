"""Whether two results are the same: arrays to rounding, formulas by algebra."""

from __future__ import annotations

import numpy as np


def same(left, right, tol=1e-10):
    """Whether two sympy objects are identical, or two arrays agree to `tol` of their scale.

    1e-10 leaves room for the rounding of sums over all pairs in double precision, and none
    for a lost factor, sign or term.

    Examples
    --------
    >>> import sympy as sp
    >>> from ismlit.edition.equality import same
    >>> x = sp.Symbol("x")
    >>> same(sp.sin(x) ** 2 + sp.cos(x) ** 2, 1), same([1.0, 2.0], [1.0, -2.0])
    (True, False)
    """
    if any(hasattr(side, "free_symbols") for side in (left, right)):
        return _same_symbolic(left, right)
    left, right = np.asarray(left, dtype=float), np.asarray(right, dtype=float)
    if left.shape != right.shape:
        return False
    scale = max(np.abs(left).max(initial=0), np.abs(right).max(initial=0))
    return bool(np.abs(left - right).max(initial=0) <= tol * scale)


def _same_symbolic(left, right):
    """Identity of two sympy objects: by expansion, else refuted at a point, else simplified."""
    import sympy as sp

    difference = sp.sympify(left) - sp.sympify(right)
    for entry in difference if isinstance(difference, sp.MatrixBase) else [difference]:
        expanded = sp.expand(sp.sympify(entry).doit())
        if expanded == 0:
            continue
        symbols = sorted(expanded.free_symbols, key=str)
        point = {s: sp.Rational(3 * k + 2, 2 * k + 5) for k, s in enumerate(symbols)}
        value = expanded.subs(point).doit()
        if value.is_number and abs(value.evalf(30)) > 1e-12:
            return False
        if sp.simplify(expanded) != 0:
            return False
    return True
