"""How the book knows a claim: evidence as a value that carries out what it says.

`derived` by algebra, `proof` in steps, `exhaustive` over all cases, `drawn` over random ones,
`counterexample` against what is printed; of tables, `recomputed` in the notebook, `from_store` of
what an experiment stored, `from_print` on the thesis's numbers alone; and `one_case`.

Each is tried on spoilt variants of itself. One that a variant passes too is refused.
"""

import re
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from ismlit_book.record import tables
from ismlit_book.record.draws import KERNELS, SIZES, Draw
from ismlit_book.record.equality import EvidenceError, NotFiniteError
from ismlit_book.record.ledger import MARKS
from ismlit_book.record.statements import AtMost, Said, as_statement

KNOWN = tuple(MARKS)
"""How the book can know a claim, from the strongest to the weakest."""

TESTED = "proof with tested steps"
"""What an argument is known by whose steps are known by more than one kind of evidence."""

GENERAL = ("derived", "exhaustive", TESTED, "drawn")
"""What a claim about all cases needs."""

FEWEST = 100
"""Draws that a general claim needs."""


@dataclass(frozen=True)
class Evidence:
    """What was tried, and how it came out.

    Attributes
    ----------
    known : str
        One of `KNOWN`.
    holds : bool
        Whether what was tried came out; of a counterexample, whether the printed form fails.
    detail : str
        Over what it was tried, in words.
    rejected : tuple of str
        The spoilt variants, each of which came out otherwise.
    cells : dict
        Of a row of a table, {column: whether it comes out}.
    steps : tuple of (str, Evidence)
        Of a proof, the reasons and what each is known by.
    tautology : bool
        Of a derived inequality, whether the signs of its symbols say it already.
    compared : tuple of (str, statement)
        Words and what they are said of: of draws the first one, of a table's row its cells by
        name; what ``python -m ismlit_book ID --run`` shows.
    """

    known: str
    holds: bool
    detail: str = ""
    rejected: tuple = ()
    cells: dict = field(default_factory=dict)
    steps: tuple = ()
    tautology: bool = False
    compared: tuple = field(default=(), compare=False, repr=False)

    def lines(self):
        """What was compared, for a reader: a line for each statement or step."""
        how = ": ".join(filter(None, (self.known, self.detail)))
        yield how + "".join(f"; {words}{statement}" for words, statement in self.compared)
        for reason, step in self.steps:
            first, *more = step.lines()
            yield f"  {reason}: {first}"
            yield from (f"  {line}" for line in more)


# ---------------------------------------------------------------- general


def derived(*what):
    """An identity or an inequality between formulas, for every value of their symbols.

    Where the symbols are the entries of arrays it says of which size. An inequality that adds
    what is non-negative by assumption, such as c <= c + t, is a tautology: it may be a step of a
    proof, and gives no mark.

    Parameters
    ----------
    *what : two sympy objects, or `at_most` of two

    Raises
    ------
    EvidenceError
        If there is no symbol, so that it is one case.

    Examples
    --------
    >>> import sympy as sp
    >>> from ismlit_book import derived
    >>> x = sp.Symbol("x")
    >>> derived(sp.diff(x**3 + x, x), 3 * x**2 + 1).rejected
    ('doubled', 'negated', 'a term lost')
    """
    statement = _statement(what)
    if not statement.is_symbolic:
        raise EvidenceError("there is no symbol in it: it is one case")
    found = _tried("derived", statement)
    return replace(found, detail=size_of(*what), tautology=_is_tautology(statement))


def size_of(*sides):
    """Of which size a formula is whose symbols are the entries of arrays: "x 3 × 2"; else "".

    Examples
    --------
    >>> import sympy as sp
    >>> from ismlit_book.record.evidence import size_of
    >>> size_of(sp.Symbol("x_11") + sp.Symbol("x_32"), sp.Symbol("w1") * sp.Symbol("w2"))
    'size: w 2, x 3 × 2'
    """
    families, seen = {}, set()
    for side in (part for s in sides for part in (getattr(s, "left", s), getattr(s, "right", s))):
        seen |= getattr(side, "free_symbols", set())
    for symbol in seen:
        shape = getattr(symbol, "shape", ())
        if shape and all(n.is_number for n in shape):
            families[str(symbol)] = [tuple(map(int, shape))]
        elif match := re.fullmatch(r"(.*?[^\d_{])_?\{?(\d+)\}?", str(symbol)):
            families.setdefault(match[1], []).append(match[2])
    said = []
    for name, entries in sorted(families.items()):
        if isinstance(entries[0], tuple) or all(len(e) == 2 and "0" not in e for e in entries):
            rows, columns = np.max([[int(k) for k in entry] for entry in entries], axis=0)
            said += [f"{name} {rows} × {columns}"] if rows * columns > 1 else []
        elif len(entries) > 1:
            said.append(f"{name} {len(entries)}")
    return f"size: {', '.join(said)}" if said else ""


