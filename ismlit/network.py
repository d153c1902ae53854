"""Kernel dependence networks: a projection and a Gaussian feature map a layer, without gradients.

A layer sees its input through W, ``Z = R W``, and sends it into the feature space of the Gaussian
kernel on Z, where the next layer works. Layers are solved one after the other for the
dependence (HSIC) of their output on the labels.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from scipy.linalg import eigh, svd
from scipy.special import logsumexp, softmax
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ismlit.features import even_frequencies, waves
from ismlit.gamma import ideal_hsic, supervised
from ismlit.ism import ism, starting_point
from ismlit.kernels import (
    ConstantKernelError,
    Gaussian,
    best_bandwidth,
    betas,
    gram,
    separation,
    squared_distances,
)
from ismlit.phi import Problem

MOST_PAIRS = 2000  # with random features: most samples all of whose pairs are summed,
SAMPLE = 1000  # and on how many HSIC is measured when there are more
RIDGES = (np.inf, *(10.0**-k for k in range(1, 11)))
FEWEST = 50  # of each class, if there are so many
LEAST_GAIN = 1e-3  # of normalised HSIC, for a further layer or a further turn of one


# ---------------------------------------------------------------- a layer


@dataclass(frozen=True, eq=False)
class Centred:
    """The first layer's input: X minus its mean.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.network import Centred
    >>> X = np.array([[1.0, 5.0], [3.0, 9.0]])
    >>> Centred(X.mean(axis=0))(X)
    array([[-1., -2.],
           [ 1.,  2.]])
    """

    mean: np.ndarray

    def __call__(self, X):
        return X - self.mean


@dataclass(frozen=True, eq=False)
class GramColumns:
    """Exact features: kernel values with the training images, whose weights are W = R'A's A.

    Every W worth having lies in the span of the training samples r_i, so W'r(x) = A'k(X, x): the
    infinitely wide layer needs no approximation. Claim: txt-6-rff.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Gaussian
    >>> from ismlit.network import GramColumns
    >>> features = GramColumns(np.array([[0.0], [1.0], [2.0]]), Gaussian(1.0))
    >>> features(np.array([[0.0], [1.5]])).round(2)
    array([[1.  , 0.61, 0.14],
           [0.32, 0.88, 0.88]])
    """

    points: np.ndarray
    kernel: Gaussian

    def __call__(self, Z):
        return gram(self.kernel, Z, X2=self.points)


@dataclass(frozen=True, eq=False)
class Waves:
    """Random Fourier features: cosines and sines at m frequencies (q, m).

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.features import even_frequencies
    >>> from ismlit.network import Waves
    >>> features = Waves(even_frequencies(1, 1024, 0))  # sigma = 1
    >>> R = features(np.array([[0.0], [1.0]]))
    >>> (R @ R.T).round(2)  # exp(-1/2) = 0.61
    array([[1.  , 0.61],
           [0.61, 1.  ]])
    """

    frequencies: np.ndarray

    def __call__(self, Z):
        return waves(Z, self.frequencies) / np.sqrt(self.frequencies.shape[1])


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer: images Z = features(input) W, and the Gaussian kernel on them. Claim: eq-6.2.

    Attributes
    ----------
    features : callable
        Features (n, m) of the layer's input (the images of the layer before).
    W : array of shape (m, q)
    kernel : Gaussian
    hsic : float
        Normalised HSIC (eq-6.14) of its output with the training labels.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit.network import KernelDependenceNetwork
    >>> X, y = load_wine(return_X_y=True)
    >>> first, last = KernelDependenceNetwork().fit(scale(X), y).layers_
    >>> last(first(scale(X))).shape, round(first.hsic, 2), round(last.hsic, 2)
    ((178, 2), 0.78, 0.99)
    """

    features: object
    W: np.ndarray
    kernel: Gaussian
    hsic: float

    def __call__(self, Z):
        return self.features(Z) @ self.W

    def __repr__(self):
        width, sigma = self.W.shape[1], self.kernel.sigma
        return f"Layer(width={width}, sigma={sigma:.3g}, hsic={self.hsic:.3f})"


# ---------------------------------------------------------------- what a layer is measured by


