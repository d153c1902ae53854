// "Run here": a notebook's page runs its own cells, in Python in this browser.
//
// tools/browser_python.py puts Python beside the book and writes what this script has to know into
// its element. Nothing is loaded before the button is pressed, and nothing leaves the browser; only public
// data sets, where a cell wants one, come from elsewhere.

const here = document.querySelector("script[data-run-here]");
const knows = JSON.parse(here.dataset.runHere);
const base = new URL("python/", import.meta.url).href;
const size = knows.files.reduce((sum, file) => sum + (file.apart ? 0 : file.bytes), 0);
const MEMORY = "about 700 MB"; // of the tab, after a page's cells have run
const megabytes = bytes => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
const loading = (part = "") =>
  `Loading Python: ${part}${megabytes(size)}, kept for the next visit; it takes ${MEMORY} of memory …`;
const seconds = time => `${time.toFixed(time < 10 ? 1 : 0)} s`;

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function button(label, title, action) {
  const made = element("button", { type: "button", title }, label);
  made.addEventListener("click", action);
  return made;
}

// ---------------------------------------------------------------- what a cell shows

const box = (kind, ...children) => element("div", { className: `output ${kind}` }, ...children);

function plain(words, kind = "text_plain") {
  const block = element("div", { className: "highlight" }, element("pre", {}, words));
  return box(`${kind} highlight-none notranslate`, block);
}

// What a cell's own code made as HTML is shown as HTML, its scripts included, as in a notebook.
function markup(source) {
  const shown = box("text_html");
  shown.innerHTML = source;
  for (const old of shown.querySelectorAll("script")) {
    const script = element("script", { textContent: old.textContent });
    for (const { name, value } of old.attributes) script.setAttribute(name, value);
    old.replaceWith(script);
  }
  return shown;
}

// sympy writes $...$, which MathJax takes for a price on these pages; in a sentence it stays inline.
function formula(source) {
  const bare = source.trim().replace(/^(\$\$?)([^$]+)\1$/, "\\[$2\\]").replace(/\$([^$]+)\$/g, "\\($1\\)");
  return box("text_latex", element("div", { className: "math notranslate nohighlight" }, bare));
}

const IMAGES = ["image/svg+xml", "image/png", "image/jpeg"];

// An image takes the place, the words and the caption of the one that the book shows.
function picture(mime, data, width, stored) {
  const image = element("img", { alt: stored?.alt || "A figure that this cell has drawn." });
  if (width) image.width = width;
  const isText = mime === "image/svg+xml";
  const coded = isText ? `charset=utf8,${encodeURIComponent(data)}` : `base64,${data}`;
  image.src = `data:${mime};${coded}`;
  const isWide = stored?.closest(".wide-picture, picture");
  const shown = isWide ? element("div", { className: "wide-picture", tabIndex: 0 }, image) : image;
  const figure = stored?.closest("figure");
  if (!figure) return box("image_png", shown);
  const caption = figure.querySelector("figcaption")?.cloneNode(true) ?? "";
  return element("figure", { className: figure.className, id: figure.id }, shown, caption);
}

function rendered({ data, metadata }, stored) {
  if ("text/html" in data) return markup(data["text/html"]);
  for (const mime of IMAGES)
    if (mime in data) return picture(mime, data[mime], metadata[mime]?.width, stored);
  if ("text/latex" in data && (window.MathJax?.startup || document.querySelector("meta[name=mathjax]")))
    return formula(data["text/latex"]);
  return plain(data["text/markdown"] ?? data["text/plain"]);
}

function failure({ why, text }) {
  const trace = plain(text, "traceback");
  if (!why) return trace;
  const folded = element("details", {}, element("summary", {}, "What Python says"), trace);
  return box("run-here-why", element("p", {}, why), folded);
}

