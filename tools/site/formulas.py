"""The formulas in a row of the ledger, which stand between ``$``, as TeX.

They are written as a terminal, a table and a search can show them, without the signs around them:
``Phi = 1/2 sum Gamma_ij f'(beta_ij) A_ij``.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import NamedTuple

from ismlit_book.record.ledger import KINDS, ledger

GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi psi "
    "omega Gamma Delta Theta Lambda Pi Sigma Phi Psi Omega"
).split()
LARGE = "sum prod min max".split()
FUNCTIONS = "exp log sin cos tan tanh det".split()
NAMED = "Tr HSIC vec diag rank span sign cov var NMI CQ".split()
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
SIGNS = {  # others are the same in TeX
    ">=": r"\ge",
    "<=": r"\le",
    "≥": r"\ge",
    "≤": r"\le",
    "≠": r"\ne",
    "±": r"\pm",
    "->": r"\to",
    "...": r"\dots",
    "|": r"\vert",
    "⊗": r"\otimes",
    "(x)": r"\otimes",
    "o": r"\circ",
    "x": r"\times",
}
NAMES = {word: kind for kind, word in KINDS.items() if word != "Section"}

CLAIM = re.compile(
    r"(?P<id>\b[a-z]+\d?-[0-9A-Za-z](?:[\w.-]*\w)?)|\((?P<equation>[2-6A-D]\.\d+[a-c]?)\)"
    rf"|\b(?P<kind>{'|'.join(NAMES)}) (?P<number>(?:[A-D]\.)?\d(?:[\d.]*\d)?)"
)
"""What names a claim: its id, the number of an equation, or the thesis's name for it."""

_POWER = r"\^(?:\([^()]*\)|-?\w+(?:\.\d+)?)|[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+"
TOKEN = re.compile(
    rf"""
    (?P<root> sqrt|abs )\((?P<inside> (?:[^()]|\([^()]*\))* )\)
  | (?P<call> {"|".join(FUNCTIONS + NAMED)} )(?P<raised> {_POWER} )?(?=\()
  | (?P<number> \d+(?:\.\d+)? )(?:e(?P<exponent> -?\d+ ))?
  | (?P<left> <(?=\w+\([^<>]*>) ) | (?P<right> (?<=\))> )
  | (?P<sign> (?<=\ )\(x\)(?=\ )|\.\.\.|->|>=|<=|\|\||[=+\-/<>≥≤≠≈±×·∈→∞|⊗]|(?<=\S\ )[ox](?=\ \S) )
  | (?P<base> (?:{"|".join(GREEK + LARGE)})(?![A-Za-z]) | [A-Za-z] | (?<=[)\]\d|]) )
    (?P<digit> \d? )(?P<tilde> ~? )(?P<prime> '* )
    (?:_(?P<index> \([^()]*\)|\{{[^{{}}]*\}}|[A-Za-z0-9]+ ))?
    (?P<late> '* )(?P<star> \*? )(?P<power> {_POWER} )?(?P<last> '* )
    (?P<beside> \ (?=\d) | (?<=[A-Z])(?=[A-Z]) )?
    """,
    re.X,
)
FORMULA_OR_CLAIM = re.compile(rf"\$(?P<formula>[^$]+)\$|{CLAIM.pattern}")


class Piece(NamedTuple):
    """A part of a sentence: `kind` is "text", "claim" (a claim is named) or "tex" (a formula)."""

    kind: str
    text: str
    tex: str = ""


@cache
def pieces(text):
    """A sentence of the ledger as a tuple of pieces, whose texts together are the sentence.

    Examples
    --------
    >>> from ismlit_book.record.ledger import Sentence
    >>> from tools.site.formulas import pieces
    >>> [piece.kind for piece in pieces(Sentence("By (5.2) it has $Phi W = W Lambda$."))]
    ['text', 'claim', 'text', 'tex', 'text']
    """
    marked, found, at = text.marked, [], 0
    for match in FORMULA_OR_CLAIM.finditer(marked):
        if formula := match["formula"]:
            piece = Piece("tex", formula, tex(formula))
        elif named(match[0]):
            piece = Piece("claim", match[0])
        else:
            continue
        found += [Piece("text", marked[at : match.start()]), piece]
        at = match.end()
    return tuple(piece for piece in (*found, Piece("text", marked[at:])) if piece.text)


