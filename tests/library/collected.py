"""Rows in blocks, for the tests of what takes them."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles

da = pytest.importorskip("dask.array")
OPTIONS = dict(random_features=32, random_state=0)
FIXED = dict(bandwidth=2.0, init="taylor", **OPTIONS)


def table(n=600, d=5, classes=3, seed=0):
    """Rows far from the origin, whose classes differ in two columns."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    X = rng.standard_normal((n, d)) + 5
    X[:, :2] += 2 * rng.standard_normal((classes, 2))[y]
    return X, y


def in_blocks(X, *lengths):
    return da.from_array(X, chunks=(lengths, *([-1] if X.ndim == 2 else [])))


def degrees(one, other):
    return np.degrees(subspace_angles(one.W_, other.W_).max())