// As the page's own formulas are: set, and broken where they do not fit.
async function typeset(node) {
  if (!/\\[([]|\\begin/.test(node.textContent)) return;
  await (await window.withMathJax())?.typesetPromise([node]);
  window.fitFormulas?.(node);
}

// ---------------------------------------------------------------- colours of Python

const WORDS = "and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield None True False";
const TOKENS = new RegExp(
  [
    "(?<s>[bfru]{0,2}(?:\"\"\"[^]*?\"\"\"|'''[^]*?'''|\"(?:\\\\.|[^\"\\\\\\n])*\"|'(?:\\\\.|[^'\\\\\\n])*'))",
    "(?<c1>#.*)",
    `(?<k>\\b(?:${WORDS.replaceAll(" ", "|")})\\b)`,
    "(?<mi>\\b\\d[\\w.]*)",
  ].join("|"),
  "g",
);

function coloured(source) {
  const parts = [];
  let end = 0;
  for (const found of source.matchAll(TOKENS)) {
    const [kind] = Object.entries(found.groups).find(([, value]) => value !== undefined);
    parts.push(source.slice(end, found.index), element("span", { className: kind }, found[0]));
    end = found.index + found[0].length;
  }
  return [...parts, source.slice(end), "\n"];
}

// ---------------------------------------------------------------- cells

class Cell {
  constructor(element, number) {
    this.element = element;
    this.number = number;
    this.pre = element.querySelector(".cell_input pre");
    this.output = element.querySelector(".cell_output");
    this.code = [...this.pre.childNodes];
    this.stored = this.output ? [...this.output.childNodes] : [];
    this.images = this.output ? [...this.output.querySelectorAll("img")] : [];
    this.results = [];
    this.hasRun = false; // in the Python that is there now
    this.source = this.pre.textContent.replace(/\n$/, "");
    this.try = button("Run", "Run this cell, after those above", () => panel.start(this));
    this.try.className = "run-here-try";
    if (!knows.refused) element.querySelector(".cell_input").append(this.try);
    element.runHere = this; // for tests
  }

  // What a reader has changed is kept until the tab is closed, also on the way to another page.
  get kept() {
    return drafts.get(this.number, this.source);
  }

  change(source) {
    drafts.set(this.number, this.source, source);
    this.pre.replaceChildren(...(source === this.source ? this.code : coloured(source)));
    this.undo.hidden = source === this.source;
  }

  open() {
    if (this.editor) return;
    this.try.hidden = true;
    for (const folded of this.pre.querySelectorAll("details")) folded.open = true;
    this.area = element("textarea", {
      value: this.kept ?? this.source,
      spellcheck: false,
      autocapitalize: "off",
      autocomplete: "off",
      wrap: "off",
      rows: 1,
    });
    this.area.setAttribute("aria-label", `Code of cell ${this.number}; Shift and Enter run it`);
    this.area.addEventListener("input", () => {
      this.change(this.area.value);
      if (this.hasRun && this !== running) this.mark("stale", "changed, not run again");
    });
    this.area.addEventListener("keydown", event => this.key(event));
    const sheet = element("div", { className: "run-here-sheet" }); // as wide as its longest line
    this.editor = element("div", { className: "run-here-editor" }, sheet);
    this.pre.replaceWith(this.editor);
    sheet.append(this.pre, this.area);
    this.note = element("span", { className: "run-here-note" });
    this.undo = button("Undo", "Show the book's code of this cell again", () => {
      this.area.value = this.source;
      this.change(this.source);
    });
    this.bar = element(
      "div",
      { className: "run-here-bar" },
      button("Run", "Run this cell, after those above that have not run (Shift and Enter)", () =>
        run(this.wanted()),
      ),
      this.undo,
      this.note,
    );
    this.change(this.area.value);
    this.element.querySelector(".cell_input").append(this.bar);
    if (!this.output) {
      this.output = element("div", { className: "cell_output docutils container" });
      this.element.querySelector(".cell_input").after(this.output);
    }
  }

  // This cell and those above that have not run, which it may rest on.
  wanted() {
    return cells.slice(0, this.number).filter(cell => cell === this || !cell.hasRun);
  }

  close() {
    if (!this.editor) return;
    this.change(this.source);
    this.try.hidden = false;
    this.editor.replaceWith(this.pre);
    this.bar.remove();
    if (this.stored.length) this.output.replaceChildren(...this.stored);
    else this.output.remove();
    if (!this.stored.length) this.output = null;
    this.editor = null;
    this.mark("");
  }

  key(event) {
    if (event.key !== "Enter") return;
    if (event.shiftKey) {
      event.preventDefault();
      run(this.wanted());
      const next = cells.slice(this.number).find(cell => cell.area.checkVisibility());
      next?.area.focus();
    } else if (!event.ctrlKey && !event.altKey && !event.metaKey) {
      const before = this.area.value.slice(0, this.area.selectionStart);
      const line = before.slice(before.lastIndexOf("\n") + 1);
      const indent = line.match(/^ */)[0] + (/:\s*$/.test(line) ? "    " : "");
      event.preventDefault();
      document.execCommand("insertText", false, `\n${indent}`); // so that undo knows of it
    }
  }

  mark(state, words = "") {
    this.element.dataset.runHere = state;
    if (this.note) this.note.textContent = words;
  }

  // What is shown next; the first thing takes the place of what was there.
  add(message) {
    if (!this.results.length) this.output.replaceChildren();
    const last = this.results.at(-1);
    if (message.kind === "stream" && last?.kind === "stream" && last.name === message.name) {
      last.text += message.text;
      this.output.lastChild.querySelector("pre").textContent = last.text;
      return;
    }
    const shown = this.results.filter(({ data }) => IMAGES.some(mime => data?.[mime])).length;
    this.results.push(message);
    const nodes = {
      stream: () => plain(message.text, `stream ${message.name === "stderr" ? "stderr" : ""}`),
      show: () => rendered(message, this.images[shown]),
      error: () => failure(message),
    };
    const node = nodes[message.kind]();
    this.output.append(node);
    if (node.matches(".text_latex, .text_html")) void typeset(node);
  }

  done(time) {
    if (!this.results.length) this.output.replaceChildren();
    const failed = this.results.some(result => result.kind === "error");
    this.hasRun = true;
    this.mark(failed ? "failed" : "ran", failed ? "ended with an error" : `ran here in ${seconds(time)}`);
    return failed;
  }
}

// The tab's own storage; a private window may have none, or no room.
const storage = {
  get(name) {
    try {
      return sessionStorage.getItem(name);
    } catch {
      return null;
    }
  },
  set(name, value) {
    try {
      if (value === null) sessionStorage.removeItem(name);
      else sessionStorage.setItem(name, value);
    } catch {
      // what is changed lives as long as the page
    }
  },
};

// Changed sources, until the tab is closed.
const drafts = {
  name: number => `run-here ${knows.page} ${number}`,
  get(number, source) {
    const [of, changed] = JSON.parse(storage.get(this.name(number)) ?? "[]");
    return of === source ? changed : undefined; // of this edition of the cell
  },
  set(number, source, changed) {
    storage.set(this.name(number), source === changed ? null : JSON.stringify([source, changed]));
  },
};

const cells = [...document.querySelectorAll("article div.cell")]
  .filter(found => found.querySelector(".cell_input pre"))
  .map((found, index) => new Cell(found, index + 1));

// ---------------------------------------------------------------- Python, and who waits for it

let worker = null;
let isReady = false;
let isStarting = false; // all is loaded
let queue = [];
let running = null;
let count = { ran: 0, failed: 0 };

function launch() {
  const script = new URL("run-here-worker.js", import.meta.url);
  worker = new Worker(script, { type: "module" });
  worker.onerror = event => receive({ kind: "broken", text: event.message || "its script does not load" });
  worker.onmessage = ({ data }) => receive(data);
  worker.postMessage({ start: { base, page: knows.page, files: knows.files } });
  delete panel.section.dataset.network;
}

// Whatever it computes, at once. Before it is ready it ends by itself: a browser that ends it while it
// compiles may break down.
function dismiss() {
  if (!worker) return;
  worker.onmessage = worker.onerror = null;
  if (isReady) worker.terminate();
  else worker.postMessage({ quit: true });
}

// Python ends with its page. Who has run cells on the page before may do so here: then Python starts,
// and imports what the cells do, while they read.
const RAN = "run-here ran";
function expect() {
  const hasRun = storage.get(RAN);
  storage.set(RAN, null);
  if (!hasRun || navigator.connection?.saveData) return;
  const begin = () => {
    if (worker) return;
    launch();
    const sources = cells.map(cell => cell.source).join("\n");
    const names = [...sources.matchAll(/^(?:import|from) ([\w.]+)/gm)].map(found => found[1]);
    worker.postMessage({ warm: [...new Set(names)] });
  };
  (window.requestIdleCallback ?? setTimeout)(begin, { timeout: 2000 });
}

function run(wanted) {
  queue.push(...wanted.filter(cell => !queue.includes(cell)));
  for (const cell of queue) cell.mark("waiting", "waits");
  storage.set(RAN, "yes");
  if (!worker) launch();
  if (!isReady) panel.state("loading", isStarting ? "Python starts …" : loading());
  next();
}

function next() {
  if (!isReady || running) return;
  running = queue.shift() ?? null;
  if (!running && !count.ran) return;
  if (!running) {
    const what = count.ran === 1
      ? `The cell ${count.failed ? "stopped with an error" : "has run"}`
      : `${count.ran} cells have run${count.failed ? `, ${count.failed} stopped with an error` : ""}`;
    const left = cells.some(cell => !cell.hasRun);
    panel.state("done", `${what}. Change the code and run it again${left ? ", or run another cell" : ""}.`);
    count = { ran: 0, failed: 0 };
    return;
  }
  running.results = [];
  running.mark("running", "runs …");
  panel.state("running", `Cell ${running.number} of ${cells.length} runs …`);
  worker.postMessage({ run: running.area.value, name: `<cell ${running.number}>` });
}

function receive(message) {
  const kinds = {
    loaded: () => queue.length && panel.progress(message.loaded, message.total),
    fetching: () => running?.mark("running", `fetches ${new URL(message.address).pathname.split("/").at(-1)} …`),
    importing: () =>
      running && panel.state("running", `Cell ${running.number} of ${cells.length} imports ${message.name} …`),
    starting() {
      isStarting = true;
      if (queue.length) panel.state("starting", "Python starts …");
    },
    ready() {
      isReady = true;
      panel.section.dataset.network = message.fromNetwork; // bytes, for a test
      next();
    },
    done() {
      count.ran += 1;
      count.failed += running.done(message.seconds);
      running = null;
      next();
    },
    broken: () => end("broken", `Python has broken down: ${message.text}. Run a cell to start it again.`),
  };
  if (message.kind in kinds) return kinds[message.kind]();
  if (!running) return console.info(message.text); // what Python says while it starts
  running.add(message);
}

function end(state, words) {
  dismiss();
  for (const cell of queue) cell.mark("", "not run");
  for (const cell of cells) {
    if (cell.hasRun) cell.mark("stale", "its variables are gone");
    cell.hasRun = false;
  }
  running?.mark(running.results.length ? "" : "stale", "stopped: Python’s variables are gone");
  [worker, isReady, isStarting, queue, running] = [null, false, false, [], null];
  count = { ran: 0, failed: 0 };
  panel.state(state, words);
}

// ---------------------------------------------------------------- the panel

const STOPPED = "Stopped. Python's variables are gone: “Run” and “Run all” begin anew.";

class Panel {
  constructor() {
    this.words = element("p", { className: "run-here-words" });
    this.words.setAttribute("role", "status");
    this.bar = element("progress", { max: size, hidden: true });
    this.bar.setAttribute("aria-label", "Loading Python");
    this.buttons = {
      start: button("Run here", "Load Python and open the cells; they run up to the first result", () =>
        this.start(cells.find(cell => cell.stored.length) ?? cells[0]),
      ),
      all: button("Run all", "Run all cells from the first on", () => run(cells)),
      stop: button("Stop", "End Python; its variables are lost", () => end("stopped", STOPPED)),
      reset: button("Reset", "End Python and show the book's own code and results", () => this.reset()),
    };
    this.section = element(
      "section",
      { className: "run-here" },
      element("div", { className: "run-here-bar" }, ...Object.values(this.buttons), this.words),
      this.bar,
    );
    this.section.setAttribute("aria-label", "Run here");
    this.reset();
    this.place.after(this.section);
  }

  // Below the title; on the front page, which is read before it is run, below the first cell.
  get place() {
    const isFront = document.querySelector(".verdict-counts");
    return isFront ? cells[0].element : document.querySelector("article h1");
  }

  start(cell) {
    for (const each of cells) each.open();
    run(cell.wanted());
  }

  reset() {
    if (worker) end("idle", "");
    for (const cell of cells) cell.close();
    this.state("idle", "");
    const licences = element("a", { href: `${base}LICENSES.txt` }, "free software");
    const changed = cells.filter(cell => cell.kept !== undefined).length;
    this.words.replaceChildren(
      changed ? `What you changed on this page is kept (${changed}): “Run here” shows it. ` : "",
      "Change the cells of this page and run them in your browser, with ",
      licences,
      ". ",
      knows.data.length ? "Some cells fetch public data sets, by their pinned addresses on GitHub." : "",
    );
  }

  state(name, words) {
    const held = document.activeElement;
    this.section.dataset.state = name;
    this.words.textContent = words;
    const isIdle = name === "idle";
    const isBusy = ["loading", "starting", "running"].includes(name);
    this.buttons.start.hidden = !isIdle;
    this.buttons.all.hidden = isIdle || isBusy;
    this.buttons.stop.hidden = !isBusy;
    this.buttons.reset.hidden = isIdle;
    this.bar.hidden = !["loading", "starting"].includes(name);
    if (held?.hidden && this.section.contains(held))
      Object.values(this.buttons).find(one => !one.hidden).focus({ preventScroll: true });
  }

  progress(loaded, total) {
    this.bar.value = Math.min(loaded, total); // more where a server has expanded a file itself
    const tenths = Math.floor((10 * this.bar.value) / total);
    if (this.section.dataset.state !== "loading" || tenths === this.tenths) return;
    this.tenths = tenths; // what is read out changes ten times
    this.words.textContent = loading(`${megabytes(this.bar.value)} of `);
  }
}

let panel;
if (knows.refused) {
  const words = `These cells do not run in the browser: ${knows.refused}`;
  document.querySelector("article h1").after(element("p", { className: "run-here run-here-words" }, words));
} else {
  panel = new Panel();
  expect();
  // a page that the browser keeps for the way back does not go on computing
  window.addEventListener("pagehide", () => {
    if (!worker) return;
    if (panel.section.dataset.state === "idle") panel.reset();
    else end("stopped", STOPPED);
  });
}
