"""Scikit-learn's base classes; it has no types, and `scikit.pyi` gives those that are inherited."""

from sklearn.base import (  # noqa: F401
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
