"""Notebooks as JupyterLab shows them to a reader who has run nothing yet.

A notebook from elsewhere is not trusted: of a stored figure Lab then draws the PNG and no SVG.
"""

import contextlib
import json
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from tools.execute_notebooks import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("lab")]

PAGES = ["ch5/gradient", "ch6/layers", "record/5.3"]
LEAST_OPEN, MOST_OPEN = 20, 160
"""Lines of code that a page of the course may show."""
SCROLL = """([share]) => {
  const panel = document.querySelector('.jp-Notebook .jp-WindowedPanel-outer')
    ?? document.querySelector('.jp-Notebook');
  panel.scrollTop = share * (panel.scrollHeight - panel.clientHeight);
}"""
SEEN = """() => [...document.querySelectorAll('.jp-Notebook .jp-Cell')].map(cell => ({
  id: cell.querySelector('[id]')?.id ?? '',
  kind: cell.classList.contains('jp-CodeCell') ? 'code' : 'markdown',
  text: (cell.querySelector('.jp-RenderedMarkdown')?.innerText ?? ''),
  raw: [...cell.querySelectorAll('.jp-RenderedMarkdown pre, .jp-RenderedMarkdown p')]
    .map(part => part.textContent),
  index: cell.dataset.windowedListIndex,
  pictures: [...cell.querySelectorAll('.jp-OutputArea img')]
    .filter(image => image.naturalWidth > 50).length,
}))"""


@pytest.fixture(scope="module")
def lab(browser, tmp_path_factory):
    """The address of a JupyterLab over a copy of the pages."""
    pytest.importorskip("jupyterlab")
    folder = tmp_path_factory.mktemp("lab")
    for page in PAGES:
        (folder / page).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / "book" / f"{page}.ipynb", folder / f"{page}.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"]
    command += ["--IdentityProvider.token=", f"--ServerApp.root_dir={folder}"]
    command += ["--ServerApp.contents_manager_class=tools.lab.Contents"]  # as `make lab` has it
    silent = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server = subprocess.Popen(command, cwd=ROOT, **silent)
    address = f"http://127.0.0.1:{port}/"
    for _ in range(120):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{address}api", timeout=1).close()
            break
        time.sleep(0.5)
    yield address
    server.terminate()
    server.wait(timeout=20)


@pytest.fixture(scope="module")
def window(browser):
    return browser.new_page(viewport={"width": 1400, "height": 1600})


def seen_in_lab(window, address, page):
    """What a reader sees who scrolls through: for each cell its words and its pictures."""
    window.goto(f"{address}lab/tree/{page}.ipynb?reset", wait_until="load")
    window.wait_for_selector(".jp-Notebook .jp-RenderedMarkdown h1", timeout=60_000)
    found = {}
    for step in range(25):
        window.evaluate(SCROLL, [step / 24])
        window.wait_for_timeout(350)
        for cell in window.evaluate(SEEN):
            key = cell["index"] or cell["id"] or cell["text"][:80]
            best = found.setdefault(key, cell)
            if cell["pictures"] >= best["pictures"]:
                found[key] = cell
    return list(found.values())


@pytest.mark.parametrize("page", PAGES)
def test_a_reader_in_jupyterlab_sees_the_page(page, lab, window):
    """Every stored picture, no raw directive, no raw dollars, and the code of the course open."""
    notebook = json.loads((ROOT / "book" / f"{page}.ipynb").read_text(encoding="utf8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    stored = sum("image/png" in o.get("data", {}) for cell in code for o in cell["outputs"])
    cells = seen_in_lab(window, lab, page)
    assert sum(cell["pictures"] for cell in cells) == stored
    text = "\n".join(cell["text"] for cell in cells)
    assert len(text) > 500
    assert re.findall(r"`{3}\{|:::|\{[a-z:]+\}`|\$\$", text) == []
    folded = [c for c in code if c["metadata"].get("jupyter", {}).get("source_hidden")]
    shown = [line for c in code if c not in folded for line in c["source"] if line.strip()]
    if not page.startswith("record"):
        assert LEAST_OPEN <= len(shown) <= MOST_OPEN


def test_a_notebook_just_opened_has_nothing_to_be_saved(lab, window):
    """The kernel says which language it speaks; that is no change."""
    page = PAGES[1]
    window.goto(f"{lab}lab/tree/{page}.ipynb?reset", wait_until="load")
    window.locator('.jp-NotebookPanel [data-status="idle"]').first.wait_for(timeout=60_000)
    window.wait_for_timeout(4000)  # after the kernel's answer
    assert window.locator(".jp-mod-dirty").count() == 0
    window.locator(".jp-RenderedMarkdown h1").first.dblclick()
    window.keyboard.type("x")
    window.locator(".jp-mod-dirty").first.wait_for()  # and this is one
