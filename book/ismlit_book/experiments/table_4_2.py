"""Tables 4.2 to 4.5: clusterings of six sets, of all samples and learnt from a part of them.

NMI (percent, geometric mean) and seconds, seed by seed. Where the text leaves a choice open, or the
printed number does not follow from it, both ways are run: scaled and raw features, sigma by Table
4.1 and by scikit-learn's default. KNet is run as the text describes it and as our estimator; as
the authors' program ran it, in `program_4_2`. `Beside` puts all of them next to the print.
"""

import warnings
from importlib.util import find_spec
from itertools import product
from time import perf_counter

import numpy as np
from ismlit import Gaussian, median_distance
from ismlit.estimators.clusters import cluster_rows
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_wine
from sklearn.metrics import normalized_mutual_info_score, pairwise_distances
from sklearn.preprocessing import scale

from ismlit_book import loaders
from ismlit_book.experiments import clocked, median, several
from ismlit_book.experiments.clusterers import ByNeighbours
from ismlit_book.experiments.deep_peers import PEERS
from ismlit_book.methods.affinity import DenseAffinity
from ismlit_book.methods.knet.training import embedding_affinity
from ismlit_book.methods.networks import KNetVariant

SETS = {
    "Moon": loaders.load_moon_plane,
    "Spiral1": loaders.load_spiral_3000,
    "Cancer": loaders.load_cancer,
    "Wine": load_wine,
    "RCV": loaders.load_reuters,
    "Face": loaders.load_face_27,
}
RATIO = {"Moon": 0.1, "Spiral1": 0.1}
"""sigma over the median distance; else 1 (Table 4.1)."""
SHARE = {"Moon": 0.25, "Spiral1": 0.1, "Cancer": 0.3, "Wine": 0.75, "RCV": 0.06, "Face": 0.35}
"""Part of the samples that is trained on in Table 4.4."""
SMALL_STEPS = dict(n_steps=2000, batch_size=32, learning_rate=1e-3)
"""Half the batch, twice the steps and half the rate of the estimator's defaults."""


class Start:
    """KNet's start without KNet: k-means on the rows of U_0 (4.6), scaled to length 1."""

    def __init__(self, n_clusters, ratio=1.0, random_state=None):
        self.k, self.ratio, self.seed = n_clusters, ratio, random_state

    def fit(self, X):
        """Cluster X (n, d)."""
        L = embedding_affinity(X, Gaussian(self.ratio * median_distance(X)))
        self.labels_ = cluster_rows(L.leading(self.k - 1)[0], self.k, self.seed)
        return self


class Gram(DenseAffinity):
    """D^(-1/2) K D^(-1/2) of Z (n, q), K without its diagonal; between two H, if centred."""

    def __init__(self, Z, sigma, centred=True):
        K = np.exp(-(pairwise_distances(Z) ** 2) / (2 * sigma**2))
        np.fill_diagonal(K, 0)
        super().__init__(K, centred=centred)


class Rows:
    """Spectral clustering as Ng, Jordan and Weiss: K without its diagonal, c eigenvectors.

    sigma is `ratio` times the median distance, and rows are scaled to length 1. With no ratio
    sigma is scikit-learn's default, 0.71, and they are not.
    """

    def __init__(self, n_clusters, ratio, random_state=None):
        self.k, self.ratio, self.seed = n_clusters, ratio, random_state

    def fit(self, X):
        """Cluster X (n, d)."""
        sigma = np.sqrt(0.5) if self.ratio is None else self.ratio * median(X)
        U = Gram(X, sigma, centred=False).leading(self.k)[0]
        if self.ratio is None:
            means = KMeans(self.k, n_init=10, random_state=self.seed)
            self.labels_ = means.fit_predict(U)
        else:
            self.labels_ = cluster_rows(U, self.k, self.seed)
        return self


def knet(name, c, seed, X, **options):
    """KNet with the sigma of Table 4.1, started as the thesis says."""
    sigma = RATIO.get(name, 1.0) * median_distance(X)
    plain = dict(bandwidth=sigma, init="spectral", random_state=seed)
    options = plain | SMALL_STEPS | options
    return KNetVariant(c, **options)


