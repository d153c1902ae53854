"""Regression: the directions of a response."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ismlit import (
    ResponseIKDR,
    SupervisedIKDR,
)


@pytest.mark.parametrize("seed", range(5))
def test_response_finds_what_it_depends_on(seed):
    """Where it is even in a direction every slice has the mean 0, and SIR sees nothing."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((300, 6))
    W = ResponseIKDR(2).fit(X, X[:, 1] ** 2 + X[:, 4] + 0.1 * rng.standard_normal(300)).W_
    assert np.linalg.norm(W[[1, 4]], 2) > 0.98 and np.linalg.norm(W[[0, 2, 3, 5]]) < 0.35


def test_pipeline_and_score_of_a_response():
    X, y = load_diabetes(return_X_y=True)
    model = make_pipeline(StandardScaler(), ResponseIKDR(2), LinearRegression()).fit(X, y)
    assert model.score(X, y) > 0.4
    assert 0.05 < model[:-1].score(X, y) < 1
    with pytest.raises(ValueError, match="use ResponseIKDR"):
        SupervisedIKDR(2).fit(X, y)
    with pytest.raises(ValueError, match="y is constant"):
        ResponseIKDR(2).fit(X, np.ones(len(X)))
