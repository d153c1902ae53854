"""Fields of what chapter 3's text says of its experiments: times, steps, falls, and the print."""

import numpy as np

from ismlit_book import printed, results
from ismlit_book.experiments import alternatives as peers
from ismlit_book.experiments import program_3_1 as program
from ismlit_book.experiments import table_3_1 as table
from ismlit_book.notes import WORDS, about
from ismlit_book.notes.table_3_1 import AT, PRINTED

SETS, SOLVERS = list(table.SETS), ("ISM", "SM", "DG")
READINGS = {"text": "centred", "program": "program"}


def number(text):
    """Of a printed or a stored cell; NaN where there is none."""
    return np.nan if text in ("", [None]) else np.mean(np.asarray(text, float))


def value(source, *key, column="seconds"):
    """A cell of Table 3.1, "printed" or by a reading, its mean over the runs."""
    row = PRINTED[key] if source == "printed" else AT[*key, READINGS[source]]
    return number(row[column])


def most_over(source, method, kept=lambda key: True):
    """The most times as long as ISM that a method takes, over sets and starts that are kept."""
    return max(
        value(source, *key) / value(source, key[0], "ISM", key[2])
        for key in PRINTED
        if key[1] == method and kept(key)
    )


def rough(number_):
    """One significant digit: times of a busy machine are worth no more."""
    return f"{float(f'{number_:.0e}'):.0f}"


def power(number_):
    """ "1.1e5"."""
    return f"{number_:.1e}"


@about("txt-3.5-speed")
def speed(claim_id):
    """SM's and DG's most over ISM's, and SM's where all its runs settle."""
    times = {f"{m}_{s}": rough(most_over(s, m)) for s in READINGS for m in ("SM", "DG")}
    settles = lambda key: max(AT[*key, "program"]["turns"]) < program.TURNS
    return times | dict(SM_settled=rough(most_over("program", "SM", settles)))


@about("txt-3.6-five-folds", "aistats-orders")
def printed_factors(claim_id):
    """Of the printed seconds."""
    faces = {
        method: value("printed", "Faces", method, "SI") / value("printed", "Faces", "ISM", "SI")
        for method in ("SM", "DG")
    }
    most = {method: most_over("printed", method) for method in ("SM", "DG")}
    return dict(DG=power(most["DG"]), SM=most["SM"], faces=faces["SM"], DG_faces=power(faces["DG"]))


@about("txt-3.1-46-hours", "txt-5-two-days", "txt-3.5-si-time")
def printed_seconds(claim_id):
    """Of DG and ISM on Faces, of SM and ISM on WebKb; and DG's printed cost."""
    row = PRINTED["Faces", "DG", "RI"]
    return dict(
        hours=value("printed", "Faces", "DG", "SI") / 3600,
        days=value("printed", "Faces", "DG", "RI") / 86400,
        ISM=value("printed", "Faces", "ISM", "RI"),
        cost=f"{row['cost']} ± {row['cost sd']}",
        ISM_cost=PRINTED["Faces", "ISM", "RI"]["cost"],
        web_SM=value("printed", "WebKb", "SM", "SI"),
        web_ISM=value("printed", "WebKb", "ISM", "SI"),
    )


@about("txt-3.5-best", "txt-3.5-si", "txt-3.1-high-hsic")
def printed_quality(claim_id):
    """NMI and CQ as printed."""
    web = {method: PRINTED["WebKb", *method]["CQ"] for method in (("ISM", "SI"), ("DG", "RI"))}
    scores = [
        value("printed", *key, column="NMI")
        for key in PRINTED
        if key[0] in ("Moon", "MoonN") and round(value("printed", *key, column="CQ"), 1) == 2
    ]
    quality = {key: value("printed", *key, column="CQ") for key in PRINTED}
    pairs = sorted({key[:2] for key in PRINTED})
    by_start = lambda column: {
        p: value("printed", *p, "SI", column=column) - value("printed", *p, "RI", column=column)
        for p in pairs
    }
    change = {p: v for p, v in by_start("NMI").items() if not np.isnan(v)}
    return dict(
        faster=sum(v < 0 for v in by_start("seconds").values()),
        pairs=len(pairs),
        worse=WORDS[sum(v < -0.02 for v in change.values())],
        scored=len(change),
        ISM=web["ISM", "SI"],
        DG=web["DG", "RI"],
        NMI=PRINTED["WebKb", "DG", "RI"]["NMI"],
        SM=PRINTED["WebKb", "SM", "SI"]["CQ"],
        SM_NMI=value("printed", "WebKb", "SM", "SI", column="NMI"),
        before=PRINTED["SG", "DG", "RI"]["NMI"],
        after=PRINTED["SG", "DG", "SI"]["NMI"],
        top={n: max(v for key, v in quality.items() if key[0] == n) for n in ("WebKb", "Moon")},
        least=min(scores),
    )


