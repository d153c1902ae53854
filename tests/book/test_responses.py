"""Directions for a response: the rivals, and what is stored of the public sets."""

import numpy as np
import pytest
from ismlit_book import loaders, results
from ismlit_book.experiments import responses


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
