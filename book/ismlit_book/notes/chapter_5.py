"""Fields of what chapter 5's text says of Tables 5.4 and 5.5."""

import numpy as np

from ismlit_book import printed, results
from ismlit_book.experiments.readings import CODE
from ismlit_book.notes import WORDS, about
from ismlit_book.notes.table_5_4 import by_method, numbers

ROWS = {(r["set"], r["paradigm"], r["kernel"], r["method"]): r for r in printed("table-5.4")}
KERNELS = ("gaussian", "polynomial")
BOTH = [r for r in printed("table-5.4") if r["method"] == "ISM"] + printed("table-5.5")


def cost(*key):
    """As printed, with its deviation."""
    row = ROWS[key]
    return f"{row['cost']} ± {row['cost_sd']}"


@about("tab-5.4", "txt-5.5-q")
def costs_of_wine(claim_id):
    """Of the Gaussian kernel with labels: ISM's and its nearest peer's, printed; and ours."""
    place = "Wine", "supervised", "gaussian"
    peers = {m: float(row["cost"]) for (*p, m), row in ROWS.items() if tuple(p) == place}
    ism = peers.pop("ISM")
    nearest = min(peers, key=lambda m: abs(peers[m] - ism))
    p = numbers("table-5.4", CODE, (*place, "ISM"))
    return dict(ISM=cost(*place, "ISM"), peer=cost(*place, nearest), p=p, q=CODE.q)


@about("txt-5.5-95-percent", "txt-5.5-five-sets")
def accuracies(claim_id):
    """On MNIST's test folds; and DG's on Wine, printed."""
    test = {
        kernel: 100
        * np.mean(by_method(("MNIST", "supervised", kernel))["ISM, published"]["test accuracy"])
        for kernel in KERNELS
    }
    of_dg = sorted(100 * float(ROWS["Wine", "supervised", k, "DG"]["score"]) for k in KERNELS)
    return dict(test=test, DG=of_dg)


def seconds_as_printed():
    """On Wine and Face, with labels and the Gaussian kernel."""
    of = lambda name, method: float(ROWS[name, "supervised", "gaussian", method]["seconds"])
    names = "Wine", "Face"
    return {m: {n: f"{of(n, m):g}" for n in names} for m in ("GM", "SM", "ISM")}


@about("txt-5.5-similar-time")
def times_of_kernels(claim_id):
    """Of MNIST with labels: the shortest and the longest."""
    times = [
        float(r["seconds"]) for r in BOTH if (r["set"], r["paradigm"]) == ("MNIST", "supervised")
    ]
    return dict(least=min(times), most=max(times) / 60, factor=max(times) / min(times))


@about("txt-5.5-multiquadratic")
def in_front_on_mnist(claim_id):
    """By how many points, with labels; and the scores of those that are above it."""
    score = {
        r["kernel"]: 100 * float(r["score"])
        for r in BOTH
        if (r["set"], r["paradigm"]) == ("MNIST", "supervised")
    }
    own, total = score["multiquadratic"], score["gaussian + polynomial"]
    ahead = own - max(score[k] for k in KERNELS)
    return dict(ahead=ahead, own=own, squared=score["squared"], total=total)


@about("tab-5.5")
def accuracies_of_wine(claim_id):
    """In percent: as printed, and recomputed with Table 5.2's signs."""
    is_wine = lambda r: (r["set"], r["paradigm"]) == ("Wine", "supervised")
    facts = {r["kernel"]: 100 * float(r["score"]) for r in printed("table-5.5") if is_wine(r)}
    for r in filter(is_wine, results("table-5.5")):
        kernel, _, sign = r["kernel"].partition(", ")
        if sign == "printed sign":
            facts[f"{kernel}_by_its_sign"] = 100 * np.mean(r["test accuracy"])
    return facts


@about("txt-5-accuracies")
def scores_of_ism(claim_id):
    """Printed scores in which ISM is alone in front, level, or behind its peers."""
    scores = {}
    for (*place, method), row in ROWS.items():
        if row["score"]:
            scores.setdefault(tuple(place), {})[method] = round(1000 * float(row["score"]))
    lead = [v.pop("ISM") - max(v.values()) for v in scores.values()]
    return dict(
        alone=sum(v > 0 for v in lead),
        tied=lead.count(0),
        behind=sum(v < 0 for v in lead),
        rows=len(lead),
    )


@about("new-ism-never-below")
def from_taylor_alone(claim_id):
    """Folds in which a peer ends above ISM from the Taylor start, and by how many percent."""

    def led(name, peer):
        rows = by_method((name, "supervised", "polynomial"))
        mine, its = (np.array(rows[m]["objective"]) for m in ("ISM", peer))
        n = min(len(mine), len(its))
        lead = (its[:n] - mine[:n]) / np.abs(its[:n])
        return WORDS[int(np.sum(lead > 1e-6))], 100 * lead.max()

    return dict(face=led("Face", "DG"), mnist=led("MNIST", "SM"))
