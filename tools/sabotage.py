"""Falsify the formulas behind each claim, one at a time, and see whether its check notices.

``python -m tools.sabotage [NOTEBOOK ...] [--per-claim N] [--seed S] [--claims TEXT] [--store]``
follows each call of ``check`` back to the statements that it rests on, draws places in them at
random, and runs the notebook on from there with one of them falsified: an operator, a coefficient,
a sign, a transpose, a lost term, a shifted index, a maximum for a minimum. It is noticed if a
statement on the way raises, or if a check or a line that is printed says something else.
Sizes, thresholds and their margins, seeds, made-up data, drawings and forms meant to be wrong are
left alone.

As a control one statement of each notebook is run as it is, in the same harness, and has to pass.
With ``--store`` the score of each claim goes to ``results/sabotage.json``, which the ledger shows.

The exit status is 1 if more than a share of 5 % survives that is not explained in
``tools/sabotage_survivors.yml``.
"""

import argparse
import ast
import contextlib
import copy
import io
import json
import multiprocessing
import os
import random
import sys
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import yaml
from ismlit_book.record.slices import MADE_UP, name_called, rests_on, statements
from ismlit_book.record.tables import store
from tqdm import tqdm

from tools.execute_notebooks import ROOT, notebooks_of

SURVIVORS = Path(__file__).with_name("sabotage_survivors.yml")
LIMIT = 60  # seconds that one falsified run may take; a slower one is not counted
GOAL = 0.95

OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
OTHER = {"max": "min", "min": "max", "argmax": "argmin", "argmin": "argmax"}
OTHER |= {"sin": "cos", "cos": "sin", "maximum": "minimum", "minimum": "maximum"}
NOT_A_FORMULA = set(
    """print range default_rng figure subplots scatter display Latex zeros ones empty full round
    linspace arange logspace standard_normal uniform normal integers permutation symbols Symbol
    isclose allclose warn simplefilter filterwarnings shuffle format set_title legend text annotate
    reshape astype spoilable SeedSequence spawn make_two_views""".split()
)
"""Calls whose arguments are sizes, seeds, tolerances or drawings."""
NOT_A_FORMULA_KEY = set(
    """tol rtol atol seed seeds random_state max_iter max_turns n_jobs figsize label size n_init
    spoilt against sizes kernels decimals invariant""".split()
)


# ---------------------------------------------------------------- what can be falsified


def sites(tree):
    """Places of a statement to falsify: (node, the kind of fault, what takes its place)."""
    found = []

    def visit(node, left_alone):
        if isinstance(node, ast.BinOp) and _names_called(node) & MADE_UP:
            return  # data that are made up
        if isinstance(node, ast.Call):
            name = name_called(node)
            inner = left_alone or name in NOT_A_FORMULA or name.startswith(("plot", "set_", "ax"))
            if not inner and name in OTHER:
                of = "attr" if isinstance(node.func, ast.Attribute) else "id"
                found.append((node.func, "other", _changed(node.func, **{of: OTHER[name]})))
            visit(node.func, left_alone)
            for argument in node.args:
                visit(argument, inner)
            for key in node.keywords:
                visit(key.value, inner or key.arg in NOT_A_FORMULA_KEY)
            return
        if isinstance(node, ast.Subscript):
            visit(node.value, left_alone)
            if getattr(node.value, "attr", "") in ("c_", "r_"):  # columns side by side
                visit(node.slice, left_alone)
            elif not left_alone and not _is_shape(node.value):
                for part in ast.walk(node.slice):
                    if isinstance(part, ast.Constant) and type(part.value) is int:
                        found.append((part, "index", ast.Constant(part.value + 1)))
            return
        if isinstance(node, ast.Compare):  # a threshold is left alone, what is compared is not
            for side in (node.left, *node.comparators):
                if not isinstance(side, ast.Constant):
                    visit(side, left_alone)
            return
        if isinstance(node, ast.JoinedStr | ast.FormattedValue | ast.Import | ast.ImportFrom):
            return
        if not left_alone:
            found.extend((node, kind, new) for kind, new in _faults(node))
        for child in ast.iter_child_nodes(node):
            visit(child, left_alone)

    if not _draws(tree):
        visit(tree, False)
    return found


def _names_called(tree):
    return {name_called(part) for part in ast.walk(tree) if isinstance(part, ast.Call)}


def _draws(tree):
    """Whether a statement draws a figure."""
    reads = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    return bool(reads & {"ax", "axes", "plt", "fig"}) and not _names_called(tree) & {"check"}


