"""What serves the book is explained as the library is, and the reference shows what it promises."""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest
import yaml
from ismlit_book.record.ledger import ledger
from library.test_architecture import MODULES, public

import ismlit

ROOT = Path(ismlit.__file__).parents[1]
LIBRARY = [f"ismlit.{module}" for module in MODULES]
BESIDE = sorted(
    ".".join(path.relative_to(root).with_suffix("").parts)
    for root, place in ((ROOT / "book", "ismlit_book"), (ROOT, "tools"))
    for path in (root / place).rglob("*.py")
    if path.stem not in ("__init__", "__main__")
    and not {"in_browser", "questions"} & {*path.parts}  # answers are as a reader writes them
)
"""Modules of what serves the book, and of the tools."""


@pytest.mark.parametrize("module", BESIDE)
def test_public_things_have_docstrings(module):
    if module.startswith("ismlit"):
        assert [name for name, thing in public(module) if not inspect.getdoc(thing)] == []


@pytest.mark.parametrize("module", LIBRARY + BESIDE)
def test_claims_named_in_docstrings_are_in_the_ledger(module):
    """What stands behind "Claim:" or "Claims:"."""
    kinds = "eq|tab|thm|lem|alg|def|prop|cor|new|txt|neurips|icml|fkdac|aistats"
    text = inspect.getsource(importlib.import_module(module))
    said = re.findall(r"\bClaims?:?((?:[^.]|\.(?=\w))*)\.", text)
    named = re.findall(rf"\b(?:{kinds})-[0-9A-Za-z][\w.-]*\w", "".join(said))
    assert [claim for claim in named if claim not in ledger()] == []


def documented():
    """(module, name) of everything that the reference shows."""
    pages = sorted((ROOT / "book" / "reference").glob("*.md"))
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    yield from re.findall(r"autoclass:: (ismlit\.[\w.]+)\.(\w+)", text)
    for module, members in re.findall(r"automodule:: (ismlit\.[\w.]+)\n +:members:(.*)", text):
        names = [name.strip() for name in members.split(",") if name.strip()]
        for name in names or [name for name, _ in public(module) if "." not in name]:
            yield module, name


REFERENCE = list(documented())


def needs_no_example(module, name):
    """What downloads a file, re-runs a notebook, draws the front page, or is an error or a row."""
    downloads = module == "ismlit_book.loaders" and name.startswith(("load_", "fetch"))
    return downloads or name in ("rerun", "turning", "Claim", "ClaimError", "Count", "Projected")


@pytest.mark.parametrize(("module", "name"), REFERENCE)
def test_the_reference_has_examples(module, name):
    if not needs_no_example(module, name):
        assert ">>> " in inspect.getdoc(getattr(importlib.import_module(module), name))


def test_the_reference_has_all_that_is_promised():
    shown = {name for _, name in REFERENCE}
    assert set(ismlit.__all__) - shown == {"datasets"}


@pytest.mark.parametrize("module", BESIDE)
def test_examples_run(module):
    found = doctest.testmod(importlib.import_module(module))
    assert found.failed == 0
    shown = [name for home, name in REFERENCE if home == module]
    assert found.attempted > 0 or all(needs_no_example(module, name) for name in shown)


ESTIMATORS = [
    thing
    for thing in (getattr(ismlit, name) for name in ismlit.__all__)
    if inspect.isclass(thing) and hasattr(thing, "fit")
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda own: own.__name__)
def test_the_html_of_an_estimator_leads_to_its_place_in_the_reference(estimator):
    """The page is a file that the site is built from, and the anchor is what Sphinx gives."""
    address, _, anchor = estimator()._get_doc_link().partition("#")
    site, _, page = address.partition("/book/reference/")
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    assert f"{site}/" == config["html"]["baseurl"].rstrip("/") + "/"
    text = (ROOT / "book" / "reference" / page).with_suffix(".md").read_text(encoding="utf-8")
    assert f".. autoclass:: {anchor}\n" in text
    assert f"book/reference/{page.removesuffix('.html')}\n" in (ROOT / "_toc.yml").read_text()
    assert address in estimator()._repr_html_()


def test_an_estimator_of_somebody_else_leads_nowhere():
    own = type("Own", (ismlit.SupervisedIKDR,), {"__module__": "elsewhere"})
    assert own()._get_doc_link() == ""
