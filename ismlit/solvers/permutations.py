"""What a search over projections finds where there is nothing to find: refits on permuted rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ismlit.messages import silenced
from ismlit.objectives.protocol import Objective
from ismlit.solvers.ism import ism

REFIT: dict[str, Any] = dict(tol=1e-3, max_iter=100, escape=False)
"""Options of every climb: near the maximum is near enough."""


def permutation(groups: np.ndarray, rng: np.random.RandomState | np.random.Generator) -> np.ndarray:
    """A random order (n,) of the rows that leaves each of them in its group.

    Parameters
    ----------
    groups : array of shape (n,)
    rng : RandomState

    Returns
    -------
    integer array of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.solvers.permutations import permutation
    >>> groups = np.array([0, 1, 0, 1])
    >>> groups[permutation(groups, np.random.RandomState(0))]
    array([0, 1, 0, 1])
    """
    rows = np.arange(len(groups))
    for group in np.unique(groups):
        here = np.flatnonzero(groups == group)
        rows[here] = here[rng.permutation(len(here))]
    return rows


def highest_dependence(problem: Objective, q: int) -> float:
    """The highest J of all projections to q dimensions, as climbs from two starts find it.

    Both starts, Taylor's and the gradient's, are made from the Gamma that is given. So the value
    for permuted rows of F has been searched for exactly as that for the data themselves, and the
    two can be compared.

    Parameters
    ----------
    problem : Objective
        With a Gamma.
    q : int

    Returns
    -------
    float
    """
    with silenced():  # not converged; a Phi_0 of zero
        return max(
            ism(problem, q=q, init=init, **REFIT).objective for init in ("taylor", "gradient")
        )


def permutation_p_value(values: Sequence[float]) -> float:
    """The p-value of the first of some values, the others being those of permuted data.

    Parameters
    ----------
    values : array of shape (1 + n_permutations,)

    Returns
    -------
    float
        (1 + number of permutations that reach the first value) / (1 + n_permutations).

    References
    ----------
    Phipson and Smyth 2010, Permutation p-values should never be zero.

    Examples
    --------
    >>> from ismlit.solvers.permutations import permutation_p_value
    >>> permutation_p_value([3.0, 1.0, 2.0, 3.0])
    0.5
    """
    first, *others = values
    slack = 1e-9 * abs(first)  # equal values differ by rounding
    return float((1 + np.sum(np.asarray(others) >= first - slack)) / len(values))
