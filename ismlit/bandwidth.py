"""Rules for the bandwidth sigma, from X or from X and y; and kernels by name.

A bandwidth is in the units of the data that the kernel sees.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _check_sample_weight

from ismlit.geometry.span import number_of_directions
from ismlit.grams import column_means, squared_distances
from ismlit.kernels import (
    Gaussian,
    Kernel,
    Linear,
    Multiquadratic,
    Polynomial,
    RelativeGaussian,
    Squared,
)

# ---------------------------------------------------------------- from X alone


def _distances(X):
    """All distances of the rows of X, centred and scaled so that no square leaves the range."""
    X = X.astype(float) - column_means(X)
    size = np.abs(X).max() or 1.0
    return np.sqrt(squared_distances(X / size)) * size


def median_distance(
    X: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    max_samples: int = 5000,
    random_state: int | np.random.RandomState | None = 0,
) -> float:
    """Median pairwise Euclidean distance of the rows of X, in the units of X.

    Over all n^2 entries of the distance matrix, its n zeros included, as the thesis's code does.
    Where more than half of them are 0, as in a column of few distinct values, it is the median of
    those that are not.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    sample_weight : array of shape (n_samples,), optional
        A pair of rows counts as much as the product of their weights.
    max_samples : int, default=5000
        With more rows, a random subset of this size is used (seeded by `random_state`).
    random_state : int, RandomState, optional

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If X has fewer than two rows, all rows are equal, or a weight is negative, not finite or
        missing.

    See Also
    --------
    as_kernel : kernels and bandwidths by name.

    Examples
    --------
    >>> from ismlit import median_distance
    >>> median_distance([[0.0], [1.0], [3.0]])
    1.0
    """
    A = check_array(X, dtype=(np.float64, np.float32), ensure_min_samples=2)
    w = _check_sample_weight(1.0 if sample_weight is None else sample_weight, A, dtype=float)
    if (w < 0).any():
        row = int(np.argmax(w < 0))
        raise ValueError(f"sample_weight must be at least 0, got {w[row]:g} for row {row}")
    if len(A) > max_samples:
        rng = check_random_state(random_state)
        rows = rng.choice(len(A), max_samples, replace=False)
        A, w = A[rows], w[rows]
    distances, weights = _distances(A), None if sample_weight is None else np.outer(w, w)
    median = _median(distances, weights)
    if median == 0:
        apart = distances > 0
        if not apart.any():
            raise ValueError(f"all {len(A)} rows of X are equal, so that no distance is above 0")
        median = _median(distances[apart], None if weights is None else weights[apart])
    return float(median)


def _median(values, weights):
    """The median of values, each repeated as often as its weight says, if there are weights."""
    if weights is None:
        return np.median(values)
    order = np.argsort(values, axis=None)
    values, total = values.ravel()[order], np.cumsum(weights.ravel()[order])
    half = total[-1] / 2  # a sum equal to it, but for rounding, makes two values the middle
    low, high = np.searchsorted(total, half * (1 - 1e-9)), np.searchsorted(total, half * (1 + 1e-9))
    return (values[low] + values[high]) / 2


def neighbour_distance(X: ArrayLike, k: int = 7) -> np.ndarray:
    """Return the distance of each row to its k-th neighbour, which serves as its bandwidth.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in rows.
    k : int, default=7
        Which neighbour; the row itself does not count.

    Returns
    -------
    array of shape (n,)
        The distances, in the units of X.

    Examples
    --------
    >>> from ismlit.bandwidth import neighbour_distance
    >>> neighbour_distance([[0.0], [1.0], [3.0], [7.0]], k=1).round(2)
    array([1., 1., 2., 4.])
    """
    X = check_array(X, ensure_min_samples=k + 1)
    return NearestNeighbors(n_neighbors=k).fit(X).kneighbors()[0][:, -1]


def projected_distance(X, q, rank=None, **options):
    """Return the median distance that a projection of X has on the average.

    It is ``median_distance(X) * sqrt(q / rank)``. Where samples vary in `rank` directions, a
    random projection keeps the share q / rank of their squared distance. For a kernel that sees
    only q of them the full median is too wide.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in rows.
    q : int
        Dimension of the projection.
    rank : int, optional
        The number of directions in which X varies: d less the columns that are constant, copied or
        determined by others. Counted when None.
    **options : dict
        As for `median_distance`.

    Returns
    -------
    float
        The distance, in the units of X.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import median_distance
    >>> from ismlit.bandwidth import projected_distance
    >>> X = np.random.default_rng(0).standard_normal((500, 50))
    >>> round(projected_distance(X, 2), 1), round(median_distance(X[:, :2]), 1)
    (2.0, 1.6)
    """
    rank = number_of_directions(X) if rank is None else rank
    return median_distance(X, **options) * float(np.sqrt(min(q, rank) / rank))


def self_tuning_kernel(X, neighbours=7):
    """Return the self-tuning kernel ``exp(-|x_i - x_j|^2 / s_i s_j)``.

    The bandwidth s_i is the distance of row i to its 7th neighbour. It is at least a thousandth of
    the median one (of the median distance of the distinct rows, where all have seven twins).

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in rows.
    neighbours : int, default=7
        Which neighbour.

    Returns
    -------
    RelativeGaussian
        The kernel for these rows.

    See Also
    --------
    neighbour_distance : what it is made of.

    References
    ----------
    Zelnik-Manor and Perona 2004, Self-tuning spectral clustering.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import gram
    >>> from ismlit.bandwidth import self_tuning_kernel
    >>> X = np.array([[0.0], [1.0], [10.0], [20.0]])  # a close pair and a wide one
    >>> gram(self_tuning_kernel(X, neighbours=1), X).round(2)
    array([[1.  , 0.37, 0.  , 0.  ],
           [0.37, 1.  , 0.  , 0.  ],
           [0.  , 0.  , 1.  , 0.33],
           [0.  , 0.  , 0.33, 1.  ]])
    """
    s = neighbour_distance(X, min(neighbours, len(X) - 1))
    usual = np.median(s[s > 0]) if s.any() else median_distance(np.unique(X, axis=0))
    return RelativeGaussian(np.maximum(s, 1e-3 * usual) / np.sqrt(2))


# ---------------------------------------------------------------- from X and y


def best_bandwidth(squares, score, low, high, grid=26, tol=1e-2):
    """Search for the bandwidth whose Gaussian Gram matrix scores best.

    The score is maximised over a logarithmic grid, and then by a bounded search between the
    neighbours of the best point.

    Parameters
    ----------
    squares : array of shape (n, n)
        Squared distances.
    score : callable ``score(K)``
        What is maximised.
    low, high : float
        Where to search.
    grid : int, default=26
        Points of the grid.
    tol : float, default=1e-2
        Accuracy in log sigma.

    Returns
    -------
    sigma : float
        The bandwidth.
    value : float
        Its score.

    Raises
    ------
    ValueError
        If the score is not finite somewhere on the grid.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import normalized_hsic
    >>> from ismlit.bandwidth import best_bandwidth
    >>> from ismlit.grams import squared_distances
    >>> X, y = load_iris(return_X_y=True)
    >>> score = lambda K: normalized_hsic(K, y)
    >>> sigma, value = best_bandwidth(squared_distances(X), score, 0.1, 10.0)
    >>> round(sigma, 1), round(value, 2)
    (1.3, 0.8)
    """
    loss = lambda log_sigma: -score(Gaussian(np.exp(log_sigma)).f(squares))
    points = np.linspace(np.log(low), np.log(high), grid)
    losses = [loss(point) for point in points]
    if not np.isfinite(losses).all():
        raise ValueError("the score of a bandwidth is not finite: check the squared distances")
    k = int(np.argmin(losses))
    around = points[max(k - 1, 0)], points[min(k + 1, grid - 1)]
    refined = minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": tol})
    value, place = min((losses[k], points[k]), (refined.fun, refined.x))
    return float(np.exp(place)), -float(value)


# ---------------------------------------------------------------- by name

KERNELS = ("linear", "squared", "polynomial", "gaussian", "multiquadratic")
"""Names of kernels; of these "gaussian" alone takes a bandwidth."""
MEDIAN_SUBSAMPLE = 1000  # that a rule looks at: more move the median by less than a percent
DISTANCES = {
    "median": lambda X, q, rank, **how: median_distance(X, **how),
    "projected": lambda X, q, rank, **how: projected_distance(X, q or X.shape[1], rank, **how) / 2,
}
"""Rules that need no labels, from X (n, d), the dimension q of a projection, and the rank of X."""
RULES = (*DISTANCES, "self_tuning")
SHARES = tuple(2.0 ** (-k / 2) for k in range(9))
"""Of the median distance, what a search for the bandwidth tries: from 1 to 1/16."""
KNOWN_AS = {"rbf": "gaussian", "poly": "polynomial", "dot": "linear", "euclidean": "squared"}


def as_bandwidth(bandwidth, X, q=None, rank=None, sample_weight=None):
    """Return a bandwidth from what a user gives as one.

    Parameters
    ----------
    bandwidth : float, str or callable
        A number, a name of `DISTANCES`, or a function of X.
    X : array of shape (n, d)
        The data that the kernel sees.
    q : int, optional
        Dimension of the projection.
    rank : int, optional
        The number of directions in which X varies.
    sample_weight : array of shape (n,), optional
        How much each row counts.

    Returns
    -------
    float
        The bandwidth, in the units of X.

    Raises
    ------
    ValueError
        If it is none of the three.
    """
    if isinstance(bandwidth, str) and bandwidth in DISTANCES:
        options = dict(max_samples=MEDIAN_SUBSAMPLE, sample_weight=sample_weight)
        return DISTANCES[bandwidth](X, q, rank, **options)
    bandwidth = bandwidth(X) if callable(bandwidth) else bandwidth
    if isinstance(bandwidth, Real) and not isinstance(bandwidth, bool):
        return float(bandwidth)
    raise ValueError(
        f"bandwidth must be a number, a function of X that gives one, or one of {[*DISTANCES]}, "
        f"got {bandwidth!r}"
    )


def as_kernel(
    kernel: str | Kernel | Callable[[float], Kernel],
    X: ArrayLike,
    bandwidth: float | str | Callable = "median",
    q: int | None = None,
    rank: int | None = None,
    *,
    scale: float = 1.0,
    sample_weight: ArrayLike | None = None,
) -> Kernel:
    """A kernel from an object of the family, or from a name, a bandwidth and data X (n, d).

    Parameters
    ----------
    kernel : Kernel, str or function
        One of `KERNELS` if a name. A kernel is returned as it is. A function of the bandwidth makes
        one, such as `Gaussian`, or ``own.with_bandwidth`` of a kernel of your own.
    X : array of shape (n, d)
    bandwidth : float, str or function
        Of a Gaussian: a number in the units of X, one of `RULES`, or a function of X. "median":
        `median_distance`. "projected": half of `projected_distance`, for q of the directions in
        which X varies.
        "self_tuning": `self_tuning_kernel`.
    q : int, optional
        Dimension of the projection, for "projected".
    rank : int, optional
        The number of directions in which X varies, for "projected"; counted when None.
    scale : float, default=1.0
        The bandwidth is multiplied by it, as in ``bandwidth="median", scale=0.25``.
    sample_weight : array of shape (n,), optional
        Of the rows, for the median that a rule takes; "self_tuning" and a function take none.

    Returns
    -------
    Kernel

    Raises
    ------
    ValueError
        For an unknown name, and for a bandwidth or a scale given to a kernel that takes none.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ismlit.bandwidth import as_kernel
    >>> X = load_iris().data
    >>> as_kernel("gaussian", X, bandwidth=2.0), as_kernel("polynomial", X)
    (Gaussian(sigma=2.0), Polynomial(degree=3, c=1.0))
    """
    if callable(kernel):
        sigma = scale * as_bandwidth(bandwidth, X, q, rank, sample_weight)
        try:
            made: object = kernel(sigma)
        except TypeError as error:  # of a function that takes none
            made = error
        if not isinstance(made, Kernel):
            raise TypeError(
                f"kernel={kernel!r} must give a Kernel for a bandwidth, as Gaussian does and "
                f"own.with_bandwidth, and gave {made!r}; a kernel itself is Linear(), for instance"
            )
        return made
    if scale != 1 and kernel != "gaussian":
        raise ValueError(
            f"a scale of the bandwidth needs kernel='gaussian', got scale {scale!r} and the kernel "
            f"{kernel!r}, which takes no bandwidth"
        )
    if isinstance(kernel, Kernel):
        if not isinstance(bandwidth, str):
            raise ValueError(
                f"{kernel!r} brings its own parameters, and bandwidth={bandwidth!r} is another: "
                "give kernel='gaussian', or your own as kernel=own.with_bandwidth, or no bandwidth"
            )
        return kernel
    plain = {"linear": Linear, "squared": Squared, "polynomial": Polynomial}
    plain |= {"multiquadratic": Multiquadratic}
    if kernel in plain:
        if not isinstance(bandwidth, str):
            raise ValueError(f"the kernel {kernel!r} takes no bandwidth, got {bandwidth!r}")
        return plain[kernel]()
    if kernel != "gaussian":
        raise ValueError(
            f"kernel must be a Kernel or one of {KERNELS}, got {kernel!r}{kernel_hint(kernel)}"
        )
    if bandwidth == "self_tuning":
        return RelativeGaussian(scale * self_tuning_kernel(X).sigmas)
    return Gaussian(scale * as_bandwidth(bandwidth, X, q, rank, sample_weight))


def kernel_hint(name: object) -> str:
    """Return the end of an error message: which kernel may have been meant.

    Parameters
    ----------
    name : object
        What was given.

    Returns
    -------
    str
        "; did you mean ...?" where a known name is near, else nothing.
    """
    name = str(name)
    near = [KNOWN_AS[name]] if name in KNOWN_AS else difflib.get_close_matches(name, KERNELS, 1)
    return f"; did you mean {near[0]!r}?" if near else ""
