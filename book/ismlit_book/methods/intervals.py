"""What no rounding decides about directions in the plane, by interval arithmetic.

`highest` finds the global maxima of a function of the angle, `one_zero` the only solution of
equations in a box; both take formulas of sympy, whose derivatives are derived. `alternates` shows
that plain ISM cycles. The intervals are mpmath's, whose ends are rounded outwards.
"""

import numpy as np
import sympy as sp
from mpmath import iv
from sympy.printing.pycode import MpmathPrinter

FUNCTIONS = ("mpf", "exp", "cos", "sin", "atan2", "pi")


def enclosing(formula, *symbols):
    """A formula, or a list of them, as a function of intervals.

    Its values contain all that the formula takes while each symbol runs through its interval.

    Raises
    ------
    ValueError
        If the formula has a rounded number in it, or a function that is not among `FUNCTIONS`.

    Examples
    --------
    >>> import sympy as sp
    >>> from mpmath import iv
    >>> from ismlit_book.methods.intervals import enclosing
    >>> x = sp.Symbol("x")
    >>> enclosing(x**2 + 1, x)(iv.mpf([-1, 2]))
    mpi('1.0', '5.0')
    """
    if any(part.has(sp.Float) for part in np.ravel(formula)):
        raise ValueError("a formula with rounded numbers encloses nothing: give sp.Rational")
    names = {name: getattr(iv, name) for name in FUNCTIONS}
    printer = MpmathPrinter({"fully_qualified_modules": False, "user_functions": {}})
    function = sp.lambdify(symbols, formula, [names], printer=printer, cse=True)
    if other := set().union(*printer.module_imports.values()) - names.keys():
        raise ValueError(f"of intervals there is {', '.join(FUNCTIONS)}, not {', '.join(other)}")

    def of_intervals(*at):
        value = function(*at)
        return [*map(iv.mpf, value)] if isinstance(value, list) else iv.mpf(value)

    return of_intervals


def ends(interval):
    """The two ends of an interval as numbers."""
    return float(interval.a), float(interval.b)


def hull(a, b):
    """The interval of all numbers from a to b."""
    return iv.mpf([a, b])


def _direction(angle):
    """The unit vector W at an angle."""
    return sp.Matrix([sp.cos(angle), sp.sin(angle)])


def on_the_circle(points, labels, sigma):
    """The problem of labelled points in the plane and a Gaussian, as formulas of W's angle.

    Parameters
    ----------
    points : array of shape (n, 2)
        Rational numbers.
    labels : sequence of length n
    sigma : rational number

    Returns
    -------
    angle : Symbol
    J : Expr
        The objective, Tr(Gamma K).
    phi : Matrix of shape (2, 2)

    Examples
    --------
    >>> from ismlit_book.methods.intervals import on_the_circle
    >>> angle, J, _ = on_the_circle([[0, 0], [2, 0]], [0, 1], 1)
    >>> J
    1 - exp(-2*cos(theta)**2)
    """
    X, n = sp.Matrix(points), len(labels)
    centring = sp.eye(n) - sp.ones(n, n) / n
    gamma = centring * sp.Matrix(n, n, lambda i, j: int(labels[i] == labels[j])) * centring
    angle = sp.Symbol("theta", real=True)
    w = _direction(angle)
    J, phi = gamma.trace(), sp.zeros(2, 2)
    for i in range(n):
        for j in range(i):
            apart = (X[i, :] - X[j, :]).T
            term = 2 * gamma[i, j] * sp.exp(-(apart.dot(w) ** 2) / (2 * sp.sympify(sigma) ** 2))
            J += term
            phi -= term * apart * apart.T / (2 * sp.sympify(sigma) ** 2)
    return angle, J, phi


