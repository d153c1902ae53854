/* A displayed formula or a table somewhat wider than its column is set smaller, a table with less room
   between its columns too, so that it is seen whole; what would become too small keeps its size and
   scrolls in its box. A picture that scrolls, on a phone, can be reached by the keyboard. */
(() => {
  const LEAST = { FORMULA: 0.79, TABLE: 0.75 }; // displayed formulas are larger than the text by this
  const widths = new WeakMap();
  function fit(box) {
    const inner = box.querySelector("mjx-math, table");
    const least = LEAST[inner.tagName] ?? LEAST.FORMULA;
    inner.style.fontSize = "";
    inner.classList.remove("tight");
    if (box.scrollWidth <= box.clientWidth) return;
    inner.classList.add("tight");
    const share = 0.99 * box.clientWidth / box.scrollWidth;
    if (share < least) inner.classList.remove("tight");
    else if (share < 0.99) inner.style.fontSize = `${100 * share}%`;
  }
  const observer = new ResizeObserver((entries) => entries.forEach(({ target }) => {
    const width = target.clientWidth;
    if (!width || widths.get(target) === width) return; // its height alone changed, or it is folded
    widths.set(target, width);
    if (!target.matches(".wide-picture")) fit(target);
    else if (target.scrollWidth > width) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }));
  const watch = (found) => document.querySelectorAll(found).forEach((box) => observer.observe(box));
  window.addEventListener("load", async () => {
    watch(".wide-picture, .bd-article .text_html > div:has(> table)");
    await window.MathJax?.startup?.promise;
    watch('.bd-article mjx-container[display="true"]');
  });
})();
