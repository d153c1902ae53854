"""Numbers in the prose are those that cells show, or are given, or (in the record) the thesis's."""

import json
import re
from functools import cache

import nbformat
import pytest
from given import NUMBER, given
from ismlit_book.files import data, pages
from ismlit_book.record.checking import NUMBERS

RECORD = sorted((pages() / "record").glob("*.ipynb"))
COURSE = sorted(pages().glob("ch[1-8]/*.ipynb"))
ASIDE = re.compile(r"<details>.*?</details>|```.*?```|\$\$.*?\$\$", re.S)
LINES = re.compile(r"^(?:[>|#]|\*\*Exercise).*$|\*Figure \d+\.\*", re.M)
KINDS = (
    r"Tables?|Fig(?:ures?|\.)|Sections?|Chapters?|Appendix|Lemmas?|Theorems?|Definitions?|Items?"
)
PLACES = re.compile(
    r"\]\([^)]*\)|`[^`]*`|\([2-7A-D]\.\d+[a-c]?\)"
    rf"|\b(?i:{KINDS}) [A-D]?\.?[\d.]*\d(?:(?:,| and| to) [A-D]?[\d.]*\d)*"
    r"|\b[A-D]\.\d+(?:\.\d+)*|\b[A-Za-z]+\d+\b|\b(?:19|20)\d\d\b"
)
WHOLE = re.compile(r"(?<![\w.])(?:\d+\.\d+|\.\d+|\d+)(?!\w)")
SIZES = {
    "4.4-table-4.2": "250",  # units of a rival's network
    "4.4-table-4.4": "134",  # samples of Wine, three quarters of them
    "4.4-tried": "14000 128",  # steps and batches of rivals
    "5.5-figure-5.1": "256",  # colours
    "5.5-wine": "784 68",  # pixels; samples of a fold
    "D.11": "569",  # samples of Cancer
    "beyond-defaults": "897",  # columns of a table
    "icml-costs": "569 615",  # samples of Cancer
}
"""Sizes of data and networks that a page names and has no cell for."""


def told(text):
    """Numbers of two digits and more in a cell's prose; of formulas, the decimals.

    Solutions and what is written from the ledger have tests of their own.
    """
    text = PLACES.sub(" ", LINES.sub(" ", ASIDE.sub(" ", text)))
    text = re.sub(
        r"\$[^$]*\$", lambda formula: "; ".join(re.findall(r"\d*\.\d+", formula[0])), text
    )
    text = re.sub(r"(?<=\d) (?=\d{3}\b)", "", text)
    return [n for n in WHOLE.findall(text) if len(n.strip("0.").replace(".", "")) > 1]


def shown(notebook):
    """Numbers in the outputs of a page, and in what is written there from the ledger."""
    texts = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            texts += re.findall(r"^[>|].*$", "".join(cell["source"]), re.M)
        for output in cell.get("outputs", ()):
            found = output.get("data", {})
            html = re.sub(r"<[^>]*>", " ", "".join(found.get("text/html", "")))
            plain = (*output.get("text", ""), " ", *found.get("text/plain", ""), " ", html)
            texts += ["".join(plain), json.dumps(found.get(NUMBERS, ""))]
    text = re.sub(r"(?<=\d)[ \u202f,](?=\d{3}\b)", "", "\n".join(texts))
    return [float(n) for n in NUMBER.findall(text)]


@cache
def of_the_thesis():
    """All printed numbers that the book has."""
    tables = (data() / "thesis").glob("*.csv")
    return {float(n) for path in tables for n in NUMBER.findall(path.read_text("utf-8"))}


def typed(notebook, sizes=""):
    """Numbers of the prose that stand nowhere else."""
    code = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    known = of_the_thesis() | {float(n) for n in sizes.split()}
    known |= {
        round(n * unit, 12) for n in set().union(*map(given, code)) for unit in (1, 100, 0.01)
    }
    values = [value * unit for value in shown(notebook) for unit in (1, 100)]
    prose = (c["source"] for c in notebook["cells"] if c["cell_type"] == "markdown")
    return [
        n
        for n in (n for source in prose for n in told("".join(source)))
        if float(n) not in known
        and not any(round(v, len(n.partition(".")[2])) == float(n) for v in values)
    ]


@pytest.mark.parametrize("path", RECORD, ids=lambda path: path.stem)
def test_no_number_of_the_prose_is_typed(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert typed(notebook, SIZES.get(path.stem, "")) == []


def test_a_typed_number_of_the_prose_is_found():
    prose = "By Table 4.2 and (5.3) it is 91.27 for $c = 12$, $0.4321$ or 54 321 [2](3.45)."
    cells = [dict(cell_type="markdown", source=prose)]
    assert typed(dict(cells=cells)) == ["91.27", "0.4321", "54321"]
    shows = dict(text=["about 0.91274 and 54,321\n"])
    cells += [dict(cell_type="code", source="draw(0.4321)", outputs=[shows])]
    assert typed(dict(cells=cells)) == []
    cells[1]["source"] = "one_case(share, 0.4321)"
    assert typed(dict(cells=cells)) == ["0.4321"]


# ---------------------------------------------------------------- numbers of the course

NO_PROSE = r"\$\$.*?\$\$|\$[^$\n]+\$|```.*?```|`[^`\n]*`|\]\([^)]*\)|^\|.*$"
DECIMAL = r"(?<![\w.])(\d+\.\d+|\d+(?= ?%| percent| of \d+\b))(?![\w.]*\d)"
KINDS_OF_TEXT = "plain", "html"
GIVEN = {
    "ch2/dependence": {"0.01"},  # a letter to choose
    "ch3/choose": {"0.999"},  # an assumption of an exercise
    "ch3/views": {"19"},  # directions, one less than the clusters
    "ch4/deep": {"95"},  # a quantile that the code has as 0.05
    "ch5/iteration": {"0.0024"},  # how 2.4e-03 is read
    "ch6/limit": {"0.999"},  # the default of class_sum_network
    "ch6/peers": {"0.95"},  # a threshold of the stored experiment
    "ch6/signs": {"58"},  # 1/sqrt(3)
    "ch8/chance": {"0.001", "0.02"},  # a question, and the root of 0.1 * 0.9 / 300
    "ch8/collapse": {"6.2", "0.99"},  # a theorem, and the threshold
    "ch8/rfm": {"2.8"},  # Student's quantile
}
"""Numbers of the running text that no cell prints: settings, questions, names."""


@pytest.mark.parametrize("path", COURSE, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_numbers_of_the_text_stand_in_a_cell_an_output_or_a_formula(path):
    notebook, seen, said = nbformat.read(path, 4), [], []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            seen.append(cell.source)
            for output in cell.outputs:
                data = output.get("data", {})
                seen += [
                    output.get("text", ""),
                    data.get("text/plain", ""),
                    data.get("text/html", ""),
                ]
        else:
            seen += re.findall(r"```.*?```|\$[^$]+\$", cell.source, re.S)
            said.append(re.sub(NO_PROSE, " ", cell.source, flags=re.S | re.M))
    text = "\n".join(seen).replace(",", "").replace("_", "")
    known = {float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)}

    def stands(number):
        digits = len(number.partition(".")[2])
        shown = (round(scale * value, digits) for value in known for scale in (1, 100))
        return any(abs(value - float(number)) < 1e-9 for value in shown)

    numbers = set(re.findall(DECIMAL, "\n".join(said)))
    page = f"{path.parent.name}/{path.stem}"
    assert {number for number in numbers if not stands(number)} == GIVEN.get(page, set())
