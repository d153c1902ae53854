"""Numbers of the notes are computed from what is stored, or marked as given."""

import json
import re
from functools import cache
from importlib import import_module

import numpy as np
import pytest
from given import given
from ismlit_book import notes
from ismlit_book.experiments import program_3_1 as program
from ismlit_book.files import pages
from ismlit_book.notes import EXACT, fields, filled, names, table_3_1, table_6_1, typed
from ismlit_book.record.cells import cells, numbers
from ismlit_book.record.ledger import ledger

LEDGER = ledger()
SENTENCES = ("says", "note", "one_case")


def test_no_number_of_a_note_is_typed():
    found = {c.id: typed(c.template("note")) for c in LEDGER.values()}
    assert {name: numbers for name, numbers in found.items() if numbers} == {}


@pytest.mark.parametrize(
    ("note", "found"),
    [
        ("It ends 28.4 points behind.", ["28.4"]),
        ("It has 10 layers, as in Table D.7 and (A.30); see tab-4.2-wine.", ["10"]),
        ("Of Spiral1 $H = 0.97$ for $n = 4$.", ["0.97"]),
        ("By section 4.4 and Tables 4.6 and 4.7 of {n} runs ⟦2.5⟧ %.", []),
    ],
)
def test_a_typed_number_is_found(note, found):
    assert typed(note) == found


@cache
def given_on(path):
    """All numbers that the code of a page takes as given."""
    notebook = json.loads((pages() / path).read_text(encoding="utf-8"))
    code = ("".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code")
    return set().union(*map(given, code))


@pytest.mark.parametrize(
    ("code", "is_given"),
    [
        ("start(2.5)", True),
        ("at_most(share, 2.5)", True),
        ("from_print('table-3.1', cost, 2.5)", True),
        ("one_case(np.array(X.shape), np.array([2.5, 3]))", True),
        ("print('as 2.5 is')", True),
        ("one_case(share, 2.5, tol=0.01)", False),
        ("from_store('table-3.1', [share, other], [2.5, 3])", False),
        ("at_most(abs(share - 2.5), 0.01)", False),
        ("counterexample([met, tried] != [0, 2.5])", False),
        ("print(f'{share:2.5f}')", False),
    ],
)
def test_a_result_that_a_cell_compares_with_is_not_given(code, is_given):
    assert (2.5 in given(code)) is is_given


def test_what_a_note_takes_as_given_is_given_on_its_page():
    """A setting, a bound, a number of an example or of the thesis; no result that was typed."""
    where, strange = cells(), {}
    for claim in (c for c in LEDGER.values() if c.id in where):
        here = {0.0, 1.0}.union(*(given_on(place.path) for place in where[claim.id]))
        parts = re.findall("⟦([^⟧]*)⟧", claim.template("note"))
        for number in (n for part in parts for n in EXACT.findall(part)):
            if not here & {round(float(number) * unit, 12) for unit in (1, 0.01, 100)}:
                strange.setdefault(claim.id, []).append(number)
    assert strange == {}


def test_what_cells_store_for_notes_is_read():
    """Of several claims with one badge, by the note of one of them."""
    stored = numbers()
    read = {
        (name, str(value))
        for claim_id, found in stored.items()
        for name, value in found.items()
        if name in names(LEDGER[claim_id].template("note"))
    }
    for claim_id, found in stored.items():
        unread = {name for name, value in found.items() if (name, str(value)) not in read}
        assert not unread, f"{claim_id}: {unread}"


def test_fields_are_filled_in_and_all_are_used():
    """Every field of the ledger has its function, and every function its field."""
    for module in notes.MODULES:
        import_module(f"ismlit_book.notes.{module}")
    wanted = {c.id for c in LEDGER.values() for key in SENTENCES if names(c.template(key))}
    for claim in LEDGER.values():
        for key in SENTENCES:
            assert not re.search(r"[⟦⟧]|\bnan\b", getattr(claim, key))
    assert set(notes._FIELDS) - wanted == set()


@pytest.fixture
def afresh():
    fields.cache_clear()
    yield
    fields.cache_clear()


def test_a_note_follows_what_is_stored(monkeypatch, afresh):
    name, stored = "tab-D.7-face", table_6_1.results
    before = LEDGER[name].note

    def another(table):
        rows = json.loads(json.dumps(stored(table)))
        for row in rows:
            if (row["set"], row["method"]) == ("face", "H"):
                row["widths"][0][1] += 40
        return rows

    monkeypatch.setattr(table_6_1, "results", another)
    fields.cache_clear()
    assert "10 printed folds 10 come out" in before
    assert "10 printed folds 9 come out" in LEDGER[name].note


def test_a_field_without_a_function_is_an_error():
    with pytest.raises(KeyError, match=r"eq-5\.2"):
        filled("eq-5.2", "It is {value:.2f}.")


def test_the_spreads_of_faces_are_those_of_k_means():
    """Of its seeds, on one embedding; the stored starts give no such spread."""
    faces, row = program.READINGS["Faces"], table_3_1.PRINTED["Faces", "ISM", "RI"]
    try:
        program.given(faces)
    except OSError:
        pytest.skip("data set 'faces' is not at hand (ISMLIT_DATA)")
    *_, (W, U, _) = program.turns(faces)
    by_seed = [program.measured(faces, W, U, seed)[0] for seed in range(10)]
    for cell in ("NMI", "cost"):
        printed_sd = float(row[f"{cell} sd"])
        assert printed_sd / 2.5 < np.std([run[cell] for run in by_seed]) < 2.5 * printed_sd
        assert np.std(table_3_1.AT["Faces", "ISM", "RI", "program"][cell]) < printed_sd / 10
