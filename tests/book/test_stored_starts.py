"""Starts stored as pickles are read without being run; nothing else is unpickled either."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from ismlit_book.experiments.stored_starts import read_arrays

import ismlit
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
    "other",
    [
        "cos\nsystem\n(S'true'\ntR",
        "ios\nsystem\n(S'true'\nt",
        "\x02",
        "S'b\n",
        "cnumpy\ndtype\n(S'f4'\nI0\nI1\ntR",
    ],
)
def test_anything_else_is_refused(tmp_path, values, other):
    with pytest.raises(ValueError, match=r"text pickle of Python 2.*start\.pk.*something else"):
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
UNPICKLING = re.compile(
    r"^\s*(?:import|from)\s.*\b(?:_?pickle|cPickle|cloudpickle|dill|marshal|shelve)\b"
    r"|read_pickle|allow_pickle=(?!False)|(?:joblib|torch)(?:\.load|\s+import\s.*\bload\b)",
    re.M,
)


def unpickles(text):
    """Whether a program unpickles, or may; comments aside."""
    return bool(UNPICKLING.search(re.sub("#.*", "", text)))


def programs():
    """Every module and every notebook with its solutions, as one text each."""
    for folder in ("ismlit", "tools", "book"):
        for path in (ROOT / folder).rglob("*.py"):
            yield path, path.read_text(encoding="utf-8")
        for path in (ROOT / folder).rglob("*.ipynb"):
            parts = []
            for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
                text = "".join(cell["source"])
                code = cell["cell_type"] == "code"
                parts += [text] if code else [part for part, _ in solutions(text)]
            yield path, "\n".join(parts)


def test_nothing_is_unpickled():
    """Two pages show what a pickle is, with one of their own."""
    found = {path: unpickles(text) for path, text in programs()}
    assert len(found) > 100
    shown = {ROOT / "book" / "howto" / f"{name}.ipynb" for name in ("kernel", "serve")}
    assert {path for path, does in found.items() if does} == shown


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
    assert unpickles(line)
