"""The directions in which rows vary, and their basis."""

import numpy as np
import pytest
from library.problems import orthonormal
from numpy.testing import assert_allclose

from ismlit.geometry.span import number_of_directions, turned_to_columns, varying_directions


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1 / 3, -7.7, 1e6 + 0.3, 1e300, 1e-300])
@pytest.mark.parametrize("n", [5, 50, 151])
def test_a_constant_column_adds_no_direction_though_its_mean_is_rounded(n, value, rng):
    X = np.c_[rng.standard_normal((n, 2)), np.full((n, 2), value)]
    mean = X.mean(axis=0) if abs(value) < 1e9 else X[0]
    assert varying_directions(X, mean).shape == (4, 2)
    assert number_of_directions(X[:, ::-1]) == 2 or abs(value) > 1e9
    few = np.c_[X, X @ rng.standard_normal((4, n))] if abs(value) < 1e9 else X  # more than rows
    assert varying_directions(few, few.mean(axis=0) if abs(value) < 1e9 else X[0]).shape[1] == 2


def test_a_turned_basis_spans_the_same_and_is_the_columns_where_it_can(rng):
    V = orthonormal(7, 3, rng)
    turned = turned_to_columns(V)
    assert_allclose(turned @ turned.T, V @ V.T, atol=1e-12)
    assert_allclose(turned.T @ turned, np.eye(3), atol=1e-12)
    axes = np.eye(7)[:, [1, 4, 6]]
    assert_allclose(turned_to_columns(axes @ orthonormal(3, 3, rng)), axes, atol=1e-12)
