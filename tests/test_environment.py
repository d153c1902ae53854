"""pyproject.toml is the one source; environment.yml, the lock and the citation agree with it."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
LOCK = (ROOT / ".locks" / "py311.txt").read_text(encoding="utf8")
PY311 = {"python_version": "3.11", "python_full_version": "3.11.9"}


def locked():
    """Versions that the lock gives Python 3.11 on this platform, by canonical name."""
    versions = {}
    for line in LOCK.splitlines():
        if line.startswith((" ", "#")) or not line.strip():
            continue
        requirement = Requirement(line.removesuffix("\\").strip())
        if requirement.marker is None or requirement.marker.evaluate(PY311):
            (pin,) = requirement.specifier
            assert pin.operator == "==", line
            versions[canonicalize_name(requirement.name)] = Version(pin.version)
    return versions


@pytest.mark.parametrize(
    "requirement", [*PROJECT["dependencies"], *EXTRAS["book"], *EXTRAS["test"]]
)
def test_the_lock_satisfies_the_ranges(requirement):
    requirement = Requirement(requirement)
    version = locked()[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(version), f"{requirement} but {version} is locked"


def test_the_lock_has_hashes_and_no_address():
    blocks = re.split(r"\n(?=\S)", LOCK.strip())
    assert len(blocks) > 50
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []
    assert "://" not in LOCK


def test_the_build_backend_is_locked():
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))
    for requirement in map(Requirement, data["build-system"]["requires"]):
        assert requirement.specifier.contains(locked()[canonicalize_name(requirement.name)])


def test_conda_environment_agrees():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf8"))
    entries = environment["dependencies"]
    assert f"python{PROJECT['requires-python']}" in entries
    (pip,) = [entry["pip"] for entry in entries if isinstance(entry, dict)]
    (install,) = pip
    extras = re.fullmatch(r"-e \.\[(.+)\]", install).group(1).split(",")
    assert set(extras) == {"book", "test", "lab"} <= set(EXTRAS)


def test_the_workflow_tests_the_supported_pythons():
    workflow = yaml.safe_load((ROOT / ".github/workflows/book.yml").read_text(encoding="utf8"))
    tested = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    claimed = [c.split(" :: ")[-1] for c in PROJECT["classifiers"] if ":: Python :: 3." in c]
    assert tested == claimed


def test_the_citation_names_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf8"))
    assert citation["version"] == PROJECT["version"]
    assert f"## {PROJECT['version']}" in (ROOT / "CHANGES.md").read_text(encoding="utf8")
