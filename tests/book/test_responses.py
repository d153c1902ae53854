"""Directions for a response: the rivals, and what is stored of the public sets."""

import numpy as np
import pytest
from ismlit_book import loaders, results
from ismlit_book.experiments import responses
from ismlit_book.experiments.peers import (
    GradientKDR,
    SlicedAverageVariance,
    SlicedInverseRegression,
)
from library.problems import orthonormal

from ismlit.geometry.frames import principal_angles


def test_save_sees_a_spread_of_which_sir_sees_nothing(rng):
    """Where y is even in one direction, the slices of X differ there in their covariance alone."""
    X = rng.standard_normal((4000, 5)) @ rng.standard_normal((5, 5))
    planted = X[:, 2]
    found = {
        method: abs(np.corrcoef(method(1).fit(X, planted**2).transform(X)[:, 0], planted)[0, 1])
        for method in (SlicedAverageVariance, SlicedInverseRegression)
    }
    assert found[SlicedAverageVariance] > 0.99 > 0.7 > found[SlicedInverseRegression]


@pytest.mark.parametrize("link", [np.tanh, np.square])
def test_gradient_kdr_finds_an_index_under_either_link_and_sir_a_rising_one(link, rng):
    """Li (1991): under an even link the mean of X does not move with y."""
    X, b = rng.standard_normal((400, 5)), orthonormal(5, 1, rng)
    y = link(X @ b).ravel() + 0.1 * rng.standard_normal(400)
    angle = lambda method: np.degrees(principal_angles(method(1).fit(X, y).weights_, b).max())
    assert angle(GradientKDR) < 8
    assert (angle(SlicedInverseRegression) < 8) == (link is np.tanh)


def test_a_method_explains_what_it_can_see(monkeypatch, rng):
    import pandas as pd

    table = pd.DataFrame(rng.standard_normal((300, 4)), columns=list("abcd"))
    monkeypatch.setattr(responses, "load", lambda name: (table, table["b"].to_numpy() ** 2))
    explained = {name: responses.explained("", name)["R2"] for name in ("SAVE", "ridge")}
    assert len(explained["SAVE"]) == 5
    assert min(explained["SAVE"]) > 0.7 > 0.2 > max(explained["ridge"])


@pytest.mark.parametrize("name", responses.SETS)
def test_a_public_set_has_the_shape_that_is_stored(name):
    if not loaders.is_available(responses.SETS[name]):
        pytest.skip(f"{name} is neither in the cache nor to be fetched")
    table, y = responses.load(name)
    stored = next(row for row in results("responses") if row["set"] == name)
    assert table.shape == (stored["samples"], stored["columns"]) and len(y) == len(table)
    assert np.isfinite(y).all() and len(np.unique(y)) > 5