def _is_tautology(statement):
    """Whether the right side is the left one and terms that are products of signed symbols."""
    import sympy as sp

    if not isinstance(statement, AtMost) or isinstance(statement.right, sp.MatrixBase):
        return False
    terms = sp.Add.make_args(sp.expand(statement.right - statement.left))
    factors = (factor.as_base_exp() for term in terms for factor in sp.Mul.make_args(term))
    plain = lambda base, power: (base.is_number or base.is_Symbol) and power.is_number
    return all(plain(*factor) and factor[0].is_nonnegative for factor in factors)


def known_by(evidence):
    """What several pieces of evidence, or the steps of a proof, are known by together.

    A claim about all cases is known by the weakest of what is said of all cases: kinds that differ
    make it a `TESTED` proof. Examples beside that do not count, nor do tautologies.
    """
    kinds = {e.known for e in evidence if not e.tautology}
    general = kinds & {*GENERAL}
    return TESTED if len(general) > 1 else min(general or kinds, key=KNOWN.index)


def proof(steps, cites=""):
    """A written argument whose steps are checked; what it is known by is `known_by` of them.

    Parameters
    ----------
    steps : dict
        {the reason in words: evidence}, each `derived`, `exhaustive`, `drawn` or a `proof`.
    cites : str, optional
        A theorem of the textbooks that the argument needs and no step tries, in words.

    Raises
    ------
    EvidenceError
        If there is no step, or one is known from less; if all of them are tautologies.

    Examples
    --------
    >>> import sympy as sp
    >>> from ismlit_book import at_most, derived, proof
    >>> a, b = sp.symbols("a b", real=True)
    >>> square = derived((a - b) ** 2, a**2 - 2 * a * b + b**2)
    >>> found = proof({"a square is expanded": square, "it is no less than 0":
    ...                derived(at_most(0, (a - b) ** 2))})
    >>> found.known, found.detail
    ('derived', '2 steps')
    """
    if not steps:
        raise EvidenceError("a proof has steps, and here is none")
    for reason, step in steps.items():
        if step.known not in GENERAL:
            raise EvidenceError(f"the step {reason!r} is known from {step.known!r} only")
    if all(step.tautology for step in steps.values()):
        raise EvidenceError("its steps are tautologies, which show nothing")
    rejected = sorted({name for step in steps.values() for name in step.rejected})
    known = known_by(steps.values())
    count = Counter(step.known for step in steps.values() if step.known != known)
    weaker = [(n, kind) for kind, n in count.items() if KNOWN.index(kind) > 0]
    sized = sum(step.detail.startswith("size") for step in steps.values())
    detail = [
        f"{len(steps)} step{'s' * (len(steps) > 1)}",
        *(f"{n} of them {kind}" for n, kind in weaker),
    ]
    detail += [f"{sized} of fixed size"] if sized else []
    detail += [f"and by citation: {cites}"] if cites else []
    holds = all(step.holds for step in steps.values())
    return Evidence(known, holds, ", ".join(detail), tuple(rejected), steps=tuple(steps.items()))


