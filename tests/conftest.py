"""What all tests share."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale


@pytest.fixture
def rng():
    """A random generator that starts at the same place in every test."""
    return np.random.default_rng(20200807)


@pytest.fixture(scope="session")
def wine():
    """178 samples of 13 standardised features, three classes."""
    X, y = load_wine(return_X_y=True)
    return scale(X), y


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items):
    """What looks at one page of the book goes to one worker, which loads the page once."""
    for item in items:
        if item.get_closest_marker("browser") and not item.get_closest_marker("xdist_group"):
            page = getattr(item, "callspec", None) and item.callspec.params.get("page")
            item.add_marker(pytest.mark.xdist_group(page or item.name))
