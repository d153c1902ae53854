"""What L-BFGS needs on the Grassmann manifold: the pairs that it remembers, carried along.

Its first Hessian is ISM's own. At a frame W of Phi's eigenvectors half of minus the Hessian of J
is Kd - M (`ismlit.grassmann.Scaling` inverts |Kd|); a plain step of ISM is Newton's step without
M, and the pairs that L-BFGS gathers stand for what M does (book: "Why it cycles, and how to
climb").

References
----------
Nocedal and Wright 2006, Numerical Optimization, chapter 7. Huang, Gallivan and Absil 2015, A
Broyden class of quasi-Newton methods for Riemannian optimization.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from ismlit.grassmann import outside


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
