// Two models side by side: the neighbours of a word in both, and the words that moved.
import { ask } from "/static/api.js";
import { count, element, isolated } from "/static/elements.js";
import { part } from "/static/results.js";
import { bar, fixed, table, takeaway, word } from "/static/tables.js";
import { unknownCard } from "/static/words_look.js";

const percent = (share) => `${fixed(100 * share, 0)} %`;

function side(name, near, both, missing, paths) {
  const shared = new Set(both);
  const absent = new Set(missing);
  return element("section", {}, element("h3", {}, word(name)),
    element("ol", {}, ...near.map((one) => {
      const mark = shared.has(one.word) ? "in both" : absent.has(one.word) ? "unknown to the other" : "here only";
      const item = element("li", {}, paths.link({ view: "compare", word: one.word }, word(one.word)), " ");
      item.append(element("span", { class: "only" }, one.cosine === null ? mark : `${fixed(one.cosine)} · ${mark}`));
      return item;
    })));
}

function wordCard(answer, paths) {
  const { word: found, model, other } = answer;
  const rows = () => [["model", "word", "neighbour", "cosine", "in both"],
    ...[[model, found.one], [other, found.other]].flatMap(([name, near]) => near.map((one) => [
      name, found.word, one.word, one.cosine ?? "", found.both.includes(one.word) ? "yes" : "no"]))];
  return element("article", { class: "card" },
    element("h2", { class: "big", dir: "auto" }, found.word),
    part("sides", `${count(found.both.length, "neighbour")} in both, an overlap of ${percent(found.overlap)}`, takeaway("compared", rows, found),
      element("div", { class: "sides" }, side(model, found.one, found.both, found.missing, paths),
        side(other, found.other, found.both, found.missing, paths))));
}

function movedCard(answer, paths) {
  const list = (words) => {
    const cell = element("span");
    words.forEach((text, k) => cell.append(k ? " · " : "", word(text)));
    return cell;
  };
  const rows = answer.moved.map((one) => [
    paths.link({ view: "compare", word: one.word }, word(one.word)), bar(one.overlap, percent(one.overlap)),
    list(one.one.slice(0, 5)), list(one.other.slice(0, 5))]);
  const plain = () => [["word", "overlap", answer.model, answer.other], ...answer.moved.map((one) => [
    one.word, one.overlap, one.one.join(" "), one.other.join(" ")])];
  return element("article", { class: "card" },
    element("h2", {}, "Words that moved", element("small", {}, `mean overlap ${percent(answer.mean_overlap)} of ${count(answer.n_shared, "frequent word")} in both`)),
    part("moved", "Those with the least overlap first; neighbours that one model alone has", takeaway("moved", plain, answer),
      table("Words that moved", ["Word", "Overlap", isolated(answer.model), isolated(answer.other)], rows)));
}

export const compareView = {
  ask({ model, other, word: text, k }) {
    return ask("/api/words/compare", { model, other, word: text || null, k });
  },

  show(place, answer, _question, paths) {
    const cards = [];
    if (answer.unknown.length) cards.push(...unknownCard(answer.unknown.slice(0, 1), answer.why.split(":")[0], paths, (_, near) => ({ view: "compare", word: near })));
    if (answer.word) cards.push(wordCard(answer, paths));
    if (answer.model === answer.other) cards.push(element("p", { class: "note" }, "This is one model beside itself: nothing differs. Serve two models of words to compare them."));
    place.replaceChildren(...cards, movedCard(answer, paths));
    return answer.why ?? `${isolated(answer.model)} beside ${isolated(answer.other)}`;
  },
};
