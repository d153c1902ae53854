"""The front page's figure: a direction in the plane that turns, step by step, on a static page.

Everything is computed here; the page only shows it. The output is one SVG with a few lines of
script inside, so it needs no kernel, no network and no library.
"""

from __future__ import annotations

import json
import warnings
from html import escape

import numpy as np

from ismlit.gamma import supervised
from ismlit.ism import ism
from ismlit.kernels import Gaussian, median_distance
from ismlit.phi import Problem

STARTS = np.arange(0, 180, 5)
"""Angles, in degrees, that the reader may start from, besides the Taylor start."""


def example():
    """The front page's samples X (45, 2), classes y (45,), Gamma and kernel.

    Five small clouds, two classes, sigma = 0.45 times the median distance; the draw is one in which
    the published iteration cycles far from the maximum.

    Examples
    --------
    >>> from ismlit import ism
    >>> from ismlit.live import degrees, example
    >>> X, y, gamma, kernel = example()
    >>> round(degrees(ism(X, gamma, kernel, 1).W))
    93
    """
    rng = np.random.default_rng(17)
    centres = 2.2 * rng.normal(size=(5, 2))
    X = np.vstack([centre + 0.45 * rng.normal(size=(9, 2)) for centre in centres])
    y = np.repeat(np.arange(5) % 2, 9)
    X -= X.mean(axis=0)
    return X, y, supervised(y), Gaussian(0.45 * median_distance(X))


def direction(angle):
    """The unit vector (2, 1) at an angle in degrees."""
    angle = np.deg2rad(angle)
    return np.array([[np.cos(angle)], [np.sin(angle)]])


def degrees(W):
    """The angle of the line spanned by W (2, 1), from 0 up to 180 degrees."""
    return float(np.rad2deg(np.arctan2(W[1, 0], W[0, 0])) % 180)


def published_path(problem, W, steps):
    """Angles of plain ISM, Algorithm 4: the top eigenvector of Phi, again and again."""
    angles = [degrees(W)]
    for _ in range(steps):
        W = np.linalg.eigh(problem.phi(W))[1][:, -1:]
        angles.append(degrees(W))
    return angles


