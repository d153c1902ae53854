"""Fields of what chapter 4's text says of Tables 4.2 to 4.7, and of stored training runs."""

from functools import cache

import numpy as np

from ismlit_book import printed, results
from ismlit_book.experiments import patience, table_4_2, table_4_6
from ismlit_book.notes import WORDS, about
from ismlit_book.notes.table_4_2 import KNET, TABLES, mean

SETS = tuple(table_4_2.SETS)
ALL, PART = TABLES["4.2"], TABLES["4.4"]
VALUE = ALL.value
OTHERS = [m for m in ALL.methods if m not in KNET]
NOT_SPECTRAL = ("AEC", "DEC", "IMSAT", "k-means")
DEEP = ("AEC", "DEC", "IMSAT", "SN")


def _ahead(name, rivals):
    """KNet's printed lead over the best of some columns."""
    return max(VALUE[name, m] for m in KNET) - max(VALUE[name, m] for m in rivals)


@about("txt-1-deep", "txt-4-57.8", "txt-4-margin")
def lead(claim_id):
    """KNet's printed lead on each set: how often, by how much, over whom."""
    best = {n: _ahead(n, OTHERS) for n in SETS}
    four = {n: _ahead(n, NOT_SPECTRAL) for n in SETS}
    elsewhere = [four[n] for n in SETS if n not in ("Moon", "Spiral1")]
    signs = [np.sign(round(v, 1)) for v in best.values()]
    return dict(
        dec=VALUE["Moon", "KNet EIG"] - VALUE["Moon", "DEC"],
        won=signs.count(1),
        tied=signs.count(0),
        lost=signs.count(-1),
        most=max(best.values()),
        least=-min(best.values()),
        moon=four["Moon"],
        spiral=four["Spiral1"],
        elsewhere=int(np.ceil(max(elsewhere))),
        level=max(best["Moon"], best["Spiral1"]),
        SN=min(VALUE["Moon", "SN"], VALUE["Spiral1", "SN"]),
        words={
            "won": WORDS[signs.count(1)],
            "of": WORDS[len(SETS)],
            "tied": WORDS[signs.count(0)],
        },
    )


@about("txt-4-scaled")
def k_means_raw_and_scaled(claim_id):
    """On Moon and Wine."""
    forms = {"scaled": "k-means", "raw": "k-means, raw"}
    found = {
        form: [mean(ALL.by[n, "k-means"][key]) for n in ("Moon", "Wine")]
        for form, key in forms.items()
    }
    return found | dict(printed=[VALUE[n, "k-means"] for n in ("Moon", "Wine")])


@about("txt-4-28", "txt-4-nonconvex")
def printed_of_face_and_moon(claim_id):
    """KNet's lead over SN on Face; SC on Moon."""
    points = VALUE["Face", "KNet EIG"] - VALUE["Face", "SN"]
    weak = max(VALUE[n, m] for n in ("Moon", "Spiral1") for m in ("AEC", "DEC", "IMSAT"))
    percent = 100 * points / VALUE["Face", "SN"]
    return dict(points=points, percent=percent, SC=VALUE["Moon", "SC"], weak=weak)


@about("txt-4-rcv")
def k_means_on_rcv(claim_id):
    """Its NMI and its lead, printed and recomputed."""
    found = {
        "printed": {m: VALUE["RCV", m] for m in ALL.methods},
        "here": {m: float(np.mean(ALL.plain(("RCV", m))[1])) for m in ALL.methods},
    }
    ahead = {
        which: of["k-means"] - max(v for m, v in of.items() if m != "k-means")
        for which, of in found.items()
    }
    return dict(printed=found["printed"]["k-means"], here=found["here"]["k-means"], ahead=ahead)


@about("txt-4-sn-tuning")
def spectralnet_untuned(claim_id):
    """What one setting for all sets has beyond the print; and the search by the loss on Moon."""
    off = {n: np.mean(ALL.runs(n, "SN, untuned")) - VALUE[n, "SN"] for n in SETS}
    rest = [off[n] for n in SETS if n not in ("Moon", "RCV")]
    searched = np.mean(ALL.by["Moon", "SN"]["SN, searched"])
    return dict(off=off, below={n: -v for n, v in off.items()}, least=-min(rest), searched=searched)


@about("new-search-by-loss")
def picked_by_loss(claim_id):
    """The numbers of neighbours with the least loss, of 2 and more, in any run."""
    losses = [each for row in results("table-4.2") if "losses" in row for each in row["losses"]]
    return dict(picked=" or ".join(map(str, sorted({int(np.argmin(v)) + 2 for v in losses}))))


# ---------------------------------------------------------------- Tables 4.3 and 4.4


@cache
def _seconds():
    return {
        (r["set"], r["method"]): (float(r["preparation"] or 0), float(r["run"]))
        for r in printed("table-4.3")
    }


@about("txt-4-comparable", "txt-4-sma-faster")
def printed_seconds(claim_id):
    """Of Table 4.3: SMA's total over its rivals', and what of it is preparation."""
    seconds = _seconds()
    total = {key: sum(parts) for key, parts in seconds.items()}
    over = [total[n, "KNet SMA"] / np.median([total[n, m] for m in DEEP]) for n in SETS]
    faster = [total[n, "KNet SMA"] / total[n, m] for n in SETS for m in ("SC", "k-means")]
    share = [100 * seconds[n, m][0] / total[n, m] for n in SETS for m in KNET]
    ends = min(share), max(share)
    return dict(least=min(over), most=max(over), faster=_spaced(max(faster)), share=ends)


def _spaced(value):
    """Three significant digits, thousands apart."""
    return f"{float(f'{value:.3g}'):,.0f}".replace(",", " ")


