"""What is left of a dependence given further variables: kernel features of residuals.

X and y are independent given Z exactly if X - f(Z) and y - g(Z) are, for any f and g. So both are
regressed on Z first, features are made of the residuals, and these are regressed once more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh, svd

from ismlit.bandwidth import MEDIAN_SUBSAMPLE, median_distance
from ismlit.gamma import one_hot
from ismlit.grams import gram
from ismlit.kernels import Gaussian
from ismlit.messages import warn
from ismlit.targets import is_response, read_target

FEWEST_ROWS = 50  # With fewer the level was not measured.
ROWS_A_COLUMN = 10  # So many rows at least for each column of Z.
RELIABLE_COLUMNS = 3  # Of Z; with more the level may be lost.
DISCRETE = 5  # A column with at most so many values is taken as it is.
PENALTIES = np.logspace(2, -4, 13)  # The smoothest first: it wins ties.
RIDGE_SCALES = (2.0, 1.0, 0.5, 0.25)  # Bandwidths of Z, in median distances.
LANDMARKS = 200  # Rows of which Nystroem's features are made.
FEATURES = 10  # Of the residuals of X, and of those of y.
WEIGHTS = 8  # Features of Z that weight the rows.


def read_given(given: Any, n: int) -> np.ndarray:
    """Read the variables that a test conditions on, and refuse those for which it is not valid.

    Parameters
    ----------
    given : array of shape (n,) or (n, m)
        Numbers.
    n : int
        Rows of X.

    Returns
    -------
    array of shape (n, m)
        The columns that vary, each with mean 0 and variance 1.

    Raises
    ------
    ValueError
        For words, gaps, another length, no column that varies, fewer than 50 rows, or more columns
        than a tenth of the rows.

    Warns
    -----
    UserWarning
        If more than three columns vary.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.conditioning import read_given
    >>> read_given(np.column_stack([np.arange(60), np.ones(60)]), 60).shape
    (60, 1)
    """
    Z = read_target(given, "given")
    if Z.dtype.kind in "US":
        raise ValueError(
            f"given must hold numbers, got the word {str(Z.flat[0])!r} in row 0: pass categories "
            "as indicator columns, for instance by pandas.get_dummies(..., drop_first=True), or, "
            "if they are all you condition on, as groups="
        )
    if Z.ndim not in (1, 2) or len(Z) != n:
        raise ValueError(
            f"given must have shape ({n},) or ({n}, m), one row for each row of X, got {Z.shape}"
        )
    Z = Z.reshape(n, -1).astype(float)
    Z = Z[:, np.ptp(Z, axis=0) > 0]
    if not Z.shape[1]:
        raise ValueError(
            "given must vary, and is constant: leave it out, for a test of independence"
        )
    if n < FEWEST_ROWS:
        raise ValueError(
            f"a test given other variables needs at least {FEWEST_ROWS} rows, got {n}: take more "
            "rows, or condition on a few levels by groups=, which is exact at any number"
        )
    if Z.shape[1] > n / ROWS_A_COLUMN:
        raise ValueError(
            f"given may have at most a tenth as many columns as rows, got {Z.shape[1]} columns for "
            f"{n} rows: condition on fewer"
        )
    if Z.shape[1] > RELIABLE_COLUMNS:
        warn(
            f"given has {Z.shape[1]} columns: with more than {RELIABLE_COLUMNS} that act together, "
            "what the regression on them misses may pass for dependence, the more so with more "
            "rows; condition on fewer columns, or take a small p-value with reserve"
        )
    return standardised(Z)


def conditional_values(
    X: np.ndarray, y: np.ndarray, Z: np.ndarray, n_draws: int, rng: np.random.RandomState
) -> np.ndarray:
    """Measure the dependence of X and y that is left given Z, and what chance would leave.

    Parameters
    ----------
    X : array of shape (n, d)
        Numbers.
    y : array of shape (n,) or (n, m)
        As `ismlit.targets.read_target` gives it; numbers if it has two axes.
    Z : array of shape (n, k)
        As `read_given` gives it.
    n_draws : int
        How often the rows' terms are given random signs.
    rng : RandomState
        Draws the signs and the landmarks.

    Returns
    -------
    array of shape (1 + n_draws,)
        The statistic, and then its value for each draw of signs.

    Raises
    ------
    ValueError
        If a column of X or y is a function of Z, to rounding, or y is constant.

    References
    ----------
    Zhang, Peters, Janzing and Schoelkopf 2011, Kernel-based conditional independence test and
    application in causal discovery.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.conditioning import conditional_values, read_given
    >>> draws = np.random.RandomState(0)
    >>> z, e = draws.standard_normal((2, 200))
    >>> values = conditional_values((z + e)[:, None], z + e, read_given(z, 200), 19, draws)
    >>> int(values.argmax())
    0
    """
    X, X_is_discrete = _sides(X)
    Y, y_is_discrete = _sides(y)
    ridge = _Ridge(Z, rng)
    e, f = ridge.residuals(X), ridge.residuals(Y)
    for A, rest, name in ((X, e, "X"), (Y, f, "y")):
        if np.any(np.sum(rest**2, axis=0) <= 1e-10 * np.sum(A**2, axis=0)):
            raise ValueError(
                f"{name}, or a column of it, must not be a function of given, and is one to "
                "rounding: given it nothing varies that could be tested; leave that column out"
            )
    fits = [_leading(standardised(A)) for A in (X - e, Y - f)]
    second = _Ridge(standardised(np.hstack([Z, *fits])), rng)
    E = second.residuals(X if X_is_discrete else _features(e, rng))
    F = second.residuals(Y if y_is_discrete else _features(f, rng))
    terms = (E[:, :, None] * F[:, None, :]).reshape(len(Z), -1)
    signs = np.vstack([np.ones(len(Z)), rng.choice([-1.0, 1.0], (n_draws, len(Z)))])
    weights = _gaussian_factor(Z, 1.0, rng, 1e-3)[:, :WEIGHTS]
    return np.sum([np.sum(((signs * w) @ terms) ** 2, axis=1) for w in weights.T], axis=0)


def standardised(A: np.ndarray) -> np.ndarray:
    """Return columns of mean 0 and variance 1.

    Parameters
    ----------
    A : array of shape (n, m)
        The columns.

    Returns
    -------
    array of shape (n, m)
        A constant column is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.conditioning import standardised
    >>> standardised(np.array([[1.0, 5.0], [3.0, 5.0]]))
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    centred = A - A.mean(axis=0)
    size = centred.std(axis=0)
    return centred / np.where(size > 1e-12 * np.abs(A).max(axis=0), size, np.inf)


