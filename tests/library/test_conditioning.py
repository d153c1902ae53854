"""Tests of independence given other variables: level, power, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import block_diag
from scipy.stats import binom

from ismlit import Gaussian, conditioning, dependence_test, gram, median_distance
from ismlit.conditioning import (
    _gaussian_factor,
    _Ridge,
    _sides,
    conditional_values,
    read_given,
    standardised,
)

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


def factor(A, scale, tol, most=None):
    """F with FF' = the Gram matrix of A at a share of its median distance, largest first."""
    values, vectors = np.linalg.eigh(gram(Gaussian(scale * median_distance(A)), A))
    F = (vectors * np.sqrt(np.maximum(values, 0)))[:, values > tol * values[-1]]
    return F[:, ::-1][:, :most]


def test_residuals_are_those_of_the_ridge_with_the_least_error_of_rows_left_out(rng):
    """Each row being left out in turn, of four widths and 13 penalties, or of a straight line."""
    Z = standardised(rng.standard_normal((50, 2)))
    curved = np.sin(3 * Z[:, :1]) + Z[:, 1:], np.exp(Z[:, :1]), *12 * [Z @ [[1.0], [2.0]]]
    Y = np.hstack(curved) + [0.1, 0.01, *12 * [1]] * rng.standard_normal((50, 14))
    line = np.column_stack([np.ones(50), Z])
    fits, rests, errors = [None], [], []
    features = {scale: factor(Z, scale, 1e-7) for scale in (2, 1, 1 / 2, 1 / 4)}
    fits += [(scale, penalty) for scale in features for penalty in 10 ** np.arange(2, -4.5, -0.5)]
    for fit in fits:
        F = np.empty((50, 0)) if fit is None else features[fit[0]]
        A = np.hstack([line, F])
        P = block_diag(np.zeros((3, 3)), np.eye(F.shape[1]) * (fit[1] if fit else 0.0))
        known = lambda rows, A=A, P=P: np.linalg.solve(A[rows].T @ A[rows] + P, A[rows].T @ Y[rows])
        rests.append(Y - A @ known(np.arange(50)))
        alone = [Y[i] - A[i] @ known(np.delete(np.arange(50), i)) for i in range(50)]
        errors.append(np.sum(np.square(alone), axis=0))
    best = np.argmin(errors, axis=0)
    assert len(set(best)) > 3 and 0 in best
    expected = np.column_stack([rests[k][:, j] for j, k in enumerate(best)])
    found = _Ridge(Z, np.random.RandomState(0)).residuals(Y)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_of_equal_errors_the_straight_line_wins(rng, monkeypatch):
    monkeypatch.setattr(conditioning, "_left_out_error", lambda R, leverage: np.ones(R.shape[1]))
    Z, y = standardised(rng.standard_normal((50, 1))), rng.standard_normal((50, 2))
    line = np.column_stack([np.ones(50), Z])
    expected = y - line @ np.linalg.lstsq(line, y, rcond=None)[0]
    np.testing.assert_allclose(_Ridge(Z, None).residuals(y), expected, atol=1e-12)


def by_gram_matrices(X, Y, Z, discrete, signs):
    """The statistic as s'(K_Z * EE' * FF')s, entry by entry, for every row of signs s."""
    ridge, n = _Ridge(Z, None), len(Z)
    rests, fits = [], []
    for A in (X, Y):
        rests.append(ridge.residuals(A - A.mean(axis=0)))
        fit = standardised(A - rests[-1])
        if fit.shape[1] > 3:
            fit = np.linalg.eigh(fit @ fit.T)[1][:, -3:]
        fits.append(fit)
    second = _Ridge(standardised(np.hstack([Z, *fits])), None)
    product = factor(Z, 1.0, 1e-3, 8) @ factor(Z, 1.0, 1e-3, 8).T
    for A, rest, is_discrete in zip((X, Y), rests, discrete):
        E = A - A.mean(axis=0) if is_discrete else factor(standardised(rest), 1.0, 1e-4, 10)
        E = second.residuals(E)
        product = product * (E @ E.T)
    return np.array([s @ product @ s for s in np.vstack([np.ones(n), signs])])


@pytest.mark.parametrize("kind", ["response", "labels", "view", "few values"])
def test_the_statistic_is_a_sum_of_products_of_three_gram_matrices(kind, rng):
    """Of features of the residuals, regressed once more, and of Z; the rows get random signs."""
    z, e = rng.standard_normal((2, 60))
    Z = read_given(np.column_stack([z, rng.standard_normal(60)]), 60)
    X = z[:, None] + np.column_stack([e, *rng.standard_normal((3, 60))])
    y = Y = (z**2 + e + rng.standard_normal(60))[:, None]
    codes, discrete = np.digitize(z + e, [-1, 1]), (False, False)
    if kind == "labels":
        y, Y, discrete = (
            np.array(["b", "a", "c"])[codes],
            np.eye(3)[codes][:, [0, 2]],
            (False, True),
        )
    elif kind == "few values":
        X, given, discrete = (
            np.eye(3)[codes][:, 1:],
            np.array([2.0, 5.0, 7.0])[codes],
            (True, False),
        )
    elif kind == "view":
        y = Y = np.column_stack([z * e, z + e, *rng.standard_normal((3, 60))])
    seen = given[:, None] if kind == "few values" else X
    found = conditional_values(seen, y, Z, 4, np.random.RandomState(5))
    signs = np.random.RandomState(5).choice([-1.0, 1.0], (4, 60))
    np.testing.assert_allclose(found, by_gram_matrices(X, Y, Z, discrete, signs), rtol=1e-6)


