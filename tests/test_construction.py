import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.preprocessing import scale

from ismlit import datasets
from ismlit.construction import class_sum_images, class_sum_network
from ismlit.gamma import one_hot, supervised
from ismlit.kernels import Gaussian, gram


def noise(seed, sizes=(30, 30), d=3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((sum(sizes), d)), rng.permutation(
        np.repeat(range(len(sizes)), sizes)
    )


@pytest.mark.parametrize("orthonormal", [True, False])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sizes", [(30, 30), (15, 35), (14, 16, 20)])
def test_rises_strictly_to_the_ideal(seed, sizes, orthonormal):
    X, y = noise(seed, sizes)
    found = class_sum_network(X, y, orthonormal=orthonormal)
    assert found.reached and found.shares[-1] >= 0.999 and len(found.shares) <= 12
    assert np.all(np.diff(found.shares) > 0)


def test_adversarial_pairs():
    X, y = datasets.make_adversarial(random_state=1)
    found = class_sum_network(scale(X), y)
    assert found.reached and np.all(np.diff(found.shares) > 0)


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


def test_shares_are_of_the_sum_within_classes():
    X, y = noise(2)
    found = class_sum_network(X, y, sigmas=[0.5])
    G = supervised(y).to_dense()
    ideal = G[y[:, None] == y].sum()
    assert found.ideal == pytest.approx(ideal)
    assert found.shares[0] == pytest.approx(np.sum(G * gram(Gaussian(0.5), X)) / ideal)


@pytest.mark.parametrize("layers", [1, 2, 3, 5])
def test_few_layers_give_what_they_can(layers):
    X, y = noise(0)
    found = class_sum_network(X, y, layers=layers)
    assert len(found.shares) <= layers
    assert np.all(np.diff(found.shares) > 0)
    assert found.reached == (found.shares[-1] >= 0.999)
    assert found.shares[-1] > {1: 0.02, 2: 0.4, 3: 0.9, 5: 0.99}[layers]


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
