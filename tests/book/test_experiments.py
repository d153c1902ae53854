"""Stored results: what the book reads from book/ismlit_book/results is what the code computes."""

import json
import os
from itertools import product

import numpy as np
import pytest
from ismlit_book import files, loaders, results
from ismlit_book.experiments import __main__ as command
from ismlit_book.experiments import (
    alternatives,
    cayley_search,
    chance,
    classifiers,
    clusterers,
    cycles,
    deep_peers,
    defaults,
    draws,
    hypotheses_4_2,
    imsat_digits,
    network_scaling,
    patience,
    peers,
    planes,
    program_3_1,
    program_4_2,
    program_6_1,
    program_6_2,
    public,
    readings,
    scaling,
    starts,
    table_3_1,
    table_4_2,
    table_4_6,
    table_5_4,
    table_5_5,
    table_6_1,
    unseen,
)
from ismlit_book.methods.baselines import cayley
from ismlit_book.methods.construction import class_sum_network
from ismlit_book.record import tables
from ismlit_book.record.tables import store
from library.problems import FAMILY, orthonormal, random_problem, unsettled
from numpy.testing import assert_allclose
from scipy.linalg import subspace_angles
from scipy.stats import spearmanr
from sets import needs
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import FunctionTransformer

from ismlit import datasets
from ismlit.estimators.kdac import nmi_with_known
from ismlit.estimators.network.layers import LayerSolver, Recipe
from ismlit.gamma import Gamma, label_gamma
from ismlit.grams import gram
from ismlit.kernels import Gaussian, Multiquadratic, Polynomial
from ismlit.objectives.plain import Problem

STORED = {name: results(name) for name in command.TABLES}


def stored(name, /, **keep):
    return next(r for r in STORED[name] if keep.items() <= r.items())


SEED = int(os.environ.get("SLICE_SEED", "0"))
"""Which stored rows are recomputed; the weekly run takes others, and says which."""


def random_slice(table, count, **keep):
    """Some stored rows."""
    rows = [r for r in STORED[table] if keep.items() <= r.items() and "cost" not in r]
    rng = np.random.default_rng(SEED)
    return [rows[i] for i in rng.choice(len(rows), count, replace=False)]


@unsettled
@pytest.mark.parametrize("row", random_slice("table-5.4", 3, paradigm="supervised", set="Wine"))
def test_a_slice_of_table_5_4_is_recomputed(row):
    found = table_5_4.supervised_row("Wine", row["kernel"], row["method"])
    # solvers stop at residuals of 1e-6 (the published one earlier, but after as many steps),
    # and the objective is of second order in that
    assert found["objective"] == pytest.approx(row["objective"], rel=1e-6)
    assert np.mean(found["test accuracy"]) == pytest.approx(np.mean(row["test accuracy"]), abs=0.02)


@pytest.mark.parametrize("row", random_slice("table-5.4", 1, paradigm="unsupervised", set="Wine"))
def test_a_slice_of_the_clusterings_is_recomputed(row):
    found = table_5_4.unsupervised_row("Wine", row["kernel"], row["method"])
    assert found["objective"] == pytest.approx(row["objective"], rel=1e-4)  # turns stop at 1e-6
    assert found["NMI"] == pytest.approx(row["NMI"], abs=0.03)  # a sample or two


def test_a_face_fold_is_recomputed():
    needs("Face")
    place = dict(set="Face", kernel="gaussian", paradigm="supervised")
    row = stored("table-5.4", **place, method="ISM, published")
    found = table_5_4.supervised_row("Face", "gaussian", "ISM, published", folds=1)
    assert found["objective"] == pytest.approx(row["objective"][:1], rel=1e-8)


@unsettled
def test_table_5_5_is_recomputed():
    for kernel in ("multiquadratic, similarity", "gaussian + polynomial"):
        row = stored("table-5.5", set="Wine", kernel=kernel, paradigm="supervised")
        found = table_5_5.supervised_row("Wine", kernel)
        assert found["objective"] == pytest.approx(row["objective"], rel=1e-6)


# ---------------------------------------------------------------- the two readings


BY_CODE = [r for t in ("table-5.4", "table-5.5") for r in STORED[t] if "cost" in r]


@unsettled
def test_a_slice_of_the_program_s_cells_is_recomputed():
    """W is drawn where eigenvalues of a start are 0; the draws are seeded."""
    rows = [r for r in BY_CODE if r["set"] == "Wine" and r["method"].endswith(", code")]
    rng = np.random.default_rng(SEED)
    for i in rng.choice(len(rows), 5, replace=False):
        row = rows[i]
        method = row["method"].partition(",")[0]
        place = row["set"], row["paradigm"], row["kernel"]
        found = readings.one(readings.CODE, *place, method)
        assert np.mean(found["cost"]) == pytest.approx(np.mean(row["cost"]), rel=0.005), place
        assert np.mean(found["score"]) == pytest.approx(np.mean(row["score"]), abs=0.03), place


@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Polynomial(3, 4.0), Multiquadratic(1.0)])
def test_a_task_s_cost_is_the_sum_over_pairs(kernel, diagonal):
    rng = np.random.default_rng(0)
    X, W, y = rng.standard_normal((12, 4)), orthonormal(4, 2, rng), np.arange(12) % 3
    task = readings.Task(X, label_gamma(y), kernel, 2, diagonal, rng)
    K = gram(kernel, X, W) * (1 - np.eye(12) * (not diagonal))
    assert task.cost(W) == pytest.approx(-np.sum(label_gamma(y).to_dense() * K))
    same = kernel.pairs == "difference"  # there the diagonal is constant, and is left in
    if not same or diagonal:
        assert task.problem.objective(W) == pytest.approx(-task.cost(W))
    assert np.allclose(task.start.T @ task.start, np.eye(2))


def test_local_widths_of_three_points():
    """Squared distances 1 and 9 of a point to the others, weighted by 1 and 1/3: (1 + 3)/(4/3)."""
    found = readings.local_widths(np.array([[0.0], [1.0], [3.0], [3.0]]), neighbours=2)
    assert found[0] == pytest.approx(np.sqrt(3))
    assert found[2] == found[3]


QUICK = [
    r
    for r in STORED["table-3.1"]
    if r["set"] in ("SG", "LG", "MoonN", "Flower")
    and r["init"] == "SI"
    and r["method"] in ("ISM", "DG")
    and "plane" not in r["reading"]
]


