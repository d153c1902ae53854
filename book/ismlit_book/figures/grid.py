"""Tables of a page: HTML in the book, lines of text elsewhere."""

from html import escape

COLOURS = {"✓": "#009e73", "✗": "#d55e00"}
"""What a cell that begins with the sign is tinted with: the sign says it without colour."""

LONG = 25
"""Characters from which on a cell may wrap."""


class Grid:
    """Rows of words and numbers under named columns; the first column names the rows.

    A cell that begins with ✓ or ✗ is tinted. The table scrolls in a box of its own.

    Parameters
    ----------
    rows : iterable of dict
        {column: cell}, all with the same columns. Numbers come formatted.
    caption : str

    Examples
    --------
    >>> from ismlit_book.figures.grid import Grid
    >>> Grid([{"set": "wine", "LDA": "✓ 98.9"}, {"set": "rings", "LDA": "✗ 52.3"}], "accuracy")
    accuracy
    set | LDA
    wine | ✓ 98.9
    rings | ✗ 52.3
    """

    def __init__(self, rows, caption=""):
        self.rows = [{key: str(cell) for key, cell in row.items()} for row in rows]
        self.caption = caption

    def __repr__(self):
        lines = [self.rows[0], *(row.values() for row in self.rows)]
        text = "\n".join(" | ".join(line) for line in lines)
        return f"{self.caption}\n{text}" if self.caption else text

    def _repr_html_(self):
        head = "".join(f'<th scope="col">{escape(key)}</th>' for key in self.rows[0])
        body = "".join(f"<tr>{self._cells(row)}</tr>" for row in self.rows)
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        table = f'<table class="grid">{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody>'
        return f'<div style="overflow-x: auto" tabindex="0">{table}</table></div>'

    @staticmethod
    def _cells(row):
        name, *others = row.values()
        cells = [f'<th scope="row">{escape(name)}</th>']
        for cell in others:
            tint = COLOURS.get(cell[:1])
            style = f"background: color-mix(in srgb, {tint} 20%, transparent); " if tint else ""
            style += "padding: 0.15em 0.6em; "
            style += "white-space: nowrap" if len(cell) < LONG else "min-width: 12em"
            cells.append(f'<td style="{style}">{escape(cell)}</td>')
        return "".join(cells)


class FormulaTable:
    """Rows of words and formulas under named columns.

    Parameters
    ----------
    head : sequence of str
        Names of the columns.
    rows : iterable of sequences
        A cell is a sympy expression, or a string: LaTeX between dollars, else words.

    Examples
    --------
    >>> import sympy as sp
    >>> from ismlit_book.figures.grid import FormulaTable
    >>> FormulaTable(("kernel", "$f$"), [("linear", sp.Symbol("beta"))])
    kernel | f
    linear | beta
    """

    def __init__(self, head, rows):
        self.lines = [list(head), *map(list, rows)]

    def __repr__(self):
        return "\n".join(" | ".join(str(cell).strip("$") for cell in line) for line in self.lines)

    def _repr_html_(self):
        """A table that scrolls where it is wide; MathJax sets the formulas of its cells."""
        row = lambda tag, line: "".join(f"<{tag}>{_as_html(cell)}</{tag}>" for cell in line)
        head, *rows = self.lines
        body = "".join(f"<tr>{row('td', line)}</tr>" for line in rows)
        return (
            '<div class="tex2jax_process" style="overflow-x: auto" tabindex="0">'
            '<table class="grid">'
            f"<thead><tr>{row('th', head)}</tr></thead><tbody>{body}</tbody></table></div>"
        )


def _as_html(cell):
    if not isinstance(cell, str):
        from sympy import latex

        return rf"\({escape(latex(cell))}\)"
    return rf"\({escape(cell.strip('$'))}\)" if cell.startswith("$") else escape(cell)
