"""Pack the built book into ``_build/ismlit-offline.zip``, to be read without a network.

Unpack it and open ``index.html``. Left out is the Python of the pages, which a browser loads from a
web server alone; the notebooks themselves are among the book's sources.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from tools.print_book import ROOT, SITE

LEFT_OUT = ("python", "sitemap.xml", "objects.inv", ".buildinfo", "searchindex.js")


def pack(site, target):
    """Write the archive, with everything in one folder; returns its path."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(site, Path(folder) / "ismlit", ignore=shutil.ignore_patterns(*LEFT_OUT))
        return shutil.make_archive(target.with_suffix(""), "zip", folder)


if __name__ == "__main__":
    if not (SITE / "index.html").exists():
        sys.exit("this needs a built book (make book)")
    print(pack(SITE, ROOT / "_build" / "ismlit-offline.zip"))
