"""Fields of the rows of Tables 4.2 and 4.4: KNet's cells, its rivals' columns, and the counts."""

import numpy as np

from ismlit_book import printed, results
from ismlit_book.experiments import program_4_2, table_4_2
from ismlit_book.experiments.deep_peers import AEC, CLUSTERING, IMSAT, LongAEC, LongIMSAT
from ismlit_book.notes import WORDS, about

STORED, PROGRAM, MORE = map(results, ("table-4.2", "program-4.2", "hypotheses-4.2"))
TABLES = {
    "4.2": table_4_2.Beside(printed("table-4.2"), "all", STORED, PROGRAM),
    "4.4": table_4_2.Beside(printed("table-4.4"), "part", STORED, PROGRAM, MORE),
}
START = "program, part's start"
KNET, RIVALS = table_4_2.KNETS, ("AEC", "DEC", "IMSAT", "SN", "SC", "k-means")


def _claim(number, name):
    return f"tab-{number}-{name.lower().replace('-', '')}"


CELLS = {_claim(number, name): (number, name) for number in TABLES for name in table_4_2.SETS}
COLUMNS = {_claim(number, name): (number, name) for number in TABLES for name in RIVALS}
del COLUMNS["tab-4.4-sc"]  # which is not printed


def mean(values):
    """In percent with one decimal."""
    return f"{np.mean(values):.1f}"


def listed(names):
    """With commas and an "and"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


# ---------------------------------------------------------------- KNet's cells


@about(*CELLS)
def of_knet(claim_id):
    """KNet's two cells on a set, printed and by each kind of reading, EIG before SMA."""
    number, name = CELLS[claim_id]
    table = TABLES[number]
    eig, sma = (table.by[name, method] for method in KNET)

    def told(values):
        apart = number == "4.4" and np.ptp(values) > table_4_2.MARGIN
        return mean(values) + (f" ({min(values):.0f} to {max(values):.0f})" if apart else "")

    pair = lambda kind: " and ".join(told(cell[kind]) for cell in (eig, sma) if kind in cell)

    value = [f"{table.value[name, method]:.1f}" for method in KNET]
    parts = f", means of {WORDS[len(eig['program'])]} parts" if number == "4.4" else ""
    text = f"EIG {told(eig['text'])}" if "text" in eig else "not run"
    here = (
        f"Printed {value[0]} and {value[1]}; by the authors' program {pair('program')}{parts}; "
        f"by the text {text}; KNetClustering, another algorithm, {pair('ours')}."
    )
    if number == "4.4":
        there = eig.get("program, published part")
        if there:
            runs = f"a mean of {WORDS[len(there)]}"
            here += f" EIG on the authors' own 300 and 30 000 points: {told(there)}, {runs}."
        here += (
            " By the program's other scores: EIG, the part alone, "
            f"{mean(eig['program, part alone'])}; SMA, its start on the part, {mean(sma[START])}."
        )
    here += (
        f" Any printed number within {WORDS[int(table_4_2.MARGIN)]} points would come out as well."
    )
    found = dict(here=here)
    if claim_id == "tab-4.2-wine":
        found |= dict(kept=mean(eig["program, other networks"]))
        found |= dict(images=mean(sma["program, images"]))
    if claim_id == "tab-4.2-rcv":
        run = next(
            r for r in PROGRAM if (r["set"], r["update"], r["where"]) == ("RCV", "eig", "all")
        )
        found |= dict(eig=mean(eig["program, start"]), sma=mean(sma["program"]))
        found |= dict(epochs=run["epochs"][0])
    return found


# ---------------------------------------------------------------- the others' columns

WAYS = {
    "own clusters": "By its own clusters {}.",
    "800 steps": f"By {LongIMSAT.steps} steps {{}}.",
    "800 steps, own clusters": f"By its own clusters, {LongIMSAT.steps} steps, {{}}.",
    "searched": "By appendix B.4's search on {}.",
}


