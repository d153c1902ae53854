"""Make the built pages load less, and fit a phone.

The theme brings 2000 icons, as a script and as fonts, of which the book uses some thirty, and a
client of Binder that it does not use; Sphinx puts its search index on every page. Without them a
page is a third as heavy. Wide figures have their panels below each other on a phone.
"""

import contextlib
import html
import re

from ismlit_book.figures.stacking import NARROW
from ismlit_book.figures.stacking import stacked as below_each_other

from tools.site.columns import aligned
from tools.site.templates import render

SEARCH = re.compile(
    r'\s*<script src="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*"></script>'
)
SUPERFLUOUS = re.compile(
    r"<script[^>]*/fontawesome\.js[^>]*></script>|<script[^>]*/sphinx-thebe\.js[^>]*></script>"
    r"|<link[^>]*/sphinx-thebe\.css[^>]*>|<script>const THEBE_JS_URL.*?</script>"
    r'|<script type="text/x-thebe-config">.*?</script>|<script>kernelName = .*?</script>'
    r'|<link rel="preload" as="script"[^>]*>',
    re.DOTALL,
)
FIXED_THEME = 'localStorage.getItem("theme") || "auto"'
SYSTEM_THEME = (
    'localStorage.getItem("theme") || '
    '(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")'
)
WAITING = re.compile(
    r"<script (?!defer|async|[^>]*documentation_options)"
    r'([^>]*\bsrc="(?!https?:)[^"]*"[^>]*)></script>'
)
"""Scripts that a browser waits for; the lines after the options use them at once."""
ICON = re.compile(r"\bfa-[a-z][a-z0-9-]*")
GLYPH = re.compile(r"((?:\.fa-[\w-]+:{1,2}before,?)+)\{content:\"\\?([^\"]+)\"")
NAMED = re.compile(r"--pst-icon-[\w-]+:\s*\"\\?([^\"]+)\"")
WOFF2 = re.compile(r'url\([^)]*/fa-[^)]*\.woff2\) format\("woff2"\),')
INLINE = r'<span class="math notranslate nohighlight">[^<]*</span>'
BESIDE = re.compile(rf"\({INLINE}[,.;:!?)’”]*|{INLINE}[,.;:!?)’”]+")
"""Formulas with the brackets and stops that a browser would else put on another line."""
PICTURE = re.compile(r'<img [^>]*?src="[./]*_images/([^"]+)"[^>]*>')
SIZE = re.compile(r'\bwidth(?:="|: )(\d+)[^>]*?\bheight(?:="|: )(\d+)')
LATER = 'loading="lazy"'
SOURCE = re.compile(r'\bsrc="([^"]*)"')
PANELS = re.compile(
    r'<svg data-panels="([^"]*)"[^>]*?width="(\d+)"[^>]*?viewBox="0 0 ([\d.]+) [^>]*>'
)
COLUMN = re.compile(
    r'((?:<source [^>]*class="column"|<div class="slides column"(?:(?!<img ).)*)>\s*<img [^>]*>'
    r'(?:(?!<img ).)*?<p class="figure-caption"[^>]*>)(.*?</p>)',
    re.DOTALL,
)
SIDE = re.compile(r"\b(?:Left|Right)\b|(?<=\()(?:left|right)\b|(?<=; )(?:left|right)(?=,)")
BELOW = {"Left": "Top", "Right": "Bottom", "left": "top", "right": "bottom"}
"""What a caption calls two panels that stand beside each other, and below each other."""
WORDS = re.compile(r'(<span class="math notranslate nohighlight")>\\\(([^<]*)\\\)<')
COMMAND = re.compile(r"\\([a-zA-Z]+|[,;:! ])")
UNSEEN = set("mathrm mathcal mathbf mathbb operatorname text left right quad tilde hat bar".split())
MARKUP = re.compile(r"[{}_^\s\\&]")
LETTER = 0.55
"""Of a formula, in the text's own size."""
TABLE = re.compile(r'(<table class="table">\s*<thead>.*?</thead>)(.*?</table>)', re.DOTALL)
HEAD = re.compile(r"<th\b[^>]*>(.*?)</th>", re.DOTALL)
CARD, CARD_OF_WORDS = 3, 5
"""Columns up to which a phone shows a row as a card; where none is of numbers, they may be more."""
BESIDE_EACH_OTHER = 520
"""Pixels from which on the panels of a drawing stand below each other on a phone."""
ALONE = 600
"""Pixels from which on what cannot be put apart is read by a swipe."""
MATHJAX = re.compile(r'<script[^>]*src="[^"]*mathjax/[^"]*"[^>]*></script>\s*')
FORMULA = re.compile(r'class="[^"]*\bmath\b|data-tex=|href="[^"]*claims/')
"""What has to be typeset on a page, or in the card over a link."""
FOLDED = re.compile(
    r'(<a class="reference internal" href="[^"]*">([^<]*)</a><details[^>]*>)<summary>'
    r'(?=<span class="toctree-toggle")'
)
"""What opens a part of the sidebar; the theme gives it an icon and no name."""
FONTS = ("fa-solid-900", "fa-regular-400", "fa-brands-400")


