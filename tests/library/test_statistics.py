"""Tests of independence: the values, the level, the power, and what is refused."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import erfc
from scipy.stats import binom, kstest
from sklearn.preprocessing import scale

from ismlit import (
    DependenceTest,
    Gaussian,
    dependence_test,
    gram,
    hsic,
    median_distance,
)
from ismlit.datasets import make_relation
from ismlit.objectives.pairs import Pairs
from ismlit.solvers.permutations import permutation, permutation_p_value
from ismlit.statistics import _largest_studentised

KINDS = ["labels", "response", "view"]


def relation(kind, X):
    """Labels, a response or a view that depends on X (n, d), and its Gram matrix (n, n)."""
    y = {"labels": np.digitize(X[:, 0], [-1, 0.5]), "response": X[:, 0] ** 2}.get(kind, X[:, :2])
    Y = y.reshape(len(y), -1)
    L = y[:, None] == y if kind == "labels" else gram(Gaussian(median_distance(Y)), Y)
    return y, np.asarray(L, float)


def within(groups):
    """The matrix (n, n) that takes from every row the mean of its group."""
    same = groups[:, None] == groups
    return np.eye(len(groups)) - same / same.sum(axis=1)


def drawn_orders(groups, number):
    """The rows as they are, and then so many permutations within groups."""
    draws = np.random.RandomState(0)
    return [np.arange(len(groups)), *(permutation(groups, draws) for _ in range(number))]


@pytest.fixture(params=[2, 7])
def parts(request, monkeypatch):
    """Few rows at a time, and few columns: fewer than one order has, or those of two."""
    monkeypatch.setattr("ismlit.statistics.PERMUTED_COLUMNS", request.param)
    monkeypatch.setattr("ismlit.statistics.LOOKED_UP", 40 * 7)
    monkeypatch.setattr("ismlit.memory.BATCH_VALUES", 40 * 7)


@pytest.mark.parametrize("names", ["aaa", "bca"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_values_are_those_of_permuted_gram_matrices(kind, names, rng, parts):
    """Permuted within groups, with the Gram matrix of y centred within them."""
    X, groups = rng.standard_normal((40, 3)), rng.choice([*names], 40)
    y, L = relation(kind, X)
    of = dict(groups=None if names == "aaa" else groups, n_permutations=20, bandwidth="median")
    found = dependence_test(X, y, random_state=0, **of)
    K, centred = gram(Gaussian(median_distance(X)), X), within(groups) @ L @ within(groups)
    orders = drawn_orders(groups, 20)
    expected = [hsic(K, centred[np.ix_(rows, rows)]) for rows in orders]
    assert_allclose([found.value, *found.null], expected, rtol=1e-7)
    assert found.p_value == np.mean(np.array(expected) >= expected[0] * (1 - 1e-9))
    assert (found.n, found.n_permutations) == (40, 20)
    assert np.array_equal(dependence_test(X, y, **of).null, found.null)  # 0 draws when None


@pytest.mark.parametrize("names", ["aaa", "bca"])
@pytest.mark.parametrize("kind", KINDS)
def test_without_a_bandwidth_the_largest_studentised_value_of_several_counts(
    kind, names, rng, parts
):
    """Each pair of bandwidths is studentised over the same permutations."""
    X, groups = rng.standard_normal((40, 3)), rng.choice([*names], 40)
    y, L = relation(kind, X)
    of = dict(groups=groups, n_permutations=20, random_state=0)
    result = dependence_test(X, y, **of)
    kernels = [Gaussian(scale * median_distance(X)) for scale in (2, 1 / 2, 1 / 4, 1 / 8)]
    if kind == "labels":
        kernels, targets = [kernels[0], kernels[1], kernels[3]], [L]
    else:
        Y = y.reshape(len(y), -1)
        targets = [gram(Gaussian(scale * median_distance(Y)), Y) for scale in (2, 1 / 4)]
    targets = [within(groups) @ target @ within(groups) for target in targets]
    values = np.array(
        [
            [hsic(gram(kernel, X), L[np.ix_(rows, rows)]) for kernel in kernels for L in targets]
            for rows in drawn_orders(groups, 20)
        ]
    )
    expected = np.max((values - values.mean(axis=0)) / values.std(axis=0), axis=1)
    assert_allclose([result.value, *result.null], expected, rtol=1e-6, atol=1e-8)
    assert result.p_value == np.mean(expected >= expected[0] - 1e-7)
    assert dependence_test(X, y, kernel=Gaussian(1.0), **of) == dependence_test(
        X, y, bandwidth=1.0, **of
    )


@pytest.mark.parametrize(("most", "columns"), [(2, 21 * [3]), (7, 10 * [6] + [3])])
def test_permuted_labels_are_multiplied_in_stacks_of_so_many_columns(
    most, columns, rng, monkeypatch
):
    """Of three classes, as drawn and in 20 orders; one order is the least."""
    monkeypatch.setattr("ismlit.statistics.PERMUTED_COLUMNS", most)
    operator, widths = Pairs.gram_operator, []

    class Watched:
        def __init__(self, K):
            self.K = K

        def __matmul__(self, stack):
            widths.append(stack.shape[1])
            return self.K @ stack

    monkeypatch.setattr(Pairs, "gram_operator", lambda *given: Watched(operator(*given)))
    X = rng.standard_normal((40, 2))
    dependence_test(X, np.arange(40) % 3, bandwidth="median", n_permutations=20)
    assert widths == columns


def test_a_statistic_that_no_permutation_changes_is_left_out():
    """Which is constant but for rounding."""
    changing = np.array([3.0, 1.0, 2.0])
    values = np.column_stack([changing, 7.0 + np.array([0.0, 1e-15, -1e-15])])
    z = (changing - 2.0) / changing.std()
    assert_allclose(_largest_studentised(values), np.maximum(z, 0.0), atol=1e-12)


def test_several_bandwidths_see_what_the_median_distance_hides():
    """Pairs of the density 1 + sin(2x) sin(2y), at the level of 5 %."""
    hits = {None: 0, "median": 0}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, y, u = rng.uniform(-np.pi, np.pi, (3, 900))
        kept = np.flatnonzero(1 + u / np.pi < 1 + np.sin(2 * x) * np.sin(2 * y))[:150]
        for bandwidth in hits:
            test = dependence_test(x[kept, None], y[kept], bandwidth=bandwidth, n_permutations=99)
            hits[bandwidth] += test.p_value <= 0.05
    assert hits[None] >= 10 and hits["median"] <= 5


@pytest.mark.parametrize("names", ["aaa", "bca"])
@pytest.mark.parametrize("kind", KINDS)
def test_of_a_linear_kernel_the_highest_hsic_of_all_projections_is_a_sum_of_eigenvalues(
    kind, names, rng
):
    """For every permutation: the q largest of X'LX, with L centred within groups."""
    X, groups = rng.standard_normal((40, 4)) + [0, 3, 3, 3], rng.choice([*names], 40)
    y, L = relation(kind, X)
    of = dict(n_components=2, n_permutations=5, random_state=0)
    found = dependence_test(X, y, kernel="linear", groups=groups, **of)
    L = within(groups) @ L @ within(groups)
    moments = [X.T @ L[np.ix_(rows, rows)] @ X for rows in drawn_orders(groups, 5)]
    expected = [np.linalg.eigvalsh(M)[-2:].sum() / 39**2 for M in moments]
    assert_allclose([found.value, *found.null], expected, rtol=1e-6)
    assert found.p_value == np.mean(np.array(expected) >= expected[0])


