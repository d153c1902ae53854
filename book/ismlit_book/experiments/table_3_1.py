"""Tables 3.1 and 3.2: alternative clustering by ISM, SM and DG, from two starts, on seven sets.

Two readings: as the text describes the runs, which holds the degrees while W moves ("centred" in
the stored rows, H being in the objective), and as the authors' program ran ("program", from
`program_3_1`). "ISM, exact" is ours.
"""

from functools import cache, partial
from itertools import product
from time import process_time

import numpy as np
from ismlit import Gamma, Gaussian, centre, ism, one_hot
from ismlit.estimators.clusters import cluster_rows
from ismlit.objectives.affinity import Affinity
from ismlit.objectives.joint import JointProblem
from ismlit.objectives.pairs import Pairs
from ismlit.solvers.alternate import alternate
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import scale
from sklearn.utils import Bunch

from ismlit_book import loaders, printed
from ismlit_book.experiments import SEED, clocked, program_3_1, several
from ismlit_book.methods.baselines import dimension_growth, stiefel_descent
from ismlit_book.methods.published import published_ism

RESTARTS = 10
TURNS = 15
MOST_PASSES = 400  # of SM and DG, for one W
SOLVERS = {
    "ISM": partial(published_ism, tol=0.01, max_iter=50),
    "SM": partial(stiefel_descent, tol=1e-4, max_passes=MOST_PASSES),
    "DG": partial(dimension_growth, tol=1e-4, max_passes=MOST_PASSES),
    "ISM, exact": ism,
}
STEPS = (20, 21, 50, 51)
"""Caps on the steps of the published ISM, tried on WebKb, where it cycles between two points."""


def _standardised(bunch, divisor=1):
    """Features scaled to variance 1; those after the fourth, noise, divided by `divisor`."""
    X = scale(bunch.data)
    X[:, 4:] /= divisor
    return Bunch(data=X, existing=bunch.existing, target=bunch.target)


def flower():
    """Flower, standardised; existing: spectral clustering into 2, since none is published."""
    X = scale(loaders.load_flower().data)
    U = Affinity(Pairs(X, Gaussian(2.0)), normalize="degrees").leading(2)[0]
    return Bunch(data=X, existing=cluster_rows(U, 2, SEED), target=None)


def embedded(X, kernel, k):
    """The spectral embedding (n, k) of X itself."""
    return Affinity(Pairs(X, kernel), normalize="centred").leading(k)[0]


SETS = {
    "SG": loaders.load_small_gaussian,
    "LG": loaders.load_large_gaussian,
    "Moon": lambda: _standardised(loaders.load_moon()),
    "MoonN": lambda: _standardised(loaders.load_moon_noise(), 3),
    "Flower": flower,
    "Faces": partial(program_3_1.swapped, loaders.load_face_pca),
    "WebKb": loaders.load_webkb,
}
"""As the published runs had them: noise of MoonN divided by 3; pose known, identity sought."""
VARIANTS = {
    "LG, 1000 samples": lambda: loaders.load_large_gaussian(1000),
    "LG, standardised": lambda: _standardised(loaders.load_large_gaussian()),
    "Moon, raw": loaders.load_moon,
    "MoonN, noise as it is": lambda: _standardised(loaders.load_moon_noise()),
    "MoonN, 1000 samples": lambda: _standardised(loaders.load_moon_noise(1000), 3),
    "Faces, identity known": loaders.load_face_pca,
    "WebKb, topic known": partial(program_3_1.swapped, loaders.load_webkb),
    "WebKb, standardised": lambda: _standardised(loaders.load_webkb()),
}
"""Other readings of the data, the text's among them; run with ISM and its own start alone."""
CLUSTERS = {"Faces, identity known": 4}
"""Clusters sought, where that is not the number of known ones."""


@cache
def settings(name):
    """sigma, lambda and q of Table 3.2."""
    row = next(row for row in printed("table-3.2") if row["set"] == name.split(",")[0])
    return float(row["sigma"]), float(row["lambda"]), int(row["q"])


