"""Deep kernel clustering (KNet, thesis chapter 4): a Gaussian kernel on a network's images.

The map psi is a small network that starts as the identity, by a skip connection. It is trained so
that the Gram matrix of the images agrees with a spectral embedding U of the samples, and U is
renewed from the images, in turns; k-means on the images gives clusters, for new samples too.
"""

import warnings
from dataclasses import KW_ONLY, dataclass, fields
from numbers import Integral

import numpy as np
from ismlit import Gaussian, centre, median_distance
from ismlit.bandwidth import DISTANCES, SHARES, as_bandwidth, self_tuning_kernel
from ismlit.estimators.base import all_or_nothing
from ismlit.estimators.clusters import cluster_rows, embedding_silhouette
from ismlit.estimators.linear import FLOATS
from ismlit.estimators.parameters import (
    ARRAY,
    FUNCTION,
    NONE,
    NOT_NEGATIVE,
    POSITIVE,
    WHOLE,
    check_parameters,
    is_integer_at_least,
    one_of,
    rule,
)
from ismlit.estimators.validation import check_units
from ismlit.grams import ConstantKernelError, betas
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from tqdm import tqdm

from ismlit_book.methods.knet.training import (
    Schedule,
    Trainer,
    embedding_affinity,
    identity_network,
)

SAMPLE = 1000  # rows on which a bandwidth is chosen
ALONE = 0.1  # sum of kernel values with others below which a sample has no neighbour


