"""How many components: the rule of one standard error, patience, and folds."""

import warnings

import numpy as np
import pytest
from library.problems import told_to_stop
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from ismlit import ResponseIKDR, SupervisedIKDR
from ismlit.estimators import components, conditional
from ismlit.estimators.components import fewest_within_one_error, is_past_the_best

SPREAD = [0.6, 0.8, 0.6, 0.8]  # 0.7, of which one error is 0.2 / sqrt(3) / 2 = 0.0577


@pytest.mark.parametrize(
    ("scores", "fewest"),
    [
        ([[0.4, 0.5]], 1),
        ([[0.6424] * 4, SPREAD], 1),  # ddof=0 would make it 2
        ([[0.6422] * 4, SPREAD], 2),  # without the root of the folds 1
        ([[0.5] * 4, [0.643] * 4, SPREAD, [0.69] * 4], 2),
        ([[0.0, 1.0, 0.0, 1.0], [0.7] * 4], 2),  # the error is that of the best
        ([[0.5] * 4, [0.7] * 4, [0.7] * 4], 2),  # of equal ones the first
        ([[0.5] * 4, [0.5, 0.5, 0.5, 1.5]], 1),  # 0.75 less 0.25: a tie is within
        ([[0.4999] * 4, [0.5, 0.5, 0.5, 1.5]], 2),
        ([[0.401] * 9, [0.2, 0.8] * 4 + [0.5]], 1),  # nine folds: 0.5 less 0.3 / 3
        ([[0.399] * 9, [0.2, 0.8] * 4 + [0.5]], 2),
        ([[-3.0, -1.0], [-0.9, -0.9]], 2),
    ],
)
def test_the_fewest_components_within_one_standard_error_of_the_best(scores, fewest):
    assert fewest_within_one_error(scores) == fewest


@pytest.mark.parametrize(
    ("means", "is_past"),
    [
        ([0.5], False),
        ([0.6, 0.5], False),
        ([0.6, 0.5, 0.4], True),
        ([0.6, 0.5, 0.7], False),
        ([0.6, 0.6, 0.6], True),  # no higher
        ([0.5, 0.6, 0.6], False),
        ([0.5, 0.6, 0.4, 0.6], True),
        ([0.5, 0.4, 0.6, 0.5, 0.7, 0.6], False),  # failures in a row, and not in all
    ],
)
def test_patience_ends_after_two_dimensions_without_a_higher_score(means, is_past):
    assert is_past_the_best([[mean - 0.1, mean + 0.1] for mean in means]) is is_past


@pytest.mark.parametrize(
    ("means", "tried", "chosen"),
    [
        ([0.5, 0.4, 0.6, 0.55, 0.55, 0.9, 0.9, 0.9], 5, 3),
        ([0.5, 0.4, 0.3, 0.9, 0.9, 0.9, 0.9, 0.9], 3, 1),
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8], 8, 8),
    ],
)
def test_auto_tries_dimensions_by_these_two_rules(means, tried, chosen, rng, monkeypatch):
    monkeypatch.setattr(components, "_score", lambda twin, *rest: means[twin.n_components - 1])
    X, y = rng.standard_normal((60, 8)), np.arange(60) % 2
    model = SupervisedIKDR("auto", init="taylor", ridge=np.inf).fit(X, y)
    assert model.component_scores_.shape == (tried, 5)
    assert model.n_components_ == model.W_.shape[1] == chosen


def test_auto_tries_no_more_than_ten_components(rng, monkeypatch):
    monkeypatch.setattr(components, "_score", lambda twin, *rest: float(twin.n_components))
    model = SupervisedIKDR("auto", init="taylor", ridge=np.inf).fit(
        rng.standard_normal((40, 12)), [0, 1] * 20
    )
    assert model.n_components_ == 10


@pytest.mark.parametrize(("rarest", "folds"), [(2, 2), (4, 4), (5, 5), (20, 5)])
def test_auto_holds_out_rows_of_every_class(rarest, folds, rng, monkeypatch):
    """As many folds as the rarest class has rows, at most five; with each row in one of them."""
    held_out = []
    monkeypatch.setattr(
        components, "_score", lambda *given: held_out.append(given[-1]) or len(held_out) * 0.0
    )
    y = np.repeat([0, 1, 2], [25, 30, rarest])
    SupervisedIKDR("auto", init="taylor", ridge=np.inf).fit(rng.standard_normal((len(y), 3)), y)
    first = held_out[:folds]
    assert len(held_out) == 3 * folds  # three dimensions, of equal scores
    assert sorted(np.concatenate(first)) == list(range(len(y)))
    assert all(set(y[rows]) == {0, 1, 2} for rows in first)


