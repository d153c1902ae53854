"""What a target is: the kinds that are read, the rule between them, and what is refused."""

from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from ismlit import GradientKDR, SlicedInverseRegression, dependence_test, hsic, label_gamma, one_hot
from ismlit.targets import check_label_count, class_labels, is_response, read_response, read_target

READ = {
    "truth values": (np.array([True, False], object), np.array([True, False])),
    "whole numbers": (np.array([3, np.uint8(1)], object), np.array([3, 1])),
    "decimals": (np.array([Decimal("0.5"), Fraction(1, 4)], object), np.array([0.5, 0.25])),
    "words": (np.array(["b", "a"], object), np.array(["b", "a"])),
    "pandas' integers": (pd.Series([3, 1], dtype="Int64"), np.array([3, 1])),
    "pandas' strings": (pd.Series(["b", "a"], dtype="string"), np.array(["b", "a"])),
    "categories": (pd.Series(["b", "a"], dtype="category"), np.array(["b", "a"])),
    "two columns": (np.array([[1, 2.5]], object), np.array([[1.0, 2.5]])),
    "beyond 64 bits": (np.array([2**70, 1], object), np.array([2.0**70, 1.0])),
}


@pytest.mark.parametrize(("given", "expected"), READ.values(), ids=READ)
def test_an_array_of_objects_is_read_as_what_its_entries_are(given, expected):
    found = read_target(given)
    assert found.dtype.kind == expected.dtype.kind
    assert np.array_equal(found, expected)


REFUSED = {
    "None": ([1, None], "Input y contains None, in row 1"),
    "NaN": ([0.5, np.nan], "Input y contains NaN, in row 1"),
    "NaN among objects": (np.array(["a", np.nan], object), "Input y contains NaN, in row 1"),
    "infinity": ([0.5, -np.inf], "Input y contains infinity, in row 1"),
    "NA": (pd.Series([1, pd.NA], dtype="Int64"), "Input y contains NaN, in row 1"),
    "NaT": (pd.Series([pd.NaT, pd.NaT], dtype=object), "Input y contains NaN, in row 0"),
    "dates": (pd.Series(pd.date_range("2020", periods=2)), "date or duration 2020-01-01.*in row 0"),
    "a date": (np.array([date(2020, 1, 2), 3], object), "date or duration 2020-01-02, in row 0"),
    "durations": (pd.to_timedelta([1, 2], unit="D"), "date or duration .*in row 0"),
    "a duration": (np.array([1, timedelta(2)], object), "date or duration 2 days.*in row 1"),
    "a list": (np.array([[1], "a"], object), "type list, in row 0"),
    "complex": ([1j, 2], "Complex data not supported: y must hold numbers or words, got complex"),
    "words and numbers": (np.array([1, "a"], object), "y mixes numbers and words"),
}


@pytest.mark.parametrize(("given", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_target_is_refused_with_its_row(given, words):
    with pytest.raises(ValueError, match=words):
        read_target(given)


def test_another_name_is_used_and_no_other_estimator_is_proposed():
    with pytest.raises(ValueError, match=r"Input groups contains None, .*groups is unknown$"):
        read_target([None, 1], "groups")


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (np.array([0.0, 1.0]), True),
        (np.array([0.5, 1.0], np.float32), True),
        (np.arange(20) % 2 == 0, False),
        (np.array(["a", "b"]), False),
        (np.arange(2000) % 20, False),
        ((np.arange(60) % 20).astype(np.uint8), False),
        (np.arange(2000.0) % 50, True),
    ],
)
def test_the_type_says_whether_it_is_a_response(y, expected):
    assert is_response(y) is expected


def test_many_whole_numbers_are_a_response_with_a_warning():
    y = np.arange(200) % 21
    with pytest.warns(UserWarning, match=r"y holds 21 distinct.*astype\(str\).*astype\(float\)"):
        assert is_response(y)
    assert is_response(y.astype(float))
    assert not is_response(y.astype(str))


@pytest.mark.parametrize(("k", "n", "refused"), [(20, 20, False), (21, 62, True), (21, 63, False)])
def test_so_many_numbers_are_no_labels(k, n, refused):
    """More than 20, and more than a third of the samples."""
    if refused:
        with pytest.raises(ValueError, match=f"{k} distinct numbers in {n} samples"):
            check_label_count(np.arange(k), n)
    else:
        check_label_count(np.arange(k), n)
    check_label_count(np.arange(k).astype(str), n)


@pytest.mark.parametrize("function", [one_hot, class_labels, label_gamma])
def test_fractions_are_no_labels(function):
    with pytest.raises(ValueError, match=r"fractions, such as 0.25 in row 2, which are no labels"):
        function([0.0, 1.0, 0.25])


def test_dependence_of_a_gram_matrix_and_a_response_is_refused(rng):
    """Every order of a continuous y would give the same number."""
    K, y = np.eye(9), rng.standard_normal(9)
    for pair in ((K, y), (y, K), (y, y)):
        with pytest.raises(ValueError, match=r"fractions.*no labels; use ResponseIKDR"):
            hsic(*pair)


def test_a_response_may_be_written_out_and_may_not_be_words():
    assert read_response(np.array(["1.5", "2"], object)).tolist() == [1.5, 2.0]
    with pytest.raises(ValueError, match=r"a response must be numbers.*'a'"):
        read_response(np.array(["1", "a"], object))
    with pytest.raises(ValueError, match=r"a response must be numbers.*the word '1' in row 0"):
        read_response(["1", "2"])


def test_whole_numbers_as_a_response_keep_their_power():
    """Rounded to whole numbers, as ages in years are, the response says nearly as much."""
    hits = {"exact": 0, "float": 0, "object": 0}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((150, 2))
        exact = 45 + 10 * (0.5 * X[:, 0] + rng.standard_normal(150))
        forms = {"exact": exact, "float": np.round(exact)}
        forms["object"] = np.array([Decimal(int(value)) for value in forms["float"]], object)
        for name, y in forms.items():
            y = y.astype(float) if name == "object" else y
            hits[name] += dependence_test(X, y, n_permutations=39).p_value <= 0.05
    assert hits["float"] == hits["object"] >= hits["exact"] - 2
    assert hits["exact"] >= 16


@pytest.mark.parametrize("kind", [GradientKDR, SlicedInverseRegression])
def test_closed_forms_read_an_object_response_as_numbers(kind, rng):
    X = rng.standard_normal((90, 4))
    y = np.exp(X[:, 1]) + 0.1 * rng.standard_normal(90)
    assert np.array_equal(kind(1).fit(X, y).W_, kind(1).fit(X, y.astype(object)).W_)