def safeguarded_path(problem, W, steps):
    """Angles of the safeguarded solver after 1, 2, ... steps."""
    angles = [degrees(W)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is stopped on purpose
        for step in range(1, steps + 1):
            found = ism(problem, None, None, 1, init=W, max_iter=step)
            angles.append(degrees(found.W))
    return angles


def turning(X, y, gamma, kernel, steps=12):
    """The figure for samples X (n, 2) in two classes y: an object that Jupyter shows as HTML.

    Parameters
    ----------
    X : array of shape (n, 2)
    y : array of shape (n,)
        Two classes; drawn as circles and squares.
    gamma : Gamma
    kernel : Kernel
    steps : int
        How many steps can be played.
    """
    from IPython.display import HTML

    problem = Problem(X, gamma, kernel)
    height = lambda angle: float(problem.objective(direction(angle)))
    grid = np.arange(0, 181, 2)
    curve = np.array([height(angle) for angle in grid])
    best = curve.max()
    taylor = np.linalg.eigh(problem.phi_0())[1][:, -1:]
    paths = []
    for W in (taylor, *map(direction, STARTS)):
        both = [path(problem, W, steps) for path in (published_path, safeguarded_path)]
        paths.append([[[round(a, 1), round(100 * height(a) / best)] for a in p] for p in both])
    scale = 130 / np.abs(X).max()
    data = dict(paths=paths, points=np.round(scale * X, 1).tolist(), classes=(y == y[0]).tolist())
    text = escape(json.dumps(data, separators=(",", ":")), True)
    points = _polyline(grid, 100 * curve / best)
    return HTML(PAGE % dict(curve=points, data=text, last=len(STARTS)))


def _polyline(grid, heights):
    return " ".join(f"{40 + 1.6 * a:.1f},{270 - 2.4 * h:.0f}" for a, h in zip(grid, heights))


PAGE = """<div class="turning" data-turning="%(data)s">
<style>
.turning svg{width:100%%;height:auto;font:13px sans-serif}
.turning text{fill:currentColor}
.turning .panels{display:flex;flex-wrap:wrap;gap:8px}
.turning .panels>*{flex:1 1 300px;max-width:460px}
.turning .pub{stroke:#d55e00;stroke-width:3;stroke-dasharray:7 4;fill:none}
.turning .safe{stroke:#0072b2;stroke-width:3;fill:none}
.turning .dot-pub{fill:#d55e00}.turning .dot-safe{fill:#0072b2}
.turning .axis{stroke:currentColor;stroke-width:1;fill:none}
.turning .one{fill:#009e73}.turning .two{fill:none;stroke:#cc79a7;stroke-width:2}
.turning .controls{display:flex;flex-wrap:wrap;gap:6px 14px;align-items:center;margin:6px 0}
.turning .trail{opacity:.45}
.turning .said{margin:4px 0 4px 40px}
.turning .said svg{width:12px;height:12px}
</style>
<div class="controls"><button type="button" class="play">Play</button>
<button type="button" class="step">One step</button>
<label>Start <input type="range" min="0" max="%(last)d" value="0" class="start">
</label><span class="angle"></span></div>
<div class="panels">
<svg viewBox="0 0 340 400" role="img" aria-label="Samples of two classes in the plane with the
 two lines onto which they are projected, and below the two projections">
<g class="cloud" transform="translate(170 145)"><line class="safe"/><line class="pub"/></g>
<text x="6" y="318">projected by the published iteration</text>
<g class="row-pub" transform="translate(170 335)"></g>
<text x="6" y="368">by the safeguarded one</text>
<g class="row-safe" transform="translate(170 385)"></g></svg>
<svg viewBox="0 0 340 300" role="img" aria-label="The objective over the angle of the line, with
 the places of both iterations">
<path class="axis" d="M40 20V270H335"/><polyline class="axis" points="%(curve)s"/>
<text x="40" y="290">0°</text><text x="176" y="290">90°</text><text x="305" y="290">180°</text>
<text x="46" y="16">objective J, percent of its maximum</text>
<text x="8" y="34">100</text><text x="22" y="272">0</text>
<g class="trail"></g><rect class="dot-safe" width="15" height="15"/><circle class="dot-pub" r="5"/>
</svg>
</div>
<div role="status" class="said"><svg viewBox="0 0 12 12" aria-hidden="true"><circle
 class="dot-pub" cx="6" cy="6" r="6"/></svg> <span class="said-pub"></span><br>
<svg viewBox="0 0 12 12" aria-hidden="true"><rect class="dot-safe" width="12" height="12"/></svg>
<span class="said-safe"></span></div>
<script>
document.querySelectorAll(".turning:not([data-ready])").forEach(root => {
  root.dataset.ready = 1;
  const {paths, points, classes} = JSON.parse(root.dataset.turning);
  const get = name => root.querySelector(name), names = ["pub", "safe"];
  const words = ["published", "safeguarded"];
  let start = 0, step = 0, timer = null;
  const svg = (parent, name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    parent.append(made);
  };
  const mark = (parent, x, y, one) => one
    ? svg(parent, "circle", {cx: x, cy: y, r: 4, class: "one"})
    : svg(parent, "rect", {x: x - 4, y: y - 4, width: 8, height: 8, class: "two"});
  points.forEach(([x, y], i) => mark(get(".cloud"), x, -y, classes[i]));
  const place = ([angle, height]) => [40 + 1.6 * angle, 270 - 2.4 * height];
  function draw() {
    get(".trail").replaceChildren();
    names.forEach((name, k) => {
      const path = paths[start][k], now = path[step], turn = now[0] * Math.PI / 180;
      const [c, s] = [Math.cos(turn), Math.sin(turn)], line = get("line." + name);
      line.setAttribute("x1", -160 * c); line.setAttribute("x2", 160 * c);
      line.setAttribute("y1", 160 * s); line.setAttribute("y2", -160 * s);
      const row = get(".row-" + name);
      row.replaceChildren();
      svg(row, "path", {d: "M-165 0H165", class: "axis"});
      points.forEach(([x, y], i) => mark(row, x * c + y * s, 0, classes[i]));
      path.slice(0, step + 1).forEach(one => {
        const [x, y] = place(one);
        const box = {x: x - 3, y: y - 3, width: 6, height: 6, class: "dot-safe"};
        if (k) svg(get(".trail"), "rect", box);
        else svg(get(".trail"), "circle", {cx: x, cy: y, r: 3, class: "dot-pub"});
      });
      const [x, y] = place(now), dot = get(".trail ~ .dot-" + name);
      if (k) { dot.setAttribute("x", x - 7.5); dot.setAttribute("y", y - 7.5); }
      else { dot.setAttribute("cx", x); dot.setAttribute("cy", y); }
      get(".said-" + name).textContent = `${words[k]}, step ${step}: ${now[1]} percent`;
    });
    const angle = Math.round(paths[start][0][0][0]);
    get(".angle").textContent = start ? angle + "°" : "as in the thesis, " + angle + "°";
    get(".start").value = start;
    get(".start").setAttribute("aria-valuetext", get(".angle").textContent);
  }
  const last = paths[0][0].length - 1;
  function pause() {
    clearInterval(timer);
    timer = null;
    get(".play").textContent = "Play";
    get(".said").setAttribute("aria-live", "polite");
  }
  function forward() { if (step < last) { step++; draw(); } else pause(); }
  function begin(from) { pause(); start = from; step = 0; draw(); }
  get(".step").onclick = () => { pause(); forward(); };
  get(".start").oninput = event => begin(+event.target.value);
  get(".play").onclick = () => {
    if (timer) return pause();
    if (step === last) { step = 0; draw(); }
    get(".play").textContent = "Pause";
    get(".said").setAttribute("aria-live", "off");
    timer = setInterval(forward, 700);
  };
  draw();
});
</script></div>"""
