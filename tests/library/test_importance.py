"""What the columns of W and of X are worth: their order, their shares, their errors."""

import warnings

import numpy as np
import pytest
from library.problems import FAMILY, orthonormal, random_problem
from numpy.testing import assert_allclose
from sklearn.feature_selection import SelectFromModel
from sklearn.preprocessing import scale

from ismlit import (
    Gaussian,
    Problem,
    ResponseIKDR,
    SupervisedIKDR,
    UnsupervisedIKDR,
    bootstrap_importances,
    gram,
    label_gamma,
    normalized_hsic,
)
from ismlit.dependence import double_centre
from ismlit.estimators.importance import order_columns
from ismlit.geometry.frames import projector_distance
from ismlit.solvers.starts import SAME_HEIGHT


@pytest.mark.parametrize("name", FAMILY)
def test_no_kernel_sees_how_the_columns_are_turned(name, rng):
    """So that they may be ordered: J, pair by pair, is a function of the span alone."""
    problem = random_problem(name, rng)
    W, turn = orthonormal(4, 3, rng), orthonormal(3, 3, rng)
    assert_allclose(problem.objective(W @ turn), problem.objective(W), rtol=1e-10)


def test_the_order_of_a_linear_kernel_is_that_of_eigenvalues(rng):
    """J of the first k columns is the sum of the k largest eigenvalues of X'Gamma X in W."""
    X, y = rng.standard_normal((90, 6)), np.arange(90) % 4
    X[:, :3] += np.eye(4)[y][:, :3] * [3, 2, 1]
    model = SupervisedIKDR(3, kernel="linear").fit(X, y)
    Y = np.eye(4)[y] - np.eye(4)[y].mean(axis=0)
    values = np.sort(np.linalg.eigvalsh((Y.T @ X).T @ (Y.T @ X)))[::-1][:3]
    Z = model.transform(X)
    reached = [0, *(normalized_hsic(Z[:, :k] @ Z[:, :k].T, Y @ Y.T) for k in (1, 2, 3))]
    assert_allclose(model.dependence_ratio_, np.diff(reached) / reached[-1], rtol=1e-6)
    moments = model.W_.T @ X.T @ Y @ Y.T @ X @ model.W_
    assert_allclose(moments, np.diag(values), atol=1e-4 * values[0])


@pytest.mark.parametrize("name", ["gaussian", "sum", "relative", "user inner"])
def test_the_first_column_is_the_best_of_its_plane(name, rng):
    """Of 2000 directions of the plane none has a higher J."""
    problem, W = random_problem(name, rng), orthonormal(4, 2, rng)
    rotation, shares = order_columns(problem, W)
    assert_allclose(rotation.T @ rotation, np.eye(2), atol=1e-12)
    angles = np.linspace(0, np.pi, 2000)
    heights = [problem.objective(W @ np.array([[np.cos(a)], [np.sin(a)]])) for a in angles]
    first = problem.objective(W @ rotation[:, :1])
    assert first >= max(heights) - 1e-6 * np.ptp(heights)
    seen = [gram(problem.kernel, problem.X, W @ rotation[:, :k]) for k in (1, 2)]
    centred, gamma = [double_centre(K) for K in seen], problem.gamma.to_dense()
    line, plane = (np.sum(gamma * K) / np.linalg.norm(K) for K in centred)
    expected = line / plane
    assert_allclose(shares, [expected, 1 - expected], rtol=1e-6)


@pytest.mark.parametrize("seed", [2, 9, 10])
def test_of_many_rows_a_sample_does_not_decide_which_maximum_is_taken(seed):
    """An exclusive-or: J has two maxima on a half circle, and the third of the rows misjudges."""
    X = np.random.default_rng(seed).standard_normal((900, 2))
    problem = Problem(X, label_gamma(X[:, 0] * X[:, 1] > 0), Gaussian(0.7))
    of = lambda rows: [
        rows.objective(np.array([[np.cos(a)], [np.sin(a)]])) for a in np.linspace(0, np.pi, 90)
    ]
    heights = of(problem)
    misjudged = heights[int(np.argmax(of(problem.sample(np.arange(0, 900, 3)))))]
    assert misjudged < 0.9 * max(heights)
    first = problem.objective(order_columns(problem, np.eye(2))[0][:, :1])
    assert first >= (1 - SAME_HEIGHT) * max(heights)


def test_the_best_plane_comes_before_the_best_line(rng):
    """Of three columns the first two span the best of 2000 planes, the first the best line of it.

    The data hold an exclusive-or, for which a line by itself says little.
    """
    X = rng.standard_normal((60, 3))
    problem = Problem(X, label_gamma(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0), Gaussian(0.7))
    rotation, shares = order_columns(problem, np.eye(3))
    heights = [problem.objective(rotation[:, :k]) for k in (1, 2, 3)]
    planes = [problem.objective(orthonormal(3, 2, rng)) for _ in range(2000)]
    lines = [problem.objective(rotation[:, :2] @ orthonormal(2, 1, rng)) for _ in range(500)]
    least = 1 - SAME_HEIGHT  # heights this near count as one
    assert heights[1] >= least * max(planes) and heights[0] >= least * max(lines)
    Gamma = problem.gamma.to_dense()
    seen = [gram(problem.kernel, X, rotation[:, :k]) for k in (1, 2, 3)]
    gains = np.diff([0, *(normalized_hsic(K, Gamma) for K in seen)])
    assert_allclose(shares, gains / gains.sum(), rtol=1e-8)


def test_the_span_is_that_of_the_solver(wine):
    X, y = wine
    model = SupervisedIKDR(3).fit(X, y)
    assert projector_distance(model.W_, model.solved()[1].W) < 1e-12
    assert model.certificate().is_stationary
    assert model.result_.objective == pytest.approx(model.training_problem().objective(model.W_))


