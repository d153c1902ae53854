"""Comparators of chapter 4 that need PyTorch: AEC (ClustPy), SpectralNet, DEC and IMSAT (ours).

``pip install './book[deep]'`` brings them. Widths are those that section 4.4 states, DEC is trained
as in the program that it names. DEC's paper takes 300 000 steps, hours a run on one core: a part
of them here.
"""

import contextlib
import io
import warnings
from itertools import chain, count, islice, pairwise
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.neighbors import NearestNeighbors

from ismlit_book.files import optional

PRETRAINING = 50  # epochs of an autoencoder before clusters are sought
CLUSTERING = 50  # epochs with them


def torch():
    """The torch module, on one thread; ClustPy and spectralnet come with it."""
    torch = optional("torch", "deep")
    torch.set_num_threads(1)
    return torch


def _filled(layers, fill, *how):
    """Give layers new weights, by a function of torch.nn.init, and biases of 0."""
    for layer in layers:
        fill(layer.weight, *how)
        torch().nn.init.zeros_(layer.bias)


def _stacked(layers):
    """Layers one after the other, with ReLU between them."""
    nn = torch().nn
    return nn.Sequential(*[part for layer in layers for part in (layer, nn.ReLU())][:-1])


def _lower(descent, loss):
    """One step of an optimiser."""
    descent.zero_grad()
    loss.backward()
    descent.step()


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
            self._train(torch().tensor(np.asarray(X, np.float32)))
            self.labels_ = self.predict(X)
        np.random.set_state(before)  # noqa: NPY002
        return self

    def predict(self, X):
        """Clusters (n,) of X (n, d)."""
        return np.asarray(self._asked(self._label, X))

    def images(self, X):
        """What the network makes of X (n, d); None where its clusters are k-means of that."""
        return self._asked(self._embed, X)

    @staticmethod
    def _asked(answer, X):
        with _silence(), torch().no_grad():
            return answer(torch().tensor(np.asarray(X, np.float32)))

    def _embed(self, X):
        return None


@contextlib.contextmanager
def _silence():
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        with warnings.catch_warnings(action="ignore"):
            yield


class AEC(_Peer):
    """Autoencoder whose code is pulled to the k-means centres; hidden layers 1000, 250, 50."""

    epochs = PRETRAINING, CLUSTERING

    def _train(self, X):
        from clustpy.deep import AEC as Clusterer
        from clustpy.deep.neural_networks import FeedforwardAutoencoder

        layers = {"layers": [X.shape[1], 1000, 250, 50, 10]}
        self.model = Clusterer(
            n_clusters=self.n_clusters,
            batch_size=100,
            pretrain_epochs=self.epochs[0],
            clustering_epochs=self.epochs[1],
            neural_network=(FeedforwardAutoencoder, layers),
            random_state=self.random_state,
        ).fit(X.numpy())

    def _label(self, X):
        return self.model.predict(X.numpy())

    def _embed(self, X):
        return self.model.transform(X.numpy())


class LongAEC(AEC):
    """As many epochs as its authors' program takes for the autoencoder, and for the clusters."""

    epochs = 200, 60


