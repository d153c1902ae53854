"""Bandwidths found from the data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from ismlit import SupervisedIKDR
from ismlit.bandwidth import (
    as_kernel,
    best_bandwidth,
    median_distance,
    neighbour_distance,
    projected_distance,
    self_tuning_kernel,
)
from ismlit.grams import gram
from ismlit.kernels import Gaussian, Kernel, Linear, Multiquadratic


def test_local_bandwidths_are_distances_to_the_seventh_neighbour(rng):
    """By default k = 7, of the function and of the kernel that is made of it."""
    X = rng.standard_normal((40, 3))
    apart = np.sqrt(np.sum((X[:, None] - X) ** 2, axis=2))
    seventh = np.sort(apart, axis=1)[:, 7]  # the 0th is the sample itself
    assert_allclose(neighbour_distance(X), seventh)
    assert_allclose(as_kernel("gaussian", X, "self_tuning").sigmas, seventh / np.sqrt(2))
    assert_allclose(self_tuning_kernel(X).sigmas, seventh / np.sqrt(2))


def test_the_projected_bandwidth_is_half_the_projected_distance(rng):
    X = rng.standard_normal((30, 6))
    assert as_kernel("gaussian", X, "projected", 2).sigma == projected_distance(X, 2) / 2


def test_the_projected_distance_counts_directions_and_not_columns(rng):
    """Of three directions two are kept: the share of the squared distance is 2/3, whatever q."""
    X = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 6))
    assert projected_distance(X, 2) == pytest.approx(median_distance(X) * np.sqrt(2 / 3))
    assert projected_distance(X, 5) == pytest.approx(median_distance(X))


def test_the_median_of_a_subsample_is_of_rows_drawn_once(rng):
    X = rng.standard_normal((400, 3))
    apart = np.sqrt(np.sum((X[:, None] - X) ** 2, axis=2))
    assert median_distance(X, max_samples=400) == pytest.approx(np.median(apart))
    some = [median_distance(X, max_samples=100, random_state=seed) for seed in (0, 0, 1)]
    assert some[0] == some[1] != some[2]
    assert_allclose(some, np.median(apart), rtol=0.1)  # of 4950 pairs
    light = np.where(np.arange(400) < 200, 1.0, 1e-9)  # as if they were not there
    found = median_distance(X, max_samples=399, sample_weight=light)
    assert found == pytest.approx(np.median(apart[:200, :200]), rel=0.02)  # one row is left out


def test_rows_that_coincide_have_a_thousandth_of_the_usual_local_bandwidth(rng):
    X = np.r_[np.repeat(rng.standard_normal((1, 2)), 9, axis=0), 3 * rng.standard_normal((20, 2))]
    local = neighbour_distance(X)
    expected = np.maximum(local, 1e-3 * np.median(local[9:])) / np.sqrt(2)
    assert local[:9].max() == 0
    assert_allclose(self_tuning_kernel(X).sigmas, expected)
    few = X[8:12]  # three others: the farthest is the seventh
    assert_allclose(self_tuning_kernel(few).sigmas, neighbour_distance(few, 3) / np.sqrt(2))


@pytest.mark.parametrize("sizes", [(60, 40), (90, 9), (30, 20, 10)])
def test_where_every_row_has_seven_twins_the_local_bandwidth_is_of_the_distinct_rows(sizes, rng):
    """A thousandth of their median distance, as they have no other neighbours."""
    kinds = rng.standard_normal((len(sizes), 2))
    sigmas = self_tuning_kernel(np.repeat(kinds, sizes, axis=0)).sigmas
    expected = 1e-3 * median_distance(kinds) / np.sqrt(2)
    assert_allclose(sigmas, np.full(sum(sizes), expected))


def test_the_best_bandwidth_may_lie_at_an_end():
    """A score that rises or falls with K; its value is the score's own."""
    for sign, end in ((1, 10.0), (-1, 0.1)):
        sigma, value = best_bandwidth(np.ones((1, 1)), lambda K: sign * K[0, 0], 0.1, 10.0)  # noqa: B023
        assert sigma == pytest.approx(end)
        assert value == pytest.approx(sign * np.exp(-1 / (2 * end**2)))
    with pytest.raises(ValueError, match="is not finite"):
        best_bandwidth(np.ones((1, 1)), lambda K: np.nan, 0.1, 10.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kernel": "linear", "bandwidth": 2.0}, "'linear' takes no bandwidth, got 2.0"),
        ({"kernel": Gaussian(1.0), "bandwidth": 2.0}, "brings its own parameters"),
        ({"kernel": "linear", "scale": 0.5}, "needs kernel='gaussian', got scale 0.5"),
        ({"kernel": "gaussian", "bandwidth": True}, "must be a number.*got True"),
        ({"kernel": "gaussian", "bandwidth": "mean"}, "must be a number.*got 'mean'"),
    ],
)
def test_a_bandwidth_that_no_kernel_takes_is_refused(options, words, rng):
    with pytest.raises(ValueError, match=words):
        as_kernel(X=rng.standard_normal((9, 2)), **options)


@pytest.mark.parametrize("rule", ["median", "projected", 1.5, lambda X: 0.7])
def test_a_function_of_the_bandwidth_takes_every_rule(rule, rng):
    X = rng.standard_normal((30, 4))
    sigma = as_kernel("gaussian", X, rule, q=2, scale=0.5).sigma
    assert as_kernel(Gaussian, X, rule, q=2, scale=0.5) == Gaussian(sigma)
    cauchy = Kernel(lambda beta, xp: 1 / (1 + beta))
    found = as_kernel(cauchy.with_bandwidth, X, rule, q=2, scale=0.5)
    assert_allclose(gram(found, X), gram(cauchy, X / sigma), rtol=1e-12)


def test_an_estimator_finds_the_bandwidth_of_a_kernel_of_ones_own(wine):
    X, y = wine
    options = dict(bandwidth="median", bandwidth_scale=0.5, ridge=np.inf, init="taylor")
    model = clone(SupervisedIKDR(2, kernel=Multiquadratic, **options)).fit(X, y)
    assert model.kernel_ == Multiquadratic(median_distance(X) / 2)
    own = Kernel(lambda beta, xp: xp.exp(-beta / 2)).with_bandwidth
    pair = [SupervisedIKDR(2, kernel=k, **options).fit(X, y) for k in (own, "gaussian")]
    assert_allclose(abs(np.diag(pair[0].W_.T @ pair[1].W_)), 1, atol=1e-8)


@pytest.mark.parametrize("kernel", [Linear, lambda sigma: sigma])
def test_a_function_that_gives_no_kernel_is_refused(kernel, rng):
    with pytest.raises(TypeError, match=r"must give a Kernel for a bandwidth.*Linear\(\)"):
        as_kernel(kernel, rng.standard_normal((9, 2)))


def test_best_bandwidth_is_refined_to_a_hundredth():
    """One pair at distance 1 whose kernel value should be that of a given sigma.

    The grid of 26 points is a fifth of a unit of log sigma wide, and the sigmas lie off it.
    """
    for sigma in (0.4321, 1.234, 3.3):
        wanted = np.exp(-1 / (2 * sigma**2))
        found, _ = best_bandwidth(np.ones((1, 1)), lambda K: -abs(K[0, 0] - wanted), 0.1, 10.0)  # noqa: B023
        assert abs(np.log(found / sigma)) < 0.02
