"""Numbers of the claims on tables: those of the notes are stored, those of the rows printed."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_wine

from ismlit.edition import loaders
from ismlit.edition.experiments import (
    program_4_2,
    readings,
    table_3_1,
    table_4_2,
    table_5_4,
    table_6_1,
)
from ismlit.edition.experiments.deep_peers import AEC, IMSAT, LongAEC, LongIMSAT
from ismlit.edition.ledger import ledger
from ismlit.edition.tables import printed, results

NOTES = {name: claim.note for name, claim in ledger().items()}
PLACES = re.compile(r"(?:Table|section|appendix) \S+|\b[a-z]+-[\w.-]+")
NUMBER = re.compile(r"(?<![\w.-])-?\d*\.?\d+(?:e-?\d+)?(?![\w⁰-⁹])")
PEERS = {"AEC": "aec", "DEC": "dec", "IMSAT": "imsat", "SN": "sn", "SC": "sc", "k-means": "kmeans"}
STORED = {name: results(name) for name in ("table-3.1", "table-5.4", "table-5.5", "table-6.1")}
PROGRAM, OF_KNET = results("program-6.1"), results("program-4.2")
OF_4 = {
    number: table_4_2.Beside(
        printed(f"table-{number}"),
        where,
        *map(results, ("table-4.2", "program-4.2", *more)),
    )
    for number, where, more in (("4.2", "all", ()), ("4.4", "part", ["hypotheses-4.2"]))
}


def said(note):
    """The numbers of a note as they are written, those of places in the thesis aside."""
    return NUMBER.findall(PLACES.sub("", re.sub(r"(?<=\d) (?=\d{3}\b)", "", note)))


def means(*runs, unit=1):
    """Means and deviations of some runs."""
    return [unit * size for run in runs for size in (np.mean(run), np.std(run))]


def unknown(note, numbers):
    """Which numbers of a note none of these rounds to."""
    rounds = lambda text, number: (
        f"{number:.{len(text.partition('.')[2])}f}" == text.replace("-.", "-0.")
        or ("e" in text and float(f"{number:.1e}") == float(text))
    )
    return [text for text in said(note) if not any(rounds(text, n) for n in numbers)]


@pytest.mark.parametrize("row", printed("table-3.1"), ids=lambda r: " ".join([*r.values()][:3]))
def test_notes_of_table_3_1(row):
    """The row's cells by any reading, and the settings that Table 3.2 has for the set."""
    of = lambda r: (r["set"], r["method"], r["init"])
    rows = [r for r in STORED["table-3.1"] if of(r) == of(row)]
    known = means(*(r[cell] for r in rows for cell in table_3_1.CELLS if r[cell][0] is not None))
    known += [np.mean(r["cost"]) + 2 * np.mean(r["CQ"]) for r in rows]
    known += [float(value) for value in table_3_1.settings(row["set"])[:3]]
    note = NOTES["tab-3.1-" + "-".join(of(row))]
    assert [text for text in unknown(note, known) if text not in OF_WEBKB] == []


OF_WEBKB = ("18.745", "18.742", ".75")  # of runs on the page 3.5-departures


@pytest.mark.parametrize("number", OF_4)
@pytest.mark.parametrize("name", [*table_4_2.SETS, *PEERS.values()])
def test_notes_of_tables_4_2_and_4_4(number, name):
    """Of a set KNet's cells, of a rival all: means, the print, and the settings of the methods."""
    table, note = OF_4[number], NOTES.get(f"tab-{number}-{name.lower()}", "")
    own = [key for key in table.by if name in (key[0], PEERS.get(key[1]))]
    known = [np.mean(run) for key in own for run in table.by[key].values()]
    known += [table.value[key] for key in own] + table.by["RCV", "DEC"].get("DEC, images", [])
    known += [*AEC.epochs, *LongAEC.epochs, IMSAT.steps, LongIMSAT.steps, 300, 30_000]
    known += [epochs for r in OF_KNET if r["set"] == name for epochs in r["epochs"]]
    assert unknown(note, known) == []


@pytest.mark.parametrize("number", OF_4)
@pytest.mark.parametrize("method", PEERS)
def test_what_comes_out_of_a_rival_s_column(number, method):
    """First the sets by its plain reading, then those by others."""
    table = OF_4[number]
    own = [key for key in table.by if key[1] == method]
    near = lambda key, *how: [h for h in how if table_4_2.near(table.value[key], table.by[key][h])]
    plain = {key[0] for key in own if near(key, table.plain(key)[0])}
    by_others = {key[0] for key in own if key[0] not in plain and near(key, *table.by[key])}
    first, *rest = NOTES.get(f"tab-{number}-{PEERS[method]}", "None").split(" come")
    assert {name for name in table_4_2.SETS if name in first} == plain
    assert {name for name in by_others if name not in "".join(rest)} == set()


