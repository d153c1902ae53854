/* What is copied has the TeX of its formulas, between dollars as in the notebooks; a selection that
   begins or ends within a formula takes the whole of it. */
(() => {
  const FORMULA = "div.math[data-tex], [data-inline]";
  const formulaOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement)?.closest(FORMULA);

  document.addEventListener("copy", (event) => {
    const selection = getSelection();
    if (selection.isCollapsed) return;
    const range = selection.getRangeAt(0).cloneRange();
    const [first, last] = [formulaOf(range.startContainer), formulaOf(range.endContainer)];
    if (first) range.setStartBefore(first);
    if (last) range.setEndAfter(last);
    const copied = document.createElement("div");
    copied.append(range.cloneContents());
    const formulas = copied.querySelectorAll(FORMULA);
    if (!formulas.length) return;
    for (const formula of formulas) {
      const { tex, inline } = formula.dataset;
      formula.textContent = tex ? `$$${tex}$$` : `$${inline}$`;
    }
    copied.className = "copied"; // laid out, so that its paragraphs are lines of their own
    document.body.append(copied);
    event.clipboardData.setData("text/plain", copied.innerText);
    event.clipboardData.setData("text/html", copied.innerHTML);
    copied.remove();
    event.preventDefault();
  });
})();
