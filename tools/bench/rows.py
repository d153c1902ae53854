"""A row of the bench, what it prints, and the file that keeps its history."""

import json
import os
import platform
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

from ismlit_book.record.tables import commit

HISTORY = Path(__file__).resolve().parents[2] / "book" / "ismlit_book" / "results" / "bench.json"
PACKAGES = "numpy", "scipy", "scikit-learn"


@dataclass(frozen=True)
class Row:
    """One number and its target.

    Attributes
    ----------
    work : str
    value : float
        A ratio, unless `unit` says otherwise.
    most, least : float or None
        The target, as a bound from above or from below.
    unit : str
    points : list of [size, CPU seconds, gigabytes]
        What an exponent was read from.
    beyond : bool
        The value is a bound: that long was waited, in vain.
    """

    work: str
    value: float
    most: float | None = None
    least: float | None = None
    unit: str = ""
    points: list | None = None
    beyond: bool = False

    @property
    def met(self):
        """Whether the target is met; None without one."""
        if self.most is not None:
            return bool(self.value <= self.most)
        return None if self.least is None else bool(self.value >= self.least)

    def __str__(self):
        sign = {True: "✓", False: "✗", None: " "}[self.met]
        value = f"{'> ' if self.beyond else ''}{self.value:.3g}{self.unit}"
        bounds = [(self.most, "≤"), (self.least, "≥")]
        target = "".join(f"{s} {b:g}{self.unit}" for b, s in bounds if b is not None)
        return f"{sign} {self.work:<66} {value:>10} {target:>10}".rstrip()


def take_turns(runs, turns):
    """The least seconds of each run {name: function}, after one of each to warm up."""
    best = dict.fromkeys(runs, float("inf"))
    for turn in range(turns + 1):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            if turn:
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def compared(work, turns, run, beside, **more):
    """The row of how many times as long one run takes as another."""
    best = take_turns({"beside": beside, "run": run}, turns)
    return Row(work, best["run"] / best["beside"], **more)


def machine():
    """The kind of machine and the versions, without names of hosts or people."""
    model = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    of_python = {"cores": os.cpu_count(), "python": platform.python_version()}
    return {"processor": model} | of_python | {name: version(name) for name in PACKAGES}


def store(rows, path=HISTORY):
    """Add a run to the history; one of the same day on the same machine, row by row."""
    history = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    key = {"date": date.today().isoformat(), **machine()}
    same = [entry for entry in history if key.items() <= entry.items()]
    merged = {row["work"]: row for entry in same for row in entry["rows"]}
    for row in rows:
        given = {k: v for k, v in asdict(row).items() if v not in (None, "", False) or k == "value"}
        merged[row.work] = given | {"value": float(f"{row.value:.3g}")}
    history = [entry for entry in history if entry not in same]
    history.append({**key, "commit": commit(), "rows": list(merged.values())})
    path.write_text(json.dumps(history, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
