"""The ledger, its cells and its pages agree; `check` can fail."""

import numpy as np
import pytest

from ismlit import claims
from ismlit.claims import Claim, ClaimError, check

LEDGER = claims.ledger()
CELLS = claims.cells()


@pytest.fixture
def tiny(monkeypatch):
    rows = {v: Claim(v, "5", "here", "says", v) for v in claims.VERDICTS}
    monkeypatch.setattr(claims, "ledger", lambda: rows)


@pytest.mark.parametrize(
    ("verdict", "right", "wrong"),
    [
        ("holds", dict(holds=True), dict(holds=False)),
        ("definition", dict(holds=True), dict(holds=False)),
        ("holds as corrected", dict(as_printed=False, corrected=True), dict(holds=True)),
        (
            "holds as corrected",
            dict(as_printed=False, corrected=True),
            dict(as_printed=True, corrected=True),
        ),
        ("fails", dict(counterexample=True), dict(counterexample=False)),
        ("reproduced", dict(reproduced=True), dict(reproduced=False)),
        ("not reproduced", dict(reproduced=False), dict(reproduced=True)),
    ],
)
def test_check_raises_unless_the_outcome_is_the_verdict(tiny, capsys, verdict, right, wrong):
    check(verdict, **right, rejects=False)
    assert capsys.readouterr().out == f"{verdict}: {verdict} (a broken variant is rejected)\n"
    for bad in (wrong, {}):
        with pytest.raises(ClaimError):
            check(verdict, **bad)
    with pytest.raises(ClaimError, match="broken variant"):
        check(verdict, **right, rejects=lambda: True)


def test_check_wants_a_known_claim_and_a_bool(tiny):
    with pytest.raises(ClaimError, match="not in the ledger"):
        check("eq-99", holds=True)
    with pytest.raises(TypeError, match="bool"):
        check("holds", holds=np.ones(2))
    for verdict in claims.UNCHECKED:
        with pytest.raises(ClaimError):
            check(verdict, holds=True)


@pytest.mark.parametrize("claim", LEDGER.values(), ids=lambda c: c.id)
def test_row(claim):
    assert claim.verdict in claims.VERDICTS
    assert claim.says and claim.where
    if claim.verdict in ("holds as corrected", "fails", "not reproduced", *claims.UNCHECKED):
        assert claim.note, "what is wrong, or why it is not checked, must be said"
    for used in claim.uses:
        assert used in LEDGER, f"uses an unknown claim {used}"


def test_every_checkable_claim_has_a_cell_and_every_cell_a_claim():
    checkable = {c.id for c in LEDGER.values() if c.verdict not in claims.UNCHECKED}
    plain = {c.id for c in LEDGER.values() if c.verdict == "definition"}
    assert checkable - plain - set(CELLS) == set()
    assert set(CELLS) - checkable == set()


def test_uses_has_no_cycle():
    import graphlib

    graph = {c.id: set(c.uses) for c in LEDGER.values()}
    list(graphlib.TopologicalSorter(graph).static_order())


def parts(chapter, last, split):
    """Ids of the equations of a chapter; `split` says which have parts: {number: "abc"}."""
    for k in range(1, last + 1):
        yield from (f"eq-{chapter}.{k}{letter}" for letter in split.get(k, [""]))


def test_numbered_items_are_complete():
    """Every numbered item of the thesis has a row: as many as it has, and under their numbers.

    410 equations carry a tag, and four more are cited as a whole whose parts carry the tags.
    """
    equations = {
        *parts("2", 15, {3: "abc"}),
        *parts("3", 12, {1: "ab", 2: ["", *"ab"], 4: ["", *"ab"], 9: "abc"}),
        *parts("4", 18, {5: ["", *"ab"], 8: ["", *"abc"]}),
        *parts("5", 3, {}),
        *parts("6", 14, {}),
        *parts("A", 39, {}),
        *parts("B", 8, {2: "ab", 3: "ab"}),
        *parts("C", 120, {}),
        *parts("D", 169, {}),
    }
    assert len(equations) == 414
    assert {i for i in LEDGER if i.startswith("eq-")} == equations
    wanted = {f"def-{k}" for k in range(1, 10)} | {"prop-1", "cor-1", "cor-2", "cor-3"}
    wanted |= {f"alg-{k}" for k in range(1, 6)}
    wanted |= {f"thm-{k}" for k in ("2.1", "3.1", "5.1", "5.2", "5.3", "6.1", "6.2", "6.3")}
    lemmas = [f"lem-3.{k}" for k in (1, 2, 3, 4)] + [f"lem-A.0.{k}" for k in (1, 2, 3)]
    lemmas += ["lem-C.1", "lem-C.2", *(f"lem-D.{k}" for k in range(1, 7))]
    assert len(lemmas) == 15
    figures = {"2": 1, "3": 4, "4": 3, "5": 2, "6": 3, "B": 4, "D": 18}
    assert sum(figures.values()) == 35
    wanted |= {f"fig-{part}.{k}" for part, n in figures.items() for k in range(1, n + 1)}
    assert (wanted | set(lemmas)) - set(LEDGER) == set()


