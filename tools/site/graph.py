"""The claims graph: all claims as tiles, and each chapter drawn from definitions to theorems."""

from __future__ import annotations

import json
import re

from ismlit_book.record.ledger import (
    MARKS,
    SIGNS,
    STANDS,
    TITLES,
    by_chapter,
    counts,
    ledger,
    title,
    used_by,
    wrong_below,
)

from tools.site.layers import HEIGHT, draw

MAIN = "thm lem def cor prop alg tab fig".split()
"""How the ids of numbered items begin, but for equations."""


def page(view, known):
    """The whole graph as HTML, for a page from which `view` (a `Verdicts`) looks at the claims."""
    claims = ledger().values()
    return view.part(
        "graph.html.j2",
        counts=counts(),
        marks=MARKS,
        chapters={t: [tile(c, known) for c in here] for t, here in by_chapter(claims).items()},
        drawings={key: drawing(key, known) for key in TITLES},
        data=data(view, known),
        box_height=round(HEIGHT),
    )


def _kind(claim_id):
    kind = claim_id.partition("-")[0]
    return "eq" if kind == "eq" else "main" if kind in MAIN else "text"


def tile(c, known, elsewhere=False):
    """What a template needs to show a claim as a box."""
    shaky = c.verdict in STANDS and bool(wrong_below(c.id))
    css = f"v-{c.verdict.replace(' ', '-')} k-{_kind(c.id)}"
    css += " shaky" * shaky + " elsewhere" * elsewhere
    how = known.get(c.id, ("",))[0]
    return dict(id=c.id, css=css, verdict=c.verdict, known=how, label=title(c.id))


def drawing(key, known):
    """A chapter's claims and what they use in columns: `boxes`, `lines`, and what stands `apart`.

    Rows of tables stand apart, too: they rest on their table's reading and nothing rests on them.
    """
    here = [c for c in ledger().values() if c.chapter == key]
    drawn = [c for c in here if not re.match(r"tab-[^-]+-", c.id)]
    names = {c.id for c in drawn}
    linked = {c.id for c in drawn if c.uses or names & set(used_by(c.id))}
    outside = {used for c in drawn for used in c.uses} - names
    shown = [c for c in ledger().values() if c.id in linked | outside]
    found = draw(
        {c.id: f"{SIGNS[c.verdict]} {title(c.id)}" for c in shown},
        {c.id: c.uses for c in drawn},
    )
    box = lambda c: (
        tile(c, known, c.id in outside) | dict(zip(("x", "y", "width"), found.boxes[c.id]))
    )
    return dict(
        boxes=[box(c) for c in shown],
        lines=[dict(start=a, end=b, path=path) for (a, b), path in found.lines.items()],
        width=found.width,
        height=found.height,
        apart=[tile(c, known) for c in here if c.id not in linked],
    )


def data(view, known):
    """What the panel of a claim shows, as JSON that is safe inside a script element."""
    sentence = view.filters["sentence"]
    found = {
        c.id: dict(
            name=title(c.id),
            where=c.where,
            says=sentence(c.says),
            note=sentence(c.note),
            verdict=f"{SIGNS[c.verdict]} {c.verdict}",
            slip=c.slip,
            known=", ".join(filter(None, known.get(c.id, ()))),
            uses=list(c.uses),
            used=list(used_by(c.id)),
            wrong=wrong_below(c.id),
            cell=next((address for address, *_ in view.checked_at(c)), ""),
        )
        for c in ledger().values()
    }
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
