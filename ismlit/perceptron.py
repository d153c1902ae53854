"""Dense networks with their gradient: forward, back, and Adam. All that chapter 4 needs.

A network keeps all weights in one vector theta, of which its layers are views, so that an
optimiser sees one vector. It can have a skip connection around all layers: with a last layer of
zeros it is then the identity exactly, which chapter 4 asks of its start.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np


class Perceptron:
    """x -> [x +] W_L relu(... relu(W_1 x + b_1) ...) + b_L.

    Parameters
    ----------
    sizes : sequence of int
        Width of the input, of every hidden layer, and of the output.
    rng : numpy.random.RandomState
        For the first weights: uniform, of variance 2 / inputs (He); biases 0.
    skip : bool
        Add the input to the output, and start the last layer at 0: the identity.

    Attributes
    ----------
    theta : array of shape (m,)
        All weights, to be changed in place.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.perceptron import Perceptron
    >>> network = Perceptron([2, 20, 2], np.random.RandomState(0))
    >>> network(np.array([[1.0, 2.0], [3.0, 4.0]]))  # the identity, until theta is changed
    array([[1., 2.],
           [3., 4.]])
    >>> network.theta.size
    102
    """

    def __init__(self, sizes, rng, skip=True):
        if skip and sizes[0] != sizes[-1]:
            raise ValueError(
                f"a skip connection needs as many outputs as inputs, got {sizes[0]} inputs and "
                f"{sizes[-1]} outputs"
            )
        self.shapes, self.skip = list(pairwise(sizes)), skip
        self.theta = np.zeros(sum(a * b + b for a, b in self.shapes))
        layers = self.layers
        for W, _ in layers[:-1] if skip else layers:
            W[:] = np.sqrt(6 / len(W)) * rng.uniform(-1, 1, W.shape)

    @property
    def layers(self):
        """[(W, b), ...] as views of theta."""
        return _layers(self.theta, self.shapes)

    def __call__(self, X):
        """The images (n, outputs) of X (n, inputs)."""
        return self.forward(X)[0]

    def forward(self, X):
        """The images of X, and what `backward` needs: the input of every layer."""
        layers, inputs = self.layers, [X]
        for W, b in layers[:-1]:
            inputs.append(np.maximum(inputs[-1] @ W + b, 0))
        W, b = layers[-1]
        Z = inputs[-1] @ W + b
        return Z + X if self.skip else Z, inputs

    def backward(self, inputs, G):
        """Gradients in theta (m,) and in the input (n, inputs), from G (n, outputs) in the images.

        The chain rule from the last layer to the first; a unit passes on what reaches it where
        it is positive.
        """
        gradient = np.empty_like(self.theta)
        below = G
        rows = list(zip(self.layers, _layers(gradient, self.shapes), inputs))
        for (W, _), (gW, gb), A in reversed(rows):
            np.matmul(A.T, below, out=gW)
            below.sum(axis=0, out=gb)
            below = (below @ W.T) * (A > 0) if A is not inputs[0] else below @ W.T
        return gradient, below + G if self.skip else below


def _layers(vector, shapes):
    found, k = [], 0
    for a, b in shapes:
        found.append((vector[k : k + a * b].reshape(a, b), vector[k + a * b : k + a * b + b]))
        k += a * b + b
    return found


class Adam:
    """Kingma and Ba's ascent: steps of about `rate` along the sign of a running mean gradient.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.perceptron import Adam
    >>> theta, adam = np.zeros(2), Adam(2, rate=0.1)
    >>> for _ in range(500):
    ...     adam.ascend(theta, np.array([3.0, -1.0]) - theta)
    >>> theta.round(2)
    array([ 3., -1.])
    """

    def __init__(self, size, rate):
        self.rate, self.t = rate, 0
        self.mean, self.square = np.zeros(size), np.zeros(size)

    def ascend(self, theta, gradient):
        """Move theta in place, up along the gradient."""
        self.t += 1
        self.mean += 0.1 * (gradient - self.mean)
        self.square += 1e-3 * (gradient**2 - self.square)
        step = self.mean / (1 - 0.9**self.t)
        theta += self.rate * step / (np.sqrt(self.square / (1 - 0.999**self.t)) + 1e-8)


def batches(n, size, rng):
    """Row numbers for ever, `size` at a time: passes over 0 .. n - 1, each in a new random order.

    The n % size rows left over at the end of a pass are dropped.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.perceptron import batches
    >>> rows = batches(6, 2, np.random.RandomState(0))
    >>> np.sort(np.concatenate([next(rows) for _ in range(3)]))  # one pass
    array([0, 1, 2, 3, 4, 5])
    """
    if not 1 <= size <= n:
        raise ValueError(f"a batch needs 1 to n = {n} rows, got {size}")
    while True:
        order = rng.permutation(n)
        for start in range(0, n - size + 1, size):
            yield order[start : start + size]
