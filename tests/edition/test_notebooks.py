"""The form of the notebooks: what a reader, nbval and the book's build rely on."""

import functools
import re
from pathlib import Path

import nbformat
import pytest
import yaml

from tools.execute_notebooks import notebooks_of

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = notebooks_of(ROOT)
LONGEST_CELL = 20  # non-blank lines
LONGEST_FOLDED = 50
LONGEST_LINE = 85
MACHINE_PATH = re.compile(
    r"(?<![\w.:/~-])/(?:home|root|tmp|Users|var|usr|opt|mnt|private|work\w*)/\S"
    r"|\b[A-Z]:\\\w|site-packages|ipykernel_\d"
)


@pytest.fixture(
    params=NOTEBOOKS, ids=[path.relative_to(ROOT / "book").as_posix() for path in NOTEBOOKS]
)
def path(request):
    return request.param


@pytest.fixture
def notebook(path):
    return nbformat.read(path, as_version=4)


def code_cells(notebook):
    """Pairs (number of the cell counted from 0, as nbval does; cell)."""
    return [(i, cell) for i, cell in enumerate(notebook.cells) if cell.cell_type == "code"]


def outputs(notebook):
    return [(i, output) for i, cell in code_cells(notebook) for output in cell.outputs]


def texts(output):
    """All text that an output shows, whatever its form."""
    if output.output_type == "stream":
        return [output.text]
    values = output.get("data", {}).items()
    return [value for kind, value in values if isinstance(value, str) and "/png" not in kind]


def toc_files():
    def walk(node):
        if isinstance(node, list):
            for item in node:
                yield from walk(item)
        elif isinstance(node, dict):
            for key, value in node.items():
                if key in ("root", "file"):
                    yield value
                else:
                    yield from walk(value)

    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf8"))
    return {re.sub(r"\.(ipynb|md)$", "", name) for name in walk(toc)}


def test_is_in_the_table_of_contents(path):
    assert path.relative_to(ROOT).with_suffix("").as_posix() in toc_files()


def test_is_valid_with_unique_ids(path, notebook):
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor >= 5) == (4, True)
    ids = [cell.id for cell in notebook.cells]
    assert len(ids) == len(set(ids))


def test_opens_with_its_title(notebook):
    first = notebook.cells[0]
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")


@functools.cache
def first_cell_of_the_front_page():
    return code_cells(nbformat.read(ROOT / "book" / "intro.ipynb", as_version=4))[0][1]


def test_first_cell_installs_the_library_where_it_is_missing(notebook):
    """On Colab, that is; the page does not show the cell."""
    _, first = code_cells(notebook)[0]
    assert "ismlit[notebooks] @ git+" in first.source
    assert first.source == first_cell_of_the_front_page().source
    assert first.metadata.tags == ["remove-cell"] and not first.outputs


def test_kernel_has_the_usual_name(notebook):
    assert notebook.metadata.kernelspec.name == "python3"


def test_required_data_are_named_in_a_list(notebook):
    names = notebook.metadata.get("ismlit", {}).get("requires_data", [])
    assert isinstance(names, list)
    assert all(isinstance(name, str) for name in names)


def test_cells_were_executed_in_order(notebook):
    counts = [cell.execution_count for _, cell in code_cells(notebook) if cell.source.strip()]
    assert counts == list(range(1, len(counts) + 1)), "run `make notebooks`"


def test_no_warning_and_no_error_is_stored(notebook):
    bad = [
        i
        for i, output in outputs(notebook)
        if output.output_type == "error" or output.get("name") == "stderr"
    ]
    assert bad == []


def test_cells_are_short(notebook):
    """Those that a reader sees; a folded one may list a section's checks."""
    long = {}
    for i, cell in code_cells(notebook):
        folded = {"hide-input", "hide-cell", "remove-input"} & set(cell.metadata.get("tags", []))
        n_lines = sum(bool(line.strip()) for line in cell.source.splitlines())
        if n_lines > (LONGEST_FOLDED if folded else LONGEST_CELL):
            long[i] = n_lines
    assert long == {}


def test_lines_are_short(notebook):
    long = [
        (i, line)
        for i, cell in code_cells(notebook)
        for line in cell.source.splitlines()
        if len(line) > LONGEST_LINE
    ]
    assert long == []


def test_outputs_hold_no_path_of_a_machine(notebook):
    found = [
        (i, match.group())
        for i, output in outputs(notebook)
        for text in texts(output)
        if (match := MACHINE_PATH.search(text))
    ]
    assert found == []


def test_pictures_have_alternative_text(notebook):
    without = []
    for i, cell in code_cells(notebook):
        kinds = {kind for output in cell.outputs for kind in output.get("data", {})}
        if not any(kind.startswith("image/") for kind in kinds):
            continue
        if {"remove-cell", "remove-output"} & set(cell.metadata.get("tags", [])):
            continue
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
        if not (isinstance(alt, str) and alt.strip()):
            without.append(i)
    assert without == [], 'cell metadata needs {"mystnb": {"image": {"alt": "..."}}}'


def kind(path):
    """ "chapter", "howto", or "front" for the front page."""
    folder = path.relative_to(ROOT / "book").parts[0]
    return "chapter" if folder.startswith("ch") else "howto" if folder == "howto" else "front"


def test_opens_by_saying_where_it_stands_and_closes_like_the_others(path, notebook):
    """A chapter's page: its place in the thesis, at the end what was learnt, and an exercise.

    A how-to: the reader's situation, and at the end what can go wrong.
    """
    if kind(path) == "front":
        return
    words = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    second = next(line for line in words[0].splitlines()[1:] if line.strip())
    assert second.startswith("*"), "after the title: where it stands, in italics"
    headings = re.findall(r"^## (.*)$", "\n".join(words), re.M)
    last = {"chapter": "What we learnt", "howto": "What can go wrong"}[kind(path)]
    assert headings[-1] == last


def test_has_an_exercise_whose_hidden_solution_runs(path, notebook):
    if kind(path) != "chapter":
        return
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    labels = re.findall(r"^(?:`{3}|:::)\{exercise\}.*\n:label: (\S+)", text, re.M)
    solved = re.findall(r"^(?:`{3}|:::)\{solution\} (\S+)\n:class: dropdown", text, re.M)
    assert labels and labels == solved
    assert any("hide-cell" in cell.metadata.get("tags", []) for _, cell in code_cells(notebook))


def test_figures_have_captions_and_names_of_their_own():
    names = []
    for path in NOTEBOOKS:
        for _, cell in code_cells(nbformat.read(path, as_version=4)):
            figure = cell.metadata.get("mystnb", {}).get("figure", {})
            names += [figure["name"]] if figure else []
            assert not figure or figure["caption"].strip()
    assert len(names) == len(set(names))
