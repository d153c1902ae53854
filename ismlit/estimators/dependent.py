"""What the estimators share that seek the subspace on which a target depends most."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ismlit.bandwidth import as_kernel
from ismlit.estimators.base import Projection
from ismlit.estimators.collections import is_collection, score_collections
from ismlit.estimators.components import choose_components, standard_error
from ismlit.estimators.conditional import choose_ridge, climb_from_highest, conditional_starts
from ismlit.estimators.importance import component_gains, order_columns
from ismlit.estimators.linear import FLOATS
from ismlit.estimators.parameters import NONE, WHOLE, one_of, rule
from ismlit.estimators.weights import agreement, row_weights
from ismlit.geometry.frames import fixed_signs
from ismlit.grams import gram
from ismlit.kernels import Kernel
from ismlit.memory import few_rows, require_memory
from ismlit.messages import silenced, warn
from ismlit.objectives.landmarks import (
    LANDMARK_ROWS,
    conditional_problem,
    visited_landmarks,
)
from ismlit.objectives.parts import as_problem
from ismlit.objectives.plain import Problem
from ismlit.solvers.ism import ism, warn_unless_converged
from ismlit.solvers.permutations import highest_dependence, permutation_p_value

if TYPE_CHECKING:
    from ismlit.estimators.report import Report

N_PERMUTATIONS = 19  # The fewest with which p can be 0.05.
CHANCE_ROWS = 1000  # A certificate compares with chance on at most so many rows.
IDLE = 0.01  # A component that gains less carries nothing to speak of.
COMPONENTS = rule(WHOLE, NONE, one_of("auto"))


@dataclass(eq=False, repr=False)
class DependentIKDR(Projection, ABC):
    """W (n_features, n_components) on which a target depends most; a subclass makes its Gamma."""

    n_components: int | str | None = 2
    kernel: str | Kernel | Callable[[float], Kernel] = "gaussian"
    _: KW_ONLY
    bandwidth: float | str | Callable[[np.ndarray], float] = "projected"
    bandwidth_scale: float = 1.0
    init: str | np.ndarray = "several"
    ridge: float | str = "auto"
    random_features: int | None = None
    tol: float = 1e-6
    max_iter: int = 2000
    n_jobs: int | None = None
    callback: Callable[[object], object] | None = None
    verbose: bool | int = False
    random_state: int | np.random.RandomState | None = None
    takes_collections = True

    @abstractmethod
    def _gamma(self, y, sample_weight):
        """Gamma of the target y, and what `fit` learns of it."""

    @abstractmethod
    def _target_gram(self, y):
        """The Gram matrix (n, n) of the target y, as `score` holds it against K."""

    def _fit(self, X, y, given_weight):
        sample_weight = self._row_weights(given_weight, X, y)
        if sample_weight is not None:
            counted = sample_weight > 0
            X, y, sample_weight = X[counted], y[counted], sample_weight[counted]
            if given_weight is not None:
                given_weight = _check_sample_weight(given_weight, counted, dtype=float)[counted]
        self._target = y, given_weight  # dropped from a pickle, as the rows are
        gamma = self._gamma(y, sample_weight)
        centred, q = self._centred(X, sample_weight)
        X_centred = X if self.random_features else X - self.mean_  # to read, not to copy
        self.kernel_ = self._kernel(X_centred, q, sample_weight)
        options = self.n_jobs, self.random_features, self.random_state
        problem = as_problem(centred, gamma, self.kernel_, *options)
        self.ridge_, self.ridge_scores_ = self.ridge, None
        if self.random_features is not None:
            self.ridge_ = np.inf if self.ridge == "auto" else self.ridge
        elif self.ridge == "auto":
            judged = problem.X, y, given_weight, self.kernel_, q
            self.ridge_, self.ridge_scores_ = choose_ridge(self, *judged)
        return self._solve(problem, q, sample_weight)

    def _solve(self, problem, q, sample_weight=None):
        options = dict(tol=self.tol, max_iter=self.max_iter, callback=self._watched(), q=q)
        start = self._start()
        with silenced(ConvergenceWarning):  # said below, in the name of the estimator
            if self.ridge_ == np.inf:
                result = ism(problem, init=start, random_state=self.random_state, **options)
            else:
                conditional, y, narrow = self._conditional(problem, sample_weight)
                starts = [start]
                if isinstance(start, str):
                    starts = conditional_starts(conditional.X, y, narrow(), q)
                result = climb_from_highest(conditional, starts, **options)
        warn_unless_converged(type(self).__name__, result)
        stored = self._keep(result)
        rotation, self.dependence_ratio_ = order_columns(problem, self._solved.W, sample_weight)
        gains = component_gains(problem, self._solved.W, sample_weight)
        turned = fixed_signs(self.W_ @ rotation)
        to_turned = self.W_.T @ turned
        self.W_, self._gains = turned, to_turned.T @ gains @ to_turned
        self.component_gains_ = self._gains.diagonal()
        self.result_ = replace(stored, W=self.W_)
        self.n_components_ = q
        self.converged_, self.history_ = result.converged, result.history
        self.n_iter_ = max(result.n_iter, 1)  # the start counts as one
        return self

    def _conditional(self, problem, sample_weight):
        """The conditional covariance; and for its starts the target, and what makes its Gamma."""
        if self.random_features is None:
            X, y = problem.X, self._target[0]
            gamma = self._regression_gamma(y, sample_weight)
            conditional = conditional_problem(X, gamma, problem.kernel, self.ridge_, sample_weight)
            return conditional, y, lambda: self._regression_gamma(y, sample_weight, 0.5)
        if sample_weight is not None:
            raise ValueError(
                f"sample_weight of {type(self).__name__} does not work with random_features and a "
                "ridge: leave one of the three out"
            )
        drawn = slice(None)
        if problem.rows is None:  # else X is a sample already
            drawn = few_rows(problem.n, LANDMARK_ROWS)
            self._target = self._target[0][drawn], None
        conditional = visited_landmarks(problem, self.ridge_, drawn)
        return conditional, conditional.gamma.codes, lambda: conditional.gamma

    def _carried(self):
        gains = self.component_gains_
        idle = np.flatnonzero(gains < IDLE)
        if idle.size and getattr(self, "_warned_of", None) is not gains:  # once a fit
            k, self._warned_of = idle[0], gains
            warn(
                f"component_gains_[{k}] of {type(self).__name__} is {gains[k]:.2g}: it "
                "helps next to nothing to predict y, and its weights count for next to nothing in "
                f"feature_importances_. Fit {len(gains) - len(idle)} components, or let "
                'n_components="auto" choose'
            )
        return self._gains

    def _regression_gamma(self, y, sample_weight, width=1.0):
        """Gamma of the target of a regression; `width` is that of the kernel of a response."""
        return self._gamma(y, sample_weight)

    def _row_weights(self, sample_weight, X, y):
        """The weight of every row (n,), or None where all count alike."""
        return row_weights(sample_weight, None, X, y)

    def _kernel(self, X_centred, q, sample_weight):
        options = dict(scale=self.bandwidth_scale, sample_weight=sample_weight)
        return as_kernel(self.kernel, X_centred, self.bandwidth, q, self._rank, **options)

    def _n_components(self, rank, X):
        if self.n_components != "auto":
            return super()._n_components(rank, X)
        q, self.component_scores_ = choose_components(self, X, *self._target, rank)
        return q

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """How strongly y depends on the projected X: normalised HSIC, from 0 to 1.

        On rows that were not fitted it is a criterion for a search over the parameters.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
            0 where the kernel, or y, is constant on these rows.

        Raises
        ------
        MemoryError
            If the Gram matrices of so many rows are larger than the memory of this machine.

        Warns
        -----
        UserWarning
            If the rows hold one class alone, or one that was not fitted.

        Notes
        -----
        scikit-learn cuts the folds of a search by class for classifiers alone, and without
        shuffling: in a search over a reducer pass ``cv=StratifiedKFold(5, shuffle=True)``.
        """
        check_is_fitted(self)
        if is_collection(X):
            return score_collections(self, X, y, sample_weight)
        rows, target = validate_data(
            self, X, y, dtype=FLOATS, reset=False, ensure_min_samples=2, **self._target_options
        )
        advice = "score a sample of the rows, or give X and y as Dask collections"
        require_memory(f"score of {type(self).__name__}", advice, len(rows), 5)
        L = self._target_gram(target)
        centred, kernel = rows - self.mean_, self.kernel_
        if kernel.is_relative:  # bandwidths of the new rows, by the same rule
            if isinstance(self.kernel, Kernel):
                raise ValueError(f"{kernel!r} has bandwidths for the training rows alone")
            kernel = self._kernel(centred, None, None)
        K = gram(kernel, centred, self.W_)
        return agreement(K, L, row_weights(sample_weight, None, rows, target))

    def report(
        self, X: ArrayLike, y: ArrayLike, *, n_resamples: int = 50, random_state: int = 0
    ) -> Report:
        """One page on a table: how well it predicts, which columns count, and is it chance.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Scaled, as for `fit`. The estimator itself stays as it is: a clone is fitted.
        y : array of shape (n_samples,)
        n_resamples : int, default=50
            Of the bootstrap.
        random_state : int, default=0
            Of folds, trees, bootstrap and test.

        Returns
        -------
        Report
            Printed as text, in a notebook with a picture. Its numbers are those of
            `sklearn.model_selection.cross_val_score` on five shuffled folds, for nearest neighbours
            after the projection, a linear model and boosted trees; of
            `ismlit.bootstrap_importances`; of `certificate`; and of `ismlit.dependence_test` of y
            and all columns of X.

        Raises
        ------
        ValueError
            As `fit` and `ismlit.bootstrap_importances`.

        Warns
        -----
        UserWarning
            If a class has fewer than five rows, so that some folds lack it.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import StandardScaler
        >>> from ismlit import SupervisedIKDR
        >>> X, y = load_wine(return_X_y=True, as_frame=True)
        >>> X = StandardScaler().set_output(transform="pandas").fit_transform(X)
        >>> report = SupervisedIKDR(1, init="taylor").report(X, y, n_resamples=5)
        >>> print(report)  # doctest: +ELLIPSIS
        accuracy on 5 folds: mean, standard deviation
        ...
        dependence beyond chance: yes, p = 0.005 (199 permutations, 178 rows)
        local maximum: yes
        ...
        """
        from ismlit.estimators.report import report

        return report(self, X, y, n_resamples, random_state)

    _target_options: ClassVar[dict[str, bool]] = {}

    def _against_chance(self):
        """The p-value of J against refits with the rows of y permuted, on a sample of rows.

        Weights that were given stay where they are, and in a second series go with y: the larger
        p-value holds whether they depend on X or on y. Weights of classes are those of the
        permuted labels.
        """
        problem, result = self.solved()
        (y, weight), twin, rng = self._target, copy.copy(self), np.random.RandomState(0)
        order = rng.permutation(len(y))
        _, first = np.unique(y[order], axis=0, return_index=True)  # a rare class is not left out
        places = np.union1d(np.sort(first)[: CHANCE_ROWS // 2], np.arange(min(CHANCE_ROWS, len(y))))
        rows = np.sort(order[places])
        X, y, kernel = problem.X[rows], y[rows], problem.kernel.on(rows)
        X = X - X.mean(axis=0)
        weight, same = None if weight is None else weight[rows], np.arange(len(rows))

        def highest(order, weight_order):
            permuted_weight = None if weight is None else weight[weight_order]
            permuted_weight = self._row_weights(permuted_weight, X, y[order])
            if self.ridge_ == np.inf:
                parts = X, twin._gamma(y[order], permuted_weight), kernel, self.n_jobs
                return highest_dependence(Problem(*parts), result.W.shape[1])
            gamma = twin._regression_gamma(y[order], permuted_weight)
            parts = X, gamma, kernel, self.ridge_, permuted_weight
            return highest_dependence(conditional_problem(*parts), result.W.shape[1])

        orders = [rng.permutation(len(X)) for _ in range(N_PERMUTATIONS)]
        series = [[highest(same, same), *(highest(order, same) for order in orders)]]
        if weight is not None:
            series.append([series[0][0], *(highest(order, order) for order in orders)])
        p_value, gain = max(map(permutation_p_value, series)), None
        if self.ridge_scores_ is not None:
            gains = np.subtract(*self.ridge_scores_[::-1])
            gain = float(gains.mean()), float(standard_error(gains))
        chance = dict(p_value=p_value, n_permutations=N_PERMUTATIONS)
        return chance | dict(ridge=self.ridge_, ridge_gain=gain)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