def _faults(node):
    """(kind, what takes the node's place) for every fault that it can have."""
    if isinstance(node, ast.BinOp) and not _is_margin(node):
        if type(node.op) in OPERATORS:
            yield "operator", _changed(node, op=OPERATORS[type(node.op)]())
        if isinstance(node.op, ast.Add | ast.Sub) and not isinstance(node.left, ast.List):
            yield "lost term", node.left
        if isinstance(node.op, ast.Pow):
            yield "power", _changed(node, op=ast.Mult())
        for side in ("left", "right"):
            if _is_coefficient(number := getattr(node, side)):
                is_whole = isinstance(number.value, int)
                value = number.value + 1 if is_whole else number.value * 2
                yield "number", _changed(node, **{side: ast.Constant(value)})
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        if not isinstance(node.operand, ast.Constant):
            yield "sign", node.operand
    if isinstance(node, ast.Attribute) and node.attr == "T":
        yield "transpose", node.value


def _changed(node, **parts):
    new = copy.copy(node)
    for name, part in parts.items():
        setattr(new, name, part)
    return new


def _is_number(node):
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _is_coefficient(node):
    return _is_number(node) and abs(node.value) > 1e-3


def _is_margin(node):
    """A tiny number added or taken away: part of a threshold."""
    tiny = any(_is_number(n) and not _is_coefficient(n) for n in (node.left, node.right))
    return tiny and isinstance(node.op, ast.Add | ast.Sub)


def _is_shape(node):
    return isinstance(node, ast.Attribute) and node.attr in ("shape", "cells", "outputs")


def falsified(statement, k):
    """(before, after, the statement with its k-th site falsified)."""
    tree = copy.deepcopy(statement.node)
    old, kind, new = sites(tree)[k]
    before = "index " * (kind == "index") + ast.unparse(old)

    class Replace(ast.NodeTransformer):
        def visit(self, node):
            return new if node is old else self.generic_visit(node)

    return before, ast.unparse(new), ast.fix_missing_locations(Replace().visit(tree))


# ---------------------------------------------------------------- running


def run(node, names):
    """Run one statement and return what it prints."""
    out = io.StringIO()
    code = compile(ast.Module([node], []), "<notebook>", "exec")
    with contextlib.redirect_stdout(out):
        exec(code, names)
    return out.getvalue()


def forked(task, limit=LIMIT):
    """What `task()` returns in a child process; "slow" past the limit."""
    fork = multiprocessing.get_context("fork")
    reader, writer = fork.Pipe(duplex=False)

    def child():
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
            writer.send(task())

    process = fork.Process(target=child)
    process.start()
    writer.close()
    try:
        return reader.recv() if reader.poll(limit) else "slow"
    except EOFError:
        return "raised"
    finally:
        process.kill()
        process.join()


@dataclass(frozen=True)
class Outcome:
    """One falsified formula and who noticed it."""

    notebook: str
    claims: tuple
    kind: str
    was: str
    now: str
    source: str
    noticed: str

    @property
    def survived(self):
        """Whether nothing noticed it."""
        return self.noticed == "survived"


def _namespace():
    import matplotlib

    matplotlib.use("Agg")
    return {"__name__": "__main__", "display": lambda *a, **k: None}


def _pristine(found):
    """What every statement prints when nothing is falsified."""
    from matplotlib import pyplot as plt

    names, printed = _namespace(), []
    for statement in found:
        printed.append(run(statement.node, names))
        plt.close("all")
    return printed


def _falsified_run(found, names, start, tree, needed, printed):
    """How a falsified statement at `start` is noticed by what is needed after it."""
    try:
        if run(tree, names) != printed[start]:
            return "printed"
        for k in sorted(k for k in needed if k > start):
            if run(found[k].node, names) != printed[k]:
                return "check" if found[k].claims else "printed"
    except BaseException as error:
        return "check" if type(error).__name__ in ("ClaimError", "EvidenceError") else "raised"
    return "survived"


def _plan(found, per_claim, seed, wanted):
    """{place of a statement: {site: claims that rest on it}}, drawn for every claim."""
    plan, needs = {}, {}
    for place, statement in enumerate(found):
        if not statement.claims:
            continue
        needs[place] = rests_on(found, place)
        for claim_id in dict.fromkeys(statement.claims):
            if wanted and wanted not in claim_id:
                continue
            drawing = random.Random(f"{seed} {claim_id}")
            choices = [(k, site) for k in needs[place] for site in range(len(sites(found[k].node)))]
            for k, site in drawing.sample(choices, min(per_claim, len(choices))):
                plan.setdefault(k, {}).setdefault(site, set()).add(claim_id)
    return plan, needs


