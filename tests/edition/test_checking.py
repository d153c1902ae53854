"""`check` can fail."""

import numpy as np
import pytest

from ismlit.edition import check, checking
from ismlit.edition.ledger import UNCHECKED, VERDICTS, Claim, ClaimError


@pytest.fixture
def tiny(monkeypatch):
    rows = {v: Claim(v, "5", "here", "says", v) for v in VERDICTS}
    monkeypatch.setattr(checking, "ledger", lambda: rows)


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
    for verdict in UNCHECKED:
        with pytest.raises(ClaimError):
            check(verdict, holds=True)
