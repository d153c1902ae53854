"""The house rules: imports point one way and are light, one word for one thing, all explained."""

import ast
import importlib
import inspect
import io
import re
import shutil
import subprocess
import sys
import tokenize
from pathlib import Path

import numpy as np
import pytest

import ismlit
from ismlit.estimators.parameters import PARAMETERS

PACKAGE = Path(ismlit.__file__).parent
FOLDERS = {
    "geometry": "span frames second_order",
    "kernels": "_base _named",
    "": "messages memory datasets parallel plot targets grams bandwidth gamma dependence",
    "objectives": (
        "pairs protocol plain conditional normalized class_sums blocks features landmarks "
        "affinity joint parts"
    ),
    "solvers": "gradient_start lbfgs starts result climb ism certificate permutations alternate",
    "estimators": (
        "scikit parameters validation collections linear weights base importance "
        "gradient_kdr sliced_inverse sliced_variance components conditional"
    ),
    ".": "conditioning statistics",
    ".estimators": (
        "report dependent supervised response clusters extension clustering unsupervised "
        "semisupervised kdac"
    ),
    "estimators.network": "layers ridge growth classifier",
}
"""Every folder and its modules, each importing only from those before it."""
FACES = {"kernels": "kernels._named"}
"""A folder whose names are imported from itself counts as the last of its modules."""
MODULES = [
    f"{folder}.{name}".lstrip(".") for folder, names in FOLDERS.items() for name in names.split()
]


