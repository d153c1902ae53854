"""Targets, and what is known of some rows, as estimators get them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from ismlit.gamma import known_labels, labels_of_a_column
from ismlit.messages import warn
from ismlit.objectives.arrays import to_numpy


def check_labels(y: Any) -> np.ndarray:
    """Return the classes of labels, and refuse what is no label.

    Parameters
    ----------
    y : array of shape (n,)
        Class labels, numbers or words.

    Returns
    -------
    array of shape (n_classes,)
        The classes, sorted.

    Raises
    ------
    ValueError
        If y holds one class, or None, or is a response.
    """
    y = np.asarray(y)
    check_label_kind(y)
    if y.dtype.kind in "iuf":
        check_label_count(np.unique(y), len(y))
    check_classification_targets(y)
    return np.unique(y)


def check_label_kind(y: np.ndarray) -> None:
    """Refuse values that are no labels, whatever their number.

    Parameters
    ----------
    y : array of shape (n,)

    Raises
    ------
    ValueError
        If y holds None, or fractions: names the row. If it mixes numbers and words.
    """
    if y.dtype == object and any(label is None for label in y):
        row = [label is None for label in y].index(True)
        raise ValueError(
            f"y holds None in row {row}: where only some labels are known, use SemiSupervisedIKDR"
        )
    if y.dtype == object and len({isinstance(label, str) for label in y}) > 1:
        raise ValueError(
            "y mixes numbers and words: write all classes as one kind, as by y.astype(str)"
        )
    if y.dtype.kind == "f" and (y % 1).any():
        row = int(np.flatnonzero(y % 1)[0])
        raise ValueError(
            f"Unknown label type: y holds fractions, such as {y[row]:g} in row {row}, which are no "
            "labels; use ResponseIKDR for a response"
        )


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
        If k is above 20 and above a third of n.
    """
    if classes.dtype.kind in "iuf" and too_many(len(classes), n):
        raise ValueError(
            f"y holds {len(classes)} distinct numbers in {n} samples: that is no class label "
            "but a response; use ResponseIKDR, or y.astype(str) if they are names of classes"
        )


def one_row_per_sample(y: Any, n: int) -> np.ndarray:
    """Return what is known of the rows as an array, and refuse one of another length.

    Parameters
    ----------
    y : array of shape (n,) or (n, r)
        Labels, -1, NaN or None where none is known; or scores.
    n : int
        The number of rows of X.

    Returns
    -------
    array of shape (n,) or (n, r)
        Labels or scores.

    Raises
    ------
    ValueError
        If y has another length, or holds infinity, or NaN among scores.
    """
    y = np.asarray(y)
    if len(y) != n:
        raise ValueError(f"y must have one row per sample: {len(y)} rows for {n} samples")
    y = labels_of_a_column(y)
    if y.dtype.kind == "f":
        bad = np.isinf(y) if y.ndim == 1 else ~np.isfinite(y)  # a label that is NaN is not known
        if bad.any():
            row = int(np.argwhere(bad)[0, 0])
            raise ValueError(f"y holds NaN or infinity in row {row}: write -1 for an unknown label")
    if y.ndim == 1 and y.dtype.kind == "f" and (y[y == y] % 1).any():
        raise ValueError("y holds fractions, which are no labels: pass scores as y[:, None]")
    known = known_labels(y)
    if known is not None and known.any() and len(set(y[known].tolist())) == 1:
        raise ValueError(
            f"y holds one class alone, {y[known][0]!s}, in the {known.sum()} rows where a label is "
            "known: give some labels of another class, or leave y out to cluster without labels"
        )
    return y


