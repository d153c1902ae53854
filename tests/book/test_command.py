"""``python -m ismlit_book``: lists, explains, refuses."""

import pytest
from ismlit_book.__main__ import main
from ismlit_book.record.cells import cells, known, used_at
from ismlit_book.record.ledger import TITLES, derivation, derives, ledger, named, title

LEDGER = ledger()
WANTED = ("one case", "definition")


def test_command_line_lists_by_chapter_verdict_and_word(capsys):
    main(["--verdict", "fails", "--chapter", "4"])
    out = capsys.readouterr().out
    chosen = [c.id for c in LEDGER.values() if (c.verdict, c.chapter) == ("fails", "4")]
    assert [line.split()[0] for line in out.splitlines() if line.startswith("  ")] == chosen
    assert f"{TITLES['4']}: {len(chosen)} fails" in out
    main(["--find", "EIGENGAP"])
    found = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert 5 < len(found) < len(LEDGER)


def test_command_line_lists_by_how_it_is_known_scope_and_slip(capsys):
    how = known()
    main(["--known", "one case", "--scope", "definition"])
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[:2] == "  "]
    wanted = [c.id for c in LEDGER.values() if (how.get(c.id, [""])[0], c.scope) == WANTED]
    assert listed == wanted and wanted
    main(["--slip", "sign"])
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[:2] == "  "]
    assert listed == [c.id for c in LEDGER.values() if c.slip == "sign"]


def test_command_line_folds_the_equations_of_the_appendices(capsys):
    """Unless what is asked for may be one of them."""
    main(["--chapter", "D"])
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line[:2] == "  "]
    assert rows[0][:4] == ["derivation", "of", "thm-6.1:", "eq-D.1"]
    at = next(k for k, row in enumerate(rows) if row[0] == "lem-D.4")
    assert rows[at + 1][2:6] == ["lem-D.4:", "eq-D.66", "to", "eq-D.73,"]
    wanted = [c.id for c in LEDGER.values() if c.chapter == "D" and not derives(c.id)]
    assert [row[0] for row in rows if row[0] != "derivation"] == wanted
    main(["--chapter", "D", "--verdict", "holds"])
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[:2] == "  "]
    assert listed == [c.id for c in LEDGER.values() if (c.chapter, c.verdict) == ("D", "holds")]
    main(["lem-D.4"])
    assert f"derived by {', '.join(derivation('lem-D.4'))}\n" in capsys.readouterr().out
    main(["eq-D.70"])
    assert "derives lem-D.4" in capsys.readouterr().out


def test_command_line_describes_one(capsys):
    main(["eq-5.2"])
    out = capsys.readouterr().out
    eq = LEDGER["eq-5.2"]
    for part in (eq.says, eq.prints, "uses   eq-5.1 (declared)", "cor-1", "book/record/5.3.ipynb"):
        assert part in out
    assert "book/claims/eq-5.2.html" in out


def test_command_line_shows_the_cell_below_what_it_uses(capsys):
    main(["eq-4.9"])
    described, above, cell = capsys.readouterr().out.split("\n\n  ")
    (place,) = cells()["eq-4.9"]
    assert described.startswith("eq-4.9: ") and cell.startswith("the cell\n")
    shown = [line.strip() for line in cell.splitlines()[1:]]
    assert shown == [line.strip() for line in place.source.splitlines()]
    shown = [line.strip() for line in above.splitlines()[1:]]
    assert shown == [line.strip() for line in used_at(place).splitlines()]


@pytest.mark.parametrize(
    ("words", "claim_id"),
    [
        ("5.2", "eq-5.2"),
        ("(C.73)", "eq-C.73"),
        ("eq5.2", "eq-5.2"),
        ("equation d.49", "eq-D.49"),
        ("theorem 6.1", "thm-6.1"),
        ("Thm. 6.1", "thm-6.1"),
        ("Lemma d.4", "lem-D.4"),
        ("algorithm 4", "alg-4"),
        ("Table 5.3: linear", "tab-5.3-linear"),
        ("NeurIPS: 79", "neurips-79"),
        ("two samples rise", "new-two-samples-rise"),
    ],
)
def test_a_claim_is_found_as_a_reader_writes_it(words, claim_id, capsys, monkeypatch):
    """What is said of it beside its name takes seconds, and is asked above."""
    monkeypatch.setattr("ismlit_book.__main__.describe", lambda found: [f"{found}: "])
    monkeypatch.setattr("ismlit_book.__main__.code", lambda found: [])
    main(words.split())
    assert capsys.readouterr().out.startswith(f"{claim_id}: ")


def test_every_claim_is_found_by_its_id_and_by_its_title():
    assert all(named(claim_id) == claim_id == named(title(claim_id)) for claim_id in LEDGER)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("table 5.3", "tab-5.3-gaussian"),
        ("6.99", "eq-6.9"),
        ("new-ism-two-cycl", "new-ism-two-cycle"),
        ("theorm 5.1", "thm-5.1"),
        ("eigengap", "eq-3.11"),
    ],
)
def test_what_is_not_found_is_asked_for(words, wanted, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(words.split())
    error = capsys.readouterr().err
    assert error.startswith(f"error: not in the ledger: {words}; did you mean\n")
    assert wanted in error.split() and len(error.splitlines()) < 10


def test_a_number_names_what_else_bears_it(capsys):
    main(["5.1"])
    (line,) = [s for s in capsys.readouterr().out.splitlines() if "of the same number" in s]
    assert {"thm-5.1", "tab-5.1-gaussian"} <= {*line.replace(",", "").split()}


@pytest.mark.parametrize(
    "arguments", [["eq-99"], ["--run"], ["--verdict", "true"], ["eq-5.2", "--slip", "sign"]]
)
def test_command_line_refuses(arguments, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert "error" in capsys.readouterr().err
