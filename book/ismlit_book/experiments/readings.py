"""Tables 5.4 and 5.5 by two readings: what the text describes, and what its program did.

A `Reading` is everything that a cell depends on beside data, kernel and solver. `TEXT` is the
thesis; its cells are the rows that `table_5_4` and `table_5_5` compute at length. `CODE` is the
published program, restated and run anew. `VARIATIONS` change one thing of it each.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from time import perf_counter
from typing import NamedTuple

import numpy as np
from ismlit import (
    Gaussian,
    Kernel,
    Linear,
    Multiquadratic,
    Polynomial,
    RelativeGaussian,
    Squared,
)
from ismlit.bandwidth import median_distance
from ismlit.estimators.clusters import cluster_rows
from ismlit.gamma import (
    DenseGamma,
    Gamma,
    centre,
    embedding_gamma,
    label_gamma,
    one_hot,
)
from ismlit.geometry.frames import top_eigenvectors
from ismlit.grams import gram
from ismlit.objectives.plain import Problem
from scipy.linalg import eigh
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score, pairwise_distances
from sklearn.model_selection import KFold
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from ismlit_book import printed, results
from ismlit_book.experiments import (
    SEED,
    SETS,
    cayley_search,
    clocked,
    over_runs,
    prepared,
)
from ismlit_book.methods.affinity import DenseAffinity
from ismlit_book.methods.baselines import dimension_growth
from ismlit_book.methods.published import published_ism

FOLDS = {"Wine": 10, "Cancer": 10, "Face": 3, "MNIST": 1}
"""Of the ten that are drawn, so many are run; ISM runs all ten of Face."""
MOST_TURNS = 20
UNITS = {
    ("Cancer", "supervised", "polynomial"): 1e3,
    ("Face", "supervised", "polynomial"): 1e4,
    ("MNIST", "supervised", "gaussian"): 1e3,
    ("MNIST", "supervised", "polynomial"): 1e3,
}
"""In what costs are printed, under either reading: inferred from their size."""


@dataclass(frozen=True, eq=False)
class Task:
    """One problem as a solver gets it: samples, Gamma, the row's kernel, q, and random numbers."""

    X: np.ndarray
    gamma: Gamma
    kernel: Kernel
    q: int
    diagonal: bool
    rng: np.random.Generator

    @cached_property
    def problem(self):
        """What is maximised. A zero diagonal of K matters where the diagonal moves with W."""
        if self.diagonal or self.kernel.pairs == "difference":
            return Problem(self.X, self.gamma, self.kernel)
        weights = self.gamma.to_dense()
        np.fill_diagonal(weights, 0)
        return Problem(self.X, DenseGamma(weights), self.kernel)

    @cached_property
    def start(self):
        """Top eigenvectors of X'Gamma X; where it has fewer than q, completed at random."""
        values, vectors = eigh(self.gamma.between(self.X))
        known = vectors[:, values > 1e-6 * values[-1]][:, ::-1][:, : self.q]
        more = self.rng.standard_normal((len(values), self.q - known.shape[1]))
        return np.linalg.qr(np.hstack([known, more]))[0].astype(self.X.dtype)

    def cost(self, W):
        """Minus the sum of Gamma times K."""
        J = Problem(self.X, self.gamma, self.kernel).objective(W)
        if not self.diagonal:
            own = np.sum((self.X @ W) ** 2, axis=1) * (self.kernel.pairs == "inner")
            J -= float(np.sum(np.sum(self.gamma.F**2 * self.gamma.s, axis=1) * self.kernel.f(own)))
        return -J


# ---------------------------------------------------------------- solvers: a W from a task


def fixed_point(task):
    """ISM, stopped when the eigenvalues change by less than 1 %."""
    return published_ism(task.problem, q=task.q, tol=0.01).W


def blind_growth(task, sees=False):
    """DG for the Gaussian kernel whatever the row's; Gamma is H, up to its factor and diagonal.

    The class numbers, a vector y, are taken for the matrix Y: y'y is one number.
    """
    gamma = task.gamma if sees else Gamma(np.ones((len(task.X), 1)), [-1 / len(task.X)])
    kernel = Gaussian(median_distance(task.X))
    return dimension_growth(task.X, gamma, kernel, task.q, init=task.start, tol=1e-4).W


