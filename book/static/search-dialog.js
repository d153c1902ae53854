/* Ctrl K: what is found is shown while one types. The search is loaded with the first letter. */
(() => {
  const field = document.querySelector("#pst-search-dialog input");
  if (!field || location.protocol === "file:" || document.getElementById("search-results")) return;
  const root = document.documentElement.dataset.content_root;
  const output = Object.assign(document.createElement("div"), { className: "search-found" });
  const close = Object.assign(document.createElement("button"), { type: "button", className: "search-close", textContent: "×" });
  close.setAttribute("aria-label", "Close the search");
  close.addEventListener("click", () => close.closest("dialog").close());
  field.form.append(close);
  const script = (name) => new Promise((resolve, reject) => {
    const src = `${root}_static/${name}`;
    document.head.append(Object.assign(document.createElement("script"), { src, onload: resolve, onerror: reject }));
  });
  const NAMES = ["language_data.js", "minisearch.js", "search-records.js", "search.js"];
  let loaded;
  field.addEventListener("input", async () => {
    loaded ??= NAMES.reduce((before, name) => before.then(() => script(name)), Promise.resolve());
    try {
      await loaded;
    } catch {
      return; // no such search in this book: Enter leads to the one that it has
    }
    if (!output.isConnected) field.form.after(output);
    window.showFound(field.value, output, root);
  });
  /* arrows go through what is found, and back to the field */
  document.getElementById("pst-search-dialog").addEventListener("keydown", (event) => {
    const stops = [field, ...output.querySelectorAll("a")];
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    stops[Math.max(0, Math.min(stops.length - 1, stops.indexOf(document.activeElement) + by))].focus();
  });
})();