def come_out(number, method):
    """{reading: sets} by which cells of a rival's column come out, the plain reading first."""
    table, found = TABLES[number], {"": []}
    for name in table_4_2.SETS:
        if (name, method) not in table.by:
            continue
        readings, wanted = table.by[name, method], table.value[name, method]
        plain = next(iter(readings))
        near = [how for how, values in readings.items() if table_4_2.near(wanted, values)]
        for how in ["plain"] if plain in near else near:
            own = f"{how}, images" in readings  # its clusters, not those of its images
            how = how.removeprefix(method).removesuffix(", images").strip(", ")
            how = "" if how == "plain" else ", ".join(filter(None, [how, own * "own clusters"]))
            if name not in found.setdefault(how, []):
                found[how].append(name)
    return found


def epochs(network):
    """ "50 + 50": before and after the clusters come in."""
    return " + ".join(map(str, network.epochs))


def of_layers():
    """DEC trained layer by layer, by how many of its paper's steps, and what is printed."""
    by, way = TABLES["4.2"].by, "DEC, layer by layer"
    layered = {name: mean(by[name, "DEC"][way]) for name in ("Moon", "Wine")}
    told = {name: TABLES["4.2"].value[name, "DEC"] for name in layered}
    return dict(layered=layered, told=told, hurried=mean(by["Wine", "DEC"][f"{way}, a hundredth"]))


@about(*COLUMNS)
def of_a_rival(claim_id):
    """Which cells of a column come out plainly, and which by what other reading."""
    number, method = COLUMNS[claim_id]
    found = come_out(number, method)
    plain = found.pop("")
    first = listed(plain) + (" come out" if len(plain) > 1 else " comes out") if plain else ""
    ways = [
        WAYS.get(how, f"By another reading ({how}) {{}}.").format(listed(names))
        for how, names in found.items()
    ]
    facts = dict(plain=first or "None comes out plainly")
    facts |= dict(ways=" ".join(ways).replace("(sigma", "($sigma$"))
    facts |= dict(long=epochs(LongAEC), short=epochs(AEC), steps=IMSAT.steps)
    facts |= dict(many=LongIMSAT.steps, epochs=CLUSTERING)
    sets = lambda way: listed(dict.fromkeys(name for name, _ in table_4_2.AT_THEIR_BEST[way]))
    facts |= dict(on=sets("AEC, 200 + 60 epochs"), searched=sets("SN, searched"))
    if claim_id in ("tab-4.4-dec", "tab-4.4-kmeans"):
        of_rcv = TABLES["4.4"].plain(("RCV", method))[1]
        facts |= dict(small=min(of_rcv), large=max(of_rcv), parts=WORDS[len(of_rcv)])
    if claim_id == "tab-4.2-dec":
        facts |= of_layers()
    return facts


# ---------------------------------------------------------------- counts


@about("tab-4.2", "tab-4.4")
def of_a_table(claim_id):
    """How many cells come out, by which reading, and had each print been wrong."""
    number = claim_id.removeprefix("tab-")
    table = TABLES[number]
    lines = {line["cells"]: line for line in table.tallies()}
    every = lines["all, by some reading"]
    text, program = lines["KNet, by the text"], lines["KNet, by the program"]
    ours, others = lines["KNet, ours"], lines["the others, by some reading"]
    keys = [key for key in table.by if key[1] in KNET]
    near = lambda key, how: table_4_2.near(table.value[key], table.by[key][how])
    alike = {key: [how for how in table.by[key] if near(key, how)] for key in keys}
    of_sma = [key for key in keys if key[1] == "KNet SMA"]
    wrong = sorted({abs(off) for off in table_4_2.WRONG})
    return dict(
        some=sum(found not in ([], ["ours"]) for found in alike.values()),
        knet=len(keys),
        every=every,
        text=text,
        program=program,
        ours=ours,
        others=others,
        chance=every["had the print been wrong"],
        least=wrong[0],
        most=wrong[-1],
        alone=sum("program, part alone" in alike[key] for key in keys),
        start=sum(START in alike[key] for key in of_sma),
        sma=len(of_sma),
    )


@about("tab-B.1")
def settings_of_the_program(claim_id):
    """Rate and batch of the authors' program."""
    return dict(rate=program_4_2.RATE, batch=program_4_2.BATCH)


@about("tab-4.4-kmeans-fails")
def k_means_on_cancer(claim_id):
    """Its NMI learnt on a part."""
    return dict(NMI=np.mean(TABLES["4.4"].runs("Cancer", "k-means")))
