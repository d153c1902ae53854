"""The pages of the book that are made from the ledger: ``python -m ismlit.pages`` renews them.

The ledger, the claims graph, the errata and the reproduction report, each with its data as CSV.
A test fails while a stored page is not what this module would write.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
import unicodedata

from ismlit.claims import (
    TITLES,
    by_chapter,
    cells,
    counts,
    folder,
    ledger,
    link,
    rests_on,
    tally,
    used_by,
)
from ismlit.experiments import report

SIGNS = {
    "holds": "✓",
    "holds as corrected": "≈",
    "fails": "✗",
    "reproduced": "=",
    "not reproduced": "≠",
    "definition": "≔",
    "not checkable": "·",
    "open": "?",
}
"""One character for each verdict, so that no colour has to be told from another."""

WRONG = ("holds as corrected", "fails")
STANDS = ("holds", "reproduced", "definition")


def pages():
    """Every generated file of the book as {path within the book: text}."""
    where, numbers = cells(), list(report.numbers())
    return {
        "ledger.md": ledger_page(where),
        "graph.md": graph_page(where),
        "errata.md": errata_page(where),
        "reproduction.md": reproduction_page(where, numbers),
        "static/claims.csv": claims_csv(where),
        "static/reproduction.csv": reproduction_csv(numbers),
    }


def write():
    """Renew the generated files of the book."""
    if not (folder().parent / "thesis").is_dir():
        raise SystemExit("no book here: run this in a clone of the repository")
    for name, text in pages().items():
        (folder().parent / name).write_text(text, encoding="utf-8")


def _name(claim, where):
    """The claim's id as Markdown, linked to its cell if it has one."""
    name = f"`{claim.id}`"
    return f"[{name}]({link(where[claim.id][0])})" if claim.id in where else name


def _plain(text):
    """Text that Markdown and HTML leave alone."""
    return text.replace("<", r"\<")


# ---------------------------------------------------------------- ledger


def ledger_page(where):
    """All claims, chapter by chapter."""
    lines = [
        "# The ledger of claims",
        "",
        f"Every numbered item of the thesis, and what its text and its papers add: {len(ledger())}",
        f"claims; {tally()}. "
        "The id of a claim links to the cell that checks it; the cell raises if",
        "its verdict is not the one given here. In italics: the correction, the counterexample,",
        "or the reason. *Holds as corrected* means that the printed form fails and the corrected",
        "one passes. {download}`All rows as CSV <static/claims.csv>`; what rests on what is in",
        "[the claims graph](graph.md).",
    ]
    for title, claims in by_chapter(ledger().values()).items():
        lines += ["", f"## {title}", "", "| claim | verdict and statement |", "|---|---|"]
        for c in claims:
            text = f"**{c.verdict}** · {c.says}" + (f" *{c.note}*" if c.note else "")
            lines.append(_plain(f"| {_name(c, where)} {c.where} | {text} |"))
    return "\n".join(lines) + "\n"


