"""KNet's networks in training: psi climbs while U is held; U is renewed once psi has settled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ismlit.attraction import frozen, pull
from ismlit.gamma import centre
from ismlit.kernels import Gaussian
from ismlit.pairs import Pairs
from ismlit.perceptron import Adam, Perceptron, batches
from ismlit.spectral import Affinity, ascend

PRETRAINING = 5000  # steps of Adam for (4.12), in batches of 64 at a rate of 0.001


def embedding_affinity(Z, kernel):
    """``L = H D^(-1/2) K D^(-1/2) H`` of images Z (n, q), as products. Claims: eq-4.6, eq-4.14.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_circles
    >>> from ismlit import Gaussian
    >>> from ismlit.training import embedding_affinity
    >>> X, y = make_circles(100, factor=0.3, random_state=0)
    >>> U, values = embedding_affinity(X, Gaussian(0.1)).leading(1)
    >>> abs(round(float(np.corrcoef(U[:, 0], y)[0, 1]), 2))
    1.0
    """
    return Affinity(Pairs(Z, kernel), normalize="centred")


@dataclass(frozen=True)
class Schedule:
    """How a network is trained; parameters as for `ismlit.KNetClustering`."""

    update: str = "eig"
    penalty: float = 0.0
    moving: bool = False
    n_steps: int = 2000
    batch_size: int = 32
    learning_rate: float = 1e-3
    min_gain: float = 3e-3
    max_blocks: int = 40


@dataclass(eq=False)
class Training:
    """One network on its way: encoder, decoder, the rows to come, and what each block reached.

    `blocks` holds (surrogate objective, mean squared reconstruction error, whether U was renewed).
    """

    encoder: Perceptron
    decoder: Perceptron
    rows: object
    optimisers: list
    blocks: list = field(default_factory=list)

    def ascend(self, X, gradient, penalty):
        """One step up: `gradient` in the images, less `penalty` times the error of X (b, d)."""
        Z, inputs = self.encoder.forward(X)
        G = gradient(Z)
        if penalty:
            Y, decoder_inputs = self.decoder.forward(Z)
            error = 2 * penalty * (X - Y) / X.size
            decoder_gradient, back = self.decoder.backward(decoder_inputs, error)
            G = G + back
            self.optimisers[1].ascend(self.decoder.theta, decoder_gradient)
        self.optimisers[0].ascend(self.encoder.theta, self.encoder.backward(inputs, G)[0])


def identity_network(X, hidden, skip, schedule, rng):
    """A new encoder and decoder that are the identity, exactly or by training (4.12)."""
    d = X.shape[1]
    nets = [Perceptron((d, *hidden, d), rng, skip) for _ in range(2)]

    def training(size, rate):
        rows = batches(len(X), min(size, len(X)), rng)
        return Training(*nets, rows, [Adam(len(net.theta), rate) for net in nets])

    run = training(schedule.batch_size, schedule.learning_rate)
    if not skip:
        before = training(64, 1e-3)
        for _ in range(PRETRAINING):
            B = X[next(before.rows)]
            before.ascend(B, lambda Z, B=B: 2 * (B - Z) / B.size, 1.0)
    return run


class Trainer:
    """Networks on samples X (n, d) of deviation 1, with the bandwidth sigma in those units."""

    def __init__(self, X, sigma, schedule, watch: Callable):
        self.X, self.sigma, self.schedule, self.watch = X, sigma, schedule, watch

    def settle(self, run, U, D):
        """Blocks of steps with U and D held, until one gains too little or all are used up.

        Returns the affinity of the images reached.
        """
        before, settled = -np.inf, False
        while not settled:
            self._block(run, U, D)
            Z = run.encoder(self.X)
            if not np.abs(Z).max() < 1e4:
                raise ValueError(
                    "the images have left all bounds: lower learning_rate (it is "
                    f"{self.schedule.learning_rate}) or penalty ({self.schedule.penalty})"
                )
            error = float(np.mean((self.X - run.decoder(Z)) ** 2))
            L = embedding_affinity(Z, Gaussian(self.sigma))
            value = self._surrogate(L, U, D) - self.schedule.penalty * error
            settled = not value - before > self.schedule.min_gain * abs(value)
            settled = settled or len(run.blocks) + 1 >= self.schedule.max_blocks
            run.blocks.append((value, error, settled))
            before = value
            self.watch(Z, value)
        return L

    def renewed(self, L, U):
        """The next U: the leading eigenvectors of L, or a climb along Cayley curves from U."""
        return L.leading(U.shape[1])[0] if self.schedule.update == "eig" else ascend(L, U)[0]

    def _surrogate(self, L, U, D):
        """The objective that psi climbs: with the degrees D held, or moving with the images."""
        if self.schedule.moving:
            return float(np.sum(U * (L @ U)))
        F = frozen(U, D)
        return float(np.sum(F * (L.K @ F)))

    def _block(self, run, U, D):
        """Steps of Adam up the objective, with Gamma held (or its U, if D moves)."""
        n, moving = len(self.X), self.schedule.moving
        F = centre(U) if moving else frozen(U, D)
        with np.errstate(over="ignore", invalid="ignore"):  # looked at after the block
            for _ in range(self.schedule.n_steps):
                B = slice(None) if moving else next(run.rows)
                b = n if moving else len(B)
                pairs = n * (n - 1) / (b * (b - 1))  # how many there are for each one in the batch
                held = F[B]
                gradient = lambda Z, F=held, m=pairs: m * pull(Z, F, self.sigma, moving)[1]
                run.ascend(self.X[B], gradient, self.schedule.penalty)
