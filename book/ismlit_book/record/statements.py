"""A statement that can come out either way, and the same statement spoilt.

An equality is spoilt by a factor, a sign, a transposition, a lost term and an unrelated array of
the same size; an inequality by turning it round. Evidence that accepts a spoilt statement shows
nothing.
"""

from dataclasses import dataclass

import numpy as np

from ismlit_book.record.equality import EvidenceError, is_symbolic, same, scale_of, values


@dataclass(frozen=True)
class Sides:
    """What every comparison has: two sides, and a tolerance relative to their scale."""

    left: object
    right: object
    tol: float = 1e-10

    @property
    def is_symbolic(self):
        """Whether one side has a symbol, so that more than one case is meant."""
        sides = (self.left, self.right)
        return any(is_symbolic(s) and s.free_symbols for s in sides)

    @property
    def is_exact(self):
        """Whether both sides are exact: integers, or sympy's."""
        exact = lambda s: is_symbolic(s) or np.asarray(s).dtype.kind in "biuO"
        return exact(self.left) and exact(self.right)

    def __str__(self):
        return f"{in_short(self.left)} {self.sign} {in_short(self.right)}"


class Equal(Sides):
    """Two sides are the same, arrays to `tol` of their scale."""

    sign = "="

    def holds(self):
        """Whether it comes out."""
        return same(self.left, self.right, self.tol)

    def spoilt(self):
        """{what was done to the right-hand side: the statement then}."""
        make = _spoilt_symbolic if is_symbolic(self.right) else spoilt_arrays
        return {how: Equal(self.left, side, self.tol) for how, side in make(self.right)}


class AtMost(Sides):
    """The left side is nowhere above the right one, to `tol` of their scale."""

    sign = "<="

    def holds(self):
        """Whether it comes out; of formulas, whether sympy sees the difference as non-negative."""
        if is_symbolic(self.left) or is_symbolic(self.right):
            return _is_nonnegative(self.right - self.left)
        left, right = np.broadcast_arrays(*(np.asarray(s, float) for s in (self.left, self.right)))
        scale = scale_of(left, right)
        return bool(np.all(left - right <= self.tol * scale))

    def spoilt(self):
        """The inequality turned round."""
        return {"turned round": AtMost(self.right, self.left, self.tol)}


@dataclass(frozen=True)
class Said:
    """A truth value that was computed elsewhere; there is nothing to spoil."""

    value: bool
    is_symbolic = is_exact = False

    def holds(self):
        """The value."""
        return self.value

    def spoilt(self):
        """Nothing."""
        return {}

    def __str__(self):
        return f"a truth value, {self.value}"


def in_short(value, most=60):
    """A formula or an array in a line, cut where it is long.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit_book.record.statements import in_short
    >>> in_short(2.0), in_short(np.arange(12.0).reshape(3, 4))
    ('2', '[0, 1, 2, ...] (3 x 4)')
    """
    if is_symbolic(value):
        short = getattr(value, "is_Rational", False) and max(abs(value.p), value.q) < 1e6
        if getattr(value, "is_number", False) and not short:
            value = value.evalf(6)
        text = " ".join(str(value).split())
        return text if len(text) <= most else f"{text[:most]} ..."
    array = np.asarray(value, dtype=float)
    numbers = [f"{number:.6g}" for number in array.ravel()[:3]]
    if array.ndim == 0:
        return numbers[0]
    more = ["..."] if array.size > 3 else []
    shape = f" ({' x '.join(map(str, array.shape))})" if array.size > 3 else ""
    return f"[{', '.join(numbers + more)}]{shape}"


def at_most(left, right, tol=1e-10):
    """The statement left <= right, entry by entry, to `tol` of the scale of both.

    Of sympy objects: the difference is non-negative for every value its symbols admit.

    Examples
    --------
    >>> from ismlit_book import at_most
    >>> at_most([1.0, 2.0], 2.0).holds(), at_most(3.0, 2.0).holds()
    (True, False)
    """
    return AtMost(left, right, tol)


def equal(left, right, tol=1e-10):
    """The statement left = right, where a tolerance of its own is needed.

    Examples
    --------
    >>> from ismlit_book import equal
    >>> equal([1.0], [1.001], tol=0.01).holds()
    True
    """
    return Equal(left, right, tol)


def as_statement(what, tol=1e-10):
    """A pair, a statement or a truth value as a statement.

    Raises
    ------
    TypeError
        For anything else, an array of truth values included.
    """
    if isinstance(what, Equal | AtMost | Said):
        return what
    if isinstance(what, bool | np.bool_):
        return Said(bool(what))
    if isinstance(what, tuple) and len(what) == 2:
        return Equal(*what, tol)
    kind = type(what).__name__
    raise TypeError(f"a pair (left, right), at_most(...), equal(...) or a bool, got {kind}")


def _is_nonnegative(difference):
    import sympy as sp

    forms = (f(difference) for f in (sp.expand, sp.factor, sp.simplify))
    if any(form.is_nonnegative for form in forms):
        return True
    if any(sp.re(value) < 0 for value in values(sp.sympify(difference))):
        return False
    raise EvidenceError(f"sympy can neither show nor refute that this is >= 0: {difference}")


def spoilt_arrays(value):
    """Pairs (what was done, the spoilt array) of a number or an array that is not all zero."""
    value = np.asarray(value, dtype=float)
    if not np.any(value):
        return
    square = value.ndim == 2 and value.shape[0] == value.shape[1]
    symmetric = square and same(value, value.T)  # but for rounding
    yield "doubled", 2 * value
    yield "negated", -value
    if square and not symmetric:
        yield "transposed", value.T
    if value.size > 1:
        noise = np.random.default_rng(0).standard_normal(value.shape)
        noise = noise + noise.T if symmetric else noise
        yield "random", noise * (np.linalg.norm(value) / np.linalg.norm(noise))


def _spoilt_symbolic(value):
    import sympy as sp

    is_zero = value.is_zero_matrix if hasattr(value, "is_zero_matrix") else value == 0
    if is_zero:
        return
    yield "doubled", 2 * value
    yield "negated", -value
    if isinstance(value, sp.Expr) and not isinstance(value, sp.MatrixExpr):
        terms = sp.Add.make_args(sp.expand(value))
        if len(terms) > 1:
            yield "a term lost", value - terms[0]
    elif value.shape[0] == value.shape[1] != 1 and not same(value, value.T):
        yield "transposed", value.T
