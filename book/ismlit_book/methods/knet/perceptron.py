"""Dense networks with their gradient: forward, back, and Adam. All that chapter 4 needs.

A network keeps all weights in one vector theta, of which its layers are views, so that an
optimiser sees one vector. With further axes before the last theta holds several networks of one
shape, which are trained at once. A network can have a skip connection around all layers: with a
last layer of zeros it is then the identity exactly, which chapter 4 asks of its start.
"""

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
    theta : array of shape (m,) or (r, m)
        All weights, of one network or of r, to be changed in place.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit_book.methods.knet.perceptron import Perceptron
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
        self.shapes, self.skip, self._views = list(pairwise(sizes)), skip, None
        self.theta = np.zeros(sum(a * b + b for a, b in self.shapes))
        layers = self.layers
        for W, _ in layers[:-1] if skip else layers:
            W[:] = np.sqrt(6 / len(W)) * rng.uniform(-1, 1, W.shape)

    @classmethod
    def together(cls, networks):
        """Networks of one shape as one, with copies of their weights: theta is (r, m)."""
        whole = cls.__new__(cls)
        whole.shapes, whole.skip, whole._views = networks[0].shapes, networks[0].skip, None
        whole.theta = np.stack([network.theta for network in networks])
        return whole

    @property
    def layers(self):
        """[(W, b), ...] as views of theta."""
        if self._views is None or self._views[0] is not self.theta:
            self._views = self.theta, _layers(self.theta, self.shapes)
        return self._views[1]

    def __getstate__(self):
        return self.__dict__ | {"_views": None}  # views would come back as copies

    def __call__(self, X):
        """The images (..., n, outputs) of X (..., n, inputs)."""
        return self.forward(X)[0]

    def forward(self, X):
        """The images of X, and what `backward` needs: the input of every layer."""
        layers, inputs = self.layers, [X]
        for W, b in layers[:-1]:
            A = inputs[-1] @ W
            A += b[..., None, :]
            inputs.append(np.maximum(A, 0, out=A))
        W, b = layers[-1]
        Z = inputs[-1] @ W
        Z += b[..., None, :]
        return Z + X if self.skip else Z, inputs

    def backward(self, inputs, G, to_input=True):
        """Gradients in theta (..., m) and in the input, from G (..., n, outputs) in the images.

        The chain rule from the last layer to the first; a unit passes on what reaches it where
        it is positive. Without `to_input` the second is None.
        """
        gradient = np.empty_like(self.theta)
        below = G
        rows = list(zip(self.layers, _layers(gradient, self.shapes), inputs))
        for (W, _), (gW, gb), A in reversed(rows):
            np.matmul(A.swapaxes(-1, -2), below, out=gW)
            below.sum(axis=-2, out=gb)
            if A is inputs[0]:
                break
            below = below @ W.swapaxes(-1, -2)
            below *= A > 0
        if not to_input:
            return gradient, None
        below = below @ W.swapaxes(-1, -2)
        return gradient, below + G if self.skip else below


def _layers(theta, shapes):
    found, k = [], 0
    for a, b in shapes:
        W, k = theta[..., k : k + a * b].reshape(*theta.shape[:-1], a, b), k + a * b
        found.append((W, theta[..., k : k + b]))
        k += b
    return found


class Adam:
    """Kingma and Ba's ascent: steps of about `rate` along the sign of a running mean gradient.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit_book.methods.knet.perceptron import Adam
    >>> theta, adam = np.zeros(2), Adam(2, rate=0.1)
    >>> for _ in range(500):
    ...     adam.ascend(theta, np.array([3.0, -1.0]) - theta)
    >>> theta.round(2)
    array([ 3., -1.])
    """

    def __init__(self, size, rate):
        self.rate, self.t = rate, 0
        self.mean, self.square = np.zeros(size), np.zeros(size)

    @classmethod
    def together(cls, optimisers):
        """Those of several networks, after equally many steps, as one."""
        whole = cls(0, optimisers[0].rate)
        whole.t = optimisers[0].t
        whole.mean = np.stack([one.mean for one in optimisers])
        whole.square = np.stack([one.square for one in optimisers])
        return whole

    def ascend(self, theta, gradient):
        """Move theta in place, up along the gradient."""
        self.t += 1
        self.mean *= 0.9
        self.mean += 0.1 * gradient
        self.square *= 0.999
        self.square += 1e-3 * gradient * gradient
        root = np.sqrt(1 - 0.999**self.t)
        step = np.sqrt(self.square)
        step += 1e-8 * root
        np.divide(self.mean, step, out=step)
        step *= self.rate * root / (1 - 0.9**self.t)
        theta += step


def batches(n, size, rng):
    """Row numbers for ever, `size` at a time: passes over 0 .. n - 1, each in a new random order.

    The n % size rows left over at the end of a pass are dropped.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit_book.methods.knet.perceptron import batches
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
