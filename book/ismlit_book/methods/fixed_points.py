"""Section 3.3 written down plainly: the form of the second order, and random points to try it at.

Sums over all pairs, with no tile, factor or half of the library's, for the pages on appendix A.4.
"""

from typing import NamedTuple

import numpy as np
from ismlit.geometry.frames import project_out
from scipy.linalg import null_space


class Stationary(NamedTuple):
    """A point of (3.4) with ``Phi(W) W = W diag(small)``.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    W : ndarray of shape (d, q)
    W_bar : ndarray of shape (d, d - q)
        The other eigenvectors.
    small, large : ndarray of shape (q,), (d - q,)
        The eigenvalues of W and of W_bar.
    gamma : ndarray of shape (n, n)
        The weights of the pairs, of both signs.
    sigma : float
    """

    X: np.ndarray
    W: np.ndarray
    W_bar: np.ndarray
    small: np.ndarray
    large: np.ndarray
    gamma: np.ndarray
    sigma: float


def stationary(draw, smallest=True, widest=4, singular=False):
    """Weights of pairs that make the W of a draw stationary.

    Phi(W) is linear in gamma: a least-norm solution gives it the wanted eigenvalues, and noise
    from the null space changes the second derivative without changing Phi.

    Parameters
    ----------
    draw : Draw
    smallest : bool
        Whether W holds the smallest eigenvalues, as at a fixed point of Algorithm 2.
    widest : float
        The largest bandwidth to draw.
    singular : bool
        Whether Phi has the eigenvalue 0.

    Returns
    -------
    Stationary

    Notes
    -----
    (3.8) of the thesis is the definition of Phi.
    """
    rng, X, W = draw.rng, draw.X, draw.W
    n, d, q = draw.n, draw.d, draw.q
    sigma, (first, second) = rng.uniform(0.7, widest), np.triu_indices(n, 1)
    W_bar = np.linalg.qr(project_out(rng.standard_normal((d, d - q)), W))[0]
    values = rng.permutation(rng.standard_normal(d)) * rng.uniform(0.1, 3)
    values = np.sort(values) if smallest else values
    values = values - values[0] * singular
    upper, delta = np.triu_indices(d), X[first] - X[second]
    decay = np.exp(-np.sum((delta @ W) ** 2, axis=1) / (2 * sigma**2)) / sigma**2
    outer = [2 * c * np.outer(v, v)[upper] for c, v in zip(decay, delta, strict=True)]
    basis, system = np.c_[W, W_bar], np.array(outer).T
    wanted = (basis * values) @ basis.T
    gamma = np.zeros((n, n))
    gamma[first, second] = np.linalg.lstsq(system, wanted[upper], rcond=None)[0]
    free = null_space(system)
    noise = np.linalg.norm(gamma) * 10 ** rng.uniform(-3, 1)
    drawn = rng.standard_normal(len(free))  # seen in the null space, whatever basis it has
    gamma[first, second] += noise * (free @ (free.T @ drawn))
    return Stationary(X, W, W_bar, values[:q], values[q:], gamma + gamma.T, sigma)


def tangents(W, rng, count=1):
    """Random Z with ``Z'W + W'Z = 0``: from the null space of that map, and from nothing else."""
    units = np.eye(W.size).reshape(-1, *W.shape)
    kernel = null_space(np.array([(E.T @ W + W.T @ E).ravel() for E in units]).T)
    drawn = [rng.standard_normal(W.size) for _ in range(count)]
    return [(kernel @ (kernel.T @ A)).reshape(W.shape) for A in drawn]


def over_pairs(X, W, gamma, sigma, power, term):
    """The sum over all pairs of ``gamma / sigma^power exp(-|W'v|^2 / 2 sigma^2) term(v)``."""
    delta = (X[:, None] - X).reshape(-1, X.shape[1])
    decay = np.exp(-np.sum((delta @ W) ** 2, axis=1) / (2 * sigma**2))
    return np.tensordot(gamma.ravel() * decay / sigma**power, term(delta), 1)


def phi_of(X, W, gamma, sigma):
    """(3.8): Phi."""
    return over_pairs(X, W, gamma, sigma, 2, lambda v: np.einsum("pi,pj->pij", v, v))


def c2_of(X, W, gamma, sigma, Z):
    """(A.27): what the exponential's change takes from the form along Z."""
    trace = lambda v: np.einsum("pi,ia,ja,pj->p", v, Z, W, v)  # Tr(Z' A W)
    return over_pairs(X, W, gamma, sigma, 4, lambda v: trace(v) ** 2)


def form_of(X, W, gamma, sigma, Z, values):
    """(A.7): the second derivative of the Lagrangian along Z, with Lambda = diag(values)."""
    phi = phi_of(X, W, gamma, sigma)
    c1, c3 = np.trace(Z.T @ phi @ Z), -np.trace(Z.T @ Z @ np.diag(values))
    return c1 - c2_of(X, W, gamma, sigma, Z) + c3


def right_side(X, W, gamma, sigma, power=4):
    """The right side of (A.38); with ``power=2`` that of (3.10)."""
    A = lambda v: np.einsum("pi,pj->pij", v, v)
    norm = lambda v: np.einsum("pji,pji->p", A(v), A(v))  # Tr(A' A)
    return over_pairs(X, W, np.abs(gamma), sigma, power, norm)
