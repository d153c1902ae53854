"""Tests of independence: the values, the level, the power, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, kstest

from ismlit import Gaussian, cka, dependence_test, gram, hsic, median_distance, normalized_hsic
from ismlit.datasets import make_relation
from ismlit.solvers.permutations import permutation_p_value


def indices_permuted(K, L, orders):
    """HSIC for every order of the rows of L, by whole Gram matrices."""
    return [hsic(K, L[np.ix_(rows, rows)]) for rows in orders]


@pytest.mark.parametrize("kind", ["labels", "response", "view"])
def test_the_values_are_those_of_permuted_gram_matrices(kind, rng):
    X = rng.standard_normal((40, 3))
    y = {"labels": np.arange(40) % 3, "response": X[:, 0] ** 2, "view": X[:, :2] ** 2}[kind]
    found = dependence_test(X, y, n_permutations=20, random_state=0)
    Y = y.reshape(40, -1)
    L = (y[:, None] == y) if kind == "labels" else gram(Gaussian(median_distance(Y)), Y)
    draws = np.random.RandomState(0)
    orders = [np.arange(40), *(draws.permutation(40) for _ in range(20))]
    K = gram(Gaussian(median_distance(X)), X)
    expected = indices_permuted(K, np.asarray(L, float), orders)
    assert_allclose([found.value, *found.null], expected, rtol=1e-7)
    assert found.p_value == np.mean(np.array(expected) >= expected[0] * (1 - 1e-9))


@pytest.mark.parametrize("method", ["permutation", "split"])
def test_without_dependence_five_in_a_hundred_are_rejected(method):
    """Within the 99.9 % interval of so many draws; p-values below .5 in half of them."""
    rng, draws = np.random.default_rng(7), 1000
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
    y = options.pop("y", np.arange(20) % 2)
    with pytest.raises(ValueError, match=words):
        dependence_test(rng.standard_normal((20, 2)), y, **options)


def test_unbiased_alignment_of_random_features_is_near_zero(rng):
    """As a mean over draws, of which the biased one is far away."""
    pairs = rng.standard_normal((30, 2, 40, 100))
    unbiased = [cka(X, Z) for X, Z in pairs]
    biased = [cka(X, Z, estimator="biased") for X, Z in pairs]
    assert abs(np.mean(unbiased)) < 3 * np.std(unbiased) / np.sqrt(30)
    assert np.mean(biased) > 0.5


def test_alignment_does_not_see_rotation_nor_scale(rng):
    X = rng.standard_normal((40, 5))
    Q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    assert cka(X, 3 * X @ Q + 1) == pytest.approx(1)
    K = gram(Gaussian(2.0), X)
    assert cka(X, X[:, :2], kernel=Gaussian(2.0), estimator="biased") == pytest.approx(
        normalized_hsic(K, gram(Gaussian(2.0), X[:, :2]))
    )
