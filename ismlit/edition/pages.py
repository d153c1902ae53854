"""The pages of the book that are made from the ledger: ``python -m ismlit.edition.pages``.

The ledger, the claims graph, the errata and the reproduction report, each with its data as CSV.
A test fails while a stored page is not what this module would write.
"""

from __future__ import annotations

import csv
import io
import json
import re

from ismlit.edition.cells import cells, known, known_by_scope, link, unproved
from ismlit.edition.evidence import KNOWN
from ismlit.edition.experiments import report
from ismlit.edition.files import book, is_checkout
from ismlit.edition.ledger import (
    SIGNS,
    SLIPS,
    TITLES,
    by_chapter,
    counts,
    ledger,
    rests_on,
    tally,
    used_by,
)
from ismlit.edition.templates import render

MARKS = {
    "derived": "∎",
    "exhaustive": "∀",
    "drawn": "⚄",
    "counterexample": "∄",
    "recomputed": "#",
    "stored": "▤",
    "printed": "¶",
    "one case": "1",
}
"""One character for how a claim is known."""

WRONG = ("holds as corrected", "fails")
STANDS = ("holds", "reproduced", "definition")


def pages():
    """Every generated file of the book as {path within the book: text}."""
    where, numbers, how = cells(), list(report.numbers()), known()
    found = {
        "ledger.md": ledger_page(where, how),
        "graph.md": graph_page(where, how),
        "errata.md": errata_page(where),
        "reproduction.md": reproduction_page(where, numbers),
        "static/claims.csv": claims_csv(where, how),
        "static/reproduction.csv": reproduction_csv(numbers),
    }
    return {name: text.rstrip() + "\n" for name, text in found.items()}


def write():
    """Renew the generated files of the book."""
    if not is_checkout():
        raise SystemExit("no book here: run this in a clone of the repository")
    for name, text in pages().items():
        (book() / name).write_text(text, encoding="utf-8")


def _filters(where):
    """How a claim and its texts are shown in Markdown."""

    def name(claim):
        """The claim's id, linked to its cell if it has one."""
        text = f"`{claim.id}`"
        return f"[{text}]({link(where[claim.id][0])})" if claim.id in where else text

    plain = lambda text: text.replace("<", r"\<")
    return {"name": name, "plain": plain, "cell": lambda text: plain(text).replace("|", r"\|")}


# ---------------------------------------------------------------- ledger


def ledger_page(where, how):
    """The rule, how the claims are known, and all claims, chapter by chapter."""
    return render(
        "ledger.md.j2",
        _filters(where) | {"known": lambda claim: _known(claim, how)},
        total=len(ledger()),
        tally=tally(),
        signs=SIGNS,
        table=known_by_scope(how),
        marks=MARKS,
        unproved=unproved(how),
        chapters=by_chapter(ledger().values()),
    )


def _known(claim, how):
    """How a claim is known and over what, in words; "" without a cell."""
    return ", ".join(part for part in how.get(claim.id, ()) if part)


def claims_csv(where, how):
    """The ledger as a table."""
    rows = [
        dict(
            id=c.id,
            part=TITLES[c.chapter],
            where=c.where,
            verdict=c.verdict,
            slip=c.slip,
            scope=c.scope,
            known=how.get(c.id, ("", ""))[0],
            over=how.get(c.id, ("", ""))[1],
            says=c.says,
            note=c.note,
            uses=" ".join(c.uses),
            cell=link(where[c.id][0]) if c.id in where else "",
        )
        for c in ledger().values()
    ]
    return _csv(rows)


def _csv(rows):
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


# ---------------------------------------------------------------- errata


def errata_page(where):
    """Each claim that does not simply hold, by what is wrong with it: printed, true, the cell."""
    wrong = [c for c in ledger().values() if c.verdict in WRONG]
    number = counts(wrong)
    mended = {slip: [c for c in wrong if c.slip == slip and c.verdict != "fails"] for slip in SLIPS}
    return render(
        "errata.md.j2",
        _filters(where),
        wrong=wrong,
        corrected=number["holds as corrected"],
        failing=number["fails"],
        slips={slip: (SLIPS[slip], claims) for slip, claims in mended.items() if claims},
        fails=[c for c in wrong if c.verdict == "fails"],
    )


# ---------------------------------------------------------------- reproduction report


def reproduction_page(where, numbers):
    """One entry for each row of a table and each figure, with the numbers beside each other."""
    claims, of_claim = _tables_and_figures(), {}
    for number in numbers:
        of_claim.setdefault(number["claim"], []).append(number)
    sections = [
        dict(
            title=title,
            done=sum(c.verdict in STANDS for c in here),
            part=sum(c.verdict == "reproduced in part" for c in here),
            rows=[(c, _side_by_side(of_claim.get(c.id, []))) for c in here],
        )
        for title, here in {**_by_table(claims), "Figures": _figures(claims)}.items()
    ]
    agree = sum(n["agrees"] == "yes" for n in numbers)
    return render(
        "reproduction.md.j2", _filters(where), sections=sections, total=len(numbers), agree=agree
    )


def _tables_and_figures():
    return [c for c in ledger().values() if c.id.startswith(("tab-", "fig-"))]


def _figures(claims):
    return [c for c in claims if c.id.startswith("fig-")]


def _by_table(claims):
    found = {}
    for c in claims:
        if table := re.match(r"tab-(\w+\.\d+)", c.id):
            found.setdefault(f"Table {table[1]}", []).append(c)
    order = {key: place for place, key in enumerate(TITLES)}
    place = lambda title: (order[title[6]], [int(n) for n in title[6:].split(".")[1:]])
    return dict(sorted(found.items(), key=lambda item: place(item[0])))


