"""The parameters that estimators share, and the rule of each.

A rule is a pair: a test of a value, and what it admits in words.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

from ismlit.bandwidth import KERNELS, RULES, kernel_hint
from ismlit.kernels import Kernel
from ismlit.objectives.affinity import NORMALIZE
from ismlit.solvers.starts import INITS

Rule = tuple[Callable[[Any], bool], str]


def is_integer_at_least(value: Any, least: int) -> bool:
    """Return whether a value is a whole number of at least some size.

    Parameters
    ----------
    value : object
        What was given. True and False do not count as numbers.
    least : int
        The smallest number allowed.

    Returns
    -------
    bool
        True if it is.
    """
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def _number(value, least, strict=False):
    real = isinstance(value, Real) and not isinstance(value, bool) and value == value
    return real and (value > least if strict else value >= least)


def _array(value):
    return not isinstance(value, str) and np.ndim(value) >= 1


def one_of(*names: str) -> Rule:
    """Make the rule that admits the words of a list.

    Parameters
    ----------
    *names : str
        The words.

    Returns
    -------
    tuple of (test, words)
        The rule.
    """
    words = f"one of {names}" if len(names) > 1 else repr(names[0])
    return lambda value: isinstance(value, str) and value in names, words


def rule(*parts: Rule) -> Rule:
    """Make a rule that admits what any of its parts admits.

    Parameters
    ----------
    *parts : tuple of (test, words)
        Rules.

    Returns
    -------
    tuple of (test, words)
        The rule.
    """
    tests = [test for test, _ in parts]
    *before, last = [text for _, text in parts]
    words = f"{', '.join(before)} or {last}" if before else last
    return lambda value: any(test(value) for test in tests), words


NONE = (lambda value: value is None, "None")
BOOL = (lambda value: isinstance(value, bool | np.bool_), "True or False")
ARRAY = (_array, "an array")
WHOLE = (lambda value: is_integer_at_least(value, 1), "a whole number of at least 1")
ANY_WHOLE = (lambda value: isinstance(value, Integral), "a whole number")
POSITIVE = (lambda value: _number(value, 0, strict=True), "a number above 0")
NOT_NEGATIVE = (lambda value: _number(value, 0), "a number of at least 0")
SHARE = (lambda value: _number(value, 0) and value <= 1, "a number from 0 to 1")
PART = (lambda value: _number(value, 0, strict=True) and value < 1, "a number between 0 and 1")
FUNCTION = (callable, "a function")
DICT = (lambda value: isinstance(value, dict), "a dict")
KERNEL = (lambda value: isinstance(value, Kernel), "a Kernel")
PARAMETERS = {
    "n_components": rule(WHOLE, NONE),
    "n_clusters": WHOLE,  # or None, where labels can tell
    "n_vectors": rule(WHOLE, NONE),
    "kernel": rule(KERNEL, one_of(*KERNELS), FUNCTION),
    "bandwidth": rule(POSITIVE, one_of(*RULES), FUNCTION),
    "bandwidth_scale": POSITIVE,
    "init": rule(one_of(*INITS), ARRAY),
    "tol": NOT_NEGATIVE,
    "max_iter": WHOLE,
    "max_turns": WHOLE,
    "n_init": WHOLE,
    "normalize": one_of(*NORMALIZE),
    "ridge": rule(POSITIVE, one_of("auto")),
    "random_features": rule(WHOLE, NONE),
    "penalty": NOT_NEGATIVE,
    "weight": NOT_NEGATIVE,
    "n_jobs": rule(ANY_WHOLE, NONE),
    "callback": rule(FUNCTION, NONE),
    "verbose": rule(BOOL, ANY_WHOLE),
}
"""What each parameter may be: (test, words). One word means one thing in every estimator."""


def check_parameters(estimator: Any, **own: Rule) -> None:
    """Hold every parameter of an estimator against its rule in `PARAMETERS`.

    Parameters
    ----------
    estimator : estimator
        What is to be fitted.
    **own : tuple of (test, words)
        Rules of this estimator that differ, by the parameter's name.

    Raises
    ------
    ValueError
        Names the parameter, the rule, and what came.
    """
    rules = PARAMETERS | own
    for name, value in estimator.get_params(deep=False).items():
        if name not in rules:  # random_state, which scikit-learn checks where it is used
            continue
        test, words = rules[name]
        if not test(value):
            hint = kernel_hint(value) if name == "kernel" else ""
            raise ValueError(
                f"{name} of {type(estimator).__name__} must be {words}, got {value!r}{hint}"
            )
