"""Is it chance? Tests of independence by HSIC: by permutations, by held-out rows, given Z."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from scipy.stats import norm
from sklearn.utils import (
    check_array,
    check_consistent_length,
    check_random_state,
    column_or_1d,
    gen_batches,
)

from ismlit.bandwidth import MEDIAN_SUBSAMPLE, as_kernel, median_distance
from ismlit.conditioning import conditional_values, read_given
from ismlit.estimators.parameters import is_integer_at_least
from ismlit.estimators.validation import check_units, explained, warn_of_a_dominant_column
from ismlit.gamma import Gamma, centre, one_hot, target_factor
from ismlit.grams import gram
from ismlit.kernels import Gaussian, Kernel
from ismlit.memory import batches, require_memory
from ismlit.objectives.pairs import Pairs
from ismlit.objectives.plain import Problem
from ismlit.solvers.permutations import highest_dependence, permutation, permutation_p_value
from ismlit.targets import is_response, read_response, read_target

METHODS = ("permutation", "split")
PERMUTED_COLUMNS = 512  # Permuted columns that are multiplied with K at once.
LOOKED_UP = 2**16  # Entries of a permuted Gram matrix at once, which a cache holds.
LABEL_SCALES = (2.0, 1 / 2, 1 / 8)
"""Bandwidths of X that a test with labels aggregates over, in median distances."""
VIEW_SCALES = (2.0, 1 / 2, 1 / 4, 1 / 8)
"""The same with a response or a view: there one more costs little."""
TARGET_SCALES = (2.0, 1 / 4)
"""Those of a response or a view, of which each is paired with each of X."""


@dataclass(frozen=True)
class DependenceTest:
    """The answer of `dependence_test`.

    Attributes
    ----------
    value : float
        The statistic. Of one bandwidth it is HSIC as `ismlit.hsic` defines it (biased); of several,
        the largest of their HSICs, each less the mean and divided by the standard deviation over
        all permutations; with `n_components` the highest HSIC that a projection reaches; with
        method="split" the studentised cross-HSIC; with `given` the squared norm of the weighted
        cross-covariances of residuals.
    p_value : float
        The share of data sets without any dependence whose statistic would be as high. With P
        permutations it is at least 1 / (P + 1).
    n_permutations : int
        0 with method="split"; with `given`, the number of draws of random signs.
    n : int
        Rows that were tested.
    null : array of shape (n_permutations,)
        The statistic for every permutation, or draw.
    conditional : bool
        Whether it is of dependence given other variables.

    Examples
    --------
    >>> from ismlit import dependence_test
    >>> from ismlit.datasets import make_relation
    >>> X, y = make_relation("parabola", random_state=0)
    >>> print(dependence_test(X[:, None], y[:, None]))
    dependence beyond chance: yes, p = 0.005 (199 permutations, 200 rows)
    """

    value: float
    p_value: float
    n_permutations: int
    n: int
    null: np.ndarray = field(repr=False, compare=False)
    conditional: bool = False

    def __str__(self) -> str:
        verdict = "yes" if self.p_value <= 0.05 else "no"
        what = "conditional dependence" if self.conditional else "dependence"
        repeats = "draws of signs" if self.conditional else "permutations"
        counts = f"{self.n_permutations} {repeats}, " if self.n_permutations else ""
        return f"{what} beyond chance: {verdict}, p = {self.p_value:.2g} ({counts}{self.n} rows)"


def dependence_test(
    X,
    y,
    *,
    kernel: str | Kernel | Callable[[float], Kernel] = "gaussian",
    bandwidth=None,
    n_components: int | None = None,
    groups=None,
    given=None,
    method: str = "permutation",
    n_permutations: int = 199,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> DependenceTest:
    """Test whether y depends on X, by the Hilbert-Schmidt independence criterion.

    Parameters
    ----------
    X : array of shape (n, d)
        For a projection W that was learnt on other rows pass ``X @ W``; for one learnt on these
        rows see `n_components`.
    y : array of shape (n,) or (n, m)
        A response if its type is a floating-point one, or if it holds more than 20 distinct whole
        numbers; else class labels, and a second view if it has two axes. ``y.astype(float)`` is
        always a response, ``y.astype(str)`` always labels. A response and a view are seen through
        Gaussian kernels.
    kernel : str, Kernel or function, default="gaussian"
        Of X, as for `ismlit.SupervisedIKDR`.
    bandwidth : float, str or function, optional
        Of that kernel when it is Gaussian, as for `ismlit.SupervisedIKDR`; a response or a view
        then has its median distance. By default the test aggregates over several: from twice to an
        eighth of the median distance of X, and twice and a quarter of that of a response or a
        view. Where it does not aggregate, the default is "median" with method="split" and
        "projected" with `n_components`.
    n_components : int, optional
        From 1 to d. Test the highest HSIC of all projections of X to so many dimensions. The
        projection is solved for again with every permutation, exactly as with the data themselves
        (from the Taylor and from the gradient start), so that a chance pattern which the search
        would find counts as chance.
    groups : array of shape (n,), optional
        Permute y within groups alone. The test is then of dependence given the group, which may be
        a confounder such as a clinic or a batch.
    given : array of shape (n,) or (n, m), optional
        Test dependence given these variables, which may be continuous, discrete or both; categories
        as indicator columns. For levels that many rows share, `groups` is exact, and this is not.
    method : {"permutation", "split"}, default="permutation"
        "permutation" is exact at any n: about n² times the columns of all permuted labels.
        "split" permutes nothing: dependence is estimated on one half of the rows and looked for on
        the other, where the studentised cross-HSIC is standard normal without dependence. It is
        for many rows, and less powerful at the same n.
    n_permutations : int, default=199
        The p-value is at least 1 / (n_permutations + 1). With `given`, draws of random signs.
    n_jobs : int, optional
        Threads for the sums over pairs; as many as BLAS would use when None.
    random_state : int, RandomState, optional
        Draws the permutations or the halves; the same every time when None.

    Returns
    -------
    DependenceTest
        With ``value`` and ``p_value``.

    Raises
    ------
    ValueError
        For lengths that differ, one class only, words, gaps, or options that do not go together.
        With `given`, if it is constant, if there are fewer than 50 rows or fewer than ten for each
        of its columns, or if X or y is a function of it.
    MemoryError
        If the Gram matrices of a response or a view would not fit into memory.

    Warns
    -----
    UserWarning
        If one column makes nearly all of the variance, whole numbers are taken as a response, or
        `given` has more than three columns.

    See Also
    --------
    ismlit.hsic : the statistic of two Gram matrices.

    Notes
    -----
    The n x n matrix of labels is a product FF' with thin class indicators F, so a permutation costs
    a product K F[rows], and K is made tile by tile. For a response or a view, whose kernel has full
    rank, the Gram matrix is kept and its entries are looked up.

    Several bandwidths see the same permutations. Their HSICs are studentised over these, and the
    largest is the statistic, of the data as of every permutation, so that the level is as exact as
    that of one bandwidth.

    Given a *continuous* variable no test can hold its level for all distributions and have power
    against any (Shah and Peters 2020); with `groups`, which are discrete, permutations are exact.
    With `given`, X and y are regressed on it by kernel ridge regression, features of the residuals
    are regressed once more, and the products of what is left, weighted by features of `given`, are
    compared with themselves under random signs. The level is as good as these regressions: at 5 %
    and 250 rows, 4 to 7 % of 500 draws were rejected in each of ten designs (linear, quadratic and
    smooth functions of one variable and of two, unequal variances, skewed and heavy-tailed noise,
    five levels, two classes, levels beside numbers), 8 % where X has three columns, and at 100 rows
    8 to 9 % of 200 draws of the first kind. It is lost where several columns of `given` act
    together: with five at 250 rows, 14 % of 100 draws. The signs take the rows to be independent.

    References
    ----------
    Gretton, Fukumizu, Teo, Song, Schoelkopf and Smola 2008, A kernel statistical test of
    independence.
    Phipson and Smyth 2010, Permutation p-values should never be zero.
    Schrab, Kim, Guedj and Gretton 2022, Efficient aggregated kernel tests using incomplete
    U-statistics.
    Shekhar, Kim and Ramdas 2023, A permutation-free kernel independence test.
    Shah and Peters 2020, The hardness of conditional independence testing and the generalised
    covariance measure.
    Zhang, Peters, Janzing and Schoelkopf 2011, Kernel-based conditional independence test and
    application in causal discovery.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import dependence_test
    >>> X, y = load_wine(return_X_y=True)
    >>> dependence_test(scale(X), y, random_state=0).p_value
    0.005

    What depends on a third variable alone is independent given that:

    >>> import numpy as np
    >>> z, e, u = np.random.default_rng(0).standard_normal((3, 250))
    >>> X, y = (np.sin(2 * z) + 0.5 * e)[:, None], np.tanh(z) + 0.5 * u
    >>> dependence_test(X, y).p_value, dependence_test(X, y, given=z).p_value > 0.05
    (0.005, True)
    """
    if given is not None:
        _check_options_of_given(kernel, bandwidth, n_components, groups, method)
    X, y, groups = _checked(X, y, groups, method, n_permutations, n_components)
    rng = check_random_state(0 if random_state is None else random_state)
    if given is not None:
        values = conditional_values(X, y, read_given(given, len(X)), n_permutations, rng)
        return _by_its_null(values, len(X), conditional=True)
    several = bandwidth is None and kernel == "gaussian" and n_components is None
    if bandwidth is None:
        bandwidth = "projected" if n_components else "median"
    kernel = as_kernel(kernel, X, bandwidth, n_components)
    if method == "split":
        return _on_held_out_half(X, y, kernel, rng)
    orders = [np.arange(len(X)), *(permutation(groups, rng) for _ in range(n_permutations))]
    if n_components is not None:
        F, X = _within(target_factor(y, 1e-12, None), groups), X - X.mean(axis=0)
        s = np.ones(F.shape[1])
        problems = (Problem(X, Gamma(F[rows], s), kernel, n_jobs) for rows in orders)
        values = np.array([[highest_dependence(problem, n_components)] for problem in problems])
    elif not is_response(y):  # a view is of numbers
        F = _within(one_hot(y), groups)
        kernels = _scaled(kernel, LABEL_SCALES) if several else [kernel]
        values = np.transpose([_traces(X, F, each, orders, n_jobs) for each in kernels])
    else:
        kernels = _scaled(kernel, VIEW_SCALES) if several else [kernel]
        scales = TARGET_SCALES if several else (1.0,)
        values = _sums_of_products(X, y, kernels, scales, groups, orders)
    statistics = _largest_studentised(values) if several else values[:, 0] / (len(X) - 1) ** 2
    return _by_its_null(statistics, len(X))


def _by_its_null(values, n, conditional=False):
    """The answer, from the statistic of n rows and then that of every permutation or draw."""
    p_value = permutation_p_value(values)
    return DependenceTest(float(values[0]), p_value, len(values) - 1, n, values[1:], conditional)


def _scaled(kernel, scales):
    """A Gaussian kernel with its bandwidth multiplied by each of some numbers."""
    return [Gaussian(scale * kernel.sigma) for scale in scales]


def _largest_studentised(values):
    """The largest of the columns (1 + P, b), each less its mean and over its deviation."""
    mean, spread = values.mean(axis=0), values.std(axis=0)
    spread[spread <= 1e-9 * np.abs(mean)] = np.inf  # rounding: every permutation has one value
    return np.max((values - mean) / spread, axis=1)


def _check_options_of_given(kernel, bandwidth, n_components, groups, method):
    """Refuse what a test given other variables does not take."""
    options = {
        "kernel": kernel != "gaussian",
        "bandwidth": bandwidth is not None,
        "n_components": n_components is not None,
        "groups": groups is not None,
        "method": method != "permutation",
    }
    refused = [name for name, is_set in options.items() if is_set]
    if refused:
        raise ValueError(
            f"given does not go together with {', '.join(refused)}: leave one of the two out, and "
            "pass groups as indicator columns of given if both are to be conditioned on"
        )


def _checked(X, y, groups, method, n_permutations, n_components):
    """X (n, d), y as `read_target` gives it, and the groups (n,) from 0, checked."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
    if method == "split" and not (groups is None and n_components is None):
        raise ValueError('method="split" takes neither groups nor n_components')
    if method == "permutation" and not is_integer_at_least(n_permutations, 1):
        raise ValueError(
            f"n_permutations must be a whole number of at least 1, got {n_permutations!r}"
        )
    names = getattr(X, "columns", None)
    with explained(X):
        X = check_array(X, dtype=float, ensure_min_samples=4, input_name="X")
    if n_components is not None and n_components not in range(1, X.shape[1] + 1):
        raise ValueError(
            f"n_components must be None or a whole number from 1 to the {X.shape[1]} columns of X, "
            f"got {n_components!r}"
        )
    check_units(X)
    warn_of_a_dominant_column(X.std(axis=0), "dependence_test", names)
    if y is None:
        raise ValueError("y is None: pass the labels, the response or the second view")
    if np.ndim(y) not in (1, 2):
        raise ValueError(f"y must have one axis, or two as a second view, got {np.ndim(y)}")
    y = read_target(y) if np.ndim(y) == 1 else read_response(y)
    check_consistent_length(X, y)
    groups = np.zeros(len(X), int) if groups is None else column_or_1d(groups)
    check_consistent_length(X, groups)
    return X, y, np.unique(read_target(groups, "groups"), return_inverse=True)[1]


