"""What the solver says of its run."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from ismlit.gamma import label_gamma
from ismlit.geometry.frames import projector_distance
from ismlit.kernels import Gaussian, Polynomial
from ismlit.solvers.ism import ism


def test_history_and_signs(rng):
    X, y = rng.standard_normal((25, 4)), np.arange(25) % 2
    result = ism(X, label_gamma(y), Polynomial(3), 2)
    lengths = {key: len(values) for key, values in result.history.items()}
    assert set(lengths.values()) == {result.n_iter + 1}
    assert {"objective", "passes", "residual", "shift", "movement"} == set(lengths)
    assert result.history["residual"][-1] == result.residual
    assert (result.W[np.abs(result.W).argmax(0), [0, 1]] > 0).all()
    assert (np.diff(result.eigenvalues) <= 0).all()
    ritz = result.W.T @ result.problem.phi(result.W) @ result.W
    assert_allclose(ritz, np.diag(result.eigenvalues), atol=1e-9 * np.abs(ritz).max())


def test_history_tells_how_far_each_step_went(rng):
    X, y, points = rng.standard_normal((30, 5)), np.arange(30) % 3, []
    found = ism(X, label_gamma(y), Gaussian(1.5), 2, init="random", callback=points.append)
    went = [projector_distance(a.W, b.W) for a, b in pairwise(points)]
    assert len(went) > 2 and min(went) > 0
    assert_allclose(found.history["movement"][1:], went)


def test_not_converged_is_said(breast_cancer):
    with pytest.warns(ConvergenceWarning, match=r"did not converge in 2 steps .*: residual .* Try"):
        result = ism(*breast_cancer, 2, max_iter=2)
    assert not result.converged