def test_of_many_rows_200_stand_for_all(rng):
    """The Gram matrix is that of Nystroem, exact on rows drawn; its largest part comes first."""
    A = rng.standard_normal((260, 1))
    F = _gaussian_factor(A, 0.5, np.random.RandomState(3), 1e-9)
    some = np.random.RandomState(3).permutation(260)[:200]
    K = gram(Gaussian(0.5 * median_distance(A)), A)
    np.testing.assert_allclose((F @ F.T)[:, some], K[:, some], atol=1e-4)
    squares = np.sum(F[some] ** 2, axis=0)
    np.testing.assert_allclose(
        squares, np.linalg.eigvalsh(K[np.ix_(some, some)])[::-1][: len(squares)]
    )
    exact = _gaussian_factor(A[:200], 1.0, None, 1e-9)  # of 200 none are drawn
    assert len(exact) == 200


def test_the_median_distance_is_that_of_so_many_rows(rng, monkeypatch):
    monkeypatch.setattr(conditioning, "MEDIAN_SUBSAMPLE", 20)
    A = rng.standard_normal((60, 2))
    F = _gaussian_factor(A, 2.0, None, 1e-12)
    K = gram(Gaussian(2.0 * median_distance(A, max_samples=20)), A)
    np.testing.assert_allclose(F @ F.T, K, atol=1e-9)


@pytest.mark.parametrize(
    ("A", "columns", "is_discrete"),
    [
        (np.array(["a", "b"] * 30), 1, True),
        (np.arange(60) % 3, 2, True),
        (np.arange(60.0), 1, False),
        (np.arange(60)[:, None] % 2, 1, True),
        (np.arange(60)[:, None] % 5, 4, True),
        (np.arange(60)[:, None] % 6, 1, False),
        (np.column_stack([np.arange(60) % 2, np.arange(60) % 3]), 2, False),
        (np.column_stack([np.arange(60) % 2, np.ones(60)]), 1, False),
    ],
)
def test_sides_are_centred_columns_or_indicators(A, columns, is_discrete):
    """At most five values of a single column are classes, of which all but one have a column."""
    side, found = _sides(A)
    assert side.shape == (60, columns) and found == is_discrete
    np.testing.assert_allclose(side.mean(axis=0), 0, atol=1e-12)
    if is_discrete:
        expected = (np.ravel(A)[:, None] == np.unique(A)[1:]).astype(float)
        np.testing.assert_allclose(side, expected - expected.mean(axis=0))


@pytest.mark.parametrize("side", ["X", "y"])
def test_a_function_of_the_given_variables_is_told_from_one_with_a_little_noise(side, rng):
    """By the share of the squares that is left: 1e-14 is rounding, 1e-6 is not."""
    z, e, other = rng.standard_normal((3, 80))
    for noise, is_refused in ((1e-7, True), (1e-3, False)):
        noisy = 4 * z + 4 * noise * e
        X, y = (noisy, other) if side == "X" else (other, noisy)
        ask = lambda X=X, y=y: dependence_test(X[:, None], y, given=z, n_permutations=1)
        if is_refused:
            with pytest.raises(ValueError, match=f"^{side}, or a column of it, must not be a func"):
                ask()
        else:
            ask()


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


def test_each_column_is_standardised_by_itself():
    """Whatever its unit; one that is constant, but for rounding, is 0."""
    x = np.array([1.0, 3.0, 1.0, 3.0, 1.0, 3.0])
    A = np.column_stack([1e-8 * x, 1e8 * x, 0 * x, 0 * x + 0.1, 1e6 + 1e-8 * x, x + 5])
    expected = np.outer(x - 2, [1, 1, 0, 0, 0, 1])
    np.testing.assert_allclose(standardised(A), expected, atol=1e-12)


def test_more_than_three_given_columns_are_warned_of(rng):
    with pytest.warns(UserWarning, match=r"given has 4 columns: with more than 3"):
        read_given(rng.standard_normal((60, 4)), 60)
    with pytest.warns(UserWarning, match=r"given has 6 columns"):
        assert read_given(rng.standard_normal((60, 6)), 60).shape == (60, 6)  # a tenth of the rows
    read_given(rng.standard_normal((60, 3)), 60)
    read_given(rng.standard_normal((50, 1)), 50)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (dict(given=["a", "b"] * 30), "must hold numbers, got the word 'a' in row 0.*get_dummies"),
        (dict(given=np.r_[np.nan, np.arange(59)]), r"^Input given contains NaN, in row 0"),
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
