"""KNet as the authors' program ran it, for Tables 4.1, 4.2 and 4.4: not the text's Algorithm 3.

A `Reading` says in one value what a run takes as given; `READINGS` has that of each set. What
differs from the text (`table_4_2`): networks are pretrained for hundreds of epochs and the best of
several is kept; sigma is that of their images; a turn has 20 epochs and a new Adam; the error
weighs as much as HSIC does at the start, times `weight`; K has no diagonal; the labels come from
the rows of U, scaled to length 1; then a second phase without the error, whose U is one-hot.
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from ismlit.estimators.clusters import cluster_rows
from ismlit.gamma import centre, one_hot
from joblib import Parallel, delayed
from scipy.sparse.linalg import eigsh
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import scale
from tqdm import tqdm

from ismlit_book.experiments import median, shortened
from ismlit_book.experiments.table_4_2 import SHARE, Gram, data_of, learnt_on, nmi
from ismlit_book.methods.baselines import ascend
from ismlit_book.methods.knet.attraction import pull
from ismlit_book.methods.knet.perceptron import Adam, Perceptron
from ismlit_book.methods.knet.training import Training

BATCH, RATE = 5, 1e-3
EPOCHS = {"eig": 20, "sma": 10}
"""In a turn."""
MOST = {"first": 99, "second": 9}
"""Turns of a phase."""
SETTLED = 0.015
"""Mean absolute change of UU' that is printed as 0.01: turns stop below it."""
WINDOW, LEAST = 400, 300
"""Pretraining stops after `LEAST` epochs once the worst losses of the last `WINDOW` do not fall."""
PRETRAINING = 5000  # epochs at most
CAPPED = {"Spiral1": 400, "RCV": 100}
CAPPED_PART = 1000
"""Fewer epochs at most, for their time: of all samples of these sets, and of all parts."""
RUNS = {"all": 5, "part": 3, "published part": 3}
"""From one network; or from one each, on a part drawn anew. On all of RCV two."""
NETWORKS = 5
"""Pretrained, of which that with the least error is kept."""


@dataclass(frozen=True)
class Reading:
    """What a run of the program takes as given.

    Parameters
    ----------
    width : int, optional
        Of the two hidden layers; as many units as features when None.
    share : float
        sigma over the median distance between the pretrained images.
    weight : float
        Of the mean squared error, over the ratio of HSIC to that error after pretraining.
    degrees : bool
        In the target of the network; they are in L always.
    update : {"eig", "sma"}
        How U is renewed: by eigenvectors, or by at most five steps along Cayley curves.
    """

    width: int | None = None
    share: float = 1.0
    weight: float = 1.0
    degrees: bool = True
    update: str = "eig"


READINGS = {
    "Moon": Reading(width=20, share=0.1),
    "Spiral1": Reading(width=20, share=0.1, weight=0.0),
    "Cancer": Reading(weight=1e-6),
    "Wine": Reading(weight=0.0, degrees=False),
    "RCV": Reading(),
    "Face": Reading(),
}
"""The published settings of each set; Face's network as in all but one of its files."""
OTHERWISE = {
    ("all", "sma"): {"Cancer": Reading(), "Wine": Reading(), "Face": Reading(weight=2.0)},
    ("part", "eig"): {"Wine": Reading(), "RCV": Reading(weight=2.0), "Face": Reading(weight=2.0)},
}
OTHERWISE["part", "sma"] = OTHERWISE["part", "eig"]
"""Where those of Cayley's curves, and of Table 4.4, differ."""


