"""Gram matrices."""

import pytest

from ismlit.grams import gram


def test_gram_refuses_the_name_of_a_kernel(wine):
    with pytest.raises(TypeError, match=r"such as Gaussian\(1.0\)"):
        gram("gaussian", wine[0])
