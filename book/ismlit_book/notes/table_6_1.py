"""Fields of the rows of Tables 6.1 and D.7."""

from collections import Counter

import numpy as np

from ismlit_book import printed, results
from ismlit_book.experiments import table_6_1, table_D_7
from ismlit_book.notes import WORDS, about

PRINTED = {(r["set"], r["method"]): r for r in printed("table-6.1")}
ROWS = {f"tab-6.1-{name}-{method}": (name, method) for name, method in PRINTED}
WIDTHS = {f"tab-D.7-{name}": name for name in table_6_1.SETS}
HERE = {
    "sigma": "The smallest sigma is {:.2g} here.",
    "test": "Test is {:.2f} here.",
    "MSE": "MSE is {:.0f} here.",
}


@about(*ROWS)
def of_a_network(claim_id):
    """What is printed; what does not come out, and how many folds were run."""
    row = PRINTED[ROWS[claim_id]]
    stored, run = results("table-6.1"), results("program-6.1")
    found = table_6_1.values(row, table_6_1.PROGRAM, stored, run)
    fits = table_6_1.judge(row, table_6_1.PROGRAM, stored, run)
    told = [HERE[key].format(np.mean(found[key])) for key, hit in fits.items() if not hit]
    told += _within_the_margins(row, found, [key for key, hit in fits.items() if hit])
    n = len(found["train"])
    if n < 10:
        told += ["One fold of the ten was run." if n == 1 else f"{n} of the ten folds were run."]
    spread = float(row["test sd"]) or np.inf  # of the printed folds
    off = abs(np.mean(found["test"]) - float(row["test"])) / spread
    said = [f"training accuracy {row['train']}", f"test {row['test']} ± {row['test sd']}"]
    said += [f"$H {row['H']}$"]
    if row["method"] == "H":
        said += [f"$sigma {row['sigma']}$", f"$L {row['L']}$"]
    said += [f"{cell} {row[cell]}" for cell in ("MSE", "CE")]
    said += [f"${cell} {row[cell]}$" for cell in ("C", "T")]
    here = " ".join(told).replace("sigma", "$sigma$")
    return dict(printed=", ".join(said), here=here, off=off, epochs=found.get("epochs", [0])[0])


def _within_the_margins(row, found, keys):
    """Of the cells that come out, those with other digits than printed; and what would, too."""
    told = []
    for key in keys:
        digits = len(row[key].partition(".")[2])
        values = [value for value in found[key] if value is not None]
        value = f"{round(np.mean(values), digits) + 0.0:.{digits}f}"
        if value != row[key]:
            several = len(values) > 1 and key in ("test", "MSE")
            spread = f" ± {np.std(values):.{digits}f}" if several else ""
            told.append(_cell(key, f"{value}{spread}"))
    ranges = [_cell(key, " to ".join(table_6_1.would_pass(found, row, key))) for key in keys]
    here = [f"Within the page's margins, here: {_listed(told)}."] if told else []
    return [*here, f"Printed values that would come out as well: {_listed(ranges)}."]


def _cell(key, said):
    """A column and what is said of it, letters as formulas."""
    return f"${key}$ {said}" if len(key) == 1 else f"{key} {said}"


def _listed(parts):
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


# ---------------------------------------------------------------- Table D.7


def _depths(folds):
    """ "3 in seven folds, 4 in three"."""
    found = sorted(Counter(map(len, folds)).items())
    first, *rest = (f"{depth} in {WORDS[n]}" for depth, n in found)
    return ", ".join([f"{first} fold{'s' if found[0][1] > 1 else ''}", *rest])


@about(*WIDTHS)
def of_widths(claim_id):
    """How many folds come out in every layer, how many layers in every fold, and the depths."""
    ran = {r["set"]: r["widths"] for r in results("program-6.1") if r["method"] == "H"}
    name = WIDTHS[claim_id]
    wanted = table_D_7.printed_widths(name)
    by_chance = (table_D_7.folds_alike(ran[k], wanted) for k in WIDTHS.values() if k != name)
    layers = table_D_7.layers_alike(ran[name], wanted)
    return dict(
        folds=table_D_7.folds_alike(ran[name], wanted),
        of=len(wanted),
        chance=max(by_chance),
        layers=", ".join(key.split()[1] for key, hit in layers.items() if hit),
        all_layers=len(layers),
        printed=_depths(wanted),
        here=_depths(ran[name]),
    )
