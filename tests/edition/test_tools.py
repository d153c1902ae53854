"""The programs of tools/ start, and find their names in the library."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

from tools import anywhere

PROGRAMS = (
    "anywhere",
    "bench",
    "browser_python",
    "build_book",
    "execute_notebooks",
    "offline",
    "print_book",
    "record",
    "sabotage",
    "site.pages",
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_says_what_it_is_for(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as stopped:
        module = import_module(f"tools.{name}")
        if not hasattr(module, "main"):
            module = import_module(f"tools.{name}.__main__")
        module.main()
    assert stopped.value.code == 0 and "usage" in capsys.readouterr().out


def test_all_programs_are_looked_at():
    """What has a `main` is a program."""
    folder = Path(anywhere.__file__).parent
    files = [*folder.glob("*.py"), *folder.glob("*/__main__.py"), *folder.glob("site/*.py")]
    found = [path for path in files if "def main" in path.read_text("utf-8")]
    parts = [path.relative_to(folder).with_suffix("").parts for path in found]
    names = [".".join(part for part in each if part != "__main__") for each in parts]
    assert sorted(names) == sorted(PROGRAMS)


def test_what_fails_somewhere_is_listed_by_name():
    names = ["tests/test_a.py::test_b[x - y]", "tests/test_c.py", "book/ch5/gradient.ipynb::Cell 2"]
    names += ["tests/test_a.py::test_d"]
    said = f"FAILED {names[0]} - AssertionError: [1] no\nERROR {names[1]}\n"
    said += f"FAILED {names[2]} - outputs differ\nFAILED {names[3]} - ValueError\n1 passed\n"
    assert anywhere.FAILED.findall(said) == names
