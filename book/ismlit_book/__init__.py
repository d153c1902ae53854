"""What serves this book: its ledger of claims, its figures, its experiments.

The library never imports it. A notebook takes from here what every page needs.
"""

from importlib import import_module

_HOME = {"check": "checking", "same": "equality", "derive": "symbolic", "printed": "tables"}
_HOME |= {"results": "tables", "at_most": "statements", "equal": "statements"}
_HOME |= dict.fromkeys(
    "derived proof exhaustive drawn counterexample recomputed from_store from_print".split(),
    "evidence",
)
_HOME |= {"one_case": "evidence"}
_HOME = {name: f"record.{home}" for name, home in _HOME.items()}
_HOME |= {"rise": "methods.rise", "answer": "questions"}

__all__ = sorted(_HOME)


def __getattr__(name):
    if name in _HOME:
        return getattr(import_module(f"ismlit_book.{_HOME[name]}"), name)
    raise AttributeError(f"module 'ismlit_book' has no attribute {name!r}")
