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

  const authored = new WeakMap(); // by formula, the TeX before it was broken
  function typeset(item, tex) {
    const { STATE } = window.MathJax._.core.MathItem;
    item.math = tex;
    item.rerender(window.MathJax.startup.document, STATE.COMPILED);
    return item.typesetRoot;
  }
  /* Whether a line is at most as wide as a box is, once set as small as may be. */
  function measure(box) {
    const trial = box.parentElement.appendChild(document.createElement("div"));
    trial.className = "trial";
    const metrics = { ...window.MathJax.getMetricsFor(trial, true), display: true };
    const width = (tex) => {
      trial.replaceChildren(window.MathJax.tex2chtml(tex, metrics));
      return trial.querySelector("mjx-math").getBoundingClientRect().width;
    };
    const room = box.clientWidth / (1.03 * LEAST.FORMULA);
    return { fits: (line) => width(line) <= room, done: () => trial.remove() };
  }
  function broken(box) {
    const formula = window.MathJax.startup.document.getMathItemsWithin(box.parentElement)
      .find(({ typesetRoot }) => typesetRoot === box);
    if (!formula) return fit(box);
    if (authored.has(formula)) box = typeset(formula, authored.get(formula));
    fit(box);
    if (box.scrollWidth <= box.clientWidth) return box;
    const { fits, done } = measure(box);
    const tex = window.brokenFormula(formula.math, fits);
    done();
    if (!tex) return box;
    if (!authored.has(formula)) authored.set(formula, formula.math);
    return fit(typeset(formula, tex));
  }
  const observer = new ResizeObserver((entries) => entries.forEach(({ target }) => {
    const width = target.clientWidth;
    if (!width || widths.get(target) === width) return; // its height alone changed, or it is folded
    widths.set(target, width);
    if (target.matches("mjx-container")) {
      const box = broken(target);
      if (box === target) return;
      widths.set(box, width);
      observer.unobserve(target);
      observer.observe(box);
    } else if (!target.matches(".wide-picture")) fit(target);
    else if (target.scrollWidth > width) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }));
  const watch = (found, part = document) => part.querySelectorAll(found).forEach((box) => observer.observe(box));
  window.fitFormulas = (part) => watch('mjx-container[display="true"]', part);
  /* A formula within a sentence that is wider than its column, on a phone, is set smaller too. */
  function fitWords() {
    if (innerWidth >= 600) return;
    const wide = [...document.querySelectorAll('.bd-article mjx-container:not([display="true"])')]
      .filter((box) => box.scrollWidth > box.clientWidth + 1);
    for (const box of wide) box.style.fontSize = `${100 * Math.max(0.7, 0.98 * box.clientWidth / box.scrollWidth)}%`;
  }
  window.addEventListener("load", async () => {
    if (!window.MathJax?.startup) document.documentElement.classList.add("untypeset"); // TeX is read
    watch(".wide-picture, .bd-article .text_html > div:has(> table)");
    await window.MathJax?.startup?.promise;
    window.fitFormulas(document);
    fitWords();
  });
})();
