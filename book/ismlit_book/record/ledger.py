"""The ledger of claims, read from ``claims/*.yml``: the one source of every verdict."""

import difflib
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache

from ismlit_book.files import data

SIGNS = {
    "holds": "✓",
    "holds as corrected": "≈",
    "fails": "✗",
    "reproduced": "=",
    "reproduced in part": "≃",
    "not reproduced": "≠",
    "definition": "≔",
    "not checkable": "·",
    "open": "?",
}
"""Every verdict a row may carry, with one character, so that no colour has to be told from
another. "open" means: nobody has checked it yet."""

VERDICTS = tuple(SIGNS)

MARKS = {
    "derived": "∎",
    "exhaustive": "∀",
    "proof with tested steps": "◪",
    "drawn": "⚄",
    "counterexample": "∄",
    "recomputed": "#",
    "stored": "▤",
    "printed": "¶",
    "one case": "1",
}
"""One character for how a claim is known, from the strongest to the weakest."""

SCOPES = {
    "general": "said of all cases",
    "instance": "said of one example, table or figure",
    "definition": "a word or a letter is introduced",
}
"""What a claim speaks of."""

SLIPS = {
    "misprint": "another letter, index or number is meant",
    "factor": "a factor is lost or too many",
    "sign": "a sign, a direction or a transposition is wrong",
    "hypothesis": "a condition is missing without which it is false",
    "argument": "the statement needs another form, or its proof another step",
    "transcription": "the fault is our copy's and not the thesis's: no erratum",
}
"""What is wrong with a printed form that a correction mends."""

WRONG = ("holds as corrected", "fails")
STANDS = ("holds", "reproduced", "definition")
UNCHECKED = ("not checkable", "open")


TITLES = {
    "1": "Chapter 1: what the thesis sets out to do",
    "2": "Chapter 2: background",
    "3": "Chapter 3: alternative clustering",
    "A": "Appendix A: the proofs of chapter 3",
    "4": "Chapter 4: deep kernel clustering",
    "B": "Appendix B: chapter 4's derivations and figures",
    "5": "Chapter 5: interpretable kernel dimension reduction",
    "C": "Appendix C: the proofs of chapter 5",
    "6": "Chapter 6: kernel dependence networks",
    "D": "Appendix D: the proofs of chapter 6",
    "7": "Chapter 7: what the thesis concludes",
    "papers": "What the papers add",
}
"""The parts of the ledger, in reading order; each has its file in ``claims``."""
APPENDICES = ("A", "B", "C", "D")


KINDS = {
    "thm": "Theorem",
    "lem": "Lemma",
    "def": "Definition",
    "prop": "Proposition",
    "cor": "Corollary",
    "alg": "Algorithm",
    "tab": "Table",
    "fig": "Figure",
    "sec": "Section",
    "txt": "Section",
}
"""How the id of an item begins, and what the thesis calls it; an equation is but "(5.2)"."""
SOURCES = {"neurips": "NeurIPS", "icml": "ICML", "aistats": "AISTATS", "fkdac": "Note of 2017"}


class Sentence(str):
    """A sentence of a claim; `marked` has its formulas between ``$``, as the file has them."""

    def __new__(cls, marked):
        sentence = super().__new__(cls, marked.replace("$", ""))
        sentence.marked = marked
        return sentence


class Filled:
    """A sentence of a claim, whose numbers are filled in when it is read; see `notes`."""

    def __set_name__(self, owner, name):
        self.name = f"{name}, as a template"

    def __set__(self, claim, template):
        claim.__dict__[self.name] = template

    def __get__(self, claim, owner=None):
        if claim is None:
            return Sentence("")
        from ismlit_book.notes import filled  # which reads what is stored, and not before

        template = claim.__dict__[self.name]
        return Sentence(filled(claim.id, template))


@dataclass(frozen=True)
class Claim:
    """One row of the ledger.

    `where` is the place in the thesis or paper, `says` the statement in our words, `prints` an
    equation as it stands there, slips included, in TeX; `note` the correction, the counterexample,
    or the reason, its numbers computed; `uses` the ids it builds on; `matters` marks an error that
    changes a conclusion. `scope` is one of `SCOPES`; `slip`, one of `SLIPS`, says what is wrong
    with a printed form; `one_case` why a claim about all cases rests on less than a derivation or
    a hundred draws. `apart` has claims that it does not use though its check runs their evidence,
    each with the reason; `ismlit_book.record.origins` compares. `derives` has the result that an
    equation of an appendix leads to, and those after it up to the next lemma; see `derives`. How
    it is known stands in no row: the cells say it (`ismlit_book.record.cells.known`).
    """

    id: str
    chapter: str
    where: str
    says: Filled = Filled()
    verdict: str = ""
    prints: str = ""
    note: Filled = Filled()
    uses: tuple = ()
    matters: bool = False
    scope: str = ""
    slip: str = ""
    one_case: Filled = Filled()
    apart: dict = field(default_factory=dict)
    derives: str = ""

    @property
    def is_ours(self):
        """Whether this edition says it, and neither the thesis nor a paper."""
        return "new" in self.where.split(", ")

    def template(self, sentence):
        """A sentence ("says", "note" or "one_case") as the file has it, fields and marks."""
        return self.__dict__[f"{sentence}, as a template"]


