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


@pytest.mark.parametrize("name", ["ledger.md", "errata.md"])
def test_generated_pages_are_fresh(name):
    stored = (claims.folder().parent / name).read_text(encoding="utf-8")
    assert stored == claims.pages()[name], "run: python -m ismlit.claims --write"


def test_front_page_counts_are_fresh():
    stored = (claims.folder().parent / "intro.md").read_text(encoding="utf-8")
    assert claims.front_page_counts() in stored, "run: python -m ismlit.claims --write"


def test_numbered_items_are_complete():
    """Every numbered item of chapters 2, 4, 5 and 6 and appendices B, C and D has a row."""
    wanted = {f"def-{k}" for k in range(1, 10)}
    wanted |= {f"eq-2.{k}" for k in range(4, 16)} | {
        "eq-2.1",
        "eq-2.2",
        "eq-2.3a",
        "eq-2.3b",
        "eq-2.3c",
    }
    wanted |= {"thm-2.1", "fig-2.1", "alg-4", "prop-1", "cor-1", "lem-C.1", "lem-C.2", "tab-C.1"}
    wanted |= {f"eq-5.{k}" for k in (1, 2, 3)} | {f"thm-5.{k}" for k in (1, 2, 3)}
    wanted |= {f"fig-5.{k}" for k in (1, 2)} | {f"eq-C.{k}" for k in range(1, 121)}
    kernels = ("linear", "squared", "polynomial", "gaussian", "multiquadratic")
    wanted |= {f"tab-5.{t}-{k}" for t in (1, 2, 3) for k in kernels}
    wanted |= {f"eq-6.{k}" for k in range(1, 15)} | {f"thm-6.{k}" for k in (1, 2, 3)}
    wanted |= {f"eq-D.{k}" for k in range(1, 170)} | {f"lem-D.{k}" for k in range(1, 7)}
    wanted |= {f"fig-D.{k}" for k in range(1, 19)} | {f"fig-6.{k}" for k in (1, 2, 3)}
    wanted |= {"alg-5", "cor-2", "cor-3"}
    sets = ("random", "adver", "spiral", "wine", "cancer", "car", "face", "divorce")
    wanted |= {f"tab-6.1-{s}-{loss}" for s in sets for loss in ("H", "CE", "MSE")}
    wanted |= {f"tab-D.7-{s}" for s in sets}
    parts = {5: "ab", 8: "abc"}
    wanted |= {f"eq-4.{k}{part}" for k in range(1, 19) for part in parts.get(k, ("",))}
    parts = {2: "ab", 3: "ab"}
    wanted |= {f"eq-B.{k}{part}" for k in range(1, 9) for part in parts.get(k, ("",))}
    wanted |= {f"tab-4.{k}" for k in range(1, 8)} | {f"fig-4.{k}" for k in (1, 2, 3)}
    wanted |= {f"fig-B.{k}" for k in range(1, 5)} | {"alg-3", "tab-B.1"}
    sets = ("moon", "spiral1", "cancer", "wine", "rcv", "face")
    peers = ("aec", "dec", "imsat", "sn", "kmeans")
    wanted |= {f"tab-4.{t}-{name}" for t in (2, 4) for name in (*sets, *peers)} | {"tab-4.2-sc"}
    assert wanted - set(LEDGER) == set()


def test_command_line_lists(capsys):
    claims.main(["--verdict", "fails"])
    assert "alg-4" in capsys.readouterr().out
