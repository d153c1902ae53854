"""Landmarks: how near they are to the exact problem, in memory, in a file and in blocks."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from library.problems import orthonormal
from numpy.testing import assert_allclose
from scipy.linalg import subspace_angles

from ismlit import (
    Gaussian,
    Linear,
    Polynomial,
    ResponseIKDR,
    SupervisedIKDR,
    certify,
    ism,
    label_gamma,
)
from ismlit.objectives import landmarks
from ismlit.objectives.class_sums import class_gamma
from ismlit.objectives.conditional import ConditionalProblem
from ismlit.objectives.features import FeatureProblem
from ismlit.objectives.landmarks import LandmarkProblem, visited_landmarks
from ismlit.objectives.protocol import TwiceDifferentiable


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Polynomial(2), 2 * Gaussian(1.5) + Linear()])
@pytest.mark.parametrize("weighted", [False, True])
def test_landmarks_give_the_exact_problem(kernel, weighted, rng):
    X, w = rng.standard_normal((90, 5)), rng.integers(1, 4, 90).astype(float)
    X -= X.mean(axis=0)
    w = w if weighted else None
    gamma, W = (
        label_gamma((X[:, 0] * X[:, 1] > 0).astype(int), sample_weight=w),
        orthonormal(5, 2, rng),
    )
    exact = ConditionalProblem(X, gamma, kernel, 0.01, w)
    near = LandmarkProblem(X, gamma, kernel, 0.01, w).near(W)
    assert near.objective(W) == pytest.approx(exact.objective(W), rel=1e-5)
    slope, expected = (problem.objective_and_gradient(W)[1] for problem in (near, exact))
    assert_allclose(slope, expected, atol=1e-4 * np.abs(expected).max())


def test_the_gradient_of_landmarks_is_that_of_their_own_objective(rng, monkeypatch):
    """Where they are few, and K differs from the exact one; in chunks of rows too."""
    X, W, Z = rng.standard_normal((80, 4)), orthonormal(4, 2, rng), rng.standard_normal((4, 2))
    gamma = label_gamma(np.arange(80) % 3)
    problem = LandmarkProblem(X, gamma, Gaussian(0.5), 0.05, landmarks=np.arange(0, 80, 10))
    exact = ConditionalProblem(X, gamma, Gaussian(0.5), 0.05).objective(W)
    assert abs(problem.objective(W) / exact - 1) > 0.1
    slope = (problem.objective(W + 1e-5 * Z) - problem.objective(W - 1e-5 * Z)) / 2e-5
    J, gradient = problem.objective_and_gradient(W)
    assert 2 * np.sum(gradient * Z) == pytest.approx(slope, rel=1e-6)
    assert_allclose(problem.objective_and_phi(W)[1] @ W, gradient, rtol=1e-10)
    monkeypatch.setattr(landmarks, "ROW_CHUNK", 7)
    again = replace(problem)
    assert again.objective(W) == pytest.approx(J, rel=1e-12)
    assert_allclose(again.objective_and_gradient(W)[1], gradient, rtol=1e-9)


def test_landmarks_by_pivots_are_better_than_random_ones():
    """For all of ten draws: by a hundred times at least in the median."""
    ratios = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, W = rng.standard_normal((500, 6)), orthonormal(6, 2, rng)
        given = X, label_gamma((X[:, 0] > X[:, 1] ** 2).astype(int)), Gaussian(1.0), 0.01
        exact, chosen = ConditionalProblem(*given).objective(W), LandmarkProblem(*given).near(W)
        drawn = rng.permutation(500)[: len(chosen.landmarks)]
        random = LandmarkProblem(*given, landmarks=drawn)
        ratios.append(abs(random.objective(W) - exact) / abs(chosen.objective(W) - exact))
    assert min(ratios) > 1 and np.median(ratios) > 100


def test_landmarks_need_a_start_and_memory_grows_with_the_rows_alone(rng):
    X, y = rng.standard_normal((2000, 4)), np.arange(2000) % 2
    problem = LandmarkProblem(X, label_gamma(y), Gaussian(1.0))
    with pytest.raises(ValueError, match="there are no landmarks yet"):
        problem.objective(np.eye(4)[:, :2])
    W = np.eye(4)[:, :2]
    tracemalloc.start()
    problem.near(W).objective_and_gradient(W)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2000**2 * 8
    assert not isinstance(problem, TwiceDifferentiable)
    assert isinstance(problem.on(np.arange(100)), ConditionalProblem)


# ---------------------------------------------------------------- rows that are visited


def product(n, seed=0):
    """Rows of eight columns, far from the origin; the class is the sign of a product of two."""
    X = np.random.default_rng(seed).standard_normal((n, 8))
    return X + 5, X[:, 0] * X[:, 1] > 0


@pytest.mark.parametrize("gamma", [label_gamma, class_gamma, lambda y: class_gamma(y, True)])
def test_visits_give_the_problem_of_the_same_landmarks(gamma, rng):
    X, y = product(700)
    y = y.astype(int) + (X[:, 2] > 6)  # three classes of unequal size
    target, kernel, W = gamma(y), Gaussian(0.8), orthonormal(8, 2, rng)
    sample = np.arange(0, 700, 3)
    visited = visited_landmarks(FeatureProblem(X, target, kernel), 0.02, sample).near(W)
    same = LandmarkProblem(
        X - X.mean(axis=0), target, kernel, 0.02, landmarks=sample[visited.landmarks]
    )
    assert visited.n == 700 and len(visited.X) == len(sample)
    J, slope = visited.objective_and_gradient(W)
    assert J == pytest.approx(same.objective(W), rel=1e-9)
    assert_allclose(slope, same.objective_and_gradient(W)[1], rtol=1e-7, atol=1e-9 * J)
    assert visited.count.passes == 1
    V = np.linalg.qr(np.hstack([W, rng.standard_normal((8, 2))]))[0]
    assert visited.in_basis(V).objective(V.T @ W) == pytest.approx(J, rel=1e-9)


def test_a_file_is_fitted_as_the_array_is_and_stays_there(tmp_path):
    X, y = product(20_000)
    np.save(tmp_path / "rows.npy", X)
    on_disk = np.load(tmp_path / "rows.npy", mmap_mode="r")
    options = dict(ridge=0.01, random_features=64, random_state=0)
    in_memory = SupervisedIKDR(2, **options).fit(X, y)
    tracemalloc.start()
    read = SupervisedIKDR(2, **options).fit(on_disk, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert in_memory.ridge_ == read.ridge_ == 0.01 and in_memory.converged_
    assert np.degrees(subspace_angles(in_memory.W_, read.W_).max()) < 0.1
    assert np.sum(read.W_[:2] ** 2) / 2 > 0.99  # HSIC starts at means that coincide
    held = landmarks.ROW_CHUNK * landmarks.MOST_LANDMARKS * 8
    assert peak < 8 * held  # some tables of a chunk and the landmarks, and no copy of the rows
    assert read.certificate().residual < 1e-2


def test_blocks_are_fitted_as_the_array_is():
    da = pytest.importorskip("dask.array")
    X, y = product(4000)
    options = dict(ridge=0.01, random_features=64, random_state=0)
    in_memory = SupervisedIKDR(2, **options).fit(X, y)
    blocks = da.from_array(X, chunks=(900, -1)), da.from_array(y, chunks=900)
    fitted = SupervisedIKDR(2, **options).fit(*blocks)
    assert fitted.ridge_ == 0.01
    assert np.degrees(subspace_angles(in_memory.W_, fitted.W_).max()) < 1.0
    response = (X[:, 0] - 5) ** 2 + 0.1 * X[:, 3]
    of_response = ResponseIKDR(1, **options).fit(blocks[0], da.from_array(response, chunks=900))
    assert abs(of_response.W_[0, 0]) > 0.99


def test_visited_landmarks_are_near_the_exact_objective():
    """The error that is stated: J to 1e-6 with two columns of W and 2000 rows."""
    X, y = product(2000)
    W = np.eye(8)[:, :2]
    exact = ConditionalProblem(X, label_gamma(y), Gaussian(1.0), 0.01).objective(W)
    visited = visited_landmarks(FeatureProblem(X, label_gamma(y), Gaussian(1.0)), 0.01).near(W)
    assert visited.objective(W) == pytest.approx(exact, rel=1e-6)
    end = ism(X, label_gamma(y), Gaussian(1.0), 2, init=W, random_features=64, ridge=0.01)
    assert end.converged and certify(end).residual < 1e-4
    assert np.sum(end.W[:2] ** 2) / 2 > 0.99


def test_weights_with_features_and_a_ridge_are_refused(rng):
    X, y = product(100)
    with pytest.raises(ValueError, match="does not work with random_features and a ridge"):
        SupervisedIKDR(1, ridge=0.1, random_features=8).fit(X, y, sample_weight=np.arange(100.0))
