"""One contract for all estimators. A new one joins by a line of ESTIMATORS."""

import re
import threading
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_info

from ismlit import (
    KDAC,
    SAVE,
    GradientKDR,
    KernelDependenceNetwork,
    ResponseIKDR,
    SemiSupervisedIKDR,
    SlicedInverseRegression,
    SupervisedIKDR,
    UnsupervisedIKDR,
    bootstrap_importances,
    dependence_test,
    median_distance,
)

ESTIMATORS = {  # the estimator, and what it is told: "labels", "response", "either" or "nothing"
    "supervised": (SupervisedIKDR(2, init="taylor", ridge=np.inf), "labels"),
    "conditional": (SupervisedIKDR(2, ridge=0.01), "labels"),
    "features": (SupervisedIKDR(2, init="taylor", random_features=64, random_state=0), "labels"),
    "response": (ResponseIKDR(2, init="taylor", ridge=np.inf), "response"),
    "kernel response": (
        ResponseIKDR(2, init="taylor", n_slices=None, ridge=np.inf),
        "response",
    ),
    "conditional response": (ResponseIKDR(2, ridge=0.01), "response"),
    "gradient": (GradientKDR(2), "either"),
    "sliced means": (SlicedInverseRegression(2), "either"),
    "sliced variances": (SAVE(2), "either"),
    "unsupervised": (UnsupervisedIKDR(3, random_state=0), "nothing"),
    "semi-supervised": (SemiSupervisedIKDR(3, random_state=0), "labels"),
    "alternative": (KDAC(2, bandwidth="median", random_state=0), "labels"),
    "network": (KernelDependenceNetwork(random_state=0), "labels"),
}
PROJECTIONS = [name for name in ESTIMATORS if name != "network"]
TOLD = [name for name, (_, told) in ESTIMATORS.items() if told != "nothing"]
LABELLED = [name for name, (_, told) in ESTIMATORS.items() if told in ("labels", "either")]
RESPONSES = [name for name, (_, told) in ESTIMATORS.items() if told in ("response", "either")]
CLOSED = ["gradient", "sliced means", "sliced variances"]
WEIGHTED = ["supervised", "response", "kernel response", "conditional", "conditional response"]

pytestmark = [
    pytest.mark.filterwarnings("ignore:component . of:UserWarning"),
    pytest.mark.filterwarnings("ignore:component_gains_:UserWarning"),
    pytest.mark.filterwarnings("ignore:no bandwidth tried:UserWarning"),
]


@pytest.fixture(scope="module")
def table():
    """The wines: five scaled columns, their class, and a sixth column as the response."""
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    return X[:, [0, 2, 6, 9, 12]], {"labels": y, "response": X[:, 11], "either": y, "nothing": None}


def fitted(name, table, X=None, y=None, **options):
    """The named estimator, fitted to the table or to other rows."""
    model, told = ESTIMATORS[name]
    X = table[0] if X is None else X
    return clone(model).fit(X, table[1][told] if y is None else y, **options)


def angle(model, other):
    """The largest principal angle, in degrees, between what two models project on."""
    return np.degrees(subspace_angles(model.W_, other.W_).max())


def answer(model, X):
    """What a fitted model says of rows: images, and labels where it has them."""
    found = [np.asarray(model.transform(X), float)]
    return [*found, model.predict(X)] if hasattr(model, "predict") else found


def assert_same(one, other, tol=1e-7):
    for a, b in zip(one, other, strict=True):
        if a.dtype.kind == "f":
            assert_allclose(a, b, atol=tol * max(np.abs(b).max(), 1.0))
        else:
            assert np.array_equal(a, b)


