import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from ismlit import datasets
from ismlit.grassmann import principal_angles
from ismlit.kernels import Gaussian, Polynomial
from ismlit.reduction import SupervisedIKDR


@parametrize_with_checks([SupervisedIKDR(1), SupervisedIKDR(1, kernel="linear")])
def test_scikit_learn_contract(estimator, check):
    if "array_api" in str(check):
        pytest.skip("the estimator works on numpy arrays only")
    check(estimator)


@pytest.mark.parametrize(
    "kernel", ["linear", "squared", "polynomial", "gaussian", "multiquadratic"]
)
def test_wine_is_separated_by_two_components(kernel):
    X, y = datasets.load_wine().data, datasets.load_wine().target
    model = make_pipeline(StandardScaler(), SupervisedIKDR(2, kernel=kernel), SVC()).fit(X, y)
    assert model.score(X, y) > 0.97
    certificate = model[1].certificate_
    assert certificate.is_stationary and certificate.is_second_order


def test_finds_the_plane_of_the_rings():
    X, y, plane = datasets.make_rings(400, 6, random_state=0)
    W = SupervisedIKDR(2, kernel=Gaussian(1.0), init="random", random_state=1).fit(X, y).W_
    assert principal_angles(W, plane).max() < 0.15  # sampling error of 400 points


def test_works_in_grid_search_and_survives_pickling():
    X, y = datasets.load_wine().data, datasets.load_wine().target
    grid = {
        "supervisedikdr__n_components": [1, 2],
        "supervisedikdr__kernel": ["linear", Polynomial(2)],
    }
    model = make_pipeline(StandardScaler(), SupervisedIKDR(), SVC())
    best = GridSearchCV(model, grid, cv=3).fit(X, y).best_estimator_
    again = pickle.loads(pickle.dumps(best))
    assert_allclose(again[:-1].transform(X), best[:-1].transform(X))
    assert clone(best).get_params()["supervisedikdr__n_components"] in (1, 2)
    names = best[:-1].get_feature_names_out()
    assert names[0] == "supervisedikdr0"


def test_translation_does_not_matter_even_to_the_polynomial_kernel(rng):
    X, y = rng.standard_normal((40, 3)), np.arange(40) % 2
    first = SupervisedIKDR(1, kernel="polynomial").fit(X, y)
    second = SupervisedIKDR(1, kernel="polynomial").fit(X + 50, y)
    assert principal_angles(first.W_, second.W_).max() < 1e-4
    assert_allclose(second.transform(X + 50), first.transform(X), atol=1e-4)


def test_training_data_is_neither_changed_nor_kept(rng):
    X, y = rng.standard_normal((40, 3)), np.arange(40) % 2
    before = X.copy()
    model = SupervisedIKDR(1).fit(X, y)
    assert np.array_equal(X, before)
    Z = model.transform(X)
    assert model.result_.problem is None and len(pickle.dumps(model)) < 20_000
    X[:] = 0
    assert_allclose(model.transform(before), Z)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (dict(n_components=4), "n_components = 4 must be at most the number of features"),
        (dict(n_components=0), "n_components"),
        (dict(kernel="rbf"), "kernel"),
        (dict(y=np.zeros(12)), "two classes"),
        (dict(X=np.ones((12, 3))), "duplicate rows"),
        (dict(y=np.linspace(0, 1, 12)), "Unknown label type"),
    ],
)
def test_bad_input_gets_a_clear_error(change, words, rng):
    data = dict(X=rng.standard_normal((12, 3)), y=np.arange(12) % 2)
    data |= {k: v for k, v in change.items() if k in data}
    parameters = {k: v for k, v in change.items() if k not in data}
    with pytest.raises(ValueError, match=words):
        SupervisedIKDR(**parameters).fit(data["X"], data["y"])
