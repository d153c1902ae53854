"""Dask collections as X and y: which estimators take them, and how they are fitted.

`SupervisedIKDR` and `ResponseIKDR` are fitted where the blocks are, if they have random features.
A fitted estimator transforms and predicts new rows block by block, lazily. All else is refused,
since scikit-learn's checks would gather a collection into memory. Dask is imported only for one.
"""

from __future__ import annotations

import copy
from functools import wraps
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ismlit.estimators.validation import explained
from ismlit.geometry.span import directions_of
from ismlit.kernels import Gaussian
from ismlit.objectives.blocks import DaskRows, drawn_values
from ismlit.objectives.class_sums import ClassGamma, by_class, class_table
from ismlit.objectives.features import FeatureProblem, even_frequencies, waves
from ismlit.targets import check_label_count, read_response

LAZY_METHODS = frozenset(
    "transform inverse_transform images predict predict_proba predict_log_proba "
    "decision_function".split()
)
WHO_FITS_BLOCKS = "SupervisedIKDR and ResponseIKDR with random_features=256"
FLOATS = np.float64, np.float32


def is_collection(data):
    """Say whether data is a Dask collection, without an import of Dask.

    Parameters
    ----------
    data : object
        What was given.

    Returns
    -------
    bool
        True if it is one.
    """
    return hasattr(data, "__dask_graph__")


class TakesCollections:
    """Methods that take Dask collections, or refuse them: a base that is named first."""

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)  # scikit-learn's set_output stays inside
        for name in {"fit", "score", *LAZY_METHODS}:
            method = getattr(cls, name, None)
            if method is not None and not hasattr(method, "is_dispatched"):
                setattr(cls, name, _dispatched(name, method))

    def fit_transform(self: Any, X: Any, y: Any = None, **options: Any) -> np.ndarray:
        """Fit to X and y, and transform X: lazily where it is a Dask collection.

        Parameters
        ----------
        X : array or Dask collection of shape (n_samples, n_features)
            Samples in rows.
        y : array or Dask collection of shape (n_samples,), optional
            The targets.
        **options : dict
            Passed to `fit`.

        Returns
        -------
        array or Dask collection
            The transformed rows.
        """
        if is_collection(X):
            return self.fit(X, y, **options).transform(X)
        return super().fit_transform(X, y, **options)  # type: ignore[misc]

    @property
    def partial_fit(self):
        """There is none; `hasattr` is False, as tools that look for it expect."""
        raise AttributeError(
            f"{type(self).__name__} has no partial_fit: every step needs sums over all rows at one "
            "W, which no single pass over batches gives. For more rows than memory, give fit a "
            "numpy.memmap or Dask collections"
        )


def _dispatched(name, method):
    """A method that hands on Dask collections, and refuses sparse rows."""

    @wraps(method)
    def dispatched(self, *args, **options):
        with np.errstate(under="ignore"):  # a kernel of rows far apart is 0
            return _call(name, method, self, args, options)

    dispatched.is_dispatched = True
    return dispatched


def _call(name, method, estimator, args, options):
    values = [value for value in (*args, *options.values()) if value is not None]
    if values and issparse(values[0]):
        who, X = type(estimator).__name__, values[0]
        raise TypeError(
            f"Sparse data was passed to {name}, and {who} centres what it reads: reduce it "
            f"first, as in make_pipeline(TruncatedSVD(100), {who}()), or pass X.toarray(), "
            f"which takes {np.prod(X.shape, dtype=float) * X.dtype.itemsize / 2**20:.3g} MiB"
        )
    are_collections = [*map(is_collection, values)]
    if any(are_collections):
        return _call_with_collections(name, method, estimator, args, options, all(are_collections))
    with explained(values[0] if values else None):
        return method(estimator, *args, **options)


def _call_with_collections(name, method, estimator, args, options, all_collections):
    who = type(estimator).__name__
    if not all_collections:
        raise ValueError(
            f"{name} of {who} got a Dask collection beside data in memory: give both as Dask "
            "collections, y as dask.array.from_array(y, chunks=X.chunks[0]), or neither"
        )
    if name in LAZY_METHODS:
        return _on_every_block(name, estimator, *args, **options)
    if name == "score" and is_classifier(estimator):
        return _accuracy(estimator, *args, **options)
    if not getattr(estimator, "takes_collections", False):
        raise TypeError(
            f"{name} of {who} takes no Dask collection, since it would have to gather it into "
            f"memory; {WHO_FITS_BLOCKS} fit one where it is. Or compute a sample of the rows first"
        )
    return method(estimator, *args, **options)


