"""Exercises that answer: the right answer passes, and each usual mistake is known."""

import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
from ismlit_book import answer
from ismlit_book.questions import Choice, Task, questions

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = [f"ch{number}" for number in range(1, 9)]
ALL = {name: one for chapter in CHAPTERS for name, one in questions(chapter).items()}
TASKS = {name: one for name, one in ALL.items() if isinstance(one, Task)}
CHOICES = {name: one for name, one in ALL.items() if isinstance(one, Choice)}
PAGES = sorted(p for c in CHAPTERS for p in (ROOT / "book" / c).glob("*.ipynb"))


def asked(path):
    """The exercises that a page's cells ask."""
    code = [c.source for c in nbformat.read(path, 4).cells if c.cell_type == "code"]
    return re.findall(r'^answer\("([^"]+)", ', "\n".join(code), re.M)


@pytest.mark.parametrize("name", TASKS)
def test_the_right_function_passes_and_three_mistakes_are_known(name):
    task = TASKS[name]
    assert task.say(task.right) == f"Right, on all {len(task.cases)} cases."
    assert len(task.cases) >= 3 and len(task.mistakes) >= 3
    for hint, mistake in task.mistakes.items():
        said = task.say(mistake)
        assert said.startswith("Not yet: case "), hint
        assert said.endswith(f"Hint: {hint}"), said


@pytest.mark.parametrize("name", CHOICES)
def test_each_letter_has_its_own_feedback(name):
    choice = CHOICES[name]
    assert list(choice.feedback) == list("abcd")[: len(choice.feedback)]
    assert len(set(choice.feedback.values())) == len(choice.feedback) >= 3
    for letter in choice.feedback:
        word = "Right: " if letter == choice.right else "Not quite: "
        assert choice.say(f" {letter.upper()}").startswith(word)


def test_every_page_of_the_course_asks_and_every_chapter_has_two_choices():
    asking = {
        path.relative_to(ROOT / "book").with_suffix("").as_posix(): asked(path) for path in PAGES
    }
    assert [page for page, names in asking.items() if not TASKS.keys() & set(names)] == []
    names = [name for each in asking.values() for name in each]
    assert sorted(names) == sorted(ALL)
    for page, each in asking.items():
        assert all(name.split("/")[0] == page.split("/")[0] for name in each)
    for chapter in CHAPTERS:
        assert sum(name.split("/")[0] == chapter for name in CHOICES) >= 2


def test_what_is_not_answered_stops_or_has_another_shape(capsys):
    task = Task(lambda x: 2 * x, [(1.0,), (3.0,), (4.0,)], {})
    assert task.say(lambda x: ...) == "Not answered yet: the function returns nothing."
    assert "case 1 of 3, <lambda>(1.0), stops with ZeroDivisionError" in task.say(lambda x: x / 0)
    assert "case 2 of 3, <lambda>(3.0), gives 2.0." in task.say(lambda x: 2.0)
    assert "gives False." in task.say(lambda x: np.bool_(False))
    assert "gives [2.0, 2.0]" in task.say(lambda x: [2 * x, 2 * x])
    assert CHOICES["ch1/ring"].say("?") == "Not answered yet: choose one of a, b, c."
    answer("ch1/ring", "b")
    assert capsys.readouterr().out.startswith("Right: ")
    with pytest.raises(KeyError, match="there are ch1/share"):
        answer("ch1/none", "b")