class ClaimError(AssertionError):
    """A computed outcome that contradicts the ledger."""


@cache
def ledger():
    """All claims by id, in reading order.

    Examples
    --------
    >>> from ismlit_book.record.ledger import ledger
    >>> ledger()["thm-5.1"].verdict
    'holds as corrected'
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # of libyaml, in a quarter of the time
    claims = {}
    for path in sorted(
        (data() / "claims").glob("*.yml"), key=lambda path: [*TITLES].index(path.stem)
    ):
        for row in yaml.load(path.read_text(encoding="utf-8"), loader):
            row["uses"] = tuple(row.get("uses", ()))
            claim = Claim(chapter=path.stem, **row)
            if claim.id in claims:
                raise ClaimError(f"{claim.id} stands twice in the ledger")
            claims[claim.id] = claim
    return claims


def title(claim_id):
    """A claim's name as a reader knows it.

    Examples
    --------
    >>> from ismlit_book.record.ledger import title
    >>> [title(claim_id) for claim_id in ("thm-5.1", "eq-5.2", "tab-5.1-linear", "fkdac-eq1")]
    ['Theorem 5.1', '(5.2)', 'Table 5.1: linear', 'Note of 2017: (1)']
    """
    kind, _, rest = claim_id.partition("-")
    number, _, words = rest.partition("-")
    words = words.replace("-", " ")
    if kind == "eq":
        return f"({rest})"
    if kind in KINDS:
        chapter = kind == "txt" and len(number) == 1
        name = f"{'Chapter' if chapter else KINDS[kind]} {number}"
        return f"{name}: {words}" if words else name
    words = rest.replace("-", " ")
    if words.startswith("eq"):
        words = f"({words[2:].replace(' ', ', ')})"
    source = SOURCES.get(kind)
    return (
        f"{source}: {words}"
        if source
        else f"Ours: {claim_id.removeprefix('new-').replace('-', ' ')}"
    )


def key_of(name):
    """A claim's name without what readers spell differently: "Thm 5.1", "theorem-5.1" are one."""
    words = re.sub(r"[^\w.~]+", " ", re.sub(r"([a-z])\.", r"\1 ", name.lower())).split()
    kinds = KINDS | {"eq": "", "eqs": "", "equation": "", "formula": "", "claim": "", "thesis": ""}
    words = [kinds.get(word, word) for word in words if word != "new"]
    glued = re.fullmatch(r"([a-z]+)(\d.*|[a-d]\..*)", "".join(words).lower())
    kind, rest = glued.groups() if glued else ("", "".join(words).lower())
    return kinds.get(kind, kind).lower() + rest


def named(name):
    """Id of the claim that a reader means: by its id, or as the thesis calls it; else None.

    Examples
    --------
    >>> from ismlit_book.record.ledger import named
    >>> [named(name) for name in ("thm-5.1", "Theorem 5.1", "eq5.2", "(5.2)", "lemma d.4", "9.9")]
    ['thm-5.1', 'thm-5.1', 'eq-5.2', 'eq-5.2', 'lem-D.4', None]
    """
    return name if name in ledger() else _keys().get(key_of(name))


@cache
def _keys():
    """{a name as `key_of` has it: id}, of ids and of titles."""
    ids = {key_of(claim_id): claim_id for claim_id in ledger()}
    return ids | {key_of(title(claim_id)): claim_id for claim_id in ledger()}


def like(name, most=8):
    """Ids of claims that a reader may mean: of the same number, spelt much the same, about it.

    Examples
    --------
    >>> from ismlit_book.record.ledger import like
    >>> like("tab-5.3")[:2], like("thm 5.33")[0], like("eigengaps", 1)
    (['tab-5.3-linear', 'tab-5.3-squared'], 'thm-5.3', [])
    """
    key, place = key_of(name), [*KINDS, "eq"].index
    kind = lambda claim_id: claim_id.partition("-")[0]
    first = lambda i: (not key_of(i).startswith(key), place(kind(i)) if kind(i) in KINDS else 99)
    numbers = {n.lower() for n in re.findall(r"(?<![\w.])[a-d\d]\.\d+(?![.\d])", name, re.I)}
    same = sorted((c for c in ledger() if numbers & {*c.lower().split("-")}), key=first)
    near = [_keys()[k] for k in difflib.get_close_matches(key, [*_keys()], most, 0.7)]
    about = [c.id for c in ledger().values() if name.lower() in f"{c.id} {c.says}".lower()]
    return [*dict.fromkeys([*same, *near, *about])][:most]