def cayley_steps(task, cubic=False, steps=400, most=1000):
    """SM: Cayley steps of length 2, times 0.2 until J rises, down to 1e-9; until W stands still.

    With a polynomial kernel no step is taken, unless `cubic`. At most so many passes.
    """
    if task.kernel.pairs == "inner" and not cubic:
        return task.start
    W, problem = task.start, task.problem
    J, G = problem.objective_and_gradient(W)
    serves = lambda found: found[0] > J or problem.count.passes > most
    for _ in range(steps):
        trial, found = cayley_search(W, 2 * G, 2, problem.objective_and_gradient, serves)
        if not found[0] > J:
            break
        moved = np.linalg.norm(trial - W) / np.linalg.norm(W)
        W, (J, G) = trial, found
        if moved < 1e-3:
            break
    return W


GM_WORK = 5 * 615**2 * 9 * 5
"""n²dq times steps that GM has time for: five steps on Cancer, chosen by that cell alone."""


def descent_in_time(task, work=GM_WORK):
    """GM: steepest descent from a random frame for the Gaussian kernel, cut off by its clock."""
    import pymanopt
    from pymanopt.manifolds import Grassmann
    from pymanopt.optimizers import SteepestDescent

    problem = Problem(task.X, task.gamma, Gaussian(median_distance(task.X)))
    manifold = Grassmann(problem.d, task.q)
    on_manifold = pymanopt.function.numpy(manifold)
    gradient = on_manifold(lambda W: -2 * problem.objective_and_gradient(W)[1])
    descent = pymanopt.Problem(
        manifold, on_manifold(lambda W: -problem.objective(W)), euclidean_gradient=gradient
    )
    start = np.linalg.qr(task.rng.standard_normal((problem.d, task.q)))[0]
    steps = max(1, round(work / (problem.n**2 * problem.d * task.q)))
    run = SteepestDescent(max_iterations=min(steps, 300), max_time=np.inf, verbosity=0).run
    return run(descent, initial_point=start).point


def other_kernel(task):
    """Table 5.5's W: top eigenvectors of X'Gamma X; for the multiquadratic weighted by 1/K of X.

    The first serves the sum of Gaussian and polynomial too: both have that Taylor matrix.
    """
    if not isinstance(task.kernel, Multiquadratic):
        return task.start
    weights = task.gamma.to_dense() / -gram(task.kernel, task.X)
    phi = task.X.T @ (weights @ task.X - weights.sum(axis=1)[:, None] * task.X)
    return top_eigenvectors((phi + phi.T) / 2, task.q)[1]


# ---------------------------------------------------------------- readings


@dataclass(frozen=True, eq=False)
class Reading:
    """How the cells of a table are made.

    Attributes
    ----------
    name : str
    q : mapping
        Dimensions by set, with labels.
    turns : mapping
        (q, k) by set, without labels.
    parts : bool
        Whether training and test part are scaled apart; else the whole set is.
    diagonal : bool
        Whether K keeps its diagonal.
    divisor : {"1", "q", "d"}
        By what the polynomial kernel divides inner products.
    degree : int
    scored : mapping
        "test" or "training" by set: on which folds the support vector machine is scored.
    svm : str
        gamma of scikit-learn's support vector machine.
    degrees : bool
        Whether U is found with degrees.
    guide : {"U", "clusters", "plain clusters", "classes"}
        Whose Gamma the cost without labels is taken with: the embedding's, or the indicators',
        scaled to length 1, of its clusters (by k-means on rows of length 1, or as they are), or
        of the classes.
    clustered : {"kernel", "gaussian"}
        Whether the NMI comes from the row's kernel of XW or from a Gaussian one, its width the
        median distance there.
    solvers : mapping
    rereads : mapping
        (set, paradigm, kernel) by that of the file which is read in its place.
    units : mapping
        (set, paradigm, kernel) by the unit in which its costs are printed, where that is not 1.
    """

    name: str
    q: Mapping
    turns: Mapping
    parts: bool
    diagonal: bool
    divisor: str
    scored: Mapping
    svm: str
    solvers: Mapping
    degree: int = 3
    degrees: bool = False
    guide: str = "U"
    clustered: str = "kernel"
    rereads: Mapping = field(default_factory=dict)
    units: Mapping = field(default_factory=lambda: UNITS)

    def kernel(self, name, X, q):
        """The kernel of a row for centred X, and the number that its values are too large by."""
        if name == "gaussian":
            return Gaussian(median_distance(X)), 1.0
        if name == "polynomial":  # (z'z/m + 1)^p is (z'z + m)^p over m^p
            m = float({"1": 1, "q": q, "d": X.shape[1]}[self.divisor])
            return Polynomial(self.degree, m), m**self.degree
        return OTHERS[name], 1.0