def sabotage(path, per_claim=2, seed=0, wanted=""):
    """Outcomes for one notebook."""
    from matplotlib import pyplot as plt

    path = Path(path).resolve()
    notebook = json.loads(path.read_text(encoding="utf-8"))
    found = statements(notebook)
    plan, needs = _plan(found, per_claim, seed, wanted)
    if not plan:
        return []
    os.chdir(path.parent)
    warnings.simplefilter("ignore")
    printed = forked(lambda: _pristine(found), 3600)
    if printed == "raised":
        raise RuntimeError(f"{path.name} does not run as it is")
    names, outcomes = _namespace(), []
    for place, statement in enumerate(found):
        needed = _needed(found, place, needs) if place in plan else set()
        run_with = partial(_falsified_run, found, names, place, needed=needed, printed=printed)
        if place == min(plan):
            control = forked(partial(run_with, statement.node))
            if control != "survived":
                found_it = f"takes over {LIMIT} s" if control == "slow" else "is noticed"
                raise RuntimeError(f"{path.name}: the control, nothing falsified, {found_it}")
        for site, claims in sorted(plan.get(place, {}).items()):
            before, after, tree = falsified(statement, site)
            task = partial(run_with, tree)
            outcomes.append(
                Outcome(
                    path.relative_to(ROOT).as_posix(),
                    tuple(sorted(claims)),
                    sites(statement.node)[site][1],
                    before,
                    after,
                    statement.source,
                    forked(task),
                )
            )
        run(statement.node, names)
        plt.close("all")
    return outcomes


def _needed(found, place, needs):
    """What the checks that rest on `place` need, with the lines printed on the way."""
    above = [k for k, needed in needs.items() if place in needed]
    last = max(above)
    needed = set().union(*(needs[k] for k in above))
    tainted = set(found[place].binds | found[place].changes)
    for k in range(place + 1, last + 1):
        here = found[k]
        if here.reads & tainted:
            tainted |= here.binds | here.changes
            if _names_called(here.node) & {"print", "display"} and not here.claims:
                needed |= rests_on(found, k)
    return needed


# ---------------------------------------------------------------- survivors that are explained


@cache
def explained():
    """Rows of the survivors that are no fault of a check: notebook, was, now, reason.

    A row may say, as `in`, what the statement contains, where the place alone is too common.
    """
    return yaml.safe_load(SURVIVORS.read_text(encoding="utf-8"))


def _reason(outcome):
    """Why a survivor is no fault of a check; "" if it is not in the list."""
    here = dict(notebook=outcome.notebook, was=outcome.was, now=outcome.now)
    listed = (row for row in explained() if here.items() <= row.items())
    return next((row["reason"] for row in listed if row.get("in", "") in outcome.source), "")


def is_explained(outcome):
    """Whether a survivor is in the list."""
    return bool(_reason(outcome))


def scores(outcomes):
    """A row for each claim: how many falsified formulas were noticed, and those that were not."""
    rows = {}
    for o in (o for o in outcomes if o.noticed != "slow"):
        for claim in o.claims:
            row = rows.setdefault(claim, dict(claim=claim, noticed=0, of=0, survivors=[]))
            row["of"] += 1
            row["noticed"] += not o.survived
            if o.survived:
                row["survivors"].append([o.was, o.now, _reason(o)])
    return list(rows.values())


def report(outcomes):
    """Print the survivors and the tally; the share that is noticed or explained."""
    counted = [o for o in outcomes if o.noticed != "slow"]
    known = [o for o in counted if o.survived and is_explained(o)]
    left = [o for o in counted if o.survived and o not in known]
    for o in left:
        print(f"{o.notebook} {' '.join(o.claims)} [{o.kind}]\n    {o.was}  =>  {o.now}")
        print("    in " + o.source.replace("\n", "\n       ")[:400])
    tally = Counter(o.noticed for o in outcomes)
    share = 1 - len(left) / max(len(counted), 1)
    print(f"{len(outcomes)} falsified: {dict(tally)}; of the survivors {len(known)} are explained")
    print(f"noticed or explained: {share:.1%}")
    return share


def main(arguments=None):
    """Falsify the formulas behind each claim and print those that no check notices."""
    parser = argparse.ArgumentParser(prog="python -m tools.sabotage", description=main.__doc__)
    parser.add_argument("notebooks", nargs="*", help="all of the book when none is given")
    parser.add_argument("--per-claim", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--claims", default="", help="only claims whose id contains this text")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sample", type=int, help="so many notebooks, drawn with the seed")
    parser.add_argument("--store", action="store_true", help="keep the score of each claim")
    options = parser.parse_args(arguments)
    paths = [Path(p).resolve() for p in options.notebooks]
    paths = paths or notebooks_of(ROOT)
    paths = [p for p in paths if "check(" in p.read_text(encoding="utf-8")]
    if options.sample:
        paths = random.Random(options.seed).sample(paths, min(options.sample, len(paths)))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    drawn = dict(per_claim=options.per_claim, seed=options.seed, wanted=options.claims)
    apart = dict(mp_context=multiprocessing.get_context("spawn"), max_tasks_per_child=1)
    with ProcessPoolExecutor(options.jobs, **apart) as pool:
        found = pool.map(partial(sabotage, **drawn), paths)
        bar = tqdm(found, total=len(paths), unit="notebook")
        outcomes = [outcome for of_one in bar for outcome in of_one]
    if options.store:
        store("sabotage", scores(outcomes), dict(per_claim=options.per_claim, seed=options.seed))
    return 0 if report(outcomes) >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
