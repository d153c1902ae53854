"""What the columns of W and of X are worth: their order, their shares, their errors."""

import warnings

import numpy as np
import pandas as pd
import pytest
from library.problems import FAMILY, orthonormal, random_problem
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.preprocessing import scale

from ismlit import (
    KDAC,
    SAVE,
    Gaussian,
    GradientKDR,
    Problem,
    RelativeGaussian,
    ResponseIKDR,
    SemiSupervisedIKDR,
    SlicedInverseRegression,
    SupervisedIKDR,
    UnsupervisedIKDR,
    bootstrap_importances,
    gram,
    importance_test,
    label_gamma,
    normalized_hsic,
)
from ismlit.dependence import double_centre
from ismlit.estimators import importance
from ismlit.estimators.dependent import IDLE
from ismlit.estimators.importance import component_gains, order_columns
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
    model = SupervisedIKDR(3, kernel="linear", ridge=np.inf).fit(X, y)
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
    misjudged = heights[int(np.argmax(of(problem.on(np.arange(0, 900, 3)))))]
    assert misjudged < 0.9 * max(heights)
    first = problem.objective(order_columns(problem, np.eye(2))[0][:, :1])
    assert first >= (1 - SAME_HEIGHT) * max(heights)


def test_of_many_rows_some_decide_the_order_with_their_weights(rng, monkeypatch):
    monkeypatch.setattr(importance, "MOST_ROWS", 40)
    X, w = rng.standard_normal((60, 3)), rng.uniform(0.5, 2, 60)
    problem = Problem(X, label_gamma(X[:, 0] > 0, sample_weight=w), Gaussian(1.0))
    rows = np.sort(np.random.default_rng(0).permutation(60)[:40])
    found = order_columns(problem, np.eye(3), w)
    monkeypatch.undo()
    for one, other in zip(found, order_columns(problem.on(rows), np.eye(3), w[rows])):
        assert_allclose(one, other, atol=1e-12)


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
    model = SupervisedIKDR(3, ridge=np.inf).fit(X, y)
    assert projector_distance(model.W_, model.solved()[1].W) < 1e-12
    assert model.certificate().is_stationary
    assert model.result_.objective == pytest.approx(model.training_problem().objective(model.W_))