OTHERS = {
    "linear": Linear(),
    "squared": Squared(),
    "multiquadratic": Multiquadratic(1.0),
    "gaussian + polynomial": Linear(),
}
"""Kernels of Table 5.5, with the sign of a similarity; the sum stands for its Taylor matrix."""
CLASSES = {"Wine": 3, "Cancer": 2, "Face": 20, "MNIST": 10}
TEXT = Reading(
    name="text",
    q=CLASSES,
    turns={name: (k, k) for name, k in CLASSES.items()},
    parts=False,
    diagonal=True,
    divisor="1",
    scored=dict.fromkeys(SETS, "test"),
    svm="scale",
    solvers={"ISM": fixed_point},  # those of its peers are the library's: `table_5_4`
)
CODE = Reading(
    name="code",
    q={"Wine": 4, "Cancer": 5, "Face": 20, "MNIST": 10},
    turns={"Wine": (5, 3), "Cancer": (5, 2), "Face": (30, 20), "MNIST": (30, 20)},
    parts=True,
    diagonal=False,
    divisor="q",
    scored={"Wine": "test", "Cancer": "training", "Face": "training", "MNIST": "training"},
    svm="auto",
    solvers={"ISM": fixed_point, "DG": blind_growth, "SM": cayley_steps, "GM": descent_in_time},
    rereads={("MNIST", "supervised", "polynomial"): ("MNIST", "supervised", "gaussian")},
)


# ---------------------------------------------------------------- one row


def split(reading, name, folds):
    """(training X, y, test X, y) of the first folds."""
    X, y = prepared(name)
    whole = X if not reading.parts else SETS[name]().data
    for train, test in list(KFold(10, shuffle=True, random_state=SEED).split(X))[:folds]:
        if reading.parts:
            A, B = (np.asarray(scale(whole[rows]), X.dtype) for rows in (train, test))
        else:
            A, B = (X[rows] - X[train].mean(axis=0) for rows in (train, test))
        yield A, y[train], B, y[test]


def with_labels(reading, name, kernel, solver, folds):
    """Cost, score and seconds over the folds, as lists."""
    found = []
    for i, (A, y_A, B, y_B) in enumerate(split(reading, name, folds)):
        q = reading.q[name]
        made, unit = reading.kernel(kernel, A, q)
        rng = np.random.default_rng([SEED, i])
        task = Task(A, label_gamma(y_A), made, q, reading.diagonal, rng)
        W, seconds = clocked(perf_counter, solver, task)
        machine = SVC(gamma=reading.svm).fit(A @ W, y_A)
        Z, y = (B @ W, y_B) if reading.scored[name] == "test" else (A @ W, y_A)
        cost = task.cost(W) / unit
        found.append(dict(cost=cost, score=float(machine.score(Z, y)), seconds=seconds))
    return over_runs(found)


def without_labels(reading, name, kernel, solver):
    """The same for W and U in turns on the whole set, as lists of one; the score is the NMI."""
    X, y = prepared(name)
    q, k = reading.turns[name]
    made, unit = reading.kernel(kernel, X, q)
    rng = np.random.default_rng(SEED)
    began = perf_counter()
    K = gram(RelativeGaussian(local_widths(X)), X)
    U, values = DenseAffinity(zeroed(K, reading), reading.degrees).leading(k)
    for _ in range(MOST_TURNS):
        task = Task(X, embedding_gamma(U), made, q, reading.diagonal, rng)
        W = solver(task)
        K = zeroed(gram(made, X, W), reading)
        before = values
        U, values = DenseAffinity(K, reading.degrees).leading(k)
        if np.linalg.norm(values - before) < 0.01 * np.linalg.norm(before):
            break
    seconds = perf_counter() - began
    V = DenseAffinity(K, degrees=False, centred=False).leading(k)[0]
    clusters = cluster_rows(V, k, SEED)
    labels = {"classes": y, "clusters": clusters}
    if reading.guide == "plain clusters":
        labels[reading.guide] = KMeans(k, n_init=10, random_state=SEED).fit_predict(V)
    HF = centre(U if reading.guide == "U" else unit_columns(labels[reading.guide]))
    cost = -float(np.sum(HF * (K @ HF))) / unit
    if reading.clustered == "gaussian":
        Z = X @ W
        K = zeroed(gram(Gaussian(median_distance(Z)), Z), reading)
        V = DenseAffinity(K, degrees=False, centred=False).leading(k)[0]
        clusters = cluster_rows(V, k, SEED)
    nmi = float(normalized_mutual_info_score(y, clusters))
    return dict(cost=[cost], score=[nmi], seconds=[seconds])


