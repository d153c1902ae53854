"""The notes of the rows of Tables 4.2 and 4.4, and of Table 6.1's Random, say what is stored."""

import re

import numpy as np
import pytest
from ismlit_book.experiments import table_4_2
from ismlit_book.experiments.deep_peers import AEC, IMSAT, LayeredDEC, LongAEC
from ismlit_book.record.ledger import ledger
from ismlit_book.record.tables import printed, results

STORED, PROGRAM, MORE = map(results, ("table-4.2", "program-4.2", "hypotheses-4.2"))
TABLES = {
    "4.2": table_4_2.Beside(printed("table-4.2"), "all", STORED, PROGRAM),
    "4.4": table_4_2.Beside(printed("table-4.4"), "part", STORED, PROGRAM, MORE),
}
START = "program, part's start"
KNET, RIVALS = table_4_2.KNETS, ("AEC", "DEC", "IMSAT", "SN", "SC", "k-means")
LONG = ("Wine", "Cancer", "Moon", "Spiral1")
both = pytest.mark.parametrize("number", TABLES)


def note(number, name):
    return ledger()[f"tab-{number}-{name.lower().replace('-', '')}"].note


def mean(values):
    return f"{np.mean(values):.1f}"


def pair(number, name, kind):
    """KNet's two cells by a kind of reading, EIG before SMA."""
    found = [TABLES[number].by[name, method].get(kind) for method in KNET]
    return " and ".join(mean(values) for values in found if values) or "not run"


def knet_note(number, name):
    """All that a note of KNet's cells says in numbers."""
    eig, sma = (TABLES[number].by[name, method] for method in KNET)
    value = [f"{TABLES[number].value[name, method]:.1f}" for method in KNET]
    told = (
        f"Printed {value[0]} and {value[1]}; by the authors' program "
        f"{pair(number, name, 'program')}; by the text {pair(number, name, 'text')}; "
        f"KNetClustering, another algorithm, {pair(number, name, 'ours')}."
    )
    if number == "4.4":
        if "program, published part" in eig:
            there = mean(eig["program, published part"])
            told += f" The authors' own 300 and 30 000 points: {there}."
        told += (
            " By the program's other scores: EIG, the part alone, "
            f"{mean(eig['program, part alone'])}; SMA, its start on the part, "
            f"{mean(sma[START])}."
        )
    elif name == "Wine":
        told += (
            f" Over five kept networks the program's EIG has "
            f"{mean(eig['program, other networks'])}; k-means on its images at the end, SMA, "
            f"{mean(sma['program, images'])}."
        )
        assert len(eig["program, other networks"]) == 5
    elif name == "RCV":
        start = mean(eig["program, start"])
        (run,) = (
            r for r in PROGRAM if (r["set"], r["update"], r["where"]) == ("RCV", "eig", "all")
        )
        assert len(run["NMI"]) == 2 and table_4_2.near(value[0], run["start"])
        told += (
            f" Before its network moves, the program has {start} and {mean(sma['program'])}: EIG "
            f"is printed as its start. Pretrained for {run['epochs'][0]:.0f} epochs, two runs."
        )
    return told


@both
@pytest.mark.parametrize("name", table_4_2.SETS)
def test_notes_of_knet_s_cells(number, name):
    assert note(number, name) == knet_note(number, name)


def come_out(number, method):
    """{reading: sets} by which cells of a rival's column come out, the plain reading first."""
    table, found = TABLES[number], {"": []}
    for name in table_4_2.SETS:
        if (name, method) not in table.by:
            continue
        readings, wanted = table.by[name, method], table.value[name, method]
        plain = next(iter(readings))
        near = {how for how, values in readings.items() if table_4_2.near(wanted, values)}
        for how in ["plain"] if plain in near else near:
            how = how.removeprefix(method).removesuffix(", images").strip(", ")
            how = "" if how == "plain" else how or "own clusters"
            if name not in found.setdefault(how, []):
                found[how].append(name)
    return found


def listed(names):
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


WAYS = {
    "own clusters": "By its own clusters {}.",
    "800 steps": "By 800 steps {}.",
    "searched": "By appendix B.4's search on {}.",
}


