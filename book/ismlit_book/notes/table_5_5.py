"""Fields of the rows of Table 5.5: scores of three kernels by the program and by the text."""

import numpy as np

from ismlit_book import results
from ismlit_book.experiments.readings import CODE, TEXT
from ismlit_book.notes import about
from ismlit_book.notes.table_5_4 import SETS, in_, numbers

KERNELS = ("linear", "squared", "multiquadratic", "gaussian + polynomial")
ROWS = [f"{name}-unsupervised" for name in SETS]
ROWS += ["wine-gp", "cancer", "face", "face-gp", "mnist", "mnist-multiquadratic"]


@about(*(f"tab-5.5-{row}" for row in ROWS))
def of_kernels(claim_id):
    """Scores by the program, p, and by the text, t, kernel by kernel, with deviations."""
    name, _, more = claim_id.removeprefix("tab-5.5-").partition("-")
    place = SETS[name], "unsupervised" if more == "unsupervised" else "supervised"
    kernels = KERNELS[:3] if more == "unsupervised" else KERNELS
    facts = dict(turns=CODE.turns[place[0]], k=TEXT.turns[place[0]][1])
    for key, reading in (("p", CODE), ("t", TEXT)):
        found = [numbers("table-5.5", reading, (*place, kernel, "ISM")) for kernel in kernels]
        scores = [of.score for of in found]
        facts[key], facts[f"{key}_ends"] = scores, (min(scores), max(scores))
        facts[f"{key}_sd"] = [of.score_sd for of in found]
        facts[f"{key}_most"] = max(facts[f"{key}_sd"])
        facts["slack"] = min(of.score_slack for of in found)
    own = (place[0], "supervised", "multiquadratic, similarity")
    of_xw = [r["training accuracy, gamma = auto"] for r in results("table-5.5") if in_(r, own)]
    return facts | (dict(of_xw=100 * np.mean(of_xw[0])) if of_xw else {})
