"""The mathematics in a row of the ledger, which is plain text, as TeX.

A row says ``Phi = 1/2 sum Gamma_ij f'(beta_ij) A_ij``, so that a terminal, a table and a search can
show it. Here the formulas in such a sentence are told from its words. What is not recognised stays
as it is: a reader then sees the row's own letters.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import NamedTuple

from ismlit.edition.ledger import KINDS, ledger

GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta lambda mu nu xi pi rho sigma tau phi psi omega "
    "Gamma Delta Theta Lambda Pi Sigma Phi Psi Omega"
).split()
FUNCTIONS = "exp log min max sin cos tan tanh det lim".split()
NAMED = "Tr HSIC vec diag rank span sign cov var NMI CQ".split()
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
SIGNS = {
    ">=": r"\ge",
    "<=": r"\le",
    "≥": r"\ge",
    "≤": r"\le",
    "≠": r"\ne",
    "≈": r"\approx",
    "±": r"\pm",
    "×": r"\times",
    "·": r"\cdot",
    "∈": r"\in",
    "->": r"\to",
    "→": r"\to",
    "∞": r"\infty",
    "...": r"\dots",
    "||": r"\Vert",
    "|": r"\vert",
    "⊗": r"\otimes",
    "(x)": r"\otimes",
    "o": r"\circ",
    "x": r"\times",
}
BRACKETS = {"<": r"\langle ", ">": r"\rangle "}
NAMES = {word: kind for kind, word in KINDS.items() if word != "Section"}

CLAIM = re.compile(
    r"(?P<id>\b[a-z]+\d?-[0-9A-Za-z](?:[\w.-]*\w)?)|\((?P<equation>[2-6A-D]\.\d+[a-c]?)\)"
    rf"|\b(?P<kind>{'|'.join(NAMES)}) (?P<number>(?:[A-D]\.)?\d(?:[\d.]*\d)?)"
)
"""What names a claim: its id, the number of an equation, or the thesis's name for it."""

_POWER = r"\^(?:\([^()]*\)|-?\w+(?:\.\d+)?)|[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+"
_INDEX = r"_(?:\([^()]*\)|\{[^{}]*\}|[A-Za-z0-9]+)"
TOKEN = re.compile(
    rf"""
    (?P<word> [A-Za-z]{{2,}}(?:'[a-z]+|-[A-Za-z]\w*)+ | [A-Za-z\d.]+'s\b | \w+-[a-z]{{3,}}\w*
        | \d[\d.]*(?:%|\ s\b) | \b[A-D]\.\d+(?:\.\d+)* 
        | (?:(?<![^\s(])(?<![=+\-]\ )a | (?:^|(?<=[.:;]\ ))A)\ (?=[A-Za-z\d]) )
  | (?P<call> (?:(?:{"|".join(FUNCTIONS)})(?:{_POWER})?|{"|".join(NAMED)}|sqrt|abs)(?=\() )
  | (?P<large> (?<![A-Za-z])(?:sum|prod|min|max)(?=_|\ [A-Z]\w*[_'(]|\ (?:{"|".join(GREEK)})\b)
        (?:{_INDEX})? )
  | (?P<atom> (?<![A-Za-z])(?:{"|".join(GREEK)}|[A-Za-z]\d?)(?![A-Za-z]|\d)
        ~?'*(?:{_INDEX})?'*(?:\*(?![\w*]))?(?:{_POWER})?'* )
  | (?P<number> \d+(?:\.\d+)?(?:e-?\d+)?(?![\d%]) | (?<!\d)\.\d+ )
  | (?P<power> (?<=[\)\]\d])(?:{_POWER}|'+) | (?<=\))(?:{_INDEX}) )
  | (?P<words> [^\W\d_]\w* )
  | (?P<open> (?<!\ )\( | \((?!x\)\ ) | \[ | <(?=\w+\([^<>]*>) ) | (?P<close> [)\]] | (?<=\))> )
  | (?P<sign> \(x\)|\.\.\.|->|>=|<=|\|\||[=+\-/<>≥≤≠≈±×·∈→∞|⊗] )
  | (?P<comma> , ) | (?P<space> [\s\u2060]+ ) | (?P<other> . )
    """,
    re.X,
)
PRODUCT = re.compile(r"(?<=['\)⁰¹²])[A-Z]{2,3}(?![a-z])|\b[A-Z]{2}(?='(?!s))|\b(?:XW|A[WZ]|QU)\b")
"""Letters beside each other that are no word; they are parted by what no reader sees."""
JOIN = "\u2060"


