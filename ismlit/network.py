"""Kernel dependence networks: a projection and a Gaussian feature map a layer, without gradients.

Layers are solved one after the other for the dependence (HSIC) of their output on the labels;
`ismlit.layers` solves one.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from ismlit.base import ARRAY, POSITIVE, SHARE, WHOLE, check_labels, check_parameters, one_of, rule
from ismlit.layers import LEAST_GAIN, Centred, LayerSolver, Recipe, class_sizes, log_cosines
from ismlit.pairs import gram

RIDGES = (np.inf, *(10.0**-k for k in range(1, 11)))
BANDWIDTHS = ("normalized_hsic", "hsic", "separation")


@dataclass(eq=False, repr=False)
class KernelDependenceNetwork(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator
):
    """Classify by a network of Gaussian layers, each solved for dependence on the labels.

    A layer is kept only if it raises the normalised HSIC between output and labels, by 0.001 or
    past `threshold`, where the network ends; so the sequence of HSIC values rises. A sample
    gets the class whose mean output is at the smallest angle.

    Parameters
    ----------
    max_layers : int, default=12
    threshold : float, default=0.99
        Normalised HSIC at which to stop.
    n_components : int, optional
        Columns of every W, if its input has so many. By default from spectra: the first layer
        keeps 90 % of the sum of X's singular values (at least two columns a class), later ones
        the rank of (6.3), which is the number of classes less one.
    bandwidth : {"normalized_hsic", "hsic", "separation"} or float, default="normalized_hsic"
        What each sigma maximises: (6.14), Tr(Gamma K), or the mean kernel value within classes
        less that between (thesis D.11). A number is the sigma of every layer.
    ridges : sequence of float, default=(inf, 0.1, 0.01, ..., 1e-10)
        Above 0. Where W of a later layer starts: ridge discriminant directions of its input,
        infinity being (6.3); towards 0 they interpolate. One network is grown for each in turn,
        and the first that passes `threshold` is kept, else the one with the highest HSIC:
        sharper directions are used only where smoother ones do not separate the classes.
    random_features : int, optional
        Pass so many random Fourier frequencies to the next layer (twice as many columns), in time
        linear in the samples, instead of the exact feature space (quadratic memory, cubic time).
    solver : {"ism", "published"}, default="ism"
        "published" is Algorithm 5 as described: every layer is kept, as wide as the rule for the
        first one says, with sigma from its input and the last point of plain ISM (tolerance 0.01,
        at most 50 steps, whatever `tol` and `max_iter` say); HSIC may fall.
    tol : float, default=1e-3
        Of ISM, in each layer.
    max_iter : int, default=20
        Most steps of ISM for one W.
    n_jobs : int, optional
    random_state : int, RandomState, optional
        For the random features.

    Attributes
    ----------
    layers_ : list of Layer
        Callables: the composition of the first l gives the images of layer l.
    history_ : dict of equal-length arrays
        After each layer: ``hsic``, normalised HSIC on the training data; ``sigma``; ``width``.
    converged_ : bool
        Whether the last ``hsic`` passes `threshold`.
    ridge_ : float or None
        The entry of `ridges` that was kept; None as published.
    classes_ : array
    n_iter_ : int
        Steps of ISM, over all layers tried.

    Warns
    -----
    ConvergenceWarning
        When no network passes the threshold; rows that coincide and differ in class are named.

    Notes
    -----
    Claims: alg-5, eq-6.2, eq-6.3, eq-6.4, txt-6-monotone, new-ridge-start. Scale the features
    first. With random features and more than 2000 samples HSIC is measured on 1000. A high
    HSIC on the training data is no promise for new data: random labels are fitted as well.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import KernelDependenceNetwork
    >>> X, y = load_wine(return_X_y=True)
    >>> network = KernelDependenceNetwork().fit(scale(X), y)
    >>> network.history_["hsic"].round(2)
    array([0.78, 0.99])
    >>> network.score(scale(X), y)
    1.0
    """

    _: KW_ONLY
    max_layers: int = 12
    threshold: float = 0.99
    n_components: int | None = None
    bandwidth: float | str = "normalized_hsic"
    ridges: tuple = RIDGES
    random_features: int | None = None
    solver: str = "ism"
    tol: float = 1e-3
    max_iter: int = 20
    n_jobs: int | None = None
    random_state: object = None

    def fit(self, X, y):
        """Grow the network on X (n_samples, n_features) and class labels y (n_samples,)."""
        check_parameters(
            self,
            max_layers=WHOLE,
            threshold=SHARE,
            ridges=ARRAY,
            bandwidth=rule(POSITIVE, one_of(*BANDWIDTHS)),
            solver=one_of("ism", "published"),
        )
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_labels(y)
        ridges = np.asarray(self.ridges, dtype=float).ravel()
        if not (ridges.size and (ridges > 0).all()):
            raise ValueError(f"ridges must be numbers above 0, got {self.ridges!r}")
        width = self.n_components
        if width is not None and width > X.shape[1]:
            raise ValueError(f"n_components = {width} must be at most n_features = {X.shape[1]}")
        features = Centred(X.mean(axis=0))
        R = features(X)
        if not 1e-50 < np.abs(R).max() < 1e50 and R.any():
            raise ValueError(
                f"the largest centred entry of X is {np.abs(R).max():.1g}: scale the features, "
                "for instance by StandardScaler"
            )
        recipe = Recipe(
            self.bandwidth, width, self.random_features, self.tol, self.max_iter, self.n_jobs
        )
        solver = LayerSolver(y, recipe, check_random_state(self.random_state))
        layers, Z = self._network(solver, R, features, ridges)
        self.layers_, self.classes_, self.n_iter_ = layers, solver.classes, max(solver.n_iter, 1)
        self.history_ = {
            "hsic": np.array([layer.hsic for layer in layers]),
            "sigma": np.array([layer.kernel.sigma for layer in layers]),
            "width": np.array([layer.W.shape[1] for layer in layers]),
        }
        self.converged_ = bool(layers[-1].hsic > self.threshold)
        self._points, self._index = Z[solver.sample], solver.index[solver.sample]
        self._sizes = class_sizes(self._points, self._index, layers[-1].kernel)
        if not self.converged_:
            self._warn(X, y)
        return self

    # ------------------------------------------------------------ growing

    def _network(self, solver, R, features, ridges):
        """The layers, and the images of the last; sets ``ridge_``."""
        if self.solver == "published":
            self.ridge_ = None
            return self._grown(solver, solver.published(features, R, None), None, None)[:2]
        first = solver.first(R, features)
        second = solver.lift(first[1], first[0].kernel) if self._goes_on([first[0]]) else None
        grown = (self._grown(solver, first, second, ridge) for ridge in ridges)
        layers, Z, self.ridge_ = self._smoothest(grown)
        return layers, Z

    def _goes_on(self, layers):
        return layers[-1].hsic <= self.threshold and len(layers) < self.max_layers

    def _gains(self, hsic, before):
        """Whether a layer is worth keeping: it passes the threshold, or gains enough."""
        return hsic > before and hsic >= min(before + LEAST_GAIN, self.threshold)

    def _grown(self, solver, first, lifted, ridge):
        """Layers on top of the first, the images of the last, and `ridge`.

        `lifted` is the input of the second layer, the same for every ridge.
        """
        (layer, Z), layers = first, [first[0]]
        while self._goes_on(layers):
            features, R, back = lifted or solver.lift(Z, layer.kernel)
            lifted = None
            if self.solver == "published":
                layer, images = solver.published(features, R, back)
            else:
                enough = partial(self._gains, before=layers[-1].hsic)
                layer, images = solver.further(features, R, back, ridge, enough)
                if not enough(layer.hsic):
                    break
            layers, Z = [*layers, layer], images
        return layers, Z, ridge

    def _smoothest(self, grown):
        """The first network that passes the threshold, else the one with the highest HSIC."""
        best = None
        for found in grown:
            if best is None or found[0][-1].hsic > best[0][-1].hsic:
                best = found
            if best[0][-1].hsic > self.threshold:
                break
        return best

    def _warn(self, X, y):
        why = "smaller ridges, more layers, or a lower threshold may help"
        _, first, rows = np.unique(X, axis=0, return_index=True, return_inverse=True)
        twin = first[rows.ravel()]  # for each row the first that it coincides with
        clash = np.flatnonzero(y != y[twin])
        if clash.size:
            i, j = twin[clash[0]], clash[0]
            why = f"rows {i} and {j} of X coincide but differ in class: no network tells them apart"
        warnings.warn(
            f"normalised HSIC ends at {self.layers_[-1].hsic:.4f} after {len(self.layers_)} "
            f"layers, below threshold = {self.threshold}; {why}",
            ConvergenceWarning,
            stacklevel=3,
        )

    # ------------------------------------------------------------ what it can tell

    def transform(self, X):
        """Images of X (n_samples, n_features) at the last layer, (n_samples, width)."""
        return self.images(X)

    def images(self, X, layer=None):
        """Images of X at a layer as an array, whatever container `transform` is asked for.

        layer counts from 1; None is the last.
        """
        check_is_fitted(self)
        Z = validate_data(self, X, dtype=np.float64, reset=False)
        for each in self.layers_[: self._number(layer)]:
            Z = each(Z)
        return Z

    def gram(self, X, X2=None, layer=None):
        """Gram matrix after a layer (n_samples, n_samples or as X2): cosines in feature space."""
        Z = self.images(X, layer)
        Z2 = None if X2 is None else self.images(X2, layer)
        return gram(self.layers_[self._number(layer) - 1].kernel, Z, X2=Z2)

    def _number(self, layer):
        last = len(self.layers_)
        if layer is None:
            return last
        if not (isinstance(layer, Integral) and 1 <= layer <= last):
            raise ValueError(f"layer must be a whole number from 1 to {last}, got {layer!r}")
        return layer

    def _scores(self, X):
        """Log cosines with the class means (n, k)."""
        Z, kernel = self.images(X), self.layers_[-1].kernel
        known = self._points, self._index, kernel, self._sizes
        return np.vstack([log_cosines(Z[rows], *known) for rows in gen_batches(len(Z), 4096)])

    def predict_proba(self, X):
        """Cosines with the class means in feature space, scaled to sum to 1; not calibrated."""
        return softmax(self._scores(X), axis=1)

    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`."""
        return log_softmax(self._scores(X), axis=1)

    def predict(self, X):
        """The class at the smallest angle in feature space, for each row of X."""
        index = self._scores(X).argmax(axis=1)
        return self.classes_[index]

    @property
    def _n_features_out(self):
        return self.layers_[-1].W.shape[1]
