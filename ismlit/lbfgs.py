"""What L-BFGS needs on the Grassmann manifold: a first Hessian, and the pairs it remembers.

The first Hessian is ISM's own. At a frame W of Phi's eigenvectors half of minus the Hessian of J
is Kd - M; a plain step of ISM is Newton's step without M, and the pairs that L-BFGS gathers stand
for what M does (book: "Why it cycles, and how to climb").

References
----------
Nocedal and Wright 2006, Numerical Optimization, chapter 7. Huang, Gallivan and Absil 2015, A
Broyden class of quasi-Newton methods for Riemannian optimization.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from ismlit.grassmann import outside

FULL = 400  # features up to which all eigenvectors of Phi are taken, else the extreme ones
NEAREST = 0.05  # |Kd| is kept above this share of the largest in its column


def extreme_eigenvectors(matrix, m, which, tol=1e-9):
    """The m extreme eigenvalues of a symmetric matrix, rising, and their vectors.

    `which` is "LA" for the largest, "LM" for the largest in size. By Lanczos where the matrix is
    large.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.lbfgs import extreme_eigenvectors
    >>> extreme_eigenvectors(np.diag([1.0, -3.0, 2.0]), 1, "LM")[0]
    array([-3.])
    """
    d = len(matrix)
    if d > FULL and 10 * m < d:
        start = np.random.default_rng(0).standard_normal(d).astype(matrix.dtype)
        return eigsh(matrix, m, which=which, tol=tol, v0=start)
    values, vectors = np.linalg.eigh(matrix)
    order = np.argsort(values if which == "LA" else np.abs(values))[-m:]
    return values[np.sort(order)], vectors[:, np.sort(order)]


class Scaling:
    """Twice |Kd| at W: what ISM takes for the Hessian of -J, inverted on tangents.

    Attributes
    ----------
    W : array of shape (d, q)
        The frame given, its columns turned to Ritz vectors of Phi.
    rotation : array of shape (q, q)
        By which it was turned.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.lbfgs import Scaling
    >>> scaling = Scaling(np.diag([3.0, 1.0, 0.0]), np.eye(3)[:, :1])
    >>> scaling(np.array([[0.0], [4.0], [6.0]])).ravel()  # over 2 (3 - 1) and 2 (3 - 0)
    array([0., 1., 1.])
    """

    def __init__(self, phi, W):
        d, q = W.shape
        phi = phi.astype(float, copy=False)
        chosen, self.rotation = eigh(W.T @ phi @ W)
        self.W = W @ self.rotation
        rest = outside(outside(phi, self.W).T, self.W)
        if d <= FULL:
            others, self.V = np.linalg.eigh(rest)
            bulk = 0.0
        else:
            others, self.V = extreme_eigenvectors(rest, q + 20, "LM", tol=1e-2)
            bulk = (np.trace(rest) - others.sum()) / (d - len(others))
        sizes, rest_of_them = np.abs(chosen - others[:, None]), np.abs(chosen - bulk)
        least = NEAREST * sizes.max(axis=0)
        self.sizes = 2 * np.maximum(sizes, least)
        self.bulk = 2 * np.maximum(rest_of_them, least) if d > FULL else None

    def __call__(self, G):
        """The tangent that a step of ISM would take for the gradient G (d, q)."""
        seen = self.V.T @ G
        found = self.V @ (seen / self.sizes)
        return found if self.bulk is None else found + (G - self.V @ seen) / self.bulk


class Memory:
    """The last steps s and changes y of the gradient, carried from frame to frame.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.lbfgs import Memory
    >>> memory = Memory(5)
    >>> memory.add(np.array([[0.0], [1.0]]), np.array([[0.0], [4.0]]))
    >>> memory.ascent(np.array([[0.0], [8.0]]), lambda G: G).ravel()  # 8 over a curvature of 4
    array([0., 2.])
    """

    def __init__(self, most):
        self.pairs = deque(maxlen=most)

    def add(self, s, y):
        """Remember a pair, if it says that J curves downwards."""
        if np.sum(s * y) > 1e-10 * np.linalg.norm(s) * np.linalg.norm(y):
            self.pairs.append((s, y))

    def carry(self, W, rotation=None):
        """Turn the pairs with the frame, and project them on its tangents."""
        turned = lambda A: A if rotation is None else A @ rotation
        for k, pair in enumerate(self.pairs):
            self.pairs[k] = tuple(outside(turned(A), W) for A in pair)

    def ascent(self, G, scaling):
        """The step for the gradient G (d, q): the two loops of L-BFGS around a scaling."""
        rest, shares = G, []
        for s, y in reversed(self.pairs):
            share = np.sum(s * rest) / np.sum(s * y)
            shares.append(share)
            rest = rest - share * y
        step = scaling(rest)
        if self.pairs:
            s, y = self.pairs[-1]
            step = step * (np.sum(s * y) / np.sum(y * scaling(y)))
        for (s, y), share in zip(self.pairs, reversed(shares), strict=True):
            step = step + s * (share - np.sum(y * step) / np.sum(s * y))
        return step
