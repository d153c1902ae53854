"""The ledger is complete and consistent."""

import re
from dataclasses import replace

import pytest
from ismlit_book.record.ledger import (
    APPENDICES,
    SCOPES,
    SLIPS,
    UNCHECKED,
    VERDICTS,
    Claim,
    counts,
    derivation,
    derives,
    folded,
    ledger,
    rests_on,
    tally,
    told_apart,
    used_by,
)

LEDGER = ledger()


def faults(rules, claims):
    """What is wrong, by claim: {id: [rules that it breaks]}."""
    broken = {c.id: [said for said, keeps in rules.items() if not keeps(c)] for c in claims}
    return {name: found for name, found in broken.items() if found}


NEEDS_A_NOTE = ("holds as corrected", "fails", "not reproduced", *UNCHECKED)
"""What is wrong, or why it is not checked, must be said."""
NO_VERDICT_FOR = {
    "general": ("definition",),
    "instance": ("definition",),
    "definition": ("fails", "reproduced", "reproduced in part", "not reproduced"),
}
ROWS = {
    "a known verdict": lambda c: c.verdict in VERDICTS,
    "a known scope": lambda c: c.scope in SCOPES,
    "what it says and where": lambda c: c.says and c.where,
    "a note": lambda c: c.note or c.verdict not in NEEDS_A_NOTE,
    "uses known claims": lambda c: LEDGER.keys() >= {*c.uses},
    "a verdict that its scope can have": lambda c: c.verdict not in NO_VERDICT_FOR[c.scope],
    "a slip that its verdict can have": lambda c: fits(c.slip, c.verdict),
    "a note on its slip": lambda c: c.note or not c.slip,
}


def fits(slip, verdict):
    """What is literally wrong says what is wrong; what is not, is no erratum."""
    if verdict == "holds as corrected":
        return slip in set(SLIPS) - {"transcription"}
    return not slip or verdict in ("holds" if slip == "transcription" else "fails", "definition")


def test_every_row_keeps_the_rules():
    assert faults(ROWS, LEDGER.values()) == {}


def test_a_row_that_breaks_a_rule_is_named():
    row = LEDGER["thm-5.1"]
    bad = replace(row, verdict="fails", slip="transcription", note="", uses=("eq-99",))
    assert [*faults(ROWS, [bad])["thm-5.1"]] == [
        "a note",
        "uses known claims",
        "a slip that its verdict can have",
        "a note on its slip",
    ]


def parts(chapter, last, split):
    """Ids of the equations of a chapter; `split` says which have parts: {number: "abc"}."""
    for k in range(1, last + 1):
        yield from (f"eq-{chapter}.{k}{letter}" for letter in split.get(k, [""]))


def test_numbered_items_are_complete():
    """Every numbered item of the thesis has a row: as many as it has, and under their numbers.

    410 equations carry a tag, and four more are cited as a whole whose parts carry the tags.
    """
    equations = {
        *parts("2", 15, {3: "abc"}),
        *parts("3", 12, {1: "ab", 2: ["", *"ab"], 4: ["", *"ab"], 9: "abc"}),
        *parts("4", 18, {5: ["", *"ab"], 8: ["", *"abc"]}),
        *parts("5", 3, {}),
        *parts("6", 14, {}),
        *parts("A", 39, {}),
        *parts("B", 8, {2: "ab", 3: "ab"}),
        *parts("C", 120, {}),
        *parts("D", 169, {}),
    }
    assert len(equations) == 414
    assert {i for i in LEDGER if i.startswith("eq-")} == equations
    wanted = {f"def-{k}" for k in range(1, 10)} | {"prop-1", "cor-1", "cor-2", "cor-3"}
    wanted |= {f"alg-{k}" for k in range(1, 6)}
    wanted |= {f"thm-{k}" for k in ("2.1", "3.1", "5.1", "5.2", "5.3", "6.1", "6.2", "6.3")}
    lemmas = [f"lem-3.{k}" for k in (1, 2, 3, 4)] + [f"lem-A.0.{k}" for k in (1, 2, 3)]
    lemmas += ["lem-C.1", "lem-C.2", *(f"lem-D.{k}" for k in range(1, 7))]
    assert len(lemmas) == 15
    figures = {"2": 1, "3": 4, "4": 3, "5": 2, "6": 3, "B": 4, "D": 18}
    assert sum(figures.values()) == 35
    wanted |= {f"fig-{part}.{k}" for part, n in figures.items() for k in range(1, n + 1)}
    assert (wanted | set(lemmas)) - set(LEDGER) == set()


def test_tables_are_complete():
    """All 17 tables, row by row where they have rows."""
    kernels = ("linear", "squared", "polynomial", "gaussian", "multiquadratic")
    wanted = {f"tab-5.{t}-{k}" for t in (1, 2, 3) for k in kernels}
    wanted |= {"tab-3.2", "tab-5.4", "tab-5.5", "tab-B.1", "tab-C.1"}
    names = ("SG", "LG", "Moon", "MoonN", "Flower", "Faces", "WebKb")
    ways = [(m, i) for m in ("ISM", "SM", "DG") for i in ("SI", "RI")]
    wanted |= {f"tab-3.1-{name}-{m}-{i}" for name in names for m, i in ways}
    sets = ("random", "adver", "spiral", "wine", "cancer", "car", "face", "divorce")
    wanted |= {f"tab-6.1-{s}-{loss}" for s in sets for loss in ("H", "CE", "MSE")}
    wanted |= {f"tab-D.7-{s}" for s in sets} | {f"tab-4.{k}" for k in range(1, 8)}
    sets = ("moon", "spiral1", "cancer", "wine", "rcv", "face")
    peers = ("aec", "dec", "imsat", "sn", "kmeans")
    wanted |= {f"tab-4.{t}-{name}" for t in (2, 4) for name in (*sets, *peers)} | {"tab-4.2-sc"}
    sets, kernels = ("wine", "cancer", "face", "mnist"), ("gaussian", "polynomial")
    ways = [f"{how}{k}" for how in ("", "unsupervised-") for k in kernels]
    wanted |= {f"tab-5.4-{s}-{way}" for s in sets for way in ways}
    assert wanted - set(LEDGER) == set()