def _on_every_block(name, estimator, X, **options):
    """What a method returns for new rows, as a collection of the same blocks."""
    check_is_fitted(estimator)
    twin = copy.copy(estimator)  # a later fit changes nothing, and training data is not sent
    for attribute in {"_solved", "callback"} & set(vars(twin)):
        setattr(twin, attribute, None)
    if hasattr(X, "map_partitions"):
        like = _call_on_block(X._meta_nonempty, name, twin, options)[:0]
        return X.map_partitions(_call_on_block, name, twin, options, like, meta=like)
    _require_row_chunks(X, "X")
    container = _call_on_block(np.ones((1, X.shape[1]), X.dtype), name, twin, options)
    like = np.asarray(container)[:0]
    lazy = X.map_blocks(
        _call_on_block_as_array,
        *(name, twin, options, like),
        dtype=like.dtype,
        chunks=X.chunks[:1] + tuple((width,) for width in like.shape[1:]),
        drop_axis=1 if like.ndim == 1 else [],
        meta=like,
    )
    if not hasattr(container, "columns"):
        return lazy
    try:
        from dask.dataframe import from_dask_array  # set_output was asked for a table
    except ImportError as error:
        raise ImportError(
            'a table of Dask needs pandas and pyarrow: pip install "dask[dataframe]", or '
            'set_output(transform="default") for an array'
        ) from error
    return from_dask_array(lazy, columns=list(container.columns))


def _accuracy(estimator, X, y, sample_weight=None):
    _refuse_weights(estimator, sample_weight)
    y = y.to_dask_array() if hasattr(y, "to_dask_array") else y
    return float((estimator.predict(X) == y).mean())


def _refuse_weights(estimator, sample_weight):
    if sample_weight is not None:
        raise ValueError(
            f"sample_weight of {type(estimator).__name__} does not work for rows in blocks: leave "
            "it out, or take a sample of the rows in memory"
        )


def _call_on_block(rows, name, estimator, options, like=None):
    return getattr(estimator, name)(rows, **options) if len(rows) else like


def _call_on_block_as_array(*arguments):
    return np.asarray(_call_on_block(*arguments))


# ---------------------------------------------------------------- the rows of a fit


def as_dask_array(data, name):
    """Return a Dask array whose chunks of rows are known.

    Parameters
    ----------
    data : Dask collection
        What was given.
    name : str
        What the user calls it, for messages.

    Returns
    -------
    dask.array.Array
        The same rows.

    Raises
    ------
    ValueError
        If the columns are in several chunks, or the lengths of chunks are not known: says what to
        do.
    """
    if hasattr(data, "to_dask_array"):
        data = data.to_dask_array(lengths=True)  # one visit to count them
    _require_row_chunks(data, name)
    if np.isnan(data.shape[0]):
        raise ValueError(
            f"the chunks of {name} have an unknown length: use {name} = "
            f"{name}.compute_chunk_sizes() first"
        )
    return data


def _require_row_chunks(data, name):
    if getattr(data, "ndim", 0) == 2 and data.numblocks[1] > 1:
        raise ValueError(
            f"chunks are allowed along the first axis only, but {name} has {data.numblocks[1]} "
            f"chunks of columns: use {name}.rechunk({{1: -1}})"
        )


def _check_names(estimator, X, reset):
    """Number and names of the columns, as `validate_data` does; and the type of the rows."""
    if hasattr(X, "_meta_nonempty"):
        few = X._meta_nonempty
    else:
        few = np.ones((2, X.shape[1]), X.dtype)
    return validate_data(estimator, few, dtype=FLOATS, reset=reset).dtype


def as_arrays(estimator, X, y, reset):
    """Return X and y as Dask arrays with the same chunks of rows.

    Parameters
    ----------
    estimator : estimator
        What they are for.
    X : Dask collection of shape (n_samples, n_features)
        Samples in rows.
    y : Dask collection of shape (n_samples,)
        The targets.
    reset : bool
        Whether names and number of the columns are remembered, or compared with those of the fit.

    Returns
    -------
    X : dask.array.Array
        The samples.
    y : dask.array.Array
        The targets.
    dtype : numpy.dtype
        The precision of X.

    Raises
    ------
    ValueError
        If the two have different lengths, or too few rows.
    """
    dtype = _check_names(estimator, X, reset)
    X, y = as_dask_array(X, "X"), as_dask_array(y, "y")
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if y.shape != X.shape[:1]:
        raise ValueError(f"y must have one value per row of X: {y.shape} for {X.shape}")
    if X.shape[0] < 2:
        raise ValueError(f"X has {X.shape[0]} rows, and at least 2 are needed")
    return X, y if y.chunks == X.chunks[:1] else y.rechunk(X.chunks[:1]), dtype


