"""Every fault of ``tests/faults`` still applies, and names tests that are there.

That the tests notice each of them is seen by ``python -m tools.faults``.
"""

import re
from dataclasses import replace
from functools import cache

import pytest

from tools.faults import FOLDER, ROOT, edited, load

FAULTS = load()


@cache
def functions(path):
    """Names of the test functions of a file below the root."""
    return re.findall(r"^def (test_\w+)\(", (ROOT / path).read_text(encoding="utf-8"), re.M)


def test_every_fault_has_a_name_of_its_own():
    names = [fault.name for fault in FAULTS]
    assert [name for name in set(names) if names.count(name) > 1] == []


@pytest.mark.parametrize("area", sorted(path.stem for path in FOLDER.glob("*.yml")))
def test_faults_apply_and_can_be_noticed(area):
    for fault in FAULTS:
        if fault.area != area:
            continue
        edited(fault)
        assert fault.tests, fault.title
        for test in fault.tests:
            path, _, name = test.partition("::")
            assert not name or name.partition("[")[0] in functions(path), fault.title
        for name in fault.notebooks:
            assert (ROOT / "book" / name).is_file(), fault.title


def test_a_fault_that_has_rotted_is_told():
    fault = next(fault for fault in FAULTS if fault.old == "half = 0.5 if columns == rows else 1.0")
    for change, words in (
        (dict(old="no such text"), "occurs 0 times"),
        (dict(old="half"), "must occur once"),
        (dict(new="half = 0.5 if columns == rows else (1.0)  # as before"), "changes nothing"),
        (dict(new="half = 0.5 if"), "leaves no Python"),
    ):
        with pytest.raises(ValueError, match=words):
            edited(replace(fault, **change))
