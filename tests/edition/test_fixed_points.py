"""The plain formulas of section 3.3, against loops, differences and the library."""

import numpy as np
import pytest

from ismlit import Gaussian, Problem
from ismlit.edition import fixed_points
from ismlit.edition.draws import Draw

draws = pytest.mark.parametrize("index", range(6))


def point_of(index, **options):
    return fixed_points.stationary(Draw(index, 0, kernels=("gaussian",)), **options)


@draws
def test_the_point_has_the_eigenvalues_it_was_given(index):
    at = point_of(index)
    phi = -2 * Problem(at.X, at.gamma, Gaussian(at.sigma)).phi(at.W)
    np.testing.assert_allclose(phi @ at.W, at.W * at.small, atol=1e-8)
    np.testing.assert_allclose(phi @ at.W_bar, at.W_bar * at.large, atol=1e-8)
    assert at.small.max() <= at.large.min()


def test_singular_and_unsorted_points():
    assert point_of(1, singular=True).small[0] == 0
    unsorted = [point_of(k, smallest=False) for k in range(6)]
    assert any(at.small.max() > at.large.min() for at in unsorted)


@draws
def test_tangents_fill_the_tangent_space(index):
    draw = Draw(index, 0)
    some = fixed_points.tangents(draw.W, draw.rng, draw.W.size)
    for Z in some:
        np.testing.assert_allclose(Z.T @ draw.W + draw.W.T @ Z, 0, atol=1e-10)
    dimension = draw.W.size - draw.q * (draw.q + 1) // 2
    assert np.linalg.matrix_rank(np.array([Z.ravel() for Z in some])) == dimension


def test_sums_are_the_loops():
    X, W, _, _, _, gamma, sigma = point_of(2)
    Z = fixed_points.tangents(W, np.random.default_rng(0))[0]
    phi, c2, right = np.zeros((X.shape[1],) * 2), 0.0, 0.0
    for i, x in enumerate(X):
        for j, y in enumerate(X):
            A = np.outer(x - y, x - y)
            weight = gamma[i, j] * np.exp(-np.trace(W.T @ A @ W) / (2 * sigma**2))
            phi += weight / sigma**2 * A
            c2 += weight / sigma**4 * np.trace(Z.T @ A @ W) ** 2
            right += abs(weight) / sigma**4 * np.sum(A * A)
    np.testing.assert_allclose(fixed_points.phi_of(X, W, gamma, sigma), phi, rtol=1e-10)
    assert fixed_points.c2_of(X, W, gamma, sigma, Z) == pytest.approx(c2)
    assert fixed_points.right_side(X, W, gamma, sigma) == pytest.approx(right)
    by_sigma = fixed_points.right_side(X, W, gamma, sigma, power=2)
    assert by_sigma == pytest.approx(right * sigma**2)


@draws
def test_the_form_is_the_second_derivative_along_a_feasible_curve(index):
    X, W, _, values, _, gamma, sigma = point_of(index, smallest=False)
    Z = fixed_points.tangents(W, np.random.default_rng(0))[0]
    Z, h = Z / np.linalg.norm(Z), 1e-3

    def F(t):
        stretch, turn = np.linalg.eigh(np.eye(W.shape[1]) + t**2 * Z.T @ Z)
        V = (W + t * Z) @ (turn / np.sqrt(stretch)) @ turn.T
        return -fixed_points.over_pairs(X, V, gamma, sigma, 0, lambda v: np.ones(len(v)))

    second = (-F(2 * h) + 16 * F(h) - 30 * F(0) + 16 * F(-h) - F(-2 * h)) / (12 * h**2)
    form = fixed_points.form_of(X, W, gamma, sigma, Z, values)
    assert second == pytest.approx(form, rel=1e-4, abs=1e-5)
