"""What is known of some rows, and which column of a table cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from ismlit.gamma import known_labels, labels_of_a_column
from ismlit.messages import warn

DOMINANT_SHARE = 0.99  # A column with more than this share of the variance is named in a warning.


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


def warn_of_a_dominant_column(std: np.ndarray, who: str, names: Any = None) -> None:
    """Name the column, if there is one, that makes nearly all of the variance of X.

    Parameters
    ----------
    std : array of shape (d,)
        The standard deviations of the columns.
    who : str
        What measures distances.
    names : array of shape (d,), optional
        What the columns are called.

    Warns
    -----
    UserWarning
        If one column has more than 99 % of the variance.
    """
    variance = (std / std.max()) ** 2 if std.any() else std
    share = variance.max() / max(variance.sum(), 1e-300)
    if len(variance) > 1 and share > DOMINANT_SHARE:
        column = int(variance.argmax())
        called = f"column {column}" if names is None else f"column {names[column]!r}"
        warn(
            f"{called} of X makes {100 * share:.1f} % of its variance, so that hardly another "
            f"column moves a distance: scale the columns before {who}, for instance by "
            "StandardScaler",
        )


def check_units(X: np.ndarray) -> None:
    """Refuse rows that are all equal, or in units whose fourth powers leave the range of numbers.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in rows.

    Raises
    ------
    ValueError
        If no column varies, or the one that varies most does so by too little or too much for the
        second derivative of a kernel: names it.
    """
    spread = X.max(axis=0) / 2 - X.min(axis=0) / 2  # halves: their difference cannot overflow
    column, most = int(spread.argmax()), min(0.03 * float(np.finfo(X.dtype).max) ** 0.25, 1e50)
    if not spread[column]:
        raise ValueError("all rows of X are equal: duplicate rows of one sample say nothing")
    if not 1 / most < spread[column] < most:
        raise ValueError(
            f"the units of X are too small or too large for powers of distances in {X.dtype}: "
            f"column {column}, which varies most, does so by {spread[column]:.1g} about its middle "
            f"({1 / most:.0e} to {most:.0e} is possible); scale the columns, for instance X / "
            f"{spread[column]:.1g}"
        )


@contextmanager
def explained(X: Any) -> Iterator[None]:
    """Let errors of numpy and scikit-learn name the column and the row of X that cannot be read.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_features)

    Raises
    ------
    ValueError
        If a column holds dates or durations, which some libraries turn into numbers; and, where
        what is done with X fails, if one holds words, NaN or infinity. Other errors are left alone.
    """
    for name, dtype in zip(getattr(X, "columns", ()), getattr(X, "dtypes", ())):
        if not hasattr(X, "dask") and str(dtype).lower().startswith(("date", "time", "duration")):
            raise ValueError(_fault(np.asarray(X[name])).format(f"column {name!r}"))
    try:
        yield
    except (TypeError, ValueError) as error:
        for name, values in _columns(X):
            fault = _fault(values) if values.ndim == 1 else None
            if fault is not None:
                raise ValueError(fault.format(f"column {name}")) from error
        raise


def _columns(X):
    """The columns of a frame or an array in memory, each with its name or number."""
    if hasattr(X, "columns") and not hasattr(X, "dask"):
        yield from ((repr(name), np.asarray(X[name])) for name in X.columns)
    elif isinstance(X, list | tuple | np.ndarray):
        with suppress(ValueError):  # rows of several lengths
            yield from enumerate(np.asarray(X).T)


def _fault(values):
    """What keeps a column (n,) from being finite numbers, as a text with a place for its name."""
    dates = "{{}} of X holds dates, such as {} in row {}: make numbers of them, such as days"
    if values.dtype.kind in "mM":
        row = int(np.argmin(np.isnat(values)))  # the first that is a date
        return dates.format(values[row], row)
    if values.dtype.kind == "c":  # which scikit-learn refuses in words
        return None
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
        except (TypeError, OverflowError):  # None and pandas' NA are gaps; else it is left alone
            number = np.nan if value is None or type(value).__name__ == "NAType" else 0.0
        if not np.isfinite(number):
            what = "NaN"
            advice = "fill gaps by sklearn.impute.SimpleImputer, or leave the row out"
            if np.isinf(number):
                what, advice = "infinity", "leave the row out, or write a finite number"
            return f"Input X contains {what}, in {{}}, row {row}: {advice}"
    return None
