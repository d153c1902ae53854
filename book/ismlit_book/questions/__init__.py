"""Exercises that answer: what a reader writes is tried on cases.

A module of this folder holds those of a chapter, in its ``QUESTIONS``: a `Task` asks for a
function, a `Choice` for one of several letters.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

import numpy as np


@dataclass(frozen=True)
class Task:
    """An exercise whose answer is a function.

    Parameters
    ----------
    right : callable
        A function that is right.
    cases : list of tuples
        The arguments of each case.
    mistakes : dict
        A hint for each usual mistake, and the function that makes it. Every mistake differs from
        `right` on some case.
    """

    right: Callable
    cases: list
    mistakes: dict

    def say(self, given):
        """What is said of a function."""
        results = []
        for number, case in enumerate(self.cases, 1):
            where = f"case {number} of {len(self.cases)}, {given.__name__}({_short(case)}),"
            try:
                result = given(*case)
            except Exception as error:  # the reader's own
                return f"Not yet: {where} stops with {type(error).__name__}: {error}"
            if result is None or result is ...:
                return "Not answered yet: the function returns nothing."
            results.append(result)
            if not _equal(result, self.right(*case)):
                return f"Not yet: {where} gives {_short([result])}. {self._hint(given)}".strip()
        return f"Right, on all {len(self.cases)} cases."

    def _hint(self, given):
        """The hint for a mistake that agrees with the function on every case."""
        for hint, mistake in self.mistakes.items():
            try:
                if all(_equal(given(*case), mistake(*case)) for case in self.cases):
                    return f"Hint: {hint}"
            except Exception:  # a later case of the reader's function stops
                return ""
        return ""


@dataclass(frozen=True)
class Choice:
    """An exercise whose answer is a letter.

    Parameters
    ----------
    right : str
        The letter that is right.
    feedback : dict
        For each letter, what is said of it.
    """

    right: str
    feedback: dict

    def say(self, given):
        """What is said of a letter."""
        letter = str(given).strip().lower()
        if letter not in self.feedback:
            return f"Not answered yet: choose one of {', '.join(self.feedback)}."
        word = "Right" if letter == self.right else "Not quite"
        return f"{word}: {self.feedback[letter]}"


def questions(chapter):
    """The exercises of a chapter, by name."""
    return import_module(f"ismlit_book.questions.{chapter}").QUESTIONS


def answer(name, given):
    """Say whether an answer to an exercise is right, and if not, what to look at.

    Parameters
    ----------
    name : str
        Which exercise, as its cell has it: ``"ch2/dependence"``.
    given : callable or str
        The function that was asked for, or the letter.

    Raises
    ------
    KeyError
        If there is no such exercise.

    Examples
    --------
    >>> from ismlit_book import answer
    >>> answer("ch1/question", lambda w, x: (w @ x) ** 2)
    Not yet: case 1 of 3, <lambda>([1.0, 0.0], [3.0, 4.0]), gives 9.0. Hint: ...
    """
    known = questions(name.split("/")[0])
    if name not in known:
        raise KeyError(f"no exercise {name!r}; there are {', '.join(known)}")
    print(known[name].say(given))


def _equal(result, right):
    """Whether two results agree: as numbers to 1e-6, or as what they are."""
    try:
        result, right = np.asarray(result), np.asarray(right)
        if result.shape != right.shape:
            return False
        if right.dtype.kind in "fiub" and result.dtype.kind in "fiub":
            return bool(np.allclose(result, right, rtol=1e-6, atol=1e-9, equal_nan=True))
        return bool((result == right).all())
    except (TypeError, ValueError):
        return False


def _rounded(value):
    """A number or an array to four digits; truth values and words as they are."""
    return np.round(value, 4) if value.dtype.kind in "fc" else value


def _short(values, most=60):
    """Arguments as a reader would type them, shortened."""
    words = ", ".join(
        str(_rounded(v).tolist()) if isinstance(v, np.ndarray | np.generic) else repr(v)
        for v in values
    )
    return words if len(words) <= most else f"{words[: most - 3]}..."
