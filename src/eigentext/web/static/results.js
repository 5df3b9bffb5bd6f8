// Answers of the API as elements; text goes in as text, drawings through an XML parser.
import { count, element, quietButton } from "/static/elements.js";

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed here";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

function save(svg, name) {
  const link = element("a", { download: name });
  link.href = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function part(kind, title, buttons, ...content) {
  const head = element("div", { class: "part-head" }, element("h3", {}, title), ...buttons);
  return element("section", { class: "part", "data-view": kind }, head, ...content);
}

export function drawing(kind, title, svg, number) {
  const parsed = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  const frame = element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": title });
  frame.append(document.importNode(parsed, true));
  const button = quietButton("Save SVG", () => save(svg, `${kind}-${number}.svg`));
  button.setAttribute("aria-label", `Save SVG: ${title}, tree ${number}`);
  return part(kind, title, [button], frame);
}

function brackets(title, text) {
  const button = quietButton("Copy", (pressed) => copy(text, pressed));
  button.setAttribute("aria-label", `Copy: ${title}`);
  return part("brackets", title, [button], element("pre", { tabindex: "0" }, text));
}

function treeCard(tree, number, only) {
  const where = `line ${tree.line} · ${count(tree.n_words, "word")}`;
  const title = element("h2", {}, only ? "Tree" : `Tree ${number}`, element("small", {}, where));
  const card = element("article", { class: "card" }, title);
  if (tree.note) card.append(element("p", { class: "note" }, tree.note));
  if (tree.drawings) {
    card.append(
      drawing("tree", "Constituents, without traces and function tags", tree.drawings.tree, number),
      drawing("binarised", "Unary chains collapsed, binarised from the head", tree.drawings.binarised, number),
      drawing("arcs", "Dependencies by head rules", tree.drawings.arcs, number),
    );
  }
  card.append(brackets("Brackets", tree.brackets), brackets("Binarised brackets", tree.binarised));
  return card;
}

/** Show the answer of /api/trees and return a line that sums it up. */
export function showTrees(place, answer) {
  const only = answer.trees.length === 1;
  place.replaceChildren(...answer.trees.map((tree, k) => treeCard(tree, k + 1, only)));
  const words = answer.trees.reduce((sum, tree) => sum + tree.n_words, 0);
  return `${count(answer.trees.length, "tree")}, ${count(words, "word")}`;
}

function tokenItem(token, characters) {
  const typed = characters.slice(token.start, token.end).join("");
  const item = element("li", {},
    element("b", { dir: "auto" }, token.text),
    element("small", {}, `${token.start}–${token.end}`));
  if (typed !== token.text) {
    item.className = "changed";
    item.title = `typed: ${typed}`;
  }
  return item;
}

function sentenceCard(sentence, number, characters) {
  const first = sentence.tokens.find((token) => /\p{L}/u.test(token.text));
  const rightToLeft = first && /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/.test(first.text);
  const list = element("ul", { class: "tokens", dir: rightToLeft ? "rtl" : "ltr" },
    ...sentence.tokens.map((token) => tokenItem(token, characters)));
  const title = element("h2", {}, `Sentence ${number}`,
    element("small", {}, count(sentence.tokens.length, "token")));
  return element("article", { class: "card" }, title, list);
}

/** Show the answer of /api/tokenise and return a line that sums it up. */
export function showTokens(place, answer, text) {
  const characters = Array.from(text); // offsets count code points, not UTF-16 units
  place.replaceChildren(
    ...answer.sentences.map((sentence, k) => sentenceCard(sentence, k + 1, characters)));
  return `${count(answer.sentences.length, "sentence")}, ${count(answer.n_tokens, "token")}`
    + " · small numbers are character offsets; a dashed frame marks a token that was normalised";
}

function parseTable(sentence) {
  const chances = sentence.probabilities;
  const head = ["", "word", "tag", "head", "relation", ...(chances ? ["p"] : [])];
  const rows = sentence.dependencies.map((word, k) => [
    word.id, word.form, word.tag,
    word.head ? `${word.head} ${sentence.tokens[word.head - 1]}` : "root",
    word.relation, ...(chances ? [chances[k].toFixed(2)] : [])]);
  const cells = (tag, row) => row.map((cell) => element(tag, { dir: "auto" }, String(cell)));
  return element("table", {},
    element("thead", {}, element("tr", {}, ...cells("th", head))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells("td", row)))));
}

function parseCard(sentence, number, only) {
  const title = element("h2", {}, only ? "Sentence" : `Sentence ${number}`,
    element("small", {}, count(sentence.tokens.length, "word")));
  const card = element("article", { class: "card" }, title);
  if (sentence.approximate) {
    card.append(element("p", { class: "note" }, "This tree is approximate: a better one may exist."));
  }
  card.append(drawing("arcs", "Dependencies; faint arcs are less probable", sentence.svg, number));
  const choices = sentence.kbest.slice(1).map((tree) => {
    const score = tree.score === null ? "" : `, score ${tree.score.toFixed(2)}`;
    return drawing("arcs", `Tree ${tree.rank}${score}`, tree.svg, `${number}-${tree.rank}`);
  });
  const table = element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Words" });
  table.append(parseTable(sentence));
  card.append(...choices, part("words", "Words", [], table));
  return card;
}

/** Show the answer of /api/dep/parse and return a line that sums it up. */
export function showParses(place, answer) {
  const only = answer.sentences.length === 1;
  place.replaceChildren(...answer.sentences.map((one, k) => parseCard(one, k + 1, only)));
  const words = answer.sentences.reduce((sum, one) => sum + one.tokens.length, 0);
  return `${count(answer.sentences.length, "sentence")}, ${count(words, "word")} parsed`;
}
