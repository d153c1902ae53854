"""Fields of the rows of Table 3.1: its cells, printed and recomputed, and what stands beside."""

import numpy as np

from ismlit_book import printed, results
from ismlit_book.experiments import program_3_1 as program
from ismlit_book.experiments import table_3_1 as table
from ismlit_book.notes import WORDS, about
from ismlit_book.record.tables import by_chance

STORED = results("table-3.1")
AT = {tuple(r[k] for k in ("set", "method", "init", "reading")): r for r in STORED}
PRINTED = {(r["set"], r["method"], r["init"]): r for r in printed("table-3.1")}
IDS = {f"tab-3.1-{'-'.join(key)}": key for key in PRINTED}
ASIDE = {name: change for *_, name, change in program.ASIDE}
RAN = {
    "program": "As the authors' program ran",
    "text": "As the text's algorithm has it, on the program's data",
    "program, q = 2": "As the authors' program ran with $q = 2$",
}
ALL_ARE = {
    2: " Every printed digit.",
    1: f" Means within {table.MARGIN['NMI']} (NMI, novelty), {100 * table.MARGIN['CQ']:.0f} % (CQ) "
    f"and {100 * table.MARGIN['cost']:.0f} % (cost).",
}
"""What is said of a row whose cells come out, all to the last digit or some by the margin."""


def mean(name, cell, reading="program"):
    """Of a stored row, "SG ISM SI", by a reading."""
    return np.mean(AT[*name.split(), reading][cell])


def _printed_cells(row):
    for cell in table.CELLS:
        if row[cell]:
            deviation = row[f"{cell} sd"]
            spread = f" ± {deviation}" if float(deviation or 0) else ""
            yield f"{cell} {row[cell]}{spread}"


@about(*IDS)
def cells(claim_id):
    """What is printed, and the reading that comes nearest with its cells."""
    row = PRINTED[IDS[claim_id]]
    reading, signs = table.verdict(row, STORED)
    found = table.stored_row(STORED, row, table.READINGS.get(reading, reading))
    told = [
        f"{cell} {table.as_text(found[cell], row[cell], row[f'{cell} sd'] or row[cell])}"
        for cell in signs
    ]
    here = f"{RAN[reading]}: {', '.join(told)}.{ALL_ARE.get(min(signs.values()), '')}"
    return dict(printed=", ".join(_printed_cells(row)), here=here) | MORE.get(claim_id, dict)()


def _planes(method, cells=table.CELLS):
    """How many of the twelve planes give SG's row from random starts to the digit in `cells`."""
    row = PRINTED["SG", method, "RI"]
    found = (AT["SG", method, "RI", f"program, plane {i}"] for i in range(program.PLANES))
    fits = [table.compare(row, plane) for plane in found]
    return WORDS[sum(min(plane[cell] for cell in cells) == 2 for plane in fits)]


def _sg_si():
    q = table.settings("SG")[2]
    return dict(q=q, CQ=mean("SG ISM SI", "CQ"), of_log=ASIDE["q = 2"]["q"])


def _bandwidth_of_webkb():
    """Another rounding of the median."""
    name = "sigma = 18.745"
    return dict(sigma=ASIDE[name]["sigma"], CQ=mean("WebKb ISM SI", "CQ", f"program, {name}"))


def _chance(reading="program"):
    """How often another set's novelty would agree with the print's, in percent of pairs."""
    novelty = {key: row for key, row in PRINTED.items() if row["novelty"]}

    def agrees(one, other):
        if one[0] == other[0]:
            return None
        found = AT[*other, reading]["novelty"]
        return table.near(found, novelty[one], "novelty", reading == "centred")

    return 100 * by_chance(novelty, agrees)


def _moonn_dg():
    name = "MoonN DG RI"
    return dict(added=mean(name, "cost") + 2 * mean(name, "CQ"))


def _of(name, reading="program", *cells):
    return lambda: {cell: mean(name, cell, reading) for cell in cells}


MORE = {
    "tab-3.1-WebKb-ISM-SI": _bandwidth_of_webkb,
    "tab-3.1-SG-ISM-SI": _sg_si,
    "tab-3.1-SG-ISM-RI": lambda: dict(planes=_planes("ISM"), chance=_chance()),
    "tab-3.1-SG-SM-RI": lambda: dict(planes=_planes("SM", ("CQ", "novelty", "cost"))),
    "tab-3.1-SG-DG-RI": lambda: dict(planes=_planes("DG"), chance=_chance("centred")),
    "tab-3.1-LG-DG-RI": lambda: dict(weight=table.settings("LG")[1]),
    "tab-3.1-Moon-SM-RI": _of("Moon SM RI", "centred", "NMI", "cost"),
    "tab-3.1-MoonN-SM-RI": _of("MoonN SM RI", "program", "NMI", "novelty"),
    "tab-3.1-MoonN-DG-RI": _moonn_dg,
    "tab-3.1-Flower-SM-RI": lambda: dict(chance=_chance()),
    "tab-3.1-WebKb-DG-RI": lambda: _of("WebKb DG RI", "centred", "NMI")() | dict(chance=_chance()),
}
