"""What the estimators share: one table of parameters, and projections that can be certified."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ismlit.bandwidth import KERNELS, RULES, as_kernel
from ismlit.baselines import SOLVERS
from ismlit.kernels import Kernel
from ismlit.optimality import certify
from ismlit.spectral import NORMALIZE
from ismlit.starts import INITS

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
KERNEL = (lambda value: isinstance(value, Kernel), "a Kernel")

PARAMETERS = {
    "n_components": rule(WHOLE, NONE),
    "n_clusters": WHOLE,
    "n_vectors": rule(WHOLE, NONE),
    "kernel": rule(KERNEL, one_of(*KERNELS)),
    "bandwidth": rule(POSITIVE, one_of(*RULES), FUNCTION),
    "solver": one_of(*SOLVERS),
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
    "verbose": BOOL,
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
            hint = ""
            if name == "kernel":
                hint = _kernel_hint(value)
            raise ValueError(
                f"{name} of {type(estimator).__name__} must be {words}, got {value!r}{hint}"
            )


def _kernel_hint(name):
    try:
        as_kernel(name, None)
    except ValueError as error:
        return str(error).partition(repr(name))[2]
    return ""


def check_labels(y):
    """Classes of labels y (n,), sorted; a ValueError for a regression target."""
    check_classification_targets(y)
    classes = np.unique(y)
    if np.asarray(y).dtype.kind in "iuf" and len(classes) > max(20, len(y) // 3):
        raise ValueError(
            f"y holds {len(classes)} distinct numbers in {len(y)} samples: that is no class label "
            "but a response r. For a regression use ism(X, Gamma(centre(r)[:, None], [1.0]), "
            "kernel, q)"
        )
    return classes


# ---------------------------------------------------------------- projections


class Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """An estimator with one W: X is centred, seen through ``W_``, and keeps its precision.

    A subclass sets ``W_`` and ``_problem``, what was solved on the training data.
    """

    def _centred(self, X, q):
        """X minus ``mean_``, after a check that q columns of W are possible."""
        if q > X.shape[1]:
            raise ValueError(
                f"n_components = {q} must be at most the number of features, "
                f"n_features = {X.shape[1]}"
            )
        self.mean_ = X.mean(axis=0)
        return X - self.mean_

    def _keep(self, result):
        """The result without its problem, which is kept apart: a pickle holds no training data."""
        self._problem = result.problem
        self._certificate = None
        self.W_ = result.W
        return replace(result, problem=None)

    @property
    def components_(self):
        """W' (n_components, n_features), as other decompositions of scikit-learn name it."""
        check_is_fitted(self)
        return self.W_.T

    @property
    def certificate_(self):
        """The conditions of a local maximum at ``W_``; computed when first asked for, and kept."""
        check_is_fitted(self, "W_")
        if self._certificate is None:
            self._certificate = certify(self, bounds=False)
        return self._certificate

    def training_problem(self):
        """What was solved, on the training data.

        Raises
        ------
        ValueError
            If the estimator was pickled since, which leaves the training data out.
        """
        check_is_fitted(self, "W_")
        if self._problem is None:
            raise ValueError(
                f"this {type(self).__name__} was pickled or copied without its training data: "
                "ask for certificate_ before, or call certify(Problem(X, gamma, kernel), model.W_)"
            )
        return self._problem

    def __getstate__(self):
        state = dict(super().__getstate__())
        if "_problem" in state:
            state["_problem"] = None
        return state

    def transform(self, X):
        """Project X (n_samples, n_features) to (n_samples, n_components)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        return ((X - self.mean_) @ self.W_).astype(X.dtype, copy=False)

    @property
    def _n_features_out(self):
        return self.W_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
