"""What the verdict pages show, and a page for every claim: an extension of Sphinx.

``book/ledger.md``, ``errata.md``, ``reproduction.md`` and ``graph.md`` say where each part stands,
in a directive ``from-ledger``; it is written while the book is built, and no file holds it. So are
the pages of the claims, ``claims/ID.html`` beside them. The badges of the notebooks lead there.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from html import escape
from pathlib import Path
from urllib.parse import quote

from docutils import nodes
from ismlit_book import files
from ismlit_book.experiments import report
from ismlit_book.figures.verdict_bar import bar
from ismlit_book.record.cells import cells, known, notebooks, proofs, used_at
from ismlit_book.record.evidence import KNOWN
from ismlit_book.record.ledger import (
    KINDS,
    SCOPES,
    SIGNS,
    SLIPS,
    TITLES,
    WRONG,
    ClaimError,
    by_chapter,
    counts,
    derivation,
    derives,
    folded,
    ledger,
    tally,
    title,
    used_by,
    wrong_below,
)
from ismlit_book.record.origins import ORIGINS, names_read, origin, tables_read
from ismlit_book.record.tables import results
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.util.docutils import SphinxDirective

import ismlit
from tools.site import formulas, graph
from tools.site.templates import environment

BADGE = re.compile(r'<a href="[./]*ledger\.html#claim-([^"]+)"><code>')
"""How a claim is named by a stored badge of a notebook."""


# ---------------------------------------------------------------- what is shown


@dataclass(frozen=True)
class Verdicts:
    """All that the pages say about claims, as seen from a page of the book.

    Attributes
    ----------
    up : str
        The way from the page to the folder of the book, "" or "../".
    typeset : bool
        Whether formulas are typeset when the page is loaded; see `formulas.html`.
    """

    up: str = ""
    typeset: bool = False

    @cached_property
    def filters(self):
        """How the templates write claims and their sentences."""
        return {
            "sentence": lambda text: formulas.html(text, self.address, self.typeset),
            "address": self.address,
            "name": title,
            "heading": heading,
            "cells": self.checked_at,
            "known": lambda c: _known().get(c.id, ("", "")),
            "numbers": lambda c: _numbers().get(c.id, []),
            "proof": lambda c: _proofs().get(c.id, ""),
            "score": lambda c: _scores().get(c.id),
            "tally": tally,
            "folded": folded,
            "derives": derives,
            "derivation": derivation,
            "bar": bar,
        }

    @cached_property
    def templates(self):
        """The templates with these filters."""
        return environment(self.filters)

    def address(self, claim_id):
        """Of the claim's own page."""
        return f"{self.up}claims/{quote(claim_id)}.html"

    def checked_at(self, claim):
        """[(address, where, code, what it uses from above)] of the cells that check a claim."""
        found = []
        for place in _cells().get(claim.id, []):
            page = place.path.with_suffix(".html").as_posix()
            where = " › ".join(dict.fromkeys((_titles()[place.path], place.heading)))
            address = f"{self.up}{page}#check-{claim.id}"
            found.append((address, where, place.source, used_at(place)))
        return found

    def part(self, template, **values):
        """A template of a verdict page, filled in."""
        common = dict(signs=SIGNS, slips=SLIPS, scopes=SCOPES, titles=TITLES, of=ledger())
        return self.templates.get_template(template).render(up=self.up, **common, **values)

    def claim(self, claim_id, code=()):
        """All about one claim; `code` has (name, address) of what implements it."""
        c = ledger()[claim_id]
        links = dict(
            used=used_by(c.id), wrong=wrong_below(c.id), reads=tables_read(c.id), code=code
        )
        show = dict(highlight=_highlight, origin=origin, origins=ORIGINS)
        return self.part("claim.html.j2", c=c, **show, **links)


def heading(claim_id, most=72):
    """What stands above a claim's page: its number, or where it is from and what it says."""
    name = title(claim_id)
    if claim_id.startswith("eq-"):
        return f"Equation {name}"
    kind = claim_id.partition("-")[0]
    if kind in KINDS.keys() - {"sec", "txt"} or ": (" in name:
        return name
    says = re.split(r"[.;:] ", ledger()[claim_id].says)[0].rstrip(".")
    if len(says) > most:
        says = says[:most].rsplit(" ", 1)[0].rstrip(",") + " …"
    return f"{name.partition(':')[0]}: {says}"


_cells, _known, _proofs = cache(cells), cache(known), cache(proofs)


@cache
def _titles():
    """The title of each notebook, by its path."""
    text = lambda notebook: "\n".join("".join(cell["source"]) for cell in notebook["cells"])
    return {path: re.search(r"^# +(.*)$", text(book), re.M)[1] for path, book in notebooks()}


