"""Which cell of which notebook checks a claim, and running it again."""

import contextlib
import io
import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ismlit_book.files import pages
from ismlit_book.record.checking import CHECKED, NUMBERS
from ismlit_book.record.evidence import GENERAL, KNOWN
from ismlit_book.record.ledger import SCOPES, VERDICTS, ClaimError, ledger
from ismlit_book.record.slices import checked, statements, used_by_cell


def notebooks():
    """(path within the book, notebook as a dict) of every notebook."""
    for path in sorted(pages().rglob("*.ipynb")):
        if "checkpoint" not in str(path):
            yield path.relative_to(pages()), json.loads(path.read_text(encoding="utf-8"))


class Place(NamedTuple):
    """A cell: its notebook within the book, the heading above it, its code, which code cell."""

    path: Path
    heading: str
    source: str
    number: int


def cells():
    """For each claim id, the places where ``check`` is called on it."""
    found = {}
    for path, notebook in notebooks():
        heading, number = "", -1
        for cell in notebook["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                heading = (re.findall(r"^#+ +(.*)$", source, re.M) or [heading])[-1]
                continue
            number += 1
            for claim_id in checked(source):
                found.setdefault(claim_id, []).append(Place(path, heading, source, number))
    return found


@cache
def code_of(path):
    """The statements of a notebook of the book; see `slices.statements`."""
    return statements(json.loads((pages() / path).read_text(encoding="utf-8")))


@cache
def used_at(place):
    """The code above the cell of a `Place` that the cell uses."""
    return used_by_cell(code_of(place.path), place.number)


# ---------------------------------------------------------------- how a claim is known

BADGE = re.compile(rf"^(\S+): ({'|'.join(VERDICTS)}) · ({'|'.join(KNOWN)})(?:: ([^·]+))?(?: ·|$)")


def known():
    """For each claim with a cell, (how it is known, over what), by the strongest of its badges.

    Read from the stored outputs of the notebooks, which the cells themselves have written.
    """
    found = {}
    for _, notebook in notebooks():
        for cell in notebook["cells"]:
            for claim_id, how, over in _badges(cell):
                best = found.get(claim_id)
                if best is None or KNOWN.index(how) < KNOWN.index(best[0]):
                    found[claim_id] = how, over
    return found


def _badges(cell):
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if 'class="claim ' not in "".join(data.get("text/html", "")):
            continue
        for line in "".join(data["text/plain"]).splitlines():
            if match := BADGE.match(line):
                yield match[1], match[3], (match[4] or "").strip()


def proofs():
    """{claim: the steps of its proof}, a list in HTML as its badge shows it."""
    found = {}
    for _, notebook in notebooks():
        outputs = (o for cell in notebook["cells"] for o in cell.get("outputs", []))
        for badges in ("".join(o.get("data", {}).get("text/html", "")) for o in outputs):
            for badge in badges.split('<div class="claim ')[1:]:
                if steps := re.search(r"<ol>.*</ol>", badge):
                    found |= dict.fromkeys(re.findall(r'#claim-([^"]+)"', badge), steps[0])
    return found


@cache
def numbers():
    """{claim: {field: text}}, results that cells stored beside their badges for the notes."""
    found = {}
    for path in sorted(pages().rglob("*.ipynb")):
        text = path.read_text(encoding="utf-8")
        if NUMBERS not in text or "checkpoint" in str(path):
            continue
        outputs = (o for c in json.loads(text)["cells"] for o in c.get("outputs", []))
        for stored in (o.get("data", {}).get(NUMBERS, {}) for o in outputs):
            for claim_id, fields in stored.items():
                found.setdefault(claim_id, {}).update(fields)
    return found


def known_by_scope(how=None):
    """{how known: {scope, or "ours" of this edition: number of claims}}; last comes "no cell"."""
    how = known() if how is None else how
    table = {key: dict.fromkeys((*SCOPES, "ours"), 0) for key in (*KNOWN, "no cell")}
    for claim in ledger().values():
        column = "ours" if claim.is_ours else claim.scope
        table[how.get(claim.id, ("no cell",))[0]][column] += 1
    return table


def unchecked(how=None):
    """Claims without a cell, in the order of the ledger."""
    how = known() if how is None else how
    return [claim for claim in ledger().values() if claim.id not in how]


def unproved(how=None):
    """Claims about all cases that hold, and rest on less than `GENERAL` evidence."""
    how = known() if how is None else how
    return [
        claim
        for claim in ledger().values()
        if claim.scope == "general"
        and claim.verdict in ("holds", "holds as corrected")
        and how.get(claim.id, ("no cell",))[0] not in GENERAL
    ]


def link(place):
    """The address, within the book's sources, of the heading above a cell."""
    slug = re.sub(r"[^\w\- ]", "", place.heading.lower()).strip().replace(" ", "-")
    return f"{place.path.as_posix()}#{slug}"


# ---------------------------------------------------------------- running one again


def rerun(claim_id):
    """Run the notebooks that check a claim, each up to its cell; what they print is shown.

    Below it stands in a line what was compared, and the steps of a proof. The cells run in this
    process, one after the other, in a fresh namespace and without windows for figures. An outcome
    that contradicts the ledger raises, as in the book.

    Raises
    ------
    ClaimError
        If the claim is unknown, has no cell, or comes out otherwise.
    OSError
        If the notebook needs a data set that is not to be had.
    """
    if claim_id not in ledger():
        raise ClaimError(f"{claim_id} is not in the ledger; see python -m ismlit_book")
    sources = {path: _code(notebook) for path, notebook in notebooks()}
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
        CHECKED.clear()
        with silence:
            exec(compile(source, f"{path}, cell {i + 1}", "exec"), names)
        plt.close("all")
        for _, evidence, beside in (c for c in CHECKED if c[0] == claim_id):
            lines = [[*piece.lines()] for piece in evidence]
            lines += [
                [f"beside it, {first}", *more] for first, *more in (p.lines() for p in beside)
            ]
            print(f"{claim_id}: compared: " + " · ".join(first for first, *_ in lines))
            for _, *steps in lines:
                print(*steps, sep="\n", end="\n" * bool(steps))