def unit_columns(labels):
    """Indicators (n, k), each column of length 1."""
    Y = one_hot(labels)
    return Y / np.sqrt(Y.sum(axis=0))


def zeroed(K, reading):
    """K with the diagonal that the reading gives it."""
    if not reading.diagonal:
        np.fill_diagonal(K, 0)
    return K


def local_widths(X, neighbours=49):
    """A bandwidth for each row: mean squared distance to near distinct rows, by their inverse."""
    distances = pairwise_distances(X, np.unique(X, axis=0))
    distances[distances < 1e-3] = np.inf  # itself
    near = np.partition(distances, neighbours, axis=1)[:, :neighbours]
    return np.sqrt(near.sum(axis=1) / (1 / near).sum(axis=1))


# ---------------------------------------------------------------- all rows


class Variation(NamedTuple):
    """A reading with one thing changed, and the rows that it is tried on."""

    reading: Reading
    rows: tuple  # of (set, paradigm, kernel, method)


def _varied(name, rows, **changes):
    return Variation(replace(CODE, name=f"code, {name}", **changes), tuple(rows))


def _rows(sets, paradigm, kernels, *methods):
    return [(s, paradigm, k, m) for s in sets for k in kernels for m in methods]


WITH, WITHOUT = "supervised", "unsupervised"
BOTH = ("gaussian", "polynomial")
SMALL = ("Wine", "Cancer")
CUBIC_FACE = _rows(["Face"], WITH, ["polynomial"], "ISM", "DG", "SM")
VARIATIONS = [
    _varied("q = classes", _rows(SMALL, WITH, BOTH, "ISM"), q=CLASSES),
    _varied("Cancer q = 4", _rows(["Cancer"], WITH, BOTH, "ISM"), q=CODE.q | {"Cancer": 4}),
    _varied("diagonal kept", _rows(SMALL, WITH, BOTH, "ISM"), diagonal=True),
    _varied("inner products as they are", _rows(SMALL, WITH, ["polynomial"], "ISM"), divisor="1"),
    _varied(
        "DG sees the labels",
        _rows([*SMALL, "Face"], WITH, ["gaussian"], "DG"),
        solvers=CODE.solvers | {"DG": partial(blind_growth, sees=True)},
    ),
    _varied(
        "SM climbs with the cubic kernel",
        _rows(SMALL, WITH, ["polynomial"], "SM"),
        solvers=CODE.solvers | {"SM": partial(cayley_steps, cubic=True)},
    ),
    _varied(
        "GM has time",
        _rows(SMALL, WITH, ["gaussian"], "GM"),
        solvers=CODE.solvers | {"GM": partial(descent_in_time, work=1e12)},
    ),
    _varied(
        "Face q = 45, thousands",
        CUBIC_FACE,
        q=CODE.q | {"Face": 45},
        units=UNITS | {("Face", WITH, "polynomial"): 1e3},
    ),
    _varied("Face over d", CUBIC_FACE[:1], divisor="d"),
    _varied("Face degree 2", CUBIC_FACE[:1], degree=2),
    _varied("q = k = classes", _rows([*SMALL, "Face"], WITHOUT, BOTH, "ISM"), turns=TEXT.turns),
    _varied("degree 2 without labels", _rows(SMALL, WITHOUT, ["polynomial"], "ISM"), degree=2),
    _varied("U with degrees", _rows(SMALL, WITHOUT, ["gaussian"], "ISM"), degrees=True),
    _varied(
        "k = 1",
        _rows(SMALL, WITHOUT, ["gaussian"], "ISM"),
        turns={name: (q, 1) for name, (q, _) in CODE.turns.items()},
    ),
    *(
        _varied(
            f"cost of the {guide}",
            _rows([*SMALL, "Face"], WITHOUT, BOTH, "ISM", "DG", "SM", "GM"),
            guide=guide,
        )
        for guide in ("clusters", "plain clusters", "classes")
    ),
    _varied(
        "NMI by a Gaussian kernel",
        _rows([*SMALL, "Face"], WITHOUT, ["polynomial"], "ISM"),
        clustered="gaussian",
    ),
    _varied(
        "over d without labels",
        _rows([*SMALL, "Face"], WITHOUT, ["polynomial"], "ISM"),
        divisor="d",
    ),
]
"""What was tried on cells that do not come out, and on those that do, one change at a time."""


