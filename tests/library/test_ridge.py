"""Ridge discriminant analysis, of which the network's layers are made."""

import numpy as np
import pytest
from library.problems import GROWN_ON, grown_by_training, layer_solver
from numpy.testing import assert_allclose
from scipy.linalg import subspace_angles
from sklearn.exceptions import ConvergenceWarning

from ismlit.estimators.network.layers import GramColumns, Waves
from ismlit.estimators.network.ridge import RidgeDirections
from ismlit.grams import gram
from ismlit.kernels import Gaussian
from ismlit.objectives.features import even_frequencies


@pytest.mark.parametrize("ridge", [np.inf, 10.0, 0.1, 1e-6])
@pytest.mark.parametrize("exact", [True, False])
def test_directions_are_those_of_ridge_discriminant_analysis(exact, ridge, rng):
    """Against features formed in full, and the solution written as the text has it."""
    Z, F = rng.standard_normal((40, 3)), np.eye(3)[np.arange(40) % 3]
    kernel = Gaussian(1.5)
    if exact:
        features = GramColumns(Z, kernel)
        values, V = np.linalg.eigh(gram(kernel, Z))
        R = V * np.sqrt(np.maximum(values, 0))
    else:
        features = Waves(even_frequencies(3, 25, 0) / 1.5)
        R = features(Z)
    R = R - R.mean(axis=0)
    C = R.T @ R
    A = R.T @ (F - F.mean(axis=0))
    if np.isfinite(ridge):
        A = np.linalg.solve(C + ridge * np.linalg.eigvalsh(C)[-1] * np.eye(len(C)), A)
    W, images = RidgeDirections(features, Z, F)(ridge)
    expected = np.linalg.svd(A, full_matrices=False)[0][:, :2]
    assert_allclose(features(Z) @ W, images, atol=1e-10)
    images = images - images.mean(axis=0)
    assert images.shape == (40, 2)  # the rank of centred indicators
    assert subspace_angles(images, R @ expected).max() < 1e-5
    metric = gram(kernel, Z) if exact else np.eye(len(W))
    assert_allclose(W.T @ metric @ W, np.eye(2), atol=1e-6)
    other = np.linalg.svd(R.T @ rng.standard_normal((40, 2)), full_matrices=False)[0]
    assert subspace_angles(images, R @ other).max() > 0.1  # not any two directions would do


@pytest.mark.slow
def test_sharper_ridges_are_used_only_where_needed(wine):
    assert grown_by_training().fit(*wine).ridge_ == np.inf
    X, y = GROWN_ON["cancer"]()
    smooth = grown_by_training(ridges=(np.inf,))
    with pytest.warns(ConvergenceWarning, match="below threshold"):
        smooth.fit(X, y)
    assert not smooth.converged_
    # 1e-3 is the least gain of a layer that does not pass the threshold
    assert len(smooth.layers_) < 12 and np.all(np.diff(smooth.history_["agreement"]) >= 1e-3)
    sharp = grown_by_training(ridges=(np.inf, 1e-8)).fit(X, y)
    assert sharp.ridge_ == 1e-8 and sharp.converged_


def test_the_fallback_never_lowers_hsic():
    """(6.3) with a wide bandwidth: numerator as before, denominator no larger."""
    X, y = GROWN_ON["noise"]()
    solver = layer_solver(y)
    Z, kernel = X - X.mean(axis=0), Gaussian(1.0)
    for _ in range(4):
        _, R, _ = solver.lift(Z, kernel)
        before = solver.score(gram(kernel, Z))
        W = solver.start(R, np.inf)
        sigma, hsic = solver.bandwidth(R @ W)
        # the widest bandwidth searched is a hundred times the rms distance: linear to 1e-4
        assert hsic >= before - 1e-4
        Z, kernel = R @ W, Gaussian(sigma)


def test_interpolation_at_ridge_zero():
    X, y = GROWN_ON["adversarial"]()
    solver = layer_solver(y)
    _, R, _ = solver.lift(X, Gaussian(0.02))
    Z = R @ solver.start(R, 1e-10)
    spread = [np.ptp(Z[y == c]) for c in (0, 1)]
    assert max(spread) < 1e-3 * abs(Z[y == 0].mean() - Z[y == 1].mean())


@pytest.mark.parametrize("ridges", [(), (0.0,), (1, -1), (-1, 1), (np.nan, 1), (1, np.nan)])
def test_each_ridge_is_looked_at(ridges, rng):
    """One that is not above 0 is refused wherever it stands."""
    X, y = rng.standard_normal((20, 3)), np.arange(20) % 2
    with pytest.raises(ValueError, match="ridges must be numbers above 0"):
        grown_by_training(ridges=ridges).fit(X, y)
