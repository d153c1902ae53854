"""What the estimators share: projections that can be certified, fits that fail cleanly."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from itertools import count
from types import SimpleNamespace
from typing import ParamSpec, Self, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ismlit.estimators.linear import LinearReduction, column_std
from ismlit.estimators.validation import (
    check_units,
    warn_of_a_dominant_column,
)
from ismlit.geometry.frames import as_frame, column_signs
from ismlit.geometry.span import varying_directions
from ismlit.grams import column_means
from ismlit.kernels import Kernel
from ismlit.parallel import ONE_BLAS_THREAD
from ismlit.solvers.certificate import Certificate, certify
from ismlit.solvers.ism import warn_of_components


def make_callback(estimator, line, seen=lambda at: at):
    """Make what a solver calls after every step.

    Parameters
    ----------
    estimator : estimator
        Its `verbose` asks for a line, and its `callback` is called.
    line : callable
        The line to print, from what the solver passes.
    seen : callable, optional
        What the user's callback gets of it.

    Returns
    -------
    callable
        A function of what the solver passes. True once the user's callback has returned True,
        which is then called no more.
    """

    def report(at):
        if getattr(estimator, "_stopped", False):
            return True
        if estimator.verbose:
            print(f"{type(estimator).__name__}: {line(at)}", flush=True)
        answer = estimator.callback is not None and bool(estimator.callback(seen(at)))
        if answer and hasattr(estimator, "_stopped"):
            estimator._stopped = True
        return answer

    return report


Arguments = ParamSpec("Arguments")
Fitted = TypeVar("Fitted")


def all_or_nothing(fit: Callable[Arguments, Fitted]) -> Callable[Arguments, Fitted]:
    """Make a method `fit` that leaves the estimator as it was when it is refused or interrupted.

    Without it a second fit that fails half-way would leave attributes of two different fits side
    by side, and the estimator would go on to answer from the mixture. BLAS has one thread
    meanwhile: a fit is made of many small products, which several threads only slow down.

    Parameters
    ----------
    fit : callable
        The method.

    Returns
    -------
    callable
        The same method with these promises.
    """

    @wraps(fit)
    def guarded(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Fitted:
        state = vars(args[0])
        before = dict(state)
        try:
            with ONE_BLAS_THREAD, np.errstate(under="ignore"):  # of exp, far from all
                return fit(*args, **kwargs)
        except BaseException:  # KeyboardInterrupt included
            state.clear()
            state.update(before)
            raise

    return guarded


def check_components(q: int, rank: int, X: np.ndarray) -> None:
    """Refuse more components than there are directions in which X varies.

    Parameters
    ----------
    q : int
        How many are asked for.
    rank : int
        The number of directions.
    X : array of shape (n, d)
        Samples in rows.

    Raises
    ------
    ValueError
        If q is above the rank.
    """
    if q > rank:
        raise ValueError(
            f"n_components = {q} must be at most {rank}, the number of directions in which X "
            f"(n_features = {X.shape[1]}) varies: constant columns, and columns that others "
            "determine, add none"
        )


class Projection(LinearReduction):
    """An estimator with one W: X is centred, seen through ``W_``, and keeps its precision.

    W is looked for among the directions in which X varies. A subclass sets ``W_``, and keeps with
    `_keep` what was solved on the training data.
    """

    kernel: str | Kernel | Callable[[float], Kernel]
    kernel_: Kernel
    converged_: bool
    n_iter_: int
    history_: dict[str, np.ndarray]

    def _centred(self, X, sample_weight=None):
        """X minus ``mean_``, in a basis of the directions in which it varies, and q."""
        check_units(X)
        self.mean_ = column_means(X, sample_weight).astype(X.dtype, copy=False)
        self._std = column_std(X, self.mean_, sample_weight)
        q = self._choose_components(varying_directions(X, self.mean_), X)
        if self._basis is None:  # random features centre what they read
            return (X if getattr(self, "random_features", None) else X - self.mean_), q
        return (X - self.mean_) @ self._basis, q

    def _choose_components(self, basis, X):
        """How many directions are to be found: `n_components`, or what `_default_components` says.

        They are looked for among those of a basis (d, rank), None where X varies in all d.
        """
        self._stopped = False  # by the callback, which this fit has yet to ask
        self._basis = None if basis is None else basis.astype(X.dtype, copy=False)
        self._rank = rank = X.shape[1] if self._basis is None else self._basis.shape[1]
        if not rank:
            raise ValueError("all rows of X are equal: duplicate rows of one sample say nothing")
        q = self._n_components(rank, X)
        check_components(q, rank, X)
        names = getattr(self, "feature_names_in_", None)
        warn_of_a_dominant_column(self._std, type(self).__name__, names)
        return q

    def _n_components(self, rank, X):
        return self._default_components(rank) if self.n_components is None else self.n_components

    def _default_components(self, rank):
        """q where `n_components` is None and X varies in `rank` directions."""
        return rank

    def _start(self):
        """`init` as the solver gets it: an array is seen in the basis of X."""
        if isinstance(self.init, str):
            return self.init
        V = self._basis
        if V is None:
            return self.init
        return np.linalg.qr(V.T @ as_frame(self.init, len(V), V.dtype, "init"))[0]

    def _watched(self):
        """What a solver calls after every step; the user's callback gets W for the columns of X."""
        V, steps = self._basis, count()

        def seen(at):
            if V is None:
                return at
            U = getattr(at, "U", None)
            return SimpleNamespace(W=V @ at.W, U=U, J=at.J, stage=at.stage)

        def line(at):
            stage = f"step {next(steps)}" if at.stage == "step" else at.stage
            return f"{stage}, J = {at.J:.8g}"

        return make_callback(self, line, seen)

    def _keep(self, result):
        """The result without its problem, which is kept apart: a pickle holds no training data."""
        V, self.W_ = self._basis, result.W
        if V is not None:  # the signs are those of the columns of X, in either basis
            signs = column_signs(V @ result.W)
            result = replace(result, W=result.W * signs)
            self.W_ = V @ result.W
        self._solved = result
        self._certificates, self._chance = {}, None
        warn_of_components(type(self).__name__, result)
        return replace(result, W=self.W_, problem=None)

    def set_params(self, **params) -> Self:
        """Set parameters by name.

        A name such as ``kernel__sigma`` gives the estimator another kernel with that parameter:
        kernels themselves cannot be changed.

        Parameters
        ----------
        **params : dict
            The parameters and their new values.

        Returns
        -------
        estimator
            The estimator itself.

        Raises
        ------
        ValueError
            If there is no such parameter.
        """
        inner = {name[8:]: params.pop(name) for name in [*params] if name.startswith("kernel__")}
        super().set_params(**params)
        if inner:
            if not isinstance(self.kernel, Kernel):
                raise ValueError(
                    f"the kernel of this {type(self).__name__} is {self.kernel!r}, which has no "
                    f"parameter {next(iter(inner))!r}: give a Kernel, as in kernel=Gaussian(1.0)"
                )
            self.kernel = self.kernel.with_params(**inner)
        return self

    def certificate(self, *, exact: bool = False) -> Certificate:
        """Whether ``W_`` is a local maximum, and beyond chance: tested when first asked, and kept.

        Parameters
        ----------
        exact : bool
            See `ismlit.certify`: it matters beyond 20,000 rows and with random features.

        Returns
        -------
        Certificate
            Of the problem that was solved, on the training rows. Where there are labels or a
            response, 19 refits with permuted rows say whether J is beyond chance (of at most 1000
            rows).

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
        if exact not in self._certificates:
            if self._chance is None:  # the refits are the same, exact or not
                self._chance = self._against_chance()
            self._certificates[exact] = replace(certify(self, exact=exact), **self._chance)
        return self._certificates[exact]

    def _against_chance(self):
        """Fields of `Certificate` from refits with permuted rows; none without labels."""
        return {}

    def solved(self):
        """Return what was solved on the training data, and its result.

        Returns
        -------
        problem : Objective
            In the basis of the directions in which X varies.
        result : ISMResult
            Its W has the coordinates of that basis.

        Raises
        ------
        ValueError
            If the estimator was pickled since, which leaves the training data out.
        """
        check_is_fitted(self, "W_")
        if self._solved is None:
            raise ValueError(
                f"this {type(self).__name__} was pickled without its training data, or fitted to "
                "rows in blocks, of which it keeps none: ask for certificate() before a pickle, "
                "or call certify(Problem(X, gamma, kernel), model.W_), on a sample of the rows"
            )
        return self._solved.problem, self._solved

    def training_problem(self):
        """Return what was solved, on the training data with all its features.

        Its frames may have components along which X does not vary. The estimator's have none, so
        `ismlit.ism` on this problem can end higher: such a component narrows the kernel alone.

        Returns
        -------
        Objective
            The problem.

        Raises
        ------
        ValueError
            As for `solved`.
        """
        problem, _ = self.solved()
        return problem if self._basis is None else problem.in_basis(self._basis.T)

    def problem_at(self, W):
        """Return the problem whose point a W is, and W in its coordinates.

        It is the one that was solved where X varies along all of W, else `training_problem`.

        Parameters
        ----------
        W : array of shape (n_features, q)
            Orthonormal columns.

        Returns
        -------
        problem : Objective
            The problem.
        W : array
            The same subspace in its coordinates.
        """
        V = self._basis
        if V is not None:
            inside = V.T @ W
            if np.linalg.norm(W - V @ inside) < np.sqrt(np.finfo(V.dtype).eps):
                return self.solved()[0], np.linalg.qr(inside)[0]
        return self.training_problem(), W

    def __getstate__(self):
        state = dict(super().__getstate__())
        return state | {name: None for name in ("_solved", "_target") if name in state}

    def __copy__(self):
        twin = type(self).__new__(type(self))
        vars(twin).update(vars(self))
        return twin

    def __deepcopy__(self, memo):
        twin = memo[id(self)] = copy.copy(self)
        for name, value in vars(self).items():
            setattr(twin, name, value if name == "_solved" else copy.deepcopy(value, memo))
        return twin
