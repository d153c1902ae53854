"""SAVE."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.linalg import subspace_angles

from ismlit import SAVE


def test_save_is_the_mean_squared_departure_of_whitened_covariances(rng):
    X, y = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 3)), np.arange(200) % 5 // 4
    X[y == 1, 2] *= 4
    root = np.linalg.inv(np.linalg.cholesky(np.cov(X.T, bias=True))).T
    whitened = (X - X.mean(axis=0)) @ root
    departures = [np.eye(3) - np.cov(whitened[y == k].T, bias=True) for k in range(2)]
    V = root @ np.linalg.eigh(sum(n * D @ D for n, D in zip((160, 40), departures)))[1][:, -1:]
    assert_allclose(subspace_angles(V, SAVE(1).fit(X, y).W_), 0, atol=1e-6)
