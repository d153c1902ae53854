""""""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from library.problems import FAMILY, kernel_for, orthonormal, unsettled
from numpy.testing import assert_allclose
from scipy.linalg import subspace_angles
from sklearn.preprocessing import scale

from ismlit.bandwidth import median_distance
from ismlit.gamma import label_gamma
from ismlit.geometry.frames import (
    nearest_frame,
    project_out,
)
from ismlit.geometry.second_order import SecondOrder
from ismlit.grams import gram
from ismlit.kernels import Gaussian, Linear, Polynomial, Squared
from ismlit.objectives.features import FeatureProblem
from ismlit.objectives.plain import Problem
from ismlit.solvers.certificate import certify
from ismlit.solvers.climb import escaped
from ismlit.solvers.ism import ism

seeds = st.integers(0, 2**32 - 1)


def objective(X, gamma, kernel, W):
    """J by the dense Gram matrix, which the solver never forms."""
    return np.sum(gamma * gram(kernel, X, W))


def test_the_reference_problem(breast_cancer):
    """30 features, q = 2: 19184.652 from the Taylor start, within 35 passes, never falling."""
    result = ism(*breast_cancer, 2)
    assert result.converged and result.n_passes - result.n_test_passes <= 35
    assert_allclose(result.objective, 19184.652, atol=5e-4)  # the digits of the reference
    X, gamma, kernel = breast_cancer
    dense = objective(X, gamma.to_dense(), kernel, result.W)
    assert_allclose(result.objective, dense, rtol=1e-11)
    assert (np.diff(result.history["objective"]) >= 0).all()


@pytest.mark.parametrize("name", FAMILY)
@given(seed=seeds, q=st.integers(1, 3))
@settings(deadline=None, max_examples=10)
def test_never_falls_and_ends_stationary(name, seed, q):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((20, 4)), np.arange(20) % 3
    kernel, gamma = kernel_for(name, X), label_gamma(y)
    result = ism(X, gamma, kernel, q, init="random", random_state=seed % 1000)
    J = result.history["objective"]
    assert (np.diff(J) >= -1e-14 * np.abs(J).max()).all()  # its own rounding at the very end
    assert_allclose(result.W.T @ result.W, np.eye(q), atol=1e-12)
    assert_allclose(result.objective, objective(X, gamma.to_dense(), kernel, result.W), rtol=1e-10)
    # stationary by an independent route: no slope of the dense J along tangent directions
    norm = np.linalg.norm(result.problem.phi(result.W))
    for _ in range(3):
        Z = rng.standard_normal((4, q))
        Z -= result.W @ (result.W.T @ Z)
        h = 1e-5 / np.linalg.norm(Z)
        ends = [objective(X, gamma.to_dense(), kernel, result.W + s * h * Z) for s in (1, -1)]
        assert abs(ends[0] - ends[1]) / 2e-5 <= 1e-5 * norm + 1e-8 * abs(J[-1])


def phi_by_hand(X, G, sigma, W):
    """1/2 sum_ij Gamma_ij f'(beta_ij) A_ij of a Gaussian kernel, over all pairs at once."""
    apart = X[:, None] - X
    slope = -np.exp(-np.sum((apart @ W) ** 2, axis=2) / (2 * sigma**2)) / (2 * sigma**2)
    return np.einsum("ij,ijd,ije->de", G * slope, apart, apart)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@unsettled
def test_the_solver_starts_at_the_top_of_phi_0_and_goes_to_the_top_of_phi(sign, rng):
    """The Taylor start spans the leading eigenvectors of Phi_0, also where all are negative.

    The first step, with a shift of 0, goes to the leading ones of Phi there.
    """
    X, y = rng.standard_normal((40, 4)), np.arange(40) % 5
    X[:, 0] += y
    gamma = sign * label_gamma(y)
    G = gamma.to_dense()
    values, vectors = np.linalg.eigh(phi_by_hand(X, G, 4.0, np.zeros((4, 2))))
    assert (sign * values > 0).all()  # every direction has its place in the order
    points = []
    found = ism(X, gamma, Gaussian(4.0), 2, tol=1e-12, max_iter=1, callback=points.append)
    assert subspace_angles(points[0].W, vectors[:, 2:]).max() < 1e-7
    assert found.history["shift"][1] == 0
    top = np.linalg.eigh(phi_by_hand(X, G, 4.0, points[0].W))[1][:, 2:]
    assert subspace_angles(points[1].W, top).max() < 1e-7