def too_many(n_distinct: int, n: int) -> bool:
    """Say whether n numbers are too various to be class labels.

    Parameters
    ----------
    n_distinct, n : int
        How many of them are distinct, and how many there are.

    Returns
    -------
    bool
        Whether more than 20 and more than a third are distinct.
    """
    return n_distinct > max(20, n // 3)


def is_response(y) -> bool:
    """Say whether a target is a response: numbers with fractions, or too many distinct ones.

    Parameters
    ----------
    y : array of shape (n,)
        The target.

    Returns
    -------
    bool
        True for a response: numbers of which one has a fraction, or of which more than 20 and more
        than a third are distinct. All else are class labels.

    Warns
    -----
    UserWarning
        If many distinct numbers of an integer type are taken as a response: they may be names.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.estimators.validation import is_response
    >>> is_response(np.arange(50.0))
    True
    >>> is_response(np.array([0.0, 1.0, 1.0])), is_response(np.array([0.5, 1.0]))
    (False, True)
    """
    y = np.asarray(y)
    if y.dtype.kind == "f" and (y % 1).any():
        return True
    if y.dtype.kind not in "iuf" or not too_many(n_distinct := len(np.unique(y)), len(y)):
        return False
    if y.dtype.kind != "f":
        warn(
            f"y holds {n_distinct} distinct whole numbers in {len(y)} samples and is taken as a "
            "response; pass y.astype(str) if they are names of classes, y.astype(float) if not"
        )
    return True


UNREADABLE = re.compile(
    r"convert|Cannot cast|float\(\) argument|DateTime|promote|contains (NaN|infinity)"
)
"""What numpy and scikit-learn say of a table that they cannot read as finite numbers."""
GAPS = re.compile(r"Input (y )?contains (NaN|infinity)|boolean value of NA")
"""What scikit-learn and pandas say of a target that is not finite."""


def explain_column(X: Any, error: BaseException) -> None:
    """Name the column and the row of X that an error of numpy or scikit-learn is about.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_features)
        What was to be fitted.
    error : BaseException
        What happened. Errors that are not about the values of X are left alone.

    Raises
    ------
    ValueError
        If a column holds words, dates, NaN or infinity: names it, the row and the value.
    """
    if not isinstance(error, TypeError | ValueError) or not UNREADABLE.search(str(error)):
        return
    names = [] if hasattr(X, "dask") else [*getattr(X, "columns", ())]
    table = [np.asarray(X[name]) for name in names]
    if isinstance(X, list | tuple) or hasattr(X, "__dlpack__"):
        table = [*to_numpy(X).T]
    for number, values in enumerate(table):
        fault = _fault(values) if values.ndim == 1 else None
        if fault is not None:
            name = repr(names[number]) if names else number
            raise ValueError(fault.format(f"column {name}")) from error


@contextmanager
def explained(X: Any, y: Any = None) -> Iterator[None]:
    """Let errors of numpy and scikit-learn name the column and the row of X, or the row of y.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_features)
        What is read within.
    y : array of shape (n_samples,), optional
        What is read with it.

    Yields
    ------
    None

    Raises
    ------
    ValueError
        As `explain_column` and `explain_target` do; other errors are left alone.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        explain_column(X, error)
        explain_target(y, error)
        raise


def explain_target(y: Any, error: BaseException) -> None:
    """Name the row of y that is no finite number, where an error of scikit-learn is about it.

    Parameters
    ----------
    y : array of shape (n_samples,) or (n_samples, n_targets), or None
        The target.
    error : BaseException
        What happened. Errors that are not about gaps of y are left alone.

    Raises
    ------
    ValueError
        If y holds NaN or infinity: names the row.
    """
    about = isinstance(error, TypeError | ValueError) and GAPS.match(str(error))
    if not about or y is None or hasattr(y, "dask"):
        return
    for row, values in enumerate(to_numpy(y)):
        for value in np.atleast_1d(values):
            number = np.nan if type(value).__name__ == "NAType" else value
            if isinstance(number, Real) and not math.isfinite(number):
                what = "infinity" if math.isinf(number) else "NaN"
                raise ValueError(
                    f"Input y contains {what}, in row {row}: leave out the rows whose y is unknown"
                ) from error


def _fault(values):
    """What keeps a column (n,) from being finite numbers, as a text with a place for its name."""
    dates = "{{}} of X holds dates, such as {} in row {}: make numbers of them, such as days"
    if values.dtype.kind in "mM":
        row = int(np.argmin(np.isnat(values)))  # the first that is a date
        return dates.format(values[row], row)
    numbers = values.dtype.kind in "fiu"
    for row in np.flatnonzero(~np.isfinite(values)) if numbers else range(len(values)):
        value = values[row]
        if hasattr(value, "isoformat"):
            return dates.format(value, row)
        try:
            number = float(value)
        except ValueError:
            return (
                f"{{}} of X holds words, such as {str(value)!r} in row {row}: encode them, for "
                "instance by sklearn.preprocessing.OneHotEncoder, or leave the column out"
            )
        except TypeError:  # None and pandas' NA are gaps; anything else is left alone
            number = np.nan if value is None or type(value).__name__ == "NAType" else 0.0
        if not np.isfinite(number):
            what, cure = ("NaN", "fill gaps by sklearn.impute.SimpleImputer, or leave the row out")
            if np.isinf(number):
                what, cure = "infinity", "leave the row out, or write a finite number"
            return f"Input X contains {what}, in {{}}, row {row}: {cure}"
    return None
