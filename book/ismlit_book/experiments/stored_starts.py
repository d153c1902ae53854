"""Numpy arrays in a text pickle of Python 2, read without unpickling: nothing in it is run.

A pickle is a program for a stack of values. That of a list of arrays always has one form, which is
matched as text, from the first character to the last; a file of any other form is refused.
"""

import codecs
import re
from pathlib import Path

import numpy as np

FORM = r"""
    (?: cnumpy\.core\.multiarray\n_reconstruct\n PUT | GET )
    \( (?: cnumpy\nndarray\n PUT | GET ) \( I0\n t PUT (?: S'b'\n PUT | GET ) t PUT R PUT
    \( I1\n \( (?P<shape> (?: I\d+\n )+ ) t PUT
    (?: (?: cnumpy\ndtype\n PUT | GET ) \( S'f8'\n PUT I0\n I1\n t PUT R PUT
        \( I3\n S'<'\n PUT N N N I-1\n I-1\n I0\n t PUT b | GET )
    I0 (?P<by_columns> [01] ) \n
    S (?P<quote> ['"] ) (?P<data> .* ) (?P=quote) \n PUT t PUT b a
"""
"""An array of 8-byte floats, little end first; what was `PUT` by a number is later got by it."""
ARRAY = re.compile(FORM.replace("PUT", r"p\d+\n").replace("GET", r"g\d+\n").encode(), re.VERBOSE)


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
    text = Path(path).read_bytes()
    try:
        if not text.startswith(b"(lp0\n") or ARRAY.sub(b"", text[5:]) != b".":
            raise ValueError("something else in it")
        return [_array(found) for found in ARRAY.finditer(text)]
    except ValueError as error:
        raise ValueError(
            "a file of starts is a text pickle of Python 2 that holds a list of float arrays; "
            f"{Path(path).name} is not, {error}: remove it, and it is fetched again"
        ) from error


def _array(found):
    shape = [int(size[1:]) for size in found["shape"].split()]
    flat = np.frombuffer(codecs.escape_decode(found["data"])[0], "<f8")
    return flat.reshape(shape, order="CF"[int(found["by_columns"])]).copy(order="A")