def test_projections_are_of_centred_rows_and_have_the_projected_bandwidth(rng):
    X, y = rng.standard_normal((40, 3)), np.arange(40) % 2
    of = dict(n_components=1, n_permutations=1)
    value = lambda X, **more: dependence_test(X, y, **of, **more).value
    shifted = X + [5.0, 0.0, -2.0]
    cubic = value(X, kernel="polynomial"), value(shifted, kernel="polynomial")
    assert cubic[1] == pytest.approx(cubic[0], rel=1e-8)
    assert value(X) == value(X, bandwidth="projected") != value(X, bandwidth="median")


@pytest.mark.parametrize("kind", KINDS)
def test_the_split_statistic_is_the_studentised_mean_of_scores_on_the_other_half(kind, rng, parts):
    """By whole Gram matrices: <(k(x) - mean) (l(y) - mean), C>, C being that of the first half."""
    X = rng.standard_normal((41, 3))
    y, L = relation(kind, X)
    found = dependence_test(X, y, method="split", random_state=0)
    one, other = np.split(np.random.RandomState(0).permutation(41), [21])
    K = gram(Gaussian(median_distance(X)), X)[np.ix_(other, one)]
    L = L[np.ix_(other, one)]
    K, L = K - K.mean(axis=0), L - L.mean(axis=0)
    scores = np.sum(K * (L - L.mean(axis=1)[:, None]), axis=1)
    variance = np.sum((scores - scores.mean()) ** 2) / 19
    expected = scores.mean() / np.sqrt(variance / 20)
    assert found.value == pytest.approx(expected, rel=1e-6)
    assert found.p_value == pytest.approx(erfc(expected / np.sqrt(2)) / 2, rel=1e-6)
    assert (found.n, found.n_permutations, found.null.size) == (41, 0, 0)