def test_importances_are_free_of_the_basis_and_of_units(wine):
    X, y = wine
    model = SupervisedIKDR(2).fit(X, y)
    assert_allclose(model.feature_importances_.sum(), 1)
    spread = np.linalg.norm((X * X.std(axis=0))[:, :, None] * model.W_, axis=2).std(axis=0)
    assert spread.argmax() == model.feature_importances_.argmax()
    by_rows = np.linalg.norm(model.W_, axis=1)
    assert_allclose(model.feature_importances_, by_rows / by_rows.sum(), rtol=1e-10)  # scaled
    twin = SupervisedIKDR(2, init=model.W_, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        large = twin.fit(X * ([10.0] + [1.0] * 12), y)
    single = [
        np.linalg.norm(np.outer(X[:, j] * f, w), axis=1)
        for j, (f, w) in enumerate(zip([10.0] + [1.0] * 12, large.W_))
    ]
    expected = np.array([np.sqrt(np.mean(column**2)) for column in single])  # X is centred
    assert_allclose(large.feature_importances_, expected / expected.sum(), rtol=1e-10)


def test_columns_can_be_selected(wine):
    X, y = wine
    noise = np.random.default_rng(0).standard_normal((178, 13))
    chosen = SelectFromModel(SupervisedIKDR(2), max_features=13).fit(np.hstack([X, noise]), y)
    assert chosen.get_support()[:13].sum() > chosen.get_support()[13:].sum()


def test_the_bootstrap_s_errors_are_those_of_fresh_draws():
    """Beside the standard deviation over 30 samples drawn from the same distribution."""

    def draw(seed):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((200, 4))
        return X, X[:, 0] + 0.7 * X[:, 1] + 0.5 * rng.standard_normal(200) > 0

    fresh = [SupervisedIKDR(1).fit(*draw(seed)).feature_importances_ for seed in range(30)]
    model = SupervisedIKDR(1).fit(*draw(99))
    found = bootstrap_importances(model, *draw(99), n_resamples=30, random_state=0)
    assert_allclose(found.importances.sum(axis=0), 1)
    ratio = found.importances_std / np.std(fresh, axis=0, ddof=1)
    assert ((ratio > 0.5) & (ratio < 2)).all()
    again = bootstrap_importances(model, *draw(99), n_resamples=30, random_state=0)
    assert np.array_equal(found.importances, again.importances)


def test_clusterings_have_importances_too(wine):
    X, _ = wine
    model = UnsupervisedIKDR(3, bandwidth="median", random_state=0).fit(X)
    found = bootstrap_importances(model, X, n_resamples=2, random_state=0)
    assert found.importances.shape == (13, 2)


def test_what_no_bootstrap_can_be_made_of_is_refused(wine):
    X, y = wine
    model = SupervisedIKDR(1).fit(X, y)
    with pytest.raises(TypeError, match=r"pipeline\[-1\]"):
        bootstrap_importances(object(), X, y)
    with pytest.raises(ValueError, match="at least 2, got 1"):
        bootstrap_importances(model, X, y, n_resamples=1)
    with pytest.raises(ValueError, match="fitted to 13 columns"):
        bootstrap_importances(model, X[:, :5], y)


# ---------------------------------------------------------------- back to X, and how many


def test_what_is_restored_is_the_nearest_point_of_the_subspace(wine):
    X, y = wine
    model = SupervisedIKDR(3).fit(X, y)
    restored = model.inverse_transform(model.transform(X))
    away = X - restored
    nearest = np.linalg.lstsq(model.W_, (X - model.mean_).T, rcond=None)[0]
    assert_allclose(restored - model.mean_, (model.W_ @ nearest).T, atol=1e-10)
    assert_allclose(away @ model.W_, 0, atol=1e-10)
    assert model.inverse_transform(model.transform(X).astype("float32")).dtype == np.float32
    with pytest.raises(ValueError, match="Z has 2 columns, but SupervisedIKDR projects to 3"):
        model.inverse_transform(np.ones((4, 2)))


def test_the_number_of_components_is_found_by_rows_held_out():
    """Four quadrants lie in a plane, two halves on a line; of noise one column is enough."""
    X = np.random.default_rng(1).standard_normal((240, 6))
    halves = (X[:, 0] > 0).astype(int)
    for y, wanted in ((halves, 1), (halves + 2 * (X[:, 1] > 0), 2)):
        model = SupervisedIKDR("auto").fit(X, y)
        assert model.n_components_ == model.W_.shape[1] == wanted
        means = model.component_scores_.mean(axis=1)
        best = means.argmax()
        error = model.component_scores_[best].std(ddof=1) / np.sqrt(5)
        within = [q + 1 for q, mean in enumerate(means) if mean >= means[best] - error]
        assert wanted == min(within)
    response = ResponseIKDR("auto", init="taylor").fit(X, X[:, 0] + 0.1 * X[:, 1] ** 2)
    assert response.n_components_ == 1 and response.component_scores_.shape[1] == 5


def test_a_column_that_makes_all_of_the_variance_is_named(wine):
    pd = pytest.importorskip("pandas")
    X, y = wine
    large = X * ([1.0] * 12 + [300.0])
    with pytest.warns(UserWarning, match=r"column 12 of X makes 100.0 % of its variance"):
        SupervisedIKDR(1, init="taylor").fit(large, y)
    frame = pd.DataFrame(large, columns=[*"abcdefghijkl", "proline"])
    with pytest.warns(UserWarning, match=r"column 'proline' of X.*scale the columns"):
        SupervisedIKDR(1, init="taylor").fit(frame, y)
    SupervisedIKDR(1, init="taylor").fit(scale(large), y)
