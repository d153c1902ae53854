/* Long pages: formulas are typeset once they are seen (without this script, or without MathJax, they
   stand there in plain letters), and a printed page has all that is folded. */
(() => {
  const waiting = new Set();
  let soon = null;
  async function typeset() {
    soon = null;
    const now = [...waiting];
    waiting.clear();
    const MathJax = await window.withMathJax();
    if (!MathJax) return;
    now.forEach((formula) => {
      formula.classList.replace("tex", "typeset");
      formula.textContent = `\\(${formula.dataset.tex}\\)`;
    });
    await MathJax.typesetPromise(now);
  }
  const observer = new IntersectionObserver((entries) => {
    entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => {
      observer.unobserve(target);
      waiting.add(target);
    });
    if (waiting.size && !soon) soon = setTimeout(typeset, 50);
  }, { rootMargin: "1500px" });
  window.showFormulas = (part) => {
    part.querySelectorAll(".tex").forEach((formula) => observer.observe(formula));
  };
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details:is(.ledger-part, .derivation *)")
      .forEach((part) => { part.open = true; });
  });
  window.addEventListener("load", () => window.showFormulas(document));
})();