def test_a_split_that_sees_no_dependence_at_all_has_the_value_0():
    """A linear kernel of one row that is not 0, which is in one half or in the other."""
    X, y = np.zeros((8, 1)), np.arange(8) % 2
    X[3] = 1.0
    for seed in range(5):
        found = dependence_test(X, y, kernel="linear", method="split", random_state=seed)
        assert (found.value, found.p_value) == (0.0, 0.5)


@pytest.mark.parametrize(
    ("p", "n_permutations", "words"),
    [
        (0.05, 199, "yes, p = 0.05 (199 permutations, 40 rows)"),
        (0.051, 999, "no, p = 0.051 (999 permutations, 40 rows)"),
        (0.00123, 0, "yes, p = 0.0012 (40 rows)"),
    ],
)
def test_what_is_printed_is_the_verdict_at_five_per_cent(p, n_permutations, words):
    found = DependenceTest(1.0, p, n_permutations, 40, np.arange(1.0 + n_permutations))
    assert str(found) == f"dependence beyond chance: {words}"
    assert "null" not in repr(found)
    assert found == replace(found, null=np.zeros(3)) != replace(found, value=2.0)
    signs = words.replace("permutations", "draws of signs")
    assert str(replace(found, conditional=True)) == f"conditional dependence beyond chance: {signs}"


@pytest.mark.parametrize(("bandwidth", "arrays"), [("median", 4), (None, 7)])
def test_a_response_keeps_a_few_arrays_at_a_time(bandwidth, arrays, rng):
    """At most: with the rest of what a test of 400 rows holds, less than a tenth of one more."""
    X = rng.standard_normal((400, 2))
    tracemalloc.start()
    dependence_test(X, X[:, 0], bandwidth=bandwidth, n_permutations=2)
    peak = tracemalloc.get_traced_memory()[1] / (8 * 400**2)
    tracemalloc.stop()
    assert arrays <= peak < arrays + 0.1


@pytest.mark.parametrize(("bandwidth", "arrays"), [("median", 4), (None, 7)])
def test_whole_gram_matrices_must_fit_into_memory(bandwidth, arrays, rng, monkeypatch):
    X = rng.standard_normal((40, 2))
    few = dict(n_permutations=1, bandwidth=bandwidth)
    monkeypatch.setattr("ismlit.memory.memory_limit", lambda: arrays * 8 * 40**2)
    dependence_test(X, X[:, 0], **few)
    monkeypatch.setattr("ismlit.memory.memory_limit", lambda: arrays * 8 * 40**2 - 1)
    for y in (X[:, 0], X):
        with pytest.raises(MemoryError, match=r'n = 40.*take method="split"'):
            dependence_test(X, y, **few)
    dependence_test(X, X[:, 0], method="split")
    dependence_test(X, X[:, 0], n_components=1, **few)
    dependence_test(X, X[:, 0] > 0, **few)