def problem_of(name):
    """X (n, d) centred, the set, its kernel, lambda, q, and the number of clusters sought."""
    bunch = (SETS | VARIANTS)[name]()
    sigma, weight, q = settings(name)
    X = bunch.data - bunch.data.mean(axis=0)
    return (X, bunch, Gaussian(sigma), weight, q, CLUSTERS.get(name, len(set(bunch.existing))))


def solver_of(method):
    """A solver by its name in SOLVERS, or the published ISM with a cap on its steps."""
    _, _, cap = method.partition(", ")
    if not cap.endswith("steps"):
        return SOLVERS[method]
    return partial(SOLVERS["ISM"], max_iter=int(cap.split()[0]))


def one(name, method="ISM", init="SI", seed=SEED, turns=TURNS):
    """One run of the text's: what Table 3.1 measures; of "ISM, exact" the objective alone."""
    X, bunch, kernel, weight, q, k = problem_of(name)
    Y, solver = one_hot(bunch.existing), solver_of(method)
    U = Y / np.sqrt(Y.sum(axis=0)) if Y.shape[1] == k else embedded(X, kernel, k)
    W = np.linalg.qr(np.random.default_rng(seed).standard_normal((X.shape[1], q)))[0]
    guide = Gamma(centre(Y), np.full(Y.shape[1], -weight))
    found, seconds = clocked(
        process_time,
        partial(alternate, JointProblem(X, kernel, "centred", guide), k, q),
        solver=solver,
        freeze=solver is not ism,
        start=U,
        init="taylor" if init == "SI" else W,
        tol=1e-4,
        max_turns=turns,
    )
    path = {
        "objective": found.objective,
        "fell": bool(np.diff(found.history["objective"]).min(initial=0) < -1e-6),
        "turns": found.n_iter,
        "passes": found.n_passes,
        "seconds": seconds,
    }
    if solver is ism:
        return path
    labels = cluster_rows(found.U, k, seed)
    quality = float(np.sum(found.U * (Affinity(Pairs(X, kernel), found.W, "centred") @ found.U)))
    agree = lambda y: float(normalized_mutual_info_score(y, labels, average_method="geometric"))
    return {
        "NMI": None if bunch.target is None else agree(bunch.target),
        "CQ": quality,
        "novelty": agree(bunch.existing),
        "cost": -found.objective,
        "largest": float(np.bincount(labels).max() / len(labels)),
    } | path


def rows(only="", folds=RESTARTS, jobs=1):
    """Row by row, those whose name (reading/set/method/start) starts with `only`."""
    for *name, reading in program_3_1.runs():
        if "/".join([name[3], *name[:3]]).startswith(only):
            starts = program_3_1.starts_of(*name[1:3], folds)
            found = several(program_3_1.one, [(reading, name[1], s) for s in starts], jobs)
            yield dict(zip(("set", "method", "init", "reading"), name)) | found
    names = [(name, *row) for name in SETS for row in product(SOLVERS, ("SI", "RI"))]
    names += [(name, "ISM", "SI") for name in VARIANTS]
    names += [("WebKb", f"ISM, {steps} steps", "SI") for steps in STEPS]
    for name in names:
        if "/".join(["centred", *name]).startswith(only):
            seeds = range(folds if name[2] == "RI" else 1)
            found = several(one, [(*name, seed) for seed in seeds], jobs)
            yield (dict(zip(("set", "method", "init", "reading"), (*name, "centred"))) | found)


# ---------------------------------------------------------------- beside the print

CELLS = ("NMI", "CQ", "novelty", "cost")
MARGIN = {"NMI": 0.05, "CQ": 0.05, "novelty": 0.05, "cost": 0.02}
"""What k-means and the last steps of a solver may change; CQ and cost as a share."""
READINGS = {"text": "centred", "program": "program"}
"""The two readings of the whole table, by the names of their stored rows."""
BESIDE = {("SG", "ISM", "SI"): "program, q = 2"}
"""Another reading of one row, which the authors' log names."""
SIGNS = {2: "✓✓", 1: "✓", 0: "✗"}
"""To every printed digit; within the margin; neither."""


