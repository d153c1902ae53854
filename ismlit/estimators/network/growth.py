"""How far a network should grow, judged by rows held out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_softmax
from sklearn.utils.class_weight import compute_sample_weight
from tqdm import tqdm

from ismlit.estimators.network.layers import Layer, class_sizes, log_cosines
from ismlit.estimators.network.ridge import RowsLayerSolver, hold_out

PATIENCE = 2  # Once one ridge has helped, so many in a row may fail before the search ends.
GAIN = 0.01  # A sharper or deeper network must raise the score by this,
LOSS = 0.05  # and lower the accuracy by no more than this.
SCALE = 5.0  # Cosines are multiplied by this before they are made probabilities.


@dataclass(frozen=True)
class Plan:
    """What to grow.

    Attributes
    ----------
    projected : bool
        Whether the first layer is ISM's, or keeps all columns.
    ridge : float or None
        Of the further layers, if there are any.
    depth : int
        Number of layers.
    """

    projected: bool
    ridge: float | None = None
    depth: int = 1


@dataclass(frozen=True, eq=False)
class Candidate:
    """A network tried: its plan, last layer, images (training and held out), score and accuracy."""

    plan: Plan
    layer: Layer
    Z: np.ndarray
    T: np.ndarray
    score: float
    accuracy: float

    def is_better_than(self, other):
        """Whether it is worth being sharper or deeper than another, or there is no other.

        Its probabilities must be better, and its answers not much worse: a very sharp layer can
        put all rows into one class and be punished little for each.
        """
        if other is None:
            return True
        return self.score > other.score + GAIN and self.accuracy >= other.accuracy - LOSS


class Growth:
    """How far a network should grow, by the rows held out.

    The score is their weighted mean log probability, by a softmax of five times the cosines with
    the class means. Accuracy alone leaves ties among a few dozen rows; cosines near 1 are not
    rewarded for being nearer still, as ratios of them would be.

    Parameters
    ----------
    solver : RowsLayerSolver
        Of the rows to train on.
    R, T : arrays of shape (n, d), (m, d)
        Centred rows to train on, and rows held out.
    index, weights : arrays of shape (m,)
        The classes of those held out, and how much each counts; the weights add up to 1.
    prior : array of shape (k,), or 0
        Added to the logarithms of the cosines with the class means.
    features : callable
        The first layer's input.
    q : int
        Columns of the projected first layer.
    ridges : sequence of float
    max_layers : int
    bar : tqdm
        Updated with every layer.
    """

    def __init__(self, solver, R, T, index, weights, prior, features, q, ridges, max_layers, bar):
        self.solver, self.R, self.T, self.index, self.weights = solver, R, T, index, weights
        self.prior = prior
        self.features, self.q, self.ridges = features, q, list(ridges)
        self.max_layers, self.bar = max_layers, bar

    def tried(self, plan, layer, Z, T):
        """One layer more, scored."""
        self.bar.update(layer)
        known, index, kernel = self.solver.known, self.solver.index, layer.kernel
        own = Z[known], index[known], kernel
        cosines = np.exp(log_cosines(T, *own, class_sizes(*own)) + self.prior)
        accuracy = float(self.weights @ (cosines.argmax(axis=1) == self.index))
        chances = log_softmax(SCALE * cosines, axis=1)
        score = float(self.weights @ chances[np.arange(len(T)), self.index])
        return Candidate(plan, layer, Z, T, score, accuracy)

    def first(self, projected):
        """The first layer alone."""
        solver, features = self.solver, self.features
        if projected:
            layer, Z = solver.projected(self.R, features, self.q)
        else:
            layer, Z = solver.all_columns(self.R, features)
        return self.tried(Plan(projected), layer, Z, self.T @ layer.W)

    def further(self, below, space, ridge):
        """One layer more on top of a network tried."""
        layer, Z = self.solver.discriminant(space, ridge)
        plan = replace(below.plan, ridge=ridge, depth=below.plan.depth + 1)
        return self.tried(plan, layer, Z, layer(below.T))

    def space(self, below):
        """The input of the layer above a network tried."""
        return self.solver.space(below.Z, below.layer.kernel, below.plan.depth)

    def ridge_search(self, first, ridges):
        """The best second layer on a first one, from the smoothest ridge on; or none.

        Smooth ridges can fail where sharp ones separate the classes, so that patience begins with
        the first that helps: until then all are tried.
        """
        best, failed = first, 0
        if self.max_layers == 1:
            return best
        space = self.space(first)
        for ridge in ridges:
            found = self.further(first, space, ridge)
            if found.is_better_than(best):
                best, failed = found, 0
            elif best is not first and (failed := failed + 1) == PATIENCE:
                break
        return best

    def best(self, projections=(False, True)):
        """The best network tried, and whether it was seen that no further layer helps."""
        best, ridges = None, self.ridges
        for projected in projections:
            found = self.ridge_search(self.first(projected), ridges)
            best = found if found.is_better_than(best) else best
            if best.plan.ridge is not None:  # for another first layer sharper ones alone are tried
                ridges = self.ridges[self.ridges.index(best.plan.ridge) :]
        while 1 < best.plan.depth < self.max_layers:
            found = self.further(best, self.space(best), best.plan.ridge)
            if not found.is_better_than(best):
                return best, True
            best = found
        return best, best.plan.depth < self.max_layers


class Progress(tqdm):
    """A bar that counts the layers solved; seen on a terminal if a fit takes a few seconds."""

    def __init__(self, watch=None):
        super().__init__(desc="network", unit=" layers", delay=3, disable=None, leave=False)
        self.watch = watch or (lambda layer: None)

    def update(self, layer):
        """One layer more, which who watches is told."""
        super().update()
        self.watch(layer)


def grow(X, y, features, recipe, ridges, max_layers, share, rng, weighting=None, watch=None):
    """A network by early stopping.

    Parameters
    ----------
    X : array of shape (n, d)
        Centred.
    y : labels of shape (n,)
    features : callable
        What centred them.
    recipe : Recipe
        `width`: columns of a projected first layer, which is then the only one tried.
    ridges : sequence of float
    max_layers : int
    share : float
        Of every class, held out while the plan is made; the network is then grown on all rows.
    rng : RandomState
    weighting : tuple, optional
        How much the rows of a class count among those held out ("balanced", None, or a dict), and
        what is added to the logarithms of the cosines.
    watch : callable, optional
        Called with every layer.

    Returns
    -------
    layers : list of Layer
    Z : array of shape (n, q)
        Images of X at the last layer.
    solver : RowsLayerSolver
    plan : Plan
    scores : tuple (accuracy, baseline), or (None, None)
        Of the plan on the rows held out, weighted, and that of the best constant answer; None
        where every class has one row.
    settled : bool
        Whether a further layer was seen not to help.
    """
    seeds = rng.randint(2**31 - 1, size=max_layers + 1)
    classes, index = np.unique(y, return_inverse=True)
    held = hold_out(index, share)
    q = min(recipe.width or len(classes), X.shape[1])
    if recipe.width is not None:
        projections = (True,)
    else:
        projections = (False, True) if q < X.shape[1] else (False,)
    class_weight, prior = weighting or ("balanced", 0.0)
    with Progress(watch) as bar:
        solver = RowsLayerSolver(y, recipe, rng, seeds)
        depth = min(2, max_layers)
        plan, scores, settled = Plan(projections[0], ridges[0], depth), (None, None), True
        if held.any():
            part = RowsLayerSolver(y[~held], recipe, rng, seeds)
            weights = compute_sample_weight(class_weight, y[held])
            weights = weights / weights.sum()
            known = X[held], index[held], weights, prior
            now = Growth(part, X[~held], *known, features, q, ridges, max_layers, bar)
            best, settled = now.best(projections)
            plan, solver.n_iter = best.plan, part.n_iter
            scores = best.accuracy, float(np.bincount(index[held], weights).max())
        layers, Z = follow(plan, solver, X, features, q, bar)
    return layers, Z, solver, plan, scores, settled


def follow(plan, solver, X, features, q, bar=None):
    """The layers of a plan on all rows, and the images of the last."""
    first = solver.projected(X, features, q) if plan.projected else solver.all_columns(X, features)
    layers, Z = [first[0]], first[1]
    for number in range(1, plan.depth):
        space = solver.space(Z, layers[-1].kernel, number)
        layer, Z = solver.discriminant(space, plan.ridge)
        layers.append(layer)
        if bar is not None:
            bar.update(layer)
    return layers, Z
