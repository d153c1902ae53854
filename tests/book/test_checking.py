"""`check` can fail, and shows what it was given."""

import json
import re

import numpy as np
import pytest
from ismlit_book import check, counterexample, from_print, one_case, recomputed
from ismlit_book.record import cells as cells_
from ismlit_book.record import checking
from ismlit_book.record.evidence import TESTED, Evidence
from ismlit_book.record.ledger import UNCHECKED, VERDICTS, Claim, ClaimError

YES, NO = one_case(True), one_case(False)
FALSE_HERE, TRUE_HERE = counterexample(2, 3), counterexample(2, 2)
PART = recomputed({"cost": False, "NMI": True})


@pytest.fixture
def tiny(monkeypatch):
    rows = {v: Claim(v, "5", "here", "says", v) for v in VERDICTS}
    monkeypatch.setattr(checking, "ledger", lambda: rows)


MISSED = {"reproduced in part": ["cost"]}
GOOD = [
    ("holds", [YES], None),
    ("holds", [YES, YES], None),
    ("definition", [YES], None),
    ("holds as corrected", [YES], FALSE_HERE),
    ("fails", [FALSE_HERE], None),
    ("reproduced", [recomputed(True)], None),
    ("reproduced in part", [PART], None),
    ("reproduced in part", [PART, YES], None),
    ("not reproduced", [recomputed(False)], None),
    ("not reproduced", [recomputed({"cost": False, "NMI": False})], None),
]
BAD = [
    ("holds", [NO], None),
    ("holds", [YES, NO], None),
    ("holds", [], None),
    ("holds", [FALSE_HERE], None),
    ("holds", [YES, FALSE_HERE], None),
    ("holds", [YES], FALSE_HERE),
    ("definition", [NO], None),
    ("holds as corrected", [YES], None),
    ("holds as corrected", [YES], TRUE_HERE),
    ("holds as corrected", [NO], FALSE_HERE),
    ("holds as corrected", [YES], YES),
    ("holds as corrected", [FALSE_HERE], FALSE_HERE),
    ("fails", [TRUE_HERE], None),
    ("fails", [NO], None),
    ("reproduced", [PART], None),
    ("reproduced in part", [YES], None),
    ("reproduced in part", [NO], None),
    ("reproduced in part", [YES, NO], None),
    ("reproduced in part", [PART, NO], None),
    ("reproduced in part", [recomputed({"cost": False}), YES], None),
    ("not reproduced", [YES, NO], None),
    ("not reproduced", [PART], None),
    ("not reproduced", [YES], None),
    *((verdict, [YES], None) for verdict in UNCHECKED),
]


@pytest.mark.parametrize(("verdict", "evidence", "against"), GOOD)
def test_check_accepts_what_carries_the_verdict(tiny, capsys, verdict, evidence, against):
    check(verdict, *evidence, against=against, missed=MISSED.get(verdict, ()))
    assert capsys.readouterr().out.startswith(f"{verdict}: {verdict} · {evidence[0].known}")


@pytest.mark.parametrize(("verdict", "evidence", "against"), BAD)
def test_check_raises_on_all_else(tiny, verdict, evidence, against):
    with pytest.raises(ClaimError, match="the ledger says"):
        check(verdict, *evidence, against=against, missed=MISSED.get(verdict, ()))


@pytest.mark.parametrize("stated", [[], ["NMI"], ["cost", "NMI"], ["cost", "time"]])
def test_a_row_in_part_states_which_cells_do_not_come_out(tiny, stated):
    """So one that turns is noticed wherever the cell runs, and not by its stored output alone."""
    with pytest.raises(ClaimError, match=r"does not come out is \['cost'\]"):
        check("reproduced in part", PART, missed=stated)


@pytest.mark.parametrize("verdict", ["holds", "reproduced"])
def test_where_all_comes_out_nothing_is_missed(tiny, verdict):
    with pytest.raises(ClaimError, match="stated is missed"):
        check(verdict, recomputed({"cost": True}), missed=["cost"])


def test_what_a_note_says_beside_a_counterexample_has_to_hold(tiny, capsys):
    check("fails", FALSE_HERE, also=one_case(3, 3))
    assert capsys.readouterr().out == "fails: fails · counterexample: exact\n"
    for also in ([NO], [YES, NO], [FALSE_HERE]):
        with pytest.raises(ClaimError, match="beside"):
            check("fails", FALSE_HERE, also=also)
    with pytest.raises(ClaimError, match="beside"):
        check("holds", YES, also=YES)
    with pytest.raises(TypeError, match="evidence"):
        check("fails", FALSE_HERE, also=[True])


