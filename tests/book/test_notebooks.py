"""The form of the notebooks: what a reader, nbval and the book's build rely on."""

import ast
import dis
import re
from copy import deepcopy
from functools import partial
from pathlib import Path

import nbformat
import pytest
from ismlit_book.record.ledger import VERDICTS, Sentence, ledger, title
from ismlit_book.record.slices import checked

from tools import record
from tools.execute_notebooks import notebooks_of
from tools.nbval_plugin import SOLUTION, programs
from tools.toc import pages

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = notebooks_of(ROOT)
LONGEST_CELL = {"course": 40, "record": 60}  # non-blank lines
MOST_IMPORTS = 6  # a cell of a how-to
MOST_LINES = 160  # of code on a page of the course
MOST_COURSE_PAGES = 70
LONGEST_LINE = 85
MACHINE_PATH = re.compile(
    r"(?<![\w.:/~-])/(?:home|root|tmp|Users|var|usr|opt|mnt|private|work\w*)/\S"
    r"|\b[A-Z]:\\\w|site-packages|ipykernel_\d"
)


def part(path):
    """ "record" or "course"; the how-tos and the front page belong to the course."""
    return "record" if path.parent.name == "record" else "course"


COURSE = [path for path in NOTEBOOKS if part(path) == "course"]
RECORD = [path for path in NOTEBOOKS if part(path) == "record"]
name_of = lambda path: path.relative_to(ROOT / "book").as_posix()
RULES = []
"""Pairs (what a page has to keep: it raises where the page does not; of which part, or None)."""


def rule(check, of=None):
    """A function of (path, notebook) as a rule for all pages."""
    RULES.append((check, of))
    return check


course_rule, record_rule = partial(rule, of="course"), partial(rule, of="record")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_page(path):
    """All rules that a page breaks, by their names."""
    assert broken(path, nbformat.read(path, as_version=4)) == {}


def broken(path, notebook):
    faults = {}
    for check, of in RULES:
        if of in (None, part(path)):
            try:
                check(path, notebook)
            except AssertionError as fault:
                faults[check.__name__] = str(fault)
    return faults


def test_all_that_a_page_breaks_is_said():
    whole = nbformat.read(COURSE[1], as_version=4)
    spoilt = deepcopy(whole)
    spoilt.cells[0].source = "no title"
    code_cells(spoilt)[0][1].execution_count = 99
    spoilt.cells[-1].source += r" \tag{7}"
    assert broken(COURSE[1], whole) == {}
    assert broken(COURSE[1], spoilt).keys() == {
        "opens_with_its_title",
        "cells_were_executed_in_order",
        "equations_are_counted_by_page",
    }


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


@rule
def is_in_the_table_of_contents(path, notebook):
    assert path.relative_to(ROOT).with_suffix("").as_posix() in pages()


@rule
def is_valid_with_unique_ids(path, notebook):
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor >= 5) == (4, True)
    ids = [cell.id for cell in notebook.cells]
    assert len(ids) == len(set(ids))


@rule
def opens_with_its_title(path, notebook):
    first = notebook.cells[0]
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")


@rule
def kernel_has_the_usual_name(path, notebook):
    assert notebook.metadata.kernelspec.name == "python3"


@rule
def what_a_page_requires_is_named_in_a_list(path, notebook):
    for kind in ("requires_data", "requires_modules"):
        names = notebook.metadata.get("ismlit", {}).get(kind, [])
        assert isinstance(names, list)
        assert all(isinstance(name, str) for name in names)


@rule
def cells_were_executed_in_order(path, notebook):
    counts = [cell.execution_count for _, cell in code_cells(notebook) if cell.source.strip()]
    assert counts == list(range(1, len(counts) + 1)), "run `make notebooks`"


@rule
def no_warning_and_no_error_is_stored(path, notebook):
    bad = [
        i
        for i, output in outputs(notebook)
        if output.output_type == "error" or output.get("name") == "stderr"
    ]
    assert bad == []


