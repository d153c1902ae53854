"""What a target y is: class labels, a response, or a mistake; decided here for every caller."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from ismlit.messages import warn

MOST_CODES = 20  # More distinct whole numbers than this are a response, and not codes of classes.


def read_target(y: Any, name: str = "y") -> np.ndarray:
    """Return a target as an array of numbers, truth values or words, and refuse anything else.

    Parameters
    ----------
    y : array of any shape
        An array of objects is read as what its entries are: `Decimal` and pandas' nullable numbers
        are numbers.
    name : str, default="y"
        What the caller calls it.

    Returns
    -------
    array of the same shape
        Of a boolean, integer, floating-point or string type.

    Raises
    ------
    ValueError
        If an entry is missing, infinite, a date or a duration, or words stand beside numbers:
        names the row and the value.

    Examples
    --------
    >>> from decimal import Decimal
    >>> import numpy as np
    >>> from ismlit.targets import read_target
    >>> read_target(np.array([Decimal("0.5"), 2], dtype=object))
    array([0.5, 2. ])
    >>> read_target(np.array(["a", None], dtype=object))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: Input y contains None, in row 1: leave out the rows whose y is unknown, or ...
    """
    array, or_use = np.asarray(y), _SEMI if name == "y" else ""
    kind = array.dtype.kind
    if kind == "O":
        for place, value in np.ndenumerate(array):
            if (fault := _fault(value)) is not None:
                raise ValueError(
                    f"Input {name} contains {fault.format(name=name, row=place[0], or_use=or_use)}"
                )
        array = _of_one_kind(array, name)
        kind = array.dtype.kind
    elif kind in "Mm":
        row = int(np.argmin(np.isnat(array.reshape(len(array), -1)).any(axis=1)))
        raise ValueError(f"Input {name} contains {_DATE.format(array[row], row=row)}")
    if kind not in "biufUS":
        what = "Complex data not supported: " if kind == "c" else ""
        raise ValueError(f"{what}{name} must hold numbers or words, got {array.dtype}")
    if kind == "f" and not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array.reshape(len(array), -1)).all(axis=1)))
        what = "NaN" if np.isnan(array[row]).any() else "infinity"
        gap = _GAP.format(what, name=name, row=row, or_use=or_use)
        raise ValueError(f"Input {name} contains {gap}")
    return array


_GAP = "{}, in row {row}: leave out the rows whose {name} is unknown{or_use}"
_SEMI = ", or use SemiSupervisedIKDR where only some labels are known"
_DATE = "the date or duration {}, in row {row}: make numbers of it, such as days, or words"


def _fault(value):
    """What is wrong with one entry of an array of objects, as a template; None if nothing is."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return _GAP.replace("{}", "None" if value is None else "NaN")
    if hasattr(value, "isoformat") or isinstance(value, timedelta | np.datetime64 | np.timedelta64):
        return _DATE.replace("{}", str(value))
    if isinstance(value, Real | Decimal) and value != value:
        return _GAP.replace("{}", "NaN")
    if not isinstance(value, Real | Decimal | str | np.bool_):
        return f"an entry of type {type(value).__name__}, in row {{row}}: give numbers or words"
    return None


def _of_one_kind(array, name):
    """An array of objects as one of truth values, whole numbers, numbers or words."""
    values = array.ravel().tolist()
    is_word = [isinstance(value, str) for value in values]
    if any(is_word):
        if not all(is_word):
            raise ValueError(
                f"{name} mixes numbers and words: write all classes as one kind, as by "
                f"{name}.astype(str)"
            )
        return array.astype(str)
    if all(isinstance(value, bool | np.bool_) for value in values):
        return array.astype(bool)
    whole = all(isinstance(value, Integral) and abs(value) < 2**63 for value in values)
    return array.astype(np.int64 if whole else float)


def read_labels(y: Any, name: str = "y") -> np.ndarray:
    """Return class labels as a 1-D array, and refuse what cannot be labels.

    Parameters
    ----------
    y : array of shape (n,)
        Numbers or words.
    name : str, default="y"
        What the caller calls them.

    Returns
    -------
    array of shape (n,)

    Raises
    ------
    ValueError
        As `read_target` does, and if a number has a fraction.

    Examples
    --------
    >>> from ismlit.targets import read_labels
    >>> read_labels([0.0, 1.0, 0.5])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: Unknown label type: y holds fractions, such as 0.5 in row 2, which are no ...
    """
    labels = column_or_1d(read_target(y, name), warn=True)
    if has_fractions(labels):
        row = int(np.flatnonzero(labels % 1)[0])
        raise ValueError(
            f"Unknown label type: {name} holds fractions, such as {labels[row]:g} in row {row}, "
            "which are no labels; use ResponseIKDR for a response"
        )
    return labels


