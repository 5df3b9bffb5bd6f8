// The answer of a pipeline: sentences with a tree and a table of words; nothing is computed here.
import { count, element } from "/static/elements.js";
import { drawing, part } from "/static/results.js";

const COLUMNS = [["id", ""], ["form", "word"], ["lemma", "lemma"], ["upos", "tag"],
  ["xpos", "own tag"], ["feats", "features"], ["head", "head"], ["deprel", "relation"],
  ["ner", "entity"]];

function cell(word, key, words) {
  const value = word[key];
  if (key === "head") return [value ? `${value}\u00a0${words[value - 1].form}` : "root"];
  if (value === "_") return [];
  if (key !== "feats") return [String(value)];
  return value.split("|").flatMap((one, k) => (k ? ["|", element("wbr"), one] : [one])); // may be broken
}

function table(sentence) {
  const { words } = sentence;
  const said = (key) => words.some((word) => word[key] !== undefined && word[key] !== "_");
  const columns = COLUMNS.filter(([key]) => said(key));
  const head = columns.map(([, title]) => element("th", { scope: "col" }, title));
  const token = new Map(); // the multiword token that a word is of
  for (const { form, words: [first, last] } of sentence.tokens) {
    for (let k = first; k <= last && last > first; k += 1) token.set(k, form);
  }
  const rows = words.map((word) => {
    const row = element("tr", {}, ...columns.map(([key]) => element("td", { dir: "auto" }, ...cell(word, key, words))));
    if (token.has(word.id)) {
      row.className = "part-of";
      row.title = `typed: ${token.get(word.id)}`;
    }
    return row;
  });
  return element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
}

function card(sentence, svg, number, only) {
  const title = element("h2", {}, only ? "Sentence" : `Sentence ${number}`,
    element("small", {}, count(sentence.words.length, "word")));
  const made = element("article", { class: "card" }, title);
  if (svg) made.append(drawing("arcs", "Dependencies", svg, number));
  const frame = element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": `Words of sentence ${number}` });
  frame.append(table(sentence));
  made.append(part("words", "Words", [], frame));
  return made;
}

/** Show the answer of /api/pipe and return a line that sums it up. */
export function showDocument(place, answer) {
  const { sentences } = answer.document;
  const only = sentences.length === 1;
  place.replaceChildren(...sentences.map((one, k) => card(one, answer.drawings[k], k + 1, only)));
  const words = sentences.reduce((sum, one) => sum + one.words.length, 0);
  const summary = `${count(sentences.length, "sentence")}, ${count(words, "word")} by ${answer.model}`;
  const drawn = answer.drawings.filter(Boolean).length;
  return drawn < sentences.length ? `${summary} · ${count(drawn, "tree")} drawn` : summary;
}
