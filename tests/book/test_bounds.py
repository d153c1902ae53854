"""The printed conditions for a maximum, by their formulas; they imply the exact one."""

import numpy as np
from ismlit_book.methods.bounds import bound_310, bound_c73

from ismlit import Gaussian, certify, ism, label_gamma
from ismlit.geometry.second_order import SecondOrder


def test_bounds_imply_the_exact_condition(rng):
    """The printed conditions are sufficient: no counterexample among random maxima."""
    for _ in range(40):
        X, y = rng.standard_normal((12, 3)), rng.permutation(np.arange(12) % 2)
        sigma = rng.uniform(1, 20)
        found = ism(X, label_gamma(y), Gaussian(sigma), 1)
        for bound in (bound_c73, bound_310):
            assert not bound(found).holds or certify(found).is_second_order


def test_c73_is_the_largest_curvature_of_f_second(rng):
    """(C.73)'s constant bounds B'MB for every unit B."""
    X, y = rng.standard_normal((15, 3)), np.arange(15) % 2
    result = ism(X, label_gamma(y), Gaussian(2.0), 1)
    right = bound_c73(result).right
    second = SecondOrder(result.problem, result.W, result.problem.phi(result.W))
    B = rng.standard_normal((second.size, 200))
    B /= np.linalg.norm(B, axis=0)
    assert (np.sum(B * second.m_times(B), axis=0) <= right + 1e-12).all()
