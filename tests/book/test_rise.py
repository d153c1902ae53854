"""`rise`: Theorem 6.1 on seven tables, by a formula of the tests' own, and what it refuses."""

import numpy as np
import pytest
from ismlit_book import rise
from scipy.spatial.distance import cdist
from sklearn.datasets import load_diabetes, load_digits, load_iris, load_wine
from sklearn.preprocessing import scale

from ismlit import KernelDependenceNetwork

ASKED = [0.3, 0.6, 0.9, 0.99, 0.999]


def wine():
    return scale(load_wine().data), load_wine().target


def thirds():
    X, y = load_diabetes(return_X_y=True)
    return 20 * X[:200], np.digitize(y[:200], np.quantile(y[:200], [1 / 3, 2 / 3]))


def unequal():
    return np.random.default_rng(0).standard_normal((120, 5)), np.repeat(list("abc"), [100, 10, 10])


def grid():
    return np.argwhere(np.ones((9, 9))) * 1.0, np.random.default_rng(1).integers(0, 2, 81) * 2 - 1


def near():
    X, _ = wine()
    return np.r_[X[:30], X[:30] + 1e-3], np.repeat([0, 1], 30)


TABLES = {
    "iris, with equal rows of one class": lambda: (scale(load_iris().data), load_iris().target),
    "wine": wine,
    "digits": lambda: (load_digits().data[:300] / 16, load_digits().target[:300]),
    "diabetes in thirds": thirds,
    "noise with unequal classes, words": unequal,
    "an integer grid with coins": grid,
    "near twins in other classes": near,
}


@pytest.mark.parametrize("table", TABLES)
def test_the_rise_is_as_asked_and_weights_are_orthonormal(table):
    X, y = TABLES[table]()
    narrow = 1e-3 if table.startswith("near") else 0.1
    built = rise(X, y, ASKED, narrow=narrow, solved=False)
    Y = 1.0 * (np.asarray(y)[:, None] == np.unique(y))
    HY, same = Y - Y.mean(axis=0), Y @ Y.T
    for l, (Z, sigma) in enumerate(zip(built.images, built.sigmas)):
        K = np.exp(-cdist(Z, Z, "sqeuclidean") / (2 * sigma**2))
        share = np.trace(HY.T @ K @ HY) / np.sum((HY @ HY.T) * same)
        np.testing.assert_allclose(built.measured[l], share, atol=1e-9)
        if l:
            np.testing.assert_allclose(share, ASKED[l - 1], atol=1e-9)
            for Y_a in Y.T:  # every class is one point
                assert np.ptp(Z[Y_a > 0], axis=0).max() < 1e-6 * built.sigmas[l]
    assert (np.diff(built.measured) > 0).all()
    assert built.deviation.max() < 1e-6
    np.testing.assert_array_equal(built.images[0], X)


def test_the_first_layer_is_asked_too():
    X, y = unequal()
    for first in (0.02, 0.0482):  # below Tr(Gamma) / H*, .048, and above
        built = rise(X, y, ASKED, first=first, solved=False)
        np.testing.assert_allclose(built.measured, [first, *ASKED], atol=1e-6)
        np.testing.assert_array_equal(built.asked, [first, *ASKED])
        assert built.deviation.max() < 1e-6


def test_the_solved_network_stands_beside_with_its_own_numbers():
    X, y = wine()
    solved = rise(X, y).solved
    network = KernelDependenceNetwork(early_stopping=False).fit(X, y)
    np.testing.assert_allclose(solved.measured, network.history_["share"], atol=1e-6)
    np.testing.assert_allclose(solved.sigmas, network.history_["sigma"])
    assert solved.deviation.max() < 1e-6 and solved.spread[-1] > 0.01
    assert np.isnan(solved.asked).all()


def test_rows_and_picture_show_every_layer():
    import matplotlib.pyplot as plt

    built = rise(*wine(), [0.5, 0.9])
    rows = built.rows()
    layers = [row["layer"] for row in rows]
    assert layers[:4] == [1, 2, 3, "solved 1"]
    assert [row["asked"] for row in rows[:3]] == ["", "0.5000", "0.9000"]
    lines = {line.get_label(): line.get_ydata() for line in built.plot().get_lines()}
    np.testing.assert_array_equal(lines["built: measured"], built.measured)
    np.testing.assert_array_equal(lines["solved: measured"], built.solved.measured)
    plt.close("all")


def twins(shift):
    X, _ = wine()
    return np.r_[X[:40], X[:40] + shift], np.repeat([0, 1], 40)


@pytest.mark.parametrize(
    ("X", "y", "options", "says"),
    [
        (*twins(0.0), {}, "rows 0 and 40 are equal, their classes are not"),
        (*twins(1e-9), {}, r"nearest are \d+ and \d+, \d\.\de-09 apart"),
        (np.eye(5), list("aabbc"), {}, "class c has one row"),
        (*wine(), {"first": 0.012}, "too wide to tell all rows apart"),
        (*wine(), {"asked": [0.5, 0.4]}, "layer 3 is asked for 0.4, no more than the 0.5"),
        (*wine(), {"asked": [0.01]}, "layer 2 is asked for 0.01, but layer 1 has 0.0171"),
        (*wine(), {"asked": [0.5], "first": 0.6}, "layer 2 is asked for 0.5, no more than the 0.6"),
        (
            *wine(),
            {"asked": [0.9], "first": 0.8},
            "layer 1 is asked for 0.8000, but no bandwidth gives it more than 0.2885",
        ),
        (*wine(), {"asked": [1.0]}, "between 0 and 1"),
        (*wine(), {"asked": []}, "between 0 and 1"),
        (np.eye(4), [1.5, 2.5, 0.1, 0.2], {}, "continuous"),
        (np.eye(4), [1, 1, 1, 1], {}, "two classes are needed"),
    ],
)
def test_what_the_theorem_does_not_promise_is_refused(X, y, options, says):
    with pytest.raises(ValueError, match=says):
        rise(X, y, **options)


def test_near_twins_are_built_with_the_narrower_kernel_that_the_refusal_names():
    built = rise(*twins(1e-9), ASKED, narrow=1e-11, solved=False)
    np.testing.assert_allclose(built.measured[1:], ASKED, atol=1e-9)
