"""What the wheel of the book holds: its claims, numbers and notebooks.

Of the notebooks' outputs it gets the badges of the checks, from which `ismlit.edition` knows how a
claim is known. Hatchling runs this; in a checkout ``book/`` itself is read.
"""

import json
import shutil
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = ("claims", "results", "thesis")


BADGE = 'class="claim '


def stripped(text):
    """The text of a notebook without what executing it left, but for badges."""
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            outputs = cell["outputs"]
            badges = [
                o for o in outputs if BADGE in "".join(o.get("data", {}).get("text/html", ""))
            ]
            cell["outputs"], cell["execution_count"] = badges, None
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def copy(book, target):
    """Copy from `book` to the folder `target` what an installed `ismlit.edition` reads."""
    for name in FOLDERS:
        shutil.copytree(book / name, target / name, ignore=shutil.ignore_patterns(".*"))
    for path in book.rglob("*.ipynb"):
        if ".ipynb_checkpoints" not in path.parts:
            place = target / path.relative_to(book)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(stripped(path.read_text(encoding="utf8")), encoding="utf8")


class BookHook(BuildHookInterface):
    """Makes the wheel's one folder, ``ismlit_book``."""

    def initialize(self, version, build_data):
        self.folder = tempfile.mkdtemp()
        copy(Path(self.root), Path(self.folder))
        build_data["force_include"][self.folder] = "ismlit_book"

    def finalize(self, version, build_data, artifact_path):
        shutil.rmtree(self.folder)