def change(U, V):
    """Mean absolute difference of UU' and VV', some rows at a time."""
    parts = np.array_split(np.arange(len(U)), max(len(U) // 1000, 1))
    return sum(np.abs(U[p] @ U.T - V[p] @ V.T).sum() for p in parts) / len(U) ** 2


# ---------------------------------------------------------------- pretraining


def started(sizes, rng):
    """A network with normal weights of variance 2 / inputs and small random biases."""
    net = Perceptron(sizes, rng, skip=False)
    for W, b in net.layers:
        W[:] = np.sqrt(2 / len(W)) * rng.standard_normal(W.shape)
        b[:] = rng.uniform(-1, 1, b.shape) / np.sqrt(len(W))
    return net


def epoch_of(n, rngs):
    """Rows (steps, r, BATCH) of one epoch, each network's in an order of its own."""
    size = min(BATCH, n)
    rows = [rng.permutation(n)[: n - n % size].reshape(-1, size) for rng in rngs]
    return np.swapaxes(rows, 0, 1)


def identity_step(encoder, decoder, adams, B):
    """One step down |Y - B|² + |Y - Z|², means over entries; the loss of each network.

    Y is what the decoder makes of the images Z of B (r, b, d).
    """
    Z, inside = encoder.forward(B)
    Y, outside = decoder.forward(Z)
    to_data, to_images = Y - B, Y - Z
    factor = -2 / (B.shape[-2] * B.shape[-1])
    gradient, below = decoder.backward(outside, factor * (to_data + to_images))
    adams[0].ascend(encoder.theta, encoder.backward(inside, below - factor * to_images, False)[0])
    adams[1].ascend(decoder.theta, gradient)
    return (to_data**2 + to_images**2).mean(axis=(-2, -1))


def pretrained(width, X, seed, networks=NETWORKS, most=PRETRAINING):
    """Several networks, each trained to the identity until it no longer improves."""
    n, d = X.shape
    rngs = [np.random.RandomState(1000 * seed + k) for k in range(networks)]
    pairs = [[started((d, width, width, d), rng) for _ in range(2)] for rng in rngs]
    encoder, decoder = (Perceptron.together(nets) for nets in zip(*pairs))
    adams = [Adam(encoder.theta.shape, RATE), Adam(decoder.theta.shape, RATE)]
    worst, going = [], set(range(networks))
    found = {}
    bar = tqdm(range(most), desc="pretraining", unit="epoch", leave=False)
    for epoch in bar:
        losses = [identity_step(encoder, decoder, adams, X[B]) for B in epoch_of(n, rngs)]
        worst.append(np.max(losses, axis=0))
        last = np.array(worst[-WINDOW:])
        for k in list(going):
            falls = len(last) <= LEAST or np.polyfit(np.arange(len(last)), last[:, k], 1)[0] < 0
            if not falls or epoch == most - 1:
                going.remove(k)
                found[k] = (encoder.theta[k].copy(), decoder.theta[k].copy(), epoch + 1)
        bar.set_postfix(going=len(going), worst=float(worst[-1].min()))
        if not going:
            break
    bar.close()
    for k, pair in enumerate(pairs):
        pair[0].theta[:], pair[1].theta[:] = found[k][:2]
    return [Network(*pair, X, found[k][2]) for k, pair in enumerate(pairs)]


class Network:
    """A pretrained encoder and decoder; `error` is what they were trained to lower."""

    def __init__(self, encoder, decoder, X, epochs):
        self.encoder, self.decoder, self.epochs = encoder, decoder, epochs
        self.Z = encoder(X)
        Y = decoder(self.Z)
        self.error = float(np.mean((Y - X) ** 2) + np.mean((Y - self.Z) ** 2))


# ---------------------------------------------------------------- the two phases


class Runs:
    """Several runs from one pretrained network, side by side; each has its own batches."""

    def __init__(self, reading, X, c, network, seeds):
        self.reading, self.X, self.c, self.seeds = reading, X, c, list(seeds)
        self.rngs = [np.random.RandomState(seed) for seed in seeds]
        self.nets = tuple(
            Perceptron.together([net] * len(self.seeds))
            for net in (network.encoder, network.decoder)
        )
        self.sigma = reading.share * median(network.Z)
        images, data = (Gram(network.Z, self.sigma), Gram(X, reading.share * median(X)))
        self.data, U = data.leading(c)[0], images.leading(c)[0]
        self.weight = reading.weight and reading.weight * abs(images.trace(U)) / network.error
        self.U, self.roots = [U] * len(self.seeds), [data.roots] * len(self.seeds)

    def turn(self, weight):
        """Epochs with the target held, then the L of the images of every run."""
        roots = self.roots if self.reading.degrees else np.ones_like(self.roots)
        F = np.array([centre(U) / root for U, root in zip(self.U, roots)])
        adams = [Adam(net.theta.shape, RATE) for net in self.nets]
        whole = Training(*self.nets, None, adams)
        own = np.arange(len(self.seeds))[:, None]
        epochs = EPOCHS[self.reading.update]
        for _ in tqdm(range(epochs), desc="turn", unit="epoch", leave=False):
            for B in epoch_of(len(self.X), self.rngs):
                held = F[own, B]
                whole.ascend(self.X[B], lambda Z, F=held: pull(Z, F, self.sigma)[1], weight)
        return [Gram(Z, self.sigma) for Z in self.images(self.X)]

    def images(self, X):
        """Of X (n, d) by every run, (r, n, d)."""
        return self.nets[0](np.broadcast_to(X, (len(self.seeds), *X.shape)))

    def renewed(self, L, U):
        """The next U with orthonormal columns."""
        if self.reading.update == "eig":
            return L.leading(self.c)[0]
        return ascend(L, U, max_iter=5)[0]

    def first(self):
        """Turns with eigenvectors until all runs have settled; (U of each, its Tr U'LU, turns)."""
        turns, before = 0, None
        while before is None or (self.unsettled(before) and turns < MOST["first"]):
            grams, before, turns = self.turn(self.weight), self.U, turns + 1
            self.U = [self.renewed(L, U) for L, U in zip(grams, before)]
            self.roots = [L.roots for L in grams]
            value = [L.trace(U) for L, U in zip(grams, self.U)]
        return self.U, value, turns

    def second(self):
        """Turns without the error and with one-hot U; (labels of each run, turns)."""
        U, turns, before = self.U, 0, None
        while before is None or (self.unsettled(before) and turns < MOST["second"]):
            grams, before, turns = self.turn(0.0), self.U, turns + 1
            U = [self.renewed(L, V) for L, V in zip(grams, U)]
            labels = [cluster_rows(V, self.c, seed) for V, seed in zip(U, self.seeds)]
            self.U = [one_hot(found) for found in labels]
            self.roots = [L.roots for L in grams]
        return labels, turns

    def unsettled(self, before):
        """Whether some run's U has changed since."""
        return any(change(U, V) >= SETTLED for U, V in zip(self.U, before))


# ---------------------------------------------------------------- rows


@cache
def top_shares(name):
    """sigma, and the leading eigenvalues of K of all samples over their sum: 95 % of its trace."""
    X = data_of(name)[0]
    sigma = median(X)
    K = np.exp(-(pairwise_distances(X) ** 2) / (2 * sigma**2))
    small = len(X) <= 3000
    values = np.linalg.eigvalsh(K) if small else eigsh(K, 60, v0=np.cos(np.arange(len(K))))[0]
    values = np.sort(values)[::-1]
    values = values[np.cumsum(values) / len(X) < 0.95]
    return sigma, values / values.sum()


def part_of(name, size, rng, draws=20):
    """Rows of the best of several draws: that whose leading eigenvalues of K are most alike."""
    X, (sigma, shares) = data_of(name)[0], top_shares(name)
    best = (np.inf,)
    for _ in range(draws):
        rows = rng.permutation(len(X))[:size]
        K = np.exp(-(pairwise_distances(X[rows]) ** 2) / (2 * sigma**2))
        found = np.linalg.eigvalsh(K)[::-1][: len(shares)]
        apart = np.abs(shares[: len(found)] - found / found.sum()).max()
        if apart < best[0]:
            best = apart, rows
    return best[1]


@cache
def taken(name, where, seed):
    """X that is learnt on, its y, and X and y that labels are given to; all scaled by their own.

    where: "all", "part" (of the size of Table 4.4), or "published part", the 300 points of Spiral1.
    """
    if where != "part":
        return learnt_on(name, "scaled", where, seed)
    X, y = data_of(name)
    rows = part_of(name, round(SHARE[name] * len(X)), np.random.RandomState(seed))
    return scale(X[rows]), y[rows], X, y


@cache
def networks_of(width, name, where, seed, networks, most):
    """What is pretrained once for all readings with layers of this width."""
    X = taken(name, where, seed)[0]
    return pretrained(width or X.shape[1], X, seed, networks, most)


def found_by(reading, name, where, seed, seeds, networks=NETWORKS, most=None):
    """What the runs `seeds` from the best network of one pretraining come to; lists over them."""
    X, y, new, new_y = taken(name, where, seed)
    c = len(np.unique(y))
    most = most or (CAPPED.get(name, PRETRAINING) if where == "all" else CAPPED_PART)
    candidates = networks_of(reading.width, name, where, seed, networks, most)
    network = min(candidates, key=lambda net: net.error)
    runs = Runs(reading, X, c, network, seeds)
    k_means = lambda Z, run: KMeans(c, n_init=10, random_state=run).fit_predict(Z)
    by_rows = lambda U: [nmi(y, cluster_rows(V, c, run)) for V, run in zip(U, seeds)]
    found = {"data": by_rows([runs.data] * len(seeds)), "start": by_rows(runs.U)}
    U, found["HSIC"], turns = runs.first()
    moved = np.mean((runs.images(X) - network.Z) ** 2, axis=(1, 2)) / network.Z.var()
    found |= {"NMI": by_rows(U), "moved": np.sqrt(moved).tolist()}
    labels, more = runs.second()
    found["second"] = [nmi(y, own) for own in labels]
    found["images"] = [nmi(y, k_means(Z, run)) for Z, run in zip(runs.images(X), seeds)]
    if where != "all":
        found["new"] = [nmi(new_y, k_means(Z, run)) for Z, run in zip(runs.images(new), seeds)]
    return found | {
        "weight": [runs.weight] * len(seeds),
        "turns": [turns] * len(seeds),
        "second turns": [more] * len(seeds),
        "sigmas": [reading.share * median(net.Z) for net in candidates],
        "errors": [net.error for net in candidates],
        "epochs": [net.epochs for net in candidates],
    }


VARIANTS = {
    "Wine": {
        "settings of its part": Reading(),
        "no degrees": Reading(degrees=False),
        "other networks": READINGS["Wine"],
    }
}
"""Readings tried where the published one does not come out: other files' settings, and five
networks each the best of other five."""


def wanted():
    """(set, reading, where, update) of every row; SMA on all of RCV was not run, for its time."""
    for name in READINGS:
        for where in ("all", "part"):
            for update in EPOCHS:
                if (name, where, update) != ("RCV", "all", "sma"):
                    yield name, "published", where, update
    yield "Spiral1", "published", "published part", "eig"
    for name, others in VARIANTS.items():
        for reading in others:
            yield name, reading, "all", "eig"


def reading_of(name, reading, where, update):
    """The `Reading` of a row."""
    plain = OTHERWISE.get((where, update), {}).get(name, READINGS[name])
    return replace(VARIANTS[name][reading] if reading != "published" else plain, update=update)


def rows(only="", folds=10, jobs=1):
    """Row by row, those whose name (set/where/update) starts with `only`; see `RUNS`."""
    for name, reading, where, update in wanted():
        if not f"{name}/{where}/{update}".startswith(only):
            continue
        own = reading_of(name, reading, where, update)
        count = min(folds, 2 if (name, where) == ("RCV", "all") else RUNS[where])
        one_network = where == "all" and reading != "other networks"
        plan = [(0, range(count))] if one_network else [(seed, [seed]) for seed in range(count)]
        parts = Parallel(jobs)(delayed(found_by)(own, name, where, *p) for p in plan)
        key = {"set": name, "reading": reading, "where": where, "update": update}
        every = {k: [float(v) for part in parts for v in part[k]] for k in parts[0]}
        yield key | shortened(every)