def class_labels(y: Any) -> np.ndarray:
    """Return the class labels of all samples, and refuse so many numbers that they are none.

    Parameters
    ----------
    y : array of shape (n,)

    Returns
    -------
    array of shape (n,)

    Raises
    ------
    ValueError
        As `read_labels` and `check_label_count` do.
    """
    labels = read_labels(y)
    check_label_count(np.unique(labels), len(labels))
    return labels


def read_response(y: Any) -> np.ndarray:
    """Return a response as floating-point numbers, and refuse words that write none.

    Parameters
    ----------
    y : array of shape (n,) or (n, r)

    Returns
    -------
    array of the same shape

    Raises
    ------
    ValueError
        As `read_target` does, and for words.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.targets import read_response
    >>> read_response(np.array([True, False]))
    array([1., 0.])
    """
    values = read_target(y)
    try:
        if np.asarray(y).dtype.kind in "US":
            raise ValueError(f"got the word {str(values.flat[0])!r} in row 0")
        return values.astype(float, copy=False)  # objects may be numbers that are written out
    except ValueError as error:
        raise ValueError(
            f"a response must be numbers ({error}); SupervisedIKDR takes class labels"
        ) from None


def has_fractions(y: np.ndarray) -> bool:
    """Return whether an array holds a number that is not whole.

    Parameters
    ----------
    y : array of any shape

    Returns
    -------
    bool
    """
    return y.dtype.kind == "f" and bool((y % 1).any())


def is_response(y: np.ndarray) -> bool:
    """Say whether a target of either kind is a response: by its type, which the caller can choose.

    Parameters
    ----------
    y : array of shape (n,)
        As `read_target` gives it.

    Returns
    -------
    bool
        True for floating-point numbers, and for whole numbers with more than 20 distinct values.
        Fewer whole numbers, truth values and words are class labels.

    Warns
    -----
    UserWarning
        If whole numbers are taken as a response: they may be names of classes.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.targets import is_response
    >>> counts = np.array([0, 1, 1, 2])
    >>> is_response(counts), is_response(counts.astype(float)), is_response(counts.astype(str))
    (False, True, False)
    """
    if y.dtype.kind not in "iu":
        return y.dtype.kind == "f"
    n_distinct = len(np.unique(y))
    if n_distinct > MOST_CODES:
        warn(
            f"y holds {n_distinct} distinct whole numbers in {len(y)} samples and is taken as a "
            "response; pass y.astype(str) if they are names of classes, y.astype(float) if not"
        )
    return n_distinct > MOST_CODES


def check_label_count(classes: np.ndarray, n: int) -> None:
    """Refuse so many distinct numbers that they are no labels.

    Parameters
    ----------
    classes : array of shape (k,)
        The distinct values.
    n : int
        How many samples have them.

    Raises
    ------
    ValueError
        If they are numbers, more than 20, and more than a third of n.
    """
    if classes.dtype.kind in "iuf" and len(classes) > max(MOST_CODES, n // 3):
        raise ValueError(
            f"y holds {len(classes)} distinct numbers in {n} samples: that is no class label "
            "but a response; use ResponseIKDR, or y.astype(str) if they are names of classes"
        )


def slice_starts(y, n_slices, sample_weight=None):
    """Cut a response into slices that hold equally many rows, or rows of equal weight.

    Where so many rows share a value that fewer slices come of it than there could be, each next
    slice takes whole values until it has its share of what is left.

    Parameters
    ----------
    y : array of shape (n,)
        The response.
    n_slices : int
        The most slices.
    sample_weight : array of shape (n,), optional
        How much each row counts.

    Returns
    -------
    array of shape (m,)
        The values at which a new slice begins; m is below n_slices.

    Raises
    ------
    ValueError
        If y is constant.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.targets import slice_starts
    >>> slice_starts(np.arange(10), 5)
    array([2, 4, 6, 8])
    >>> slice_starts(np.array([0] * 95 + [1, 2, 3, 4, 5]), 3)  # 95 rows are one slice
    array([1, 4])
    """
    values, codes = np.unique(y, return_inverse=True)
    if len(values) < 2:
        raise ValueError("y is constant: there is nothing for X to say of it")
    counts = np.bincount(codes, weights=sample_weight)
    total = np.cumsum(counts)
    cuts = np.arange(1, n_slices) * total[-1]  # in units of 1 / n_slices: no whole number rounds
    starts = np.unique(values[np.searchsorted(total * n_slices, cuts, side="right")])
    starts = starts[starts > values[0]]
    if len(starts) + 1 >= min(n_slices, len(values)):
        return starts
    first = [0]
    left = total[-1]
    for slices in range(min(n_slices, len(values)), 1, -1):  # as many are still to be made
        held = np.cumsum(counts[first[-1] :])
        most = len(values) - slices + 1 - first[-1]  # values that this one may take
        taken = min(int(np.searchsorted(held, left / slices)) + 1, most)
        first.append(first[-1] + taken)
        left -= held[taken - 1]
    return values[first[1:]]
