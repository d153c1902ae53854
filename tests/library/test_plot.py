"""What is drawn, read off the axes."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ismlit import SupervisedIKDR, bootstrap_importances
from ismlit.plot import plot_bandwidths, plot_importances, plot_projection

FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture
def points(rng):
    return rng.standard_normal((60, 2)), np.arange(60) % 3


def test_the_axes_given_are_the_axes_returned(points, wine):
    _, ax = plt.subplots()
    assert plot_projection(*points, ax=ax) is ax
    assert plot_importances(np.ones(3), ax=ax) is ax
    Z, y = points
    new = plot_projection(Z, y)
    assert new is not ax
    found = np.vstack([drawn.get_offsets() for drawn in new.collections])
    assert np.array_equal(found[np.lexsort(found.T)], Z[np.lexsort(Z.T)])


def test_rows_held_out_lie_over_the_others_in_the_same_colours(points):
    Z, y = points
    ax = plot_projection(Z, y, held_out=(Z[y == 1] + 9, y[y == 1]))
    over = [drawn for drawn in ax.collections if len(drawn.get_offsets()) and drawn.zorder == 3]
    assert sum(len(drawn.get_offsets()) for drawn in over) == 20
    (drawn,) = [drawn for drawn in over if len(drawn.get_offsets())]
    fitted = next(d for d in ax.collections if d.get_label() == "1")
    assert np.array_equal(drawn.get_facecolor(), fitted.get_facecolor())
    assert not np.array_equal(drawn.get_edgecolor(), fitted.get_edgecolor())
    assert ax.get_legend_handles_labels()[1] == ["0", "1", "2", "held out"]


def test_numbers_have_a_colour_bar_and_classes_a_legend(points):
    Z, _ = points
    for y in (np.linspace(0, 1, 60), np.arange(60)):
        ax = plot_projection(Z, y, held_out=(Z[:5], y[:5] + 100.0))
        assert len(ax.figure.axes) == 2 and len(ax.collections) == 3
        bounds = {drawn.get_clim() for drawn in ax.collections[:2]}  # one scale for both
        assert bounds == {(y.min(), y[4] + 100)}
    whole = plot_projection(Z, np.arange(60) % 4 * 1.0)
    assert len(whole.figure.axes) == 1 and len(whole.collections) == 4


def test_a_legend_of_many_classes_stands_beside_the_points(points):
    Z, _ = points
    ax = plot_projection(Z, np.char.add("class ", (np.arange(60) % 30).astype(str)))
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1
    assert ax.get_window_extent().width > 100
    few = plot_projection(Z, np.arange(60) % 3)
    few.figure.canvas.draw()
    lowest = few.get_legend().get_window_extent().y0
    highest = max(few.transData.transform(d.get_offsets())[:, 1].max() for d in few.collections)
    assert lowest >= highest - 5  # pixels


def test_one_component_is_drawn_and_three_are_refused(points):
    Z, y = points
    assert plot_projection(Z[:, :1], y).get_ylabel() == "(jitter)"
    assert plot_projection(Z).get_legend() is None
    with pytest.raises(ValueError, match=r"Z must have one or two columns.*\(60, 3\).*Z\[:, :2\]"):
        plot_projection(np.hstack([Z, Z[:, :1]]), y)
    with pytest.raises(ValueError, match=r"held_out must have.*\(60, 3\)"):
        plot_projection(Z, y, held_out=(np.hstack([Z, Z[:, :1]]), y))
    with pytest.raises(ValueError, match="one entry for each of 60 rows"):
        plot_projection(Z, y[:9])


def test_the_columns_drawn_are_those_that_count_most(wine):
    X, y = wine
    model = SupervisedIKDR(2).fit(X, y)
    found = bootstrap_importances(model, X, y, n_resamples=3, random_state=0)
    ax = plot_importances(model, errors=found, top=4)
    lengths = [bar.get_width() for bar in ax.patches]
    assert np.allclose(lengths, np.sort(model.feature_importances_)[-4:])
    best = model.feature_importances_.argmax()
    assert ax.get_yticklabels()[-1].get_text() == f"column {best}"
    (lines,) = [c for c in ax.collections if hasattr(c, "get_segments")]
    half = [np.ptp(segment[:, 0]) / 2 for segment in lines.get_segments()]
    assert half[-1] == pytest.approx(found.importances_std[best])
    with pytest.raises(ValueError, match="names must be one for each of 13 columns, got 2"):
        plot_importances(model, ["a", "b"])


def test_a_search_is_drawn_by_the_best_of_each_bandwidth(wine):
    X, y = wine
    pipe = make_pipeline(StandardScaler(), SupervisedIKDR(init="taylor"))
    grid = {"supervisedikdr__bandwidth_scale": [2.0, 0.5], "supervisedikdr__n_components": [1, 2]}
    search = GridSearchCV(pipe, grid, cv=FOLDS).fit(X, y)
    line = plot_bandwidths(search).lines[0]
    assert line.get_xdata().tolist() == [0.5, 2.0]
    scores = search.cv_results_["mean_test_score"].reshape(2, 2).max(axis=1)[::-1]
    assert np.allclose(line.get_ydata(), scores)
    with pytest.raises(ValueError, match=r"no bandwidth was searched, but .'n_components'"):
        plot_bandwidths(GridSearchCV(pipe[1], {"n_components": [1]}, cv=FOLDS).fit(X, y))
    by_rule = GridSearchCV(pipe[1], {"bandwidth": ["median", 2.0]}, cv=FOLDS).fit(X, y)
    with pytest.raises(ValueError, match="not all numbers: search bandwidth_scale"):
        plot_bandwidths(by_rule)


def test_a_bandwidth_is_drawn_from_a_distribution_and_can_be_read(wine):
    """In units of the median: the scale is a number in cv_results_, and multiplies the rule."""
    X, y = wine
    model = SupervisedIKDR(2, bandwidth="median", init="taylor")
    widths = {"bandwidth_scale": loguniform(1 / 16, 1)}
    search = RandomizedSearchCV(model, widths, n_iter=3, cv=FOLDS, random_state=0).fit(X, y)
    tried = search.cv_results_["param_bandwidth_scale"].astype(float)
    assert ((tried >= 1 / 16) & (tried <= 1)).all() and len(set(tried)) == 3
    whole = SupervisedIKDR(2, bandwidth="median", init="taylor").fit(X, y).kernel_.sigma
    best = search.best_estimator_.kernel_.sigma
    assert best == pytest.approx(whole * search.best_params_["bandwidth_scale"])
    local = SupervisedIKDR(1, bandwidth="self_tuning", bandwidth_scale=2.0, init="taylor")
    single = SupervisedIKDR(1, bandwidth="self_tuning", init="taylor").fit(X, y).kernel_
    assert np.allclose(local.fit(X, y).kernel_.sigmas, 2 * single.sigmas)
    with pytest.raises(ValueError, match="takes no bandwidth"):
        SupervisedIKDR(1, kernel="linear", bandwidth_scale=2.0).fit(X, y)


def test_without_matplotlib_a_plot_says_what_to_install(monkeypatch, points):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'ismlit\[plot\]'"):
        plot_projection(*points)
