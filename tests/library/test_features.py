import tracemalloc

import numpy as np
import pytest
import sklearn.datasets
from library.problems import orthonormal
from numpy.testing import assert_allclose
from scipy.linalg import subspace_angles
from scipy.special import ndtr
from sklearn.preprocessing import scale

from ismlit import SupervisedIKDR
from ismlit.bandwidth import median_distance
from ismlit.gamma import DenseGamma, Gamma, label_gamma
from ismlit.grams import ConstantKernelError
from ismlit.kernels import Gaussian, Polynomial
from ismlit.objectives import features
from ismlit.objectives.class_sums import class_gamma
from ismlit.objectives.features import FeatureProblem, distinct_rows
from ismlit.objectives.plain import Problem
from ismlit.solvers.ism import ism


@pytest.fixture
def data(rng):
    y = np.arange(60) % 3
    X = rng.standard_normal((60, 5)) + np.c_[2 * (y == 1), 2 * (y == 2), np.zeros((60, 3))]
    return X, label_gamma(y), Gaussian(1.7)


def dense(problem, W):
    """J by the n x n Gram matrix of the features, written down naively."""
    W, _ = problem._aligned(W)
    angles = (problem.X - problem.X.mean(axis=0)) @ W @ problem.frequencies(W.shape[1])
    Z = np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(problem.features)
    return np.sum(problem.gamma.to_dense() * (Z @ Z.T))


def test_frequencies_are_normal_and_even_and_few_are_the_first_of_many():
    """Of 16 one lies in each sixteenth of the normal distribution, whatever the coordinate."""
    frequencies = features.even_frequencies(3, 16, 4)
    assert_allclose(np.sort(np.floor(16 * ndtr(frequencies))), [np.arange(16)] * 3)
    for m in (1, 2, 5, 8, 9):
        assert np.array_equal(features.even_frequencies(3, m, 4), frequencies[:, :m])


def test_objective_is_that_of_the_features(data, rng):
    problem, W = FeatureProblem(*data, features=40), orthonormal(5, 2, rng)
    assert_allclose(problem.objective(W), dense(problem, W), rtol=1e-12)


@pytest.mark.parametrize("q", [1, 2, 3])
def test_gradient_is_exact_on_the_grassmann_manifold(data, rng, q):
    """The turning of the frame included: 40 frequencies are few, so it would be seen."""
    problem, W, h = FeatureProblem(*data, features=40), orthonormal(5, q, rng), 1e-6
    Z = rng.standard_normal((5, q))
    Z -= W @ (W.T @ Z)
    value, G = problem.objective_and_gradient(W)
    turned = lambda t: np.linalg.qr(W + t * Z)[0]
    slope = (dense(problem, turned(h)) - dense(problem, turned(-h))) / (2 * h)
    assert_allclose(2 * np.sum(G * Z), slope, rtol=1e-6)  # central differences
    assert_allclose(value, dense(problem, W), rtol=1e-12)


def test_phi_times_w_is_the_gradient(data, rng):
    problem, W = FeatureProblem(*data, features=64), orthonormal(5, 2, rng)
    phi = problem.objective_and_phi(W)[1]
    assert_allclose(phi, phi.T)
    assert_allclose(phi @ W, problem.objective_and_gradient(W)[1], atol=1e-10)


def test_many_features_give_phi_itself(data, rng):
    W = orthonormal(5, 2, rng)
    exact_J, exact = Problem(*data).objective_and_phi(W)
    errors = []
    for m in (256, 4096):
        J, phi = FeatureProblem(*data, features=m).objective_and_phi(W)
        errors.append(np.linalg.norm(phi - exact) / np.linalg.norm(exact))
        assert J == pytest.approx(exact_J, rel=0.05)
    # random draws would gain a factor of 4 from 16 times the features, Sobol up to 16
    assert errors[1] < errors[0] / 4 and errors[1] < 2e-3


def test_only_the_subspace_counts(data, rng):
    problem, W = FeatureProblem(*data, features=64), orthonormal(5, 2, rng)
    R = orthonormal(2, 2, rng)
    assert_allclose(problem.objective(W @ R), problem.objective(W), rtol=1e-12)
    assert_allclose(problem.objective_and_phi(W @ R)[1], problem.objective_and_phi(W)[1], atol=1e-9)


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("classes", [2, 17, 54, 250, 256])
def test_every_class_is_one_row_of_gamma(classes, balanced, rng):
    """Equal rows of F are found to be equal, however many classes: none is counted twice.

    Numbers of samples that no block size divides: there, equal rows give products that differ.
    """
    for n in (3 * classes + 1, 3 * classes + 3, 4 * classes + 3):
        y = rng.permutation(np.r_[np.arange(classes), rng.integers(0, classes, n - classes)])
        F = label_gamma(y, balanced).F
        first, code = distinct_rows(F)
        assert len(first) == classes == len(set(zip(code.tolist(), y.tolist())))
        assert np.array_equal(F[first][code], F)


