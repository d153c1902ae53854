"""The sufficient conditions for a local maximum that the thesis prints: (C.73) and (3.10)."""

from dataclasses import dataclass

import numpy as np
from ismlit.geometry.second_order import SecondOrder
from ismlit.grams import betas
from ismlit.objectives.protocol import Objective


@dataclass(frozen=True)
class Bound:
    """A printed sufficient condition ``left >= right`` for the second-order condition.

    Examples
    --------
    >>> from ismlit_book.methods.bounds import Bound
    >>> bound = Bound(1.5, 2.0)
    >>> bound, bound.holds
    (1.5 < 2, False)
    """

    left: float
    right: float

    @property
    def holds(self):
        """Whether left >= right."""
        return self.left >= self.right

    def __repr__(self):
        return f"{self.left:.4g} {'>=' if self.holds else '<'} {self.right:.4g}"


def bound_c73(found, W=None):
    """(C.73) with its constant made uniform, ``eigengap >= lambda_max(M)``.

    Parameters
    ----------
    found : ISMResult or problem
        What was solved; with a problem W is needed.
    W : array of shape (d, q), optional
        Its columns need not be orthonormal: the bound is that of their span.

    Notes
    -----
    Claim: eq-C.73.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import Gaussian, certify, ism, label_gamma
    >>> from ismlit_book.methods.bounds import bound_c73
    >>> X, y = load_iris(return_X_y=True)
    >>> found = ism(X, label_gamma(y), Gaussian(1.0), 2)
    >>> bool(bound_c73(found).holds), certify(found).is_second_order  # it suffices
    (True, True)
    """
    second = _second_order(found, W)[2]
    return Bound(second.eigengap, float(np.linalg.eigvalsh(second.m_dense())[-1]))


def bound_310(found, W=None):
    """(3.10), ``sigma^2 gap >= sum |Gamma| exp(.) ||x_i - x_j||^4 / sigma^2``: Gaussian kernels.

    The gap of (3.10) is taken in chapter 3's scale of Phi, twice the one used here. Parameters
    as for `bound_c73`.

    Notes
    -----
    Claim: eq-3.10.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import Gaussian, certify, ism, label_gamma
    >>> from ismlit_book.methods.bounds import bound_310
    >>> X, y = load_iris(return_X_y=True)
    >>> found = ism(X, label_gamma(y), Gaussian(1.0), 2)
    >>> bool(bound_310(found).holds), certify(found).is_second_order  # and is not necessary
    (False, True)
    """
    problem, W, second = _second_order(found, W)
    kernel = problem.kernel
    X = problem.X - problem.X.mean(axis=0)
    projected = X @ W
    total = 0.0
    for a in range(0, len(X), 512):
        rows = slice(a, a + 512)
        weights = np.abs(problem.gamma.tile(rows, slice(None)))
        weights *= kernel.f(betas("difference", projected[rows], projected))
        total += np.sum(weights * betas("difference", X[rows], X) ** 2)
    return Bound(kernel.sigma**2 * 2 * second.eigengap, float(total / kernel.sigma**2))


def _second_order(found, W):
    """What was solved, the W in question, and the second order there."""
    problem, W = (found, W) if isinstance(found, Objective) else (found.problem, found.W)
    W = np.linalg.qr(W)[0]
    return problem, W, SecondOrder(problem, W, problem.phi(W))
