"""Make the built pages load less, and show their words before their scripts.

The theme brings a dozen style sheets of which the book uses a third, as many scripts that a
browser waits for, Sphinx's search index on every page, 2000 icons of which it uses some thirty,
and a client of Binder that it does not use. On a slow line each is a wait before the first word.
"""

import base64
import contextlib
import hashlib
import html
import io
import posixpath
import re
from itertools import groupby, pairwise

from PIL import Image

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
SHEET = re.compile(r'\s*<link(?=[^>]*rel="stylesheet")[^>]*href="([^"?:]*\.css)[^"]*"[^>]*>')
OPTIONS = re.compile(r'<script src="([^"]*)documentation_options\.js[^"]*"></script>')
WAITING = re.compile(r'<script (?!defer|async)([^>]*\bsrc="(?!https?:)[^"]*"[^>]*)></script>')
ICON = re.compile(r"\bfa-[a-z][a-z0-9-]*")
GLYPH = re.compile(r"((?:\.fa-[\w-]+:{1,2}before,?)+)\{content:\"\\?([^\"]+)\"")
NAMED = re.compile(r"--pst-icon-[\w-]+:\s*\"\\?([^\"]+)\"")
MANY = {"claims", "_modules"}
"""Folders of pages that are too many for a style sheet in each."""
OTHERS = {"fontawesome", "mathjax"}
"""Folders of scripts that bring their own styles, or have all icons."""
WITHIN = re.compile(r"data:image/png;base64,([A-Za-z0-9+/=\s]+)")
NAMES = re.compile(r"""\b(?:class|id)=["']?([^"'>]*)""")
WORD = re.compile(r"[\w-]+")
ADDRESS = re.compile(r"url\((['\"]?)([^)'\"]+)\1\)")
IMPORT = re.compile(r"""@import\s+(?:url\()?['"]?([^'")]+\.css)['"]?\)?\s*;""")
WOFF2 = re.compile(r'url\([^)]*/fa-[^)]*\.woff2\) format\("woff2"\),')
INLINE = r'<span class="math notranslate nohighlight">[^<]*</span>'
BESIDE = re.compile(rf"\({INLINE}[,.;:!?)’”]*|{INLINE}[,.;:!?)’”]+")
"""Formulas with the brackets and stops that a browser would else put on another line."""
PICTURE = re.compile(r'<img [^>]*?src="[./]*_images/([^"]+)"[^>]*>')
SIZE = re.compile(r'\bwidth(?:="|: )(\d+)[^>]*?\bheight(?:="|: )(\d+)')
LATER = 'loading="lazy"'
WIDE = 700  # pixels from which on a picture's words are too small on a phone, unless it scrolls
NARROW = 500  # and up to which they are not; a panel alone may be a tenth wider
SOURCE = re.compile(r'\bsrc="([^"]*)"')
PANELS = re.compile(
    r'<svg data-panels="([^"]*)"[^>]*?width="(\d+)"[^>]*?viewBox="0 0 ([\d.]+) [^>]*>'
)
COLUMN = re.compile(
    r'(<source [^>]*class="column"><img [^>]*>(?:(?!<img ).)*?<p class="figure-caption">)(.*?</p>)',
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
CARD = 3
"""Columns up to which a phone shows a row as a card."""
MATHJAX = re.compile(r'<script[^>]*src="[^"]*mathjax/[^"]*"[^>]*></script>\s*')
FORMULA = re.compile(r'class="[^"]*\bmath\b|data-tex=|href="[^"]*claims/')
"""What has to be typeset on a page, or in the card over a link."""
FONTS = ("fa-solid-900", "fa-regular-400", "fa-brands-400")


def pictures(folder):
    """256 colours a picture, where that is less, within drawings too; those that move stay."""
    for path in folder.glob("*.png"):
        path.write_bytes(few_colours(path.read_bytes()))
    for path in folder.glob("*.svg"):
        text = path.read_text(encoding="utf8")
        light = WITHIN.sub(lambda found: encoded(few_colours(base64.b64decode(found[1]))), text)
        if light != text:
            path.write_text(light, encoding="utf8")


def few_colours(png):
    """The bytes of a PNG in 256 colours; as it came if it moves, has no more, or is less so."""
    with Image.open(io.BytesIO(png)) as picture:
        if getattr(picture, "is_animated", False) or picture.mode == "P":
            return png
        kind, how = "RGB", Image.Quantize.MEDIANCUT
        if picture.has_transparency_data:
            kind, how = "RGBA", Image.Quantize.FASTOCTREE
        small = io.BytesIO()
        few = picture.convert(kind).quantize(256, how, dither=Image.Dither.NONE)
        few.save(small, "PNG", optimize=True)
    return min(png, small.getvalue(), key=len)


def encoded(png):
    """The address of a picture that is within a drawing."""
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"


def icons(static, names):
    """Leave in the icon fonts the glyphs of `names`, and those of the theme's own style sheet."""
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    folder = static / "vendor" / "fontawesome" / "webfonts"
    if not folder.exists():
        return
    sheets = "".join(path.read_text("utf8") for path in (static / "styles").glob("*.css"))
    wanted = NAMED.findall(sheets)  # the theme's own, which its admonitions begin with
    wanted += [c for rules, c in GLYPH.findall(sheets) if names & set(ICON.findall(rules))]
    codes = {int(c, 16) if re.fullmatch("[0-9a-f]{2,5}", c) else ord(c[0]) for c in wanted}
    for name in FONTS:
        font = TTFont(folder / f"{name}.ttf")
        subsetter = Subsetter(Options(layout_features=[], notdef_outline=True))
        subsetter.populate(unicodes=codes)
        subsetter.subset(font)
        font.save(folder / f"{name}.ttf")
        (folder / f"{name}.woff2").unlink()  # it would have all of them; see `WOFF2`


def readdressed(text, place):
    """A style sheet in which `place` has changed the addresses of files; others stay."""

    def moved(found):
        quote, address = found.groups()
        is_file = not address.startswith(("data:", "#", "/")) and ":" not in address
        return f"url({quote}{place(address)}{quote})" if is_file else found[0]

    return ADDRESS.sub(moved, text)


def sheet(static, name):
    """A style sheet with what it imports, and addresses as seen from `static`."""

    def place_of(address):
        return posixpath.normpath(posixpath.join(posixpath.dirname(name), address))

    text = (static / name).read_text(encoding="utf8")
    text = re.sub(r"@charset [^;]*;|/\*# sourceMappingURL.*?\*/", "", text)
    # what stands between, the name of a sheet, what stands between, ...
    pieces = IMPORT.split(text)
    for k, piece in enumerate(pieces):
        own = k % 2 == 0
        pieces[k] = readdressed(piece, place_of) if own else sheet(static, place_of(piece))
    return "".join(pieces)


def bundle(static, names, words):
    """One style sheet of several, in their order, with what is used of them: its name."""
    whole = WOFF2.sub("", "\n".join(sheet(static, name) for name in names))
    whole = without_unused(whole, words)
    name = f"all-{hashlib.sha256(whole.encode()).hexdigest()[:10]}.css"
    (static / name).write_text(whole, encoding="utf8")
    return name


def without_unused(text, words):
    """A style sheet without the selectors whose classes or ids are not among `words`."""
    import tinycss2

    def is_used(selector):  # what stands inside :not(...) and its like does not count
        return all(
            token.value in words
            for before, token in pairwise([None, *selector])
            if token.type == "hash" or (token.type == "ident" and before == ".")
        )

    def kept(rules):
        for rule in rules:
            if rule.type == "qualified-rule":
                parts = groupby(rule.prelude, key=lambda token: token == ",")
                selectors = [[*tokens] for is_comma, tokens in parts if not is_comma]
                used = [tinycss2.serialize(s).strip() for s in selectors if is_used(s)]
                if used:
                    yield f"{','.join(used)}{{{tinycss2.serialize(rule.content).strip()}}}"
            elif rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports"):
                inner = "".join(kept(tinycss2.parse_rule_list(rule.content, True, True)))
                if inner:
                    start = f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}"
                    yield f"{start}{{{inner}}}"
            elif rule.type == "error":
                raise ValueError(f"a style sheet cannot be read: {rule.message}")
            else:
                yield rule.serialize()

    return "".join(kept(tinycss2.parse_stylesheet(text, True, True)))


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
            if not size or int(size[1]) < WIDE:
                return picture
            source = stacked(folder / found[1], found[0])
            if source:
                return f"<picture>{source}{picture}</picture>"
            return f'<div class="wide-picture">{picture}</div>'
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
    boxes = [[float(x) for x in box.split(",")] for box in found[1].split()] if found else []
    most = NARROW * float(found[3]) / int(found[2]) if found else 0  # in the drawing's points
    if len(boxes) < 2 or max(box[2] - box[0] for box in boxes) > 1.1 * most:
        return None
    rows = [[]]
    for left, top, right, bottom, *scale in boxes:
        if rows[-1] and sum(b[2] - b[0] for b in rows[-1]) + right - left > most:
            rows.append([])
        if scale and not rows[-1]:  # it stood at another panel, which is not beside it now
            rows[-1].append([scale[0], top, scale[1], bottom])
        rows[-1].append([left, top, right, bottom])
    panels, y, across = [], 0, 0
    for row in rows:
        x = 0
        for left, top, right, bottom in row:
            panels.append((x, y, left, top, right - left, bottom - top))
            x += right - left
        across, y = max(across, x), y + max(b[3] - b[1] for b in row)
    scale = int(found[2]) / float(found[3])
    size = f'width="{across * scale:.0f}" height="{y * scale:.0f}"'
    body = text[found.end() :].removesuffix("</svg>")
    whole = dict(size=size, across=across, down=y, body=body, panels=panels)
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
        if len(heads) > CARD:  # such a table scrolls
            return found[0]

        def row(cells):
            names = iter(heads)
            return re.sub("<td", lambda _: f'<td data-label="{next(names, "")}"', cells[0])

        return found[1] + re.sub(r"<tr.*?</tr>", row, found[2], flags=re.DOTALL)

    return TABLE.sub(cells, text).replace(' data-label=""', "")


