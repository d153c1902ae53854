"""What a layer measures, where it starts, and what it keeps."""

from types import SimpleNamespace

import numpy as np
import pytest
from library.problems import layer_solver, orthonormal
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from ismlit.estimators.network import layers
from ismlit.estimators.network.layers import (
    HSIC_SUBSAMPLE,
    LEAST_PER_CLASS,
    MOST_PAIRS,
    LayerSolver,
    Recipe,
    images,
)
from ismlit.estimators.network.ridge import RidgeDirections
from ismlit.grams import gram
from ismlit.kernels import Gaussian

# ---------------------------------------------------------------- the sample


def test_of_many_samples_hsic_sees_enough_of_each_class():
    """1000 of more than 2000, each class by its share, and at least 50 of a small one or all."""
    sizes = [3600, 1800, 480, 90, 30]
    y = np.random.default_rng(0).permutation(np.repeat(range(5), sizes))
    sample = layer_solver(y, random_features=8).sample
    assert (np.diff(sample) > 0).all()
    assert np.bincount(y[sample]).tolist() == [600, 300, 80, LEAST_PER_CLASS, 30]
    assert len(sample) >= HSIC_SUBSAMPLE == 1000 and LEAST_PER_CLASS == 50
    assert len(layer_solver(np.arange(MOST_PAIRS) % 2, random_features=8).sample) == 2000
    assert len(layer_solver(y).sample) == 6000  # exact features: all of them


def test_the_sample_is_drawn_not_cut_off():
    """Rows that come late are as likely to be measured as those that come first."""
    sample = layer_solver(np.arange(8000) % 2, random_features=8).sample
    assert abs(np.mean(sample < 4000) - 0.5) < 0.06  # four deviations of 1000 draws


# ---------------------------------------------------------------- the start


def test_directions_of_a_layer_are_one_fewer_than_the_classes(rng):
    """Centred classes sum to 0, which leaves R'HY one singular value that is rounding."""
    R, y = rng.standard_normal((30, 6)), np.arange(30) % 3
    R -= R.mean(axis=0)
    W = layer_solver(y).start(R, np.inf)
    means = np.array([R[y == k].mean(axis=0) for k in range(3)]).T
    assert W.shape == (6, 2)
    assert_allclose(W @ (W.T @ means), means, atol=1e-12)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 13])
@pytest.mark.parametrize("ridge", [np.inf, 1e-3])
def test_a_start_has_as_many_columns_as_asked_for(width, ridge):
    """Wine's three classes give two directions; one column more, as all others, is not lost.

    What (6.3) leaves open is taken by variance, at right angles to what it determines.
    """
    bunch = load_wine()
    R = scale(bunch.data)
    determined = layer_solver(bunch.target).start(R, ridge)
    W = layer_solver(bunch.target, width=width).start(R, ridge)
    assert determined.shape == (13, 2) and W.shape == (13, width)
    assert_allclose(W.T @ W, np.eye(width), atol=1e-10)
    assert_allclose(W[:, :2], determined[:, :width], atol=1e-10)
    if width > 2:
        outside = np.eye(13) - determined @ determined.T
        spread = np.linalg.eigvalsh(outside @ R.T @ R @ outside)[::-1][: width - 2]
        assert_allclose(np.sum((R @ W[:, 2:]) ** 2, axis=0), spread)


@pytest.mark.parametrize(
    ("classes", "sizes", "expected"),
    [
        (2, [8, 4, 2, 1.1, 1, 1, 1, 1, 0.9], 7),  # 18.1 of 20
        (2, [8, 4, 2, 1, 1, 1, 0.9, 0.9, 0.9, 0.3], 8),  # 17.9 of 20 fall short
        (3, [10, 1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1], 6),  # two columns a class
        (3, [5, 4, 3, 2], 4),  # no more than there are
    ],
)
def test_the_first_layer_is_wide_by_its_rule(classes, sizes, expected, rng):
    """90 % of the sum of the singular values, at least two columns a class, at most all."""
    n, m = 30, len(sizes)
    R = orthonormal(n, m, rng) @ np.diag(sizes) @ orthonormal(m, m, rng)
    y = np.arange(n) % classes
    assert layer_solver(y).wide(R) == expected
    assert layer_solver(y, width=2).wide(R) == 2
    assert layer_solver(y, width=50).wide(R) == m


