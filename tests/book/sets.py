"""Skipping a test where a real data set is not to be had."""

import pytest
from ismlit_book import loaders


def needs(*names):
    """Skip the test that calls this unless all these sets are at hand."""
    for name in map(str.lower, names):
        if not loaders.is_available(name):
            pytest.skip(f"data set {name!r} is not at hand (ISMLIT_DATA)")
