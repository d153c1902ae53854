"""Whole solves against other ways to climb J, from one start: when are they as high as ours?"""

import time
from dataclasses import dataclass, field, fields

import numpy as np
from ismlit_book.experiments.scaling import make_classes
from ismlit_book.methods.baselines import grassmann_trust_region
from scipy.optimize import minimize
from sklearn import datasets as sets
from sklearn.preprocessing import scale

from ismlit.bandwidth import as_kernel
from ismlit.gamma import label_gamma
from ismlit.objectives.landmarks import conditional_problem
from ismlit.objectives.pairs import Count
from ismlit.objectives.plain import Problem
from ismlit.solvers.ism import ism
from ismlit.solvers.starts import starting_point
from tools.bench.rows import Row

SLACK = 1e-6  # A height counts as reached down to this share below it.
HIGHER = 1e-5  # An end that is higher by more than this share is another maximum.
SLOWEST = 40  # A method is stopped after so many times our time.


def case(load, q, rule="projected", kernel="gaussian", ridge=np.inf):
    """A maker of a problem: samples, components, rule of the bandwidth, kernel, and ridge."""

    def made():
        X, y = load()
        X = scale(X[:, X.std(axis=0) > 0])
        parts = X, label_gamma(y), as_kernel(kernel, X, rule, q)
        return Problem(*parts) if ridge == np.inf else conditional_problem(*parts, ridge), q

    return made


classes = lambda *size: lambda: make_classes(*size)
toy = lambda name: lambda: getattr(sets, f"load_{name}")(return_X_y=True)
CASES = {
    "wine, q = 2": case(toy("wine"), 2),
    "cancer, q = 2": case(toy("breast_cancer"), 2),
    "digits, q = 5": case(toy("digits"), 5),
    "iris, q = 2": case(toy("iris"), 2),
    "3000 x 50, 4 classes, q = 3": case(classes(3000, 50, 4), 3),
    "3000 x 50, 1000 classes, q = 3": case(classes(3000, 50, 1000), 3),
    "1500 x 200, 30 classes, q = 5": case(classes(1500, 200, 30), 5),
    "500 x 1500, 50 classes, q = 5": case(classes(500, 1500, 50), 5),
    "10 000 x 20, 4 classes, q = 2": case(classes(10_000, 20, 4), 2),
    "polynomial, cancer, q = 2": case(toy("breast_cancer"), 2, kernel="polynomial"),
    "squared, cancer, q = 2": case(toy("breast_cancer"), 2, kernel="squared"),
    "multiquadratic, digits, q = 3": case(toy("digits"), 3, kernel="multiquadratic"),
    "digits at the median, q = 10": case(toy("digits"), 10, "median"),
    "200 x 2000 at the median, q = 3": case(classes(200, 2000, 4), 3, "median"),
    "wine, q = 2, ridge .01": case(toy("wine"), 2, ridge=0.01),
    "cancer, q = 2, ridge .01": case(toy("breast_cancer"), 2, ridge=0.01),
    "digits, q = 5, ridge .01": case(toy("digits"), 5, ridge=0.01),
    "200 x 2000, q = 3, ridge .01": case(classes(200, 2000, 4), 3, ridge=0.01),
}


class TooSlow(Exception):
    """The time allowed is used up."""


@dataclass
class Watch:
    """The heights seen, and when; fewer columns than q are another function."""

    q: int
    limit: float = np.inf
    start: float = field(default_factory=time.perf_counter)
    seen: list = field(default_factory=list)
    stopped: bool = False

    def note(self, J, columns):
        now = time.perf_counter() - self.start
        if columns == self.q:
            self.seen.append((now, J))
        if now > self.limit:
            raise TooSlow

    def reached(self, height):
        """Seconds until a height was reached; infinite if never."""
        return next((now for now, J in self.seen if J >= height), np.inf)


def watched(problem, note):
    """The problem, anew, with `note` called at every J that is asked of it or of its parts."""
    kind = type(problem)

    def noted(name):
        def ask(self, W):
            answer = getattr(kind, name)(self, W)
            note(answer[0] if isinstance(answer, tuple) else answer, W.shape[1])
            return answer

        return ask

    names = "objective", "objective_and_phi", "objective_and_gradient"
    Watched = type("Watched", (kind,), {name: noted(name) for name in names})
    parts = {part.name: getattr(problem, part.name) for part in fields(kind) if part.init}
    return Watched(**parts | dict(count=Count()))