def claims_csv(where):
    """The ledger as a table."""
    rows = [
        dict(
            id=c.id,
            part=TITLES[c.chapter],
            where=c.where,
            verdict=c.verdict,
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
    """Each claim that does not simply hold: printed, true instead, the cell."""
    wrong = [c for c in ledger().values() if c.verdict in WRONG]
    n = counts(wrong)
    lines = [
        "# Errata",
        "",
        f"{len(wrong)} claims do not simply hold: {n['holds as corrected']} hold once they are",
        f"corrected, {n['fails']} fail. For each: what is printed, what is true instead or the",
        "smallest counterexample that we know, and a link to the cell that computes it. First",
        "those that change a conclusion, then all, in the order of the thesis; many of these are",
        "a lost sign or factor and change nothing that is built on them.",
        "",
        "## Those that change a conclusion",
        "",
    ]
    for c in wrong:
        if c.matters:
            lines += _erratum(c, where)
    for title, claims in by_chapter(wrong).items():
        lines += [f"## {title}", ""]
        for c in claims:
            lines += _erratum(c, where)
    return "\n".join(lines[:-1]) + "\n"


def _erratum(c, where):
    instead = "Instead" if c.verdict == "holds as corrected" else "But"
    return [
        f"{_name(c, where)} {c.where} · **{c.verdict}**",
        _plain(f": *Printed:* {c.says}"),
        _plain(f": *{instead}:* {c.note}"),
        "",
    ]


# ---------------------------------------------------------------- reproduction report


def reproduction_page(where, numbers):
    """One entry for each row of a table and each figure, with the numbers beside each other."""
    claims = _tables_and_figures()
    agree = sum(n["agrees"] == "yes" for n in numbers)
    lines = [
        "# The reproduction report",
        "",
        "Every table and every figure of the thesis, row by row: what is printed → what came out",
        "when it was computed again (= where they agree, ≠ where not), the verdict, and in italics",
        "the reason. Formulas in tables (5.1 to 5.3,",
        "C.1) are checked by algebra and have no numbers here.",
        "",
        f"{len(numbers)} printed numbers were computed again, {agree} of them agree by the rule of",
        "their table, which its page states; a row is *reproduced* by the rule on that page, and",
        "need not agree in all its numbers. Seconds of another machine are not compared.",
        "{download}`Number by number as CSV <static/reproduction.csv>`, with the reading under",
        "which each agrees, or came nearest.",
    ]
    of_claim = {}
    for number in numbers:
        of_claim.setdefault(number["claim"], []).append(number)
    for title, here in {**_by_table(claims), "Figures": _figures(claims)}.items():
        done = sum(c.verdict in STANDS for c in here)
        lines += ["", f"## {title}", "", f"{done} of {len(here)} rows hold or are reproduced.", ""]
        for c in here:
            beside = _side_by_side(of_claim.get(c.id, []))
            lines.append(f"{_name(c, where)} {c.where} · **{c.verdict}**")
            lines.append(_plain(f": {beside or c.says}"))
            lines += [_plain(f": *{c.note}*")] * bool(c.note) + [""]
    return "\n".join(lines).rstrip() + "\n"


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


def graph_page(where):
    """Every claim as a tile that links to its cell; book/static/graph.js draws what it uses."""
    lines = [
        "# The claims graph",
        "",
        "What rests on what? Each tile is a claim, in reading order; its sign and colour are its",
        "verdict. Point at one, or reach it by the keyboard (tab into the map, then the arrow",
        "keys), to see what it uses (solid lines) and what uses it (dashed). Enter, a click or,",
        "on a touch screen, a second tap opens the cell that checks it. A dotted frame marks a",
        "claim that itself stands but rests, directly or through others, on one that fails as",
        "printed. [The ledger](ledger.md) has the same as text.",
        "",
        '<div class="claims-graph" id="claims-graph">',
        '<form class="graph-filter" role="search">',
        '<label>Find (Lemma D.4, eigengap, …) <input type="search" id="graph-find"></label>',
        '<label>Show <select id="graph-kind"><option value="">everything</option>'
        '<option value="main">numbered items but equations</option>'
        '<option value="eq">equations</option>'
        '<option value="text">sentences of the text, and ours</option></select></label>',
        '<fieldset class="graph-legend"><legend>Verdicts</legend>',
    ]
    for verdict, number in counts().items():
        css = _css(verdict)
        lines.append(
            f'<label class="v-{css}"><input type="checkbox" checked value="{css}">'
            f"<span>{SIGNS[verdict]}</span> {verdict} ({number})</label>"
        )
    lines += [
        '</fieldset><label><input type="checkbox" id="graph-all"> draw every link among those shown'
        '</label><output id="graph-count"></output></form>',
        '<div class="graph-map"><svg class="graph-lines" aria-hidden="true"><g></g><g></g></svg>',
    ]
    for title, claims in by_chapter(ledger().values()).items():
        lines.append(f'<section><h2 class="graph-title">{html.escape(title)}</h2><ul>')
        lines += [_tile(c, where) for c in claims]
        lines.append("</ul></section>")
    lines += [
        '</div><aside class="graph-card" id="graph-card" aria-label="The chosen claim"></aside>',
        "</div>",
        f'<script type="application/json" id="graph-data">{_graph_data(where)}</script>',
        '<script src="../_static/graph.js"></script>',
    ]
    return "\n".join(lines) + "\n"


def _address(claim_id, where):
    """Of the claim's cell in the built book, else of its part of the ledger."""
    if claim_id not in where:
        return f"ledger.html#{_anchor(TITLES[ledger()[claim_id].chapter])}"
    path, heading = where[claim_id][0]
    return f"{path.with_suffix('.html').as_posix()}#{_anchor(heading)}"


def _anchor(heading):
    """The id that docutils gives a heading (Markdown links take another, which MyST resolves)."""
    plain = unicodedata.normalize("NFKD", heading.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"^[-0-9]+|-+$", "", re.sub(r"[^a-z0-9]+", "-", plain))


def _tile(c, where):
    shaky = c.verdict in STANDS and bool(_wrong_below(c.id))
    css = f"v-{_css(c.verdict)} k-{_kind(c.id)}" + " shaky" * shaky
    label = html.escape(_label(c.id))
    return (
        f'<li><a class="{css}" data-id="{c.id}" href="{_address(c.id, where)}" '
        f'title="{c.id}: {c.verdict}"><span aria-hidden="true">{SIGNS[c.verdict]}</span> {label}'
        f'<span class="graph-hidden">, {c.verdict}</span></a></li>'
    )


def _graph_data(where):
    """What the card of a claim shows, as JSON that is safe inside a script element."""
    data = {
        c.id: dict(
            name=f"{NAMES.get(c.id.partition('-')[0], '')} {c.id.partition('-')[2]}",
            where=c.where,
            says=c.says,
            note=c.note,
            verdict=c.verdict,
            uses=list(c.uses),
            used=list(used_by(c.id)),
            wrong=_wrong_below(c.id),
        )
        for c in ledger().values()
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def front_counts():
    """The verdicts as bars, for the front page: an object that Jupyter shows as HTML."""
    from IPython.display import HTML

    largest = max(counts().values())
    rows = "".join(
        f'<tr><th scope="row">{SIGNS[verdict]} {verdict}</th><td>{number}</td>'
        f'<td><div class="bar v-{_css(verdict)}" '
        f'style="width:{100 * number / largest:.0f}%"></div></td></tr>'
        for verdict, number in counts().items()
    )
    return HTML(f'<table class="verdicts"><tbody>{rows}</tbody></table>')


if __name__ == "__main__":
    write()
    print(tally())