def stored_row(stored, row, reading):
    """The stored row that belongs to a printed row and a reading's stored name."""
    wanted = dict(reading=reading) | {key: row[key] for key in ("set", "method", "init")}
    return next(r for r in stored if wanted.items() <= r.items())


def decimals(text):
    """How many a printed number has."""
    return len(text.partition(".")[2])


def _rounds(value, text):
    return round(value, decimals(text)) == float(text)


def _cuts(value, text):
    scale_of = 10 ** decimals(text)
    return float(np.trunc(round(value * scale_of, 6)) / scale_of) == float(text)


def near(values, row, cell, sampled):
    """2 where mean and spread have every printed digit, 1 where the mean is within the margin, 0.

    The print rounds most numbers and cuts some; either counts. But what is cut has to be within the
    margin, and what is rounded where half a unit is above 0.05, or 5 % of a number above 1. With
    starts of their own (`sampled`) two standard errors of both means are allowed as well, at most
    0.2 (of the printed mean, where that is above 1), if the two spreads are within a factor of two
    of each other: else the runs are not those that were printed, and the margin alone holds.
    """
    text, spread = row[cell], row[f"{cell} sd"]
    deviation = float(spread or 0)
    mean, wanted = float(np.mean(values)), float(text)
    allowed = MARGIN[cell] * (abs(wanted) if cell in ("CQ", "cost") else 1)
    alike = deviation / 2 <= np.std(values) <= 2 * deviation
    if sampled and len(values) > 1 and alike:
        error = 2 * np.sqrt((np.var(values) + deviation**2) / RESTARTS)
        allowed += min(error, 0.2 * max(1.0, abs(wanted)))
    within = abs(mean - wanted) <= allowed + 1e-12
    fine = 0.5 * 10.0 ** -decimals(text) <= 0.05 * max(1.0, abs(wanted))
    sds = [np.std(values), np.std(values, ddof=1)] if len(values) > 1 else []
    digits = _rounds(mean, text) if fine else within and _rounds(mean, text)
    digits = digits or (within and _cuts(mean, text))
    if digits and (not spread or any(_rounds(s, spread) or _cuts(s, spread) for s in sds)):
        return 2
    return int(within)


def compare(row, found):
    """{cell: 2, 1 or 0 of `near`} of a printed row and a stored one."""
    sampled = found["reading"] == READINGS["text"]
    return {cell: near(found[cell], row, cell, sampled) for cell in CELLS if row[cell]}


def readings_of(row, stored):
    """{reading: cells} of a printed row: text, program, and one beside them where there is one."""
    names = READINGS | {
        name: name
        for key, name in BESIDE.items()
        if key == (row["set"], row["method"], row["init"])
    }
    return {name: compare(row, stored_row(stored, row, kept)) for name, kept in names.items()}


def verdict(row, stored):
    """(the reading that reproduces most cells, its cells); of equals the one with more digits.

    Of those that are equal in both the program's.
    """
    found = readings_of(row, stored)
    score = lambda name: (sum(map(bool, found[name].values())), sum(found[name].values()))
    best = max(["program", *found], key=score)  # the first of equals
    return best, found[best]


def as_text(values, mean, spread):
    """Mean and spread of `values`, with a decimal more than those printed have, at most three."""
    told = []
    for value, text in ((np.mean(values), mean), (np.std(values), spread)):
        k = min(decimals(text) + 1, 3)
        told.append(f"{round(float(value), k) + 0.0:.{k}f}")
    return " ± ".join(told) if len(values) > 1 else told[0]


def side_by_side(row, stored):
    """A printed row and both readings, as {column: text}; a sign before what was recomputed."""
    line = {"row": "\N{NO-BREAK SPACE}".join(row[key] for key in ("set", "method", "init"))}
    for cell in CELLS:
        mean, spread = row[cell], row[f"{cell} sd"]
        line[f"{cell}, printed"] = f"{mean} ± {spread}" if spread else mean or "–"
        for name, kept in READINGS.items():
            found = stored_row(stored, row, kept)
            told = "–"
            if mean:
                sign = SIGNS[compare(row, found)[cell]]
                told = f"{sign} {as_text(found[cell], mean, spread or mean)}"
            line[f"{cell}, {name}"] = told
    return line
