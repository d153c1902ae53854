"""The examples in the library's docstrings say what comes out."""

import doctest
import importlib

import pytest
from library.test_architecture import MODULES


@pytest.mark.parametrize("module", MODULES)
def test_examples_run(module):
    found = doctest.testmod(importlib.import_module(f"ismlit.{module}"))
    assert found.failed == 0