def page(text, static, words, made, within=False):
    """A page with one style sheet and no script that it waits for; `made` remembers the sheets.

    With the sheet `within` it there is one wait less before the first word.
    """
    text = SUPERFLUOUS.sub("", text).replace(FIXED_THEME, SYSTEM_THEME)
    if not FORMULA.search(text):
        text = MATHJAX.sub("", text)
    if 'id="search-results"' not in text:
        text = SEARCH.sub("", text)
    found = [sheet for sheet in SHEET.findall(text) if "_static/" in sheet]
    names = tuple(sheet.split("_static/")[1] for sheet in found)
    if names:
        if names not in made:
            made[names] = bundle(static, names, words)
        up = found[0].split("_static/")[0] + "_static/"
        link = f'\n  <link rel="stylesheet" href="{up}{made[names]}" />'
        if within:
            whole = (static / made[names]).read_text(encoding="utf8")
            link = f"\n  <style>{readdressed(whole, lambda address: up + address)}</style>"
        first = SHEET.search(text).start()
        text = SHEET.sub("", text)
        text = text[:first] + link + text[first:]
    options = OPTIONS.search(text)
    if options:  # the lines after it use it
        inline = (static / "documentation_options.js").read_text(encoding="utf8")
        text = text.replace(options[0], f"<script>{inline}</script>")
    return WAITING.sub(r"<script defer \1></script>", text)


def made_ready(text):
    """A page whose words need no more than the style sheet to stay where they are."""
    return labelled(with_room(together(text)))


def lighten(site):
    """Make all pages of the built book `site` light."""
    static, made = site / "_static", {}
    pages = {
        path: framed(made_ready(path.read_text(encoding="utf8")), site / "_images")
        for path in site.rglob("*.html")
    }
    scripts = [
        path.read_text(encoding="utf8")
        for path in static.rglob("*.js")
        if not OTHERS.intersection(path.relative_to(static).parts)
    ]
    sheets = [path.read_text(encoding="utf8") for path in static.glob("*.css")]
    words = {word for text in scripts for word in WORD.findall(text)}
    words.update(w for text in pages.values() for ws in NAMES.findall(text) for w in ws.split())
    pictures(site / "_images")
    for path, text in pages.items():
        is_one_of_few = not MANY.intersection(path.relative_to(site).parts)
        path.write_text(page(text, static, words, made, is_one_of_few), encoding="utf8")
    read = (*pages.values(), *scripts, *sheets)
    icons(static, {icon for text in read for icon in ICON.findall(text)})