@about("txt-4-oos-loss", "txt-4-oos-drop", "txt-4-six-percent", "new-kmeans-mixed")
def losses_of_the_part(claim_id):
    """What is lost by learning on a part, as printed and by KNetClustering; and the parts."""
    loss = {key: VALUE[key] - value for key, value in PART.value.items()}
    share = {c["set"]: int(c["percent"]) for c in printed("table-4.4")}
    few = [loss[n, m] for n in SETS for m in ("AEC", "DEC", "IMSAT")]
    ours = [ALL.by["Spiral1", "KNet EIG"]["ours"], PART.by["Spiral1", "KNet EIG"]["ours"]]
    return dict(
        worst=max(loss[n, m] for n in SETS for m in KNET),
        gained=-min(loss[n, m] for n in SETS for m in KNET),
        share=share,
        ours=np.mean(ours[0]) - np.mean(ours[1]),
        few=sum(v < 1.05 for v in few),
        of=len(few),
        most=sum(v >= 1.05 for v in few),
        risen=-loss["Spiral1", "DEC"],
        wine=PART.value["Wine", "k-means"],
    )


@about("new-sma-start")
def start_on_wine(claim_id):
    """SMA's cell on Wine, printed, and the program's."""
    found = ALL.by["Wine", "KNet SMA"]["program"]
    return dict(program=mean(found), printed=VALUE["Wine", "KNet SMA"])


# ---------------------------------------------------------------- Tables 4.6 and 4.7


@cache
def _columns():
    """{set, column: the printed numbers, from the largest lambda to 0}."""
    return {
        (name, key): np.array([float(row[key]) for row in printed(table)])
        for name, table in table_4_6.TABLES.items()
        for key in printed(table)[0]
    }


@about("txt-4-lambda", "txt-4-ratio")
def printed_over_lambda(claim_id):
    """HSIC on Spiral1 from the largest lambda to 0; the rows whose ratio is nearest to 1."""
    heights, scores = (_columns()["Spiral1", f"EIG {key}"] for key in ("HSIC", "NMI"))
    ratios = heights / np.maximum(_columns()["Spiral1", "EIG error"], 1e-6)
    off = np.abs(ratios - 1)
    about_one = off < 1.2 * off.min()
    rest = np.delete(scores[about_one], off[about_one].argmin())
    return dict(
        first=heights[0],
        last=heights[-1],
        ratios=(ratios[about_one].min(), ratios[about_one].max()),
        rows=WORDS[about_one.sum()],
        span=np.ptp(_columns()["Wine", "EIG NMI"]),
        nearest=scores[off.argmin()],
        rest=(rest.min(), rest.max()),
    )


@about("tab-4.6")
def heights_on_wine(claim_id):
    """HSIC of Wine at the largest lambda and at 0, printed and by the sum of squares."""
    found = {
        row["lambda"]: float(np.mean(row["HSIC without degrees"]))
        for row in results("table-4.6")
        if (row["set"], row["reading"], row["update"]) == ("Wine", "sum of squares", "EIG")
    }
    return dict(printed=_columns()["Wine", "EIG HSIC"][[0, -1]], here=(found["1"], found["0"]))


@about("tab-4.7")
def height_on_spiral(claim_id):
    """HSIC of Spiral1 at 0, printed and by the mean square."""
    found = next(
        row["HSIC"]
        for row in results("table-4.6")
        if (row["set"], row["reading"], row["update"], row["lambda"])
        == ("Spiral1", [*table_4_6.READINGS][-1], "EIG", "0")
    )
    return dict(printed=_columns()["Spiral1", "EIG HSIC"][-1], here=np.mean(found))


@about("new-degreeless")
def errors_on_wine(claim_id):
    """The least and the largest that are printed."""
    both = [v for update in table_4_6.UPDATES for v in _columns()["Wine", f"{update} error"]]
    return dict(errors=(min(both), max(both)))


@about("txt-4-lambda-zero")
def lost_at_zero(claim_id):
    """How far lambda = 0 is behind the best lambda, by our readings and by the program."""
    runs = {}
    for row in results("table-4.6"):
        key = row["set"], row["reading"] == table_4_6.PROGRAM, row["reading"], row["update"]
        if row["reading"] in (*table_4_6.READINGS, table_4_6.PROGRAM):
            runs.setdefault(key, {})[row["lambda"]] = np.mean(row["NMI"])
    lost = {key: max(found.values()) - found["0"] for key, found in runs.items()}
    most = lambda *place: max(v for key, v in lost.items() if key[:2] == place)
    return dict(
        ours={name: most(name, False) for name in table_4_6.TABLES},
        program={name: most(name, True) for name in table_4_6.TABLES},
        n_runs=WORDS[table_4_6.RUNS["Spiral1"]],
    )


# ---------------------------------------------------------------- stored draws of a spiral


@about("alg-3", "txt-4-at-least", "new-patience", "new-restarts", "new-local-start")
def draws(claim_id):
    """Draws whose start has the arms, and those of them that training loses, by each schedule."""
    epoch, _, patient, four, local = patience.METHODS
    names = dict(epoch=epoch, patient=patient, four=four, local=local)
    start, lost = {}, {}
    rows = {row["method"]: row for row in results("patience")}
    for key, method in names.items():
        found, ends = (np.array(rows[method][part]) > 95 for part in ("start", "trained"))
        start[key], lost[key] = int(found.sum()), int(np.sum(found & ~ends))
    missed = {key: patience.DRAWS - n for key, n in start.items()}
    return dict(start=start, lost=lost, missed=missed, size=patience.SIZE, of=patience.DRAWS)
