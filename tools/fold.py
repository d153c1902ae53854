"""Fold what does not teach on a notebook's page: long imports, and code that only draws a figure.

Nothing in a notebook says so; its cells are folded by what they do. The code stays where it is,
within its box, so that the page runs, copies and prints all of it.
"""

import ast
import html
import json
import re

from tools.execute_notebooks import ROOT, notebooks_of

DRAWS = re.compile(
    r"\b(?:plt|ax|axes|axs|fig|figure|panel|panels)\b|\b(?:plot_\w+|slides)\("
    r"|\.(?:plot|scatter|imshow|set|legend|annotate|bar|barh|axhline|axvline|axline|step|hist"
    r"|contour|contourf|fill_between|errorbar|loglog|semilogx|semilogy)\("
)
MOSTLY = 0.6
"""Share of a cell's lines from which on it does nothing but draw."""
FEW = 4
"""Lines that are not worth folding."""
CODE = re.compile(r'(<div class="cell_input.*?<pre>)(.*?)(</pre>)', re.DOTALL)
SLIDES = 'class="slides'
UNSEEN = {"remove-input", "remove-cell"}
APART = {"hide-input", "hide-cell"}  # folded by the author


def statements(tree):
    """The statements of a tree that have no statements within."""
    for node in tree.body:
        if isinstance(node, ast.For | ast.While | ast.With | ast.If):
            yield from statements(node)
        else:
            yield node


def folded(source, has_picture):
    """How many lines of a cell are folded, from its first on, and what stands in their place.

    Parameters
    ----------
    source : str
        The cell's code.
    has_picture : bool
        Whether the cell shows a figure.

    Returns
    -------
    (int, str)
        No line where all of the code stays open.

    Examples
    --------
    >>> modules = ["ast", "re", "json", "sys", "ismlit.solvers"]
    >>> folded("\\n".join(f"import {name}" for name in modules) + "\\n1 + 1", False)
    (5, 'Imports: ast, re, json, sys, ismlit')
    >>> draws = "\\nax.plot(x)\\nax.legend()\\nax.set(xlabel='x')"
    >>> folded(f"shown = x[:20]\\nax = plt.gca(){draws}", True)
    (5, 'Code of the figure')
    >>> folded(f"shown = x[:20]\\nax = plt.gca(){draws}", False)
    (0, '')
    """
    tree = ast.parse(source)
    imports = []
    for node in tree.body:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            break
        imports.append(node)
    if imports and imports[-1].end_lineno > FEW:
        modules = [
            node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
            for node in imports
        ]
        names = dict.fromkeys(name.partition(".")[0] for name in modules)
        return imports[-1].end_lineno, f"Imports: {', '.join(names)}"
    lines = {True: 0, False: 0}
    for node in statements(tree):
        draws = bool(DRAWS.search(ast.get_source_segment(source, node)))
        lines[draws] += node.end_lineno - node.lineno + 1
    total = sum(lines.values())
    if has_picture and total > FEW and lines[True] >= MOSTLY * total:
        return source.count("\n") + 1, "Code of the figure"
    return 0, ""


def fold(text, notebook):
    """The page `text` of a notebook with what is folded in a ``<details>`` of its own.

    Its line is made by the style sheet, so that the text of the box is the code and nothing else.
    """
    cells = iter(
        cell
        for cell in notebook["cells"]
        if cell["cell_type"] == "code" and not UNSEEN & set(cell["metadata"].get("tags", ()))
    )

    def part(found):
        cell = next(cells)
        shown = [output.get("data", {}) for output in cell["outputs"]]
        has_picture = any("image/png" in d or SLIDES in str(d.get("text/html")) for d in shown)
        number, says = folded("".join(cell["source"]), has_picture)
        if not number or APART & set(cell["metadata"].get("tags", ())):
            return found[0]
        lines = found[2].splitlines(keepends=True)
        while number < len(lines) and not lines[number].strip():  # none left over
            number += 1
        words = html.escape(says)
        summary = f'<summary data-says="{words}" aria-label="{words}"></summary>'
        inside = f'<details class="fold">{summary}{"".join(lines[:number])}</details>'
        return found[1] + inside + "".join(lines[number:]) + found[3]

    return CODE.sub(part, text)


def install(site):
    """Fold the pages of all notebooks in the built book `site`."""
    for path in notebooks_of(ROOT):
        page = site / f"{path.relative_to(ROOT).with_suffix('')}.html"
        if page.exists():
            notebook = json.loads(path.read_text(encoding="utf8"))
            page.write_text(fold(page.read_text(encoding="utf8"), notebook), encoding="utf8")
