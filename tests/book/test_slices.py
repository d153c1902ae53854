"""What a cell uses from the cells above it: all of it, and not more."""

import builtins
import symtable

import pytest
from ismlit_book.files import pages
from ismlit_book.record.cells import cells, code_of, used_at
from ismlit_book.record.slices import statements, used_by_cell

CELLS = cells()
PLACES = {place: claim_id for claim_id, places in CELLS.items() for place in places}


def found_in(*sources):
    return statements(dict(cells=[dict(cell_type="code", source=s) for s in sources]))


CASES = [
    ("a name of the cell", ["x = 1\ny = 2", "check('c', x)"], "x = 1"),
    ("the last of two bindings", ["x = 1\nx = 2", "check('c', x)"], "x = 2"),
    ("what changes it", ["x = []\nx.append(1)", "check('c', x)"], "x = []\nx.append(1)"),
    ("an import, cut", ["from a import b, c", "check('c', b)"], "from a import b"),
    ("an import under another name", ["import a.b as c, d", "c"], "import a.b as c"),
    ("through a function", ["x = 1", "f = lambda: x", "check('c', f())"], "x = 1\nf = lambda: x"),
    ("a local name", ["x = 1", "def f(x):\n    return x", "f(2)"], "def f(x):\n    return x"),
    ("a function of the name top", ["Q = 1", "def top(Q):\n    return Q", "top(2)"], None),
    ("no other check", ["check('d', 1)", "check('c', 2)"], ""),
    ("not what stands in the cell", ["x = 1", "y = x\ncheck('c', y)"], "x = 1"),
    ("a comment of the line", ["x = 1  # one", "x"], "x = 1  # one"),
]


@pytest.mark.parametrize(("sources", "wanted"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_a_cell_uses(sources, wanted):
    wanted = "def top(Q):\n    return Q" if wanted is None else wanted
    assert used_by_cell(found_in(*sources), len(sources) - 1) == wanted


def read_as_global(table):
    """The names that a table, or one inside it, reads from the module."""
    is_module = table.get_type() == "module"
    here = {
        name.get_name()
        for name in table.get_symbols()
        if name.is_referenced() and (is_module or (name.is_global() and not name.is_local()))
    }
    return here.union(*map(read_as_global, table.get_children()))


def test_every_cell_of_the_record_has_all_the_names_that_it_reads():
    """In itself and in what it uses, so that the two can be read, and run, without the page."""
    missing = {}
    for place, claim_id in PLACES.items():
        names = symtable.symtable(used_at(place) + "\n" + place.source, "a cell", "exec")
        bound = {n.get_name() for n in names.get_symbols() if n.is_assigned() or n.is_imported()}
        if strange := read_as_global(names) - bound - {*dir(builtins), "display"}:
            missing[claim_id] = strange
    assert missing == {}


def test_what_a_cell_uses_is_less_than_its_page():
    """Of the pages with ten or more code cells, nowhere all that stands above."""
    for place in PLACES:
        above = [s for s in code_of(place.path) if s.cell < place.number]
        if place.number >= 10:
            lines = sum(len(statement.text.splitlines()) for statement in above)
            assert len([line for line in used_at(place).splitlines() if line]) < lines


@pytest.mark.parametrize(
    "claim_id",
    [
        "eq-D.47",
        "txt-2.4-trick",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("eq-C.35", "eq-A.20")),
    ],
)
def test_a_cell_runs_on_what_it_uses_alone(claim_id, monkeypatch, capsys):
    for place in CELLS[claim_id]:
        monkeypatch.chdir(pages() / place.path.parent)
        exec(used_at(place) + "\n" + place.source, {"__name__": "__main__"})
    assert f"{claim_id}: " in capsys.readouterr().out