def test_check_wants_a_known_claim_and_evidence(tiny):
    with pytest.raises(ClaimError, match="not in the ledger"):
        check("eq-99", YES)
    with pytest.raises(TypeError, match="derived"):
        check("holds", True)
    with pytest.raises(TypeError, match="evidence"):
        check("holds as corrected", YES, against=True)


@pytest.mark.parametrize(
    ("kinds", "known"),
    [
        (["derived", "derived"], "derived"),
        (["derived", "one case", "stored"], "derived"),
        (["derived", "drawn"], TESTED),
        (["drawn", TESTED, "one case"], TESTED),
        (["drawn", "exhaustive"], TESTED),
        (["one case", "stored"], "stored"),
    ],
)
def test_a_badge_says_the_weakest_of_what_is_said_of_all_cases(kinds, known):
    badge = checking.Badge(("holds",), "holds", [Evidence(kind, True) for kind in kinds])
    assert badge.known == known


def test_tautologies_give_no_verdict(tiny, capsys):
    """Neither alone nor by lifting what is drawn."""
    trivial, some = Evidence("derived", True, tautology=True), Evidence("drawn", True)
    for evidence in ([trivial], [trivial, trivial]):
        with pytest.raises(ClaimError, match="tautologies"):
            check("holds", *evidence)
    check("holds", trivial, some)
    check("holds", trivial, YES)
    assert capsys.readouterr().out == "holds: holds · drawn\nholds: holds · one case\n"


def test_the_badge_says_how_it_is_known_by_the_strongest(tiny, capsys):
    strong = Evidence("drawn", True, "100 draws", ("doubled",))
    check("holds", "definition", YES, strong)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "holds: holds · drawn: 100 draws · rejected: doubled",
        "definition: definition · drawn: 100 draws · rejected: doubled",
    ]


def test_the_badge_shows_cells_and_steps_and_links_to_the_row(monkeypatch, tmp_path):
    monkeypatch.setattr(checking, "pages", lambda: tmp_path)
    (tmp_path / "ch5").mkdir()
    monkeypatch.chdir(tmp_path / "ch5")
    badge = checking.Badge(("reproduced in part",), "reproduced in part", [PART])
    assert "cost ✗, NMI ✓" in badge.text() and "cost ✗, NMI ✓" in badge.html()
    assert 'href="../ledger.html#claim-reproduced in part"' in badge.html()
    step = Evidence("drawn", True, "120 draws")
    proof = Evidence("drawn", True, "1 step", steps=(("a < b", step),))
    assert (
        "<li>a &lt; b <small>⚄ drawn: 120 draws</small></li>"
        in checking.Badge(("holds",), "holds", [proof]).html()
    )


def test_claims_of_one_verdict_share_a_badge_and_have_a_line_each():
    badge = checking.Badge(("a", "b"), "holds", [Evidence("derived", True)])
    assert badge.text() == "a: holds · derived\nb: holds · derived"
    assert re.findall(r'ledger\.html#claim-(\w+)"', badge.html()) == ["a", "b"]


def test_numbers_for_notes_are_stored_beside_the_badge(tiny, monkeypatch):
    stored = []
    monkeypatch.setattr(checking, "_show", lambda badges, numbers: stored.append(numbers))
    check("holds", YES)
    check("holds", "definition", YES, numbers={"r": "0.55", "sizes": (np.int64(3), 4)})
    fields = {"r": "0.55", "sizes": [3, 4]}
    assert stored == [{}, {"holds": fields, "definition": fields}]


@pytest.mark.parametrize("value", [0.55, np.float64(0.55), ["0.5", 0.55], None])
def test_a_number_for_a_note_says_how_it_is_rounded(tiny, value):
    with pytest.raises(TypeError, match="r must be rounded"):
        check("holds", YES, numbers={"r": value})


def test_notes_read_the_numbers_of_executed_cells(tmp_path, monkeypatch):
    monkeypatch.setattr(cells_, "pages", lambda: tmp_path)
    outputs = [{"data": {checking.NUMBERS: {"eq-1": {name: "1"}}}} for name in "ab"]
    book = dict(cells=[dict(cell_type="code", source=[], outputs=outputs)])
    (tmp_path / "one.ipynb").write_text(json.dumps(book), encoding="utf-8")
    cells_.numbers.cache_clear()
    assert cells_.numbers() == {"eq-1": {"a": "1", "b": "1"}}
    cells_.numbers.cache_clear()


def test_evidence_names_a_table_that_was_read():
    with pytest.raises(ValueError, match="was not read"):
        from_print("table-9.9", True)
