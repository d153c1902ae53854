"""Targets, and what is known of some rows, as estimators get them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from ismlit.gamma import labels_of_a_column


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
    if y.dtype == object and any(label is None for label in y):
        raise ValueError("y holds None: where only some labels are known, use SemiSupervisedIKDR")
    if y.dtype.kind == "f" and (y % 1).any():
        raise ValueError(
            "Unknown label type: y holds fractions, which are no labels; use ResponseIKDR for a "
            "response"
        )
    check_classification_targets(y)
    classes = np.unique(y)
    if y.dtype.kind in "iuf" and len(classes) > max(20, len(y) // 3):
        raise ValueError(
            f"y holds {len(classes)} distinct numbers in {len(y)} samples: that is no class label "
            "but a response; use ResponseIKDR"
        )
    return classes


def one_row_per_sample(y: Any, n: int) -> np.ndarray:
    """Return what is known of the rows as an array, and refuse one of another length.

    Parameters
    ----------
    y : array of shape (n,) or (n, r)
        Labels, -1 where none is known; or scores.
    n : int
        The number of rows of X.

    Returns
    -------
    array of shape (n,) or (n, r)
        Labels or scores.

    Raises
    ------
    ValueError
        If y has another length, or holds NaN or infinity.
    """
    y = np.asarray(y)
    if len(y) != n:
        raise ValueError(f"y must have one row per sample: {len(y)} rows for {n} samples")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y holds NaN or infinity: write -1 where a label is not known")
    y = labels_of_a_column(y)
    if y.ndim == 1 and y.dtype.kind == "f" and (y % 1).any():
        raise ValueError("y holds fractions, which are no labels: pass scores as y[:, None]")
    return y
