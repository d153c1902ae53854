"""What a cell of the book calls to hold its evidence against the ledger."""

import os
import sys
from html import escape
from itertools import groupby
from numbers import Integral
from pathlib import Path

from ismlit_book.files import pages
from ismlit_book.record.evidence import GENERAL, TESTED, Evidence, known_by
from ismlit_book.record.ledger import MARKS, SIGNS, ClaimError, ledger

NUMBERS = "application/vnd.ismlit.numbers+json"
"""Under this type a badge stores, beside what it shows, the numbers that notes read."""


CHECKED = []
"""(id, evidence, what stands beside it) of every claim that was checked in this process."""


def check(*ids_and_evidence, against=None, also=(), missed=(), numbers=None):
    """Hold evidence against the ledger, and show a badge: one for claims of the same verdict.

    Parameters
    ----------
    *ids_and_evidence : str, then Evidence
        One or more claims, written out, since the ledger finds its cells by reading them; then
        one or more pieces of evidence, for each of these claims.
    against : Evidence, optional
        For "holds as corrected": the `counterexample` to the printed form. The other evidence is
        for the corrected one.
    also : Evidence or sequence of Evidence, optional
        For "fails": what the note says beside its counterexamples.
    missed : sequence of str, or str, optional
        For "reproduced in part": the cells that do not come out, no more and no fewer; many of
        them as one text, with "; " between them.
    numbers : dict, optional
        Results that the notes of these claims name, {field: text, whole number, or a list of
        those}. They are stored beside the badge, and the notes read them from there.

    Raises
    ------
    ClaimError
        If the evidence contradicts the ledger, or is of a kind that cannot carry the verdict.
    TypeError
        If evidence is none, or a number is one that the last digits of a machine decide.

    Examples
    --------
    >>> import sympy as sp
    >>> from ismlit_book import check, derived
    >>> x = sp.Symbol("x")
    >>> check("eq-5.2", derived(sp.diff(x**2, x), 2 * x))
    eq-5.2: holds · derived · rejected: doubled, negated
    """
    ids = [a for a in ids_and_evidence if isinstance(a, str)]
    evidence = [a for a in ids_and_evidence if not isinstance(a, str)]
    also = [also] if isinstance(also, Evidence) else [*also]
    for value in [*evidence, *also, *([against] if against is not None else [])]:
        if not isinstance(value, Evidence):
            raise TypeError(f"evidence must be derived(...), drawn(...), ..., got {value!r}")
    told = {name: _as_told(name, value) for name, value in (numbers or {}).items()}
    missed = missed.split("; ") if isinstance(missed, str) else missed
    found = outcome(evidence, against, also, missed)
    for claim_id in ids:
        if claim_id not in ledger():
            raise ClaimError(f"{claim_id} is not in the ledger; add a row to book/claims")
        verdict = ledger()[claim_id].verdict
        if verdict not in found:
            raise ClaimError(f"{claim_id}: the ledger says {verdict!r}, the evidence {found}")
    beside = [*also, *([against] if against is not None else [])]
    CHECKED.extend((claim_id, evidence, beside) for claim_id in ids)
    by_verdict = groupby(ids, key=lambda claim_id: ledger()[claim_id].verdict)
    badges = [Badge(tuple(alike), verdict, evidence) for verdict, alike in by_verdict]
    _show(badges, {claim_id: told for claim_id in ids} if told else {})


def _as_told(name, value):
    """A number as it is stored: a text or a whole number, or a list of such."""
    if isinstance(value, (list, tuple)):
        return [_as_told(name, each) for each in value]
    if isinstance(value, (str, Integral)):
        return value if isinstance(value, str) else int(value)
    raise TypeError(f'{name} must be rounded, as in f"{{value:.2f}}", or whole: got {value!r}')