# ---------------------------------------------------------------- the rows


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", PROJECTIONS)
def test_columns_far_from_zero_in_single_precision(name, table):
    """A mean that was added up in single precision would be off by tens of standard deviations."""
    far = np.tile(table[0], (60, 1)) + [2020, 0, 0, 0, 0]
    single = far.astype(np.float32)
    if name not in (*CLOSED, "features"):  # of these the time is linear in the rows
        single = single[:178]
    y = table[1][ESTIMATORS[name][1]]
    y = None if y is None else np.tile(y, len(single) // 178)
    model, exact = (fitted(name, table, X, y) for X in (single, single.astype(float)))
    assert_allclose(model.mean_, single.mean(axis=0, dtype=float), rtol=1e-6)
    assert angle(model, exact) < 0.1
    if hasattr(model, "feature_importances_"):
        assert_allclose(model.feature_importances_, exact.feature_importances_, atol=1e-3)


FACE = {
    "score": lambda model, X, y: 0 < model.score(X, y) <= 1,
    "feature_importances_": lambda model, X, y: np.isclose(model.feature_importances_.sum(), 1),
    "inverse_transform": lambda model, X, y: np.allclose(
        model.transform(model.inverse_transform(model.transform(X))), model.transform(X)
    ),
    "certificate": lambda model, X, y: str(model.certificate()).startswith("local maximum"),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_has_the_same_face_or_says_why_not(name, table):
    X, y = table[0][::3], table[1][ESTIMATORS[name][1]]
    y = y if y is None else y[::3]
    model = fitted(name, table, X, y)
    refused = ["certificate"] if name in CLOSED else list(FACE)[1:] if name == "network" else []
    for member, holds in FACE.items():
        if member in refused:
            reason = f"{type(model).__name__} has no {member}: .{{30}}"
            with pytest.raises(AttributeError, match=reason):
                getattr(model, member)
        else:
            assert holds(model, X, y)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_constant_columns_change_nothing(name, table):
    X = table[0]
    more = np.c_[X[:, :2], np.full(len(X), 7.0), X[:, 2:], np.zeros(len(X))]
    assert_same(answer(fitted(name, table, more), more), answer(fitted(name, table), X), 1e-4)


@pytest.mark.parametrize("name", PROJECTIONS)
def test_copied_columns_are_taken_and_do_not_crash(name, table):
    X = np.c_[table[0], table[0][:, :1]]
    assert np.isfinite(fitted(name, table, X).transform(X)).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name not in CLOSED[1:]])
