"""Build the book into ``_build/html``, warnings being errors.

``--execute`` first executes every notebook in a copy of the tree, so that what is committed does
not change, and builds from there. Otherwise the stored outputs are shown.

When npm is here, MathJax is fetched once into ``.mathjax/`` and becomes part of the book, which
then works offline; else its pages take MathJax from the public network of Sphinx's choice.
`tools.fold` folds what does not teach, `tools.site.moved` leads on from addresses that were,
`tools.site.tiles` shows what pages draw where they are listed, `tools.site.below` leads from a
record's items to their evidence,
`tools.browser_python` adds the Python that a page runs in the reader's browser, `tools.search` a
search that finds sections and claims, and `tools.typeset` typesets the formulas, where node is.
"""

import argparse
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import nbformat
import yaml

from tools import browser_python, fold, npm, search, toc, typeset
from tools.execute_notebooks import ROOT, execute_all, notebooks_of
from tools.lighten import lighten
from tools.site import below, moved, tiles
from tools.site.templates import render

MATHJAX = "mathjax@3.2.2"  # version 4 has another layout
MATHJAX_DIR = ROOT / ".mathjax"
TYPESETTER = ROOT / ".typeset"
FRONT = "book/intro.html"
COLAB = re.compile(r"(colab\.research\.google\.com/github/[^/]+/[^/]+)/blob/main/")
SCRIPT = "mathjax/tex-chtml-full.js"


def fetch_mathjax():
    """Is MathJax in ``.mathjax/``, after trying to get it there?"""
    fonts = "output/chtml/fonts/woff-v2"
    wanted = {
        "es5/tex-chtml-full.js": SCRIPT,
        f"es5/{fonts}": f"mathjax/{fonts}",
        "LICENSE": "mathjax/LICENSE",
    }
    return npm.fetch(MATHJAX, wanted, MATHJAX_DIR)


def copy_tree(target):
    """Copy what the book is made of, and nothing else, into an empty folder."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in ("_config.yml", "_toc.yml"):
        shutil.copy(ROOT / name, target)
    shutil.copytree(
        ROOT / "book", target / "book", ignore=shutil.ignore_patterns(".ipynb_checkpoints")
    )


def colab_copies(source, site):
    """Copies of the notebooks that open with Colab's install, and the pages' links to them.

    They lie beside the site; the workflow that publishes it puts them on the branch ``colab``.
    """
    address = f"git+{toc.config()['repository']['url']}"
    book = f"ismlit-book @ {address}#subdirectory=book"
    install = f"%pip install -q 'ismlit[dask,sympy] @ {address}' '{book}'"
    for path in notebooks_of(source):
        notebook = nbformat.read(path, as_version=4)
        notebook.cells.insert(0, nbformat.v4.new_code_cell(install, id="colab"))
        target = site.parent / "colab" / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, target)
        page = site / path.relative_to(source).with_suffix(".html")
        if page.exists():
            text = page.read_text(encoding="utf8")
            page.write_text(COLAB.sub(r"\1/blob/colab/", text), encoding="utf8")


def build(source):
    """Build from the folder ``source`` into ``_build/html``; return the exit status."""
    config = yaml.safe_load((source / "_config.yml").read_text(encoding="utf8"))
    version = metadata.version("ismlit")
    public = config["html"]["baseurl"]
    cite = f'<a href="{public}{FRONT}#how-to-cite">how to cite</a>'
    config["html"]["extra_footer"] = f"ismlit {version}, {cite}"
    config["sphinx"]["config"]["ogp_site_url"] = public
    if fetch_mathjax():
        settings = config["sphinx"]["config"]
        settings["html_static_path"].append(str(MATHJAX_DIR))
        settings["mathjax_path"] = SCRIPT
    else:
        print("no MathJax here: pages will take it from the network")
    output = ROOT / "_build"
    output.mkdir(exist_ok=True)
    config_file = output / "_config.yml"
    config_file.write_text(yaml.safe_dump(config, allow_unicode=True), encoding="utf8")
    # Always all pages: an incremental build shows only the warnings of the pages that changed.
    for stale in ("html", ".doctrees", ".jupyter_cache"):
        shutil.rmtree(output / stale, ignore_errors=True)
    program = Path(sys.executable).with_name("jupyter-book")
    command = [str(program), "build", "-W", "-n", "-q", "--keep-going"]
    command += ["--config", str(config_file), "--toc", str(source / "_toc.yml")]
    command += ["--path-output", str(ROOT), str(source)]
    status = subprocess.run(command, cwd=source).returncode
    if (output / "html" / FRONT).exists():
        fold.install(output / "html")
        moved.install(output / "html")
        lighten(output / "html")
        root_page(output / "html")
        search.install(output / "html")
        tiles.install(output / "html")
        below.install(output / "html")
        typeset.install(output / "html", MATHJAX, TYPESETTER)
        colab_copies(source, output / "html")
    browser_python.install(output / "html")
    return status


def root_page(site):
    """Give the address without a page the front page's title, description and picture."""
    front = (site / FRONT).read_text(encoding="utf8")
    head = re.findall(
        r"<title>.*?</title>|<meta (?:property|name)=[^>]*>|<link [^>]*icon[^>]*>", front
    )
    head = "\n".join(line.replace("../_static", "_static") for line in head)
    text = render("root.html.j2", front=FRONT, head=head)
    (site / "index.html").write_text(text, encoding="utf8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--execute", action="store_true", help="execute every notebook first")
    parser.add_argument("--jobs", type=int, default=2, help="how many notebooks at once")
    options = parser.parse_args()
    source = ROOT
    if options.execute:
        source = ROOT / "_build" / "executed"
        copy_tree(source)
        if execute_all(notebooks_of(source), options.jobs):
            sys.exit("the book was not built, because notebooks failed")
    status = build(source)
    if status:
        sys.exit(f"the book was not built without warnings (exit status {status})")
    site = ROOT / "_build" / "html"
    print(f"\nThe book is built; open file://{site / 'index.html'}")
    print(f"Pages run their cells where a server shows them: python -m http.server -d {site}")


if __name__ == "__main__":
    main()
