"""Fields of the rows of Table 5.4: costs and scores by the program and by the text."""

from types import SimpleNamespace

import numpy as np

from ismlit_book import printed, results
from ismlit_book.experiments.readings import CODE, GM_WORK, TEXT, VARIATIONS, cells
from ismlit_book.notes import WORDS, about

SETS = {"wine": "Wine", "cancer": "Cancer", "face": "Face", "mnist": "MNIST"}
BOTH = ("gaussian", "polynomial")
WAYS = ("", "unsupervised-")
ROWS = {
    f"tab-5.4-{s}-{way}{kernel}": (s, way, kernel) for s in SETS for way in WAYS for kernel in BOTH
}


def numbers(table, reading, row):
    """Mean, deviation and margin of a row's cost and score; accuracies and margins in percent."""
    found = {}
    for cell in cells(table, reading, {row}):
        if cell.values:
            unit = 100 if cell.quantity == "score" and row[1] == "supervised" else 1
            found[cell.quantity] = unit * np.mean(cell.values)
            found[f"{cell.quantity}_sd"] = unit * np.std(cell.values)
            percent = 100 / abs(cell.printed) if cell.quantity == "cost" else unit
            found[f"{cell.quantity}_slack"] = percent * cell.slack  # that it fits within
            found["folds"] = WORDS[len(cell.values)]
    return SimpleNamespace(**found)


def in_(row, place):
    """Whether a row is of a set, with or without labels, and of a kernel."""
    return (row["set"], row["paradigm"], row["kernel"]) == place


def by_method(place):
    """{method: what is stored of it} of a set, a paradigm and a kernel."""
    return {r["method"]: r for r in results("table-5.4") if in_(r, place)}


def as_published(place):
    """Accuracy on training folds of ISM as published, in percent."""
    return 100 * np.mean(by_method(place)["ISM, published"]["training accuracy, gamma = auto"])


def varied(place, change, method="ISM"):
    """A row with one assumption of the program's reading changed."""
    name = f"code, {change}"
    reading = next(v.reading for v in VARIATIONS if v.reading.name == name)
    return numbers("table-5.4", reading, (*place, method))


VARIED = {
    "face-polynomial": dict(q45=("Face q = 45, thousands",)),
    "wine-unsupervised-gaussian": dict(clusters=("cost of the clusters",)),
    "wine-unsupervised-polynomial": dict(
        clusters=("cost of the clusters",), classes=("cost of the classes",)
    ),
    "cancer-unsupervised-polynomial": dict(
        plain=("cost of the plain clusters",),
        plain_sm=("cost of the plain clusters", "SM"),
        bell=("NMI by a Gaussian kernel",),
    ),
}


@about(*ROWS)
def of_ism(claim_id):
    """Of a row of ISM: p by the program, t by the text, and what else its note names."""
    name, way, kernel = ROWS[claim_id]
    place = SETS[name], "unsupervised" if way else "supervised", kernel
    p, t = (numbers("table-5.4", reading, (*place, "ISM")) for reading in (CODE, TEXT))
    rows = {r["method"]: r for r in printed("table-5.4") if in_(r, place)}
    costs = {method: row["cost"] for method, row in rows.items()}
    peers = sorted((c for m, c in costs.items() if m != "ISM"), key=lambda c: -float(c))
    changes = VARIED.get(claim_id.removeprefix("tab-5.4-"), {})
    facts = {key: varied(place, *change) for key, change in changes.items()}
    facts |= dict(p=p, t=t, q=CODE.q[place[0]], turns=CODE.turns[place[0]])
    facts |= dict(peers=(peers[0], peers[-1]), printed=(costs["ISM"], costs.get("SM")))
    facts |= dict(said=_said(rows["ISM"], way), millions=p.cost / 1e6)
    if not way:
        facts |= dict(times=t.cost / p.cost, tens=round(p.cost_sd, -1))
    if claim_id == "tab-5.4-mnist-polynomial":
        facts |= dict(training=as_published(place))
    return facts


def _said(row, way):
    """Cost and score as printed; accuracies in percent."""
    if way:
        return f"cost {row['cost']}, NMI {row['score']}"
    percent = lambda text: f"{100 * float(text):.{max(len(text.partition('.')[2]) - 2, 0)}f}"
    score, spread = percent(row["score"]), percent(row["score_sd"])
    return f"cost {row['cost']} ± {row['cost_sd']}, accuracy {score} ± {spread} %"


# ---------------------------------------------------------------- the columns of the peers


def _behind(peer):
    """How far a peer ends from ISM in the mean at most, as a share, on one objective."""
    here = {
        (r["set"], r["kernel"], r["method"]): np.array(r["objective"])
        for r in results("table-5.4")
        if "cost" not in r and r["paradigm"] == "supervised" and r["set"] != "MNIST"
    }
    off = []
    for (name, kernel, method), J in here.items():
        if method == peer:
            ism = here[name, kernel, "ISM"][: len(J)]
            off.append(abs(np.mean((ism - J) / ism)))
    return max(off)


def _tally(chosen):
    fits = [cell.fits for cell in cells("table-5.4") if chosen(*cell.row, cell.quantity)]
    return sum(fits), len(fits)


@about("tab-5.4-dg", "tab-5.4-sm", "tab-5.4-gm")
def of_a_peer(claim_id):
    """How far behind ISM it ends, and what it had time for."""
    peer = claim_id.removeprefix("tab-5.4-").upper()
    most = _behind(peer)
    works = {"Wine": 160**2 * 13 * 4, "Cancer": 615**2 * 9 * 5, "Face": 562**2 * 960 * 20}
    hits, count = _tally(
        lambda name, paradigm, _, method, quantity: (
            (paradigm, method, quantity) == ("supervised", peer, "cost") and name != "MNIST"
        )
    )
    return dict(
        percent=100 * most,
        power=f"1e{int(np.ceil(np.log10(most)))}",
        steps={name: max(1, round(GM_WORK / work)) for name, work in works.items()},
        hits=WORDS[hits],
        of=WORDS[count],
    )


@about("tab-5.4-peers-unsupervised")
def of_peers_alone(claim_id):
    """How many of their costs and NMI values come out without labels."""
    of = lambda quantity, kernels: _tally(
        lambda _, paradigm, kernel, method, what: (
            paradigm == "unsupervised"
            and method != "ISM"
            and what == quantity
            and kernel in kernels
        )
    )
    hits, count = of("cost", BOTH)
    facts = dict(hits=WORDS[hits], of=count)
    for kernel in BOTH:
        hits, count = of("score", [kernel])
        facts[kernel] = f"{WORDS[hits]} of {WORDS[count]}"
    return facts


@about("tab-5.4-mnist-columns")
def of_two_kernels_on_mnist(claim_id):
    """How far the two kernels are apart."""
    places = [("MNIST", "supervised", kernel) for kernel in BOTH]
    gaussian, cubic = (numbers("table-5.4", TEXT, (*place, "ISM")).cost for place in places)
    power = int(np.log10(cubic / gaussian))
    points = as_published(places[0]) - as_published(places[1])
    return dict(
        power="".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(d)] for d in str(power)), points=WORDS[round(points)]
    )
