"""The affinity of an alternation: its embedding, its degrees, what it keeps away from."""

import numpy as np
import pytest
from library.problems import orthonormal
from numpy.testing import assert_allclose

from ismlit.gamma import guidance_gamma
from ismlit.grams import ConstantKernelError, gram
from ismlit.kernels import Gaussian, Polynomial
from ismlit.objectives.affinity import NORMALIZE, Affinity
from ismlit.objectives.pairs import Pairs


@pytest.mark.parametrize("normalize", ["none", "degrees"])
@pytest.mark.parametrize("n", [40, 1600])  # dense, and Lanczos
def test_embedding_is_that_of_the_affinity(normalize, n, rng):
    X = rng.standard_normal((n, 3)) + 3 * np.eye(3)[np.arange(n) % 3]
    U, values = Affinity(Pairs(X, Gaussian(1.0)), np.eye(3), normalize).leading(3)
    K = gram(Gaussian(1.0), X)
    D = K.sum(axis=1)
    H = np.eye(n) - 1 / n
    A = H @ K @ H if normalize == "none" else K / np.sqrt(np.outer(D, D))
    expected = np.linalg.eigvalsh(A)[::-1][:3]
    assert_allclose(values, expected, rtol=1e-6)  # eigsh's tolerance
    assert_allclose(A @ U, U * values, atol=1e-4 * values[0])
    assert_allclose(U.T @ U, np.eye(3), atol=1e-10)


@pytest.mark.parametrize("normalize", NORMALIZE)
def test_ambiguity_bounds_the_angles_between_clusters_and_embedding(normalize, rng):
    """Against its formula by dense matrices; the bound holds for any labels, good or bad."""
    X = rng.standard_normal((40, 3)) + 3 * np.eye(3)[np.arange(40) % 3]
    K, H = gram(Gaussian(1.0), X), np.eye(40) - 1 / 40
    D = np.ones(40) if normalize == "none" else K.sum(axis=1)
    A = K / np.sqrt(np.outer(D, D))
    r = 3 if normalize == "degrees" else 2  # the centred indicators of three clusters
    A = A if r == 3 else H @ A @ H
    values, V = np.linalg.eigh(A)
    affinity = Affinity(Pairs(X, Gaussian(1.0)), normalize=normalize)
    found = []
    for labels in (np.arange(40) % 3, rng.permutation(40) % 3, np.arange(40) // 14):
        shown = np.eye(3)[labels]
        Z = np.linalg.svd(np.sqrt(D)[:, None] * shown if r == 3 else H @ shown)[0][:, :r]
        short = values[-r:].sum() - np.trace(Z.T @ A @ Z)
        found.append(affinity.ambiguity(labels))
        assert found[-1] == pytest.approx(short / (values[-r] - values[-r - 1]), rel=1e-9)
        assert r - np.linalg.norm(Z.T @ V[:, -r:]) ** 2 <= found[-1]
    assert found[0] < 2 < min(found[1:])


def test_the_first_u_keeps_away_from_what_is_known(rng):
    X = rng.standard_normal((40, 3))
    known = guidance_gamma(np.arange(40) % 2, -1.0)
    U, values = Affinity(Pairs(X, Gaussian(1.0)), None, "centred", away=known.F).leading(2)
    K = gram(Gaussian(1.0), X)
    D = K.sum(axis=1)
    F = np.c_[np.ones(40), np.arange(40) % 2]
    P = np.eye(40) - F @ np.linalg.pinv(F)
    expected = np.linalg.eigvalsh(P @ (K / np.sqrt(np.outer(D, D))) @ P)[::-1][:2]
    assert_allclose(values, expected, rtol=1e-10)
    assert_allclose(F.T @ U, 0, atol=1e-10)


def constant_or_not(normalize, sigma, rng):
    """The leading eigenvalue of 500 samples under so wide a Gaussian, and what it has to be.

    K is then ``1 - |x - y|² / 2 sigma²``: HKH has the eigenvalues of ``HXX'H / sigma²``, and
    where it is divided by the degrees, which are all n, an nth of them.
    """
    X = rng.standard_normal((500, 2)) * [2, 1]
    spread = np.linalg.eigvalsh(np.cov(X.T, bias=True))[-1] * 500 / sigma**2
    found = Affinity(Pairs(X, Gaussian(sigma)), normalize=normalize)
    return found, spread / (1 if normalize == "none" else 500)


@pytest.mark.parametrize("normalize", ["none", "centred"])
def test_a_wide_kernel_is_refused_only_where_it_is_constant(normalize, rng):
    """Divided by degrees or not, rounding is told from a signal: 1e8 is too wide, 1e6 is not."""
    affinity, expected = constant_or_not(normalize, 1e6, rng)
    assert affinity.leading(1)[1][0] == pytest.approx(expected, rel=0.01)  # K has 4 digits left
    affinity, _ = constant_or_not(normalize, 1e8, rng)
    with pytest.raises(ConstantKernelError, match="constant on this data"):
        affinity.leading(1)


@pytest.mark.parametrize("normalize", ["none", "degrees", "centred"])
@pytest.mark.parametrize(
    "kernel", [Gaussian(2.0), 0.5 * Gaussian(1.0) + Polynomial(2, 1.0)], ids=str
)
def test_the_affinity_formed_at_once_is_that_of_its_products(normalize, kernel, rng):
    X, away = rng.standard_normal((40, 3)), rng.standard_normal((40, 2))
    W = orthonormal(3, 2, rng)
    for options in ({}, {"away": away}):
        affinity = Affinity(Pairs(X, kernel), W, normalize, **options)
        products = affinity @ np.eye(40)
        assert_allclose(affinity.dense(), products, atol=1e-12 * np.abs(products).max())
