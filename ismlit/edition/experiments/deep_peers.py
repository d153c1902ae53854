"""Comparators of chapter 4 that need PyTorch: AEC and DEC (ClustPy), SpectralNet, IMSAT (ours).

``pip install ismlit[deep]`` brings them. Widths are those that section 4.4 states; the lengths of
training are ours: DEC's paper trains for 150 000 steps, which take an hour a run on one core.
"""

from __future__ import annotations

import contextlib
import io
import warnings

import numpy as np
from sklearn.neighbors import NearestNeighbors

PRETRAINING = 50  # epochs of an autoencoder before clusters are sought
CLUSTERING = 50  # epochs with them


def torch():
    """The torch module, on one thread; without it an ImportError says what to install."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "the comparators of chapter 4 need PyTorch, ClustPy and spectralnet: "
            "pip install ismlit[deep]"
        ) from error
    torch.set_num_threads(1)
    return torch


class _Peer:
    """A comparator with scikit-learn's `fit` and `predict`, silent and seeded."""

    def __init__(self, n_clusters, random_state=0):
        self.n_clusters, self.random_state = n_clusters, random_state

    def fit(self, X):
        """Train on X (n, d); `labels_` are its clusters."""
        before = np.random.get_state()  # noqa: NPY002, which SpectralNet draws from
        with torch().random.fork_rng(devices=[]), _silence():
            torch().manual_seed(self.random_state)
            np.random.seed(self.random_state)  # noqa: NPY002
            self._train(np.asarray(X, np.float32))
            self.labels_ = self.predict(X)
        np.random.set_state(before)  # noqa: NPY002
        return self

    def predict(self, X):
        """Clusters (n,) of X (n, d)."""
        with _silence():
            return np.asarray(self._label(np.asarray(X, np.float32)))


@contextlib.contextmanager
def _silence():
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


class _ClustPy(_Peer):
    def _train(self, X):
        from clustpy import deep
        from clustpy.deep.neural_networks import FeedforwardAutoencoder

        layers = {"layers": [X.shape[1], *self.hidden, 10]}
        self.model = getattr(deep, type(self).__name__)(
            n_clusters=self.n_clusters,
            batch_size=self.batch_size,
            pretrain_epochs=PRETRAINING,
            clustering_epochs=CLUSTERING,
            neural_network=(FeedforwardAutoencoder, layers),
            random_state=self.random_state,
        ).fit(X)

    def _label(self, X):
        return self.model.predict(X)


class AEC(_ClustPy):
    """Autoencoder whose code is pulled to the k-means centres; hidden layers 1000, 250, 50."""

    hidden, batch_size = (1000, 250, 50), 100


class DEC(_ClustPy):
    """Autoencoder with soft assignments sharpened in turns; hidden layers 500, 500, 2000."""

    hidden, batch_size = (500, 500, 2000), 256


class SpectralNet(_Peer):
    """A network that imitates spectral clustering, by the settings of its package's moons example.

    Eight neighbours, scale by the second, steps of 0.01; two layers of 128. Appendix B.4 has a
    Siamese network, batches of 128 and a search over neighbours, which are left out here: in
    batches of 128 a few neighbours join no arm of a moon.
    """

    neighbours, scale, rate = 8, 2, 1e-2

    def _train(self, X):
        from spectralnet import SpectralNet

        size = min(1024, len(X))
        self.model = SpectralNet(
            n_clusters=self.n_clusters,
            spectral_hiddens=[128, 128, self.n_clusters],
            spectral_epochs=CLUSTERING,
            spectral_batch_size=size,
            spectral_n_nbg=min(self.neighbours, size // 4),
            spectral_scale_k=self.scale,
            spectral_lr=self.rate,
        )
        self.model.fit(torch().tensor(X))

    def _label(self, X):
        return self.model.predict(torch().tensor(X))


class UntunedSpectralNet(SpectralNet):
    """By its package's default settings."""

    neighbours, scale, rate = 30, 15, 1e-3


class IMSAT(_Peer):
    """Classes with most mutual information with X, unmoved by adversarial steps (Hu et al. 2017).

    Hidden layers of 1200, batches of 250, Adam at 0.002, as Table B.1 says. The step is a quarter
    of the distance to the tenth neighbour. Only the passes of the samples themselves count in the
    running means of the batch normalisation, from which the labels come.
    """

    steps, leaking = 200, False

    def _train(self, X):
        t = torch()
        nn, d = t.nn, X.shape[1]
        block = lambda a, b: [nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU()]
        self.net = nn.Sequential(
            *block(d, 1200), *block(1200, 1200), nn.Linear(1200, self.n_clusters)
        )
        self.norms = self.net[1], self.net[4]
        for layer, size in zip(self.net[::3], (0.1, 0.1, 1e-4)):  # as its authors start it
            nn.init.normal_(layer.weight, 0, size * np.sqrt(2 / layer.in_features))
            nn.init.zeros_(layer.bias)
        near = NearestNeighbors(n_neighbors=min(10, len(X) - 1)).fit(X).kneighbors()[0][:, -1]
        X, length = t.tensor(X), t.tensor(0.25 * near[:, None], dtype=t.float32)
        optimiser = t.optim.Adam(self.net.parameters(), lr=0.002)
        self.net.train()
        steps = 0
        while steps < max(self.steps, CLUSTERING * len(X) // 250):
            for rows in t.randperm(len(X)).split(250):
                if len(rows) > 1:
                    loss, steps = self._loss(X[rows], length[rows]), steps + 1
                    optimiser.zero_grad()
                    loss.backward()
                    optimiser.step()

    def _loss(self, X, length, weight=0.1, balance=4.0):
        t = torch()
        p = self.net(X).softmax(dim=1)
        entropy = lambda q: -(q * (q + 1e-8).log()).sum(dim=-1)
        information = balance * entropy(p.mean(dim=0)) - entropy(p).mean()
        with self._held():
            change = self._change(p.detach(), X, t.nn.functional.normalize, length)
        return change - weight * information

    @contextlib.contextmanager
    def _held(self):
        """The running means stay as they are, unless `leaking`."""
        momentum = self.norms[0].momentum
        for norm in self.norms:
            norm.momentum = momentum if self.leaking else 0.0
        yield
        for norm in self.norms:
            norm.momentum = momentum

    def _change(self, p, X, unit, length):
        """KL of the classes at the worst step of the given lengths: one power iteration."""
        t = torch()
        divergence = lambda X: (
            (p * ((p + 1e-8).log() - self.net(X).log_softmax(dim=1))).sum(1).mean()
        )
        step = (10 * unit(t.randn_like(X))).requires_grad_()
        (gradient,) = t.autograd.grad(divergence(X + step), step)
        return divergence(X + length * unit(gradient))

    def _label(self, X):
        t = torch()
        self.net.eval()
        with t.no_grad():
            return self.net(t.tensor(X)).argmax(dim=1).numpy()


class LeakingIMSAT(IMSAT):
    """The adversarial passes count in the running means as well: what not to do."""

    leaking = True


PEERS = {
    "AEC": AEC,
    "DEC": DEC,
    "IMSAT": IMSAT,
    "IMSAT, leaking": LeakingIMSAT,
    "SN": SpectralNet,
    "SN, untuned": UntunedSpectralNet,
}
