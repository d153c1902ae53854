"""Tests of independence given other variables: level, power, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from ismlit import dependence_test
from ismlit.conditioning import conditional_values, read_given, standardised

KINDS = ["continuous", "discrete", "mixed", "labels"]


def confounded(kind, rng, direct, n=250):
    """X, y that depend on Z, and on each other beyond it as much as `direct` says."""
    z, e, u = rng.standard_normal((3, n))
    if kind == "discrete":
        z = rng.integers(0, 5, n).astype(float)
        levels = np.array([[0.0, 2.0, -1.0, 1.0, 3.0], [1.0, 3.0, 0.0, 0.0, 2.0]])[:, z.astype(int)]
        return (levels[0] + e)[:, None], levels[1] + direct * e + u, z
    if kind == "mixed":
        switch = rng.integers(0, 2, n)
        shared = np.where(switch == 1, np.sin(2 * z), -z)
        Z = np.column_stack([switch, z])
        return (shared + 0.5 * e)[:, None], shared + switch + 0.5 * (direct * e + u), Z
    X = (np.sin(2 * z) + 0.5 * e)[:, None]
    if kind == "labels":
        return X, np.where(3 * np.sin(2 * z) + 2 * direct * e + u > 0, "yes", "no"), z
    return X, np.tanh(2 * z) + 0.5 * (direct * e + u), z


def p_values(kind, direct, draws):
    rng = np.random.default_rng(11)
    data = [confounded(kind, rng, direct) for _ in range(draws)]
    tests = [dependence_test(X, y, given=Z, n_permutations=99) for X, y, Z in data]
    return np.array([test.p_value for test in tests])


@pytest.mark.parametrize("kind", KINDS)
def test_what_comes_from_the_given_variables_alone_is_called_chance(kind):
    """At a level of 5 %, to what so many draws can tell; without Z it is dependence every time."""
    X, y, _ = confounded(kind, np.random.default_rng(0), 0.0)
    assert dependence_test(X, y).p_value == 0.005
    assert np.sum(p_values(kind, 0.0, 25) <= 0.05) <= binom.ppf(0.999, 25, 0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_what_goes_beyond_the_given_variables_is_found(kind):
    assert np.sum(p_values(kind, 1.0, 5) <= 0.05) >= 4


def test_an_interaction_with_a_given_variable_is_found(rng):
    """Of which the product of residuals has the mean 0."""
    z, e, u = rng.standard_normal((3, 250))
    X = (np.sin(2 * z) + 0.5 * e)[:, None]
    assert dependence_test(X, z * e + u, given=z).p_value <= 0.05


def test_the_answer_says_what_it_is_and_is_the_same_every_time(rng):
    X, y, Z = confounded("continuous", rng, 1.0)
    test = dependence_test(X, y, given=Z)
    assert str(test).startswith("conditional dependence beyond chance: yes, p = 0.005 (199 draws")
    assert (test.n, test.n_permutations, len(test.null)) == (250, 199, 199)
    assert np.array_equal(dependence_test(X, y, given=Z, random_state=0).null, test.null)
    assert not np.array_equal(dependence_test(X, y, given=Z, random_state=1).null, test.null)


def test_a_view_and_several_columns_are_taken_as_a_whole(rng):
    z, e, *more = rng.standard_normal((6, 250))
    X = np.column_stack([z + more[0], more[1], z + e])
    Y = np.column_stack([np.zeros(250), z + more[2], more[3] + e])
    assert dependence_test(X, Y, given=z).p_value == 0.005


def test_few_values_are_indicators(rng):
    """So that three codes of X may be any three numbers."""
    z = rng.standard_normal(120)
    codes = (z + rng.standard_normal(120) > 0).astype(int) + (rng.random(120) > 0.7)
    y, Z = rng.standard_normal(120) + codes, read_given(z, 120)
    values = [
        conditional_values(X[:, None], y, Z, 9, np.random.RandomState(0))
        for X in (codes.astype(float), np.array([0.0, 1.0, 7.0])[codes])
    ]
    np.testing.assert_allclose(*values)


def test_constant_columns_and_units_of_the_given_variables_change_nothing(rng):
    Z = rng.standard_normal((60, 2))
    more = np.column_stack([Z[:, 0] * 8 + 2, np.ones(60), Z[:, 1]])
    np.testing.assert_allclose(read_given(more, 60), read_given(Z, 60), atol=1e-12)
    assert not standardised(np.full((5, 1), 0.1)).any()


def test_more_than_three_given_columns_are_warned_of(rng):
    with pytest.warns(UserWarning, match=r"given has 4 columns: with more than 3"):
        read_given(rng.standard_normal((60, 4)), 60)
    read_given(rng.standard_normal((60, 3)), 60)
    read_given(rng.standard_normal((50, 1)), 50)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (dict(given=["a", "b"] * 30), "must hold numbers, got the word 'a' in row 0.*get_dummies"),
        (dict(given=np.r_[np.nan, np.arange(59)]), "given contains NaN, in row 0"),
        (dict(given=pd.Series([None, *range(59)], dtype=object)), "given contains None, in row 0"),
        (dict(given=np.ones(60)), "given must vary, and is constant: leave it out"),
        (dict(given=np.arange(59.0)), r"shape \(60,\) or \(60, m\).*got \(59,\)"),
        (dict(given=np.ones((60, 2, 2))), r"got \(60, 2, 2\)"),
        (dict(given=np.eye(60)[:, :7]), "at most a tenth .* got 7 columns for 60 rows"),
        (dict(groups=np.arange(60) % 2), "given does not go together with groups: leave"),
        (dict(method="split"), "together with method"),
        (dict(n_components=1), "together with n_components"),
        (dict(bandwidth=1.0), "together with bandwidth"),
        (dict(kernel="linear", method="split"), "together with kernel, method"),
        (dict(given="X"), "X, or a column of it, must not be a function of given"),
        (dict(given="y"), "y, or a column of it, must not be a function of given"),
        (dict(y=np.ones(60)), "y must vary, and is constant"),
        (dict(y=np.zeros(60, int)), "at least two classes"),
    ],
)
def test_what_does_not_go_together_is_refused(options, words, rng):
    data = dict(X=rng.standard_normal((60, 2)), y=rng.standard_normal(60))
    data |= dict(given=rng.standard_normal(60)) | options
    if isinstance(data["given"], str):
        A = data[data["given"]]
        data["given"] = A if A.ndim == 1 else A[:, 0]
    with pytest.raises(ValueError, match=words):
        dependence_test(**data)


def test_too_few_rows_are_refused(rng):
    with pytest.raises(ValueError, match=r"at least 50 rows, got 49.*groups="):
        dependence_test(rng.standard_normal((49, 1)), np.arange(49.0), given=np.arange(49) % 7)