@pytest.mark.parametrize("draws", [300, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", ["permutation", "split"])
def test_without_dependence_five_in_a_hundred_are_rejected(method, draws):
    """Within the 99.9 % interval of so many draws; p-values below .5 in half of them."""
    rng = np.random.default_rng(7)
    p = np.array(
        [
            dependence_test(
                rng.standard_normal((60, 2)),
                rng.integers(0, 3, 60) if k % 2 else rng.standard_normal(60),
                method=method,
                n_permutations=99,
                random_state=k,
            ).p_value
            for k in range(draws)
        ]
    )
    for level in (0.05, 0.5):
        low, high = binom.interval(0.999, draws, level)
        assert low <= np.sum(p <= level) <= high
    if method == "split":
        assert kstest(p, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("kind", ["parabola", "circle", "line"])
@pytest.mark.parametrize("method", ["permutation", "split"])
def test_dependence_is_found(kind, method):
    X, y = make_relation(kind, random_state=0)
    assert dependence_test(X[:, None], y, method=method).p_value <= 0.01


def test_a_group_that_explains_all_leaves_nothing(rng):
    group = np.arange(200) % 2
    X = 2 * group[:, None] + rng.standard_normal((200, 2))
    y = 2 * group + rng.standard_normal(200)
    assert dependence_test(X, y).p_value == 0.005
    assert dependence_test(X, y, groups=group).p_value > 0.05
    y = y + X[:, 0]
    assert dependence_test(X, y, groups=group).p_value == 0.005


@pytest.mark.slow
def test_a_searched_projection_is_compared_with_searched_ones():
    """Where a test of the learnt projection as if it were given would call noise dependence."""
    from ismlit import SupervisedIKDR

    naive, honest = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((60, 15)), np.arange(60) % 2
        seen = SupervisedIKDR(2, init="taylor").fit_transform(X, y)
        naive.append(dependence_test(seen, y, n_permutations=19).p_value)
        honest.append(dependence_test(X, y, n_components=2, n_permutations=19).p_value)
    assert np.sum(np.array(naive) <= 0.05) >= 7
    assert np.sum(np.array(honest) <= 0.05) <= binom.ppf(0.999, 8, 0.05)


def test_a_searched_projection_finds_an_interaction(rng):
    X = rng.standard_normal((300, 8))
    found = dependence_test(X, X[:, 0] * X[:, 1] > 0, n_components=2, n_permutations=19)
    assert found.p_value == 0.05


def test_p_values_count_the_data_among_their_permutations():
    assert permutation_p_value([5.0, 1.0, 2.0, 3.0]) == 0.25
    assert permutation_p_value([1.0, 1.0, 1.0, 1.0]) == 1.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (dict(method="chi2"), "method must be one of"),
        (dict(n_permutations=0), "n_permutations must be a whole number of at least 1"),
        (dict(method="split", n_components=1), "takes neither"),
        (dict(method="split", groups=np.arange(20) % 2), "takes neither"),
        (dict(method="split", bandwidth="self_tuning"), "self_tuning.*no bandwidth for those"),
        (dict(bandwidth=0), "bandwidth"),
        (dict(n_components=0), "from 1 to the 2 columns of X, got 0"),
        (dict(n_components=3), "from 1 to the 2 columns of X, got 3"),
        (dict(X=np.ones((20, 2))), "all rows of X are equal"),
        (dict(X=np.arange(3.0)[:, None], y=[0, 1, 1]), "3 sample.* a minimum of 4"),
        (dict(X=np.full((20, 2), np.nan)), "Input X contains NaN"),
        (dict(y=np.float64(1.0)), "y must have one axis, or two as a second view, got 0"),
        (dict(y=np.full((20, 2), "a")), "a response must be numbers"),
        (dict(y=np.ones((20, 2, 2))), "y must have one axis, or two as a second view, got 3"),
        (dict(y=np.zeros(20, int)), "at least two classes"),
        (dict(y=np.arange(19) % 2), "inconsistent numbers of samples"),
        (dict(groups=np.zeros(19)), "inconsistent numbers of samples"),
        (
            dict(groups=np.array(["a"] * 19 + [np.nan], object)),
            "Input groups contains NaN, in row 19",
        ),
        (
            dict(groups=np.array(["a"] * 19 + [None], object)),
            "Input groups contains None, in row 19",
        ),
        (dict(y=np.array(["a"] * 19 + [np.nan], object)), "Input y contains NaN, in row 19"),
    ],
)
def test_what_does_not_go_together_is_refused(options, words, rng):
    given = dict(X=rng.standard_normal((20, 2)), y=np.arange(20) % 2) | options
    with pytest.raises(ValueError, match=words):
        dependence_test(**given)


def test_the_least_that_is_asked_for_is_enough(rng):
    X = rng.standard_normal((4, 2))
    found = dependence_test(X, [0, 1, 0, 1], n_components=2, n_permutations=1)
    assert found.p_value in (0.5, 1.0)
    assert dependence_test(X, [0, 1, 0, 1], method="split", n_permutations=0).n == 4


def test_columns_are_compared_by_their_variances_and_in_double_precision(rng):
    X, y = scale(rng.standard_normal((20, 2))), np.arange(20) % 2
    dependence_test(X * [9, 1], y)  # 98.8 %
    with pytest.warns(UserWarning, match=r"column 0 of X makes 99.2 % .* before dependence_test"):
        dependence_test(X * [11, 1], y)
    single = X.astype("f4")
    assert dependence_test(single, y).value == dependence_test(single.astype(float), y).value