def test_rows_that_differ_in_one_entry_are_told_apart(rng):
    """Whatever the entry, and however small the difference; order and repeats do not matter."""
    rows = np.vstack([np.zeros(5), np.eye(5) * 1e-300, np.eye(5)])
    drawn = rng.permutation(np.r_[np.arange(11), rng.integers(0, 11, 50)])
    signs = rng.choice([-0.0, 0.0], (61, 5))  # of zeros: they are equal
    for F in (rows[drawn], np.where(rows[drawn] == 0, signs, rows[drawn])):
        first, code = distinct_rows(F)
        assert len(first) == 11 == len(set(zip(code.tolist(), drawn.tolist())))
        assert np.array_equal(first, [np.flatnonzero(code == k)[0] for k in range(11)])


@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
def test_finds_the_exact_subspace(name):
    bunch = getattr(sklearn.datasets, f"load_{name}")()
    X, y = scale(bunch.data), bunch.target
    kernel, q = Gaussian(median_distance(X)), len(np.unique(y)) - 1
    exact = ism(X, label_gamma(y), kernel, q)
    found = ism(X, label_gamma(y), kernel, q, random_features=128, random_state=0)
    assert found.converged and found.n_test_passes == 0
    assert np.degrees(subspace_angles(found.W, exact.W)).max() < 2  # the design's target
    assert np.diff(found.history["objective"]).min() > 0


def test_threads_and_precision_change_nothing_else(data):
    X, gamma, kernel = data
    one = ism(X, gamma, kernel, 2, random_features=64, random_state=0)
    two = ism(X, gamma, kernel, 2, random_features=64, random_state=0, n_jobs=2)
    assert_allclose(one.W, two.W, atol=1e-12)
    single = ism(X.astype("float32"), gamma, kernel, 2, random_features=64, random_state=0)
    assert single.W.dtype == np.float32
    assert subspace_angles(single.W, one.W).max() < 1e-2  # it stops at residuals of 2e-5


def test_what_features_cannot_do_is_refused(data, rng):
    X, gamma, kernel = data
    with pytest.raises(ValueError, match="Gaussian"):
        FeatureProblem(X, gamma, Polynomial(3))
    with pytest.raises(ValueError, match="labels"):
        FeatureProblem(X, DenseGamma(gamma.to_dense()), kernel)
    many = Gamma(rng.standard_normal((4097, 2)), np.ones(2))
    with pytest.raises(ValueError, match="4096 "):
        FeatureProblem(rng.standard_normal((4097, 3)), many, kernel)
    with pytest.raises(ValueError, match="positive whole number"):
        FeatureProblem(X, gamma, kernel, features=0)


