/* The ledger: find, filter and order its rows; the choice stands in the address. */
(() => {
  const form = document.getElementById("ledger-filter");
  const fields = [...form.elements].filter((field) => field.name);
  const groups = document.getElementById("ledger-groups");
  const parts = [...document.querySelectorAll("details.ledger-part")].map((part) => ({
    part, section: part.closest("section"),
  }));
  const bodies = [...document.querySelectorAll("table.ledger tbody")].map((body) => ({
    body, inOrder: [...body.rows],
  }));
  const rows = [...document.querySelectorAll("table.ledger tr[id]")].map((row) => ({
    row, id: row.id.replace("claim-", ""),
    text: `${row.id} ${row.textContent}`.toLowerCase(),
  }));
  const derivations = [...document.querySelectorAll("tr.derivation")]; // equations, folded
  const value = (name) => form.elements[name].value;

  /* groups by something else than the chapter have their tables made here */
  function order(by) {
    groups.replaceChildren();
    bodies.forEach(({ body, inOrder }) => body.replaceChildren(...inOrder));
    if (!by) return;
    const words = [...form.elements[by].options].map((option) => option.value).slice(1);
    [...words, ""].forEach((word) => {
      const found = rows.filter(({ row }) => row.dataset[by] === word);
      if (!found.length) return;
      const group = parts[0].part.cloneNode(true);
      group.querySelector("summary").textContent = `${word || "none"}: ${found.length} claims`;
      group.querySelector("tbody").replaceChildren(...found.map(({ row }) => row));
      groups.append(group);
    });
  }

  function filter() {
    const words = value("q").toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = ["verdict", "known", "slip"].filter(value);
    let seen = 0;
    rows.forEach(({ row, text }) => {
      row.hidden = !(words.every((word) => text.includes(word))
        && wanted.every((name) => row.dataset[name] === value(name)));
      seen += !row.hidden;
    });
    const asked = words.length + wanted.length > 0;
    const leftIn = (part) => part.querySelectorAll("tr[id]:not([hidden])").length;
    derivations.forEach((row) => {
      row.hidden = !leftIn(row);
      row.querySelector("details").open = asked && !row.hidden;
    });
    document.querySelectorAll("details.ledger-part").forEach((part) => {
      const left = leftIn(part);
      part.hidden = !left;
      part.open = asked && left > 0;
      part.querySelector("summary").dataset.shown = asked ? ` (${left} shown)` : "";
    });
    parts.forEach(({ part, section }) => { section.hidden = part.hidden; });
    form.querySelector("output").textContent = asked ? `${seen} of ${rows.length} claims` : "";
  }

  function remember() {
    const state = new URLSearchParams();
    fields.forEach(({ name, value: chosen }) => { if (chosen) state.set(name, chosen); });
    history.replaceState(null, "", `#${state}`.replace(/^#$/, " ").trim() || location.pathname);
  }

  /* the address: a choice (#q=eigengap&verdict=fails), or a row (#claim-thm-5.1, #thm-5.1) */
  function follow() {
    const hash = decodeURIComponent(location.hash.slice(1));
    const found = rows.find(({ row, id }) => hash === row.id || hash === id);
    if (!found && hash && !hash.includes("=")) return; // a heading
    const state = new URLSearchParams(found ? "" : location.hash.slice(1));
    fields.forEach((field) => { field.value = state.get(field.name) ?? ""; });
    order(value("by"));
    filter();
    if (!found) return;
    let within = found.row.closest("details");
    while (within) {
      within.open = true;
      within = within.parentElement.closest("details");
    }
    found.row.scrollIntoView({ block: "center" });
    rows.forEach(({ row }) => row.classList.toggle("chosen", row === found.row));
    found.row.querySelector("a").focus({ preventScroll: true });
  }

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => {
    if (event.target.name === "by") order(value("by"));
    filter();
    remember();
  });
  form.addEventListener("reset", () => setTimeout(() => { order(""); filter(); remember(); }));
  window.addEventListener("hashchange", follow);
  follow();
})();
