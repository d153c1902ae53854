"""What all tests share. The notebook run loads it too, with ``-p tests.conftest``."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for execute_notebooks, build_book


@pytest.fixture
def rng():
    """A random generator that starts at the same place in every test."""
    return np.random.default_rng(20200807)


def pytest_collection_modifyitems(items):
    """Skip, with the reason, all cells of a notebook whose data sets cannot be had."""
    from execute_notebooks import missing_data

    reasons = {}
    for item in items:
        notebook = getattr(item.parent, "nb", None)
        if notebook is None:
            continue
        if item.parent not in reasons:
            reasons[item.parent] = missing_data(notebook)
        if missing := reasons[item.parent]:
            reason = f"{item.parent.name} needs data not available: {', '.join(missing)}"
            item.add_marker(pytest.mark.skip(reason=reason))
