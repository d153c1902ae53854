"""What all tests share."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    """A random generator that starts at the same place in every test."""
    return np.random.default_rng(20200807)


def pytest_collection_modifyitems(items):
    """What looks at one page of the book goes to one worker, which loads the page once."""
    for item in items:
        if item.get_closest_marker("browser"):
            page = getattr(item, "callspec", None) and item.callspec.params.get("page")
            item.add_marker(pytest.mark.xdist_group(page or item.name))
