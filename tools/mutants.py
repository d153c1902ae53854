"""Draw generic mutants of the library and see that the tests which cover each one notice it.

``python -m tools.mutants --seed 1 --number 100`` draws lines of the library that tests cover,
changes one thing in each (an operator, a constant, an axis, a statement that goes), and runs the
covering tests, the fastest first. Survivors are listed; those of ``tools/mutants_equivalent.yml``
cannot be noticed and are counted apart. The exit status is 0 unless ``--at-least`` says otherwise.
Which tests cover a line is found once per test file, with the package coverage, and remembered.
"""

import argparse
import ast
import hashlib
import json
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import yaml
from tqdm import tqdm

from tools.mutations import Source

ROOT = Path(__file__).resolve().parents[1]
EQUIVALENT = Path(__file__).with_name("mutants_equivalent.yml")
PLUGIN = Path(__file__).with_name("mutants_plugin.py")
CACHE = ROOT / "_build" / "mutants"
SHARED = 20  # on a busy machine a second of the processor may take so many
NO_TEST = "no test could run"

# ---------------------------------------------------------------- which tests look


def covering(source, coverage):
    """{line: tests} of a file: of its statement, else (what an import runs) of the whole file.

    The tests of a function's head, where its default values stand, are those of its body.
    """
    covered = {int(line): tests for line, tests in coverage["lines"].get(source.file, {}).items()}
    everyone = sorted({test for tests in covered.values() for test in tests})
    table = {}
    inside = {
        id(below)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef)
        for below in ast.walk(node)
    }
    for node in ast.walk(source.tree):  # outer statements come first
        if not isinstance(node, ast.stmt):
            continue
        behind = getattr(node, "body", [node])[0]
        last = node.end_lineno if behind is node else max(behind.lineno - 1, node.lineno)
        whole = node.end_lineno if isinstance(node, ast.FunctionDef) else last
        tests = {test for i in range(node.lineno, whole + 1) for test in covered.get(i, [])}
        tests = sorted(tests) if id(node) in inside else everyone
        table |= dict.fromkeys(range(node.lineno, last + 1), tests)
    return table


def cached_coverage(copy, tests):
    """Seconds and covered lines of all tests, one run for each file that has changed."""
    library = digest(sorted((copy / "ismlit").rglob("*.py")), copy)
    shared = [copy / "tests" / name for name in ("conftest.py", "problems.py")]
    seconds, lines = {}, {}
    for path in tqdm(tests, unit="test file", desc="coverage", disable=None):
        key = digest([path, *shared], copy, library)
        cache = CACHE / f"{path.parent.name}-{path.stem}-{key}.json"
        if not cache.exists():
            CACHE.mkdir(parents=True, exist_ok=True)
            new = cache.with_suffix(".new")
            failed, output = pytest(copy, [path, "-m", "not slow and not browser"], 3600, new)
            if not new.exists():
                raise SystemExit(f"no coverage of {path.name}\n{output}")
            if failed:
                tqdm.write(f"not counted, since it fails as it is: {failed}, perhaps more")
            new.replace(cache)
        found = json.loads(cache.read_text(encoding="utf-8"))
        seconds |= found["seconds"]
        for file, table in found["lines"].items():
            for line, names in table.items():
                lines.setdefault(file, {}).setdefault(line, []).extend(names)
    return {"seconds": seconds, "lines": lines}


def digest(paths, below, start=""):
    """A short name of the contents of files."""
    parts = [path.relative_to(below).as_posix().encode() + path.read_bytes() for path in paths]
    return hashlib.sha256(start.encode() + b"\0".join(parts)).hexdigest()[:16]


# ---------------------------------------------------------------- run


def copy_to(folder, root=ROOT):
    """What a run needs, in an own folder."""
    ignore = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", "_build", ".hypothesis")
    for name in ("ismlit", "tests", "book"):
        shutil.copytree(root / name, folder / name, ignore=ignore)
    shutil.copy(root / "pyproject.toml", folder)
    shutil.copy(PLUGIN, folder)
    return folder


def pytest(copy, arguments, limit, coverage=""):
    """Run pytest in a copy. Returns what failed (None: nothing did) and the output."""
    environment = dict(os.environ) | dict(
        PYTHONPATH=str(copy),
        PYTHONDONTWRITEBYTECODE="1",  # an edit and its undoing may fall into one second
        PYTHONHASHSEED="0",
        OMP_NUM_THREADS="1",
        MPLBACKEND="agg",
        MUTANTS_COVERAGE=str(coverage),
        MUTANTS_SECONDS=str(limit),
    )
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=no", "--no-header"]
    command += ["-p", "no:cacheprovider", "-p", "mutants_plugin", "--hypothesis-seed=0"]
    command += [] if coverage else ["-x"]
    with tempfile.TemporaryFile("w+") as output:
        command += map(str, arguments)
        pipes = dict(stdout=output, stderr=subprocess.STDOUT)
        try:
            status = subprocess.run(
                command, cwd=copy, env=environment, timeout=SHARED * limit, **pipes
            ).returncode
        except subprocess.TimeoutExpired:
            status = -signal.SIGXCPU
        output.seek(0)
        text = output.read()
    if "KeyboardInterrupt" in text:
        raise KeyboardInterrupt
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"no answer in {limit} s", text
    first = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", text, re.M)
    return None if status == 0 else first[1] if first else NO_TEST, text


