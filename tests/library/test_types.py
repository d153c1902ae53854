"""A misspelt parameter or attribute is seen by a type checker, and results have types."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
SCRIPT = Path(__file__).with_name("user_script.py")
MARK = re.compile(r"  # (error|type): (.*)")


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What mypy --strict says of each line of the script."""
    folder = tmp_path_factory.mktemp("types")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--config-file="]
    done = subprocess.run(
        [*command, f"--cache-dir={folder}", str(SCRIPT)],
        cwd=folder,
        env=os.environ,
        capture_output=True,
        text=True,
    )
    assert not done.stderr, done.stderr
    found = {}
    for line in done.stdout.splitlines():
        if match := re.match(r".*user_script\.py:(\d+): (error|note): (.*)", line):
            found.setdefault(int(match[1]), []).append((match[2], match[3]))
    return found


def test_nothing_but_what_is_meant_is_an_error(said):
    meant = {k for k, line in lines() if re.search("  # error: ", line)}
    assert {k for k, words in said.items() if "error" in dict(words)} == meant


def lines():
    yield from enumerate(SCRIPT.read_text("utf-8").splitlines(), 1)


MARKED = {k: MARK.search(line).groups() for k, line in lines() if MARK.search(line)}


@pytest.mark.parametrize("number", MARKED, ids=lambda k: MARKED[k][1])
def test_the_type_checker_says_what_is_meant(number, said):
    kind, words = MARKED[number]
    words = words if kind == "error" else f"Revealed type is .*{words.replace('[', '.')}"
    assert any(re.search(words, text) for _, text in said.get(number, [])), said.get(number)