@pytest.mark.parametrize("kept", ["centred", "program"])
def test_a_slice_of_table_3_1_is_recomputed(kept):
    """Turns stop at a small change; labels may differ in a sample or two."""
    for name in ("small-gaussian", "large-gaussian", "moon-noise", "flower", "starts"):
        needs(name)
    readings = {tuple(row[:4]): row[4] for row in program_3_1.runs()}
    rows = [r for r in QUICK if r["reading"].startswith(kept)]
    if kept == "centred":  # DG's turns, stopped early, hang on the processor's rounding there
        rows = [r for r in rows if r["method"] == "ISM"]
    for i in np.random.default_rng(SEED).permutation(len(rows))[:4]:
        row = rows[i]
        name = tuple(row[k] for k in ("set", "method", "init", "reading"))
        if kept == "centred":
            found = table_3_1.one(*name[:3])
        else:
            start = program_3_1.starts_of(*name[1:3])[0]
            found = program_3_1.one(readings[name], name[1], start)
        for key in ("NMI", "novelty", "CQ"):
            if found[key] is not None:
                assert found[key] == pytest.approx(row[key][0], abs=0.03), row
        assert found["cost"] == pytest.approx(row["cost"][0], rel=1e-3), row


@pytest.mark.parametrize("name", ["SG", "LG", "Flower"])
def test_sm_of_the_program_is_recomputed(name):
    for data in ("small-gaussian", "large-gaussian", "flower", "starts"):
        needs(data)
    row = stored("table-3.1", set=name, method="SM", init="SI", reading="program")
    found = program_3_1.one(program_3_1.READINGS[name], "SM", program_3_1.SPECTRAL)
    assert found["cost"] == pytest.approx(row["cost"][0], rel=1e-3)


def test_a_search_along_the_cayley_curve_takes_the_first_point_that_serves(rng):
    W, G = orthonormal(5, 2, rng), rng.standard_normal((5, 2))
    angle = lambda V: subspace_angles(W, V).max()
    wide = [angle(cayley(W, G, 4 * 0.2**k)) for k in range(14)]
    point, found = cayley_search(W, G, 4, angle, lambda a: a < 0.05)
    assert found == angle(point) == next(a for a in wide if a < 0.05)
    assert cayley_search(W, G, 4, angle, lambda a: False)[1] == pytest.approx(wide[-1], rel=1e-6)


def test_the_program_s_gradient_is_that_of_its_cost_with_degrees_held(rng):
    X, F = rng.standard_normal((12, 4)), rng.standard_normal((12, 3))
    data = program_3_1.Given(program_3_1.READINGS["SG"], X, Gaussian(1.3), None, None, None)
    s, W, Z = np.array([1.0, 1.0, -0.5]), orthonormal(4, 2, rng), rng.standard_normal((4, 2))
    roots = program_3_1.ProgramAffinity(X, data.kernel, W).roots
    cost = lambda t: program_3_1.cost_and_phi(data, F, s, W + t * Z, roots)[0]
    phi = program_3_1.cost_and_phi(data, F, s, W)[1]
    assert (cost(1e-5) - cost(-1e-5)) / 2e-5 == pytest.approx(np.sum(Z * (phi @ W)), rel=1e-6)


@pytest.mark.parametrize(
    ("name", "q", "outcome", "steps"),
    [
        ("Wine", 1, "2-cycle", 200),
        ("Wine", 2, "settles", 6),
        ("cancer, 30", 2, "2-cycle", 200),
        ("Cancer", 1, "settles", 7),
    ],
)
def test_a_slice_of_the_cycles_is_recomputed(name, q, outcome, steps):
    """Which of the two points of a cycle comes last does not matter."""
    needs(name)
    row = stored("cycles", set=name, size=q)
    found = cycles.outcome(cycles.problem_of(name), q, 200)
    assert (found["outcome"], found["steps"]) == (row["outcome"], row["steps"]) == (outcome, steps)
    assert found["swing"] == pytest.approx(row["swing"], rel=1e-6, abs=1e-4)
    assert sorted(found["shortfall"]) == pytest.approx(sorted(row["shortfall"]), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("start", ["gradient", "SAVE"])
def test_a_draw_of_the_planes_is_recomputed(start):
    row = stored("planes", problem="hump", start=start)
    found = planes.one("hump", start, 3)["share"]
    assert found == pytest.approx(row["share"][3], abs=0.01)


def test_what_is_found_of_a_plane_is_between_nothing_and_all(rng):
    Z = rng.standard_normal((500, 2))
    turned = Z @ np.array([[1.0, 2.0], [0.0, 3.0]]) + 5  # another basis, another origin
    assert planes.found(turned, Z) == pytest.approx(1)
    assert planes.found(np.c_[Z[:, 0], rng.standard_normal(500)], Z) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    ("solver", "seed"),
    [("ism", 0), *(pytest.param(*draw, marks=pytest.mark.slow) for draw in [("sm", 3), ("dg", 4)])],
)
def test_a_draw_of_the_starts_is_recomputed(solver, seed):
    """By the walk, which arrives; at the narrow bandwidth a last digit can lead elsewhere."""
    row = stored("starts", solver=solver, start="walk")
    found = starts.one(solver, "walk", seed)
    assert starts.one(solver, "random", seed) == starts.one(solver, "random", seed)
    assert found["NMI"] == row["NMI"][seed] == 1
    assert found["quality"] == pytest.approx(row["quality"][seed], abs=1e-3)


SLOW_DRAWS = [
    ("light", 1),
    ("arms", 2),
    ("bands", 4),
    ("rises, blobs", 8),
    ("depth, breast cancer", 6),
]
QUICK_DRAWS = [("narrow", 3), ("labels", 7), ("columns", 11), ("rises, circles", 5)]
QUICK_DRAWS += [("depth, wine", 9), ("turns", 6)]


