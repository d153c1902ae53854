"""What the estimators share: one table of parameters, and projections that can be certified."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from itertools import count
from numbers import Integral, Real
from types import SimpleNamespace
from typing import ParamSpec, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import gen_batches
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ismlit.problems.bandwidth import KERNELS, RULES, kernel_hint
from ismlit.problems.grassmann import as_frame, column_signs
from ismlit.problems.kernels import Kernel
from ismlit.problems.span import varying_directions
from ismlit.solvers.optimality import Certificate, certify
from ismlit.solvers.solver import warn_of_components
from ismlit.solvers.spectral import NORMALIZE
from ismlit.solvers.starts import INITS

FLOATS = (np.float64, np.float32)

# ---------------------------------------------------------------- parameters


def whole(value, least):
    """Whether a value is a whole number of at least so much."""
    return isinstance(value, Integral) and not isinstance(value, bool) and value >= least


def _number(value, least, strict=False):
    real = isinstance(value, Real) and not isinstance(value, bool) and value == value
    return real and (value > least if strict else value >= least)


def _array(value):
    return not isinstance(value, str) and np.ndim(value) >= 1


def one_of(*names):
    """The rule of a word from a list."""
    return lambda value: isinstance(value, str) and value in names, f"one of {names}"


def rule(*parts):
    """A rule that admits what any of its parts admits."""
    tests = [test for test, _ in parts]
    words = " or ".join(text for _, text in parts)
    return lambda value: any(test(value) for test in tests), words


NONE = (lambda value: value is None, "None")
BOOL = (lambda value: isinstance(value, bool | np.bool_), "True or False")
ARRAY = (_array, "an array")
WHOLE = (lambda value: whole(value, 1), "a whole number of at least 1")
ANY_WHOLE = (lambda value: isinstance(value, Integral), "a whole number")
POSITIVE = (lambda value: _number(value, 0, strict=True), "a number above 0")
NOT_NEGATIVE = (lambda value: _number(value, 0), "a number of at least 0")
SHARE = (lambda value: _number(value, 0) and value <= 1, "a number from 0 to 1")
PART = (lambda value: _number(value, 0, strict=True) and value < 1, "a number between 0 and 1")
FUNCTION = (callable, "a function")
DICT = (lambda value: isinstance(value, dict), "a dict")
KERNEL = (lambda value: isinstance(value, Kernel), "a Kernel")

PARAMETERS = {
    "n_components": rule(WHOLE, NONE),
    "n_clusters": WHOLE,  # or None, where labels can tell
    "n_vectors": rule(WHOLE, NONE),
    "kernel": rule(KERNEL, one_of(*KERNELS)),
    "bandwidth": rule(POSITIVE, one_of(*RULES), FUNCTION),
    "init": rule(one_of(*INITS), ARRAY),
    "tol": NOT_NEGATIVE,
    "max_iter": WHOLE,
    "max_turns": WHOLE,
    "n_init": WHOLE,
    "normalize": one_of(*NORMALIZE),
    "balanced": BOOL,
    "random_features": rule(WHOLE, NONE),
    "weight": NOT_NEGATIVE,
    "n_jobs": rule(ANY_WHOLE, NONE),
    "callback": rule(FUNCTION, NONE),
    "verbose": rule(BOOL, ANY_WHOLE),
}
"""What each parameter may be: (test, words). One word means one thing in every estimator."""


def check_parameters(estimator, **own):
    """Hold every parameter of an estimator against `PARAMETERS`, or against its `own` rules.

    Raises
    ------
    ValueError
        Names the parameter, the rule, and what came.
    """
    rules = PARAMETERS | own
    for name, value in estimator.get_params(deep=False).items():
        if name not in rules:  # random_state, which scikit-learn checks where it is used
            continue
        test, words = rules[name]
        if not test(value):
            hint = kernel_hint(value) if name == "kernel" else ""
            raise ValueError(
                f"{name} of {type(estimator).__name__} must be {words}, got {value!r}{hint}"
            )


def watched(estimator, line, seen=lambda at: at):
    """What is called after every step: a `line` if `verbose`; `callback` gets what is `seen`."""

    def report(at):
        if estimator.verbose:
            print(f"{type(estimator).__name__}: {line(at)}", flush=True)
        if estimator.callback is not None:
            estimator.callback(seen(at))

    return report


Arguments = ParamSpec("Arguments")
Fitted = TypeVar("Fitted")


def all_or_nothing(fit: Callable[Arguments, Fitted]) -> Callable[Arguments, Fitted]:
    """A method `fit` that leaves the estimator as it was when it is refused or interrupted.

    Without it a second fit that fails half-way would leave attributes of two different fits side
    by side, and the estimator would go on to answer from the mixture.
    """

    @wraps(fit)
    def guarded(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Fitted:
        state = vars(args[0])
        before = dict(state)
        try:
            return fit(*args, **kwargs)
        except BaseException:  # KeyboardInterrupt included
            state.clear()
            state.update(before)
            raise

    return guarded


def check_labels(y):
    """Classes of labels y (n,), sorted; a ValueError for a regression target."""
    y = np.asarray(y)
    if y.dtype == object and any(label is None for label in y):
        raise ValueError("y holds None: where only some labels are known, use SemiSupervisedIKDR")
    if y.dtype.kind == "f" and (y % 1).any():
        raise ValueError(
            "Unknown label type: y holds fractions, which are no labels; use ResponseIKDR for a "
            "response"
        )
    check_classification_targets(y)
    classes = np.unique(y)
    if y.dtype.kind in "iuf" and len(classes) > max(20, len(y) // 3):
        raise ValueError(
            f"y holds {len(classes)} distinct numbers in {len(y)} samples: that is no class label "
            "but a response; use ResponseIKDR"
        )
    return classes


# ---------------------------------------------------------------- projections

ROWS = 16384  # looked at at once


class KeepsPrecision(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """A transformer that gives float32 for float32."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class Projection(KeepsPrecision, BaseEstimator):
    """An estimator with one W: X is centred, seen through ``W_``, and keeps its precision.

    W is looked for among the directions in which X varies. A subclass sets ``W_``, and keeps with
    `_keep` what was solved on the training data.
    """

    def _centred(self, X):
        """X minus ``mean_``, in a basis of the directions in which it varies, and q.

        q directions are to be found: `n_components`, or what `_default_components` says.
        """
        self.mean_ = X.mean(axis=0)
        self._basis = varying_directions(X, self.mean_)
        self._rank = rank = X.shape[1] if self._basis is None else self._basis.shape[1]
        if not rank:
            raise ValueError("all rows of X are equal: duplicate rows of one sample say nothing")
        q = self._default_components(rank) if self.n_components is None else self.n_components
        if q > rank:
            raise ValueError(
                f"n_components = {q} must be at most {rank}, the number of directions in which X "
                f"(n_features = {X.shape[1]}) varies: constant columns, and columns that others "
                "determine, add none"
            )
        if self._basis is None:  # random features centre what they read
            return (X if getattr(self, "random_features", None) else X - self.mean_), q
        self._basis = self._basis.astype(X.dtype, copy=False)
        return (X - self.mean_) @ self._basis, q

    def _default_components(self, rank):
        """q where `n_components` is None and X varies in `rank` directions."""
        return rank

    def _start(self):
        """`init` as the solver gets it: an array is seen in the basis of X."""
        if isinstance(self.init, str) or self._basis is None:
            return self.init
        V = self._basis
        return np.linalg.qr(V.T @ as_frame(self.init, len(V), V.dtype, "init"))[0]

    def _watched(self):
        """What a solver calls after every step; the user's callback gets W for the columns of X."""
        V, steps = self._basis, count()

        def seen(at):
            if V is None:
                return at
            return SimpleNamespace(W=V @ at.W, U=getattr(at, "U", None), J=at.J)

        return watched(self, lambda at: f"step {next(steps)}, J = {at.J:.8g}", seen)

    def _keep(self, result):
        """The result without its problem, which is kept apart: a pickle holds no training data."""
        V, self.W_ = self._basis, result.W
        if V is not None:  # the signs are those of the columns of X, in either basis
            signs = column_signs(V @ result.W)
            result = replace(result, W=result.W * signs)
            self.W_ = V @ result.W
        self._solved = result
        self._certificate = None
        warn_of_components(type(self).__name__, result, stacklevel=5)
        return replace(result, W=self.W_, problem=None)

    @property
    def components_(self) -> np.ndarray:
        """W' (n_components, n_features), as other decompositions of scikit-learn name it."""
        check_is_fitted(self)
        return self.W_.T

    def certificate(self) -> Certificate:
        """The conditions of a local maximum at ``W_``, tested when first asked for, and kept.

        Returns
        -------
        Certificate
            Of the objective on the training rows; with random features, of the exact one. Beside
            J, that of a maximum for shuffled labels, where there are labels: one more climb.

        Raises
        ------
        ValueError
            If the estimator was pickled since without being asked before: a pickle leaves the
            training data out.

        See Also
        --------
        ismlit.certify : the same for any W.
        """
        check_is_fitted(self, "W_")
        if self._certificate is None:
            self._certificate = replace(certify(self), chance=self._chance())
        return self._certificate

    def _chance(self):
        """J of a maximum for labels that know nothing of X; None without labels."""
        return None

    def solved(self):
        """What was solved on the training data, and its result, in the basis of X.

        Raises
        ------
        ValueError
            If the estimator was pickled since, which leaves the training data out.
        """
        check_is_fitted(self, "W_")
        if self._solved is None:
            raise ValueError(
                f"this {type(self).__name__} was pickled without its training data: ask for "
                "certificate() before, or call certify(Problem(X, gamma, kernel), model.W_)"
            )
        return self._solved.problem, self._solved

    def training_problem(self):
        """What was solved, on the training data with all its features; errors as for `solved`.

        Its frames may have components along which X does not vary. The estimator's have none, so
        `ismlit.ism` on this problem can end higher: such a component narrows the kernel alone.
        """
        problem, _ = self.solved()
        return problem if self._basis is None else problem.restrict(self._basis.T)

    def problem_at(self, W):
        """The problem whose point an orthonormal W (n_features, q) is, and W in its coordinates.

        The one that was solved where X varies along all of W, else `training_problem`.
        """
        V = self._basis
        if V is not None:
            inside = V.T @ W
            if np.linalg.norm(W - V @ inside) < np.sqrt(np.finfo(V.dtype).eps):
                return self.solved()[0], np.linalg.qr(inside)[0]
        return self.training_problem(), W

    def __getstate__(self):
        state = dict(super().__getstate__())
        if "_solved" in state:
            state["_solved"] = None
        return state

    def __copy__(self):
        twin = type(self).__new__(type(self))
        vars(twin).update(vars(self))
        return twin

    def __deepcopy__(self, memo):
        twin = memo[id(self)] = copy.copy(self)
        for name, value in vars(self).items():
            setattr(twin, name, value if name == "_solved" else copy.deepcopy(value, memo))
        return twin

    def transform(self, X) -> np.ndarray:
        """Project X (n_samples, n_features) to (n_samples, n_components)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        found = [(X[rows] - self.mean_) @ self.W_ for rows in gen_batches(len(X), ROWS)]
        return np.vstack(found).astype(X.dtype, copy=False)

    @property
    def _n_features_out(self):
        return self.W_.shape[1]