def wanted(table):
    """(set, paradigm, kernel, method) of the printed rows; Table 5.5 is ISM's."""
    return [(r["set"], r["paradigm"], r["kernel"], r.get("method", "ISM")) for r in printed(table)]


def rows(table, only="", folds=10):
    """The rows of `CODE`, and for Table 5.4 of its variations, one by one."""
    all_rows = tuple(wanted(table))
    varied = VARIATIONS if table == "table-5.4" else []
    for variation in [Variation(CODE, all_rows), *varied]:
        reading = variation.reading
        for name, paradigm, kernel, method in variation.rows:
            if (name, paradigm, kernel, method) not in all_rows:
                continue
            label = f"{method}, {reading.name}"
            here = f"{name}/{paradigm}/{kernel}/{label}".startswith(only)
            if here and (name, paradigm, kernel) not in reading.rereads:
                found = one(reading, name, paradigm, kernel, method, folds)
                yield dict(set=name, paradigm=paradigm, kernel=kernel, method=label, **found)


def one(reading, name, paradigm, kernel, method="ISM", folds=10):
    """One row: cost, score, seconds."""
    solver = other_kernel if kernel in OTHERS else reading.solvers[method]
    if name == "MNIST" and method == "SM":
        solver = partial(solver, most=60)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        if paradigm == WITHOUT:
            return without_labels(reading, name, kernel, solver)
        count = 10 if (name, method) == ("Face", "ISM") else FOLDS[name]
        return with_labels(reading, name, kernel, solver, min(count, folds))


# ---------------------------------------------------------------- cells


class Cell(NamedTuple):
    """One printed number beside what a reading gives; None where that was not run."""

    row: tuple
    quantity: str
    printed: float
    sd: float
    values: tuple | None
    shown: str
    """As printed."""

    @property
    def slack(self):
        """One printed deviation, at least half a percent of accuracy; else 1 % or 0.02."""
        if self.quantity == "cost":
            return self.sd if self.sd >= 0 else 0.01 * abs(self.printed)
        return max(self.sd, 0.005) if self.sd >= 0 else 0.02

    @property
    def fits(self):
        """Whether the mean lies within the slack."""
        if self.values is None:
            return False
        return bool(abs(np.mean(self.values) - self.printed) <= self.slack + 1e-12)


def cells(table, reading=CODE, keep=None):
    """Every printed number of a table as a `Cell`; only the rows in `keep`, if given."""
    stored = {
        (r["set"], r["paradigm"], r["kernel"], r.get("method", "")): r for r in results(table)
    }
    found = []
    for r, row in zip(printed(table), wanted(table)):
        if keep is not None and row not in keep:
            continue
        run = stored.get(_stored_as(table, reading, row))
        for quantity in ("cost", "score"):
            if not r.get(quantity):
                continue
            values = None if run is None else _values(run, quantity, row, reading)
            sd = r[f"{quantity}_sd"]
            shown = f"{r[quantity]} ± {sd}" if sd else r[quantity]
            number = float(r[quantity]), float(sd or "nan")
            found.append(Cell(row, quantity, *number, values, shown))
    return found


def _stored_as(table, reading, row):
    *place, method = row
    if reading is not TEXT:
        return (*reading.rereads.get(tuple(place), place), f"{method}, {reading.name}")
    if table == "table-5.4":
        return (*place, "ISM, published" if method == "ISM" else method)
    signed = place[2] in ("squared", "multiquadratic")
    return (*place[:2], place[2] + ", similarity" * signed, "")


def _values(run, quantity, row, reading):
    if quantity == "cost":
        unit = reading.units.get(row[:3], 1.0)
        return tuple(
            v / unit for v in (run["cost"] if "cost" in run else np.negative(run["objective"]))
        )
    for key in ("score", "test accuracy", "NMI"):
        if key in run:
            return tuple(run[key])
    raise KeyError(row)
