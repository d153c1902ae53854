"""What a cell of a notebook uses from the cells above it, statement by statement."""

import ast
import copy
import symtable
from dataclasses import dataclass

MADE_UP = {"standard_normal", "uniform", "normal", "integers", "permutation", "random", "choice"}
"""Calls that make data up."""
CHANGES_ITS_OWNER = MADE_UP | set(
    "append extend insert pop remove clear reverse update fit fit_predict fit_transform add sort "
    "setdefault".split()
)


def checked(source):
    """Ids named in calls of ``check`` in a cell's code."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "check":
            yield from (a.value for a in node.args if isinstance(a, ast.Constant))


@dataclass(frozen=True)
class Statement:
    """One top-level statement of a notebook: its code cell by number, what it binds and reads."""

    node: ast.stmt
    text: str
    cell: int
    binds: frozenset
    changes: frozenset
    reads: frozenset
    claims: tuple

    @property
    def source(self):
        """The statement in one form, without comments."""
        return ast.unparse(self.node)


def statements(notebook):
    """All top-level statements of a notebook's code cells, in order."""
    cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    return [
        _statement(node, source, number)
        for number, source in enumerate(cells)
        for node in ast.parse(source).body
    ]


def _statement(node, source, number):
    whole = symtable.symtable(ast.unparse(node), "<notebook>", "exec")
    outer = [
        name
        for table in _tables(whole)
        for name in table.get_symbols()
        if table is whole or (name.is_global() and not name.is_local())  # def top is no module
    ]
    reads = frozenset(name.get_name() for name in outer if name.is_referenced())
    binds = frozenset(n.get_name() for n in outer if n.is_assigned() or n.is_imported())
    changes = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute | ast.Subscript) and isinstance(part.ctx, ast.Store):
            changes |= {n.id for n in ast.walk(part.value) if isinstance(n, ast.Name)}
        elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            changes.add(part.target.id)
        elif isinstance(part, ast.Call) and name_called(part) in CHANGES_ITS_OWNER:
            owner = getattr(part.func, "value", None)
            changes |= {getattr(owner, "id", "np")} - {"np"}  # np.sort makes a new array
    changes = frozenset(changes) & (reads | binds)  # a name local to a function is no change
    first = min(n.lineno for n in (node, *getattr(node, "decorator_list", ())))
    text = "\n".join(source.splitlines()[first - 1 : node.end_lineno])
    return Statement(node, text, number, binds, changes, reads, tuple(_claims(node)))


def _claims(node):
    called = {name_called(part) for part in ast.walk(node) if isinstance(part, ast.Call)}
    return checked(ast.unparse(node)) if "check" in called else ()


def name_called(call):
    """The name of the function or method of a call."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _tables(table):
    """A table of names, and those of the functions and comprehensions in it."""
    yield table
    for inner in table.get_children():
        yield from _tables(inner)


def rests_on(found, place):
    """Indices of the statements that the one at `place` needs, itself included."""
    needed, reads = {place}, set(found[place].reads | found[place].changes)
    for k in range(place - 1, -1, -1):
        here = found[k]
        if (here.binds | here.changes) & reads and not here.claims:
            needed.add(k)
            if isinstance(here.node, ast.Assign | ast.FunctionDef | ast.ClassDef | ast.Import):
                reads -= here.binds - here.changes - here.reads
            reads |= here.reads
    for k in sorted(needed):
        before = set().union(*(statement.binds for statement in found[:k]))
        for name in found[k].reads - before:  # by a function, and bound only after it
            later = [j for j in range(k + 1, place) if name in found[j].binds]
            if later and later[-1] not in needed:
                needed |= rests_on(found, later[-1])
    return needed


def used_by_cell(found, cell):
    """The statements above a code cell that it uses, as code; imports by the names in use.

    Examples
    --------
    >>> from ismlit_book.record.slices import statements, used_by_cell
    >>> sources = "import os, re\\nx = 1  # one\\ny = 2", "check('eq-1', x, re)"
    >>> found = statements(dict(cells=[dict(cell_type="code", source=s) for s in sources]))
    >>> print(used_by_cell(found, 1))
    import re
    x = 1  # one
    """
    needed = set()
    for place in (k for k, statement in enumerate(found) if statement.cell == cell):
        needed |= rests_on(found, place)
    read = set().union(*(found[k].reads for k in needed))
    above = [found[k] for k in sorted(needed) if found[k].cell < cell]
    return "\n".join(_spaced(statement, read) for statement in above).strip("\n")


def _spaced(statement, read):
    """A statement as it is shown: imports cut, functions apart."""
    if isinstance(statement.node, ast.Import | ast.ImportFrom):
        node = copy.copy(statement.node)
        bound = lambda alias: (alias.asname or alias.name).partition(".")[0]
        node.names = [alias for alias in node.names if bound(alias) in read]
        return ast.unparse(node) if len(node.names) < len(statement.node.names) else statement.text
    apart = isinstance(statement.node, ast.FunctionDef | ast.ClassDef)
    return f"\n\n{statement.text}\n" if apart else statement.text