def html(text, address, typeset=False):
    """A sentence of the ledger as HTML.

    Parameters
    ----------
    text : str
        The sentence.
    address : callable
        From a claim's id to the address of its page.
    typeset : bool
        Whether MathJax finds the formulas by itself. Else they stand there as in the ledger, and
        book/static/formulas.js has them typeset once they are seen: a page may hold a thousand.
    """
    out = []
    for piece in pieces(text):
        words = escape(piece.text, quote=False)
        if piece.kind == "claim":
            words = f'<a href="{address(named(piece.text))}">{words}</a>'
        elif piece.kind == "tex" and typeset:
            words = f'<span class="math notranslate nohighlight">\\({escape(piece.tex)}\\)</span>'
        elif piece.kind == "tex":
            words = f'<span class="tex" data-tex="{escape(piece.tex)}">{words}</span>'
        out.append(words)
    return "".join(out)


def named(words):
    """The id of the claim that is named so, or None."""
    if not (match := CLAIM.fullmatch(words)):
        return None
    item = f"{NAMES.get(match['kind'])}-{match['number']}"
    claim_id = match["id"] or (f"eq-{match['equation']}" if match["equation"] else item)
    return claim_id if claim_id in ledger() else None


def tex(formula):
    """A formula of the ledger as TeX.

    >>> tex("Phi = 1/2 sum Gamma_ij A_ij")
    '\\\\Phi = 1/ 2 \\\\sum \\\\Gamma_{ij} A_{ij}'
    """
    out = TOKEN.sub(_translated, formula)
    return re.sub(r" +(?=[})]|$)", "", out).replace("  ", " ")


def _translated(token):
    kind = next(name for name, words in token.groupdict().items() if words is not None)
    if kind == "root":
        inside = tex(token["inside"])
        return rf"\sqrt{{{inside}}}" if token[kind] == "sqrt" else rf"\lvert {inside} \rvert "
    if kind == "call":
        name = token["call"]
        name = rf"\{name}" if name in FUNCTIONS else rf"\operatorname{{{name}}}"
        return name + (f"^{{{_raised(token['raised'])}}}" if token["raised"] else "")
    if kind == "number":
        digits, power = token["number"], f"10^{{{token['exponent']}}}"
        if token["exponent"] is None:
            return digits
        return power if digits == "1" else rf"{digits} \cdot {power}"
    if kind in ("left", "right"):
        return rf"\{kind[0]}angle "
    return SIGNS.get(token["sign"], token["sign"]) + " " if kind == "sign" else _symbol(token)


def _symbol(token):
    """A letter with its index, primes and power."""
    base, index = token["base"], token["digit"] or (token["index"] or "").strip("(){}")
    if len(base) > 1:
        base = rf"\{base}"
    if index == "bar" or token["tilde"]:
        base = rf"\{'tilde' if token['tilde'] else 'bar'}{{{base}}}"
        index = index.removeprefix("bar")
    if index:
        base = f"{base}_{{{_inner(index)}}}"
    raised = r"\prime" * len(token["prime"] + token["late"])
    raised += "*" * bool(token["star"])
    raised += (", " if raised and token["power"] else "") + _raised(token["power"])
    raised += r"\prime" * len(token["last"])
    if raised == r"\prime":
        base += "'"
    elif raised:
        base = f"{base}^{{{raised}}}"
    elif base.startswith("\\"):
        base += " "
    apart = r" \ " if token["base"] else " "  # from a number that it does not multiply: H 0.98
    return base + {None: "", "": " ", " ": apart}[token["beside"]]


def _raised(power):
    """What stands above the line, without the sign that puts it there."""
    return _inner((power or "").removeprefix("^").strip("()").translate(SUPERSCRIPTS))


def _inner(text):
    """What stands in an index or a power."""
    if text in GREEK:
        return rf"\{text}"
    if re.fullmatch(r"[a-z]{3,}", text):  # a word: min, old
        return rf"\mathrm{{{text}}}"
    if re.fullmatch(r"\w{0,3}|[^A-Za-z]*", text):  # ij, XW: indices beside each other; -1/2
        return text
    return tex(text)
