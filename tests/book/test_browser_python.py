"""What `tools.browser_python` puts beside the book, without a network and without a browser."""

import io
import json
import re
import struct
import subprocess
import zipfile

import pytest

from tools import browser_python
from tools.execute_notebooks import notebooks_of


def test_without_a_network_the_book_gets_no_button(tmp_path, monkeypatch, capsys):
    def refuse(*args, **options):
        raise subprocess.CalledProcessError(1, "pip")

    monkeypatch.setattr(browser_python, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(subprocess, "run", refuse)
    assert browser_python.install(tmp_path / "site") is False
    assert "no button" in capsys.readouterr().out
    assert not (tmp_path / "site").exists()


def test_a_file_with_another_hash_is_not_taken(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(browser_python, "CACHE", tmp_path)
    (tmp_path / browser_python.WHEEL_NAME).write_bytes(b"another file")
    assert browser_python.fetch() is False
    assert "hash" in capsys.readouterr().out and list(tmp_path.iterdir()) == []


def test_a_module_loses_its_custom_sections_alone():
    code, names = bytes([10, 3, 1, 2, 3]), bytes([0, 0x85, 0x01, *range(133)])  # 133 in two bytes
    head = b"\0asm\1\0\0\0"
    assert browser_python.without_names(head + names + code + names + code) == head + code + code


def test_files_travel_in_one():
    files = {"site/a.py": b"a = 1\n", "mpl-data/ü.txt": b"", "b": bytes(range(256))}
    data = browser_python.pack(files)
    (length,) = struct.unpack_from("<I", data)
    index = json.loads(data[4 : 4 + length])
    body = data[4 + length :]
    assert {path: body[at : at + size] for path, (at, size) in index.items()} == files
    with zipfile.ZipFile(io.BytesIO(browser_python.stored(files))) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == files


def test_the_library_and_the_book_s_files_are_there():
    files = browser_python.own_files()
    for name in (
        "ismlit/kernels/__init__.py",
        "ismlit_book/registry.json",
        "ismlit_book/claims/5.yml",
        "pooch.py",
    ):
        assert f"site/{name}" in files
    assert not any("__pycache__" in name for name in files)


def imported(notebook):
    """Names of the packages that a notebook's cells import."""
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return set(re.findall(r"^\s*(?:import|from) (\w+)", "\n".join(code), re.M))


ABSENT = {"dask", "distributed", "torch", "clustpy"}  # what a browser has not


@pytest.mark.parametrize("path", notebooks_of(browser_python.ROOT), ids=lambda path: path.stem)
def test_a_page_that_lacks_a_package_says_so(path):
    notebook = json.loads(path.read_text(encoding="utf8"))
    refused = browser_python.about(notebook)["refused"]
    assert refused or ABSENT.isdisjoint(imported(notebook))
    assert refused is None or refused.endswith(".")