@rule
def cells_are_short(path, notebook):
    longest = LONGEST_CELL[part(path)]
    lines = {i: len(re.findall(r"\S.*", cell.source)) for i, cell in code_cells(notebook)}
    assert {i: n for i, n in lines.items() if n > longest} == {}


@rule
def lines_are_short(path, notebook):
    long = [
        (i, line)
        for i, cell in code_cells(notebook)
        for line in cell.source.splitlines()
        if len(line) > LONGEST_LINE
    ]
    assert long == []


@rule
def outputs_hold_no_path_of_a_machine(path, notebook):
    found = [
        (i, match.group())
        for i, output in outputs(notebook)
        for text in texts(output)
        if (match := MACHINE_PATH.search(text))
    ]
    assert found == []


@rule
def pictures_have_alternative_text(path, notebook):
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


# ---------------------------------------------------------------- the two books


def words(notebook):
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def test_the_course_is_small():
    assert len(COURSE) <= MOST_COURSE_PAGES


@pytest.mark.parametrize("page", sorted((ROOT / "book").glob("ch*/index.md")), ids=name_of)
def test_the_times_of_a_chapter_s_routes_add_up(page):
    text = page.read_text(encoding="utf-8")
    minutes = {
        name: int(n) for name, n in re.findall(r"^\|.*?\((\w+\S*\.ipynb)\).* (\d+) \|$", text, re.M)
    }
    routes = re.findall(r"^- \*\*(.*), (\d+) minutes:\*\*(.*)$", text, re.M)
    assert routes[0][0] == "A first look"
    assert routes[-1][0] == "All of it"
    for name, stated, pages_of_it in routes:
        taken = (
            minutes if name == "All of it" else re.findall(r"\]\((\w+\S*\.ipynb)\)", pages_of_it)
        )
        assert int(stated) == sum(minutes[page] for page in taken), name


def front_routes():
    """What the front page says of its three routes."""
    front = nbformat.read(ROOT / "book" / "intro.ipynb", as_version=4)
    return words(front).split("### Three routes\n")[1].split("\n#")[0]


def test_the_times_of_the_front_page_add_up():
    """Each route adds pages to the one before; what it takes is right to a quarter of an hour."""
    listed = r"\((\w\S*\.ipynb)\) \|.*\| (\d+) \|$"
    minutes = {
        f"{index.parent.name}/{name}": int(n)
        for index in (ROOT / "book").glob("ch*/index.md")
        for name, n in re.findall(listed, index.read_text(encoding="utf-8"), re.M)
    }
    routes = re.findall(r"In (\d+) (minutes|hours)(.*)", front_routes())
    assert len(routes) == 3
    taken = 0
    for number, unit, pages_of_it in routes:
        taken += sum(minutes[page] for page in re.findall(r"\]\((\S+?)\)", pages_of_it))
        assert abs(taken - int(number) * {"minutes": 1, "hours": 60}[unit]) <= 15


NEEDED = re.compile(r"(?:[Yy]ou need|needs|after) \[[^\]]*\]\((?!http)([^)#]+\.ipynb)\)")


def needed(page):
    """The pages that a page's opening says one has to have read."""
    opening = nbformat.read(page, as_version=4).cells[0].source
    return [(page.parent / link).resolve() for link in NEEDED.findall(opening)]


def test_what_a_page_needs_is_read_from_its_opening(tmp_path):
    opening = (
        "# Title\n\nYou need [that](a.ipynb); see [more](b.ipynb). It comes after [x](../c.ipynb)."
    )
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(opening)])
    nbformat.write(book, tmp_path / "page.ipynb")
    assert needed(tmp_path / "page.ipynb") == [tmp_path / "a.ipynb", tmp_path.parent / "c.ipynb"]


