"""What runs a page's cells in the reader's browser: `run(source)` is a notebook's cell.

It is started by ``book/static/run-here-worker.js``, one call at a time, in a Python without
threads, processes or a network. What a cell shows is written to standard output, a line of JSON
for each piece.
"""

import ast
import base64
import contextlib
import gzip
import importlib
import io
import json
import linecache
import os
import re
import sys
import traceback
import types
import warnings

SPACE = types.ModuleType("__main__")  # the page's variables
MIMES = {
    "text/html": "_repr_html_",
    "text/markdown": "_repr_markdown_",
    "text/latex": "_repr_latex_",
    "image/svg+xml": "_repr_svg_",
    "image/png": "_repr_png_",
    "image/jpeg": "_repr_jpeg_",
}
MARK = "\x1e"  # begins a line that is a message, and no text of a library in C


def send(kind, **message):
    """Hand a message to the page, after what was printed before it."""
    if kind != "stream":
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    line = MARK + json.dumps({"kind": kind, **message}) + "\n"
    os.write(1, line.encode())


class Stream(io.TextIOBase):
    """Standard output or error of the cells."""

    def __init__(self, name):
        self.stream_name, self.waiting = name, ""

    def writable(self):
        return True

    def write(self, text):
        self.waiting += text
        if "\n" in text:
            self.flush()
        return len(text)

    def flush(self):
        if self.waiting:
            send("stream", name=self.stream_name, text=self.waiting)
        self.waiting = ""


def bundle(thing):
    """What a notebook shows of an object, a value for each MIME type; and what is said of them."""
    from IPython.lib.pretty import pretty

    found, said = {}, {}
    if hasattr(type(thing), "_repr_mimebundle_"):
        found = thing._repr_mimebundle_()
        found, said = found if isinstance(found, tuple) else (found, said)
        found = dict(found)
    for mime, method in MIMES.items():
        if mime not in found and hasattr(type(thing), method):
            with contextlib.suppress(NotImplementedError):
                value = getattr(thing, method)()
                value = value[0] if isinstance(value, tuple) else value
                if value is not None:
                    found[mime] = value
    figures = sys.modules.get("matplotlib.figure")
    if figures and isinstance(thing, figures.Figure):
        found, said = drawn(thing)
    return {"text/plain": pretty(thing)} | found, said


def show(data, metadata=None):
    """Show a bundle; bytes travel as base64."""
    data = {
        mime: base64.b64encode(value).decode() if isinstance(value, bytes) else value
        for mime, value in data.items()
    }
    send("show", data=data, metadata=metadata or {})


def drawn(figure):
    """A figure as the book's notebooks show it, and what is said of it."""
    from ismlit_book.figures import display as figures

    return figures.bundle(figure)