def test_importances_are_free_of_the_basis_and_of_units(wine):
    X, y = wine
    model = SupervisedIKDR(2, ridge=np.inf).fit(X, y)
    assert_allclose(model.feature_importances_.sum(), 1)
    assert (model.component_gains_ > 0).all()
    assert_allclose(model.component_gains_, model._gains.diagonal())
    by_rows = np.sqrt(np.einsum("jk,kl,jl->j", model.W_, model._gains, model.W_))
    assert_allclose(model.feature_importances_, by_rows / by_rows.sum(), rtol=1e-10)  # scaled
    twin = SupervisedIKDR(2, init=model.W_, max_iter=1, ridge=np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        large = twin.fit(X * ([10.0] + [1.0] * 12), y)
    values, vectors = np.linalg.eigh(large._gains)
    root = vectors * np.sqrt(np.maximum(values, 0))
    single = [
        np.linalg.norm(np.outer(X[:, j] * f, w @ root), axis=1)
        for j, (f, w) in enumerate(zip([10.0] + [1.0] * 12, large.W_))
    ]
    expected = np.array([np.sqrt(np.mean(column**2)) for column in single])  # X is centred
    assert_allclose(large.feature_importances_, expected / expected.sum(), rtol=1e-10)


def with_a_near_constant_column(kind, rng):
    """Ten normal columns of which the first decides, and one that is constant but in five rows."""
    X = np.c_[rng.standard_normal((500, 10)), np.arange(500) < 5]
    y = abs(X[:, 0]) + 0.3 * rng.standard_normal(500)
    return scale(X), y if kind is ResponseIKDR else y > 1


@pytest.mark.parametrize("kind", [SupervisedIKDR, ResponseIKDR])
def test_a_column_that_carries_nothing_has_no_importance(kind, rng):
    X, y = with_a_near_constant_column(kind, rng)
    model = kind(2, init="gradient").fit(X, y)
    assert model.component_gains_[1] < IDLE
    words = rf"component_gains_.1. of {kind.__name__} is .*Fit 1 components, or .*auto"
    with pytest.warns(UserWarning, match=words):
        importances = model.feature_importances_
    assert importances[0] > 0.6 and importances[10] < 0.05
    assert_allclose(
        importances, kind(1, init=model.W_[:, :1]).fit(X, y).feature_importances_, atol=0.1
    )
    bootstrap_importances(model, X, y, n_resamples=2)  # says nothing: warnings are errors here


@pytest.mark.parametrize("shares", [[0.7, 0.3], [1.0, 0.0], [0.3, 0.7]])
def test_importances_are_spreads_of_projections_weighed_by_what_they_carry(shares, wine):
    X, y = wine
    model = SupervisedIKDR(2, init="taylor", ridge=np.inf).fit(X, y)
    model._gains, model.component_gains_ = np.diag(shares), np.array(shares)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importances = model.feature_importances_
    squares = [
        sum(max(share, 0) * np.var(X[:, j] * w) for share, w in zip(shares, model.W_[j]))
        for j in range(13)
    ]
    assert_allclose(importances, np.sqrt(squares) / np.sqrt(squares).sum(), rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_gains_are_of_the_error_of_rows_left_out_one_by_one(weighted, rng):
    X = rng.standard_normal((40, 3))
    w = rng.integers(1, 4, 40).astype(float) if weighted else np.ones(40)
    y = X[:, 0] + X[:, 1] ** 2 > 1
    problem = Problem(X, label_gamma(y, sample_weight=w), Gaussian(1.0))
    share = w / w.sum()
    H = np.eye(40) - share

    def error(Z):
        K = H @ gram(problem.kernel, Z) @ H.T
        L = H @ label_gamma(y).to_dense() @ H.T
        total = 0.0
        for i in range(40):
            rest = np.delete(np.arange(40), i)
            ridge = np.diag(0.01 * w.sum() / w[rest])
            a = np.linalg.solve(K[np.ix_(rest, rest)] + ridge, K[rest, i])
            total += w[i] * (L[i, i] - 2 * a @ L[rest, i] + a @ L[np.ix_(rest, rest)] @ a)
        return total

    spread = np.cov(X[:, :2].T, aweights=w)
    axes = np.linalg.eigh(spread)[1]
    grown = lambda u: error(X[:, :2] @ [[u[1]], [-u[0]]]) - error(X[:, :2])  # u is left out
    mixed = (axes @ [1, 1] / np.sqrt(2), axes @ [1, -1] / np.sqrt(2))
    off = (grown(mixed[0]) - grown(mixed[1])) / 2
    form = axes @ [[grown(axes[:, 0]), off], [off, grown(axes[:, 1])]] @ axes.T
    vectors = np.linalg.eigh(form)[1]
    gains = [max(grown(u), 0) for u in vectors.T]
    found = component_gains(problem, np.eye(3)[:, :2], w if weighted else None)
    assert_allclose(found, vectors * gains @ vectors.T / sum(gains), atol=1e-8)


@pytest.mark.parametrize(("q", "is_mixed"), [(6, True), (7, False)])
def test_halfway_between_two_axes_is_tried_of_at_most_six_columns(q, is_mixed, rng):
    """Of more the form is diagonal along the principal axes of the projected rows."""
    X = rng.standard_normal((60, q))
    C = component_gains(Problem(X, label_gamma(X.sum(axis=1) > 0), Gaussian(3.0)), np.eye(q))
    axes = np.linalg.eigh(np.cov(X.T))[1]
    turned = axes.T @ C @ axes
    off = np.abs(turned - np.diag(turned.diagonal())).max()
    assert off > 1e-3 if is_mixed else off < 1e-12


def test_of_many_columns_the_one_that_decides_gains_most(rng):
    X = rng.standard_normal((200, 8)) * np.arange(8, 0, -1)
    C = component_gains(Problem(X, label_gamma(X[:, 2] > 0), Gaussian(8.0)), np.eye(8))
    assert_allclose(np.trace(C), 1)
    assert C.diagonal().argmax() == 2 and C[2, 2] > 0.5


def test_both_components_of_an_exclusive_or_count(rng):
    """HSIC of one of them, normalised, is as high as that of both."""
    X = rng.standard_normal((400, 5))
    model = SupervisedIKDR(2, init="gradient").fit(X, X[:, 0] * X[:, 1] > 0)
    assert_allclose(model.component_gains_, 0.5, atol=0.2)
    assert_allclose(model.feature_importances_[:2], 0.5, atol=0.1)  # no warning: it is an error


def test_importances_of_gradients_are_slopes_times_spreads(rng):
    X = rng.standard_normal((2000, 4)) * [1, 2, 1, 1]
    y = X @ [2.0, 0.5, 1.0, 0.0]
    for kind, error in ((GradientKDR, 0.05), (SlicedInverseRegression, 0.05)):
        importances = kind(1).fit(X, y).feature_importances_
        assert_allclose(importances, np.array([2, 1, 1, 0]) / 4, atol=error)


def test_eigenvalues_of_slices_are_read_off_the_projected_rows(rng):
    """Of SIR the variance of the means of slices; of SAVE, in one column, what variances miss."""
    X = rng.standard_normal((300, 4))
    y, sizes = np.arange(300) % 3, np.full(3, 1 / 3)
    X[:, 0] += y
    X[:, 1] *= 1 + y
    model = SlicedInverseRegression(2).fit(X, y)
    means = np.array([model.transform(X)[y == k].mean(axis=0) for k in range(3)])
    assert_allclose(model.eigenvalues_, sizes @ means**2, rtol=1e-8)
    single = SAVE(1).fit(X[:, 1:2], y)
    spreads = np.array([single.transform(X[:, 1:2])[y == k].var() for k in range(3)])
    assert_allclose(single.eigenvalues_, [sizes @ (1 - spreads) ** 2], rtol=1e-8)


def test_columns_can_be_selected(wine):
    X, y = wine
    noise = np.random.default_rng(0).standard_normal((178, 13))
    chosen = SelectFromModel(SupervisedIKDR(2, ridge=np.inf), max_features=13).fit(
        np.hstack([X, noise]), y
    )
    assert chosen.get_support()[:13].sum() > chosen.get_support()[13:].sum()


def test_the_bootstrap_s_errors_are_those_of_fresh_draws():
    """Beside the standard deviation over 30 samples drawn from the same distribution."""

    def draw(seed):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((200, 4))
        return X, X[:, 0] + 0.7 * X[:, 1] + 0.5 * rng.standard_normal(200) > 0

    fresh = [
        SupervisedIKDR(1, ridge=np.inf).fit(*draw(seed)).feature_importances_ for seed in range(30)
    ]
    model = SupervisedIKDR(1, ridge=np.inf).fit(*draw(99))
    found = bootstrap_importances(model, *draw(99), n_resamples=30, random_state=0)
    assert_allclose(found.importances.sum(axis=0), 1)
    ratio = found.importances_std / np.std(fresh, axis=0, ddof=1)
    assert ((ratio > 0.5) & (ratio < 2)).all()
    again = bootstrap_importances(model, *draw(99), n_resamples=30, random_state=0)
    assert np.array_equal(found.importances, again.importances)


@pytest.mark.parametrize(
    "ask", [bootstrap_importances, lambda *data, **of: importance_test(*data, refit=True, **of)]
)
def test_a_refit_is_not_watched(ask, rng, capsys):
    X, seen = rng.standard_normal((30, 2)), []
    model = SupervisedIKDR(1, init="taylor", ridge=np.inf, callback=seen.append, verbose=True)
    model.fit(X, X[:, 0] > 0)
    watched = len(seen), capsys.readouterr().out
    number = "n_resamples" if ask is bootstrap_importances else "n_permutations"
    ask(model, X, X[:, 0] > 0, random_state=0, **{number: 2})
    assert watched[0] == len(seen) > 0 and watched[1]
    assert not capsys.readouterr().out


def test_clusterings_have_importances_too(wine):
    X, _ = wine
    model = UnsupervisedIKDR(3, bandwidth="median", random_state=0).fit(X)
    found = bootstrap_importances(model, X, n_resamples=2, random_state=0)
    assert found.importances.shape == (13, 2)


REFITTED = {
    "weights": (SupervisedIKDR(1, ridge=np.inf), dict(sample_weight=True)),
    "class_weight": (SupervisedIKDR(1, class_weight="balanced", ridge=np.inf), {}),
    "both": (SupervisedIKDR(1, class_weight={0: 3.0}, ridge=np.inf), dict(sample_weight=True)),
    "bandwidth_scale": (SupervisedIKDR(2, bandwidth_scale=0.4, ridge=np.inf), {}),
    "groups": (SupervisedIKDR(1, ridge=np.inf), dict(groups=True)),
    "response": (
        ResponseIKDR(1, bandwidth_scale=2.0, ridge=np.inf),
        dict(sample_weight=True, groups=True),
    ),
}


@pytest.mark.parametrize("name", REFITTED)
def test_bootstrap_refits_are_those_of_rows_drawn_by_hand(name, rng):
    """With replacement, each row with its weight, a group whole; errors by the formula."""
    model, given = REFITTED[name]
    X = rng.standard_normal((60, 4))
    y = X[:, 0] + 0.6 * X[:, 1] ** 2 + 0.5 * rng.standard_normal(60)
    y = y if name == "response" else (y > 0.3).astype(int)
    w = rng.uniform(0.2, 3, 60) if "sample_weight" in given else None
    groups = rng.permutation(np.arange(60) % 11) if "groups" in given else np.arange(60)
    model = clone(model).fit(X, y, sample_weight=w)
    options = dict(sample_weight=w, groups=np.char.add("g", groups.astype(str)))
    if "groups" not in given:
        options.pop("groups")
    found = bootstrap_importances(model, X, y, n_resamples=3, random_state=7, **options)
    draws = np.random.RandomState(7)
    kinds = np.unique(groups.astype(str)) if "groups" in given else groups  # "g10" before "g2"
    expected = []
    twin = clone(model).set_params(
        bandwidth=model.kernel_.sigma, bandwidth_scale=1.0, init=model.W_
    )
    for _ in range(3):
        drawn = kinds[draws.randint(len(kinds), size=len(kinds))]
        rows = np.concatenate([np.flatnonzero(groups == int(kind)) for kind in drawn])
        twin.fit(X[rows], y[rows], sample_weight=None if w is None else w[rows])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a component that carries nothing
            expected.append(twin.feature_importances_)
    assert_allclose(found.importances.T, expected, rtol=1e-6)
    mean = sum(expected) / 3
    assert_allclose(found.importances_mean, mean, rtol=1e-6)
    squares = sum((one - mean) ** 2 for one in expected)
    assert_allclose(found.importances_std, np.sqrt(squares / 2), rtol=1e-5)


def test_a_bootstrap_draws_no_row_of_weight_zero(rng):
    """A class of which all rows weigh nothing is no class."""
    X, y = rng.standard_normal((90, 3)), np.arange(90) % 3
    X[:, 0] += y
    w = np.where(y == 2, 0.0, rng.uniform(0.5, 2, 90))
    few = w > 0
    of = dict(n_resamples=3, random_state=0)
    model = SupervisedIKDR(1, ridge=np.inf).fit(X, y, sample_weight=w)
    found = bootstrap_importances(model, X, y, sample_weight=w, **of)
    twin = SupervisedIKDR(1, ridge=np.inf).fit(X[few], y[few], sample_weight=w[few])
    alone = bootstrap_importances(twin, X[few], y[few], sample_weight=w[few], **of)
    assert_allclose(found.importances, alone.importances, rtol=1e-6)


def test_a_bootstrap_gives_a_row_its_own_bandwidth(rng):
    """A self-tuning kernel knows its rows: copies of them make no distance smaller."""
    X = rng.standard_normal((50, 3))
    model = SupervisedIKDR(1, bandwidth="self_tuning", ridge=np.inf).fit(X, X[:, 0] > 0)
    found = bootstrap_importances(model, X, X[:, 0] > 0, n_resamples=2, random_state=4)
    rows = np.random.RandomState(4).randint(50, size=50)
    twin = SupervisedIKDR(
        1, RelativeGaussian(model.kernel_.sigmas[rows]), init=model.W_, ridge=np.inf
    )
    expected = twin.fit(X[rows], X[rows, 0] > 0).feature_importances_
    assert_allclose(found.importances[:, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("rare", [1, 2])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_draw_without_a_class_is_drawn_again(rare, n_classes, rng):
    X, y = rng.standard_normal((40, 3)), np.arange(40) % (n_classes - 1)
    y[17 : 17 + rare] = n_classes - 1
    X[:, 1] += y
    model = SupervisedIKDR(1, ridge=np.inf).fit(X, y)
    found = bootstrap_importances(model, X, y, n_resamples=12, random_state=5)
    draws, kept, lacking = np.random.RandomState(5), [], 0
    while len(kept) < 12:
        rows = draws.randint(40, size=40)
        kept += [rows] if (y[rows] == n_classes - 1).any() else []
        lacking += not (y[rows] == n_classes - 1).any()
    assert lacking
    twin = SupervisedIKDR(1, model.kernel_, init=model.W_, ridge=np.inf)
    expected = [twin.fit(X[rows], y[rows]).feature_importances_ for rows in kept]
    assert_allclose(found.importances.T, expected, rtol=1e-6)


def test_a_bootstrap_with_no_draw_of_all_classes_says_so(rng):
    """29 classes, but one of one row: the chance that a draw has them all is 2e-6."""
    X, y = rng.standard_normal((60, 2)), np.array([f"c{max(i, 31)}" for i in range(60)])
    model = SupervisedIKDR(1, ridge=np.inf).fit(X, y)
    words = "only 0 of 2 draws could be fitted, with 20 tries.*fewer than the 29 classes.*rare"
    with pytest.raises(ValueError, match=words):
        bootstrap_importances(model, X, y, n_resamples=2, random_state=0)


def test_a_bootstrap_needs_six_rows_or_groups(rng):
    X, y = rng.standard_normal((60, 3)), np.arange(60) % 2
    five = SupervisedIKDR(1, ridge=np.inf).fit(X[:5], y[:5])
    with pytest.raises(ValueError, match="draws of rows, of which there must be at least 6, got 5"):
        bootstrap_importances(five, X[:5], y[:5])
    model = SupervisedIKDR(1, ridge=np.inf).fit(X, y)
    for groups, words in (
        (np.arange(60) % 5, "draws of groups, of which there must be at least 6, got 5"),
        (
            np.where(np.arange(60) == 8, np.nan, np.arange(60)),
            "Input groups contains NaN, in row 8",
        ),
        (np.arange(59), "inconsistent numbers of samples"),
    ):
        with pytest.raises(ValueError, match=words):
            bootstrap_importances(model, X, y, groups=groups)
    assert bootstrap_importances(model, X, y, groups=np.arange(60) % 6, n_resamples=2)


def test_a_draw_that_varies_in_too_few_directions_is_drawn_again(rng):
    """Two columns that vary in four of 30 rows, which every seventh draw misses or has once."""
    X, y = np.zeros((30, 3)), np.arange(30) % 2
    X[:, 0], X[:2, 1], X[2:4, 2] = rng.standard_normal(30), [3.0, -2.0], [4.0, 5.0]
    model = SupervisedIKDR(3, ridge=np.inf).fit(X, y)
    with pytest.raises(ValueError, match="n_components = 3 must be at most 2"):
        SupervisedIKDR(3, ridge=np.inf).fit(X[np.arange(30) % 15 > 1], y[np.arange(30) % 15 > 1])
    found = bootstrap_importances(model, X, y, n_resamples=30, random_state=0)
    assert found.importances.shape == (3, 30) and (found.importances > 0).all()


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (SupervisedIKDR(1, ridge=np.inf), "labels"),
        (ResponseIKDR(1, ridge=np.inf), "response"),
        (KDAC(2, 1, bandwidth="median"), "labels"),
        (SemiSupervisedIKDR(2, 1, bandwidth="median"), "labels"),
        (SemiSupervisedIKDR(2, 1, bandwidth="median"), "scores"),
    ],
)
def test_a_bootstrap_without_the_y_of_the_fit_is_refused(model, target, rng):
    X = rng.standard_normal((40, 3))
    y = {"labels": np.arange(40) % 2, "response": X[:, 0], "scores": X[:, :1]}[target]
    fitted = clone(model).fit(X, y)
    with pytest.raises(ValueError, match="was fitted to a y, and y is None: pass the y of the fit"):
        bootstrap_importances(fitted, X, n_resamples=2)
    assert bootstrap_importances(fitted, X, y, n_resamples=2, random_state=0)
    if not model.__sklearn_tags__().target_tags.required:
        assert bootstrap_importances(clone(model).fit(X), X, n_resamples=2, random_state=0)


def test_weights_and_units_of_a_bootstrap_are_those_of_the_fit(rng):
    X, y, w = rng.standard_normal((50, 3)), np.arange(50) % 2, rng.uniform(1, 2, 50)
    X[:, 2] = 7.1 + 1e-9 * X[:, 2]  # constant, to rounding
    plain, weighted = (
        SupervisedIKDR(1, ridge=np.inf).fit(X, y),
        SupervisedIKDR(1, ridge=np.inf).fit(X, y, sample_weight=w),
    )
    few = dict(n_resamples=2, random_state=0)
    with pytest.raises(ValueError, match="was fitted with sample_weight: pass the weights of"):
        bootstrap_importances(weighted, X, y)
    with pytest.raises(ValueError, match="was fitted without sample_weight"):
        bootstrap_importances(plain, X, y, sample_weight=w)
    bootstrap_importances(weighted.fit(X, y), X, y, **few)  # the last fit counts
    for factor in (3.1, 1 / 3.1, 0.0):
        words = "column 1 of X has the standard deviation .*pass the rows that it was fitted to"
        with pytest.raises(ValueError, match=words):
            bootstrap_importances(plain, X * [1.0, factor, 1.0], y, **few)
    for same in (X + 100, X * [1.0, 2.9, 0.0], X.astype("f4")):
        assert np.isfinite(bootstrap_importances(plain, same, y, **few).importances).all()


def test_units_are_compared_about_the_weighted_mean(rng):
    """Half of the rows weigh nothing, nearly, and lie far off: about the plain mean X spreads."""
    X, y = rng.standard_normal((40, 2)), np.arange(40) % 2
    X[20:, 0] += 100
    w = np.where(np.arange(40) < 20, 1.0, 1e-9)
    model = SupervisedIKDR(1, init="taylor", ridge=np.inf).fit(X, y, sample_weight=w)
    found = bootstrap_importances(model, X, y, sample_weight=w, n_resamples=2, random_state=0)
    assert np.isfinite(found.importances).all()


def test_what_no_bootstrap_can_be_made_of_is_refused(wine):
    X, y = wine
    model = SupervisedIKDR(1, ridge=np.inf).fit(X, y)
    with pytest.raises(TypeError, match=r"pipeline\[-1\]"):
        bootstrap_importances(object(), X, y)
    with pytest.raises(ValueError, match="at least 2, got 1"):
        bootstrap_importances(model, X, y, n_resamples=1)
    with pytest.raises(ValueError, match="fitted to 13 columns"):
        bootstrap_importances(model, X[:, :5], y)


# ---------------------------------------------------------------- p-values


@pytest.mark.parametrize("refit", [False, True])
def test_p_values_are_those_of_permutations_by_hand(refit, rng):
    X = rng.standard_normal((60, 3))
    X[:, 2] = 1.5  # in no projection: no permutation lowers the score, but for rounding
    y, w = X[:, 0] + 0.5 * rng.standard_normal(60) > 0, rng.uniform(0.5, 2, 60)
    few = slice(None if refit else 45)
    model = SupervisedIKDR(1, init="taylor", ridge=np.inf).fit(X[few], y[few], sample_weight=w[few])
    of = dict(sample_weight=w, n_permutations=9, random_state=3)
    test = importance_test(model, X, y, refit=refit, **of)
    draws, expected = np.random.RandomState(3), np.zeros((3, 9))
    for k in range(9):
        order = draws.permutation(60)
        for j in range(3):
            table = X.copy()
            table[:, j] = X[order, j]
            if refit:
                twin = clone(model).fit(table, y, sample_weight=w)
                expected[j, k] = (model.feature_importances_ - twin.feature_importances_)[j]
            else:
                both = [model.score(one, y, sample_weight=w) for one in (X, table)]
                expected[j, k] = both[0] - both[1]
    assert_allclose(test.importances, expected, atol=1e-12)
    assert_allclose(test.importances_mean, expected.mean(axis=1), atol=1e-12)
    assert_allclose(test.importances_std, expected.std(axis=1), atol=1e-12)
    assert_allclose(test.p_values, (1 + (expected <= 1e-9).sum(axis=1)) / 10)
    assert test.p_values[0] == 0.1 and test.p_values[2] == 1.0
    assert_allclose(
        importance_test(model, X, y, refit=refit, n_jobs=2, **of).importances, expected, atol=1e-12
    )


def test_a_score_without_weights_falls_by_normalised_hsic(rng):
    X, y = rng.standard_normal((50, 2)), np.arange(50) % 2
    X[:, 0] += y
    model = SupervisedIKDR(1, init="taylor", ridge=np.inf).fit(X[:40], y[:40])
    test = importance_test(model, X, y, n_permutations=1, random_state=0)
    table = X.copy()
    table[:, 0] = X[np.random.RandomState(0).permutation(50), 0]
    L = np.equal.outer(y, y).astype(float)
    both = [normalized_hsic(gram(model.kernel_, A - model.mean_, model.W_), L) for A in (X, table)]
    assert_allclose(test.importances[0], both[0] - both[1], rtol=1e-8)


def test_names_of_columns_change_no_p_value_and_no_warning(rng):
    """Whose permuted tables have none, of which scikit-learn would warn."""
    X, of = rng.standard_normal((50, 3)), dict(n_permutations=2, random_state=0)
    y, frame = X[:, 0] > 0, pd.DataFrame(X, columns=["a", "b", "c"])
    tests = []
    for table in (X, frame):
        model = SupervisedIKDR(1, init="taylor", ridge=np.inf).fit(table[:30], y[:30])
        tests.append(importance_test(model, table[30:], y[30:], **of).importances)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert_allclose(*tests)


def test_p_values_of_noise_are_not_small_more_often_than_they_say(rng):
    """On held-out rows: 60 columns of noise; 9 or more at 0.05 have the probability 0.0028."""
    small = []
    for _ in range(15):
        X = rng.standard_normal((80, 5))
        y = X[:, 0] > 0
        model = SupervisedIKDR(1, init="taylor", tol=1e-3, ridge=np.inf).fit(X[:40], y[:40])
        small += [importance_test(model, X[40:], y[40:], n_permutations=19).p_values <= 0.05]
    assert np.sum(small, axis=0)[1:].sum() < 9 and np.sum(small, axis=0)[0] > 12


def test_the_rows_of_the_fit_give_p_values_that_are_too_small(wine):
    """Which a warning says, in either precision and with weights, and of other rows does not."""
    X, y = wine
    w = np.arange(178) % 3 + 1.0
    words = "X is what SupervisedIKDR was fitted to, so that the p-values are too small"
    for table, given in ((X, {}), (X.astype("f4"), {}), (X + 50, dict(sample_weight=w))):
        model = SupervisedIKDR(1, init="taylor", ridge=np.inf).fit(table, y, **given)
        with pytest.warns(UserWarning, match=words):
            importance_test(model, table, y, n_permutations=1, **given)
        few = {name: weights[1:] for name, weights in given.items()}
        importance_test(model, table[1:], y[1:], n_permutations=1, **few)


def test_what_no_p_value_can_be_given_for_is_refused(wine):
    X, y = wine
    model = SupervisedIKDR(1, init="taylor", ridge=np.inf).fit(X, y)
    cases = [
        (lambda: importance_test(object(), X, y), TypeError, r"importance_test.*pipeline\[-1\]"),
        (lambda: importance_test(model, X, None), ValueError, "y is None: pass the labels"),
        (lambda: importance_test(model, X, y, n_permutations=0), ValueError, "least 1, got 0"),
        (lambda: importance_test(model, X[:, :5], y), ValueError, "13 features"),
        (lambda: importance_test(model, X * 9, y, refit=True), ValueError, "standard deviation"),
    ]
    clusters = UnsupervisedIKDR(3, bandwidth="median", random_state=0).fit(X)
    for refit in (False, True):
        ask = lambda refit=refit: importance_test(clusters, X, y, refit=refit)
        cases.append((ask, TypeError, "UnsupervisedIKDR finds clusters: bootstrap_importances"))
    for ask, kind, words in cases:
        with pytest.raises(kind, match=words):
            ask()


@pytest.mark.parametrize("kind", [GradientKDR, SAVE, SlicedInverseRegression])
def test_closed_forms_have_errors_and_p_values_too(kind, rng):
    X = rng.standard_normal((200, 3))
    y = X[:, 1] + X[:, 1] ** 2 + 0.1 * rng.standard_normal(200)
    model = kind(1).fit(X, y)
    errors = bootstrap_importances(model, X, y, n_resamples=3, random_state=2)
    rows = np.random.RandomState(2).randint(200, size=200)
    expected = clone(model).fit(X[rows], y[rows]).feature_importances_
    assert_allclose(errors.importances[:, 0], expected, rtol=1e-8)
    test = importance_test(model, X, y, refit=True, n_permutations=19, random_state=0)
    assert test.p_values[1] == 0.05


# ---------------------------------------------------------------- back to X, and how many


def test_what_is_restored_is_the_nearest_point_of_the_subspace(wine):
    X, y = wine
    model = SupervisedIKDR(3, ridge=np.inf).fit(X, y)
    restored = model.inverse_transform(model.transform(X))
    away = X - restored
    nearest = np.linalg.lstsq(model.W_, (X - model.mean_).T, rcond=None)[0]
    assert_allclose(restored - model.mean_, (model.W_ @ nearest).T, atol=1e-10)
    assert_allclose(away @ model.W_, 0, atol=1e-10)
    assert model.inverse_transform(model.transform(X).astype("float32")).dtype == np.float32
    with pytest.raises(ValueError, match="Z has 2 columns, but SupervisedIKDR projects to 3"):
        model.inverse_transform(np.ones((4, 2)))


def test_a_column_that_makes_all_of_the_variance_is_named(wine):
    pd = pytest.importorskip("pandas")
    X, y = wine
    large = X * ([1.0] * 12 + [300.0])
    with pytest.warns(UserWarning, match=r"column 12 of X makes 100.0 % of its variance"):
        SupervisedIKDR(1, init="taylor", ridge=np.inf).fit(large, y)
    frame = pd.DataFrame(large, columns=[*"abcdefghijkl", "proline"])
    with pytest.warns(UserWarning, match=r"column 'proline' of X.*scale the columns"):
        SupervisedIKDR(1, init="taylor", ridge=np.inf).fit(frame, y)
    SupervisedIKDR(1, init="taylor", ridge=np.inf).fit(scale(large), y)