def icons(static, names):
    """Leave in the icon fonts the glyphs of `names`, and those of the theme's own style sheet."""
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    folder = static / "vendor" / "fontawesome" / "webfonts"
    if not folder.exists():
        return
    sheets = ""
    for path in (static / "styles").glob("*.css"):
        sheets += path.read_text("utf8")
        path.write_text(WOFF2.sub("", path.read_text("utf8")), encoding="utf8")
    wanted = NAMED.findall(sheets)  # the theme's own, which its admonitions begin with
    wanted += [c for rules, c in GLYPH.findall(sheets) if names & set(ICON.findall(rules))]
    codes = {int(c, 16) if re.fullmatch("[0-9a-f]{2,5}", c) else ord(c[0]) for c in wanted}
    for name in FONTS:
        font = TTFont(folder / f"{name}.ttf")
        subsetter = Subsetter(Options(layout_features=[], notdef_outline=True))
        subsetter.populate(unicodes=codes)
        subsetter.subset(font)
        font.save(folder / f"{name}.ttf")
        (folder / f"{name}.woff2").unlink()  # it would have all of them


def together(text):
    """A page whose formulas stay on one line with the brackets and stops beside them."""
    return BESIDE.sub(r'<span class="one-line">\g<0></span>', text)


def framed(text, folder):
    """A page whose pictures, of those in `folder`, have their place before they are there.

    The first is asked for at once, the others when they come near. On a phone a wide one shows its
    panels below each other, and its caption says top and bottom, or it can scroll.
    """
    when = iter(['fetchpriority="high"'])

    def frame(found):
        with contextlib.suppress(OSError):
            said = found[0] + (folder / found[1]).read_bytes()[:300].decode("utf8", "ignore")
            size = SIZE.search(said)
            place = ' width="{}" height="{}"'.format(*size.groups()) if size else ""
            start = f"<img {next(when, LATER)}{place} "
            picture = start + found[0].removeprefix("<img ")
            if not size or int(size[1]) < BESIDE_EACH_OTHER:
                return picture
            source = stacked(folder / found[1], found[0])
            if source:
                return f"<picture>{source}{picture}</picture>"
            wide = f'<div class="wide-picture">{picture}</div>'
            return picture if int(size[1]) < ALONE else wide
        return found[0]

    def beside(found):
        both = '<span class="wide-word">{}</span><span class="narrow-word">{}</span>'
        return found[1] + SIDE.sub(lambda word: both.format(word[0], BELOW[word[0]]), found[2])

    return COLUMN.sub(beside, PICTURE.sub(frame, text))


def stacked(drawing, image):
    """Write a drawing's panels in rows for a phone; the source of a picture that holds `image`.

    None where a panel alone is too wide.
    """
    if drawing.suffix != ".svg":
        return None
    text = drawing.read_text(encoding="utf8")
    found = PANELS.match(text)
    if not found:
        return None
    boxes = [[float(x) for x in box.split(",")] for box in found[1].split()]
    rows, size = below_each_other(boxes, NARROW * float(found[3]) / int(found[2]))
    if rows is None:
        return None
    across, down = size
    panels = [panel for row in rows for panel in row]
    scale = int(found[2]) / float(found[3])
    size = f'width="{across * scale:.0f}" height="{down * scale:.0f}"'
    body = text[found.end() :].removesuffix("</svg>")
    whole = dict(size=size, across=across, down=down, body=body, panels=panels)
    copy = drawing.with_name(f"{drawing.stem}-stacked.svg")
    copy.write_text(render("stacked.svg.j2", **whole), encoding="utf8")
    address = SOURCE.search(image)[1].replace(drawing.name, copy.name)
    column = ' class="column"' if len(rows) == len(boxes) < 4 else ""
    return f'<source media="(max-width: 599px)" srcset="{address}" {size}{column}>'


def with_room(text):
    """A page that keeps for a formula of a sentence about the room that it has once typeset."""

    def kept(found):
        shown = lambda command: "" if command[1] in UNSEEN or not command[1].isalpha() else "x"
        letters = MARKUP.sub("", COMMAND.sub(shown, html.unescape(found[2])))
        return f'{found[1]} style="--room: {LETTER * len(letters):.1f}em">\\({found[2]}\\)<'

    return WORDS.sub(kept, text)


def labelled(text):
    """A page whose tables have in each cell the name of its column, which a phone shows there."""

    def cells(found):
        heads = [re.sub("<[^>]*>", "", head).strip() for head in HEAD.findall(found[1])]
        most = CARD if "data-number" in found[2] else CARD_OF_WORDS
        if len(heads) > most:  # such a table scrolls
            return found[0]

        def row(cells):
            names = iter(heads)
            return re.sub("<td", lambda _: f'<td data-label="{next(names, "")}"', cells[0])

        return found[1] + re.sub(r"<tr.*?</tr>", row, found[2], flags=re.DOTALL)

    return TABLE.sub(cells, text).replace(' data-label=""', "")


def page(text):
    """A page without what the book does not use, and with no script that its words wait for."""
    text = SUPERFLUOUS.sub("", text).replace(FIXED_THEME, SYSTEM_THEME)
    text = FOLDED.sub(r'\1<summary aria-label="Pages of \2">', text)
    if not FORMULA.search(text):
        text = MATHJAX.sub("", text)
    if 'id="search-results"' not in text:
        text = SEARCH.sub("", text)
    return WAITING.sub(r"<script defer \1></script>", text)


def made_ready(text):
    """A page whose words need no more than the style sheet to stay where they are."""
    return labelled(aligned(with_room(together(text))))


def lighten(site):
    """Make all pages of the built book `site` light."""
    static, names = site / "_static", set()
    for path in site.rglob("*.html"):
        text = framed(made_ready(path.read_text(encoding="utf8")), site / "_images")
        names.update(ICON.findall(text))
        path.write_text(page(text), encoding="utf8")
    for path in (*static.rglob("*.js"), *static.glob("*.css")):
        if path.name != "fontawesome.js":  # which names all icons
            names.update(ICON.findall(path.read_text(encoding="utf8")))
    icons(static, names)