def test_tables_are_complete():
    """All 17 tables, row by row where they have rows."""
    kernels = ("linear", "squared", "polynomial", "gaussian", "multiquadratic")
    wanted = {f"tab-5.{t}-{k}" for t in (1, 2, 3) for k in kernels}
    wanted |= {"tab-3.2", "tab-5.4", "tab-5.5", "tab-B.1", "tab-C.1"}
    names = ("SG", "LG", "Moon", "MoonN", "Flower", "Faces", "WebKb")
    ways = [(m, i) for m in ("ISM", "SM", "DG") for i in ("SI", "RI")]
    wanted |= {f"tab-3.1-{name}-{m}-{i}" for name in names for m, i in ways}
    sets = ("random", "adver", "spiral", "wine", "cancer", "car", "face", "divorce")
    wanted |= {f"tab-6.1-{s}-{loss}" for s in sets for loss in ("H", "CE", "MSE")}
    wanted |= {f"tab-D.7-{s}" for s in sets} | {f"tab-4.{k}" for k in range(1, 8)}
    sets = ("moon", "spiral1", "cancer", "wine", "rcv", "face")
    peers = ("aec", "dec", "imsat", "sn", "kmeans")
    wanted |= {f"tab-4.{t}-{name}" for t in (2, 4) for name in (*sets, *peers)} | {"tab-4.2-sc"}
    sets, kernels = ("wine", "cancer", "face", "mnist"), ("gaussian", "polynomial")
    ways = [f"{how}{k}" for how in ("", "unsupervised-") for k in kernels]
    wanted |= {f"tab-5.4-{s}-{way}" for s in sets for way in ways}
    assert wanted - set(LEDGER) == set()


# ---------------------------------------------------------------- command line


def test_command_line_lists_by_chapter_verdict_and_word(capsys):
    claims.main(["--verdict", "fails", "--chapter", "5"])
    out = capsys.readouterr().out
    chosen = [c.id for c in LEDGER.values() if (c.verdict, c.chapter) == ("fails", "5")]
    assert [line.split()[0] for line in out.splitlines() if line.startswith("  ")] == chosen
    assert f"{claims.TITLES['5']}: {len(chosen)} fails" in out
    claims.main(["--find", "EIGENGAP"])
    found = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert 5 < len(found) < len(LEDGER)


def test_command_line_describes_one(capsys):
    claims.main(["eq-5.2"])
    out = capsys.readouterr().out
    for part in (LEDGER["eq-5.2"].says, "uses   eq-5.1", "cor-1", "book/ch5/phi.ipynb"):
        assert part in out


@pytest.mark.parametrize("arguments", [["eq-99"], ["--run"], ["--verdict", "true"]])
def test_command_line_refuses(arguments, capsys):
    with pytest.raises(SystemExit):
        claims.main(arguments)
    assert "error" in capsys.readouterr().err


def book_of(tmp_path, monkeypatch, *sources):
    """A ledger and a book of one notebook with these code cells."""
    import json

    rows = {"eq-1": Claim("eq-1", "2", "here", "says", "holds", uses=())}
    monkeypatch.setattr(claims, "ledger", lambda: rows)
    monkeypatch.setattr(claims, "folder", lambda: tmp_path / "claims")
    cells = [dict(cell_type="code", source=source.splitlines(True)) for source in sources]
    (tmp_path / "one.ipynb").write_text(json.dumps(dict(cells=cells)), encoding="utf-8")


def test_rerun_runs_up_to_the_cell_and_shows_its_outcome(tmp_path, monkeypatch, capsys):
    before = "from ismlit.claims import check\nx = 2\nprint('not shown')"
    book_of(tmp_path, monkeypatch, before, "check('eq-1', holds=x == 2)", "raise SystemExit")
    claims.rerun("eq-1")
    assert capsys.readouterr().out == "eq-1: holds\n"


def test_rerun_raises_when_the_outcome_has_changed(tmp_path, monkeypatch):
    book_of(tmp_path, monkeypatch, "from ismlit.claims import check", "check('eq-1', holds=False)")
    with pytest.raises(ClaimError, match="the ledger says 'holds'"):
        claims.rerun("eq-1")


def test_rerun_says_what_it_cannot_run(tmp_path, monkeypatch):
    book_of(tmp_path, monkeypatch, "x = 1")
    with pytest.raises(ClaimError, match="not in the ledger"):
        claims.rerun("eq-2")
    with pytest.raises(ClaimError, match="has no cell"):
        claims.rerun("eq-1")
    (tmp_path / "one.ipynb").unlink()
    with pytest.raises(ClaimError, match="clone"):
        claims.rerun("eq-1")


def test_a_real_claim_runs_again(capsys):
    claims.rerun("eq-2.1")
    assert capsys.readouterr().out.startswith(f"eq-2.1: {LEDGER['eq-2.1'].verdict}")