@unsettled
@given(seed=seeds)
@settings(deadline=None, max_examples=40)
def test_brute_force_over_all_directions_of_the_plane(seed):
    """d = 2, q = 1: the result is a local maximum of a scan, and not below its start."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (rng.integers(3, 9), 2)).astype(float)
    y = rng.integers(0, 2, len(X))
    assume(len(set(y)) == 2 and np.unique(X, axis=0).shape[0] > 2)
    gamma, kernel = label_gamma(y), Gaussian(1.5)
    assume(np.abs(X.T @ gamma.to_dense() @ X).max() > 1e-6)
    result = ism(X, gamma, kernel, 1)
    assert result.converged
    angle = np.arctan2(*result.W[::-1, 0])
    around = angle + np.linspace(-0.02, 0.02, 41)
    values = [
        objective(X, gamma.to_dense(), kernel, np.array([[np.cos(t)], [np.sin(t)]])) for t in around
    ]
    assert result.objective >= max(values) - 1e-9 * abs(result.objective)
    assert result.objective >= result.history["objective"][0] - 1e-12


def test_where_j_is_flat_to_rounding_the_solver_ends():
    """Three points so far apart that J is constant but for its last digit: no step is left."""
    X, y = np.array([[0.0, 1.0], [3.0, -2.0], [-1.0, 2.0]]), np.array([1, 0, 1])
    result = ism(X, label_gamma(y), Gaussian(1.5), 1)
    assert result.converged and result.n_iter < 50
    values = [
        objective(X, label_gamma(y).to_dense(), Gaussian(1.5), np.array([[np.cos(t)], [np.sin(t)]]))
        for t in np.arctan2(*result.W[::-1, 0]) + np.linspace(-0.02, 0.02, 41)
    ]
    assert result.objective >= max(values) - 1e-9


def test_the_linear_and_squared_kernels_are_solved_by_one_eigendecomposition(rng):
    X, y = rng.standard_normal((30, 5)), np.arange(30) % 3
    G = label_gamma(y).to_dense()
    vectors = np.linalg.eigh(X.T @ G @ X)[1][:, ::-1][:, :2]
    for kernel in (Linear(), Squared()):
        result = ism(X, label_gamma(y), kernel, 2)
        assert result.n_iter <= 1
        assert subspace_angles(result.W, vectors).max() < 1e-6


@pytest.mark.parametrize("init", ["taylor", "pca", "random"])
def test_rotating_the_data_rotates_the_answer(init, rng):
    X, y, Q = rng.standard_normal((30, 4)), np.arange(30) % 2, orthonormal(4, 4, rng)
    X[:, 0] += 2 * y
    first = ism(X, label_gamma(y), Gaussian(2.0), 1, init=init, random_state=0)
    second = ism(X @ Q.T, label_gamma(y), Gaussian(2.0), 1, init=init, random_state=0)
    assert_allclose(second.objective, first.objective, rtol=1e-8)
    # the angle is as accurate as the residual (1e-6) over the relative eigengap
    assert subspace_angles(second.W, Q @ first.W).max() < 1e-4


def test_a_saddle_is_left():
    """Thesis counterexample: plain ISM stops at once at e2, a strict local minimum."""
    X, y = np.array([[2.0, -1], [0, -1], [-2, 1]]), [0, 1, 0]
    stuck = ism(X, label_gamma(y), Gaussian(3.0), 1, escape=False)
    free = ism(X, label_gamma(y), Gaussian(3.0), 1)
    angles = np.linspace(0, np.pi, 2001)
    G, K = label_gamma(y).to_dense(), Gaussian(3.0)
    best = max(objective(X, G, K, np.array([[np.cos(t)], [np.sin(t)]])) for t in angles)
    assert stuck.objective < best - 0.01
    assert free.objective >= best - 1e-9


def test_q_equal_to_d_is_trivially_solved(rng):
    X, y = rng.standard_normal((10, 3)), np.arange(10) % 2
    result = ism(X, label_gamma(y), Gaussian(1.0), 3)
    assert_allclose(result.objective, np.sum(label_gamma(y).to_dense() * gram(Gaussian(1.0), X)))


def test_signs_are_fixed_where_features_outnumber_samples(rng):
    """The convention of signs holds for W itself, not for W in the span of the samples."""
    y = np.arange(12) % 2
    for _ in range(5):
        X = rng.standard_normal((12, 40))
        W = ism(X - X.mean(axis=0), label_gamma(y), Gaussian(9.0), 2).W
        assert (W[np.abs(W).argmax(axis=0), [0, 1]] > 0).all()


def test_the_start_may_be_given_and_is_not_changed(rng):
    X, y, W = rng.standard_normal((20, 3)), np.arange(20) % 2, orthonormal(3, 1, rng)
    before = W.copy()
    result = ism(X, label_gamma(y), Gaussian(1.0), 1, init=W)
    assert np.array_equal(W, before)
    again = ism(X, label_gamma(y), Gaussian(1.0), 1, init=result.W)
    assert again.n_iter == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (dict(q=5), "1 <= q <= d: q = 5, d = 3"),
        (dict(q=0), "1 <= q <= d"),
        (dict(q=1.5), "integer"),
        (dict(init="best"), "'taylor'"),
        (dict(init=np.ones((3, 1))), "orthonormal columns"),
        (dict(init=np.ones((2, 1))), r"shape \(3, q\)"),
        (dict(kernel=Gaussian(1e-4)), "underflows"),
        (dict(X=np.full((8, 3), np.nan)), "NaN"),
        (dict(X=np.zeros((8, 3))), "where Phi is zero"),
        (dict(gamma=np.arange(8) % 2), r"label_gamma\(y\)"),
        (dict(gamma=None), "gamma and kernel are needed"),
        (dict(kernel=None), "gamma and kernel are needed"),
    ],
)
def test_bad_input_gets_a_clear_error(change, words, rng):
    good = dict(X=rng.standard_normal((8, 3)), gamma=label_gamma(np.arange(8) % 2), q=1)
    good |= dict(kernel=Gaussian(1.0), init=np.eye(3)[:, :1])
    with pytest.raises(ValueError, match=words), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ism(**good | change)


@pytest.mark.parametrize("extra", ["gamma", "kernel", "random_features"])
def test_a_problem_comes_alone(extra, rng):
    """What a problem brings already is neither taken twice nor dropped: it is refused."""
    X, gamma = rng.standard_normal((20, 3)), label_gamma(np.arange(20) % 2)
    given = dict(gamma=gamma, kernel=Gaussian(1.0), random_features=64)[extra]
    problem = Problem(X, gamma, Gaussian(1.0))
    with pytest.raises(
        ValueError, match="a problem brings its own gamma, kernel, ridge and random"
    ):
        ism(problem, q=2, **{extra: given})


def test_the_callback_sees_every_accepted_point(rng):
    X, y = rng.standard_normal((40, 5)), np.arange(40) % 3
    points = []
    result = ism(X, label_gamma(y), Gaussian(2.0), 2, callback=points.append)
    assert_allclose([point.J for point in points], result.history["objective"], rtol=1e-12)
    seen, exact = [point.residual for point in points], result.history["residual"]
    assert_allclose(seen, exact, rtol=0.5)  # by the size of the Phi that was formed last
    gradient = result.problem.objective_and_gradient(points[-1].W)[1]
    assert_allclose(points[-1].gradient, project_out(gradient, points[-1].W), atol=1e-9)
    assert subspace_angles(points[-1].W, result.W).max() < 1e-7


@pytest.mark.parametrize(("seed", "sigma", "q"), [(13, 0.8, 2), (54, 0.5, 1), (61, 1.2, 2)])
def test_steps_by_gradients_never_lower_the_objective(seed, sigma, q):
    """Small bandwidths, where a smaller residual can mean a lower J: both tests are needed."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((20, 4)), np.arange(20) % 3
    result = ism(X, label_gamma(y), Gaussian(sigma), q, init="random", random_state=seed)
    J = result.history["objective"]
    assert result.converged and (np.diff(J) >= -1e-14 * J.max()).all()


