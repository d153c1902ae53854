"""The sympy twin: Phi, Phi_0 and the Hessian terms of any kernel, derived from the same f.

The numeric library never uses this module; tests and the book compare the two.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import sympy as sp

from ismlit.kernels import Kernel, symbolic_functions


@dataclass(frozen=True, eq=False)
class Derivation:
    """J(W) = sum Gamma_ij f(beta_ij) on a small symbolic problem, and what follows from it.

    Parameters
    ----------
    kernel : Kernel
        Of a single formula; parameters may be sympy symbols, e.g.
        ``Gaussian(sp.Symbol("sigma", positive=True))``.
    n, d, q : int
        Samples, features, components of the symbolic problem.
    X, W, Gamma : sympy matrices, built by `derive`

    Examples
    --------
    >>> from ismlit import Polynomial
    >>> from ismlit.edition import derive
    >>> derivation = derive(Polynomial(2))
    >>> error = derivation.gradient - 2 * derivation.phi() * derivation.W
    >>> error.expand().is_zero_matrix
    True
    """

    kernel: Kernel
    X: sp.Matrix = field(repr=False)
    W: sp.Matrix = field(repr=False)
    Gamma: sp.Matrix = field(repr=False)

    # ------------------------------------------------ the pieces of Definition 9

    @property
    def n(self):
        """Number of samples of the symbolic problem."""
        return self.X.rows

    @cached_property
    def beta(self):
        """The symbol that stands for the argument of f, non-negative for differences."""
        sign = {"nonnegative": True} if self.kernel.pairs == "difference" else {"real": True}
        return sp.Symbol("beta", **sign)

    def f(self, order=0):
        """f, f' or f'' as an expression in `beta`."""
        return sp.diff(self.kernel.f(self.beta, symbolic_functions()), self.beta, order)

    def a_b(self, i, j):
        """The two vectors of beta = a' W W' b."""
        x, y = self.X[i, :].T, self.X[j, :].T
        return (x, y) if self.kernel.pairs == "inner" else (x - y, x - y)

    def A(self, i, j):
        """A_ij = b a' + a b'."""
        a, b = self.a_b(i, j)
        return b * a.T + a * b.T

    def value(self, order, i, j, W=None):
        """The order-th derivative of f at the pair (i, j) seen through W."""
        W = self.W if W is None else W
        a, b = self.a_b(i, j)
        return self.f(order).subs(self.beta, (a.T * W * W.T * b)[0])

    def _sum(self, term):
        pairs = [(i, j) for i in range(self.n) for j in range(self.n)]
        start = term(*pairs[0])
        for pair in pairs[1:]:
            start = start + term(*pair)
        return start

    # ------------------------------------------------ the derived quantities

    def objective(self, W=None):
        """J(W), by definition (eq-5.1)."""
        return self._sum(lambda i, j: self.Gamma[i, j] * self.value(0, i, j, W))

    @cached_property
    def gradient(self):
        """dJ/dW by differentiating every entry, without knowing of Phi."""
        J = self.objective()
        return self.W.applyfunc(lambda w: sp.diff(J, w))

    def phi(self, W=None):
        """Phi by its definition (eq-5.2): 1/2 sum Gamma f' A."""
        return self._sum(lambda i, j: self.Gamma[i, j] * self.value(1, i, j, W) * self.A(i, j) / 2)

    @cached_property
    def psi(self):
        """Psi = Gamma o f'(beta) as an n x n matrix (eq-C.25)."""
        return sp.Matrix(self.n, self.n, lambda i, j: self.Gamma[i, j] * self.value(1, i, j))

    def phi_matrix(self):
        """Phi from Psi: X' Psi X, or 2 X'(D - Psi)X (eq-C.26, eq-C.27)."""
        if self.kernel.pairs == "inner":
            return self.X.T * self.psi * self.X
        return 2 * self.X.T * (self.degree(self.psi) - self.psi) * self.X

    @staticmethod
    def degree(matrix):
        """The diagonal matrix of row sums."""
        return sp.diag(*[sum(matrix.row(i)) for i in range(matrix.rows)])

    def phi_0(self):
        """Phi at W = 0 (thm-5.3): f'(0)/2 sum Gamma A."""
        return self.phi(sp.zeros(*self.W.shape))

    def taylor(self):
        """Second-order Taylor part of J at W = 0, by differentiating J(tW) twice."""
        t = sp.Symbol("t", real=True)
        return sp.diff(self.objective(t * self.W), t, 2).subs(t, 0) / 2

    def phi_derivative(self, Z):
        """d/dt Phi(W + tZ) at t = 0, by its formula 1/2 sum Gamma f'' (Z'AW) A."""
        return self._sum(
            lambda i, j: (
                self.Gamma[i, j]
                * self.value(2, i, j)
                * (Z.T * self.A(i, j) * self.W).trace()
                * self.A(i, j)
                / 2
            )
        )

    # ------------------------------------------------ what the reader sees

    def latex(self):
        """The derivation in lines: f, f', Psi, Phi, Phi_0, and f'' of the Hessian."""
        psi = sp.latex(sp.simplify(self.f(1)))
        at_zero = sp.simplify(self.f(1).subs(self.beta, 0))
        if self.kernel.pairs == "inner":
            form, start = r"X^T \Psi X", rf"{_factor(at_zero)} X^T \Gamma X"
        else:
            form = r"2\,X^T (D_\Psi - \Psi) X"
            start = rf"{_factor(2 * at_zero)} X^T (D_\Gamma - \Gamma) X"
        lines = [
            rf"f(\beta) &= {sp.latex(self.f())}",
            rf"\Psi_{{ij}} = \Gamma_{{ij}} f'(\beta_{{ij}}),\quad f'(\beta) &= {psi}",
            rf"\Phi &= {form}",
            rf"\Phi_0 &= {start}",
            rf"f''(\beta) &= {sp.latex(sp.simplify(self.f(2)))}",
        ]
        return r"\begin{aligned}" + r" \\ ".join(lines) + r"\end{aligned}"

    def _repr_latex_(self):
        return f"$\\displaystyle {self.latex()}$"


def _factor(value):
    """A factor before a matrix: nothing for 1, a sign for -1, a sum in brackets."""
    if value in (1, -1):
        return "" if value == 1 else "-"
    text = sp.latex(value)
    return rf"\left({text}\right)" if value.is_Add else text


def derive(kernel, n=3, d=2, q=1):
    """A `Derivation` with symbols for n samples of d features and a W of shape (d, q).

    Examples
    --------
    >>> import sympy as sp
    >>> from ismlit import Gaussian
    >>> from ismlit.edition import derive
    >>> derivation = derive(Gaussian(sp.Symbol("sigma", positive=True)))
    >>> derivation.f(1)
    -exp(-beta/(2*sigma**2))/(2*sigma**2)
    """
    X = sp.Matrix(n, d, lambda i, k: sp.Symbol(f"x_{i + 1}{k + 1}", real=True))
    W = sp.Matrix(d, q, lambda k, m: sp.Symbol(f"w_{k + 1}{m + 1}", real=True))
    G = sp.Matrix(n, n, lambda i, j: sp.Symbol(f"g_{min(i, j) + 1}{max(i, j) + 1}", real=True))
    return Derivation(kernel, X, W, G)
