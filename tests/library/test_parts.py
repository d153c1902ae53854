"""What a problem is made of."""

import pytest
from library.problems import random_problem
from numpy.testing import assert_allclose

from ismlit.objectives.parts import as_problem
from ismlit.solvers.ism import ism


def test_a_problem_brings_its_own_parts(rng):
    problem = random_problem("gaussian", rng)
    assert as_problem(problem) is problem
    with pytest.raises(ValueError, match="its own gamma, kernel, ridge and random features"):
        as_problem(problem, problem.gamma)
    direct = ism(problem, q=2)
    assert_allclose(ism(problem, q=2).W, direct.W, atol=1e-6)
