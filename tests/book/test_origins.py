"""What a claim uses: its row beside the code of its check."""

from dataclasses import replace

import pytest
from ismlit_book.files import data
from ismlit_book.record import origins
from ismlit_book.record.ledger import ledger, rests_on
from ismlit_book.record.slices import statements

LEDGER = ledger()


def run_in(*sources):
    return origins.run_in(
        statements(dict(cells=[dict(cell_type="code", source=s) for s in sources]))
    )


PART = "part = drawn(100, f)"
CASES = [
    ("as a step", [PART, "check('a', part)", "check('b', proof({'by a': part}))"], {"b": [{"a"}]}),
    (
        "through a name",
        [PART, "check('a', part)", "x = [part]", "check('b', x[0])"],
        {"b": [{"a"}]},
    ),
    ("against", [PART, "check('a', one, against=part)", "check('b', [part])"], {"b": [{"a"}]}),
    ("shown by both in one call", [PART, "check('a', 'b', part)"], {}),
    ("shown by both in two", [PART, "check('a', part)", "check('b', part)"], {}),
    ("written out in the call", ["check('a', drawn(100, f))", "check('b', drawn(100, f))"], {}),
    ("another of the name", [PART, "check('a', part)", PART, "check('b', [part])"], {}),
    ("of two claims", [PART, "check('a', 'c', part)", "check('b', [part])"], {"b": [{"a", "c"}]}),
]


@pytest.mark.parametrize(("sources", "wanted"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_the_evidence_of_another_claim_is_found(sources, wanted):
    assert run_in(*sources) == wanted


def test_every_row_names_the_claims_whose_evidence_its_check_runs():
    """Among what it uses, or apart, with a reason."""
    found = {name: origins.undeclared(name) for name in LEDGER}
    assert {name: others for name, others in found.items() if others} == {}


def test_a_row_that_does_not_name_one_is_found(monkeypatch):
    row, run = LEDGER["lem-D.4"], origins.run_by_checks()
    assert {"eq-D.70"} in run["lem-D.4"]
    bare = {**LEDGER, "lem-D.4": replace(row, uses=("lem-D.3",))}
    monkeypatch.setattr(origins, "ledger", lambda: bare)
    monkeypatch.setattr(origins, "declared", lambda name: {*bare[name].uses})
    assert {"eq-D.70"} in origins.undeclared("lem-D.4")
    bare["lem-D.4"] = replace(bare["lem-D.4"], apart={"eq-D.70": "for a reason"})
    assert {"eq-D.70"} not in origins.undeclared("lem-D.4")


def test_what_stands_apart_is_run_and_not_used():
    for claim in LEDGER.values():
        for other, reason in claim.apart.items():
            assert any(other in others for others in origins.run_by_checks()[claim.id])
            assert other not in rests_on(claim.id) and len(reason.split()) >= 3


@pytest.mark.parametrize(
    ("claim_id", "used", "wanted"),
    [
        ("lem-D.4", "eq-D.70", "evidence run"),
        ("thm-5.1", "lem-C.1", "code shared"),
        ("def-5", "def-1", "declared"),
    ],
)
def test_an_origin_is(claim_id, used, wanted):
    assert origins.origin(claim_id, used) == wanted
    assert used in LEDGER[claim_id].uses


def test_the_tables_that_a_check_reads_exist():
    read = {name: origins.tables_read(name) for name in LEDGER}
    files = {name.replace("thesis/", "") for names in read.values() for name in names}
    for name in files:
        folder, _, table = name.rpartition("/")
        assert (data() / (folder or "thesis") / f"{table}.{'json' if folder else 'csv'}").is_file()
    assert read["tab-6.1-wine-H"] == ["results/program-6.1", "results/table-6.1"]
    assert read["eq-5.2"] == []
