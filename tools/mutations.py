"""What can be changed in a Python file: small faults, each at one place of its text.

An operator or a comparison becomes another, a constant moves by one, an axis turns, a sign, a
transposition, a named argument or a statement goes. Imports, annotations, decorators, messages
and docstrings are left alone.
"""

import ast
import re
from dataclasses import dataclass

OPERATORS = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*")}
OPERATORS |= {ast.FloorDiv: ("//", "/"), ast.Pow: ("**", "*")}
OPERATORS |= {ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&")}
OPERATORS |= {ast.And: ("and", "or"), ast.Or: ("or", "and")}
OPERATORS |= {ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")}
OPERATORS |= {ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not")}
OPERATORS |= {ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in")}
PAIRS = "min max argmin argmax minimum maximum any all".split()
NAMES = dict(zip(PAIRS, [PAIRS[i ^ 1] for i in range(len(PAIRS))]))
LEFT_ALONE = (ast.JoinedStr, ast.Import, ast.ImportFrom)  # messages, imports, and these parts:
PARTS_LEFT_ALONE = ("annotation", "returns", "decorator_list", "exc", "cause")


@dataclass(frozen=True)
class Mutant:
    """One change: in `file` (below the root) the bytes from `start` to `stop` become `new`."""

    file: str
    line: int
    start: int
    stop: int
    new: str

    before: str
    after: str

    def apply(self, raw):
        """The file's bytes with the change."""
        return raw[: self.start] + self.new.encode() + raw[self.stop :]


class Source:
    """A file's text, its syntax tree, and where each node of it stands in bytes."""

    def __init__(self, file, raw):
        self.file, self.raw = file, raw
        self.tree = ast.parse(self.raw)
        self.lines = [0]
        for line in self.raw.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))

    def span(self, node):
        """First byte of a node and the one behind its last."""
        start = self.lines[node.lineno - 1] + node.col_offset
        return start, self.lines[node.end_lineno - 1] + node.end_col_offset

    def text(self, node):
        return self.raw[slice(*self.span(node))].decode()

    def swap(self, left, operator, right):
        """The edits that exchange the operator between two nodes."""
        old, new = OPERATORS.get(type(operator), (None, None))
        if old is None:
            return
        start, stop = self.span(left)[1], self.span(right)[0]
        pattern = re.escape(old).replace(r"\ ", r"\s+").encode()
        if found := re.search(pattern, self.raw[start:stop]):
            yield start + found.start(), start + found.end(), new

    def mutant(self, start, stop, new):
        """A change with the lines that it touches, before and after, in single blanks."""
        line = self.raw.count(b"\n", 0, start)
        last = self.raw.find(b"\n", stop)
        head, tail = self.raw[self.lines[line] : start], self.raw[stop:last]
        texts = self.raw[self.lines[line] : last], head + new.encode() + tail
        shown = [" ".join(text.decode().split()) for text in texts]
        return Mutant(self.file, line + 1, start, stop, new, *shown)

    def mutants(self):
        """Every change of this file by position; some leave no program, or the same."""
        found = {edit for node in changeable(self.tree) for edit in edits(node, self)}
        return [self.mutant(*edit) for edit in sorted(found)]

    def is_changed(self, mutant):
        """Whether a change leaves a program, and another one."""
        try:
            return ast.dump(ast.parse(mutant.apply(self.raw))) != ast.dump(self.tree)
        except SyntaxError:
            return False


def changeable(node):
    """The nodes below one, without imports, texts, annotations, decorators and `__all__`."""
    targets = getattr(node, "targets", [])
    warns = isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "warn"
    if warns or any(getattr(target, "id", "") == "__all__" for target in targets):
        return
    yield node
    for part, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            kept = isinstance(child, ast.AST) and not isinstance(child, LEFT_ALONE)
            if kept and part not in PARTS_LEFT_ALONE and getattr(node, "arg", "") != "axis":
                yield from changeable(child)


def edits(node, source):
    """(start, stop, new text) of what can be changed at one node."""
    span = source.span(node) if hasattr(node, "lineno") else None
    match node:
        case ast.Expr(value=ast.Constant()):  # a docstring
            return
        case ast.Expr() | ast.Raise():
            yield *span, "pass"
        case ast.AugAssign():
            yield *span, "pass"
            yield from source.swap(node.target, node.op, node.value)
        case ast.BinOp(op=ast.MatMult()):
            for side in (node.left, node.right):
                if not source.text(side).endswith(".T"):
                    yield *source.span(side), f"({source.text(side)}).T"
        case ast.BinOp():
            yield from source.swap(node.left, node.op, node.right)
        case ast.BoolOp():
            for left, right in zip(node.values, node.values[1:]):
                yield from source.swap(left, node.op, right)
        case ast.Compare():
            for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators):
                yield from source.swap(left, op, right)
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield span[0], source.span(node.operand)[0], ""
        case ast.keyword(arg="axis", value=ast.Constant()):
            yield *source.span(node.value), str(1 - node.value.value)
        case ast.Constant(value=bool()):
            yield *span, str(not node.value)
        case ast.Constant(value=int() | float()):
            yield *span, repr(node.value + 1)
            if node.value in (1, 2):
                yield *span, repr(node.value - 1)
        case ast.Attribute(attr="T"):
            yield source.span(node.value)[1], span[1], ""
        case ast.Attribute() if node.attr in NAMES:
            yield span[1] - len(node.attr), span[1], NAMES[node.attr]
        case ast.Name() if node.id in NAMES:
            yield *span, NAMES[node.id]
        case ast.Slice():
            for bound in (node.lower, node.upper):
                if bound is not None and not isinstance(bound, ast.Constant):
                    yield source.span(bound)[1], source.span(bound)[1], " + 1"
        case ast.Call() if node.keywords:
            yield from without_keywords(node, source)


def without_keywords(call, source):
    """The edits that drop one named argument of a call, with the comma beside it."""
    spans = sorted(source.span(part) for part in call.args + call.keywords)
    for keyword in call.keywords:
        place = spans.index(source.span(keyword))
        start, stop = spans[place]
        if place:
            start = spans[place - 1][1]
        elif len(spans) > 1:
            stop = spans[1][0]
        yield start, stop, ""
