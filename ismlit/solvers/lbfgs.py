"""What L-BFGS needs on the Grassmann manifold: the pairs that it remembers, carried along.

Its first Hessian is ISM's own. At a frame W of Phi's eigenvectors half of minus the Hessian of J
is Kd - M (`ismlit.geometry.second_order.Scaling` inverts |Kd|). A plain step of ISM is Newton's
step without M, and the pairs that L-BFGS gathers stand for what M does (book: "Why it cycles, and
how to climb").

References
----------
Nocedal and Wright 2006, Numerical Optimization, chapter 7. Huang, Gallivan and Absil 2015, A
Broyden class of quasi-Newton methods for Riemannian optimization.
"""

from __future__ import annotations

import numpy as np

from ismlit.geometry.frames import project_out

FADES = 0.8  # The weight of a pair in that average falls by this factor with every step.


class Memory:
    """The last steps s and changes y of the gradient, carried from frame to frame.

    Attributes
    ----------
    lead : float
        Exponential average of cos(s, Py) - cos(s, y) over the last pairs, for the scaling P. Where
        it is negative the identity is the better first Hessian, and is used instead of P.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.solvers.lbfgs import Memory
    >>> memory = Memory(5)
    >>> memory.add(np.array([[0.0], [1.0]]), np.array([[0.0], [4.0]]))
    >>> memory.ascent(np.array([[0.0], [8.0]]), lambda G: G).ravel()  # 8 over a curvature of 4
    array([0., 2.])
    """

    def __init__(self, most):
        self.most, self.lead = most, 0.0
        self.forget()

    def forget(self):
        """Remember no pair."""
        self.steps = self.changes = None

    def add(self, s, y):
        """Remember a pair, if it says that J curves downwards."""
        if np.sum(s * y) > 1e-10 * np.linalg.norm(s) * np.linalg.norm(y):
            last = slice(1 - self.most, None)
            with_last = lambda old, new: new[None] if old is None else np.stack([*old[last], new])
            self.steps = with_last(self.steps, s)
            self.changes = with_last(self.changes, y)

    def carry(self, W, rotation=None):
        """Turn the pairs with the frame, and project them on its tangents."""
        if self.steps is None:
            return
        turned = lambda A: A if rotation is None else A @ rotation
        self.steps = project_out(turned(self.steps), W)
        self.changes = project_out(turned(self.changes), W)

    def ascent(self, G, scaling):
        """The step for the gradient G (d, q): the two loops of L-BFGS around a scaling."""
        if self.steps is None:
            return scaling(G)
        S, Y = (pairs.reshape(len(pairs), -1) for pairs in (self.steps, self.changes))
        curvatures = np.einsum("ij,ij->i", S, Y)
        rest, shares = G.ravel().astype(S.dtype), np.zeros(len(S))
        for k in reversed(range(len(S))):
            shares[k] = (S[k] @ rest) / curvatures[k]
            rest = rest - shares[k] * Y[k]
        step, scaled = scaling(rest.reshape(G.shape)).ravel(), scaling(self.changes[-1]).ravel()
        size = np.linalg.norm(S[-1])
        cosine = lambda v: (S[-1] @ v) / (size * np.linalg.norm(v))
        self.lead = FADES * self.lead + (1 - FADES) * (cosine(scaled) - cosine(Y[-1]))
        if self.lead < 0:
            step, scaled = rest, Y[-1]
        step = step * (curvatures[-1] / (Y[-1] @ scaled))
        for k in range(len(S)):
            step = step + S[k] * (shares[k] - (Y[k] @ step) / curvatures[k])
        return step.reshape(G.shape)
