"""Labels of some rows: they are kept, and name the clusters."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_blobs
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import scale

from ismlit.estimators.semisupervised import SemiSupervisedIKDR
from ismlit.estimators.unsupervised import UnsupervisedIKDR


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


GAPS = {
    "NaN": np.array([0, 1, np.nan] * 20),
    "NaN in single precision": np.array([0, 1, np.nan] * 20, dtype="f4"),
    "None": np.array([0, 1, None] * 20),
    "NaN among words": np.array(["a", "b", np.nan] * 20, dtype=object),
    "NA": pd.Series([0, 1, pd.NA] * 20, dtype="Int64"),
    "NA among words": pd.Series(["a", "b", pd.NA] * 20, dtype="string"),
    "NA among bools": pd.Series([False, True, pd.NA] * 20, dtype="boolean"),
    "NA among objects": pd.Series(["a", "b", pd.NA] * 20, dtype=object),
    "of categories": pd.Series(pd.Categorical([0, 1, None] * 20)),
}


@pytest.mark.parametrize("gap", GAPS)
def test_every_kind_of_gap_says_that_a_label_is_not_known(gap, rng):
    X = rng.standard_normal((60, 2)) + 6 * (np.arange(60) % 3 == 1)[:, None]
    options = dict(n_clusters=2, bandwidth="median", random_state=0)
    plain = SemiSupervisedIKDR(**options).fit(X, [0, 1, -1] * 20)
    model = SemiSupervisedIKDR(**options).fit(X, GAPS[gap])
    assert np.array_equal(model.labels_, plain.labels_) and len(model.classes_) == 2
    assert set(model.transduction_) == set(model.classes_)


def test_known_labels_help_where_noise_hides_the_clusters(wine, rng):
    X, y = wine
    X = np.hstack([X, 1.5 * rng.standard_normal((178, 12))])
    known = np.where(rng.random(178) < 0.25, y, -1)
    rest = known == -1
    score = lambda weight: normalized_mutual_info_score(
        y[rest],
        SemiSupervisedIKDR(3, weight=weight, random_state=0).fit(X, known).labels_[rest],
    )
    assert score(1.0) > score(0.0) + 0.1


def test_no_labels_are_no_guidance(wine):
    X, _ = wine
    alone = SemiSupervisedIKDR(3, random_state=0).fit(X)
    unguided = UnsupervisedIKDR(3, normalize="degrees", random_state=0).fit(X)
    assert_allclose(alone.W_, unguided.W_)


def test_fit_predict_does_not_drop_the_labels(wine):
    X, y = wine
    model = SemiSupervisedIKDR(3, weight=100.0, random_state=0)
    labels, by_fit = model.fit_predict(X, y), model.fit(X, y).labels_
    assert np.array_equal(labels, by_fit)
    assert not np.array_equal(labels, model.fit(X).labels_)


def test_scores_guide_as_their_labels_do(wine):
    X, y = wine
    by_label = SemiSupervisedIKDR(3, bandwidth="median", random_state=0).fit(X, y)
    by_score = SemiSupervisedIKDR(3, bandwidth="median", random_state=0).fit(X, np.eye(3)[y])
    assert_allclose(by_label.W_, by_score.W_, atol=1e-8)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.full(178, -1), "unknown"),
        (
            np.where(np.arange(178) < 9, 2, -1),
            "holds one class alone, 2, in the 9 rows",
        ),
        (np.ones((178, 2)), "constant"),
    ],
)
def test_useless_guidance_is_refused(wine, y, message):
    with pytest.raises(ValueError, match=message):
        SemiSupervisedIKDR(3).fit(wine[0], y)
