"""The networks of the thesis keep every layer and every last point, as it describes them."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from ismlit.edition.networks import PublishedNetwork
from ismlit.gamma import label_gamma
from ismlit.network import KernelDependenceNetwork
from ismlit.solver import published_ism


@pytest.fixture
def wine():
    bunch = datasets.load_wine()
    return scale(bunch.data), bunch.target


def test_plain_algorithm_5_can_fall_where_ours_cannot(wine):
    X, y = wine
    falls = []
    for seed in range(4):
        described = dict(bandwidth="hsic", random_features=150, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            plain = PublishedNetwork(**described).fit(X, y)
            ours = KernelDependenceNetwork(early_stopping=False, **described).fit(X, y)
        falls.append(np.diff(plain.history_["hsic"]).min())
        assert np.all(np.diff(ours.history_["hsic"]) > 0)
        assert plain.ridge_ is None
    assert min(falls) < 0


def test_a_published_layer_is_solved_as_the_thesis_does(wine):
    """Algorithm 4 stops when the eigenvalues change by less than a hundredth, not sooner."""
    model = PublishedNetwork(n_components=2, max_layers=1, threshold=0.5)
    (layer,) = model.fit(*wine).layers_
    R, gamma = wine[0] - wine[0].mean(axis=0), label_gamma(wine[1])
    expected, further = (published_ism(R, gamma, layer.kernel, 2, tol=tol) for tol in (1e-2, 1e-6))
    assert model.n_iter_ == expected.n_iter < further.n_iter
    assert_allclose(layer.W, expected.W, atol=1e-10)
