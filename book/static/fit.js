/* A displayed formula that is wider than its column is set smaller, down to a size that can be read;
   what is wider still scrolls in its own box. */
(() => {
  const SMALLEST = 0.65;
  const fit = (box) => {
    const room = box.clientWidth;
    if (!room || box.dataset.room === `${room}`) return;
    box.dataset.room = room;
    box.style.fontSize = "";
    const parts = [box, ...box.querySelectorAll("mjx-container")];
    const share = Math.min(...parts.map((part) => part.clientWidth / part.scrollWidth));
    if (share < 1) box.style.fontSize = `${100 * Math.max(SMALLEST, 0.99 * share)}%`;
  };
  const seen = new ResizeObserver((boxes) => boxes.forEach(({ target }) => fit(target)));
  window.addEventListener("load", async () => {
    if (!window.MathJax?.startup) return;
    await window.MathJax.startup.promise;
    document.querySelectorAll("div.math").forEach((box) => seen.observe(box));
  });
})();
