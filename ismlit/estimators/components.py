"""How many components: by a score on rows held out."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from ismlit.estimators.base import make_callback
from ismlit.geometry.span import number_of_directions
from ismlit.messages import silenced

MOST_COMPONENTS = 10
FOLDS = 5
PATIENCE = 2  # Dimensions in a row without a higher score, after which no other is tried.


def choose_components(model, X, y, sample_weight, rank):
    """The fewest components that score as well as the best, within one standard error.

    Parameters
    ----------
    model : estimator with n_components
        Fitted with 1, 2, ... components, at most 10, to five folds, which are shuffled, and hold
        equally many rows of each class where y holds classes. Its callback gets the W and the
        score of each of these fits, as J. If it returns True, the dimensions that have been scored
        on all folds decide; there is 1 component if none has.
    X, y, sample_weight : arrays of n rows
    rank : int
        The number of directions in which X varies.

    Returns
    -------
    q : int
    scores : array of shape (tried, n_folds)
        Of every dimension tried, on every fold held out.

    Raises
    ------
    ValueError
        If the folds cannot be scored: a class has one row, or a response fewer than ten.

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
    folds, kind = FOLDS, KFold
    if hasattr(model, "classes_"):
        labels, counts = np.unique(y, return_counts=True)
        if counts.min() < 2:
            raise ValueError(
                'n_components="auto" scores rows held out of every class, which needs two rows, '
                f"and class {labels[counts.argmin()]!s} has one: leave it out, or give a number"
            )
        folds, kind = min(int(counts.min()), FOLDS), StratifiedKFold
    elif len(y) < 2 * FOLDS:
        raise ValueError(
            f'n_components="auto" scores {FOLDS} folds of at least two rows held out, which needs '
            f"{2 * FOLDS} rows, and there are {len(y)}: give a number"
        )
    with silenced():  # what the last fit says is enough
        parts = list(kind(folds, shuffle=True, random_state=0).split(X, y))
        most = min(MOST_COMPONENTS, rank, *(number_of_directions(X[rows]) for rows, _ in parts))
        scores = np.empty((0, folds))
        report = make_callback(model, lambda at: f"{at.stage}, score = {at.J:.4g}", _as_step)
        for q in range(1, most + 1):
            twin = clone(model).set_params(n_components=q, callback=None, verbose=False)
            if twin.ridge == "auto":  # chosen afterwards, for the number of components found
                twin.set_params(ridge=np.inf)
            row = []
            for fold, part in enumerate(parts, 1):
                fitted = clone(twin)
                row.append(_score(fitted, X, y, sample_weight, *part))
                stage = f"n_components = {q}, fold {fold} of {folds}"
                if report(SimpleNamespace(fitted=fitted, J=row[-1], stage=stage)):
                    break
            if len(row) == folds:
                scores = np.vstack([scores, row])
            if len(scores) < q or is_past_the_best(scores):
                break
    return fewest_within_one_error(scores) if len(scores) else 1, scores


def standard_error(scores):
    """Return the standard error of the mean over folds.

    Parameters
    ----------
    scores : array of shape (..., n_folds)

    Returns
    -------
    array of shape (...,)
        The standard deviation over the folds (``ddof=1``), over the square root of their number.

    Examples
    --------
    >>> from ismlit.estimators.components import standard_error
    >>> standard_error([[0.5, 0.7], [0.8, 0.8]]).round(3)
    array([0.1, 0. ])
    """
    return np.std(scores, axis=-1, ddof=1) / np.sqrt(np.shape(scores)[-1])


def is_past_the_best(scores):
    """Say whether two dimensions in a row have brought no higher score.

    Parameters
    ----------
    scores : array of shape (tried, n_folds)
        Of 1, 2, ... components, on every fold.

    Returns
    -------
    bool
        Whether the highest mean, the first of equal ones, lies two or more dimensions back.

    Examples
    --------
    >>> from ismlit.estimators.components import is_past_the_best
    >>> is_past_the_best([[0.7], [0.6], [0.7]]), is_past_the_best([[0.7], [0.6], [0.8]])
    (True, False)
    """
    means = np.mean(scores, axis=1)
    return bool(len(means) - 1 - means.argmax() >= PATIENCE)


def fewest_within_one_error(scores):
    """Return the fewest components whose mean score is that of the best, less one standard error.

    Parameters
    ----------
    scores : array of shape (tried, n_folds)
        Of 1, 2, ... components, on every fold.

    Returns
    -------
    int
        From 1. The error is that of the best.

    Examples
    --------
    >>> from ismlit.estimators.components import fewest_within_one_error
    >>> fewest_within_one_error([[0.5, 0.74], [0.6, 0.8]])  # 0.62, where 0.7 less 0.1 would do
    1
    """
    means = np.mean(scores, axis=1)
    best = int(means.argmax())
    return int(np.flatnonzero(means >= means[best] - standard_error(scores[best]))[0]) + 1


def _as_step(at):
    """What the user's callback gets of a model that was scored."""
    return SimpleNamespace(W=at.fitted.W_, J=at.J, stage=at.stage)


def _score(model, X, y, sample_weight, train, test):
    """What a model scores on the rows `test` that was fitted to the rows `train`."""
    weights = [None if sample_weight is None else sample_weight[rows] for rows in (train, test)]
    model.fit(X[train], y[train], sample_weight=weights[0])
    return model.score(X[test], y[test], sample_weight=weights[1])
