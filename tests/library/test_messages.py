"""Warnings name the estimator, and point to the line of the user's script."""

import re
import subprocess
import sys

import pytest

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
    "network": (
        "KernelDependenceNetwork(early_stopping=False, max_layers=1).fit(X, y)",
        "normalised HSIC ends at",
    ),
}


@pytest.mark.parametrize(("line", "words"), CASES.values(), ids=CASES)
def test_a_warning_points_to_the_line_of_the_caller(line, words, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(line=line), encoding="utf-8")
    said = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    number = next(k for k, text in enumerate(SCRIPT.splitlines(), 1) if "the line" in text)
    place = f"{script}:{number}: "
    warned = [text for text in said.stderr.splitlines() if text.startswith(place)]
    assert any(re.search(words, text) for text in warned), said.stderr
