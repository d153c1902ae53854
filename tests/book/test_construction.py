import numpy as np
import pytest
from ismlit_book.methods.construction import (
    _grid,
    class_sum_images,
    class_sum_network,
)
from ismlit_book.methods.measures import class_table
from numpy.testing import assert_allclose

from ismlit.gamma import label_gamma, one_hot
from ismlit.grams import gram
from ismlit.kernels import Gaussian


def noise(seed, sizes=(30, 30), d=3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((sum(sizes), d)), rng.permutation(
        np.repeat(range(len(sizes)), sizes)
    )


@pytest.mark.parametrize("orthonormal", [True, False])
def test_two_tiny_bandwidths_suffice(orthonormal):
    X, y = noise(0)
    found = class_sum_network(X, y, sigmas=[1e-5, 1e-5], orthonormal=orthonormal)
    assert found.shares[-1] == pytest.approx(1, abs=1e-6)
    same = y[:, None] == y
    assert_allclose(found.grams[-1], same, atol=1e-6)


def test_images_are_those_of_explicit_features():
    X, y = noise(1, (8, 12))
    K = gram(Gaussian(1.0), X)
    values, vectors = np.linalg.eigh(K)
    R, Y = vectors * np.sqrt(np.maximum(values, 0)), one_hot(y)
    W = R.T @ Y
    assert_allclose(class_sum_images(K, y, False), R @ W / np.linalg.norm(W), atol=1e-10)
    left, _, right = np.linalg.svd(W, full_matrices=False)  # the orthonormal W nearest to W_s
    assert_allclose(class_sum_images(K, y), R @ left @ right, atol=1e-8)


@pytest.mark.parametrize("layers", [1, 2, 3, 5])
def test_few_layers_give_what_they_can(layers):
    X, y = noise(0)
    found = class_sum_network(X, y, layers=layers)
    assert len(found.shares) <= layers
    assert np.all(np.diff(found.shares) > 0)
    assert found.reached == (layers > 1) == (found.shares[-1] >= 0.999)


def test_bandwidths_tried_reach_from_the_widest_to_below_the_closest_pair():
    """Three times the largest distance, a sixth of the smallest; what is rounding is none."""
    squares = lambda *points: np.subtract.outer(points, points) ** 2
    grid = _grid(squares(0, 1e-11, 1, 5), 7)
    assert grid[0] == pytest.approx(15) and grid[-1] == pytest.approx(1 / 6)
    assert len(grid) == 7
    assert_allclose(grid[1:] / grid[:-1], (grid[-1] / grid[0]) ** (1 / 6))
    assert _grid(squares(0, 1e-8, 5), 3)[-1] == pytest.approx(1e-8 / 6)  # small, but a distance
    assert _grid(squares(0, 1e-11, 5), 3, rounding=0)[-1] == pytest.approx(1e-11 / 6)


def random_set(rng):
    """A small set that meets the hypotheses: no rows coincide, Gamma negative between classes."""
    while True:
        sizes = rng.integers(2, 8, rng.integers(2, 5))
        y = np.repeat(range(len(sizes)), sizes)
        table, _ = class_table(y)
        if (table[~np.eye(len(table), dtype=bool)] < 0).all():
            return rng.standard_normal((len(y), rng.integers(1, 5))), y


@pytest.mark.parametrize("count", [40, pytest.param(1000, marks=pytest.mark.weekly)])
def test_the_rule_always_arrives(count):
    """Three of 55 such sets jammed under the rule of the first edition."""
    rng = np.random.default_rng(count)
    for _ in range(count):
        X, y = random_set(rng)
        found = class_sum_network(X, y)
        assert found.reached and np.all(np.diff(found.shares) > 0) and len(found.shares) <= 12
        assert found.ideal == pytest.approx(label_gamma(y).to_dense()[y[:, None] == y].sum())
        assert found.shares == pytest.approx(
            [share(y, sigma, Z) for sigma, Z in zip(found.sigmas, found.images)]
        )


def share(y, sigma, Z):
    """Tr(Gamma K) / H* by its definition."""
    G, same = label_gamma(y).to_dense(), y[:, None] == y
    squares = np.sum((Z[:, None] - Z) ** 2, axis=2)
    return np.sum(G * np.exp(-squares / (2 * sigma**2))) / G[same].sum()


def test_bad_input():
    X, y = noise(3)
    twins = X.copy()
    i, j = np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]
    twins[j] = twins[i]
    first, second = sorted((i, j))
    with pytest.raises(ValueError, match=f"rows {first} and {second} of X coincide"):
        class_sum_network(twins, y)
    for d in range(5, 60, 5):  # where the distance of twins is rounding, not 0
        X_d, y_d = noise(d, d=d)
        X_d[np.flatnonzero(y_d == 1)[0]] = X_d[np.flatnonzero(y_d == 0)[0]]
        with pytest.raises(ValueError, match="coincide but differ"):
            class_sum_network(X_d, y_d)
    with pytest.raises(ValueError, match="not negative between all classes"):
        class_sum_network(X[:5], [0, 1, 2, 2, 2])
    with pytest.raises(ValueError, match="sigma"):
        class_sum_network(X, y, sigmas=[0.0])
    for options in (dict(share=0), dict(share=2.0), dict(layers=0), dict(sigmas=[])):
        with pytest.raises(ValueError, match="share must be"):
            class_sum_network(X, y, **options)
    with pytest.raises(ValueError, match="linearly dependent"):
        class_sum_images(np.ones((6, 6)), np.arange(6) % 2)
