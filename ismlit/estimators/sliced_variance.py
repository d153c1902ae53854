"""Sliced average variance estimation: directions in which the spread of slices differs."""

from __future__ import annotations

import numpy as np

from ismlit.estimators.sliced_inverse import SlicedInverseRegression
from ismlit.messages import silenced


def variance_plane(X, y, q):
    """The plane (d, q) of `SAVE` as a list of one frame, or of none where it has no answer."""
    try:
        with silenced():
            return [np.linalg.qr(SAVE(q).fit(X, y).W_)[0]]
    except ValueError:  # several responses, or too few slices
        return []


class SAVE(SlicedInverseRegression):
    """Find the directions in which the covariance of slices differs most from that of all rows.

    X is whitened, so that a slice that y says nothing of has the identity for its covariance; the
    leading eigenvectors of the mean of ``(I - Cov)²`` over the slices are carried back. It sees
    y = x², which the means of slices do not show, and needs more rows for a monotone dependence.

    Parameters
    ----------
    n_components : int, default=2
        At most the number of directions in which X varies.
    n_slices : int, default=10
        Slices of a response, with equally many rows each. Class labels are slices themselves.

    Attributes
    ----------
    W_ : array of shape (n_features, n_components)
        The projected training rows have variance 1 and are uncorrelated; the largest entry of
        each column is positive.
    eigenvalues_ : array of shape (n_components,)
        Of the mean of ``(I - Cov)²``, by falling size.
    mean_ : array of shape (n_features,)
        Subtracted from X before projecting.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    ismlit.SlicedInverseRegression : compares the means of slices.

    References
    ----------
    Cook and Weisberg 1991, Discussion of "Sliced inverse regression for dimension reduction".
    Journal of the American Statistical Association 86.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import SAVE
    >>> X = np.random.default_rng(0).standard_normal((500, 5))
    >>> int(np.abs(SAVE(1).fit(X, X[:, 2] ** 2).W_).argmax())
    2
    """

    def _leading(self, slices):
        """The directions (rank, rank) in which covariances differ most, and by how much."""
        differ = [np.eye(Z.shape[1]) - np.cov(Z.T, bias=True) for Z in slices]
        mean = sum(len(Z) * D @ D for Z, D in zip(slices, differ))
        values, directions = np.linalg.eigh(mean / sum(map(len, slices)))
        return values[::-1], directions[:, ::-1]
