"""The pages made from the ledger are fresh, complete, and their links are those of the book."""

import csv
import io
import json
import re
from functools import cache
from pathlib import Path

import numpy as np
from ismlit_book import files, printed, results
from ismlit_book.experiments import report, table_6_1
from ismlit_book.record.cells import Place
from ismlit_book.record.ledger import SIGNS, counts, ledger, told_apart

from tools.site import pages, verdicts

FILES = cache(pages.pages)  # seconds: not while tests are collected
NUMBERS = list(report.numbers())


def test_generated_files_are_fresh(subtests):
    for name, text in FILES().items():
        with subtests.test(name):
            stored = (files.pages() / name).read_text(encoding="utf-8")
            assert stored == text, "run: python -m tools.site.pages"


def test_a_claim_stands_beside_the_names_that_its_cell_calls():
    source = "check('eq-5.1', gram(Gaussian(1.0), X), label_gamma)  # not hsic"
    where = {"eq-5.1": [Place(Path("record/5.1.ipynb"), "Heading", source, 0)]}
    found = verdicts.behind(where)
    assert found == {name: ["eq-5.1"] for name in ("Gaussian", "gram", "label_gamma")}


def test_the_ledger_as_linked_data():
    """Every claim once, with its verdict; what it uses names it among its users."""
    data = json.loads(FILES()["static/claims.jsonld"])
    graph = {entry["@id"]: entry for entry in data["@graph"]}
    assert {entry["identifier"]: entry["verdict"] for entry in graph.values()} == {
        name: claim.verdict for name, claim in ledger().items()
    }
    for address, entry in graph.items():
        assert all(address in graph[used]["usedBy"] for used in entry["uses"])
        assert all(address in graph[user]["uses"] for user in entry["usedBy"])


def test_every_verdict_has_a_sign_of_its_own():
    assert len(set(SIGNS.values())) == len(SIGNS)
    assert {claim.verdict for claim in ledger().values()} <= set(SIGNS)


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
    judged = [row[c] for row in printed("table-6.1") for c in table_6_1.cells_of(row)]
    assert found("6.1") == sorted(judged)
    for name in ("4.6", "4.7"):
        columns = ("EIG HSIC", "EIG NMI", "SMA HSIC", "SMA NMI")
        assert found(name) == wanted(f"table-{name}", columns)


def test_a_reproduced_row_s_numbers_agree():
    """All of them; one that is not reproduced has one that does not.

    But for rows of Tables 5.4 and 5.5 whose numbers agree one by one, and under no common reading.
    """
    for name, claim in ledger().items():
        own = [n for n in NUMBERS if n["claim"] == name]
        bad = [n for n in own if n["agrees"] == "no"]
        if claim.verdict == "reproduced":
            assert not bad, name
        elif claim.verdict == "not reproduced" and own:
            assert bad or name.startswith(("tab-5.4-", "tab-5.5-")), name
        elif claim.verdict == "reproduced in part":
            assert len(bad) < len(own) or not own, name


def test_the_report_has_every_table_and_figure():
    rows = list(csv.DictReader(io.StringIO(FILES()["static/reproduction.csv"])))
    covered = {row["claim"] for row in rows}
    assert {i for i in ledger() if re.match(r"(tab|fig)-", i)} <= covered
    assert all(row["verdict"] == ledger()[row["claim"]].verdict for row in rows)
    shown = {c.id for here in verdicts.tables().values() for c in here}
    assert shown == covered


def test_rows_written_out():
    """One number of each kind of table, from the stored runs, by hand."""
    stored = results("table-4.2")
    kept = dict(set="Cancer", method="DEC", data="scaled", where="all")
    values = next(r["NMI"] for r in stored if kept.items() <= r.items())
    row = next(n for n in NUMBERS if (n["table"], n["row"]) == ("4.2", "Cancer DEC"))
    assert row["claim"] == "tab-4.2-dec"
    assert row["printed"].startswith("79.2")
    assert row["recomputed"] == f"{np.mean(values):.2f} ± {np.std(values):.3f}"
    kept = dict(set="Wine", paradigm="supervised", kernel="gaussian", method="ISM, code")
    run = next(r for r in results("table-5.4") if kept.items() <= r.items())
    row = next(n for n in NUMBERS if n["row"] == "Wine supervised gaussian ISM")
    assert (row["claim"], row["quantity"]) == ("tab-5.4-wine-gaussian", "cost")
    assert row["recomputed"].split(" ± ")[0] == f"{np.mean(run['cost']):.0f}"


def test_claims_without_a_cell_stand_in_a_list():
    text = (files.pages() / "ledger.md").read_text(encoding="utf-8")
    listed = text.partition("Without a cell:\n\n")[2].strip().split("\n")
    told = int(re.search(r"all but \[(\d+)\]", text)[1])
    assert len(listed) == told and all(line.startswith("- <a ") for line in listed)


def test_the_readme_counts_as_the_ledger_does():
    theirs, ours = told_apart()
    number, text = counts(theirs), (files.pages().parent / "README.md").read_text(encoding="utf-8")
    line = " ".join(text.split())
    for verdict, words in (
        ("holds", "hold,"),
        ("holds as corrected", "hold once they are corrected"),
        ("fails", "fail;"),
        ("reproduced", "are reproduced"),
        ("reproduced in part", "in part"),
        ("not reproduced", "not."),
    ):
        assert f"{number[verdict]} {words}" in line, verdict
    assert f"{len(theirs)} claims" in line
    assert f"{len(ours)} claims of its own, of which {counts(ours)['holds']} hold" in line
