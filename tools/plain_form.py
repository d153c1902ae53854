"""What the site makes of the notebooks' plain Markdown: an extension of Sphinx.

A notebook is written in what JupyterLab, VS Code, Colab, GitHub and this book all show: a statement
is a block quote with a bold lead, an exercise a paragraph with one, a caption a line in italics
below its cell. Here they get the classes by which ``book.css`` draws boxes and captions.
"""

from __future__ import annotations

import re

from docutils import nodes

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
        if isinstance(first, nodes.emphasis) and re.match(r"Figure \d+\.$", first.astext()):
            paragraph["classes"].append("figure-caption")
    for formula in doctree.findall(nodes.math_block):
        if r"\tag{" in formula.astext():
            text = numbered(formula.astext())
            formula.rawsource, formula["nowrap"] = text, True
            formula.children = []
            formula += nodes.Text(text)


def setup(app):
    """For Sphinx."""
    app.connect("doctree-read", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