def attempt(mutant, tests, seconds, copies, budget):
    """Run the fastest tests that cover a mutant. Returns what noticed it and how many looked."""
    chosen, total = [], 0.0
    for test in sorted(tests, key=lambda test: (seconds[test], test)):
        total += seconds[test]
        if chosen and total > budget:
            break
        chosen.append(test)
    copy = copies.get()
    file = copy / mutant.file
    before = file.read_bytes()
    try:
        file.write_bytes(mutant.apply(before))
        return pytest(copy, chosen, 30 + 3 * int(min(total, budget)))[0], len(chosen)
    finally:
        file.write_bytes(before)
        copies.put(copy)


def draw(sources, tables, seed, number):
    """Mutants of `number` lines that tests cover, any line as likely as any other.

    Whether and how a line is changed depends on the seed and on its text, not on other lines.
    """
    lines = {}
    for source in sources:
        for mutant in source.mutants():
            lines.setdefault((source, mutant.line), []).append(mutant)
    order = []
    for (source, line), mutants in lines.items():
        if tables[source.file].get(line):
            rng = random.Random(f"{seed} {source.file} {mutants[0].before}")
            order.append((rng.random(), rng.sample(mutants, len(mutants)), source))
    print(f"{len(order)} of {len(lines)} lines that can be changed are covered by tests")
    drawn = []
    for _, mutants, source in sorted(order, key=lambda entry: entry[0]):
        if len(drawn) < number:
            drawn += [m for m in mutants if source.is_changed(m)][:1]
    return drawn


def run_all(mutants, tables, seconds, copies, budget):
    """{mutant: what noticed it} of those done before a Ctrl-C; the others are shown at once."""
    outcomes = {}
    with ThreadPoolExecutor(copies.qsize()) as pool:
        run = lambda m: attempt(m, tables[m.file][m.line], seconds, copies, budget)
        tasks = {pool.submit(run, mutant): mutant for mutant in mutants}
        try:
            for task in tqdm(as_completed(tasks), total=len(tasks), unit="mutant", disable=None):
                mutant = tasks[task]
                outcomes[mutant], looked = task.result()
                if outcomes[mutant] in (None, NO_TEST):
                    what = outcomes[mutant] or f"survives {looked} tests"
                    tqdm.write(f"{what}: {describe(mutant)}")
                    sys.stdout.flush()
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
    return outcomes


def describe(mutant):
    """A mutant in three lines."""
    return f"{mutant.file}:{mutant.line}\n    {mutant.before}\n    {mutant.after}"


def known_equivalents(sources):
    """The (file, before, after) that cannot be noticed; a note for each that is not there now."""
    rows = yaml.safe_load(EQUIVALENT.read_text(encoding="utf-8")) or []
    texts = {source.file: " ".join(source.raw.decode().split()) for source in sources}
    for row in rows:
        if row["before"] not in texts.get(row["file"], row["before"]):
            print(f"{EQUIVALENT.name}: no more in {row['file']}: {row['before']}")
    return {(row["file"], row["before"], row["after"]) for row in rows}


def modules(copy, edition, only):
    """The sources to change, of the library or of the edition."""
    folder = copy / "ismlit"
    paths = sorted((folder / "edition").rglob("*.py") if edition else folder.glob("*.py"))
    chosen = [path for path in paths if only in (None, path.stem)]
    if not chosen:
        raise SystemExit(f"no module {only!r}; there are {[path.stem for path in paths]}")
    return [Source(path.relative_to(copy).as_posix(), path.read_bytes()) for path in chosen]


def parsed():
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="of the draw (default 1)")
    parser.add_argument("--number", type=int, default=100, help="how many (default 100)")
    parser.add_argument("--only", metavar="MODULE", help="only mutants of this module")
    parser.add_argument("--edition", action="store_true", help="of ismlit/edition, with its tests")
    parser.add_argument("--jobs", type=int, default=1, help="how many at once (default 1)")
    parser.add_argument("--seconds", type=float, default=90, help="of tests for each (default 90)")
    parser.add_argument("--at-least", type=float, default=0, help="least percentage of noticed")
    parser.add_argument("--list", action="store_true", help="only show what would be drawn")
    return parser.parse_args()


def main():
    options, copies = parsed(), queue.Queue()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = copy_to(Path(folder).resolve() / "copy-0")
        copies.put(copy)
        for number in range(1, options.jobs):
            copies.put(copy_to(copy.with_name(f"copy-{number}"), copy))
        sources = modules(copy, options.edition, options.only)
        tests = copy / "tests" / ("edition" if options.edition else "")
        coverage = cached_coverage(copy, sorted(tests.glob("test_*.py")))
        tables = {source.file: covering(source, coverage) for source in sources}
        mutants = draw(sources, tables, options.seed, options.number)
        if options.list:
            return print(*map(describe, mutants), sep="\n")
        known = known_equivalents(sources)
        wanted = [m for m in mutants if (m.file, m.before, m.after) not in known]
        outcomes = run_all(wanted, tables, coverage["seconds"], copies, options.seconds)

    noticed = sum(what is not None for what in outcomes.values())
    share = 100 * noticed / max(len(outcomes), 1)
    print(f"{noticed} noticed, {len(outcomes) - noticed} survive: {share:.0f} % noticed")
    equivalent, missing = len(mutants) - len(wanted), len(wanted) - len(outcomes)
    print(f"beside them {equivalent} equivalent, {missing} not run")
    sys.exit(share < options.at_least)


if __name__ == "__main__":
    main()
