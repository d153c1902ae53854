"""The pages made from the ledger are fresh, complete, and their links are those of the book."""

import csv
import io
import json
import re

import pytest

from ismlit import pages
from ismlit.claims import cells, folder, ledger, rests_on
from ismlit.experiments import printed, report

FILES = pages.pages()
NUMBERS = list(report.numbers())


@pytest.mark.parametrize("name", FILES)
def test_generated_file_is_fresh(name):
    stored = (folder().parent / name).read_text(encoding="utf-8")
    assert stored == FILES[name], "run: python -m ismlit.pages"


def test_front_page_has_the_counts_of_today():
    stored = (folder().parent / "intro.ipynb").read_text(encoding="utf-8")
    lines = json.dumps(pages.front_counts().data, ensure_ascii=False)[1:-1]
    assert lines in stored, "run: make notebooks NB=book/intro.ipynb"


def test_every_verdict_has_a_sign_of_its_own():
    assert len(set(pages.SIGNS.values())) == len(pages.SIGNS)
    assert {claim.verdict for claim in ledger().values()} <= set(pages.SIGNS)


def test_ledger_and_graph_have_every_claim_and_the_errata_every_wrong_one():
    for claim in ledger().values():
        assert f"`{claim.id}`" in FILES["ledger.md"]
        assert f'data-id="{claim.id}"' in FILES["graph.md"]
        wrong = claim.verdict in ("fails", "holds as corrected")
        mentions = len(re.findall(rf"^\[?`{re.escape(claim.id)}`", FILES["errata.md"], re.M))
        assert mentions == wrong * (1 + claim.matters), claim.id


def test_the_graph_s_data_are_the_ledger():
    text = re.search(r'id="graph-data">(.*)</script>', FILES["graph.md"])[1]
    data = json.loads(text.replace("\\u003c", "<"))
    assert data.keys() == ledger().keys()
    for name, entry in data.items():
        assert entry["uses"] == list(ledger()[name].uses)
        assert all(name in data[used]["used"] for used in entry["uses"])
        assert set(entry["wrong"]) <= rests_on(name)


def test_what_a_claim_rests_on_is_closed():
    for name in ledger():
        below = rests_on(name)
        assert name not in below
        assert all(set(ledger()[used].uses) <= below for used in below)


def test_anchors_are_those_of_docutils():
    from docutils.nodes import make_id

    headings = {heading for places in cells().values() for _, heading in places}
    headings |= {"2 turns", "U'U = I, étude", "The note: (11) & (12)"}
    assert all(pages._anchor(h) == make_id(h) for h in headings)


def test_every_recomputed_number_belongs_to_a_row_of_the_ledger():
    assert {n["claim"] for n in NUMBERS} <= ledger().keys()
    keys = [(n["table"], n["row"], n["quantity"]) for n in NUMBERS]
    assert len(keys) == len(set(keys))


def test_printed_numbers_are_those_of_the_thesis():
    """Each table's cells, counted and compared with the stored print."""

    def wanted(table, columns):
        rows = printed(table)
        return sorted(row[c] for row in rows for c in columns if row[c] not in ("", None))

    def found(table):
        return sorted(n["printed"].split(" ± ")[0] for n in NUMBERS if n["table"] == table)

    assert found("3.1") == wanted("table-3.1", ("NMI", "CQ", "novelty", "cost"))
    assert found("4.2") == wanted("table-4.2", ["NMI"])
    assert found("4.4") == wanted("table-4.4", ["NMI"])
    assert found("5.5") == wanted("table-5.5", ["score"])
    assert found("6.1") == wanted("table-6.1", ("train", "test", "H"))
    for name in ("4.6", "4.7"):
        columns = ("EIG HSIC", "EIG NMI", "SMA HSIC", "SMA NMI")
        assert found(name) == wanted(f"table-{name}", columns)


def test_a_reproduced_row_s_numbers_agree():
    """And a row that fails has one that does not.

    But for costs of Table 3.1, which its rule leaves out, and for rows of Tables 5.4 and 5.5 whose
    numbers agree one by one, and under no common reading.
    """
    for name, claim in ledger().items():
        own = [n for n in NUMBERS if n["claim"] == name]
        bad = [n for n in own if n["agrees"] == "no"]
        if claim.verdict == "reproduced":
            assert all(n["table"] == "3.1" and n["quantity"] == "cost" for n in bad), name
        elif claim.verdict == "not reproduced" and own:
            assert bad or name.startswith(("tab-5.4-", "tab-5.5-")), name


def test_the_report_has_every_table_and_figure():
    rows = list(csv.DictReader(io.StringIO(FILES["static/reproduction.csv"])))
    covered = {row["claim"] for row in rows}
    assert {i for i in ledger() if re.match(r"(tab|fig)-", i)} <= covered
    assert all(row["verdict"] == ledger()[row["claim"]].verdict for row in rows)
    for claim in covered:
        assert f"`{claim}`" in FILES["reproduction.md"]
