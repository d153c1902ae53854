""""""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from library.problems import orthonormal
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from ismlit import label_gamma
from ismlit.bandwidth import median_distance
from ismlit.estimators.clusters import cluster_rows_given, embedding_silhouette
from ismlit.gamma import Gamma, embedding_gamma, guidance_gamma
from ismlit.grams import gram
from ismlit.kernels import Gaussian, RelativeGaussian
from ismlit.objectives.affinity import NORMALIZE, Affinity
from ismlit.objectives.joint import JointProblem
from ismlit.objectives.normalized import NormalizedProblem
from ismlit.objectives.pairs import Pairs
from ismlit.objectives.plain import Problem
from ismlit.solvers.alternate import _AlternatingMaximizer, alternate
from ismlit.solvers.certificate import certify
from ismlit.solvers.ism import ism


def test_a_cluster_of_one_has_no_silhouette():
    U = np.r_[np.zeros(20), np.ones(19), 50.0][:, None]
    assert embedding_silhouette(U, np.r_[np.zeros(20), np.ones(20)]) > 0
    assert embedding_silhouette(U, np.r_[np.zeros(39), 1]) == -1


@pytest.mark.parametrize("normalize", NORMALIZE)
@pytest.mark.parametrize("weight", [None, 2.0, -2.0])
@pytest.mark.parametrize("place", ["guide", "fixed"])
def test_alternation_never_falls_and_ends_where_it_says(normalize, weight, place):
    wine = load_wine()
    X, y = scale(wine.data), wine.target
    extra = None if weight is None else guidance_gamma(y, weight)
    kernel = Gaussian(median_distance(X))
    found = alternate(JointProblem(X, kernel, normalize, **{place: extra}), 3, 2, max_turns=300)
    assert found.converged
    assert np.diff(found.history["objective"]).min() > -1e-9 * abs(found.objective)
    K = gram(kernel, X, found.W)
    D = K.sum(axis=1)
    A = K if normalize == "none" else K / np.sqrt(np.outer(D, D))
    U = found.U if normalize == "degrees" else found.U - found.U.mean(axis=0)
    value = np.trace(U.T @ A @ U)
    if extra is not None:
        value += np.sum(extra.to_dense() * (A if place == "guide" else K))
    assert found.objective == pytest.approx(value, rel=1e-9)


def test_an_alternation_ends_with_the_first_turn_that_gains_little():
    """A turn is both halves, U and W."""
    joint = JointProblem(scale(load_wine().data), Gaussian(5.0))
    for tol in (1e-2, 1e-3, 1e-4):
        J = alternate(joint, 3, 2, tol=tol).history["objective"]
        gains = (J[2::2] - J[:-2:2]) / J[2::2]
        assert gains[-1] <= tol and (gains[:-1] > tol).all()


def joint_objective(X, widths, U, W, normalize, guide, fixed):
    """Of both U and W with what guides, by a double sum over the pairs."""
    n, Z = len(X), X @ W
    K = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            K[i, j] = np.exp(-np.sum((Z[i] - Z[j]) ** 2) / (2 * widths[i] * widths[j]))
    D = K.sum(axis=1)
    A = K if normalize == "none" else K / np.sqrt(np.outer(D, D))
    U = U if normalize == "degrees" else U - U.mean(axis=0)
    weigh = lambda F, s: (F * s) @ F.T
    return np.sum((U @ U.T + weigh(*guide)) * A) + np.sum(weigh(*fixed) * K)


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize(("normalize", "times"), [("none", 2), ("degrees", 1), ("centred", 1)])
def test_half_of_doubled_samples_say_what_all_say(normalize, times, relative, rng):
    """Every row twice: one of each pair has the same objective, its trace with K alone halved.

    So what guides weighs in a sample as much beside U as it does in all: doubling the rows
    doubles a trace of U with K, and leaves it as it is where degrees divide.
    """
    X, U, W = rng.standard_normal((9, 3)), orthonormal(9, 2, rng), orthonormal(3, 2, rng)
    widths = rng.uniform(0.7, 1.5, 9) if relative else np.full(9, 1.3)
    guide = rng.standard_normal((9, 2)), np.array([0.4, -0.9])
    fixed = rng.standard_normal((9, 1)), np.array([0.7])
    twice = lambda A: np.repeat(A, 2, axis=0)
    kernel = RelativeGaussian(twice(widths)) if relative else Gaussian(1.3)
    parts = dict(guide=Gamma(twice(guide[0]), guide[1]), fixed=Gamma(twice(fixed[0]), fixed[1]))
    joint = JointProblem(twice(X), kernel, normalize, **parts)
    whole = joint.given(twice(U) / np.sqrt(2)).objective(W)
    half = joint.on(np.arange(0, 18, 2)).given(U).objective(W)
    assert whole == pytest.approx(times * half, rel=1e-12)
    pairs = (twice(guide[0]), guide[1]), (twice(fixed[0]), fixed[1])
    by_hand = joint_objective(twice(X), twice(widths), twice(U) / 2**0.5, W, normalize, *pairs)
    assert whole == pytest.approx(by_hand, rel=1e-12)


