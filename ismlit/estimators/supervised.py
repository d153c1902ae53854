"""Dimension reduction for class labels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from ismlit.dependence import gram_of_labels
from ismlit.estimators.base import all_or_nothing
from ismlit.estimators.collections import fit_collections, is_collection
from ismlit.estimators.dependent import COMPONENTS, DependentIKDR
from ismlit.estimators.linear import FLOATS
from ismlit.estimators.parameters import DICT, NONE, check_parameters, one_of, rule
from ismlit.estimators.weights import row_weights
from ismlit.gamma import label_gamma
from ismlit.messages import warn
from ismlit.objectives.class_sums import class_gamma
from ismlit.targets import class_labels

CLASS_WEIGHT = rule(DICT, one_of("size", "balanced"), NONE)


@dataclass(eq=False, repr=False)
class SupervisedIKDR(DependentIKDR):
    """Find the linear subspace of X on which the labels depend most, as HSIC measures it.

    Maximises Tr(HYY'H K_XW) over orthonormal W. The new features are linear in the old
    ones, so ``W_`` can be read: entry (i, j) is the weight of feature i in component j.

    Parameters
    ----------
    n_components : int, "auto" or None, default=2
        Dimension q of the subspace, at most the number of directions in which X varies, which it
        is when None. "auto": the fewest components whose score on five folds held out is within
        one standard error of the best; 1, 2, ... are tried, at most 10.
    kernel : str, Kernel or function, default="gaussian"
        A kernel of the ISM family; one of "linear", "squared", "polynomial", "gaussian",
        "multiquadratic"; or a function of the bandwidth that gives a kernel, as
        ``own.with_bandwidth`` of a kernel of your own does.
    bandwidth : float, str or function, default="projected"
        Of the Gaussian, or of that function: a number in the units of X, a function of X that
        gives one, or a rule: "median" is the median distance of two rows, as in the thesis;
        "projected" half of it, times sqrt(n_components / rank) where X varies in `rank`
        directions, since W sees about so much of a distance; "self_tuning", for the Gaussian
        alone, differs from row to row.
    bandwidth_scale : float, default=1.0
        The bandwidth is multiplied by it: ``bandwidth="median", bandwidth_scale=0.25`` is a
        quarter of the median distance. A search can draw it, as from `scipy.stats.loguniform`.
    init : {"taylor", "gradient", "pca", "random", "several"} or array, default="several"
        Where W starts, see `ismlit.ism`: "several" looks around, "taylor" is the thesis's,
        "gradient" also notices interactions of columns, whose class means coincide. A finite ridge
        starts at the better of `GradientKDR` in its own metric and `SAVE`, unless it is an array.
    class_weight : dict, "size", "balanced" or None, default=None
        How much a class counts in J. None: by the square of its size, as in the thesis; "size": by
        its size, with H Y (Y'Y)^-1 Y' H in place of HYY'H; "balanced": as much as any other, by
        weights of its rows; a dict: those weights, by class. With two classes J is, up to a factor,
        the squared distance of their means in feature space: None and "size" are then the same,
        and the weights change the bandwidth and the mean only. A classifier of the projection
        needs class weights of its own.
    ridge : float or "auto", default="auto"
        ``numpy.inf``: HSIC, as in the thesis. With a number the conditional covariance is minimised
        in its place: what is left of y in a kernel ridge regression on XW, whose regularisation is
        `ridge` times the number of rows; 0.01 is usual, and its limit for infinity is HSIC. It
        finds more where columns interact, and over-fits where rows are few. "auto": 0.01 if five
        nearest neighbours in the projection of held-out rows prefer it by a standard error over
        three thirds; else, with fewer than 60 rows, and with random features, infinity. It takes
        about twice the time of infinity.
    random_features : int, optional
        Replace the Gaussian kernel by so many random features: time linear in the samples. X may
        then be a numpy.memmap of more rows than memory holds, or X and y Dask collections, whose
        blocks are added up where they are; see the notes. Such an X is not copied: `certificate`
        reads it again, so leave it as it is. With a `ridge` that is a number landmarks take the
        place of the features.
    tol : float, default=1e-6
        Largest first-order residual, relative to the gradient's matrix Phi, at which the solver
        stops; see `ismlit.ism`.
    max_iter : int, default=2000
        Most steps of the solver.
    n_jobs : int, optional
        Workers of joblib; when None, as many threads as BLAS would use.
    callback : callable, optional
        Called after every step, every start that is tried and every fit that n_components="auto"
        scores, with an object that has W, J (of a start on the rows on which starts are tried, of
        "auto" the score) and ``stage``: "step", "start 2 (gradient)" or "n_components = 1, fold 3
        of 5". If it returns True, the search ends, without a warning, with the best W so far.
    verbose : bool, default=False
        Print a line with J wherever `callback` is called.
    random_state : int, RandomState, optional
        For random starts and features.

    Attributes
    ----------
    W_ : array of shape (n_features, n_components)
        Orthonormal columns, in such an order that the first k carry the most dependence; the
        largest entry of each is positive. ``components_`` is W'. The share that every column of X
        has in it, by what the components carry, is ``feature_importances_``.
    dependence_ratio_ : array of shape (n_components,)
        The share of the normalised HSIC on the training rows that each column adds to those before
        it. They sum to 1; a negative one blurs what those before it show.
    component_gains_ : array of shape (n_components,)
        How much the leave-one-out error of a kernel ridge regression of y on the projection grows
        without the component, as shares of the sum: what ``feature_importances_`` weighs by.
    n_components_ : int
        The q that was used.
    component_scores_ : array of shape (n_tried, n_folds)
        With n_components="auto": the score of 1, 2, ... components on every fold.
    ridge_ : float
        The ridge that was used.
    ridge_scores_ : array of shape (2, 3) or None
        With ridge="auto": the score of infinity and of 0.01 on every third; None where there are
        too few rows to decide.
    mean_ : array of shape (n_features,)
        Subtracted from X before projecting; weighted where rows are.
    kernel_ : Kernel
        With the bandwidth that was used.
    converged_ : bool
        Whether the solver arrived in `max_iter` steps.
    n_iter_ : int
        Steps of the solver.
    history_ : dict of equal-length arrays
        Per accepted point, see `ismlit.ISMResult`.
    result_ : ISMResult
        Of the solver, with the columns of its W in the order of ``W_``.
    classes_ : array of shape (n_classes,)
        The class labels, sorted.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    ResponseIKDR : for a response that is a number.
    KernelDependenceNetwork : a classifier of several such layers.
    sklearn.neighbors.NeighborhoodComponentsAnalysis : for nearest neighbours.

    Notes
    -----
    Scale the features first, as for any method that uses distances. In a search pass
    ``cv=StratifiedKFold(5, shuffle=True)``: scikit-learn cuts folds by class for classifiers alone.

    X and y may be Dask arrays with known chunks of rows, or a Dask dataframe and series. Every
    step is then one graph, whose sums by class are added on the workers; bandwidth and starts come
    from 5000 rows, drawn by their numbers. Persist X and y first if the workers can hold them:
    blocks that are not persisted are read again in every step. `transform` and `score` take Dask
    collections, too; `transform` is lazy, with the same chunks of rows. To be able to go on after
    the client is lost, let `callback` save W, and pass it as `init`.
    Rows that another library holds (batches of Ray, partitions of Spark) become a Dask array by
    ``dask.array.from_delayed``.

    References
    ----------
    Wu, Miller, Chang, Sznaier and Dy 2019, Solving interpretable kernel dimensionality reduction.
    Gretton, Bousquet, Smola and Schoelkopf 2005, Measuring statistical dependence with
    Hilbert-Schmidt norms.
    Fukumizu, Bach and Jordan 2009, Kernel dimension reduction in regression.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ismlit import SupervisedIKDR
    >>> X, y = load_wine(return_X_y=True)
    >>> make_pipeline(StandardScaler(), SupervisedIKDR(2)).fit_transform(X, y).shape
    (178, 2)

    The share of the dependence along each axis, and the two columns that count most:

    >>> model = SupervisedIKDR(2).fit(StandardScaler().fit_transform(X), y)
    >>> model.dependence_ratio_.round(1)
    array([0.9, 0.1])
    >>> names = load_wine().feature_names
    >>> [names[j] for j in model.feature_importances_.argsort()[:-3:-1]]
    ['flavanoids', 'proline']
    """

    _: KW_ONLY
    class_weight: dict | str | None = None

    @all_or_nothing
    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn ``W_`` from rows and their classes.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples in rows; with random features a Dask collection, too.
        y : array of shape (n_samples,)
            Class labels, numbers or words.
        sample_weight : array of shape (n_samples,), optional
            At least 0. A row of weight 2 counts as two rows that coincide.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter breaks its rule, y holds one class or a response, or a weight is below 0.

        Warns
        -----
        ConvergenceWarning
            If the solver did not arrive in `max_iter` steps.
        UserWarning
            If one column makes nearly all of the variance, or a component hardly varies.
        """
        check_parameters(self, n_components=COMPONENTS, class_weight=CLASS_WEIGHT)
        self._weighted = sample_weight is not None
        if is_collection(X):
            return fit_collections(self, X, y, sample_weight)
        y = None if y is None else class_labels(y)
        rows, labels = validate_data(self, X, y, dtype=FLOATS, ensure_min_samples=2)
        self.classes_ = np.unique(labels)
        return self._fit(rows, labels, sample_weight)

    def _gamma(self, y, sample_weight):
        by_size = self.class_weight == "size"
        if self.random_features is not None and sample_weight is None:
            return class_gamma(y, by_size)
        return label_gamma(y, by_size, sample_weight)

    def _row_weights(self, sample_weight, X, y):
        factors = None if self.class_weight == "size" else self.class_weight
        return row_weights(sample_weight, factors, X, y)

    def _target_gram(self, y):
        classes = np.unique(y)
        unknown = [str(name) for name in classes if name not in set(self.classes_)]
        if unknown or len(classes) == 1:
            held = (
                f"class {unknown[0]}, which was not fitted" if unknown else f"only {classes[0]!s}"
            )
            warn(
                f"the rows to be scored hold {held}: a search cuts the folds of "
                f"{type(self).__name__} in the order of the rows; pass "
                "cv=StratifiedKFold(5, shuffle=True)"
            )
        return gram_of_labels(y)
