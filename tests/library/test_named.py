"""The named kernels: derivatives, and what other libraries compute."""

import numpy as np
import pytest
from library.problems import FAMILY
from numpy.testing import assert_allclose
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from ismlit.grams import gram
from ismlit.kernels import (
    Gaussian,
    Kernel,
    Multiquadratic,
    Polynomial,
    RelativeGaussian,
    Squared,
)

SINGLE = [name for name in FAMILY if name not in ("sum", "relative")]


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_agree_with_central_differences(name, order):
    kernel, beta, h = FAMILY[name], np.linspace(0.3, 4, 9), 1e-4
    lower = (kernel.f, kernel.df)[order - 1]
    slope = (lower(beta + h) - lower(beta - h)) / (2 * h)
    # central differences: truncation h^2 f''' / 6 of order 1e-8, rounding eps / h = 1e-12
    assert_allclose((kernel.df, kernel.d2f)[order - 1](beta), slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", SINGLE)
def test_float32_stays_float32(name):
    beta = np.linspace(0.1, 5, 11, dtype=np.float32)
    kernel = FAMILY[name]
    assert {g(beta).dtype for g in (kernel.f, kernel.df, kernel.d2f)} == {np.dtype("f4")}


def test_gram_agrees_with_scikit_learn(rng):
    X, W = rng.standard_normal((9, 4)), rng.standard_normal((4, 2))
    Z = X @ W
    assert_allclose(gram(Gaussian(1.5), X, W), rbf_kernel(Z, gamma=1 / (2 * 1.5**2)), rtol=1e-12)
    expected = polynomial_kernel(Z, degree=3, gamma=1, coef0=0.5)
    assert_allclose(gram(Polynomial(3, 0.5), X, W), expected, rtol=1e-12)
    assert_allclose(gram(Squared(), X, W), -(pairwise_distances(Z) ** 2), atol=1e-12)
    assert_allclose(gram(Gaussian(2.0), X, W, X[:3]), gram(Gaussian(2.0), X, W)[:, :3], rtol=1e-12)


def test_relative_gaussian_with_equal_bandwidths_is_gaussian(rng):
    X = rng.standard_normal((8, 3))
    assert_allclose(gram(RelativeGaussian(np.full(8, 1.7)), X), gram(Gaussian(1.7), X), rtol=1e-12)


def test_squared_and_multiquadratic_are_conditionally_positive_definite(rng):
    X = rng.standard_normal((12, 3))
    H = np.eye(12) - 1 / 12
    for kernel in (Squared(), Multiquadratic(0.4)):
        assert np.linalg.eigvalsh(gram(kernel, X))[0] < -0.1
        assert np.linalg.eigvalsh(H @ gram(kernel, X) @ H)[0] > -1e-10  # rounding of O(100)


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("order", [1, 2])
def test_faster_forms_equal_what_sympy_derives(name, order):
    kernel, beta = FAMILY[name], np.linspace(0.1, 5, 11)
    derived = Kernel._derivative(kernel, order, beta, np)
    assert_allclose((kernel.df, kernel.d2f)[order - 1](beta), derived, rtol=1e-12, atol=1e-14)
