"""The two pyproject.toml are the source; all else that names versions or packages agrees."""

import json
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import jinja2
import pytest
import yaml
from library.test_architecture import MODULES, names_imported
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import ismlit
from tools.execute_notebooks import notebooks_of

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))
PROJECT = PYPROJECT["project"]
BOOK = tomllib.loads((ROOT / "book" / "pyproject.toml").read_text(encoding="utf8"))["project"]
LIBRARY_EXTRAS, BOOK_EXTRAS = (p["optional-dependencies"] for p in (PROJECT, BOOK))
LOCK = (ROOT / ".locks" / "py311.txt").read_text(encoding="utf8")
PY311 = {"python_version": "3.11", "python_full_version": "3.11.9"}
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


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


INSTALLED = [PROJECT["dependencies"], BOOK["dependencies"], BOOK_EXTRAS["site"]]
INSTALLED += [BOOK_EXTRAS["test"], LIBRARY_EXTRAS["dask"], LIBRARY_EXTRAS["sympy"]]
INSTALLED += [LIBRARY_EXTRAS["test"], LIBRARY_EXTRAS["lint"]]
INSTALLED += [PYPROJECT["build-system"]["requires"]]


@pytest.mark.parametrize("requirement", [r for rs in INSTALLED for r in rs if "ismlit[" not in r])
def test_the_lock_satisfies_the_ranges(requirement):
    requirement = Requirement(requirement)
    version = locked()[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(version), f"{requirement} but {version} is locked"


def test_the_lock_has_hashes_and_no_address():
    blocks = re.split(r"\n(?=\S)", LOCK.strip())
    assert len(blocks) > 50
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []
    assert "://" not in LOCK


def test_conda_environment_agrees():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf8"))
    entries = environment["dependencies"]
    assert f"python{PROJECT['requires-python']}" in entries
    (pip,) = [entry["pip"] for entry in entries if isinstance(entry, dict)]
    library, book = pip
    assert library == "-e ."
    extras = re.fullmatch(r"-e \./book\[(.+)\]", book).group(1).split(",")
    assert set(extras) == {"site", "test", "lab"} <= set(BOOK_EXTRAS)


def test_the_book_needs_exactly_this_library():
    own = [Requirement(text) for text in (*BOOK["dependencies"], *BOOK_EXTRAS["test"])]
    pins = {str(each.specifier) for each in own if each.name == "ismlit"}
    assert pins == {f"=={ismlit.__version__}"} and BOOK["version"] == ismlit.__version__


# ---------------------------------------------------------------- imports

OWN = {"ismlit", "ismlit_book", "tools", "library", "given", "sets", "page_kernel"}
OTHER_NAMES = {"sklearn": "scikit-learn", "PIL": "pillow", "yaml": "pyyaml", "umap": "umap-learn"}
OTHER_NAMES |= {"bs4": "beautifulsoup4", "fontTools": "fonttools"}
"""Distributions whose name is not that of what is imported."""
COMMANDS = set("jupyter-book".split())
COMMANDS |= set("sphinx-notfound-page sphinx-sitemap sphinxext-opengraph".split())
COMMANDS |= set("numpydoc pytest-cov pytest-xdist python-flint ruff".split())
"""What is run, or loaded by name, and not imported."""


def declared(*groups):
    """Names of the distributions in groups: "library" or "book", or an extra of either."""
    named = {"library": PROJECT["dependencies"], "book": BOOK["dependencies"]}
    names = set()
    for group in groups:
        extras = [*LIBRARY_EXTRAS.get(group, []), *BOOK_EXTRAS.get(group, [])]
        for text in named.get(group) or extras:
            names.add(canonicalize_name(Requirement(text).name))
    return names - {"ismlit"}


@cache
def imports(text, top_only=False):
    """Distributions that a module's text imports, the own ones left out."""
    names = {name.partition(".")[0] for name in names_imported(text, top_only)}
    others = names - OWN - sys.stdlib_module_names
    return frozenset(canonicalize_name(OTHER_NAMES.get(name, name)) for name in others)


@cache
def codes(place):
    """[(name, code)] of every module below `place`; of every notebook's cells for "book"."""
    return list(_codes(place))


def _codes(place):
    if place == "book":
        for path in notebooks_of(ROOT):
            cells = json.loads(path.read_text(encoding="utf8"))["cells"]
            sources = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
            yield path.stem, "\n".join(sources)
    elif place == "ismlit":
        for module in ["__init__", *MODULES]:
            path = ROOT / place / f"{module.replace('.', '/')}.py"
            yield path.stem, path.read_text(encoding="utf8")
    else:
        for path in sorted((ROOT / place).rglob("*.py")):
            yield path.stem, path.read_text(encoding="utf8")


GROUPS = {
    "ismlit": ["library"],
    "book/ismlit_book": ["book", "dask", "sympy"],
    "book/ismlit_book/experiments": ["book", "dask", "sympy", "deep", "peers"],
    "book": ["book", "dask", "sympy"],
    "tools": ["book", "dask", "sympy", "site", "test", "deep", "peers"],
    "tests/library": ["library", "dask", "plot", "sympy", "test", "lint"],
    "tests": ["book", "dask", "sympy", "site", "test", "lint", "deep", "peers"],
}
"""What the code in a place may import."""


@pytest.mark.parametrize("place", GROUPS)
def test_every_import_is_declared(place):
    allowed = declared(*GROUPS[place])
    if place == "ismlit":
        allowed |= {"sympy"}  # where a kernel is one's own, and with a word if it is not there
        allowed |= {"dask"}  # where its collections come, which nobody has without it
        allowed |= declared("plot")  # by what draws, and nothing else: see the next test but one
    if place == "book/ismlit_book":
        allowed |= declared("deep", "peers")  # of its experiments; see the next test
    missing = {
        (name, used) for name, text in codes(place) for used in imports(text) if used not in allowed
    }
    assert missing == set()


def test_comparators_are_imported_by_experiments_alone():
    experiments = dict(codes("book/ismlit_book/experiments"))
    only = declared("deep", "peers")
    for name, text in codes("book/ismlit_book"):
        assert experiments.get(name) == text or only.isdisjoint(imports(text)), name


@pytest.mark.parametrize("place", ["ismlit", "book/ismlit_book", "tests"])
def test_what_not_everybody_has_is_imported_where_it_is_used(place):
    lacking = declared("deep", "peers")
    for name, text in codes(place):
        assert lacking.isdisjoint(imports(text, top_only=True)), name


def test_everything_declared_is_used():
    used = {d for place in GROUPS for _, text in codes(place) for d in imports(text)}
    groups = "library", "book", "dask", "sympy", "site", "test", "lint"
    assert declared(*groups) - used == COMMANDS
    library = {d for _, text in codes("ismlit") for d in imports(text)}
    assert declared("library") <= library


def test_no_form_of_import_is_missed():
    text = (
        "import yaml.nodes as n\nfrom PIL import Image\nimport os, ismlit_book\n"
        "def later():\n    from umap import UMAP\n    import_module('torch.nn')\n"
        "    pytest.importorskip('pandas')\nfrom . import own\n"
    )
    assert {*imports(text)} == {"pyyaml", "pillow", "umap-learn", "torch", "pandas"}
    assert {*imports(text, top_only=True)} == {"pyyaml", "pillow"}


# ---------------------------------------------------------------- versions


def test_version_and_date_stand_everywhere_alike():
    """`ismlit.__version__` is the source; a date comes with the release."""
    assert PROJECT["dynamic"] == ["version"] and "version" not in PROJECT
    assert PYPROJECT["tool"]["hatch"]["version"]["path"] == "ismlit/__init__.py"
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf8"))
    assert citation["version"] == ismlit.__version__
    date = str(citation.get("date-released", "unreleased"))
    changes = (ROOT / "CHANGES.md").read_text(encoding="utf8")
    newest = re.search(r"^## (.*)$", changes, re.M).group(1)
    assert newest == f"{ismlit.__version__} ({date})"


def test_the_public_address_is_that_of_the_config_wherever_else_it_must_stand():
    public = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf8"))["repository"]["url"]
    for name in ("pyproject.toml", "CITATION.cff", "book/intro.ipynb"):
        text = (ROOT / name).read_text(encoding="utf8")
        assert {*re.findall(r"https://github\.com/ismlit/\w+", text)} == {public}, name


# ---------------------------------------------------------------- the README

README = (ROOT / "README.md").read_text(encoding="utf8")


def test_the_readme_shows_what_runs(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README, re.S)
    exec(example, {})
    assert "local maximum: yes" in capsys.readouterr().out


# ---------------------------------------------------------------- workflows


def workflow(name):
    return yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf8"))


def steps(path):
    """Every step of every job of a workflow."""
    for job in workflow(path.name)["jobs"].values():
        yield from job.get("steps", [])  # none where a job is another workflow


def test_the_workflow_tests_the_supported_pythons():
    tested = workflow("book.yml")["jobs"]["unit"]["strategy"]["matrix"]["python"]
    claimed = [c.split(" :: ")[-1] for c in PROJECT["classifiers"] if ":: Python :: 3." in c]
    assert ["3.11", *tested] == claimed  # 3.11, which has the lock, is what `make test` runs on
    assert "./.ci/run" in str(workflow("book.yml")["jobs"]["book"]["steps"])
    assert PROJECT["requires-python"] == f">={claimed[0]}"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_data_are_cached_under_what_lists_them(path):
    caches = [step["with"] for step in steps(path) if "cache@" in step.get("uses", "")]
    keys = [cache["key"] for cache in caches if cache["path"] == ".data"]
    assert all("hashFiles('book/ismlit_book/registry.json')" in key for key in keys)
    assert (ROOT / "book" / "ismlit_book" / "registry.json").exists()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned(path):
    used = [step["uses"] for step in steps(path) if "uses" in step]
    assert [use for use in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", use)] == []


def test_nothing_is_released_untested():
    jobs, tests = workflow("release.yml")["jobs"], workflow("library.yml")["jobs"]["test"]
    systems = {name.partition("-")[0] for name in tests["strategy"]["matrix"]["os"]}
    assert systems == {"ubuntu", "macos", "windows"}
    assert jobs["library"]["uses"] == "./.github/workflows/library.yml"
    assert jobs["build"]["needs"] == "library" and jobs["publish"]["needs"] == "build"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_what_there_is(path):
    """Each `make` target and each own module that a workflow calls exists."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf8")
    text = path.read_text(encoding="utf8")
    for target in re.findall(r"run: (?:\w+=\S+ )*make (\w\S*)", text):
        assert re.search(rf"^{target}:", makefile, re.M), target
    for module in re.findall(r"-m ((?:ismlit|tools)[\w.]*)", text):
        place = (
            ROOT / ("book" if module.startswith("ismlit_book") else "") / module.replace(".", "/")
        )
        assert place.with_suffix(".py").exists() or (place / "__main__.py").exists(), module


@pytest.mark.parametrize(
    "path",
    [*sorted((ROOT / ".github").rglob("*.yml")), ROOT / ".pre-commit-config.yaml"],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_yaml_can_be_read(path):
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf8")), dict)


@pytest.mark.parametrize("name", ["wrong-claim", "bug", "idea"])
def test_issue_forms_have_what_a_form_must_have(name):
    place = ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml"
    form = yaml.safe_load(place.read_text(encoding="utf8"))
    assert {"name", "description", "body"} <= set(form)
    for part in form["body"]:
        kinds = ("markdown", "input", "textarea", "dropdown", "checkboxes")
        assert part["type"] in kinds
        assert ("value" if part["type"] == "markdown" else "label") in part["attributes"]


def test_the_conda_recipe_says_what_the_project_says():
    """Rendered as conda-build does, which gives it these two functions."""
    folder = ROOT / "tools" / "conda"

    def load_file_data(name, from_recipe_dir):
        return tomllib.loads((folder / name).read_text(encoding="utf8"))

    def load_file_regex(load_file, regex_pattern, from_recipe_dir):
        return re.search(regex_pattern, (folder / load_file).read_text(encoding="utf8"))

    given = dict(load_file_data=load_file_data, load_file_regex=load_file_regex, PYTHON="python")
    recipe = jinja2.Template((folder / "meta.yaml").read_text(encoding="utf8")).render(given)
    found = yaml.safe_load(recipe)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
    assert found["package"] == {"name": "ismlit", "version": ismlit.__version__}
    run = [requirement.replace(" ", "") for requirement in found["requirements"]["run"]]
    assert run == [f"python{project['requires-python']}", *project["dependencies"]]
    assert (folder / found["source"]["path"] / found["about"]["license_file"]).is_file()


def test_the_page_on_installing_names_the_repository_and_the_extras_that_there_are():
    page = (ROOT / "book" / "howto" / "install.md").read_text(encoding="utf8")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf8"))["repository-code"]
    assert re.findall(r"git clone (\S+)", page) == [cited]
    said = {word for names in re.findall(r"'\.\[([\w,]+)\]'", page) for word in names.split(",")}
    assert said == {"dask", "plot", "sympy"} and said <= LIBRARY_EXTRAS.keys()
    of_book = {
        word for names in re.findall(r"'\./book\[([\w,]+)\]'", page) for word in names.split(",")
    }
    assert of_book <= BOOK_EXTRAS.keys()
