"""The sympy twin: Phi, Phi_0 and the Hessian terms of any kernel, derived from the same f.

The numeric library never uses this module; tests and the book compare the two.
"""

from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import sympy as sp
from ismlit.kernels import Kernel, symbolic_functions

from ismlit_book.record.steps import steps_of


@dataclass(frozen=True, eq=False)
class Derivation:
    """J(W) = sum Gamma_ij f(beta_ij) on a small symbolic problem, and what follows from it.

    Parameters
    ----------
    kernel : Kernel
        Parameters and weights of a sum may be sympy symbols, e.g.
        ``Gaussian(sp.Symbol("sigma", positive=True))``.
    n, d, q : int
        Samples, features, components of the symbolic problem.
    X, W, Gamma : sympy matrices, built by `derive`

    Examples
    --------
    >>> from ismlit import Polynomial
    >>> from ismlit_book import derive
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
    def parts(self):
        """The kernel's terms as pairs (weight, `Derivation`): itself, unless it is a sum."""
        terms = self.kernel.terms()
        if len(terms) == 1 and terms[0][1] is self.kernel:
            return [(1, self)]
        return [(mu, Derivation(part, self.X, self.W, self.Gamma)) for mu, part in terms]

    @cached_property
    def beta(self):
        """The symbol that stands for the argument of f, non-negative for differences."""
        sign = {"nonnegative": True} if self.kernel.pairs == "difference" else {"real": True}
        return sp.Symbol("beta", **sign)

    @cached_property
    def _formula(self):
        return sp.nsimplify(self.kernel.f(self.beta, symbolic_functions()), rational=True)

    def f(self, order=0):
        """f, f' or f'' as an expression in `beta`."""
        return sp.diff(self._formula, self.beta, order)

    @cached_property
    def widths(self):
        """Factors u with f seeing u_i u_j beta_ij (a bandwidth for each sample), or None."""
        return self.kernel.scale(self.n)

    def share(self, i, j):
        """u_i u_j, or 1."""
        return 1 if self.widths is None else self.widths[i] * self.widths[j]

    def a_b(self, i, j):
        """The two vectors of beta = a' W W' b."""
        x, y = self.X[i, :].T, self.X[j, :].T
        a, b = (x, y) if self.kernel.pairs == "inner" else (x - y, x - y)
        return self.share(i, j) * a, b

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
        """The sum over all pairs, and over the parts of a sum."""
        pairs = [(i, j) for i in range(self.n) for j in range(self.n)]
        terms = [mu * term(part, *pair) for mu, part in self.parts for pair in pairs]
        total = terms[0]
        for each in terms[1:]:
            total = total + each
        return total

    # ------------------------------------------------ the derived quantities

    def objective(self, W=None):
        """J(W), by definition (eq-5.1)."""
        return self._sum(lambda D, i, j: D.Gamma[i, j] * D.value(0, i, j, W))

    @cached_property
    def gradient(self):
        """dJ/dW by differentiating every entry, without knowing of Phi."""
        J = self.objective()
        return self.W.applyfunc(lambda w: sp.diff(J, w))

    def phi(self, W=None):
        """Phi by its definition (eq-5.2): 1/2 sum Gamma f' A."""
        return self._sum(lambda D, i, j: D.Gamma[i, j] * D.value(1, i, j, W) * D.A(i, j) / 2)

    def slope_in_P(self):
        """The symmetric part of dJ/dP at P = WW': beta = a'Pb, and J differentiated by sympy.

        Another road to Phi, which does not know (eq-5.2), and sees Phi itself, not Phi W.
        """
        d = self.W.rows
        P = sp.Matrix(d, d, lambda k, m: sp.Symbol(f"P_{k + 1}{m + 1}"))

        def term(D, i, j):
            a, b = D.a_b(i, j)
            return D.Gamma[i, j] * D.f().subs(D.beta, (a.T * P * b)[0].expand())

        J = self._sum(term)
        slope = P.applyfunc(lambda entry: sp.diff(J, entry))
        here = dict(zip(P, self.W * self.W.T, strict=True))
        return ((slope + slope.T) / 2).subs(here).doit()

    def gram(self):
        """K, entry by entry."""
        return self._entries(lambda i, j: self.value(0, i, j))

    def shares(self):
        """The factors u_i u_j as a matrix."""
        return self._entries(self.share)

    @cached_property
    def psi(self):
        """Psi = Gamma o f'(beta) as an n x n matrix (eq-C.25)."""
        return self._entries(lambda i, j: self.Gamma[i, j] * self.value(1, i, j) * self.share(i, j))

    def _entries(self, entry):
        return sp.Matrix(self.n, self.n, entry)

    def form(self, X, weights, degrees):
        """1/2 sum weights_ij A_ij as X'(u D + v weights)X, with u and v as sympy finds them."""
        u, v = laplacian_coefficients(self.kernel.pairs)
        middle = weights if u == 0 else sp.MatAdd(degrees, v / u * weights)
        return sp.MatMul(u or v, X.T, middle, X)

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
        along = lambda D, i, j: (Z.T * D.A(i, j) * D.W).trace() * D.A(i, j)
        return self._sum(lambda D, i, j: D.Gamma[i, j] * D.value(2, i, j) * along(D, i, j) / 2)

    # ------------------------------------------------ what the reader sees

    def steps(self):
        """The derivation in lines, from f to Phi_0 (`ismlit_book.record.steps.Steps`)."""
        return steps_of(self)

    def _repr_latex_(self):
        return self.steps()._repr_latex_()


def derive(kernel, n=3, d=2, q=1):
    """A `Derivation` with symbols for n samples of d features and a W of shape (d, q).

    Examples
    --------
    >>> import sympy as sp
    >>> from ismlit import Gaussian
    >>> from ismlit_book import derive
    >>> derivation = derive(Gaussian(sp.Symbol("sigma", positive=True)))
    >>> derivation.f(1)
    -exp(-beta/(2*sigma**2))/(2*sigma**2)
    """
    X = sp.Matrix(n, d, lambda i, k: sp.Symbol(f"x_{i + 1}{k + 1}", real=True))
    W = sp.Matrix(d, q, lambda k, m: sp.Symbol(f"w_{k + 1}{m + 1}", real=True))
    G = sp.Matrix(n, n, lambda i, j: sp.Symbol(f"g_{min(i, j) + 1}{max(i, j) + 1}", real=True))
    return Derivation(kernel, X, W, G)


@lru_cache(maxsize=2)
def laplacian_coefficients(pairs):
    """u, v with 1/2 sum Psi_ij A_ij = X'(u D + v Psi)X for every symmetric Psi, solved for.

    Examples
    --------
    >>> from ismlit_book.record.symbolic import laplacian_coefficients
    >>> laplacian_coefficients("inner"), laplacian_coefficients("difference")
    ((0, 1), (2, -2))
    """
    D = derive(Kernel(lambda beta, xp: beta, pairs))  # f' is 1, and Psi any symmetric Gamma
    u, v = sp.symbols("u v")
    gap = D.X.T * (u * D.degree(D.Gamma) + v * D.Gamma) * D.X - D.phi()
    letters = [*D.X, *dict.fromkeys(D.Gamma)]
    unknown = [part for entry in gap for part in sp.Poly(entry.expand(), *letters).coeffs()]
    found = sp.solve(unknown, [u, v], dict=True)[0]
    return found[u], found[v]
