"""The printed conditions for a maximum, by their formulas; they imply the exact one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ismlit import Gaussian, certify, ism, label_gamma
from ismlit.edition.bounds import bound_310, bound_c73
from ismlit.problems.grassmann import SecondOrder


def test_the_printed_bounds_by_their_formulas(rng):
    X, y = rng.standard_normal((15, 3)), np.arange(15) % 2
    result = ism(X, label_gamma(y), Gaussian(2.0), 1)
    c73, of_310 = bound_c73(result), bound_310(result)
    W, G, sigma = result.W, label_gamma(y).to_dense(), 2.0
    phi3 = np.zeros((3, 3))  # chapter 3's Phi, eq-3.8
    right = 0.0
    for i in range(15):
        for j in range(15):
            diff = X[i] - X[j]
            value = np.exp(-np.sum((W.T @ diff) ** 2) / (2 * sigma**2))
            A = np.outer(diff, diff)
            phi3 += G[i, j] / sigma**2 * value * A
            right += abs(G[i, j]) / sigma**2 * value * np.trace(A.T @ A)
    values = np.linalg.eigvalsh(phi3)
    assert_allclose(of_310.left, sigma**2 * (values[1] - values[0]), rtol=1e-6)
    assert_allclose(of_310.right, right, rtol=1e-10)
    assert c73.left == pytest.approx(certify(result).eigengap)


def test_bounds_imply_the_exact_condition(rng):
    """The printed conditions are sufficient: no counterexample among random maxima."""
    for _ in range(40):
        X, y = rng.standard_normal((12, 3)), rng.permutation(np.arange(12) % 2)
        sigma = rng.uniform(1, 20)
        found = ism(X, label_gamma(y), Gaussian(sigma), 1)
        for bound in (bound_c73, bound_310):
            assert not bound(found).holds or certify(found).is_second_order


def test_c73_is_the_largest_curvature_of_f_second(rng):
    """(C.73)'s constant bounds B'MB for every unit B."""
    X, y = rng.standard_normal((15, 3)), np.arange(15) % 2
    result = ism(X, label_gamma(y), Gaussian(2.0), 1)
    right = bound_c73(result).right
    second = SecondOrder(result.problem, result.W, result.problem.phi(result.W))
    B = rng.standard_normal((second.size, 200))
    B /= np.linalg.norm(B, axis=0)
    assert (np.sum(B * second.m_times(B), axis=0) <= right + 1e-12).all()