@dataclass(eq=False, repr=False)
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
    n_vectors : int, optional
        Columns of U; ``n_clusters - 1`` (at least 1) when None, since L is centred: claim
        new-off-by-one.
    bandwidth : float, str or function, default="silhouette"
        A number in the units of X, a function of X, "median" (the thesis's, and a tenth of it for
        thin, winding clusters: Table 4.1), or "silhouette": of nine shares of the median the one
        whose clusters stand apart best in U (`embedding_silhouette`), among those
        at which half of the samples have neighbours.
    hidden_layer_sizes : sequence of int, optional
        Of encoder and decoder; two of ``max(20, n_features)`` when None.
    init : {"spectral", "self_tuning", "several"} or array (n_samples, n_vectors)
        The first U: eigenvectors of L for X itself (4.6), or with the self-tuning kernel in it
        (`self_tuning_kernel`), which one sigma for dense and sparse regions does
        not mislead, or (the default) whichever of the two has the better silhouette. Of an array,
        the nearest orthonormal one with centred columns is taken.
    penalty : float, default=0.0
        Weight of the mean squared reconstruction error per entry of X divided by `scale_`. The
        lambda of (4.8a) goes with the sum over all entries and, by (4.4), a HSIC over (N - 1)².
    n_init : int, default=4
        Networks that are trained with the first U; the one with the largest objective goes on.
        It recognises a network that has torn a cluster (claim new-restarts).
    n_steps : int, default=1000
        Steps of Adam in a block, after which progress is measured.
    batch_size : int, default=64
    learning_rate : float, default=2e-3
    min_gain : float, default=3e-3
        U is renewed once a block raises the objective by less than this share; ``inf`` renews it
        after every block, as in Algorithm 3.
    tol : float, default=1e-3
        Stop when the mean squared sine between the old and the renewed U is below this.
    max_blocks : int, default=40
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
    embedding_, start_ : arrays of shape (n_samples, n_vectors)
        The last and the first U.
    sigma_ : float
    tried_ : dict of equal-length arrays
        The bandwidths tried, and the silhouette of each; empty where none was searched.
    mean_, scale_ : array of shape (n_features,), float
        What X is shifted by, and the one number that it is divided by, before psi sees it.
    encoder_, decoder_ : Perceptron
    history_ : dict of equal-length arrays
        Of the network kept, block by block: ``surrogate``, the objective with U and the degrees
        that it was climbed with; ``reconstruction``, the mean squared error per entry, in units
        of `scale_` squared; ``renewed``, whether U was then.
    renewals_ : dict of equal-length arrays
        Renewal by renewal of U, the start first: ``objective``, Tr(U'LU); ``kept``, what the old U
        had of it; ``change``, the mean squared sine between old and new U.
    restarts_ : array of shape (n_init,)
        What every network had reached when it had settled on the first U.
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
    >>> from ismlit_book.methods.knet import KNetClustering
    >>> X, y = make_moons(300, noise=0.05, random_state=0)
    >>> model = KNetClustering(2, random_state=0).fit(scale(X))
    >>> float(normalized_mutual_info_score(y, model.labels_))
    1.0
    """

    n_clusters: int = 2
    _: KW_ONLY
    n_vectors: int | None = None
    bandwidth: float | str = "silhouette"
    hidden_layer_sizes: tuple | None = None
    init: object = "several"
    penalty: float = 0.0
    n_init: int = 4
    n_steps: int = 1000
    batch_size: int = 64
    learning_rate: float = 2e-3
    min_gain: float = 3e-3
    tol: float = 1e-3
    max_blocks: int = 40
    callback: object = None
    verbose: bool = False
    random_state: object = None

    @all_or_nothing
    def fit(self, X, y=None):
        """Learn the kernel and the clusters of X (n_samples, n_features); y is ignored."""
        check_parameters(self, **self._rules())
        X = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2).astype(float, copy=False)
        self._check_samples(X)
        rng = check_random_state(self.random_state)
        X = self._scaled_by_own(X)
        self.sigma_ = self._bandwidth(X, rng) * self.scale_
        sigma = self.sigma_ / self.scale_
        L = self._first_affinity(X, sigma)
        self.start_ = self._first_embedding(X, L)
        self._climb(X, L, sigma, rng)
        Z = self.encoder_(X)
        means = KMeans(self.n_clusters, n_init=10, random_state=rng.randint(2**31 - 1)).fit(Z)
        self.labels_ = means.labels_
        self.cluster_centers_ = means.cluster_centers_ * self.scale_ + self.mean_
        return self

    def _rules(self):
        """Of its own parameters."""
        return dict(
            bandwidth=rule(POSITIVE, one_of(*DISTANCES, "silhouette"), FUNCTION),
            hidden_layer_sizes=rule(ARRAY, NONE),
            init=rule(one_of("spectral", "self_tuning", "several"), ARRAY),
            n_steps=WHOLE,
            batch_size=rule(
                (lambda size: is_integer_at_least(size, 2), "a whole number of at least 2")
            ),
            learning_rate=POSITIVE,
            min_gain=NOT_NEGATIVE,
            max_blocks=WHOLE,
            callback=rule(FUNCTION, NONE),
        )

    def _check_samples(self, X):
        n, k = len(X), self._columns
        if n < self.n_clusters:
            raise ValueError(
                f"n_samples={n} should be >= n_clusters={self.n_clusters}: ask for fewer clusters"
            )
        if k > n - 1:
            raise ValueError(
                f"n_vectors = {k} must be below the number of samples, n_samples = {n}: U has "
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
        return max(self.n_clusters - 1, 1) if self.n_vectors is None else self.n_vectors

    def _scaled_by_own(self, X):
        """X shifted to mean 0 and divided by one number, so that units do not matter."""
        check_units(X)
        self.mean_ = X.mean(axis=0)
        self.scale_ = float(np.sqrt(np.mean((X - self.mean_) ** 2)))
        return self._scaled(X)

    def _scaled(self, X):
        return (X - self.mean_) / self.scale_

    def _bandwidth(self, X, rng):
        """sigma for scaled X: as asked for, or that share of the median that tells clusters apart.

        Seen on at most SAMPLE rows; sets ``tried_``.
        """
        self.tried_ = {"bandwidth": np.array([]), "silhouette": np.array([])}
        if self.bandwidth != "silhouette":
            rows = _apart(X) if isinstance(self.bandwidth, str) else X
            return as_bandwidth(self.bandwidth, rows * self.scale_ + self.mean_) / self.scale_
        rows = X if len(X) <= SAMPLE else X[rng.choice(len(X), SAMPLE, replace=False)]
        sigmas = median_distance(_apart(rows)) * np.array(SHARES)
        found = [self._silhouette(embedding_affinity(rows, Gaussian(s))) for s in sigmas]
        self.tried_ = {"bandwidth": sigmas * self.scale_, "silhouette": np.array(found)}
        return float(sigmas[int(np.argmax(found))])

    def _silhouette(self, L):
        """How well the clusters of the leading eigenvectors of L stand apart; -1 if none do.

        -1 too where half of the samples have no neighbour: K is then nearly the identity, whose
        eigenvectors may stand apart but say nothing.
        """
        if np.median(L.degrees) < 1 + ALONE:
            return -1.0
        try:
            U = L.leading(self._columns)[0]
        except ConstantKernelError:
            return -1.0
        return embedding_silhouette(U, cluster_rows(U, self.n_clusters, 0))

    def _first_affinity(self, X, sigma):
        widest = 2 * np.linalg.norm(X, axis=1).max()
        if sigma > 700 * widest:  # 1 - K < 1e-6 for all pairs
            raise ValueError(
                f"sigma = {self.sigma_:.3g} is so large that the kernel is 1 between any two "
                f"samples: they are at most {widest * self.scale_:.3g} apart"
            )
        L = embedding_affinity(X, Gaussian(sigma))
        if (L.degrees - 1 < 1e-10).all():
            raise ValueError(
                f"sigma = {self.sigma_:.3g} is so small that the kernel is 0 between any two "
                f"samples: they are up to {widest * self.scale_:.3g} apart"
            )
        return L

    def _first_embedding(self, X, L):
        k = self._columns
        if isinstance(self.init, str):
            tuned = (
                None if self.init == "spectral" else embedding_affinity(X, self_tuning_kernel(X))
            )
            if self.init == "several" and self._silhouette(L) >= self._silhouette(tuned):
                tuned = None
            return (tuned or L).leading(k)[0]
        U = check_array(self.init, dtype=np.float64)
        if U.shape != (len(X), k):
            raise ValueError(
                f"init must have shape (n_samples, n_vectors) = {(len(X), k)}, got {U.shape}"
            )
        left, sizes, right = np.linalg.svd(centre(U), full_matrices=False)
        if sizes[-1] < 1e-6 * sizes[0] or not sizes[0]:
            raise ValueError(
                "the columns of init, less their means, must be linearly independent: a constant "
                "column tells no clusters apart"
            )
        return left @ right

    # ------------------------------------------------------------ training

    def _hidden(self, d):
        """Widths of the hidden layers."""
        if self.hidden_layer_sizes is None:
            return (max(20, d),) * 2
        hidden = tuple(self.hidden_layer_sizes)
        if not hidden or not all(isinstance(h, Integral) and h >= 1 for h in hidden):
            raise ValueError(
                f"hidden_layer_sizes must be whole numbers of at least 1, got {hidden!r}"
            )
        return hidden

    def _climb(self, X, L, sigma, rng):
        """psi and U in turns, from `start_` and its affinity L; sets what they have come to."""
        schedule = Schedule(**{each.name: getattr(self, each.name) for each in fields(Schedule)})
        hidden = self._hidden(X.shape[1])
        with tqdm(desc="KNet", unit="block", disable=not self.verbose) as bar:
            trainer = self._trainer(X, sigma, schedule, self._watch(bar))
            networks = [self._network(X, hidden, schedule, own) for own in self._streams(rng)]
            trainer.settle(networks, self.start_, L.degrees)
            self.restarts_ = np.array([run.blocks[-1][0] for run in networks])
            run = networks[int(np.argmax(self.restarts_))]
            turns = self._turns(trainer, run, float(np.sum(self.start_ * (L @ self.start_))))
        self.encoder_, self.decoder_ = run.encoder, run.decoder
        names = "surrogate", "reconstruction", "renewed"
        self.history_ = dict(zip(names, map(np.array, zip(*run.blocks))))
        self.renewals_ = dict(zip(("objective", "kept", "change"), map(np.array, zip(*turns))))
        self.n_iter_ = len(run.blocks)
        if not self.converged_:
            warnings.warn(
                f"U still changed (by {turns[-1][2]:.2g}, tol = {self.tol}) after {self.n_iter_} "
                f"blocks of {self.n_steps} steps: raise max_blocks or n_steps",
                ConvergenceWarning,
                stacklevel=4,
            )

    _trainer, _network = Trainer, staticmethod(identity_network)

    def _turns(self, trainer, run, start):
        """U renewed and psi settled again, until U stays; (objective, kept, change) of each."""
        U, turns = self.start_, [(start, start, 0.0)]
        L = embedding_affinity(run.encoder(trainer.X), Gaussian(trainer.sigma))
        while True:
            old, U = U, trainer.renewed(L, U)
            change = max(float(1 - np.sum((old.T @ U) ** 2) / U.shape[1]), 0.0)
            values = [float(np.sum(V * (L @ V))) for V in (U, old)]
            turns.append((*values, change))
            self.converged_ = change <= self.tol
            if self.converged_ or len(run.blocks) >= self.max_blocks:
                self.embedding_ = U
                return turns
            (L,) = trainer.settle([run], U, L.degrees)

    def _streams(self, rng):
        """One of random numbers for each network, since they are trained at once."""
        if self.n_init == 1:
            return [rng]
        return [np.random.RandomState(s) for s in rng.randint(2**31 - 1, size=self.n_init)]

    def _watch(self, bar):
        """What is called after every block."""

        def watch(Z, value):
            if self.callback is not None:
                self.callback(Z * self.scale_ + self.mean_, value)
            bar.update()
            bar.set_postfix(objective=f"{value:.4g}")

        return watch

    # ------------------------------------------------------------ what it can tell

    def _images(self, X):
        """`transform`, but always an array, whatever container is asked for, and its precision."""
        check_is_fitted(self, "cluster_centers_")
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        images = self.encoder_(self._scaled(X.astype(float, copy=False)))
        return images * self.scale_ + self.mean_, X.dtype

    def transform(self, X):
        """Images psi(X) (n_samples, n_features), in the units of X; clusters are round there."""
        Z, dtype = self._images(X)
        return Z.astype(dtype, copy=False)

    def reconstruct(self, X):
        """What the decoder makes of the images of X: f(X) of (4.9), in the units of X."""
        Z, dtype = self._images(X)
        found = self.decoder_(self._scaled(Z)) * self.scale_ + self.mean_
        return found.astype(dtype, copy=False)

    def predict(self, X):
        """The cluster with the nearest centre among the images, for each row of X."""
        Z, centres = self._scaled(self._images(X)[0]), self._scaled(self.cluster_centers_)
        return betas("difference", Z, centres).argmin(axis=1)

    @property
    def _n_features_out(self):
        return self.n_features_in_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _apart(X):
    """X (n, d), or its distinct rows where so many coincide that the median distance is 0."""
    distinct, counts = np.unique(X, axis=0, return_counts=True)
    return X if 2 * np.sum(counts**2) < len(X) ** 2 else distinct
