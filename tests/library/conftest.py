"""What tests of several solvers share."""

import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from ismlit.bandwidth import median_distance
from ismlit.gamma import label_gamma
from ismlit.kernels import Gaussian


@pytest.fixture(scope="module")
def breast_cancer():
    """X, Gamma and the Gaussian kernel at the median distance."""
    bunch = load_breast_cancer()
    X, y = scale(bunch.data), bunch.target
    return X, label_gamma(y), Gaussian(median_distance(X))
