/* A displayed formula or a table somewhat wider than its column is set smaller, a table with less room
   between its columns too, so that it is seen whole. A formula that would become too small is broken
   (breaks.js); what does not fit even so keeps its size and scrolls in its box. A picture that
   scrolls, on a phone, can be reached by the keyboard. */
(() => {
  const LEAST = { FORMULA: 0.79, TABLE: 0.75 }; // displayed formulas are larger than the text by this
  const widths = new WeakMap();
  function fit(box) {
    const inner = box.querySelector("mjx-math, table");
    const least = LEAST[inner.tagName] ?? LEAST.FORMULA;
    inner.style.fontSize = "";
    inner.classList.remove("tight");
    if (box.scrollWidth <= box.clientWidth) return box;
    inner.classList.add("tight");
    const share = 0.99 * box.clientWidth / box.scrollWidth;
    if (share < least) inner.classList.remove("tight");
    else if (share < 0.99) inner.style.fontSize = `${100 * share}%`;
    return box;
  }

  /* MathJax, or nothing where it is not to be had. A page whose formulas were typeset when the book was
     built loads it here, for what is new. */
  let loading;
  window.withMathJax = async () => {
    const src = document.querySelector('meta[name="mathjax"]')?.content;
    if (src) loading ??= new Promise((done) => {
      window.MathJax = { ...window.MathJax, startup: { typeset: false } };
      document.head.append(Object.assign(document.createElement("script"), { src, onload: done, onerror: done }));
    });
    await loading;
    await window.MathJax?.startup?.promise;
    return window.MathJax?.startup && window.MathJax;
  };

  const whole = new WeakMap(); // by what holds a formula that is broken, the formula as it was written
  function typeset(tex, metrics) {
    const { MathJax } = window;
    const made = MathJax.tex2chtml(tex, { ...metrics, display: true });
    MathJax.startup.document.clear().updateDocument(); // its sheet knows the letters now
    return made;
  }
  /* Whether a line is at most as wide as a box is, once set as small as may be. */
  function measure(box) {
    const trial = box.parentElement.appendChild(document.createElement("div"));
    trial.className = "trial";
    const metrics = window.MathJax.getMetricsFor(trial, true);
    const width = (tex) => {
      trial.replaceChildren(typeset(tex, metrics));
      return trial.querySelector("mjx-math").getBoundingClientRect().width;
    };
    const room = box.clientWidth / (1.03 * LEAST.FORMULA);
    return { fits: (line) => width(line) <= room, metrics, done: () => trial.remove() };
  }
  async function broken(box) {
    const home = box.parentElement;
    if (whole.has(home)) box.replaceWith(box = whole.get(home));
    delete home.dataset.broken;
    fit(box);
    if (box.scrollWidth <= box.clientWidth || !home.dataset.tex) return box;
    const ready = home.querySelector(":scope > template");
    if (ready) {
      const made = show(ready.content.firstElementChild.cloneNode(true), ready.dataset.tex);
      if (made.scrollWidth <= made.clientWidth) return made;
      made.replaceWith(box);
    }
    if (!await window.withMathJax() || box.parentElement !== home) return box;
    const { fits, metrics, done } = measure(box);
    const tex = window.brokenFormula(home.dataset.tex, fits);
    done();
    if (!tex) return box;
    return show(typeset(tex, metrics), tex);

    function show(made, tex) {
      whole.set(home, box);
      home.dataset.broken = tex;
      box.replaceWith(made);
      return fit(made);
    }
  }
  const observer = new ResizeObserver((entries) => entries.forEach(({ target }) => {
    const width = target.clientWidth;
    if (!width || widths.get(target) === width) return; // its height alone changed, or it is folded
    widths.set(target, width);
    if (target.matches("mjx-container")) {
      broken(target).then((box) => {
        if (box === target) return;
        widths.set(box, box.clientWidth);
        observer.unobserve(target);
        observer.observe(box);
      });
    } else if (!target.matches(".wide-picture")) fit(target);
    else if (target.scrollWidth > width) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }));
  const watch = (found, part = document) => part.querySelectorAll(found).forEach((box) => observer.observe(box));
  window.fitFormulas = (part) => {
    for (const { math, display, typesetRoot } of window.MathJax?.startup?.document?.math ?? []) {
      if (!display && typesetRoot) typesetRoot.dataset.inline ??= math;
      if (display && typesetRoot?.parentElement) typesetRoot.parentElement.dataset.tex ??= math;
    }
    watch('mjx-container[display="true"]', part);
  };
  /* A formula within a sentence that is wider than its column, on a phone, is set smaller too. */
  function fitWords() {
    if (innerWidth >= 600) return;
    const words = [...document.querySelectorAll('.bd-article mjx-container:not([display="true"])')];
    const width = (box) => box.querySelector("mjx-math").getBoundingClientRect().width;
    const wide = words.map((box) => [box, box.getBoundingClientRect().width / width(box)]).filter(([, share]) => share < 0.99);
    for (const [box, share] of wide) box.style.fontSize = `${1.18 * Math.max(0.7, 0.98 * share)}em`;
    for (const box of words) if (box.scrollWidth > box.clientWidth) box.tabIndex = 0; // by keys, too
  }
  /* A line of code that goes on below, on a phone, goes on further in. */
  function hang(part) {
    let line = null;
    for (const node of [...part.childNodes]) {
      if (node.matches?.("details, summary")) {
        line = null;
        hang(node);
        continue;
      }
      const pieces = node.nodeType === Node.TEXT_NODE ? node.data.split(/(?<=\n)/) : [node];
      for (const piece of pieces) {
        if (!line) node.before((line = Object.assign(document.createElement("span"), { className: "line" })));
        line.append(piece);
        line.style.setProperty("--indent", `${line.textContent.match(/^ */)[0].length + 2}ch`);
        if (piece === node ? node.textContent.endsWith("\n") : piece.endsWith("\n")) line = null;
      }
      if (node.nodeType === Node.TEXT_NODE) node.remove();
    }
  }
  if (innerWidth < 600) document.querySelectorAll(".cell_input .highlight > pre").forEach(hang);
  /* what a cell prints in columns keeps them, and moves sideways where they do not fit */
  for (const printed of document.querySelectorAll(".cell_output pre"))
    if (printed.textContent.match(/\S {2,}\S/g)?.length > 1) printed.classList.add("in-columns");
  window.addEventListener("load", async () => {
    if (!window.MathJax?.startup) document.documentElement.classList.add("untypeset"); // TeX is read
    watch(".wide-picture, .bd-article .text_html > div:has(> table)");
    await window.MathJax?.startup?.promise;
    window.fitFormulas(document);
    fitWords();
  });
})();