def test_auto_refuses_what_its_folds_cannot_score(rng):
    X = rng.standard_normal((30, 4))
    y = np.array(["often"] * 20 + ["too"] * 9 + ["once"])
    with pytest.raises(ValueError, match="needs two rows, and class once has one: leave it out"):
        SupervisedIKDR("auto", ridge=np.inf).fit(X, y)
    weights = np.r_[np.zeros(8), np.ones(22)]  # a row of weight 0 is none
    with pytest.raises(ValueError, match="class 1 has one"):
        SupervisedIKDR("auto", ridge=np.inf).fit(X, 1 * (np.arange(30) < 9), sample_weight=weights)
    for n in (4, 9):
        with pytest.raises(ValueError, match=f"needs 10 rows, and there are {n}: give a number"):
            ResponseIKDR("auto", ridge=np.inf).fit(X[:n], X[:n, 0])
    assert (
        ResponseIKDR("auto", n_slices=3, ridge=np.inf)
        .fit(X[:10], X[:10, 0])
        .component_scores_.shape[1]
        == 5
    )


KINDS = {
    "labels": (SupervisedIKDR, StratifiedKFold, KNeighborsClassifier(5)),
    "response": (ResponseIKDR, KFold, KNeighborsRegressor(5)),
}


def given(name, rng, n=60):
    X = rng.standard_normal((n, 3))
    y = X[:, 0] + X[:, 1] ** 2
    return X, (y > 0.5) * 1 if name == "labels" else y, rng.uniform(0.3, 2, n)


@pytest.mark.parametrize("name", KINDS)
def test_scores_of_components_are_those_of_five_shuffled_folds(name, rng):
    """Fitted to the others and scored on the fold, each with the weights of its rows."""
    kind, folds, _ = KINDS[name]
    X, y, w = given(name, rng)
    model = kind("auto", init="taylor").fit(X, y, sample_weight=w)
    cuts = list(folds(5, shuffle=True, random_state=0).split(X, y))
    expected = [
        [kind(q, init="taylor").fit(X[a], y[a], w[a]).score(X[b], y[b], w[b]) for a, b in cuts]
        for q in range(1, 1 + len(model.component_scores_))
    ]
    assert_allclose(model.component_scores_, expected, rtol=1e-10)
    assert len(expected) > 1


@pytest.mark.parametrize("name", KINDS)
def test_scores_of_ridges_are_those_of_neighbours_on_three_shuffled_folds(name, rng, monkeypatch):
    """Of five neighbours in planes that are found on the other rows, with the weights of each."""
    kind, folds, judge = KINDS[name]
    X, y, w = given(name, rng)
    planes, asked = [np.eye(3)[:, :1], np.eye(3)[:, 1:2]], []

    def of_rows(model, rows, target, weight, kernel, q):
        asked.append((len(rows), weight.sum(), q))
        return planes

    monkeypatch.setattr(conditional, "_planes", of_rows)
    model = kind(1, init="taylor", ridge="auto").fit(X, y, sample_weight=w)
    cuts = list(folds(3, shuffle=True, random_state=0).split(X, y))
    expected = [
        [judge.fit(X[a] @ W, y[a]).score(X[b] @ W, y[b], w[b]) for a, b in cuts] for W in planes
    ]
    assert_allclose(model.ridge_scores_, expected, rtol=1e-10)
    assert_allclose(asked, [(len(a), w[a].sum(), 1) for a, _ in cuts])


def test_ridges_are_tried_with_the_number_of_components_that_was_chosen(rng, monkeypatch):
    """So that it is chosen once: three numbers of components, five folds each."""
    tried = []
    monkeypatch.setattr(
        components, "_score", lambda twin, *rest: tried.append(twin.n_components) or 0.5
    )
    X, y, _ = given("labels", rng)
    model = SupervisedIKDR("auto", init="taylor", ridge="auto").fit(X, y)
    assert model.n_components_ == 1 and model.ridge_scores_.shape == (2, 3)
    assert tried == [1] * 5 + [2] * 5 + [3] * 5


