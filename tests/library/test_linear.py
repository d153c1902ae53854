"""What linear reductions share: what they take, and what they refuse."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.utils.estimator_checks import estimator_checks_generator

from ismlit import SAVE, GradientKDR, SlicedInverseRegression

LINEAR = GradientKDR, SlicedInverseRegression, SAVE


@pytest.mark.parametrize("kind", [SlicedInverseRegression, SAVE])
@pytest.mark.parametrize("unit", [1e-7, 1e7])
def test_a_copied_column_is_left_out_in_any_unit(kind, unit, rng):
    X, y = rng.standard_normal((90, 3)), np.arange(90) % 3
    X[:, 0] += y
    X[y == 1, 1] *= 3
    copied = unit * np.column_stack([X, X[:, 0]])
    one, other = kind(1).fit_transform(X, y), kind(1).fit_transform(copied, y)
    assert abs(np.corrcoef(one[:, 0], other[:, 0])[0, 1]) > 1 - 1e-9


@pytest.mark.parametrize("kind", LINEAR)
def test_a_hump_is_seen_by_all_but_the_means(kind, rng):
    X = rng.standard_normal((600, 6))
    W = kind(1).fit(X, X[:, 4] ** 2 + 0.1 * X[:, 0]).W_
    assert (np.abs(W).argmax() == 4) == (kind is not SlicedInverseRegression)


def test_whole_numbers_of_many_values_are_a_response(rng):
    """As scikit-learn's diabetes data have them, stored as floating-point numbers."""
    X = rng.standard_normal((300, 4))
    y = np.round(100 * X[:, 2] + 10 * rng.standard_normal(300))
    for kind in (SlicedInverseRegression, GradientKDR):
        fitted = kind(1).fit(X, y)
        assert np.abs(fitted.W_).argmax() == 2
        with pytest.warns(UserWarning, match="distinct whole numbers"):
            assert_allclose(kind(1).fit(X, y.astype(int)).W_, fitted.W_, atol=1e-12)


@pytest.mark.parametrize("kind", LINEAR)
def test_scikit_learn_s_checks(kind):
    for estimator, check in estimator_checks_generator(kind(1)):
        check(estimator)


@pytest.mark.parametrize("kind", LINEAR)
@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (dict(n_components=0), "n_components of .* whole number"),
        (dict(n_components=9), "must be at most"),
    ],
)
def test_wrong_parameters_are_refused(kind, parameters, words, rng):
    with pytest.raises(ValueError, match=words):
        kind(**parameters).fit(rng.standard_normal((30, 4)), np.arange(30) % 3)


@pytest.mark.parametrize(
    ("parameters", "y", "words"),
    [
        (dict(n_components=3), np.arange(30) % 3, "= 3 must be at most 2: 3 slices, .* in 4 dir"),
        (dict(n_slices=1), np.linspace(0.1, 1, 30), "n_slices .* a whole number of at least 2"),
        (dict(n_components=1, n_slices=2), np.linspace(0.1, 1, 30), None),
        (dict(n_components=2, n_slices=2), np.linspace(0.1, 1, 30), "must be at most 1: 2 slices"),
        (dict(n_components=1), np.zeros(30), "y is constant"),
        (dict(n_components=1), np.zeros(30, int), "at least two classes or values, got only"),
    ],
)
def test_what_slices_cannot_give_is_refused(parameters, y, words, rng):
    X = rng.standard_normal((30, 4))
    if words is None:
        assert SlicedInverseRegression(**parameters).fit(X, y).W_.shape == (4, 1)
        return
    with pytest.raises(ValueError, match=words):
        SlicedInverseRegression(**parameters).fit(X, y)
