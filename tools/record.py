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

from ismlit.edition.cells import cells, checked
from ismlit.edition.ledger import SIGNS, UNCHECKED, ledger, title
from tools.site.formulas import pieces

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "book" / "record"
ITEMS = "| item | verdict | evidence |\n|---|---|---|"

LAST_EQUATION = {
    "2": {"2.1": 1, "2.2": 3, "2.3": 6, "2.4": 10, "2.5": 15},
    "3": {"3.1": 5, "3.2": 8, "3.3": 11, "3.4": 12},
    "4": {"4.1": 6, "4.2": 11, "4.3": 17, "4.4": 18},
    "5": {"5.1": 1, "5.3": 3},
    "6": {"6.1": 4, "6.2": 8, "6.3": 11, "6.4": 13, "6.5": 14},
    "A": {"A.3": 5, "A.4": 39},
    "B": {"B.1": 3, "B.2": 8},
    "C": {
        "C.1": 5,
        "C.2": 23,
        "C.3": 43,
        "C.4": 74,
        "C.5": 92,
        "C.6": 99,
        "C.7": 100,
        "C.10": 108,
        "C.11": 113,
        "C.12": 120,
    },
    "D": {"D.1": 104, "D.2": 124, "D.3": 142, "D.4": 158, "D.5": 162, "D.11": 169},
}
"""The number of the last equation of each section of the thesis that numbers one."""

SECTION_OF = {
    "2.1": "Def. 1, Def. 2, Fig. 2.1",
    "2.2": "Def. 3, Thm 2.1",
    "2.3": "Def. 4, Def. 5, Def. 6, Def. 7",
    "2.4": "Def. 8",
    "3.1": "Alg. 1, Fig. 3.1, Fig. 3.2",
    "3.2": "Alg. 2",
    "3.3": "Thm 3.1, Lemma 3.",
    "3.5": "Fig. 3.3, Fig. 3.4, Table 3.",
    "4.2": "Fig. 4.2",
    "4.3": "Alg. 3",
    "4.4": "Fig. 4.1, Fig. 4.3, Table 4., Tables 4.",
    "5.1": "Alg. 4",
    "5.2": "Table 5.1, Table 5.2",
    "5.3": "Def. 9, Table 5.3, Thm 5.",
    "5.4": "Prop. 1, Cor. 1",
    "5.5": "Table 5.4, Table 5.5, Fig. 5.",
    "6.2": "Theorem 6.1, Alg. 5, Fig. 6.2",
    "6.3": "Theorem 6.2, Corollary",
    "6.4": "Theorem 6.3",
    "6.5": "Table 6.1, Fig. 6.",
    "A.4": "Lemma A.0.",
    "B.3": "Fig. B.",
    "B.4": "Table B.1",
    "C.3": "Table C.1",
    "C.4": "Lemma C.",
    "D.1": "Lemma D.",
    "D.7": "Table D.7",
    "D.9": "Fig. D.",
    "D.11": "Fig. D.17, Fig. D.18",
    "1": "abstract, ch. 1, chs 1",
    "3.1 ": "ch. 3",
    "5.1 ": "ch. 5",
    "6.1 ": "ch. 6",
    "7": "ch. 7",
    "note": "2017 note",
    "aistats": "AISTATS",
    "neurips": "NeurIPS",
    "icml": "ICML",
}
"""Where a named item stands: section, and how the places of its rows begin."""
BEGINS = sorted(
    ((start, name.strip()) for name, starts in SECTION_OF.items() for start in starts.split(", ")),
    key=lambda pair: -len(pair[0]),
)
WHOLE_CHAPTER = {"3": "3.5", "4": "4.1"}


def section(where):
    """The section of the thesis, or the paper, in which a row's place lies; None for our own.

    >>> section("(C.24)"), section("Thm 5.3, new"), section("secs 4.4, B.4"), section("new")
    ('C.3', '5.3', '4.4', None)
    """
    if match := re.match(r"\(([2-6A-D])\.(\d+)", where):
        ends = LAST_EQUATION[match[1]].items()
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


def items(page):
    """The table of a section's items; neighbours that are alike share a row."""
    here = lambda claim: (
        section(claim.where) == page
        or (section(claim.where) is None and page in checked_on().get(claim.id, []))
    )
    rows = groupby(filter(here, ledger().values()), key=lambda c: (c.verdict, _evidence(c, page)))
    lines = [ITEMS]
    for (verdict, evidence), claims in rows:
        names = [escaped(title(claim.id)) for claim in claims]
        if len(names) > 4:
            names = [f"{names[0]} to {names[-1]} ({len(names)} items)"]
        lines.append(f"| {', '.join(names)} | {SIGNS[verdict]} {verdict} | {evidence} |")
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
