import numpy as np
import pytest
from numpy.testing import assert_allclose

from ismlit.baselines import grassmann_trust_region
from ismlit.gamma import supervised
from ismlit.ism import ism
from ismlit.kernels import Gaussian

pytest.importorskip("pymanopt", reason="the Grassmann trust region needs pymanopt")


def test_trust_region_and_ism_meet_at_one_maximum(rng):
    X, y = rng.standard_normal((60, 5)), np.arange(60) % 2
    X[:, 0] += 2 * y
    ours = ism(X, supervised(y), Gaussian(2.0), 2)
    theirs = grassmann_trust_region(X, supervised(y), Gaussian(2.0), 2)
    assert theirs.converged
    assert_allclose(theirs.objective, ours.objective, rtol=1e-9)  # second order in tol = 1e-6
    assert theirs.n_iter <= 12  # with the exact Hessian; without its f'' part it takes 17
