"""The thesis's experiments: one small module per table; ``python -m ismlit.experiments``."""

from __future__ import annotations

import contextlib
import csv
import json
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sklearn.preprocessing import scale

from ismlit import datasets
from ismlit.claims import folder

PACKAGES = ("ismlit", "numpy", "scipy", "scikit-learn")
EXTRAS = ("torch", "clustpy", "spectralnet")
"""Recorded where they are installed."""
SEED = 0
SETS = {
    "Wine": datasets.load_wine,
    "Cancer": datasets.load_cancer,
    "Face": datasets.load_face,
    "MNIST": datasets.load_mnist,
}


def prepared(name):
    """X (n, d) standardised and y (n,) of a set of chapter 5; constant columns are dropped.

    MNIST comes in single precision, which halves its time.
    """
    bunch = SETS[name]()
    X = bunch.data[:, bunch.data.std(axis=0) > 0]
    return scale(X).astype("float32" if name == "MNIST" else float), bunch.target


def printed(table):
    """The printed numbers of a table (rows as dicts), kept as data in book/thesis."""
    path = folder().parent / "thesis" / f"{table}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def results(table):
    """The stored rows of a table: [] when it was never run."""
    path = _path(table)
    return json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []


def over_runs(found):
    """One dict of lists from the dicts of several runs."""
    return {key: [f[key] for f in found] for key in found[0]}


def store(table, rows, settings):
    """Write book/results/<table>.json: the rows, each with the run that it comes from.

    A row is a dict whose strings, and whose `size`, say what it is; it replaces a stored row
    with the same ones, so that a table can be recomputed in parts.
    """
    path, name = (
        _path(table),
        lambda row: (
            *(v for v in row.values() if isinstance(v, str)),
            row.get("size"),
        ),
    )
    path.parent.mkdir(exist_ok=True)
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
    provenance = dict(
        versions=_versions(),
        python=platform.python_version(),
        machine=platform.machine(),
        date=time.strftime("%Y-%m-%d"),
        settings=settings,
    )
    if provenance not in runs:
        runs.append(provenance)
    rows = [dict(row, run=runs.index(provenance)) for row in rows]
    merged = {name(row): row for row in [*results(table), *rows]}
    lines = ",\n  ".join(json.dumps(row) for row in merged.values())
    text = f'{{\n "runs": {json.dumps(runs)},\n "rows": [\n  {lines}\n ]\n}}\n'
    path.write_text(text, encoding="utf-8")
    return path


def _versions():
    found = {package: version(package) for package in PACKAGES}
    for package in EXTRAS:
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _path(table) -> Path:
    return folder().parent / "results" / f"{table}.json"