@pytest.mark.parametrize(("ridge", "scored"), [(0.01, 0.01), (np.inf, np.inf), ("auto", np.inf)])
def test_numbers_of_components_are_scored_with_the_ridge_or_before_it_is_chosen(
    ridge, scored, rng, monkeypatch
):
    seen = set()
    monkeypatch.setattr(components, "_score", lambda twin, *rest: seen.add(twin.ridge) or 0.5)
    X, y, _ = given("labels", rng)
    SupervisedIKDR("auto", init="taylor", ridge=ridge).fit(X, y)
    assert seen == {scored}


@pytest.mark.parametrize("auto", [dict(n_components="auto"), dict(ridge="auto")])
def test_what_is_tried_warns_of_nothing_and_is_seen_by_its_score(auto, rng, capsys):
    """One fit is seen step by step: that with what has been chosen."""
    X, y, _ = given("labels", rng)
    said, calls = [], []

    def seen(**options):
        calls.clear()
        how = dict(init="taylor", max_iter=1, tol=1e-9, verbose=True, callback=calls.append)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = SupervisedIKDR(**how | options).fit(X, y)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == len(calls)
        steps = [at.J for at in calls if at.stage == "step"]
        said.append((steps, [str(one.message) for one in caught], lines[-len(steps) :]))
        return model

    model = seen(**auto)
    scored = [at for at in calls if at.stage != "step"]
    scores = model.component_scores_ if "n_components" in auto else np.empty((0, 5))
    assert_allclose([at.J for at in scored], scores.ravel())
    sizes = [at.W.shape[1] for at in scored]
    assert sizes == [q for q in range(1, 1 + len(scores)) for _ in range(5)]
    folds = [1, 2, 3, 4, 5] * len(scores)
    stages = [f"n_components = {q}, fold {k} of 5" for q, k in zip(sizes, folds)]
    assert [at.stage for at in scored] == stages
    seen(n_components=model.n_components_, ridge=model.ridge_)
    assert said[0] == said[1] and min(map(len, said[0][1:])) > 0


def test_no_more_components_are_tried_than_every_fold_has_directions(rng, monkeypatch):
    """A column that varies in one row is constant in the fold that holds it out."""
    monkeypatch.setattr(components, "_score", lambda twin, *rest: float(twin.n_components))
    X, y = rng.standard_normal((40, 4)), np.arange(40) % 2
    fit = lambda X: SupervisedIKDR("auto", init="taylor", ridge=np.inf).fit(X, y).n_components_
    assert fit(X) == 4
    assert fit(X * [1, 1, 1, 0]) == 3
    X[:, 3] = np.arange(40) == 7
    assert fit(X) == 3


def test_the_number_of_components_is_found_by_rows_held_out():
    """Four quadrants lie in a plane, two halves on a line; of noise one column is enough."""
    X = np.random.default_rng(1).standard_normal((160, 6))
    halves = (X[:, 0] > 0).astype(int)
    for y, wanted in ((halves, 1), (halves + 2 * (X[:, 1] > 0), 2)):
        model = SupervisedIKDR("auto", ridge=np.inf, tol=1e-3).fit(X, y)
        assert model.n_components_ == model.W_.shape[1] == wanted
        means = model.component_scores_.mean(axis=1)
        best = means.argmax()
        error = model.component_scores_[best].std(ddof=1) / np.sqrt(5)
        within = [q + 1 for q, mean in enumerate(means) if mean >= means[best] - error]
        assert wanted == min(within)
    response = ResponseIKDR("auto", init="taylor", ridge=np.inf).fit(
        X, X[:, 0] + 0.1 * X[:, 1] ** 2
    )
    assert response.n_components_ == 1 and response.component_scores_.shape[1] == 5


@pytest.mark.parametrize(("call", "q"), [(2, 1), (7, 1), (15, 2)])
def test_callback_stops_the_search_which_takes_what_is_scored(call, q, wine):
    """Of 1, 2, ... components with five scores each; then the first start is the answer."""
    model, told = told_to_stop(SupervisedIKDR("auto", tol=1e-3), call, *wine)
    assert len(told) == call and told[-1].stage.startswith("n_components = ")
    assert len(model.component_scores_) == call // 5 and model.n_components_ == q
    assert model.result_.starts.tried == 1 and not model.converged_
