/* A displayed formula or a table somewhat wider than its column is set smaller, so that it is seen
   whole; one that would become smaller than the text keeps its size and scrolls in its box. A picture
   that scrolls, on a phone, can be reached by the keyboard. */
(() => {
  const LEAST = 0.79; // displayed formulas are larger than the text by this
  const widths = new WeakMap();
  function fit(box) {
    const inner = box.querySelector("mjx-math, table");
    inner.style.fontSize = "";
    const share = 0.99 * box.clientWidth / box.scrollWidth;
    if (share < 0.99 && share >= LEAST) inner.style.fontSize = `${100 * share}%`;
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