@pytest.mark.filterwarnings("ignore")  # the cluster's own
def test_a_dask_cluster_gives_the_same_answer(data):
    """The same call, another backend of joblib; exact and with features."""
    distributed = pytest.importorskip("distributed")
    from joblib import parallel_config

    X, gamma, kernel = data
    calls = [{}, dict(random_features=64, random_state=0)]
    here = [ism(X, gamma, kernel, 2, **options) for options in calls]
    options = dict(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        with parallel_config(backend="dask"):
            there = [ism(X, gamma, kernel, 2, n_jobs=2, **options) for options in calls]
    for one, other in zip(here, there):
        assert_allclose(one.W, other.W, atol=1e-12)
        assert one.n_passes == other.n_passes


@pytest.mark.parametrize("seed", range(12))
def test_converges_with_more_columns_than_the_labels_determine(seed):
    """q above the rank of Phi_0: the frame of the extra columns must not jump."""
    rng = np.random.default_rng(seed)
    d, y = 4 + seed % 4, np.arange(60) % 3
    X = rng.standard_normal((60, d)) + np.pad(2.0 * np.eye(3)[y][:, 1:], ((0, 0), (0, d - 2)))
    q = 2 + seed % (d - 2)
    found = ism(X, label_gamma(y), Gaussian(1.0), q, random_features=128, random_state=0)
    again = found.history["movement"][1:] == 0  # where the features were turned to the end
    assert found.converged and again.sum() < 5
    assert np.diff(found.history["objective"])[~again].min() > 0


def test_a_count_of_features_is_a_whole_number(data):
    with pytest.raises(ValueError, match="positive whole number"):
        ism(*data, 2, random_features=64.0)


def test_phi_0_is_that_of_the_exact_problem(rng):
    X, y = rng.standard_normal((60, 4)) + 5, np.arange(60) % 3
    for gamma in (label_gamma(y), Gamma(np.eye(3)[y], [1.0, -2.0, 0.5])):  # the other not centred
        problem = FeatureProblem(X, gamma, Gaussian(1.3))
        assert_allclose(problem.phi_0(), problem.on(slice(None)).phi_0(), atol=1e-9)


def test_rows_on_disk_are_not_copied(rng, tmp_path):
    """As the same rows in memory; with more rows grow Gamma and the like, and not the rows."""
    options = dict(bandwidth=3.0, random_features=16, init="taylor", tol=1e-3, random_state=0)
    most, size = {}, {}
    for n in (60_000, 180_000):
        y = np.arange(n) % 3
        X = rng.standard_normal((n, 100)).astype("float32") + 2 * np.eye(3, 100)[y].astype(
            "float32"
        )
        np.save(tmp_path / "rows.npy", X)
        in_memory, size[n] = SupervisedIKDR(2, **options).fit(X, y), X.nbytes
        del X
        tracemalloc.start()
        model = SupervisedIKDR(2, **options).fit(np.load(tmp_path / "rows.npy", mmap_mode="r"), y)
        most[n] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert_allclose(model.W_, in_memory.W_, atol=1e-5)
    (few, many), (small, large) = most.values(), size.values()
    assert many - few < 0.3 * (large - small)


@pytest.mark.parametrize("gamma_of", [label_gamma, class_gamma])
@pytest.mark.parametrize("balanced", [False, True])
def test_two_visits_give_what_one_does(gamma_of, balanced, rng, monkeypatch):
    """Of many classes moments are not held; Phi takes them for two frequencies at a time."""
    X, W = rng.standard_normal((90, 3)), orthonormal(3, 2, rng)
    given = X, gamma_of(rng.permutation(np.arange(90) % 7), balanced), Gaussian(1.0)
    one, two = (FeatureProblem(*given, features=16) for _ in range(2))
    expected = one.objective_and_gradient(W), one.objective_and_phi(W)
    assert one.count.passes == 3
    monkeypatch.setattr(features, "MOST_MOMENTS", 100)
    found = two.objective_and_gradient(W), two.objective_and_phi(W)
    assert two.count.passes == 2 + 2 + 8 + 1
    for (J, array), (K, other) in zip(found, expected, strict=True):
        assert J == pytest.approx(K, rel=1e-12)
        assert_allclose(array, other, atol=1e-12 * np.abs(other).max())


def test_many_classes_are_fitted(rng, monkeypatch):
    """600 classes lie on a line; J is that of the features."""
    monkeypatch.setattr(features, "MOST_MOMENTS", 10_000)  # two visits
    y = np.repeat(np.arange(600), 4)
    X = rng.standard_normal((2400, 3))
    X[:, 1] += y / 60
    model = SupervisedIKDR(1, random_features=32, random_state=0, init="taylor").fit(X, y)
    assert abs(model.W_[1, 0]) > 0.99 and model.converged_
    X, y, W = X[::2], y[::2], orthonormal(3, 1, rng)
    problem = FeatureProblem(X, label_gamma(y), Gaussian(1.0), features=4)
    aligned, _ = problem._aligned(W)
    angles = (X - X.mean(axis=0)) @ aligned @ problem.frequencies(1)
    waves = np.hstack([np.cos(angles), np.sin(angles)]) / 2
    H = np.eye(len(y)) - 1 / len(y)
    same = y[:, None] == y
    assert problem.objective(W) == pytest.approx(np.sum((H @ same @ H) * (waves @ waves.T)))


def test_more_random_features_than_rows_warn(wine):
    with pytest.warns(UserWarning, match="a fit without them is exact, and faster"):
        SupervisedIKDR(2, random_features=200, random_state=0).fit(*wine)


@pytest.mark.parametrize("bandwidth", [1e-12, 1e9])
def test_random_features_do_not_hide_a_constant_kernel(bandwidth, wine):
    with pytest.raises(
        ConstantKernelError, match=r"(constant|is 1) between any two|constant on this data"
    ):
        SupervisedIKDR(2, bandwidth=bandwidth, random_features=64, random_state=0).fit(*wine)
    with pytest.raises(ValueError, match="positive and finite"):
        Gaussian(1e300)
