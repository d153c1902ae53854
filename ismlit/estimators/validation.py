"""Targets, and what is known of some rows, as estimators get them."""

from __future__ import annotations

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from ismlit.gamma import labels_of_a_column


def check_labels(y):
    """Classes of labels y (n,), sorted; a ValueError for a regression target."""
    y = np.asarray(y)
    check_label_kind(y)
    classes = np.unique(y)
    check_label_count(classes, len(y))
    return classes


def check_label_kind(y):
    """A ValueError for values y (n,) that are no labels, whatever their number."""
    if y.dtype == object and any(label is None for label in y):
        raise ValueError("y holds None: where only some labels are known, use SemiSupervisedIKDR")
    if y.dtype.kind == "f" and (y % 1).any():
        raise ValueError(
            "Unknown label type: y holds fractions, which are no labels; use ResponseIKDR for a "
            "response"
        )
    check_classification_targets(y)


def check_label_count(classes, n):
    """A ValueError where n samples hold so many distinct numbers that they are no labels."""
    if classes.dtype.kind in "iuf" and len(classes) > max(20, n // 3):
        raise ValueError(
            f"y holds {len(classes)} distinct numbers in {n} samples: that is no class label "
            "but a response; use ResponseIKDR"
        )


def one_row_per_sample(y, n):
    """What is known as an array with n rows; a ValueError for another length or for NaN."""
    y = np.asarray(y)
    if len(y) != n:
        raise ValueError(f"y must have one row per sample: {len(y)} rows for {n} samples")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y holds NaN or infinity: write -1 where a label is not known")
    y = labels_of_a_column(y)
    if y.ndim == 1 and y.dtype.kind == "f" and (y % 1).any():
        raise ValueError("y holds fractions, which are no labels: pass scores as y[:, None]")
    return y
