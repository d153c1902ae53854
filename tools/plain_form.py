"""What the site makes of the notebooks' plain Markdown: an extension of Sphinx.

A notebook is written in what JupyterLab, VS Code, Colab, GitHub and this book all show: a statement
is a block quote with a bold lead, an exercise a paragraph with one, a caption a line in italics
below its cell. Here they get the classes by which ``book.css`` draws boxes and captions, numbered
formulas and figures get addresses, and "(4)" and "Figure 2" lead to those of their page. And a page
in Markdown shows a figure of a notebook by a directive, ``stored-figure PAGE CELL``.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import ismlit

TAG = re.compile(r"\\tag\{(\d+)\}")
MENTION = re.compile(r"\((?P<equation>\d+)\)|\bFigure (?P<figure>\d+)\b(?!\.\d)")
STATEMENTS = "Theorem Lemma Proposition Corollary Definition Algorithm Remark Thesis".split()


def lead(node):
    """The bold words with which a paragraph or a quote begins.

    >>> from docutils import nodes
    >>> lead(nodes.paragraph("", "", nodes.strong("", "Lemma."), nodes.Text(" Let")))
    'Lemma.'
    """
    first = node
    while isinstance(first, nodes.block_quote | nodes.paragraph) and first.children:
        first = first.children[0]
    return first.astext() if isinstance(first, nodes.strong) else ""


def kind(words):
    """The class of a box by its bold words.

    >>> kind("Theorem (the gradient of J)."), kind("A layer of class sums.")
    ('theorem', 'statement')
    """
    first = re.split(r"\W", words, maxsplit=1)[0]
    return first.lower() if first in STATEMENTS else "statement"


def numbered(text):
    r"""A display with a number of its own, in the one environment in which MathJax takes it.

    >>> numbered(r"a \tag{1}")
    '\\begin{equation*}\na \\tag{1}\n\\end{equation*}'
    """
    return "\\begin{equation*}\n" + text.strip() + "\n\\end{equation*}"


def mark(app, doctree):
    """Give the parts of a page their classes."""
    for quote in doctree.findall(nodes.block_quote):
        if words := lead(quote):
            quote["classes"] += ["box", kind(words)]
    for paragraph in doctree.findall(nodes.paragraph):
        if re.match(r"Exercise \d", lead(paragraph)):
            paragraph["classes"].append("exercise")
        first = paragraph.children[0] if paragraph.children else None
        name = first.astext() if isinstance(first, nodes.emphasis) else ""
        if caption := re.match(r"Figure (\d+)\.$", name):
            paragraph["classes"].append("figure-caption")
            paragraph["ids"].append(f"figure-{caption[1]}")
    for formula in doctree.findall(nodes.math_block):
        if r"\tag{" in formula.astext():
            formula["ids"] += [f"equation-{number}" for number in TAG.findall(formula.astext())]
            text = numbered(formula.astext())
            formula.rawsource, formula["nowrap"] = text, True
            formula.children = []
            formula += nodes.Text(text)
    link_mentions(doctree)


def with_links(text, known):
    """The nodes of a text in which what names one of the addresses ``known`` leads to it.

    >>> [node.astext() for node in with_links("By (4) and (9), see Figure 2.", {"equation-4"})]
    ['By ', '(4)', ' and (9), see Figure 2.']
    """
    parts, end = [], 0
    for mention in MENTION.finditer(text):
        address = f"{mention.lastgroup}-{mention[mention.lastgroup]}"
        elsewhere = text[mention.end() :] == " of " or text[: mention.start()].endswith("thesis ")
        if address in known and not elsewhere:
            parts.append(nodes.Text(text[end : mention.start()]))
            parts.append(nodes.reference("", mention[0], refid=address, internal=True))
            end = mention.end()
    return [*parts, nodes.Text(text[end:])]


def link_mentions(doctree):
    """Lead "(4)" and "Figure 2" to what has this number on the page, not "(4) of" another page."""
    known = {name for node in doctree.findall(nodes.Element) for name in node.get("ids", ())}
    closed = (nodes.literal, nodes.FixedTextElement, nodes.reference, nodes.math, nodes.math_block)
    closed += (nodes.raw, nodes.title, nodes.emphasis)
    for text in list(doctree.findall(nodes.Text)):
        if not isinstance(text.parent, closed) and (parts := with_links(text, known))[1:]:
            text.parent.replace(text, parts)


class StoredFigure(SphinxDirective):
    """The figure that a cell of a notebook has stored: its page below ``book``, the cell's id."""

    required_arguments = 2

    def run(self):
        page, name = self.arguments
        source = Path(self.env.srcdir, "book", f"{page}.ipynb")
        self.env.note_dependency(str(source))
        cells = json.loads(source.read_text(encoding="utf-8"))["cells"]
        cell = next(cell for cell in cells if cell["id"] == name)
        svg = next(o["data"]["image/svg+xml"] for o in cell["outputs"] if "data" in o)
        file = Path(self.env.doctreedir, "stored-figures", f"{name}.svg")
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(svg), encoding="utf-8")
        uri = "/" + os.path.relpath(file, self.env.srcdir)
        image = nodes.image(uri=uri, alt=cell["metadata"]["mystnb"]["image"]["alt"])
        return [nodes.container("", image, classes=["cell_output"])]


def as_imported(app, env, node, shown):
    """Lead a name that is imported from ismlit itself to where the reference has it.

    What a docstring names and the reference leaves out stays a plain word: `autolink` has seen
    that it can be imported.
    """
    if node["reftype"] != "obj":
        return None
    name = node["reftarget"].removeprefix("ismlit.")
    if name not in ismlit.__all__:
        return shown
    parts = getattr(ismlit, name).__module__.split(".")
    home = ".".join([*(part for part in parts if not part.startswith("_")), name])
    domain = env.get_domain("py")
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", home, node, shown)


def setup(app):
    """For Sphinx."""
    app.connect("doctree-read", mark)
    app.connect("missing-reference", as_imported)
    app.add_directive("stored-figure", StoredFigure)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
