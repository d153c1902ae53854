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

from tqdm import tqdm

HISTORY = Path(__file__).resolve().parents[2] / "book" / "ismlit_book" / "results" / "bench.json"
PACKAGES = "numpy", "scipy", "scikit-learn"
EXPLAINED = {
    "one pass / floor": "where exp has eight lanes, distances, weights and sums cost as much",
    "1000 classes / 2 classes": "its table of pairs of classes, 8 MB, leaves the cache",
    "Hessian product / pass, n = 2000, d = 20": "a fresh process asks for its memory anew",
    "polar L-BFGS / ism, to": "near a single eigenproblem, or another maximum is climbed to",
    "Riemannian L-BFGS / ism, to": "near a single eigenproblem, or another maximum is climbed to",
    "trust region / ism, to": "another maximum is climbed to, or the test takes most of the time",
    "conjugate gradients / ism, to": "another maximum is climbed to, or the test takes most of it",
    "network fit / support vector machine": "that takes 2 to 3 ms, and the ratio moves with it",
    "accuracy behind the machine, points, 10 000": "a thousand random features, where it is exact",
    "KNet fit / spectral clustering": "pairs of a batch, networks and bandwidths, a third each",
    "10⁶ x 50, 300 features, whole fit": "as it comes; from Taylor to tol=1e-3 it took 12 s",
    "10⁶ x 50, 300 features, memory": "X, centred, and by class, 0.2 GB each, beside Python's",
    "exponent of classes": "every class has sums of its own, of the size of the features",
    "UnsupervisedIKDR fit / spectral": "one eigenproblem there, a subspace and some seventy here",
}
"""Why a row whose name begins so may miss its target."""


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
    unit, note : str
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
    note: str = ""
    points: list | None = None
    beyond: bool | None = None

    @property
    def met(self):
        """Whether the target is met; None without one."""
        if self.most is not None:
            return bool(self.value <= self.most)
        return None if self.least is None else bool(self.value >= self.least)

    @property
    def target(self):
        if self.most is not None:
            return f"≤ {self.most:g}{self.unit}"
        return "" if self.least is None else f"≥ {self.least:g}{self.unit}"

    def __str__(self):
        sign = {True: "✓", False: "✗", None: " "}[self.met]
        value = f"{'> ' if self.beyond else ''}{self.value:.3g}{self.unit}"
        reasons = [why for work, why in EXPLAINED.items() if self.work.startswith(work)]
        told = "; ".join(filter(None, [self.note, *(reasons if self.met is False else [])]))
        return f"{sign} {self.work:<66} {value:>10} {self.target:>10}  {told}".rstrip()


def take_turns(runs, turns, label=""):
    """The least seconds of each run {name: function}, after one of each to warm up."""
    best = dict.fromkeys(runs, float("inf"))
    with tqdm(total=(turns + 1) * len(runs), desc=label, disable=None, leave=False) as bar:
        for turn in range(turns + 1):
            for name, run in runs.items():
                start = time.perf_counter()
                run()
                if turn:
                    best[name] = min(best[name], time.perf_counter() - start)
                bar.update()
    return best


def compared(work, turns, ours, plain, **more):
    """The row of how many times as long one run takes as another."""
    best = take_turns({"plain": plain, "ours": ours}, turns, work)
    return Row(work, best["ours"] / best["plain"], **more)


def machine():
    """The kind of machine and the versions, without names of hosts or people."""
    model = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


def store(rows, path=HISTORY):
    """Add a run to the history; one of the same day on the same machine, row by row."""
    history = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    key = {"date": date.today().isoformat(), **machine()}
    same = [entry for entry in history if {k: entry.get(k) for k in key} == key]
    history = [entry for entry in history if entry not in same]
    empty = None, "", False
    said = lambda row: {k: v for k, v in asdict(row).items() if not any(v is e for e in empty)}
    kept = [said(row) for row in rows]
    for row in kept:
        row["value"] = float(f"{row['value']:.3g}")
    merged = {row["work"]: row for entry in same for row in entry["rows"]}
    merged |= {row["work"]: row for row in kept}
    history.append({**key, "rows": list(merged.values())})
    path.write_text(json.dumps(history, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