def _within(A, groups):
    """Rows (n, r) less the mean of their group: given the group, only what differs in it counts."""
    centred = A.copy()
    for group in np.unique(groups):
        here = groups == group
        mean = A[here].mean(axis=0)
        centred[here] -= mean
    return centred


def _traces(X, F, kernel, orders, n_jobs):
    """Tr(K F F') for every order of the rows of F (n, r), by products of K with many columns."""
    K = Pairs(X, kernel, n_jobs).gram_operator(np.eye(X.shape[1]))
    at_once = max(PERMUTED_COLUMNS // F.shape[1], 1)
    values = []
    for first in range(0, len(orders), at_once):
        stack = np.hstack([F[rows] for rows in orders[first : first + at_once]])
        columns = np.sum(stack * (K @ stack), axis=0)
        values.extend(columns.reshape(-1, F.shape[1]).sum(axis=1))
    return np.array(values)


def _sums_of_products(X, y, kernels, scales, groups, orders):
    """Tr(K L) for every order of the rows of y, pair of K (n, n) of X and Gaussian L of y.

    K is centred within groups. The kernel of a view has as many eigenvectors as rows, so entries
    of L are looked up and no product with them is formed; those of a narrower L are powers of them.
    """
    n, pairs = len(X), len(kernels) * len(scales)
    advice = 'test a sample of the rows, or take method="split"'
    require_memory("dependence_test of a response or a view", advice, n, len(kernels) + 3)
    Y = y.reshape(n, -1)
    K = np.empty((len(kernels), n, n))
    for place, kernel in zip(K, kernels):
        place[:] = _within(_within(gram(kernel, X), groups).T, groups)
    L = gram(Gaussian(scales[0] * _median_distance(Y)), Y)
    squarings = [round(2 * np.log2(wide / narrow)) for wide, narrow in pairwise(scales)]
    values = np.zeros((len(orders), pairs))
    for rows in gen_batches(n, max(1, LOOKED_UP // n)):
        part = K[:, rows].reshape(len(kernels), -1)
        for sums, order in zip(values, orders):
            looked_up = np.take(L[order[rows]], order, axis=1, mode="clip")
            products = [part @ looked_up.ravel()]
            for times in squarings:
                for _ in range(times):
                    np.square(looked_up, out=looked_up)
                products.append(part @ looked_up.ravel())
            sums += np.concatenate(products)
    return values


def _median_distance(Y):
    """The median distance of Y (n, m), by as many rows as the bandwidth of X goes by."""
    return median_distance(Y, max_samples=MEDIAN_SUBSAMPLE)


def _on_held_out_half(X, y, kernel, rng):
    """The studentised cross-HSIC: what one half of the rows estimates, met on the other half.

    With the cross-covariance C of one half as a fixed witness, every row i of the other half has a
    score <(k(x_i) - mean) (l(y_i) - mean), C>, whose mean over its standard error is standard
    normal without dependence.
    """
    if kernel.is_relative:
        raise ValueError(
            'method="split" compares rows with others, and bandwidth="self_tuning" has no '
            'bandwidth for those: take bandwidth="median", or method="permutation"'
        )
    one, other = np.array_split(rng.permutation(len(X)), 2)
    F = target_factor(y, 1e-12, max_samples=MEDIAN_SUBSAMPLE)
    known, other_half = centre(F[one]), centre(F[other])
    parts = (gram(kernel, X[other[rows]], None, X[one]) for rows in batches(len(other), len(one)))
    witness = centre(np.vstack([K @ known for K in parts]))
    scores = np.sum(witness * other_half, axis=1)
    error = scores.std(ddof=1) / np.sqrt(len(scores))
    value = float(scores.mean() / error) if error > 0 else 0.0
    return DependenceTest(value, float(norm.sf(value)), 0, len(X), np.empty(0))
