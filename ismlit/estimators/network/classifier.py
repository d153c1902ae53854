"""Kernel dependence networks: classifiers whose layers are solved one by one, without gradients.

Each layer is a projection and a Gaussian feature map. It is solved for the dependence (HSIC) of
its output on the labels: `layers` solves one, and `growth` decides by rows held out how far to
grow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted, validate_data

from ismlit.estimators.base import all_or_nothing, check_components, make_callback
from ismlit.estimators.linear import FLOATS, KeepsPrecision, Refused
from ismlit.estimators.network.growth import COSINE_SCALE, grow
from ismlit.estimators.network.layers import (
    LEAST_GAIN,
    Centred,
    Layer,
    LayerSolver,
    Recipe,
    check_bandwidth,
    class_sizes,
    first_alike,
    log_cosines,
)
from ismlit.estimators.parameters import (
    ARRAY,
    BOOL,
    DICT,
    NONE,
    PART,
    POSITIVE,
    SHARE,
    WHOLE,
    check_parameters,
    one_of,
    rule,
)
from ismlit.estimators.scikit import BaseEstimator, ClassifierMixin
from ismlit.estimators.validation import check_units
from ismlit.geometry.span import turned_to_columns, varying_directions
from ismlit.grams import gram
from ismlit.memory import batches, require_memory
from ismlit.messages import warn
from ismlit.targets import class_labels

RIDGES = (np.inf, *(10.0**-k for k in range(1, 11)))
BANDWIDTHS = ("normalized_hsic", "hsic")
COPIES = {(True, False): 1, (True, True): 4, (False, False): 4, (False, True): 9}
"""Arrays of n x n numbers at one time, by whether growth stops early and goes beyond a layer."""


@dataclass(eq=False, repr=False)
class KernelDependenceNetwork(KeepsPrecision, ClassifierMixin, BaseEstimator):
    """Classify by a network of Gaussian layers, each solved for dependence on the labels.

    A sample gets the class whose mean output is at the smallest angle. There are two ways to grow.

    With early stopping rows held out decide. The first layer keeps all columns of X, or as many as
    there are classes, found by ISM. Further layers are ridge discriminant directions in closed
    form. They are tried from the smoothest ridge on, until a sharper one no longer helps. The
    network that served the rows held out best is then grown on all rows.

    Without it, as in the thesis, the training rows decide. A layer is kept only if it raises the
    normalised HSIC between output and labels by 0.001 or past `threshold`, where the network ends.
    So the sequence of HSIC values rises. A high HSIC on the training rows is no promise for new
    ones: random labels are fitted as well.

    Parameters
    ----------
    early_stopping : bool, default=True
        Which of the two ways; the other parameters say where they differ.
    validation_fraction : float, default=0.2
        The share of each class to hold out.
    class_weight : "balanced", None or dict, default="balanced"
        Weights used when the rows held out are scored. "balanced": every class has the same total
        weight, so that a rare one is not given up. None: every row has weight 1. A dict gives a
        weight above 0 to each class (1 where it gives none); predictions then multiply the cosine
        with the mean of a class by the fifth root of its weight (see Notes for the 5).
    max_layers : int, default=12
        The most layers.
    threshold : float, default=0.99
        Normalised HSIC at which to stop, without early stopping.
    n_components : int, optional
        Columns of every W, if its input has so many; with early stopping of the first W. When
        None, spectra decide: the first layer keeps 90 % of the sum of X's singular values (at
        least two columns a class), later ones the rank of Theorem 6.1's construction, one less
        than the classes.
    bandwidth : {"normalized_hsic", "hsic"} or float, optional
        What each sigma maximises: normalised HSIC or Tr(Gamma K). A number is the sigma of every
        layer. By default normalised HSIC, and without early stopping Tr(Gamma K): that is what W
        maximises, and by normalised HSIC it falls from layer to layer where kernels widen.
    ridges : sequence of float, default=(inf, 0.1, 0.01, ..., 1e-10)
        Above 0. W of a later layer starts at ridge discriminant directions of its input: infinity
        gives those of Theorem 6.1, and towards 0 they interpolate. One network is grown for each
        ridge in turn; the first that passes `threshold` is kept, else the one with the highest
        HSIC. So sharper directions are used only where smoother ones do not separate the classes.
        With early stopping W ends where it starts, and two ridges that do not help end the search
        once one has helped.
    random_features : int, optional
        Pass so many random Fourier frequencies to the next layer (twice as many columns), in time
        linear in the samples. The exact feature space takes quadratic memory and cubic time: see
        Notes for where it ends.
    tol : float, default=1e-3
        Of ISM, in each layer.
    max_iter : int, default=20
        Most steps of ISM for one W.
    n_jobs : int, optional
        Workers of joblib. None takes as many threads as BLAS would.
    callback : callable, optional
        Called with every `Layer` that is tried.
    verbose : bool, default=False
        Print a line for every layer tried.
    random_state : int, RandomState, optional
        Seed of the random features.

    Attributes
    ----------
    layers_ : list of Layer
        Callables: the composition of the first l gives the images of layer l.
    history_ : dict of equal-length arrays
        After each layer: ``agreement``, normalised HSIC on the training data; ``share``,
        Tr(Gamma K) over its value at the kernel that is 1 within classes and else 0; ``sigma``;
        ``width``.
    converged_ : bool
        Whether the last ``agreement`` passes `threshold`; with early stopping, whether `max_layers`
        left room for a layer that did not help.
    ridge_ : float or None
        The entry of `ridges` that was kept; None for a single layer grown by early stopping.
    validation_score_, baseline_score_ : float or None
        With early stopping: accuracy on the rows held out, weighted by `class_weight`, before the
        network was grown on all rows, and that of one class for all of them. None where every
        class has one row, so that nothing can be held out.
    classes_ : array of shape (n_classes,)
        The class labels, sorted.
    n_iter_ : int
        Steps of ISM, over all layers tried.

    Raises
    ------
    ValueError
        For a parameter that breaks its rule, X that is not finite, or y that is a response.
    MemoryError
        If the exact feature space of so many rows is larger than the memory of this machine.

    Warns
    -----
    ConvergenceWarning
        When no network passes the threshold; rows that coincide and differ in class are named.
        With early stopping, when the last of `max_layers` still helped.
    UserWarning
        When rows held out are classified no better than by one class for all of them.

    See Also
    --------
    SupervisedIKDR : One linear layer, to look at.
    sklearn.svm.SVC : Often as accurate, and quicker to fit.

    Notes
    -----
    Scale the features first. The score of rows held out takes probabilities by a softmax of five
    times the cosines. Without random features 1000 rows of ten columns took half a second of one
    core, 4000 took 9; memory holds 4 arrays of n x n numbers at one time (9 without early
    stopping), so 10,000 rows take 3 GiB and 50,000 take 75. What does not fit is refused: give
    `random_features`, such as 256, or fit a sample of the rows. With early stopping a bandwidth is
    searched on 150 rows, and ISM is run on at most 2000. Without it, with random features and more
    than 2000 samples, HSIC is measured on 1000.

    References
    ----------
    Wu, Masoomi, Gretton and Dy 2022, Deep layer-wise networks have closed-form weights. Gretton,
    Bousquet, Smola and Schoelkopf 2005, Measuring statistical dependence with Hilbert-Schmidt
    norms.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import KernelDependenceNetwork
    >>> X, y = load_wine(return_X_y=True)
    >>> network = KernelDependenceNetwork().fit(scale(X[::2]), y[::2])
    >>> [layer.W.shape[1] for layer in network.layers_]  # columns of W
    [3, 2]
    >>> bool(network.score(scale(X[1::2]), y[1::2]) > 0.95)
    True
    """

    _: KW_ONLY
    early_stopping: bool = True
    validation_fraction: float = 0.2
    class_weight: str | dict[Any, float] | None = "balanced"
    max_layers: int = 12
    threshold: float = 0.99
    n_components: int | None = None
    bandwidth: float | str | None = None
    ridges: Sequence[float] = RIDGES
    random_features: int | None = None
    tol: float = 1e-3
    max_iter: int = 20
    n_jobs: int | None = None
    callback: Callable[[Layer], object] | None = None
    verbose: bool = False
    random_state: int | np.random.RandomState | None = None
    layers_: list[Layer] = field(init=False)
    history_: dict[str, np.ndarray] = field(init=False)
    converged_: bool = field(init=False)
    classes_: np.ndarray = field(init=False)
    n_iter_: int = field(init=False)

    feature_importances_ = Refused(
        "its layers are not linear in X. sklearn.inspection.permutation_importance ranks the "
        "columns of any classifier, on held-out rows"
    )
    inverse_transform = Refused("many rows of X have one image, and no subspace holds them")
    certificate = Refused(
        "every layer has a problem of its own. certify(Problem(A, label_gamma(y), kernel), W) "
        "looks at a layer's W on the layer's input A = images(X, layer - 1)"
    )

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Grow the network on rows and their classes.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples in rows.
        y : array of shape (n_samples,)
            Class labels, numbers or words.

        Returns
        -------
        KernelDependenceNetwork
            The estimator itself, fitted.

        Raises
        ------
        ValueError
            For a parameter that breaks its rule, X that is not finite, or y that is a response.
        MemoryError
            If the exact feature space of so many rows is larger than the memory of this machine.
        """
        check_parameters(
            self,
            early_stopping=BOOL,
            validation_fraction=PART,
            class_weight=rule(NONE, one_of("balanced"), DICT),
            max_layers=WHOLE,
            threshold=SHARE,
            ridges=ARRAY,
            bandwidth=rule(NONE, POSITIVE, one_of(*BANDWIDTHS)),
        )
        y = None if y is None else class_labels(y)
        X, y = validate_data(self, X, y, dtype=FLOATS, ensure_min_samples=2)
        X = X.astype(float, copy=False)
        self._prior = self._weights_of(np.unique(y))
        ridges = np.asarray(self.ridges, dtype=float).ravel()
        if not (ridges.size and (ridges > 0).all()):
            raise ValueError(f"ridges must be numbers above 0, got {self.ridges!r}")
        width = self.n_components
        if self.random_features is None:
            advice = "give random_features=256, or fit a sample of the rows"
            copies = COPIES[self.early_stopping, self.max_layers > 1]
            require_memory(f"an exact {type(self).__name__}", advice, len(X), copies)
        check_units(X)
        mean = X.mean(axis=0)
        R = X - mean
        basis = varying_directions(X, mean)
        features = Centred(mean, None if basis is None else turned_to_columns(basis))
        check_components(width or 1, features.varying(R).shape[1], X)
        if isinstance(self.bandwidth, Real):
            check_bandwidth(R, self.bandwidth)
        sigma = self.bandwidth or ("normalized_hsic" if self.early_stopping else "hsic")
        recipe = Recipe(sigma, width, self.random_features, self.tol, self.max_iter, self.n_jobs)
        rng = check_random_state(self.random_state)
        if self.early_stopping:
            layers, Z, solver, settled = self._by_held_out(X, y, R, features, recipe, ridges, rng)
            known = solver.known
        else:
            solver = LayerSolver(y, recipe, rng)
            layers, Z = self._network(solver, features.varying(R), features, ridges)
            settled, known = layers[-1].agreement > self.threshold, solver.sample
        self.layers_, self.classes_, self.n_iter_ = layers, solver.classes, max(solver.n_iter, 1)
        self.converged_ = bool(settled)
        self.history_ = {
            "agreement": np.array([layer.agreement for layer in layers]),
            "share": np.array([layer.share for layer in layers]),
            "sigma": np.array([layer.kernel.sigma for layer in layers]),
            "width": np.array([layer.W.shape[1] for layer in layers]),
        }
        self._points, self._index = Z[known], solver.index[known]
        self._sizes = class_sizes(self._points, self._index, layers[-1].kernel)
        if not self.converged_:
            self._warn(X, y)
        return self

    def _weights_of(self, classes):
        """What a dict of weights adds to the logarithms of the cosines (k,), or 0."""
        if not isinstance(self.class_weight, dict):
            return 0.0
        weights = compute_class_weight(self.class_weight, classes=classes, y=classes)
        if not ((weights > 0).all() and np.isfinite(weights).all()):
            raise ValueError(f"weights of classes must be above 0, got {self.class_weight!r}")
        return np.log(weights / weights.max()) / COSINE_SCALE

    # ------------------------------------------------------------ growing

    def _by_held_out(self, X, y, R, features, recipe, ridges, rng):
        """The layers, the images of the last, what solved them, and whether growth had ended."""
        weights = self.class_weight, self._prior
        options = self.max_layers, self.validation_fraction, rng, weights, make_callback(self, repr)
        layers, Z, solver, plan, scores, settled = grow(R, y, features, recipe, ridges, *options)
        self.ridge_ = plan.ridge
        self.validation_score_, self.baseline_score_ = scores
        if scores[0] is not None and scores[0] <= scores[1] + 1e-9:  # sums that round apart
            warn(
                f"the rows held out are classified no better ({scores[0]:.3f}) than by one class "
                f"for all of them ({scores[1]:.3f}): nothing was found in X that tells the "
                "classes apart",
            )
        return layers, Z, solver, settled

    def _network(self, solver, R, features, ridges):
        """The layers, and the images of the last; sets ``ridge_``."""
        first = solver.first(R, features)
        second = solver.lift(first[1], first[0].kernel) if self._goes_on([first[0]]) else None
        grown = (self._grown(solver, first, second, ridge) for ridge in ridges)
        layers, Z, self.ridge_ = self._smoothest(grown)
        return layers, Z

    def _goes_on(self, layers):
        return layers[-1].agreement <= self.threshold and len(layers) < self.max_layers

    def _gains(self, agreement, before):
        """Whether a layer is worth keeping: it passes the threshold, or gains enough."""
        return agreement > before and agreement >= min(before + LEAST_GAIN, self.threshold)

    def _grown(self, solver, first, lifted, ridge):
        """Layers on top of the first, the images of the last, and `ridge`.

        `lifted` is the input of the second layer, the same for every ridge.
        """
        watch = make_callback(self, repr)
        (layer, Z), layers = first, [first[0]]
        while self._goes_on(layers):
            features, R, back = lifted or solver.lift(Z, layer.kernel)
            lifted = None
            enough = partial(self._gains, before=layers[-1].agreement)
            layer, images = solver.further(features, R, back, ridge, enough)
            watch(layer)
            if not enough(layer.agreement):
                break
            layers, Z = [*layers, layer], images
        return layers, Z, ridge

    def _smoothest(self, grown):
        """The first network that passes the threshold, else the one with the highest HSIC."""
        best = None
        for network in grown:
            if best is None or network[0][-1].agreement > best[0][-1].agreement:
                best = network
            if best[0][-1].agreement > self.threshold:
                break
        return best

    def _warn(self, X, y):
        if self.early_stopping:
            warn(
                f"all max_layers = {self.max_layers} layers helped the rows held out: raise it",
                ConvergenceWarning,
            )
            return
        why = "smaller ridges, more layers, or a lower threshold may help"
        twin = first_alike(X)
        clash = np.flatnonzero(y != y[twin])
        if clash.size:
            i, j = twin[clash[0]], clash[0]
            why = f"rows {i} and {j} of X coincide but differ in class: no network tells them apart"
        warn(
            f"normalised HSIC ends at {self.layers_[-1].agreement:.4f} after {len(self.layers_)} "
            f"layers, below threshold = {self.threshold}; {why}",
            ConvergenceWarning,
        )

    # ------------------------------------------------------------ what it can tell

    def transform(self, X: Any) -> np.ndarray:
        """Return the images of rows at the last layer.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples in rows, with the columns of the fit.

        Returns
        -------
        array of shape (n_samples, width)
            Their images.
        """
        return self.images(X)

    def images(self, X: Any, layer: int | None = None) -> np.ndarray:
        """Return the images of rows at any layer, as an array.

        Other than `transform` it gives an array also where `set_output` asks for frames.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples in rows, with the columns of the fit.
        layer : int, optional
            Counts from 1; None is the last.

        Returns
        -------
        array of shape (n_samples, width)
            Their images.

        Raises
        ------
        ValueError
            If there is no such layer.
        """
        Z, dtype = self._images(X, layer)
        return Z.astype(dtype, copy=False)

    def _images(self, X, layer=None):
        """Images in double precision, and the precision of X."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        Z = X.astype(float, copy=False)
        for each in self.layers_[: self._number(layer)]:
            Z = each(Z)
        return Z, X.dtype

    def gram(self, X: Any, X2: Any = None, layer: int | None = None) -> np.ndarray:
        """Return the Gram matrix after a layer: cosines in its feature space.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples in rows, with the columns of the fit.
        X2 : array of shape (m, n_features), optional
            What they are compared with; X itself when None.
        layer : int, optional
            Counts from 1; None is the last.

        Returns
        -------
        array of shape (n_samples, m)
            The kernel of all pairs of images.
        """
        Z, dtype = self._images(X, layer)
        Z2 = None if X2 is None else self._images(X2, layer)[0]
        K = gram(self.layers_[self._number(layer) - 1].kernel, Z, X2=Z2)
        return K.astype(dtype, copy=False)

    def _number(self, layer):
        last = len(self.layers_)
        if layer is None:
            return last
        if not (isinstance(layer, Integral) and 1 <= layer <= last):
            raise ValueError(f"layer must be a whole number from 1 to {last}, got {layer!r}")
        return layer

    def _scores(self, X):
        """Log cosines with the class means (n, k), and what `class_weight` adds to them."""
        Z, kernel = self._images(X)[0], self.layers_[-1].kernel
        known = self._points, self._index, kernel, self._sizes
        cosines = [log_cosines(Z[rows], *known) for rows in batches(len(Z), len(self._points))]
        return np.vstack(cosines) + self._prior

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log cosines with the class means.

        `predict` gives the class with the largest, or of two classes the second where it is above
        0.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples in rows, with the columns of the fit.

        Returns
        -------
        array of shape (n_samples, n_classes), or (n_samples,)
            The logarithms; of two classes their difference.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return cosines with the class means, scaled to sum to 1; they are not calibrated.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples in rows, with the columns of the fit.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The probabilities, in the order of ``classes_``.
        """
        return np.maximum(softmax(self._scores(X), axis=1), np.finfo(float).tiny)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of `predict_proba`.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples in rows, with the columns of the fit.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The logarithms.
        """
        return np.maximum(log_softmax(self._scores(X), axis=1), np.log(np.finfo(float).tiny))

    def predict(self, X: Any) -> np.ndarray:
        """Return the class at the smallest angle in feature space, for each row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples in rows, with the columns of the fit.

        Returns
        -------
        array of shape (n_samples,)
            The classes.
        """
        index = self._scores(X).argmax(axis=1)
        return self.classes_[index]

    @property
    def _n_features_out(self):
        return self.layers_[-1].W.shape[1]