@pytest.mark.parametrize("number", OF_4)
def test_notes_of_the_tables_count_what_comes_out(number):
    """In all, of KNet's cells by each kind of reading, and had the print been wrong."""
    table, note = OF_4[number], NOTES[f"tab-{number}"]
    knet = [key for key in table.by if key[1] in table_4_2.KNETS]
    lines = [[*line.values()][1:] for line in table.tallies()]
    known = [float(value) for line in lines for value in line]
    known += [len(knet), table.count(knet), *map(abs, table_4_2.WRONG)]
    known += [table.count(knet, f"program, {part}") for part in ("part alone", "part's start")]
    assert unknown(note, known) == []
    come, of, had = lines[-1]
    assert note.startswith(f"{come} of {of} cells") and f"{had} would" in note


@pytest.mark.parametrize(
    "name", [name for name in NOTES if re.match(r"tab-5\.[45]-(wine|cancer|face|mnist)", name)]
)
def test_notes_of_tables_5_4_and_5_5(name):
    """Of the set and the kernel: means by any reading, the print, ranks, numbers of clusters."""
    number, chosen, *rest = name.removeprefix("tab-").split("-")
    paradigm = "unsupervised" if "unsupervised" in rest else "supervised"
    here = lambda row: (
        (row[0].lower(), row[1]) == (chosen, paradigm) and (number == "5.5" or row[2] in rest)
    )
    known, costs = [0.2, 45], []  # points between two columns, and the q of a variation
    for reading in (readings.CODE, readings.TEXT, *(v.reading for v in readings.VARIATIONS)):
        for cell in readings.cells(f"table-{number}", reading):
            if here(cell.row) and cell.values:
                percent = paradigm == "supervised" and cell.quantity == "score"
                known += [cell.printed, *means(cell.values, unit=100 if percent else 1)]
                costs += [np.mean(cell.values)] * (cell.quantity == "cost")
                known.append(100 * abs(np.mean(cell.values) / cell.printed - 1))
    known += [round(value, -1) for value in known] + [cost / 1e6 for cost in costs]
    known += [cost / costs[0] for cost in costs]
    for row in STORED[f"table-{number}"]:
        if here((row["set"], row["paradigm"], row["kernel"].split(",")[0])):
            known += means(row.get("training accuracy, gamma = auto", 0), unit=100)
    (name_of,) = {row["set"] for row in printed("table-5.4") if row["set"].lower() == chosen}
    known += [
        readings.CODE.q[name_of],
        *readings.CODE.turns[name_of],
        readings.TEXT.turns[name_of][1],
    ]
    assert unknown(NOTES[name], known) == []


@pytest.mark.parametrize("row", printed("table-6.1"), ids=lambda r: " ".join([*r.values()][:2]))
def test_notes_of_table_6_1(row):
    """A cell that does not come out says what is here; and how many folds were run."""
    note = NOTES[f"tab-6.1-{row['set']}-{row['method']}"]
    found, judged = (
        of(row, table_6_1.PROGRAM, STORED["table-6.1"], PROGRAM)
        for of in (table_6_1.values, table_6_1.judge)
    )
    folds = len(found["train"])
    off = [np.mean(found[cell]) for cell, comes in judged.items() if not comes]
    assert unknown(note, [*off, folds]) == []
    assert len(said(note)) == len(off) + (1 < folds < 10)
    assert (folds < 10) == ("folds were run" in note or "One fold" in note)


@pytest.mark.parametrize("name", table_6_1.SETS)
def test_notes_of_table_D_7(name):
    """Mean widths of the layers that at least half of the folds have."""
    rows = [r["widths"].split() for r in printed("table-D.7") if r["set"] == name]
    (net,) = (r for r in PROGRAM if (r["set"], r["method"]) == (name, "H"))
    known = []
    for widths in ([[*map(int, row)] for row in rows], net["widths"]):
        columns = [[w[l] for w in widths if len(w) > l] for l in range(max(map(len, widths)))]
        known.append([f"{np.mean(c):.0f}" for c in columns if 2 * len(c) >= len(widths)])
    theirs, ours = map(", ".join, known)
    assert NOTES[f"tab-D.7-{name}"].startswith(f"Means: printed {theirs}; here {ours}.")