def routes():
    """Pages in the order of each route, of the front page and of the chapters."""
    book = ROOT / "book"
    yield "front", [book / page for page in re.findall(r"\]\((\S+?)\)", front_routes())]
    for index in sorted(book.glob("ch*/index.md")):
        lines = re.findall(r"^- \*\*(.*), \d+ minutes:\*\*(.*)$", index.read_text("utf-8"), re.M)
        for name, line in lines:
            pages_of_it = re.findall(r"\]\((\w+\S*\.ipynb)\)", line)
            yield f"{index.parent.name}, {name}", [index.parent / page for page in pages_of_it]


@pytest.mark.parametrize("name, route", [pytest.param(*r, id=r[0]) for r in routes()])
def test_a_route_has_what_its_pages_need_in_order(name, route):
    """A chapter's route: of the same chapter; what others have to give stands in its map."""
    if "All of it" in name:
        return
    missing = {
        page.name: need.name
        for k, page in enumerate(route)
        for need in needed(page)
        if (name == "front" or need.parent == page.parent) and need not in route[:k]
    }
    assert missing == {}


GRADE = re.compile(r"^\*\*Exercise \d+\*\* \((★{1,3})(, change and look)?\)\. ", re.M)


@course_rule
def exercises_have_stars_and_a_hint_and_one_changes_the_page(path, notebook):
    """Of the chapters that mirror the thesis's; the last rule of 1, 2 and 5 alone."""
    if path.parent.name in {"ch1", "ch2", "ch3", "ch4", "ch5", "ch6"}:
        text = words(notebook)
        grades, hints = GRADE.findall(text), re.findall(r"^\*Hint\.\* \S", text, re.M)
        exercises = re.findall(r"^\*\*Exercise \d+", text, re.M)
        assert len(grades) == len(hints) == len(exercises)
        changes = any(change for _, change in grades)
        assert changes or path.parent.name in {"ch3", "ch4", "ch6"}


@course_rule
def cells_of_chapter_5_are_shorter(path, notebook):
    """25 lines; and ten, where a cell only imports."""
    if path.parent.name == "ch5":
        for i, cell in code_cells(notebook):
            steps = ast.parse(cell.source).body
            imports = all(isinstance(step, (ast.Import, ast.ImportFrom)) for step in steps)
            assert len(cell.source.split("\n")) <= (10 if imports else 25), i


ASKS = re.compile(r"^answer\(", re.M)


@course_rule
def a_page_of_the_course_checks_no_claim_and_shows_its_code(path, notebook):
    """Nothing is folded but the solutions and at most one helper cell; two on the front page.

    Cells in which a reader answers are no part of what is to be read.
    """
    code = [cell for _, cell in code_cells(notebook) if not ASKS.search(cell.source)]
    assert [name for cell in code for name in checked(cell.source)] == []
    folded = [c for c in code if {"hide-input", "hide-cell", "remove-input"} & {*tags(c)}]
    assert len(folded) <= 1 + (path.name == "intro.ipynb")
    shown = [line for c in code if c not in folded for line in c.source.split("\n") if line.strip()]
    assert len(shown) <= MOST_LINES


def tags(cell):
    return cell.metadata.get("tags", ())


@course_rule
def a_how_to_imports_the_library_alone(path, notebook):
    """What `pip install .` does not bring is no part of it, `rise` aside, which says so."""
    if path.parent.name != "howto":
        return
    for i, cell in code_cells(notebook):
        imports = [
            s for s in ast.parse(cell.source).body if isinstance(s, ast.Import | ast.ImportFrom)
        ]
        assert len(imports) <= MOST_IMPORTS, i
    code = [cell.source for _, cell in code_cells(notebook)]
    code += [program for program, _ in programs(words(notebook))]
    lines = {line for text in code for line in text.split("\n") if "ismlit_book" in line}
    assert lines <= {"from ismlit_book import rise"}