class SpectralNet(_Peer):
    """A network that imitates spectral clustering, by the settings of its package's moons example.

    Eight neighbours, scale by the second, steps of 0.01; two layers of 128. Appendix B.4 has a
    Siamese network, batches of 128 and a search over neighbours, for which see
    `SearchedSpectralNet`: in batches of 128 a few neighbours join no arm of a moon.
    """

    neighbours, scale, rate = 8, 2, 1e-2

    def _train(self, X):
        size = min(1024, len(X))
        self.model = self._made(min(self.neighbours, size // 4), self.scale, self.rate, size)
        self.model.fit(X)

    def _made(self, neighbours, scale, rate, size, **more):
        from spectralnet import SpectralNet

        return SpectralNet(
            n_clusters=self.n_clusters,
            spectral_hiddens=[128, 128, self.n_clusters],
            spectral_epochs=CLUSTERING,
            spectral_batch_size=size,
            spectral_n_nbg=neighbours,
            spectral_scale_k=scale,
            spectral_lr=rate,
            **more,
        )

    def _label(self, X):
        return self.model.predict(X)


class UntunedSpectralNet(SpectralNet):
    """By its package's default settings."""

    neighbours, scale, rate = 30, 15, 1e-3


class IMSAT(_Peer):
    """Classes with most mutual information with X, unmoved by adversarial steps (Hu et al. 2017).

    Hidden layers of 1200, batches of 250, Adam at 0.002, as Table B.1 says, and 50 epochs, as its
    authors' program has, or 200 steps if these are more. Of fewer than 750 samples a batch is a
    third. The step is a quarter of the distance to the tenth neighbour. Only the passes of the
    samples themselves count in the running means of the batch normalisation, from which the labels
    come.
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
            _filled([layer], nn.init.normal_, 0, size * np.sqrt(2 / layer.in_features))
        near = NearestNeighbors(n_neighbors=min(10, len(X) - 1)).fit(X).kneighbors()[0][:, -1]
        length = t.tensor(0.25 * near[:, None], dtype=t.float32)
        optimiser = t.optim.Adam(self.net.parameters(), lr=0.002)
        self.net.train()
        size = min(250, len(X) // 3)
        batches = (rows for _ in count() for rows in t.randperm(len(X)).split(size))
        whole = (rows for rows in batches if len(rows) == size)
        for rows in islice(whole, self.n_steps(len(X))):
            _lower(optimiser, self._loss(X[rows], length[rows]))

    def n_steps(self, n):
        """Steps on n samples: so many epochs, or `steps` if these are more."""
        return max(self.steps, CLUSTERING * n // 250)

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
        return self._embed(X).argmax(axis=1)

    def _embed(self, X):
        self.net.eval()
        return self.net(X).numpy()


class LongIMSAT(IMSAT):
    """At least 800 steps: nearer to the seconds that are printed for the small sets."""

    steps = 800


class LeakingIMSAT(IMSAT):
    """The adversarial passes count in the running means as well: what not to do."""

    leaking = True


class DEC(_Peer):
    """Autoencoder with soft assignments sharpened in turns (Xie, Girshick and Farhadi 2016).

    Trained as in the program that the thesis names: the autoencoder as a whole, 200 epochs by Adam
    in batches of 256; then the assignments at a rate of 0.01 with momentum 0.9, with new targets
    every 140 steps, until fewer than a thousandth of the labels change; at most `most` steps.
    """

    hidden, batch, epochs, most = (500, 500, 2000, 10), 256, 200, 20_000

    def _train(self, X):
        linear, widths = torch().nn.Linear, pairwise([X.shape[1], *self.hidden])
        pairs = [(linear(a, b), linear(b, a)) for a, b in widths]
        ups, downs = zip(*pairs)
        self.up, self.down = _stacked(ups), _stacked(downs[::-1])
        self._prepare(pairs, X)
        self._sharpen(X)

    def _prepare(self, pairs, X):
        t = torch()
        layers = t.nn.ModuleList(chain.from_iterable(pairs))
        _filled(layers, t.nn.init.xavier_uniform_)
        descent = t.optim.Adam(layers.parameters())
        for _ in range(self.epochs):
            for rows in t.randperm(len(X)).split(self.batch):
                _lower(descent, ((self._whole(X[rows]) - X[rows]) ** 2).mean())

    def _whole(self, X):
        return self.down(self.up(X))

    def _batches(self, n):
        while True:
            yield from torch().randperm(n).split(min(self.batch, n))

    def _sharpen(self, X):
        t = torch()
        with t.no_grad():
            means = KMeans(self.n_clusters, n_init=20, random_state=self.random_state)
            labels = means.fit_predict(self.up(X).numpy())
        self.centres = t.tensor(means.cluster_centers_, dtype=t.float32, requires_grad=True)
        descent = t.optim.SGD([*self.up.parameters(), self.centres], 0.01, momentum=0.9)
        batches = self._batches(len(X))
        for turn in range(self.most // 140):
            with t.no_grad():
                shares = self._shares(X)
                before, labels = labels, shares.argmax(dim=1).numpy()
                target = shares**2 / shares.sum(dim=0)
                target = target / target.sum(dim=1, keepdim=True)
            if turn and np.mean(labels != before) < 0.001:
                break
            for _, rows in zip(range(140), batches):
                own = self._shares(X[rows])
                _lower(descent, (target[rows] * (target[rows] / own).log()).sum(dim=1).mean())

    def _shares(self, X):
        """Soft assignments (n, c), by Student's t with one degree of freedom."""
        near = 1 / (1 + ((self.up(X)[:, None] - self.centres) ** 2).sum(dim=2))
        return near / near.sum(dim=1, keepdim=True)

    def _label(self, X):
        return self._shares(X).argmax(dim=1).numpy()

    def _embed(self, X):
        return self.up(X).numpy()


class LayeredDEC(DEC):
    """DEC as its paper trains the autoencoder, for a `part` of its steps.

    Each layer first by itself, with a fifth of its inputs and units dropped (50 000 steps), then
    all of them (100 000); a rate of 0.1 that falls tenfold every 20 000 steps, momentum of 0.9.
    """

    part, most = 1 / 30, 2000

    def _prepare(self, pairs, X):
        t = torch()
        _filled(chain.from_iterable(pairs), t.nn.init.normal_, 0, 0.01)
        V = X
        for k, pair in enumerate(pairs):
            alone = self._alone(pair, k == 0, k == len(pairs) - 1)
            self._descend(pair, V, alone, 50_000)
            with t.no_grad():
                V = alone(V, coded=True)
        self._descend([*self.up, *self.down], X, self._whole, 100_000)

    def _alone(self, pair, first, last):
        """What one layer and its inverse make of V, with parts dropped; or the code of V."""
        t = torch()
        drop = lambda V, kept=False: V if kept else t.nn.functional.dropout(V, 0.2)

        def through(V, coded=False):
            U = pair[0](drop(V, first or coded))
            U = U if last else t.relu(U)
            V = U if coded else pair[1](drop(U, last))
            return V if coded or first else t.relu(V)

        return through

    def _descend(self, layers, V, through, steps):
        """Lower half the squared error of batches of V."""
        t = torch()
        descent = t.optim.SGD(t.nn.ModuleList(layers).parameters(), 0.1, momentum=0.9)
        falls = t.optim.lr_scheduler.StepLR(descent, int(20_000 * self.part))
        for _, rows in zip(range(int(steps * self.part)), self._batches(len(V))):
            _lower(descent, ((through(V[rows]) - V[rows]) ** 2).sum(dim=1).mean() / 2)
            falls.step()


class HurriedDEC(LayeredDEC):
    """The same for a hundredth of the steps."""

    part = 0.01


class ProgramSpectralNet(_Peer):
    """SpectralNet as its authors' program trains it on points of the plane (Shaham et al. 2018).

    Rate, batch and optimiser are those of Table B.1: RMSProp at 0.001 in batches of 128. K is the
    Gaussian kernel on all pairs of a batch; sigma is the median distance to the nearest sample.
    Three layers of 50 (softplus, the first two with batch normalisation), then c by tanh, made
    orthonormal by another batch. At most 300 times 100 steps; the rate falls tenfold where the
    loss on a tenth of the samples has not fallen for 30 times, and training ends below 1e-7.
    """

    batch, turns, patience = 128, 300, 30

    def _train(self, X):
        t = torch()
        order = np.random.permutation(len(X))  # noqa: NPY002, seeded by `fit`
        held, X = X[order[: len(X) // 10]], X[order[len(X) // 10 :]]
        self.net, size = self._layers(X.shape[1]), min(self.batch, len(X))
        sigma = self._nearest(X[t.randint(len(X), (size,))])
        rate, best, waited = 1e-3, np.inf, 0
        descent = t.optim.RMSprop(self.net.parameters(), lr=rate, alpha=0.9, eps=1e-10)
        draw = lambda: X[t.randperm(len(X))[:size]]
        for _ in range(self.turns):
            self.net.train()
            for _ in range(100):
                batch, self.basis = draw(), self._basis(self.net(draw()))
                _lower(descent, self._loss(batch, sigma))
            self.net.eval()
            with t.no_grad():
                loss = sum(float(self._loss(rows, sigma)) for rows in held.split(size))
            best, waited = min(loss, best), 0 if loss <= best else waited + 1
            if waited > self.patience:
                rate, waited = rate / 10, 0
                descent.param_groups[0]["lr"] = rate
            if rate < 2e-7:
                break

    def _layers(self, d):
        nn = torch().nn
        layers = []
        for width in (d, 50, 50):
            norm = nn.BatchNorm1d(50, eps=1e-3, momentum=0.01)
            layers += [nn.Linear(width, 50), nn.Softplus(), norm]
        layers[-1:] = [nn.Linear(50, self.n_clusters), nn.Tanh()]
        _filled((each for each in layers if isinstance(each, nn.Linear)), nn.init.xavier_uniform_)
        return nn.Sequential(*layers)

    def _nearest(self, X):
        """The median distance to the nearest of X, which are drawn with replacement.

        Raises
        ------
        ValueError
            Where it is 0, since half of them were drawn twice: of fewer than 184 samples they are.
        """
        sigma = float(np.median(NearestNeighbors(n_neighbors=2).fit(X).kneighbors(X)[0][:, 1]))
        if not sigma:
            raise ValueError(f"sigma is 0: half of {len(X)} samples were drawn twice; give more")
        return sigma

    def _basis(self, Y):
        """(c, c) by which Y / sqrt(n) becomes orthonormal."""
        t = torch()
        roots = t.linalg.cholesky(Y.T @ Y + 1e-7 * t.eye(Y.shape[1]))
        return t.linalg.inv(roots).T * np.sqrt(len(Y))

    def _loss(self, X, sigma):
        apart = lambda V: ((V[:, None] - V) ** 2).sum(dim=2)
        K = (-apart(X) / (2 * sigma**2)).exp()
        return (K * apart(self.net(X) @ self.basis)).sum() / (2 * self.batch)

    def _label(self, X):
        self.net.eval()
        Y = (self.net(X) @ self.basis).numpy()
        return KMeans(self.n_clusters, n_init=10, random_state=0).fit_predict(Y)


class SearchedSpectralNet(SpectralNet):
    """SpectralNet by appendix B.4: the number of neighbours that has the least loss on a tenth.

    One number from 2 to 10 for the graph, for the scale and for the positive pairs of the Siamese
    network. Batches of 128, steps of 0.001; two layers of 128 in either network.
    """

    numbers = range(2, 11)

    def _train(self, X):
        from spectralnet._trainers import _siamesenet_trainer

        stored = Path(_siamesenet_trainer.__file__).with_name("weights") / "siamese_weights.pth"
        siamese = dict(siamese_hiddens=[128, 128, 10], siamese_epochs=10, siamese_batch_size=128)
        self.models, self.losses = [], []
        for number in self.numbers:
            stored.unlink(missing_ok=True)  # of the run before: it would be taken as trained
            own = dict(should_use_siamese=True, siamese_n_nbg=number)
            model = self._made(number, number, 1e-3, 128, **siamese, **own)
            torch().manual_seed(self.random_state)  # the same tenth for all
            model.fit(X)
            torch().manual_seed(self.random_state)
            held = model.spectral_trainer._get_data_loader()[-1]
            self.losses.append(float(model.spectral_trainer.validate(held)))
            self.models.append(model)
        stored.unlink(missing_ok=True)
        self.model = self.models[int(np.argmin(self.losses))]

    def labels_by_number(self, X):
        """Clusters of X (n, d) by each number of neighbours."""
        return self._asked(lambda X: [model.predict(X) for model in self.models], X)


PEERS = {
    "AEC": AEC,
    "AEC, 200 + 60 epochs": LongAEC,
    "DEC": DEC,
    "DEC, layer by layer": LayeredDEC,
    "DEC, layer by layer, a hundredth": HurriedDEC,
    "IMSAT": IMSAT,
    "IMSAT, 800 steps": LongIMSAT,
    "IMSAT, leaking": LeakingIMSAT,
    "SN": SpectralNet,
    "SN, untuned": UntunedSpectralNet,
    "SN, its program": ProgramSpectralNet,
    "SN, searched": SearchedSpectralNet,
}
