/* Formulas as HTML: from the standard input [[TeX, whether displayed], ...], to the standard output
   {formulas, sheet}. A displayed one that is wide comes with another one that is broken for a phone, as
   book/static/breaks.js does it on a page. The first argument is the folder of MathJax's components. */
const folder = require("path").resolve(process.argv[2]);
const wanted = JSON.parse(require("fs").readFileSync(0, "utf8"));
const SCALE = 1.18; // of letters in formulas, beside those of the text: tools/typeset.py
const ROOM = 320 / (0.81 * 16 * SCALE); // em, in a box on a phone, set as small as fit.js sets it
const TAG = 5;
globalThis.window = {};
require("../book/static/breaks.js");

(async () => {
  const MathJax = await require(`${folder}/node-main.js`).init({
    loader: {
      paths: { mathjax: folder },
      load: ["input/tex-full", "output/chtml", "adaptors/liteDOM", "a11y/assistive-mml"],
      versionWarnings: false,
    },
    chtml: { fontURL: "output/chtml/fonts/woff-v2" }, // from the sheet, which lies beside it
    startup: { typeset: false },
  });
  const { adaptor, document: page } = MathJax.startup;
  const made = (tex, display) => adaptor.outerHTML(MathJax.tex2chtml(tex, { display }));
  function width(tex) {
    const formula = new page.options.MathItem(tex, page.inputJax[0], true);
    formula.setMetrics(16, 8, 1e6, 1e6, 1);
    formula.compile(page);
    return page.outputJax.getBBox(formula, page).w;
  }
  function whole(tex) {
    const bare = tex.replace(/\\tag\*?\{(?:[^{}]|\{[^{}]*\})*\}/, "");
    const isWide = width(bare) > ROOM - (bare === tex ? 0 : TAG);
    const broken = isWide ? window.brokenFormula(tex, (line) => width(line) <= ROOM) : null;
    return [made(tex, true), broken, broken && made(broken, true)];
  }
  const formulas = wanted.map(([tex, display]) => (display ? whole(tex) : [made(tex, false)]));
  process.stdout.write(JSON.stringify({ formulas, sheet: adaptor.textContent(MathJax.chtmlStylesheet()) }));
})();
