"""The pages of the book that are made from the ledger: ``python -m tools.site.pages``.

The ledger, the claims graph, the errata and the reproduction report, each with its data as CSV;
the ledger as linked data, too.
What stands here are their texts; their tables are made while the book is built, by
`tools.site.verdicts`. A test fails while a stored page is not what this module would write.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import posixpath
import re

import nbformat
import yaml
from ismlit_book import files
from ismlit_book.experiments import report
from ismlit_book.record.cells import cells, known, known_by_scope, link, unchecked, unproved
from ismlit_book.record.ledger import (
    MARKS,
    SLIPS,
    TITLES,
    counts,
    derives,
    ledger,
    tally,
    title,
    told_apart,
    used_by,
)

from tools.site.templates import render
from tools.site.verdicts import behind, errata, tables
from tools.toc import pages as in_order

BASE = yaml.safe_load((files.pages().parent / "_config.yml").read_text("utf-8"))["html"]["baseurl"]
"""Where the site is served."""


def pages():
    """Every generated file of the book as {path within the book: text}."""
    where, numbers, how = cells(), list(report.numbers()), known()
    in_words = {
        "known": lambda claim: ", ".join(filter(None, how.get(claim.id, ()))),
        "title_of": title,
    }
    wrong, common = counts(errata()), dict(marks=MARKS, titles=TITLES)
    asked = exercises()
    found = {
        "ledger.md": render(
            "ledger.md.j2",
            in_words,
            parts=[(len(part), tally(part).removeprefix("ours: ")) for part in told_apart()],
            table=known_by_scope(how),
            equations=sum(bool(derives(claim_id)) for claim_id in ledger()),
            unchecked=unchecked(how),
            unproved=unproved(how),
            **common,
        ),
        "graph.md": render("graph.md.j2", **common),
        "errata.md": render(
            "errata.md.j2",
            wrong=len(errata()),
            corrected=wrong["holds as corrected"],
            failing=wrong["fails"],
            slips={slip: means for slip, means in SLIPS.items() if slip != "transcription"},
        ),
        "reproduction.md": render(
            "reproduction.md.j2",
            tables=tables(),
            total=len(numbers),
            agree=sum(n["agrees"] == "yes" for n in numbers),
        ),
        "reference/claims.md": render(
            "claims.md.j2",
            in_words | {"address": lambda claim_id: link(where[claim_id][0])},
            names=behind(where),
            most=12,
        ),
        "exercises.md": render(
            "exercises.md.j2",
            chapters=asked,
            total=sum(len(texts) for listed in asked.values() for *_, texts in listed),
        ),
        "static/library.csv": library_csv(where),
        "static/claims.csv": claims_csv(where, how),
        "static/claims.jsonld": claims_jsonld(where, how),
        "static/reproduction.csv": reproduction_csv(numbers),
    }
    return {name: text.rstrip() + "\n" for name, text in found.items()}


EXERCISE = re.compile(
    r"^\*\*(Exercise \d+)\.?\*\*(.*?)(?=^\*Hint\.\*|^<details>)", re.MULTILINE | re.DOTALL
)
LINK = re.compile(r"\]\((?!https?:)([^)]+)\)")


def exercises():
    """{the title of a chapter: [(page, its title, [(name of an exercise, its text)])]}."""
    chapters = {}
    for page in in_order():
        path = files.pages().parent / f"{page}.ipynb"
        if not path.exists() or "record" in path.parts:
            continue
        cells = nbformat.read(path, as_version=4).cells
        text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        asked = [(name, _from_the_root(path, told)) for name, told in EXERCISE.findall(text)]
        if asked:
            index = path.with_name("index.md")
            chapter = _title(index.read_text("utf-8")) if index.exists() else "Use it on your data"
            page = path.relative_to(files.pages()).as_posix()
            chapters.setdefault(chapter, []).append((page, _title(text), asked))
    return chapters


def _title(text):
    """The first heading of a page."""
    return re.search(r"^# (.+)$", text, re.MULTILINE)[1]


def _from_the_root(path, text):
    """The text of an exercise with its links as they are seen from the book's root."""
    folder = path.parent.relative_to(files.pages()).as_posix()

    def seen(link):
        target = path.name + link[1] if link[1].startswith("#") else link[1]
        return f"]({posixpath.normpath(posixpath.join(folder, target))})"

    return LINK.sub(seen, text.strip())


