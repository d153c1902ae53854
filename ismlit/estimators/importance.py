"""Which columns of X count, and which columns of W: their order, their shares, their errors."""

from __future__ import annotations

import copy
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import Bunch, check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from ismlit.estimators.base import Projection
from ismlit.estimators.linear import LinearReduction, column_std
from ismlit.estimators.weights import row_weights
from ismlit.gamma import centre
from ismlit.grams import ConstantKernelError, gram
from ismlit.memory import few_rows
from ismlit.messages import silenced, warn
from ismlit.objectives.pairs import alignment
from ismlit.solvers.ism import ism
from ismlit.solvers.starts import SAME_HEIGHT, starting_point
from ismlit.targets import read_target

MOST_ROWS = 1000  # The columns are ordered on at most so many rows.
REGRESSED_ROWS = 300  # What the columns add is found on so many.
MOST_MIXED = 6  # Of more columns of W, directions between two are not tried: they are q² in all.
REGRESSION_RIDGE = 0.01  # Of a kernel whose diagonal is 1.
START_ROWS = 300  # A gradient start takes about so many of them.
LEAST_UNITS = 6  # Rows, or groups, of a bootstrap: of five there are but 126 different draws.
SAME_SCORE = 1e-9  # A score that falls by a smaller share has not fallen, but was rounded.
SAME_ROWS = 1e-5  # Rows are those of the fit if means and spreads differ by a smaller share.
TRIES = 20  # A draw that cannot be fitted is drawn again, at most so often.
MOST_STRETCHED = 3.0  # A column whose standard deviation is more times that of the fit is another.


def order_columns(problem, W, sample_weight=None):
    """A rotation of the columns of W, and the share of the dependence that each of them adds.

    From the span of W the plane of one dimension less is taken on which J is highest, from that
    the next one, and so on: the first k columns span the best of k dimensions within the best of
    k + 1. What is left out at each step is the column behind them. J sees W only through W W',
    whatever the kernel, so that no rotation changes the solution.

    Parameters
    ----------
    problem : Objective
        What was solved; of many rows 1000 are looked at.
    W : array of shape (d, q)
        Orthonormal.
    sample_weight : array of shape (n,), optional
        That Gamma was made with.

    Returns
    -------
    rotation : array of shape (q, q)
        ``W @ rotation`` has the columns in order.
    shares : array of shape (q,)
        ``(D_k - D_(k-1)) / D_q`` with D_k the normalised HSIC of the first k columns, and D_0 = 0.
        They sum to 1; a negative one blurs what those before it show.

    Notes
    -----
    From above and not from below, since two columns may say together what neither says alone:
    the first of them by itself would be as good as any other. The shares are not those of J, which
    a kernel of one width makes small or large for the dimension alone.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Linear, Problem, label_gamma
    >>> from ismlit.estimators.importance import order_columns
    >>> y = np.arange(60) % 3
    >>> X = np.c_[y == 0, 3.0 * (y == 1)] + 0.1 * np.random.default_rng(0).standard_normal((60, 2))
    >>> problem = Problem(X, label_gamma(y), Linear())
    >>> rotation, shares = order_columns(problem, np.eye(2))
    >>> rotation.round(1), shares.round(2)
    (array([[-0.2,  1. ],
           [ 1. ,  0.2]]), array([0.93, 0.07]))
    """
    n, q = len(problem.X), W.shape[1]  # of Dask collections X is a sample
    rows = few_rows(n, MOST_ROWS)
    within = problem.on(rows).in_basis(W)  # of features the exact problem
    rotation = np.eye(q, dtype=W.dtype)
    for k in range(q - 1, 0, -1):
        plane = _best_plane(within.in_basis(rotation[:, : k + 1]), k)
        turn = np.linalg.qr(plane, mode="complete")[0]
        rotation[:, : k + 1] = rotation[:, : k + 1] @ turn
    w = None if sample_weight is None else sample_weight[rows]
    reached = [alignment(within, rotation[:, :k], w) for k in range(1, q + 1)]
    gains = np.diff([0.0, *reached])
    return rotation, gains / gains.sum()


