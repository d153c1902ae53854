"""What every estimator does: copies, display, grid search, refusals."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from library.problems import unsettled
from scipy.linalg import subspace_angles
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ismlit import (
    KDAC,
    Gaussian,
    KernelDependenceNetwork,
    Linear,
    ResponseIKDR,
    SemiSupervisedIKDR,
    SupervisedIKDR,
    UnsupervisedIKDR,
    ism,
    label_gamma,
)
from ismlit.grams import ConstantKernelError

ALL = {
    "supervised": lambda X, y: SupervisedIKDR(2).fit(X, y),
    "features": lambda X, y: SupervisedIKDR(2, random_features=32, random_state=0).fit(X, y),
    "response": lambda X, y: ResponseIKDR(1).fit(X, X[:, 0]),
    "unsupervised": lambda X, y: UnsupervisedIKDR(3, random_state=0).fit(X),
    "semi": lambda X, y: SemiSupervisedIKDR(3, random_state=0).fit(X, y),
    "kdac": lambda X, y: KDAC(2, bandwidth="median", random_state=0).fit(X, y),
    "network": lambda X, y: KernelDependenceNetwork().fit(X, y),
}


@unsettled
@pytest.mark.parametrize("fitted", ALL.values(), ids=ALL)
def test_copies_and_pickles_can_be_displayed(wine, fitted):
    model = fitted(*wine)
    in_pipeline = make_pipeline(StandardScaler(), model)
    for twin in (model, pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert "<" in twin._repr_html_()
        assert inspect.getmembers(twin) and hasattr(twin, "n_iter_")
    assert "<" in in_pipeline._repr_html_()


def test_display_computes_no_certificate(wine):
    model = SupervisedIKDR(2).fit(*wine)
    passes = model.training_problem().count.passes
    model._repr_html_()
    inspect.getmembers(model)
    assert model.training_problem().count.passes == passes


def test_deepcopy_has_the_same_certificate(wine):
    model = SupervisedIKDR(2).fit(*wine)
    assert copy.deepcopy(model).certificate() == model.certificate()


@pytest.mark.filterwarnings("ignore")
def test_grid_search_by_the_own_score(wine):
    X, y = wine
    found = GridSearchCV(SupervisedIKDR(init="taylor"), {"bandwidth": [0.01, 3.0]}, cv=3).fit(X, y)
    assert found.best_params_ == {"bandwidth": 3.0}
    mixed = X[np.random.default_rng(0).permutation(len(X))]  # the rows come sorted by class
    found = GridSearchCV(UnsupervisedIKDR(3, random_state=0), {"bandwidth": [0.05, 2.0]}, cv=2)
    assert found.fit(mixed).best_params_ == {"bandwidth": 2.0}


def test_constant_kernel_is_refused_everywhere(wine):
    X, y = wine
    for model in (
        SupervisedIKDR(2, bandwidth=1e12),
        UnsupervisedIKDR(3, bandwidth=1e12),
        SemiSupervisedIKDR(3, bandwidth=1e12),
        KDAC(2, bandwidth=1e12),
    ):
        with pytest.raises(ConstantKernelError):
            model.fit(X, y)
    with pytest.raises(ConstantKernelError, match="its limit"):
        ism(X, label_gamma(y), Gaussian(1e9), 2)
    wide = ism(X, label_gamma(y), Gaussian(1e6), 2).W  # wide, and yet no constant
    assert subspace_angles(wide, ism(X, label_gamma(y), Linear(), 2).W).max() < 1e-3
    for bandwidth in (1e12, 1e-12):
        with pytest.raises(ValueError, match=r"sigma|bandwidth"):
            KernelDependenceNetwork(bandwidth=bandwidth).fit(X, y)


def test_default_n_components_is_at_most_the_rank():
    X, y = load_iris(return_X_y=True)
    X = np.c_[X[:, 2:], np.ones(150)]
    assert UnsupervisedIKDR(3, random_state=0).fit(X).W_.shape == (3, 2)
    assert SupervisedIKDR(None).fit(X, y).W_.shape == (3, 2)
    with pytest.raises(ValueError, match="at most 2, the number of directions"):
        UnsupervisedIKDR(3, 3).fit(X)


WEIGHTS = "weights of classes must be above 0"


two_kinds = lambda y: np.where(y == 0, None, "a")


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        (
            lambda X, y: SupervisedIKDR(3).fit(np.c_[X[:, :2], X[:, :2].sum(axis=1)], y),
            "at most 2, the number of directions",
        ),
        (lambda X, y: SupervisedIKDR(1).fit(np.ones((178, 3)), y), "all rows of X are equal"),
        (lambda X, y: SemiSupervisedIKDR(2).fit(X, X[:, 0]), "fractions, which are no labels"),
        (lambda X, y: SupervisedIKDR(2).fit(X, two_kinds(y)), "use SemiSupervisedIKDR"),
        (lambda X, y: ResponseIKDR(2).fit(X, np.array(["a", "b"])[y % 2]), "must be numbers"),
        *(
            (
                lambda X, y, w=w: KernelDependenceNetwork(class_weight={0: w, 1: 1, 2: 1}).fit(
                    X, y
                ),
                WEIGHTS,
            )
            for w in (0, -1.0, np.nan)
        ),
        (lambda X, y: SupervisedIKDR(2).score(X, y), "not fitted"),
    ],
)
def test_misleading_input_is_refused(fit, words, wine):
    with pytest.raises(ValueError, match=words):
        fit(*wine)
