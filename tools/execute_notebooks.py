"""Execute notebooks in place and store their outputs in a form that does not churn.

``python -m tools.execute_notebooks [--jobs N] [NOTEBOOK ...]`` executes those named, or all of the
book. A notebook that fails keeps what it had. One whose data sets or modules are not to be had is
skipped, visibly, and keeps its stored outputs. It names them in its metadata: ``{"ismlit":
{"requires_data": ["cancer"]}}``, or ``"requires_modules"``.
"""

import argparse
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.util import find_spec
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from tqdm import tqdm

from tools.warm_kernels import warm

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT = 300  # seconds a cell
LANGUAGE = {"file_extension": ".py", "name": "python"}  # a kernel names its version as well
FIGURES = "from ismlit_book.figures.display import register; register(); del register"


def missing(notebook):
    """Names of the data sets and modules that a notebook requires and that are not to be had."""
    needs = notebook.metadata.get("ismlit", {})
    lacking = [name for name in needs.get("requires_modules", []) if find_spec(name) is None]
    if names := needs.get("requires_data", []):
        from ismlit_book.loaders import is_available

        lacking += [name for name in names if not is_available(name)]
    return lacking


def normalise(notebook):
    """Drop what differs from run to run or from machine to machine; number the cells 1 to n."""
    notebook.metadata["kernelspec"] = {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    }
    notebook.metadata["language_info"] = dict(LANGUAGE)
    notebook.metadata.pop("widgets", None)
    count = 0
    for cell in notebook.cells:
        for key in ("execution", "ExecuteTime", "collapsed", "scrolled"):
            cell.metadata.pop(key, None)
        if cell.cell_type != "code":
            continue
        if cell.source.strip():
            count += 1
            cell.execution_count = count
        else:
            cell.execution_count = None
            cell.outputs = []
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = cell.execution_count
    return notebook


class Client(NotebookClient):
    """nbclient's, with a kernel that stores figures as the book shows them."""

    async def async_start_new_kernel_client(self):
        kernel = await super().async_start_new_kernel_client()
        kernel.execute(FIGURES, silent=True, store_history=False)
        return kernel


def execute(path):
    """Execute one notebook file in place. Returns (path, status, detail)."""
    notebook = nbformat.read(path, as_version=4)
    if lacking := missing(notebook):
        return path, "skipped", f"not available here: {', '.join(lacking)}"
    try:
        execute_cells(notebook, path)
    except (CellExecutionError, CellTimeoutError, RuntimeError) as error:
        return path, "failed", str(error)
    text = nbformat.writes(normalise(notebook)) + "\n"
    if path.read_text(encoding="utf8") != text:
        path.write_text(text, encoding="utf8")
        return path, "changed", ""
    return path, "same", ""


def execute_cells(notebook, path, tries=2):
    """Execute a notebook where its file lies; again where no kernel came up.

    Two kernels that start at once may be given the same port.
    """
    client = Client(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--IPKernelApp.log_level=40"],  # no advice on encryption at each start
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute()
    except RuntimeError as error:
        if isinstance(error, DeadKernelError) or tries == 1:
            raise
        execute_cells(notebook, path, tries - 1)


def execute_all(paths, jobs=2):
    """Execute notebooks, ``jobs`` at a time; print what happened; return how many failed."""
    results = []
    # A kernel is a process of its own; the workers only wait for it.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=warm) as pool:
        tasks = [pool.submit(execute, path) for path in paths]
        often = 0.1 if sys.stderr.isatty() else 30  # seconds; a log gets a line now and then
        bar = tqdm(as_completed(tasks), total=len(tasks), unit="notebook", mininterval=often)
        for task in bar:
            results.append(task.result())
    for path, status, detail in sorted(results):
        if status in ("skipped", "failed"):
            print(f"{status.upper()} {path.name}: {detail}")
    counts = {s: sum(r[1] == s for r in results) for s in ("changed", "same", "skipped", "failed")}
    print(f"{len(results)} notebooks: " + ", ".join(f"{n} {s}" for s, n in counts.items() if n))
    return counts["failed"]


def notebooks_of(root):
    """Every notebook of the book below ``root``, in a stable order."""
    found = sorted((root / "book").rglob("*.ipynb"))
    return [path for path in found if ".ipynb_checkpoints" not in path.parts]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebook", nargs="*", type=Path, help="default: all of the book")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once (default 2)")
    options = parser.parse_args()
    paths = [path.resolve() for path in options.notebook] or notebooks_of(ROOT)
    sys.exit(execute_all(paths, options.jobs) > 0)


if __name__ == "__main__":
    main()