def flush():
    """Show the open figures, and close them."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        data, metadata = drawn(figure)
        show({"text/plain": repr(figure)} | data, metadata)
    pyplot.close("all")


def widen():
    """Let numpy count with 64-bit integers: those of a browser have 32 bits, random ones 64."""
    import numpy as np

    def counts(number):
        return number.astype(np.intp) if getattr(number, "dtype", None) == np.int64 else number

    repeat, bincount = np.repeat, np.bincount
    np.repeat = lambda a, repeats, axis=None: repeat(a, counts(repeats), axis)
    np.bincount = lambda x, *args, **options: bincount(counts(x), *args, **options)


def fetch(url):
    """Bytes of a file that the page leaves in a folder while Python waits."""
    place = "/tmp/fetched"
    send("fetch", url=url)
    if not os.path.exists(place):
        raise OSError(f"{url} is not to be had")
    with open(place, "rb") as file:
        data = file.read()
    os.remove(place)
    return data


class Announcer:
    """Says which large package is being imported, and brings those that travel apart."""

    def __init__(self, apart):
        self.apart = apart
        self.names = {name: name for name in ("scipy", "matplotlib", *apart)}
        self.names["sklearn"] = "scikit-learn"

    def find_spec(self, name, path=None, target=None):
        if said := self.names.pop(name, None):
            send("importing", name=said)
        if address := self.apart.get(name):
            archive = f"/tmp/{name}.zip"
            data = fetch(address)
            with open(archive, "wb") as file:  # some servers have expanded it themselves
                file.write(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
            sys.path.append(archive)
            self.apart = {other: it for other, it in self.apart.items() if it != address}


def prepare(apart):
    """Make everything ready for cells."""
    sys.stdout, sys.stderr = Stream("stdout"), Stream("stderr")
    warnings.filterwarnings("ignore", message="tqdm:disabling monitor")  # it needs a thread
    os.environ["MPLBACKEND"] = "module://page_backend"
    widen()
    sys.meta_path.insert(0, Announcer(apart))


def start(page, apart):
    """Begin the notebook `page`, like "ch5/idea", in its folder.

    `apart` has the address of each package that comes once it is imported.
    """
    prepare(apart)
    import IPython
    from IPython.display import display
    from ismlit_book.files import pages

    sys.modules["__main__"] = SPACE
    SPACE.__dict__["__builtins__"] = __builtins__
    SPACE.display, SPACE.get_ipython = display, IPython.get_ipython
    os.chdir(pages() / os.path.dirname(page))


def warm(names):
    """Import what the page's cells will; a module that is not here is missed where it is used."""
    for name in names:
        with contextlib.suppress(ImportError, OSError):
            importlib.import_module(name)


def run(source, name):
    """Run one cell called `name`; what it raises is shown."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    try:
        tree = ast.parse(source, name)
        last = tree.body[-1] if tree.body else None
        quiet = source.rstrip().endswith(";")
        if isinstance(last, ast.Expr) and not quiet:
            tree.body.pop()
        exec(compile(tree, name, "exec"), SPACE.__dict__)
        if isinstance(last, ast.Expr) and not quiet:
            value = eval(compile(ast.Expression(last.value), name, "eval"), SPACE.__dict__)
            if value is not None:
                show(*bundle(value))
        flush()
    except BaseException as error:
        send("error", name=type(error).__name__, text=trace_of(error, name), why=why(error, name))
    sys.stdout.flush()
    sys.stderr.flush()


def is_unread(error, name):
    """Whether the cell is no Python, so that none of it has run."""
    return isinstance(error, SyntaxError) and error.filename == name


def line_of(error, name):
    """Number of the cell's line at which it stopped, or None."""
    if is_unread(error, name):
        return error.lineno
    steps = traceback.extract_tb(error.__traceback__)
    return next((step.lineno for step in reversed(steps) if step.filename == name), None)


def why(error, name):
    """In plain words what stopped the cell: what a page in a browser lacks, or a line of it."""
    words = str(error)
    if isinstance(error, OSError) and words.startswith("data file"):
        file = words.partition(" is not in")[0]
        return f"This cell needs the {file}, which could not be fetched from its public address."
    if isinstance(error, ModuleNotFoundError):
        return f"This cell needs the package {error.name}, which is not part of the page."
    if isinstance(error, RuntimeError) and "start new thread" in words:
        return "This cell needs several threads; Python has one in the browser."
    line = line_of(error, name)
    if line is None:
        return ""
    code = linecache.getline(name, line).strip()
    if is_unread(error, name) and code.startswith(("%", "!")):
        return f"Line {line}, {code}, is a command to Jupyter; here is Python alone."
    what = error.msg if isinstance(error, SyntaxError) else words
    return f"Line {line}, {code}: {type(error).__name__}{': ' if what else ''}{what}"


def trace_of(error, name):
    """The traceback without this file's part of it, and without colours."""
    steps = None if is_unread(error, name) else error.__traceback__
    while steps is not None and steps.tb_frame.f_code.co_filename == __file__:
        steps = steps.tb_next
    text = "".join(traceback.format_exception(type(error), error, steps))
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
