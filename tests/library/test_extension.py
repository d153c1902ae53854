"""Clusters of new rows."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from ismlit import UnsupervisedIKDR


@pytest.mark.parametrize("normalize", ["none", "degrees", "centred"])
def test_predict_gives_new_rows_the_cluster_of_their_neighbours(wine, normalize):
    X, y = wine
    model = UnsupervisedIKDR(3, normalize=normalize, random_state=0).fit(X[::2])
    assert (model.predict(X[::2]) == model.labels_).mean() > 0.95
    both = adjusted_rand_score(y[1::2], model.predict(X[1::2]))
    assert both > adjusted_rand_score(y[::2], model.labels_) - 0.15
    assert model.score(X[1::2]) > 0.5


@pytest.mark.filterwarnings("ignore:column 0 of X makes", "ignore:no bandwidth")
def test_predict_where_no_bandwidth_serves():
    X = np.random.default_rng(0).standard_normal((150, 4))
    X[:, 0] = abs(X[:, 0]) ** 6
    model = UnsupervisedIKDR(8, random_state=0).fit(X)
    assert (model.predict(X) == model.labels_).mean() > 0.9
    assert -1 <= model.score(X[:100]) <= 1