@cache
def _numbers():
    """The printed and recomputed numbers of each claim."""
    found = {}
    for number in report.numbers():
        found.setdefault(number["claim"], []).append(number)
    return found


@cache
def _scores():
    """For each claim whose formulas were falsified, how many its checks noticed."""
    return {row["claim"]: row for row in results("sabotage")}


@cache
def _highlight(source):
    return highlight(source, PythonLexer(), HtmlFormatter())


@cache
def implementations():
    """For each claim, what its check calls of the library, and whose docstrings name it."""
    found = {}
    packages = Path(ismlit.__file__).parent, files.data()
    for path in (path for package in packages for path in sorted(package.rglob("*.py"))):
        root = next(package.parent for package in packages if path.is_relative_to(package))
        parts = path.relative_to(root).with_suffix("").parts
        module = ".".join(part for part in parts if not part.startswith("_"))  # as it is imported
        for name, doc in _docstrings(ast.parse(path.read_text(encoding="utf-8")), module):
            mentions = (formulas.named(match[0]) for match in formulas.CLAIM.finditer(doc))
            for claim_id in dict.fromkeys(filter(None, mentions)):
                found.setdefault(claim_id, []).append(name)
    for claim_id in cells():
        read = names_read(claim_id)
        for name in filter(read.__contains__, ismlit.__all__):
            home = ismlit._MODULE_OF.get(name, "datasets")
            found.setdefault(claim_id, []).append(f"ismlit.{home}.{name}".replace("._named", ""))
    return found


def behind(where):
    """{name of the library: claims that a cell checks with it}, in the order of the ledger."""
    found = {name: [] for name in ismlit.__all__}
    for claim_id in filter(where.__contains__, ledger()):
        nodes = [node for place in where[claim_id] for node in ast.walk(ast.parse(place.source))]
        for name in found.keys() & {node.id for node in nodes if isinstance(node, ast.Name)}:
            found[name].append(claim_id)
    return {name: claims for name, claims in found.items() if claims}


def _docstrings(node, name):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            inner = f"{name}.{child.name}"
            if not child.name.startswith("_"):
                yield inner, (ast.get_docstring(child) or "").partition("Examples\n---")[0]
                yield from _docstrings(child, inner)


# ---------------------------------------------------------------- the parts of the four pages


def _filter(_):
    count = lambda words: {w: n for w, n in Counter(words).items() if w}
    how = count(kind for kind, _ in _known().values())
    values = dict(
        verdict=counts(),
        known={kind: how[kind] for kind in KNOWN if kind in how},
        slip=count(c.slip for c in ledger().values()),
    )
    return Verdicts().part("filter.html.j2", choices=values)


def _chapter(key):
    claims = [c for c in ledger().values() if c.chapter == key]
    return Verdicts().part("ledger.html.j2", claims=claims)


def _errata(key):
    """Those of a slip, those that fail, or those that matter; long lists by chapter."""
    chosen = {"matters": lambda c: c.matters, "fails": lambda c: c.verdict == "fails"}.get(
        key, lambda c: c.slip == key and c.verdict != "fails"
    )
    groups = by_chapter([c for c in errata() if chosen(c)])
    matters = key == "matters"  # they stand open, and are typeset at once
    return Verdicts(typeset=matters).part("errata.html.j2", groups=groups, fold=not matters)


def errata():
    """The claims that are wrong as printed."""
    return [c for c in ledger().values() if c.verdict in WRONG]


def _report(key):
    claims = tables()[key]
    numbers = [n for c in claims for n in _numbers().get(c.id, [])]
    agree = sum(n["agrees"] == "yes" for n in numbers)
    return Verdicts().part("report.html.j2", claims=claims, total=len(numbers), agree=agree)


def tables():
    """{"Table 3.1": its rows, ..., "Figures": all of them}, in the order of the thesis."""
    found = {}
    for c in ledger().values():
        if match := re.match(r"fig-|tab-(\w+\.\d+)", c.id):
            found.setdefault(f"Table {match[1]}" if match[1] else "Figures", []).append(c)
    numbers = lambda name: re.findall(r"\w+", name.removeprefix("Table "))
    place = lambda name: (
        [*TITLES, "Figures"].index(numbers(name)[0]),
        *map(int, numbers(name)[1:]),
    )
    return {name: found[name] for name in sorted(found, key=place)}


PARTS = {
    "filter": _filter,
    "chapter": _chapter,
    "errata": _errata,
    "report": _report,
    "graph": lambda _: graph.page(Verdicts(), _known()),
}


# ---------------------------------------------------------------- Sphinx


def setup(app):
    """What Sphinx calls."""
    app.add_directive("from-ledger", FromLedger)
    app.connect("html-page-context", _on_page, priority=400)  # before MathJax is asked for
    app.connect("html-collect-pages", _claim_pages)
    return dict(parallel_read_safe=True, parallel_write_safe=True)


