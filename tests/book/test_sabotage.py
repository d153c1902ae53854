"""The falsifier finds what a claim rests on, falsifies formulas only, and sees who notices."""

import ast
import json
from functools import cache

import pytest
from ismlit_book.record.cells import cells, code_of
from ismlit_book.record.ledger import ClaimError

from tools import sabotage


def notebook(*sources):
    return dict(cells=[dict(cell_type="code", source=[source]) for source in sources])


def places(*sources):
    return sabotage.statements(notebook(*sources))


def test_a_check_is_followed_back_to_what_it_rests_on():
    found = places(
        "import a\nx = 1\ny = 2\nx = 3", "def g(t):\n    return t + x\nz = y", "check('c', g(1))"
    )
    assert sabotage.rests_on(found, 6) == {3, 4, 6}
    assert found[6].claims == ("c",)
    inner = places("x = 1", "y = [x + 1 for x in range(3)]", "check('c', x)")
    assert sabotage.rests_on(inner, 2) == {0, 2}
    kept = places("rows = []", "rows.append(4)", "unused = 3", "check('c', rows)")
    assert sabotage.rests_on(kept, 3) == {0, 1, 3}
    late = places("def g(t):\n    return h(t)", "h = lambda t: t + 1", "check('c', g(1))")
    assert sabotage.rests_on(late, 2) == {0, 1, 2}, "bound after the function that reads it"
    sorted_ = places("import numpy as np", "y = np.sort(z)", "check('c', np.pi)")
    assert sabotage.rests_on(sorted_, 2) == {0, 2}, "np.sort makes a new array"


CASES = [
    ("a = x + y", {"x - y", "x"}),
    ("a = 2 * x", {"2 / x", "3 * x"}),
    ("a = x ** 2", {"x * 2", "x ** 3"}),
    ("a = X.T @ Y", {"X"}),
    ("a = -x", {"x"}),
    ("a = x[0]", {"1"}),
    ("a = np.max(x)", {"np.min"}),
    ("a = np.zeros(n + 1)", set()),
    ("a = f(x, tol=2 * e)", set()),
    ("a = x.shape[0]", set()),
    ("a = rng.standard_normal(3) + 0.1 * b", set()),
    ("a = x < 1e-3", set()),
    ("a = abs(x - y) < 1e-3", {"x + y", "x"}),
    ("a = x > 1 - 1e-12", set()),
    ("a = at_most(x + 5e-5, y)", set()),
    ("a = at_most(x + 0.5, y)", {"x - 0.5", "x", "x + 1.0"}),
    ("ax.plot(x + y)", set()),
    ("check('c', one_case(x), against=counterexample(x + 1, y))", set()),
]


@pytest.mark.parametrize(("source", "wanted"), CASES)
def test_formulas_are_falsified_and_nothing_else(source, wanted):
    statement = places(source)[0]
    n_sites = len(sabotage.sites(statement.node))
    after = {sabotage.falsified(statement, k)[1] for k in range(n_sites)}
    assert after == wanted
    assert ast.unparse(statement.node) == ast.unparse(ast.parse(source)), "the original is kept"


GOOD = """
import numpy as np
from ismlit_book import check, one_case
K = np.array([[2.0, 1.0], [1.0, 3.0]])
trace = K[0, 0] + K[1, 1]
check("eq-5.2", one_case(float(np.trace(K)), trace))
"""
EMPTY = GOOD.replace("float(np.trace(K)), trace", "bool(trace > -100)")


