"""What can be told apart in the pictures."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import sklearn
from ismlit_book.figures.plots import (
    plot_history,
    plot_layers,
    plot_loadings,
    plot_projection,
)

from ismlit import KernelDependenceNetwork, SupervisedIKDR


def looks(collections):
    """Colour and shape of each."""
    return {
        (tuple(drawn.get_facecolor()[0][:3]), drawn.get_paths()[0].vertices.tobytes())
        for drawn in collections
    }


def test_ten_classes_have_ten_looks():
    """No two are drawn with the same marker in the same colour, nor two lines alike."""
    Z, y = np.random.default_rng(0).standard_normal((40, 2)), np.arange(40) % 10
    assert len(looks(plot_projection(Z, y).collections)) == 10
    results = {k: SimpleNamespace(history={"objective": np.arange(3.0)}) for k in range(10)}
    lines = plot_history(results).get_lines()
    drawn = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in lines}
    assert len(drawn) == 10
    plt.close("all")


def test_a_legend_names_the_classes_that_are_drawn():
    """By a dict in any order; a list in another order than that of the labels is refused."""
    Z, y = np.random.default_rng(0).standard_normal((6, 2)), ["warn", "ok", "fail"] * 2
    names = lambda given: plot_projection(Z, y, given).get_legend_handles_labels()[1]
    assert names(None) == names(["fail", "ok", "warn"]) == ["fail", "ok", "warn"]
    assert names({"ok": "A", "warn": "B", "fail": "C"}) == ["C", "A", "B"]
    for wrong in (["ok", "warn", "fail"], ["A", "B"]):
        with pytest.raises(ValueError, match="in their sorted order"):
            names(wrong)
    plt.close("all")


def test_plots_take_frames_and_estimators_that_give_frames(rng):
    pd = pytest.importorskip("pandas")
    X = np.vstack([rng.normal(0, 1, (20, 3)), rng.normal(4, 1, (20, 3))])
    y = np.repeat([0, 1], 20)
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    with sklearn.config_context(transform_output="pandas"):
        network = KernelDependenceNetwork().fit(frame, y)
        assert len(plot_layers(network, frame, y)) == len(network.layers_)
        model = SupervisedIKDR(2).fit(frame, y)
        assert len(plot_projection(model.transform(frame), y).collections) == 2
        assert len(plot_loadings(model.W_, frame.columns).get_yticklabels()) == 2
    plt.close("all")