MOST_NUMBERS = 8  # in one row of the page; the CSV has all


def _side_by_side(numbers):
    if len(numbers) > MOST_NUMBERS:
        agree = sum(n["agrees"] == "yes" for n in numbers)
        return f"{agree} of {len(numbers)} numbers agree (in the CSV)"
    rows = {n["row"] for n in numbers}
    lines = []
    for n in numbers:
        what = n["quantity"] if len(rows) == 1 else f"{n['row'].partition(' ')[2]}, {n['quantity']}"
        sign = SIGNS["reproduced"] if n["agrees"] == "yes" else SIGNS["not reproduced"]
        lines.append(f"{what}: {n['printed']} → {n['recomputed']} {sign}")
    return "; ".join(lines)


def reproduction_csv(numbers):
    """All numbers, with verdict and reason of their row; rows and figures without numbers last."""
    rows = []
    for number in numbers:
        claim = ledger()[number["claim"]]
        rows.append(number | dict(verdict=claim.verdict, reason=claim.note))
    covered = {number["claim"] for number in numbers}
    empty = dict.fromkeys(rows[0], "")
    for c in _tables_and_figures():
        if c.id not in covered:
            kind = c.id.split("-")[1] if c.id.startswith("tab-") else ""
            rows.append(
                empty
                | dict(claim=c.id, table=kind, row=c.where, quantity=c.says)
                | dict(verdict=c.verdict, reason=c.note)
            )
    return _csv(rows)


# ---------------------------------------------------------------- graph

NAMES = {
    "thm": "theorem",
    "lem": "lemma",
    "def": "definition",
    "cor": "corollary",
    "prop": "proposition",
    "alg": "algorithm",
    "tab": "table",
    "fig": "figure",
    "eq": "equation",
}
"""What a reader may type to find a claim."""
SHORT = {
    "thm": "Thm ",
    "lem": "Lem. ",
    "def": "Def. ",
    "cor": "Cor. ",
    "prop": "Prop. ",
    "alg": "Alg. ",
    "tab": "Tab. ",
    "fig": "Fig. ",
    "sec": "§ ",
}


def _label(claim_id):
    """What stands on a claim's tile: "5.2" for an equation, "Thm 5.1", else its own name."""
    kind, _, name = claim_id.partition("-")
    if kind == "eq":
        return f"({name})"
    if kind in SHORT:
        return SHORT[kind] + name.replace("-", " ")
    return claim_id.replace("-", " ")


def _kind(claim_id):
    kind = claim_id.partition("-")[0]
    return "eq" if kind == "eq" else "main" if kind in NAMES else "text"


def _css(verdict):
    return verdict.replace(" ", "-")


def _wrong_below(claim_id):
    """What a claim rests on that is wrong as printed, by name."""
    return sorted(used for used in rests_on(claim_id) if ledger()[used].verdict in WRONG)


def graph_page(where, how):
    """Every claim as a tile that links to its cell; book/static/graph.js draws what it uses."""
    chapters = by_chapter(ledger().values())
    return render(
        "graph.md.j2",
        {"css": _css},
        counts=counts(),
        signs=SIGNS,
        marks=MARKS,
        chapters={t: [_tile(c, where, how) for c in claims] for t, claims in chapters.items()},
        data=_graph_data(how),
    )


def _address(claim_id, where):
    """Of the claim's cell in the built book, else of its part of the ledger."""
    if claim_id not in where:
        return f"ledger.html#{_anchor(TITLES[ledger()[claim_id].chapter])}"
    path, heading = where[claim_id][0]
    return f"{path.with_suffix('.html').as_posix()}#{_anchor(heading)}"


def _anchor(heading):
    """The id that docutils gives a heading (Markdown links take another, which MyST resolves)."""
    from docutils.nodes import make_id

    return make_id(heading)


def _tile(c, where, how):
    shaky = c.verdict in STANDS and bool(_wrong_below(c.id))
    return dict(
        id=c.id,
        css=f"v-{_css(c.verdict)} k-{_kind(c.id)}" + " shaky" * shaky,
        address=_address(c.id, where),
        verdict=c.verdict,
        known=how.get(c.id, ("",))[0],
        label=_label(c.id),
    )


def _graph_data(how):
    """What the card of a claim shows, as JSON that is safe inside a script element."""
    data = {
        c.id: dict(
            name=f"{NAMES.get(c.id.partition('-')[0], '')} {c.id.partition('-')[2]}",
            where=c.where,
            says=c.says,
            note=c.note,
            verdict=c.verdict,
            known=_known(c, how),
            uses=list(c.uses),
            used=list(used_by(c.id)),
            wrong=_wrong_below(c.id),
        )
        for c in ledger().values()
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def front_counts():
    """The verdicts as bars, for the front page: an object that Jupyter shows as HTML."""
    return _bars(counts(), SIGNS)


def front_known():
    """How the claims are known as bars, for the front page."""
    table = {key: sum(row.values()) for key, row in known_by_scope().items() if key in KNOWN}
    return _bars({key: number for key, number in table.items() if number}, MARKS)


def _bars(numbers, signs):
    from IPython.display import HTML

    values = dict(counts=numbers, signs=signs, largest=max(numbers.values()))
    return HTML(render("counts.html.j2", {"css": _css}, **values))


if __name__ == "__main__":
    write()
    print(tally())
