import pickle
from dataclasses import replace

import array_api_strict as strict
import numpy as np
import pytest
from library.problems import FAMILY, kernel_for, orthonormal
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import check_array_api_input

from ismlit import ResponseIKDR, SupervisedIKDR, UnsupervisedIKDR
from ismlit.gamma import DenseGamma, label_gamma, response_gamma
from ismlit.objectives.arrays import ArrayProblem, Place
from ismlit.objectives.pairs import Count
from ismlit.objectives.plain import Problem


def gammas(rng, n):
    dense, odd = rng.standard_normal((n, n)), np.arange(n) % 2
    return {
        "dense": DenseGamma(dense + dense.T),
        "labels": label_gamma(np.arange(n) % 3),
        "response": response_gamma(rng.standard_normal((n, 1)), 0.5) + -0.7 * label_gamma(odd),
    }


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("gamma", ["dense", "labels", "response"])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_passes_are_those_of_numpy(name, gamma, dtype, rng):
    X = (rng.standard_normal((13, 4)) + rng.uniform(-1, 1, 4)).astype(dtype)
    given = X, gammas(rng, 13)[gamma], kernel_for(name, X)
    problem, other = Problem(*given), ArrayProblem(*given, tile=5, place=Place(strict))
    W, Z = orthonormal(4, 2, rng), rng.standard_normal((3, 4, 2))
    size = np.linalg.norm(replace(problem, count=Count()).phi(W))
    for method, *more in (
        ("objective",),
        ("objective_and_gradient",),
        ("objective_and_phi",),
        ("phi_derivative", Z),
        ("gradient_derivative", Z[0]),
    ):
        expected, found = (getattr(p, method)(W, *more) for p in (problem, other))
        pairs = zip(found, expected) if isinstance(found, tuple) else [(found, expected)]
        for a, b in pairs:
            # 13^2 terms, each rounded some times; they cancel less than all
            atol = 200 * np.finfo(dtype).eps * max(np.abs(b).max(), size)
            assert_allclose(a, b, atol=atol, err_msg=method)
            assert np.asarray(a).dtype == np.asarray(b).dtype
    assert problem.count.passes == other.count.passes == 7


def test_many_tiles_change_nothing_and_a_sample_is_a_problem_of_numpy(rng):
    given = rng.standard_normal((40, 3)), label_gamma(np.arange(40) % 4), FAMILY["gaussian"]
    W = orthonormal(3, 1, rng)
    one, many = (ArrayProblem(*given, tile=tile, place=Place(strict)) for tile in (None, 7))
    assert_allclose(many.phi(W), one.phi(W), rtol=1e-10)
    assert type(one.sample(np.arange(9))) is Problem
    assert one.restrict(np.eye(3)[:, :2]).place == one.place


# ---------------------------------------------------------------- by scikit-learn's dispatch


@pytest.fixture
def dispatch(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with config_context(array_api_dispatch=True):
        yield


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("estimator", [SupervisedIKDR(1), ResponseIKDR(1)])
def test_scikit_learns_contract_for_arrays(estimator, dtype, weighted, dispatch):
    options = dict(dtype_name=dtype, check_values=True, check_sample_weight=weighted)
    check_array_api_input(type(estimator).__name__, estimator, "array_api_strict", **options)


def arrays():
    X, y = load_wine(return_X_y=True)
    return scale(X), y


@pytest.mark.parametrize("make", [SupervisedIKDR, ResponseIKDR])
def test_a_fit_is_that_of_numpy(make, dispatch):
    X, y = arrays()
    X = np.c_[X, X[:, 0] - X[:, 1]]  # of rank 13: solved in a basis
    given, seen = (strict.asarray(X), strict.asarray(y)), []
    expected, model = make(2).fit(X, y), make(2, callback=seen.append).fit(*given)
    assert_allclose(np.asarray(model.W_), expected.W_, atol=1e-6)  # the solver's tolerance
    assert_allclose(model.score(*given), expected.score(X, y), rtol=1e-8)
    assert_allclose(model.feature_importances_, expected.feature_importances_, atol=1e-6)
    assert type(model.solved()[0]) is ArrayProblem
    assert all(isinstance(point.W, np.ndarray) for point in seen)
    assert model.certificate().is_maximum and expected.certificate().is_maximum
    Z = model.transform(given[0])
    assert isinstance(Z, strict.asarray(X).__class__) and model.components_.shape == (2, 14)
    assert_allclose(np.asarray(Z), expected.transform(X), atol=1e-5)
    assert_allclose(
        np.asarray(model.inverse_transform(Z)), expected.inverse_transform(Z), atol=1e-5
    )
    again = make(2, init=model.W_).fit(*given)
    assert again.n_iter_ == 1  # W_ as it came is a start


def test_rows_of_numpy_come_back_as_numpy(dispatch):
    X, y = arrays()
    model = SupervisedIKDR(2).fit(strict.asarray(X), strict.asarray(y))
    with config_context(array_api_dispatch=False):
        twin = pickle.loads(pickle.dumps(model))
        for fitted in (model, twin):
            Z = fitted.transform(X)
            assert isinstance(Z, np.ndarray)
            assert_allclose(Z, (X - X.mean(axis=0)) @ np.asarray(model.W_), atol=1e-10)


def test_what_cannot_be_done_is_refused(dispatch):
    X, y = arrays()
    A, b = strict.asarray(X), strict.asarray(y)
    with pytest.raises(TypeError, match="fit of UnsupervisedIKDR takes numpy arrays"):
        UnsupervisedIKDR(2, 1).fit(A)
    model = SupervisedIKDR(2, random_features=64)
    with pytest.raises(ValueError, match="leave random_features out for an exact fit"):
        model.fit(A, b)
    with pytest.raises(ValueError, match="but was fitted to those of numpy"):
        SupervisedIKDR(2).fit(X, y).transform(A)
    model = SupervisedIKDR(2).fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="n_components = 20 must be at most"):
        model.set_params(n_components=20).fit(A, b)
    assert vars(model) == before | dict(n_components=20)
    unknown, gap = X.copy(), np.where(np.arange(178) == 5, np.nan, y)
    unknown[7, 3] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN, in column 3, row 7"):
        SupervisedIKDR(2).fit(strict.asarray(unknown), b)
    with pytest.raises(ValueError, match="Input y contains NaN, in row 5"):
        ResponseIKDR(2).fit(A, strict.asarray(gap))
    with pytest.raises(ValueError, match="expecting 13 features"):
        SupervisedIKDR(2).fit(A, b).transform(strict.asarray(X[:, :3]))


def test_without_dispatch_arrays_become_numpy(monkeypatch):
    X, y = arrays()
    model = SupervisedIKDR(2).fit(strict.asarray(X), strict.asarray(y))
    assert isinstance(model.W_, np.ndarray) and type(model.solved()[0]) is Problem
