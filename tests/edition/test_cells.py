"""Every claim that can be checked has a cell, and its cell can be run again."""

import json

import pytest

from ismlit.edition import cells as cells_
from ismlit.edition import checking
from ismlit.edition.ledger import UNCHECKED, Claim, ClaimError, ledger

LEDGER = ledger()
CELLS = cells_.cells()


def test_every_checkable_claim_has_a_cell_and_every_cell_a_claim():
    checkable = {c.id for c in LEDGER.values() if c.verdict not in UNCHECKED}
    plain = {c.id for c in LEDGER.values() if c.verdict == "definition"}
    assert checkable - plain - set(CELLS) == set()
    assert set(CELLS) - checkable == set()


def book_of(tmp_path, monkeypatch, *sources):
    """A ledger and a book of one notebook with these code cells."""
    rows = {"eq-1": Claim("eq-1", "2", "here", "says", "holds", uses=())}
    monkeypatch.setattr(checking, "ledger", lambda: rows)
    monkeypatch.setattr(cells_, "ledger", lambda: rows)
    monkeypatch.setattr(cells_, "book", lambda: tmp_path)
    found = [dict(cell_type="code", source=source.splitlines(True)) for source in sources]
    (tmp_path / "one.ipynb").write_text(json.dumps(dict(cells=found)), encoding="utf-8")


def test_rerun_runs_up_to_the_cell_and_shows_its_outcome(tmp_path, monkeypatch, capsys):
    before = "from ismlit.edition import check\nx = 2\nprint('not shown')"
    book_of(tmp_path, monkeypatch, before, "check('eq-1', holds=x == 2)", "raise SystemExit")
    cells_.rerun("eq-1")
    assert capsys.readouterr().out == "eq-1: holds\n"


def test_rerun_raises_when_the_outcome_has_changed(tmp_path, monkeypatch):
    book_of(tmp_path, monkeypatch, "from ismlit.edition import check", "check('eq-1', holds=False)")
    with pytest.raises(ClaimError, match="the ledger says 'holds'"):
        cells_.rerun("eq-1")


def test_rerun_says_what_it_cannot_run(tmp_path, monkeypatch):
    book_of(tmp_path, monkeypatch, "x = 1")
    with pytest.raises(ClaimError, match="not in the ledger"):
        cells_.rerun("eq-2")
    with pytest.raises(ClaimError, match="has no cell"):
        cells_.rerun("eq-1")


def test_a_real_claim_runs_again(capsys):
    cells_.rerun("eq-2.1")
    assert capsys.readouterr().out.startswith(f"eq-2.1: {LEDGER['eq-2.1'].verdict}")
