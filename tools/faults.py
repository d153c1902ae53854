"""Break the library on purpose, one fault at a time, and see that the tests notice.

``python -m tools.faults [--only TEXT] [--sample N] [--jobs N]`` copies the library and its tests
into a temporary folder, sees that the copy passes as it is, and then for each fault of
``tests/faults`` edits one file of the copy, runs the tests that should notice, and undoes the edit.
The exit status is 1 when a fault survives.
"""

import argparse
import ast
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from tqdm import tqdm

from ismlit.datasets import is_available

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "faults"
TIMEOUT = 400  # seconds until what a fault has done counts as noticed


@dataclass(frozen=True)
class Fault:
    """One deliberate fault: in `file` (below ismlit/) the text `old` becomes `new`.

    Attributes
    ----------
    area : str
        The file of ``tests/faults`` that lists it, without suffix.
    name : str
        What is wrong, in words.
    file, old, new : str
        `old` occurs exactly once in the file, so that the list cannot rot.
    tests : tuple of str
        Files or node ids that should notice, the likeliest first.
    notebooks : tuple of str
        Paths below book/ whose execution should notice as well, where one asks for it.
    data : str
        A real data set without which the tests would be skipped.
    """

    area: str
    name: str
    file: str
    old: str
    new: str
    tests: tuple
    notebooks: tuple = ()
    data: str = ""

    @property
    def title(self):
        """Area and name."""
        return f"{self.area}: {self.name}"


def load(folder=FOLDER):
    """All faults, area by area."""
    return [
        Fault(path.stem, **{k: tuple(v) if isinstance(v, list) else v for k, v in row.items()})
        for path in sorted(folder.glob("*.yml"))
        for row in yaml.safe_load(path.read_text(encoding="utf-8"))
    ]


# ---------------------------------------------------------------- the edit


def edited(fault, root=ROOT):
    """The whole text of the fault's file, before and after.

    Raises
    ------
    ValueError
        If the fault has rotted: its text does not occur once, or the edit is none to Python, or
        leaves no Python.
    """
    before = (root / "ismlit" / fault.file).read_text(encoding="utf-8")
    if before.count(fault.old) != 1:
        raise ValueError(
            f"{fault.title!r}: its text occurs {before.count(fault.old)} times in {fault.file} "
            f"and must occur once: {fault.old!r}"
        )
    after = before.replace(fault.old, fault.new)
    line = before.count("\n", 0, before.index(fault.old)) + 1
    first, last = _around(before, line, line + fault.old.count("\n"))
    grown = after.count("\n") - before.count("\n")
    try:
        if _parsed(before, first, last) == _parsed(after, first, last + grown):
            raise ValueError(f"{fault.title!r} changes nothing")
    except SyntaxError as error:
        raise ValueError(f"{fault.title!r} leaves no Python: {error}") from error
    return before, after


def _around(text, first, last):
    """The first and last line of the smallest function, or else statement, that holds some lines.

    What an edit does to a file it does to that; parsing it alone is much faster.
    """
    around = [span for span in _spans(text) if span[0] <= first and last <= span[1]]
    return min(around, key=lambda span: span[1] - span[0])


@cache
def _spans(text):
    """First and last lines of the statements and functions of a module."""
    tree = ast.parse(text)
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return [(node.lineno, node.end_lineno) for node in (*tree.body, *functions)]


def _parsed(text, first, last):
    """The syntax tree of some whole lines, as text."""
    part = "\n".join(text.split("\n")[first - 1 : last])
    return ast.dump(ast.parse("if True:\n" + part if part[0] == " " else part))


# ---------------------------------------------------------------- a run in a copy

# Loaded by every run: the same examples each time, and proof that the copy is what is tested.
PLUGIN = """
from pathlib import Path

import hypothesis
import ismlit

if Path(ismlit.__file__).resolve().parents[1] != Path(__file__).resolve().parent:
    raise SystemExit(f"not the copy: {ismlit.__file__}")
hypothesis.settings.register_profile("faults", derandomize=True, database=None)
hypothesis.settings.load_profile("faults")
"""


def copy_to(folder):
    """What a run needs, in a folder of its own."""
    ignore = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", "_build", ".hypothesis")
    for name in ("ismlit", "tests", "tools", "book"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "faults_plugin.py").write_text(PLUGIN, encoding="utf-8")


