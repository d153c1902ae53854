"""The objective of an alternation, in W and U together."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from ismlit.bandwidth import median_distance
from ismlit.gamma import guidance_gamma
from ismlit.kernels import Gaussian
from ismlit.objectives.joint import JointProblem
from ismlit.solvers.alternate import alternate


def test_frozen_degrees_lose_what_exact_ones_keep():
    X = scale(load_wine().data)
    joint = JointProblem(X, Gaussian(median_distance(X)), "degrees")
    with pytest.warns(ConvergenceWarning, match="fell"):
        frozen = alternate(joint, 3, 3, freeze=True)
    assert np.diff(frozen.history["objective"]).min() < -0.01
    assert frozen.objective < alternate(joint, 3, 3).objective - 0.1


def test_joint_problem_of_some_samples_holds_their_rows(rng):
    """What W and U decide on a sample is decided by the sample's rows alone."""
    X, rows = rng.standard_normal((12, 3)), np.array([1, 4, 5, 9])
    for guide in (None, guidance_gamma(np.arange(12) % 2, -1.0)):
        some = JointProblem(X, Gaussian(1.0), "centred", guide).on(rows)
        assert np.array_equal(some.X, X[rows])
        assert some.affinity(np.eye(3)).n == 4