class Piece(NamedTuple):
    """A part of a sentence: `kind` is "text", "claim" (a claim is named) or "tex" (a formula)."""

    kind: str
    text: str
    tex: str = ""


BREAKS = ("word", "words", "other")
MAY_END = ("atom", "number", "close", "power", "large")


@cache
def pieces(text):
    """A sentence of the ledger as a tuple of pieces, whose texts together are the sentence.

    Examples
    --------
    >>> from tools.site.formulas import pieces
    >>> [piece.kind for piece in pieces("By (5.2) the best W has Phi W = W Lambda.")]
    ['text', 'claim', 'text', 'tex', 'text', 'tex', 'text']
    """
    found, at = [], 0
    for match in CLAIM.finditer(text):
        if named(match[0]):
            found += _formulas(text[at : match.start()])
            found.append(Piece("claim", match[0]))
            at = match.end()
    return (*found, *_formulas(text[at:]))


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


def _formulas(text):
    """A text without names of claims as pieces."""
    text = PRODUCT.sub(lambda match: JOIN.join(match[0]), text)
    tokens = [(m.lastgroup, m[0]) for m in TOKEN.finditer(text)]
    found, run = [], []
    for token in [*tokens, ("other", "")]:
        if token[0] in BREAKS or (token[0] == "comma" and not _inside(run)):
            found += _split(run)
            found.append(Piece("text", token[1]))
            run = []
        else:
            run.append(token)
    joined = []
    for piece in (piece._replace(text=piece.text.replace(JOIN, "")) for piece in found):
        if piece.kind == "text" and joined and joined[-1].kind == "text":
            joined[-1] = Piece("text", joined[-1].text + piece.text)
        elif piece.text:
            joined.append(piece)
    return joined


def _inside(run):
    """Whether a bracket is open at the end of a run."""
    kinds = [kind for kind, _ in run]
    return kinds.count("open") > kinds.count("close")


def _split(run):
    """A run of tokens that may be a formula as pieces: words around it, and the formula."""
    pair = _brackets(run)
    for at, (kind, _) in enumerate(run):  # a bracket without its other half belongs to the text
        alone = kind in ("open", "close") and at not in pair
        if alone or (kind == "comma" and not _in(at, pair)):
            return [*_split(run[:at]), Piece("text", run[at][1]), *_split(run[at + 1 :])]
    first, last = 0, len(run)
    while first < last and not _begins(run, first):
        first += 1
    while last > first and run[last - 1][0] not in MAY_END:
        last -= 1
    core = run[first:last]
    plain = lambda part: [Piece("text", _words(part))]
    if not _is_formula(core):
        return plain(run)
    if core[0][0] == "open" and _brackets(core).get(0) == len(core) - 1:
        return [*plain(run[: first + 1]), *_split(core[1:-1]), *plain(run[last - 1 :])]
    return [*plain(run[:first]), Piece("tex", _words(core), _tex(core)), *plain(run[last:])]


def _words(run):
    return "".join(words for _, words in run)


def _brackets(run):
    """{place of a bracket: place of its other half}."""
    pair, waiting = {}, []
    for at, (kind, _) in enumerate(run):
        if kind == "open":
            waiting.append(at)
        elif kind == "close" and waiting:
            pair[at] = waiting.pop()
            pair[pair[at]] = at
    return pair


def _in(at, pair):
    return any(a < at < b for a, b in pair.items())


def _begins(run, at):
    kind, words = run[at]
    unary = kind == "sign" and words in "+-±" and at + 1 < len(run) and run[at + 1][0] != "space"
    return kind in ("call", "large", "atom", "number", "open") or unary or words == "||"


