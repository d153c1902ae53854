""""""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.preprocessing import scale

from ismlit import datasets
from ismlit.estimators.network.classifier import KernelDependenceNetwork
from ismlit.estimators.network.growth import Candidate, Growth, Plan, follow, grow
from ismlit.estimators.network.layers import Centred, Recipe
from ismlit.estimators.network.ridge import (
    RowsLayerSolver,
    hold_out,
    spread_rows,
)
from ismlit.grams import gram


@pytest.fixture
def spiral():
    """Three arms in the plane of the first two columns; ten more columns are noise."""
    X, y = datasets.make_spiral(450, random_state=0)
    return np.hstack([scale(X), np.random.default_rng(0).standard_normal((450, 10))]), y


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_spread_over_classes_and_their_order(seed):
    rng = np.random.default_rng(seed)
    index = np.r_[0, 1, 2, rng.integers(0, 3, rng.integers(20, 90))]
    most = rng.integers(6, len(index))
    rows = spread_rows(index, most)
    assert np.array_equal(rows, np.unique(rows)) and abs(len(rows) - most) <= 6
    for k in range(3):
        own = np.flatnonzero(index == k)
        taken = np.searchsorted(own, rows[index[rows] == k])
        share = len(taken) / len(own)
        assert len(taken) >= min(2, len(own)) and abs(len(taken) - share * len(own)) < 1
        if len(taken) > 2:  # evenly: neighbours are as far apart as any, to one row
            assert np.ptp(np.diff(taken)) <= 1


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5, 0.9])
def test_every_class_is_held_out_and_kept(share):
    index = np.repeat([0, 1, 2, 3], [1, 2, 10, 40])
    held = hold_out(index, share)
    counts = np.bincount(index[held], minlength=4)
    assert counts[0] == 0 and counts[1] == 1
    assert abs(counts[2] - 10 * share) <= 0.5 and abs(counts[3] - 40 * share) <= 0.5
    assert set(index[~held]) == {0, 1, 2, 3}


class Scripted(Growth):
    """A search whose networks have scores that are given, ridge by ridge."""

    def __init__(self, scores, max_layers=2):
        self.scores, self.max_layers, self.tried = iter(scores), max_layers, []

    def space(self, below):
        return None

    def further(self, below, space, ridge):
        self.tried.append(ridge)
        return Candidate(Plan(False, ridge, 2), None, None, None, next(self.scores), 1.0)


@pytest.mark.parametrize(
    ("scores", "tried", "best"),
    [
        ([1, 0, 0, 9], 3, 1),  # two failures in a row end it
        ([1, 0, 2, 0, 3, 0, 0, 9], 7, 3),  # one failure between gains is forgotten
        ([1, 0, 2, 0, 0, 9], 5, 2),
        ([1, 2, 3, 4], 4, 4),
        ([-1, -1, -1, -1, 1, 0, 0, 9], 7, 1),  # none counts before the first gain
        ([-1, -1, -1], 3, 0),  # the first layer alone
        ([1, 1.005, 1.009, 9], 3, 1),  # a gain of less than 0.01 is a failure
    ],
)
def test_patience_counts_failures_in_a_row(scores, tried, best):
    first = Candidate(Plan(False), None, None, None, 0.0, 1.0)
    growth = Scripted(scores)
    found = growth.ridge_search(first, range(len(scores)))
    assert growth.tried == [*range(tried)]
    assert found.score == best and (found is first) == (best == 0)


def test_one_layer_tries_no_ridge():
    first = Candidate(Plan(False), None, None, None, 0.0, 1.0)
    growth = Scripted([1], max_layers=1)
    assert growth.ridge_search(first, [0.1]) is first and growth.tried == []


def test_noise_is_projected_away_where_that_helps(spiral):
    X, y = spiral
    network = KernelDependenceNetwork().fit(X[::2], y[::2])
    assert network.layers_[0].W.shape[1] == 3 and network.score(X[1::2], y[1::2]) > 0.9
    assert np.linalg.norm(network.layers_[0].W[:2]) ** 2 > 1.9  # both columns that matter
    plane = KernelDependenceNetwork().fit(X[::2, :2], y[::2])
    assert plane.layers_[0].W.shape[1] == 2  # there is nothing to leave out


def test_labels_without_meaning_end_the_growth_early():
    """The thesis's rule fits them; rows held out do not."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 5)), rng.integers(0, 2, 200)
    network = KernelDependenceNetwork().fit(X, y)
    assert abs(network.validation_score_ - 0.5) < 0.2
    fitted = KernelDependenceNetwork(early_stopping=False).fit(X, y)
    assert fitted.history_["agreement"][-1] > 0.99 > network.history_["agreement"][-1]


def test_the_accuracy_is_that_of_rows_not_trained_on(spiral):
    """The plan on the other rows alone, and the nearest class mean by sums, give it again."""
    X, y = spiral
    X, recipe, ridges = X - X.mean(axis=0), Recipe(), [0.1, 1e-3]
    features, rng = Centred(np.zeros(12)), np.random.RandomState(0)
    _, _, _, plan, scores, _ = grow(X, y, features, recipe, ridges, 4, 0.2, rng)
    held = hold_out(y, 0.2)
    part = RowsLayerSolver(y[~held], recipe, rng, range(5))
    layers, Z = follow(plan, part, X[~held], features, 3)
    T = X[held]
    for layer in layers:
        T = layer(T)
    K, known = gram(layers[-1].kernel, T, X2=Z), y[~held]
    length = {c: np.sqrt(gram(layers[-1].kernel, Z[known == c]).mean()) for c in range(3)}
    cosines = np.column_stack([K[:, known == c].mean(axis=1) / length[c] for c in range(3)])
    right = cosines.argmax(axis=1) == y[held]
    recall = np.mean([right[y[held] == c].mean() for c in range(3)])  # classes count alike
    assert np.isclose(scores[0], recall) and recall < 1
    assert np.isclose(scores[1], 1 / 3)


def test_one_layer_and_classes_of_one_row(rng):
    X, y = rng.standard_normal((30, 3)), np.arange(30) % 2
    with pytest.warns() as seen:
        network = KernelDependenceNetwork(max_layers=1).fit(X, y)
    said = " ".join(str(warning.message) for warning in seen)
    assert "max_layers = 1" in said and "no better" in said  # the labels have nothing to do with X
    assert len(network.layers_) == 1 and network.ridge_ is None and not network.converged_
    each = KernelDependenceNetwork().fit(X[:4], [0, 1, 2, 3])
    assert each.validation_score_ is None and each.score(X[:4], [0, 1, 2, 3]) == 1


def test_a_width_asked_for_is_that_of_the_first_layer(spiral):
    X, y = spiral
    network = KernelDependenceNetwork(n_components=2).fit(X, y)
    assert network.layers_[0].W.shape == (12, 2)
    assert_allclose(network.layers_[0].W.T @ network.layers_[0].W, np.eye(2), atol=1e-10)
