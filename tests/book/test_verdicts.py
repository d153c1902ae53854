"""What the verdict pages and the pages of the claims show, before Sphinx has them."""

import json
import re
from functools import cache
from html import escape, unescape
from itertools import pairwise

import numpy as np
import pytest
from ismlit_book.record.cells import cells, known, used_at
from ismlit_book.record.ledger import (
    SIGNS,
    SLIPS,
    TITLES,
    WRONG,
    ClaimError,
    Sentence,
    derivation,
    derives,
    ledger,
    rests_on,
    title,
    used_by,
)
from ismlit_book.record.origins import origin
from matplotlib.path import Path

from tools.site import formulas, graph, layers, verdicts

LEDGER, CELLS, KNOWN = ledger(), cells(), known()
# what takes seconds is not made while tests are collected
GRAPH = cache(lambda: verdicts.PARTS["graph"](""))
ISM = "ismlit_book.methods.published.published_ism"
PAGES = cache(lambda: dict(verdicts.claim_pages({ISM: f"../api.html#{ISM}"})))
each_chapter = pytest.mark.parametrize("key", TITLES)


def of_chapter(key):
    return [c for c in LEDGER.values() if c.chapter == key]


def text_of(html):
    """What a reader sees, formulas as TeX."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", html)))


# ---------------------------------------------------------------- formulas


@pytest.mark.parametrize(
    ("formula", "tex"),
    [
        ("Phi_0 = X' L_Gamma X", r"\Phi_{0} = X' L_{\Gamma} X"),
        ("1/sigma²", r"1/ \sigma^{2}"),
        ("K_(p-1) + K^(-1/2)", r"K_{p- 1} + K^{-1/2}"),
        ("f = +sqrt(beta + c²)", r"f = + \sqrt{\beta + c^{2}}"),
        ("abs(Gamma_ij)", r"\lvert \Gamma_{ij} \rvert"),
        ("1/2 sum Gamma_ij f'(beta_ij) A_ij", r"1/ 2 \sum \Gamma_{ij} f'(\beta_{ij}) A_{ij}"),
        ("Tr(Y'KY) + XW", r"\operatorname{Tr}(Y'K Y) + X W"),
        ("k(x, x') = <phi(x), phi(x')>", r"k(x, x') = \langle \phi (x), \phi (x')\rangle"),
        ("d x d", r"d \times d"),
        ("sigma = 1e-5", r"\sigma = 10^{-5}"),
        ("T 0.02", r"T \ 0.02"),
        ("P_bar K~ H*", r"\bar{P} \tilde{K} H^{*}"),
        ("Gamma o f''", r"\Gamma \circ f^{\prime\prime}"),
    ],
)
def test_a_formula_in_plain_letters_is_set_as_tex(formula, tex):
    assert formulas.tex(formula) == tex


@each_chapter
def test_what_stands_between_dollars_is_a_formula(key):
    for text in (text for claim in of_chapter(key) for text in (claim.says, claim.note)):
        assert text.marked.count("$") % 2 == 0 and "$" not in text
        pieces = formulas.pieces(text)
        assert "".join(piece.text for piece in pieces) == text
        for tex in (piece.tex for piece in pieces):
            assert tex.count("{") == tex.count("}")
            letters = re.sub(r"\\(mathrm|operatorname)\{\w+\}|\\[A-Za-z]+", "", tex)
            assert not re.search(r"[A-Za-z]{4}", letters), f"a word in {tex}"


def test_claims_that_are_named_are_linked():
    text = Sentence("As Theorem 5.1 and (5.2), see new-ism-two-cycle; not (99.9).")
    html = formulas.html(text, "{}!".format)
    assert html == (
        'As <a href="thm-5.1!">Theorem 5.1</a> and <a href="eq-5.2!">(5.2)</a>, '
        'see <a href="new-ism-two-cycle!">new-ism-two-cycle</a>; not (99.9).'
    )


def test_formulas_wait_until_they_are_seen_or_are_typeset_at_once():
    text = Sentence("$W < 1$")
    assert formulas.html(text, str) == '<span class="tex" data-tex="W &lt; 1">W &lt; 1</span>'
    assert r"\(W &lt; 1\)" in formulas.html(text, str, typeset=True)


# ---------------------------------------------------------------- a page for every claim


def test_names_are_the_printed_ones_and_tell_claims_apart():
    names = [title(claim_id) for claim_id in LEDGER]
    assert len(set(names)) == len(names)
    assert {"Theorem 6.1", "(C.73)", "Lemma D.4", "Algorithm 4"} <= set(names)


@each_chapter
def test_a_claim_s_page_says_all_about_it(key):
    for claim in of_chapter(key):
        body = PAGES()[claim.id]["body"]
        text = text_of(body.partition('<details class="claim-cell">')[0])
        assert f"<h1>{verdicts.heading(claim.id)}</h1>" in unescape(body)
        assert f"{SIGNS[claim.verdict]} {claim.verdict}" in text
        assert f"v-{claim.verdict.replace(' ', '-')}" in body
        assert not claim.slip or SLIPS[claim.slip] in text
        assert claim.where in text and TITLES[claim.chapter] in text
        assert KNOWN.get(claim.id, ("by no cell",))[0] in text
        for other in (*claim.uses, *used_by(claim.id)):
            assert f'href="../claims/{other}.html"' in body
        for place in CELLS.get(claim.id, []):
            page = place.path.with_suffix(".html").as_posix()
            assert f'href="../{page}#check-{claim.id}"' in body
        for piece in formulas.pieces(claim.says):
            assert piece.kind != "tex" or escape(rf"\({piece.tex}\)") in body


def test_a_claim_is_headed_by_its_number_or_by_what_it_says():
    heads = {name: verdicts.heading(name) for name in ("eq-5.2", "thm-5.1", "txt-6.3-byproduct")}
    assert list(heads.values()) == [
        "Equation (5.2)",
        "Theorem 5.1",
        "Section 6.3: Maximising H minimises T as a byproduct",
    ]
    assert max(len(verdicts.heading(claim.id)) for claim in ledger().values()) < 100


def test_neighbours_are_those_of_the_chapter():
    for chapter in TITLES:
        ids = [c.id for c in of_chapter(chapter)]
        assert PAGES()[ids[0]]["before-link"] == PAGES()[ids[-1]]["after-link"] == "../ledger.html"
        for before, after in pairwise(ids):
            assert PAGES()[before]["after-link"] == f"{after}.html"
            assert PAGES()[after]["before"] == escape(verdicts.heading(before))


def test_a_claim_s_page_names_what_implements_it():
    found = verdicts.implementations()
    assert "ismlit_book.record.symbolic.Derivation.phi" in found["eq-5.2"]
    assert ISM in found["alg-4"]
    assert "ismlit.kernels.Gaussian" in found["thm-6.1"], "called above the cell"
    assert not any("._" in name for names in found.values() for name in names)
    assert (
        'href="../api.html#ismlit_book.methods.published.published_ism"' in PAGES()["alg-4"]["body"]
    )


def test_a_claim_s_page_says_how_it_is_known_that_it_uses_another():
    """From the code of its check or from its row; a claim that is apart stands there with why."""
    for user, used in (("lem-D.4", "eq-D.70"), ("thm-5.1", "lem-C.1"), ("def-5", "def-1")):
        kind = origin(user, used)
        for page, other in ((user, used), (used, user)):
            after = PAGES()[page]["body"].split(f'href="../claims/{other}.html">', 1)[1]
            assert re.search(r"<small[^>]*>(.*?)</small>", after)[1] == kind
    text = text_of(PAGES()["eq-4.15"]["body"])
    assert all(why in text for why in LEDGER["eq-4.15"].apart.values())


def test_a_theorem_s_page_lists_the_steps_of_its_proof():
    """With what each is known by; a claim without a proof has no such list."""
    steps = verdicts.proofs()
    assert "thm-6.1" in steps and "eq-4.9" not in steps
    for name, listed in steps.items():
        assert (f'<div class="claim-proof">{listed}</div>') in PAGES()[name]["body"]
        assert listed.count("<li>") == listed.count("<small>") > 0
    assert all("claim-proof" not in PAGES()[name]["body"] for name in LEDGER.keys() - steps.keys())


@pytest.mark.parametrize("name", ["thm-6.1", "eq-D.47", "def-3"])
def test_a_claim_s_page_shows_the_cell_and_what_it_uses(name):
    """Where the cell needs nothing from above, or the page has no such cell, nothing is folded."""
    shown = re.findall(
        r'<details class="claim-cell">.*?</summary>(.*?)</details>', PAGES()[name]["body"], re.S
    )
    wanted = [code for place in CELLS[name] for code in (place.source, used_at(place)) if code]
    squeezed = lambda text: re.sub(r"\s+", "", text)
    assert [*map(squeezed, map(unescape, (re.sub(r"<[^>]*>", "", s) for s in shown)))] == [
        *map(squeezed, wanted)
    ]


def test_a_table_s_row_shows_its_numbers_with_signs():
    body = PAGES()["tab-5.4-wine-gaussian"]["body"]
    assert body.count("<tr><td>") == len(verdicts._numbers()["tab-5.4-wine-gaussian"])
    assert 'class="yes">✓' in body


# ---------------------------------------------------------------- badges

BADGE = (
    '<div class="claim v-holds"><b>✓ holds</b> <a href="../ledger.html#claim-{0}">'
    "<code>{0}</code></a></div>"
)


def test_a_badge_leads_to_its_claim_and_can_be_led_to():
    body = verdicts.with_anchors(2 * BADGE.format("eq-5.2"), "ch5/phi")
    assert body.count('href="../claims/eq-5.2.html"') == 2
    assert body.count('id="check-eq-5.2"') == 1, "an id stands on a page once"


def test_a_badge_of_an_unknown_claim_stops_the_build():
    with pytest.raises(
        ClaimError, match=r"ch5/phi has a badge of eq-99, which is not in the ledger"
    ):
        verdicts.with_anchors(BADGE.format("eq-99"), "ch5/phi")


# ---------------------------------------------------------------- the four pages


def test_every_claim_stands_where_it_should():
    ledger_page = "".join(verdicts.PARTS["chapter"](key) for key in TITLES)
    by_slip = "".join(verdicts.PARTS["errata"](slip) for slip in (*SLIPS, "fails"))
    matters = verdicts.PARTS["errata"]("matters")
    for claim in LEDGER.values():
        assert ledger_page.count(f'<tr id="claim-{claim.id}"') == 1
        assert f'<a class="v-{claim.verdict.replace(" ", "-")}' in GRAPH()
        first = rf'<div[^>]* class="erratum [^"]*"><p><a href="claims/{re.escape(claim.id)}\.html"'
        assert len(re.findall(first, by_slip)) == (claim.verdict in WRONG), claim.id
        assert len(re.findall(first, matters)) == (claim.matters and claim.verdict in WRONG)
    assert "hidden>\n<label>Find" in verdicts.PARTS["filter"](""), "no form without its script"


def test_an_equation_of_an_appendix_is_folded_below_its_result():
    """It keeps its row, and is led to from its result wherever that stands."""
    shown = {key: verdicts.PARTS["chapter"](key) for key in TITLES}
    block = re.compile(
        r'(?:<tr id="claim-([^"]+)"[^\n]*\s*)?<tr class="derivation">.*?<summary>(.*?)</summary>'
        r"(.*?)</details>",
        re.S,
    )
    row = re.compile(r'<tr id="claim-([^"]+)"')
    folded = {}
    for key, text in shown.items():
        for before, summary, rows in block.findall(text):
            equations = tuple(row.findall(rows))
            result = derives(equations[0])
            folded[result] = equations
            assert f"{len(equations)} equation" in summary
            if LEDGER[result].chapter == key:
                assert before == result and "of its derivation" in summary
            else:
                assert f"of the derivation of {title(result)}:" in summary
                above = shown[LEDGER[result].chapter]
                assert f'<a href="#claim-{equations[0]}">{len(equations)} equation' in above
    wanted = {derives(claim_id) for claim_id in LEDGER} - {""}
    assert folded == {result: derivation(result) for result in wanted}
    for result, equations in folded.items():
        for equation in equations:
            assert f'href="../claims/{equation}.html"' in PAGES()[result]["body"]
            assert f'href="../claims/{result}.html"' in PAGES()[equation]["body"]
            assert f"ledger.html#claim-{equation}" in PAGES()[equation]["body"]


def test_the_report_sets_numbers_side_by_side():
    numbers = [n for rows in verdicts._numbers().values() for n in rows]
    report = "".join(verdicts.PARTS["report"](name) for name in verdicts.tables())
    assert report.count('<td class="yes">✓') == sum(n["agrees"] == "yes" for n in numbers)
    assert report.count('<td class="no">✗') == sum(n["agrees"] == "no" for n in numbers)
    for number in numbers[::9]:
        assert f"<td>{number['printed']}</td><td>{number['recomputed']}</td>" in report


def test_the_graph_s_data_are_the_ledger():
    data = json.loads(graph.data(verdicts.Verdicts(), KNOWN))
    assert data.keys() == LEDGER.keys()
    for name, entry in data.items():
        assert entry["name"] == title(name)
        assert entry["uses"] == list(LEDGER[name].uses)
        assert all(name in data[used]["used"] for used in entry["uses"])
        wrong = {used for used in rests_on(name) if LEDGER[used].verdict in WRONG}
        assert set(entry["wrong"]) == wrong


def test_boxes_lead_to_pages_and_say_what_is_shaky():
    found = re.findall(r'<a class="([^"]*)" data-id="([^"]*)" href="([^"]*)"', GRAPH())
    assert {name for _, name, _ in found} == set(LEDGER)
    for css, name, address in found:
        assert address == f"claims/{name}.html"
        stands = LEDGER[name].verdict in ("holds", "reproduced", "definition")
        wrong = any(LEDGER[used].verdict in WRONG for used in rests_on(name))
        assert ("shaky" in css.split()) == (stands and wrong)


# ---------------------------------------------------------------- drawings


DRAWINGS = {key: graph.drawing(key, KNOWN) for key in TITLES}


@each_chapter
def test_a_drawing_goes_from_what_is_used_to_what_uses_it(key):
    box = {b["id"]: b for b in DRAWINGS[key]["boxes"]}
    for line in DRAWINGS[key]["lines"]:
        assert box[line["start"]]["x"] + box[line["start"]]["width"] < box[line["end"]]["x"]
    here = {c.id for c in of_chapter(key)}
    assert here <= {b["id"] for b in [*box.values(), *DRAWINGS[key]["apart"]]}
    for claim_id in here & set(box):
        above = rests_on(claim_id)
        arrows = {line["start"] for line in DRAWINGS[key]["lines"] if line["end"] == claim_id}
        assert arrows <= set(LEDGER[claim_id].uses)
        assert above >= set(LEDGER[claim_id].uses)


def points(path):
    """Points along a path of straight and bent pieces."""
    kinds = {"M": Path.MOVETO, "H": Path.LINETO, "C": Path.CURVE4}
    corners, codes = [], []
    for kind, numbers in re.findall(r"([MHC])([^MHC]*)", path):
        values = [float(v) for v in numbers.split()]
        if kind == "H":
            values.append(corners[-1][1])
        corners += zip(values[::2], values[1::2])
        codes += [kinds[kind]] * (len(values) // 2)
    (line,) = Path(corners, codes).to_polygons(closed_only=False)
    return Path(line).interpolated(20).vertices


@each_chapter
def test_no_line_of_a_drawing_crosses_a_box(key):
    boxes = DRAWINGS[key]["boxes"]
    left, width, top = (np.array([b[k] for b in boxes]) for k in ("x", "width", "y"))
    for line in DRAWINGS[key]["lines"]:
        x, y = points(line["path"]).T[:, :, None]
        across = (left + 1 < x) & (x < left + width - 1)
        down = (top + 1 < y) & (y < top + layers.HEIGHT - 1)
        crossed = (across & down).any(axis=0)
        assert [b["id"] for b, is_crossed in zip(boxes, crossed) if is_crossed] == [], line


@each_chapter
def test_no_box_of_a_drawing_lies_on_another(key):
    boxes = DRAWINGS[key]["boxes"]
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            apart = abs(a["y"] - b["y"]) >= layers.HEIGHT
            beside = a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"]
            assert apart or beside


def test_links_that_follow_from_others_are_left_out():
    assert layers.reduced({"a": [], "b": ["a"], "c": ["a", "b"]}) == {
        "a": [],
        "b": ["a"],
        "c": ["b"],
    }