def source(module):
    return (PACKAGE / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8")


@pytest.mark.parametrize("module", [name for name in MODULES if name != "estimators.scikit"])
def test_a_module_has_the_tests_of_its_name(module):
    name = module.rpartition(".")[2].lstrip("_")
    assert Path(__file__).with_name(f"test_{name}.py").exists()


def names_imported(text, top_only=False):
    """Dotted names that a module of `ismlit` imports, in any form: "numpy", "ismlit_book.check".

    Seen are import, from, both with dots for the package, and calls of import_module, __import__
    and importorskip with a text. `top_only` leaves out what is imported inside functions.
    """
    waiting = [ast.parse(text)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = ["ismlit"] * bool(node.level) + [node.module] * bool(node.module)
            yield from (".".join([*parts, alias.name]) for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "id", getattr(node.func, "attr", None))
            if called in ("import_module", "__import__", "importorskip"):
                yield node.args[0].value
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if not (top_only and inside):
            waiting += ast.iter_child_nodes(node)


def imported(text):
    """Modules of `ismlit` ("geometry.span"), or "the book", that a module imports."""
    for name in names_imported(text):
        top, *rest = name.split(".")
        if top == "ismlit_book":
            yield "the book"
        elif top == "ismlit" and rest:
            found = [".".join(rest[:k]) for k in range(len(rest), 0, -1)]
            known = [module for module in found if module in MODULES]
            home = ismlit._MODULE_OF.get(rest[0], found[-1])
            yield known[0] if known else FACES.get(home, home)


def test_every_module_has_its_place():
    library = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py")]
    library = [path for path in library if path.stem != "__init__"]
    assert {".".join(path.with_suffix("").parts) for path in library} == set(MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module):
    for used in imported(source(module)):
        assert used in MODULES[: MODULES.index(module)], f"{module} imports {used}"


@pytest.mark.parametrize(
    "line",
    [
        "import ismlit_book",
        "import ismlit_book.record.ledger as l",
        "from ismlit_book import check",
        "from ismlit_book.record.ledger import ledger",
        "import importlib\nimportlib.import_module('ismlit_book.figures.plots')",
        "def later():\n    from ismlit_book import check",
    ],
)
def test_no_form_of_import_is_missed(line):
    assert list(imported(line)) == ["the book"]


def test_the_filters_of_warnings_are_changed_only_for_what_other_libraries_say():
    """What the library itself says, `messages.silenced` leaves out in one thread alone."""
    found = {module for module in MODULES if "warnings" in names_imported(source(module))}
    assert found == {"messages", "objectives.affinity", "estimators.conditional"}


def test_an_exported_name_counts_as_its_module():
    assert list(imported("from ismlit import SupervisedIKDR")) == ["estimators.supervised"]
    assert list(imported("from ismlit.kernels import Sum")) == ["kernels._named"]


def test_the_library_lives_without_the_book(tmp_path):
    """Every module imports where nothing else of the repository is to be had."""
    shutil.copytree(PACKAGE, tmp_path / "ismlit")
    code = "import importlib\n" + "".join(
        f"importlib.import_module('ismlit.{module}')\n" for module in MODULES
    )
    command = [
        sys.executable,
        "-I",
        "-c",
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n{code}",
    ]
    subprocess.run(command, cwd=tmp_path, check=True)


def code_lines(text):
    """The numbers of the lines that hold code: no blank line, comment or docstring."""
    numbers, said = set(), set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            numbers |= {*range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", 0), str):
            said |= {*range(node.lineno, node.end_lineno + 1)}
    return numbers - said


SILENT = {getattr(tokenize, name) for name in "COMMENT NL NEWLINE INDENT DEDENT ENDMARKER".split()}
MOST_LINES = 400
"""Of code in a module. What a docstring explains is not held against it."""


def test_code_lines_leave_out_what_is_said():
    text = '"""A module."""\n\nx = """one\ntwo"""  # why\n# more\n\n\ndef f():\n    """Said."""\n'
    assert code_lines(text + "    return [\n        1,\n    ]\n") == {3, 4, 8, 10, 11, 12}


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_short(module):
    assert len(code_lines(source(module))) <= MOST_LINES


HEAVY = "sympy matplotlib IPython pymanopt pooch yaml jinja2 torch pandas tqdm".split()


@pytest.mark.parametrize(
    ("line", "without"),
    [
        ("import ismlit", [*HEAVY, "numpy", "sklearn"]),
        ("from ismlit import *", [name for name in HEAVY if name != "pandas"]),
        ("import ismlit.estimators.kdac", [name for name in HEAVY if name != "pandas"]),
    ],
)
def test_import_is_light(line, without):
    code = f"{line}\nimport sys\nprint([m for m in {without} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


# ---------------------------------------------------------------- the face


def test_everything_promised_can_be_imported():
    for name in ismlit.__all__:
        assert getattr(ismlit, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        ismlit.missing


def test_no_name_is_a_module_and_something_else():
    """`import ismlit.hsic` would else be a module, and `from ismlit import hsic` a function."""
    first = {module.split(".")[0] for module in MODULES}
    assert set(ismlit.__all__) & first == {"datasets"}


ESTIMATORS = [
    ismlit.SupervisedIKDR,
    ismlit.ResponseIKDR,
    ismlit.UnsupervisedIKDR,
    ismlit.SemiSupervisedIKDR,
    ismlit.KDAC,
    ismlit.KernelDependenceNetwork,
]
OWN = {
    "SupervisedIKDR": {"class_weight"},
    "ResponseIKDR": {"n_slices"},
    "KernelDependenceNetwork": {
        "class_weight",
        "early_stopping",
        "validation_fraction",
        "max_layers",
        "threshold",
        "ridges",
    },
}
"""Words of one estimator alone; all others are those of the table of parameters."""


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_one_word_for_one_thing(estimator):
    words = set(estimator().get_params()) - {"random_state"}
    assert words - set(PARAMETERS) == OWN.get(estimator.__name__, set())


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_every_parameter_and_attribute_is_explained(estimator):
    text = inspect.getdoc(estimator)
    parameters, _, attributes = text.partition("Attributes\n")
    for word in estimator().get_params():
        assert re.search(rf"(^|, ){word}\b.* :|^[\w, ]*\b{word}\b", parameters, re.M), word
    for word in ("converged_", "n_iter_", "history_"):
        assert re.search(rf"\b{word}", attributes), word


@pytest.mark.filterwarnings("ignore:no bandwidth tried")  # KDAC, of two clouds that are known
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_what_happened_is_said_in_the_same_words(estimator, rng):
    X = np.vstack([rng.normal(0, 1, (20, 3)), rng.normal(4, 1, (20, 3))])
    y = np.repeat([0, 1], 20)
    model = estimator().fit(X, y)
    assert isinstance(model.converged_, bool) and model.n_iter_ >= 1
    assert len({len(values) for values in model.history_.values()}) == 1
    if hasattr(model, "W_"):
        assert np.array_equal(model.components_, model.W_.T)
        assert model.result_.objective == model.history_["objective"][-1]
        assert model.certificate() is model.certificate()


BAD = {
    "n_components": [0, 1.5, True],
    "n_clusters": [0],
    "n_vectors": [-1],
    "kernel": ["rbf", 3],
    "bandwidth": [0.0, "wide", True],
    "bandwidth_scale": [0.0, "half", True],
    "init": ["best"],
    "ridge": [0, -1.0, "small", True],
    "tol": [-1e-3, np.nan, "small"],
    "max_iter": [0],
    "max_turns": [2.5],
    "n_init": [0],
    "normalize": [True],
    "random_features": [0],
    "penalty": [-1.0],
    "weight": [-1.0],
    "n_jobs": [0.5],
    "callback": [3],
    "verbose": ["yes"],
    "threshold": [1.5],
    "max_layers": [0],
}


@pytest.mark.parametrize(
    ("estimator", "word", "bad"),
    [(e, word, bad) for e in ESTIMATORS for word in e().get_params() for bad in BAD.get(word, [])],
)
def test_bad_parameters_are_named_with_the_rule(estimator, word, bad, rng):
    with pytest.raises(ValueError, match=f"{word} of {estimator.__name__} must be .*, got"):
        estimator(**{word: bad}).fit(rng.standard_normal((20, 3)), np.arange(20) % 2)


def test_every_word_has_a_bad_value():
    assert set(PARAMETERS) == set(BAD) - {"threshold", "max_layers"}


def test_names_of_other_libraries_get_a_hint(rng):
    for name, ours in {"rbf": "gaussian", "poly": "polynomial", "gausian": "gaussian"}.items():
        with pytest.raises(ValueError, match=f"did you mean '{ours}'"):
            ismlit.SupervisedIKDR(1, kernel=name).fit(rng.standard_normal((9, 2)), np.arange(9) % 2)


def test_editors_and_type_checkers_see_every_name():
    """The stub imports each public name from the module that gives it at run time."""
    package = Path(ismlit.__file__).parent
    assert (package / "py.typed").exists()
    seen = {}
    for node in ast.parse((package / "__init__.pyi").read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            seen |= {alias.name: node.module for alias in node.names}
    assert set(seen) == set(ismlit.__all__)
    for name in set(seen) - {"datasets"}:
        assert getattr(importlib.import_module(seen[name]), name) is getattr(ismlit, name)


# ---------------------------------------------------------------- explained


def public(module):
    """(name, thing) of the public functions, classes and methods that a module defines."""
    loaded = importlib.import_module(module)
    for name, thing in vars(loaded).items():
        here = getattr(thing, "__module__", None) == loaded.__name__
        documented = inspect.isclass(thing) or inspect.isfunction(thing)
        if not here or name.startswith("_") or not documented:
            continue
        yield name, thing
        if inspect.isclass(thing):
            for method, function in vars(thing).items():
                if inspect.isfunction(function) and not method.startswith("_"):
                    yield f"{name}.{method}", getattr(thing, method)


@pytest.mark.parametrize("module", MODULES)
def test_public_things_have_docstrings(module):
    missing = [name for name, thing in public(f"ismlit.{module}") if not inspect.getdoc(thing)]
    assert not missing


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_a_default_is_the_one_that_the_docstring_gives(estimator):
    parameters = inspect.getdoc(estimator).partition("Attributes\n")[0]
    said = re.findall(r"^([\w, ]+) : .*, default=(\S+)$", parameters, re.M)
    values = estimator().get_params()
    told = {name: default for names, default in said for name in names.split(", ")}
    assert told
    for name, default in told.items():
        if "..." not in default and "(" not in default:
            expected = np.inf if default == "numpy.inf" else ast.literal_eval(default)
            assert expected == values[name], name


def explained_parameters(text):
    """The names in the Parameters section of a docstring; None where there is no such section."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?:\n\n[A-Z][\w ]+\n-+\n|\Z)", text, re.S | re.M)
    if section is not None:
        lines = re.findall(r"^(\S.*?)(?: :.*)?$", section[1], re.M)
        return {word.strip(" *") for line in lines for word in line.split(",")}


def test_names_are_read_from_a_section():
    text = "Sum.\n\nParameters\n----------\na, b : int\n    Both.\n**more : dict\nc\n    A word.\n"
    assert explained_parameters(text) == {"a", "b", "more", "c"}
    assert explained_parameters(f"{text}\nReturns\n-------\nint\n    It.") == {
        "a",
        "b",
        "more",
        "c",
    }
    assert explained_parameters("Sum.") is None


@pytest.mark.parametrize("module", MODULES)
def test_the_parameters_explained_are_those_of_the_signature(module):
    wrong = {}  # what stands on one side alone
    for name, thing in public(f"ismlit.{module}"):
        said = explained_parameters(inspect.getdoc(thing))
        if said is not None:
            wrong[name] = said ^ (set(inspect.signature(thing).parameters) - {"self", "cls"})
    assert not any(wrong.values()), wrong