def described(name, c, seed, X):
    """Algorithm 3 as near as the estimator allows: one epoch of batches of 5 a turn, c columns.

    Layers of width d (20 on Moon and Spiral1); one network; at most 60 turns, until U changes by
    less than 0.001.
    """
    width = 20 if name in RATIO else X.shape[1]
    return knet(
        name,
        c,
        seed,
        X,
        n_vectors=c,
        identity="pretrained",
        hidden_layer_sizes=(width, width),
        batch_size=5,
        n_steps=max(len(X) // 5, 1),
        n_init=1,
        min_gain=np.inf,
        max_blocks=60,
    )


def spectral(name, c, seed, X, **options):
    """scikit-learn's spectral clustering."""
    return SpectralClustering(c, random_state=seed, **options)


def gaussian(name, c, seed, X):
    """The same with the sigma of Table 4.1 (the default is 0.71)."""
    sigma = RATIO.get(name, 1.0) * median_distance(X)
    return spectral(name, c, seed, X, gamma=1 / (2 * sigma**2))


METHODS = {
    "k-means": lambda name, c, seed, X: KMeans(c, n_init=10, random_state=seed),
    "SC": spectral,
    "SC, sigma of Table 4.1": gaussian,
    "SC, 10 neighbours": lambda *a: spectral(*a, affinity="nearest_neighbors"),
    "SC, unit rows": lambda name, c, seed, X: Rows(c, RATIO.get(name, 1.0), seed),
    "SC, no diagonal": lambda name, c, seed, X: Rows(c, None, seed),
    "start": lambda n, c, seed, X: ByNeighbours(Start(c, RATIO.get(n, 1.0), seed)),
    "KNet EIG": knet,
    "KNet SMA": lambda *a: knet(*a, update="sma"),
    "KNet, c columns": lambda name, c, seed, X: knet(name, c, seed, X, n_vectors=c),
    "KNet as described": described,
    "KNet, local start": lambda *a: knet(*a, init="self_tuning"),
    **{name: (lambda peer: lambda n, c, seed, X: peer(c, seed))(p) for name, p in PEERS.items()},
}
"""name: (set, clusters, seed, X) -> an object with `fit` and `labels_`, most with `predict`."""


def data_of(name, form="scaled"):
    """X (n, d), scaled or raw, and y (n,)."""
    bunch = SETS[name]()
    X = bunch.data.astype(float)
    return (scale(X) if form == "scaled" else X), bunch.target


def learnt_on(name, form, where, seed):
    """X (n, d) that is learnt on, its y, and X and y that labels are given to."""
    X, y = data_of(name, form)
    if where == "all":
        return X, y, X, y
    if where == "published part":  # 300 points, and the 30 000 that they were tested on
        spiral = loaders.load_spiral_300()
        return scale(spiral.data), spiral.target, scale(spiral.new), spiral.new_target
    size = round(SHARE[name] * len(X))
    rows = np.random.RandomState(seed).choice(len(X), size, replace=False)
    return X[rows], y[rows], X, y


def nmi(y, labels):
    """NMI in percent, over the geometric mean of the entropies (4.18)."""
    return 100 * normalized_mutual_info_score(y, labels, average_method="geometric")


def one(name, method, seed, form="scaled", where="all"):
    """{"NMI": ..., "NMI, trained": ..., "seconds": ...} of one run.

    where: "all" samples, or a "part" of the size of Table 4.4, drawn anew for every seed, the
    clusters then of all samples; or Spiral1's "published part".
    """
    Z, z, X, y = learnt_on(name, form, where, seed)
    c = len(np.unique(y))
    with warnings.catch_warnings(action="ignore"):  # what does not converge is a result here
        model, seconds = clocked(perf_counter, METHODS[method](name, c, seed, Z).fit, Z)
        labels = model.labels_ if where == "all" else model.predict(X)
    found = {"NMI": nmi(y, labels), "NMI, trained": nmi(z, model.labels_), "seconds": seconds}
    images = model.images(X) if method in PEERS and where == "part" else None
    if images is not None:  # as section 4.4 clusters all samples by a part
        means = KMeans(c, n_init=10, random_state=seed)
        found["NMI, images"] = nmi(y, means.fit_predict(images))
    if where == "all" and hasattr(model, "losses"):  # a search, by the loss
        of_each = [nmi(y, labels) for labels in model.labels_by_number(X)]
        found |= {"losses": model.losses, "by number": of_each}
    if isinstance(model, KNetVariant):
        found |= {"objective": model.renewals_["objective"][-1], "converged": model.converged_}
    return found


def row_of(name, method, form="scaled", where="all", seeds=10, jobs=1):
    """What `one` gives, as lists over the seeds."""
    return several(one, [(name, method, seed, form, where) for seed in range(seeds)], jobs)


AT_THEIR_BEST = {
    "SN": [(name, where) for name in SETS if name != "RCV" for where in ("all", "part")],
    "IMSAT, 800 steps": [
        *(
            (name, where)
            for name in ("Moon", "Cancer", "Wine", "Face")
            for where in ("all", "part")
        ),
        ("Spiral1", "part"),
    ],
    "IMSAT, leaking": [("Moon", "all")],
    "AEC, 200 + 60 epochs": [
        (name, where) for name in ("Moon", "Spiral1", "Cancer", "Wine") for where in ("all", "part")
    ],
    "DEC, layer by layer": [("Moon", "all"), ("Wine", "all")],
    "DEC, layer by layer, a hundredth": [("Wine", "all")],
    "SN, its program": [("Moon", "all"), ("Moon", "part"), ("Face", "all")],
    "SN, searched": [(name, "all") for name in ("Moon", "Cancer", "Wine")],
}
"""Where these were run, for their time; the others everywhere."""
LONGEST = {
    "AEC, 200 + 60 epochs": 3,
    "DEC, layer by layer": 1,
    "DEC, layer by layer, a hundredth": 1,
    "IMSAT, leaking": 3,
    "SN, its program": 3,
    "SN, searched": 1,
}
"""How often; the store has one run of AEC on all of Spiral1, of DEC three there and one on RCV,
of k-means ten on raw RCV."""


def seeds_of(name, method, where="all", folds=10):
    """How many runs: ten; five of comparators and of KNet's variants.

    Of KNet five on Spiral1 and Face; on RCV three, or two of all that trains a network, but ten of
    k-means on a part, which moves by several points from one draw to another.
    """
    if method not in PEERS and not method.startswith("KNet"):
        cheap = (method, where) == ("k-means", "part")
        return min(folds, 3 if name == "RCV" and not cheap else 10)
    plain = method in ("KNet EIG", "KNet SMA")
    most = LONGEST.get(method, 10 if plain else 5)
    return min(folds, most, {"RCV": 2, "Spiral1": 5, "Face": 5}.get(name, 10))


def wanted():
    """(set, method, form, where) of every row; KNet's variants not on RCV, for their time."""
    for name in SETS:
        for method in METHODS:
            if name == "RCV" and method.startswith(("KNet,", "KNet as")):
                continue
            if method in AT_THEIR_BEST or (name, method) == ("RCV", "SC, no diagonal"):
                continue
            yield name, method, "scaled", "all"
            if method == "SC, no diagonal":
                continue
            if not method.startswith(("SC", "KNet, ")):
                yield name, method, "scaled", "part"
            if name in ("Moon", "Wine") and not method.startswith(("KNet, ", "IMSAT")):
                yield name, method, "raw", "all"
        yield name, "k-means", "raw", "part"
        if name not in ("Moon", "Wine"):
            yield name, "k-means", "raw", "all"
    yield "Spiral1", "KNet, local start", "scaled", "part"
    yield "Spiral1", "k-means", "scaled", "published part"
    for method, places in AT_THEIR_BEST.items():
        for name, where in places:
            yield name, method, "scaled", where


def rows(only="", folds=10, jobs=1):
    """Row by row, those whose name (set/method) starts with `only`; `folds` bounds the seeds.

    Comparators are left out, with a warning, where PyTorch is not installed.
    """
    peers = find_spec("torch") is not None
    for name, method, form, where in wanted():
        if not f"{name}/{method}/".startswith(only):
            continue
        if method in PEERS and not peers:
            warnings.warn(f"{method} is left out: pip install './book[deep]'", stacklevel=2)
            continue
        seeds = seeds_of(name, method, where, folds)
        key = {"set": name, "method": method, "data": form, "where": where}
        yield key | row_of(name, method, form, where, seeds, jobs)


# ---------------------------------------------------------------- beside the print

MARGIN = 3.0
"""Points of NMI that another implementation or draw may change."""
WRONG = (-10, -9, -8, -7, -6, 6, 7, 8, 9, 10)
"""By how many points a print is made wrong, to see how many cells come out by chance."""
READINGS = {
    "AEC": ["AEC, 200 + 60 epochs", "AEC"],
    "DEC": ["DEC", "DEC, layer by layer", "DEC, layer by layer, a hundredth"],
    "IMSAT": ["IMSAT", "IMSAT, 800 steps", "IMSAT, leaking"],
    "SN": ["SN, searched", "SN", "SN, untuned", "SN, its program"],
    "SC": ["SC", "SC, sigma of Table 4.1", "SC, unit rows", "SC, no diagonal", "SC, 10 neighbours"],
}
"""What a comparator's column may have been, the plain one first; scaled features before raw."""
LABELS = {"all": "NMI", "part": "new"}
"""Which of a row's labels the program reports."""


def readings(cell, where, stored, program=(), hypotheses=()):
    """{reading: the runs' NMI} of a printed cell: a comparator's, or KNet's.

    Of a part a comparator has two: k-means on its images of all samples, as the text says, and
    the clusters that it gives itself.

    KNet's are "program", "program, start" (the rows of U before its network moves), "program,
    images" (k-means on the images at the end), of a part "program, part alone" (the rows of U of
    the samples that it is trained on) and for SMA "program, part's start" (of these samples
    themselves, whose rows it never renews), what else was tried, "text", "ours" and "ours, c
    columns"; those that were not run are left out.
    """
    name, method = cell["set"], cell["method"]
    rows = [r for r in stored if (r["set"], r["where"]) == (name, where)]
    here = {(r["method"], r["data"]): r["NMI"] for r in rows}
    first = dict(set=name, where=where, update="eig", reading="published")
    starts = [r["data"] for r in program if first.items() <= r.items()]
    if not method.startswith("KNet"):
        found = {}
        for data, way in product(("scaled", "raw"), READINGS.get(method, [method])):
            for r in (r for r in rows if (r["method"], r["data"]) == (way, data)):
                named = ", ".join([way] + ["raw"] * (data == "raw"))
                if "NMI, images" in r:  # section 4.4 clusters the images of all samples
                    found[f"{named}, images"] = r["NMI, images"]
                found[named] = r["NMI"]
        if method == "SC" and starts:
            found["the program's start"] = starts[0]
        own = dict(set=name, method=method, where=f"published {where}")
        return found | {
            f"{method}, {own['where']}": r["NMI"] for r in stored if own.items() <= r.items()
        }
    update, found = {"KNet EIG": "eig", "KNet SMA": "sma"}[method], {}
    if update == "sma" and starts and where == "all":  # the rows that it scores are never renewed
        found["program"] = starts[0]
    for r in program:
        if (r["set"], r["update"]) == (name, update) and r["where"].endswith(where):
            beside = [] if r["reading"] == "published" else [r["reading"]]
            beside += [r["where"]] * (r["where"] != where)
            found.setdefault(", ".join(["program", *beside]), r[LABELS[where]])
            if where == "all" and not beside:
                found |= {"program, start": r["start"], "program, images": r["images"]}
            if where == "part" and not beside:
                found["program, part alone"] = r["NMI"]
    if update == "sma" and where == "part":  # on RCV the parts are any, not the best of 20
        own = tried((name, "KNet"), where, hypotheses)
        found["program, part's start"] = [*own.values()][-1] if own else None
    if update == "eig":
        found["text"] = here.get(("KNet as described", "scaled"))
    for reading, name in {"ours": method, "ours, c columns": "KNet, c columns"}.items():
        found[reading] = here.get((name, "scaled"))
    return {reading: values for reading, values in found.items() if values}


def tried(key, where, hypotheses):
    """{assumption: the runs' NMI} for a cell, of rows of hypotheses-4.2."""
    own = dict(set=key[0], where=where, method=key[1].split(" ")[0])
    return {r["hypothesis"]: r["NMI"] for r in hypotheses if own.items() <= r.items()}


def near(printed, values):
    """Whether the mean of the runs is within `MARGIN` of a printed number."""
    return bool(abs(np.mean(values) - float(printed)) <= MARGIN)


def _wrong(value, off):
    """A number between 0 and 100, so many points off."""
    return value + off if 0 <= value + off <= 100 else value - off


def shown(printed, values):
    """A sign, the mean of the runs, and of several their deviation."""
    sign = "✓" if near(printed, values) else "✗"
    spread = f" ± {np.std(values):.1f}" if len(values) > 1 else ""
    return f"{sign} {np.mean(values):.1f}{spread}"


def compare(cell, where, stored, program=(), hypotheses=()):
    """(reading, the runs' NMI, whether near) by which a cell is judged; None if it is empty.

    The first reading that comes near, else the nearest one; of KNet those of the program and of
    the text, since ours is another algorithm.
    """
    if not cell["NMI"]:
        return None
    return judged(float(cell["NMI"]), readings(cell, where, stored, program, hypotheses))


def judged(value, found):
    """What `compare` gives of a printed number and its readings."""
    own = {k: v for k, v in found.items() if not k.startswith("ours")} or found
    for reading, values in own.items():
        if near(value, values):
            return reading, values, True
    reading = min(own, key=lambda k: abs(np.mean(own[k]) - value))
    return reading, own[reading], False


KNETS = ("KNet EIG", "KNet SMA")
WAYS = {"text": "by the text", "program": "by the program", "ours": "ours"}
"""Readings of KNet, and what they are called on a page."""


class Beside:
    """A printed table of NMI beside its readings: rows for a page, and verdicts.

    Parameters
    ----------
    cells : list of dict
        Printed, as `ismlit_book.printed` gives them.
    where : {"all", "part"}
    stored, program, hypotheses : list of dict
        The rows of table-4.2, of program-4.2 and of hypotheses-4.2.

    Attributes
    ----------
    value, by : dict
        {(set, method): the printed number}, and {(set, method): its `readings`}.
    """

    def __init__(self, cells, where, stored, program, hypotheses=()):
        self.cells = {(c["set"], c["method"]): c for c in cells if c["NMI"]}
        self.where, self.stored, self.hypotheses = where, stored, hypotheses
        self.value = {key: float(c["NMI"]) for key, c in self.cells.items()}
        rows = where, stored, program, hypotheses
        self.by = {key: readings(c, *rows) for key, c in self.cells.items()}
        self.methods = list(dict.fromkeys(c["method"] for c in cells))

    def runs(self, name, method):
        """The stored NMI of a method on scaled features, as it is called in the store."""
        wanted = dict(set=name, method=method, data="scaled", where=self.where)
        return next(r["NMI"] for r in self.stored if wanted.items() <= r.items())

    def plain(self, key):
        """(reading, the runs' NMI) that a rival's cell is judged by first."""
        return next(iter(self.by[key].items()))

    def knet_rows(self):
        """A row for each of KNet's cells: the text, the program, ours, and what else is near."""
        for key in self.by:
            if key[1] in KNETS:
                row = {"": f"{key[0]} {key[1].removeprefix('KNet ')}", "printed": self._print(key)}
                for kind, label in WAYS.items():
                    values = self.by[key].get(kind)
                    row[label] = shown(self.value[key], values) if values else "not run"
                yield row | {"also near": self._others(key, WAYS) or "-"}

    def _print(self, key):
        sd = self.cells[key].get("sd")
        return self.cells[key]["NMI"] + (f" ± {sd}" if sd else "")

    def _others(self, key, plain):
        return "; ".join(
            f"{k} {np.mean(v):.1f}"
            for k, v in self.by[key].items()
            if k not in plain and near(self.value[key], v)
        )

    def rival_rows(self, methods):
        """A row for each set, two columns a method: printed, and by its plain reading."""
        for name in SETS:
            row = {"": name}
            for method in methods:
                key = name, method
                row[f"{method}, printed"] = self.cells[key]["NMI"] if key in self.by else "fails"
                row[method] = self._plain(key) if key in self.by else "-"
            yield row

    def _plain(self, key):
        reading, values = self.plain(key)
        more = reading.removeprefix(key[1]).removesuffix(", images").strip(", ")
        return shown(self.value[key], values) + (f" ({more})" if more else "")

    def other_readings(self):
        """Rivals' cells whose plain reading misses and another does not."""
        for key in self.by:
            plain, values = self.plain(key)
            more = self._others(key, (plain,))
            if key[1] not in KNETS and more and not near(self.value[key], values):
                cell = f"{key[0]}, {key[1]}"
                yield {"cell": cell, "printed": self._print(key), "comes out by": more}

    def tried(self, key):
        """{assumption: the runs' NMI} for a cell, where one was changed."""
        return tried(key, self.where, self.hypotheses)

    def misses(self, methods):
        """A row for each cell of some columns that no reading gives: what was tried."""
        for key in (key for key in self.by if key[1] in methods and self.kind(key) == "not"):
            yield {
                "cell": ", ".join(key),
                "printed": self._print(key),
                "by the readings": self._listed(key, self.by[key]),
                "one assumption changed": self._listed(key, self.tried(key)) or "-",
            }

    def _listed(self, key, found):
        """Ways and means of their runs, with a sign on those that are near."""
        signed = lambda v: ("✓ " if near(self.value[key], v) else "") + f"{np.mean(v):.1f}"
        return "; ".join(f"{how} {signed(values)}" for how, values in found.items())

    def kind(self, key):
        """What a cell comes out by: "program" (or plainly), "beside", "ours" only, or "not"."""
        found = [how for how, v in self.by[key].items() if near(self.value[key], v)]
        if not found:
            return "not"
        if key[1] in KNETS:
            own = [how for how in found if not how.startswith("ours")]
            return ("program" if "program" in own else "beside") if own else "ours"
        return "program" if self.plain(key)[0] in found else "beside"

    def _count(self, keys, values_of, off=0):
        """How many cells come out by one of some values, each print made wrong by `off`."""
        wanted = {key: _wrong(self.value[key], off) for key in keys}
        return sum(any(near(wanted[key], v) for v in values_of(key)) for key in keys)

    def tallies(self):
        """How many cells come out, by KNet's readings, plainly, and by any; and of wrong prints.

        Of a reading of KNet those cells count that it was run for.
        """
        lines = []
        for kind, label in WAYS.items():
            run = [k for k, found in self.by.items() if k[1] in KNETS and kind in found]
            lines.append((f"KNet, {label}", run, lambda key, kind=kind: [self.by[key][kind]]))
        rivals = [k for k in self.by if k[1] not in KNETS]
        some = lambda key: [v for how, v in self.by[key].items() if how != "ours"]
        lines += [
            ("the others, plainly", rivals, lambda key: [self.plain(key)[1]]),
            ("the others, by some reading", rivals, some),
            ("all, by some reading", [*self.by], some),
        ]
        return [
            {
                "cells": label,
                "come out": self._count(keys, values_of),
                "of": len(keys),
                "had the print been wrong": f"{self._by_chance(keys, values_of):.1f}",
            }
            for label, keys, values_of in lines
        ]

    def _by_chance(self, keys, values_of):
        return np.mean([self._count(keys, values_of, off) for off in WRONG])

    def verdicts_on(self, name, also=()):
        """{KNet's cell on a set by the program, and another reading that is near: whether}.

        also : further readings, where they were run.
        """
        found = {}
        for key in ((name, method) for method in KNETS):
            reading, values, agrees = judged(self.value[key], self.by[key])
            served = self.by[key].get("program", values)
            found[f"{key[1]}, {'program' if 'program' in self.by[key] else reading}"] = near(
                self.value[key], served
            )
            found[f"{key[1]}, {reading}"] = agrees
            for other in (how for how in also if how in self.by[key]):
                found[f"{key[1]}, {other}"] = near(self.value[key], self.by[key][other])
        return found

    def verdicts_of(self, method):
        """{cell of a rival's column, by its plain reading or one that is near: whether}."""
        return {
            f"{key[0]}, {reading}": near(self.value[key], values)
            for key in self.by
            if key[1] == method
            for reading, values in self.by[key].items()
            if reading == self.plain(key)[0] or near(self.value[key], values)
        }

    def verdicts(self):
        """{cell: whether it comes out by the reading it is judged by}."""
        return {" ".join(key): judged(self.value[key], self.by[key])[2] for key in self.by}