@about("txt-3.5-lower-cost")
def of_webkb(claim_id):
    """Printed cells of SM and ISM from the spectral start."""
    return {method: PRINTED["WebKb", method, "SI"] for method in ("SM", "ISM")}


def _per_turn(method, reading, counted):
    found = [AT[n, method, "SI", reading] for n in SETS]
    return float(np.median([row[counted][0] / row["turns"][0] for row in found]))


@about("txt-3.2-steps", "txt-3.1-dg-slow")
def steps(claim_id):
    """Passes and steps for one W from the spectral start, medians over the sets."""
    readings = program.READINGS
    return dict(
        passes={m: _per_turn(m, "centred", "passes") for m in SOLVERS},
        steps={m: _per_turn(m, "program", "steps") for m in SOLVERS},
        limit=table.MOST_PASSES,
        cap=readings["SG"].steps,
        on_faces=readings["Faces"].steps,
    )


@about("txt-3.5-trivial")
def largest_cluster(claim_id):
    """Of SM's clustering of WebKb from the spectral start, in percent."""
    return {s: 100 * AT["WebKb", "SM", "SI", r]["largest"][0] for s, r in READINGS.items()}


@about("new-frozen-falls")
def falls(claim_id):
    """Runs in which (3.2) falls, degrees held."""
    names = {"ISM": "ISM", "SM": "SM", "DG": "DG", "exact": "ISM, exact"}
    runs = {
        key: [fell for n in SETS for i in ("SI", "RI") for fell in AT[n, m, i, "centred"]["fell"]]
        for key, m in names.items()
    }
    return {key: sum(fell) for key, fell in runs.items()} | dict(of=len(runs["ISM"]))


def _moved(source, column):
    """Mean change of a column by the start, and by the solver."""
    scale = np.log10 if column == "seconds" else np.positive
    cell = lambda *key: scale(value(source, *key, column=column))
    each = [(n, m) for n in SETS for m in SOLVERS]
    by_start = [abs(cell(n, m, "SI") - cell(n, m, "RI")) for n, m in each]
    by_solver = [
        abs(cell(n, "ISM", i) - cell(n, m, i)) for n, m in each if m != "ISM" for i in ("SI", "RI")
    ]
    return np.nanmean(by_start), np.nanmean(by_solver)


@about("txt-3.5-start-quality")
def start_and_solver(claim_id):
    """What each moves NMI and time by."""
    sources = ("printed", *READINGS)
    times = {s: [rough(10**v) for v in _moved(s, "seconds")] for s in sources}
    return dict(NMI={s: _moved(s, "NMI") for s in sources}, time=times)


@about("new-alternatives-behind")
def behind_on_faces(claim_id):
    """By how much KDAC is behind the best where the people are known."""
    found = {
        r["method"]: np.mean(r["NMI"])
        for r in results("alternatives")
        if r["set"] == "Faces, identity known"
    }
    rivals = [v for m, v in found.items() if not m.startswith(("KDAC", "nothing"))]
    return dict(people=max(rivals) - found[peers.OURS])


@about("txt-3.2-q-small", "fig-3.3-faces")
def kept(claim_id):
    """The directions that Table 3.2 keeps of WebKb and of Faces."""
    of = {r["set"]: r["q"] for r in printed("table-3.2")}
    return dict(q=of["WebKb"], faces=of["Faces"])


@about("txt-3.5-cost", "txt-3.5-grid")
def settings_and_costs(claim_id):
    """Moon's printed cost; WebKb's printed bandwidth and weight."""
    sigma, weight, _ = table.settings("WebKb")
    return dict(moon=PRINTED["Moon", "ISM", "SI"]["cost"], sigma=sigma, weight=weight)
