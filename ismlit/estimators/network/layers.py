"""One layer of a kernel dependence network: a projection, a Gaussian feature map, and its solver.

A layer sees its input R through W, ``Z = R W``, and sends it into the feature space of the
Gaussian kernel on Z, where the next layer works.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh, svd
from scipy.special import logsumexp
from sklearn.neighbors import NearestNeighbors

from ismlit.bandwidth import best_bandwidth
from ismlit.dependence import Alignment
from ismlit.gamma import distinct_rows, label_gamma
from ismlit.grams import (
    ConstantKernelError,
    betas,
    gram,
    squared_distances,
)
from ismlit.kernels import Gaussian
from ismlit.memory import batches
from ismlit.messages import silenced
from ismlit.objectives.features import even_frequencies, waves
from ismlit.objectives.parts import as_problem
from ismlit.objectives.plain import Problem
from ismlit.solvers.ism import ism
from ismlit.solvers.starts import starting_point

MOST_PAIRS = 2000  # With random features and more samples, HSIC is that of a subsample.
HSIC_SUBSAMPLE = 1000  # The size of that subsample, shared out by class.
LEAST_PER_CLASS = 50  # It has at least this many of each class, if there are so many.
LEAST_GAIN = 1e-3  # A further layer, or iteration of one, must raise normalised HSIC by this.


# ---------------------------------------------------------------- a layer


def check_bandwidth(R: np.ndarray, sigma: float) -> None:
    """Refuse a bandwidth at which the kernel is 1, or 0, between any two rows.

    Parameters
    ----------
    R : array of shape (n, d)
        Centred rows.
    sigma : float
        The bandwidth, in the units of R.

    Raises
    ------
    ConstantKernelError
        If it is far above or far below the distances.
    """
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

    Parameters
    ----------
    mean : array of shape (d,)
        The mean of the training rows.
    basis : array of shape (d, r), optional
        Orthonormal, of the directions in which they vary; None where these are all.

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
    basis: np.ndarray | None = None

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Subtract the mean.

        Parameters
        ----------
        X : array of shape (n, d)
            Samples in rows.

        Returns
        -------
        array of shape (n, d)
            The difference.
        """
        return X - self.mean

    def varying(self, R: np.ndarray) -> np.ndarray:
        """Return the coordinates of centred rows in the basis.

        Parameters
        ----------
        R : array of shape (n, d)
            Centred rows.

        Returns
        -------
        array of shape (n, r)
            The coordinates; equal rows have equal ones.
        """
        return R if self.basis is None else (R @ self.basis)[first_alike(R)]


@dataclass(frozen=True, eq=False)
class GramColumns:
    """The exact features of a layer's input: kernel values with the training images.

    Every W worth having lies in the span of the training samples r_i in feature space. So it is W
    = R'A with weights A, and W'r(x) = A'k(X, x): the infinitely wide layer needs no approximation.

    Parameters
    ----------
    points : array of shape (n, q)
        The training images.
    kernel : Gaussian
        The kernel on them.

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

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        """Return the features of images.

        Parameters
        ----------
        Z : array of shape (m, q)
            Images.

        Returns
        -------
        array of shape (m, n)
            The kernel between them and the training images.
        """
        return gram(self.kernel, Z, X2=self.points)


@dataclass(frozen=True, eq=False)
class Waves:
    """Random Fourier features: cosines and sines, with the inner products of a Gaussian kernel.

    Parameters
    ----------
    frequencies : array of shape (q, m)
        The frequencies, drawn for sigma = 1 and divided by sigma.

    References
    ----------
    Rahimi and Recht 2007, Random features for large-scale kernel machines.

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

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        """Return the features of images.

        Parameters
        ----------
        Z : array of shape (n, q)
            Images.

        Returns
        -------
        array of shape (n, 2m)
            Cosines and sines.
        """
        return waves(Z, self.frequencies) / np.sqrt(self.frequencies.shape[1])


@dataclass(frozen=True, eq=False)
class Layer:
    """One fitted layer of a network, which can be called on the images of the layer before.

    Parameters
    ----------
    features : callable
        Features (n, m) of the layer's input.
    W : array of shape (m, q)
        Weights of the features.
    kernel : Gaussian
        The kernel on the images.
    agreement : float
        Normalised HSIC of its output with the training labels, from 0 to 1.
    share : float
        Tr(Gamma K) of its output, over that of the kernel that is 1 within classes and else 0.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import KernelDependenceNetwork
    >>> X, y = load_wine(return_X_y=True)
    >>> first, last = KernelDependenceNetwork().fit(scale(X), y).layers_
    >>> last(first(scale(X))).shape, round(first.agreement, 2), round(last.agreement, 2)
    ((178, 2), 0.88, 0.99)
    """

    features: Callable[[np.ndarray], np.ndarray]
    W: np.ndarray
    kernel: Gaussian
    agreement: float
    share: float

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        """Return the images of rows.

        Parameters
        ----------
        Z : array of shape (n, d)
            Rows of X, or images of the layer before.

        Returns
        -------
        array of shape (n, q)
            Their images; equal rows have equal ones.
        """
        return images(self.features, self.W, Z)

    def __repr__(self):
        width, sigma = self.W.shape[1], self.kernel.sigma
        return f"Layer(width={width}, sigma={sigma:.3g}, agreement={self.agreement:.3f})"


