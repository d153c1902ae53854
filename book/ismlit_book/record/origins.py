"""What a claim uses by the code of its check, beside what its row declares."""

import ast
from functools import cache

from ismlit_book.record.cells import cells, code_of
from ismlit_book.record.ledger import ledger
from ismlit_book.record.ledger import rests_on as declared
from ismlit_book.record.slices import name_called, rests_on

ORIGINS = {
    "evidence run": "the row says so, and the check runs the other claim's evidence",
    "code shared": "the row says so, and the two checks share code",
    "declared": "the row says so",
}
"""How it is known that a claim uses another: from the code of its check, or from its row alone."""


def checks_of(found):
    """(claims, place, names of the evidence) for each call of `check` in a page's statements."""
    for place, statement in enumerate(found):
        for call in ast.walk(statement.node) if statement.claims else ():
            if isinstance(call, ast.Call) and name_called(call) == "check":
                ids = {a.value for a in call.args if isinstance(a, ast.Constant)}
                keys = [k.value for k in call.keywords if k.arg in ("against", "also")]
                evidence = {a.id for a in (*call.args, *keys) if isinstance(a, ast.Name)}
                yield ids, place, evidence


def run_in(found):
    """{claim: sets of other claims, one for each piece of their evidence that its check runs}.

    Evidence is told by its name: that which is given by name to the `check` of one claim, and
    which another check reads on its way.

    Examples
    --------
    >>> from ismlit_book.record.origins import run_in
    >>> from ismlit_book.record.slices import statements
    >>> sources = "part = drawn(100, f)", "check('a', part)", "check('b', proof({'by a': part}))"
    >>> run_in(statements(dict(cells=[dict(cell_type="code", source=s) for s in sources])))
    {'b': [{'a'}]}
    """
    shown, checks = {}, [*checks_of(found)]
    for ids, place, evidence in checks:
        for name in evidence:
            bound = [k for k in range(place) if name in found[k].binds]
            shown.setdefault(bound[-1], set()).update(ids) if bound else None
    run = {}
    for ids, place, _ in checks:
        here = rests_on(found, place)
        for k in shown.keys() & here:
            for claim_id in ids - shown[k]:
                run.setdefault(claim_id, []).append(shown[k])
    return run


@cache
def run_by_checks():
    """`run_in` of all pages of the book together."""
    run = {}
    for path in sorted({place.path for places in cells().values() for place in places}):
        for claim_id, others in run_in(code_of(path)).items():
            run.setdefault(claim_id, []).extend(others)
    return run


def undeclared(claim_id, run=None):
    """Claims whose evidence the check of a claim runs, and which its row neither uses nor names.

    Claims with one piece of evidence count as one: it is enough that one of them is used, directly
    or through others.
    """
    run = run_by_checks() if run is None else run
    known = declared(claim_id) | {*ledger()[claim_id].apart}
    return [others for others in run.get(claim_id, ()) if not others & known]


@cache
def _code_behind():
    """{claim: {(page, place)}} of the statements, but for imports, that its checks rest on."""
    behind = {}
    for path in {place.path for places in cells().values() for place in places}:
        found = code_of(path)
        for ids, place, _ in checks_of(found):
            needed = {
                (path, k)
                for k in rests_on(found, place)
                if not isinstance(found[k].node, ast.Import | ast.ImportFrom)
            }
            for claim_id in ids:
                behind.setdefault(claim_id, set()).update(needed)
    return behind


def origin(claim_id, used):
    """Which of `ORIGINS` says that a claim uses another.

    Examples
    --------
    >>> from ismlit_book.record.origins import origin
    >>> origin("thm-5.1", "lem-C.1"), origin("def-5", "def-1")
    ('code shared', 'declared')
    """
    if any(used in others for others in run_by_checks().get(claim_id, ())):
        return "evidence run"
    code = _code_behind()
    return "code shared" if code.get(claim_id, set()) & code.get(used, set()) else "declared"


def names_read(claim_id):
    """The names that the code behind a claim's checks reads, and does not bind itself."""
    behind = [code_of(path)[place] for path, place in _code_behind().get(claim_id, ())]
    bound = set().union(*(statement.binds for statement in behind))
    return set().union(*(statement.reads for statement in behind)) - bound


def tables_read(claim_id):
    """The stored and the printed tables that the checks of a claim read, as "results/x"."""
    read = set()
    for path, place in _code_behind().get(claim_id, ()):
        for call in ast.walk(code_of(path)[place].node):
            if isinstance(call, ast.Call) and name_called(call) in ("results", "printed"):
                folder = "results" if name_called(call) == "results" else "thesis"
                names = [a.value for a in call.args[:1] if isinstance(a, ast.Constant)]
                read.update(f"{folder}/{name}" for name in names)
    return sorted(read)
