"""Numbers that code takes as given, apart from those that it compares a result with."""

import ast
import re

NUMBER = re.compile(r"\d*\.?\d+(?:e-?\d+)?")
EXPECTS = {"one_case": 1, "recomputed": 1, "equal": 1, "subtract": 1, "from_store": 2}
"""Where in a call that compares the expected value begins."""


def constants(node):
    """The numbers in a piece of code."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and type(part.value) in (int, float):
            yield part


def is_a_size(node):
    """Whether code speaks of how many rows or columns there are."""
    names = {getattr(part, "attr", getattr(part, "id", "")) for part in ast.walk(node)}
    return bool(names & {"shape", "len"})


def expected(tree):
    """Numbers that a result is compared with: they are results, and typed.

    Bounds are not among them, nor numbers of the thesis (`from_print`) and sizes of data sets.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            first = EXPECTS.get(name, len(node.args))
            if not any(map(is_a_size, node.args[:first])):
                for arg in node.args[first:]:
                    yield from constants(arg)
            if name == "abs" and isinstance(node.args[0], ast.BinOp):
                yield from constants(node.args[0].right)
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
            sides = node.left, *node.comparators
            literal = [isinstance(side, (ast.Constant, ast.List, ast.Tuple)) for side in sides]
            if not any(map(is_a_size, sides)):
                for side in (side for side, is_literal in zip(sides, literal) if is_literal):
                    yield from constants(side)


def given(source):
    """Numbers that a cell's code takes as given, those in its texts among them."""
    tree = ast.parse(source)
    results, formats = {id(n) for n in expected(tree)}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FormattedValue) and node.format_spec:
            formats |= {id(part) for part in ast.walk(node.format_spec)}
    numbers = {float(n.value) for n in constants(tree) if id(n) not in results}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in formats:
                numbers |= {float(n) for n in NUMBER.findall(node.value)}
    return numbers