def images(features: Callable, W: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return the images of rows by the features and the weights of a layer.

    Parameters
    ----------
    features : callable
        Features (n, m) of the layer's input.
    W : array of shape (m, q)
        Weights of the features.
    Z : array of shape (n, d)
        The layer's input.

    Returns
    -------
    array of shape (n, q)
        The images; equal rows have equal ones.
    """
    parts = [features(Z[rows]) @ W for rows in batches(len(Z), len(W))]
    return np.vstack(parts)[first_alike(Z)]


def first_alike(Z: np.ndarray) -> np.ndarray:
    """Return for each row the first that equals it.

    A product of matrices may round two equal rows apart, and what follows, such as the division by
    a small eigenvalue, may make much of the difference.

    Parameters
    ----------
    Z : array of shape (n, d)
        The rows.

    Returns
    -------
    array of shape (n,)
        Numbers of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.estimators.network.layers import first_alike
    >>> first_alike(np.array([[2.0, 1.0], [0.0, 1.0], [2.0, 1.0]]))
    array([0, 1, 0])
    """
    first, codes = distinct_rows(Z)
    return first[codes]


# ---------------------------------------------------------------- what it is measured by


def class_sizes(points: np.ndarray, index: np.ndarray, kernel: Gaussian) -> np.ndarray:
    """Return how long the class means are in feature space.

    Parameters
    ----------
    points : array of shape (n, q)
        Images.
    index : array of shape (n,)
        The class of each, from 0.
    kernel : Gaussian
        The kernel on them.

    Returns
    -------
    array of shape (k,)
        Logarithms of the squared lengths.
    """
    classes = [points[index == k] for k in range(index.max() + 1)]
    return np.log([gram(kernel, rows).mean() if len(rows) > 1 else 1.0 for rows in classes])


def log_cosines(Z, points, index, kernel: Gaussian, sizes: np.ndarray) -> np.ndarray:
    """Return the logarithm of the cosine between images and class means in feature space.

    In logarithms, a sample that is far from all class means still has a nearest one.

    Parameters
    ----------
    Z : array of shape (m, q)
        Images.
    points : array of shape (n, q)
        The images that the means are taken of.
    index : array of shape (n,)
        The class of each, from 0.
    kernel : Gaussian
        The kernel on images.
    sizes : array of shape (k,)
        What `class_sizes` gives.

    Returns
    -------
    array of shape (m, k)
        The logarithms.
    """
    scaled = -kernel.rate * betas("difference", Z, points)
    sums = [logsumexp(scaled[:, index == k], axis=1) for k in range(len(sizes))]
    return np.array(sums).T - np.log(np.bincount(index)) - sizes / 2


def measured(score: Alignment, Z: np.ndarray, rows: np.ndarray, sigma: float) -> tuple:
    """Return what the Gaussian kernel on the images of some rows has reached.

    Parameters
    ----------
    score : Alignment
        Of the labels of the rows.
    Z : array of shape (n, q)
        Images.
    rows : array of int
        Which of them are looked at.
    sigma : float
        The bandwidth.

    Returns
    -------
    agreement : float
        Normalised HSIC.
    share : float
        Tr(Gamma K), over that of the kernel that is 1 within classes and else 0.
    """
    kernel, squares = Gaussian(sigma), squared_distances(Z[rows])
    squares *= kernel.argument
    ((_, K),) = kernel.f_and_derivatives(squares, (0,))  # in place
    return score(K), score.trace(K) / score.size**2


# ---------------------------------------------------------------- its solver


@dataclass
class Recipe:
    """How the layers of one network are solved.

    Parameters
    ----------
    bandwidth : {"normalized_hsic", "hsic"} or float
        What each sigma maximises, or the sigma of every layer.
    width : int, optional
        Columns of every W; by rule when None.
    random_features : int, optional
        How many frequencies stand for the exact feature space.
    tol : float, default=1e-3
        Of ISM.
    max_iter : int, default=20
        Of ISM.
    n_jobs : int, optional
        Of ISM.
    """

    bandwidth: str | float = "normalized_hsic"
    width: int | None = None
    random_features: int | None = None
    tol: float = 1e-3
    max_iter: int = 20
    n_jobs: int | None = None


class LayerSolver:
    """The solver of the layers of one fit: Gamma, the samples that HSIC is measured on, the recipe.

    Parameters
    ----------
    y : array of shape (n,)
        Class labels.
    recipe : Recipe
        How layers are solved.
    rng : RandomState
        What samples and features are drawn with.

    Attributes
    ----------
    search : dict
        Options of `best_bandwidth`, where its own defaults are not wanted.
    n_iter : int
        Steps of ISM so far.
    """

    search: ClassVar[dict] = {}

    def __init__(self, y: np.ndarray, recipe: Recipe, rng: np.random.RandomState) -> None:
        self.recipe, self.rng = recipe, rng
        self.gamma = label_gamma(y)
        self.classes, self.index = np.unique(y, return_inverse=True)
        self.sample = self._sample(len(y))
        self.score = Alignment(label_gamma(y[self.sample]))
        self.n_iter = 0

    def _sample(self, n):
        """All samples; with random features, of more than MOST_PAIRS, some by class shares.

        At least LEAST_PER_CLASS of each class, or all that it has.
        """
        if self.recipe.random_features is None or n <= MOST_PAIRS:
            return np.arange(n)
        order = self.rng.permutation(n)
        classes = [order[self.index[order] == k] for k in range(len(self.classes))]
        sizes = [max(-(-HSIC_SUBSAMPLE * len(c) // n), LEAST_PER_CLASS) for c in classes]
        return np.sort(np.concatenate([c[:size] for c, size in zip(classes, sizes)]))

    # ------------------------------------------------------------ sigma given Z

    def bandwidth(self, Z: np.ndarray) -> tuple[float, float]:
        """Choose the bandwidth for images, by the rule that was asked for.

        It is searched from a fifth of the smallest distance, below which K = I to 4e-6 (but not
        below a thousandth of the root mean square distance), to a hundred times the latter.

        Parameters
        ----------
        Z : array of shape (n, q)
            Images.

        Returns
        -------
        sigma : float
            The bandwidth, in the units of Z.
        agreement : float
            The normalised HSIC that it gives.

        Raises
        ------
        ConstantKernelError
            If all images coincide.
        """
        squares = squared_distances(Z[self.sample])
        scale = np.sqrt(squares.mean())
        if not squares.any():
            raise ConstantKernelError(
                "all images coincide, so no kernel on them can tell the classes apart: are all "
                "rows of X the same?"
            )
        rules = dict(normalized_hsic=self.score, hsic=self.score.trace)
        rule = self.recipe.bandwidth
        if isinstance(rule, str):
            low = max(1e-3 * scale, np.sqrt(squares[squares > 0].min()) / 5)
            sigma, _ = best_bandwidth(squares, rules[rule], low, 100 * scale, **self.search)
        else:
            sigma = float(rule)
        return sigma, self.score(Gaussian(sigma).f(squares))

    # ------------------------------------------------------------ where W starts

    def start(self, R: np.ndarray, ridge: float) -> np.ndarray:
        """Return directions of ridge discriminant analysis, in which W starts.

        They are the left singular vectors of (R'HR + ridge I)^-1 R'HY. An infinite ridge leaves
        R'HY, whose vectors are those of the construction of Theorem 6.1.

        Parameters
        ----------
        R : array of shape (n, m)
            Features.
        ridge : float
            A share of the largest eigenvalue of R'HR.

        Returns
        -------
        array of shape (m, q)
            Orthonormal columns.
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

    def wide(self, R: np.ndarray) -> int:
        """Return the width of a first layer: columns that hold 90 % of the sum of singular values.

        Parameters
        ----------
        R : array of shape (n, d)
            The input.

        Returns
        -------
        int
            At least two columns a class, if there are so many.
        """
        if self.recipe.width is not None:
            return min(self.recipe.width, R.shape[1])
        sizes = np.cumsum(svd(R, compute_uv=False))
        needed = int(np.searchsorted(sizes, 0.9 * sizes[-1])) + 1
        return min(max(needed, 2 * len(self.classes)), R.shape[1])

    # ------------------------------------------------------------ W and sigma in turns

    def climb(self, R: np.ndarray, W: np.ndarray) -> tuple[float, float, np.ndarray]:
        """Renew W by ISM and the bandwidth by a search, one after the other, while HSIC rises.

        Parameters
        ----------
        R : array of shape (n, m)
            Features.
        W : array of shape (m, q)
            Where to start.

        Returns
        -------
        agreement : float
            Normalised HSIC at the end.
        sigma : float
            The bandwidth.
        W : array of shape (m, q)
            The projection.
        """
        sigma, agreement = self.bandwidth(R @ W)
        best = agreement, sigma, W
        for _ in range(6):
            try:
                W = self._ism(R, sigma, best[2])
            except ConstantKernelError:  # K = I to rounding: there is nothing to follow
                return best
            sigma, agreement = self.bandwidth(R @ W)
            gain = agreement - best[0]
            best = max(best, (agreement, sigma, W), key=lambda scored: scored[0])
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
        problem = as_problem(R, gamma, Gaussian(sigma), self.recipe.n_jobs, *features)
        with silenced():  # not converged; a Phi_0 of zero
            result = solve(problem, q=q, **options)
        self.n_iter += result.n_iter
        return result.W

    # ------------------------------------------------------------ the layers

    def first(self, R: np.ndarray, features: Any) -> tuple[Layer, np.ndarray]:
        """Solve the first layer, which is wide so that samples stay apart.

        Parameters
        ----------
        R : array of shape (n, r)
            The input, in the basis of the features.
        features : Centred
            What gave it.

        Returns
        -------
        layer : Layer
            The layer.
        Z : array of shape (n, q)
            The images of the training rows.
        """
        problem = Problem(R, self.gamma, Gaussian(1.0))
        with silenced():
            W = starting_point(problem, self.wide(R), "taylor")
        return self._layer(features, R, features.basis, *self.climb(R, W)[1:])

    def further(self, features, R, back, ridge: float, enough: Callable) -> tuple:
        """Solve a further layer; where HSIC is not enough, from the start of Theorem 6.1 as well.

        With exact features and all its columns that start keeps the numerator of normalised HSIC
        and cannot raise its denominator, in the limit of a large sigma.

        Parameters
        ----------
        features : callable
            What gives the input.
        R : array of shape (n, m)
            The features of the training rows.
        back : array of shape (n, m), or None
            How W returns, as of `lift`.
        ridge : float
            Of the first start.
        enough : callable
            Whether an agreement is enough.

        Returns
        -------
        layer : Layer
            The layer.
        Z : array of shape (n, q)
            The images of the training rows.
        """
        attempt = self._layer(features, R, back, *self.climb(R, self.start(R, ridge))[1:])
        if not enough(attempt[0].agreement):
            W = self.start(R, np.inf)
            plain = self._layer(features, R, back, self.bandwidth(R @ W)[0], W)
            attempt = max(attempt, plain, key=lambda pair: pair[0].agreement)
        return attempt

    def _layer(self, features, R, back, sigma, W):
        """The layer, and the images (n, q) of the training samples, as new ones get them."""
        weights = W if back is None else back @ W
        if isinstance(features, GramColumns):
            Z = images(features, weights, features.points)
        else:
            Z = (R @ W)[first_alike(R)]
        return Layer(
            features, weights, Gaussian(sigma), *measured(self.score, Z, self.sample, sigma)
        ), Z

    def lift(self, Z: np.ndarray, kernel: Gaussian) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """Return the next layer's input.

        Parameters
        ----------
        Z : array of shape (n, q)
            Images of the training rows.
        kernel : Gaussian
            The kernel on them.

        Returns
        -------
        features : callable
            What gives the input for any images.
        R : array of shape (n, m)
            The features of the training rows; exactly, R R' = K.
        back : array of shape (n, m), or None
            W (m, q) of R stands for weights ``back @ W`` of Gram columns. None with random
            features.
        """
        m = self.recipe.random_features
        if m is not None:
            seed = self.rng.randint(2**31 - 1)
            features = Waves(even_frequencies(Z.shape[1], m, seed) / kernel.sigma)
            return features, features(Z)[first_alike(Z)], None
        squares = squared_distances(Z)
        values, vectors = eigh(kernel.f(squares))
        rounding = 4 * np.finfo(float).eps * squares.max() / kernel.sigma**2
        keep = values > max(1e-12, rounding) * values[-1]
        roots, V = np.sqrt(values[keep]), vectors[first_alike(Z)][:, keep]
        return GramColumns(Z, kernel), V * roots, V / roots


def _completed(R, W, q):
    """W with so many more orthonormal columns of variance that it has min(q, m)."""
    missing = min(q, R.shape[1]) - W.shape[1]
    if missing < 1:
        return W
    rest = np.linalg.qr(W, mode="complete")[0][:, W.shape[1] :]
    spread = svd(R @ rest, full_matrices=True)[2][:missing]
    return np.hstack([W, rest @ spread.T])