def outcomes(tmp_path, monkeypatch, source):
    monkeypatch.setattr(sabotage, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "page.ipynb"
    path.write_text(json.dumps(notebook(source)), encoding="utf-8")
    return sabotage.sabotage(path, per_claim=50)


def test_a_check_that_tests_something_notices(tmp_path, monkeypatch, capsys):
    found = outcomes(tmp_path, monkeypatch, GOOD)
    assert len(found) >= 5 and not any(o.survived for o in found)
    assert sabotage.report(found) == 1


def test_a_check_that_cannot_fail_does_not(tmp_path, monkeypatch, capsys):
    found = outcomes(tmp_path, monkeypatch, EMPTY)
    assert sum(o.survived for o in found) >= 3
    assert sabotage.report(found) < sabotage.GOAL
    said = capsys.readouterr().out
    assert "eq-5.2 [operator]" in said and "K[0, 0] + K[1, 1]  =>  K[0, 0] - K[1, 1]" in said


def test_each_claim_has_its_score(tmp_path, monkeypatch):
    (good,) = sabotage.scores(outcomes(tmp_path, monkeypatch, GOOD))
    assert good["claim"] == "eq-5.2" and good["noticed"] == good["of"] >= 5
    (empty,) = sabotage.scores(outcomes(tmp_path, monkeypatch, EMPTY))
    assert empty["noticed"] + len(empty["survivors"]) == empty["of"]
    assert ["K[0, 0] + K[1, 1]", "K[0, 0] - K[1, 1]", ""] in empty["survivors"]


def test_the_control_is_green_or_the_harness_says_so(tmp_path, monkeypatch):
    clock = "import time\nprint(time.perf_counter(), trace)\ncheck("
    with pytest.raises(RuntimeError, match="nothing falsified"):
        outcomes(tmp_path, monkeypatch, GOOD.replace("check(", clock))


@pytest.mark.slow
def test_the_list_of_survivors_is_not_stale():
    """Each is a formula that still stands in its notebook, with the reason why it may be false."""

    @cache
    def statements(notebook):
        text = (sabotage.ROOT / notebook).read_text(encoding="utf-8")
        return list(enumerate(sabotage.statements(json.loads(text))))

    @cache
    def falsified(notebook, number):
        statement = statements(notebook)[number][1]
        sites = range(len(sabotage.sites(statement.node)))
        return {sabotage.falsified(statement, k)[:2] for k in sites}

    for row in sabotage.explained():
        change = row["was"], row["now"]
        assert any(
            change in falsified(row["notebook"], number)
            for number, statement in statements(row["notebook"])
            if row.get("in", "") in statement.source
            and row["was"].removeprefix("index ") in statement.source
        ), f"{row}: is not there any more"
        assert len(row["reason"].split()) >= 3


# ---------------------------------------------------------------- falsified by hand

BY_HAND = [
    ("eq-D.145", "degrees_of(Psi)[i, i]", "degrees_of(Psi.T)[i, i]"),
    ("eq-D.147", "Psi[i, j] * x[j].T", "Psi[j, i] * x[j].T"),
    ("eq-D.150", "S.T * Psi[i, :].T", "S.T * Psi[:, i]"),
    ("eq-D.153", "x[i] * Psi[i, :]", "x[i] * Psi[:, i].T"),
    ("eq-D.154", "S.T * Psi * S), of", "S.T * Psi.T * S), of"),
    ("eq-C.70", "derived(twice, T1 + T2 + T3)", "derived(twice, -T1 + T2 + T3)"),
    ("eq-4.8", "short.sigma_ / short.scale_", "short.sigma_ * short.scale_"),
    ("txt-3.3-positive", "np.delete(values, kept).min()", "np.delete(values, kept).max()"),
    ("eq-D.73", "np.exp(-1 / m / sigma_1**2)", "np.exp(-1 / m / sigma_1 / 2)"),
    ("eq-D.126", "(2 * s**2)) for p in pairs}", "(2 * s * 2)) for p in pairs}"),
    ("eq-C.71", "-in_b[1].subs(skew)", "in_b[1].subs(skew)"),
]
"""A claim, and a formula behind it: rows and columns exchanged, another sign, scale or extreme."""


FEW = 4  # of these are tried at each push, all of them weekly


@pytest.mark.parametrize(
    ("claim_id", "was", "now"),
    [
        pytest.param(*row, id=row[0], marks=[pytest.mark.slow] * (k >= FEW))
        for k, row in enumerate(BY_HAND)
    ],
)
def test_the_check_of_a_claim_notices(claim_id, was, now):
    (place,) = cells()[claim_id]
    found = code_of(place.path)
    at = next(k for k, s in enumerate(found) if s.cell == place.number and claim_id in s.claims)
    code = "\n".join(found[k].text for k in sorted(sabotage.rests_on(found, at)))
    assert was in code
    with pytest.raises(ClaimError, match=f"{claim_id}: the ledger says"):
        exec(code.replace(was, now), {})
