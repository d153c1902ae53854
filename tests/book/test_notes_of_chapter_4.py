"""Clauses of the notes of chapter 4 that stand in no cell: settings, and what they reach."""

import numpy as np
from ismlit_book.experiments import program_4_2, table_4_2
from ismlit_book.experiments.deep_peers import LeakingIMSAT, LongIMSAT
from ismlit_book.methods.knet.perceptron import Adam
from ismlit_book.record.ledger import ledger
from ismlit_book.record.tables import printed, results

STORED, PROGRAM = results("table-4.2"), results("program-4.2")
TABLE = table_4_2.Beside(printed("table-4.2"), "all", STORED, PROGRAM)
OF_PARTS = table_4_2.Beside(printed("table-4.4"), "part", STORED, PROGRAM)


def test_knet_s_row_of_table_B_1():
    """The printed settings are those of the program, which reaches Moon and Spiral1 by them."""
    assert program_4_2.Adam is Adam
    told = f"KNet's row ({program_4_2.RATE}, {program_4_2.BATCH}, Adam) does reach"
    note = ledger()["tab-B.1"].note
    assert note.startswith(f"{told} Moon and Spiral1 by the authors' program;")
    for name in ("Moon", "Spiral1"):
        for method in table_4_2.KNETS:
            found = np.mean(TABLE.by[name, method]["program"])
            assert round(found) == TABLE.value[name, method] == 100


def test_imsat_s_eight_hundred_steps():
    """Tried on the small sets: all but the two largest."""
    assert LongIMSAT.steps == 800 and LeakingIMSAT.leaking
    assert "800 steps were tried on the small sets" in ledger()["tab-4.2-imsat"].note
    tried = {n for n in table_4_2.SETS if "IMSAT, 800 steps" in TABLE.by[n, "IMSAT"]}
    facts = {row["set"]: int(row["N"]) for row in printed("table-4.1")}
    assert tried == {n for n, size in facts.items() if size <= 1000}


def test_networks_are_scored_by_their_images_in_table_4_4():
    """Of all samples, clustered by k-means."""
    assert "Images: of all samples, clustered by k-means." in ledger()["tab-4.4-aec"].note
    for name, method in OF_PARTS.by:
        if method in ("AEC", "DEC", "IMSAT"):
            assert OF_PARTS.plain((name, method))[0].endswith(", images")
