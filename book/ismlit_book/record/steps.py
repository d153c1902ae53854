"""The derivation of a kernel in lines, each side an object of sympy: from f(beta) to Phi_0.

The matrices have the sizes of the small symbolic problem on which a line can be tried; what is
printed does not depend on them.
"""

from dataclasses import dataclass

import sympy as sp


@dataclass(frozen=True)
class Step:
    """One line, ``left = right``, with its reason in words."""

    left: sp.Basic
    right: sp.Basic
    reason: str
    order: str | None = None
    """As sympy's printers take it: "none" keeps the terms of a sum as they were written."""

    def latex(self):
        """The line, for an aligned display."""
        show = lambda side: sp.latex(side, mul_symbol=r"\,", order=self.order)
        right = show(self.right).replace("+ - ", "- ")
        return rf"{show(self.left)} &= {right} && \text{{{self.reason}}}"


class Steps(dict):
    """Lines by name, displayed one below the other.

    Parameters
    ----------
    lines : dict
        Name to `Step`.
    matrices : dict
        What the letters stand for in the small symbolic problem.

    Examples
    --------
    >>> from ismlit import Gaussian
    >>> from ismlit_book import derive
    >>> D = derive(Gaussian(sp.Symbol("sigma", positive=True)))
    >>> list(D.steps())
    ['kernel', 'derivative', 'pair', 'slope', 'weights', 'Phi', 'near zero', 'Phi_0']
    >>> D.steps()["Phi_0"].right
    (-1/sigma**2)*X.T*(D_{\\Gamma} - Gamma)*X
    """

    def __init__(self, lines, matrices):
        super().__init__(lines)
        self.matrices = matrices

    def explicit(self, name):
        """The right side of a line, its letters replaced by the matrices of the problem."""
        return self[name].right.subs(self.matrices).doit().as_explicit()

    def latex(self):
        """All lines, aligned."""
        lines = r" \\ ".join(step.latex() for step in self.values())
        return rf"\begin{{aligned}}{lines}\end{{aligned}}"

    def _repr_latex_(self):
        return f"$${self.latex()}$$"


def steps_of(D):
    """The `Steps` of a `Derivation`; of a sum, the weights of its parts and the two sums."""
    if len(D.parts) == 1:
        return _of_one(D)
    found = [_of_one(part, str(m)) for m, (_, part) in enumerate(D.parts, 1)]
    lines = {f"weights {m}": each["weights"] for m, each in enumerate(found, 1)}
    for name in ("Phi", "Phi_0"):
        terms = [_times(mu, s[name].right) for (mu, _), s in zip(D.parts, found, strict=True)]
        lines[name] = Step(
            found[0][name].left, sp.MatAdd(*terms), "each part its own pairs", "none"
        )
    return Steps(lines, {letter: M for each in found for letter, M in each.matrices.items()})


def _of_one(D, index=""):
    """The lines of a single formula; `index` numbers the letters of a part of a sum."""
    (n, d), q, beta = D.X.shape, D.W.cols, D.beta
    square = lambda name, size=n: sp.MatrixSymbol(name, size, size)
    X, W = sp.MatrixSymbol("X", n, d), sp.MatrixSymbol("W", d, q)
    letter = lambda name: square(rf"{name}_{{{index}}}" if index else name)
    entry = lambda name: sp.Symbol(rf"{name}_{{{index + ',' if index else ''}ij}}")
    Gamma, K, S = square("Gamma"), letter("K"), square("S")
    known = {X: D.X, Gamma: D.Gamma, K: D.gram(), S: D.shares()}
    slope = sp.simplify(D.f(1))
    share = sp.simplify(slope / D.f())
    in_K = not share.has(beta)  # f' is a multiple of f, and Psi one of Gamma o K

    x, z = (sp.MatrixSymbol(f"x_{k}", d, 1) for k in "ij")
    a, b = (x, z) if D.kernel.pairs == "inner" else (x - z, x - z)
    scaled = D.widths is not None
    widths = entry("S") if scaled else 1
    of_K = share * entry("K") if in_K else slope

    def weighted(*factors):
        """Entrywise product, its matrix of row sums, and X'(u D + v Psi)X with both."""
        weights = sp.HadamardProduct(*factors) if len(factors) > 1 else factors[0]
        degrees = square(f"D_{{{sp.latex(weights)}}}")
        known[degrees] = D.degree(weights.subs(known).doit())
        return D.form(X, weights, degrees)

    gammas = (Gamma, S) if scaled else (Gamma,)
    if in_K:
        phi = _times(share, weighted(*gammas, K))
    else:
        Psi = letter(r"\Psi")
        known[Psi] = D.psi
        phi = _times(1, weighted(Psi))
    t = sp.Symbol("t", positive=True)
    mu = slope_at_zero(D)
    series = sp.series(D.f().subs(beta, t**2 * beta), t, 0, 4)
    seen = sp.MatMul(widths, a.T, W, W.T, b).doit()
    gradient = widths * slope * sp.diff(sp.Trace(W.T * b * a.T * W), W)
    weight = sp.Symbol(r"\Gamma_{ij}") * widths * of_K
    phi_0 = _times(mu, weighted(*gammas))
    lines = {
        "kernel": (sp.Symbol(r"f(\beta)"), D.f(), "the kernel"),
        "derivative": (sp.Symbol(r"f'(\beta)"), slope, "its slope"),
        "pair": (sp.Symbol(r"\beta_{ij}"), seen, "what it sees of a pair"),
        "slope": (sp.Symbol(r"\nabla_W\, k_{ij}"), gradient, "its gradient for one pair"),
        "weights": (entry(r"\Psi"), weight, "the weight of the pair"),
        "Phi": (square("Phi", d), phi, "the sum over all pairs", "none"),
        "near zero": (sp.Symbol(r"f(\beta(tW))"), series, "near $W = 0$"),
        "Phi_0": (square("Phi_0", d), phi_0, "what is left at $W = 0$", "none"),
    }
    return Steps({name: Step(*line) for name, line in lines.items()}, known)


def slope_at_zero(D):
    """f'(0) of a `Derivation`, as a limit from the right.

    Raises
    ------
    ValueError
        If it is not finite: the kernel has a kink where two projections coincide, and no Phi_0.
    """
    slope = D.f(1)
    if slope.has(sp.core.function.AppliedUndef):  # an unspecified f
        return slope.subs(D.beta, 0)
    mu = sp.limit(slope, D.beta, 0, "+")
    if mu.has(sp.oo, -sp.oo, sp.zoo, sp.nan, sp.AccumBounds):
        raise ValueError(
            f"Phi_0 needs a finite slope f'(0), and that of f = {D.f()} tends to {mu}: the kernel "
            "has a kink where two projections coincide; a tiny number under the root removes it"
        )
    return sp.simplify(mu)


def _times(number, form):
    """A number times a matrix expression, one number in front."""
    scalars = [part for part in form.args if not part.is_Matrix]
    matrices = [part for part in form.args if part.is_Matrix]
    factor = sp.simplify(sp.Mul(number, *scalars))
    return sp.MatMul(*([] if factor == 1 else [factor]), *matrices)