def run(copy, targets, options, timeout=None):
    """Run pytest on some targets in a copy.

    Returns
    -------
    first : str or None
        The first test that fails, or words for a run without end; None where all pass.
    output : str
        What pytest said.

    Raises
    ------
    RuntimeError
        If pytest could not run, or had nothing to run.
    """
    environment = os.environ | dict(
        PYTHONPATH=str(copy),
        PYTHONDONTWRITEBYTECODE="1",  # an edit and its undoing may fall into one second
        PYTHONHASHSEED="0",
        OMP_NUM_THREADS="1",
        MPLBACKEND="agg",
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",  # half of the time that pytest takes to start
    )
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-rfE", "--tb=no", "--no-header"]
    command += ["-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin", "-p", "faults_plugin"]
    try:
        done = subprocess.run(
            [*command, *options, *targets],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return f"no answer in {timeout} s", ""
    output = done.stdout + done.stderr
    if done.returncode == 0:
        return None, output
    first = re.search(r"^(?:FAILED|ERROR) (?:tests/)?(.+?)(?: - .*)?$", done.stdout, re.M)
    if first is None:
        raise RuntimeError(f"pytest could not run {', '.join(targets)}\n{output}")
    return first[1], output


def runs_of(faults, with_notebooks):
    """What is to be run for some faults: targets, none of them twice, and options of pytest."""
    yield [*dict.fromkeys(test for fault in faults for test in fault.tests)], ()
    notebooks = dict.fromkeys(f"book/{name}" for fault in faults for name in fault.notebooks)
    if with_notebooks and notebooks:
        plugins = "-p", "nbval.plugin", "-p", "tools.nbval_plugin"
        yield [*notebooks], (*plugins, "--nbval-lax", "--nbval-current-env")


def attempt(fault, copies, with_notebooks):
    """Apply one fault in a free copy and run what should notice it.

    Returns
    -------
    noticed : list of (str or None)
        By what, for the tests and for the notebooks; None where it was not.
    seconds : float
    """
    copy, start = copies.get(), time.monotonic()
    file = copy / "ismlit" / fault.file
    before, after = edited(fault, copy)
    try:
        file.write_text(after, encoding="utf-8")
        runs = runs_of([fault], with_notebooks)
        noticed = [run(copy, what, how, TIMEOUT)[0] for what, how in runs]
        return noticed, time.monotonic() - start
    finally:
        file.write_text(before, encoding="utf-8")
        copies.put(copy)


def demand_sound(copy, faults, with_notebooks):
    """What is to notice something must pass while nothing is wrong."""
    for what, how in runs_of(faults, with_notebooks):
        first, output = run(copy, what, how)
        if first is not None:
            sys.exit(f"the library as it is does not pass: {first}\n{output}")


# ---------------------------------------------------------------- the command


def chosen(options):
    """The faults asked for, and those among them whose data set is not at hand."""
    faults = [f for f in load() if options.only.lower() in f.title.lower()]
    if not faults:
        sys.exit(f"no fault has {options.only!r} in its area or name")
    if options.sample:
        drawn = random.Random(options.seed).sample(faults, min(options.sample, len(faults)))
        faults = [fault for fault in faults if fault in drawn]
    skipped = [fault for fault in faults if fault.data and not is_available(fault.data)]
    return [fault for fault in faults if fault not in skipped], skipped


def main():
    """Run the faults asked for and say what became of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="TEXT", default="", help="those with TEXT in their title")
    parser.add_argument("--sample", metavar="N", type=int, help="N of them, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default 0)")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once (default 2)")
    parser.add_argument(
        "--notebooks", action="store_true", help="the notebooks named must notice, too"
    )
    options = parser.parse_args()
    faults, skipped = chosen(options)
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        copies = queue.Queue()
        for number in range(options.jobs):
            copy = Path(folder).resolve() / f"copy-{number}"
            copy_to(copy)
            copies.put(copy)
        print(f"the library as it is, on the tests of {len(faults)} faults", flush=True)
        demand_sound(copy, faults, options.notebooks)
        with ThreadPoolExecutor(options.jobs) as pool:
            tasks = {pool.submit(attempt, f, copies, options.notebooks): f for f in faults}
            for task in tqdm(as_completed(tasks), total=len(tasks), unit="fault", disable=None):
                noticed, seconds = task.result()
                by = ", ".join(what or "NOTHING" for what in noticed)
                survivors += None in noticed
                tqdm.write(f"{tasks[task].title}: noticed by {by} ({seconds:.0f} s)")
    for fault in skipped:
        print(f"{fault.title}: SKIPPED, the data set {fault.data!r} is not at hand")
    print(f"{len(faults)} faults, {survivors} survive, {len(skipped)} skipped")
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
