"""Folded cells say what is in them."""

import json

import pytest

from ismlit.edition.files import book
from ismlit.edition.folds import SHORT, label


@pytest.mark.parametrize(
    "source, shown, whole, words",
    [
        ("\n# How we know, continued\nx = 1", ["figure"], False, "How we know, continued"),
        ("x = 1", ["table", "figure"], False, "Code of the figure and the table"),
        ("x = 1", ["figure"], True, "Code and figure"),
        ("%pip install ismlit", [], False, "Code"),
        ("def f(): pass\n\n\nclass G: pass", [], False, "Code: f, G"),
    ],
)
def test_a_label_says_what_is_inside(source, shown, whole, words):
    assert label(source, shown, whole) == words


def test_many_names_are_cut_short():
    names = [f"function_{k}" for k in range(9)]
    words = label("\n".join(f"def {name}(): pass" for name in names))
    assert words.endswith(", ...") and len(words) <= SHORT + len("Code: ")


def test_no_label_of_the_book_is_longer_than_a_line():
    for path in book().rglob("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf8"))["cells"]:
            if cell["cell_type"] == "code":
                assert len(label("".join(cell["source"]))) <= 90, path
