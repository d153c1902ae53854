/* The claims graph: filter, card, and the lines from a claim to what it uses and what uses it. */
(() => {
  const root = document.getElementById("claims-graph");
  const data = JSON.parse(document.getElementById("graph-data").textContent);
  const card = document.getElementById("graph-card");
  const map = root.querySelector(".graph-map");
  const [every, own] = root.querySelectorAll(".graph-lines g");
  const tiles = [...root.querySelectorAll("a[data-id]")];
  const tileOf = Object.fromEntries(tiles.map((tile) => [tile.dataset.id, tile]));
  const find = document.getElementById("graph-find");
  const kind = document.getElementById("graph-kind");
  const known = document.getElementById("graph-known");
  const all = document.getElementById("graph-all");
  const boxes = [...root.querySelectorAll("fieldset input")];
  const isShown = (tile) => !tile.parentElement.hidden;
  const shown = () => tiles.filter(isShown);
  let chosen = null;

  /* the card */
  const element = (name, attributes, ...children) => {
    const made = document.createElement(name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    made.append(...children);
    return made;
  };
  function go(id) {
    if (!isShown(tileOf[id])) {
      find.value = "";
      kind.value = "";
      known.value = "";
      boxes.forEach((box) => { box.checked = true; });
      filter();
    }
    tileOf[id].focus();
  }
  const list = (title, ids) => {
    if (!ids.length) return "";
    const links = ids.map((id) => {
      const jump = element("button", { type: "button" }, id);
      jump.addEventListener("click", () => go(id));
      return jump;
    });
    return element("p", { class: "graph-links" }, element("b", {}, title + " "), ...links);
  };
  function show(id) {
    const claim = data[id];
    const link = element("a", { href: tileOf[id].getAttribute("href") }, "open its page");
    card.replaceChildren(
      element("p", {}, element("b", {}, id), ` ${claim.where} · `, element("b", {}, claim.verdict),
        claim.known ? ` · ${claim.known}` : ""),
      element("p", { id: "graph-says" }, claim.says),
      claim.note ? element("p", {}, element("i", {}, claim.note)) : "",
      list("uses", claim.uses),
      list("used by", claim.used),
      list("rests on, wrong as printed", claim.wrong),
      element("p", {}, link),
    );
  }

  /* the lines */
  function paths(pairs) {
    const box = map.getBoundingClientRect();
    root.querySelector(".graph-lines").setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
    const middle = (id) => {
      const place = tileOf[id].getBoundingClientRect();
      return [place.left + place.width / 2 - box.left, place.top + place.height / 2 - box.top];
    };
    const visible = pairs.filter((pair) => pair.slice(0, 2).every((id) => isShown(tileOf[id])));
    const ends = visible.map(([from, to, css]) => [middle(from), middle(to), css]);
    return ends.map(([[x0, y0], [x1, y1], css]) => {
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      const bend = Math.min(60, Math.abs(x1 - x0) / 4 + 12);
      path.setAttribute("d", `M${x0} ${y0}Q${(x0 + x1) / 2 + bend} ${(y0 + y1) / 2} ${x1} ${y1}`);
      path.setAttribute("class", css);
      return path;
    });
  }
  function drawAll() {
    const pairs = Object.entries(data).flatMap(([id, claim]) =>
      claim.uses.map((other) => [id, other, "any"]));
    every.replaceChildren(...(all.checked ? paths(pairs) : []));
  }
  function drawOwn() {
    tiles.forEach((tile) => tile.classList.remove("chosen", "used", "user"));
    const pairs = [];
    if (chosen) {
      tileOf[chosen].classList.add("chosen");
      for (const [css, others] of [["used", data[chosen].uses], ["user", data[chosen].used]]) {
        others.forEach((other) => {
          tileOf[other].classList.add(css);
          pairs.push([chosen, other, css]);
        });
      }
    }
    own.replaceChildren(...paths(pairs));
  }
  function choose(id) {
    if (id === chosen) return;
    if (chosen) tileOf[chosen].removeAttribute("aria-describedby");
    chosen = id;
    tileOf[id].setAttribute("aria-describedby", "graph-says");
    drawOwn();
    show(id);
  }

  /* the filter */
  function filter() {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const verdicts = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    let seen = 0;
    tiles.forEach((tile) => {
      const id = tile.dataset.id;
      const claim = data[id];
      const text = [id, tile.textContent, claim.name, claim.where, claim.says, claim.note]
        .join(" ").toLowerCase();
      const fits = words.every((word) => text.includes(word))
        && verdicts.has(claim.verdict.replaceAll(" ", "-"))
        && (!known.value || claim.known.startsWith(known.value))
        && (!kind.value || tile.classList.contains(`k-${kind.value}`));
      tile.parentElement.hidden = !fits;
      seen += fits;
    });
    root.querySelectorAll("section").forEach((part) => {
      part.hidden = !part.querySelector("li:not([hidden])");
    });
    document.getElementById("graph-count").textContent = `${seen} of ${tiles.length} claims shown`;
    settle();
    drawAll();
    drawOwn();
  }

  /* one stop of the tab key for the whole map, arrows within it */
  function settle(tile) {
    const now = shown();
    const stop = tile || now.find((t) => t.dataset.id === chosen) || now[0];
    tiles.forEach((t) => { t.tabIndex = t === stop ? 0 : -1; });
  }
  function nextRow(tile, step) {
    const here = tile.getBoundingClientRect();
    const height = (t) => step * t.getBoundingClientRect().top;
    const off = (t) => Math.abs(t.getBoundingClientRect().left - here.left);
    const beyond = shown().filter((t) => height(t) > step * here.top + 5);
    const nearest = Math.min(...beyond.map(height));
    return beyond.filter((t) => height(t) < nearest + 5).sort((a, b) => off(a) - off(b))[0];
  }
  map.addEventListener("keydown", (event) => {
    const tile = event.target.closest("a[data-id]");
    if (!tile || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const now = shown();
    const next = {
      ArrowRight: () => now[now.indexOf(tile) + 1],
      ArrowLeft: () => now[now.indexOf(tile) - 1],
      ArrowDown: () => nextRow(tile, 1),
      ArrowUp: () => nextRow(tile, -1),
      Home: () => now[0],
      End: () => now[now.length - 1],
    }[event.key];
    if (!next) return;
    event.preventDefault();
    next()?.focus();
  });

  /* pointing: a tile is chosen once the mouse rests on it, so that the card can be reached */
  let soon = null;
  map.addEventListener("mousemove", (event) => {
    if (!event.movementX && !event.movementY) return; // the page moved, not the mouse
    clearTimeout(soon);
    const tile = event.target.closest("a[data-id]");
    if (tile) soon = setTimeout(() => choose(tile.dataset.id), 150);
  });
  map.addEventListener("mouseleave", () => clearTimeout(soon));
  card.addEventListener("mouseenter", () => clearTimeout(soon));

  /* touching: the first tap chooses, a second one on the same tile opens its page */
  let touch = false;
  let tapped = null;
  map.addEventListener("pointerdown", (event) => { touch = event.pointerType === "touch"; });
  map.addEventListener("click", (event) => {
    const tile = event.target.closest("a[data-id]");
    if (tile && touch && tapped !== tile.dataset.id) {
      event.preventDefault();
      choose(tile.dataset.id);
      tapped = tile.dataset.id;
    }
    touch = false;
  });
  map.addEventListener("focusin", (event) => {
    const tile = event.target.closest("a[data-id]");
    if (!tile) return;
    settle(tile);
    if (tile.dataset.id !== tapped) tapped = null;
    choose(tile.dataset.id);
  });

  /* graph.html#thm-5.1 */
  function followHash() {
    const asked = location.hash.slice(1);
    if (Object.hasOwn(tileOf, asked)) go(asked);
  }

  [find, kind, known, ...boxes].forEach((control) => control.addEventListener("input", filter));
  all.addEventListener("input", drawAll);
  root.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", followHash);
  new ResizeObserver(() => { drawAll(); drawOwn(); }).observe(map);
  filter();
  followHash();
})();