class FromLedger(SphinxDirective):
    """A part of a verdict page: its name, and which of its kind."""

    required_arguments = 1
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self):
        name, key = (*self.arguments, "")[:2]
        return [nodes.raw("", PARTS[name](key), format="html")]


def _on_page(app, page, template, context, doctree):
    """A page's badges lead to the pages of their claims and can be led to; MathJax where needed."""
    body = context.get("body") or ""
    if "data-tex=" in body:
        app.env.get_domain("math").data["has_equations"][page] = True
    if 'class="claim ' in body:
        context["body"] = with_anchors(body, page)


def with_anchors(body, page):
    """The HTML of a page whose badges have an anchor each and lead to the pages of their claims.

    Raises
    ------
    ClaimError
        If a badge is of a claim that is not in the ledger.
    """
    seen = set()
    up = "../" * page.removeprefix("book/").count("/")  # wherever the notebook was executed

    def renewed(badge):
        claim_id = badge[1]
        if claim_id not in ledger():
            raise ClaimError(
                f"{page} has a badge of {claim_id}, which is not in the ledger: execute the "
                "notebook again, or add a row to book/claims"
            )
        anchor = "" if claim_id in seen else f' id="check-{claim_id}"'
        seen.add(claim_id)
        return f'<a{anchor} href="{Verdicts(up).address(claim_id)}"><code>'

    return BADGE.sub(renewed, body)


FOLDER, SHELL = "book/claims", "one-claim"
"""Where the pages of the claims lie, and the name of the page that is filled for each."""
IN_SIDEBAR = re.compile(r'(<li class="toctree-l1)("><a class=")([^"]*" href="../ledger.html">)')
"""The ledger, which the sidebar marks as the place of a claim."""
SLOTS = ("title", "says", "body", "before", "before-link", "after", "after-link")


def _claim_pages(app):
    """Every claim's page: the theme makes one, with slots, which are filled a thousand times.

    Yields the (name, context, template) of that one.
    """
    slot = {name: f"@@{name}@@" for name in SLOTS}
    beside = lambda way: dict(title=slot[way], link=slot[f"{way}-link"])
    context = dict(title=slot["title"], body=slot["body"], display_toc=False)
    up = dict(record="record/index", ledger="ledger")
    context["parents"] = [
        dict(title=title, link=f"../{up[name]}.html")
        for name, title in (("record", "The record"), ("ledger", "The ledger of claims"))
    ]
    page = f"{FOLDER}/{SHELL}"
    shared = environment({}).get_template("head.html.j2")  # as sphinxext.opengraph has it of a text
    metatags = shared.render(page=page, slot=slot, config=app.config)
    context |= dict(prev=beside("before"), next=beside("after"), metatags=metatags)
    app.env.get_domain("math").data["has_equations"][page] = True
    yield page, context, "page.html"
    file = Path(app.builder.get_outfilename(page))
    shell = IN_SIDEBAR.sub(r"\1 current active\2current \3", file.read_text(encoding="utf-8"))
    file.unlink()
    for claim_id, values in claim_pages(_reference(app)):
        text = shell.replace(SHELL, claim_id)
        for name, value in values.items():
            text = text.replace(slot[name], value)
        file.with_name(f"{claim_id}.html").write_text(text, encoding="utf-8")
        app.sitemap_links.put(
            (f"{FOLDER}/{claim_id}.html", None)
        )  # which sees Sphinx's pages alone


def _reference(app):
    """{name of a function or class: its address on the page of the reference}."""
    uri = lambda entry: app.builder.get_relative_uri(f"{FOLDER}/{SHELL}", entry.docname)
    objects = app.env.get_domain("py").objects
    return {name: f"{uri(entry)}#{entry.node_id}" for name, entry in objects.items()}


def claim_pages(reference):
    """(id, values of `SLOTS`) of every claim; before and after it are its neighbours.

    Parameters
    ----------
    reference : dict
        The addresses of the functions that the reference shows, by name.
    """
    view = Verdicts(up="../", typeset=True)
    for claims in by_chapter(ledger().values()).values():
        for before, c, after in zip([None, *claims], claims, [*claims[1:], None]):
            code = [(name, reference.get(name)) for name in implementations().get(c.id, [])]
            values = dict(
                title=escape(f"{heading(c.id)}: {c.verdict}"),
                says=escape(c.says),
                body=view.claim(c.id, code),
            )
            for way, other in (("before", before), ("after", after)):
                values[way] = escape(heading(other.id)) if other else "The ledger of claims"
                values[f"{way}-link"] = f"{quote(other.id)}.html" if other else "../ledger.html"
            yield c.id, values
