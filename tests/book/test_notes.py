"""Numbers of the notes are computed from what is stored, or marked as given."""

import json
import re
from functools import cache
from importlib import import_module

import numpy as np
import pytest
from ismlit_book import notes
from ismlit_book.experiments import program_3_1 as program
from ismlit_book.files import pages
from ismlit_book.notes import EXACT, fields, filled, names, table_3_1, table_6_1, typed
from ismlit_book.record.cells import cells
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
def code_of(path):
    """All numbers in the code of a page."""
    notebook = json.loads((pages() / path).read_text(encoding="utf-8"))
    code = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    return {float(n) for n in re.findall(r"\d*\.?\d+(?:e-?\d+)?", "\n".join(code).replace("_", ""))}


def test_what_a_note_takes_as_given_stands_in_its_page():
    """Where the page has it as another number its cells raise."""
    where, strange = cells(), {}
    for claim in (c for c in LEDGER.values() if c.id in where):
        here = set().union(*(code_of(place.path) for place in where[claim.id]))
        given = re.findall("⟦([^⟧]*)⟧", claim.template("note"))
        for number in (n for part in given for n in EXACT.findall(part)):
            if not here & {round(float(number) * unit, 12) for unit in (1, 0.01, 100)}:
                strange.setdefault(claim.id, []).append(number)
    assert strange == {}


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
