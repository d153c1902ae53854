"""X and y as arrays of another library than numpy, such as those of a GPU.

Where scikit-learn's ``array_api_dispatch`` is on, `SupervisedIKDR` and `ResponseIKDR` make their
passes over the pairs of rows with the arrays that they are given. As in scikit-learn, what they
learn comes back as such arrays; all other estimators refuse them.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils._array_api import get_namespace_and_device, supported_float_dtypes
from sklearn.utils.validation import check_is_fitted, validate_data

from ismlit.objectives.arrays import Place, to_numpy


def place_of(X: Any) -> Place | None:
    """Return the library and the device of an array.

    Parameters
    ----------
    X : object
        What was given.

    Returns
    -------
    Place or None
        None for a numpy array, a table or a list, and where ``array_api_dispatch`` is off.
    """
    if isinstance(X, np.ndarray) or not hasattr(X, "__dlpack__"):
        return None
    if not get_config()["array_api_dispatch"]:
        return None
    xp, _, device = get_namespace_and_device(X)
    return Place(xp, device)


def split_place(*given: Any) -> tuple[Any, ...]:
    """Return the library and the device of arrays, and the arrays as those of numpy.

    Parameters
    ----------
    *given : object
        X, and what came with it.

    Returns
    -------
    tuple (place, X, ...)
        With None for the place, and all as it came, where `place_of` X is None.
    """
    place = place_of(given[0])
    return place, *(given if place is None else map(_to_numpy_if_array, given))


def in_numpy(estimator: Any) -> Any:
    """Return an estimator that holds numpy arrays: itself where it does already, else a copy.

    Parameters
    ----------
    estimator : estimator
        Fitted, or not.

    Returns
    -------
    estimator
        With the same numbers.
    """
    if isinstance(getattr(estimator, "W_", estimator), np.ndarray):
        return estimator
    twin = copy.copy(estimator)
    vars(twin).update({name: _to_numpy_if_array(value) for name, value in vars(twin).items()})
    return twin


def call_with_arrays(name, method, estimator, args, options, place):
    """Call a method of an estimator with arrays of another library.

    Parameters
    ----------
    name : str
        The name of the method.
    method : callable
        The method, which takes numpy arrays; `fit` takes these, too.
    estimator : estimator
        Whose method it is.
    args, options : list, dict
        What it was given.
    place : Place
        The library and the device of X.

    Returns
    -------
    object
        What the method returns, with arrays of the library.

    Raises
    ------
    TypeError
        If the estimator takes numpy arrays alone.
    ValueError
        If it is to be fitted with random features.
    """
    estimator_name = type(estimator).__name__
    if not getattr(estimator, "takes_arrays", False):
        raise TypeError(
            f"{name} of {estimator_name} takes numpy arrays and not those of {place}, which "
            "SupervisedIKDR and ResponseIKDR take: give X and y as numpy arrays"
        )
    if name == "transform":
        return _transform(estimator, place, *args, **options)
    if name != "fit":
        args = [_to_numpy_if_array(value) for value in args]
        options = {key: _to_numpy_if_array(value) for key, value in options.items()}
        return place.put(method(in_numpy(estimator), *args, **options))
    if estimator.random_features is not None:
        raise ValueError(
            f"random_features of {estimator_name} are computed in numpy, and X is of {place}: "
            "leave random_features out for an exact fit there, or give X and y as numpy arrays"
        )
    method(estimator, *args, **options)
    for key, value in vars(estimator).items():
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
            setattr(estimator, key, place.put(value))
    return estimator


def _to_numpy_if_array(value):
    return to_numpy(value) if hasattr(value, "__dlpack__") else value


def _transform(estimator, place, X):
    """``(X - mean_) W_`` in the precision of X, where X is."""
    check_is_fitted(estimator)
    xp = place.xp
    rows = validate_data(estimator, X, dtype=supported_float_dtypes(xp), reset=False)
    mean, W = (getattr(estimator, name) for name in ("mean_", "W_"))
    if place_of(W) != place:
        raise ValueError(
            f"transform of {type(estimator).__name__} got an array of {place}, but was fitted to "
            f"those of {place_of(W) or 'numpy'}: give X as one of them"
        )
    return xp.astype((rows - mean) @ W, rows.dtype, copy=False)
