"""Printed numbers (``thesis``) and recomputed ones (``results``), as rows."""

import contextlib
import csv
import json
import platform
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from itertools import permutations
from pathlib import Path

from ismlit import __version__

from ismlit_book.files import data, is_checkout

PACKAGES = ("numpy", "scipy", "scikit-learn")
EXTRAS = ("torch", "clustpy", "spectralnet")
"""Recorded where they are installed."""
READ = {"thesis": set(), "results": set()}
"""The tables that were read in this process."""


def printed(table):
    """The printed numbers of a table (rows as dicts), kept as data in book/ismlit_book/thesis."""
    READ["thesis"].add(table)
    path = data() / "thesis" / f"{table}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def cited_by(claim_id):
    """The items that the thesis cites where a claim says so, as it prints them."""
    return [row["cites"] for row in printed("references") if row["claim"] == claim_id]


def results(table):
    """The stored rows of a table: [] when it was never run."""
    READ["results"].add(table)
    path = results_file(table)
    return json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []


def bench(part):
    """The rows of the newest run of the bench that has the part: {work: row}.

    Parameters
    ----------
    part : str
        What the name of their work contains.

    Returns
    -------
    dict of {str: dict}
        As ``tools.bench`` has stored them.

    Examples
    --------
    >>> from ismlit_book.record.tables import bench
    >>> all("to the same J" in work for work in bench("to the same J"))
    True
    """
    runs = json.loads(results_file("bench").read_text(encoding="utf-8"))
    found = ({r["work"]: r for r in run["rows"] if part in r["work"]} for run in reversed(runs))
    return next(filter(None, found), {})


def by_chance(keys, agrees):
    """The placebo of a count of agreements: how often a wrong pair would have agreed.

    Parameters
    ----------
    keys : iterable
        Of what is printed and recomputed.
    agrees : callable
        ``agrees(one, other)`` tells whether what is printed for `one` agrees with what was
        recomputed for `other`, or None where the pair says nothing.

    Returns
    -------
    float
        Share of all pairs of different keys that agree.

    Examples
    --------
    >>> from ismlit_book.record.tables import by_chance
    >>> printed, found = {"a": 1.0, "b": 1.1, "c": 3.0}, {"a": 1.0, "b": 1.0, "c": 2.0}
    >>> round(by_chance(printed, lambda i, j: abs(printed[i] - found[j]) < 0.15), 2)
    0.33
    """
    outcomes = [agrees(*pair) for pair in permutations(keys, 2)]
    outcomes = [bool(outcome) for outcome in outcomes if outcome is not None]
    return sum(outcomes) / len(outcomes)


def results_file(table) -> Path:
    """Where the rows of a table are stored."""
    return data() / "results" / f"{table}.json"


def store(table, rows, settings, folder=None):
    """Write <table>.json: the rows, each with the run that it comes from. Returns the path.

    A row is a dict whose strings, and whose `size`, say what it is; it replaces a stored row
    with the same ones, so that a table can be recomputed in parts. Rows go to the results of a
    checkout, or to `folder`.

    Raises
    ------
    ValueError
        Without a folder, where the package is installed and not a checkout.
    """
    if folder is None and not is_checkout():
        raise ValueError("an installed package holds no results of yours: say where, --out FOLDER")
    path = results_file(table) if folder is None else Path(folder) / f"{table}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    runs = kept.get("runs", [])
    provenance = _provenance(settings)
    if provenance not in runs:
        runs.append(provenance)
    rows = [dict(row, run=runs.index(provenance)) for row in rows]
    merged = {_name(row): row for row in [*kept.get("rows", []), *rows]}
    lines = ",\n  ".join(json.dumps(row) for row in merged.values())
    text = f'{{\n "runs": {json.dumps(runs)},\n "rows": [\n  {lines}\n ]\n}}\n'
    path.write_text(text, encoding="utf-8")
    return path


def _name(row):
    """What tells a row from others."""
    return (*(value for value in row.values() if isinstance(value, str)), row.get("size"))


def commit():
    """The commit of the code that runs, with a + where it was changed since; "" in no checkout."""
    if not is_checkout():
        return ""
    git = ["git", "-C", str(data().parents[1])]
    asked = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    code = ["ismlit", "book/ismlit_book", ":!book/ismlit_book/results"]
    changed = subprocess.run([*git, "status", "--porcelain", "--", *code], capture_output=True)
    return asked.stdout.strip() + ("+" if changed.stdout else "")


def _provenance(settings):
    """With what, when, how, and by which code a row was computed."""
    found = {"ismlit": __version__} | {package: version(package) for package in PACKAGES}
    for package in EXTRAS:
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return dict(
        versions=found,
        python=platform.python_version(),
        machine=platform.machine(),
        date=time.strftime("%Y-%m-%d"),
        commit=commit(),
        settings=settings,
    )
