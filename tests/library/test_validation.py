"""What a user does wrong is answered with the column, the row, the value, and what to do."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import make_pipeline

from ismlit import (
    KDAC,
    Gaussian,
    GradientKDR,
    KernelDependenceNetwork,
    ResponseIKDR,
    SemiSupervisedIKDR,
    SupervisedIKDR,
    UnsupervisedIKDR,
    certify,
    dependence_test,
    gram,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
Y = np.arange(60) % 2
TABLE = pd.DataFrame(X, columns=["age", "income", "height"])
DAYS = pd.date_range("2020-01-01", periods=60)
MIXED = pd.DataFrame({"day": DAYS.where(DAYS != DAYS[0]), "ward": pd.Categorical(["a", "b"] * 30)})
ONE_CLASS = np.where(np.arange(60) < 5, 1, -1)


def changed(row, column, value):
    """X with one other value."""
    other = X.copy()
    other[row, column] = value
    return other


PROVOKED = {
    "words in a frame": (
        lambda: SupervisedIKDR().fit(TABLE.assign(colour=["red"] * 60), Y),
        "column 'colour' of X holds words, such as 'red' in row 0.*OneHotEncoder",
    ),
    "words in a list": (
        lambda: KernelDependenceNetwork().fit([["1.5", "2"], ["3", "n.a."]] * 5, [0, 1] * 5),
        "column 1 of X holds words, such as 'n.a.' in row 1",
    ),
    "dates": (
        lambda: SemiSupervisedIKDR().fit(TABLE.assign(day=DAYS), ONE_CLASS),
        "column 'day' of X holds dates, such as 2020-01-01.* in row 0: make numbers of them",
    ),
    "dates with a gap, beside words": (
        lambda: SupervisedIKDR().fit(MIXED, Y),
        "column 'day' of X holds dates, such as 2020-01-02.* in row 1: make numbers of them",
    ),
    "a gap": (
        lambda: UnsupervisedIKDR(2).fit(pd.DataFrame(changed(7, 1, np.nan), columns=TABLE.columns)),
        "Input X contains NaN, in column 'income', row 7: fill gaps by sklearn.impute",
    ),
    "NA": (
        lambda: SupervisedIKDR().fit(TABLE.astype(object).mask(TABLE > 1, pd.NA), Y),
        "Input X contains NaN, in column 'age', row",
    ),
    "infinity": (
        lambda: KDAC(2).fit(changed(3, 1, np.inf), Y),
        "Input X contains infinity, in column 1, row 3: leave the row out",
    ),
    "one known class": (
        lambda: SemiSupervisedIKDR().fit(X, ONE_CLASS),
        "y holds one class alone, 1, in the 5 rows.*another class, or leave y out",
    ),
    "integer ids": (
        lambda: SupervisedIKDR().fit(X, np.arange(60)),
        r"60 distinct numbers in 60 samples.*ResponseIKDR, or y.astype\(str\)",
    ),
    "a response": (
        lambda: SupervisedIKDR().fit(X, np.r_[np.ones(4), 2.5, np.ones(55)]),
        "fractions, such as 2.5 in row 4, which are no labels; use ResponseIKDR",
    ),
    "words as a response": (
        lambda: ResponseIKDR().fit(X, np.array(["a", "b"] * 30)),
        "a response must be numbers.*SupervisedIKDR",
    ),
    "a label not known": (
        lambda: SupervisedIKDR().fit(X, np.array([0, None, *Y[2:]], dtype=object)),
        "Input y contains None, in row 1: .*SemiSupervisedIKDR where only some labels are known",
    ),
    "infinity among labels": (
        lambda: SemiSupervisedIKDR().fit(X, np.where(np.arange(60) == 9, np.inf, Y)),
        "y holds NaN or infinity in row 9: write -1",
    ),
    "NaN among scores": (
        lambda: SemiSupervisedIKDR().fit(X, np.where(np.arange(60) == 9, np.nan, X[:, 0])[:, None]),
        "y holds NaN or infinity in row 9: write -1",
    ),
    "NaN among labels that have to be known": (
        lambda: SupervisedIKDR().fit(X, np.where(np.arange(60) == 9, np.nan, Y)),
        "Input y contains NaN, in row 9: leave out",
    ),
    "a gap among words": (
        lambda: SupervisedIKDR().fit(TABLE, pd.Series(["a", pd.NA] * 30, dtype="string")),
        "Input y contains NaN, in row 1: leave out",
    ),
    "numbers and words": (
        lambda: SupervisedIKDR().fit(X, np.array([1, "a"] * 30, dtype=object)),
        "y mixes numbers and words",
    ),
    "dates as a response": (
        lambda: ResponseIKDR().fit(X, DAYS),
        "Input y contains the date or duration 2020-01-01.* in row 0: .*such as days",
    ),
    "a response as a clustering": (
        lambda: KDAC(2).fit(X, X[:, 0]),
        "fractions, such as .* in row 0",
    ),
    "a gap, where nothing climbs": (
        lambda: GradientKDR().fit(changed(7, 1, np.nan), Y),
        "Input X contains NaN, in column 1, row 7",
    ),
    "a gap in new rows": (
        lambda: SupervisedIKDR(1).fit(X, Y).transform(changed(7, 1, np.nan)),
        "Input X contains NaN, in column 1, row 7",
    ),
    "words in new rows of a clustering": (
        lambda: UnsupervisedIKDR(2, bandwidth="median").fit(X).predict([["a", 1.0, 2.0]]),
        "column 0 of X holds words, such as 'a' in row 0",
    ),
    "words in a test": (
        lambda: dependence_test(TABLE.assign(colour=["red"] * 60), Y),
        "column 'colour' of X holds words",
    ),
    "too many components in a test": (
        lambda: dependence_test(X, Y, n_components=4),
        "n_components must be None or a whole number from 1 to the 3 columns of X, got 4",
    ),
    "a test of nothing": (lambda: dependence_test(X, None), "y is None: pass the labels"),
    "a pipeline to be certified": (
        lambda: certify(make_pipeline(SupervisedIKDR(1)).fit(X, Y)),
        "Pipeline has no one W to be certified: of a pipeline pass the last step",
    ),
    "a name of another library": (
        lambda: SupervisedIKDR(kernel="rbf").fit(X, Y),
        "kernel of SupervisedIKDR must be.*got 'rbf'; did you mean 'gaussian'",
    ),
    "too many components": (
        lambda: SupervisedIKDR(4).fit(X, Y),
        "n_components = 4 must be at most 3, the number of directions in which X",
    ),
    "a bandwidth of zero": (
        lambda: gram(Gaussian(0.0), X),
        r"sigma of Gaussian must be positive and finite, got 0\.0; median_distance",
    ),
}


@pytest.mark.parametrize(("call", "words"), PROVOKED.values(), ids=PROVOKED)
def test_an_error_names_the_place_and_the_cure(call, words):
    with pytest.raises(ValueError, match=re.compile(words, re.S)):
        call()


def test_an_error_of_another_kind_is_left_alone():
    """Only what cannot be read as numbers is blamed on a column, and that before all else."""
    with pytest.raises(ValueError, match="must be True or False"):
        KernelDependenceNetwork(early_stopping=1).fit(X, Y)
    with pytest.raises(ValueError, match="contains NaN, in column 0, row 0"):
        KernelDependenceNetwork(early_stopping=1).fit(changed(0, 0, np.nan), Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SupervisedIKDR().fit(X, Y[:-1])
    with pytest.raises(TypeError, match="must be a string or a real number, not 'dict'"):
        SupervisedIKDR().fit(np.array([[1.0, {}], [2.0, 3.0]], dtype=object), [0, 1])
    with pytest.raises(ValueError, match="Found array with dim 3"):
        SupervisedIKDR().fit(np.full((4, 2, 2), np.nan), [0, 1, 0, 1])


@pytest.mark.parametrize(
    "kind", [SupervisedIKDR, ResponseIKDR, UnsupervisedIKDR, GradientKDR, KernelDependenceNetwork]
)
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.coo_array])
def test_of_sparse_rows_an_error_names_the_cure(kind, form):
    for dtype, size in (np.float64, "0.0153"), (np.float32, "0.00763"):
        cure = f"Sparse.*{kind.__name__}.*TruncatedSVD.*takes {size} MiB"
        with pytest.raises(TypeError, match=cure):
            kind().fit(form((200, 10), dtype=dtype), np.arange(200.0))


def test_the_cure_for_sparse_rows_serves():
    rows = sparse.random(90, 40, density=0.2, format="csr", random_state=0)
    y = np.asarray(rows[:, :10].sum(axis=1)).ravel() > 1
    model = make_pipeline(TruncatedSVD(5, random_state=0), SupervisedIKDR(2)).fit(rows, y)
    assert model.transform(rows).shape == (90, 2)
    with pytest.raises(TypeError, match="Sparse data was passed to transform"):
        model[-1].transform(sparse.csr_array((3, 5)))


@pytest.mark.parametrize("table", [None, 3.0, sparse.eye(4).tocsr(), [[]], [["a"], ["b", "c"]]])
def test_what_is_no_table_keeps_scikit_learn_s_own_error(table):
    with pytest.raises((TypeError, ValueError)) as caught:
        SupervisedIKDR().fit(table, [0, 1, 0, 1])
    assert "column" not in str(caught.value)


def test_numbers_written_out_are_a_response_where_they_are_objects():
    written = pd.Series([str(value) for value in X[:, 0]], dtype=object)
    found, same = (ResponseIKDR(1, init="taylor").fit(X, y).W_ for y in (written, X[:, 0]))
    assert np.allclose(found, same)


def test_a_table_is_nothing_to_certify():
    with pytest.raises(TypeError, match=r"certify takes a fitted estimator.*got ndarray"):
        certify(X)