def test_a_nearly_flat_valley_is_crossed():
    """The fixed-point steps alone shrink the residual by less than 1 % each here."""
    seed = 14103946
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((20, 4)), np.arange(20) % 3
    result = ism(X, label_gamma(y), FAMILY["user"], 3, init="random", random_state=seed % 1000)
    assert result.converged and result.n_passes <= 100
    assert_allclose(result.objective, 13.68425, atol=1e-4)  # the plain steps stop at 13.607


def test_float32_stops_at_its_own_rounding(rng):
    X, y = rng.standard_normal((40, 4)).astype("f4"), np.arange(40) % 2
    result = ism(X, label_gamma(y), Gaussian(2.0), 1, tol=0)
    assert result.converged and result.message == "the first-order residual is below tol"


@pytest.mark.parametrize("kernel", [Gaussian(8.0), Polynomial(2)], ids=str)
@pytest.mark.parametrize("given", [False, True])
def test_more_features_than_samples_are_solved_in_their_span(kernel, given, rng):
    """Against the same problem solved with all features."""
    X, y = rng.standard_normal((20, 50)), np.arange(20) % 2
    X[:, 0] += 3 * y
    X -= X.mean(axis=0)
    init = orthonormal(50, 2, rng) if given else "taylor"
    whole = Problem(X, label_gamma(y), kernel)
    found, direct = ism(X, label_gamma(y), kernel, 2, init=init), ism(whole, q=2, init=init)
    assert found.W.shape == (50, 2) and found.problem.d == 50
    assert_allclose(found.W.T @ found.W, np.eye(2), atol=1e-12)
    assert whole.objective(found.W) == pytest.approx(found.objective, rel=1e-10)
    assert found.objective == pytest.approx(direct.objective, rel=1e-8)
    assert certify(found).is_stationary
    with pytest.raises(ValueError, match="orthonormal"):
        ism(X, label_gamma(y), kernel, 2, init=np.ones((50, 2)))