def test_a_solver_that_falls_is_not_followed(rng):
    """ISM first, a random W afterwards: it is dropped, and the result is that of the kept one."""
    X, calls = scale(load_wine().data), []

    def random_w(problem, q, init):
        calls.append(1)
        if len(calls) == 1:
            return ism(problem, q=q, init=init, escape=False)
        return ism(problem, q=q, init="random", random_state=0, max_iter=0)

    with pytest.warns(ConvergenceWarning, match="the last one, which is kept"):
        found = alternate(JointProblem(X, Gaussian(5.0), "degrees"), 3, 3, solver=random_w)
    assert np.diff(found.history["objective"]).min() > -1e-12
    assert not found.converged and found.n_test_passes == 0
    certificate = certify(found.result)  # of the W that is kept and of the last U
    assert found.result.residual == pytest.approx(certificate.residual, rel=1e-6)
    assert found.result.objective == pytest.approx(found.objective, rel=1e-10)


def test_the_first_u_is_the_start_or_keeps_away(rng):
    X, known = rng.standard_normal((30, 3)), guidance_gamma(np.arange(30) % 2, -1.0)
    start = orthonormal(30, 2, rng)
    joint = JointProblem(X, Gaussian(1.0), "centred", guide=known)
    with pytest.warns(ConvergenceWarning, match="a single one"):
        assert_allclose(alternate(joint, 2, 1, start=start, max_turns=1).U, start)
        away = alternate(joint, 2, 1, max_turns=1).U
    assert_allclose(known.F.T @ away, 0, atol=1e-10)
    for bad, words in ((start[:, :1], "k = 2 columns"), (3 * start, "orthonormal columns")):
        with pytest.raises(ValueError, match=words):
            alternate(joint, 2, 1, start=bad)


def test_later_turns_start_from_the_last_w():
    X, starts, ends = scale(load_wine().data), [], []

    def spy(problem, q, init):
        starts.append(init)
        result = ism(problem, q=q, init=init)
        ends.append(result.W)
        return result

    alternate(JointProblem(X, Gaussian(5.0)), 3, 2, solver=spy, tol=1e-3)
    assert starts[0] == "taylor" and len(starts) > 2
    assert all(a is b for a, b in zip(starts[1:], ends))


def test_single_precision_and_pickles(rng):
    X = scale(load_wine().data).astype(np.float32)
    known = guidance_gamma(load_wine().target, -1.0)
    found = alternate(JointProblem(X, Gaussian(5.0), "centred", known), 2, 2, tol=1e-3)
    assert found.U.dtype == found.W.dtype == np.float32
    assert pickle.loads(pickle.dumps(found)).objective == found.objective


def test_alternation_that_does_not_converge_says_so():
    X = scale(load_wine().data)
    with pytest.warns(ConvergenceWarning, match="still rose"):
        found = alternate(JointProblem(X, Gaussian(5.0)), 3, 3, max_turns=2)
    assert not found.converged and found.n_iter == 2


@pytest.mark.parametrize("normalize", ["none", "degrees"])
def test_passes_of_an_alternation_are_those_made(normalize, monkeypatch):
    """Counted independently, at the two places where all pairs are visited."""
    made, kept = [], [0]
    sweep = Pairs.sweep

    def counted(self, row, W, *arguments):
        directions = arguments[0] if row.__name__ == "_curvature_row" else [None]
        made.extend(directions)  # each counts as a pass
        kept[0] += bool(arguments and isinstance(arguments[-1], dict) and 0 in arguments[-1])
        return sweep(self, row, W, *arguments)

    def formed(*arguments):
        made.append(1)
        kept[0] += normalize != "none"  # for the degrees the pairs were visited just before
        return gram(*arguments)

    monkeypatch.setattr(Pairs, "sweep", counted)
    monkeypatch.setattr("ismlit.objectives.affinity.gram", formed)
    X = scale(load_wine().data)
    joint = JointProblem(X, Gaussian(5.0), normalize)
    for _ in range(2):  # the second alternation counts its own passes alone
        made.clear()
        kept[0] = 0
        found = alternate(joint, 3, 3, tol=1e-3)
        assert found.n_passes == len(made) - kept[0]
        assert found.history["passes"][-1] <= found.n_passes
    problem = Problem(X, embedding_gamma(found.U), Gaussian(5.0))
    first, second = ism(problem, q=2), ism(problem, q=2)
    assert first.n_passes == second.n_passes  # not cumulative


