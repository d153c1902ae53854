"""The classifier of the network: weights of classes, decisions, warnings, what a callback sees."""

import numpy as np
import pytest
from sklearn.datasets import (
    make_blobs,
    make_classification,
)
from sklearn.metrics import balanced_accuracy_score
from sklearn.preprocessing import scale

from ismlit import KernelDependenceNetwork


@pytest.mark.parametrize("seed", range(4))
def test_rare_class_is_predicted(seed):
    X, y = make_classification(
        900, 20, n_informative=6, weights=[0.95], flip_y=0, random_state=seed
    )
    model = KernelDependenceNetwork().fit(scale(X)[::2], y[::2])
    found = model.predict(scale(X)[1::2])
    assert balanced_accuracy_score(y[1::2], found) > 0.55 and 1 in found
    assert model.baseline_score_ == pytest.approx(0.5)


@pytest.mark.parametrize("classes", [2, 3])
def test_decision_function_agrees_with_predict(classes):
    X, y = make_classification(120, 6, n_informative=4, n_classes=classes, random_state=0)
    model = KernelDependenceNetwork().fit(X, y)
    scores = model.decision_function(X)
    by_score = (scores > 0).astype(int) if classes == 2 else scores.argmax(axis=1)
    assert np.array_equal(model.classes_[by_score], model.predict(X))


def test_transform_keeps_float32(wine):
    X, y = wine[0].astype("float32"), wine[1]
    assert KernelDependenceNetwork().fit(X, y).transform(X).dtype == np.float32


def test_network_no_better_than_one_class_warns():
    """Its accuracy and that of one class are sums of the same numbers in another order."""
    X, y = np.random.default_rng(0).standard_normal((745, 5)), (np.arange(745) < 30).astype(int)
    with pytest.warns(UserWarning, match="no better .* than by one class for all"):
        KernelDependenceNetwork(class_weight=None).fit(X, y)


def test_equal_class_weights_change_nothing_and_unequal_ones_not_everything():
    X, y = make_blobs(600, 3, centers=3, random_state=0, cluster_std=2)
    found = {}
    for w in (None, 1, 10):
        weight = None if w is None else {0: w, 1: 1, 2: 1}
        found[w] = KernelDependenceNetwork(class_weight=weight).fit(scale(X), y).predict(scale(X))
    assert np.array_equal(found[None], found[1])
    assert (found[10] == 0).sum() > (found[1] == 0).sum()
    assert balanced_accuracy_score(y, found[10]) > 0.85


def test_callback_and_verbose_see_every_layer(wine, capsys):
    layers = []
    KernelDependenceNetwork(callback=layers.append, verbose=1).fit(*wine)
    assert len(layers) >= 2 and capsys.readouterr().out.count("Layer(width=") == len(layers)


def test_class_weight_raises_how_often_a_class_is_predicted():
    X, y = make_classification(300, 6, n_informative=3, flip_y=0.2, random_state=0)
    counts = []
    for weight in (0.5, 1.0, 2.0):
        model = KernelDependenceNetwork(class_weight={0: 1.0, 1: weight})
        counts.append(int(model.fit(X, y).predict(X).sum()))
    assert counts[0] < counts[1] < counts[2]