def component_gains(problem, W, sample_weight=None):
    """What the directions of a plane help to predict the target: a quadratic form on the plane.

    Parameters
    ----------
    problem : Objective
        What was solved; of many rows 300 are looked at.
    W : array of shape (d, q)
        Orthonormal.
    sample_weight : array of shape (n,), optional
        That Gamma was made with.

    Returns
    -------
    array of shape (q, q)
        C, of trace 1. For each of its eigenvectors u the eigenvalue is proportional to how much
        the leave-one-out error of a kernel ridge regression of the target grows where the direction
        Wu is left out of XW, 0 where it falls. Rows that are equal are left out together, so that a
        weight is a repetition. The identity, over q, where nothing helps.

    Notes
    -----
    The target is a factor of Gamma, the kernel that of the problem, the ridge 0.01 a row. Unlike
    HSIC, the error may be compared between planes of different dimension. The eigenvectors are
    those of the quadratic form that grows as the error does along the principal axes of the
    projected rows and, of at most six, halfway between two of them.

    References
    ----------
    Golub, Heath and Wahba 1979, Generalized cross-validation: the error in closed form.

    Examples
    --------
    The sign of a product depends on both of two columns, and on no third:

    >>> import numpy as np
    >>> from ismlit import Gaussian, Problem, label_gamma
    >>> from ismlit.estimators.importance import component_gains
    >>> X = np.random.default_rng(0).standard_normal((300, 3))
    >>> problem = Problem(X, label_gamma(X[:, 0] * X[:, 1] > 0), Gaussian(1.0))
    >>> component_gains(problem, np.eye(3)).diagonal().round(1)
    array([0.5, 0.5, 0. ])
    """
    q = W.shape[1]
    if q == 1:
        return np.ones((1, 1))
    rows = few_rows(len(problem.X), REGRESSED_ROWS)
    few, w = problem.on(rows), None if sample_weight is None else sample_weight[rows]
    F, s = few.gamma.factors()
    F = F.astype(float) if w is None else F / w[:, None]  # Gamma has the weights in its factor
    Z = few.X.astype(float) @ W
    points = np.c_[Z, F]
    points /= np.abs(points).max(axis=0, initial=1e-300)
    _, first, copies = np.unique(points.round(9), axis=0, return_index=True, return_inverse=True)
    w = np.bincount(copies.ravel(), w)
    axes = np.linalg.eigh(np.cov(Z[first].T, aweights=w))[1]
    regression = few.on(first), F[first], s, w
    error = _left_out_error(W @ axes, *regression)

    def gain(u):
        rest = np.linalg.qr(np.c_[u, np.eye(q)])[0][:, 1:q]  # an orthonormal basis of what is left
        return _left_out_error(W @ (axes @ rest), *regression) - error

    C = np.diag([gain(u) for u in np.eye(q)])
    for k, j in combinations(range(q), 2) if q <= MOST_MIXED else ():
        one, other = np.eye(q)[[k, j]]
        C[k, j] = C[j, k] = (gain(one + other) - gain(one - other)) / 2
    vectors = np.linalg.eigh(C)[1]
    values = np.array([max(gain(v), 0.0) for v in vectors.T])
    values = values / values.sum() if values.any() else np.full(q, 1 / q)
    turned = axes @ vectors
    return (turned * values) @ turned.T


def _left_out_error(W, problem, F, s, w):
    """The leave-one-out error of a weighted kernel ridge regression of F on XW."""
    K = centre(centre(gram(problem.kernel, problem.X, W).astype(float), w).T, w)
    inverse = np.linalg.inv(K + np.diag(len(w) * REGRESSION_RIDGE * w.mean() / w))
    return w @ (inverse @ centre(F, w) / np.diag(inverse)[:, None]) ** 2 @ s


