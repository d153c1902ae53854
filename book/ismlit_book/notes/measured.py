"""Fields of what was timed and counted: passes, steps, growth with the sizes, times of peers."""

from functools import cache

import numpy as np

from ismlit_book import printed, results
from ismlit_book.experiments import peers
from ismlit_book.experiments.scaling import slopes
from ismlit_book.notes import about
from ismlit_book.notes.table_5_4 import by_method, in_

THREE = ("Wine", "Cancer", "Face")
PEERS = ("DG", "SM", "GM")
PUBLISHED = "ISM, published"


def rough(value):
    """Two significant digits."""
    return f"{float(f'{value:.1e}'):.0f}"


# ---------------------------------------------------------------- the race of chapter 5


def _mean(name, method, key, kernel="gaussian"):
    return float(np.mean(by_method((name, "supervised", kernel))[method][key]))


@about("neurips-steps", "icml-steps", "txt-5.5-dg-steps")
def steps(claim_id):
    """Of SM and DG with labels; and the smallest residual of DG."""
    kinds = "gaussian", "polynomial"
    count = {(n, m, k): _mean(n, m, "steps", k) for n in THREE for m in ("SM", "DG") for k in kinds}
    small = [[v for (n, _, k), v in count.items() if n != "Face" and k == kind] for kind in kinds]
    spans = [(min(found), max(found)) for found in small]
    ism = by_method(("MNIST", "supervised", "polynomial"))[PUBLISHED]["steps"]
    left = [
        r
        for n in THREE
        for r in np.ravel(by_method((n, "supervised", "gaussian"))["DG"]["residual"])
    ]
    return dict(
        SM=rough(count["Face", "SM", "gaussian"]),
        DG=rough(count["Face", "DG", "gaussian"]),
        cubic=rough(count["Face", "DG", "polynomial"]),
        cubic_SM=rough(count["Face", "SM", "polynomial"]),
        few=spans[0],
        cubic_few=spans[1],
        ism=(min(ism), max(ism)),
        left=f"{np.floor(1e4 * min(left)) / 1e4:g}",
    )


@about("txt-5.5-speed")
def seconds_of_dg(claim_id):
    """Over those of ISM on Face, as published and safeguarded."""
    seconds = {m: _mean("Face", m, "seconds") for m in ("DG", PUBLISHED, "ISM")}
    return {key: seconds["DG"] / seconds[m] for key, m in (("plain", PUBLISHED), ("safe", "ISM"))}


@about("txt-5.5-gap-q")
def passes_over_ism(claim_id):
    """On Face and elsewhere; and SM's printed seconds over ISM's."""
    over = {
        (n, m): _mean(n, m, "passes") / _mean(n, PUBLISHED, "passes") for n in THREE for m in PEERS
    }
    there = [over["Face", m] for m in PEERS]
    clock = {}
    for name in THREE:
        rows = [r for r in printed("table-5.4") if in_(r, (name, "supervised", "gaussian"))]
        told = {r["method"]: float(r["seconds"] or "nan") for r in rows}
        clock[name] = told["SM"] / told["ISM"]
    return dict(
        least=rough(min(there)),
        most=rough(max(there)),
        elsewhere=int(np.ceil(max(over[n, m] for n in THREE[:2] for m in PEERS))),
        clock=clock,
    )


@about("txt-5.5-lower-cost")
def below_its_peers(claim_id):
    """By which share ISM as published ends below, at most, with the cubic kernel."""
    short = {}
    for name in (*THREE, "MNIST"):
        rows = by_method((name, "supervised", "polynomial"))
        mine, lead = np.array(rows[PUBLISHED]["objective"]), []
        for peer in (m for m in ("SM", "GM") if m in rows):
            its = np.array(rows[peer]["objective"])
            n = min(len(mine), len(its))
            lead += [*((its[:n] - mine[:n]) / np.abs(its[:n]))]
        short[name] = max(lead)
    power = {name: f"{short[name]:.1e}" for name in ("Wine", "Cancer")}
    return power | {name: 100 * short[name] for name in ("Face", "MNIST")}


# ---------------------------------------------------------------- growth with the sizes


@cache
def _by_size(what, part):
    rows = (r for r in results("scaling") if r["what"] == what and part in r["method"])
    return {r["size"]: r["seconds"] for r in rows}


@about("txt-3.5-bottleneck", "txt-5-manifold")
def passes_by_dimension(claim_id):
    """The full decomposition in percent of a pass; how a pass and a gradient grow."""
    eigen = _by_size("eigensolvers by d", "all")
    passes = {part: _by_size("passes by d", part) for part in ("Phi formed", "gradient only")}
    share = {f"d{d}": 100 * eigen[d] / v for d, v in passes["Phi formed"].items()}
    if claim_id == "txt-3.5-bottleneck":
        return share
    from ismlit_book.notes.chapter_5 import seconds_as_printed

    wide = {part: v[2048] / v[32] for part, v in passes.items()}
    return seconds_as_printed() | dict(wide=wide["Phi formed"], gradient=wide["gradient only"])


@about("fig-3.4", "txt-3.2-cpm")
def growth_of_eigensolvers(claim_id):
    """Exponents of d, over all sizes and over the upper half."""
    names = dict(full="all eigenvectors (LAPACK)", power="coordinate-wise power")
    found = [
        slopes(results("scaling"), "eigensolvers by d", upper=upper) for upper in (False, True)
    ]
    return {
        key: dict(zip(("all", "upper"), (f[name] for f in found), strict=True))
        for key, name in names.items()
    }


@about("fig-5.2")
def growth_of_solvers(claim_id):
    """The least and the largest exponent of n."""
    each = slopes(results("scaling"), "solvers by n").values()
    return dict(least=min(each), most=max(each))


@about("txt-6-complexity")
def growth_of_networks(claim_id):
    """Exponent of the time of a fit from 600 to 2400 samples."""
    rows = {r["size"]: r["seconds"] for r in results("network-scaling") if r["method"] == "exact"}
    return dict(time=np.log(rows[2400] / rows[600]) / np.log(4))


# ---------------------------------------------------------------- peers


@cache
def _peers():
    return {(r["set"], r["size"], r["method"]): r for r in results("peers")}


def _accuracy(method, *column):
    return 100 * float(np.mean(_peers()[*column, method]["test accuracy"]))


@about("new-peers-means", "new-peers-bandwidth")
def of_the_median_bandwidth(claim_id):
    """How many points it costs on three problems."""
    median = "IKDR, median"
    one = "breast cancer", 1
    lost = {n: _accuracy(peers.OURS, n, 2) - _accuracy(median, n, 2) for n in ("rings", "digits")}
    return lost | dict(cancer=_accuracy("LDA", *one) - _accuracy(median, *one))


@about("new-peers-time")
def times_of_peers(claim_id):
    """Samples of a fit; the time of NCA over ours."""
    columns = [(name, q) for name in peers.SETS for q in peers.sizes(name)]
    over = [
        np.median(np.divide(_peers()[*c, "NCA"]["seconds"], _peers()[*c, peers.OURS]["seconds"]))
        for c in columns
    ]
    counts = [len(data.arrays()[1]) for data in peers.SETS.values()]
    fits = [n - (n + 9) // 10 for n in counts]
    return dict(least=min(fits), most=max(fits), NCA=(min(over), max(over)))
