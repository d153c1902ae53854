"""Labels of some rows: they are kept, and name the clusters."""

import numpy as np
import pytest
from sklearn.datasets import (
    make_blobs,
)
from sklearn.preprocessing import scale

from ismlit import (
    SemiSupervisedIKDR,
)


@pytest.mark.parametrize("seed", range(5))
def test_given_labels_are_kept_and_named(seed, wine):
    X, y = wine
    rng = np.random.default_rng(seed)
    words = np.array(["barolo", "grignolino", "barbera"], dtype=object)[y]
    given = words.copy()
    given[rng.random(178) > 0.15] = None
    known = np.array([word is not None for word in given])
    model = SemiSupervisedIKDR(random_state=0).fit(X, given)
    assert sorted(model.classes_) == ["barbera", "barolo", "grignolino"]
    assert (model.transduction_[known] == words[known]).all()
    assert (model.transduction_ == words).mean() > 0.7  # of 20 labels; the median is 0.95
    assert (model.predict(X) == model.transduction_).mean() > 0.9


def test_every_known_class_has_a_cluster(wine):
    """Also where fewer were asked for, which is said."""
    X, y = wine
    with pytest.warns(UserWarning, match="3 known classes, more than n_clusters = 2"):
        model = SemiSupervisedIKDR(2, bandwidth="median", random_state=0).fit(X, y)
    assert np.array_equal(model.transduction_, y) and model.embedding_.shape == (178, 3)


def test_cluster_of_no_known_class_has_no_name():
    X, y = make_blobs(150, 4, centers=3, cluster_std=1.5, random_state=3)
    given = np.where((y < 2) & (np.arange(150) % 4 == 0), y, -1)
    model = SemiSupervisedIKDR(3, random_state=0).fit(scale(X), given)
    assert np.array_equal(model.transduction_, np.where(y < 2, y, -1))
