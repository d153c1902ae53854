"""Rows that count unequally."""

from __future__ import annotations

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _check_sample_weight

from ismlit.dependence import weighted_centre


def row_weights(sample_weight, class_weight, X, y):
    """The weight of every row (n,), or None where all count alike.

    Parameters
    ----------
    sample_weight : float, array of shape (n,), or None
    class_weight : dict, "balanced" or None
        A factor for every class; "balanced": so that the weights of any two classes have one sum,
        and those of all rows the sum that they have without.
    X, y : arrays of shape (n, d), (n,)

    Raises
    ------
    ValueError
        If a weight is negative or not finite, or the rows with a weight above 0 are fewer than 2.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.estimators.weights import row_weights
    >>> X, y = np.zeros((4, 1)), np.array(["a", "a", "a", "b"])
    >>> row_weights(None, "balanced", X, y).round(2)
    array([0.67, 0.67, 0.67, 2.  ])
    """
    if sample_weight is None and class_weight is None:
        return None
    w = _check_sample_weight(sample_weight, X, dtype=float)
    bad = np.flatnonzero(w < 0)
    if bad.size:
        raise ValueError(
            f"sample_weight must be at least 0, got {w[bad[0]]:g} for row {bad[0]}: leave rows "
            "out by a weight of 0"
        )
    if np.count_nonzero(w) < 2:
        raise ValueError("sample_weight must be above 0 for at least two rows")
    if class_weight is None:
        return w
    classes, index = np.unique(y, return_inverse=True)
    if class_weight == "balanced":
        sums = np.bincount(index, weights=w)
        factors = w.sum() / (np.count_nonzero(sums) * np.where(sums > 0, sums, 1.0))
    else:
        factors = compute_class_weight(class_weight, classes=classes, y=y)
    if not ((factors > 0).all() and np.isfinite(factors).all()):
        raise ValueError(f"class_weight must be above 0 for every class, got {class_weight!r}")
    return w * factors[index]


def agreement(K, L, w=None):
    """Return the normalised HSIC of two Gram matrices, whose rows may have weights.

    With weights it is that of the matrices in which every row is repeated as its weight says.

    Parameters
    ----------
    K, L : arrays of shape (n, n)
        Gram matrices.
    w : array of shape (n,), optional
        The weights.

    Returns
    -------
    float
        From 0 to 1; 0 where one of the matrices is constant.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import normalized_hsic
    >>> from ismlit.estimators.weights import agreement
    >>> K, L = np.diag([1.0, 2.0, 3.0]), np.eye(3)
    >>> twice = np.array([0, 0, 1, 2])
    >>> repeated = normalized_hsic(K[np.ix_(twice, twice)], L[np.ix_(twice, twice)])
    >>> bool(np.isclose(agreement(K, L, np.array([2.0, 1.0, 1.0])), repeated))
    True
    """
    w = np.ones(len(K)) if w is None else w
    K, L = weighted_centre(K, w), weighted_centre(L, w)
    size = np.linalg.norm(K) * np.linalg.norm(L)
    return float(np.sum(K * L) / size) if size else 0.0
