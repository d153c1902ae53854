"""Rows that count unequally: a weight of 2 is two rows, one of 0 none."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ismlit import (
    ResponseIKDR,
    SupervisedIKDR,
    label_gamma,
    median_distance,
    normalized_hsic,
    response_gamma,
)
from ismlit.estimators.weights import agreement, row_weights
from ismlit.geometry.frames import projector_distance
from ismlit.targets import slice_starts


@pytest.fixture
def rows(rng):
    X, w = rng.standard_normal((60, 4)), rng.integers(0, 4, 60)
    X[:, 0] += np.arange(60) % 3
    return X, np.arange(60) % 3, w


def centring(n):
    return np.eye(n) - np.ones((n, n)) / n


@pytest.mark.parametrize("balanced", [False, True])
def test_gamma_of_weights_adds_up_that_of_repeated_rows(balanced):
    y, w = np.array([0, 1, 1, 2, 0]), np.array([1, 3, 2, 1, 2])
    repeated = np.repeat(np.arange(5), w)
    Y, H = np.eye(3)[y[repeated]], centring(w.sum())
    middle = np.diag(1 / Y.sum(axis=0)) if balanced else np.eye(3)
    dense = H @ Y @ middle @ Y.T @ H
    expected = np.array(
        [[dense[np.ix_(repeated == i, repeated == j)].sum() for j in range(5)] for i in range(5)]
    )
    assert_allclose(label_gamma(y, balanced, w).to_dense(), expected, atol=1e-12)


def test_gamma_of_a_response_is_that_of_its_kernel(rng):
    y = rng.standard_normal((40, 2))
    K = np.exp(-np.sum((y[:, None] - y) ** 2, axis=2) / (2 * 0.8**2))
    expected = centring(40) @ K @ centring(40)
    found = response_gamma(y, 0.8, tol=1e-10).to_dense()
    assert_allclose(found, expected, atol=1e-6)
    rough = response_gamma(y, 0.8)
    assert rough.F.shape[1] < 40 and np.linalg.norm(rough.to_dense() - expected, 2) <= (
        1.001e-3 * np.linalg.norm(expected, 2)
    )


def test_the_median_distance_counts_pairs_by_their_weights(rows):
    X, _, w = rows
    repeated = np.repeat(np.arange(60), w)
    kept = w > 0
    found = median_distance(X[kept], sample_weight=w[kept])
    assert found == pytest.approx(median_distance(X[repeated]), rel=1e-12)
    assert median_distance(X, sample_weight=np.full(60, 0.3)) == pytest.approx(median_distance(X))


def test_slices_hold_equal_weight(rng):
    y, w = rng.standard_normal(50).round(1), rng.integers(1, 5, 50)
    for n_slices in (2, 5, 10, 40):
        assert_allclose(slice_starts(y, n_slices, w), slice_starts(np.repeat(y, w), n_slices))


MODELS = {
    "labels": SupervisedIKDR(2, init="taylor", ridge=np.inf),
    "size": SupervisedIKDR(2, init="taylor", class_weight="size", ridge=np.inf),
    "class_weight": SupervisedIKDR(2, init="taylor", class_weight="balanced", ridge=np.inf),
    "slices": ResponseIKDR(2, init="taylor", n_slices=4, ridge=np.inf),
    "no slices": ResponseIKDR(2, init="taylor", n_slices=None, ridge=np.inf),
    "two responses": ResponseIKDR(2, init="taylor", n_slices=4, ridge=np.inf),
    "two without slices": ResponseIKDR(2, init="taylor", n_slices=None, ridge=np.inf),
}


def target(name, X, y):
    if name in ("labels", "size", "class_weight"):
        return y
    r = y + X[:, 1] ** 2
    return np.column_stack([r, X[:, 2]]) if "two" in name else r


@pytest.mark.filterwarnings("ignore:component_gains_:UserWarning")
@pytest.mark.parametrize("name", MODELS)
def test_whole_weights_are_rows_repeated(name, rows):
    X, y, w = rows
    y, repeated = target(name, X, y), np.repeat(np.arange(60), w)
    model = clone(MODELS[name]).fit(X, y, sample_weight=w)
    twin = clone(MODELS[name]).fit(X[repeated], y[repeated])
    assert model.kernel_.sigma == pytest.approx(twin.kernel_.sigma, rel=1e-10)
    assert model.result_.objective == pytest.approx(twin.result_.objective, rel=1e-8)
    assert_allclose(model.mean_, twin.mean_, atol=1e-12)
    assert_allclose(model.W_, twin.W_, atol=1e-3)
    assert_allclose(model.dependence_ratio_, twin.dependence_ratio_, atol=1e-5)
    assert_allclose(model.feature_importances_, twin.feature_importances_, atol=1e-4)
    score = model.score(X, y, sample_weight=w)
    assert score == pytest.approx(twin.score(X[repeated], y[repeated]), abs=1e-6)
    assert projector_distance(clone(MODELS[name]).fit(X, y).W_, model.W_) > 1e-2


def test_class_weights_multiply_and_balance(rows):
    X, y, _ = rows
    X, y = X[: 40 + 4], np.where(np.arange(44) < 40, y[:44] % 2, 2)
    model = SupervisedIKDR(2, init="taylor", ridge=np.inf)
    given = model.set_params(class_weight={2: 5.0}).fit(X, y).W_
    by_rows = model.set_params(class_weight=None).fit(X, y, np.where(y == 2, 5.0, 1.0)).W_
    assert_allclose(given, by_rows)
    counts = np.bincount(y)
    balanced = model.set_params(class_weight="balanced").fit(X, y).W_
    by_counts = model.set_params(class_weight=None).fit(X, y, (44 / 3 / counts)[y]).W_
    assert_allclose(balanced, by_counts)


def test_weights_go_through_a_pipeline_and_a_search(rows):
    X, y, w = rows
    with config_context(enable_metadata_routing=True):
        model = SupervisedIKDR(2, init="taylor", ridge=np.inf).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        pipe = make_pipeline(scaler, model)
        found = cross_validate(pipe, X, y, params={"sample_weight": w + 1.0})["test_score"]
        assert ((found > 0) & (found < 1)).all()
        fitted = pipe.fit(X, y, sample_weight=w + 1.0)[-1]
    seen = StandardScaler().fit_transform(X, sample_weight=w + 1.0)
    assert_allclose(
        fitted.W_, SupervisedIKDR(2, init="taylor", ridge=np.inf).fit(seen, y, w + 1.0).W_
    )


def test_random_features_take_the_weights_of_classes(rng, monkeypatch):
    X, y = rng.standard_normal((400, 3)), np.repeat([0, 1, 2], [300, 80, 20])
    X[:, 0] += y
    X[:, 1] += y == 2
    exact = SupervisedIKDR(2, init="taylor", class_weight="balanced", ridge=np.inf).fit(X, y)
    model = SupervisedIKDR(2, init="taylor", class_weight="balanced", random_features=256)
    assert projector_distance(model.fit(X, y).W_, exact.W_) < 0.1
    monkeypatch.setattr("ismlit.objectives.features.MOST_CLASSES", 399)
    with pytest.raises(ValueError, match=r"at most 399 distinct rows of F.*round the weights"):
        model.fit(X, y, sample_weight=rng.uniform(1, 2, 400))


@pytest.mark.parametrize(
    ("options", "weight", "words"),
    [
        ({}, -1.0, "must be at least 0, got -1 for row 3"),
        ({}, np.nan, "NaN"),
        ({}, "none", "at least one non-zero"),
        (dict(class_weight={0: -1.0}), 1.0, "class_weight must be above 0"),
        (dict(class_weight="even"), 1.0, "class_weight of SupervisedIKDR must be"),
    ],
)
def test_bad_weights_are_refused(options, weight, words, rows):
    X, y, _ = rows
    w = np.zeros(60) if isinstance(weight, str) else np.where(np.arange(60) == 3, weight, 1.0)
    with pytest.raises(ValueError, match=words):
        SupervisedIKDR(2, **options, ridge=np.inf).fit(X, y, sample_weight=w)


BALANCED = "balanced"


@pytest.mark.parametrize(
    ("sample_weight", "class_weight", "labels", "expected"),
    [
        (None, None, "aab", None),
        ([1, 2, 0], None, "aab", [1, 2, 0]),
        (0.5, None, "aab", [0.5, 0.5, 0.5]),
        (None, {"b": 3.0}, "aab", [1, 1, 3]),
        (None, {"a": 2.0, "b": 0.5}, "aab", [2, 2, 0.5]),
        ([1, 2, 4], {"a": 2.0, "b": 0.5}, "aab", [2, 4, 2]),
        (None, BALANCED, "aab", [0.75, 0.75, 1.5]),
        ([1, 2, 3], BALANCED, "aab", [1, 2, 3]),  # they are
        ([1, 3, 2], BALANCED, "aab", [0.75, 2.25, 3]),
        ([1, 3, 2, 0], BALANCED, "aabc", [0.75, 2.25, 3, 0]),  # a class of weight 0 is none
        ([0, 4, 2, 0, 3], BALANCED, "aabca", [0, 18 / 7, 4.5, 0, 13.5 / 7]),
        ([2, 2, 0], BALANCED, "aab", [2, 2, 0]),
        ([0.1, 0.1, 0.4], BALANCED, "aab", [0.15, 0.15, 0.3]),
    ],
)
def test_the_weight_of_a_row_is_its_own_times_that_of_its_class(
    sample_weight, class_weight, labels, expected
):
    y = np.array([*labels])
    found = row_weights(sample_weight, class_weight, np.zeros((len(y), 1)), y)
    if expected is None:
        assert found is None
    else:
        assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("sample_weight", "class_weight", "words"),
    [
        ([1, -0.5, 1, 1], None, "must be at least 0, got -0.5 for row 1"),
        ([1, -0.5, -3, 1], None, "must be at least 0, got -0.5 for row 1"),
        ([1, 1, 1, -2], {0: 1.0}, "must be at least 0, got -2 for row 3"),
        ([1, np.nan, 1, 1], None, "sample_weight contains NaN"),
        ([1, np.inf, 1, 1], None, "sample_weight contains infinity"),
        ([0, 0, 0, 5], None, "above 0 for at least two rows"),
        ([1, 1, 1], None, r"sample_weight.shape == \(3,\)"),
        (None, {0: 0.0}, "class_weight must be above 0 for every class, got {0: 0.0}"),
        (None, {1: -1.0}, "class_weight must be above 0"),
        (None, {1: np.nan}, "class_weight must be above 0"),
        (None, {1: np.inf}, "class_weight must be above 0"),
        (None, {7: 2.0}, "not in class_weight"),
    ],
)
def test_weights_of_rows_and_of_classes_that_break_a_rule_are_refused(
    sample_weight, class_weight, words
):
    with pytest.raises(ValueError, match=words):
        row_weights(sample_weight, class_weight, np.zeros((4, 1)), np.array([0, 0, 1, 1]))


def test_weights_in_single_precision_are_taken_in_double():
    w = np.array([0.1, 2.0, 0.3], dtype=np.float32)
    found = row_weights(w, None, np.zeros((3, 1), np.float32), np.arange(3))
    assert found.dtype == np.float64 and np.array_equal(found, w)


def test_the_agreement_of_rows_with_weights_is_that_of_repeated_rows(rows, rng):
    """And 0 where one matrix is constant, or the other, or both."""
    X, y, w = rows
    K, L, flat = X @ X.T, (y[:, None] == y) * 1.0, np.full((60, 60), 0.3)
    again = np.ix_(*[np.repeat(np.arange(60), w)] * 2)
    assert agreement(K, L, w) == pytest.approx(normalized_hsic(K[again], L[again]))
    assert agreement(K, L, 0.1 * w) == pytest.approx(agreement(K, L, w))
    for one, other in ((K, flat), (flat, L), (flat, flat)):
        assert agreement(one, other, rng.uniform(0.1, 2, 60)) == 0.0


def test_weights_are_not_written_into_the_caller_s_array():
    w, y = np.array([1.0, 2.0, 3.0, 0.0]), np.array([0, 0, 1, 1])
    for class_weight in (None, "balanced", {0: 5.0}):
        row_weights(w, class_weight, np.zeros((4, 1)), y)
        assert w.tolist() == [1, 2, 3, 0]


# ---------------------------------------------------------------- responses


def test_two_responses_share_a_plane(rng):
    X = rng.standard_normal((300, 6))
    Y = np.column_stack([X[:, 0] ** 2, 100 * X[:, 3]])
    for n_slices in (10, None):
        model = ResponseIKDR(2, n_slices=n_slices, ridge=np.inf).fit(X, Y)
        assert projector_distance(model.W_, np.eye(6)[:, [0, 3]]) < 0.3
        assert model.score(X, Y) > model.score(X, rng.permutation(Y)) + 0.1
    with pytest.raises(ValueError, match="column 1 of y is constant"):
        ResponseIKDR(2, ridge=np.inf).fit(X, np.column_stack([X[:, 0], np.ones(300)]))


def test_searches_know_whether_their_folds_hold_every_class(wine):
    X, y = wine
    model = SupervisedIKDR(2, init="taylor", ridge=np.inf).fit(X[:130], y[:130])
    with pytest.warns(UserWarning, match=r"hold class 2, which was not fitted.*StratifiedKFold"):
        model.score(X[130:], y[130:])
    with pytest.warns(UserWarning, match="hold only 0"):
        assert model.score(X[:20], y[:20]) == 0.0
