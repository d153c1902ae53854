"""Deep kernel clustering (KNet, thesis chapter 4): a kernel exp(-|psi(x) - psi(y)|² / 2 sigma²).

The map psi is a small network that starts as the identity. It is trained so that the Gram matrix
of the images agrees with a spectral embedding U of the samples, and U is renewed from the
images, in turns; k-means on the images gives clusters, for new samples too.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data
from tqdm import tqdm

from ismlit.baselines import cayley
from ismlit.gamma import Gamma, centre
from ismlit.grassmann import outside
from ismlit.ism import check_orthonormal
from ismlit.kernels import (
    Gaussian,
    RelativeGaussian,
    betas,
    median_distance,
    nearest_neighbour_distance,
)
from ismlit.perceptron import Adam, Perceptron, batches
from ismlit.phi import Problem
from ismlit.spectral import Affinity

# ---------------------------------------------------------------- the objective and its gradient


def affinity(Z, kernel):
    """``L = H D^(-1/2) K D^(-1/2) H`` of images Z (n, q), as products. Claims: eq-4.6, eq-4.14."""
    n, q = Z.shape
    return Affinity(Problem(Z, Gamma(np.ones((n, 1)), np.ones(1)), kernel), np.eye(q), "centred")


def frozen(U, degrees):
    """F (n, k) with Gamma = FF' = ``D^(-1/2) H U U' H D^(-1/2)``. Claims: eq-4.11, eq-B.5."""
    return centre(U) / np.sqrt(degrees)[:, None]


def pull(Z, F, sigma, moving=False):
    """The objective of images Z (n, q), and its gradient (n, q) in them.

    Each pair attracts or repels by the weight ``Gamma_ij K_ij``: the gradient is that of a graph
    Laplacian, ``-(2 / sigma²) (D_w - w) Z``.

    Parameters
    ----------
    Z : array of shape (n, q)
    F : array of shape (n, k)
        `frozen` gives it, for the objective of (4.11); or ``centre(U)``, if `moving`.
    sigma : float
    moving : bool
        The degrees are those of Z, and the gradient follows them.

    Notes
    -----
    Claims: eq-4.11, eq-B.6, new-moving-degrees.
    """
    K = np.exp(-betas("difference", Z, Z) / (2 * sigma**2))
    if moving:
        degrees = K.sum(axis=1)
        F = F / np.sqrt(degrees)[:, None]
    weights = (F @ F.T) * K
    value = float(weights.sum())
    if moving:
        r = weights.sum(axis=1) / degrees
        weights = weights - (r[:, None] + r) * K / 2
    return value, -2 / sigma**2 * (weights.sum(axis=1)[:, None] * Z - weights @ Z)


def climb(L, U, *, tol=1e-6, max_iter=100):
    """U (n, k) moved up along Cayley curves for Tr(U'LU); the U reached, and the steps taken.

    The gradient is G = 2LU, and the slope along the curve ``|G - UU'G|²``. The step doubles when
    a hundredth of what that promises is gained, else it is quartered. A step costs one product LU,
    O(n² k), and a curve, O(n k²).

    Notes
    -----
    Claims: eq-4.15, eq-4.16, eq-4.17.
    """
    G, step = 2 * (L @ U), 1.0
    for k in range(max_iter):
        value, slope = np.sum(U * G) / 2, np.sum(outside(G, U) ** 2)
        if slope <= (tol * np.linalg.norm(G)) ** 2:
            return U, k
        while True:
            trial = cayley(U, G, step)
            G_trial = 2 * (L @ trial)
            if np.sum(trial * G_trial) / 2 >= value + 0.01 * step * slope:
                break
            step /= 4
            if step < 1e-12:
                return U, k
        U, G, step = trial, G_trial, 2 * step
    return U, max_iter


# ---------------------------------------------------------------- where U starts


def local(X, neighbours=7):
    """The self-tuning kernel exp(-|x_i - x_j|² / s_i s_j) of Zelnik-Manor and Perona (2004).

    s_i is the distance to the 7th neighbour, at least a thousandth of the median one. Claim:
    new-local-start.
    """
    s = nearest_neighbour_distance(X, min(neighbours, len(X) - 1))
    s = np.maximum(s, 1e-3 * np.median(s[s > 0])) if s.any() else s
    return RelativeGaussian(s / np.sqrt(2))


# ---------------------------------------------------------------- the clusterer

PRETRAINING = 5000  # steps of Adam for (4.12)


class KNetClustering(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Learn a kernel by a small network so that clusters become round; cluster new samples too.

    Maximises ``Tr(U' L U) - penalty * mean squared reconstruction error`` over a network psi and
    orthonormal U in turns, L being the centred, degree-normalised Gaussian Gram matrix of the
    images. psi starts as the identity and climbs by Adam on pairs in small batches, with the
    degrees held fixed; once that has settled, U and the degrees are renewed. k-means on the images
    gives the labels.

    Parameters
    ----------
    n_clusters : int, default=2
    update : {"eig", "sma"}, default="eig"
        U by eigenvectors (4.14), or up the Stiefel manifold along Cayley curves (4.16).
    n_components : int, optional
        Columns of U; ``n_clusters - 1`` (at least 1) when None, since L is centred: claim
        eq-4.8a.
    sigma : float, optional
        Bandwidth, in the units of X; `sigma_ratio` times the median distance when None.
    sigma_ratio : float, default=1.0
        0.1 for thin, winding clusters, as in Table 4.1.
    hidden_layer_sizes : sequence of int, optional
        Of encoder and decoder; two of ``max(20, n_features)`` when None.
    identity : {"skip", "pretrained"}, default="skip"
        A skip connection makes psi the identity at the start; or plain layers are trained to it
        (4.12).
    init : {"spectral", "local"} or orthonormal array (n_samples, n_components)
        The first U: eigenvectors of L for X itself (4.6), or with the self-tuning kernel in it
        (`local`), which one sigma for dense and sparse regions does not mislead.
    penalty : float, default=0.0
        Weight of the reconstruction error per entry, lambda (4.8a).
    degrees : {"frozen", "moving"}, default="frozen"
        Whether the degrees are held while psi moves, as in Algorithm 3. If they move, every step
        uses all samples, and clusters tend to be lost (claim new-moving-degrees).
    n_steps : int, default=2000
        Steps of Adam in a block, after which progress is measured.
    batch_size : int, default=32
    learning_rate : float, default=1e-3
    min_gain : float, default=3e-3
        U is renewed once a block raises the objective by less than this share; ``inf`` renews it
        after every block, as in Algorithm 3.
    tol : float, default=1e-3
        Stop when the mean squared sine between the old and the renewed U is below this.
    max_iter : int, default=40
        Most blocks.
    callback : callable, optional
        Called with the estimator after every block, for a film or a log.
    verbose : bool, default=False
        Show a progress bar.
    random_state : int, RandomState, optional
        For weights, batches and k-means.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
    cluster_centers_ : array of shape (n_clusters, n_features)
        Of k-means, among the images.
    embedding_, start_ : arrays of shape (n_samples, n_components)
        The last and the first U.
    sigma_ : float
    mean_, scale_ : array of shape (n_features,), float
        What X is shifted by, and the one number that it is divided by, before psi sees it.
    encoder_, decoder_ : Perceptron
    history_ : dict of arrays
        Block by block: ``surrogate``, the objective with U and the degrees that it was climbed
        with; ``reconstruction``, the mean squared error per entry, in units of `scale_`;
        ``renewed``. Renewal by renewal, the start first: ``objective``, Tr(U'LU); ``kept``, what
        the old U had of it; ``change``, the mean squared sine between old and new U.
    converged_ : bool
    n_iter_ : int
        Blocks.

    Warns
    -----
    ConvergenceWarning
        When U still changed at the last block.

    Notes
    -----
    Claims: alg-3, eq-4.1, eq-4.7, eq-4.8a, eq-4.9, eq-4.10, eq-4.12, eq-4.13, new-patience. Scale
    the features first.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.metrics import normalized_mutual_info_score
    >>> from sklearn.preprocessing import scale
    >>> from ismlit.deep import KNetClustering
    >>> X, y = make_moons(300, noise=0.05, random_state=0)
    >>> model = KNetClustering(2, sigma_ratio=0.1, random_state=0).fit(scale(X))
    >>> normalized_mutual_info_score(y, model.labels_)
    1.0
    """

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "update": [StrOptions({"eig", "sma"})],
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "sigma": [None, Interval(Real, 0, None, closed="neither")],
        "sigma_ratio": [Interval(Real, 0, None, closed="neither")],
        "hidden_layer_sizes": [None, "array-like"],
        "identity": [StrOptions({"skip", "pretrained"})],
        "init": [StrOptions({"spectral", "local"}), "array-like"],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "degrees": [StrOptions({"frozen", "moving"})],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 2, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "min_gain": [Interval(Real, 0, None, closed="both")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "callback": [None, callable],
        "verbose": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters=2,
        *,
        update="eig",
        n_components=None,
        sigma=None,
        sigma_ratio=1.0,
        hidden_layer_sizes=None,
        identity="skip",
        init="spectral",
        penalty=0.0,
        degrees="frozen",
        n_steps=2000,
        batch_size=32,
        learning_rate=1e-3,
        min_gain=3e-3,
        tol=1e-3,
        max_iter=40,
        callback=None,
        verbose=False,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.update = update
        self.n_components = n_components
        self.sigma = sigma
        self.sigma_ratio = sigma_ratio
        self.hidden_layer_sizes = hidden_layer_sizes
        self.identity = identity
        self.init = init
        self.penalty = penalty
        self.degrees = degrees
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.min_gain = min_gain
        self.tol = tol
        self.max_iter = max_iter
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X, y=None):
        """Learn the kernel and the clusters of X (n_samples, n_features); y is ignored."""
        self._validate_params()
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        self._check_samples(X)
        rng = check_random_state(self.random_state)
        X = self._scaled_by_own(X)
        sigma = self.sigma_ratio * median_distance(X)
        sigma = sigma if self.sigma is None else self.sigma / self.scale_
        self.sigma_ = float(sigma * self.scale_)
        L = self._first_affinity(X, sigma)
        U = self._first_embedding(X, L)
        self._identity(X, rng)
        self.start_ = U
        self._climb(X, U, L, sigma, rng)
        Z = self.encoder_(X)
        means = KMeans(self.n_clusters, n_init=10, random_state=rng.randint(2**31 - 1)).fit(Z)
        self.labels_ = means.labels_
        self.cluster_centers_ = means.cluster_centers_ * self.scale_
        return self

    def _check_samples(self, X):
        n, k = len(X), self._columns
        if n < self.n_clusters:
            raise ValueError(
                f"n_samples={n} should be >= n_clusters={self.n_clusters}: ask for fewer clusters"
            )
        if k > n - 1:
            raise ValueError(
                f"n_components = {k} must be below the number of samples, n_samples = {n}: U has "
                "orthonormal, centred columns"
            )
        distinct = len(np.unique(X, axis=0))
        if distinct < self.n_clusters:
            raise ValueError(
                f"X has {distinct} distinct rows, which cannot form n_clusters={self.n_clusters} "
                "clusters"
            )

    @property
    def _columns(self):
        return max(self.n_clusters - 1, 1) if self.n_components is None else self.n_components

    def _scaled_by_own(self, X):
        """X shifted to mean 0 and divided by one number, so that units do not matter."""
        self.mean_ = X.mean(axis=0)
        self.scale_ = float(np.sqrt(np.mean((X - self.mean_) ** 2)))
        if not 1e-50 < self.scale_ < 1e50:
            raise ValueError(
                f"the entries of X spread by {self.scale_:.1g}: scale the features, for instance "
                "by StandardScaler"
            )
        return self._scaled(X)

    def _scaled(self, X):
        return (X - self.mean_) / self.scale_

    def _first_affinity(self, X, sigma):
        L = affinity(X, Gaussian(sigma))
        if (L.degrees - 1 < 1e-10).all():
            raise ValueError(
                f"sigma = {self.sigma_:.3g} is so small that the kernel is 0 between any two "
                f"samples: use one near their distances, whose median is "
                f"{median_distance(X) * self.scale_:.3g}"
            )
        return L

    def _first_embedding(self, X, L):
        k = self._columns
        if not isinstance(self.init, str):
            return check_orthonormal(self.init, len(X), X.dtype, "init")
        L = affinity(X, local(X)) if self.init == "local" else L
        return L.leading(k)[0]

    def _identity(self, X, rng):
        """Encoder and decoder that are the identity, exactly or by training (4.12)."""
        d = X.shape[1]
        hidden = self.hidden_layer_sizes
        hidden = (max(20, d),) * 2 if hidden is None else tuple(np.ravel(hidden).astype(int))
        skip = self.identity == "skip"
        self.encoder_, self.decoder_ = (Perceptron((d, *hidden, d), rng, skip) for _ in range(2))
        if skip:
            return
        optimisers = [Adam(len(net.theta), 1e-3) for net in (self.encoder_, self.decoder_)]
        rows = batches(len(X), min(64, len(X)), rng)
        for _ in range(PRETRAINING):
            B = X[next(rows)]
            self._ascend(B, lambda Z, B=B: 2 * (B - Z) / B.size, 1.0, optimisers)

    def _climb(self, X, U, L, sigma, rng):
        """psi and U in turns; sets `history_`, `embedding_`, `n_iter_`, `converged_`."""
        names = ("surrogate", "reconstruction", "renewed", "objective", "kept", "change")
        history = {name: [] for name in names}
        start = float(np.sum(U * (L @ U)))
        for name, value in (("objective", start), ("kept", start), ("change", 0.0)):
            history[name].append(value)
        nets = self.encoder_, self.decoder_
        optimisers = [Adam(len(net.theta), self.learning_rate) for net in nets]
        rows = batches(len(X), min(self.batch_size, len(X)), rng)
        D, before, self.converged_ = L.degrees, -np.inf, False
        bar = tqdm(range(self.max_iter), desc="KNet", unit="block", disable=not self.verbose)
        for self.n_iter_ in bar:
            self._block(X, U, D, sigma, rows, optimisers)
            Z = self.encoder_(X)
            L, F = affinity(Z, Gaussian(sigma)), frozen(U, D)
            error = float(np.mean((X - self.decoder_(Z)) ** 2))
            value = self._surrogate(L, F, U) - self.penalty * error
            settled = not value - before > self.min_gain * abs(value)
            before = -np.inf if settled else value
            for name, entry in zip(names, (value, error, settled)):
                history[name].append(entry)
            if settled:
                old, U, D = U, self._renewed(L, U), L.degrees
                objective = float(np.sum(U * (L @ U)))
                kept = float(np.sum(old * (L @ old)))
                change = max(float(1 - np.sum((old.T @ U) ** 2) / U.shape[1]), 0.0)
                for name, entry in zip(names[3:], (objective, kept, change)):
                    history[name].append(entry)
                self.converged_ = change <= self.tol
            if self.callback is not None:
                self.callback(self)
            bar.set_postfix(objective=f"{history['objective'][-1]:.4g}")
            if self.converged_:
                break
        bar.close()
        self.n_iter_ += 1
        self.embedding_ = U
        self.history_ = {name: np.array(entries) for name, entries in history.items()}
        if not self.converged_:
            warnings.warn(
                f"U still changed (by {history['change'][-1]:.2g}, tol = {self.tol}) after "
                f"{self.n_iter_} blocks of {self.n_steps} steps: raise max_iter or n_steps",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _surrogate(self, L, F, U):
        if self.degrees == "moving":
            return float(np.sum(U * (L @ U)))
        return float(np.sum(F * (L.K @ F)))

    def _renewed(self, L, U):
        return L.leading(U.shape[1])[0] if self.update == "eig" else climb(L, U)[0]

    def _block(self, X, U, D, sigma, rows, optimisers):
        """`n_steps` steps of Adam up the objective, with Gamma held (or its U, if D moves)."""
        n = len(X)
        moving = self.degrees == "moving"
        F = centre(U) if moving else frozen(U, D)
        for _ in range(self.n_steps):
            B = slice(None) if moving else next(rows)
            b = n if moving else len(B)
            pairs = n * (n - 1) / (b * (b - 1))  # how many there are for each one in the batch
            self._ascend(
                X[B],
                lambda Z, F=F[B], pairs=pairs: pairs * pull(Z, F, sigma, moving)[1],
                self.penalty,
                optimisers,
            )

    def _ascend(self, X, gradient, penalty, optimisers):
        """One step up: `gradient` in the images, less `penalty` times the error of X (b, d)."""
        Z, inputs = self.encoder_.forward(X)
        G = gradient(Z)
        if penalty:
            Y, decoder_inputs = self.decoder_.forward(Z)
            error = 2 * penalty * (X - Y) / X.size
            decoder_gradient, back = self.decoder_.backward(decoder_inputs, error)
            G = G + back
            optimisers[1].ascend(self.decoder_.theta, decoder_gradient)
        optimisers[0].ascend(self.encoder_.theta, self.encoder_.backward(inputs, G)[0])

    def _images(self, X):
        """`transform`, but always an array, whatever container is asked for."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.encoder_(self._scaled(X)) * self.scale_

    def transform(self, X):
        """Images psi(X) (n_samples, n_features), in the units of X; clusters are round there."""
        return self._images(X)

    def reconstruct(self, X):
        """What the decoder makes of the images of X: f(X) of (4.9), in the units of X."""
        return self.decoder_(self._images(X) / self.scale_) * self.scale_ + self.mean_

    def predict(self, X):
        """The cluster with the nearest centre among the images, for each row of X."""
        Z, centres = self._images(X), self.cluster_centers_
        return betas("difference", Z, centres).argmin(axis=1)

    @property
    def _n_features_out(self):
        return self.n_features_in_
