"""Fields of what the papers say of their own tables."""

from ismlit_book import printed
from ismlit_book.notes import about
from ismlit_book.notes.chapter_5 import cost
from ismlit_book.notes.table_5_4 import by_method
from ismlit_book.record.cells import numbers

TABLES = {5: printed("icml-table-5"), 6: printed("icml-table-6")}
NAMES = list(dict.fromkeys(r["set"] for r in TABLES[5]))
LOW = ("Wine", "Cancer", "Car")


def cell(table, name, method="ISM+", key="seconds"):
    """One printed number of the ICML manuscript."""
    row = next(r for r in TABLES[table] if (r["set"], r["method"]) == (name, method))
    return float(row[key])


def factor(name, method, table=5):
    """How many times as long as the new ISM."""
    return cell(table, name, method) / cell(table, name)


@about("icml-speed-ism", "icml-speed-dg", "icml-days")
def on_face(claim_id):
    """Times over the new ISM's on Face, and DG's days."""
    ism, dg = (f"{factor('Face', method):.1e}" for method in ("ISM", "DG"))
    return dict(ISM=ism, DG=dg, days=cell(5, "Face", "DG") / 86400)


@about("icml-only-linear")
def gaussian_before(claim_id):
    """Seconds of DG and of the ISM before, on the three sets of low dimension."""
    spans = {}
    for method in ("DG", "ISM"):
        times = [cell(5, name, method) for name in LOW]
        spans[method] = f"{min(times):.3g} to {max(times):.3g}"
    return spans


@about("icml-pca")
def over_lda_and_pca(claim_id):
    """The new ISM's time over theirs."""
    over = {method: [1 / factor(name, method) for name in NAMES] for method in ("LDA", "PCA")}
    return {m: (min(found), max(found)) for m, found in over.items()}


@about("icml-nmi", "icml-dg-dimension", "icml-dimension")
def of_dimension(claim_id):
    """NMI on Cancer; DG over SM on Car; GM on Face and elsewhere; dimensions."""
    over_gm = min(factor(name, "GM") for name in LOW)
    thousands = lambda value: f"{value:,.0f}".replace(",", " ")
    return dict(
        DG=cell(6, "Cancer", "DG", "NMI"),
        ISM=cell(6, "Cancer", key="NMI"),
        car=cell(6, "Car", "DG") / cell(6, "Car", "SM"),
        face=f"{round(factor('Face', 'GM'), -2):.0f}",
        rest=thousands(float(f"{over_gm:.3g}")),
    )


@about("icml-cancer-cost")
def cost_of_cancer(claim_id):
    """As the thesis prints it."""
    return dict(printed=cost("Cancer", "supervised", "gaussian", "ISM"))


@about("icml-tab5-6")
def cost_of_all_samples(claim_id):
    """How many times the printed cost of Cancer is that of all its samples, of our computing."""
    found = float(numbers()["icml-cancer-cost"]["cost"])
    return dict(ratio=found / cell(5, "Cancer", key="cost"))


@about("icml-face-unsupervised")
def face_without_labels(claim_id):
    """Cost and NMI; and the cost that the thesis prints."""
    place = "Face", "unsupervised", "gaussian"
    row = next(r for r in by_method(place).values() if "cost: diagonal zeroed" in r)
    told = cost(*place, "ISM").partition(" ")[0]
    return dict(cost=row["cost: diagonal zeroed"][0], NMI=row["NMI"][0], printed=told)


@about("icml-wine-cost", "icml-face-cost", "icml-orders", "icml-wine-unsupervised")
def sizes(claim_id):
    """Samples, features and q of Table 5."""
    row = lambda name: next(r for r in TABLES[5] if r["set"] == name)
    return {name: {key: row(name)[key] for key in ("n", "d", "q")} for name in ("Wine", "Face")}