@pytest.mark.parametrize(
    ("name", "seed"),
    [*QUICK_DRAWS, *(pytest.param(*d, marks=pytest.mark.slow) for d in SLOW_DRAWS)],
)
def test_a_draw_of_the_course_is_recomputed(name, seed):
    row = stored("draws", experiment=name)
    for quantity, value in draws.one(name, seed).items():
        assert len(row[quantity]) == draws.DRAWS
        assert value == pytest.approx(row[quantity][seed], abs=1e-3), quantity


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("SG", alternatives.OURS),
        ("parabolas + 3", alternatives.OURS),
        ("parabolas + 3", "means, spectral"),
        ("parabolas + 3", "LDA, neighbours"),
        ("parabolas + 3", "whitened, k-means"),
    ],
)
def test_alternatives_are_recomputed(name, method):
    """Any of its draws: the first alone would not notice a row that an older solver made."""
    needs("small-gaussian")
    row = stored("alternatives", set=name, method=method)
    draw = int(np.random.default_rng(SEED).integers(1, len(row["NMI"])))
    task = alternatives.tasks(name)[draw]
    labels = alternatives.methods()[method](task, draw)[0]
    assert normalized_mutual_info_score(task.sought, labels) == pytest.approx(
        row["NMI"][draw], abs=0.02
    )
    assert nmi_with_known(labels, task.known) == pytest.approx(row["novelty"][draw], abs=0.02)


def test_what_is_taken_out_is_gone():
    task = alternatives.MADE["four Gaussians"](0)
    X, known = task.X, task.known
    means = lambda Z: np.array([Z[known == k].mean(axis=0) for k in (0, 1)])
    assert np.linalg.norm(means(alternatives.without_means(X, known))) < 1e-10
    left = alternatives.residues(X, known)
    assert abs(np.sum(left * means(X)[known], axis=1)).max() < 1e-10
    Z = alternatives.far_from_own(X, known)  # its spread about the other cluster's mean is I
    spread = sum(np.outer(z, z) for z in Z - means(Z)[1 - known]) / len(Z)
    assert np.allclose(spread, np.eye(4))


@pytest.mark.parametrize(
    ("task", "name", "method"),
    [
        *(("reduction", n, m) for n in ("iris", "blobs + 6") for m in defaults.REDUCTIONS),
        ("clusters", "rings", "IKDR"),
        ("second clustering", "parabolas", "KDAC"),
    ],
)
def test_a_slice_of_the_defaults_is_recomputed(task, name, method, monkeypatch):
    """Of reductions the first draw of a made set; a sample or two in a fold may differ."""
    if task == "reduction":
        monkeypatch.setattr(defaults, "DRAWS", 1)
    row = stored("defaults", task=task, set=name, method=method)
    score, margin = ("accuracy", 0.04) if task == "reduction" else ("NMI", 0.03)
    found = np.ravel(defaults.row(task, name, method)[score])
    assert found == pytest.approx(np.ravel(row[score])[: len(found)], abs=margin)


def test_peers_are_recomputed():
    for row in random_slice("peers", 3, set="wine"):
        if row["method"].startswith("UMAP"):
            continue  # an optional package
        found = peers.row("wine", row["method"], row["size"], folds=3)
        near = pytest.approx(row["test accuracy"][:3], abs=0.06)  # one sample of 18
        assert found["test accuracy"] == near


def test_inner_folds_choose_the_parameter(rng):
    """The column that shows the classes; the first of equals; nothing where there is no grid."""
    y = np.arange(90) % 3
    X = np.c_[rng.standard_normal(90), y + 0.01 * rng.standard_normal(90)]
    column = lambda q, k: FunctionTransformer(lambda Z: Z[:, [k % 10]])
    pick = lambda *grid: peers.chosen(peers.Peer(column, grid), X, y, y, 1, 3)
    assert (pick(0, 1), pick(1, 11), pick(11, 1), pick()) == (1, 1, 11, None)


def test_the_planes_of_the_made_sets_are_what_they_say(rng):
    """A regression of t on X finds the one of `redundant`, in as many samples as it takes."""
    big = peers.redundant(20_000)
    found = np.linalg.lstsq(big.data - big.data.mean(axis=0), big.continuous, rcond=None)[0]
    assert subspace_angles(found[:, None], big.plane).max() < 0.05
    data = peers.two_indices()
    u, v = (data.data @ data.plane).T
    assert np.corrcoef(data.continuous, u + v**2)[0, 1] > 0.98
    assert [int(np.sum(data.target == k)) for k in range(3)] == [134, 133, 133]


def test_passes_of_figure_5_2_are_recomputed():
    for row in scaling.solvers_by_n(quick=True):
        if row["size"] == 100 and row["method"] in ("ISM, published", "ISM"):
            again = stored("scaling", **{k: row[k] for k in ("what", "method", "size")})
            assert row["objective"] == pytest.approx(again["objective"], rel=1e-6)
            if row["method"] == "ISM, published":  # the other has learnt since to do with less
                assert abs(row["passes"] - again["passes"]) <= 3  # a step more or less


def test_coordinate_power_finds_the_leading_eigenvector(rng):
    A = rng.standard_normal((40, 40))
    A = A @ A.T + 30 * np.outer(np.ones(40), np.ones(40)) / 40
    value, vector = scaling.coordinate_power(A, tol=1e-10)
    exact, vectors = np.linalg.eigh(A)
    assert value == pytest.approx(exact[-1], rel=1e-8)
    assert abs(vector @ vectors[:, -1]) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("warm", [False, True])
def test_matrix_free_eigenvectors_are_those_of_phi(warm, rng):
    X, y = rng.standard_normal((50, 80)), np.arange(50) % 4
    problem, W = Problem(X, label_gamma(y), Gaussian(9.0)), orthonormal(80, 3, rng)
    values, vectors = np.linalg.eigh(problem.phi(W))
    start = vectors[:, ::-1][:, :3] if warm else None
    problem.count.passes = 0
    found, V = scaling.matrix_free_eigenvectors(problem, W, 3, start=start)
    assert_allclose(found, values[::-1][:3], rtol=1e-7)
    assert subspace_angles(V, vectors[:, ::-1][:, :3]).max() < 1e-5  # tol over the relative gap
    assert problem.count.passes == 1
    with pytest.raises(ValueError, match="d >= 5 q"):
        scaling.matrix_free_eigenvectors(problem, W, 17)


def test_where_eigenvectors_cannot_be_found_it_is_said(rng):
    """One step of the matrix-free method is too few: an error, not whatever it has."""
    X, y = rng.standard_normal((30, 40)), np.arange(30) % 3
    problem, W = Problem(X, label_gamma(y), Gaussian(6.0)), orthonormal(40, 2, rng)
    with pytest.raises(RuntimeError, match="did not converge in 1 steps"):
        scaling.matrix_free_eigenvectors(problem, W, 2, max_iter=1)