# ---------------------------------------------------------------- the climb


def test_a_layer_keeps_the_best_of_its_turns(monkeypatch):
    """H rises to 0.6 and falls to 0.55: what is kept is the turn before the last."""
    solver = layer_solver(np.arange(4) % 2)
    turns = iter([(1.0, 0.5), (2.0, 0.6), (3.0, 0.55)])
    monkeypatch.setattr(solver, "bandwidth", lambda Z: next(turns))
    monkeypatch.setattr(solver, "_ism", lambda R, sigma, W: W + 1)
    hsic, sigma, W = solver.climb(np.eye(2), np.zeros((2, 1)))
    assert (hsic, sigma) == (0.6, 2.0) and (W == 1).all()


@pytest.mark.parametrize("n", [100, 2500])
def test_random_features_reach_the_solver_of_a_layer(n, monkeypatch, rng):
    """With more samples than may be paired W is found in linear time too; with fewer exactly."""
    seen = []

    def solver(problem, q, init, **options):
        seen.append(problem)
        return SimpleNamespace(W=init, n_iter=1)

    monkeypatch.setattr(layers, "ism", solver)
    R, W = rng.standard_normal((n, 3)), orthonormal(3, 2, rng)
    found = layer_solver(np.arange(n) % 2, random_features=48, bandwidth=1.0).climb(R, W)
    assert found[1] == 1.0 and len(seen) >= 1
    asked = [getattr(problem, "features", None) for problem in seen]
    assert asked == [48 if n > MOST_PAIRS else None] * len(seen)
    drawn = [getattr(problem, "random_state", 0) != 0 for problem in seen]  # 0 when none is given
    assert drawn == [n > MOST_PAIRS] * len(seen)


@pytest.mark.parametrize("enough", [True, False])
def test_a_layer_that_is_not_enough_tries_the_start_that_cannot_fall(wine, monkeypatch, enough):
    """Where the climb is poor, W of (6.3) is taken unless H was enough as it is."""
    solver = LayerSolver(wine[1], Recipe(), np.random.RandomState(0))
    poor = solver.start(wine[0], 0.1)
    monkeypatch.setattr(solver, "climb", lambda R, W: (0.01, 1.0, poor))
    layer, _ = solver.further(None, wine[0], None, 0.1, lambda hsic: enough)
    plain = solver.start(wine[0], np.inf)
    assert np.abs(plain - poor).max() > 1e-3
    assert_allclose(layer.W, poor if enough else plain)
    at = (
        solver.bandwidth(wine[0] @ plain)[1] if not enough else score_at_one(solver, wine[0] @ poor)
    )
    assert layer.agreement == pytest.approx(at, rel=1e-12)  # measured, not what the climb says


def score_at_one(solver, Z):
    """The agreement at sigma = 1."""
    return solver.score(gram(Gaussian(1.0), Z))


# ---------------------------------------------------------------- equal rows


def by_place(Z):
    """Features that differ a little from place to place, as products of matrices may round."""
    return Z + 1e-9 * np.arange(len(Z))[:, None]


def test_equal_rows_have_equal_images_however_features_round(rng):
    Z = rng.standard_normal((30, 3))[rng.integers(0, 30, 50)]
    F = np.eye(2)[np.arange(50) % 2]
    rounded = RidgeDirections(by_place, Z, F)(1e-3)[1]
    first, codes = np.unique(Z, axis=0, return_index=True, return_inverse=True)[1:]
    for found in (images(by_place, rng.standard_normal((3, 2)), Z), rounded):
        assert np.array_equal(found, found[first[codes.ravel()]])


@pytest.mark.parametrize("random_features", [None, 16])
def test_equal_rows_have_equal_features(random_features, rng):
    """Eigenvectors differ by rounding, which small eigenvalues magnify."""
    Z = rng.standard_normal((30, 2))[rng.integers(0, 30, 50)]
    solver = layer_solver(np.arange(50) % 2, random_features=random_features)
    features, R, _ = solver.lift(Z, Gaussian(0.7))
    first, codes = np.unique(Z, axis=0, return_index=True, return_inverse=True)[1:]
    assert np.array_equal(R, R[first[codes.ravel()]])
    K = gram(Gaussian(0.7), Z) if random_features is None else features(Z) @ features(Z).T
    assert_allclose(R @ R.T, K, atol=1e-9)