def test_an_alternation_is_shown_without_its_arrays(wine):
    found = alternate(JointProblem(wine[0], Gaussian(5.0)), 2, 1, tol=1e-2)
    assert "n_iter=" in repr(found) and "array" not in repr(found)


def test_tol_of_an_alternation_bounds_the_whole_gradient(wine):
    """W passes if ||dJ|| <= tol |J|, dJ by central differences along the circle of w."""
    X = wine[0][:40, :2]
    problem = Problem(X, label_gamma(np.arange(40) % 2), Gaussian(1.0))
    at = lambda angle: np.array([[np.cos(angle)], [np.sin(angle)]])
    J = lambda angle: problem.objective(at(angle))
    slope = abs(J(0.3 + 1e-4) - J(0.3 - 1e-4)) / 2e-4
    turns = _AlternatingMaximizer(
        JointProblem(X, Gaussian(1.0)), 1, 1, ism, {}, False, "taylor", tol=0.0
    )
    turns.problem, turns.log = problem, [(J(0.3), 1)]
    turns.solution = SimpleNamespace(converged=False, W=at(0.3))
    for share, passes in ((0.95, False), (1.05, True)):
        turns.tol = share * slope / abs(J(0.3))
        assert turns._w_settled() is passes


def test_an_alternation_that_never_settles_ends_after_fifty_turns(rng):
    """A solver that answers with any W keeps the objective going up and down."""
    joint = JointProblem(rng.standard_normal((15, 3)), Gaussian(1.0), "centred")

    def restless(problem, q, init):
        W = np.linalg.qr(rng.standard_normal((problem.d, q)))[0]
        return ism(problem, q=q, init=W, max_iter=0, escape=False)

    with pytest.warns(ConvergenceWarning, match="in 50 turns"):
        alternate(joint, 2, 1, solver=restless, freeze=True)


@pytest.mark.parametrize("named", [0, 1])
def test_given_rows_keep_their_cluster_against_the_embedding(named, rng):
    U = np.repeat([-1.0, 1.0], 20)[:, None] + 0.1 * rng.standard_normal((40, 1))
    given = np.full(40, -1)
    given[[0, 1, 2]], given[[20, 21, 22]] = named, 1 - named
    given[39] = named  # deep in the other cluster
    labels = cluster_rows_given(U, 2, given, random_state=0)
    assert np.array_equal(labels[:39], np.repeat([named, 1 - named], 20)[:39])
    assert labels[39] == named


SMALL = guidance_gamma(np.arange(20) % 2, -1.0)
BELL = Gaussian(1.0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda X: Affinity(Pairs(X, BELL)).leading(31), "between 1 and the number of samples"),
        *((lambda X, bad=bad: JointProblem(X, BELL, bad), "'centred'") for bad in ("yes", None)),
        (lambda X: Affinity(Pairs(X, BELL), normalize=True), "'centred'"),
        (lambda X: JointProblem(X, BELL, guide=SMALL), "guide is for 20 samples"),
        (lambda X: JointProblem(X, BELL, fixed=SMALL), "fixed is for 20 samples"),
        (lambda X: JointProblem(X, BELL, guide=np.eye(30)), "guide must be a Gamma"),
        (lambda X: JointProblem(X, BELL, fixed=np.eye(30)), "fixed must be a Gamma"),
        (lambda X: NormalizedProblem(X, np.eye(30), BELL), "must be a Gamma"),
        (lambda X: NormalizedProblem(X, SMALL, BELL, fixed=SMALL), "for 20 samples"),
        (
            lambda X: Affinity(Pairs(X, BELL), None, "centred", np.eye(30)[:, :28]).leading(2),
            "room for 1 columns",
        ),
        (lambda X: alternate(JointProblem(X, BELL), 0, 2), "at least 1"),
        (lambda X: alternate(JointProblem(X, BELL), 1, 2, solver="ism"), "must be a function"),
    ],
)
def test_what_cannot_be_is_refused(make, words, rng):
    with pytest.raises(ValueError, match=words):
        make(rng.standard_normal((30, 3)))


def test_w_has_two_dimensions_also_where_one_was_seen_before(rng):
    gamma = Gamma(np.ones((30, 1)), [1.0])
    problem = NormalizedProblem(rng.standard_normal((30, 3)), gamma, BELL)
    problem.objective(np.eye(3)[:, :1])
    with pytest.raises(ValueError, match="W must have shape"):
        problem.objective(np.eye(3)[:, 0])
