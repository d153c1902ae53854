"""Every claim that can be checked has a cell, and its cell can be run again."""

import ast
import json

import pytest
from ismlit_book.record import cells as cells_
from ismlit_book.record import checking
from ismlit_book.record.checking import Badge
from ismlit_book.record.evidence import GENERAL, KNOWN, Evidence
from ismlit_book.record.ledger import SCOPES, UNCHECKED, Claim, ClaimError, ledger

LEDGER = ledger()
CELLS = cells_.cells()


def test_every_checkable_claim_has_a_cell_and_every_cell_a_claim():
    checkable = {c.id for c in LEDGER.values() if c.verdict not in UNCHECKED}
    plain = {c.id for c in LEDGER.values() if c.verdict == "definition"}
    assert checkable - plain - set(CELLS) == set()
    assert set(CELLS) - checkable == set()


# ---------------------------------------------------------------- how a claim is known

HOW = cells_.known()


def test_every_claim_with_a_cell_has_a_stored_badge():
    assert set(CELLS) - set(HOW) == set(), "execute the notebooks that check these"


def test_a_claim_about_all_cases_is_derived_or_drawn():
    """Or its row says why one case is all there is."""
    weak = {c.id for c in cells_.unproved(HOW) if not c.one_case}
    assert weak == set()


def test_an_exception_is_needed():
    """A row says why it rests on one case only while it does."""
    assert {c.id for c in LEDGER.values() if c.one_case} <= {c.id for c in cells_.unproved(HOW)}


def test_a_claim_that_fails_has_a_counterexample():
    fails = {c.id for c in LEDGER.values() if c.verdict == "fails"}
    assert {i for i in fails if HOW[i][0] != "counterexample"} == set()


def test_a_row_in_part_shows_which_cells_come_out():
    """nbval compares the badge's text: a cell that changes its sign is noticed there."""
    outputs = (
        o for _, book in cells_.notebooks() for c in book["cells"] for o in c.get("outputs", [])
    )
    texts = ("".join(o.get("data", {}).get("text/plain", "")) for o in outputs)
    badges = [
        line for text in texts for line in text.splitlines() if ": reproduced in part ·" in line
    ]
    in_part = {c.id for c in LEDGER.values() if c.verdict == "reproduced in part"}
    assert {badge.partition(":")[0] for badge in badges} == in_part
    assert all("✓" in badge and "✗" in badge for badge in badges)


def test_the_table_of_what_is_known_counts_every_claim_once():
    table = cells_.known_by_scope(HOW)
    assert sum(sum(row.values()) for row in table.values()) == len(LEDGER)
    assert list(table) == [*KNOWN, "no cell"] and all(
        list(r) == [*SCOPES, "ours"] for r in table.values()
    )
    assert set(GENERAL) <= set(KNOWN)
    assert sum(row["ours"] for row in table.values()) == sum(c.is_ours for c in LEDGER.values())
    assert sum(table["no cell"].values()) == len(cells_.unchecked(HOW))


def test_no_evidence_compares_an_expression_with_itself():
    twice = []
    for path, notebook in cells_.notebooks():
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                twice += [
                    f"{path}: {text}" for text in compared_with_itself("".join(cell["source"]))
                ]
    assert twice == []


