"""Dimension reduction for class labels."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from ismlit.bandwidth import as_kernel
from ismlit.dependence import normalized_hsic
from ismlit.estimators.base import FLOATS, Projection, all_or_nothing
from ismlit.estimators.collections import fit_collections, is_collection, score_collections
from ismlit.estimators.parameters import check_parameters
from ismlit.estimators.validation import check_labels
from ismlit.gamma import label_gamma
from ismlit.grams import ConstantKernelError, gram
from ismlit.kernels import Kernel
from ismlit.objectives.blocks import class_gamma
from ismlit.objectives.parts import as_problem
from ismlit.objectives.plain import Problem
from ismlit.solvers.ism import ism, warn_unless_converged


@dataclass(eq=False, repr=False)
class SupervisedIKDR(Projection):
    """Find the linear subspace of X on which the labels depend most, as HSIC measures it.

    Maximises Tr(HYY'H K_XW) over orthonormal W. The new features are linear in the old
    ones, so ``W_`` can be read: entry (i, j) is the weight of feature i in component j.

    Parameters
    ----------
    n_components : int, default=2
        Dimension q of the subspace, at most the number of features.
    kernel : str or Kernel, default="gaussian"
        A kernel of the ISM family, or one of "linear", "squared", "polynomial", "gaussian",
        "multiquadratic".
    bandwidth : float, str or function, default="projected"
        Of the Gaussian: a number in the units of X, or a rule of `ismlit.bandwidth`:
        "projected" knows that n_components of n_features are seen; "median" is the thesis's.
    init : {"taylor", "pca", "random", "several"} or array, default="several"
        Where W starts, see `ismlit.ism`: "several" looks around, "taylor" is the thesis's.
    balanced : bool, default=False
        Give every class the same weight, whatever its size. Of two classes it changes nothing:
        J is then, up to a factor, the squared distance of the two class means in feature space,
        in which either counts as one whatever its size (claim new-two-classes).
    random_features : int, optional
        Replace the Gaussian kernel by so many random features: time linear in the samples. X may
        then be a numpy.memmap of more rows than memory holds, or X and y Dask collections, whose
        blocks are added up where they are; see the notes.
    tol : float, default=1e-6
    max_iter : int, default=2000
        Most steps of the solver.
    n_jobs : int, optional
    callback : callable, optional
        Called after every step with an object that has W and J.
    verbose : bool, default=False
        Print J after every step.
    random_state : int, RandomState, optional
        For random starts and features.

    Attributes
    ----------
    W_ : array of shape (n_features, n_components)
        Orthonormal columns; the largest entry of each is positive. ``components_`` is W'.
    mean_ : array of shape (n_features,)
        Subtracted from X before projecting.
    kernel_ : Kernel
    converged_ : bool
    n_iter_ : int
    history_ : dict of equal-length arrays
        Per accepted point, see `ismlit.ISMResult`.
    result_ : ISMResult
    classes_ : array

    Notes
    -----
    Claims: eq-5.1, alg-4. Scale the features first, as for any method that uses distances.

    X and y may be Dask arrays with known chunks of rows, or a Dask dataframe and series. Every
    step is then one graph, whose sums by class are added on the workers; bandwidth and starts come
    from 5000 rows, drawn by their numbers. Persist X and y first if the workers can hold them:
    blocks that are not persisted are read again in every step. `transform` and `score` take Dask
    collections, too; `transform` is lazy, with the same chunks of rows. To be able to go on after
    the client is lost, let `callback` save W, and pass it as `init`.

    See Also
    --------
    ResponseIKDR : for a response that is a number.
    KernelDependenceNetwork : a classifier of several such layers.
    sklearn.neighbors.NeighborhoodComponentsAnalysis : for nearest neighbours.

    References
    ----------
    Wu, Miller, Chang, Sznaier and Dy 2019, Solving interpretable kernel dimensionality reduction.
    Gretton, Bousquet, Smola and Schoelkopf 2005, Measuring statistical dependence with
    Hilbert-Schmidt norms.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ismlit import SupervisedIKDR
    >>> X, y = load_wine(return_X_y=True)
    >>> make_pipeline(StandardScaler(), SupervisedIKDR(2)).fit_transform(X, y).shape
    (178, 2)
    """

    n_components: int | None = 2
    kernel: str | Kernel = "gaussian"
    _: KW_ONLY
    bandwidth: float | str = "projected"
    init: object = "several"
    balanced: bool = False
    random_features: int | None = None
    tol: float = 1e-6
    max_iter: int = 2000
    n_jobs: int | None = None
    callback: object = None
    verbose: bool = False
    random_state: object = None
    takes_collections = True

    @all_or_nothing
    def fit(self, X, y) -> Self:
        """Learn ``W_`` from X (n_samples, n_features) and class labels y (n_samples,)."""
        check_parameters(self)
        if is_collection(X):
            return fit_collections(self, X, y)
        X, y = validate_data(self, X, y, dtype=FLOATS, ensure_min_samples=2)
        self.classes_ = check_labels(y)
        return self._fit(X, y)

    def _fit(self, X, y):
        gamma = (class_gamma if self.random_features else label_gamma)(y, self.balanced)
        centred, q = self._centred(X)
        X_centred = X if self.random_features else X - self.mean_  # to read, not to copy
        self.kernel_ = as_kernel(self.kernel, X_centred, self.bandwidth, q, self._rank)
        how = self.n_jobs, self.random_features, self.random_state
        return self._solve(as_problem(centred, gamma, self.kernel_, *how), q)

    def _solve(self, problem, q):
        with warnings.catch_warnings():  # said below, in the name of the estimator
            warnings.simplefilter("ignore", ConvergenceWarning)
            result = ism(
                problem,
                q=q,
                init=self._start(),
                tol=self.tol,
                max_iter=self.max_iter,
                random_state=self.random_state,
                callback=self._watched(),
            )
        warn_unless_converged(type(self).__name__, result)
        self.result_ = self._keep(result)
        self.converged_, self.history_ = result.converged, result.history
        self.n_iter_ = max(result.n_iter, 1)  # the start counts as one
        return self

    def score(self, X, y) -> float:
        """How strongly y depends on the projected X: normalised HSIC, from 0 to 1.

        On rows that were not fitted it is a criterion for a search over the parameters.
        """
        check_is_fitted(self)
        if is_collection(X):
            return score_collections(self, X, y)
        X, y = validate_data(self, X, y, dtype=FLOATS, reset=False, ensure_min_samples=2)
        X, kernel = X - self.mean_, self.kernel_
        if kernel.is_relative:  # bandwidths of the new rows, by the same rule
            if isinstance(self.kernel, Kernel):
                raise ValueError(f"{kernel!r} has bandwidths for the training rows alone")
            kernel = as_kernel(self.kernel, X, self.bandwidth)
        K = gram(kernel, X, self.W_)
        try:
            return normalized_hsic(K, self._target(y))
        except ConstantKernelError:  # a kernel that tells no rows apart says nothing of y
            return 0.0

    def _target(self, y):
        return y

    def _chance(self):
        """J of a maximum for the training rows with their labels shuffled."""
        problem, result = self.solved()
        rows = np.random.default_rng(0).permutation(problem.n)
        shuffled = Problem(problem.X, problem.gamma.sample(rows), problem.kernel, self.n_jobs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # near the maximum is near enough
            return ism(
                shuffled, q=result.W.shape[1], tol=1e-3, max_iter=100, escape=False
            ).objective

    def solved(self):
        """What was solved, and the result; the exact problem where features stood for it."""
        problem, result = super().solved()
        return (problem if self.random_features is None else problem.exact), result

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