def drawn(n, case, *, tol=1e-10, sizes=SIZES, kernels=tuple(KERNELS), seed=0, spoilt=()):
    """A claim tried on `n` random cases.

    Parameters
    ----------
    n : int
        Cases in which its hypotheses are met, at least 100.
    case : callable
        ``case(draw)`` takes from a `Draw` what it speaks of, and returns a pair (left, right) to
        be compared, `at_most`, `equal`, a bool, or None where the hypotheses are not met.
    tol : float
        Of the comparison, relative to the scale of both sides.
    sizes, kernels : the family, see `Draw`
    seed : int
    spoilt : callable or sequence of callables
        The case with something wrong in it, such as a lost hypothesis; it must fail in at least
        one draw.

    Raises
    ------
    EvidenceError
        For fewer than 100 cases; if the hypotheses are met too seldom to find `n`; if the case
        takes nothing from its draws, or nothing spoilt was tried.

    Examples
    --------
    >>> from ismlit_book import drawn
    >>> found = drawn(100, lambda draw: ((draw.X @ draw.W).T, draw.W.T @ draw.X.T))
    >>> found.holds, found.detail, found.rejected
    (True, '100 draws, 3 sizes', ('doubled', 'negated', 'random'))
    """
    if n < FEWEST:
        raise EvidenceError(f"a general claim needs at least {FEWEST} draws, got {n}")
    make = lambda index, spoil=None: Draw(index, seed, sizes, kernels, spoil)
    met, taken, trial = [], {}, _Trial(tol)
    offered, index, was_read, first = set(), 0, False, None
    while len(met) < n:
        if index >= 100 * n:
            raise EvidenceError(f"the hypotheses are met in {len(met)} of {index} draws only")
        draw = make(index)
        outcome = case(draw)
        if outcome is not None:
            met.append(index)
            was_read |= draw.was_read
            offered |= draw.offered
            for what, value in draw.taken.items():
                taken.setdefault(what, set()).add(value)
            first = first or as_statement(outcome, tol)
            if not trial.add(outcome):
                where = f"fails in draw {index} of seed {seed}"
                return Evidence("drawn", False, where, compared=(("", as_statement(outcome, tol)),))
        index += 1
    if not was_read:
        raise EvidenceError("the case takes nothing from its draws: it is one case")
    for spoil in sorted(offered):
        trial.spoil(f"{spoil} input", (case(make(k, spoil)) for k in met))
    for k, wrong in enumerate([spoilt] if callable(spoilt) else spoilt, 1):
        name = getattr(wrong, "__name__", "")
        name = f"spoilt case {k}" if name in ("", "<lambda>") else name.replace("_", " ")
        trial.spoil(name, (wrong(make(i)) for i in range(index)))
    family = _family(len(met), taken)
    return Evidence("drawn", True, family, trial.rejected(), compared=(("the first: ", first),))


def _family(n, taken):
    parts = [f"{n} draws"]
    parts += [f"{len(taken[k])} {k}" for k in ("sizes", "kernels") if len(taken.get(k, ())) > 1]
    if len(taken.get("kernels", ())) == 1:
        parts.append(f"{next(iter(taken['kernels']))} kernel")
    if {"positive", "negative"} <= taken.get("Gammas", set()):
        parts.append("Gammas of both signs")
    return ", ".join(parts)


def exhaustive(items, case, *, tol=1e-10, spoilt=()):
    """A claim tried on all of its cases, where they are finitely many.

    Parameters
    ----------
    items : iterable
        All cases.
    case : callable
        ``case(item)`` returns what a case of `drawn` returns.
    spoilt : callable or sequence of callables, as in `drawn`

    Examples
    --------
    >>> from ismlit_book import exhaustive
    >>> exhaustive(range(1, 9), lambda n: (sum(range(n + 1)), n * (n + 1) / 2)).detail
    'all 8 cases'
    """
    items, trial = list(items), _Trial(tol)
    if not items:
        raise EvidenceError("there is no case to try")
    outcomes = [trial.add(case(item)) for item in items]
    for k, wrong in enumerate([spoilt] if callable(spoilt) else spoilt, 1):
        trial.spoil(f"spoilt case {k}", map(wrong, items))
    holds = all(outcomes)
    return Evidence(
        "exhaustive", holds, f"all {len(items)} cases", trial.rejected() if holds else ()
    )


# ---------------------------------------------------------------- one statement


def one_case(*what, tol=1e-10, spoilt=None):
    """A statement about one instance: an example, or a definition exercised.

    Parameters
    ----------
    *what : two sides, or one statement
    spoilt : a statement or a pair, or a callable that returns one, optional
        The same with something wrong in it, which must come out false.

    Examples
    --------
    >>> from ismlit_book import one_case
    >>> one_case(2 + 2, 4).rejected
    ('doubled', 'negated')
    """
    return _tried("one case", _statement(what, tol), spoilt)


def recomputed(*what, tol=1e-10, spoilt=None):
    """Numbers of the thesis beside those this notebook computed; see `from_store`."""
    return _table("recomputed", what, tol, spoilt)


def from_store(table, *what, tol=1e-10, spoilt=None):
    """Numbers of the thesis beside those an experiment stored in book/ismlit_book/results.

    Parameters
    ----------
    table : str or tuple of str
        The file, which this notebook must have read.
    *what : a statement, two sides, or {column: whether it comes out}

    Examples
    --------
    >>> from ismlit_book import from_store, results
    >>> rows = results("table-3.1")
    >>> from_store("table-3.1", {"NMI": True, "cost": False}).holds
    False
    """
    _must_be_read(table, tables.READ["results"])
    return _table("stored", what, tol, spoilt)


