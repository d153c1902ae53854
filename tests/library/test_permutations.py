"""Orders of the rows within groups, and p-values by them."""

from collections import Counter

import numpy as np
import pytest

from ismlit.solvers.permutations import permutation, permutation_p_value


def test_every_order_that_leaves_rows_in_their_group_is_drawn_equally_often():
    """3! times 2! times 1 orders of six rows; 12 x 100 draws, 5 standard deviations of a count."""
    groups = np.array(["b", "a", "b", "c", "a", "b"])
    times = Counter(
        tuple(permutation(groups, np.random.RandomState(seed)).tolist()) for seed in range(1200)
    )
    assert len(times) == 12
    for order in times:
        assert sorted(order) == list(range(6)) and (groups[[*order]] == groups).all()
    assert max(abs(number - 100) for number in times.values()) < 5 * np.sqrt(1200 / 12 * 11 / 12)


@pytest.mark.parametrize(
    ("values", "p"),
    [
        ([2.0, 1.0, 1.5, 0.0], 1 / 4),
        ([2.0, 3.0, 1.5, 0.0], 2 / 4),
        ([2.0, 2.0, 2.0, 1.0, 5.0], 4 / 5),  # an equal value reaches it
        ([2.0, 2.0 - 1e-10, 2.0 - 1e-7], 2 / 3),  # and one that rounding alone keeps from it
        ([-2.0, -2.0 - 1e-10, -2.0 - 1e-7], 2 / 3),
        ([0.0, -1e-300], 1 / 2),
        ([1.0], 1.0),
    ],
)
def test_the_p_value_is_the_share_of_values_that_reach_the_first(values, p):
    assert permutation_p_value(values) == pytest.approx(p, abs=1e-15)
