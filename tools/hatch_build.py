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
            is_badge = lambda output: BADGE in "".join(output.get("data", {}).get("text/html", ""))
            badges = [*filter(is_badge, cell["outputs"])]
            cell["outputs"], cell["execution_count"] = badges, None
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def files(book):
    """(path within it, bytes) of what an installed `ismlit.edition` reads of the book."""
    for path in sorted(book.rglob("*")):
        name = path.relative_to(book)
        if path.suffix == ".ipynb" and ".ipynb_checkpoints" not in name.parts:
            yield name, stripped(path.read_text(encoding="utf8")).encode()
        elif name.parts[0] in FOLDERS and path.is_file() and not name.name.startswith("."):
            yield name, path.read_bytes()


class BookHook(BuildHookInterface):
    """Makes the wheel's one folder, ``ismlit_book``."""

    def initialize(self, version, build_data):
        self.folder = tempfile.mkdtemp()
        for name, data in files(Path(self.root)):
            place = Path(self.folder, name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        build_data["force_include"][self.folder] = "ismlit_book"

    def finalize(self, version, build_data, artifact_path):
        shutil.rmtree(self.folder)