def conjugate_gradients(problem, q, init):
    """Pymanopt's, on the Grassmann manifold."""
    import pymanopt
    from pymanopt.manifolds import Grassmann
    from pymanopt.optimizers import ConjugateGradient

    manifold = Grassmann(problem.d, q)
    on_manifold = pymanopt.function.numpy(manifold)
    task = pymanopt.Problem(
        manifold,
        on_manifold(lambda W: -problem.objective(W)),
        euclidean_gradient=on_manifold(lambda W: -2 * problem.objective_and_gradient(W)[1]),
    )
    size = np.linalg.norm(problem.phi(init))
    options = dict(max_iterations=2000, min_gradient_norm=1e-6 * size, verbosity=0)
    return ConjugateGradient(**options).run(task, initial_point=init)


def polar_quasi_newton(problem, q, init):
    """L-BFGS over free V (d, q), whose polar factor is W = V (V'V)^(-1/2)."""

    def fall(v):
        V = v.reshape(init.shape)
        values, Q = np.linalg.eigh(V.T @ V)
        inverse = (Q / np.sqrt(values)) @ Q.T
        W = V @ inverse
        J, half = problem.objective_and_gradient(W)
        # dW = (dV - W S) (V'V)^(-1/2) up to turns of W, which J does not see
        return -J, -(2 * (half - W @ (W.T @ half)) @ inverse).ravel()

    options = dict(maxiter=2000, maxfun=4000, ftol=1e-15, gtol=1e-12)
    return minimize(fall, init.ravel(), jac=True, method="L-BFGS-B", options=options)


OURS = "ism"
WAYS = {
    "trust region": lambda p, q, init: grassmann_trust_region(p, q=q, init=init),
    "conjugate gradients": conjugate_gradients,
    "polar L-BFGS": polar_quasi_newton,
}


def climbed(way, problem, q, limit=np.inf):
    """What a way saw from the Taylor start, which belongs to its time."""
    watch = Watch(q, limit)
    copy = watched(problem, watch.note)
    try:
        if way == OURS:
            ism(copy, q=q)
        else:
            start = starting_point(copy, q, "taylor")
            WAYS[way](copy.near(start), q, start)
    except TooSlow:
        watch.stopped = True
    return watch


def against(name, problem, q, turns=None):
    """For every way the row of when it was as high as ours, or of where it ends if it never was.

    Ours and the way take turns, three times or for a second, and the least time of each counts.
    """
    best = ism(problem, q=q).objective
    least = best - SLACK * abs(best)
    whole = min(climbed(OURS, problem, q).seen[-1][0] for _ in range(2))
    turns = turns or int(np.clip(1 / whole, 3, 20))
    patience = float(np.clip(5 / whole, 4, SLOWEST)) * whole
    for way in WAYS:
        pairs = [
            (climbed(OURS, problem, q), climbed(way, problem, q, patience)) for _ in range(turns)
        ]
        ours, watches = zip(*pairs, strict=True)
        first, reached = (min(watch.reached(least) for watch in each) for each in (ours, watches))
        end = max(J for watch in watches for _, J in watch.seen) / best - 1
        late = bool(np.isinf(reached)) and any(watch.stopped for watch in watches)
        if late or np.isfinite(reached):
            ratio = (patience if late else reached) / first
            yield Row(f"{way} / ism, to the same J, {name}", ratio, least=1.0, beyond=late)
        if not late and (np.isinf(reached) or end > HIGHER):
            side = "lower" if end < 0 else "higher"
            yield Row(f"{way}, ends {side} by, {name}", abs(end))


def rows(quick):
    """Times until J is as high as ours; ends that differ; the median of each way."""
    ratios = {}
    for name in [*CASES][: 4 if quick else None]:
        for row in against(name, *CASES[name]()):
            way, _, compared = row.work.partition(" / ism")
            ratios.setdefault(way, []).extend([row.value] * bool(compared))
            yield row
    for way, found in ratios.items():
        if found:  # bounds count as they are: the median is at least that
            work = f"{way} / ism, to the same J, median of {len(found)} problems"
            yield Row(work, float(np.median(found)), least=2.0)
