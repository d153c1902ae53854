"""Numbers in the notes of the ledger: computed from what is stored, when a note is read.

A note of ``claims`` is a template. ``{cost:.1f}`` is a field. Fields have two sources. The modules
of this folder have functions that compute them from ``results`` (recomputed), ``thesis`` (printed)
and the settings of the experiments; and the cell that checks a claim stores what it computed, by
``check(..., numbers={"cost": f"{cost:.1f}"})``. What the note takes as given stands between ``⟦``
and ``⟧``: the numbers of an example, a definition, a bound or a quotation. `typed` finds every
other number.
"""

import re
from functools import cache
from importlib import import_module
from string import Formatter

MODULES = (
    "chapter_3",
    "table_3_1",
    "chapter_4",
    "table_4_2",
    "chapter_5",
    "table_5_4",
    "table_5_5",
    "chapter_6",
    "table_6_1",
    "papers",
    "measured",
)
WORDS = tuple("none one two three four five six seven eight nine ten eleven twelve".split())
"""How a note writes small numbers of things."""

_FIELDS = {}


def about(*ids):
    """Register a function of a claim's id that returns the fields of its sentences as a dict."""

    def register(function):
        _FIELDS.update(dict.fromkeys(ids, function))
        return function

    return register


@cache
def fields(claim_id):
    """The fields of a claim's sentences, by name.

    Raises
    ------
    KeyError
        If no function is registered for the claim and no cell has stored a number of it.
    """
    from ismlit_book.record.cells import numbers

    for module in MODULES:
        if claim_id not in _FIELDS:
            import_module(f"ismlit_book.notes.{module}")
    stored = numbers().get(claim_id, {})
    if not stored or claim_id in _FIELDS:
        return stored | _FIELDS[claim_id](claim_id)
    return stored


def filled(claim_id, template):
    """A sentence of the ledger with its fields filled in and its marks taken away.

    Examples
    --------
    >>> from ismlit_book.notes import filled
    >>> filled("eq-A.5", "Of ⟦3⟧ samples.")
    'Of 3 samples.'
    """
    if "{" in template:
        template = template.format_map(fields(claim_id) if names(template) else {})
        template = re.sub(r"(\de[+-])0(?=\d)", r"\1", template).replace("e+", "e")
    return re.sub("[⟦⟧]", "", template)


def names(template):
    """The names of a template's fields."""
    found = (name for _, name, *_ in Formatter().parse(template) if name)
    return {re.split(r"[.\[]", name)[0] for name in found}


# ---------------------------------------------------------------- numbers that are typed

KIND = "Theorem|Lemma|Table|Algorithm|Definition|Corollary|Proposition|Fig|Figure|chapter|item"
PLACE = rf"(?:{KIND}|appendix|section)(?:s|\.)?"
NOT_A_NUMBER = re.compile(
    r"\{[^{}]*\}|⟦[^⟧]*⟧"  # computed; given
    r"|\([2-6A-D]\.\d+[a-c]?\)"  # an equation
    rf"|{PLACE} \d*[A-D]?[\d.]*\d(?:(?:, | and | to )[A-D]?\.?\d+(?:\.\d+)*)*(?!\w)"
    r"|\b(?:txt|tab|eq|fig|thm|lem|new|alg|sec|cor|prop|icml|aistats|fkdac|neurips)-[\w.*-]+"
    r"|\b[A-D]\.\d+|\b[A-Za-z]+\d+\b"
)
"""Parts of a template whose digits are no typed results; names such as Spiral1 among them."""
EXACT = re.compile(r"(?:\d+(?:\.\d+)?|\.\d+)(?:e-?\d+)?")


def typed(template):
    """Numbers of a template that are typed and not marked as given.

    In a formula whole numbers belong to the statement, decimals do not.

    Examples
    --------
    >>> from ismlit_book.notes import typed
    >>> typed("By (5.2) it is 0.97 of {most:.2f}, with $n = 4$ and ⟦1/2⟧, as in Table 3.1.")
    ['0.97']
    """
    found = []
    for k, part in enumerate(
        NOT_A_NUMBER.sub(" ", template.replace("{{", "").replace("}}", "")).split("$")
    ):
        numbers = EXACT.findall(part)
        found += [n for n in numbers if k % 2 == 0 or "." in n or "e" in n]
    return found
