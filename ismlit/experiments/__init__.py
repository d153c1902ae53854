"""The thesis's experiments: one small module per table; ``python -m ismlit.experiments``."""

from __future__ import annotations

import csv
import json
import platform
import time
from importlib.metadata import version
from pathlib import Path

from ismlit.claims import folder

PACKAGES = ("ismlit", "numpy", "scipy", "scikit-learn")


def printed(table):
    """The printed numbers of a table (rows as dicts), kept as data in book/thesis."""
    path = folder().parent / "thesis" / f"{table}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def store(table, rows, seconds, settings):
    """Write book/results/<table>.json: numbers with versions, settings and wall time."""
    path: Path = folder().parent / "results" / f"{table}.json"
    path.parent.mkdir(exist_ok=True)
    provenance = dict(
        versions={name: version(name) for name in PACKAGES},
        python=platform.python_version(),
        machine=platform.machine(),
        date=time.strftime("%Y-%m-%d"),
        seconds=round(seconds, 1),
        settings=settings,
    )
    text = json.dumps(dict(provenance=provenance, rows=rows), indent=1) + "\n"
    path.write_text(text, encoding="utf-8")
    return path
