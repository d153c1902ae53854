/* The claims graph: filter, panel, the lines from a claim to what it uses and what uses it; the
   view, the choice and the filter stand in the address. */
(() => {
  const root = document.getElementById("claims-graph");
  const data = JSON.parse(document.getElementById("graph-data").textContent);
  const card = document.getElementById("graph-card");
  const form = root.querySelector("form");
  const views = [...root.querySelectorAll("[data-view]")];
  const map = views[0];
  const svg = map.querySelector(".graph-lines");
  const boxes = [...root.querySelectorAll("a[data-id]")];
  const legend = [...form.querySelectorAll("[name=verdict]")];
  const words = Object.fromEntries(Object.entries(data).map(([id, claim]) => [id,
    [id, claim.name, claim.where, claim.says, claim.note].join(" ").replace(/<[^>]*>/g, "")
      .toLowerCase()]));
  const NAMED = 80; // claims that are few enough for their names
  let chosen = "";
  let from = null; // the box that has the focus, or had it before the panel
  let closing = false; // then the focus returns to a box and does not choose it

  const field = (name) => form.elements[name];
  const view = () => views.find((part) => part.dataset.view === field("view").value);
  const isShown = (box) => box.checkVisibility() && !box.classList.contains("faint");
  const shown = () => boxes.filter(isShown);
  const boxOf = (id) => [...view().querySelectorAll("a[data-id]")]
    .find((box) => box.dataset.id === id && isShown(box));

  /* the panel */
  const element = (name, attributes, ...children) => {
    const made = document.createElement(name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    made.append(...children);
    return made;
  };
  const sentence = (text) => {
    const made = element("p", {});
    made.innerHTML = text; // made by the book, never typed by a reader
    return made;
  };
  const button = (text, action, attributes = {}) => {
    const made = element("button", { type: "button", ...attributes }, text);
    made.addEventListener("click", action);
    return made;
  };
  const list = (title, ids) => (ids.length ? element("p", { class: "graph-links" },
    element("b", {}, `${title}: `),
    ...ids.map((id) => button(data[id].name, () => go(id), { "data-to": id }))) : "");
  function drawn(id) { // a way to the chapter in which a claim is drawn with its lines
    const part = views.find((view) => view !== map && view.querySelector(`svg a[data-id="${CSS.escape(id)}"]:not(.elsewhere)`));
    if (!part || part === view()) return [];
    return [" · ", button("its chapter, drawn", () => {
      field("view").value = part.dataset.view;
      filter();
      go(id);
      remember();
    })];
  }
  function show(id) {
    const claim = data[id];
    const says = sentence(claim.says);
    const note = sentence(claim.note);
    says.id = "graph-says";
    note.className = "graph-note";
    const page = boxes.find((box) => box.dataset.id === id).getAttribute("href");
    card.className = `graph-card ${boxes.find((box) => box.dataset.id === id).classList[0]}`;
    card.replaceChildren(
      button("✕", close, { class: "graph-close", "aria-label": "close" }),
      element("p", {}, element("a", { href: page, class: "graph-name" }, claim.name),
        claim.where.endsWith(claim.name.split(" ").pop()) ? "" : ` · ${claim.where}`),
      element("p", {}, element("b", {}, claim.verdict), claim.slip ? ` (${claim.slip})` : "",
        claim.known ? ` · ${claim.known}` : ""),
      says,
      claim.note ? note : "",
      list("uses", claim.uses),
      list("used by", claim.used),
      list("rests on, wrong as printed", claim.wrong),
      element("p", {}, element("a", { href: page }, "its page"), ...drawn(id),
        ...(claim.cell ? [" · ", element("a", { href: claim.cell }, "the cell that checks it")] : [])),
    );
    card.hidden = false;
    card.scrollTop = 0;
    window.showFormulas?.(card);
  }
  function close() {
    card.hidden = true;
    choose("");
    closing = true;
    from?.focus();
    closing = false;
  }

  /* the lines: above the boxes of the map, and of a drawn chapter those it has */
  function lines() {
    const { uses, used } = data[chosen] ?? { uses: [], used: [] };
    boxes.forEach((box) => {
      const id = box.dataset.id;
      box.classList.toggle("chosen", id === chosen);
      box.classList.toggle("used", uses.includes(id));
      box.classList.toggle("user", used.includes(id));
    });
    root.querySelectorAll(".graph-layers path").forEach((path) => {
      path.classList.toggle("used", path.dataset.end === chosen);
      path.classList.toggle("user", path.dataset.start === chosen);
    });
    root.querySelectorAll(".graph-layers").forEach((drawn) => {
      drawn.classList.toggle("quiet", Boolean(chosen && drawn.querySelector("a.chosen")));
    });
    const area = map.getBoundingClientRect();
    svg.setAttribute("viewBox", `0 0 ${area.width || 1} ${area.height || 1}`);
    const here = view() === map && chosen && boxOf(chosen);
    if (!here) return svg.replaceChildren();
    const middle = (box) => {
      const place = box.getBoundingClientRect();
      return [place.left + place.width / 2 - area.left, place.top + place.height / 2 - area.top];
    };
    const pairs = [...uses.map((id) => [id, "used"]), ...used.map((id) => [id, "user"])];
    svg.replaceChildren(...pairs.filter(([id]) => boxOf(id)).map(([id, css]) => {
      const [[x0, y0], [x1, y1]] = [middle(here), middle(boxOf(id))];
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      const bend = Math.min(60, Math.abs(x1 - x0) / 4 + 12);
      path.setAttribute("d", `M${x0} ${y0}Q${(x0 + x1) / 2 + bend} ${(y0 + y1) / 2} ${x1} ${y1}`);
      path.setAttribute("class", css);
      return path;
    }));
  }
  function choose(id) {
    if (id === chosen) return;
    boxes.forEach((box) => box.removeAttribute("aria-describedby"));
    chosen = id;
    if (id) {
      show(id);
      boxOf(id)?.setAttribute("aria-describedby", "graph-says");
    }
    lines();
    remember();
  }
  function go(id) {
    if (!boxOf(id)) {
      const inside = view().querySelector(`a[data-id="${CSS.escape(id)}"]`);
      form.reset();
      if (inside) field("view").value = view().dataset.view;
      filter();
    }
    const box = boxOf(id);
    box?.focus();
    box?.scrollIntoView({ block: "nearest", inline: "nearest" });
    choose(id);
  }

  /* the filter: hides boxes of the map, makes those of a drawn chapter faint */
  function filter() {
    const asked = field("q").value.toLowerCase().split(/\s+/).filter(Boolean);
    const verdicts = new Set(legend.filter((tick) => tick.checked).map((tick) => `v-${tick.value}`));
    views.forEach((part) => { part.hidden = part !== view(); });
    let seen = 0;
    let all = 0;
    boxes.forEach((box) => {
      const claim = data[box.dataset.id];
      const fits = asked.every((word) => words[box.dataset.id].includes(word))
        && verdicts.has(box.classList[0])
        && (!field("known").value || claim.known.startsWith(field("known").value))
        && (!field("kind").value || box.classList.contains(`k-${field("kind").value}`));
      if (box.parentElement.tagName === "LI") box.parentElement.hidden = !fits;
      else box.classList.toggle("faint", !fits);
      if (view().contains(box)) {
        seen += fits;
        all += 1;
      }
    });
    root.querySelectorAll(".graph-map section").forEach((part) => {
      part.hidden = !part.querySelector("li:not([hidden])");
    });
    form.querySelector("output").textContent = `${seen} of ${all} claims shown`;
    map.classList.toggle("named", seen <= NAMED);
    settle();
    lines();
  }

  /* one stop of the tab key for the whole view, arrows within it */
  function settle(box) {
    const now = shown();
    const stop = box ?? now.find((b) => b.dataset.id === chosen) ?? now[0];
    boxes.forEach((b) => { b.tabIndex = b === stop ? 0 : -1; });
  }
  function nearest(box, across, down) {
    const middle = (b) => {
      const place = b.getBoundingClientRect();
      return [place.left + (down ? 0 : place.width / 2), place.top + place.height / 2];
    };
    const [x, y] = middle(box);
    const distance = (b) => {
      const [dx, dy] = [middle(b)[0] - x, middle(b)[1] - y];
      const [ahead, aside] = down ? [dy * down, dx] : [dx * across, dy];
      return ahead > 5 ? ahead * (down ? 100 : 1) + Math.abs(aside) : Infinity;
    };
    const [best] = shown().filter((b) => b !== box).map((b) => [distance(b), b])
      .sort(([a], [b]) => a - b);
    return best && best[0] < Infinity ? best[1] : null;
  }
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !card.hidden) {
      event.preventDefault();
      close();
      return;
    }
    const box = event.target.closest?.("a[data-id]");
    if (!box || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const now = shown();
    const rows = box.parentElement.tagName === "LI";
    const next = {
      ArrowRight: () => (rows ? now[now.indexOf(box) + 1] : nearest(box, 1, 0)),
      ArrowLeft: () => (rows ? now[now.indexOf(box) - 1] : nearest(box, -1, 0)),
      ArrowDown: () => nearest(box, 0, 1),
      ArrowUp: () => nearest(box, 0, -1),
      Home: () => now[0],
      End: () => now[now.length - 1],
    }[event.key];
    if (!next) return;
    event.preventDefault();
    next()?.focus();
  });

  /* a click or a tap chooses, a second one on the same box opens its page */
  let before = "";
  root.addEventListener("pointerdown", () => { before = chosen; });
  root.addEventListener("click", (event) => {
    const box = event.target.closest("a[data-id]");
    if (!box || event.ctrlKey || event.metaKey || event.shiftKey || !event.detail) return;
    if (before !== box.dataset.id) {
      event.preventDefault();
      choose(box.dataset.id);
    }
  });
  root.addEventListener("focusin", (event) => {
    const box = event.target.closest("a[data-id]");
    if (!box) return;
    from = box;
    settle(box);
    if (!closing) choose(box.dataset.id);
  });

  /* the address: #claim=thm-5.1&view=5&q=..., or #thm-5.1 alone */
  function remember() {
    const state = new URLSearchParams();
    if (chosen) state.set("claim", chosen);
    ["view", "q", "kind", "known"].forEach((name) => {
      if (field(name).value) state.set(name, field(name).value);
    });
    const off = legend.filter((tick) => !tick.checked).map((tick) => tick.value);
    if (off.length) state.set("without", off.join(" "));
    history.replaceState(null, "", `#${state}`);
  }
  function follow() {
    const hash = decodeURIComponent(location.hash.slice(1));
    if (hash && !hash.includes("=") && !Object.hasOwn(data, hash)) return;
    const state = new URLSearchParams(Object.hasOwn(data, hash) ? { claim: hash }
      : location.hash.slice(1));
    ["view", "q", "kind", "known"].forEach((name) => { field(name).value = state.get(name) ?? ""; });
    const off = (state.get("without") ?? "").split(" ");
    legend.forEach((tick) => { tick.checked = !off.includes(tick.value); });
    filter();
    const claim = state.get("claim");
    if (Object.hasOwn(data, claim)) go(claim);
  }

  form.addEventListener("input", () => {
    filter();
    if (chosen && !boxOf(chosen)) close(); // the panel says what is on the map
    remember();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", follow);
  new ResizeObserver(lines).observe(map);
  follow();
})();
