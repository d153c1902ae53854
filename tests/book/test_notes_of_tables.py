"""Every number in the notes of the rows of Tables 5.4, 5.5, 6.1 and D.7 is one that is stored."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from ismlit_book.experiments import table_6_1
from ismlit_book.experiments.readings import CODE, GM_WORK, TEXT, VARIATIONS, cells
from ismlit_book.record.ledger import ledger
from ismlit_book.record.tables import printed, results

NOTES = {name: claim.note for name, claim in ledger().items()}
WORDS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
SETS = {"wine": "Wine", "cancer": "Cancer", "face": "Face", "mnist": "MNIST"}
THREE = ("linear", "squared", "multiquadratic")
SUM = "gaussian + polynomial"


def numbers(table, reading, row):
    """Means and deviations of cost and score of a row by a reading; accuracies in percent."""
    found = {}
    for cell in cells(table, reading, {row}):
        if cell.values:
            unit = 100 if cell.quantity == "score" and row[1] == "supervised" else 1
            found[cell.quantity] = unit * np.mean(cell.values)
            found[f"{cell.quantity}_sd"] = unit * np.std(cell.values)
            found[f"{cell.quantity}_off"] = 100 * abs(np.mean(cell.values) / cell.printed - 1)
            found["folds"] = WORDS[len(cell.values)]
    return SimpleNamespace(**found)


# ---------------------------------------------------------------- Table 5.4

BOTH = "{p.cost:.0f} ± {p.cost_sd:.0f} and {p.score:.1f} ± {p.score_sd:.1f} %"
OF_ISM = {
    "wine-gaussian": [
        "q = {q}, zero diagonal",
        "{p.cost:.1f} ± {p.cost_sd:.1f} and {p.score:.1f} ± {p.score_sd:.1f} %",
        "By the text {t.cost:.0f} ± {t.cost_sd:.0f}.",
    ],
    "wine-polynomial": [
        "q = {q}",
        "{p.cost:.0f} ± {tens:.0f} and {p.score:.1f} ± {p.score_sd:.1f} %",
        "By the text the cost is {times:.0f} times larger.",
    ],
    "cancer-gaussian": [
        "q = {q}",
        BOTH,
        "By the text {t.cost:.0f}; on test folds {t.score:.1f} ± {t.score_sd:.1f} %.",
    ],
    "cancer-polynomial": ["q = {q}", BOTH, "By the text the cost is {times:.0f} times larger."],
    "face-gaussian": [
        "{p.cost:.0f} ± {p.cost_sd:.0f} and {p.score:.0f} % on training folds",
        "by the text {t.cost:.0f} and {t.score:.1f} % on test folds",
    ],
    "face-polynomial": [
        "{p.cost:.0f} ± {tens:.0f} with q = {q}, and {p.score:.0f} % on training folds",
        "q = 45 ({q45.cost:.0f})",
    ],
    "mnist-gaussian": [
        "{p.cost:.1f} in thousands, and {p.score:.1f} % on training folds",
        "({p.folds} fold run; {t.score:.0f} % on test folds)",
    ],
    "mnist-polynomial": ["{training:.0f} % on training and {t.score:.0f} % on test folds"],
    "wine-unsupervised-gaussian": [
        "the NMI is, {p.score:.3f}; the cost is {p.cost:.1f}",
        "clusters found, in place of the embedding's, {clusters.cost:.1f}",
    ],
    "wine-unsupervised-polynomial": [
        "{p.cost:.0f} and {p.score:.3f}",
        "clusters found {clusters.cost:.0f}, of the classes {classes.cost:.0f}",
    ],
    "cancer-unsupervised-gaussian": [
        "the NMI is, {p.score:.3f}; the cost is {p.cost:.1f}",
        "The printed {printed[0]} is far from its peers' {peers[0]} to {peers[1]}",
    ],
    "cancer-unsupervised-polynomial": [
        "{p.cost:.0f} and {p.score:.2f}",
        "not scaled {plain.cost:.0f}, and SM {plain_sm.cost:.0f} "
        "(printed {printed[0]}, {printed[1]})",
        "with a Gaussian kernel of XW the NMI is {bell.score:.2f}",
    ],
    "face-unsupervised-gaussian": ["{p.cost:.1f}, {p.cost_off:.1f} % off, and NMI {p.score:.3f}"],
    "face-unsupervised-polynomial": ["{millions:.1f} million and {p.score:.2f}"],
    "mnist-unsupervised-gaussian": [
        "with {turns[1]} clusters and q = {turns[0]}",
        "cost {p.cost:.0f}, {p.cost_off:.1f} % off; NMI {p.score:.2f}",
        "NMI {t.score:.2f}, cost {t.cost:.0f}",
    ],
    "mnist-unsupervised-polynomial": ["{p.cost:.1e} and {p.score:.2f}"],
}


def left_of(note, pieces):
    """The note without what is computed, each of which must stand in it."""
    for piece in pieces:
        piece = re.sub(r"e\+0?(\d)", r"e\1", piece)
        assert piece in note, f"{piece!r} is not in {note!r}"
        note = note.replace(piece, "")
    return note


@pytest.mark.parametrize("name", OF_ISM)
def test_notes_of_table_5_4(name):
    words = name.split("-")
    place = SETS[words[0]], "unsupervised" if "unsupervised" in words else "supervised", words[-1]
    row, stored = (*place, "ISM"), {r["method"]: r for r in results("table-5.4") if in_(r, place)}
    varied = lambda change, method="ISM": next(
        numbers("table-5.4", v.reading, (*place, method))
        for v in VARIATIONS
        if v.reading.name == f"code, {change}"
    )
    p, t = (numbers("table-5.4", reading, row) for reading in (CODE, TEXT))
    costs = {r["method"]: r["cost"] for r in printed("table-5.4") if in_(r, place)}
    peers = sorted((c for m, c in costs.items() if m != "ISM"), key=lambda c: -float(c))
    computed = dict(
        p=p,
        t=t,
        q=CODE.q[place[0]],
        turns=CODE.turns[place[0]],
        times=t.cost / p.cost,
        tens=round(p.cost_sd, -1),
        millions=p.cost / 1e6,
        training=100 * np.mean(as_published(stored)),
        q45=varied("Face q = 45, thousands"),
        clusters=varied("cost of the clusters"),
        classes=varied("cost of the classes"),
        plain=varied("cost of the plain clusters"),
        plain_sm=varied("cost of the plain clusters", "SM"),
        bell=varied("NMI by a Gaussian kernel"),
        peers=(peers[0], peers[-1]),
        printed=(costs["ISM"], costs.get("SM")),
    )
    pieces = [piece.format(**computed) for piece in OF_ISM[name]]
    assert not re.search(r"\d", left_of(NOTES[f"tab-5.4-{name}"], pieces).replace("tab-5.4", ""))


def in_(row, place):
    """Whether a row is of a set, with or without labels, and of a kernel."""
    return (row["set"], row["paradigm"], row["kernel"]) == place


def as_published(stored):
    """Accuracies on training folds of ISM as published."""
    return stored["ISM, published"].get("training accuracy, gamma = auto", np.nan)


def test_notes_of_the_columns_of_table_5_4():
    """Peers with one objective, what they had time for, and how many cells come out."""
    here = {
        (r["set"], r["kernel"], r["method"]): np.array(r["objective"])
        for r in results("table-5.4")
        if "cost" not in r and r["paradigm"] == "supervised" and r["set"] != "MNIST"
    }
    behind = {m: [] for m in ("DG", "SM", "GM")}
    for (name, kernel, method), J in here.items():
        if method in behind:
            ism = here[name, kernel, "ISM"][: len(J)]
            behind[method].append(abs(np.mean((ism - J) / ism)))
    assert f"by at most {100 * max(behind['DG']):.1f} % in the mean" in NOTES["tab-5.4-dg"]
    for peer in ("SM", "GM"):
        power = int(np.ceil(np.log10(max(behind[peer]))))
        assert f"ends where ISM ends, to 1e{power} in the mean" in NOTES[f"tab-5.4-{peer.lower()}"]
    works = {"Wine": 160**2 * 13 * 4, "Cancer": 615**2 * 9 * 5, "Face": 562**2 * 960 * 20}
    wine, cancer, face = (max(1, round(GM_WORK / work)) for work in works.values())
    told = f"after {wine} steps on Wine, {cancer} on Cancer, {face} on Face"
    assert told in NOTES["tab-5.4-gm"]
    rows = [c for c in cells("table-5.4") if c.row[3] != "ISM"]
    alone = [c for c in rows if c.row[1] == "unsupervised"]
    note = NOTES["tab-5.4-peers-unsupervised"]
    hits, count = tally(c for c in alone if c.quantity == "cost")
    assert f"{WORDS[hits]} of the {count} costs" in note
    scores = [c for c in alone if c.quantity == "score"]
    for kernel, name in (("gaussian", "the Gaussian kernel"), ("polynomial", "the cubic one")):
        hits, count = tally(c for c in scores if c.row[2] == kernel)
        assert f"{WORDS[hits]} of {WORDS[count]} with {name}" in note
    of_sm = [c for c in rows if c.row[1] == "supervised" and c.row[3] == "SM"]
    hits, count = tally(c for c in of_sm if c.quantity == "cost" and c.row[0] != "MNIST")
    assert f"{WORDS[hits]} of {WORDS[count]} costs" in NOTES["tab-5.4-sm"]


def tally(found):
    """How many come out, and of how many."""
    fits = [cell.fits for cell in found]
    return sum(fits), len(fits)


def test_note_of_mnist_s_columns_of_table_5_4():
    of = lambda kernel: numbers("table-5.4", TEXT, ("MNIST", "supervised", kernel, "ISM")).cost
    power = int(np.log10(of("polynomial") / of("gaussian")))
    by_kernel = (as_published(of_mnist(k)) for k in ("gaussian", "polynomial"))
    points = round(100 * -np.diff([np.mean(found) for found in by_kernel]).item())
    told = (
        f"a factor of 10{'⁰¹²³⁴⁵⁶⁷⁸⁹'[power]} and the training accuracy by {WORDS[points]} points"
    )
    assert told in NOTES["tab-5.4-mnist-columns"]


def of_mnist(kernel):
    """What is stored of MNIST with labels by method."""
    place = "MNIST", "supervised", kernel
    return {r["method"]: r for r in results("table-5.4") if in_(r, place)}


# ---------------------------------------------------------------- Table 5.5

TRIPLE = "{p[0]:.2f}, {p[1]:.2f}, {p[2]:.2f}"
OF_KERNELS = {
    "wine-unsupervised": [
        "By the text: {t[0]:.2f}, {t[1]:.2f}, {t[2]:.2f}",
        f"By the program {TRIPLE}",
    ],
    "cancer-unsupervised": [
        f"By the program: {TRIPLE}",
        "by the text {t[0]:.2f}, {t[1]:.2f}, {t[2]:.2f}",
    ],
    "face-unsupervised": [
        "By the program, with q = {turns[0]}: " + TRIPLE,
        "By the text {t[0]:.3f}, {t[1]:.3f}, {t[2]:.3f}",
    ],
    "mnist-unsupervised": [
        "with {turns[1]} clusters and q = {turns[0]}: " + TRIPLE,
        "By the text, with {k}, it is {t[0]:.2f}, {t[1]:.2f}, {t[2]:.2f}",
    ],
    "wine-gp": [
        "By the text, {t[3]:.1f} ± {t_sd[3]:.1f} % on test folds",
        "as it is, {p[3]:.1f} ± {p_sd[3]:.1f} %",
    ],
    "cancer": [
        "on training folds: {p_ends[0]:.1f} to {p_ends[1]:.1f} %",
        "{t_ends[0]:.1f} to {t_ends[1]:.1f} %, ± {t_most:.1f} at most, on test folds",
    ],
    "face": ["On training folds, which the program scores, all are {p_ends[0]:.0f} %"],
    "face-gp": ["{t[3]:.1f} % on test folds"],
    "mnist": [
        "on training folds: {p_ends[0]:.1f} % (one fold run)",
        "about {t[0]:.0f} % on test folds",
    ],
    "mnist-multiquadratic": [
        "c = 1: {p[2]:.1f} % on training folds (one fold run)",
        "{of_xw:.1f} % with the Phi of XW, {t[2]:.0f} % on test folds",
    ],
}


@pytest.mark.parametrize("name", OF_KERNELS)
def test_notes_of_table_5_5(name):
    place = SETS[name.split("-")[0]], "unsupervised" if "unsup" in name else "supervised"
    kernels = THREE if "unsup" in name else (*THREE, SUM)
    by = {
        key: [numbers("table-5.5", reading, (*place, kernel, "ISM")) for kernel in kernels]
        for key, reading in (("p", CODE), ("t", TEXT))
    }
    told = {key: [found.score for found in row] for key, row in by.items()}
    told |= {f"{key}_sd": [found.score_sd for found in row] for key, row in by.items()}
    told |= {f"{key}_ends": (min(told[key]), max(told[key])) for key in by}
    own = (place[0], "supervised", "multiquadratic, similarity")
    of_xw = next(r["training accuracy, gamma = auto"] for r in results("table-5.5") if in_(r, own))
    told |= dict(t_most=max(told["t_sd"]), of_xw=100 * np.mean(of_xw))
    told |= dict(turns=CODE.turns[place[0]], k=TEXT.turns[place[0]][1])
    left = left_of(NOTES[f"tab-5.5-{name}"], [piece.format(**told) for piece in OF_KERNELS[name]])
    assert name == "face" or not re.search(r"\d", left), left
    if name in ("face", "mnist"):  # one number for all
        assert len({round(v, 1) for v in told["p"][:3]}) == 1
        assert name == "face" or {round(told["t"][k]) for k in (0, 1, 3)} == {91}


# ---------------------------------------------------------------- Tables 6.1 and D.7

HERE = {"sigma": "The smallest sigma is {:.2f} here.", "test": "Test is {:.2f} here."}


def test_notes_of_table_6_1():
    """What does not come out, and how many folds were run; else no number."""
    stored, run = results("table-6.1"), results("program-6.1")
    for row in printed("table-6.1"):
        found = table_6_1.values(row, table_6_1.PROGRAM, stored, run)
        fits = table_6_1.judge(row, table_6_1.PROGRAM, stored, run)
        told = [HERE[key].format(np.mean(found[key])) for key, hit in fits.items() if not hit]
        n = len(found["train"])
        if n < 10:
            told += [
                "One fold of the ten was run." if n == 1 else f"{n} of the ten folds were run."
            ]
        name = f"tab-6.1-{row['set']}-{row['method']}"
        left = left_of(NOTES[name], [" ".join(told)])
        assert not re.search(r"\d|fold", left.replace("Table D.7", "").replace("6.5", "")), name


def means(lists):
    """Mean width of each layer that at least half of the folds have."""
    columns = [[w[l] for w in lists if len(w) > l] for l in range(max(map(len, lists)))]
    return [f"{np.mean(c):.0f}" for c in columns if 2 * len(c) >= len(lists)]


@pytest.mark.parametrize("name", table_6_1.SETS)
def test_notes_of_table_D_7(name):
    rows = [r["widths"].split() for r in printed("table-D.7") if r["set"] == name]
    theirs = means([[int(width) for width in row] for row in rows])
    (net,) = (r for r in results("program-6.1") if (r["set"], r["method"]) == (name, "H"))
    ours = means(net["widths"])
    told = [f"Means: printed {', '.join(theirs)}; here {', '.join(ours)}."]
    more = range(len(theirs) + 1, len(ours) + 1)
    told += [f"Layer {k}, here in half of the folds or more, is not printed." for k in more]
    told += [f"Layer {k} is missing here." for k in range(len(ours) + 1, len(theirs) + 1)]
    assert NOTES[f"tab-D.7-{name}"] == " ".join(told)


def test_a_claim_that_cannot_be_checked_quotes_table_6_1():
    train = {(r["set"], r["method"]): float(r["train"]) for r in printed("table-6.1")}
    least = min(value for (_, method), value in train.items() if method == "H")
    others = {v for (name, m), v in train.items() if m == "CE" and name != "adver"}
    assert len(others) == 1 and len(table_6_1.SETS) == WORDS.index("eight")
    told = f"at least {least:.2f} on all eight sets; cross-entropy with {others.pop():.2f}, but on"
    assert f"{told} Adversarial with {train['adver', 'CE']:.2f}." in NOTES["txt-6.2-easier"]
