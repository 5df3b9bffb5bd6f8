// Answers of the API as elements; text goes in as text, drawings through an XML parser.
import { count, direction, element } from "/static/elements.js";
import { copyButton, downloadButton, svgToPng } from "/static/shell.js";

export function part(kind, title, buttons, ...content) {
  const head = element("div", { class: "part-head" }, element("h3", {}, title), ...buttons);
  return element("section", { class: "part", "data-view": kind }, head, ...content);
}

export function drawing(kind, title, svg, number) {
  const parsed = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  const frame = element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": title });
  frame.append(document.importNode(parsed, true));
  const buttons = [
    downloadButton("SVG", `${kind}-${number}.svg`, "image/svg+xml", () => svg),
    downloadButton("PNG", `${kind}-${number}.png`, "image/png", () => svgToPng(svg)),
  ];
  return part(kind, title, buttons, frame);
}

function brackets(title, text) {
  const pre = element("pre", { tabindex: "0", role: "group", "aria-label": title }, text);
  return part("brackets", title, [copyButton(title, () => text)], pre);
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
  const list = element("ul", { class: "tokens", dir: direction(sentence.tokens.map((token) => token.text)) },
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
