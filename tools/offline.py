"""Pack the built book into ``_build/ismlit-offline.zip``, to be read without a network.

Unpack it and open ``index.html``. Left out is the Python of the pages, which a browser loads from a
web server alone; the notebooks themselves are among the book's sources.
"""

import argparse
import sys
import zipfile
from pathlib import Path

from tools.print_book import ROOT, SITE

TARGET = ROOT / "_build" / "ismlit-offline.zip"
LEFT_OUT = ("_static/python/", "sitemap.xml", "objects.inv", ".buildinfo", "searchindex.js")


def pack(site, target):
    """Write the archive and return the names of its files, as in the built book.

    Everything lies in one folder, so that unpacking makes no mess.
    """
    names = (path.relative_to(site) for path in sorted(site.rglob("*")) if path.is_file())
    names = [name for name in names if not name.as_posix().startswith(LEFT_OUT)]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.write(site / name, Path("ismlit") / name)
    return names


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    if not (SITE / "index.html").exists():
        sys.exit("this needs a built book (make book)")
    names = pack(SITE, TARGET)
    print(f"{len(names)} files, {TARGET.stat().st_size / 1e6:.0f} MB: {TARGET}")


if __name__ == "__main__":
    main()