def outcome(evidence, against=None, also=(), missed=()):
    """The verdicts that evidence can carry, as a tuple; with a reason in it when there is none."""
    kinds = {e.known for e in evidence}
    failed = "; ".join(e.detail or e.known for e in (*evidence, *also) if not e.holds)
    if all(e.tautology for e in evidence):
        return ("none is given, or tautologies",)
    if also and (kinds != {"counterexample"} or "counterexample" in {e.known for e in also}):
        return ("also= stands beside counterexamples, and is none",)
    if against is not None:
        if against.known != "counterexample" or "counterexample" in kinds:
            return ("against the printed form takes a counterexample, the corrected one does not",)
        if not against.holds:
            return ("the printed form holds",)
        return ("holds as corrected",) if not failed else (f"the corrected form fails: {failed}",)
    if kinds == {"counterexample"}:
        if not all(e.holds for e in evidence):
            return ("the printed form holds",)
        return ("fails",) if not failed else (f"beside it fails: {failed}",)
    if "counterexample" in kinds:
        return ("a counterexample stands beside evidence for the claim",)
    cells = cells_of(evidence)
    off = [name for name, comes_out in cells.items() if not comes_out]
    in_part = any(cells.values()) and all(e.holds or e.cells for e in evidence)
    if (missed or (in_part and failed)) and set(off) != set(missed):
        return (f"stated is missed={[*missed]}, and what does not come out is {off}",)
    if not failed:
        return ("holds", "definition", "reproduced")
    if in_part:
        return ("reproduced in part",)
    if any(e.holds for e in evidence):
        return ("part of it comes out: name its cells, {column: whether it comes out}",)
    return "not reproduced", f"it fails: {failed}"


def cells_of(evidence):
    """The cells of a row, {column: whether it comes out}, from all the evidence for it."""
    return {name: comes_out for e in evidence for name, comes_out in e.cells.items()}


class Badge:
    """Claims with one verdict and how they are known, as text and as HTML."""

    def __init__(self, ids, verdict, evidence):
        self.ids, self.verdict = ids, verdict
        self.known = known_by(evidence)
        general = [e for e in evidence if e.known in GENERAL]
        best = general or [e for e in evidence if e.known == self.known]
        mixed = self.known == TESTED and {e.known for e in best} != {TESTED}
        said = (": ".join(filter(None, (e.known * mixed, e.detail))) for e in best)
        self.detail = "; ".join(filter(None, dict.fromkeys(said)))
        self.rejected = sorted({name for e in best for name in e.rejected})
        self.cells = cells_of(evidence)
        self.steps = [step for e in best for step in e.steps]

    def parts(self):
        """What follows the verdict: how it is known, over what, and the cells of a row."""
        yield self.known + (f": {self.detail}" if self.detail else "")
        if self.cells:
            yield ", ".join(f"{name} {'✓' if ok else '✗'}" for name, ok in self.cells.items())

    def text(self):
        """One stable line for each claim."""
        spoilt = [f"rejected: {', '.join(self.rejected)}"] if self.rejected else []
        told = " · ".join([self.verdict, *self.parts(), *spoilt])
        return "\n".join(f"{claim_id}: {told}" for claim_id in self.ids)

    def html(self):
        """The same with a sign, a class for the colour and links to the ledger's rows."""
        known, *rest = map(escape, self.parts())
        row = f"{_to_the_root()}ledger.html#claim-"
        links = " ".join(
            f'<a href="{row}{name}"><code>{escape(name)}</code></a>' for name in self.ids
        )
        steps = "".join(
            f"<li>{escape(reason)} <small>{MARKS[step.known]} {step.known}"
            f"{escape(f': {step.detail}' if step.detail else '')}</small></li>"
            for reason, step in self.steps
        )
        more = f"<details><summary>{known}</summary><ol>{steps}</ol></details>" if steps else known
        tail = "".join(f" <small>{part}</small>" for part in rest)
        if self.rejected:
            names = escape(", ".join(self.rejected))
            n = len(self.rejected)
            variants = "variant" if n == 1 else "variants"
            tail += f' <small title="{names}">· {n} spoilt {variants} rejected</small>'
        return (
            f'<div class="claim v-{self.verdict.replace(" ", "-")}">'
            f"<b>{SIGNS[self.verdict]} {self.verdict}</b> {links} <span>{more}</span>{tail}</div>"
        )


def _to_the_root():
    """The way from this notebook to the book's first page."""
    here = Path(os.getcwd())
    return "../" * len(here.relative_to(pages()).parts) if here.is_relative_to(pages()) else ""


def _show(badges, numbers):
    """As HTML where a notebook runs, else as text."""
    text = "\n".join(badge.text() for badge in badges)
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        print(text)
        return
    from IPython.display import display

    html = "\n".join(badge.html() for badge in badges)
    stored = {NUMBERS: numbers} if numbers else {}
    display({"text/plain": text, "text/html": html} | stored, raw=True)