def highest(J, angle, start=0.0, least=1e-6):
    """Intervals of angles that hold all global maxima of J, for J of period pi.

    By branch and bound: intervals are cut in half, and left out if J is sloped throughout them, or
    lower than somewhere else, until J is curved downwards in all that remain. Each then holds one
    maximum at most, to which Newton's method, with intervals, narrows it.

    Parameters
    ----------
    J : Expr
    angle : Symbol
    start : float
        The angle at which the cover of all angles begins; not near a maximum.
    least : float
        Width below which an interval is not cut any more.

    Returns
    -------
    list of ivmpf
        If it is one, the global maximum is there and nowhere else.

    Raises
    ------
    ArithmeticError
        If J is not seen to be curved downwards around its maxima.

    Examples
    --------
    >>> import sympy as sp
    >>> from ismlit_book.methods.intervals import ends, highest
    >>> t = sp.Symbol("t")
    >>> [(low, high)] = map(ends, highest(sp.sin(2 * t) + sp.cos(4 * t) / 9, t))
    >>> round(low, 9), round(high, 9)
    (0.785398163, 0.785398163)
    """
    derivatives = enclosing([J, J.diff(angle), J.diff(angle, 2)], angle)
    best = max(derivatives(iv.mpf(start + k / 16))[0].a for k in range(51))

    def may_hold_it(a, b):
        middle, whole = iv.mpf((a + b) / 2), hull(a, b)
        (value, slope, _), bend, off = derivatives(middle), derivatives(whole)[2], whole - middle
        reaches = (value + slope * off + bend * off**2 / 2).b >= best
        return reaches and 0 in slope + bend * off

    runs, width = [(start, start + float(np.nextafter(np.pi, 4)))], 4.0
    cover = runs
    while not all(derivatives(hull(*run))[2] < 0 for run in runs):
        if width < least or len(cover) > 1000:
            raise ArithmeticError("J may be level, or curved upwards, around its maximum")
        halves = [((a, (a + b) / 2), ((a + b) / 2, b)) for a, b in cover]
        cover = [half for pair in halves for half in pair if may_hold_it(*half)]
        runs, width = _joined(cover), width / 2
    found = [top for run in runs if (top := _newton(derivatives, *run)) is not None]
    values = [derivatives(top)[0] for top in found]
    return [top for top, J in zip(found, values) if J.b >= max(value.a for value in values)]


def _joined(intervals):
    """Intervals in their order, those that adjoin as one."""
    runs = []
    for a, b in intervals:
        runs.append((runs.pop()[0] if runs and runs[-1][1] == a else a, b))
    return runs


def _newton(derivatives, low, high, steps=6):
    """Where between two angles J' is 0, J'' having one sign there; None if it is nowhere."""
    for _ in range(steps):
        middle, whole = iv.mpf((low + high) / 2), hull(low, high)
        a, b = ends(middle - derivatives(middle)[1] / derivatives(whole)[2])
        low, high = max(low, a), min(high, b)
        if low > high:
            return None
    return hull(low, high)


def along_and_across(points, labels, sigma=1):
    """What Phi is along the W with the largest J of points in the plane, and across it.

    Parameters
    ----------
    points, labels, sigma : as in `on_the_circle`

    Returns
    -------
    own, other : (float, float)
        Two ends of w'Phi w and of v'Phi v, with v at right angles to w; if it may be one of
        several W, ends of the values of all.

    Examples
    --------
    >>> from ismlit_book.methods.intervals import along_and_across
    >>> own, other = along_and_across([[0, 0], [2, 0]], [0, 1])
    >>> own[0] > 0.2, other[1] < 1e-12
    (True, True)
    """
    angle, J, phi = on_the_circle(points, labels, sigma)
    w = _direction(angle)
    forms = enclosing([(u.T * phi * u)[0] for u in (w, w.diff(angle))], angle)
    values = zip(*(map(ends, forms(top)) for top in highest(J, angle, -0.3)))
    return tuple((min(low for low, _ in of), max(high for _, high in of)) for of in values)


