"""Starts stored as pickles are read without being run; nothing else is unpickled either."""

import ast
import json
from pathlib import Path

import numpy as np
import pytest

import ismlit
from ismlit.edition.experiments.stored_starts import read_arrays
from tools.nbval_plugin import programs as solutions

MADE = (
    "cnumpy.core.multiarray\n_reconstruct\np1\n(cnumpy\nndarray\np2\n(I0\ntp3\nS'b'\np4\ntp5\nRp6\n"
)
DTYPE = (
    "cnumpy\ndtype\np8\n(S'f8'\np9\nI0\nI1\ntp10\nRp11\n(I3\nS'<'\np12\nNNNI-1\nI-1\nI0\ntp13\nb"
)


def written(values, again="g1\n(g2\n(I0\ntp16\ng4\ntp17\nRp18\n"):
    """Two arrays as Python 2 wrote them: by rows, by columns; what is known is referred to."""

    def text(order):
        raw = values.astype("<f8").tobytes(order)
        return "S'" + "".join(f"\\x{byte:02x}" for byte in raw) + "'\n"

    shape = "(I1\n(" + "".join(f"I{size}\n" for size in values.shape) + "t"
    first = f"{MADE}{shape}p7\n{DTYPE}I00\n{text('C')}p14\ntp15\nba"
    return f"(lp0\n{first}{again}{shape}p19\ng11\nI01\n{text('F')}p20\ntp21\nba."


@pytest.fixture
def values():
    return np.array([[1.5, -2.0, 1e-300], [np.pi, 0.0, 7.0]])


def read(tmp_path, text):
    path = tmp_path / "start.pk"
    path.write_bytes(text.encode())
    return read_arrays(path)


def test_arrays_are_read_by_rows_and_by_columns(tmp_path, values):
    rows, columns = read(tmp_path, written(values))
    assert np.array_equal(rows, values) and np.array_equal(columns, values)
    assert rows.dtype == columns.dtype == float and columns.flags.f_contiguous
    rows[0, 0] = 3  # its own


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ("cos\nsystem\n(S'true'\ntR", "the name 'os system', which is not admitted"),
        ("ios\nsystem\n(S'true'\nt", r"the instruction b'i', which is not admitted"),
        ("\x02", r"the instruction b'\\x02', which is not admitted"),
        ("S'b\n", "without its quotation marks"),
        ("cnumpy\ndtype\n(S'f4'\nI0\nI1\ntR", "no array of floats"),
    ],
)
def test_anything_else_is_refused(tmp_path, values, other, what):
    with pytest.raises(ValueError, match=rf"text pickle of Python 2(.|\n)*start\.pk.*{what}"):
        read(tmp_path, written(values, again=other))


@pytest.mark.parametrize(
    ("printed", "instead"),
    [
        ("'<'", "'>'"),
        ("'f8'", "'f4'"),
        ("(I1\n(I2", "(I2\n(I2"),
        ("I3\nt", "I4\nt"),
        ("'b'", "'c'"),
    ],
)
def test_only_floats_of_eight_bytes_are_read(tmp_path, values, printed, instead):
    text = written(values)
    assert printed in text
    with pytest.raises(ValueError, match="text pickle of Python 2"):
        read(tmp_path, text.replace(printed, instead, 1))


def test_a_file_cut_short_is_refused(tmp_path, values):
    text = written(values)
    for end in range(len(text)):
        with pytest.raises(ValueError, match="text pickle of Python 2"):
            read(tmp_path, text[:end])


# ---------------------------------------------------------------- nothing else

ROOT = Path(ismlit.__file__).parents[1]
UNPICKLERS = set("pickle _pickle cPickle cloudpickle dill marshal shelve".split())
LOADERS = set("read_pickle allow_pickle".split())


def unpickling(tree):
    """What in a program unpickles, or may."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from UNPICKLERS & {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            yield from UNPICKLERS & {(node.module or "").split(".")[0]}
            yield from {f"{node.module}.{a.name}" for a in node.names} & {
                "joblib.load",
                "torch.load",
            }
        elif isinstance(node, ast.Attribute):
            yield from {node.attr} & LOADERS
            yield from {ast.unparse(node)} & {"joblib.load", "torch.load"}
        elif isinstance(node, ast.keyword) and getattr(node.value, "value", 1) is not False:
            yield from {node.arg} & LOADERS


def programs():
    """Every module and every notebook, as one text each."""
    for folder in ("ismlit", "tools", "book"):
        for path in (ROOT / folder).rglob("*.py"):
            yield path, path.read_text(encoding="utf-8")
        for path in (ROOT / folder).rglob("*.ipynb"):
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            texts = [("".join(c["source"]), c["cell_type"] == "code") for c in cells]
            parts = [
                text if code else "\n".join(p for p, _ in solutions(text)) for text, code in texts
            ]
            yield path, "\n".join(parts)


def test_nothing_is_unpickled():
    """Two pages show what a pickle is, with one of their own."""
    found = {path: list(unpickling(ast.parse(text))) for path, text in programs()}
    assert len(found) > 100
    shown = {ROOT / "book" / "howto" / f"{name}.ipynb" for name in ("kernel", "serve")}
    assert {path for path, names in found.items() if names} == shown


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "from pickle import load",
        "import numpy.lib.format, dill as d",
        "np.load(path, allow_pickle=True)",
        "pd.read_pickle(path)",
        "joblib.load(path)",
        "from joblib import load",
        "weights = torch.load(path)",
    ],
)
def test_no_form_of_unpickling_is_missed(line):
    assert list(unpickling(ast.parse(line)))