def readme(text):
    """README with the counts of today in its sentence about the claims."""
    theirs, ours = told_apart()
    number = counts(theirs)
    sentence = (
        f"{len(theirs)} claims: {number['holds']} hold, {number['holds as corrected']} hold once"
        f" they are corrected, {number['fails']} fail; of the\ntables' and figures' rows "
        f"{number['reproduced']} are reproduced, {number['reproduced in part']} in part, "
        f"{number['not reproduced']} not. {number['definition']}\nare definitions, and "
        f"{number['not checkable']} cannot be checked by code. This edition adds\n"
        f"{len(ours)} claims of its own, of which {counts(ours)['holds']} hold."
    )
    return re.sub(r"\d+ claims: \d+ hold,.*? of\s+which \d+ hold\.", sentence, text, flags=re.S)


def write():
    """Renew the generated files of the book, and the counts of README."""
    if not files.is_checkout():
        raise SystemExit("no book here: run this in a clone of the repository")
    for name, text in pages().items():
        (files.pages() / name).write_text(text, encoding="utf-8")
    path = files.pages().parent / "README.md"
    path.write_text(readme(path.read_text(encoding="utf-8")), encoding="utf-8")


# ---------------------------------------------------------------- the same as tables


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
            derives=derives(c.id),
            cell=link(where[c.id][0]) if c.id in where else "",
        )
        for c in ledger().values()
    ]
    return _csv(rows)


def library_csv(where):
    """The names of the library and the claims behind them as a table."""
    named = [(name, claim_id) for name, claims in behind(where).items() for claim_id in claims]
    return _csv([dict(name=n, claim=c, cell=link(where[c][0])) for n, c in named])


CONTEXT = {
    "@vocab": "https://schema.org/",
    "verdict": "reviewAspect",
    "known": "measurementTechnique",
    "uses": {"@id": "isBasedOn", "@type": "@id"},
    "usedBy": {"@reverse": "isBasedOn", "@type": "@id"},
    "checkedIn": {"@id": "subjectOf", "@type": "@id"},
}
"""What the words of ``claims.jsonld`` mean; the id of a claim is the address of its page."""


def claims_jsonld(where, how):
    """The ledger as linked data: each claim, its verdict and evidence, what it uses, its pages."""
    page = lambda claim_id: f"claims/{claim_id}.html"
    graph = [
        {
            "@type": "Claim",
            "@id": page(c.id),
            "identifier": c.id,
            "name": title(c.id),
            "isPartOf": TITLES[c.chapter],
            "position": c.where,
            "text": c.says,
            "verdict": c.verdict,
            "comment": c.note,
            "known": how.get(c.id, ("", ""))[0],
            "uses": [*map(page, c.uses)],
            "usedBy": [*map(page, used_by(c.id))],
            "checkedIn": [p.path.with_suffix(".html").as_posix() for p in where.get(c.id, [])],
        }
        for c in ledger().values()
    ]
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in graph)
    context = json.dumps(CONTEXT | {"@base": f"{BASE}book/"})
    return f'{{"@context": {context}, "@graph": [\n{lines}\n]}}'


def _csv(rows):
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def reproduction_csv(numbers):
    """All numbers, with verdict and reason of their row; rows and figures without numbers last."""
    rows = list(numbers)
    covered = {number["claim"] for number in numbers}
    for c in ledger().values():
        if c.id.startswith(("tab-", "fig-")) and c.id not in covered:
            kind = c.id.split("-")[1] if c.id.startswith("tab-") else ""
            rows.append(dict(claim=c.id, table=kind, row=c.where, quantity=c.says))
    said = lambda claim: dict(verdict=claim.verdict, reason=claim.note)
    return _csv([row | said(ledger()[row["claim"]]) for row in rows])


def main():
    """Renew the generated files of the book, and say where all claims stand."""
    argparse.ArgumentParser(description=main.__doc__).parse_args()
    write()
    print(tally())


if __name__ == "__main__":
    main()