class Alignment:
    """Normalised HSIC of a Gram matrix with labels, in one pass over K. Claim: eq-6.14.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import Gaussian
    >>> from ismlit.gamma import supervised
    >>> from ismlit.kernels import gram
    >>> from ismlit.network import Alignment
    >>> X, y = load_iris(return_X_y=True)
    >>> align = Alignment(supervised(y))
    >>> [round(float(align(gram(Gaussian(sigma), X))), 2) for sigma in (0.1, 1.0, 10.0)]
    [0.15, 0.79, 0.67]
    """

    def __init__(self, gamma):
        self.F = gamma.F
        self.size = np.linalg.norm(gamma.F.T @ gamma.F)

    def __call__(self, K):
        K = K - K.mean()  # centring forgets it, and the difference below rounds less
        centred = np.sum(K * K) - 2 * np.sum(K.sum(axis=1) ** 2) / len(K)
        if not centred > 1e-20 * K.size:  # what rounding leaves of a constant matrix
            return 0.0
        return self.trace(K) / float(np.sqrt(centred) * self.size)

    def trace(self, K):
        """Tr(Gamma K), the HSIC that is not normalised."""
        return float(np.sum(self.F * (K @ self.F)))


def geometry(Z, kernel, y):
    """What section 6.5 measures of images Z (n, q) under a Gaussian kernel, with labels y (n,).

    Returns
    -------
    dict
        ``H`` normalised HSIC; ``share`` Tr(Gamma K) / H*; ``T`` scatter ratio Tr S_w / Tr S_b;
        ``C`` cosine ratio of (6.14), ``C mean`` with means for its sums, as Table 6.1 has it;
        ``MSE`` mean squared distance to the own class's centre (cor-2); ``CE`` cross-entropy of
        the cosines with the class centres, scaled to sum to 1 (cor-3).

    Notes
    -----
    Claims: eq-6.9, eq-6.10, eq-6.14.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import Gaussian
    >>> from ismlit.network import geometry
    >>> X, y = load_iris(return_X_y=True)
    >>> measured = geometry(X, Gaussian(1.0), y)
    >>> {key: round(measured[key], 2) for key in ("H", "T", "C")}
    {'H': 0.79, 'T': 0.05, 'C': 0.32}
    """
    classes, index = np.unique(y, return_inverse=True)
    same = index[:, None] == index
    gamma = supervised(y)
    K, squares = gram(kernel, Z), betas("difference", Z, Z)
    centres = np.array([Z[index == k].mean(axis=0) for k in range(len(classes))])
    cosines = log_cosines(Z, Z, index, kernel, class_sizes(Z, index, kernel))
    log_p = np.log(softmax(cosines, axis=1)[np.arange(len(Z)), index])
    align = Alignment(gamma)
    return {
        "H": align(K),
        "share": align.trace(K) / ideal_hsic(y),
        "T": float(squares[same].sum() / squares[~same].sum()),
        "C": float(K[~same].sum() / K[same].sum()),
        "C mean": float(K[~same].mean() / K[same].mean()),
        "MSE": float(np.mean(np.sum((Z - centres[index]) ** 2, axis=1))),
        "CE": float(-np.mean(log_p)),
    }


def class_sizes(points, index, kernel):
    """Logarithms (k,) of the squared lengths of the class means in feature space."""
    classes = [points[index == k] for k in range(index.max() + 1)]
    return np.log([gram(kernel, own).mean() if len(own) > 1 else 1.0 for own in classes])


def log_cosines(Z, points, index, kernel, sizes):
    """Log cosine between each image in Z and each class's mean in feature space, (n, k).

    In logarithms, so that a sample far from all of them still has a nearest.
    """
    scaled = -betas("difference", Z, points) / (2 * kernel.sigma**2)
    sums = [logsumexp(scaled[:, index == k], axis=1) for k in range(len(sizes))]
    return np.array(sums).T - np.log(np.bincount(index)) - sizes / 2


# ---------------------------------------------------------------- solving one layer