WORK = {"Wine": 160**2 * 13 * 4, "Cancer": 615**2 * 9 * 5, "Face": 562**2 * 960 * 20}
"""Of a step of GM on nine tenths of a set: n² d q."""
SETTINGS = {
    "sec-C.9": lambda: loaders.load_mnist().data.shape[1:],
    "txt-5-manifold": lambda: (*load_wine().data.shape, *loaders.load_face().data.shape),
    "txt-5.2-small-phi": lambda: loaders.load_face().data.shape,
    "txt-5.5-dg-steps": lambda: [len(set(loaders.load_face().target))],
    "txt-5.5-gap-q": lambda: [len(set(loaders.load_face().target))],
    "txt-3.5-webkb-data": lambda: of_webkb(loaders.load_webkb()),
    "txt-5.5-iterations": lambda: [table_5_4.METHODS["ISM, published"].keywords["tol"]],
    "tab-B.1": lambda: [program_4_2.RATE, program_4_2.BATCH],
    "tab-5.4-gm": lambda: [max(1, round(readings.GM_WORK / work)) for work in WORK.values()],
}


def of_webkb(bunch):
    return bunch.data.shape[1], bunch.counts.shape[1]


@pytest.mark.parametrize("name", SETTINGS)
def test_sizes_and_settings_that_notes_name(name):
    try:
        numbers = SETTINGS[name]()
    except OSError:
        pytest.skip("a data set is not at hand (ISMLIT_DATA)")
    assert {f"{number:g}" for number in numbers} <= {*said(NOTES[name])}


def test_accuracies_of_table_6_1_that_notes_quote():
    rows = printed("table-6.1")
    of = lambda cell, method: {r["set"]: float(r[cell]) for r in rows if r["method"] == method}
    network, entropy = of("train", "H"), of("train", "CE")
    adversarial = entropy.pop("adver")
    quoted = min(network.values()), max(entropy.values()), adversarial
    assert said(NOTES["txt-6.2-easier"]) == [f"{value:.2f}" for value in quoted]
    random = of("H", "H")["random"], of("test", "H")["random"]
    assert {f"{value:.2f}" for value in random} <= {*said(NOTES["txt-1-regularises"])}


def test_peers_with_one_objective_end_where_ism_does():
    """DG behind it by what its note says at most; SM and GM by a power of ten."""
    here = {
        (r["set"], r["kernel"], r["method"]): np.array(r["objective"])
        for r in STORED["table-5.4"]
        if "cost" not in r and r["paradigm"] == "supervised" and r["set"] != "MNIST"
    }
    behind = {"DG": [], "SM": [], "GM": []}
    for (name, kernel, method), J in here.items():
        if method in behind:
            ism = here[name, kernel, "ISM"][: len(J)]
            behind[method].append(abs(np.mean((ism - J) / ism)))
    assert f"{100 * max(behind['DG']):.1f}" in said(NOTES["tab-5.4-dg"])
    for peer in ("SM", "GM"):
        power = int(np.ceil(np.log10(max(behind[peer]))))
        assert f"1e{power}" in said(NOTES[f"tab-5.4-{peer.lower()}"])


TOLD = {
    "table-3.1": table_3_1.CELLS,
    "table-5.4": ("cost", "score"),
    "table-6.1": ("train", "test", "H", "MSE", "CE", "C", "T"),
}


@pytest.mark.parametrize("table", TOLD)
def test_rows_say_what_is_printed(table):
    """Accuracies of Table 5.4 in percent."""
    for row in printed(table):
        name, percent = claim_of(table, row), row.get("paradigm") == "supervised"
        if name in ledger():
            numbers = {k: float(v) for k, v in row.items() if re.fullmatch(r"-?[\d.]+", v)}
            if percent:
                numbers |= {k: round(100 * numbers[k], 6) for k in ("score", "score_sd")}
            found = {float(text) for text in said(ledger()[name].says.partition(":")[2])}
            wanted = {numbers[cell] for cell in TOLD[table] if row[cell]}
            assert wanted <= found <= {*numbers.values()}, name


def claim_of(table, row):
    """The id of the claim that is about a row alone."""
    places = [row["set"], *(row[key] for key in ("method", "init") if key in row)]
    if table == "table-5.4":
        without = [] if row["paradigm"] == "supervised" else ["unsupervised"]
        places = [row["set"].lower(), *without, row["kernel"]] if row["method"] == "ISM" else [""]
    return "-".join([table.replace("table", "tab"), *places])
