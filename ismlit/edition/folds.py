"""What stands on a folded cell: an extension of Sphinx.

MyST-NB writes "Show code cell source" on every one of them. Here a reader sees what is inside: the
words of the comment with which the cell begins, or else what its code shows or defines.
"""

from __future__ import annotations

import ast
from html import escape

SHORT = 40
"""Characters of the names that a label has room for."""


def label(source, shown=(), whole=False):
    """The words on a folded cell.

    Parameters
    ----------
    source : str
    shown : iterable of str
        What the cell shows: "figure", "table" or nothing of the kind.
    whole : bool
        Is what it shows folded too?

    Examples
    --------
    >>> from ismlit.edition.folds import label
    >>> label("# How we know: two samples\\ncheck(...)")
    'How we know: two samples'
    >>> label("def mean(x):\\n    return sum(x) / len(x)"), label("import numpy as np\\nn = 3")
    ('Code: mean', 'Code: imports')
    >>> label("plot(x)", ["figure"]), label("print(mean(x))", whole=True)
    ('Code of the figure', 'Code and output')
    """
    first = source.lstrip().partition("\n")[0]
    if first.startswith("# "):
        return first[2:].strip()
    shows = [what for what in ("figure", "table") if what in shown]
    if whole:
        return f"Code and {' and '.join(shows) or 'output'}"
    if shows:
        return f"Code of the {' and the '.join(shows)}"
    defined, imported = _names(source)
    while len(", ".join(defined)) > SHORT and len(defined) > 1:
        defined = [*defined[:-2], "..."] if defined[-1] == "..." else [*defined[:-1], "..."]
    if defined:
        return f"Code: {', '.join(defined)}"
    return "Code: imports" if imported else "Code"


def _names(source):
    """The functions and classes that a cell defines, and whether it begins with an import."""
    try:
        body = ast.parse(source).body
    except SyntaxError:  # IPython's own lines
        return [], False
    kinds = (ast.FunctionDef, ast.ClassDef)
    imported = bool(body) and isinstance(body[0], (ast.Import, ast.ImportFrom))
    return [one.name for one in body if isinstance(one, kinds)], imported


def _shown(cell):
    """What the outputs of a cell's node show, of "figure" and "table"."""
    from docutils import nodes

    for node in cell.findall():
        if isinstance(node, nodes.image):
            yield "figure"
        if isinstance(node, nodes.raw) and "<table" in node.astext():
            yield "table"


def _say(app, doctree):
    """Give the folded cells of a page their labels."""
    from docutils import nodes

    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") != "cell_code" or not cell.get("hide_mode"):
            continue
        code = next(cell.findall(nodes.literal_block), None)
        if code is not None:
            words = label(code.astext(), set(_shown(cell)), cell["hide_mode"] == "all")
            cell["prompt_show"] = cell["prompt_hide"] = words


def _open(translator, node):
    css = " ".join(["admonition", "hide", *node["classes"]])
    title = f'<p class="admonition-title">{escape(node["prompt_show"])}</p>'
    translator.body.append(f'<details class="{css}">\n<summary>{title}</summary>\n')


def _close(translator, node):
    translator.body.append("</details>\n")


def setup(app):
    """For Sphinx."""
    from myst_nb.sphinx_ import HideCodeCellNode

    app.add_node(HideCodeCellNode, override=True, html=(_open, _close))
    app.connect("doctree-read", _say)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
