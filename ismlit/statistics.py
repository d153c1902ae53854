"""Is it chance? Tests of independence by HSIC, by permutations and by held-out rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.stats import norm
from sklearn.utils import check_array, check_consistent_length, check_random_state, column_or_1d

from ismlit.bandwidth import as_kernel, median_distance
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


@dataclass(frozen=True)
class DependenceTest:
    """The answer of `dependence_test`.

    Attributes
    ----------
    value : float
        The statistic: HSIC as `ismlit.hsic` defines it (biased); with `n_components` the highest
        that a projection reaches; with method="split" the studentised cross-HSIC.
    p_value : float
        The share of data sets without any dependence whose statistic would be as high. With P
        permutations it is at least 1 / (P + 1).
    n_permutations : int
        0 with method="split".
    n : int
        Rows that were tested.
    null : array of shape (n_permutations,)
        The statistic for every permutation.

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

    def __str__(self) -> str:
        verdict = "yes" if self.p_value <= 0.05 else "no"
        how = f"{self.n_permutations} permutations, " if self.n_permutations else ""
        return f"dependence beyond chance: {verdict}, p = {self.p_value:.2g} ({how}{self.n} rows)"


def dependence_test(
    X,
    y,
    *,
    kernel: str | Kernel = "gaussian",
    bandwidth=None,
    n_components: int | None = None,
    groups=None,
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
        always a response, ``y.astype(str)`` always labels. A response and a view are seen through a
        Gaussian kernel at their median distance.
    kernel : str or Kernel, default="gaussian"
        Of X, as for `ismlit.SupervisedIKDR`.
    bandwidth : float, str or function, optional
        Of that kernel when it is Gaussian, as for `ismlit.SupervisedIKDR`. By default "median",
        and "projected" with `n_components`.
    n_components : int, optional
        From 1 to d. Test the highest HSIC of all projections of X to so many dimensions. The
        projection is solved for again with every permutation, exactly as with the data themselves
        (from the Taylor and from the gradient start), so that a chance pattern which the search
        would find counts as chance.
    groups : array of shape (n,), optional
        Permute y within groups alone. The test is then of dependence given the group, which may be
        a confounder such as a clinic or a batch.
    method : {"permutation", "split"}, default="permutation"
        "permutation" is exact at any n: about n² times the columns of all permuted labels.
        "split" permutes nothing: dependence is estimated on one half of the rows and looked for on
        the other, where the studentised cross-HSIC is standard normal without dependence. It is
        for many rows, and less powerful at the same n.
    n_permutations : int, default=199
        The p-value is at least 1 / (n_permutations + 1).
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
    MemoryError
        If the Gram matrices of a response or a view would not fit into memory.

    Warns
    -----
    UserWarning
        If one column makes nearly all of the variance, or whole numbers are taken as a response.

    See Also
    --------
    ismlit.hsic : the statistic of two Gram matrices.

    Notes
    -----
    The n x n matrix of labels is a product FF' with thin class indicators F, so a permutation costs
    a product K F[rows], and K is made tile by tile. For a response or a view, whose kernel has full
    rank, the Gram matrix is kept and its entries are looked up. Given a *continuous* confounder no
    test is offered: none can hold its level for all distributions and have power against any
    (Shah and Peters 2020). With `groups`, which are discrete, permutations within groups are exact.

    References
    ----------
    Gretton, Fukumizu, Teo, Song, Schoelkopf and Smola 2008, A kernel statistical test of
    independence.
    Phipson and Smyth 2010, Permutation p-values should never be zero.
    Shekhar, Kim and Ramdas 2023, A permutation-free kernel independence test.
    Shah and Peters 2020, The hardness of conditional independence testing.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import dependence_test
    >>> X, y = load_wine(return_X_y=True)
    >>> dependence_test(scale(X), y, random_state=0).p_value
    0.005
    """
    X, y, groups = _checked(X, y, groups, method, n_permutations, n_components)
    rng = check_random_state(0 if random_state is None else random_state)
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
        values = np.array([highest_dependence(problem, n_components) for problem in problems])
    elif not is_response(y):  # a view is of numbers
        values = _traces(X, _within(one_hot(y), groups), kernel, orders, n_jobs)
    else:
        values = _sums_of_products(X, y, kernel, groups, orders)
    values /= (len(X) - 1) ** 2
    p_value = permutation_p_value(values)
    return DependenceTest(float(values[0]), p_value, n_permutations, len(X), values[1:])


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


def _sums_of_products(X, y, kernel, groups, orders):
    """Tr(K L) for every order of the rows of y, with a Gaussian L (n, n), centred within groups.

    The kernel of a view has as many eigenvectors as rows, so entries of L are looked up and no
    product with them is formed.
    """
    cure = 'test a sample of the rows, or take method="split"'
    require_memory("dependence_test of a response or a view", cure, len(X), 4)
    Y = y.reshape(len(y), -1)
    K = gram(kernel, X)
    L = _within(_within(gram(Gaussian(median_distance(Y)), Y), groups).T, groups)
    values = np.zeros(len(orders))
    for rows in batches(len(X), len(X)):
        part = K[rows]
        values += [np.vdot(part, L[np.ix_(order[rows], order)]) for order in orders]
    return values


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
    F = target_factor(y, tol=1e-12)
    known, seen = centre(F[one]), centre(F[other])
    parts = (gram(kernel, X[other[rows]], None, X[one]) for rows in batches(len(other), len(one)))
    witness = centre(np.vstack([K @ known for K in parts]))
    scores = np.sum(witness * seen, axis=1)
    error = scores.std(ddof=1) / np.sqrt(len(scores))
    value = float(scores.mean() / error) if error > 0 else 0.0
    return DependenceTest(value, float(norm.sf(value)), 0, len(X), np.empty(0))
