"""Fields of what chapter 6's text says of Tables 6.1 and D.7."""

import numpy as np

from ismlit_book import results
from ismlit_book.experiments import program_6_2, table_6_1
from ismlit_book.experiments.table_D_7 import printed_widths
from ismlit_book.notes import WORDS, about
from ismlit_book.notes.table_6_1 import PRINTED

SETS = tuple(table_6_1.SETS)
SMALL = ("T", "C", "MSE", "CE")


def _printed(key, method="H"):
    return {name: float(PRINTED[name, method][key]) for name in SETS}


def _program(key):
    rows = {r["set"]: r for r in results("program-6.1") if r["method"] == "H"}
    return {name: float(np.mean(rows[name][key])) for name in SETS}


@about("txt-6.2-easier", "txt-1-regularises")
def as_printed(claim_id):
    """Training accuracies; and H and the test accuracy on Random."""
    others = {name: v for name, v in _printed("train", "CE").items() if name != "adver"}
    random = PRINTED["random", "H"]
    return dict(
        least=min(_printed("train").values()),
        CE=min(others.values()),
        adver=_printed("train", "CE")["adver"],
        n_sets=WORDS[len(SETS)],
        H=random["H"],
        test=random["test"],
    )


@about("txt-6.5-near-one", "txt-6.5-low")
def ends(claim_id):
    """The range of H and of the training accuracy; the largest T, C, MSE and CE."""
    span = lambda of, key: f"{min(of(key).values()):.2f} to {max(of(key).values()):.2f}"
    most = lambda of: [f"{max(of(key).values()):.2f}" for key in SMALL]
    listed = lambda found: f"{', '.join(found[:-1])} and {found[-1]}"
    return {
        name: dict(H=span(of, "H"), train=span(of, "train"), most=listed(most(of)))
        for name, of in (("printed", _printed), ("program", _program))
    }


@about("txt-6-depth", "txt-6.5-L", "txt-6.5-three-layers", "txt-6.5-threshold", "txt-6.5-sigma")
def depths(claim_id):
    """Mean depths of both tables; depths by other rules; the smallest bandwidths of the program."""
    said = _printed("L")
    listed = {name: float(np.mean([*map(len, printed_widths(name))])) for name in SETS}
    apart = {name: abs(said[name] - listed[name]) for name in SETS}
    rows = {(r["set"], r["method"]): r for r in results("table-6.1")}
    by_text = lambda name: float(np.mean(rows[name, "H, as described"]["L"]))
    heights = sorted(_printed("H").values())
    below = [h for h in heights if h < 0.985]
    four = sum(len(widths) == 4 for widths in printed_widths("adver"))
    return dict(
        deepest=WORDS[max(len(widths) for name in SETS for widths in printed_widths(name))],
        most=max(apart.values()),
        said=said,
        listed=listed,
        by_text={name: by_text(name) for name in ("wine", "cancer")},
        ends=(below[0], below[-1]),
        n_below=WORDS[len(below)],
        four=WORDS[four],
        sigma=_program("sigma"),
    )


@about("txt-6.5-face")
def cross_entropy_on_face(claim_id):
    """Its test accuracy, as printed."""
    row = PRINTED["face", "CE"]
    return dict(CE=f"{row['test']} ± {row['test sd']}")


@about("txt-6.5-mse-ce")
def above_equal_outputs(claim_id):
    """The printed CE of the MSE nets on Face, less that of twenty equal outputs."""
    return dict(above=float(PRINTED["face", "MSE"]["CE"]) - np.log(20))


@about("fig-D.15")
def cross_entropy_of_the_last_layer(claim_id):
    """Of the program's networks on Face."""
    rows = {r["set"]: r for r in results("program-6.1") if r["method"] == "H"}
    return dict(CE=np.mean([fold["CE"][-1] for fold in rows["face"]["sequences"]]))


@about("txt-D.8-sigma", "new-fig-6.2-jump")
def settings_of_figures(claim_id):
    """The bandwidth that measures H, the end of the grid of the others, and the cosines."""
    return dict(
        measures=program_6_2.MEASURING,
        smallest=program_6_2.SMALLEST,
        features=f"{program_6_2.FEATURES:,}".replace(",", " "),
    )


@about("fig-D.16")
def rising_folds(claim_id):
    """Sets on which H rises at every layer of all of the program's folds; else, the folds."""
    rows = {r["set"]: r for r in results("program-6.1") if r["method"] == "H"}
    falls = {
        name: sum(bool(np.any(np.diff(fold["H"]) <= 0)) for fold in rows[name]["sequences"])
        for name in SETS
    }
    others = [n for name, n in falls.items() if n and name != "wine"]
    full = [name for name, n in falls.items() if not n]
    return dict(
        full=WORDS[len(full)],
        wine=WORDS[falls["wine"]],
        fewest=WORDS[min(others)],
        most=WORDS[max(others)],
    )


@about("txt-D.7-expand")
def first_layers(claim_id):
    """On which sets the second printed layer is wider than the first; both means of Face."""
    means = {name: np.mean([w[:2] for w in printed_widths(name)], axis=0) for name in SETS}
    but = [name for name, (first, second) in means.items() if first >= second]
    return dict(
        widths=means["face"],
        wider=WORDS[len(SETS) - len(but)],
        sets=WORDS[len(SETS)],
        but=" and ".join(name.capitalize() for name in but),
    )