def from_print(table, *what, tol=1e-10, spoilt=None):
    """Arithmetic on the numbers that the thesis prints (``thesis``), and on nothing else."""
    _must_be_read(table, tables.READ["thesis"])
    return _table("printed", what, tol, spoilt)


def counterexample(*printed, tol=1e-10, spoilt=None, never=""):
    """What is printed is false here.

    Parameters
    ----------
    *printed : two sides, or one statement
        As printed: it must come out false.
    spoilt : a statement or a pair, or a callable that returns one, optional
        A case in which it is true, so that the test can come out otherwise. A truth value needs
        one; of two sides it is seen that the comparison accepts the right one for the left.
    never : str, optional
        Why there is no case in which it is true.

    Raises
    ------
    EvidenceError
        If it is false in the spoilt case, too; or if a truth value has neither.

    Examples
    --------
    >>> from ismlit_book import counterexample
    >>> found = counterexample((-1) * (-1), -1)
    >>> found.holds, found.detail
    (True, 'exact')
    """
    statement = _statement(printed, tol)
    if spoilt is None and not never:
        if isinstance(statement, Said):
            raise EvidenceError(
                "a truth value can be false for any reason: give spoilt=, a case in which the"
                " printed form is true, or say in never= why there is none"
            )
        spoilt = replace(statement, left=statement.right)
        rejected = ()
    else:
        rejected = () if never else ("a case in which it is true",)
    if spoilt is not None:
        if not as_statement(spoilt() if callable(spoilt) else spoilt, tol).holds():
            raise EvidenceError("the printed form is false in the spoilt case, too")
    detail = filter(None, ["exact" if statement.is_exact else "", never])
    return Evidence(
        "counterexample",
        not statement.holds(),
        ", ".join(detail),
        rejected,
        compared=(("false is ", statement),),
    )


# ---------------------------------------------------------------- the trying


class _Trial:
    """Outcomes of a case, and which of its spoilt variants came out false somewhere."""

    def __init__(self, tol):
        self.tol = tol
        self.fell = {}

    def add(self, outcome):
        statement = as_statement(outcome, self.tol)
        for how, spoilt in statement.spoilt().items():
            if not self.fell.get(how):
                self.fell[how] = not spoilt.holds()
        return statement.holds()

    def spoil(self, name, outcomes):
        """See that one of the outcomes of a spoilt case is false, or raises."""
        self.fell[name] = False
        try:
            for outcome in outcomes:
                if outcome is not None and not as_statement(outcome, self.tol).holds():
                    self.fell[name] = True
                    return
        except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
            if isinstance(error, EvidenceError) and not isinstance(error, NotFiniteError):
                raise
            self.fell[name] = True

    def rejected(self):
        passed = sorted(name for name, fell in self.fell.items() if not fell)
        if passed:
            raise EvidenceError(f"it also accepts what is spoilt: {', '.join(passed)}")
        if not self.fell:
            raise EvidenceError("nothing spoilt was tried: give spoilt=, or two sides to compare")
        return tuple(sorted(self.fell))


def _statement(what, tol=1e-10):
    return as_statement(what[0] if len(what) == 1 else tuple(what), tol)


def _tried(known, statement, spoilt=None):
    """Evidence from one statement, whose spoilt variants must all be false."""
    if not statement.holds():
        return Evidence(known, False, compared=(("", statement),))
    variants = {how: s.holds() for how, s in statement.spoilt().items()}
    if spoilt is not None:
        tol = getattr(statement, "tol", 1e-10)
        variants["spoilt"] = as_statement(spoilt() if callable(spoilt) else spoilt, tol).holds()
    passed = [how for how, accepted in variants.items() if accepted]
    if passed:
        raise EvidenceError(f"it also accepts what is spoilt: {', '.join(passed)}")
    return Evidence(known, True, rejected=tuple(variants), compared=(("", statement),))


def _table(known, what, tol, spoilt):
    if len(what) == 1 and isinstance(what[0], dict):
        row = {name: as_statement(v, tol) for name, v in what[0].items()}
        cells = {name: bool(statement.holds()) for name, statement in row.items()}
        said = tuple((f"{name}: ", statement) for name, statement in row.items())
        return Evidence(known, all(cells.values()), cells=cells, compared=said)
    return _tried(known, _statement(what, tol), spoilt)


def _must_be_read(table, read):
    missing = {table} - read if isinstance(table, str) else set(table) - read
    if missing:
        raise EvidenceError(f"{', '.join(sorted(missing))} was not read in this notebook")
