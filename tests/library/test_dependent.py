""""""

import pickle

import numpy as np
import pytest
from library.problems import keep_the_contract
from numpy.testing import assert_allclose
from scipy.linalg import subspace_angles
from scipy.stats import loguniform
from sklearn.datasets import load_wine
from sklearn.model_selection import RandomizedSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from ismlit import datasets
from ismlit.estimators.kdac import KDAC
from ismlit.estimators.response import ResponseIKDR
from ismlit.estimators.semisupervised import SemiSupervisedIKDR
from ismlit.estimators.supervised import SupervisedIKDR
from ismlit.estimators.unsupervised import UnsupervisedIKDR
from ismlit.gamma import label_gamma
from ismlit.objectives.plain import Problem


@parametrize_with_checks(
    [
        SupervisedIKDR(1, init="taylor", ridge=np.inf),
        SupervisedIKDR(1, kernel="linear", ridge=np.inf),
        ResponseIKDR(1, n_slices=None, init="taylor", ridge=np.inf),
        UnsupervisedIKDR(bandwidth="median"),
        UnsupervisedIKDR(kernel="squared", normalize="none"),
        SemiSupervisedIKDR(bandwidth="median"),
    ]
)
@pytest.mark.filterwarnings("ignore:component", "ignore:no bandwidth")  # noise has no more
@pytest.mark.filterwarnings("ignore:y holds 3 known classes", "ignore:column")
def test_scikit_learn_contract(estimator, check):
    keep_the_contract(estimator, check)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:component", "ignore:no bandwidth")
@pytest.mark.filterwarnings("ignore:y holds 3 known classes", "ignore:column")
@parametrize_with_checks(
    [SupervisedIKDR(1, ridge=np.inf), UnsupervisedIKDR(), SemiSupervisedIKDR()]
)
def test_scikit_learn_contract_as_they_come(estimator, check):
    test_scikit_learn_contract(estimator, check)


@pytest.mark.parametrize(
    "kernel", ["linear", "squared", "polynomial", "gaussian", "multiquadratic"]
)
def test_wine_is_separated_by_two_components(kernel):
    X, y = load_wine().data, load_wine().target
    model = make_pipeline(
        StandardScaler(), SupervisedIKDR(2, kernel=kernel, ridge=np.inf), SVC()
    ).fit(X, y)
    assert model.score(X, y) > 0.97
    certificate = model[1].certificate()
    assert certificate.is_stationary and certificate.is_second_order


def test_finds_the_plane_of_the_rings():
    X, y, plane = datasets.make_rings(400, 6, random_state=0)
    W = SupervisedIKDR(2, bandwidth=1.0, init="random", random_state=1, ridge=np.inf).fit(X, y).W_
    assert subspace_angles(W, plane).max() < 0.15  # sampling error of 400 points


def test_translation_does_not_matter_even_to_the_polynomial_kernel(rng):
    X, y = rng.standard_normal((40, 3)), np.arange(40) % 2
    first = SupervisedIKDR(1, kernel="polynomial", ridge=np.inf).fit(X, y)
    second = SupervisedIKDR(1, kernel="polynomial", ridge=np.inf).fit(X + 50, y)
    assert subspace_angles(first.W_, second.W_).max() < 1e-4
    assert_allclose(second.transform(X + 50), first.transform(X), atol=1e-4)


def test_unequal_classes_weigh_the_same_where_asked(rng):
    """The objective is that of the balanced Gamma, which differs where classes do."""
    X, y = rng.standard_normal((40, 4)), np.repeat([0, 1], [30, 10])
    model = SupervisedIKDR(1, class_weight="size", init="taylor", ridge=np.inf).fit(X, y)
    for balanced in (False, True):
        problem = Problem(X - X.mean(axis=0), label_gamma(y, balanced), model.kernel_)
        same = model.result_.objective == pytest.approx(problem.objective(model.W_))
        assert same == balanced


def test_numpy_s_bools_are_bools(rng):
    """A comparison of arrays gives numpy's own True, which says the same."""
    X, y = rng.standard_normal((30, 3)), np.arange(30) % 2
    SupervisedIKDR(1, init="taylor", verbose=np.False_, ridge=np.inf).fit(X, y)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (dict(n_components=4), "n_components = 4 must be at most 3, "),
        (dict(y=np.zeros(12)), "two classes"),
        (dict(X=np.ones((12, 3))), "duplicate rows"),
    ],
)
def test_bad_input_gets_a_clear_error(change, words, rng):
    data = dict(X=rng.standard_normal((12, 3)), y=np.arange(12) % 2)
    data |= {k: v for k, v in change.items() if k in data}
    parameters = {k: v for k, v in change.items() if k not in data}
    with pytest.raises(ValueError, match=words):
        SupervisedIKDR(**parameters, ridge=np.inf).fit(data["X"], data["y"])


@pytest.mark.parametrize("kind", [UnsupervisedIKDR, SemiSupervisedIKDR, KDAC])
def test_underflow_far_from_all_rows_is_no_error(kind, rng):
    X, y = rng.standard_normal((60, 3)) + 9 * np.eye(3)[np.arange(60) % 3], np.arange(60) % 2
    with np.errstate(all="raise"):
        model = kind(3, random_state=0).fit(X, y)
        assert len(model.predict(X + 50)) == 60 and model.score(X) <= 1


def test_training_data_is_neither_changed_nor_kept(rng):
    X, y = rng.standard_normal((40, 3)), np.arange(40) % 2
    before = X.copy()
    model = SupervisedIKDR(1, ridge=np.inf).fit(X, y)
    assert np.array_equal(X, before)
    Z = model.transform(X)
    assert model.result_.problem is None and len(pickle.dumps(model)) < 20_000
    X[:] = 0
    assert_allclose(model.transform(before), Z)


def test_a_bandwidth_is_drawn_from_a_distribution_and_can_be_read(wine):
    """In units of the median: the scale is a number in cv_results_, and multiplies the rule."""
    X, y = wine
    model = SupervisedIKDR(2, bandwidth="median", init="taylor", ridge=np.inf)
    widths = {"bandwidth_scale": loguniform(1 / 16, 1)}
    search = RandomizedSearchCV(model, widths, n_iter=3, cv=StratifiedKFold(3), random_state=0)
    search.fit(X, y)
    tried = search.cv_results_["param_bandwidth_scale"].astype(float)
    assert ((tried >= 1 / 16) & (tried <= 1)).all() and len(set(tried)) == 3
    whole = (
        SupervisedIKDR(2, bandwidth="median", init="taylor", ridge=np.inf).fit(X, y).kernel_.sigma
    )
    best = search.best_estimator_.kernel_.sigma
    assert best == pytest.approx(whole * search.best_params_["bandwidth_scale"])
    local = SupervisedIKDR(
        1, bandwidth="self_tuning", bandwidth_scale=2.0, init="taylor", ridge=np.inf
    )
    single = (
        SupervisedIKDR(1, bandwidth="self_tuning", init="taylor", ridge=np.inf).fit(X, y).kernel_
    )
    assert np.allclose(local.fit(X, y).kernel_.sigmas, 2 * single.sigmas)
    with pytest.raises(ValueError, match="takes no bandwidth"):
        SupervisedIKDR(1, kernel="linear", bandwidth_scale=2.0, ridge=np.inf).fit(X, y)
