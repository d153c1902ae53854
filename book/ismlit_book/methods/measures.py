"""What the thesis weighs and measures: KDAC's Gamma, the ideal H, the numbers of section 6.5."""

import numpy as np
from ismlit.bandwidth import best_bandwidth, median_distance
from ismlit.dependence import Alignment, double_centre
from ismlit.estimators.network.layers import class_sizes, log_cosines
from ismlit.gamma import Gamma, centre, label_gamma, one_hot
from ismlit.grams import betas, gram
from scipy.optimize import nnls
from scipy.special import softmax
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_array, column_or_1d


def class_table(y, balanced=False):
    """What `label_gamma` says of two samples by their classes: Gamma (k, k), and the class sizes.

    Between classes a and b with shares p the entry is sum p^2 - p_a - p_b, hence negative unless
    both are small; see claim txt-6-gamma. Balanced, it is -1/n.

    Examples
    --------
    >>> from ismlit_book.methods.measures import class_table
    >>> table, sizes = class_table(["a", "a", "a", "a", "b"])
    >>> table.round(2)
    array([[ 0.08, -0.32],
           [-0.32,  1.28]])
    >>> sizes
    array([4., 1.])
    """
    Y = one_hot(y)
    gamma = label_gamma(y, balanced)
    F = gamma.F[Y.argmax(axis=0)]
    return F @ F.T, Y.sum(axis=0)


def alternative_gamma(U, y, weight, degrees=None):
    """KDAC: reward the clustering U (n, c), penalise the known labels y. Claim: eq-3.4a.

    ``F = D^(-1/2) H [U, Y]`` and ``s = (1, ..., -weight, ...)``. With `degrees` the rows do
    not sum to zero any more, since D^(-1/2) comes after the centring.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit_book.methods.measures import alternative_gamma
    >>> U = np.array([[0.5], [0.5], [-0.5], [-0.5]])
    >>> alternative_gamma(U, [0, 1, 0, 1], weight=0.25).to_dense()
    array([[ 0.125,  0.375, -0.375, -0.125],
           [ 0.375,  0.125, -0.125, -0.375],
           [-0.375, -0.125,  0.125,  0.375],
           [-0.125, -0.375,  0.375,  0.125]])
    """
    U = check_array(U)
    F = centre(np.hstack([U, one_hot(y)]))
    if degrees is not None:
        degrees = column_or_1d(degrees)
        if len(degrees) != len(F):
            raise ValueError(f"one degree per sample is needed: {len(degrees)} for {len(F)}")
        if not (degrees > 0).all():
            raise ValueError(f"degrees must be positive, the smallest is {degrees.min():.3g}")
        F = F / np.sqrt(degrees)[:, None]
    return Gamma(F, np.r_[np.ones(U.shape[1]), np.full(F.shape[1] - U.shape[1], -float(weight))])


def ideal_hsic(y, balanced=False):
    """H* = sum of Gamma_ij over the pairs of one class: Tr(Gamma K*) of the ideal kernel.

    An upper bound of Tr(Gamma K) for kernels in [0, 1] only if Gamma is nowhere positive
    between classes. Claims: txt-6-hstar, eq-D.60.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import Gaussian, gram, label_gamma
    >>> from ismlit_book.methods.measures import ideal_hsic
    >>> X, y = load_iris(return_X_y=True)
    >>> value = np.sum(label_gamma(y).to_dense() * gram(Gaussian(1.0), X))
    >>> round(float(value) / ideal_hsic(y), 2)
    0.55
    """
    table, sizes = class_table(y, balanced)
    return float(np.diag(table) @ sizes**2)


def aligned_sum(kernels, X, y):
    """The conic combination of `kernels` most aligned with labels y after centring.

    Maximises ``<K_c, YY'> / ||K_c||`` over nonnegative weights (Cortes, Mohri and Rostamizadeh
    2012), which is nonnegative least squares of the centred Gram matrices against HYY'H.

    Parameters
    ----------
    kernels : list of Kernel
    X : array of shape (n, d)
    y : labels of shape (n,)

    Returns
    -------
    Sum
        Weights scaled so that the centred combination has the norm of HYY'H; kernels of weight
        0 are left out. Takes memory of order n^2.

    Examples
    --------
    >>> from ismlit import Gaussian, Linear, Polynomial
    >>> from ismlit.datasets import make_rings
    >>> from ismlit_book.methods.measures import aligned_sum
    >>> X, y, plane = make_rings(random_state=0)
    >>> found = aligned_sum([Linear(), Polynomial(2), Gaussian(1.0)], X @ plane, y)
    >>> [kernel for _, kernel in found.terms()]
    [Polynomial(degree=2, c=1.0), Gaussian(sigma=1.0)]
    """
    if not len(kernels):
        raise ValueError("no kernel was given: a sum needs at least one")
    X, target = check_array(X), label_gamma(y).to_dense().ravel()
    columns = np.column_stack([double_centre(gram(k, X)).ravel() for k in kernels])
    norms = np.linalg.norm(columns, axis=0)  # a cubic kernel may be 1e6 times a Gaussian
    for kernel, norm in zip(kernels, norms):
        if not norm > 0:
            raise ValueError(f"{kernel!r} is constant on this data and cannot be aligned")
    weights = nnls(columns / norms, target)[0]
    if not weights.any():
        raise ValueError("no kernel is positively aligned with the labels: use others")
    size = np.linalg.norm(columns / norms @ weights)
    weights = weights / norms * np.linalg.norm(target) / size
    parts = [float(w) * kernel for w, kernel in zip(weights, kernels) if w > 0]
    return sum(parts[1:], start=parts[0])


def max_separation(X, y, *, bounds=(0.05, 20.0)):
    """Bandwidth that separates the classes best on average. Claim: eq-D.165 (thesis D.11).

    Maximises (mean kernel value within classes) - (mean between classes), self-pairs
    included as in the thesis. `bounds` are multiples of the median distance; the global
    maximum over a log grid is refined by a bounded search.

    Raises
    ------
    ValueError
        If y has one class only.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import median_distance
    >>> from ismlit_book.methods.measures import max_separation
    >>> X, y = load_iris(return_X_y=True)
    >>> round(max_separation(X, y), 2), round(median_distance(X), 2)
    (1.42, 2.33)
    """
    X = check_array(X, ensure_min_samples=2)
    y = np.asarray(y)
    same = y[:, None] == y
    if same.all():
        raise ValueError("max_separation needs at least two classes in y, got one")
    low, high = median_distance(X) * np.asarray(bounds)
    score = lambda K: K[same].mean() - K[~same].mean()
    squares = pairwise_distances(X - X.mean(axis=0)) ** 2
    return best_bandwidth(squares, score, low, high, 60, 1e-5)[0]


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
    >>> from ismlit_book.methods.measures import geometry
    >>> X, y = load_iris(return_X_y=True)
    >>> measured = geometry(X, Gaussian(1.0), y)
    >>> {key: round(measured[key], 2) for key in ("H", "T", "C")}
    {'H': 0.79, 'T': 0.05, 'C': 0.32}
    """
    classes, index = np.unique(y, return_inverse=True)
    same = index[:, None] == index
    gamma = label_gamma(y)
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