def compared_with_itself(source):
    """Calls such as derived(a, a) in a cell."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and len(node.args) >= 2:
            name = getattr(node.func, "id", "")
            if name in ("derived", "one_case", "equal", "at_most", "recomputed", "same"):
                if ast.dump(node.args[0]) == ast.dump(node.args[1]):
                    yield ast.unparse(node)


def test_an_expression_compared_with_itself_is_found():
    assert list(compared_with_itself("check('eq-1', derived(f(x), f(x)))")) == [
        "derived(f(x), f(x))"
    ]
    assert list(compared_with_itself("derived(f(x), f(y))")) == []


def test_the_steps_of_a_proof_are_read_from_its_badge(tmp_path, monkeypatch):
    step = Evidence("drawn", True, "120 draws")
    proof = Evidence("drawn", True, "1 step", steps=(("a < b", step),))
    badges = [Badge(("eq-1", "eq-2"), "holds", [proof]), Badge(("eq-3",), "holds", [step])]
    html = [badge.html() for badge in badges]
    cell = dict(cell_type="code", source=[], outputs=[{"data": {"text/html": html}}])
    (tmp_path / "one.ipynb").write_text(json.dumps(dict(cells=[cell])), encoding="utf-8")
    monkeypatch.setattr(cells_, "pages", lambda: tmp_path)
    found = cells_.proofs()
    assert [*found] == ["eq-1", "eq-2"]
    assert found["eq-1"] == "<ol><li>a &lt; b <small>⚄ drawn: 120 draws</small></li></ol>"


def test_known_is_read_from_badges_and_the_strongest_counts(tmp_path, monkeypatch):
    row = Claim("eq-1", "2", "here", "says", "holds", scope="general")
    monkeypatch.setattr(cells_, "pages", lambda: tmp_path)
    badges = [
        Badge(("eq-1",), "holds", [Evidence("one case", True)]),
        Badge(("eq-1",), "holds", [Evidence("drawn", True, "120 draws, 3 sizes", ("doubled",))]),
        Badge(("eq-1",), "holds", [Evidence("stored", True)]),
    ]
    outputs = [{"data": {"text/plain": [b.text()], "text/html": [b.html()]}} for b in badges]
    cells = [dict(cell_type="code", source=[], outputs=[output]) for output in outputs]
    (tmp_path / "one.ipynb").write_text(json.dumps(dict(cells=cells)), encoding="utf-8")
    assert cells_.known() == {"eq-1": ("drawn", "120 draws, 3 sizes")}
    monkeypatch.setattr(cells_, "ledger", lambda: {"eq-1": row})
    assert cells_.unproved() == [] and cells_.known_by_scope()["drawn"]["general"] == 1
    assert cells_.unproved({"eq-1": ("stored", "")}) == [row]


# ---------------------------------------------------------------- running one again


def book_of(tmp_path, monkeypatch, *sources):
    """A ledger and a book of one notebook with these code cells."""
    rows = {"eq-1": Claim("eq-1", "2", "here", "says", "holds", uses=())}
    monkeypatch.setattr(checking, "ledger", lambda: rows)
    monkeypatch.setattr(cells_, "ledger", lambda: rows)
    monkeypatch.setattr(cells_, "pages", lambda: tmp_path)
    found = [dict(cell_type="code", source=source.splitlines(True)) for source in sources]
    (tmp_path / "one.ipynb").write_text(json.dumps(dict(cells=found)), encoding="utf-8")


def test_rerun_runs_up_to_the_cell_and_shows_its_outcome(tmp_path, monkeypatch, capsys):
    before = "from ismlit_book import check, one_case\nx = 2\nprint('not shown')"
    book_of(tmp_path, monkeypatch, before, "check('eq-1', one_case(x, 2))", "raise SystemExit")
    cells_.rerun("eq-1")
    assert capsys.readouterr().out.splitlines() == [
        "eq-1: holds · one case · rejected: doubled, negated",
        "eq-1: compared: one case; 2 = 2",
    ]


STEPS = """
import sympy as sp
from ismlit_book import at_most, check, derived, drawn, proof, recomputed

x = sp.Symbol("x", real=True)
square = derived((x + 1) ** 2, x**2 + 2 * x + 1)
sizes = drawn(100, lambda draw: at_most([draw.q, 1, 1, 1], [draw.d, 2, 2, 2]))
"""


def test_rerun_says_what_each_step_compared(tmp_path, monkeypatch, capsys):
    steps = 'check("eq-1", proof({"a square": square, "sizes": sizes}), recomputed({"a": (2, 2)}))'
    book_of(tmp_path, monkeypatch, STEPS, steps)
    cells_.rerun("eq-1")
    assert capsys.readouterr().out.splitlines()[1:] == [
        "eq-1: compared: proof with tested steps: 2 steps, 1 of them drawn · recomputed; a: 2 = 2",
        "  a square: derived; (x + 1)**2 = x**2 + 2*x + 1",
        "  sizes: drawn: 100 draws, 3 sizes; the first: [1, 1, 1, ...] (4) <= [2, 2, 2, ...] (4)",
    ]


def test_rerun_raises_when_the_outcome_has_changed(tmp_path, monkeypatch):
    imports = "from ismlit_book import check, one_case"
    book_of(tmp_path, monkeypatch, imports, "check('eq-1', one_case(False))")
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
