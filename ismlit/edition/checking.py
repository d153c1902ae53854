"""What a cell of the book calls to hold an outcome against the ledger."""

from __future__ import annotations

import numpy as np

from ismlit.edition.ledger import ClaimError, ledger


def check(
    *claim_ids,
    holds=None,
    as_printed=None,
    corrected=None,
    counterexample=None,
    reproduced=None,
    rejects=None,
):
    """Compare what a cell computed with the ledger; print one stable line.

    Parameters
    ----------
    *claim_ids : str
        One or more claims that this outcome settles; written out, since the ledger finds its
        cells by reading them.
    holds : bool or callable
        For "holds", and for a "definition" whose content is exercised.
    as_printed, corrected : bool or callable
        For "holds as corrected": the printed form must fail and the corrected one pass.
    counterexample : bool or callable
        For "fails": the printed claim is false here.
    reproduced : bool or callable
        For tables and figures.
    rejects : bool or callable, optional
        The same test on a deliberately broken variant: it must come out false, which shows
        that the check can fail.

    Raises
    ------
    ClaimError
        If the outcome contradicts the ledger.

    Examples
    --------
    >>> from ismlit.edition import check
    >>> check("eq-5.2", holds=2 * 3 == 6, rejects=2 * 3 == 5)
    eq-5.2: holds (a broken variant is rejected)
    """
    given = dict(
        holds=holds,
        as_printed=as_printed,
        corrected=corrected,
        counterexample=counterexample,
        reproduced=reproduced,
    )
    given = {name: _truth(name, value) for name, value in given.items() if value is not None}
    accepts_broken = rejects is not None and _truth("rejects", rejects)
    for claim_id in claim_ids:
        if claim_id not in ledger():
            raise ClaimError(f"{claim_id} is not in the ledger; add a row to book/claims")
        verdict = ledger()[claim_id].verdict
        wanted = OUTCOMES.get(verdict)
        if given != wanted:
            raise ClaimError(f"{claim_id}: the ledger says {verdict!r} ({wanted}), got {given}")
        if accepts_broken:
            raise ClaimError(f"{claim_id}: the check also accepts the broken variant")
        print(f"{claim_id}: {verdict}" + REJECTED * (rejects is not None))


REJECTED = " (a broken variant is rejected)"
OUTCOMES = {
    "holds": {"holds": True},
    "definition": {"holds": True},
    "holds as corrected": {"as_printed": False, "corrected": True},
    "fails": {"counterexample": True},
    "reproduced": {"reproduced": True},
    "not reproduced": {"reproduced": False},
}
"""What a cell must have computed for each verdict; the others have no cell."""


def _truth(name, value):
    value = value() if callable(value) else value
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a bool, got {type(value).__name__}")
    return bool(value)