def counts(claims=None):
    """How many of the claims (all of the ledger when None) carry each verdict."""
    claims = ledger().values() if claims is None else claims
    number = Counter(claim.verdict for claim in claims)
    return {verdict: number[verdict] for verdict in VERDICTS if number[verdict]}


def by_chapter(claims):
    """{title of the chapter: its claims}, in reading order; chapters without one are left out."""
    found = {title: [c for c in claims if c.chapter == key] for key, title in TITLES.items()}
    return {title: here for title, here in found.items() if here}


def told_apart(claims=None):
    """The claims of the thesis and the papers, and those that this edition adds, as two lists."""
    claims = ledger().values() if claims is None else claims
    return [c for c in claims if not c.is_ours], [c for c in claims if c.is_ours]


def tally(claims=None):
    """`counts` in words, this edition's own apart: "3 holds, 1 fails; ours: 2 holds".

    Examples
    --------
    >>> from ismlit_book.record.ledger import ledger, tally
    >>> tally([ledger()[name] for name in ("thm-5.1", "eq-5.2", "new-balanced-gamma")])
    '1 holds, 1 holds as corrected; ours: 1 holds'
    """
    in_words = [
        ", ".join(f"{number} {verdict}" for verdict, number in counts(part).items())
        for part in told_apart(claims)
    ]
    return "; ours: ".join(in_words).removesuffix("; ours: ").removeprefix("; ")


def rests_on(claim_id):
    """Every claim that a claim builds on, directly or through others, as a set of ids.

    Examples
    --------
    >>> from ismlit_book.record.ledger import rests_on
    >>> {"eq-5.1", "eq-5.2"} <= rests_on("eq-5.3")
    True
    """
    found, waiting = set(), list(ledger()[claim_id].uses)
    while waiting:
        used = waiting.pop()
        if used not in found:
            found.add(used)
            waiting += ledger()[used].uses
    return found


@cache
def _users():
    """For each claim, the ids of those that name it among what they use."""
    users = {claim_id: [] for claim_id in ledger()}
    for claim in ledger().values():
        for used in claim.uses:
            users[used].append(claim.id)
    return users


def used_by(claim_id):
    """Ids of the claims that name a claim among those they use."""
    return tuple(_users()[claim_id])


@cache
def _derived():
    """For each equation of an appendix, the result whose derivation it belongs to."""
    found = {}
    for claims in by_chapter(ledger().values()).values():
        result = ""
        for claim in claims if claims[0].chapter in APPENDICES else ():
            if claim.id.startswith("lem-"):
                result = claim.id
            elif claim.id.startswith("eq-"):
                found[claim.id] = result = claim.derives or result
    return found


def derives(claim_id):
    """The result whose derivation an equation of an appendix belongs to; "" of other claims.

    It is the lemma before the equation, unless a row says of it or of one in between that it
    derives something else.

    Examples
    --------
    >>> from ismlit_book.record.ledger import derives
    >>> [derives(claim_id) for claim_id in ("eq-D.66", "eq-D.110", "eq-6.5")]
    ['lem-D.4', 'thm-6.2', '']
    """
    return _derived().get(claim_id, "")


def derivation(claim_id):
    """Ids of the equations of the appendices that belong to the derivation of a result."""
    return tuple(equation for equation, result in _derived().items() if result == claim_id)


def folded(claims):
    """Claims in reading order, each with the equations of its derivation among them.

    Parameters
    ----------
    claims : iterable of Claim

    Returns
    -------
    dict
        {id: equations}, of every claim but these equations. A result that is not among the claims
        stands where the first of its equations would.

    Examples
    --------
    >>> from ismlit_book.record.ledger import folded, ledger
    >>> found = folded([ledger()[name] for name in ("lem-D.6", "eq-D.101", "eq-D.105")])
    >>> {name: [claim.id for claim in equations] for name, equations in found.items()}
    {'lem-D.6': ['eq-D.101'], 'thm-6.2': ['eq-D.105']}
    """
    found = {}
    for claim in claims:
        result = derives(claim.id)
        equations = found.setdefault(result or claim.id, [])
        if result:
            equations.append(claim)
    return found


def wrong_below(claim_id):
    """What a claim rests on that is wrong as printed, by name."""
    return sorted(used for used in rests_on(claim_id) if ledger()[used].verdict in WRONG)
