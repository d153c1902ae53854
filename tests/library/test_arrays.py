from dataclasses import replace

import numpy as np
import pytest
from library.problems import FAMILY, orthonormal, random_problem
from numpy.testing import assert_allclose

from ismlit.objectives.arrays import ArrayProblem, Place

strict = pytest.importorskip("array_api_strict")


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_passes_are_those_of_numpy(name, dtype, rng):
    problem = random_problem(name, rng)
    problem = replace(problem, X=problem.X.astype(dtype))
    other = ArrayProblem(problem.X, problem.gamma, problem.kernel, tile=5, place=Place(strict))
    W, Z = orthonormal(4, 2, rng), rng.standard_normal((3, 4, 2))
    for method, *given in (
        ("objective",),
        ("objective_and_gradient",),
        ("objective_and_phi",),
        ("phi_derivative", Z),
        ("gradient_derivative", Z[0]),
    ):
        expected = getattr(problem, method)(W, *given)
        found = getattr(other, method)(W, *given)
        pairs = zip(found, expected) if isinstance(found, tuple) else [(found, expected)]
        for a, b in pairs:
            # 13^2 terms, each of which rounds once or twice
            assert_allclose(a, b, atol=400 * np.finfo(dtype).eps * np.abs(b).max(), err_msg=method)
            assert np.asarray(a).dtype == np.asarray(b).dtype
