"""Build the book into ``_build/html``, warnings being errors.

``--execute`` first executes every notebook in a copy of the tree, so that what is committed does
not change, and builds from there. Otherwise the stored outputs are shown.

When npm is here, MathJax is fetched once into ``.mathjax/`` and becomes part of the book, which
then works offline; else its pages take MathJax from the public network of Sphinx's choice.
"""

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import yaml
from execute_notebooks import ROOT, execute_all, notebooks_of

MATHJAX = "mathjax@3.2.2"  # version 4 has another layout
MATHJAX_DIR = ROOT / ".mathjax"
SCRIPT = "mathjax/tex-chtml-full.js"


def fetch_mathjax():
    """Is MathJax in ``.mathjax/``, after trying to get it there? Never fails."""
    if (MATHJAX_DIR / SCRIPT).exists():
        return True
    npm = shutil.which("npm")
    if npm is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", MATHJAX, "--silent", "--prefer-offline", "--fetch-retries=0"]
        try:
            subprocess.run(command, cwd=folder, check=True, timeout=180, capture_output=True)
            with tarfile.open(next(Path(folder).glob("mathjax-*.tgz"))) as archive:
                # Python 3.11.0 to 3.11.3 know no filters; what comes is npm's, hash-checked
                safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
                archive.extractall(folder, **safe)
        except (subprocess.SubprocessError, OSError, StopIteration, tarfile.TarError) as error:
            print(f"MathJax could not be fetched ({error}); pages will take it from the network")
            return False
        package = Path(folder) / "package"
        target = Path(folder) / "mathjax"
        fonts = Path("output/chtml/fonts/woff-v2")
        shutil.copytree(package / "es5" / fonts, target / fonts)
        shutil.copy(package / "es5/tex-chtml-full.js", target)
        shutil.copy(package / "LICENSE", target)
        MATHJAX_DIR.mkdir(exist_ok=True)
        shutil.copytree(target, MATHJAX_DIR / "mathjax", dirs_exist_ok=True)
    return True


def copy_tree(target):
    """Copy what the book is made of, and nothing else, into an empty folder."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in ("_config.yml", "_toc.yml"):
        shutil.copy(ROOT / name, target)
    shutil.copytree(
        ROOT / "book", target / "book", ignore=shutil.ignore_patterns(".ipynb_checkpoints")
    )


def build(source):
    """Build from the folder ``source`` into ``_build/html``; return the exit status."""
    config = yaml.safe_load((source / "_config.yml").read_text(encoding="utf8"))
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
    return subprocess.run(command, cwd=source).returncode


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
    print(f"\nThe book is built; open file://{ROOT / '_build' / 'html' / 'index.html'}")


if __name__ == "__main__":
    main()
