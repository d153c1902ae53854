"""A layer of a kernel dependence network: a projection, a Gaussian feature map, and its solver.

A layer sees its input through W, ``Z = R W``, and sends it into the feature space of the Gaussian
kernel on Z, where the next layer works.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import eigh, svd
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors

from ismlit.bandwidth import best_bandwidth
from ismlit.dependence import Alignment
from ismlit.gamma import label_gamma, one_hot
from ismlit.grams import (
    ConstantKernelError,
    betas,
    gram,
    squared_distances,
)
from ismlit.kernels import Gaussian
from ismlit.objectives.features import even_frequencies, waves
from ismlit.objectives.parts import as_problem
from ismlit.objectives.plain import Problem
from ismlit.solvers.ism import ism
from ismlit.solvers.starts import starting_point

MOST_PAIRS = 2000  # With random features all pairs are summed for at most so many samples.
HSIC_SUBSAMPLE = 1000  # Where there are more, HSIC is measured on so many,
FEWEST = 50  # of each class at least so many, if it has them.
LEAST_GAIN = 1e-3  # of normalised HSIC, for a further layer or a further turn of one


# ---------------------------------------------------------------- a layer


def check_bandwidth(R, sigma):
    """Refuse a sigma at which the kernel is 1, or 0, between any two rows of centred R (n, d)."""
    sizes = np.linalg.norm(R, axis=1)
    if sigma > 1e6 * sizes.max():
        raise ConstantKernelError(
            f"bandwidth = {sigma:.3g} is so large that the kernel is 1 between any two rows: they "
            f"are at most {2 * sizes.max():.3g} apart"
        )
    if sigma < 1e-2 * NearestNeighbors(n_neighbors=1).fit(R).kneighbors()[0].max():
        raise ConstantKernelError(
            f"bandwidth = {sigma:.3g} is so small that the kernel is 0 between any two rows: they "
            f"are up to {2 * sizes.max():.3g} apart"
        )


@dataclass(frozen=True, eq=False)
class Centred:
    """The first layer's input: X minus its mean.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.estimators.network.layers import Centred
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
    >>> from ismlit.estimators.network.layers import GramColumns
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
    >>> from ismlit.objectives.features import even_frequencies
    >>> from ismlit.estimators.network.layers import Waves
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
    share : float
        Tr(Gamma K) of its output, over that of the kernel that is 1 within classes and else 0.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import KernelDependenceNetwork
    >>> X, y = load_wine(return_X_y=True)
    >>> first, last = KernelDependenceNetwork().fit(scale(X), y).layers_
    >>> last(first(scale(X))).shape, round(first.hsic, 2), round(last.hsic, 2)
    ((178, 2), 0.88, 0.99)
    """

    features: object
    W: np.ndarray
    kernel: Gaussian
    hsic: float
    share: float

    def __call__(self, Z):
        return self.features(Z) @ self.W

    def __repr__(self):
        width, sigma = self.W.shape[1], self.kernel.sigma
        return f"Layer(width={width}, sigma={sigma:.3g}, hsic={self.hsic:.3f})"


# ---------------------------------------------------------------- what it is measured by


def class_sizes(points, index, kernel):
    """Logarithms (k,) of the squared lengths of the class means in feature space."""
    classes = [points[index == k] for k in range(index.max() + 1)]
    return np.log([gram(kernel, own).mean() if len(own) > 1 else 1.0 for own in classes])


def log_cosines(Z, points, index, kernel, sizes):
    """Log cosine between each image in Z and each class's mean in feature space, (n, k).

    In logarithms, so that a sample far from all of them still has a nearest.
    """
    scaled = -kernel.rate * betas("difference", Z, points)
    sums = [logsumexp(scaled[:, index == k], axis=1) for k in range(len(sizes))]
    return np.array(sums).T - np.log(np.bincount(index)) - sizes / 2


# ---------------------------------------------------------------- its solver


@dataclass
class Recipe:
    """How the layers of one network are solved.

    Attributes
    ----------
    bandwidth : {"normalized_hsic", "hsic"} or float
        What each sigma maximises, or sigma itself.
    width : int or None
        Columns of every W; by rule when None.
    random_features : int or None
    tol, max_iter, n_jobs
        Of ISM.
    """

    bandwidth: str | float = "normalized_hsic"
    width: int | None = None
    random_features: int | None = None
    tol: float = 1e-3
    max_iter: int = 20
    n_jobs: int | None = None


class LayerSolver:
    """What the layers of one fit share: Gamma, the samples HSIC is measured on, the recipe."""

    search: ClassVar[dict] = {}
    """Of `best_bandwidth`, where its own defaults are not wanted."""

    def __init__(self, y, recipe, rng):
        self.recipe, self.rng = recipe, rng
        self.gamma = label_gamma(y)
        self.classes, self.index = np.unique(y, return_inverse=True)
        self.sample = self._sample(len(y))
        self.score = Alignment(label_gamma(y[self.sample]))
        self.ideal = np.sum((one_hot(y[self.sample]).T @ self.score.F) ** 2)
        self.n_iter = 0

    def _sample(self, n):
        """All samples; with random features, of more than MOST_PAIRS, some by class shares.

        At least FEWEST of each class, or all that it has.
        """
        if self.recipe.random_features is None or n <= MOST_PAIRS:
            return np.arange(n)
        order = self.rng.permutation(n)
        classes = [order[self.index[order] == k] for k in range(len(self.classes))]
        sizes = [max(-(-HSIC_SUBSAMPLE * len(c) // n), FEWEST) for c in classes]
        return np.sort(np.concatenate([c[:size] for c, size in zip(classes, sizes)]))

    # ------------------------------------------------------------ sigma given Z

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
        rules = dict(normalized_hsic=self.score, hsic=self.score.trace)
        sigma = self.recipe.bandwidth
        if isinstance(sigma, str):
            low = max(1e-3 * scale, np.sqrt(squares[squares > 0].min()) / 5)
            sigma, _ = best_bandwidth(squares, rules[sigma], low, 100 * scale, **self.search)
        return sigma, self.score(Gaussian(sigma).f(squares))

    # ------------------------------------------------------------ where W starts

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
        q = rank if self.recipe.width is None else self.recipe.width
        return _completed(R, U[:, : min(rank, q)], q)

    def wide(self, R):
        """Width by the rule that gives Appendix D.7: 90 % of the sum of R's singular values."""
        if self.recipe.width is not None:
            return min(self.recipe.width, R.shape[1])
        sizes = np.cumsum(svd(R, compute_uv=False))
        needed = int(np.searchsorted(sizes, 0.9 * sizes[-1])) + 1
        return min(max(needed, 2 * len(self.classes)), R.shape[1])

    # ------------------------------------------------------------ W and sigma in turns

    def climb(self, R, W):
        """ISM and the bandwidth in turns, while H rises: (H, sigma, W)."""
        sigma, hsic = self.bandwidth(R @ W)
        best = hsic, sigma, W
        for _ in range(6):
            try:
                W = self._ism(R, sigma, best[2])
            except ConstantKernelError:  # K = I to rounding: there is nothing to follow
                return best
            sigma, hsic = self.bandwidth(R @ W)
            gain, best = hsic - best[0], max(best, (hsic, sigma, W), key=lambda found: found[0])
            if gain < LEAST_GAIN:
                return best
        return best

    def _ism(self, R, sigma, W):
        """W by ISM on features R; beyond MOST_PAIRS samples by random features too."""
        recipe = self.recipe
        options = dict(tol=recipe.tol, max_iter=recipe.max_iter, escape=False)
        features = ()
        if len(self.sample) < len(R):
            features = recipe.random_features, self.rng.randint(2**31 - 1)
        return self._solved(ism, R, self.gamma, sigma, W.shape[1], features, init=W, **options)

    def _solved(self, solve, R, gamma, sigma, q, features=(), **options):
        """W by a solver; a layer need not be solved to the end, since H decides."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", message="Phi_0 is zero")
            problem = as_problem(R, gamma, Gaussian(sigma), self.recipe.n_jobs, *features)
            found = solve(problem, q=q, **options)
        self.n_iter += found.n_iter
        return found.W

    # ------------------------------------------------------------ the layers

    def first(self, R, features):
        """The first layer: wide, so that samples stay apart."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem = Problem(R, self.gamma, Gaussian(1.0))
            W = starting_point(problem, self.wide(R), "taylor")
        return self._layer(features, R, None, *self.climb(R, W))

    def further(self, features, R, back, ridge, enough: Callable):
        """A further layer; where H is not `enough`, the start of (6.3) is tried as well.

        With exact features and all its columns that start keeps the numerator of normalised HSIC
        and cannot raise its denominator, in the limit of a large sigma (txt-6-monotone).
        """
        hsic, sigma, W = self.climb(R, self.start(R, ridge))
        if not enough(hsic):
            W0 = self.start(R, np.inf)
            sigma0, hsic0 = self.bandwidth(R @ W0)
            hsic, sigma, W = max((hsic, sigma, W), (hsic0, sigma0, W0), key=lambda found: found[0])
        return self._layer(features, R, back, hsic, sigma, W)

    def _layer(self, features, R, back, hsic, sigma, W):
        """The layer, and the images (n, q) of the training samples."""
        Z, W = R @ W, W if back is None else back @ W
        return Layer(features, W, Gaussian(sigma), hsic, self.share(Z, sigma)), Z

    def share(self, Z, sigma):
        """Tr(Gamma K) of images Z, over its value at the kernel that is 1 within classes."""
        K = Gaussian(sigma).f(squared_distances(Z[self.sample]))
        return self.score.trace(K) / self.ideal

    def lift(self, Z, kernel):
        """The next layer's input: its features, their values R (n, m), and how W returns.

        Exactly: R R' = K, and W (m, q) of R stands for weights ``back @ W`` of Gram columns.
        """
        m = self.recipe.random_features
        if m is not None:
            seed = self.rng.randint(2**31 - 1)
            features = Waves(even_frequencies(Z.shape[1], m, seed) / kernel.sigma)
            return features, features(Z), None
        squares = squared_distances(Z)
        values, vectors = eigh(kernel.f(squares))
        rounding = 4 * np.finfo(float).eps * squares.max() / kernel.sigma**2
        keep = values > max(1e-12, rounding) * values[-1]
        roots, V = np.sqrt(values[keep]), vectors[:, keep]
        return GramColumns(Z, kernel), V * roots, V / roots


def _completed(R, W, q):
    """W with so many more orthonormal columns of variance that it has min(q, m)."""
    missing = min(q, R.shape[1]) - W.shape[1]
    if missing < 1:
        return W
    rest = np.linalg.qr(W, mode="complete")[0][:, W.shape[1] :]
    spread = svd(R @ rest, full_matrices=True)[2][:missing]
    return np.hstack([W, rest @ spread.T])
