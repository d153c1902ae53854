"""Clusters of the rows of an embedding."""

import numpy as np
import pytest
from sklearn.metrics import silhouette_score

from ismlit.estimators.semisupervised import SemiSupervisedIKDR


def test_a_promise_is_the_mean_of_silhouette_and_agreement(rng):
    """The agreement under the better of the two ways to name two clusters."""
    U = np.repeat([-1.0, 1.0], 20)[:, None] + 0.3 * rng.standard_normal((40, 1))
    labels = (U[:, 0] > 0).astype(int)
    model = SemiSupervisedIKDR(2)
    model._known = np.where(np.arange(40) % 3 == 0, np.arange(40) % 2, -1)
    known = model._known >= 0
    named = [np.mean(labels[known] == model._known[known]) for labels in (labels, 1 - labels)]
    expected = (silhouette_score(U, labels) + max(named)) / 2
    assert model._promise(U, labels, np.arange(40)) == pytest.approx(expected, abs=1e-3)
    model._known = np.full(40, -1)  # nothing known
    assert model._promise(U, labels, np.arange(40)) == round(silhouette_score(U, labels), 3)