@course_rule
def a_page_of_the_course_ends_with_what_was_learnt(path, notebook):
    """A how-to: with what can go wrong."""
    headings = re.findall(r"^## (.*)$", words(notebook), re.M)
    if path.parent.name == "howto":
        assert headings[-1] == "What can go wrong"
    elif path.name != "intro.ipynb":
        assert headings[-1] == "What we learnt"
        assert re.search(r"^\*\*Exercise 1\b", words(notebook), re.M)


@course_rule
def next_is_the_next_page(path, notebook):
    following = pages()[pages().index(path.relative_to(ROOT).with_suffix("").as_posix()) + 1]
    for link in re.findall(r"^Next: .*?\]\(([^)#]+)", words(notebook), re.M):
        assert (path.parent / link).resolve() == (ROOT / following).with_suffix(Path(link).suffix)


NAMES = {title(claim).lower(): claim for claim in ledger()}
INTO_THE_RECORD = re.compile(r"\[([^\]]+)\]\(\.\./record/[^)]+\)$")


@rule
def tables_of_the_course_say_what_the_ledger_says(path, notebook):
    """Where a row has one verdict with a link into the record, and names claims by their titles."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in words(notebook).split("\n")
        if line.startswith("| ")
    ]
    for *items, last in rows:
        said = INTO_THE_RECORD.fullmatch(last)
        if said and said[1] in VERDICTS:
            for name in re.split(r",\s+", ", ".join(items)):
                claim = NAMES.get(name.lower().removeprefix("thesis "))
                assert claim is None or ledger()[claim].verdict == said[1], name


@rule
def what_is_folded_is_folded_in_jupyterlab_too(path, notebook):
    for _, cell in code_cells(notebook):
        folded = {"hide-input", "hide-cell", "remove-input"} & {*tags(cell)}
        assert bool(folded) == bool(cell.metadata.get("jupyter", {}).get("source_hidden"))


# ---------------------------------------------------------------- names

OF_A_FIGURE = {"fig", "ax", "axes", "_"}  # made anew by each


def reads_and_binds(code):
    """Names that a program needs from elsewhere, and those that it leaves behind."""
    reads, binds = set(), set()
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_NAME", "LOAD_GLOBAL") and step.argval not in binds:
            reads.add(step.argval)
        elif step.opname == "STORE_NAME":
            binds.add(step.argval)
        elif step.opname == "LOAD_CONST" and hasattr(step.argval, "co_code"):
            reads |= reads_and_binds(step.argval)[0] - binds
    return reads, binds


def shows_a_figure(cell):
    kinds = {kind for output in cell.outputs for kind in output.get("data", {})}
    return any(kind.startswith("image/") for kind in kinds)


@course_rule
def a_page_runs_without_its_figures(path, notebook):
    of_figures, of_others, missing = set(), set(), {}
    for i, cell in code_cells(notebook):
        reads, binds = reads_and_binds(compile(cell.source, "cell", "exec"))
        if lost := reads & of_figures - of_others:
            missing[i] = lost
        (of_figures if shows_a_figure(cell) else of_others).update(binds)
    assert missing == {}, "compute in a cell of its own what is needed again"


@course_rule
def a_name_means_one_thing_on_a_page(path, notebook):
    """Names of loops aside."""
    seen, twice = set(OF_A_FIGURE), {}
    for i, cell in code_cells(notebook):
        simple = [s for s in ast.parse(cell.source).body if not hasattr(s, "body")]
        defined = {s.name for s in ast.parse(cell.source).body if hasattr(s, "name")}
        program = compile(ast.Module(simple, []), "cell", "exec")
        binds = (reads_and_binds(program)[1] | defined) - OF_A_FIGURE
        if again := binds & seen:
            twice[i] = again
        seen |= binds
    assert twice == {}


# ---------------------------------------------------------------- plain Markdown

NOT_PROSE = r"\$\$.*?\$\$|\$[^$\n]+\$|```.*?```|`[^`\n]*`|\]\([^)]*\)"
NOT_PLAIN = {
    "a directive": r"^\s*>?\s*(?:`{3,}|:{3,})\{",
    "a role": r"\{[a-z]+(?::[a-z]+)?\}`",
    "a label": r"^\$\$ *\(|^\([\w-]+\)=\s*$",
    "a display over several lines in a quote": r"^>\s*\$\$(?!.*\$\$)",
    "a display behind words in a quote": r"^> *[^$\s>].*\$\$",
    "a display that breaks a list": r"^(?:\d+\.|[-*]) [^\n]*\n\$\$",
}


@rule
def only_what_every_viewer_shows(path, notebook):
    """JupyterLab, VS Code, Colab, GitHub and this book have this much Markdown in common."""
    found = {what: re.findall(sign, words(notebook), re.M) for what, sign in NOT_PLAIN.items()}
    assert {what: signs for what, signs in found.items() if signs} == {}


@rule
def equations_are_counted_by_page(path, notebook):
    found = [int(n) for n in re.findall(r"\\tag\{(\d+)\}", words(notebook))]
    assert found == list(range(1, len(found) + 1))


@rule
def figures_have_numbered_captions_below_them(path, notebook):
    text = words(notebook)
    numbers = [int(n) for n in re.findall(r"^\*Figure (\d+)\.\* ", text, re.M)]
    assert numbers == list(range(1, len(numbers) + 1))


@rule
def figures_are_stored_for_every_viewer(path, notebook):
    """JupyterLab shows no SVG of a notebook that it does not trust."""
    for _, output in outputs(notebook):
        kinds = {kind for kind in output.get("data", {}) if kind.startswith("image/")}
        assert not kinds or "image/png" in kinds or "image/gif" in kinds


@rule
def every_exercise_has_a_solution_that_is_folded(path, notebook):
    text = words(notebook)
    exercises = [int(n) for n in re.findall(r"^\*\*Exercise (\d+)\b", text, re.M)]
    assert exercises == list(range(1, len(exercises) + 1))
    assert len(SOLUTION.findall(text)) == len(exercises)
    assert all(len(code.split("\n")) < 60 for code, _ in programs(text))


@course_rule
def the_thesis_s_numbers_say_that_they_are_the_thesis_s(path, notebook):
    """(3) is the page's own third equation; thesis (5.2) is the thesis's."""
    prose = re.sub(NOT_PROSE, "", words(notebook), flags=re.S)
    bare = r"(?<!thesis )(?<!thesis's )\((?:[2-6]|[A-D])\.\d+[a-c]?\)"
    several = r"(thesis \([^)]*\))((?:,| and| to|, and) \([^)]*\))+"
    alone = re.sub(several, r"\1", prose, flags=re.IGNORECASE)
    assert re.findall(bare, alone, re.IGNORECASE) == []


# ---------------------------------------------------------------- the record


@record_rule
def the_record_says_what_the_ledger_says(path, notebook):
    assert not record.renewed(path.stem, notebook), "run: python -m tools.record"


@record_rule
def a_check_stands_below_its_statement(path, notebook):
    for before, cell in zip(notebook.cells, notebook.cells[1:]):
        if cell.cell_type == "code" and [*checked(cell.source)]:
            assert before.metadata.get("ismlit") == {"cell": "statement"}


def test_every_section_of_the_thesis_has_a_page():
    wanted = {record.section(claim.where) for claim in ledger().values()} - {None}
    assert wanted <= {path.stem for path in RECORD}


@pytest.mark.parametrize(
    "said, length, shown",
    [
        ("The projectors converge.", 24, "The projectors converge."),
        ("It has $Phi W = W Lambda$ and *more*.", 33, r"It has $\Phi W = W \Lambda$ and …"),
        ("It has $Phi W = W Lambda$ and *more*.", 12, "It has …"),
        ("It is so (by the rule).", 14, "It is so …"),
    ],
)
def test_the_beginning_of_a_statement_ends_between_words_or_formulas(said, length, shown):
    assert record.brief(Sentence(said), length) == shown
