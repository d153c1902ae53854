"""What linear reductions share: rows are centred and multiplied with W."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from ismlit.estimators.collections import TakesCollections
from ismlit.estimators.scikit import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from ismlit.estimators.validation import explained

FLOATS = (np.float64, np.float32)
TRANSFORM_CHUNK = 16384  # Rows that are looked at at once.
REFERENCE = "https://ismlit.github.io/ismlit/book/reference/"
"""Where the reference of the library is served."""


class KeepsPrecision(TakesCollections, ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """A transformer that gives float32 for float32; its HTML leads to the reference."""

    _doc_link_module = "ismlit"
    _doc_link_template = REFERENCE + "{page}.html#{module}.{name}"
    _doc_page: str | None = None  # of the reference, where it is not named after the class

    def _doc_link_url_param_generator(self):
        own = type(self)
        page = self._doc_page or own.__name__
        return {"page": page, "module": own.__module__, "name": own.__name__}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class LinearReduction(KeepsPrecision, BaseEstimator):
    """A transformer with one W: a subclass sets ``mean_`` and ``W_`` in `fit`."""

    mean_: np.ndarray
    W_: np.ndarray

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
        with explained(X):
            A = validate_data(self, X, dtype=FLOATS, reset=False)
        found = [(A[rows] - self.mean_) @ self.W_ for rows in gen_batches(len(A), TRANSFORM_CHUNK)]
        return np.vstack(found).astype(A.dtype, copy=False)

    @property
    def components_(self) -> np.ndarray:
        """The transpose of ``W_`` (n_components, n_features), under scikit-learn's name."""
        check_is_fitted(self)
        return self.W_.T

    @property
    def _n_features_out(self) -> int:
        return self.W_.shape[1]
