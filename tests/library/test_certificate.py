"""Certificates of maxima, minima and arbitrary frames."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from library.problems import orthonormal, random_problem
from numpy.testing import assert_allclose
from scipy.linalg import subspace_angles
from sklearn.datasets import (
    load_iris,
    load_wine,
)
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import scale

from ismlit.estimators.network.classifier import KernelDependenceNetwork
from ismlit.estimators.supervised import SupervisedIKDR
from ismlit.estimators.unsupervised import UnsupervisedIKDR
from ismlit.gamma import Gamma, centre, label_gamma
from ismlit.geometry.frames import (
    first_order_residual,
    project_out,
)
from ismlit.geometry.second_order import SecondOrder
from ismlit.kernels import Gaussian
from ismlit.objectives.plain import Problem
from ismlit.solvers.certificate import Certificate, certify
from ismlit.solvers.ism import ism


def test_certificate_of_a_maximum_and_of_a_minimum():
    X, y = np.array([[2.0, -1], [0, -1], [-2, 1]]), [0, 1, 0]
    problem = Problem(X, label_gamma(y), Gaussian(3.0))
    at_minimum = certify(problem, np.array([[0.0], [1.0]]))
    # J'' = 32/81 - 304 exp(-2/9)/729 along the circle, from the claims notes; curvature = -J''/2
    exact = 32 / 81 - 304 * np.exp(-2 / 9) / 729
    assert at_minimum.is_stationary and not at_minimum.is_second_order
    assert_allclose(at_minimum.curvature, -exact / 2, rtol=1e-9)
    maximum = certify(ism(X, label_gamma(y), Gaussian(3.0), 1))
    assert maximum.is_stationary and maximum.is_second_order and maximum.curvature > 0
    assert "local maximum: yes" in str(maximum)


def test_a_random_point_is_not_certified(rng):
    problem = random_problem("gaussian", rng)
    assert not certify(problem, orthonormal(4, 2, rng)).is_stationary


def test_a_result_without_data_is_refused(rng):
    result = ism(rng.standard_normal((9, 2)), label_gamma(np.arange(9) % 2), Gaussian(1.0), 1)
    with pytest.raises(ValueError, match="pass the problem and W"):
        certify(replace(result, problem=None))


def test_a_saddle_is_left_with_two_components():
    X = np.array([[-1, -1, -1], [1, 0, 1], [0, 0, 0], [0, 2, 0], [1, 1, 1], [-1, -2, -1.0]])
    with pytest.warns(UserWarning, match="component 1 of ism hardly varies"):  # one is enough here
        result = ism(X, label_gamma([0, 0, 0, 1, 1, 1]), Gaussian(1.0), 2, init="pca")
    assert certify(result).is_second_order
    assert_allclose(result.objective, 3.3406, atol=1e-4)  # the best of many random starts


def test_a_maximum_where_phi_w_vanishes_is_stationary(rng):
    """A Gamma that only penalises: the best W is blind, Phi W = 0 there."""
    x = rng.standard_normal(30)
    gamma = Gamma(centre(rng.standard_normal((30, 2))), -np.ones(2))
    result = ism(np.c_[x, x], gamma, Gaussian(1.0), 1, init="random", random_state=0)
    assert_allclose(np.abs(result.W.ravel()), np.sqrt(0.5), atol=1e-4)
    assert result.converged and certify(result).is_stationary


def test_float32_is_certified_at_its_own_precision(rng):
    X = rng.standard_normal((60, 4))
    result = ism(X.astype("f4"), label_gamma(X[:, 0] ** 2 > 0.5), Gaussian(1.5), 2)
    assert result.converged and certify(result).is_stationary


def test_a_certificate_asks_no_more_than_rounding_allows(rng):
    """With tol = 0 a residual of 400 units of rounding passes: half of that does, twice not."""
    X, eps = rng.standard_normal((60, 4)), np.finfo("f4").eps
    gamma, kernel = label_gamma(X[:, 0] > 0), Gaussian(1.5)
    exact, single = (Problem(X.astype(dtype), gamma, kernel) for dtype in ("f8", "f4"))
    W = ism(exact, q=2, tol=1e-9).W
    Z = project_out(rng.standard_normal((4, 2)), W)
    near = np.linalg.qr(W + 1e-5 * Z)[0]
    per_step = first_order_residual(exact.phi(near), near) / 1e-5
    for units, passes in ((200, True), (800, False)):
        V = np.linalg.qr(W + units * eps / per_step * Z)[0].astype("f4")
        assert certify(single, V, tol=0).is_stationary == passes


@pytest.mark.parametrize(
    ("W", "words"),
    [
        (None, "pass the W"),
        (np.eye(3), r"shape \(4, q\)"),
        (np.ones((4, 2)), "linearly dependent"),
        (np.zeros((4, 1)), "linearly dependent"),
        (np.full((4, 1), np.nan), "finite"),
        (np.eye(4, 5), "q from 1 to 4"),
    ],
)
def test_what_spans_nothing_is_not_certified(W, words, rng):
    with pytest.raises(ValueError, match=words):
        certify(random_problem("gaussian", rng), W)


def test_any_w_is_orthonormalised_and_that_is_said(rng):
    problem = random_problem("gaussian", rng)
    found = ism(problem, q=2)
    clean = certify(problem, found.W)
    given = found.W @ rng.standard_normal((2, 2)) * 30
    before = given.copy()
    turned = certify(problem, given)
    assert np.array_equal(given, before)
    assert clean.is_orthonormal and "orthonormal" not in str(clean)
    assert not turned.is_orthonormal and "of the span of W" in str(turned)
    assert turned.is_maximum and turned.curvature == pytest.approx(clean.curvature, rel=1e-8)
    assert found.W.shape == (4, 2)


# ---------------------------------------------------------------- of estimators


@pytest.fixture
def wine():
    bunch = load_wine()
    return bunch.data / bunch.data.std(axis=0), bunch.target


def test_a_fitted_estimator_is_certified_when_first_asked(wine, monkeypatch):
    calls = []
    spied = SecondOrder.lowest
    monkeypatch.setattr(
        SecondOrder, "lowest", lambda self, **options: calls.append(1) or spied(self, **options)
    )
    model = SupervisedIKDR(2, bandwidth="median", init="taylor", ridge=np.inf).fit(*wine)
    during = len(calls)
    certificate = model.certificate()
    assert len(calls) == during > 0  # the test that the solver made is not made again
    assert model.certificate() is certificate and certificate.is_maximum
    expected = Problem(wine[0] - wine[0].mean(axis=0), label_gamma(wine[1]), model.kernel_)
    exact = certify(expected, model.W_)
    assert exact.curvature_error == 0 and len(calls) == during + 1
    lower = certificate.curvature - certificate.curvature_error
    assert lower <= exact.curvature <= certificate.curvature + 1e-9
    assert certificate.residual == pytest.approx(exact.residual, abs=1e-9)
    assert certificate.eigengap == pytest.approx(exact.eigengap, rel=1e-6)
    assert certify(model).curvature == certificate.curvature


def test_more_features_than_samples_are_certified_in_their_span(rng):
    """Every curvature is there: against the whole space, at a maximum and elsewhere."""
    X = rng.standard_normal((12, 40))
    problem = Problem(X, label_gamma(np.arange(12) % 2), Gaussian(6.0))
    at_maximum = ism(problem, q=2).W
    for W in (at_maximum, orthonormal(40, 2, rng)):
        found = certify(problem, W)
        second = SecondOrder(problem, W, problem.phi(W))
        whole = second.lowest(dense=True)[0]
        scale = np.abs(second.kd).max()
        assert abs(found.curvature - whole.value) <= found.curvature_error + 1e-8 * scale
        assert found.eigengap == pytest.approx(whole.eigengap, abs=1e-9 * scale)


def test_pickles_hold_no_training_data_but_the_certificate(wine):
    model = SupervisedIKDR(2, ridge=np.inf).fit(*wine)
    plain = pickle.loads(pickle.dumps(model))
    assert len(pickle.dumps(model)) < wine[0].nbytes
    assert np.array_equal(plain.transform(wine[0]), model.transform(wine[0]))
    with pytest.raises(ValueError, match="pickled without its training data"):
        plain.certificate()
    asked = model.certificate()
    assert pickle.loads(pickle.dumps(model)).certificate() == asked


def test_what_cannot_be_certified_says_why(wine):
    with pytest.raises(NotFittedError, match="not fitted"):
        certify(SupervisedIKDR(2, ridge=np.inf))
    with pytest.raises(NotFittedError, match="not fitted"):
        certify(KernelDependenceNetwork())
    with pytest.raises(NotFittedError, match="not fitted"):
        SupervisedIKDR(2, ridge=np.inf).certificate()
    with pytest.raises(ValueError, match="KernelDependenceNetwork has no one W"):
        certify(KernelDependenceNetwork().fit(*wine))


def test_of_a_clustering_the_degrees_are_included(wine):
    for normalize in ("none", "degrees", "centred"):
        model = UnsupervisedIKDR(3, normalize=normalize, random_state=0).fit(wine[0])
        assert model.certificate().is_stationary


def test_with_random_features_their_problem_is_certified_unless_the_exact_one_is_asked_for(wine):
    model = SupervisedIKDR(2, random_features=256, random_state=0, init="taylor").fit(*wine)
    exact = SupervisedIKDR(2, init="taylor", ridge=np.inf).fit(*wine)
    found = model.certificate()
    assert found.is_stationary and found.objective == model.result_.objective
    assert found.n_second_order == 178 and "of the exact problem on 178 rows" in str(found)
    near = model.certificate(exact=True)
    assert 1e-5 < near.residual < 0.1 and not near.is_stationary  # near the exact maximum
    problem = Problem(wine[0] - wine[0].mean(axis=0), label_gamma(wine[1]), model.kernel_)
    same = certify(problem, model.W_)
    assert_allclose(near.residual, same.residual, rtol=1e-4)
    assert_allclose([near.curvature, found.curvature], same.curvature, rtol=1e-4)
    assert subspace_angles(model.W_, exact.W_).max() < 0.1


@pytest.mark.parametrize("d", [2, 3, 9])
def test_many_samples_and_few_directions_are_certified(d, rng):
    """So many samples that M is not formed for its own sake."""
    y = np.arange(5000) % 2
    X = rng.standard_normal((5000, d))
    X[:, 0] += 2 * y
    certificate = certify(ism(X, label_gamma(y), Gaussian(2.0), 1))
    assert certificate.is_stationary and certificate.is_second_order


def test_a_test_of_the_solver_that_left_it_open_is_made_again(rng):
    result = ism(random_problem("gaussian", rng), q=1)
    size = result.curvature.size
    vague = replace(result, curvature=result.curvature._replace(value=0.0, error=10 * size))
    assert_allclose(certify(vague).curvature, certify(result.problem, result.W).curvature)
    assert certify(vague).curvature_error < size
    surely_not = replace(result, curvature=result.curvature._replace(value=-size, error=size))
    assert certify(surely_not).curvature == -size


def test_the_text_says_how_exact_the_curvature_is():
    numbers = dict(residual=1e-7, curvature=331.2, eigengap=2.0)
    verdict = dict(is_stationary=True, is_second_order=True)
    given = Certificate(**numbers, **verdict, curvature_error=101.3)
    assert "smallest eigenvalue of Kd - M between 220 and 331.2" in str(given)
    given = Certificate(**numbers, **verdict, curvature_error=331.2372)
    assert "Kd - M between -0.038 and 331.2" in str(given)  # rounded down, as a bound must be
    given = Certificate(**numbers, **verdict, curvature_error=0.0)
    assert "smallest eigenvalue of Kd - M 331.2" in str(given)
    given = Certificate(**numbers, **verdict, curvature_error=np.inf)
    assert "smallest eigenvalue of Kd - M at most 331.2" in str(given)


def test_directions_of_other_methods_are_certified():
    wine = load_wine()
    X = (wine.data - wine.data.mean(axis=0)) / wine.data.std(axis=0)
    problem = Problem(X, label_gamma(wine.target), Gaussian(3.0))
    for W in (
        LinearDiscriminantAnalysis().fit(X, wine.target).scalings_[:, :2],
        PCA(2).fit(X).components_.T,
    ):
        assert not certify(problem, W).is_stationary


@pytest.mark.parametrize(("value", "error", "holds"), [(1.0, 0.5, True), (1.0, 2.0, False)])
def test_what_lanczos_leaves_open_is_not_certified(value, error, holds, wine, monkeypatch):
    """The true eigenvalue lies within the error below the one found: where that is < 0, no."""
    X, y = wine
    result = ism(X, label_gamma(y), Gaussian(3.0), 2)
    size = result.curvature.size
    curvature = result.curvature._replace(value=value * size, error=error * size)
    monkeypatch.setattr(SecondOrder, "lowest", lambda self, **options: (curvature, None))
    assert certify(replace(result, curvature=curvature)).is_second_order is holds


def test_another_point_of_many_rows_has_its_own_objective_and_residual(monkeypatch):
    """Not those of the result that it is certified with."""
    X, y = load_iris(return_X_y=True)
    result = ism(scale(X), label_gamma(y), Gaussian(1.0), q=2)
    other = np.eye(4)[:, :2]
    plain = certify(result, other)
    monkeypatch.setattr("ismlit.solvers.certificate.MANY_ROWS", 10)
    of_many = certify(result, other)
    assert of_many.objective == pytest.approx(plain.objective)
    assert of_many.objective == pytest.approx(result.problem.objective(other))
    assert of_many.residual == pytest.approx(plain.residual) and not of_many.is_stationary
    model = SupervisedIKDR(2, ridge=np.inf).fit(X, y)
    assert certify(model, other).objective < model.certificate().objective


def test_certificate_of_a_given_w_sees_all_features(wine):
    X = np.c_[wine[0], np.ones(178)]
    model = SupervisedIKDR(2, bandwidth=3.0).fit(X, wine[1])
    assert certify(model, model.W_).is_maximum
    assert certify(Problem(X, label_gamma(wine[1]), model.kernel_), model.W_).is_stationary


def test_certificate_says_beyond_chance_or_not(wine):
    X, y = wine
    model = SupervisedIKDR(2, ridge=np.inf).fit(X, y)
    text = str(model.certificate())
    assert text.splitlines()[1] == "beyond chance: yes, p = 0.05 (19 refits to permuted rows)"
    shuffled = (
        SupervisedIKDR(2, ridge=np.inf)
        .fit(X, np.random.default_rng(1).permutation(y))
        .certificate()
    )
    assert shuffled.is_maximum and shuffled.p_value > 0.1
    assert certify(model, model.W_).p_value is None
