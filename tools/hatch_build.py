"""The notebooks in the wheel of the book, beside its code and data: ``ismlit_book/pages``.

Of their outputs it gets the badges of the checks, from which `ismlit_book` knows how a claim is
known. Hatchling runs this; in a checkout the notebooks themselves are read.
"""

import json
import shutil
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

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
    """(path within it, bytes) of the notebooks that an installed `ismlit_book` reads."""
    for path in sorted(book.rglob("*.ipynb")):
        if ".ipynb_checkpoints" not in path.parts:
            yield path.relative_to(book), stripped(path.read_text(encoding="utf8")).encode()


class BookHook(BuildHookInterface):
    """Puts the notebooks into the wheel; an editable install reads them where they lie."""

    folder = None

    def initialize(self, version, build_data):
        if version == "editable":
            return
        self.folder = tempfile.mkdtemp()
        for name, data in files(Path(self.root)):
            place = Path(self.folder, name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        build_data["force_include"][self.folder] = "ismlit_book/pages"

    def finalize(self, version, build_data, artifact_path):
        if self.folder:
            shutil.rmtree(self.folder)
