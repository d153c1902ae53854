"""Deep kernel clustering (KNet, thesis chapter 4): a Gaussian kernel on a network's images.

The map psi is a small network that starts as the identity. It is trained so that the Gram matrix
of the images agrees with a spectral embedding U of the samples, and U is renewed from the
images, in turns; k-means on the images gives clusters, for new samples too.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
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
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data
from tqdm import tqdm

from ismlit.baselines import cayley
from ismlit.gamma import Gamma, centre
from ismlit.grassmann import outside
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
    """``L = H D^(-1/2) K D^(-1/2) H`` of images Z (n, q), as products. Claims: eq-4.6, eq-4.14.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_circles
    >>> from ismlit import Gaussian
    >>> from ismlit.deep import affinity
    >>> X, y = make_circles(100, factor=0.3, random_state=0)
    >>> U, values = affinity(X, Gaussian(0.1)).leading(1)
    >>> abs(round(float(np.corrcoef(U[:, 0], y)[0, 1]), 2))
    1.0
    """
    n, q = Z.shape
    return Affinity(Problem(Z, Gamma(np.ones((n, 1)), np.ones(1)), kernel), np.eye(q), "centred")


def frozen(U, degrees):
    """F (n, k) with Gamma = FF' = ``D^(-1/2) H U U' H D^(-1/2)``. Claims: eq-4.11, eq-B.5.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.deep import frozen
    >>> U = np.array([[0.5], [0.5], [-0.5], [-0.5]])
    >>> frozen(U, np.array([1.0, 4.0, 1.0, 4.0]))  # a sample with many neighbours counts less
    array([[ 0.5 ],
           [ 0.25],
           [-0.5 ],
           [-0.25]])
    """
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

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.deep import pull
    >>> from ismlit.gamma import centre
    >>> Z, F = np.array([[0.0], [1.0], [2.0], [3.0]]), centre([[1.0], [1.0], [0.0], [0.0]])
    >>> value, gradient = pull(Z, F, sigma=1.0)
    >>> np.sign(gradient[:, 0])  # the pairs 0, 1 and 2, 3 draw together
    array([ 1., -1.,  1., -1.])
    >>> pull(Z + 0.1 * gradient, F, sigma=1.0)[0] > value
    True
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

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.deep import climb
    >>> L = np.diag([4.0, 3.0, 1.0, 0.0])
    >>> start = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 2)))[0]
    >>> U, steps = climb(L, start)
    >>> round(float(np.trace(U.T @ L @ U)), 2)  # the two largest eigenvalues, 4 + 3
    7.0
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
    """The self-tuning kernel ``exp(-|x_i - x_j|² / s_i s_j)`` of Zelnik-Manor and Perona (2004).

    s_i is the distance to the 7th neighbour, at least a thousandth of the median one (of the median
    distance, where all rows have seven twins). Claim: new-local-start.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.deep import local
    >>> from ismlit.kernels import gram
    >>> X = np.array([[0.0], [1.0], [10.0], [20.0]])  # a close pair and a wide one
    >>> gram(local(X, neighbours=1), X).round(2)
    array([[1.  , 0.37, 0.  , 0.  ],
           [0.37, 1.  , 0.  , 0.  ],
           [0.  , 0.  , 1.  , 0.33],
           [0.  , 0.  , 0.33, 1.  ]])
    """
    s = nearest_neighbour_distance(X, min(neighbours, len(X) - 1))
    usual = np.median(s[s > 0]) if s.any() else median_distance(X)
    return RelativeGaussian(np.maximum(s, 1e-3 * usual) / np.sqrt(2))


# ---------------------------------------------------------------- the clusterer

PRETRAINING = 5000  # steps of Adam for (4.12)


@dataclass(eq=False)
class _Run:
    """One network on its way: encoder, decoder, the rows to come, and what each block reached."""

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


class KNetClustering(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Learn a kernel by a small network so that clusters become round; cluster new samples too.

    For ``Tr(U' L U) - penalty * mean squared reconstruction error``, over a network psi and
    orthonormal U in turns, L being the centred, degree-normalised Gaussian Gram matrix of the
    images. psi starts as the identity and climbs by Adam on pairs in small batches, with the
    degrees held fixed; once that has settled, U and the degrees are renewed. k-means on the images
    gives the labels. Each half climbs what it is given; the objective itself may end below that
    of the data, where it can be at its maximum already (claim new-moving-degrees).

    Parameters
    ----------
    n_clusters : int, default=2
    update : {"eig", "sma"}, default="eig"
        U by eigenvectors (4.14), or up the Stiefel manifold along Cayley curves (4.16).
    n_components : int, optional
        Columns of U; ``n_clusters - 1`` (at least 1) when None, since L is centred: claim
        new-off-by-one.
    sigma : float, optional
        Bandwidth, in the units of X; `sigma_ratio` times the median distance when None.
    sigma_ratio : float, default=1.0
        0.1 for thin, winding clusters, as in Table 4.1.
    hidden_layer_sizes : sequence of int, optional
        Of encoder and decoder; two of ``max(20, n_features)`` when None.
    identity : {"skip", "pretrained"}, default="skip"
        A skip connection makes psi the identity at the start; or plain layers are trained to it
        (4.12).
    init : {"spectral", "local"} or array (n_samples, n_components)
        The first U: eigenvectors of L for X itself (4.6), or with the self-tuning kernel in it
        (`local`), which one sigma for dense and sparse regions does not mislead. Of an array, the
        nearest orthonormal one with centred columns is taken.
    penalty : float, default=0.0
        Weight of the mean squared reconstruction error per entry of X divided by `scale_`. The
        lambda of (4.8a) goes with the sum over all entries and, by (4.4), a HSIC over (N - 1)².
    degrees : {"frozen", "moving"}, default="frozen"
        Whether the degrees are held while psi moves, as in Algorithm 3. If they move, every step
        uses all samples, and images may hardly move (claim new-moving-degrees).
    n_init : int, default=4
        Networks that are trained with the first U; the one with the largest objective goes on.
        A network that has torn a cluster is told by it (claim new-restarts).
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
        Most blocks of a network.
    callback : callable, optional
        Called after every block of every network with the images of X and what the block reached.
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
        Of the network kept, block by block: ``surrogate``, the objective with U and the degrees
        that it was climbed with; ``reconstruction``, the mean squared error per entry, in units
        of `scale_` squared; ``renewed``, whether U was then. Renewal by renewal, the start first:
        ``objective``, Tr(U'LU); ``kept``, what the old U had of it; ``change``, the mean squared
        sine between old and new U. And ``restarts``: what every network had reached when it had
        settled on the first U.
    converged_ : bool
    n_iter_ : int
        Blocks of the network kept.

    Warns
    -----
    ConvergenceWarning
        When U still changed at the last renewal.

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
        "n_init": [Interval(Integral, 1, None, closed="left")],
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
        n_init=4,
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
        self.n_init = n_init
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
        if self.sigma is None:
            sigma = self.sigma_ratio * median_distance(X)
        else:
            sigma = self.sigma / self.scale_
        self.sigma_ = float(sigma * self.scale_)
        L = self._first_affinity(X, sigma)
        self.start_ = self._first_embedding(X, L)
        degrees, start = L.degrees, float(np.sum(self.start_ * (L @ self.start_)))
        del L  # of size n²
        self._climb(X, self.start_, degrees, start, sigma, rng)
        Z = self.encoder_(X)
        means = KMeans(self.n_clusters, n_init=10, random_state=rng.randint(2**31 - 1)).fit(Z)
        self.labels_ = means.labels_
        self.cluster_centers_ = means.cluster_centers_ * self.scale_ + self.mean_
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
        widest = 2 * np.linalg.norm(X, axis=1).max()
        if sigma > 700 * widest:  # 1 - K < 1e-6 for all pairs
            raise ValueError(
                f"sigma = {self.sigma_:.3g} is so large that the kernel is 1 between any two "
                f"samples: they are at most {widest * self.scale_:.3g} apart"
            )
        L = affinity(X, Gaussian(sigma))
        if (L.degrees - 1 < 1e-10).all():
            raise ValueError(
                f"sigma = {self.sigma_:.3g} is so small that the kernel is 0 between any two "
                f"samples: they are up to {widest * self.scale_:.3g} apart"
            )
        return L

    def _first_embedding(self, X, L):
        k = self._columns
        if isinstance(self.init, str):
            L = affinity(X, local(X)) if self.init == "local" else L
            return L.leading(k)[0]
        U = check_array(self.init, dtype=np.float64)
        if U.shape != (len(X), k):
            raise ValueError(
                f"init must have shape (n_samples, n_components) = {(len(X), k)}, got {U.shape}"
            )
        left, sizes, right = np.linalg.svd(centre(U), full_matrices=False)
        if sizes[-1] < 1e-6 * sizes[0] or not sizes[0]:
            raise ValueError(
                "the columns of init, less their means, must be linearly independent: a constant "
                "column tells no clusters apart"
            )
        return left @ right

    def _network(self, X, rng):
        """A new encoder and decoder that are the identity, exactly or by training (4.12)."""
        d = X.shape[1]
        hidden = self.hidden_layer_sizes
        hidden = (max(20, d),) * 2 if hidden is None else tuple(hidden)
        if not hidden or not all(isinstance(h, Integral) and h >= 1 for h in hidden):
            raise ValueError(
                f"hidden_layer_sizes must be whole numbers of at least 1, got {hidden!r}"
            )
        skip = self.identity == "skip"
        nets = [Perceptron((d, *hidden, d), rng, skip) for _ in range(2)]
        rows = batches(len(X), min(self.batch_size, len(X)), rng)
        run = _Run(*nets, rows, [Adam(len(net.theta), self.learning_rate) for net in nets])
        if not skip:
            rows = batches(len(X), min(64, len(X)), rng)
            before = _Run(*nets, rows, [Adam(len(net.theta), 1e-3) for net in nets])
            for _ in range(PRETRAINING):
                B = X[next(rows)]
                before.ascend(B, lambda Z, B=B: 2 * (B - Z) / B.size, 1.0)
        return run

    def _climb(self, X, U, D, start, sigma, rng):
        """psi and U in turns; sets `history_`, `embedding_`, `n_iter_`, `converged_`, the nets."""
        history, turns = {}, [(start, start, 0.0)]
        with tqdm(desc="KNet", unit="block", disable=not self.verbose) as bar:
            first = []
            for _ in range(self.n_init):
                run = self._network(X, rng)
                self._settle(run, X, U, D, sigma, bar)
                first.append(run)
            values = [run.blocks[-1][0] for run in first]
            run = first[int(np.argmax(values))]
            self.encoder_, self.decoder_ = run.encoder, run.decoder
            L = affinity(run.encoder(X), Gaussian(sigma))
            while True:
                old, U, D = U, self._renewed(L, U), L.degrees
                change = max(float(1 - np.sum((old.T @ U) ** 2) / U.shape[1]), 0.0)
                turns.append((*(float(np.sum(V * (L @ V))) for V in (U, old)), change))
                self.converged_ = change <= self.tol
                if self.converged_ or len(run.blocks) >= self.max_iter:
                    break
                L = self._settle(run, X, U, D, sigma, bar)
        history |= zip(("surrogate", "reconstruction", "renewed"), map(np.array, zip(*run.blocks)))
        history |= zip(("objective", "kept", "change"), map(np.array, zip(*turns)))
        self.history_ = history | {"restarts": np.array(values)}
        self.embedding_, self.n_iter_ = U, len(run.blocks)
        if not self.converged_:
            warnings.warn(
                f"U still changed (by {change:.2g}, tol = {self.tol}) after {self.n_iter_} blocks "
                f"of {self.n_steps} steps: raise max_iter or n_steps",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _settle(self, run, X, U, D, sigma, bar):
        """Blocks of steps with U and D held, until one gains too little or all are used up.

        Returns the affinity of the images reached.
        """
        before, settled = -np.inf, False
        while not settled:
            self._block(run, X, U, D, sigma)
            Z = run.encoder(X)
            if not np.abs(Z).max() < 1e4:  # of data with deviation 1
                raise ValueError(
                    "the images have left all bounds: lower learning_rate (it is "
                    f"{self.learning_rate}) or penalty ({self.penalty})"
                )
            error = float(np.mean((X - run.decoder(Z)) ** 2))
            L = affinity(Z, Gaussian(sigma))
            value = self._surrogate(L, U, D) - self.penalty * error
            settled = not value - before > self.min_gain * abs(value)
            settled = settled or len(run.blocks) + 1 >= self.max_iter
            run.blocks.append((value, error, settled))
            before = value
            if self.callback is not None:
                self.callback(Z * self.scale_ + self.mean_, value)
            bar.update()
            bar.set_postfix(objective=f"{value:.4g}")
        return L

    def _surrogate(self, L, U, D):
        if self.degrees == "moving":
            return float(np.sum(U * (L @ U)))
        F = frozen(U, D)
        return float(np.sum(F * (L.K @ F)))

    def _renewed(self, L, U):
        return L.leading(U.shape[1])[0] if self.update == "eig" else climb(L, U)[0]

    def _block(self, run, X, U, D, sigma):
        """`n_steps` steps of Adam up the objective, with Gamma held (or its U, if D moves)."""
        n, moving = len(X), self.degrees == "moving"
        F = centre(U) if moving else frozen(U, D)
        with np.errstate(over="ignore", invalid="ignore"):  # looked at after the block
            for _ in range(self.n_steps):
                B = slice(None) if moving else next(run.rows)
                b = n if moving else len(B)
                pairs = n * (n - 1) / (b * (b - 1))  # how many there are for each one in the batch
                gradient = lambda Z, F=F[B], pairs=pairs: pairs * pull(Z, F, sigma, moving)[1]
                run.ascend(X[B], gradient, self.penalty)

    def _images(self, X):
        """`transform`, but always an array, whatever container is asked for."""
        check_is_fitted(self, "cluster_centers_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.encoder_(self._scaled(X)) * self.scale_ + self.mean_

    def transform(self, X):
        """Images psi(X) (n_samples, n_features), in the units of X; clusters are round there."""
        return self._images(X)

    def reconstruct(self, X):
        """What the decoder makes of the images of X: f(X) of (4.9), in the units of X."""
        return self.decoder_(self._scaled(self._images(X))) * self.scale_ + self.mean_

    def predict(self, X):
        """The cluster with the nearest centre among the images, for each row of X."""
        Z, centres = self._scaled(self._images(X)), self._scaled(self.cluster_centers_)
        return betas("difference", Z, centres).argmin(axis=1)

    @property
    def _n_features_out(self):
        return self.n_features_in_
