"""How far a network should grow, judged by rows held out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.utils.class_weight import compute_sample_weight

from ismlit.estimators.network.layers import Layer, class_sizes, log_cosines
from ismlit.estimators.network.ridge import RidgeDirections, RowsLayerSolver, hold_out

PATIENCE = 2  # Once one ridge has helped, the search ends after this many failures.
LEAST_SCORE_GAIN = 0.01  # A sharper or deeper network must raise the score by this.
MOST_ACCURACY_LOSS = 0.05  # It may lower the accuracy by no more than this.
COSINE_SCALE = 5.0  # Cosines are multiplied by this before they are made probabilities.


@dataclass(frozen=True)
class Plan:
    """What to grow.

    Parameters
    ----------
    projected : bool
        Whether the first layer is ISM's, or keeps all columns.
    ridge : float, optional
        Of the further layers, if there are any.
    depth : int, default=1
        The number of layers.
    """

    projected: bool
    ridge: float | None = None
    depth: int = 1


@dataclass(frozen=True, eq=False)
class Candidate:
    """A network that was tried, with its score on the rows held out.

    Parameters
    ----------
    plan : Plan
        What was grown.
    layer : Layer
        Its last layer.
    Z : array of shape (n, q)
        The images of the training rows.
    T : array of shape (m, q)
        Those of the rows held out.
    score : float
        The weighted mean log probability of the right classes; higher is better.
    accuracy : float
        The weighted share of rows held out that are classified rightly.
    """

    plan: Plan
    layer: Layer
    Z: np.ndarray
    T: np.ndarray
    score: float
    accuracy: float

    def is_better_than(self, other: Candidate | None) -> bool:
        """Say whether it is worth being sharper or deeper than another.

        Its probabilities must be better, and its answers not much worse: a very sharp layer can
        put all rows into one class and pay little for each.

        Parameters
        ----------
        other : Candidate or None
            Another one; None if there is none yet.

        Returns
        -------
        bool
            True also where there is no other.
        """
        if other is None:
            return True
        has_gained = self.score > other.score + LEAST_SCORE_GAIN
        return has_gained and self.accuracy >= other.accuracy - MOST_ACCURACY_LOSS


class Growth:
    """The search for the network that serves rows held out best.

    The score is their weighted mean log probability, by a softmax of five times the cosines with
    the class means. Accuracy alone would leave ties among a few dozen rows. Cosines near 1 are not
    rewarded for being nearer still, as ratios of them would be.

    Parameters
    ----------
    solver : RowsLayerSolver
        Of the rows to train on.
    R : array of shape (n, r)
        Centred rows to train on, in the basis of the features.
    T : array of shape (m, d)
        Centred rows held out.
    index : array of shape (m,)
        The classes of those held out.
    weights : array of shape (m,)
        How much each of them counts; they add up to 1.
    prior : array of shape (k,), or 0
        Added to the logarithms of the cosines with the class means.
    features : Centred
        The first layer's input.
    q : int
        Columns of the projected first layer.
    ridges : sequence of float
        The ridges to try, the smoothest first.
    max_layers : int
        The most layers.
    watch : callable
        Called with every layer.
    """

    def __init__(self, solver, R, T, index, weights, prior, features, q, ridges, max_layers, watch):
        self.solver, self.R, self.T, self.index, self.weights = solver, R, T, index, weights
        self.prior = prior
        self.features, self.q, self.ridges = features, q, list(ridges)
        self.max_layers, self.watch = max_layers, watch

    def scored(self, plan: Plan, layer: Layer, Z: np.ndarray, T: np.ndarray) -> Candidate:
        """Score a network that has one layer more.

        Parameters
        ----------
        plan : Plan
            What was grown.
        layer : Layer
            Its last layer.
        Z : array of shape (n, q)
            The images of the training rows.
        T : array of shape (m, q)
            Those of the rows held out.

        Returns
        -------
        Candidate
            The network with its score.
        """
        self.watch(layer)
        known, index, kernel = self.solver.known, self.solver.index, layer.kernel
        samples = Z[known], index[known], kernel
        cosines = np.exp(log_cosines(T, *samples, class_sizes(*samples)) + self.prior)
        accuracy = float(self.weights @ (cosines.argmax(axis=1) == self.index))
        chances = log_softmax(COSINE_SCALE * cosines, axis=1)
        score = float(self.weights @ chances[np.arange(len(T)), self.index])
        return Candidate(plan, layer, Z, T, score, accuracy)

    def first(self, projected: bool) -> Candidate:
        """Grow the first layer alone.

        Parameters
        ----------
        projected : bool
            Whether it is ISM's, or keeps all columns.

        Returns
        -------
        Candidate
            The network with its score.
        """
        solver, features = self.solver, self.features
        if projected:
            layer, Z = solver.projected(self.R, features, self.q)
        else:
            layer, Z = solver.all_columns(self.R, features)
        return self.scored(Plan(projected), layer, Z, self.T @ layer.W)

    def further(self, below: Candidate, space: RidgeDirections, ridge: float) -> Candidate:
        """Grow one layer more on top of a network.

        Parameters
        ----------
        below : Candidate
            The network.
        space : RidgeDirections
            The feature space of the new layer's input.
        ridge : float
            The ridge.

        Returns
        -------
        Candidate
            The network with its score.
        """
        layer, Z = self.solver.discriminant(space, ridge)
        plan = replace(below.plan, ridge=ridge, depth=below.plan.depth + 1)
        return self.scored(plan, layer, Z, layer(below.T))

    def space(self, below: Candidate) -> RidgeDirections:
        """Return the input of the layer above a network.

        Parameters
        ----------
        below : Candidate
            The network.

        Returns
        -------
        RidgeDirections
            The directions of that feature space.
        """
        return self.solver.space(below.Z, below.layer.kernel, below.plan.depth)

    def ridge_search(self, first: Candidate, ridges: Iterable[float]) -> Candidate:
        """Find the best second layer on a first one, from the smoothest ridge on.

        Smooth ridges can fail where sharp ones separate the classes. So patience begins with the
        first ridge that helps; until then all are tried.

        Parameters
        ----------
        first : Candidate
            The network of one layer.
        ridges : sequence of float
            The ridges to try.

        Returns
        -------
        Candidate
            The best, which is the first layer alone if none helps.
        """
        best, failed = first, 0
        if self.max_layers == 1:
            return best
        space = self.space(first)
        for ridge in ridges:
            candidate = self.further(first, space, ridge)
            if candidate.is_better_than(best):
                best, failed = candidate, 0
            elif best is not first and (failed := failed + 1) == PATIENCE:
                break
        return best

    def best(self, projections: Iterable[bool] = (False, True)) -> tuple[Candidate, bool]:
        """Find the best network.

        Parameters
        ----------
        projections : sequence of bool, default=(False, True)
            Which first layers to try: one that keeps all columns, one by ISM.

        Returns
        -------
        best : Candidate
            The best network.
        settled : bool
            Whether a further layer was seen not to help.
        """
        ridges = self.ridges
        best: Any = None
        for projected in projections:
            candidate = self.ridge_search(self.first(projected), ridges)
            best = candidate if candidate.is_better_than(best) else best
            if best.plan.ridge is not None:  # for another first layer sharper ones alone are tried
                ridges = self.ridges[self.ridges.index(best.plan.ridge) :]
        while 1 < best.plan.depth < self.max_layers:
            candidate = self.further(best, self.space(best), best.plan.ridge)
            if not candidate.is_better_than(best):
                return best, True
            best = candidate
        return best, best.plan.depth < self.max_layers


def grow(
    X, y, features, recipe, ridges, max_layers, share, rng, weighting=None, watch=lambda layer: None
):
    """Grow a network by early stopping.

    Parameters
    ----------
    X : array of shape (n, d)
        Centred rows.
    y : array of shape (n,)
        Class labels.
    features : Centred
        What centred them.
    recipe : Recipe
        How layers are solved. A `width` gives the columns of a projected first layer, which is
        then the only one tried.
    ridges : sequence of float
        The ridges to try, the smoothest first.
    max_layers : int
        The most layers.
    share : float
        Of every class, held out while the plan is made; the network is then grown on all rows.
    rng : RandomState
        What is drawn with.
    weighting : tuple, optional
        How much the rows of a class count among those held out ("balanced", None, or a dict), and
        what is added to the logarithms of the cosines.
    watch : callable, optional
        Called with every layer.

    Returns
    -------
    layers : list of Layer
        The network.
    Z : array of shape (n, q)
        Images of X at the last layer.
    solver : RowsLayerSolver
        What solved the layers.
    plan : Plan
        What was grown.
    scores : tuple (accuracy, baseline), or (None, None)
        Of the plan on the rows held out, weighted, and that of the best constant answer. None
        where every class has one row.
    settled : bool
        Whether a further layer was seen not to help.
    """
    seeds = rng.randint(2**31 - 1, size=max_layers + 1)
    classes, index = np.unique(y, return_inverse=True)
    held = hold_out(index, share)
    R = features.varying(X)
    q = min(recipe.width or len(classes), R.shape[1])
    if recipe.width is not None:
        projections: tuple[bool, ...] = (True,)
    else:
        projections = (False, True) if q < R.shape[1] else (False,)
    class_weight, prior = weighting or ("balanced", 0.0)
    solver = RowsLayerSolver(y, recipe, rng, seeds)
    depth = min(2, max_layers)
    plan, settled = Plan(projections[0], ridges[0], depth), True
    scores: tuple = (None, None)
    if held.any():
        part = RowsLayerSolver(y[~held], recipe, rng, seeds)
        weights = compute_sample_weight(class_weight, y[held])
        weights = weights / weights.sum()
        judged = X[held], index[held], weights, prior
        growth = Growth(part, R[~held], *judged, features, q, ridges, max_layers, watch)
        best, settled = growth.best(projections)
        plan, solver.n_iter = best.plan, part.n_iter
        scores = best.accuracy, float(np.bincount(index[held], weights).max())
    layers, Z = follow(plan, solver, R, features, q, watch)
    return layers, Z, solver, plan, scores, settled


def follow(plan: Plan, solver: RowsLayerSolver, R, features, q, watch=lambda layer: None) -> tuple:
    """Grow the layers of a plan on all rows.

    Parameters
    ----------
    plan : Plan
        What to grow.
    solver : RowsLayerSolver
        What solves the layers.
    R : array of shape (n, r)
        Centred rows, in the basis of the features.
    features : Centred
        What centred them.
    q : int
        Columns of a projected first layer.
    watch : callable, optional
        Called with every layer but the first.

    Returns
    -------
    layers : list of Layer
        The network.
    Z : array of shape (n, q)
        Images of X at the last layer.
    """
    width = (q,) if plan.projected else ()
    layer, Z = (solver.projected if width else solver.all_columns)(R, features, *width)
    layers = [solver.measured(layer, Z)]
    for number in range(1, plan.depth):
        space = solver.space(Z, layers[-1].kernel, number)
        layer, Z = solver.discriminant(space, plan.ridge)
        layers.append(solver.measured(layer, Z))
        watch(layers[-1])
    return layers, Z
