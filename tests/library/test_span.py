"""The directions in which rows vary, and their basis."""

import numpy as np
import pytest
from library.problems import orthonormal
from numpy.testing import assert_allclose

from ismlit import SupervisedIKDR, label_gamma
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


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(s, marks=pytest.mark.slow) for s in range(3, 10))]
)
def test_constant_and_dependent_columns_change_nothing(seed, wine):
    """Constant columns and sums of others add no direction: W ends on the same projection."""
    rng, (X, y) = np.random.default_rng(seed), wine
    more = np.c_[X, np.full(len(X), 7.0), X @ rng.standard_normal((13, 3)), np.zeros(len(X))]
    model = SupervisedIKDR(2, bandwidth=3.0, init="taylor", ridge=np.inf).fit(more, y)
    Z = model.transform(more)
    assert Z.std(axis=0).min() > 0.1
    assert abs(model.W_[[13, 17]]).max() < 1e-10
    assert model.certificate().is_maximum
    # the same objective, by the sum over all pairs
    K = np.exp(-((Z[:, None] - Z) ** 2).sum(axis=2) / (2 * 3.0**2))
    assert_allclose(np.sum(label_gamma(y).to_dense() * K), model.result_.objective, rtol=1e-9)
    assert_allclose(model.W_.T @ model.W_, np.eye(2), atol=1e-10)


def test_init_array_is_seen_in_the_span(wine):
    X = np.c_[wine[0], np.ones(178)]
    W = SupervisedIKDR(2, bandwidth=3.0).fit(X, wine[1]).W_
    again = SupervisedIKDR(2, bandwidth=3.0, init=W).fit(X, wine[1])
    assert again.n_iter_ <= 2
    assert_allclose(abs(again.W_), abs(W), atol=1e-4)
