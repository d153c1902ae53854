/* A displayed formula that is wider than its column is broken where an author would break it: reasons
   and \qquad first, then relations, then sums; as few lines as fit. `brokenFormula(tex, fits)` gives
   the TeX of the broken one, or null; `fits(line)` says whether a line is narrow enough. */
(() => {
  const TOKEN = /:=|\\[a-zA-Z]+|\\[^]|[^]/gu;
  const SPACE = /(?:\\[,;:! ]|\s)+$/;
  const BRACKETS = { "(": 1, "[": 1, "\\{": 1, "\\langle": 1, ")": -1, "]": -1, "\\}": -1, "\\rangle": -1 };
  const GROUPS = { "{": 1, "\\left": 1, "\\begin": 1, "}": -1, "\\right": -1, "\\end": -1 };
  const RELATIONS = new Set(["=", ":=", "<", ">", ..."le leq ge geq ne neq approx sim to propto equiv ll gg iff mapsto"
    .split(" ").map((name) => `\\${name}`), "\\Rightarrow", "\\Longrightarrow", "\\longrightarrow"]);
  const BEFORE_A_NUMBER = new Set([...RELATIONS, undefined, ..."( [ , ; & + - ^ _ | \\| \\{ \\cdot \\times \\quad \\qquad"
    .split(" ")]);
  const isSum = (token, before) => (token === "+" || token === "-")
    && !BEFORE_A_NUMBER.has(before.replace(SPACE, "").match(TOKEN)?.at(-1));
  const isText = (token) => token === "\\text";

  /* The parts between breaks inside `deep` brackets at most: a break is left out, or begins a part. */
  function parts(tex, isBreak, kept, deep = 0) {
    const found = [""];
    let brackets = 0;
    let groups = 0;
    let skip = false; // the delimiter of \left or \right
    for (const token of tex.match(TOKEN) ?? []) {
      const here = !groups && brackets <= deep && isBreak(token, found.at(-1));
      groups += GROUPS[token] ?? 0;
      if (!skip) brackets = Math.max(0, brackets + (BRACKETS[token] ?? 0));
      skip = token === "\\left" || token === "\\right";
      if (here) found.push(kept ? token : "");
      else found[found.length - 1] += token;
    }
    return isBreak === isText ? found : found.map((part) => part.replace(SPACE, "").trim());
  }

  const WAYS = [
    { at: (token) => token === "\\qquad", join: " \\qquad ", indent: "" },
    { at: (token) => token === "\\quad", join: " \\quad ", indent: "" },
    { at: (token) => RELATIONS.has(token), kept: true, join: " ", indent: "\\quad{}" },
    { at: isSum, kept: true, join: " ", indent: "\\qquad{}" },
    { at: isSum, kept: true, join: " ", indent: "\\qquad{}", deep: 1 },
    { at: isText, kept: true, join: "", indent: "\\qquad " },
  ];

  const REASON = "\\qquad "; // how far a reason stands to the right, each of its lines

  function lines(tex, fits, way, indent) {
    if (fits(indent + tex) || way === WAYS.length) return [indent + tex];
    const { at, kept, join, indent: deeper, deep } = WAYS[way];
    const words = (_, text) => text.match(/\S*\s*/g).filter(Boolean).map((word) => `\\text{${word}}`).join("");
    if (at === isText) tex = tex.replace(/\\text\{([^{}$]*)\}/g, words);
    const blank = /^(?:\\q?quad(?![a-zA-Z])|\s)*$/;
    const pieces = parts(tex, at, kept, deep).filter((piece) => !blank.test(piece));
    if (pieces.length < 2) return lines(tex, fits, way + 1, indent);
    const found = [];
    let line = "";
    const margin = () => (found.length && indent !== REASON && deeper) || indent;
    const flush = () => {
      if (line) found.push(...lines(line, fits, way + 1, margin()));
      line = "";
    };
    /* A short left side stays beside the beginning of what is broken further. */
    const begins = (piece) => kept && !fits(margin() + piece) && way + 1 < WAYS.length
      && fits(margin() + line + join + parts(piece, WAYS[way + 1].at, true).find(Boolean));
    for (const piece of pieces) {
      if (line && !fits(margin() + line + join + piece) && !begins(piece)) flush();
      line = line ? line + join + piece : piece;
    }
    flush();
    return found;
  }

  window.brokenFormula = (tex, fits) => {
    const [tag = "", star, number] = tex.match(/\\tag(\*?)\{((?:[^{}]|\{[^{}]*\})*)\}/) ?? [];
    const bare = tex.replace(tag, "").replace(/\\(?:begin|end)\{(?:equation\*?|split)\}/g, "").trim();
    const inner = bare.match(/^\\begin\{(align(?:ed|\*)?)\}([^]*)\\end\{\1\}$/)?.[2] ?? bare;
    const rows = parts(inner, (token) => token === "\\\\", false, Infinity)
      .map((row) => row.replace(/^\[[-\d.]+\s*[a-z]{2}\]\s*/, "")).filter(Boolean);
    const broken = rows.flatMap((row) => {
      const [left, right = "", ...reasons] = parts(row, (token) => token === "&", false, Infinity);
      const main = lines(`${left} ${right}`.trim(), fits, 0, left || rows.length === 1 ? "" : "\\quad{}");
      const within = (line) => fits(`(${line})`);
      const told = reasons.filter(Boolean).flatMap((reason) => lines(reason, within, 0, REASON));
      if (!told.length) return main;
      told[0] = told[0].replace(REASON, `${REASON}(`);
      return [...main, ...told.slice(0, -1), `${told.at(-1)})`];
    });
    const found = broken.map((line) => `\\displaystyle ${line}`);
    if (tag) found.push(`\\hfill\\text{${star ? number : `(${number})`}}`);
    return found.length < 2 ? null : `\\begin{array}{l}${found.join("\\\\[.3em]")}\\end{array}`;
  };
})();
