"""For the notebook run (``pytest -p tools.nbval_plugin --nbval``).

Skipped is what needs data or a module that cannot be had. Cells of a notebook whose metadata say
``"ismlit": {"slow": true}`` are marked slow; ``-m "not slow"`` leaves them out. The solutions of
exercises run too: their code stands in the Markdown, below it what it prints.
"""

import re
from types import SimpleNamespace

import nbformat
import nbval.plugin
import pytest

from tools.execute_notebooks import missing
from tools.warm_kernels import warm

DRAWING = "image/svg+xml"
SOLUTION = re.compile(r"<details><summary>Solution</summary>(.*?)</details>", re.S)
PROGRAM = re.compile(
    r"^```python\n(.*?)^```\n(?:\n(?:It prints\n\n)?```text\n(.*?)^```)?", re.M | re.S
)


def programs(text):
    """[(code, what it prints)] of the solutions in a cell's Markdown.

    >>> fence = "`" * 3
    >>> words = f"{fence}python\\nprint(1)\\n{fence}\\n\\n{fence}text\\n1\\n{fence}\\n"
    >>> programs(f"<details><summary>Solution</summary>\\n\\n{words}\\n</details>")
    [('print(1)\\n', '1\\n')]
    """
    return [found for solution in SOLUTION.findall(text) for found in PROGRAM.findall(solution)]


def with_solutions(notebook):
    """The notebook with the solutions' code as cells, where they stand."""
    cells = []
    for cell in notebook.cells:
        cells.append(cell)
        for code, printed in programs(cell.source) if cell.cell_type == "markdown" else ():
            output = nbformat.v4.new_output("stream", name="stdout", text=printed)
            cells.append(
                nbformat.v4.new_code_cell(
                    code, execution_count=1, outputs=[output] if printed else []
                )
            )
    notebook.cells = cells
    return notebook


def pytest_configure():
    """nbval reads notebooks by way of `with_solutions`, and its kernels start warm."""
    read = lambda *args, **options: with_solutions(nbformat.read(*args, **options))
    nbval.plugin.nbformat = SimpleNamespace(**vars(nbformat) | {"read": read})
    warm()


@pytest.hookimpl(tryfirst=True)  # before -m chooses by the marks
def pytest_collection_modifyitems(items):
    """Mark the cells of slow notebooks, and skip, with the reason, those without what they need."""
    lacking = {}
    for item in items:
        notebook = getattr(item.parent, "nb", None)
        if notebook is None:
            continue
        if DRAWING not in item.parent.skip_compare:
            item.parent.skip_compare += (DRAWING,)  # as nbval does with PNG
        if notebook.metadata.get("ismlit", {}).get("slow"):
            item.add_marker(pytest.mark.slow)
        if item.parent not in lacking:
            lacking[item.parent] = ", ".join(missing(notebook))
        if lacking[item.parent]:
            reason = f"{item.parent.name} needs what is not available: {lacking[item.parent]}"
            item.add_marker(pytest.mark.skip(reason=reason))
