"""What all tests share."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    """A random generator that starts at the same place in every test."""
    return np.random.default_rng(20200807)
