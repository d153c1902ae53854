"""Every letter of the course's formulas stands on the notation page, for all pages or for its own.

The record speaks in the thesis's letters, which it takes as they are printed.
"""

import re
from pathlib import Path

import nbformat
import pytest

from tools.execute_notebooks import notebooks_of

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = [path for path in notebooks_of(ROOT) if path.parent.name != "record"]
GREEK = set(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta kappa lambda mu nu xi pi rho sigma "
    "tau phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega ell".split()
)
DUMMIES = set("ijklmnabcdqruvwxyzteO")
FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\\$])\$([^$]+?)\$", re.S)
CODE = re.compile(r"```[^{].*?```|`[^`]*`", re.S)
WORDS = re.compile(r"\\(?:text|mathrm|operatorname|mathbf|mathbb|begin|end)\*?\{[^{}]*\}")
SYMBOL = re.compile(
    r"\\(mathcal|tilde|bar|hat|widetilde)\s*(?:\{\\?([A-Za-z]+)\}|\\([A-Za-z]+)|([A-Za-z]))"
    r"|\\([A-Za-z]+)|([A-Za-z])"
)


def formulas(text):
    return [display or inline for display, inline in FORMULA.findall(CODE.sub("", text))]


def symbols(tex):
    """Letters of a formula, each with its accent: "X", "\\Gamma", "\\bar W"."""
    for accent, *accented, command, letter in SYMBOL.findall(WORDS.sub(" ", tex)):
        if accent:
            yield f"\\{accent} {''.join(accented)}"
        elif command in GREEK:
            yield f"\\{command}"
        elif letter:
            yield letter


def rows(heading):
    """(symbols, places) of the table under a heading of the notation page."""
    page = (ROOT / "book" / "notation.md").read_text(encoding="utf8")
    section = page.split(f"## {heading}\n")[1].split("\n## ")[0]
    for line in section.splitlines():
        cells = line.split("|")
        if len(cells) > 3 and "$" in cells[1]:
            found = {s for tex in formulas(cells[1]) for s in symbols(tex)}
            yield found, [place.strip() for place in cells[2].split(",")]


GENERAL = DUMMIES.union(*(found for found, _ in rows("Letters of the book")))
LOCAL = list(rows("Letters of a page"))


def page_of(path):
    return path.relative_to(ROOT / "book").with_suffix("").as_posix()


def letters(path):
    cells = nbformat.read(path, as_version=4).cells
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    return {s for text in texts for tex in formulas(text) for s in symbols(tex)}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=page_of)
def test_letters_are_on_the_notation_page(path):
    page = page_of(path)
    own = set().union(*(f for f, places in LOCAL if {page, page.split("/")[0]} & set(places)))
    assert sorted(letters(path) - GENERAL - own) == []


BELOW = r"(?:\s*[_^]\s*(?:\{(?:[^{}]|\{[^{}]*\})*\}|\\[a-z]+|.))*"  # indices and exponents
GIVEN = DUMMIES | {"I", "T", r"\pi"}  # unit matrix, transpose, the number: the same everywhere


def pattern(symbol):
    """How a letter that `symbols` has found stands in a formula."""
    accent, _, letter = symbol.rpartition(" ")
    letter = rf"\{letter}" if len(letter) > 1 and accent else letter
    bare = re.escape(letter) + r"(?![A-Za-z])"
    if accent:
        return rf"{re.escape(accent)}\s*\{{?{bare}"
    return bare if letter.startswith("\\") else rf"(?<![A-Za-z\\]){bare}"


def is_introduced(symbol, text):
    """A formula begins with the letter, or it stands before an equals sign, a colon or "in"."""
    letter = pattern(symbol) + BELOW
    begins = re.compile(rf"\s*(?:\(|\\mathbb\s*)?{letter}")
    given = re.compile(
        rf"(?:^|[,;&({{:\s]|\\\\)\s*{letter}(?:\([^)]*\))?"
        r"\s*&?\s*(?::|=|\\in\b|\\sim\b|\\ge\b|>|\\text\{:)"
    )
    return any(
        given.search(display or inline) or (inline and begins.match(inline))
        for display, inline in FORMULA.findall(CODE.sub("", text))
    )


@pytest.mark.parametrize(
    "path", [p for p in NOTEBOOKS if re.match(r"ch\d", p.parent.name)], ids=page_of
)
def test_a_letter_of_a_page_is_introduced_where_it_is_first_used(path):
    """By a formula of its own ("the level $\alpha$"), or by what it equals or lies in."""
    page = page_of(path)
    own = set().union(*(f for f, places in LOCAL if {page, page.split("/")[0]} & set(places)))
    cells = nbformat.read(path, as_version=4).cells
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    for letter in (letters(path) & own) - GIVEN:
        first = next(t for t in texts for tex in formulas(t) if letter in symbols(tex))
        assert is_introduced(letter, first), f"{letter} in: {first[:300]}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"the level $\alpha$", True),
        (r"with $\alpha_i = 2$", True),
        (r"$$p \le \alpha$$", False),
        (r"$f = \sum_i\alpha_ik_i$", False),
        (r"$$f = g(\beta), \qquad \alpha = 2$$", True),
        (r"$\bar\alpha = 2$", False),
    ],
)
def test_a_letter_that_is_only_used_is_not_introduced(text, expected):
    assert is_introduced(r"\alpha", text) == expected


def test_the_notation_page_has_no_letter_that_is_never_used():
    used = {page_of(path): letters(path) for path in NOTEBOOKS}
    dead = [
        (symbol, place)
        for found, places in LOCAL
        for place in places
        for symbol in found - DUMMIES
        if not any(symbol in s for page, s in used.items() if (page + "/").startswith(place + "/"))
    ]
    assert sorted(dead) == []


def test_symbols_are_found_with_their_accents():
    found = set(symbols(r"\mathrm{Tr}(U^T\mathcal LU) + \bar{W}\tilde K_{XW} \le \hat\Gamma_{ij}"))
    assert found == set(r"U T X W i j".split()) | {
        r"\mathcal L",
        r"\bar W",
        r"\tilde K",
        r"\hat Gamma",
    }
