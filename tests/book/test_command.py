"""``python -m ismlit_book``: lists, explains, refuses."""

import pytest
from ismlit_book.__main__ import main
from ismlit_book.record.cells import known
from ismlit_book.record.ledger import TITLES, ledger

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


def test_command_line_describes_one(capsys):
    main(["eq-5.2"])
    out = capsys.readouterr().out
    for part in (LEDGER["eq-5.2"].says, "uses   eq-5.1", "cor-1", "book/record/5.3.ipynb"):
        assert part in out


@pytest.mark.parametrize(
    "arguments", [["eq-99"], ["--run"], ["--verdict", "true"], ["eq-5.2", "--slip", "sign"]]
)
def test_command_line_refuses(arguments, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert "error" in capsys.readouterr().err
