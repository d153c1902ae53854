"""Addresses that pages had once: each leads on to where its content is now."""

import posixpath

from tools.site.templates import render

MOVED = {
    "ch2/nmi": "ch3/nmi",
    "ch2/optimality": "ch5/optimality",
    "ch6/drawn": "ch6/construction",
    "ch4/new-samples": "ch4/deep",
    "ch6/guarantee": "ch6/layers",
    "ch6/rise": "ch6/layers",
    "ch3/clustering": "ch2/embedding",
    "ch3/conclusions": "record/3.5-conclusions",
    "ch3/conditions": "record/A.4",
    "ch3/departures": "record/3.5-departures",
    "ch3/guarantees": "record/3.3",
    "ch3/large": "record/A.4-large",
    "ch3/note": "record/note",
    "ch3/note-steps": "record/note-steps",
    "ch3/peers": "ch3/when",
    "ch3/start": "record/3.4",
    "ch3/table": "record/3.5-table-3.1",
    "ch4/cayley": "record/4.3-cayley",
    "ch4/hsic": "ch2/embedding",
    "ch4/lambda": "record/4.4-lambda",
    "ch4/parts": "record/4.4-table-4.4",
    "ch4/program": "record/4.4-program",
    "ch4/shows": "record/4.4-shows",
    "ch4/tables": "record/4.4-table-4.2",
    "ch4/times": "record/4.4-seconds",
    "ch4/tried": "record/4.4-tried",
    "ch5/alternative": "record/5.5-figure-5.1",
    "ch5/cancer": "record/5.5-wine",
    "ch5/choose": "ch5/peers",
    "ch5/climb": "ch5/solvers",
    "ch5/convergence": "ch5/cycles",
    "ch5/curvature": "record/C.4",
    "ch5/distance": "ch5/gradient",
    "ch5/family": "record/5.2",
    "ch5/idea": "ch5/problem",
    "ch5/phi": "ch5/gradient",
    "ch5/race": "record/5.5-race",
    "ch5/scaling": "record/5.5-figure-5.2",
    "ch5/second-order": "ch5/maximum",
    "ch5/sums": "record/5.4",
    "ch5/table": "record/5.5-table-5.4",
    "ch5/taylor": "record/C.2",
    "ch5/turns": "ch5/unsupervised",
    "ch5/wine": "record/5.5-wine",
    "ch6/bandwidth": "record/D.11",
    "ch6/bound": "record/D.1",
    "ch6/class-sums": "record/6.2-class-sums",
    "ch6/exact": "record/6.1-width",
    "ch6/lemmas": "record/D.1-lemmas",
    "ch6/losses": "record/D.5",
    "ch6/penalty": "record/D.3",
    "ch6/perceptrons": "record/6.5-perceptrons",
    "ch6/program": "record/6.5-program",
    "ch6/question": "ch6/index",
    "ch6/sets": "record/D.6",
    "ch6/simulation": "record/D.8",
    "ch6/table": "record/6.5-table-6.1",
    "ch7/beyond": "record/7",
    "ch7/papers": "record/icml-costs",
    "ch7/papers-speed": "record/neurips-speed",
    "howto/deep": "ch4/deep",
    "howto/public": "ch7/public",
    "howto/defaults": "record/beyond-defaults",
}
"""{where a page was: where its content is}, below ``book``."""


def install(site):
    """Write a page that leads on for each of `MOVED` into the built book `site`.

    Raises
    ------
    ValueError
        If one leads to no page, or stands where there is one.
    """
    for old, new in MOVED.items():
        here, there = (site / "book" / f"{name}.html" for name in (old, new))
        if not there.exists():
            raise ValueError(f"tools/site/moved.py leads from {old} to {new}, which is no page")
        if here.exists():
            raise ValueError(f"tools/site/moved.py leads on from {old}, which is a page")
        target = posixpath.relpath(f"{new}.html", posixpath.dirname(old))
        here.write_text(render("moved.html.j2", target=target), encoding="utf8")
