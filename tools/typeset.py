"""Typeset the formulas of the built pages, so that they are there without a script.

MathJax does it once for the whole book, in node; its own style sheet and fonts show them. A page
then loads MathJax only for what is new on it, such as a formula that a cell shows: what is too wide
for a phone is there a second time, broken. Without node the browser typesets, as MathJax does.
"""

import html
import json
import re
import shutil
import subprocess

from tools import npm
from tools.execute_notebooks import ROOT

PARTS = "node-main core loader startup input/tex-full output/chtml output/chtml/fonts/tex"
PARTS += " adaptors/liteDOM a11y/assistive-mml"
SHEET = "mathjax/typeset.css"
SCALE = "mjx-container[jax=CHTML] { font-size: 1.18em; }"
"""So that MathJax's letters are as high as those of the text."""
FORMULA = re.compile(
    r'(?P<tag><(?:(?:span|div)[^>]*\bclass="[^"]*\bmath\b[^"]*"|t[dh]\b)[^>]*)>\s*(?:'
    r"\\\((?P<inline>[^<]*)\\\)|\\\[(?P<bare>[^<]*)\\\]"
    r"|(?P<display>\\begin\{equation\*\}[^<]*\\end\{equation\*\}))\s*(?=</)"
)
SCRIPT = re.compile(r'<script[^>]*src="([^"]*)mathjax/tex-chtml[^"]*"[^>]*></script>')
UNSET = re.compile(r'class="[^"]*\bmath\b[^"]*"[^>]*>[^<]*\\')
ROOM = re.compile(r' style="--room: [^"]*"')


def source(found):
    """The TeX of a formula on a page, and whether it is displayed."""
    inline = found["inline"]
    text = inline if inline is not None else found["bare"] or found["display"]
    return html.unescape(text).strip(), inline is None


def typeset(formulas, folder):
    """{(TeX, displayed): parts of the page} and their style sheet; MathJax lies in `folder`.

    The parts are the formula, the TeX of the broken one, and the broken one; or the formula alone.
    """
    command = [shutil.which("node"), str(ROOT / "tools" / "typeset.js"), str(folder)]
    done = subprocess.run(
        command, input=json.dumps(formulas), capture_output=True, check=True, encoding="utf8"
    )
    made = json.loads(done.stdout)
    return dict(zip(formulas, made["formulas"])), made["sheet"]


def page(text, made):
    """A page with its formulas set, which keep their TeX: to be copied, and broken if displayed."""

    def as_html(found):
        tex, displayed = source(found)
        whole, broken, lines = (*made[tex, displayed], None, None)[:3]
        says = f' data-{"tex" if displayed else "inline"}="{html.escape(tex)}"'
        other = f'<template data-tex="{html.escape(broken)}">{lines}</template>' if lines else ""
        return f"{ROOM.sub('', found['tag'])}{says}>{whole}{other}"

    text = FORMULA.sub(as_html, text)
    if UNSET.search(text):
        return text  # something is left to the browser
    new = rf'<link rel="stylesheet" href="\1{SHEET}" />'
    new += r'<meta name="mathjax" content="\1mathjax/tex-chtml-full.js" />'
    return SCRIPT.sub(new, text)


def install(site, mathjax, folder):
    """Typeset the built book `site` by the package `mathjax`, kept in `folder`; says if it did."""
    parts = {f"es5/{name}.js": f"{name}.js" for name in PARTS.split()}
    if not shutil.which("node") or not npm.fetch(mathjax, parts, folder):
        print("no node here: formulas are typeset in the browser")
        return False
    pages = {path: path.read_text(encoding="utf8") for path in site.glob("book/**/*.html")}
    wanted = {source(found): 1 for text in pages.values() for found in FORMULA.finditer(text)}
    made, sheet = typeset(list(wanted), folder)
    (site / "_static" / SHEET).write_text(f"{sheet}\n{SCALE}\n", encoding="utf8")
    for path, text in pages.items():
        path.write_text(page(text, made), encoding="utf8")
    return True
