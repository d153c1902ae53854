"""Rules for the bandwidth sigma, from X or from X and y; and kernels by name.

A bandwidth is in the units of the data that the kernel sees.
"""

from __future__ import annotations

import difflib
from numbers import Real

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array, check_random_state

from ismlit.geometry.span import number_of_directions
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
    """All distances of the rows of X, centred first so that a far origin costs no digits."""
    return pairwise_distances(X - X.mean(axis=0))


def median_distance(X, *, max_samples=5000, random_state=0):
    """Median pairwise Euclidean distance of the rows of X (n, d), in the units of X.

    Over all n^2 entries of the distance matrix, its n zeros included, as the thesis's code does.

    Parameters
    ----------
    max_samples : int
        With more rows, a random subset of this size is used (seeded by `random_state`).

    Raises
    ------
    ValueError
        If X has fewer than two rows, or the median is 0 (most rows are duplicates).

    See Also
    --------
    as_kernel : kernels and bandwidths by name.

    Examples
    --------
    >>> from ismlit import median_distance
    >>> median_distance([[0.0], [1.0], [3.0]])
    1.0
    """
    X = check_array(X, dtype=(np.float64, np.float32), ensure_min_samples=2)
    if len(X) > max_samples:
        rng = check_random_state(random_state)
        X = X[rng.choice(len(X), max_samples, replace=False)]
    median = float(np.median(_distances(X)))
    if median == 0:
        raise ValueError(
            "the median distance is 0: at least half of all pairs of rows coincide; "
            "remove duplicate rows or give sigma yourself"
        )
    return median


def neighbour_distance(X, k=7):
    """Distance of each row of X (n, d) to its k-th neighbour, shape (n,): local bandwidths.

    Examples
    --------
    >>> from ismlit.bandwidth import neighbour_distance
    >>> neighbour_distance([[0.0], [1.0], [3.0], [7.0]], k=1).round(2)
    array([1., 1., 2., 4.])
    """
    X = check_array(X, ensure_min_samples=k + 1)
    return NearestNeighbors(n_neighbors=k).fit(X).kneighbors()[0][:, -1]


def projected_distance(X, q, rank=None, **options):
    """The median distance that a projection of X (n, d) to q dimensions has on the average.

    ``median_distance(X) * sqrt(q / rank)``: of a squared distance between samples that vary in so
    many directions a random projection keeps the share q / rank. For a kernel that sees only q of
    them the full median is too wide. Claim: new-projected-bandwidth.

    Parameters
    ----------
    X : array of shape (n, d)
    q : int
    rank : int, optional
        The number of directions in which X varies: d less the columns that are constant, copied
        or determined by others. Counted when None.
    options
        As for `median_distance`.

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
    """The self-tuning kernel ``exp(-|x_i - x_j|² / s_i s_j)`` of Zelnik-Manor and Perona (2004).

    s_i is the distance to the 7th neighbour, at least a thousandth of the median one (of the median
    distance, where all rows have seven twins). Claim: new-local-start.

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
    usual = np.median(s[s > 0]) if s.any() else median_distance(X)
    return RelativeGaussian(np.maximum(s, 1e-3 * usual) / np.sqrt(2))


# ---------------------------------------------------------------- from X and y


def best_bandwidth(squares, score, low, high, grid=26, tol=1e-2):
    """The sigma in [low, high] whose Gaussian Gram matrix K scores best, and its score.

    squares (n, n): squared distances. ``score(K)`` is maximised over a log grid, then by a
    bounded search between the neighbours of the best point, to `tol` in log sigma.

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
    found = minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": tol})
    value, place = min((losses[k], points[k]), (found.fun, found.x))
    return float(np.exp(place)), -float(value)


# ---------------------------------------------------------------- by name

KERNELS = ("linear", "squared", "polynomial", "gaussian", "multiquadratic")
"""Names of kernels; "gaussian" alone takes a bandwidth."""
MEDIAN_SUBSAMPLE = 1000  # that a rule looks at: more move the median by less than a percent
DISTANCES = {
    "median": lambda X, q, rank: median_distance(X, max_samples=MEDIAN_SUBSAMPLE),
    "projected": lambda X, q, rank: (
        projected_distance(X, q or X.shape[1], rank, max_samples=MEDIAN_SUBSAMPLE) / 2
    ),
}
"""Rules that need no labels, from X (n, d), the dimension q of a projection, and the rank of X."""
RULES = (*DISTANCES, "self_tuning")
SHARES = tuple(2.0 ** (-k / 2) for k in range(9))
"""Of the median distance, what a search for the bandwidth tries: from 1 to 1/16."""
KNOWN_AS = {"rbf": "gaussian", "poly": "polynomial", "dot": "linear", "euclidean": "squared"}


def as_bandwidth(bandwidth, X, q=None, rank=None):
    """A bandwidth in the units of X (n, d): a number, a name of `DISTANCES`, or a function of X."""
    if isinstance(bandwidth, str) and bandwidth in DISTANCES:
        return DISTANCES[bandwidth](X, q, rank)
    bandwidth = bandwidth(X) if callable(bandwidth) else bandwidth
    if isinstance(bandwidth, Real) and not isinstance(bandwidth, bool):
        return float(bandwidth)
    raise ValueError(
        f"bandwidth must be a number, a function of X that gives one, or one of {[*DISTANCES]}, "
        f"got {bandwidth!r}"
    )


def as_kernel(kernel, X, bandwidth="median", q=None, rank=None):
    """A kernel from an object of the family, or from a name, a bandwidth and data X (n, d).

    Parameters
    ----------
    kernel : Kernel or str
        One of `KERNELS` if a name. An object is returned as it is.
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

    Raises
    ------
    ValueError
        For an unknown name, and for a number given to a kernel that takes no bandwidth.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ismlit.bandwidth import as_kernel
    >>> X = load_iris().data
    >>> as_kernel("gaussian", X, bandwidth=2.0), as_kernel("polynomial", X)
    (Gaussian(sigma=2.0), Polynomial(degree=3, c=1.0))
    """
    if isinstance(kernel, Kernel):
        if not isinstance(bandwidth, str):
            raise ValueError(
                f"{kernel!r} brings its own parameters, and bandwidth={bandwidth!r} is another: "
                "give the kernel by name, kernel='gaussian', or leave the bandwidth out"
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
        return self_tuning_kernel(X)
    return Gaussian(as_bandwidth(bandwidth, X, q, rank))


def kernel_hint(name):
    """ "; did you mean ...?" where a known name is near."""
    name = str(name)
    near = [KNOWN_AS[name]] if name in KNOWN_AS else difflib.get_close_matches(name, KERNELS, 1)
    return f"; did you mean {near[0]!r}?" if near else ""