def _sides(A):
    """The centred columns (n, m) of X or y that vary, and whether they are indicators."""
    is_class = A.ndim == 1 and not is_response(A)
    column = A if A.ndim == 1 else A[:, 0] if A.shape[1] == 1 else None
    is_discrete = is_class or (column is not None and 2 <= len(np.unique(column)) <= DISCRETE)
    if is_discrete:
        codes = np.unique(column, return_inverse=True)[1]
        A = one_hot(codes)[:, 1:]
    A = A.reshape(len(A), -1).astype(float)
    A = A[:, np.ptp(A, axis=0) > 0]
    if not A.shape[1]:
        raise ValueError("y must vary, and is constant: nothing can depend on it")
    return A - A.mean(axis=0), is_discrete


def _leading(A):
    """A (n, m), or its three leading directions where it has more columns."""
    return A if A.shape[1] <= 3 else svd(A, full_matrices=False)[0][:, :3]


def _features(A, rng):
    """The leading features (n, r) of a Gaussian at the median distance of residuals A (n, m)."""
    return _gaussian_factor(standardised(A), 1.0, rng, 1e-4)[:, :FEATURES]


def _gaussian_factor(A, scale, rng, tol):
    """F (n, r) with FF' near the Gaussian Gram matrix of A (n, m), largest eigenvalue first."""
    kernel = Gaussian(scale * median_distance(A, max_samples=MEDIAN_SUBSAMPLE))
    some = A if len(A) <= LANDMARKS else A[rng.permutation(len(A))[:LANDMARKS]]
    sizes, vectors = eigh(gram(kernel, some))
    is_nonzero = np.flatnonzero(sizes > tol * sizes[-1])[::-1]
    return gram(kernel, A, None, some) @ (vectors[:, is_nonzero] / np.sqrt(sizes[is_nonzero]))


class _Ridge:
    """Regression on Z (n, k): [1, Z] without a penalty, and a Gaussian kernel of Z with one."""

    def __init__(self, Z, rng):
        U, sizes, _ = svd(np.column_stack([np.ones(len(Z)), Z]), full_matrices=False)
        self.linear = U[:, sizes > 1e-8 * sizes[0]]
        self.curved = []
        for scale in RIDGE_SCALES:
            F = _gaussian_factor(Z, scale, rng, 1e-7)
            F -= self.linear @ (self.linear.T @ F)
            sizes, vectors = eigh(F.T @ F)
            is_nonzero = sizes > 1e-8 * sizes[-1]
            self.curved.append(
                (F @ (vectors[:, is_nonzero] / np.sqrt(sizes[is_nonzero])), sizes[is_nonzero])
            )

    def residuals(self, Y):
        """Of every column (n, m) what the fit with the least leave-one-out error leaves."""
        Y = Y - self.linear @ (self.linear.T @ Y)
        leverage = np.sum(self.linear**2, axis=1)
        best, rest = _left_out_error(Y, leverage), Y.copy()
        for U, sizes in self.curved:
            products, squares = U.T @ Y, U**2
            for penalty in PENALTIES:
                shrunk = sizes / (sizes + penalty)
                R = Y - U @ (shrunk[:, None] * products)
                error = _left_out_error(R, leverage + squares @ shrunk)
                better = error < best * (1 - 1e-6)  # a tie goes to the smoother fit
                rest[:, better], best[better] = R[:, better], error[better]
        return rest


def _left_out_error(R, leverage):
    """The sum of squares of what residuals (n, m) would be, each row being left out in turn."""
    return np.sum((R / np.maximum(1 - leverage, 1e-9)[:, None]) ** 2, axis=0)
