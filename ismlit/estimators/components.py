"""How many components: by a score on rows held out."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from ismlit.geometry.span import number_of_directions

MOST_COMPONENTS = 10
FOLDS = 5
PATIENCE = 2  # Dimensions in a row without a higher score, after which no other is tried.


def choose_components(model, X, y, sample_weight, rank):
    """The fewest components that score as well as the best, within one standard error.

    Parameters
    ----------
    model : estimator with n_components
        Fitted with 1, 2, ... components, at most 10, to five folds, which are shuffled, and hold
        equally many rows of each class where y holds classes.
    X, y, sample_weight : arrays of n rows
    rank : int
        The number of directions in which X varies.

    Returns
    -------
    q : int
    scores : array of shape (tried, n_folds)
        Of every dimension tried, on every fold held out.

    References
    ----------
    Breiman, Friedman, Olshen and Stone 1984, Classification and regression trees: the rule of one
    standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import SupervisedIKDR
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> y = (X[:, 0] > 0) + 2 * (X[:, 1] > 0)  # four quadrants
    >>> SupervisedIKDR("auto").fit(X, y).n_components_
    2
    """
    classes = hasattr(model, "classes_")
    folds = FOLDS
    if classes:
        rarest = np.unique(y, return_counts=True)[1].min()
        folds = int(np.clip(rarest, 2, FOLDS))
    kind = StratifiedKFold if classes else KFold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class of one row; what the last fit says is enough
        parts = list(kind(folds, shuffle=True, random_state=0).split(X, y))
        most = min(MOST_COMPONENTS, rank, *(number_of_directions(X[rows]) for rows, _ in parts))
        scores = []
        for q in range(1, most + 1):
            twin = clone(model).set_params(n_components=q, callback=None, verbose=False)
            scores.append([_score(twin, X, y, sample_weight, *part) for part in parts])
            means = np.mean(scores, axis=1)
            if q - 1 - means.argmax() >= PATIENCE:
                break
    best = int(means.argmax())
    error = np.std(scores[best], ddof=1) / np.sqrt(folds)
    return int(np.flatnonzero(means >= means[best] - error)[0]) + 1, np.array(scores)


def _score(model, X, y, sample_weight, train, test):
    """What a model scores on the rows `test` that was fitted to the rows `train`."""
    of = lambda rows: None if sample_weight is None else sample_weight[rows]
    fitted = clone(model).fit(X[train], y[train], sample_weight=of(train))
    return fitted.score(X[test], y[test], sample_weight=of(test))