def test_a_column_that_makes_all_of_the_variance_is_named(name, table):
    """Of those that measure distances; slices are compared in whitened coordinates."""
    X = table[0] * [1, 1, 1e4, 1, 1]
    if name == "network":
        pytest.skip("it scales nothing, and its docstring says to scale first")
    with pytest.warns(UserWarning, match="column 2 of X makes 100.0 % of its variance"):
        fitted(name, table, X)
    with pytest.warns(UserWarning, match="column 'b' of X makes 100.0 %"):
        dependence_test(pd.DataFrame(X, columns=list("zabcd"))[["z", "b"]], X[:, 0])


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("size", [1e-100, 1e100, np.float32(1e-18), np.float32(1e18)])
def test_units_beyond_the_range_of_numbers_are_refused_with_their_size(name, size, table):
    X = (table[0] * size).astype(np.asarray(size).dtype if size != 1e-100 else float)
    if name in CLOSED[1:] or name == "network" or (X.dtype == np.float32 and name == "gradient"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                images = fitted(name, table, X).transform(X)
            except ValueError as error:
                assert "scale the" in str(error)
            else:
                assert np.isfinite(images).all()
        return
    with pytest.raises(ValueError, match=r"units of X are too .*column \d, .*scale the columns"):
        fitted(name, table, X)


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("n", [8, 4])
def test_few_rows_are_fitted_or_refused_in_words(name, n, table):
    """Four rows are fewer than the five columns."""
    rows = np.linspace(0, 177, n).astype(int)
    target = table[1][ESTIMATORS[name][1]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = fitted(name, table, table[0][rows], None if target is None else target[rows])
        except ValueError as error:
            assert re.search("must|needs|fewer|at least|hold", str(error))
        else:
            assert np.isfinite(model.transform(table[0])).all()


@pytest.mark.parametrize("name", CLOSED[1:])
def test_slices_of_as_many_columns_as_rows_come_with_a_warning(name, rng):
    with pytest.warns(UserWarning, match="tells any slices of them apart.*PCA"):
        clone(ESTIMATORS[name][0]).fit(rng.standard_normal((20, 30)), np.arange(20) % 3)


# ---------------------------------------------------------------- the target


@pytest.mark.parametrize("name", TOLD)
def test_a_target_of_objects_is_read_as_its_entries(name, table):
    told = ESTIMATORS[name][1]
    y = table[1][told]
    form = np.array([Decimal(str(value)) for value in y], object) if told == "response" else y
    assert_same(
        answer(fitted(name, table, y=form.astype(object)), table[0]),
        answer(fitted(name, table), table[0]),
    )


@pytest.mark.parametrize("name", TOLD)
def test_dates_are_no_target(name, table):
    with pytest.raises(ValueError, match=r"2020-01-01"):
        fitted(name, table, y=pd.date_range("2020-01-01", periods=178))


@pytest.mark.parametrize("name", RESPONSES)
@pytest.mark.parametrize(("factor", "offset"), [(1, 1e9), (1e-30, 0), (1e30, 0)])
def test_the_units_of_a_response_change_nothing(name, factor, offset, table):
    y = table[1]["response"]
    assert angle(fitted(name, table, y=factor * y + offset), fitted(name, table, y=y)) < 0.05


LABELS = {
    "bool": lambda y: y == 0,
    "int8": lambda y: y.astype(np.int8),
    "objects": lambda y: np.array(["b", "a", "c"], object)[y],
    "categories": lambda y: pd.Series(np.array(["b", "a", "c"])[y], dtype="category"),
    "nullable": lambda y: pd.Series(y, dtype="Int64"),
}
ALIKE = {
    "uint64": lambda y: y.astype(np.uint64),
    "words": lambda y: np.array(["b", "a", "c"])[y],
}


@pytest.mark.parametrize("name", LABELLED)
@pytest.mark.parametrize(
    "form", [*LABELS, *(pytest.param(f, marks=pytest.mark.slow) for f in ALIKE)]
)
def test_labels_of_every_type_give_the_same_projection(name, form, table):
    """But for their order, which the sign or order of nothing depends on."""
    y = table[1]["labels"]
    same = (y == 0).astype(int) if form == "bool" else y
    kind = clone(ESTIMATORS[name][0])
    if form == "bool" and name == "sliced means":
        kind.set_params(n_components=1)
    if name == "semi-supervised":
        kind.set_params(bandwidth="median")  # a search would take most of the time
    X, given = table[0], (LABELS | ALIKE)[form](y)
    one, other = clone(kind).fit(X, given), clone(kind).fit(X, same)
    if name == "network":
        images = [np.abs(model.gram(X)) for model in (one, other)]
        assert_allclose(*images, atol=1e-6)
        return
    assert angle(one, other) < 1e-3


@pytest.mark.parametrize("name", TOLD)
def test_a_gap_in_the_target_is_named(name, table):
    if name == "semi-supervised":
        pytest.skip("there it says that a label is not known")
    y = table[1][ESTIMATORS[name][1]].astype(float)
    y[3] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*row 3|row 3.*NaN|Input.*contains NaN"):
        fitted(name, table, y=y)


# ---------------------------------------------------------------- weights


@pytest.mark.parametrize("name", WEIGHTED)
def test_a_weight_is_a_repetition(name, table):
    """In the fit, the mean, the importances, and the score."""
    X, y = table[0], table[1][ESTIMATORS[name][1]]
    w = np.random.default_rng(0).integers(0, 3, len(X))
    again = np.repeat(np.arange(len(X)), w)
    weighted = fitted(name, table, sample_weight=w)
    repeated = fitted(name, table, X[again], y[again])
    assert angle(weighted, repeated) < 1e-3
    assert_allclose(weighted.mean_, repeated.mean_, atol=1e-12)
    assert_allclose(weighted.feature_importances_, repeated.feature_importances_, atol=1e-6)
    assert_allclose(weighted.score(X, y, w), repeated.score(X[again], y[again]), atol=1e-8)


def test_weights_of_a_median_are_held_against_the_rows():
    X = np.arange(5.0)[:, None]
    with pytest.raises(ValueError, match=r"at least 0, got -1 for row 2"):
        median_distance(X, sample_weight=[1, 1, -1, 1, 1])
    with pytest.raises(ValueError, match="sample_weight"):
        median_distance(X, sample_weight=[1, 1])


@pytest.mark.slow
@pytest.mark.parametrize("on", ["columns", "labels"])
def test_the_certificate_of_a_weighted_fit_keeps_its_level(on):
    """Whether weights depend on X or on y, on which X has no influence."""
    hits = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((40, 2)), rng.integers(0, 2, 40)
        w = 1 + 20.0 * ((abs(X[:, 0]) > 1.5) if on == "columns" else (y * rng.random(40) > 0.7))
        model = SupervisedIKDR(1, init="taylor").fit(X, y, sample_weight=w)
        hits += model.certificate().p_value <= 0.05
    assert hits <= 8  # of 60 at .05, the 99.7 % point


def test_a_certificate_permutes_labels_and_not_their_weights():
    """Weights that depend on X alone are the same in every refit: J of equal labels is equal."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((60, 2)), np.arange(60) % 2
    w = np.where(np.abs(X[:, 0]) > 1, 30.0, 1.0)
    model = SupervisedIKDR(1, init="taylor").fit(X, y, sample_weight=w)
    assert model.certificate().p_value > 0.05
    assert np.array_equal(model._target[1], w)


def test_the_certificate_of_self_tuning_bandwidths_has_those_of_its_sample():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1100, 2))
    model = SupervisedIKDR(1, bandwidth="self_tuning", init="taylor", ridge=np.inf, tol=1e-3)
    model.fit(X, X[:, 0] > 0)
    assert model.certificate().p_value == 0.05


def test_a_rare_class_is_in_the_sample_of_a_certificate():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1500, 2)), np.zeros(1500, int)
    y[:2] = 1
    model = SupervisedIKDR(1, init="taylor", max_iter=5, ridge=np.inf).fit(X, y)
    assert 0 < model._against_chance()["p_value"] <= 1


# ---------------------------------------------------------------- fits that fail


class Stop(Exception):
    """What interrupts a fit."""


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("how", ["refused", "interrupted"])
def test_a_failed_refit_leaves_the_estimator_as_it_was(name, how, table, monkeypatch):
    X, model = table[0], fitted(name, table)
    before, keys = answer(model, X), set(vars(model))
    target = table[1][ESTIMATORS[name][1]]
    if how == "refused":
        bad = X + 100
        bad[-1, -1] = np.nan
        with pytest.raises(ValueError):
            model.fit(bad, target)
        if target is not None and name != "semi-supervised":
            with pytest.raises(ValueError):
                model.fit(X + 100, np.ones(len(X)))
    else:
        work = {"gradient": "gradient_plane", "network": "Centred"}.get(name)
        if name in CLOSED[1:]:
            monkeypatch.setattr(type(model), "_leading", lambda *_: (_ for _ in ()).throw(Stop()))
        elif work is not None:
            home = type(model).fit.__globals__
            home = home if work in home else type(model).fit.__wrapped__.__wrapped__.__globals__

            def stop(*args, **kwargs):
                raise Stop

            monkeypatch.setitem(home, work, stop)
        else:

            def stop(at):
                raise Stop

            model.set_params(callback=stop)
            keys |= {"callback"}
        with pytest.raises(Stop):
            model.fit(X + 100, target)
    assert set(vars(model)) == keys
    assert_same(answer(model, X), before, 0)


# ---------------------------------------------------------------- threads


def test_two_fits_in_two_threads_give_what_one_gives_and_restore_the_threads(table):
    before = [entry["num_threads"] for entry in threadpool_info()]
    alone = fitted("supervised", table).W_
    found = {}

    def work(name):
        found[name] = [fitted("supervised", table).W_ for _ in range(5)]

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for W in found["a"] + found["b"]:
        assert_allclose(W, alone, atol=1e-10)
    assert [entry["num_threads"] for entry in threadpool_info()] == before


@pytest.mark.parametrize("name", WEIGHTED)
def test_bootstrap_of_a_weighted_fit_needs_its_weights(name, table):
    w = np.where(np.arange(178) % 3, 1.0, 2.0)
    model = fitted(name, table, sample_weight=w)
    X, y = table[0], table[1][ESTIMATORS[name][1]]
    with pytest.raises(ValueError, match="sample_weight"):
        bootstrap_importances(model, X, y, n_resamples=2)


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_the_rows_decides_nothing_where_the_signal_is_weak(seed):
    """Starts and held-out rows are the same, though each start has an end of its own."""
    draw = np.random.default_rng(seed)
    X, y = draw.standard_normal((60, 8)), draw.integers(2, size=60)
    order = draw.permutation(60)
    one = SupervisedIKDR(2, ridge=np.inf).fit(X, y)
    other = SupervisedIKDR(2, ridge=np.inf).fit(X[order], y[order])
    assert angle(one, other) < 0.1
    assert one.result_.starts == other.result_.starts
