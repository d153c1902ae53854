"""The programs of tools/ start, and find their names in the library."""

import sys
from importlib import import_module
from pathlib import Path

import nbformat
import pytest

from tools import anywhere
from tools.execute_notebooks import execute

TOOLS = Path(anywhere.__file__).parent
PROGRAMS = [
    ".".join(part for part in path.relative_to(TOOLS).with_suffix("").parts if part != "__main__")
    for path in sorted(TOOLS.rglob("*.py"))
    if "def main" in path.read_text("utf-8")
]
"""What has a `main` is a program."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_says_what_it_is_for(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as stopped:
        module = import_module(f"tools.{name}")
        if not hasattr(module, "main"):
            module = import_module(f"tools.{name}.__main__")
        module.main()
    assert stopped.value.code == 0 and "usage" in capsys.readouterr().out


@pytest.mark.parametrize(("deaths", "status"), [(1, "changed"), (2, "failed")])
def test_a_kernel_that_does_not_come_up_is_started_once_more(deaths, status, tmp_path, monkeypatch):
    starts = []

    def run(client):
        starts.append(client)
        if len(starts) <= deaths:
            raise RuntimeError("Kernel died before replying to kernel_info")

    monkeypatch.setattr("tools.execute_notebooks.Client.execute", run)
    nbformat.write(nbformat.v4.new_notebook(), tmp_path / "page.ipynb")
    assert execute(tmp_path / "page.ipynb")[1] == status and len(starts) == 2


def test_programs_are_found():
    assert {"build_book", "bench", "site.pages"} < set(PROGRAMS)


def test_what_fails_somewhere_is_listed_by_name():
    names = ["tests/test_a.py::test_b[x - y]", "tests/test_c.py", "book/ch5/gradient.ipynb::Cell 2"]
    names += ["tests/test_a.py::test_d"]
    said = f"FAILED {names[0]} - AssertionError: [1] no\nERROR {names[1]}\n"
    said += f"FAILED {names[2]} - outputs differ\nFAILED {names[3]} - ValueError\n1 passed\n"
    assert anywhere.FAILED.findall(said) == names


def test_a_page_without_what_it_requires_is_skipped(tmp_path):
    cell = nbformat.v4.new_code_cell("import no_such_module")
    page = nbformat.v4.new_notebook(cells=[cell])
    page.metadata["ismlit"] = {"requires_modules": ["sys", "no_such_module"]}
    nbformat.write(page, path := tmp_path / "page.ipynb")
    assert execute(path)[1:] == ("skipped", "not available here: no_such_module")
