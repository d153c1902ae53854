"""HSIC, its normalised forms, and the alignment of two kernels."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ismlit import (
    Gaussian,
    cka,
    gram,
    hsic,
    normalized_hsic,
)


def test_biased_hsic_is_the_squared_norm_of_the_cross_covariance(rng):
    A, B = rng.standard_normal((9, 3)), rng.standard_normal((9, 2))
    covariance = np.cov(A.T, B.T)[:3, 3:]
    assert_allclose(hsic(A @ A.T, B @ B.T), np.sum(covariance**2), rtol=1e-12)


def test_unbiased_hsic_is_the_mean_over_ordered_quadruples(rng):
    """Definition of the U-statistic, by enumerating all quadruples of distinct samples."""
    n = 6
    A, B = rng.standard_normal((2, n, n))
    K, L = A @ A.T, B @ B.T
    total, quadruples = 0.0, list(itertools.permutations(range(n), 4))
    for i, j, q, r in quadruples:
        total += K[i, j] * (L[i, j] + L[q, r] - 2 * L[i, q])
    assert_allclose(hsic(K, L, estimator="unbiased"), total / len(quadruples), rtol=1e-12)


def test_normalised_hsic_bounds(rng):
    A = rng.standard_normal((8, 3))
    K = A @ A.T
    assert_allclose(normalized_hsic(K, 5 * K + 2), 1, rtol=1e-12)
    assert 0 < normalized_hsic(K, np.arange(8) % 2) < 1


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
