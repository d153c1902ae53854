"""What a wheel holds, and that an installed one needs no checkout."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools.execute_notebooks import notebooks_of
from tools.hatch_build import stripped

ROOT = Path(__file__).resolve().parents[2]
LARGEST = {"ismlit": 1_000_000, "ismlit_book": 3_000_000}  # bytes


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """The library's wheel and the book's, built without isolation; skips without hatchling."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    for project in (ROOT, ROOT / "book"):
        built = subprocess.run(command, cwd=project, capture_output=True, text=True)
        if built.returncode and "No module named hatchling" in built.stderr:
            pytest.skip("hatchling is not installed: no wheel to look into")
        assert built.returncode == 0, built.stderr
    return {path.name.split("-")[0]: path for path in folder.glob("*.whl")}


@pytest.fixture(scope="module")
def installed(wheels, tmp_path_factory):
    """A folder in which both wheels are unpacked, as an installer would."""
    folder = tmp_path_factory.mktemp("installed")
    for wheel in wheels.values():
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    return folder


def test_are_two_and_small(wheels):
    assert wheels.keys() == LARGEST.keys()
    assert all(wheels[name].stat().st_size < most for name, most in LARGEST.items())


def test_the_library_has_nothing_of_the_book(wheels):
    with zipfile.ZipFile(wheels["ismlit"]) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
        assert not any(name.endswith((".ipynb", ".yml")) for name in archive.namelist())
    assert {top for top in tops if not top.endswith(".dist-info")} == {"ismlit"}


def test_has_all_that_the_package_reads(installed):
    wanted = {
        path.relative_to(root)
        for root, package in ((ROOT, "ismlit"), (ROOT / "book", "ismlit_book"))
        for path in (root / package).rglob("*")
        if path.is_file() and not {"__pycache__", ".ruff_cache"} & {*path.parts}
    }
    found = {path.relative_to(installed) for path in installed.rglob("*") if path.is_file()}
    assert wanted <= found
    templates = {path.suffix for path in wanted if path.parent.name == "templates"}
    assert {".j2", ".js", ".css", ".py"} <= templates


def test_has_the_book_and_its_notebooks_with_their_badges(installed):
    book = installed / "ismlit_book" / "pages"
    for path in notebooks_of(ROOT):
        copy = book / path.relative_to(ROOT / "book")
        text = copy.read_text(encoding="utf8")
        assert text == stripped(path.read_text(encoding="utf8"))
    assert len(list(book.rglob("*.ipynb"))) == len(notebooks_of(ROOT))
    assert {
        path.name for path in book.rglob("*") if path.suffix != ".ipynb" and path.is_file()
    } == set()


def test_has_nothing_else(installed):
    tops = {path.name for path in installed.iterdir() if path.suffix != ".dist-info"}
    assert tops == {"ismlit", "ismlit_book"}


def run(installed, tmp_path, *arguments):
    """Run Python where the unpacked wheel comes first, away from the checkout."""
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.slow
def test_checks_a_claim_away_from_the_checkout(installed, tmp_path):
    code = "import ismlit_book.files as f; print(f.data(), f.is_checkout())"
    where, checkout = run(installed, tmp_path, "-c", code).split()
    assert Path(where).is_relative_to(installed) and checkout == "False"
    out = run(installed, tmp_path, "-m", "ismlit_book", "eq-5.2", "--run")
    assert "eq-5.2: holds · " in out
    described = run(installed, tmp_path, "-m", "ismlit_book", "eq-5.2")
    assert "known  no cell" not in described and "known  " in described


STORE = """
import sys
from ismlit_book.record.ledger import ledger
from ismlit_book.record.tables import printed, results, store
print(len(ledger()), len(printed("table-5.4")), len(results("table-5.4")))
try:
    store("t", [dict(name="a", x=[1.0])], {})
except ValueError as error:
    print(error)
print(store("t", [dict(name="a", x=[1.0])], {}, sys.argv[1]))
"""


def test_an_installed_wheel_has_its_data_and_stays_as_it_is(installed, tmp_path):
    """Claims and tables are read from the wheel; results are written to a folder of one's own."""
    before = sorted(installed.rglob("*.json"))
    counts, refused, path = run(installed, tmp_path, "-c", STORE, str(tmp_path)).splitlines()
    claims, rows, stored = map(int, counts.split())
    assert claims > 800 and rows == 48 and stored > 48
    assert "--out FOLDER" in refused and Path(path) == tmp_path / "t.json"
    assert sorted(installed.rglob("*.json")) == before


def test_stripping_keeps_the_code(tmp_path):
    text = (ROOT / "book" / "record" / "5.3.ipynb").read_text(encoding="utf8")
    before, after = json.loads(text), json.loads(stripped(text))
    assert [c["source"] for c in before["cells"]] == [c["source"] for c in after["cells"]]
    outputs = [output for cell in after["cells"] for output in cell.get("outputs", [])]
    assert outputs and all('class="claim ' in "".join(o["data"]["text/html"]) for o in outputs)