def test_an_approximation_is_made_anew_where_a_climb_leads_far_from_its_start(monkeypatch):
    """With random features; the steps and passes of all rounds count."""
    X, y = np.random.default_rng(0).standard_normal((90, 5)), np.arange(90) % 3
    X[:, 0] += y
    problem, anchors = FeatureProblem(X, label_gamma(y), Gaussian(1.0), features=32), []
    near = FeatureProblem.near

    def logged(self, W):
        anchors.append(W)
        return near(self, W)

    monkeypatch.setattr(FeatureProblem, "near", logged)
    found = ism(problem, q=1, init=np.eye(5)[:, 4:])
    assert len(anchors) > 1 and np.cos(subspace_angles(anchors[0], found.W)[-1]) < 0.5
    assert np.cos(subspace_angles(found.problem.anchor, found.W)[-1]) > 0.5
    assert found.n_iter == len(found.history["objective"]) - 1
    assert found.n_passes == problem.count.passes
    assert found.residual < 1e-6


def test_passes_of_the_second_order_test_are_counted_apart(wine, monkeypatch):
    """Counted independently, around the one place where the curvature is looked for."""
    spent, lowest = [], SecondOrder.lowest

    def counted(self, **options):
        before = self.problem.count.passes
        try:
            return lowest(self, **options)
        finally:
            spent.append(self.problem.count.passes - before)

    monkeypatch.setattr(SecondOrder, "lowest", counted)
    found = ism(wine[0], label_gamma(wine[1]), Gaussian(3.0), 2)
    assert found.n_test_passes == sum(spent) > 0
    assert found.n_passes > found.n_test_passes


def test_a_saddle_is_left_by_a_short_step_where_a_long_one_overshoots():
    """J rises along the curve for a thirtieth of a radian only: lengths are halved, not doubled."""
    start = np.array([[1.0], [0.0]])

    def trial(W):
        angle = np.arctan2(*abs(W[::-1, 0]))  # the sign of w says nothing
        return SimpleNamespace(W=W, J=angle**2 if angle < 1 / 30 else -1.0)

    moves = []
    climb = SimpleNamespace(point=trial(start), noise=0.0, trial=trial, forget=lambda: None)
    climb.move = moves.append
    assert escaped(climb, np.array([[0.0], [1.0]]))
    assert len(moves) == 1 and 0 < moves[0].J < 1 / 900


@pytest.mark.parametrize(
    "n, d, q, classes",
    [
        (2000, 20, 2, 3),
        pytest.param(5000, 50, 3, 4, marks=pytest.mark.slow),
        (3000, 100, 3, 5),
    ],
)
def test_single_precision_reaches_what_it_can(n, d, q, classes):
    """Of thousands of samples too, whose J is known to fewer digits than a last step would add."""
    rng, y = np.random.default_rng(0), np.arange(n) % classes
    X = rng.standard_normal((n, d)) + 1.5 * rng.standard_normal((classes, d))[y]
    X = scale(X).astype("float32")
    task = label_gamma(y), Gaussian(median_distance(X))
    single, double = ism(X, *task, q), ism(X.astype(float), *task, q)
    assert single.converged and single.residual < 3e-5
    assert subspace_angles(single.W, double.W).max() < 1e-3


def test_frames_of_single_precision_are_orthonormal(rng):
    for d, q in ((5, 2), (50, 3), (300, 10)):
        exact = np.linalg.qr(rng.standard_normal((d, q)))[0]
        near = (exact * (1 + 1e-6 * rng.standard_normal(q))).astype(np.float32)
        found = nearest_frame(near).astype(float)
        assert np.abs(found.T @ found - np.eye(q)).max() < 1e-7
        assert subspace_angles(found, exact).max() < 1e-6
    assert nearest_frame(exact) is exact  # nothing is done in double precision


def test_float32_reaches_the_same_maximum(breast_cancer):
    X, gamma, kernel = breast_cancer
    result = ism(X.astype("f4"), gamma, kernel, 2)
    assert result.W.dtype == np.float32
    assert_allclose(result.objective, 19184.652, rtol=1e-6)  # a few units of single precision


def test_component_that_hardly_varies_is_warned_of(wine):
    with pytest.warns(UserWarning, match="component . of ism hardly varies"):
        ism(wine[0][:, :1] * [[1.0, -2.0]], label_gamma(wine[1]), "gaussian", 2)


def test_kernel_by_its_name(wine):
    X, y = wine
    named = ism(X, label_gamma(y), "gaussian", 2)
    assert isinstance(named.problem.kernel, Gaussian)
    assert_allclose(
        named.objective, ism(X, label_gamma(y), named.problem.kernel, 2).objective, rtol=1e-12
    )