class _Solver:
    """What the layers of one fit share: Gamma, the samples HSIC is measured on, the rules."""

    def __init__(self, y, model):
        self.model, self.rng = model, check_random_state(model.random_state)
        self.gamma = supervised(y)
        self.classes, self.index = np.unique(y, return_inverse=True)
        self.sample = self._sample(len(y))
        self.score = Alignment(supervised(y[self.sample]))
        self.n_iter = 0

    def _sample(self, n):
        """All samples; of more than MOST_PAIRS with random features, SAMPLE by class shares.

        At least FEWEST of each class, or all that it has.
        """
        if self.model.random_features is None or n <= MOST_PAIRS:
            return np.arange(n)
        order = self.rng.permutation(n)
        classes = [order[self.index[order] == k] for k in range(len(self.classes))]
        sizes = [max(-(-SAMPLE * len(c) // n), FEWEST) for c in classes]
        return np.sort(np.concatenate([c[:size] for c, size in zip(classes, sizes)]))

    def bandwidth(self, Z):
        """sigma for images Z by the rule asked for, and the normalised HSIC that it gives.

        Searched from a fifth of the smallest distance, below which K = I to 4e-6 (but not below a
        thousandth of the root mean square distance), to a hundred times the latter.
        """
        squares = squared_distances(Z[self.sample])
        scale = np.sqrt(squares.mean())
        if not squares.any():
            raise ConstantKernelError(
                "all images coincide, so no kernel on them can tell the classes apart: are all "
                "rows of X the same?"
            )
        low = max(1e-3 * scale, np.sqrt(squares[squares > 0].min()) / 5)
        rules = dict(normalized_hsic=self.score, hsic=self.score.trace, separation=self.separate)
        sigma, _ = best_bandwidth(squares, rules[self.model.bandwidth], low, 100 * scale)
        return sigma, self.score(np.exp(-squares / (2 * sigma**2)))

    def separate(self, K):
        """The criterion of thesis D.11 (eq-D.165)."""
        index = self.index[self.sample]
        return separation(K, index[:, None] == index)

    def layer(self, features, R, back, W, sigma, hsic):
        """The layer, and the images (n, q) of the training samples."""
        return Layer(features, W if back is None else back @ W, Gaussian(sigma), hsic), R @ W

    def start(self, R, ridge):
        """Directions of ridge discriminant analysis on the features R, as many as (6.3) has.

        The left singular vectors of (R'HR + ridge I)^-1 R'HY; an infinite ridge leaves R'HY, whose
        vectors are those of (6.3). The ridge is a share of the largest eigenvalue.
        """
        R = R - R.mean(axis=0)
        A = R.T @ self.gamma.F
        if np.isfinite(ridge):
            C = R.T @ R
            C[np.diag_indices_from(C)] += ridge * np.linalg.norm(C, 2)
            A = np.linalg.solve(C, A)
        U, sizes, _ = svd(A, full_matrices=False)
        rank = int(np.sum(sizes > 1e-10 * sizes[0])) or 1
        q = self.model.width if isinstance(self.model.width, Integral) else rank
        return self.complete(R, U[:, : min(rank, q)], q)

    def complete(self, R, W, q):
        """W with so many more orthonormal columns of variance that it has min(q, m)."""
        missing = min(q, R.shape[1]) - W.shape[1]
        if missing < 1:
            return W
        rest = np.linalg.qr(W, mode="complete")[0][:, W.shape[1] :]
        spread = svd(R @ rest, full_matrices=True)[2][:missing]
        return np.hstack([W, rest @ spread.T])

    def wide(self, R):
        """Width by the rule that gives Appendix D.7: 90 % of the sum of R's singular values."""
        if isinstance(self.model.width, Integral):
            return min(self.model.width, R.shape[1])
        sizes = np.cumsum(svd(R, compute_uv=False))
        needed = int(np.searchsorted(sizes, 0.9 * sizes[-1])) + 1
        return min(max(needed, 2 * len(self.classes)), R.shape[1])

    def climb(self, R, W):
        """ISM and the bandwidth in turns, while H rises: (H, sigma, W)."""
        sigma, hsic = self.bandwidth(R @ W)
        best = hsic, sigma, W
        for _ in range(6):
            try:
                W = self.ism(R, sigma, init=best[2])
            except ConstantKernelError:  # K = I to rounding: there is nothing to follow
                return best
            sigma, hsic = self.bandwidth(R @ W)
            gain, best = hsic - best[0], max(best, (hsic, sigma, W), key=lambda found: found[0])
            if gain < LEAST_GAIN:
                return best
        return best

    def ism(self, R, sigma, **options):
        """W by ISM on features R; beyond MOST_PAIRS samples by random features too."""
        model = self.model
        many = len(self.sample) < len(R)
        options = dict(tol=model.tol, max_iter=model.max_iter, escape=False) | options
        if many:
            seed = self.rng.randint(2**31 - 1)
            options |= dict(random_features=model.random_features, random_state=seed)
        W = options["init"]
        q = options.pop("q") if isinstance(W, str) else W.shape[1]
        with warnings.catch_warnings():  # a layer need not be solved to the end: H decides
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", message="Phi_0 is zero")
            found = ism(R, self.gamma, Gaussian(sigma), q, n_jobs=model.n_jobs, **options)
        self.n_iter += found.n_iter
        return found.W

    def first(self, R, features):
        """The first layer: wide, so that samples stay apart."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem = Problem(R, self.gamma, Gaussian(1.0))
            W = starting_point(problem, self.wide(R), "taylor")
        hsic, sigma, W = self.climb(R, W)
        return self.layer(features, R, None, W, sigma, hsic)

    def next(self, features, R, back, before, ridge):
        """A further layer; where H does not rise, the start of (6.3) is tried as well.

        With exact features and all its columns that start keeps the numerator of normalised HSIC
        and cannot raise its denominator, in the limit of a large sigma (txt-6-monotone).
        """
        hsic, sigma, W = self.climb(R, self.start(R, ridge))
        if not self.gains(hsic, before):
            W0 = self.start(R, np.inf)
            sigma0, hsic0 = self.bandwidth(R @ W0)
            hsic, sigma, W = max((hsic, sigma, W), (hsic0, sigma0, W0), key=lambda found: found[0])
        return self.layer(features, R, back, W, sigma, hsic)

    def gains(self, hsic, before):
        """Whether a layer is worth keeping: it passes the threshold, or gains enough."""
        return hsic > before and hsic >= min(before + LEAST_GAIN, self.model.threshold)

    def published(self, features, R, back):
        """A layer as described: sigma from the layer's input, then ISM, its last point kept."""
        sigma, _ = self.bandwidth(R)
        options = dict(method="published", tol=1e-2, max_iter=50)
        W = self.ism(R, sigma, init="taylor", q=self.wide(R), **options)
        squares = squared_distances((R @ W)[self.sample])
        hsic = self.score(np.exp(-squares / (2 * sigma**2)))
        return self.layer(features, R, back, W, sigma, hsic)

    def lift(self, Z, kernel):
        """The next layer's input: its features, their values R (n, m), and how W returns.

        Exactly: R R' = K, and W (m, q) of R stands for weights ``back @ W`` of Gram columns.
        """
        m = self.model.random_features
        if m is not None:
            seed = self.rng.randint(2**31 - 1)
            features = Waves(even_frequencies(Z.shape[1], m, seed) / kernel.sigma)
            return features, features(Z), None
        squares = squared_distances(Z)
        values, vectors = eigh(np.exp(-squares / (2 * kernel.sigma**2)))
        rounding = 4 * np.finfo(float).eps * squares.max() / kernel.sigma**2
        keep = values > max(1e-12, rounding) * values[-1]
        roots, V = np.sqrt(values[keep]), vectors[:, keep]
        return GramColumns(Z, kernel), V * roots, V / roots


# ---------------------------------------------------------------- the classifier


class KernelDependenceNetwork(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator
):
    """Classify by a network of Gaussian layers, each solved for dependence on the labels.

    A layer is kept only if it raises the normalised HSIC between output and labels, by 0.001 or
    past `threshold`, where the network ends; so the sequence of HSIC values rises. A sample
    gets the class whose mean output is at the smallest angle.

    Parameters
    ----------
    max_layers : int, default=12
    threshold : float, default=0.99
        Normalised HSIC at which to stop.
    width : int, optional
        Columns of every W, if its input has so many. By default from spectra: the first layer
        keeps 90 % of the sum of X's singular values (at least two columns a class), later ones
        the rank of (6.3), which is the number of classes less one.
    bandwidth : {"normalized_hsic", "hsic", "separation"}, default="normalized_hsic"
        What each sigma maximises: (6.14), Tr(Gamma K), or the mean kernel value within classes
        less that between (thesis D.11).
    ridges : sequence of float, default=(inf, 0.1, 0.01, ..., 1e-10)
        Above 0. Where W of a later layer starts: ridge discriminant directions of its input,
        infinity being (6.3); towards 0 they interpolate. One network is grown for each in turn,
        and the first that passes `threshold` is kept, else the one with the highest HSIC:
        sharper directions are used only where smoother ones do not separate the classes.
    random_features : int, optional
        Pass so many random Fourier frequencies to the next layer (twice as many columns), in time
        linear in the samples, instead of the exact feature space (quadratic memory, cubic time).
    safeguard : bool, default=True
        False is Algorithm 5 as described: every layer is kept, as wide as the rule for the first
        one says, with sigma from its input and the last point of plain ISM (tolerance 0.01, at
        most 50 steps, whatever `tol` and `max_iter` say); HSIC may fall.
    tol : float, default=1e-3
        Of ISM, in each layer.
    max_iter : int, default=20
        Most steps of ISM for one W.
    n_jobs : int, optional
    random_state : int, RandomState, optional
        For the random features.

    Attributes
    ----------
    layers_ : list of Layer
        Callables: the composition of the first l gives the images of layer l.
    h_sequence_ : array of shape (n_layers,)
        Normalised HSIC after each layer, on the training data.
    converged_ : bool
        Whether its last entry passes `threshold`.
    ridge_ : float or None
        The entry of `ridges` that was kept; None without safeguard.
    classes_ : array
    n_iter_ : int
        Steps of ISM, over all layers tried.

    Warns
    -----
    ConvergenceWarning
        When no network passes the threshold; rows that coincide and differ in class are named.

    Notes
    -----
    Claims: alg-5, eq-6.2, eq-6.3, eq-6.4, txt-6-monotone, new-ridge-start. Scale the features
    first. With random features and more than 2000 samples HSIC is measured on 1000. A high
    HSIC on the training data is no promise for new data: random labels are fitted as well.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit.network import KernelDependenceNetwork
    >>> X, y = load_wine(return_X_y=True)
    >>> network = KernelDependenceNetwork().fit(scale(X), y)
    >>> network.h_sequence_.round(2)
    array([0.78, 0.99])
    >>> network.score(scale(X), y)
    1.0
    """

    _parameter_constraints = {
        "max_layers": [Interval(Integral, 1, None, closed="left")],
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "width": [None, Interval(Integral, 1, None, closed="left")],
        "bandwidth": [StrOptions({"normalized_hsic", "hsic", "separation"})],
        "ridges": ["array-like"],
        "random_features": [None, Interval(Integral, 1, None, closed="left")],
        "safeguard": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        max_layers=12,
        threshold=0.99,
        width=None,
        bandwidth="normalized_hsic",
        ridges=RIDGES,
        random_features=None,
        safeguard=True,
        tol=1e-3,
        max_iter=20,
        n_jobs=None,
        random_state=None,
    ):
        self.max_layers = max_layers
        self.threshold = threshold
        self.width = width
        self.bandwidth = bandwidth
        self.ridges = ridges
        self.random_features = random_features
        self.safeguard = safeguard
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y):
        """Grow the network on X (n_samples, n_features) and class labels y (n_samples,)."""
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        ridges = np.asarray(self.ridges, dtype=float).ravel()
        if not (ridges.size and (ridges > 0).all()):
            raise ValueError(f"ridges must be numbers above 0, got {self.ridges!r}")
        if self.width is not None and self.width > X.shape[1]:
            raise ValueError(f"width = {self.width} must be at most n_features = {X.shape[1]}")
        solver = _Solver(y, self)
        features = Centred(X.mean(axis=0))
        R = features(X)
        if not 1e-50 < np.abs(R).max() < 1e50 and R.any():
            raise ValueError(
                f"the largest centred entry of X is {np.abs(R).max():.1g}: scale the features, "
                "for instance by StandardScaler"
            )
        if self.safeguard:
            first = solver.first(R, features)
            second = solver.lift(first[1], first[0].kernel) if self._goes_on([first[0]]) else None
            grown = (self._grow(solver, first, second, ridge) for ridge in ridges)
            layers, Z, self.ridge_ = self._smoothest(grown)
        else:
            layers, Z = self._grow(solver, solver.published(features, R, None))[:2]
            self.ridge_ = None
        self.layers_, self.classes_, self.n_iter_ = layers, solver.classes, max(solver.n_iter, 1)
        self.h_sequence_ = np.array([layer.hsic for layer in layers])
        self.converged_ = bool(self.h_sequence_[-1] > self.threshold)
        self._points, self._index = Z[solver.sample], solver.index[solver.sample]
        self._sizes = class_sizes(self._points, self._index, layers[-1].kernel)
        if not self.converged_:
            self._warn(X, y)
        return self

    def _goes_on(self, layers):
        return layers[-1].hsic <= self.threshold and len(layers) < self.max_layers

    def _grow(self, solver, first, lifted=None, ridge=None):
        """Layers on top of the first, the images of the last, and `ridge`.

        `lifted` is the input of the second layer, the same for every ridge.
        """
        (layer, Z), layers = first, [first[0]]
        while self._goes_on(layers):
            features, R, back = lifted or solver.lift(Z, layer.kernel)
            lifted = None
            if self.safeguard:
                layer, images = solver.next(features, R, back, layers[-1].hsic, ridge)
                if not solver.gains(layer.hsic, layers[-1].hsic):
                    break
            else:
                layer, images = solver.published(features, R, back)
            layers, Z = [*layers, layer], images
        return layers, Z, ridge

    def _smoothest(self, grown):
        """The first network that passes the threshold, else the one with the highest HSIC."""
        best = None
        for found in grown:
            if best is None or found[0][-1].hsic > best[0][-1].hsic:
                best = found
            if best[0][-1].hsic > self.threshold:
                break
        return best

    def _warn(self, X, y):
        why = "smaller ridges, more layers, or a lower threshold may help"
        _, first, rows = np.unique(X, axis=0, return_index=True, return_inverse=True)
        twin = first[rows.ravel()]  # for each row the first that it coincides with
        clash = np.flatnonzero(y != y[twin])
        if clash.size:
            i, j = twin[clash[0]], clash[0]
            why = f"rows {i} and {j} of X coincide but differ in class: no network tells them apart"
        warnings.warn(
            f"normalised HSIC ends at {self.h_sequence_[-1]:.4f} after {len(self.layers_)} layers, "
            f"below threshold = {self.threshold}; {why}",
            ConvergenceWarning,
            stacklevel=3,
        )

    def transform(self, X, layer=None):
        """Images of X (n_samples, n_features) at a layer, (n_samples, width).

        layer counts from 1; None is the last (and the only one for containers other than numpy's).
        """
        return self._images(X, layer)

    def _images(self, X, layer=None):
        """`transform`, but always an array, whatever container is asked for."""
        check_is_fitted(self)
        Z = validate_data(self, X, dtype=np.float64, reset=False)
        for each in self.layers_[: self._number(layer)]:
            Z = each(Z)
        return Z

    def gram(self, X, X2=None, layer=None):
        """Gram matrix after a layer (n_samples, n_samples or as X2): cosines in feature space."""
        Z = self._images(X, layer)
        Z2 = None if X2 is None else self._images(X2, layer)
        return gram(self.layers_[self._number(layer) - 1].kernel, Z, X2=Z2)

    def _number(self, layer):
        last = len(self.layers_)
        if layer is None:
            return last
        if not (isinstance(layer, Integral) and 1 <= layer <= last):
            raise ValueError(f"layer must be a whole number from 1 to {last}, got {layer!r}")
        return layer

    def _scores(self, X):
        """Log cosines with the class means (n, k)."""
        Z, kernel = self._images(X), self.layers_[-1].kernel
        known = self._points, self._index, kernel, self._sizes
        return np.vstack([log_cosines(Z[rows], *known) for rows in gen_batches(len(Z), 4096)])

    def predict_proba(self, X):
        """Cosines with the class means in feature space, scaled to sum to 1; not calibrated."""
        return softmax(self._scores(X), axis=1)

    def predict(self, X):
        """The class at the smallest angle in feature space, for each row of X."""
        index = self._scores(X).argmax(axis=1)
        return self.classes_[index]

    @property
    def _n_features_out(self):
        return self.layers_[-1].W.shape[1]
