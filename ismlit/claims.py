"""Verdicts: the ledger of claims, and what a notebook cell calls to check one.

``book/claims/*.yml`` is the one source. ``check(id, ...)`` raises when what was computed
contradicts the ledger. ``python -m ismlit.claims`` lists the ledger by chapter and verdict, says
all about one claim, and runs the cell that checks it again.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import re
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

VERDICTS = (
    "holds",
    "holds as corrected",
    "fails",
    "reproduced",
    "not reproduced",
    "definition",
    "not checkable",
    "open",
)
"""Every verdict a row may carry. "open" means: nobody has checked it yet."""

UNCHECKED = ("not checkable", "open")


TITLES = {
    "1": "Chapter 1: what the thesis sets out to do",
    "2": "Chapter 2: background",
    "3": "Chapter 3: alternative clustering",
    "A": "Appendix A: the proofs of chapter 3",
    "4": "Chapter 4: deep kernel clustering",
    "B": "Appendix B: chapter 4's derivations and figures",
    "5": "Chapter 5: interpretable kernel dimension reduction",
    "C": "Appendix C: the proofs of chapter 5",
    "6": "Chapter 6: kernel dependence networks",
    "D": "Appendix D: the proofs of chapter 6",
    "7": "Chapter 7: what the thesis concludes",
    "papers": "What the papers add",
}
"""The parts of the ledger, in reading order; each has its file in ``book/claims``."""


@dataclass(frozen=True)
class Claim:
    """One row of the ledger.

    `where` is the place in the thesis or paper, `says` the statement in our words, `note`
    the correction, the counterexample, or the reason; `uses` the ids it builds on; `matters`
    marks an error that changes a conclusion.
    """

    id: str
    chapter: str
    where: str
    says: str
    verdict: str
    note: str = ""
    uses: tuple = ()
    matters: bool = False


class ClaimError(AssertionError):
    """A computed outcome that contradicts the ledger."""


@cache
def folder():
    """Where the ledger lies: book/claims in a checkout, a copy inside an installed wheel."""
    here = Path(__file__).resolve().parent
    for place in (here.parent / "book" / "claims", here / "_claims"):
        if place.is_dir():
            return place
    raise FileNotFoundError("the ledger book/claims is missing: reinstall ismlit")


@cache
def ledger():
    """All claims by id, in reading order.

    Examples
    --------
    >>> from ismlit.claims import ledger
    >>> ledger()["alg-4"].verdict
    'fails'
    """
    import yaml

    claims = {}
    for path in sorted(folder().glob("*.yml"), key=lambda path: [*TITLES].index(path.stem)):
        for row in yaml.safe_load(path.read_text(encoding="utf-8")):
            row["uses"] = tuple(row.get("uses", ()))
            claim = Claim(chapter=path.stem, **row)
            if claim.id in claims:
                raise ClaimError(f"{claim.id} stands twice in the ledger")
            claims[claim.id] = claim
    return claims


def counts(claims=None):
    """How many of the claims (all of the ledger when None) carry each verdict."""
    claims = ledger().values() if claims is None else claims
    number = Counter(claim.verdict for claim in claims)
    return {verdict: number[verdict] for verdict in VERDICTS if number[verdict]}


def by_chapter(claims):
    """{title of the chapter: its claims}, in reading order; chapters without one are left out."""
    found = {title: [c for c in claims if c.chapter == key] for key, title in TITLES.items()}
    return {title: here for title, here in found.items() if here}


def tally(claims=None):
    """`counts` in words: "3 holds, 1 fails"."""
    return ", ".join(f"{number} {verdict}" for verdict, number in counts(claims).items())


def rests_on(claim_id):
    """Every claim that a claim builds on, directly or through others, as a set of ids.

    Examples
    --------
    >>> from ismlit.claims import rests_on
    >>> sorted(rests_on("eq-5.3"))
    ['eq-5.1', 'eq-5.2']
    """
    found, waiting = set(), list(ledger()[claim_id].uses)
    while waiting:
        used = waiting.pop()
        if used not in found:
            found.add(used)
            waiting += ledger()[used].uses
    return found


# ---------------------------------------------------------------- checking


def check(
    *claim_ids,
    holds=None,
    as_printed=None,
    corrected=None,
    counterexample=None,
    reproduced=None,
    rejects=None,
):
    """Compare what a cell computed with the ledger; print one stable line.

    Parameters
    ----------
    *claim_ids : str
        One or more claims that this outcome settles; written out, since the ledger finds its
        cells by reading them.
    holds : bool or callable
        For "holds", and for a "definition" whose content is exercised.
    as_printed, corrected : bool or callable
        For "holds as corrected": the printed form must fail and the corrected one pass.
    counterexample : bool or callable
        For "fails": the printed claim is false here.
    reproduced : bool or callable
        For tables and figures.
    rejects : bool or callable, optional
        The same test on a deliberately broken variant: it must come out false, which shows
        that the check can fail.

    Raises
    ------
    ClaimError
        If the outcome contradicts the ledger.

    Examples
    --------
    >>> from ismlit.claims import check
    >>> check("eq-5.2", holds=2 * 3 == 6, rejects=2 * 3 == 5)
    eq-5.2: holds (a broken variant is rejected)
    """
    given = dict(
        holds=holds,
        as_printed=as_printed,
        corrected=corrected,
        counterexample=counterexample,
        reproduced=reproduced,
    )
    given = {name: _truth(name, value) for name, value in given.items() if value is not None}
    accepts_broken = rejects is not None and _truth("rejects", rejects)
    for claim_id in claim_ids:
        if claim_id not in ledger():
            raise ClaimError(f"{claim_id} is not in the ledger; add a row to book/claims")
        verdict = ledger()[claim_id].verdict
        wanted = OUTCOMES.get(verdict)
        if given != wanted:
            raise ClaimError(f"{claim_id}: the ledger says {verdict!r} ({wanted}), got {given}")
        if accepts_broken:
            raise ClaimError(f"{claim_id}: the check also accepts the broken variant")
        print(f"{claim_id}: {verdict}" + REJECTED * (rejects is not None))


REJECTED = " (a broken variant is rejected)"
OUTCOMES = {
    "holds": {"holds": True},
    "definition": {"holds": True},
    "holds as corrected": {"as_printed": False, "corrected": True},
    "fails": {"counterexample": True},
    "reproduced": {"reproduced": True},
    "not reproduced": {"reproduced": False},
}
"""What a cell must have computed for each verdict; the others have no cell."""


def _truth(name, value):
    value = value() if callable(value) else value
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a bool, got {type(value).__name__}")
    return bool(value)


def same(left, right, tol=1e-10):
    """Whether two sympy objects are identical, or two arrays agree to `tol` of their scale.

    1e-10 leaves room for the rounding of sums over all pairs in double precision, and none
    for a lost factor, sign or term.

    Examples
    --------
    >>> import sympy as sp
    >>> from ismlit.claims import same
    >>> x = sp.Symbol("x")
    >>> same(sp.sin(x) ** 2 + sp.cos(x) ** 2, 1), same([1.0, 2.0], [1.0, -2.0])
    (True, False)
    """
    if any(hasattr(side, "free_symbols") for side in (left, right)):
        return _same_symbolic(left, right)
    left, right = np.asarray(left, dtype=float), np.asarray(right, dtype=float)
    if left.shape != right.shape:
        return False
    scale = max(np.abs(left).max(initial=0), np.abs(right).max(initial=0))
    return bool(np.abs(left - right).max(initial=0) <= tol * scale)


def _same_symbolic(left, right):
    """Identity of two sympy objects: by expansion, else refuted at a point, else simplified."""
    import sympy as sp

    difference = sp.sympify(left) - sp.sympify(right)
    for entry in difference if isinstance(difference, sp.MatrixBase) else [difference]:
        expanded = sp.expand(sp.sympify(entry).doit())
        if expanded == 0:
            continue
        symbols = sorted(expanded.free_symbols, key=str)
        point = {s: sp.Rational(3 * k + 2, 2 * k + 5) for k, s in enumerate(symbols)}
        value = expanded.subs(point).doit()
        if value.is_number and abs(value.evalf(30)) > 1e-12:
            return False
        if sp.simplify(expanded) != 0:
            return False
    return True


# ---------------------------------------------------------------- where each claim is checked


def checked(source):
    """Ids named in calls of ``check`` in a cell's code."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "check":
            yield from (a.value for a in node.args if isinstance(a, ast.Constant))