@both
@pytest.mark.parametrize("method", RIVALS)
def test_notes_of_the_others_columns(number, method):
    """Which cells come out plainly, and which by what other reading."""
    if (number, method) == ("4.4", "SC"):
        return
    told = note(number, method)
    found = come_out(number, method)
    plain = found.pop("")
    if method == "SN" and number == "4.2":  # its cells by the search are the plain ones
        searched = {name for name, where in table_4_2.AT_THEIR_BEST["SN, searched"]}
        assert searched == {"Wine", "Cancer", "Moon"}
    first = listed(plain) + (" come out" if len(plain) > 1 else " comes out") if plain else None
    assert told.startswith(first or "None comes out plainly."), first
    for how, names in found.items():
        way = WAYS.get(how, f"By another reading ({how}) {{}}.").format(listed(names))
        assert way in told, way
    said = re.findall(r"By (?:another reading \(.*?\)|its own clusters|800 steps)", told)
    assert len(said) == len(found)


def test_efforts_that_the_notes_name():
    """Epochs, steps and runs, of the methods as they are written."""
    assert (AEC.epochs, LongAEC.epochs) == ((50, 50), (200, 60))
    assert {n for n, _ in table_4_2.AT_THEIR_BEST["AEC, 200 + 60 epochs"]} == set(LONG)
    for number in TABLES:
        told = f"200 + 60 epochs on {listed(LONG)}, else 50 + 50"
        assert told in note(number, "AEC")
        told = "50 epochs, as its authors' program has, or 200 steps if these are more"
        assert told in note(number, "IMSAT")
    assert [IMSAT(3).n_steps(n) for n in (178, 1250, 10_000)] == [200, 250, 2000]
    assert IMSAT.steps == 200 and LayeredDEC.part == 1 / 30
    layered = table_4_2.AT_THEIR_BEST["DEC, layer by layer"]
    assert f"on {listed([n for n, _ in layered])}, one run each" in note("4.2", "DEC")
    assert {len(TABLES["4.2"].by[n, "DEC"]["DEC, layer by layer"]) for n, _ in layered} == {1}
    small, large = sorted(TABLES["4.4"].by["RCV", "DEC"]["DEC, images"])
    assert f"RCV as the mean of two runs of {small:.0f} and {large:.0f}" in note("4.4", "DEC")


@pytest.mark.parametrize("number", TABLES)
def test_notes_of_the_tables_count_what_comes_out(number):
    """All numbers of the notes of the tables as a whole."""
    table = TABLES[number]
    lines = {line["cells"]: line for line in table.tallies()}
    every, text, program, ours, others = (
        lines[key]
        for key in (
            "all, by some reading",
            "KNet, by the text",
            "KNet, by the program",
            "KNet, ours",
            "the others, by some reading",
        )
    )
    keys = [key for key in table.by if key[1] in KNET]
    near = lambda key, how: table_4_2.near(table.value[key], table.by[key][how])
    alike = lambda key: [how for how in table.by[key] if near(key, how)]
    some = sum(alike(key) not in ([], ["ours"]) for key in keys)
    extra = ""
    if number == "4.4":
        alone = sum("program, part alone" in alike(key) for key in keys)
        of_sma = [key for key in keys if key[1] == "KNet SMA"]
        start = sum(START in alike(key) for key in of_sma)
        extra = (
            f"; by the program's other scores, of the part alone, {alone}, "
            f"and of SMA's start on it {start} of SMA's {len(of_sma)}"
        )
    told = (
        f"{every['come out']} of {every['of']} cells come out by some reading, within three "
        f"points: {some} of KNet's {len(keys)} ({program['come out']} by the authors' "
        f"program, {text['come out']} of the {text['of']} run by the text{extra}), "
        f"{others['come out']} of the others' {others['of']}. Had each print been wrong by "
        f"6 to 10 points, {every['had the print been wrong']} would in the mean. "
        f"KNetClustering, another algorithm, has {ours['come out']} of KNet's."
    )
    assert ledger()[f"tab-{number}"].note == told
    assert table_4_2.MARGIN == 3
    assert {abs(off) for off in table_4_2.WRONG} == {*range(6, 11)}


def test_random_as_printed_in_table_6_1():
    (row,) = (r for r in printed("table-6.1") if (r["set"], r["method"]) == ("random", "H"))
    told = f"On Random, where there is nothing to learn, H is {float(row['H']):.2f} and the test "
    assert f"{told}accuracy {row['test']}, as printed." in ledger()["txt-1-regularises"].note