def _is_formula(run):
    """Whether there is a letter in it that is no word, or one beside a sign."""
    atoms = [words for kind, words in run if kind == "atom"]
    signs = any(kind in ("sign", "call", "large") for kind, _ in run)
    return any(words not in ("a", "A", "I", "o") or signs for words in atoms)


def _tex(run):
    """A run of tokens as TeX."""
    pair, out, ends = _brackets(run), [], {}
    for at, (kind, words) in enumerate(run):
        if words in ("o", "x") and _between(run, at):
            out.append(SIGNS[words] + " ")
        elif kind == "call" and words in ("sqrt", "abs"):
            begin, end = (r"\sqrt{", "}") if words == "sqrt" else (r"\lvert ", r" \rvert ")
            ends[at + 1], ends[pair[at + 1]] = "", end
            out.append(begin)
        elif kind == "call":
            name, power = re.fullmatch(rf"([A-Za-z]+)({_POWER})?", words).groups()
            out.append(rf"\{name}" if name in FUNCTIONS else rf"\operatorname{{{name}}}")
            out.append(f"^{{{_raised(power)}}}" if power else "")
        elif at in ends:
            out.append(ends[at])
        elif kind in ("atom", "large", "power"):
            out.append(_symbol(words))
        elif kind in ("open", "close"):
            out.append(BRACKETS.get(words, words))
        elif kind == "number":
            out.append(_number(words, run[max(at - 2, 0) : at]))
        elif kind == "sign":
            out.append(SIGNS.get(words, words) + " ")
        else:
            out.append(words)
    out = "".join(out).replace(JOIN, " ")
    return re.sub(r" +(?=[})]|$)", "", out).replace("  ", " ")


def _between(run, at):
    """Whether a letter stands alone between two others, as a sign does."""
    spaced = [kind for kind, _ in run[at - 1 : at + 2 : 2]] == ["space", "space"]
    return at > 1 and spaced and at + 2 < len(run)


def _number(words, before):
    """A number; apart from the letter that it does not multiply, as in H 0.98."""
    if "e" in words:
        digits, _, power = words.partition("e")
        words = rf"{digits} \cdot 10^{{{power}}}" if digits != "1" else f"10^{{{power}}}"
    beside = [kind for kind, _ in before] == ["atom", "space"] and before[0][1] not in ("o", "x")
    return rf"\ {words}" if beside else words


def _symbol(words):
    """A letter with its index, primes and power."""
    match = re.fullmatch(
        rf"(?P<base>[A-Za-z]*)(?P<digit>\d?)(?P<tilde>~?)(?P<prime>'*)(?P<index>{_INDEX})?"
        rf"(?P<late>'*)(?P<star>\*?)(?P<power>{_POWER})?(?P<last>'*)",
        words,
    )
    base, index = match["base"], match["digit"] or (match["index"] or "")[1:].strip("(){}")
    if len(base) > 1:
        base = rf"\{base}"
    if index == "bar" or match["tilde"]:
        base = rf"\{'tilde' if match['tilde'] else 'bar'}{{{base}}}"
        index = index.removeprefix("bar")
    if index:
        base = f"{base}_{{{_inner(index)}}}"
    raised = r"\prime" * len(match["prime"] + match["late"])
    raised += "*" * bool(match["star"])
    raised += (", " if raised and match["power"] else "") + _raised(match["power"])
    raised += r"\prime" * len(match["last"])
    if raised == r"\prime":
        return base + "'"
    return f"{base}^{{{raised}}}" if raised else base + " " * base.startswith("\\")


def _raised(power):
    """What stands above the line, without the sign that puts it there."""
    return _inner((power or "").removeprefix("^").strip("()").translate(SUPERSCRIPTS))


def _inner(text):
    """What stands in an index or a power."""
    if text in GREEK:
        return rf"\{text}"
    if re.fullmatch(r"[a-z]{3,}", text):  # a word: min, old
        return rf"\mathrm{{{text}}}"
    if re.fullmatch(r"\w{0,3}", text):  # ij, XW: indices beside each other
        return text
    found = _formulas(text)
    return found[0].tex if [piece.kind for piece in found] == ["tex"] else text.replace("_", r"\_")
