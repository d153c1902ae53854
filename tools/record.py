"""What the record says of each claim, written from the ledger into its notebooks.

``python -m tools.record`` renews two kinds of cells in ``book/record/``: above each cell that calls
`check`, the statements of its claims with their verdicts; and on the page of a section, the table
of its items in the thesis's order. A test sees that they are what the ledger says.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from functools import cache
from itertools import groupby
from pathlib import Path

import yaml
from ismlit_book.record.cells import cells
from ismlit_book.record.ledger import SIGNS, UNCHECKED, ledger, title
from ismlit_book.record.slices import checked

from tools.site.formulas import pieces

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "book" / "record"
ITEMS = "| item | verdict | evidence |\n|---|---|---|"

SECTIONS = yaml.safe_load(Path(__file__).with_name("record_sections.yml").read_text("utf-8"))
BEGINS = [(start, name) for name, starts in SECTIONS["named"].items() for start in starts]
BEGINS.sort(key=lambda pair: -len(pair[0]))
WHOLE_CHAPTER = {"3": "3.5", "4": "4.1"}


def section(where):
    """The section of the thesis, or the paper, in which a row's place lies; None for our own.

    >>> section("(C.24)"), section("Thm 5.3, new"), section("secs 4.4, B.4"), section("new")
    ('C.3', '5.3', '4.4', None)
    """
    if match := re.match(r"\(([2-6A-D])\.(\d+)", where):
        ends = SECTIONS["last_equation"][match[1]].items()
        return next(name for name, last in ends if int(match[2]) <= last)
    for start, name in BEGINS:
        if where.startswith(start):
            return name
    if match := re.match(r"secs?\.? ([2-6A-D](?:\.\d+)?)", where):
        return WHOLE_CHAPTER.get(match[1], match[1])
    return None


# ---------------------------------------------------------------- the words of a claim


def name(claim_id):
    """A claim's name in the record: "Thesis (5.2)", "NeurIPS: 79"."""
    words = title(claim_id)
    elsewhere = ": " in words and not re.match(r"[A-Z][a-z]+ [\dA-D]", words)
    return words if elsewhere else f"Thesis {words}"


def escaped(text):
    """Words that Markdown leaves as they are."""
    return re.sub(r"([*_<>$|\[\]`\\~])", r"\\\1", text)


def sentence(text):
    """A sentence of the ledger as Markdown, its formulas as TeX."""
    shown = {"tex": lambda piece: f"${piece.tex}$"}
    return "".join(shown.get(p.kind, lambda piece: escaped(piece.text))(p) for p in pieces(text))


def statement(ids):
    """The statements of claims, their verdicts and printed formulas, as a block quote."""
    said = []
    for claim in map(ledger().__getitem__, dict.fromkeys(ids)):
        lead = f"**{escaped(name(claim.id))}** {SIGNS[claim.verdict]} *{claim.verdict}.*"
        more = {"holds as corrected": "Instead", "fails": "But"}.get(claim.verdict, "Note")
        note = f"*{more}:* {sentence(claim.note)}" if claim.note else ""
        words, formula = f"{lead} {sentence(claim.says)}", f"$${claim.prints}$$"
        parts = [words, formula, note] if claim.prints else [f"{words} {note}".rstrip()]
        said += [f"> {part}" for part in parts if part]
    return "\n>\n".join(said)


# ---------------------------------------------------------------- the table of a section


@cache
def checked_on():
    """{claim: the pages of the record that check it}."""
    inside = lambda place: place.path.parts[0] == "record"
    found = {i: [p.path.stem for p in places if inside(p)] for i, places in cells().items()}
    return {i: [*dict.fromkeys(pages)] for i, pages in found.items()}


def brief(text, length=90):
    """The beginning of a sentence of the ledger, as Markdown, cut between words or formulas."""
    shown, left = "", length
    for piece in pieces(text):
        if len(piece.text) > left:
            words = "" if piece.kind == "tex" else piece.text[:left].rpartition(" ")[0]
            closed = re.sub(r"\([^)]*$", "", f"{shown}{escaped(words)}")
            return closed.rstrip(" ,;:") + " …"
        shown += f"${piece.tex}$" if piece.kind == "tex" else escaped(piece.text)
        left -= len(piece.text)
    return shown


def items(page):
    """The table of a section's items; more than four neighbours that are alike share a row."""
    here = lambda claim: (
        section(claim.where) == page
        or (section(claim.where) is None and page in checked_on().get(claim.id, []))
    )
    rows = groupby(filter(here, ledger().values()), key=lambda c: (c.verdict, _evidence(c, page)))
    lines = [ITEMS]
    for (verdict, evidence), claims in rows:
        claims = list(claims)
        words = [f"**{escaped(title(claim.id))}** {brief(claim.says)}" for claim in claims]
        if len(claims) > 4:
            first, last = (escaped(title(claims[k].id)) for k in (0, -1))
            words = [f"**{first} to {last}** ({len(claims)} items)"]
        lines += [f"| {item} | {SIGNS[verdict]} {verdict} | {evidence} |" for item in words]
    return "\n".join(lines)


def _evidence(claim, page):
    pages = checked_on().get(claim.id, [])
    if claim.verdict in UNCHECKED or not pages:
        return "none"
    return ", ".join("below" if p == page else f"[{p}]({p}.ipynb)" for p in pages)


# ---------------------------------------------------------------- notebooks


def renewed(page, notebook):
    """Give the marked cells of a notebook their present words; returns whether one was stale."""
    stale = False
    for k, cell in enumerate(notebook["cells"]):
        kind = cell["metadata"].get("ismlit", {})
        if kind.get("cell") == "statement":
            words = statement(checked("".join(notebook["cells"][k + 1]["source"])))
        elif kind.get("cell") == "items":
            words = items(page)
        else:
            continue
        stale |= "".join(cell["source"]) != words
        cell["source"] = words.splitlines(keepends=True)
    return stale


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    for path in sorted(RECORD.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf8"))
        if renewed(path.stem, notebook):
            text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
            path.write_text(text, encoding="utf8")
            print(f"renewed {os.path.relpath(path, ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
