// Search as one types: sections and claims, ranked by MiniSearch; Sphinx's stemmer and stop words.

const SKIPPED = new Set([...stopwords, ..."how do does can i we my our you your me what which".split(" ")]);
// One thing, several words: each of them finds what says the others.
const ALIKE = [
  ["sigma", "σ", "bandwidth"],
  ["lambda", "λ", "weight"],
  ["new", "unseen", "sample"],
  ["install", "pip", "environment"],
  ["csv", "table", "file"],
  ["fast", "speed", "time"],
  ["save", "store", "pickle", "export"],
  ["column", "feature", "variable"],
  ["thm", "theorem"],
  ["lem", "lemma"],
  ["eq", "equation"],
  ["missing", "nan", "impute"],
];
// A page that explains comes before one that proves or lists, a how-to before all.
const WEIGHT = { howto: 1.3, reference: 0.75, record: 0.35, claim: 0.35, list: 0.35, references: 0.35 };
const WHOLE = 1.25; // a page itself comes before one of its sections
const NAMED = 3; // a claim that is called by its name
const BEST = 3; // pages shown before the others, which stand in groups
const A_GROUP = 6;
const A_PAGE = 3; // sections of one page
// Claims come last: there are a thousand, and their names hold many a word.
const GROUPS = [
  ["On your own data", /^howto$/],
  ["The course", /^(?:ch\d+|intro)$/],
  ["Reference", /^(?!(?:howto|ch\d+|intro|record|list|claim)$)/],
  ["The record", /^(?:record|list)$/],
  ["Claims", /^claim$/],
];

const stemmer = new Stemmer();
const tokens = text => text.toLowerCase().match(/[\p{L}\p{N}]+(?:[.\-'][\p{L}\p{N}]+)*/gu) ?? [];
const stem = word => (/\d/.test(word) ? word : stemmer.stemWord(word));
const parts = text => tokens(text).flatMap(word => (/[-']/.test(word) ? [word, ...word.split(/[-']/)] : [word]));

const index = new MiniSearch({
  fields: ["title", "heading", "also", "text"],
  tokenize: parts,
  processTerm: word => (SKIPPED.has(word) ? null : stem(word)),
});
index.addAll(RECORDS.map((record, id) => ({ id, ...record })));

// For each word of a question the words that mean the same.
function concepts(question) {
  const words = parts(question).filter(word => !SKIPPED.has(word));
  return words.map(word => {
    const group = ALIKE.find(group => group.map(stem).includes(stem(word)));
    return { word, terms: [...new Set([stem(word), ...(group ?? []).map(stem)])] };
  });
}

// The more of the question's words a record has, the higher; its own words count double. Where nothing has
// them, words that differ by two letters in eight are tried.
function search(question, fuzzy = 0.15) {
  const asked = concepts(question);
  if (!asked.length) return [];
  // "Theorem 5.2", "thm 5.2" and "thm-5.2" are one name, "(5.2)" that of an equation
  const called = text => tokens(text.replaceAll("-", " ")).join(" ").replace(/^(?:eq|equation) /, "");
  const isNamed = ({ kind, title, heading }) =>
    kind === "claim" && [title, heading].some(said => called(said) === called(question));
  const scores = new Map();
  for (const { word, terms } of asked) {
    const best = new Map();
    for (const term of terms) {
      const own = term === stem(word) ? 1 : 0.7;
      const options = {
        boost: { title: 3, heading: 2, also: 4 },
        prefix: word.length > 3,
        fuzzy: word.length > 5 && !/\d/.test(word) ? fuzzy : false,
        processTerm: term => term,
        tokenize: text => [text],
      };
      for (const { id, score } of index.search(term, options))
        best.set(id, Math.max(best.get(id) ?? 0, own * score));
    }
    for (const [id, score] of best) {
      const sofar = scores.get(id) ?? { sum: 0, hits: 0 };
      scores.set(id, { sum: sofar.sum + score, hits: sofar.hits + 1 });
    }
  }
  const found = [...scores].map(([id, { sum, hits }]) => {
    const record = RECORDS[id];
    const named = isNamed(record);
    const whole = record.heading === record.title ? WHOLE : 1;
    const weight = named ? NAMED : whole * (WEIGHT[record.kind] ?? 1);
    return { ...record, named, score: weight * sum * (hits / asked.length) ** 3 };
  });
  if (!found.length && fuzzy < 0.25) return search(question, 0.25);
  const count = {};
  return found
    .sort((a, b) => b.score - a.score)
    .filter(({ title }) => (count[title] = (count[title] ?? 0) + 1) <= A_PAGE);
}

// The sentence that says most of what was asked, its words marked.
function sentence(text, asked) {
  const wanted = new Set(asked.flatMap(({ terms }) => terms));
  const isWanted = word => parts(word).some(part => wanted.has(stem(part)));
  const all = text.split(/(?<=[.!?]) +(?=[\p{Lu}“(])/u);
  const isLead = words => words.length < 30 || words.startsWith("Thesis, ");
  const count = words =>
    new Set(parts(words).map(stem).filter(word => wanted.has(word))).size - (isLead(words) ? 0.5 : 0);
  const best = all.reduce((a, b) => (count(b) > count(a) ? b : a), all[0] ?? "").trim();
  const shown = best.length > 240 ? `${best.slice(0, 240).replace(/\s\S*$/, "")} …` : best;
  return shown.split(/(\s+)/).map(word => {
    if (!isWanted(word)) return word;
    const mark = document.createElement("mark");
    mark.textContent = word;
    return mark;
  });
}

function item(record, asked, root) {
  const entry = document.createElement("li");
  const link = document.createElement("a");
  link.href = root + record.url;
  link.textContent = record.heading === record.title || record.kind === "claim" ? record.title : `${record.title}: ${record.heading}`;
  const said = document.createElement("p");
  said.className = "context";
  said.append(...sentence(record.text, asked));
  entry.append(link, said);
  return entry;
}

// What is found, in `output`: the best, then the rest by groups; addresses begin with `root`.
function showFound(question, output, root = "") {
  const found = search(question);
  const asked = concepts(question);
  const status = document.createElement("p");
  status.setAttribute("role", "status");
  status.className = "search-summary";
  if (!asked.length) status.textContent = "What are you looking for?";
  else if (!found.length) status.textContent = `Nothing in the book is about “${question}”.`;
  else status.textContent = `${found.length > 50 ? "The best of " : ""}${found.length} for “${question}”:`;
  const list = records => {
    const made = document.createElement("ul");
    made.className = "search";
    made.append(...records.map(record => item(record, asked, root)));
    return made;
  };
  const isFirst = ({ title }, k, all) => all.findIndex(record => record.title === title) === k;
  const best = found.filter(({ kind, named }) => kind !== "claim" || named).filter(isFirst).slice(0, BEST);
  const parts = [status, list(best)];
  for (const [name, kinds] of GROUPS) {
    const here = found.filter(record => kinds.test(record.kind) && !best.includes(record)).slice(0, A_GROUP);
    if (!here.length) continue;
    const heading = document.createElement("h2");
    heading.className = "search-group";
    heading.textContent = name;
    parts.push(heading, list(here));
  }
  output.replaceChildren(...parts);
}

document.addEventListener("DOMContentLoaded", () => {
  const field = document.querySelector(".bd-search-container input[name=q]");
  const output = document.getElementById("search-results");
  if (!field) return;
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  showFound(field.value, output);
  field.addEventListener("input", () => {
    history.replaceState(null, "", `?q=${encodeURIComponent(field.value)}`);
    showFound(field.value, output);
  });
  field.form.addEventListener("submit", event => event.preventDefault());
});
