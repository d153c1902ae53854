"""What is drawn, read off the axes."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import Bunch

from ismlit import SupervisedIKDR, bootstrap_importances
from ismlit.plot import plot_importances, plot_projection

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


def drawn(ax, label):
    """The points of a legend's entry, those laid over them included, and their colours."""
    (first,) = [d for d in ax.collections if d.get_label() == label]
    colour = tuple(first.get_facecolor()[0][:3])
    same = [d for d in ax.collections if tuple(d.get_facecolor()[0][:3]) == colour]
    return np.vstack([d.get_offsets() for d in same]), colour


def gaps(kind, codes, missing):
    """Three classes (n,) of some kind, with gaps where they are missing."""
    words = np.array(["low", "mid", "top"])[codes]
    return {
        "None": lambda: np.where(missing, None, words.astype(object)),
        "nan": lambda: np.where(missing, np.nan, codes),
        "NA": lambda: pd.Series(codes, dtype="Int64").mask(missing),
        "string": lambda: pd.Series(words, dtype="string").mask(missing),
        "category": lambda: pd.Categorical(pd.Series(words).mask(missing)),
        "boolean": lambda: pd.Series(codes % 2 == 1, dtype="boolean").mask(missing),
        "NaT": lambda: np.where(missing, np.datetime64("NaT"), np.datetime64("2020-01-01") + codes),
    }[kind]()


@pytest.mark.parametrize("kind", ["None", "nan", "NA", "string", "category", "boolean", "NaT"])
def test_rows_without_a_label_are_grey_and_the_others_as_before(kind, points):
    Z, codes = points
    missing = np.arange(60) % 7 == 2
    y = gaps(kind, codes, missing)
    ax = plot_projection(Z, y, held_out=(Z + 9, y))
    *labels, unknown, last = ax.get_legend_handles_labels()[1]
    assert (unknown, last) == ("unknown", "held out")
    if kind in ("None", "string", "category"):
        assert labels == ["low", "mid", "top"]
    assert len(labels) == (2 if kind == "boolean" else 3)
    found, grey = drawn(ax, "unknown")
    assert np.array_equal(found, np.vstack([Z[missing], Z[missing] + 9])) and len(set(grey)) == 1
    plain = plot_projection(Z[~missing], np.asarray(y)[~missing])
    for label in labels:
        points_of, colour = drawn(ax, label)
        expected, same_colour = drawn(plain, label)
        assert np.array_equal(points_of, np.vstack([expected, expected + 9]))
        assert colour == same_colour


def test_numbers_with_gaps_keep_their_scale(points):
    Z, missing = points[0], np.arange(60) % 5 == 1
    for y in (
        np.where(missing, np.nan, -np.arange(60) / 7),
        np.where(missing, None, 5 + np.arange(60) / 7),
        pd.Series(np.arange(60) - 30, dtype="Int64").mask(missing),
    ):
        ax = plot_projection(Z, y)
        known, unknown = ax.collections
        values = np.array([float(value) for value in np.asarray(y)[~missing]])
        assert np.array_equal(known.get_array(), values)
        assert known.get_clim() == (values.min(), values.max())
        assert np.array_equal(unknown.get_offsets(), Z[missing])
        assert ax.get_legend_handles_labels()[1] == ["unknown"] and len(ax.figure.axes) == 2
    nothing = plot_projection(Z, np.full(60, np.nan))
    assert np.array_equal(drawn(nothing, "unknown")[0], Z)
    late = plot_projection(Z, points[1], held_out=(Z[:4], [0, None, None, 1]))
    assert np.array_equal(drawn(late, "unknown")[0], Z[1:3])


@pytest.mark.parametrize("fitted", [np.array([3, 4, 5]), np.array([True, False, True])])
def test_labels_of_two_kinds_are_drawn_as_words(fitted, points):
    Z, codes = points
    for words in (np.array(["new", "newer"]), np.array(["new", "newer"], dtype=object)):
        ax = plot_projection(Z, fitted[codes], held_out=(Z[:2] + 9, words))
        shown = sorted(set(map(str, fitted)) | {"new", "newer"})
        assert ax.get_legend_handles_labels()[1] == [*shown, "held out"]
        for value in set(fitted.tolist()):
            assert np.array_equal(drawn(ax, str(value))[0], Z[fitted[codes] == value])


def test_every_class_is_in_the_legend_and_has_a_name(points):
    Z, codes = points
    ax = plot_projection(Z, np.array(["_a", "", "b"])[codes])
    assert [text.get_text().strip() for text in ax.get_legend().get_texts()] == ["", "_a", "b"]
    assert plot_projection(Z, codes, {0: "x", 1: "_y", 2: "z", 3: "w"}).get_legend()
    with pytest.raises(ValueError, match=r"has none for 1, 2, but for \[0, 'other'\]"):
        plot_projection(Z, codes, {0: "x", "other": "y"})


def test_the_columns_drawn_are_those_that_count_most(wine):
    X, y = wine
    model = SupervisedIKDR(2, ridge=np.inf).fit(X, y)
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


def test_importances_of_a_pipeline_have_the_names_of_its_last_step(wine):
    X, y = wine
    words = [f"w{j}" for j in range(13)]
    frame, last = pd.DataFrame(X, columns=words), SupervisedIKDR(1, init="taylor", ridge=np.inf)
    turned = ColumnTransformer([("b", "passthrough", words[5:]), ("a", "passthrough", words[:5])])
    turned.set_params(verbose_feature_names_out=False)
    for steps, table in (
        ([StandardScaler(), last], frame),
        ([turned, last], frame),
        ([last], frame),
        ([turned.set_output(transform="pandas"), last], frame),
    ):
        pipe = make_pipeline(*steps).fit(table, y)
        ax = plot_importances(pipe, top=13)
        shown = {t.get_text(): b.get_width() for t, b in zip(ax.get_yticklabels(), ax.patches)}
        alone = SupervisedIKDR(1, init="taylor", ridge=np.inf).fit(X, y).feature_importances_
        assert shown == pytest.approx(dict(zip(words, alone)), rel=1e-3)
    nameless = FunctionTransformer(np.asarray)
    for steps, table in (([StandardScaler(), last], X), ([last], X), ([nameless, last], frame)):
        ax = plot_importances(make_pipeline(*steps).fit(table, y), top=2)
        assert ax.get_yticklabels()[0].get_text().startswith("column ")
    assert len(plot_importances(pipe, [*"abcdefghijklm"]).patches) == 13


def test_what_has_no_importances_is_refused_in_words(wine):
    X, y = wine
    pipe = make_pipeline(StandardScaler(), PCA(1)).fit(X, y)
    search = GridSearchCV(SupervisedIKDR(1, ridge=np.inf), {"init": ["taylor"]}, cv=FOLDS).fit(X, y)
    result = Bunch(importances_mean=np.ones(3))
    for model, name in (
        (PCA(1).fit(X, y), "PCA"),
        (pipe, "PCA"),
        (search, "GridSearchCV"),
        (result, "Bunch"),
        (["a", "b"], "list"),
    ):
        with pytest.raises(TypeError, match=f"{name} has no feature_importances_: pass an estim"):
            plot_importances(model)
    with pytest.raises(NotFittedError, match="SupervisedIKDR"):
        plot_importances(SupervisedIKDR(1, ridge=np.inf))
    for top in (-1, 0):
        with pytest.raises(ValueError, match=f"top must be at least 1.*got {top}"):
            plot_importances(np.ones(3), top=top)


def test_without_matplotlib_a_plot_says_what_to_install(monkeypatch, points):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'ismlit\[plot\]'"):
        plot_projection(*points)