def _best_plane(problem, k):
    """The plane of k dimensions on which J is highest; of the axes if the kernel is constant."""
    axes = [np.delete(np.eye(k + 1), left_out, axis=1) for left_out in range(k, -1, -1)]
    heights = [problem.objective(W) for W in axes]
    few = problem.on(np.arange(0, problem.n, -(-problem.n // START_ROWS)))
    starts = ["taylor", starting_point(few, k, "gradient"), axes[int(np.argmax(heights))]]
    climb = partial(ism, problem, q=k, escape=False)
    with silenced():  # near the maximum is near enough
        try:
            ends = [climb(init=start, tol=1e-2) for start in starts]
        except ConstantKernelError:
            return axes[0]
        best = max(end.objective for end in ends)
        reached = next(end for end in ends if end.objective >= best - SAME_HEIGHT * abs(best))
        return climb(init=reached.W).W


def bootstrap_importances(
    model: LinearReduction,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_resamples: int = 100,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """How much ``feature_importances_`` varies where other rows might have been drawn.

    Rows are drawn with replacement, and the model is fitted to them again, where it climbs from its
    own ``W_`` and with its own kernel.

    Parameters
    ----------
    model : fitted estimator with ``feature_importances_``
        The last step of a pipeline, not the pipeline.
    X : array of shape (n_samples, n_features)
        The rows that it was fitted to, scaled as they were.
    y : array of shape (n_samples,), optional
        Their labels or responses, where the model has them.
    sample_weight : array of shape (n_samples,), optional
        Their weights, where the model has them. A row that is drawn brings its weight; rows of
        weight 0 are not drawn. A ``class_weight`` is the model's own.
    groups : array of shape (n_samples,), optional
        Which rows belong together, such as those of one patient: groups are then drawn, with all
        their rows.
    n_resamples : int, default=100
    n_jobs : int, optional
        Fits at a time, by joblib; one when None.
    random_state : int, RandomState, optional
        For the draws.

    Returns
    -------
    Bunch
        ``importances`` (n_features, n_resamples), ``importances_mean`` and ``importances_std``
        (n_features,): as of `sklearn.inspection.permutation_importance`. The standard deviation is
        the standard error of ``model.feature_importances_``.

    Raises
    ------
    TypeError
        If the model has no ``feature_importances_``.
    ValueError
        If n_resamples is below 2; X has other columns than those that were fitted, or columns in
        other units; y or sample_weight are missing that the model was fitted to; there are fewer
        than six rows or groups; or no draw of them could be fitted.

    See Also
    --------
    importance_test : a p-value for every column.
    sklearn.inspection.permutation_importance : by what a score loses.

    Notes
    -----
    A fit that starts at ``W_`` stays near it: how often another draw would lead to another
    maximum is not seen.

    A draw that lacks a class, or in which X varies in fewer directions than there are components,
    is drawn again.

    The errors say how an importance scatters, and not that it is biased: a column of noise has a
    share above 0, for which the others have less. Of four normal columns two made the label of a
    row, as 2 to 1, so that the shares of the population are 2/3, 1/3, 0 and 0. Importances were
    0.59, 0.30, 0.06 and 0.06 on average with 100 rows, and 0.63, 0.31, 0.03 and 0.03 with 400;
    their errors were right within a tenth for the first two, and up to a fifth too large for
    noise. Two errors to either side of the importance held the share of the population in 73, 88
    and (noise) 87 % of 157 samples of 100 rows, and in 81, 83 and 89 % of 162 samples of 400: not
    in 95 %. So an importance that is two errors above 0 does not yet tell a column from noise:
    `importance_test` compares it with those of columns that were permuted.

    With two components, of which the first carries more (shares of the population 0.67, 0.32, 0.01
    and 0.01, from 3000 rows), importances were 0.60, 0.33, 0.04 and 0.04 in 28 samples of 200 rows,
    and two errors held the share of the population in 82, 96, 96 and 89 %.

    Rows that come in groups, drawn one by one, give errors that are too small: pass ``groups``.

    References
    ----------
    Efron 1979, Bootstrap methods: another look at the jackknife.
    Field and Welsh 2007, Bootstrapping clustered data: of groups drawn whole.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import SupervisedIKDR, bootstrap_importances
    >>> X = np.random.default_rng(0).standard_normal((120, 3))
    >>> y = X[:, 0] > 0
    >>> model = SupervisedIKDR(1).fit(X, y)
    >>> model.feature_importances_.round(1)
    array([1., 0., 0.])
    >>> bootstrap = bootstrap_importances(model, X, y, n_resamples=20, random_state=0)
    >>> bootstrap.importances.shape, bool(bootstrap.importances_std.max() < 0.1)
    ((3, 20), True)
    """
    _require_importances(model, "bootstrap_importances")
    if n_resamples < 2:
        raise ValueError(f"n_resamples must be at least 2, got {n_resamples!r}")
    A, target, w = _as_fitted(model, X, y, sample_weight)
    unit = np.arange(len(A)) if groups is None else column_or_1d(groups)
    check_consistent_length(A, target, unit)
    classes: Any = getattr(model, "classes_", None)
    n_classes = np.size(classes)
    if w is not None:  # a row of weight 0 is none
        A, target, unit, w = (given[w > 0] for given in (A, target, unit, w))
        n_classes = len(np.unique(target)) if classes is not None else 1
    unit = np.unique(read_target(unit, "groups"), return_inverse=True)[1]
    order = np.argsort(unit, kind="stable")
    units = np.split(order, np.flatnonzero(np.diff(unit[order])) + 1)
    if len(units) < LEAST_UNITS:
        raise ValueError(
            f"the errors come from draws of {'rows' if groups is None else 'groups'}, of which "
            f"there must be at least {LEAST_UNITS}, got {len(units)}: collect more"
        )
    twin, kernel = clone(model), None
    if isinstance(model, Projection):
        fitted = {} if not hasattr(model, "ridge_") else dict(ridge=model.ridge_)
        fitted |= dict(init=model.W_, n_components=model.W_.shape[1])
        twin, kernel = twin.set_params(**fitted), model.kernel_
    rng = check_random_state(random_state)
    resampled: list[np.ndarray] = []
    for _ in range(TRIES):
        drawn = [
            rng.randint(len(units), size=len(units)) for _ in range(n_resamples - len(resampled))
        ]
        rows = [np.concatenate([units[i] for i in draw]) for draw in drawn]
        fit = partial(_importances, twin, kernel, n_classes, A, target, w)
        ends = Parallel(n_jobs)(delayed(fit)(some) for some in rows)
        resampled += [end for end in ends if not isinstance(end, ValueError)]
        if len(resampled) == n_resamples:
            break
    else:
        fault = next(end for end in ends if isinstance(end, ValueError))
        raise ValueError(
            f"only {len(resampled)} of {n_resamples} draws could be fitted, with {TRIES} tries for "
            f"each: {fault}; leave rare classes out, or collect more rows"
        ) from fault
    importances = np.column_stack(resampled)
    return Bunch(
        importances=importances,
        importances_mean=importances.mean(axis=1),
        importances_std=importances.std(axis=1, ddof=1),
    )


def importance_test(
    model: LinearReduction,
    X: ArrayLike,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    refit: bool = False,
    n_permutations: int = 199,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Test column by column whether it counts for more than one that has nothing to do with y.

    A column is permuted over the rows, the others and y staying where they are. Either the
    projection is kept and its score compared, on held-out rows, or the model is fitted again and
    the importance of the column compared.

    Parameters
    ----------
    model : fitted estimator with ``feature_importances_``
        The last step of a pipeline, not the pipeline. Without `refit` it needs a ``score`` of X
        and y, as `SupervisedIKDR` and `ResponseIKDR` have.
    X : array of shape (n_samples, n_features)
        Scaled as the rows of the fit. Without `refit`: rows that were held out of the fit, or the
        p-values are too small. With it: the rows of the fit.
    y : array of shape (n_samples,)
        Their labels or responses.
    sample_weight : array of shape (n_samples,), optional
        Their weights, which stay where they are. With `refit` those of the fit.
    refit : bool, default=False
        Whether to fit the model again to every permutation, with all that it searches.
    n_permutations : int, default=199
        Of each column. The smallest p-value is one over n_permutations + 1.
    n_jobs : int, optional
        Columns at a time, by joblib; one when None.
    random_state : int, RandomState, optional
        For the permutations.

    Returns
    -------
    Bunch
        ``p_values`` (n_features,); ``importances`` (n_features, n_permutations), by how much the
        score, or with `refit` the importance of the column, falls when it is permuted, and
        ``importances_mean`` and ``importances_std`` (n_features,) as of
        `sklearn.inspection.permutation_importance`.

    Raises
    ------
    TypeError
        If the model has no ``feature_importances_``, or finds clusters.
    ValueError
        If n_permutations is below 1, y is None, or X is not what the model was fitted to: other
        columns, and with `refit` other units or weights.

    Warns
    -----
    UserWarning
        If X holds the rows of the fit, without `refit`.

    See Also
    --------
    ismlit.bootstrap_importances : how much importances vary.
    ismlit.dependence_test : whether X as a whole says anything of y.
    sklearn.inspection.permutation_importance : for the score of any model, without p-values.

    Notes
    -----
    The cost is n_features times n_permutations scores of X, each of which grows with the square of
    the rows (2 ms of one core with 100 rows, .16 s with 1000, 3 s with 4000), or as many fits, with
    all their starts: 19 permutations and init="gradient" in the model keep these short (0.04 s a
    fit with 100 rows of six columns).

    What is tested is that the column is independent of y and of the other columns together. With
    `refit` the p-values are then exact, since the fit treats both tables alike; without it they are
    where the rows were held out. Of six normal columns two made the label: in 77 samples of 100
    rows, and 100 that were held out, 3.6 % of the p-values of noise were at most 0.05, and 100 and
    97 % of those of the two; on the rows of the fit 55 % of those of noise. With `refit` it was
    0.8 % of noise, and 97 and 90 % of the two, in 30 samples of 100 rows.

    A column correlated with one that counts is not independent of the others: it can have a small
    p-value with no part in y.

    There are as many p-values as columns: to name those below 0.05, multiply by their number
    first, or hold them against the rule of Holm (1979).

    References
    ----------
    Breiman 2001, Random forests.
    Altmann, Toloşi, Sander and Lengauer 2010, Permutation importance: a corrected feature
    importance measure.
    Phipson and Smyth 2010, Permutation p-values should never be zero.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import SupervisedIKDR, importance_test
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> y = X[:, 1] > 0
    >>> model = SupervisedIKDR(1).fit(X[:100], y[:100])
    >>> test = importance_test(model, X[100:], y[100:], n_permutations=99, random_state=0)
    >>> int(test.p_values.argmin()), float(test.p_values.min())
    (1, 0.01)
    """
    _require_importances(model, "importance_test")
    if n_permutations < 1:
        raise ValueError(f"n_permutations must be at least 1, got {n_permutations!r}")
    name = type(model).__name__
    if y is None:
        raise ValueError(f"y is None: pass the labels or the response that {name} is to explain")
    if not model.__sklearn_tags__().target_tags.required:
        raise TypeError(
            f"importance_test needs an estimator that explains a y, and {name} finds clusters: "
            "bootstrap_importances gives the standard errors of its importances"
        )
    scored: Any = model
    if refit:
        A, target, w = _as_fitted(model, X, y, sample_weight)
        observed = _refitted(model, A, target, w)
    else:
        A, target = np.asarray(X), np.asarray(y)
        w = None if sample_weight is None else np.asarray(sample_weight)
        observed = np.full(A.shape[-1], scored.score(X, y, **_weights(w)))
        if _are_those_of_the_fit(model, A.astype(float), w):
            warn(
                f"X is what {name} was fitted to, so that the p-values are too small, those of "
                "noise too: pass rows that were held out of the fit, or refit=True"
            )
    rng = check_random_state(random_state)
    orders = [rng.permutation(len(A)) for _ in range(n_permutations)]
    nameless = copy.copy(model)
    vars(nameless).pop("feature_names_in_", None)  # as the permuted tables are, being arrays
    permuted = partial(_permuted, nameless, refit, A, target, w, orders)
    reached = Parallel(n_jobs)(delayed(permuted)(j) for j in range(A.shape[1]))
    falls = observed[:, None] - reached
    not_lower = np.sum(falls <= SAME_SCORE * abs(observed[:, None]), axis=1)
    return Bunch(
        p_values=(1 + not_lower) / (1 + n_permutations),
        importances=falls,
        importances_mean=falls.mean(axis=1),
        importances_std=falls.std(axis=1),
    )


def _permuted(model, refit, X, y, weights, orders, column):
    """The importance of a column, or the score, for every order of its values."""
    reached = []
    for order in orders:
        table = X.copy()
        table[:, column] = X[order, column]
        if refit:
            reached.append(_refitted(model, table, y, weights)[column])
            continue
        with silenced():  # the score of X has given these warnings
            reached.append(model.score(table, y, **_weights(weights)))
    return reached


def _refitted(model, X, y, weights):
    """The importances of the model fitted to other rows, or the error that this raises."""
    end = _importances(model, None, 0, X, y, weights, slice(None))
    if isinstance(end, ValueError):
        raise end
    return end


def _are_those_of_the_fit(model, X, weights):
    """Whether rows have the means and the spreads of those that a model was fitted to."""
    near = SAME_ROWS * np.maximum(abs(model.mean_), model._std)
    means = np.average(X, axis=0, weights=weights)
    spreads = column_std(X, means, weights)
    return bool(np.all(np.maximum(abs(means - model.mean_), abs(spreads - model._std)) <= near))


def _weights(sample_weight):
    """The weights as an argument of `fit` and `score`, where there are any."""
    return {} if sample_weight is None else dict(sample_weight=sample_weight)


def _require_importances(model, name):
    """Refuse a model without importances, in the name of a function."""
    if not isinstance(model, LinearReduction):
        raise TypeError(
            f"{name} takes an estimator of ismlit with feature_importances_, got "
            f"{type(model).__name__}: of a pipeline pass the last step, pipeline[-1], and the rows "
            "that it was given"
        )
    check_is_fitted(model)


def _as_fitted(model, X, y, sample_weight):
    """X, y and the weights as arrays; a ValueError where they cannot be those of the fit."""
    A, target = np.asarray(X), None if y is None else np.asarray(y)
    name = type(model).__name__
    if A.shape[1:] != model.mean_.shape:
        raise ValueError(
            f"X has shape {A.shape}, but {name} was fitted to {len(model.mean_)} columns"
        )
    if target is None and getattr(model, "_guided", True):
        raise ValueError(f"{name} was fitted to a y, and y is None: pass the y of the fit")
    if (sample_weight is not None) != getattr(model, "_weighted", False):
        side = "without" if sample_weight is not None else "with"
        raise ValueError(f"{name} was fitted {side} sample_weight: pass the weights of the fit")
    w = row_weights(sample_weight, None, A, target)
    held, mean = model, np.average(A, axis=0, weights=w)
    least = 1e-6 * np.maximum(abs(mean), abs(held.mean_))  # that of a constant, by rounding
    std, fitted = np.maximum(column_std(A, mean, w), least), np.maximum(held._std, least)
    other = np.maximum(std, fitted) > MOST_STRETCHED * np.minimum(std, fitted)
    if other.any():
        column = int(other.argmax())
        raise ValueError(
            f"column {column} of X has the standard deviation {std[column]:.3g}, and had "
            f"{fitted[column]:.3g} in the fit of {name}: pass the rows that it was fitted to, "
            "scaled as they were"
        )
    return A, target, w


def _importances(model, kernel, n_classes, X, y, weights, rows):
    """The importances of a model fitted to some of the rows, or why there are none."""
    row_weights = _weights(None if weights is None else weights[rows])
    twin = clone(model)
    if isinstance(model, Projection):
        twin.set_params(callback=None, verbose=False)
    if kernel is not None:
        twin.set_params(kernel=kernel.on(rows), bandwidth="median")
        if hasattr(twin, "bandwidth_scale"):
            twin.set_params(bandwidth_scale=1.0)  # the kernel has it
    with silenced():  # the fit to all rows has given these warnings
        try:
            twin.fit(X[rows], None if y is None else y[rows], **row_weights)
        except ValueError as error:
            return error
        if np.size(getattr(twin, "classes_", None)) < n_classes:
            return ValueError(f"a draw held fewer than the {n_classes} classes of y")
        return twin.feature_importances_