WANTED = {
    "planes": (("problem", "start"), product(planes.PROBLEMS, planes.STARTS)),
    "unseen": (
        ("set", "method"),
        (
            *product(unseen.CLASSES, (*unseen.REDUCTIONS, unseen.LOGISTIC)),
            *product(unseen.RESPONSES, unseen.METHODS),
        ),
    ),
    "chance": (("part", "method"), product(("null", "seconds"), chance.METHODS)),
    "starts": (("solver", "start"), product(starts.SOLVERS, starts.STARTS)),
    "draws": (("experiment",), ((name,) for name in draws.EXPERIMENTS)),
    "classifiers": (
        ("set", "method"),
        (
            pair
            for pair in product(classifiers.SETS, classifiers.METHODS)
            if classifiers.wanted(*pair)
        ),
    ),
    "peers": (("set", "method"), product(peers.SETS, (peers.ALL,))),
    "program-4.2": (("set", "reading", "where", "update"), program_4_2.wanted()),
    "table-4.2": (("set", "method", "data", "where"), table_4_2.wanted()),
    "hypotheses-4.2": (("set", "where", "method", "hypothesis"), hypotheses_4_2.wanted()),
}


@pytest.mark.parametrize("table", WANTED)
def test_a_table_has_all_its_rows(table):
    columns, wanted = WANTED[table]
    assert {*wanted} <= {tuple(row[column] for column in columns) for row in STORED[table]}


@pytest.mark.parametrize("table", STORED)
def test_stored_numbers_say_where_they_come_from(table):
    text = (files.data() / "results" / f"{table}.json").read_text(encoding="utf-8")
    stored = json.loads(text)
    for row in stored["rows"]:
        assert {"versions", "python", "date", "commit", "settings"} <= set(
            stored["runs"][row["run"]]
        )


def test_a_part_can_be_stored_again(monkeypatch, tmp_path):
    monkeypatch.setattr(tables, "results_file", lambda table: tmp_path / f"{table}.json")
    store("t", [dict(name="a", x=[1.0]), dict(name="b", x=[2.0])], {})
    store("t", [dict(name="a", x=[3.0]), dict(name="a", size=7, x=[4.0])], {})
    rows = results("t")
    assert [(r["name"], r.get("size"), r["x"]) for r in rows] == [
        ("a", None, [3.0]),
        ("b", None, [2.0]),
        ("a", 7, [4.0]),
    ]
    assert results("unknown") == []
    store("t", [dict(name="b", x=[5.0])], {"folds": 2})
    runs = {r["name"]: r["run"] for r in results("t")}
    assert runs == {"a": 0, "b": 1}


def test_unknown_tables_are_refused(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["experiments", "table-9.9"])
    with pytest.raises(SystemExit):
        command.main()
    assert f"known are {sorted(command.TABLES)}" in capsys.readouterr().err


# ---------------------------------------------------------------- Table 6.1


@pytest.mark.parametrize("row", random_slice("table-6.1", 3, set="wine"))
def test_a_slice_of_table_6_1_is_recomputed(row):
    found = table_6_1.row_of("wine", row["method"], folds=2)
    # accuracies: a sample or two where a bandwidth or an MLP ends elsewhere on another machine
    assert found["train"] == pytest.approx(row["train"][:2], abs=0.03)
    assert found["test"] == pytest.approx(row["test"][:2], abs=0.12)
    if "L" in row and not row["method"].endswith("normalised"):
        assert found["sequences"][0]["H"][:2] == pytest.approx(
            row["sequences"][0]["H"][:2], rel=1e-3
        )


@pytest.mark.parametrize("name", ["random", "adver", "divorce"])
def test_our_network_on_a_fold_of_a_real_set(name):
    needs(table_6_1.FILES.get(name, name))
    row = stored("table-6.1", set=name, method="H")
    found = table_6_1.row_of(name, "H", folds=1)
    assert found["sequences"][0]["H"] == pytest.approx(row["sequences"][0]["H"], rel=1e-3)


@pytest.mark.parametrize("name", ["wine"])
def test_a_fold_of_the_program_s_network_is_recomputed(name):
    """What no rounding decides: the first layers, and what all folds have in common."""
    row = stored("program-6.1", set=name, method="H")
    found = program_6_1.one(name, "H", 0)
    assert found["sigmas"][0] == pytest.approx(row["sigmas"][0][0], rel=1e-3)
    assert found["widths"][0] == row["widths"][0][0]
    assert found["sequences"]["H"][0] == pytest.approx(row["sequences"][0]["H"][0], abs=0.01)
    assert found["train"] > 0.95 and found["silhouettes"][-1] > program_6_1.NEAR


