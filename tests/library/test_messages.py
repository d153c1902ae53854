"""Warnings name the estimator, and point to the line of the user's script."""

import re
import subprocess
import sys
import warnings
from threading import Thread

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from ismlit import ResponseIKDR, SupervisedIKDR, UnsupervisedIKDR, ism, label_gamma
from ismlit.messages import silenced, warn

SCRIPT = """
import numpy as np
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale
from ismlit import *
X, y = load_wine(return_X_y=True)
X = scale(X)
{line}  # the line
"""
CASES = {
    "supervised": ("SupervisedIKDR(2, max_iter=1).fit(X, y)", "SupervisedIKDR did not converge"),
    "response": ("ResponseIKDR(2, max_iter=1).fit(X, X[:, 0])", "ResponseIKDR did not converge"),
    "turns": (
        "UnsupervisedIKDR(3, max_turns=1, bandwidth='median').fit(X)",
        "UnsupervisedIKDR did not converge in 1 turns",
    ),
    "in a pipeline": (
        "make_pipeline(SupervisedIKDR(2, max_iter=1)).fit(X, y)",
        "SupervisedIKDR did not converge",
    ),
    "fit_predict": (
        "UnsupervisedIKDR(3, max_turns=1, bandwidth='median').fit_predict(X)",
        "UnsupervisedIKDR did not converge in 1 turns",
    ),
    "ism": ("ism(X, label_gamma(y), 'gaussian', 2, max_iter=1)", "ism did not converge"),
    "one direction": (
        "ism(X[:, :1] * [[1.0, -2.0]], label_gamma(y), 'gaussian', 2)",
        "component . of ism hardly varies",
    ),
    "features": (
        "SupervisedIKDR(2, random_features=200, random_state=0).fit(X, y)",
        "random_features = 200 for 178 rows",
    ),
    "names that are numbers": (
        "GradientKDR().fit(X, np.arange(178))",
        "178 distinct whole numbers in 178 samples and is taken as a response",
    ),
    "a test of names": ("dependence_test(X, np.arange(178))", "distinct whole numbers"),
    "network": (
        "KernelDependenceNetwork(early_stopping=False, max_layers=1).fit(X, y)",
        "normalised HSIC ends at",
    ),
}


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What the scripts of all cases say, each run as a program of its own in one process."""
    folder = tmp_path_factory.mktemp("scripts")
    for name, (line, _) in CASES.items():
        (folder / f"{name}.py").write_text(SCRIPT.format(line=line), encoding="utf-8")
    program = (
        "import runpy, sys\nfor path in sys.argv[1:]: runpy.run_path(path, run_name='__main__')\n"
    )
    scripts = [folder / f"{name}.py" for name in CASES]
    command = [sys.executable, "-W", "always", "-c", program, *scripts]
    return folder, subprocess.run(command, capture_output=True, text=True, check=True).stderr


@pytest.mark.parametrize("name", CASES)
def test_a_warning_points_to_the_line_of_the_caller(name, said):
    folder, text = said
    number = next(k for k, line in enumerate(SCRIPT.splitlines(), 1) if "the line" in line)
    place = f"{folder / name}.py:{number}: "
    warned = [line for line in text.splitlines() if line.startswith(place)]
    assert any(re.search(CASES[name][1], line) for line in warned), text


@pytest.mark.parametrize(
    ("blocks", "category", "is_said"),
    [
        ([], UserWarning, True),
        ([Warning], UserWarning, False),
        ([UserWarning], ConvergenceWarning, False),  # which derives from it
        ([ConvergenceWarning], UserWarning, True),
        ([ConvergenceWarning, FutureWarning], ConvergenceWarning, False),
        ([FutureWarning, ConvergenceWarning], FutureWarning, False),
    ],
)
def test_a_block_leaves_out_its_category_and_what_derives_from_it(blocks, category, is_said):
    """With those of the blocks around it, and after the last of them nothing any more."""

    def within(rest):
        if not rest:
            return warn("here", category)
        with silenced(rest[0]):
            within(rest[1:])

    for ask, wanted in ((lambda: within(blocks), is_said), (lambda: warn("here", category), True)):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            ask()
        assert [one.category for one in said] == [category] * wanted


def test_a_block_that_raises_ends_too():
    with pytest.raises(ValueError, match="why"), silenced():
        raise ValueError("why")
    with pytest.warns(UserWarning, match="here"):
        warn("here")


def test_a_block_of_one_thread_silences_no_other():
    other = Thread(target=warn, args=("here",))
    with pytest.warns(UserWarning, match="here"), silenced():
        other.start()
        other.join()


FITS = {
    "components": lambda X, y, seen: SupervisedIKDR("auto", ridge=np.inf, callback=seen).fit(X, y),
    "ridge": lambda X, y, seen: ResponseIKDR(2, ridge=0.01, callback=seen).fit(X, X[:, 0]),
    "turns": lambda X, y, seen: UnsupervisedIKDR(3, callback=seen, max_turns=2).fit(X),
    "starts": lambda X, y, seen: ism(
        X, label_gamma(y), "gaussian", 2, init="several", callback=seen
    ),
}


@pytest.mark.parametrize("name", FITS)
def test_the_filters_of_warnings_are_those_of_the_user_during_a_fit(name, rng):
    """They are one list for all threads: fits in two of them would leave it changed."""
    before, seen = warnings.filters, []
    X, y = rng.standard_normal((60, 4)), np.arange(60) % 3
    X[:, 0] += 3 * y
    with silenced():
        FITS[name](X, y, lambda at: seen.append(warnings.filters is before))
    assert seen and all(seen)