def notebooks(book=None):
    """(path within the book, notebook as a dict) of every notebook."""
    book = Path(book or folder().parent)
    for path in sorted(book.rglob("*.ipynb")):
        if "checkpoint" not in str(path):
            yield path.relative_to(book), json.loads(path.read_text(encoding="utf-8"))


def cells(book=None):
    """For each claim id, the (notebook, heading) where ``check`` is called on it."""
    found = {}
    for path, notebook in notebooks(book):
        heading = ""
        for cell in notebook["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                heading = (re.findall(r"^#+ +(.*)$", source, re.M) or [heading])[-1]
                continue
            for claim_id in checked(source):
                found.setdefault(claim_id, []).append((path, heading))
    return found


def link(place):
    """The address, within the book's sources, of a (notebook, heading)."""
    path, heading = place
    slug = re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
    return f"{path.as_posix()}#{slug}"


# ---------------------------------------------------------------- running one again


def rerun(claim_id):
    """Run the notebooks that check a claim, each up to its cell; what they print is shown.

    The cells run in this process, one after the other, in a fresh namespace and without windows
    for figures. An outcome that contradicts the ledger raises, as in the book.

    Raises
    ------
    ClaimError
        If the claim is unknown, has no cell, or comes out otherwise.
    OSError
        If the notebook needs a data set that is not to be had.
    """
    if claim_id not in ledger():
        raise ClaimError(f"{claim_id} is not in the ledger; see python -m ismlit.claims")
    sources = {path: _code(notebook) for path, notebook in notebooks()}
    if not sources:
        raise ClaimError("no notebooks here: run this in a clone of the repository")
    places = [path for path, code in sources.items() if any(claim_id in checked(c) for c in code)]
    if not places:
        raise ClaimError(f"{claim_id} has no cell: its verdict is {ledger()[claim_id].verdict!r}")
    for path in places:
        _run_up_to(claim_id, path, sources[path])


def _code(notebook):
    return ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]


