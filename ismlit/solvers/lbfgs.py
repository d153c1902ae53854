"""The memory of L-BFGS on the Grassmann manifold: pairs of steps and changes of the gradient.

The first Hessian is ISM's own. At a frame W of Phi's eigenvectors half of minus the Hessian of J
is Kd - M, and `ismlit.geometry.second_order.Scaling` inverts |Kd|. A plain step of ISM is Newton's
step without M. The pairs that L-BFGS gathers stand for what M does.

References
----------
Nocedal and Wright 2006, Numerical optimization, chapter 7. Huang, Gallivan and Absil 2015, A
Broyden class of quasi-Newton methods for Riemannian optimization.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ismlit.geometry.frames import project_out

LEAD_DECAY = 0.8  # The weight of a pair in that average falls by this factor with every step.


class Memory:
    """The last steps s and changes y of the gradient, carried from frame to frame.

    Parameters
    ----------
    most : int
        How many pairs are remembered.

    Attributes
    ----------
    lead : float
        Exponential average of cos(s, Py) - cos(s, y) over the last pairs, for the scaling P. Where
        it is negative the identity is the better first Hessian, and is used in place of P.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.solvers.lbfgs import Memory
    >>> memory = Memory(5)
    >>> memory.add(np.array([[0.0], [1.0]]), np.array([[0.0], [4.0]]))
    >>> memory.ascent(np.array([[0.0], [8.0]]), lambda G: G).ravel()  # 8 over a curvature of 4
    array([0., 2.])
    """

    steps: np.ndarray | None
    changes: np.ndarray | None

    def __init__(self, most: int) -> None:
        self.most, self.lead = most, 0.0
        self.forget()

    def forget(self) -> None:
        """Drop all pairs."""
        self.steps = self.changes = None

    def add(self, s: np.ndarray, y: np.ndarray) -> None:
        """Remember a pair, if it shows that J curves downwards.

        Parameters
        ----------
        s : array of shape (d, q)
            A step.
        y : array of shape (d, q)
            Minus the change of the gradient along it.
        """
        if np.sum(s * y) > 1e-10 * np.linalg.norm(s) * np.linalg.norm(y):
            last = slice(1 - self.most, None)
            pairs = zip((self.steps, self.changes), (s, y))
            self.steps, self.changes = (
                new[None] if old is None else np.stack([*old[last], new]) for old, new in pairs
            )

    def carry(self, W: np.ndarray, rotation: np.ndarray | None = None) -> None:
        """Carry the pairs to another frame: turn them with it, and project them on its tangents.

        Parameters
        ----------
        W : array of shape (d, q)
            The new frame.
        rotation : array of shape (q, q), optional
            How its columns were turned.
        """
        if self.steps is None or self.changes is None:
            return
        if rotation is not None:
            self.steps, self.changes = self.steps @ rotation, self.changes @ rotation
        self.steps, self.changes = project_out(self.steps, W), project_out(self.changes, W)

    def ascent(self, G: np.ndarray, scaling: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the step for a gradient: the two loops of L-BFGS around a scaling.

        Parameters
        ----------
        G : array of shape (d, q)
            The gradient.
        scaling : callable
            The inverse of the first Hessian, as a function of tangents.

        Returns
        -------
        array of shape (d, q)
            The step, along which J rises.
        """
        if self.steps is None or self.changes is None:
            return scaling(G)
        S, Y = (pairs.reshape(len(pairs), -1) for pairs in (self.steps, self.changes))
        curvatures = np.einsum("ij,ij->i", S, Y)
        rest, alphas = G.ravel().astype(S.dtype), np.zeros(len(S))
        for k in reversed(range(len(S))):
            alphas[k] = (S[k] @ rest) / curvatures[k]
            rest = rest - alphas[k] * Y[k]
        step, scaled = scaling(rest.reshape(G.shape)).ravel(), scaling(self.changes[-1]).ravel()
        size = np.linalg.norm(S[-1])
        cosine: Callable[[np.ndarray], float] = lambda v: (S[-1] @ v) / (size * np.linalg.norm(v))
        self.lead = LEAD_DECAY * self.lead + (1 - LEAD_DECAY) * (cosine(scaled) - cosine(Y[-1]))
        if self.lead < 0:
            step, scaled = rest, Y[-1]
        step = step * (curvatures[-1] / (Y[-1] @ scaled))
        for k in range(len(S)):
            step = step + S[k] * (alphas[k] - (Y[k] @ step) / curvatures[k])
        return np.asarray(step).reshape(G.shape)
