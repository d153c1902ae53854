"""Verdicts: the ledger of claims, and what a notebook cell calls to check one.

``book/claims/*.yml`` is the one source. ``check(id, ...)`` raises when what was computed
contradicts the ledger. ``python -m ismlit.claims`` lists the ledger; with ``--write`` it
renews the ledger page, the errata page and the counts on the front page.
"""

from __future__ import annotations

import argparse
import ast
import re
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


@dataclass(frozen=True)
class Claim:
    """One row of the ledger.

    `where` is the place in the thesis or paper, `says` the statement in our words, `note`
    the correction, the counterexample, or the reason; `uses` the ids it builds on.
    """

    id: str
    chapter: str
    where: str
    says: str
    verdict: str
    note: str = ""
    uses: tuple = ()


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
    """All claims by id, in reading order."""
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
        print(
            f"{claim_id}: {verdict}" + (" (a broken variant is rejected)" * (rejects is not None))
        )


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


def _checked(source):
    """Ids named in calls of ``check`` in a cell's code."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "check":
            yield from (a.value for a in node.args if isinstance(a, ast.Constant))


def cells(book=None):
    """For each claim id, the (notebook, heading) where ``check`` is called on it."""
    import json

    book = Path(book or folder().parent)
    found = {}
    for path in sorted(book.rglob("*.ipynb")):
        if "checkpoint" in str(path):
            continue
        heading = ""
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                heading = (re.findall(r"^#+ +(.*)$", source, re.M) or [heading])[-1]
                continue
            for claim_id in _checked(source):
                found.setdefault(claim_id, []).append((path.relative_to(book), heading))
    return found


# ---------------------------------------------------------------- generated pages

TITLES = {
    "2": "Chapter 2: background",
    "3": "Chapter 3: alternative clustering",
    "A": "Appendix A: the proofs of chapter 3",
    "4": "Chapter 4: deep kernel clustering",
    "B": "Appendix B: chapter 4's derivations and figures",
    "5": "Chapter 5: interpretable kernel dimension reduction",
    "C": "Appendix C: the proofs of chapter 5",
    "6": "Chapter 6: kernel dependence networks",
    "D": "Appendix D: the proofs of chapter 6",
    "papers": "What the papers add",
}


def counts():
    """How many claims carry each verdict."""
    tally = Counter(claim.verdict for claim in ledger().values())
    return {verdict: tally[verdict] for verdict in VERDICTS if tally[verdict]}


def _table(claims, where):
    """Markdown rows: the claim's id (linked to its cell) and place; verdict, statement, note."""
    yield from ("| claim | verdict and statement |", "|---|---|")
    for c in claims:
        name = f"`{c.id}`"
        if c.id in where:
            path, heading = where[c.id][0]
            slug = re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
            name = f"[{name}]({path.as_posix()}#{slug})"
        text = f"**{c.verdict}** · {c.says}" + (f" *{c.note}*" if c.note else "")
        yield f"| {name} {c.where} | {text} |".replace("<", r"\<")


def pages():
    """The generated pages as {file name: text}."""
    where = cells()
    by_chapter = {}
    for claim in ledger().values():
        by_chapter.setdefault(claim.chapter, []).append(claim)
    tally = ", ".join(f"{number} {verdict}" for verdict, number in counts().items())
    full = [
        "# The ledger of claims",
        "",
        f"Every numbered item of the parts covered so far: {len(ledger())} claims; {tally}.",
        "The id of a claim links to the cell that checks it; the cell raises if its verdict is",
        "not the one given here. In italics: the correction, the counterexample, or the reason.",
        "*Holds as corrected* means that the printed form fails and the corrected one passes;",
        "*open* means that nobody has checked it yet.",
    ]
    errata = [
        "# Errata",
        "",
        "Each claim that does not simply hold: what is printed, what is wrong with it and what",
        "is true instead. The id links to the cell in which that is computed.",
    ]
    for chapter, claims in by_chapter.items():
        heading = f"## {TITLES.get(chapter, chapter)}"
        full += ["", heading, "", *_table(claims, where)]
        wrong = [c for c in claims if c.verdict in ("holds as corrected", "fails")]
        if wrong:
            errata += ["", heading, "", *_table(wrong, where)]
    return {"ledger.md": "\n".join(full) + "\n", "errata.md": "\n".join(errata) + "\n"}


def front_page_counts():
    """The table of counts for the front page."""
    rows = [f"| {verdict} | {number} |" for verdict, number in counts().items()]
    return "\n".join(["| verdict | claims |", "|---|---|", *rows])


def front_page(text):
    """The front page with its table of counts renewed."""
    pattern = r"(<!-- counts -->\n).*?(\n<!-- end of counts -->)"
    return re.sub(
        pattern, lambda m: m[1] + "\n" + front_page_counts() + "\n" + m[2], text, flags=re.S
    )


def write():
    """Renew the generated pages of the book."""
    book = folder().parent
    for name, text in pages().items():
        (book / name).write_text(text, encoding="utf-8")
    intro = book / "intro.md"
    intro.write_text(front_page(intro.read_text(encoding="utf-8")), encoding="utf-8")


def main(arguments=None):
    """Command line: list the ledger by chapter and verdict, or renew the generated pages."""
    parser = argparse.ArgumentParser(prog="python -m ismlit.claims", description=main.__doc__)
    parser.add_argument("--verdict", choices=VERDICTS, help="only claims with this verdict")
    parser.add_argument("--write", action="store_true", help="renew the pages of the book")
    options = parser.parse_args(arguments)
    if options.write:
        write()
    for claim in ledger().values():
        if options.verdict in (None, claim.verdict):
            print(f"{claim.id:28} {claim.verdict:20} {claim.says}")


if __name__ == "__main__":
    main()
