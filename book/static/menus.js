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

  // In the sidebar the record's pages stand by chapter of the thesis; that of this page is open.
  const index = [...document.querySelectorAll(".bd-links li > a")].find(({ href }) => /\/record\/index\.html$|\/record\/index$/.test(href));
  const chapters = new Map();
  for (const item of index?.closest("li").querySelectorAll(":scope > details > ul > li") ?? []) {
    const [, place] = /\/record\/([1-7]|[A-D](?=\.))?/.exec(item.querySelector("a").href) ?? [];
    const name = place ? `${place > 0 ? "Chapter" : "Appendix"} ${place}` : "The papers, and since";
    if (!chapters.has(name)) {
      const list = Object.assign(document.createElement("ul"), { className: "nav bd-sidenav" });
      const folded = Object.assign(document.createElement("details"), { className: "record-chapter" });
      folded.append(Object.assign(document.createElement("summary"), { textContent: name }), list);
      const group = document.createElement("li");
      group.append(folded);
      item.before(group);
      chapters.set(name, list);
    }
    chapters.get(name).append(item);
    if (!item.matches(".current")) continue;
    chapters.get(name).parentElement.open = true;
    const above = document.querySelector('ul.bd-breadcrumbs a[href$="index.html"]:not([aria-label])');
    if (above) above.textContent += `: ${name}`;
  }

  // A page without one above it stands in its group; the sidebar shows where it is.
  const here = [...document.querySelectorAll(".bd-links li.current > a")].at(-1);
  const crumbs = document.querySelectorAll("ul.bd-breadcrumbs > li");
  if (here && crumbs.length === 2) {
    const above = document.createElement("li");
    above.className = "breadcrumb-item";
    above.textContent = here.closest(".bd-links ul.bd-sidenav:not(li ul)").previousElementSibling.textContent;
    crumbs[1].before(above);
  }
  window.addEventListener("load", () => {
    const sidebar = here?.closest(".bd-sidebar-primary");
    const { top, bottom } = here?.getBoundingClientRect() ?? {};
    if (sidebar && (top < 60 || bottom > innerHeight)) sidebar.scrollTop += top - innerHeight / 2;
  });
})();
