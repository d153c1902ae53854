/* On a phone the menu opens at this page, and the contents close once a section is chosen. */
(() => {
  const modal = (name) => document.getElementById(`pst-${name}-sidebar-modal`);
  const menu = modal("primary");
  if (menu) new MutationObserver(() => {
    if (menu.open) [...menu.querySelectorAll("li.current > a")].at(-1)?.scrollIntoView({ block: "center" });
  }).observe(menu, { attributeFilter: ["open"] });
  modal("secondary")?.addEventListener("click", (event) => {
    const { hash } = event.target.closest("a") ?? {};
    if (!hash) return;
    event.preventDefault(); // the page scrolls once nothing lies over it
    modal("secondary").close();
    location.hash = hash;
    document.getElementById(decodeURIComponent(hash.slice(1)))?.scrollIntoView();
  });
})();
