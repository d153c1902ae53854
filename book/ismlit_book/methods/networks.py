"""Networks of chapters 4 and 6 as the thesis describes them, beside the library's own."""

from dataclasses import KW_ONLY, dataclass
from inspect import signature

import numpy as np
from ismlit import Gaussian, KernelDependenceNetwork, centre
from ismlit.estimators.parameters import one_of

from ismlit_book.methods.baselines import ascend
from ismlit_book.methods.knet import KNetClustering, attraction
from ismlit_book.methods.knet.perceptron import Perceptron
from ismlit_book.methods.knet.training import (
    Together,
    Trainer,
    identity_network,
    in_training,
)
from ismlit_book.methods.published import published_ism

PRETRAINING = 5000  # steps of Adam for (4.12), in batches of 64 at a rate of 0.001


DEFAULTS = {"early_stopping": False, "bandwidth": "normalized_hsic"}
PARAMETERS = signature(KernelDependenceNetwork.__init__)
PARAMETERS = PARAMETERS.replace(
    parameters=[
        one.replace(default=DEFAULTS.get(one.name, one.default))
        for one in PARAMETERS.parameters.values()
    ]
)
"""Those of the network, but without early stopping, and with the thesis's rule for bandwidths."""


class PublishedNetwork(KernelDependenceNetwork):
    """Algorithm 5 with the bandwidth of a layer from its input, as Appendix D.11 has it.

    Every layer is kept, as wide as `LayerSolver.wide` says, with the last point of plain ISM
    (tolerance 0.01, at most 50 steps, whatever `tol` and `max_iter` say); HSIC may fall.
    Parameters and attributes are those of `ismlit.KernelDependenceNetwork`, but there is no early
    stopping, and ``ridge_`` is None.

    Raises
    ------
    ValueError
        With early stopping.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit_book.methods.networks import PublishedNetwork
    >>> X, y = load_wine(return_X_y=True)
    >>> [layer.W.shape[1] for layer in PublishedNetwork(threshold=0.9).fit(scale(X), y).layers_]
    [11, 90, 51]
    """

    def __init__(self, **parameters):
        super().__init__(**DEFAULTS | parameters)

    __init__.__signature__ = PARAMETERS

    def fit(self, X, y):
        """Grow the network on X (n_samples, n_features) and class labels y (n_samples,)."""
        if self.early_stopping:
            raise ValueError("early_stopping must be False: Algorithm 5 keeps every layer")
        return super().fit(X, y)

    def _network(self, solver, R, features, ridges):
        self.ridge_, back, layers, Z = None, features.basis, [], None
        while not layers or self._goes_on(layers):
            if layers:
                features, R, back = solver.lift(Z, layers[-1].kernel)
            layer, Z = solver._layer(features, R, back, *self._solved(solver, R))
            layers.append(layer)
        return layers, Z

    def _solved(self, solver, R):
        """sigma from the input of a layer, then plain ISM: (sigma, W)."""
        sigma, _ = solver.bandwidth(R)
        return sigma, plain_ism(solver, R, sigma)


def plain_ism(solver, R, sigma):
    """The last point of ISM as printed, on the features R of a layer."""
    options = dict(init="taylor", tol=1e-2, max_iter=50)
    return solver._solved(published_ism, R, solver.gamma, sigma, solver.wide(R), **options)


# ---------------------------------------------------------------- KNet


@dataclass(eq=False, repr=False)
class KNetVariant(KNetClustering):
    """KNet with what the thesis tries, and with degrees that move.

    Its other parameters, and the attributes, are those of `KNetClustering`.

    Parameters
    ----------
    update : {"eig", "sma"}, default="eig"
        U by eigenvectors (4.14), or up the Stiefel manifold along Cayley curves (4.16).
    identity : {"skip", "pretrained"}, default="skip"
        A skip connection makes psi the identity at the start; or plain layers are trained to it
        (4.12).
    degrees : {"frozen", "moving"}, default="frozen"
        Whether the degrees are held while psi moves, as in Algorithm 3. If they move, every step
        uses all samples, and images may hardly move (claim new-moving-degrees).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.preprocessing import scale
    >>> from ismlit_book.methods.networks import KNetVariant
    >>> X, y = make_moons(100, noise=0.05, random_state=0)
    >>> KNetVariant(update="sma", random_state=0).fit(scale(X)).converged_
    True
    """

    _: KW_ONLY
    update: str = "eig"
    identity: str = "skip"
    degrees: str = "frozen"

    def _rules(self):
        own = dict(update=one_of("eig", "sma"), identity=one_of("skip", "pretrained"))
        return super()._rules() | own | {"degrees": one_of("frozen", "moving")}

    def _trainer(self, *parts):
        return VariantTrainer(*parts, self.update, self.degrees == "moving")

    def _network(self, X, hidden, schedule, rng):
        if self.identity == "skip":
            return identity_network(X, hidden, schedule, rng)
        d = X.shape[1]
        nets = [Perceptron((d, *hidden, d), rng, skip=False) for _ in range(2)]
        run = in_training(nets, len(X), schedule.batch_size, schedule.learning_rate, rng)
        before = in_training(nets, len(X), 64, 1e-3, rng)
        for _ in range(PRETRAINING):
            B = X[next(before.rows)]
            before.ascend(B, lambda Z, B=B: 2 * (B - Z) / B.size, 1.0)
        return run


class VariantTrainer(Trainer):
    """A trainer that renews U along curves, or lets the degrees move."""

    def __init__(self, X, sigma, schedule, watch, update, moving):
        super().__init__(X, sigma, schedule, watch)
        self.update, self.moving = update, moving

    def renewed(self, L, U):
        return ascend(L, U)[0] if self.update == "sma" else super().renewed(L, U)

    def _surrogate(self, L, U, D):
        return float(np.sum(U * (L @ U))) if self.moving else super()._surrogate(L, U, D)

    def _block(self, runs, U, D):
        if not self.moving:
            return super()._block(runs, U, D)
        together, F = Together(runs), centre(U)
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(self.schedule.n_steps):
                gradient = lambda Z: pull(Z, F, self.sigma, moving=True)[1]
                together.whole.ascend(self.X, gradient, self.schedule.penalty)
        together.part()


def pull(Z, F, sigma, moving=False):
    """`pull` of `attraction`, or if `moving` with the degrees of Z, F being ``centre(U)``.

    The gradient then follows the degrees. Claim: new-moving-degrees.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import centre
    >>> from ismlit_book.methods.networks import pull
    >>> Z, F = np.array([[0.0], [1.0], [2.0], [3.0]]), centre([[1.0], [1.0], [0.0], [0.0]])
    >>> value, gradient = pull(Z, F, 1.0, moving=True)
    >>> pull(Z + 0.1 * gradient, F, 1.0, moving=True)[0] > value
    True
    """
    if not moving:
        return attraction.pull(Z, F, sigma)
    kernel = Gaussian(sigma)
    K = kernel.f(attraction._squared_distances(Z))
    degrees = K.sum(axis=-1)
    F = F / np.sqrt(degrees)[..., None]
    value, gradient = attraction.pull(Z, F, sigma)
    r = (F @ F.swapaxes(-1, -2) * K).sum(axis=-1) / degrees
    weights = -(r[..., None] + r[..., None, :]) * K / 2
    return value, gradient + 4 * kernel.rate * (weights @ Z - weights.sum(-1)[..., None] * Z)
