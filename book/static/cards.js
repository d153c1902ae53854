/* Over a link to a claim: a card with what the claim says and its verdict, read from its own page; over
   one to a formula or figure of the page, that. The card can be pointed at, goes with Escape, and comes
   for the keyboard's focus as well. */
(() => {
  // not where the page itself says as much: in the graph's panel, beside an erratum, in the ledger's rows
  const CLAIM = 'article a[href*="claims/"]:not(.claims-graph a, .erratum a, .ledger td:first-child a)';
  const HERE = 'article a:is([href^="#equation-"], [href^="#figure-"])';
  const CITED = 'article a[href*="references.html#"]';
  const LINK = location.protocol === "file:" ? HERE : `${CLAIM}, ${CITED}, ${HERE}`; // no file can read another
  const WAIT = 250; // milliseconds that the pointer has to rest
  const pages = new Map();
  let card, shown, timer;

  /* Of a claim's page what it says; of the references the one that is meant. */
  function said(address) {
    if (!pages.has(address)) pages.set(address, fetch(address).then(async (answer) => {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      page.querySelectorAll(".headerlink").forEach((link) => link.remove());
      const [, id] = address.split("#");
      return [...page.querySelectorAll(id ? `[id="${id}"] > :is(h2, p)`
        : "#claim > :is(h1, .claim-verdict, .claim-says, .math)")];
    }).catch(() => {
      pages.delete(address); // the next time it may be there
      return [];
    }));
    return pages.get(address);
  }

  /* A copy of the formula, or of the picture above the caption. */
  function there(address) {
    const target = document.querySelector(address);
    const cell = target?.matches(".figure-caption") && target.previousElementSibling;
    const shown = cell ? cell.querySelector(":is(img, svg):not(button *)") : target;
    const part = document.createElement("div");
    if (shown) part.append(shown.cloneNode(true));
    part.querySelectorAll("[id]").forEach((copy) => copy.matches("svg *") || copy.removeAttribute("id"));
    return shown ? [part] : [];
  }

  function hide() {
    clearTimeout(timer);
    card?.remove();
    shown?.removeAttribute("aria-describedby");
    card = shown = undefined;
  }

  async function show(link) {
    const address = link.getAttribute("href");
    const elsewhere = new URL(address, location);
    if (!link.matches(CITED)) elsewhere.hash = "";
    const parts = address.startsWith("#") ? there(address) : await said(elsewhere.href);
    if (shown !== link || !parts.length) return;
    card = document.createElement("div");
    Object.assign(card, { id: "claim-card", className: "claim-card" });
    card.setAttribute("role", "tooltip");
    for (const part of parts) {
      const line = document.createElement("p");
      if (part.matches(".math")) line.className = "math";
      line.append(...part.cloneNode(true).childNodes);
      card.append(line);
    }
    card.addEventListener("mouseleave", hide);
    document.body.append(card);
    if (/\\[([]/.test(card.textContent)) await (await window.withMathJax())?.typesetPromise([card]);
    if (shown !== link) return;
    link.setAttribute("aria-describedby", card.id);
    const at = link.getBoundingClientRect();
    const left = Math.min(at.left, document.documentElement.clientWidth - card.offsetWidth - 8);
    const below = at.bottom + card.offsetHeight < innerHeight;
    card.style.left = `${scrollX + Math.max(8, left)}px`;
    card.style.top = `${scrollY + (below ? at.bottom : at.top - card.offsetHeight)}px`;
  }

  function ask({ target }) {
    const link = target.closest?.(LINK);
    if (!link || link === shown) return;
    hide();
    shown = link;
    timer = setTimeout(show, WAIT, link);
  }

  function leave({ target, relatedTarget }) {
    if (target.closest?.(LINK) && !card?.contains(relatedTarget)) hide();
  }

  if (matchMedia("(hover: hover)").matches) {
    document.addEventListener("mouseover", ask);
    document.addEventListener("mouseout", leave);
  }
  document.addEventListener("focusin", ask);
  document.addEventListener("focusout", leave);
  document.addEventListener("keydown", ({ key }) => key === "Escape" && hide());
})();
