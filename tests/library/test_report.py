"""The one-page report: every number is that of the function it names."""

import base64
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ismlit import ResponseIKDR, SupervisedIKDR, bootstrap_importances, dependence_test

WINE = load_wine(as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(WINE.data.iloc[:, :5])
CULTIVARS = WINE.target.map({0: "first", 1: "second", 2: "<third>"})


@pytest.fixture(scope="module")
def report():
    model = SupervisedIKDR(2, init="taylor", ridge=np.inf)
    made = model.report(X, CULTIVARS, n_resamples=5, random_state=3)
    assert not hasattr(model, "W_")
    return made


def test_scores_are_those_of_shuffled_folds(report):
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    plane = make_pipeline(SupervisedIKDR(2, init="taylor", ridge=np.inf), KNeighborsClassifier(5))
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    ours, theirs, trees = report.scores.values()
    assert_allclose(ours, cross_val_score(plane, X, CULTIVARS, cv=folds))
    assert_allclose(theirs, cross_val_score(linear, X, CULTIVARS, cv=folds))
    assert trees.shape == (5,)
    assert report.metric == "accuracy"


def test_importances_and_test_are_those_of_their_functions(report):
    model = SupervisedIKDR(2, init="taylor", ridge=np.inf).fit(X, CULTIVARS)
    errors = bootstrap_importances(model, X, CULTIVARS, n_resamples=5, random_state=3)
    assert_allclose(report.importances.importances, errors.importances)
    assert report.test.p_value == dependence_test(X, CULTIVARS, random_state=3).p_value
    assert_allclose(report.projection, model.transform(X))
    assert report.certificate == model.certificate()


def test_it_prints_the_columns_by_falling_importance(report):
    shares = dict(zip(X.columns, report.model.feature_importances_))
    told = re.findall(r"^  (\w+) +(0\.\d\d)  0\.\d\d$", str(report), re.M)
    order = sorted(shares, key=shares.get, reverse=True)
    assert told == [(name, f"{shares[name]:.2f}") for name in order]
    assert str(report).endswith(f"{report.test}\n{report.certificate}")


def test_a_notebook_shows_the_text_and_a_picture(report):
    html = report._repr_html_()
    assert "<pre>accuracy on 5 folds" in html
    (picture,) = re.findall(r'src="data:image/png;base64,([^"]+)"', html)
    assert base64.b64decode(picture).startswith(b"\x89PNG")
    assert 'alt="' in html


def test_a_response_is_scored_by_r_squared():
    table, y = load_diabetes(return_X_y=True, as_frame=True)
    model = ResponseIKDR(1, init="taylor", ridge=np.inf)
    made = model.report(table[:90] * 20, y[:90], n_resamples=2)
    assert made.metric == "R²"
    assert made.names == list(table.columns)
    assert all(values.max() <= 1 for values in made.scores.values())


def test_one_component_and_nameless_columns_are_drawn():
    model = SupervisedIKDR(1, init="taylor", ridge=np.inf)
    made = model.report(X.to_numpy(), CULTIVARS, n_resamples=2)
    assert made.names[0] == "column 0"
    left, right = made.plot().axes
    assert left.get_xlabel() == "component 1"
    assert len(right.patches) == X.shape[1]
