"""The iteration of the thesis, step by step against Phi by brute force."""

from itertools import pairwise

import numpy as np
import pytest
from ismlit_book.methods.published import published_ism
from library.problems import orthonormal, unsettled
from numpy.testing import assert_allclose
from scipy.linalg import subspace_angles
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from ismlit import Gaussian, Problem, label_gamma, median_distance
from ismlit.geometry.frames import project_out


@pytest.fixture(scope="module")
def breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    return X, label_gamma(y), Gaussian(median_distance(X))


def test_it_falls_into_a_2_cycle_on_breast_cancer(breast_cancer):
    with pytest.warns(ConvergenceWarning, match=r"did not converge in 60 steps \(max_iter"):
        result = published_ism(*breast_cancer, 2, tol=0, max_iter=60)
    tail = result.history["objective"][-6:]
    assert_allclose(tail[::2], tail[0], rtol=1e-6)
    assert_allclose(tail[1::2], tail[1], rtol=1e-6)
    assert_allclose(np.sort(tail[:2]), [19175.18, 19177.06], atol=0.01)
    stopped = published_ism(*breast_cancer, 2, tol=0.01)
    assert stopped.converged and stopped.n_iter == 3 and stopped.residual > 0.01


@unsettled
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_each_step_goes_to_the_top_of_phi_and_is_shown_to_the_callback(sign, rng):
    """Also where all eigenvalues are negative: the largest by sign, not by size."""
    X, y = rng.standard_normal((40, 4)), np.arange(40) % 5
    X[:, 0] += y
    gamma, sigma, points = sign * label_gamma(y), 4.0, []
    options = dict(init=orthonormal(4, 2, rng), tol=0, max_iter=3, callback=points.append)
    found = published_ism(X, gamma, Gaussian(sigma), 2, **options)
    assert len(points) == 4 and subspace_angles(points[0].W, options["init"]).max() < 1e-7
    apart = X[:, None] - X
    for before, after in pairwise(points):
        K = np.exp(-np.sum((apart @ before.W) ** 2, axis=2) / (2 * sigma**2))
        weights = -gamma.to_dense() * K / (2 * sigma**2)
        phi = np.einsum("ij,ijd,ije->de", weights, apart, apart)
        assert subspace_angles(after.W, np.linalg.eigh(phi)[1][:, 2:]).max() < 1e-7
    assert_allclose([point.J for point in points], found.history["objective"], rtol=1e-12)
    gradient = found.problem.objective_and_gradient(points[-1].W)[1]
    assert_allclose(points[-1].gradient, project_out(gradient, points[-1].W), atol=1e-9)


def test_it_stays_at_a_minimum():
    """The thesis's counterexample: it stops at once at e2, a strict local minimum."""
    X, y = np.array([[2.0, -1], [0, -1], [-2, 1]]), [0, 1, 0]
    found = published_ism(X, label_gamma(y), Gaussian(3.0), 1, tol=1e-12)
    assert_allclose(np.abs(found.W.ravel()), [0, 1], atol=1e-8)


def test_by_default_it_goes_on_to_a_millionth(wine):
    """The eigenvalues settle to 1e-6, W to about its root; one step more changes them no more."""
    task = wine[0], label_gamma(wine[1]), Gaussian(3.0), 2
    found = published_ism(*task)
    assert found.n_iter == published_ism(*task, tol=1e-6).n_iter and found.residual < 1e-3
    values = np.linalg.eigvalsh(Problem(*task[:3]).phi(found.W))[:-3:-1]
    assert_allclose(found.eigenvalues, values, rtol=1e-4)
