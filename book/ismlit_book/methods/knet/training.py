"""KNet's networks in training: psi climbs while U is held; U is renewed once psi has settled."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from ismlit.kernels import Gaussian
from ismlit.objectives.affinity import Affinity
from ismlit.objectives.pairs import Pairs

from ismlit_book.methods.knet.attraction import frozen, pull
from ismlit_book.methods.knet.perceptron import Adam, Perceptron, batches


def embedding_affinity(Z, kernel):
    """``L = H D^(-1/2) K D^(-1/2) H`` of images Z (n, q), as products. Claims: eq-4.6, eq-4.14.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_circles
    >>> from ismlit import Gaussian
    >>> from ismlit_book.methods.knet.training import embedding_affinity
    >>> X, y = make_circles(100, factor=0.3, random_state=0)
    >>> U, values = embedding_affinity(X, Gaussian(0.1)).leading(1)
    >>> abs(round(float(np.corrcoef(U[:, 0], y)[0, 1]), 2))
    1.0
    """
    return Affinity(Pairs(Z, kernel), normalize="centred")


@dataclass(frozen=True)
class Schedule:
    """How a network is trained; parameters as for `ismlit_book.methods.knet.KNetClustering`."""

    penalty: float = 0.0
    n_steps: int = 1000
    batch_size: int = 64
    learning_rate: float = 2e-3
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
            error = 2 * penalty * (X - Y) / (X.shape[-2] * X.shape[-1])
            decoder_gradient, back = self.decoder.backward(decoder_inputs, error)
            G = G + back
            self.optimisers[1].ascend(self.decoder.theta, decoder_gradient)
        self.optimisers[0].ascend(self.encoder.theta, self.encoder.backward(inputs, G, False)[0])


class Together:
    """Networks on their way that take their steps at once; their weights are copied back."""

    def __init__(self, runs):
        self.runs = runs
        nets = [Perceptron.together(nets) for nets in zip(*((r.encoder, r.decoder) for r in runs))]
        optimisers = [Adam.together(pair) for pair in zip(*(run.optimisers for run in runs))]
        self.whole = Training(*nets, None, optimisers)

    def part(self):
        """Hand every network what it has come to."""
        for k, run in enumerate(self.runs):
            run.encoder.theta[:] = self.whole.encoder.theta[k]
            run.decoder.theta[:] = self.whole.decoder.theta[k]
            for own, shared in zip(run.optimisers, self.whole.optimisers, strict=True):
                own.t, own.mean, own.square = shared.t, shared.mean[k], shared.square[k]


def identity_network(X, hidden, schedule, rng):
    """A new encoder and decoder that are the identity exactly."""
    d = X.shape[1]
    nets = [Perceptron((d, *hidden, d), rng) for _ in range(2)]
    return in_training(nets, len(X), schedule.batch_size, schedule.learning_rate, rng)


def in_training(nets, n, batch_size, rate, rng):
    """An encoder and a decoder with batches of n rows to come, and Adam at a rate."""
    rows = batches(n, min(batch_size, n), rng)
    return Training(*nets, rows, [Adam(len(net.theta), rate) for net in nets])


class Trainer:
    """Networks on samples X (n, d) of deviation 1, with the bandwidth sigma in those units."""

    def __init__(self, X, sigma, schedule, watch: Callable):
        self.X, self.sigma, self.schedule, self.watch = X, sigma, schedule, watch

    def settle(self, runs, U, D):
        """Blocks of steps with U and D held, each network until a block gains too little.

        Or until all its blocks are used up. Returns the affinities of the images reached.
        """
        found, before = [None] * len(runs), [-np.inf] * len(runs)
        climbing = list(range(len(runs)))
        while climbing:
            self._block([runs[k] for k in climbing], U, D)
            for k in list(climbing):
                found[k] = self._measured(runs[k], U, D, before[k])
                before[k], _, settled = runs[k].blocks[-1]
                if settled:
                    climbing.remove(k)
        return found

    def _measured(self, run, U, D, before):
        """The affinity of the images; what was reached is noted in the blocks of the network."""
        Z = run.encoder(self.X)
        sizes = run.optimisers[0].square  # infinite where a gradient was too large to square
        if not (np.abs(Z).max() < 1e4 and np.isfinite(sizes).all()):
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
        self.watch(Z, value)
        return L

    def renewed(self, L, U):
        """The next U: the leading eigenvectors of L."""
        return L.leading(U.shape[1])[0]

    def _surrogate(self, L, U, D):
        """The objective that psi climbs, with the degrees D held."""
        F = frozen(U, D)
        return float(np.sum(F * (L.K @ F)))

    def _block(self, runs, U, D):
        """Steps of Adam up the objective, with Gamma held."""
        n, F, together = len(self.X), frozen(U, D), Together(runs)
        with np.errstate(over="ignore", invalid="ignore"):  # looked at after the block
            for B in self._rows(runs, self.schedule.n_steps):
                b, held = B.shape[-1], F[B]
                pairs = n * (n - 1) / (b * (b - 1))  # how many there are for each one in the batch
                gradient = lambda Z, F=held, m=pairs: m * pull(Z, F, self.sigma)[1]
                together.whole.ascend(self.X[B], gradient, self.schedule.penalty)
        together.part()

    def _rows(self, runs, steps):
        """The rows (r, b) of every step, each network's from its own passes."""
        rows = [[next(run.rows) for _ in range(steps)] for run in runs]
        return np.swapaxes(rows, 0, 1)