def test_the_program_s_rules_for_width_and_depth():
    rng = np.random.default_rng(0)
    flat = rng.standard_normal((50, 3)) * [10, 1e-6, 1e-6]
    assert program_6_1.width_of(flat, 1) == 2  # at least two a class
    assert program_6_1.width_of(np.diag([5.0, 3.0, 1.5, 0.5]), 1) == 3
    assert [program_6_1._apart(s) for s in ([], [0.96], [0.9], [0.9, 0.9005], [0.7, 0.7])] == [
        False,
        True,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("loss", ["CE", "MSE"])
def test_the_gradient_of_the_program_s_losses(loss):
    rng = np.random.default_rng(0)
    Z, y, step = rng.standard_normal((5, 3)), np.arange(5) % 3, rng.standard_normal((5, 3))
    at = lambda t: program_6_1.gradient_of(loss, Z + t * step, y)[0].mean()
    G = program_6_1.gradient_of(loss, Z, y)[1]
    assert np.sum(G * step) == pytest.approx((at(1e-6) - at(-1e-6)) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("name", ["wine", "divorce"])
def test_a_fold_of_the_program_s_perceptron_is_recomputed(name):
    needs(name)
    row = stored("program-6.1", set=name, method="CE")
    found = program_6_1.one(name, "CE", 0, row["L"][0])
    assert found["train"] == row["train"][0] == 1
    assert found["test"] == pytest.approx(row["test"][0], abs=0.12)  # one or two samples
    assert found["epochs"] < 3 * row["epochs"][0] and found["CE"] < 1e-5


def test_the_program_s_test_labels_are_renumbered():
    assert program_6_1.renumbered(np.array([0, 2, 3, 2])).tolist() == [0, 1, 2, 1]


def test_softmax_regression_has_a_penalty_for_each_class():
    """Two classes of 27 orthogonal unit vectors: a = 54 / (1 + e^a), CE = ln(1 + e^-a)."""
    y = np.repeat([0, 1], 27)
    found = program_6_1.cross_entropy(np.eye(2)[y], y)
    assert found == pytest.approx(0.0548, abs=1e-3)


def test_the_text_s_network_takes_sigma_from_its_output():
    X, y = datasets.make_rings(60, 2, random_state=0)[:2]
    model = table_6_1.FromOutput(bandwidth="normalized_hsic", max_layers=2, threshold=1.0)
    with pytest.warns(Warning, match="below threshold"):
        model.fit(X, y)
    recipe = Recipe(bandwidth="normalized_hsic")
    for l, layer in enumerate(model.layers_, 1):
        Z = model.images(X, l)
        best = LayerSolver(y, recipe, np.random.RandomState(0)).bandwidth(Z)
        assert layer.kernel.sigma == pytest.approx(best[0], rel=1e-6)


def test_figure_6_2_by_exact_features_is_recomputed():
    for name in program_6_2.SETS:
        needs(table_6_1.FILES.get(name, name))
        row = stored("program-6.2", set=name, reading="exact")
        found, _ = program_6_2.simulated(*program_6_2.data_of(name), layers=4)
        widths, H = map(list, zip(*found, strict=True))
        assert widths == pytest.approx(row["widths"][: len(H)], rel=1e-4)
        assert pytest.approx(row["H"][: len(H)], rel=1e-4) == H


def test_a_search_finds_a_rising_sequence():
    X, y = datasets.make_random_labels(16, random_state=0)
    sigmas = program_6_2.searched(X, y, 0.05, layers=4, beam=4)
    net = class_sum_network(X, y, sigmas=sigmas)
    assert min(sigmas) == 0.05 and net.shares[-1] >= program_6_2.SHARE
    assert np.all(np.diff(net.shares) > 0)


def test_small_networks_of_the_scaling_table():
    row = stored("network-scaling", method="exact", size=300)
    found = network_scaling.one("exact", 300)
    assert found["H"] == pytest.approx(row["H"], abs=1e-3) and found["L"] == row["L"]


# ---------------------------------------------------------------- the networks as tools


@pytest.mark.parametrize("row", random_slice("classifiers", 3, set="wine"))
def test_a_slice_of_the_classifiers_is_recomputed(row):
    if row["method"] == classifiers.SHAPE:
        assert classifiers.shape("wine").items() <= row.items()
        return
    found = classifiers.row("wine", row["method"], folds=2)
    assert found["test"] == pytest.approx(row["test"][:2], abs=0.06)  # two of 36
    assert found["train"] == pytest.approx(row["train"][:2], abs=0.03)
    if "bins" in found:
        assert np.sum(found["bins"][0][0]) == 36


def test_a_feature_machine_stretches_by_the_gradients_of_its_predictions():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((25, 3)), rng.integers(0, 3, 25)
    machine = classifiers.FeatureMachine(turns=1).fit(X, y)
    metric, step = np.zeros((3, 3)), 1e-6 * np.eye(3)
    for i, x in enumerate(X):
        rest = np.arange(25) != i  # the sample's own term has a kink there
        near = x + np.vstack([step, -step])
        K = np.exp(-np.linalg.norm(near[:, None] - X[rest], axis=2) / machine.sigma_)
        outputs = K @ machine.weights_[rest]
        slope = (outputs[:3] - outputs[3:]) / 2e-6
        metric += slope @ slope.T
    root = classifiers.FeatureMachine(turns=2).fit(X, y).root_
    assert root @ root.T == pytest.approx(metric * 3 / np.trace(metric), abs=1e-6)


def test_a_probability_is_counted_in_its_bin():
    class Told:
        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            return X

    X = np.array([[0.95, 0.05], [0.92, 0.08], [0.35, 0.65]])
    count, right, total = classifiers.of_probabilities(Told(), X, np.array([0, 1, 1]))["bins"]
    assert (count[9], right[9], total[9]) == (2, 1, pytest.approx(1.87))
    assert (count[6], right[6], total[6]) == (1, 1, pytest.approx(0.65))


def test_a_draw_of_the_clusterers_is_recomputed():
    found = clusterers.one("moons", 0)
    for method, numbers in found.items():
        row = stored("clusterers", set="moons", method=method)
        margin = 0.05 if method == clusterers.OURS else 0.02  # training follows rounding
        for key in ("NMI", "NMI, new", "ARI", "ARI, new"):
            assert numbers[key] == pytest.approx(row[key][0], abs=margin), (method, key)


@pytest.mark.parametrize("table", ["iris", "no clusters"])
def test_a_draw_of_a_table_is_recomputed(table):
    for method, numbers in clusterers.of_a_table(table, 1).items():
        row = stored("clusterers", table=table, method=method)
        assert numbers["ARI"] == pytest.approx(row["ARI"][1], abs=0.05)  # two rows of a cluster
        assert numbers["warned"] == row["warned"][1]


@pytest.mark.parametrize("method", ["SupervisedIKDR", "LDA", "PLS", public.ALL])
def test_a_public_set_is_recomputed(method):
    needs(public.SETS["glass"])
    (row,) = public.rows(f"reduction/glass/{method}")
    kept = stored("public", task="reduction", set="glass", method=method)
    assert row["accuracy"] == pytest.approx(kept["accuracy"], abs=0.05)  # two rows of a fold


def test_a_public_table_is_made_ready(monkeypatch, tmp_path):
    """Gaps become medians, words columns; a class of fewer than five rows is left out."""
    rows = [f"{k},{'?' if k % 3 else k},'{'ab'[k % 2]}',{k % 2}" for k in range(20)]
    path = tmp_path / "made.csv"
    path.write_text("\n".join([*rows, "7,1,'a',rare"]))
    monkeypatch.setattr(loaders, "fetch", lambda name: [path])
    table, y = public.load("glass")
    X = public.preparation().fit_transform(table)
    assert X.shape == (20, 4) and set(y) == {0, 1}
    assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    assert len(np.unique(X[np.arange(20) % 3 > 0, 1])) == 1
    assert_allclose(np.abs(X[:, 2:]), 1)
    assert public.shape("glass") == dict(samples=20, features=4, classes=2, smallest=10)
    assert public.more_components("glass", "PCA") == {}
    assert public.reduction("glass", "PLS")["accuracy"] == [1.0] * 5


@pytest.mark.parametrize("row", ["classes/heart.statlog/LDA", "response/bodyfat/PLS"])
def test_an_unseen_table_is_recomputed(row):
    needs("heart.statlog")
    (found,) = unseen.rows(row)
    kept = stored("unseen", **dict(zip(("task", "set", "method"), row.split("/"))))
    key = "accuracy" if "accuracy" in kept else "R2"
    assert found[key] == pytest.approx(kept[key], abs=0.04)  # two rows of a fold


def test_an_unseen_table_is_read(monkeypatch, tmp_path):
    """Words are text and gaps a word of their own; rare classes, and no response, are left out."""
    head = ["@relation t", "@attribute a numeric", "@attribute b {x,y}"]
    rows = [f"{k},{'xy?'[k % 3]},{k % 2}" for k in range(20)]
    path = tmp_path / "t.arff"
    monkeypatch.setattr(loaders, "fetch", lambda name: [path])
    path.write_text("\n".join([*head, "@attribute c {0,1,2}", "@data", *rows, "?,x,2"]))
    table, y = unseen.load("anneal")
    assert [*table.b[:3]] == ["x", "y", "?"] and len(table) == 20 and set(y) == {0, 1}
    path.write_text("\n".join([*head, "@attribute c numeric", "@data", *rows, "1,x,?"]))
    table, y = unseen.load("stock")
    assert len(table) == 20 and y.tolist() == [float(k % 2) for k in range(20)]


def test_the_statistics_of_independence_are_those_of_other_libraries():
    for package in ("hyppo", "dcor"):
        pytest.importorskip(package)
    for statistic in chance.VALUES:
        assert chance.differences(statistic) < 1e-8, statistic


def test_relations_hold_what_they_say():
    """Ranks are often correlated beyond chance in the two lines, and not where they should not."""
    p = {}
    for name, make in chance.RELATIONS.items():
        draws = [make(np.random.default_rng(seed)) for seed in range(60)]
        p[name] = np.mean([spearmanr(X[:, 0], Y[:, 0]).pvalue < 0.05 for X, Y in draws])
    assert min(p["linear"], p["heavy tails"]) > 0.5 and max(p["circle"], p["exclusive or"]) < 0.2
    assert chance.rejected(chance.independent, "dependence_test", 60) < 0.2
    assert chance.rejected(chance.exclusive_or, "dependence_test", 20) > 0.3


def test_eigenvectors_reach_new_samples():
    """Extended to the rows that they were learnt from they give the same clusters."""
    A, B, _, y_B = clusterers.split("densities", 0)
    model = clusterers.Extended(3, 0.5).fit(A)
    assert clusterers.agreement(model.labels_, model.predict(A), model.predict(B), y_B)["ARI"] == 1
    few = clusterers.Extended(3, 0.5, rows=len(A)).fit(A)
    assert (few.predict(B) == model.predict(B)).all()


# ---------------------------------------------------------------- chapter 4


@pytest.mark.parametrize("row", random_slice("table-4.2", 2, set="Wine", data="scaled"))
def test_a_slice_of_table_4_2_is_recomputed(row):
    if row["method"] in deep_peers.PEERS:
        pytest.skip("the comparators need PyTorch")
    found = table_4_2.one("Wine", row["method"], 0, where=row["where"])
    # a sample of 178 is 2 points; training follows the rounding of the machine, so a few more
    assert found["NMI"] == pytest.approx(row["NMI"][0], abs=12 if "KNet" in row["method"] else 2)


def test_a_draw_of_the_patience_table_is_recomputed():
    needs("spiral-3000")
    row = stored("patience", method="best of four, local start")
    found = patience.one(patience.METHODS["best of four, local start"], 3)
    assert found["start"] == pytest.approx(row["start"][3], abs=0.1)  # eigenvectors: no training
    assert found["trained"] == pytest.approx(row["trained"][3], abs=3)  # a few of 300 points


def test_a_row_of_table_4_6_is_recomputed():
    reading = [*table_4_6.READINGS][-1]
    row = stored("table-4.6", set="Wine", reading=reading, update="EIG", **{"lambda": "1"})
    found = table_4_6.one("Wine", reading, "eig", 1.0, 0)
    assert found["HSIC"] == pytest.approx(row["HSIC"][0], abs=0.05)  # the identity, nearly


def test_a_start_of_the_program_is_recomputed():
    row = stored("program-4.2", set="Wine", where="all", update="eig")
    X, y = table_4_2.data_of("Wine")
    U = table_4_2.Gram(X, table_4_2.median(X)).leading(3)[0]
    labels = table_4_2.cluster_rows(U, 3, 0)
    assert table_4_2.nmi(y, labels) == pytest.approx(row["data"][0], abs=1)


def test_the_program_s_pretraining_lowers_its_error():
    """Briefly: few epochs, two networks, and both phases of one run."""
    found = [
        program_4_2.found_by(program_4_2.READINGS["Wine"], "Wine", "part", 0, [0], 2, most)
        for most in (1, 6)
    ]
    assert np.max(found[1]["errors"]) < np.min(found[0]["errors"])
    assert found[1]["turns"] == [1.0] or found[1]["turns"] == [1]
    assert {len(found[1][k]) for k in ("NMI", "data", "start", "second", "images", "new")} == {1}


def test_a_part_is_the_most_alike_of_its_draws():
    rows = program_4_2.part_of("Wine", 60, np.random.RandomState(0), draws=3)
    assert len(set(rows)) == 60
    assert program_4_2.top_shares("Wine")[1].sum() == pytest.approx(1)


def test_the_gradient_of_pretraining_is_that_of_its_loss():
    rng = np.random.RandomState(0)
    nets = [program_4_2.started((3, 4, 4, 3), rng) for _ in range(2)]
    encoder, decoder = (program_4_2.Perceptron.together([net]) for net in nets)
    B = rng.standard_normal((1, 5, 3))
    taken = []
    adams = [type("Kept", (), {"ascend": lambda self, theta, g: taken.append(g.copy())})()] * 2
    loss = program_4_2.identity_step(encoder, decoder, adams, B)

    def at(net, theta):
        kept, net.theta = net.theta, theta
        Z = encoder(B)
        Y = decoder(Z)
        net.theta = kept
        return np.mean((Y - B) ** 2 + (Y - Z) ** 2)

    assert loss == pytest.approx(at(encoder, encoder.theta))
    for net, gradient in zip((encoder, decoder), taken, strict=True):
        step = 1e-6 * rng.standard_normal(net.theta.shape)
        slope = at(net, net.theta + step) - at(net, net.theta - step)
        assert slope == pytest.approx(-2 * np.sum(gradient * step), rel=1e-4)


def test_a_network_of_units_of_both_signs_is_the_identity():
    X = np.random.default_rng(0).standard_normal((7, 3))
    assert table_4_6.identity(3, 2)(X) == pytest.approx(X)


@pytest.mark.parametrize("row", random_slice("hypotheses-4.2", 3, set="Wine"))
def test_a_hypothesis_of_tables_4_2_and_4_4_is_recomputed(row):
    found = hypotheses_4_2.one("Wine", row["where"], row["hypothesis"], 0)
    assert found["NMI"] == pytest.approx(row["NMI"][0], abs=2)  # a sample of 178


def test_the_accuracy_on_digits_is_of_the_best_pairing():
    y = np.array([0, 0, 1, 1, 2, 2])
    assert imsat_digits.accuracy(y, np.array([2, 2, 0, 0, 1, 1])) == 100
    assert imsat_digits.accuracy(y, np.array([2, 2, 0, 0, 0, 0])) == pytest.approx(100 * 4 / 6)


def test_without_torch_the_comparators_say_what_to_install():
    try:
        import torch  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match=r"pip install './book\[deep\]'"):
            deep_peers.DEC(2).fit(np.zeros((4, 2)))
        with pytest.warns(UserWarning, match="AEC is left out"):
            assert list(table_4_2.rows("Wine/AEC/")) == []
    else:
        pytest.skip("PyTorch is installed")


@pytest.mark.parametrize("name", FAMILY)
def test_operator_is_phi_kept_or_recomputed(name, rng):
    problem = random_problem(name, rng)
    W, V = orthonormal(4, 2, rng), rng.standard_normal((4, 3))
    phi = problem.phi(W)
    for cache_bytes, passes in ((2**28, 1), (0, 2)):
        problem.count.passes = 0
        operator = scaling.phi_operator(problem, W, cache_bytes)
        for _ in range(2):  # the second product comes from the kept tiles, and is no pass
            assert_allclose(operator @ V, phi @ V, atol=1e-12 * np.linalg.norm(phi))
        assert problem.count.passes == passes


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
def test_the_text_as_a_reading_is_the_long_experiment(kernel):
    row = stored(
        "table-5.4", set="Wine", kernel=kernel, paradigm="supervised", method="ISM, published"
    )
    found = readings.with_labels(readings.TEXT, "Wine", kernel, readings.fixed_point, 3)
    assert np.negative(found["cost"]) == pytest.approx(row["objective"][:3], rel=1e-6)
    assert found["score"] == pytest.approx(row["test accuracy"][:3], abs=0.06)


def test_dimension_growth_without_labels_maximises_the_spread():
    """Gamma = -11'/n is H up to its diagonal: the labels make no difference."""
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((20, 3)), orthonormal(3, 1, rng)
    H = np.eye(20) - 1 / 20
    K = gram(Gaussian(1.0), X, W)
    blind = Gamma(np.ones((20, 1)), [-1 / 20])
    assert Problem(X, blind, Gaussian(1.0)).objective(W) + 20 == pytest.approx(np.sum(H * K))


def test_a_cell_fits_within_a_printed_deviation():
    row = ("Wine", "supervised", "gaussian", "ISM")
    cell = lambda *numbers: readings.Cell(row, *numbers, "")
    assert cell("cost", -100.0, 5.0, (-104.0, -106.0)).fits
    assert not cell("cost", -100.0, 5.0, (-106.0,)).fits
    assert not cell("cost", -100.0, float("nan"), (-101.5,)).fits  # 1 % where none is printed
    assert cell("score", 0.5, float("nan"), (0.515,)).fits
    assert not cell("score", 0.5, 0.0, (0.51,)).fits
    assert not cell("cost", 1.0, 1.0, None).fits


def test_a_printed_row_is_compared_cell_by_cell():
    row = dict(set="SG", method="ISM", init="SI", cost="-1.2", NMI="1", CQ="2", novelty="0")
    row |= {f"{key} sd": "" for key in ("cost", "NMI", "CQ", "novelty")}
    good = dict(set="SG", method="ISM", init="SI", reading="program", NMI=[0.96], novelty=[0.0])
    good |= {"CQ": [2.0], "cost": [-1.19]}
    assert table_3_1.compare(row, good) == dict(NMI=2, CQ=2, novelty=2, cost=2)
    assert table_3_1.compare(row | {"NMI": "1.00"}, good)["NMI"] == 1
    bad = good | {"NMI": [0.9], "CQ": [1.8], "cost": [-1.4], "reading": "centred"}
    assert table_3_1.compare(row, bad) == dict(NMI=0, CQ=0, novelty=2, cost=0)
    other = good | {"NMI": [0.0], "reading": "program, q = 2"}
    best = table_3_1.verdict(row, [bad, good, other])
    assert best == ("program", dict(NMI=2, CQ=2, novelty=2, cost=2))


def test_spreads_and_starts_of_one_s_own_are_allowed_for():
    row = dict(set="SG", NMI="0.4", novelty="0.0", CQ="1", cost="1")
    row |= {"NMI sd": "0.49", "novelty sd": "0.0", "CQ sd": "0.1", "cost sd": ""}
    four, five = [1.0] * 4 + [0.0] * 6, [1.0] * 5 + [0.0] * 5
    assert table_3_1.near(four, row, "NMI", sampled=False) == 2
    assert table_3_1.near(five, row, "NMI", sampled=False) == 0
    assert table_3_1.near(five, row, "NMI", sampled=True) == 1
    assert table_3_1.near([1.0] * 10, row, "NMI", sampled=True) == 0
    assert table_3_1.near([0.5] * 10, row, "NMI", sampled=True) == 0  # another spread
    row["CQ"] = "1.00"
    assert table_3_1.near([0.9, 1.1] * 5, row, "CQ", sampled=False) == 2
    assert table_3_1.near([0.5, 1.5] * 5, row, "CQ", sampled=False) == 1  # not its spread


def test_cells_of_table_6_1_can_fail():
    row = next(r for r in table_6_1.table() if (r["set"], r["method"]) == ("wine", "H"))
    kept = [dict(r) for r in STORED["program-6.1"] if r["set"] == "wine"]
    judge = lambda: table_6_1.judge(row, table_6_1.PROGRAM, [], kept)
    assert all(judge().values())
    for other in kept:
        other["test"] = [0.5] * 10
    assert [cell for cell, comes in judge().items() if not comes] == ["test"]


def test_no_spread_of_the_folds_lets_a_wrong_value_of_table_6_1_pass():
    """Two standard errors of folds that are worlds apart are wider than any margin."""
    row = {
        "L": "5",
        "L sd": "90",
        "MSE": "100",
        "MSE sd": "9e4",
        "T": "0.5",
        "T sd": "9",
        "sigma": "1",
    }
    far = {"L": [1.0, 15.0], "MSE": [0.0, 900.0], "T": [0.0, 1.9], "sigma": [0.1, 9.0]}
    close = {"L": [1.0, 11.0], "MSE": [0.0, 240.0], "T": [0.0, 1.2], "sigma": [0.1, 2.4]}
    for key in far:
        error = 2 * np.sqrt(np.var(far[key]) / 2 + float(row.get(f"{key} sd") or 0) ** 2 / 10)
        assert error > abs(np.mean(far[key]) - float(row[key]))
        assert not table_6_1.near(far, row, key)
        assert table_6_1.near(close, row, key)


@pytest.mark.parametrize(
    ("key", "printed", "here", "wanted"),
    [
        ("C", "0.50", 0.521, ("0.50", "0.55")),
        ("test", "0.99", 0.979, ("0.95", "1.00")),
        ("T", "0.01", 0.011, ("0.00", "0.04")),
        ("L", "5.1", 5.0, ("4.5", "5.5")),
        ("MSE", "1.0", 1.05, ("1.0", "1.2")),
        ("sigma", "9.9", 10.01, ("8.8", "11.7")),
    ],
)
def test_what_else_would_pass_is_counted_in_the_printed_digits(key, printed, here, wanted):
    """All folds alike, so that a margin is its least number or its share of what is printed."""
    assert table_6_1.would_pass({key: [here] * 3}, {key: printed}, key) == wanted


def test_the_next_number_outside_of_what_would_pass_does_not_come_out():
    program = STORED["program-6.1"]
    for row in table_6_1.table():
        found = table_6_1.values(row, table_6_1.PROGRAM, [], program)
        for key, comes in table_6_1.judge(row, table_6_1.PROGRAM, [], program).items():
            if not comes:
                continue
            low, high = table_6_1.would_pass(found, row, key)
            unit = 10.0 ** -len(row[key].partition(".")[2])
            within = float(low), float(row[key]), float(high)
            beyond = float(low) - unit, float(high) + unit
            passes = [
                table_6_1.near(found, row | {key: str(value)}, key) for value in (*within, *beyond)
            ]
            assert sorted(within) == [*within] and passes[:3] == [True] * 3
            assert within[0] < unit or not passes[3]
            assert high == "1.00" or not passes[4]


def test_a_printed_cell_takes_the_first_reading_that_is_near():
    rows = [
        {"set": "Wine", "method": "k-means", "data": form, "where": "all", "NMI": values}
        for form, values in (("scaled", [87.0, 88.0]), ("raw", [42.0, 43.0]))
    ]
    cell = {"set": "Wine", "method": "k-means", "NMI": "44.0"}
    assert table_4_2.compare(cell, "all", rows) == ("k-means, raw", [42.0, 43.0], True)
    assert table_4_2.compare(cell | {"NMI": "60"}, "all", rows)[2] is False
    assert table_4_2.compare(cell | {"NMI": ""}, "all", rows) is None
    assert table_4_2.compare(cell | {"NMI": "88"}, "all", rows)[0] == "k-means"


def test_ours_does_not_reproduce_the_thesis():
    """A cell of KNet is judged by the text and by the program, not by another algorithm."""
    here = {"set": "Wine", "where": "all"}
    stored = [here | {"method": "KNet EIG", "data": "scaled", "NMI": [91.0]}]
    program = [here | {"update": "eig", "reading": "published", "NMI": [80.0], "start": [70.0]}]
    program[0] |= {"data": [75.0], "images": [76.0]}
    cell = {"set": "Wine", "method": "KNet EIG", "NMI": "91.0", "sd": "0.8"}
    assert table_4_2.compare(cell, "all", stored, program) == ("program", [80.0], False)
    beside = table_4_2.Beside([cell], "all", stored, program)
    counts = {line["cells"]: line["come out"] for line in beside.tallies()}
    assert counts["all, by some reading"] == 0 and counts["KNet, ours"] == 1
    assert table_4_2.shown("91.0", [90.0, 91.0]) == "✓ 90.5 ± 0.5"
    (row,) = beside.knet_rows()
    assert row == {
        "": "Wine EIG",
        "printed": "91.0 ± 0.8",
        "by the text": "not run",
        "by the program": "✗ 80.0",
        "ours": "✓ 91.0",
        "also near": "-",
    }


def test_a_cell_that_no_reading_gives_says_what_was_tried():
    rows = [{"set": "Wine", "method": "k-means", "data": "scaled", "where": "part", "NMI": [87.0]}]
    cell = {"set": "Wine", "method": "k-means", "NMI": "25.0"}
    tried = {"set": "Wine", "where": "part", "method": "k-means", "hypothesis": "mixed"}
    assumed = [tried | {"NMI": [24.0]}, tried | {"where": "all", "NMI": [1.0]}]
    (row,) = table_4_2.Beside([cell], "part", rows, [], assumed).misses(["k-means"])
    assert row["by the readings"] == "k-means 87.0"
    assert row["one assumption changed"] == "mixed ✓ 24.0"


def test_of_a_part_a_comparators_images_are_clustered_first():
    row = {"set": "Wine", "method": "DEC", "data": "scaled", "where": "part", "NMI": [80.0, 82.0]}
    cell = {"set": "Wine", "method": "DEC", "NMI": "84.0"}
    beside = table_4_2.Beside([cell], "part", [row | {"NMI, images": [60.0, 62.0]}], [])
    assert beside.by["Wine", "DEC"] == {"DEC, images": [60.0, 62.0], "DEC": [80.0, 82.0]}
    assert beside.plain(("Wine", "DEC")) == ("DEC, images", [60.0, 62.0])
    assert beside.verdicts_of("DEC") == {"Wine, DEC, images": False, "Wine, DEC": True}