def test_what_rests_on_what_is_closed_and_reversible():
    for name in LEDGER:
        below = rests_on(name)
        assert name not in below
        assert all(set(LEDGER[used].uses) <= below for used in below)
        assert all(name in LEDGER[user].uses for user in used_by(name))
        assert all(name in used_by(used) for used in LEDGER[name].uses)


WITHOUT_A_FORMULA = {"eq-C.80", "eq-D.29", "eq-D.100"}


def test_every_equation_shows_what_is_printed():
    """Its number alone tells a reader nothing."""
    equations = {c.id for c in LEDGER.values() if c.id.startswith("eq-")}
    assert {c.id for c in LEDGER.values() if c.prints} == equations - WITHOUT_A_FORMULA


def count(pattern, tex):
    return len(re.findall(pattern, tex))


def environments(word, tex):
    return sorted(re.findall(rf"\\{word}\{{(\w+)\}}", tex))


FORMULAS = {
    "one line without dollars": lambda c: not set(c.prints) & set("$\n#"),
    "braces closed": lambda c: count(r"(?<!\\)\{", c.prints) == count(r"(?<!\\)\}", c.prints),
    "brackets closed": lambda c: count(r"\\left\b", c.prints) == count(r"\\right\b", c.prints),
    "environments closed": lambda c: (
        environments("begin", c.prints) == environments("end", c.prints)
    ),
}


def test_printed_formulas_are_whole():
    assert faults(FORMULAS, [c for c in LEDGER.values() if c.prints]) == {}


OF_APPENDICES = [
    c.id for c in LEDGER.values() if c.id.startswith("eq-") and c.chapter in APPENDICES
]


def test_an_equation_of_an_appendix_has_one_result_that_is_not_folded_itself():
    results = {derives(equation) for equation in OF_APPENDICES}
    assert results <= LEDGER.keys() - {*OF_APPENDICES}
    assert not any(map(derives, LEDGER.keys() - {*OF_APPENDICES}))
    listed = [equation for result in results for equation in derivation(result)]
    assert sorted(listed) == sorted(OF_APPENDICES)
    assert {c.id for c in LEDGER.values() if c.derives} <= {*OF_APPENDICES}


@pytest.mark.parametrize(
    ("equation", "result"),
    [
        ("eq-A.5", "lem-3.3"),  # the row of (A.1) says so
        ("eq-A.6", "lem-A.0.1"),  # a lemma begins
        ("eq-C.100", "sec-C.7"),  # which stands after it
        ("eq-C.101", "sec-C.10"),
        ("eq-D.104", "lem-D.6"),
        ("eq-D.105", "thm-6.2"),
        ("eq-D.169", "txt-D.11-close"),
    ],
)
def test_an_equation_derives_the_lemma_before_it_or_what_its_row_says(equation, result):
    assert derives(equation) == result


def test_folded_claims_are_all_of_them_in_their_order():
    """A result stands before its equations, or where the first of them would."""
    for chapter in APPENDICES:
        here = [c for c in LEDGER.values() if c.chapter == chapter]
        found = folded(here)
        assert {c.id for c in here} <= {*found, *(c.id for e in found.values() for c in e)}
        for result, equations in found.items():
            assert [*equations] == [c for c in here if derives(c.id) == result]
    shown = folded(LEDGER[name] for name in ("fig-D.1", "eq-D.101", "lem-D.6", "eq-6.5"))
    assert [*shown] == ["fig-D.1", "lem-D.6", "eq-6.5"]


def test_uses_has_no_cycle():
    import graphlib

    graph = {c.id: set(c.uses) for c in LEDGER.values()}
    list(graphlib.TopologicalSorter(graph).static_order())


# ---------------------------------------------------------------- two tallies


@pytest.mark.parametrize(
    ("where", "ours"),
    [("new", 1), ("Table 5.3, new", 1), ("new, at (2.9)", 1), ("(2.9)", 0), ("newer", 0)],
)
def test_what_this_edition_says_is_told_by_its_place(where, ours):
    assert Claim("eq-1", "2", where).is_ours == ours


def test_this_edition_s_own_claims_are_counted_apart():
    rows = [("(1)", "fails"), ("new", "holds"), ("sec. 2", "holds"), ("new, at (3)", "holds")]
    claims = [Claim("eq-1", "2", where, verdict=verdict) for where, verdict in rows]
    assert tally(claims) == "1 holds, 1 fails; ours: 2 holds"
    assert tally(claims[:1]) == "1 fails" and tally(claims[1:2]) == "ours: 1 holds"
    theirs, ours = map(counts, told_apart())
    assert {v: theirs.get(v, 0) + ours.get(v, 0) for v in counts()} == counts()
    assert all(name.startswith("new-") <= claim.is_ours for name, claim in LEDGER.items())
