/* The claims graph: filter, card, and the lines from a claim to what it uses and what uses it. */
(() => {
  const root = document.getElementById("claims-graph");
  const data = JSON.parse(document.getElementById("graph-data").textContent);
  const card = document.getElementById("graph-card");
  const map = root.querySelector(".graph-map");
  const lines = root.querySelector(".graph-lines");
  const tiles = [...root.querySelectorAll("a[data-id]")];
  const tileOf = Object.fromEntries(tiles.map((tile) => [tile.dataset.id, tile]));
  const find = document.getElementById("graph-find");
  const kind = document.getElementById("graph-kind");
  const all = document.getElementById("graph-all");
  const boxes = [...root.querySelectorAll("fieldset input")];
  let chosen = null;

  const element = (name, attributes, ...children) => {
    const made = document.createElement(name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    made.append(...children);
    return made;
  };
  const list = (title, ids) => {
    if (!ids.length) return "";
    const links = ids.map((id) => {
      const jump = element("button", { type: "button" }, id);
      jump.addEventListener("click", () => tileOf[id].focus());
      return jump;
    });
    return element("p", { class: "graph-links" }, element("b", {}, title + " "), ...links);
  };

  function show(id) {
    const claim = data[id];
    const link = element("a", { href: tileOf[id].getAttribute("href") }, "open its page");
    card.replaceChildren(
      element("p", {}, element("b", {}, id), ` ${claim.where} · `, element("b", {}, claim.verdict)),
      element("p", {}, claim.says),
      claim.note ? element("p", {}, element("i", {}, claim.note)) : "",
      list("uses", claim.uses),
      list("used by", claim.used),
      list("rests on, wrong as printed", claim.wrong),
      element("p", {}, link),
    );
  }

  const middle = (tile, box) => {
    const own = tile.getBoundingClientRect();
    return [own.left + own.width / 2 - box.left, own.top + own.height / 2 - box.top];
  };
  function connect(from, to, css, box) {
    if (tileOf[from].parentElement.hidden || tileOf[to].parentElement.hidden) return;
    const [[x0, y0], [x1, y1]] = [middle(tileOf[from], box), middle(tileOf[to], box)];
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    const bend = Math.min(60, Math.abs(x1 - x0) / 4 + 12);
    path.setAttribute("d", `M${x0} ${y0}Q${(x0 + x1) / 2 + bend} ${(y0 + y1) / 2} ${x1} ${y1}`);
    path.setAttribute("class", css);
    lines.append(path);
  }
  function draw(id) {
    lines.replaceChildren();
    tiles.forEach((tile) => tile.classList.remove("chosen", "used", "user"));
    const box = map.getBoundingClientRect();
    lines.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
    if (all.checked) {
      Object.entries(data).forEach(([one, claim]) => {
        claim.uses.forEach((other) => connect(one, other, "any", box));
      });
    }
    if (!id) return;
    tileOf[id].classList.add("chosen");
    for (const [css, others] of [["used", data[id].uses], ["user", data[id].used]]) {
      others.forEach((other) => {
        tileOf[other].classList.add(css);
        connect(id, other, css, box);
      });
    }
  }
  function choose(id) {
    chosen = id;
    draw(id);
    show(id);
  }

  function filter() {
    const words = find.value.toLowerCase().replace(/lemma/g, "lem.").replace(/theorem/g, "thm")
      .replace(/definition/g, "def.").replace(/corollary/g, "cor.").replace(/table/g, "tab.")
      .replace(/proposition/g, "prop.").replace(/algorithm/g, "alg.").replace(/figure/g, "fig.")
      .split(/\s+/).filter(Boolean);
    const verdicts = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    let seen = 0;
    tiles.forEach((tile) => {
      const claim = data[tile.dataset.id];
      const text = `${tile.dataset.id} ${tile.textContent} ${claim.where} ${claim.says} ${claim.note}`
        .toLowerCase();
      const fits = words.every((word) => text.includes(word))
        && verdicts.has(claim.verdict.replaceAll(" ", "-"))
        && (!kind.value || tile.classList.contains(`k-${kind.value}`));
      tile.parentElement.hidden = !fits;
      seen += fits;
    });
    root.querySelectorAll("section").forEach((part) => {
      part.hidden = !part.querySelector("li:not([hidden])");
    });
    document.getElementById("graph-count").textContent = `${seen} of ${tiles.length} claims shown`;
    settle();
    draw(chosen);
  }

  /* one stop of the tab key for the whole map, arrows within it */
  const shown = () => tiles.filter((tile) => !tile.parentElement.hidden);
  function settle(tile) {
    const now = shown();
    const stop = tile || now.find((t) => t.dataset.id === chosen) || now[0];
    tiles.forEach((t) => { t.tabIndex = t === stop ? 0 : -1; });
  }
  function below(tile, step) {
    const own = tile.getBoundingClientRect();
    const rows = shown().filter((t) => step * (t.getBoundingClientRect().top - own.top) > 5);
    const edge = (t) => step * t.getBoundingClientRect().top;
    const nearest = Math.min(...rows.map(edge));
    return rows.filter((t) => edge(t) < nearest + 5).sort((a, b) =>
      Math.abs(a.getBoundingClientRect().left - own.left)
      - Math.abs(b.getBoundingClientRect().left - own.left))[0];
  }
  map.addEventListener("keydown", (event) => {
    const tile = event.target.closest("a[data-id]");
    if (!tile) return;
    const now = shown();
    const next = {
      ArrowRight: () => now[now.indexOf(tile) + 1],
      ArrowLeft: () => now[now.indexOf(tile) - 1],
      ArrowDown: () => below(tile, 1),
      ArrowUp: () => below(tile, -1),
      Home: () => now[0],
      End: () => now[now.length - 1],
    }[event.key];
    if (!next) return;
    event.preventDefault();
    next()?.focus();
  });

  let touched = false;
  map.addEventListener("pointerdown", (event) => { touched = event.pointerType === "touch"; });
  map.addEventListener("click", (event) => {
    const tile = event.target.closest("a[data-id]");
    if (tile && touched && !tile.classList.contains("opens")) {
      event.preventDefault();
      tiles.forEach((t) => t.classList.remove("opens"));
      tile.classList.add("opens");
      choose(tile.dataset.id);
    }
  });
  map.addEventListener("mouseover", (event) => {
    const tile = event.target.closest("a[data-id]");
    if (tile) choose(tile.dataset.id);
  });
  map.addEventListener("focusin", (event) => {
    const tile = event.target.closest("a[data-id]");
    if (!tile) return;
    settle(tile);
    choose(tile.dataset.id);
  });
  [find, kind, all, ...boxes].forEach((control) => control.addEventListener("input", filter));
  root.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("resize", () => draw(chosen));
  const asked = decodeURIComponent(location.hash.slice(1));
  filter();
  if (data[asked]) tileOf[asked].focus();
})();
