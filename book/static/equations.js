/* A displayed formula somewhat wider than its column is set smaller, so that it is seen whole; one
   that would become too small keeps its size and scrolls in its box. */
(() => {
  const LEAST = 0.7;
  const widths = new WeakMap();
  const observer = new ResizeObserver((entries) => entries.forEach(({ target }) => {
    const width = target.clientWidth;
    if (!width || widths.get(target) === width) return; // its height alone changed, or it is folded
    widths.set(target, width);
    const formula = target.querySelector("mjx-math");
    formula.style.fontSize = "";
    const share = 0.99 * width / target.scrollWidth;
    if (share < 0.99 && share >= LEAST) formula.style.fontSize = `${100 * share}%`;
  }));
  window.addEventListener("load", async () => {
    await window.MathJax?.startup?.promise;
    document.querySelectorAll('.bd-article mjx-container[display="true"]').forEach((box) => {
      observer.observe(box);
    });
  });
})();
