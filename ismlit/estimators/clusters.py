"""Clusters of the rows of a spectral embedding, and how well they stand apart."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score
from sklearn.preprocessing import normalize as unit_rows


def normalize_rows(U):
    """The rows of U (n, columns), scaled to length 1 if there are several columns."""
    return unit_rows(U) if U.shape[1] > 1 else U


def cluster_rows(U, k, random_state=None):
    """Labels by k-means on the rows of U (n, columns), scaled to length 1 if there are several."""
    return KMeans(k, n_init=10, random_state=random_state).fit_predict(normalize_rows(U))


def cluster_rows_given(U, k, given, random_state=None, max_iter=300):
    """Labels by k-means on the rows of U (n, columns), some of which are given and are kept.

    Parameters
    ----------
    given : array of shape (n,)
        The cluster of a row, from 0, or -1 where it is not known.

    Notes
    -----
    Constrained k-means (Basu, Banerjee and Mooney 2002). It starts from the clusters of k-means
    alone, each named after the rows given to it so that as many as can be are named rightly.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.estimators.clusters import cluster_rows_given
    >>> U = np.array([[0.0], [0.2], [0.9], [1.0]])
    >>> cluster_rows_given(U, 2, np.array([1, -1, -1, 0]))
    array([1, 1, 0, 0])
    """
    rows, known = normalize_rows(U), given >= 0
    free = KMeans(k, n_init=10, random_state=random_state).fit(rows)
    centres, labels = free.cluster_centers_[_matched(free.labels_, given, k)[0]], None
    for _ in range(max_iter):
        found = np.where(known, given, cdist(rows, centres).argmin(axis=1))
        if labels is not None and (found == labels).all():
            break
        labels = found
        for c in np.unique(labels):
            centres[c] = rows[labels == c].mean(axis=0)
    return labels


def _matched(labels, given, k):
    """Which of k clusters stands for each given one, and how many given rows it then holds."""
    together = np.zeros((k, k))
    known = given >= 0
    np.add.at(together, (given[known], labels[known]), 1)
    pairs = linear_sum_assignment(-together)
    return pairs[1], int(together[pairs].sum())


def agreement(labels, given, k):
    """The share of given labels (n,), -1 if not known, that k clusters agree with, at best named.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.estimators.clusters import agreement
    >>> agreement(np.array([1, 1, 0, 0]), np.array([0, -1, 1, 0]), 2)  # the last one is not
    0.6666666666666666
    """
    return _matched(labels, given, k)[1] / int((given >= 0).sum())


def embedding_silhouette(U, labels):
    """How well the clusters of an embedding U (n, k) stand apart: a criterion that sees no classes.

    The mean silhouette of its rows, scaled to length 1 if there are several columns; -1 where a
    cluster is smaller than a quarter of an equal share, as a bandwidth far too small makes them.
    To three digits, so that between equals no rounding decides. Claim: new-silhouette.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.estimators.clusters import embedding_silhouette
    >>> U = np.array([[0.5], [0.5], [-0.5], [-0.5], [0.1]])
    >>> embedding_silhouette(U, [0, 0, 1, 1, 0])
    0.787
    """
    counts = np.unique(labels, return_counts=True)[1]
    if not 2 <= len(counts) < len(labels) or counts.min() < 0.25 * len(labels) / len(counts):
        return -1.0
    return round(float(silhouette_score(normalize_rows(U), labels)), 3)