def _run_up_to(claim_id, path, sources):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    last = max(i for i, source in enumerate(sources) if claim_id in checked(source))
    names = {"display": print, "__name__": "__main__"}
    for i, source in enumerate(sources[: last + 1]):
        silence = contextlib.nullcontext()
        print(f"{path}: cell {i + 1} of {last + 1}", file=sys.stderr)
        if claim_id not in checked(source):
            silence = contextlib.redirect_stdout(io.StringIO())
        with silence:
            exec(compile(source, f"{path}, cell {i + 1}", "exec"), names)
        plt.close("all")


# ---------------------------------------------------------------- command line


def describe(claim_id):
    """All about one claim, as lines of text."""
    claim, where = ledger()[claim_id], cells().get(claim_id, [])
    yield f"{claim.id}: {claim.verdict}"
    yield f"  {claim.where}; {TITLES[claim.chapter]}"
    yield f"  says   {claim.says}"
    if claim.note:
        yield f"  note   {claim.note}"
    for name, ids in (("uses", claim.uses), ("used by", used_by(claim_id))):
        if ids:
            yield f"  {name:6} {', '.join(ids)}"
    for path, heading in dict.fromkeys(where):
        yield f"  cell   book/{path.as_posix()}, {heading}"


def used_by(claim_id):
    """Ids of the claims that name a claim among those they use."""
    return tuple(claim.id for claim in ledger().values() if claim_id in claim.uses)


def main(arguments=None):
    """List claims by chapter and verdict; say all about one; run its check again."""
    parser = argparse.ArgumentParser(prog="python -m ismlit.claims", description=main.__doc__)
    parser.add_argument("id", nargs="*", help="say all about these claims")
    parser.add_argument("--run", action="store_true", help="run their cells again")
    parser.add_argument("--chapter", choices=TITLES, help="only claims of this part")
    parser.add_argument("--verdict", choices=VERDICTS, help="only claims with this verdict")
    parser.add_argument("--find", default="", help="only claims that contain this text")
    options = parser.parse_args(arguments)
    unknown = [claim_id for claim_id in options.id if claim_id not in ledger()]
    if unknown:
        parser.error(f"not in the ledger: {', '.join(unknown)}")
    if options.run and not options.id:
        parser.error("--run needs the id of a claim")
    if options.id and (options.chapter or options.verdict or options.find):
        parser.error("either ids, or --chapter, --verdict and --find")
    if not options.id:
        _list(options)
    for claim_id in options.id:
        print("\n".join(describe(claim_id)))
        if options.run:
            try:
                rerun(claim_id)
            except ClaimError as error:
                parser.exit(1, f"{error}\n")


def _list(options):
    """Print the claims asked for, part by part."""
    chosen = [
        claim
        for claim in ledger().values()
        if options.chapter in (None, claim.chapter)
        and options.verdict in (None, claim.verdict)
        and options.find.lower() in f"{claim.id} {claim.where} {claim.says} {claim.note}".lower()
    ]
    for title, claims in by_chapter(chosen).items():
        print(f"\n{title}: {tally(claims)}")
        for claim in claims:
            print(f"  {claim.id:30} {claim.verdict:19} {claim.says}")


if __name__ == "__main__":
    main()
