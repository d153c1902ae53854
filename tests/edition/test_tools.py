"""The programs of tools/ start, and find their names in the library."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from ismlit.gamma import label_gamma
from ismlit.kernels import Gaussian
from tools import anywhere, bench

PROGRAMS = (
    "anywhere",
    "bench",
    "build_book",
    "execute_notebooks",
    "faults",
    "mutants",
    "print_book",
    "sabotage",
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_says_what_it_is_for(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as stopped:
        import_module(f"tools.{name}").main()
    assert stopped.value.code == 0 and "usage" in capsys.readouterr().out


def test_all_programs_are_looked_at():
    """What has a `main` is a program."""
    folder = Path(bench.__file__).parent
    found = [path.stem for path in folder.glob("*.py") if "def main" in path.read_text("utf-8")]
    assert sorted(found) == sorted(PROGRAMS)


def test_the_bench_compares_ism_with_its_peers(rng, monkeypatch, capsys):
    X, y = rng.standard_normal((40, 3)), np.arange(40) % 2
    case = "made", "Gaussian", 1, X, label_gamma(y), Gaussian(1.0)
    monkeypatch.setattr(bench, "cases", lambda quick: [case])
    bench.bench_solver(quick=True)
    said = capsys.readouterr().out
    assert "made, Gaussian, q = 1" in said and "lowest J - best" in said


def test_what_fails_somewhere_is_listed_by_name():
    names = ["tests/test_a.py::test_b[x - y]", "tests/test_c.py", "book/ch5/phi.ipynb::Cell 2"]
    names += ["tests/test_a.py::test_d"]
    said = f"FAILED {names[0]} - AssertionError: [1] no\nERROR {names[1]}\n"
    said += f"FAILED {names[2]} - outputs differ\nFAILED {names[3]} - ValueError\n1 passed\n"
    assert anywhere.FAILED.findall(said) == names
