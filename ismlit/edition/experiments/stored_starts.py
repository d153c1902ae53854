"""Numpy arrays in a text pickle of Python 2, read without unpickling: nothing in it is run.

A pickle is a program for a stack of values. Here the dozen instructions are read that a list of
arrays needs: a name stays a text, a call the `Call` that it would be; any other is refused.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path

import numpy as np

RULE = "a file of starts is a text pickle of Python 2 that holds a list of float arrays"
ARRAY, CLASS, DTYPE = "numpy.core.multiarray _reconstruct", "numpy ndarray", "numpy dtype"
DOUBLE = ("f8", 0, 1), (3, "<", None, None, None, -1, -1, 0)
"""Arguments and state of the dtype of 8-byte floats, little end first."""
BOOLEANS = {b"00": False, b"01": True}
MARK = object()


@dataclass(eq=False)
class Call:
    """What a pickle would call, with what arguments, and the state it would set."""

    name: str
    arguments: tuple
    state: tuple | None = None


def read_arrays(path):
    """The arrays of a text pickle of Python 2, which may hold nothing else.

    Parameters
    ----------
    path : str or path
        A list of arrays of 8-byte floats, as Python 2's numpy wrote them.

    Returns
    -------
    list of arrays

    Raises
    ------
    ValueError
        If anything else is in it, or its end is missing.
    """
    path = Path(path)
    text, place = path.read_bytes(), 0
    stack, kept = [], {}

    def line():
        nonlocal place
        end = text.index(b"\n", place)
        found, place = text[place:end], end + 1
        return found

    def since_mark():
        at = len(stack) - 1 - stack[::-1].index(MARK)
        values = stack[at + 1 :]
        del stack[at:]
        return values

    try:
        while True:
            code, place = text[place : place + 1], place + 1
            match code:
                case b"(":
                    stack.append(MARK)
                case b"I":
                    digits = line()
                    stack.append(BOOLEANS[digits] if digits in BOOLEANS else int(digits))
                case b"S":
                    stack.append(_unquoted(line()))
                case b"N":
                    stack.append(None)
                case b"t":
                    stack.append(tuple(since_mark()))
                case b"l":
                    stack.append(since_mark())
                case b"p":
                    kept[line()] = stack[-1]
                case b"g":
                    stack.append(kept[line()])
                case b"c":
                    stack.append(_admitted(f"{line().decode()} {line().decode()}"))
                case b"R":
                    arguments = stack.pop()
                    stack.append(Call(stack.pop(), arguments))
                case b"b":
                    state = stack.pop()
                    stack[-1].state = state
                case b"a":
                    item = stack.pop()
                    stack[-1].append(item)
                case b".":
                    return [_array(call) for call in stack.pop()]
                case b"":
                    raise ValueError("no end")
                case _:
                    raise ValueError(f"the instruction {code!r}, which is not admitted")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{RULE}; {path.name} has, up to byte {place}, {error}: remove it, and it is "
            "fetched again"
        ) from error


def _admitted(name):
    if name not in (ARRAY, CLASS, DTYPE):
        raise ValueError(f"the name {name!r}, which is not admitted")
    return name


def _unquoted(quoted):
    """The text, byte by byte, between two quotation marks."""
    if len(quoted) < 2 or quoted[:1] != quoted[-1:] or quoted[:1] not in b"'\"":
        raise ValueError(f"a text without its quotation marks, {quoted[:20]!r}")
    return codecs.escape_decode(quoted[1:-1])[0].decode("latin1")


def _array(call):
    """The array that `call` describes."""
    version, shape, dtype, by_columns, data = call.state
    made = call.name, call.arguments, version, (dtype.name, dtype.arguments, dtype.state)
    if made != (ARRAY, (CLASS, (0,), "b"), 1, (DTYPE, *DOUBLE)):
        raise ValueError(f"what is no array of floats, {call.name} with {call.arguments}")
    flat = np.frombuffer(data.encode("latin1"), "<f8")
    return flat.reshape(shape, order="F" if by_columns else "C").copy(order="A")
