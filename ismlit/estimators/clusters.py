"""Clusters of the rows of a spectral embedding, and how well they stand apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score
from sklearn.preprocessing import normalize as unit_rows


def normalize_rows(U: np.ndarray) -> np.ndarray:
    """Scale rows to length 1, if there are several columns.

    Parameters
    ----------
    U : array of shape (n, columns)
        An embedding.

    Returns
    -------
    array of shape (n, columns)
        The rows; those of a single column stay as they are.
    """
    return unit_rows(U) if U.shape[1] > 1 else U


def cluster_rows(U: np.ndarray, k: int, random_state: Any = None) -> np.ndarray:
    """Cluster the rows of an embedding by k-means, scaled as by `normalize_rows`.

    Parameters
    ----------
    U : array of shape (n, columns)
        An embedding.
    k : int
        The number of clusters.
    random_state : int, RandomState, optional
        Seed of k-means.

    Returns
    -------
    array of shape (n,)
        The cluster of each row, from 0.
    """
    return KMeans(k, n_init=10, random_state=random_state).fit_predict(normalize_rows(U))


def cluster_rows_given(
    U: np.ndarray, k: int, known_labels, random_state=None, max_iter=300
) -> np.ndarray:
    """Cluster the rows of an embedding by k-means, where some rows keep the cluster that is known.

    Parameters
    ----------
    U : array of shape (n, columns)
        An embedding, whose rows are scaled as by `normalize_rows`.
    k : int
        The number of clusters.
    known_labels : array of shape (n,)
        The cluster of a row, from 0, or -1 where it is not known.
    random_state : int, RandomState, optional
        Seed of k-means.
    max_iter : int, default=300
        Most iterations.

    Returns
    -------
    array of shape (n,)
        The cluster of each row.

    Notes
    -----
    This is constrained k-means. It starts from the clusters of k-means alone, which are named
    after the rows given to them so that as many as can be have the right name.

    References
    ----------
    Basu, Banerjee and Mooney 2002, Semi-supervised clustering by seeding.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.estimators.clusters import cluster_rows_given
    >>> U = np.array([[0.0], [0.2], [0.9], [1.0]])
    >>> cluster_rows_given(U, 2, np.array([1, -1, -1, 0]))
    array([1, 1, 0, 0])
    """
    rows, known = normalize_rows(U), known_labels >= 0
    free = KMeans(k, n_init=10, random_state=random_state).fit(rows)
    centres = free.cluster_centers_[_matched(free.labels_, known_labels, k)[0]]
    labels: Any = None
    for _ in range(max_iter):
        assigned = np.where(known, known_labels, cdist(rows, centres).argmin(axis=1))
        if labels is not None and (assigned == labels).all():
            break
        labels = assigned
        for c in np.unique(labels):
            centres[c] = rows[labels == c].mean(axis=0)
    return labels


def _matched(labels, known_labels, k):
    """Which of k clusters stands for each given one, and how many given rows it then holds."""
    together = np.zeros((k, k))
    known = known_labels >= 0
    np.add.at(together, (known_labels[known], labels[known]), 1)
    pairs = linear_sum_assignment(-together)
    return pairs[1], int(together[pairs].sum())


def agreement(labels: np.ndarray, known_labels: np.ndarray, k: int) -> float:
    """Return the share of given labels that clusters agree with, under the best names for them.

    Parameters
    ----------
    labels : array of shape (n,)
        The cluster of each row, from 0.
    known_labels : array of shape (n,)
        What is known of it, -1 for nothing.
    k : int
        The number of clusters.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.estimators.clusters import agreement
    >>> share = agreement(np.array([1, 1, 0, 0]), np.array([0, -1, 1, 0]), 2)  # the last one is not
    >>> round(share, 2)
    0.67
    """
    return _matched(labels, known_labels, k)[1] / int((known_labels >= 0).sum())


def embedding_silhouette(U: np.ndarray, labels: Any) -> float:
    """Measure how well the clusters of an embedding stand apart, without knowing classes.

    It is the mean silhouette of the rows, scaled as by `normalize_rows`. A bandwidth that is far
    too small makes tiny clusters, which would score well, so that these score -1.

    Parameters
    ----------
    U : array of shape (n, columns)
        An embedding.
    labels : array of shape (n,)
        The cluster of each row.

    Returns
    -------
    float
        The silhouette, from -1 to 1, in three digits so that no rounding decides between equals.
        It is -1 where a cluster is smaller than a quarter of an equal share.

    References
    ----------
    Rousseeuw 1987, Silhouettes: a graphical aid to the interpretation and validation of cluster
    analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.estimators.clusters import embedding_silhouette
    >>> U = np.array([[0.5], [0.5], [-0.5], [-0.5], [0.1]])
    >>> round(embedding_silhouette(U, [0, 0, 1, 1, 0]), 2)
    0.79
    """
    counts = np.unique(labels, return_counts=True)[1]
    if not 2 <= len(counts) < len(labels) or counts.min() < 0.25 * len(labels) / len(counts):
        return -1.0
    return round(float(silhouette_score(normalize_rows(U), labels)), 3)
