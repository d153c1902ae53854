"""What linear reductions share: rows are centred and multiplied with W."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from ismlit.estimators.collections import TakesCollections
from ismlit.estimators.scikit import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)

FLOATS = (np.float64, np.float32)
TRANSFORM_CHUNK = 16384  # Rows that are looked at at once.
REFERENCE = "https://ismlit.github.io/ismlit/book/reference/"
"""Where the reference of the library is served."""


class Refused:
    """What an estimator does not have and others do: reading it raises an error with the reason."""

    def __init__(self, reason):
        self.reason = reason

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner):
        raise AttributeError(f"{owner.__name__} has no {self.name}: {self.reason}")


class KeepsPrecision(TakesCollections, ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """A transformer that gives float32 for float32; its HTML leads to the reference."""

    _doc_link_module = "ismlit"
    _doc_link_template = REFERENCE + "{page}.html#{module}.{name}"
    _doc_page: str | None = None  # of the reference, where it is not named after the class

    def _doc_link_url_param_generator(self):
        kind = type(self)
        page = self._doc_page or kind.__name__
        return {"page": page, "module": kind.__module__, "name": kind.__name__}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class LinearReduction(KeepsPrecision, BaseEstimator):
    """A transformer with one W: a subclass sets ``mean_`` and ``W_`` in `fit`."""

    mean_: np.ndarray
    W_: np.ndarray
    _std: np.ndarray

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Project the rows of X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_components)
            ``(X - mean_) W_``, in the precision of X.
        """
        check_is_fitted(self)
        A = validate_data(self, X, dtype=FLOATS, reset=False)
        projected = [
            (A[rows] - self.mean_) @ self.W_ for rows in gen_batches(len(A), TRANSFORM_CHUNK)
        ]
        return np.vstack(projected).astype(A.dtype, copy=False)

    def inverse_transform(self, Z: ArrayLike) -> np.ndarray:
        """The rows of X that lie in the subspace and have the projection Z.

        Parameters
        ----------
        Z : array of shape (n_samples, n_components)

        Returns
        -------
        array of shape (n_samples, n_features)
            ``Z pinv(W_) + mean_``, where ``pinv(W_) = W_'`` if ``W_`` is orthonormal: `transform`
            gives Z of it again.

        Raises
        ------
        ValueError
            If Z has another number of columns.

        Notes
        -----
        What it cannot restore: whatever of a row lies outside the subspace, for which the mean
        of the training rows stands. So a column of which ``W_`` makes no use is its mean in every
        row, and of a row that was projected the nearest point of the subspace comes back.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ismlit import SupervisedIKDR
        >>> X, y = load_iris(return_X_y=True)
        >>> for q in (1, 2, 4):  # with all directions nothing is lost
        ...     model = SupervisedIKDR(q).fit(X, y)
        ...     restored = model.inverse_transform(model.transform(X))
        ...     print(q, round(float(abs(restored - X).mean()), 2))
        1 0.65
        2 0.5
        4 0.0
        """
        check_is_fitted(self)
        rows = check_array(Z, dtype=FLOATS)
        if rows.shape[1] != self.W_.shape[1]:
            raise ValueError(
                f"Z has {rows.shape[1]} columns, but {type(self).__name__} projects to "
                f"{self.W_.shape[1]}: pass what transform(X) gives"
            )
        return (rows @ np.linalg.pinv(self.W_) + self.mean_).astype(rows.dtype, copy=False)

    @property
    def components_(self) -> np.ndarray:
        """The transpose of ``W_`` (n_components, n_features), under scikit-learn's name."""
        check_is_fitted(self)
        return self.W_.T

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share (n_features,) that every column of X has in the projection.

        Of column j it is proportional to ``s_j sqrt(w_j' C w_j)``, where ``s_j`` is the column's
        standard deviation, ``w_j`` its row of ``W_``, and ``C`` what the components carry. It does
        not depend on units that make one column large and its weights small, nor on how ``W_`` is
        turned in its span. The shares sum to 1.

        Warns
        -----
        UserWarning
            If a component carries next to nothing: its weights then count for nothing.

        See Also
        --------
        ismlit.bootstrap_importances : how much they vary from sample to sample.
        ismlit.importance_test : whether they are more than chance gives.

        Notes
        -----
        What components carry is by how much rows left out are predicted worse without them (the
        diagonal of C is ``component_gains_``), or the diagonal matrix of ``eigenvalues_`` where an
        estimator has these: for `GradientKDR`, the mean squared slope along the column, times its
        variance, is then the square of the importance. The components of a clustering count alike.

        Columns that are equal share what one of them alone would have, and of two that are nearly
        equal one may get nearly all of it: leave copies out before comparing.

        Examples
        --------
        A column that is nearly constant makes a component of its own, which carries little:

        >>> import numpy as np
        >>> from ismlit import SupervisedIKDR
        >>> X = np.random.default_rng(0).standard_normal((600, 3))
        >>> X[:, 2] = (np.arange(600) < 3) * 10.0
        >>> SupervisedIKDR(2).fit(X, abs(X[:, 0]) > 0.7).feature_importances_.round(1)
        array([0.9, 0. , 0.1])
        """
        check_is_fitted(self)
        sizes = np.sqrt(np.sum((self.W_ @ self._carried()) * self.W_, axis=1)) * self._std
        return sizes / sizes.sum()

    def _carried(self):
        """What the directions of the plane carry (n_components, n_components), up to a factor."""
        return np.eye(self.W_.shape[1])

    @property
    def _n_features_out(self) -> int:
        return self.W_.shape[1]


def column_std(X, mean, sample_weight=None):
    """Return the standard deviation of every column, by parts so that no copy of X is made.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in rows.
    mean : array of shape (d,)
        The mean of the columns.
    sample_weight : array of shape (n,), optional
        How much each row counts.

    Returns
    -------
    array of shape (d,)
        The standard deviations.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.estimators.linear import column_std
    >>> column_std(np.array([[0.0, 1.0], [2.0, 1.0]]), np.array([1.0, 1.0]))
    array([1., 0.])
    """
    weights = np.ones(len(X)) if sample_weight is None else sample_weight
    parts = gen_batches(len(X), TRANSFORM_CHUNK)
    total = sum(weights[rows] @ (X[rows] - mean).astype(float) ** 2 for rows in parts)
    return np.sqrt(total / weights.sum())