def one_zero(equations, symbols, centre, radius):
    """Where in a box the only zero of as many equations lies, by Krawczyk's operator.

    Parameters
    ----------
    equations : list of Expr
    symbols : list of Symbol
    centre : list of float
    radius : float
        Half the sides of the box.

    Returns
    -------
    list of ivmpf, or None
        None if intervals cannot tell that the box has exactly one zero.

    Examples
    --------
    >>> import sympy as sp
    >>> from ismlit_book.methods.intervals import ends, one_zero
    >>> x = sp.Symbol("x")
    >>> [(low, high)] = map(ends, one_zero([x**2 - 4], [x], [2.01], 0.1))
    >>> round(low, 3), round(high, 3)
    (1.995, 2.005)
    >>> one_zero([x**2 - 4], [x], [1.0], 4.0)
    """
    n = len(symbols)
    value = enclosing(list(equations), *symbols)
    slopes = enclosing(list(sp.Matrix(equations).jacobian(symbols)), *symbols)
    matrix = lambda *at: np.array(slopes(*at)).reshape(n, n)
    middle = [iv.mpf(c) for c in centre]
    at_middle = [[float(entry.mid) for entry in row] for row in matrix(*middle)]
    inverse = np.linalg.inv(at_middle).astype(object)  # about: it may be rounded
    box = [hull(c - radius, c + radius) for c in centre]
    left = np.eye(n).astype(object) - inverse @ matrix(*box)
    off = np.array([side - c for side, c in zip(box, middle)])
    krawczyk = np.array(middle) - inverse @ np.array(value(*middle)) + left @ off
    inside = all(side.a < k.a and k.b < side.b for side, k in zip(box, krawczyk))
    return list(krawczyk) if inside else None


def plain_step(X, labels, sigma):
    """A step of plain ISM for points in the plane and a Gaussian, as a function of intervals.

    Parameters
    ----------
    X : array of shape (n, 2)
    labels : array of shape (n,)
        0, 1, ...
    sigma : float

    Returns
    -------
    function
        ``step(angle)`` has, for all W of an interval of angles, the angle of the dominant
        eigenvector of Phi(W); ``step()`` that of Phi_0.

    Examples
    --------
    >>> from ismlit_book.methods.intervals import plain_step
    >>> step = plain_step([[0.0, 0.0], [0.0, 2.0], [1.0, 0.0]], [0, 1, 0], 1.0)
    >>> abs(step()).mid > 1.2
    True
    """
    n, labels = len(X), np.asarray(labels)
    one_hot = np.equal.outer(labels, np.unique(labels)).astype(int)
    same, sizes = one_hot @ one_hot.T, one_hot @ one_hot.sum(axis=0)
    weight = n**2 * same - n * np.add.outer(sizes, sizes) + (one_hot.sum(axis=0) ** 2).sum()
    i, j = np.tril_indices(n, -1)  # the weights are those of Gamma, times n²
    exactly = np.frompyfunc(lambda number: iv.mpf(float(number)), 1, 1)
    across, up = (side[i] - side[j] for side in exactly(np.transpose(X)))
    exp, half_width = np.frompyfunc(iv.exp, 1, 1), 2 * iv.mpf(float(sigma)) ** 2

    def step(angle=None):
        kernel = 1
        if angle is not None:
            along = across * iv.cos(angle) + up * iv.sin(angle)
            kernel = exp(-(along**2) / half_width)
        of_pair = -weight[i, j].astype(float) * kernel
        difference, mixed = ((of_pair * part).sum() for part in (across**2 - up**2, across * up))
        return iv.atan2(2 * mixed, difference) / 2

    return step


def alternates(step, angle, off=0.1):
    """Whether an iteration goes from around an angle to elsewhere and back, for ever.

    Parameters
    ----------
    step : function
        Of intervals of angles.
    angle : ivmpf
    off : float
        All angles so far from it are mapped to intervals apart, and these back among the former.
    """
    here = angle + hull(-off, off)
    there = step(here)
    return step(there) in here and 0 not in iv.sin(there - here)
