"""What the thesis weighs and measures, by its formulas."""

import numpy as np
import pytest
from ismlit_book.methods.affinity import DENSE, DenseAffinity
from ismlit_book.methods.measures import aligned_sum, alternative_gamma, geometry
from numpy.testing import assert_allclose
from sklearn.metrics import log_loss

from ismlit.dependence import normalized_hsic
from ismlit.gamma import label_gamma
from ismlit.grams import gram
from ismlit.kernels import Gaussian, Kernel, Linear, Polynomial, Squared
from ismlit.objectives.affinity import Affinity
from ismlit.objectives.pairs import Pairs
from ismlit.objectives.plain import Problem


def centring(n):
    return np.eye(n) - np.ones((n, n)) / n


def test_degrees_of_kdac_must_be_there_and_positive():
    for degrees, words in (([1, 0, 1], "positive"), ([2.0], "one degree per sample")):
        with pytest.raises(ValueError, match=words):
            alternative_gamma(np.eye(3), [0, 1, 1], 1.0, degrees=degrees)


def test_aligned_sum_is_the_best_alignment(rng):
    X, y = rng.standard_normal((40, 3)), np.arange(40) % 2
    X[:, 0] += y
    H, target = centring(40), label_gamma(y).to_dense()
    kernels = [Gaussian(1.0), Polynomial(3)]
    grams = [H @ gram(k, X) @ H for k in kernels]
    alignment = lambda w: (
        np.sum(sum(a * G for a, G in zip(w, grams)) * target)
        / np.linalg.norm(sum(a * G for a, G in zip(w, grams)))
    )
    found = aligned_sum(kernels, X, y)
    weights = [w for w, _ in found.terms()]
    sizes = [np.linalg.norm(G) for G in grams]
    angles = np.linspace(0, np.pi / 2, 2001)
    brute = max(alignment((np.cos(a) / sizes[0], np.sin(a) / sizes[1])) for a in angles)
    assert len(weights) == 2
    assert alignment(weights) == pytest.approx(brute, rel=1e-6)  # the grid's step squared
    total = sum(w * G for w, G in zip(weights, grams))
    assert np.linalg.norm(total) == pytest.approx(np.linalg.norm(target))


def test_aligned_sum_leaves_out_what_does_not_align(rng):
    X = np.r_[np.ones((10, 1)), -np.ones((10, 1))] + 0.1 * rng.standard_normal((20, 1))
    found = aligned_sum([Linear(), Squared() * 1.0, Gaussian(1e-3)], X, np.arange(20) < 10)
    assert all(weight > 0 for weight, _ in found.terms())
    with pytest.raises(ValueError, match="positively aligned"):
        aligned_sum([Kernel(lambda beta, xp: beta)], X, np.arange(20) < 10)


def test_aligned_sums_of_sums_work_and_bad_ones_say_why(rng):
    X, y = rng.standard_normal((30, 3)), np.arange(30) % 2
    X[:, 0] += y
    found = aligned_sum([Gaussian(2.0) + Polynomial(2), Linear()], X, y)
    assert Problem(X, label_gamma(y), found).objective(np.eye(3, 1)) != 0
    with pytest.raises(ValueError, match="at least one"):
        aligned_sum([], X, y)
    with pytest.raises(ValueError, match="constant on this data"):
        aligned_sum([Gaussian(1e12)], X, y)
    with pytest.raises(ValueError, match="NaN"):
        aligned_sum([Linear()], np.where(X > 1, np.nan, X), y)


def test_geometry_against_sums_over_pairs(rng):
    Z, y, kernel = rng.standard_normal((12, 2)), np.arange(12) % 3, Gaussian(1.2)
    found, K = geometry(Z, kernel, y), gram(Gaussian(1.2), Z)
    within = [(i, j) for i in range(12) for j in range(12) if y[i] == y[j]]
    between = [(i, j) for i in range(12) for j in range(12) if y[i] != y[j]]
    distance = lambda pairs: sum(np.sum((Z[i] - Z[j]) ** 2) for i, j in pairs)
    assert found["T"] == pytest.approx(distance(within) / distance(between))
    total = [sum(K[i, j] for i, j in pairs) for pairs in (between, within)]
    assert found["C"] == pytest.approx(total[0] / total[1])
    assert found["C mean"] == pytest.approx(total[0] / len(between) / (total[1] / len(within)))
    values, vectors = np.linalg.eigh(K)
    R = vectors * np.sqrt(np.maximum(values, 0))  # explicit features
    means = np.array([R[y == c].mean(axis=0) for c in range(3)])
    cosines = R @ (means / np.linalg.norm(means, axis=1, keepdims=True)).T
    assert found["CE"] == pytest.approx(log_loss(y, cosines / cosines.sum(axis=1)[:, None]))
    assert found["H"] == pytest.approx(normalized_hsic(K, y))
    G = label_gamma(y).to_dense()
    same = y[:, None] == y
    assert found["share"] == pytest.approx(np.sum(G * K) / G[same].sum())
    error = [np.sum((Z[i] - Z[y == y[i]].mean(axis=0)) ** 2) for i in range(12)]
    assert found["MSE"] == pytest.approx(np.mean(error))


@pytest.mark.parametrize("normalize", ["degrees", "centred", "none"])
@pytest.mark.parametrize("n", [40, DENSE + 50])
def test_the_affinity_that_is_an_array_is_the_library_s(n, normalize, rng):
    """Of a Gram matrix; directly, and by products alone."""
    X = np.repeat([[0.0, 0], [3, 0], [0, 5]], [n // 2, n // 4, n - n // 2 - n // 4], axis=0)
    X += rng.standard_normal((n, 2))
    ours = Affinity(Pairs(X, Gaussian(1.0)), normalize=normalize)
    other = DenseAffinity(gram(Gaussian(1.0), X), normalize != "none", normalize != "degrees")
    (U, values), (V, same) = ours.leading(2), other.leading(2)
    assert_allclose(values, same, rtol=1e-5)
    assert abs(U.T @ V).diagonal() == pytest.approx(1, abs=1e-4)
    assert_allclose(ours @ U, other @ U, atol=1e-9 * values[0])
    assert other.trace(V) == pytest.approx(same.sum())
