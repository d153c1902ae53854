"""Columns of numbers stand to the right, so that their decimals meet."""

import html
import re

TABLE = re.compile(
    r'<table [^>]*?class="(?:table|grid|numbers|dataframe)[^"]*".*?</table>', re.DOTALL
)
ROW = re.compile(r"<tr.*?</tr>", re.DOTALL)
CELL = re.compile(r"(<t[hd])\b([^>]*)>(.*?)(?=</t[hd]>)", re.DOTALL)
NUMBER = re.compile(r"[✓✗]? ?[-−+]?\d[\d,.]*(?:e[-+]?\d+)? ?%?(?: ± [\d,.]+(?:e[-+]?\d+)?)?")
NOTHING = {"", "-", "–", "—"}
MARK = ' data-number=""'


def words(cell):
    """What a cell says.

    >>> words("<p>1.5</p>")
    '1.5'
    """
    return html.unescape(re.sub("<[^>]*>", "", cell)).strip()


def aligned(text):
    """A page whose cells of numbers are marked: those of a column that holds nothing else.

    >>> text = '<table class="table"><tr><th>n</th></tr><tr><td>1.5</td></tr></table>'
    >>> aligned(text).count("data-number")
    2
    >>> of_pandas = text.replace("<table ", '<table border="1" ').replace('"table"', '"dataframe"')
    >>> aligned(of_pandas).count("data-number")
    2
    """
    return TABLE.sub(lambda table: _table(table[0]), text)


def _table(text):
    if "colspan" in text or "rowspan" in text:
        return text
    rows = [[words(cell[3]) for cell in CELL.finditer(row)] for row in ROW.findall(text)]
    number = lambda column: (
        column
        and any(map(NUMBER.fullmatch, column))
        and all(NUMBER.fullmatch(said) or said in NOTHING for said in column)
    )
    body = [row for row in rows[1:] if len(row) == len(rows[0])]
    columns = {k for k, column in enumerate(zip(*body)) if number(column)}

    def row(found):
        place = iter(range(len(rows[0])))
        mark = lambda: MARK if next(place, None) in columns else ""
        return CELL.sub(lambda cell: f"{cell[1]}{cell[2]}{mark()}>{cell[3]}", found[0])

    return ROW.sub(row, text)