def fit_collections(estimator, X, y, sample_weight=None, slice_starts=None):
    """Fit `SupervisedIKDR` or `ResponseIKDR` where the blocks of Dask collections are.

    Parameters
    ----------
    estimator : estimator
        What is fitted.
    X : Dask collection of shape (n_samples, n_features)
        Samples in rows.
    y : Dask collection of shape (n_samples,)
        The targets.
    sample_weight : object, optional
        Refused if given.
    slice_starts : callable, optional
        How a response is cut; None for labels.

    Returns
    -------
    estimator
        The same, fitted.

    Raises
    ------
    ValueError
        For options that need pairs of rows.
    """
    _refuse_weights(estimator, sample_weight)
    class_weight = getattr(estimator, "class_weight", None)  # a response has none
    refused = {
        "class_weight": class_weight not in (None, "size"),
        'n_components="auto"': estimator.n_components == "auto",
        "n_slices=None": getattr(estimator, "n_slices", 0) is None,
    }
    for name in (name for name, is_given in refused.items() if is_given):
        raise ValueError(
            f"{name} of {type(estimator).__name__} does not work for rows in blocks: leave it out, "
            "or fit a sample of the rows in memory"
        )
    if estimator.random_features is None:
        raise ValueError(
            f"{type(estimator).__name__} takes Dask collections only with random features, which "
            "need no pairs of rows: set random_features=256"
        )
    seed = check_random_state(estimator.random_state or 0).randint(2**31 - 1)
    X, y, dtype = as_arrays(estimator, X, y, reset=True)
    if slice_starts is None:
        rows = DaskRows(X, y, dtype, random_state=seed)
        check_label_count(rows.classes, rows.n)
        estimator.classes_ = rows.classes
    else:
        values = read_response(drawn_values(y, seed))
        estimator.slices_ = slice_starts(values, estimator.n_slices)
        rows = DaskRows(X, y, dtype, estimator.slices_, seed)
    estimator.mean_ = rows.mean.astype(rows.dtype)
    estimator._std = np.sqrt(np.diag(rows.scatter) / rows.n)
    q = estimator._choose_components(directions_of(rows.scatter), rows.X)
    V, sample = estimator._basis, rows.X - estimator.mean_
    table = class_table(rows.classes, rows.sizes, class_weight == "size")
    estimator.kernel_ = estimator._kernel(sample, q, None)
    estimator.ridge_ = np.inf if estimator.ridge == "auto" else estimator.ridge
    estimator.ridge_scores_ = None
    problem = FeatureProblem(
        sample if V is None else sample @ V,
        ClassGamma(table, rows.codes, rows.sizes),
        estimator.kernel_,
        features=estimator.random_features,
        random_state=estimator.random_state,
        rows=rows if V is None else rows.through(V),
    )
    estimator._solve(problem, q)
    estimator._solved = None  # it would keep the blocks alive
    return estimator


def score_collections(estimator, X, y, sample_weight=None, features=512):
    """Return the normalised HSIC of projected rows and their labels, the kernel by random features.

    With the features z_i of a row and the indicators y_i of its class it is
    ``|Y'HZ|^2 / (|Z'HZ| |Y'HY|)``: sums over the rows, in one visit.

    Parameters
    ----------
    estimator : estimator
        What was fitted.
    X : Dask collection of shape (n_samples, n_features)
        Samples in rows.
    y : Dask collection of shape (n_samples,)
        The targets.
    sample_weight : object, optional
        Refused if given.
    features : int, default=512
        The number of frequencies.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    ValueError
        If the kernel is no Gaussian, or weights are given.
    """
    check_is_fitted(estimator)
    _refuse_weights(estimator, sample_weight)
    if not isinstance(estimator.kernel_, Gaussian):
        raise ValueError(
            f"the score of Dask collections needs a Gaussian kernel, and this is "
            f"{estimator.kernel_!r}: compute a sample of the rows first"
        )
    X, y, dtype = as_arrays(estimator, X, y, reset=False)
    rows = DaskRows(X, y, dtype, getattr(estimator, "slices_", None))
    frequencies = even_frequencies(estimator.W_.shape[1], features, 0) / estimator.kernel_.sigma
    Y, Z = rows.visit(_feature_products, (estimator.W_ @ frequencies).astype(dtype))
    total, proportions = Y.sum(axis=0), rows.sizes / rows.n
    across = Y - np.outer(proportions, total)
    images = Z - np.outer(total, total) / rows.n
    labels = np.diag(rows.sizes) - np.outer(rows.sizes, proportions)
    size = np.linalg.norm(images) * np.linalg.norm(labels)
    return float(np.sum(across**2) / size) if size > 1e-12 * rows.n**2 else 0.0


def _feature_products(x, codes, k, frequencies):
    """The sums of the features by class (k, 2m), and their products (2m, 2m)."""
    Z = waves(x, frequencies)
    return by_class(codes, k) @ Z, (Z.T @ Z).astype(float)
