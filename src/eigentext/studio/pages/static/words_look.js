// One word: its frequency, its cluster, its neighbours.
import { ask } from "/static/api.js";
import { count, element, isolated } from "/static/elements.js";
import { part } from "/static/results.js";
import { bar, fixed, table, takeaway, word } from "/static/tables.js";

/** Words as links to themselves, with counts where they are known. */
export function chips(words, paths, current = null) {
  return element("ul", { class: "chips" }, ...words.map(({ word: text, count: n }) => {
    const link = paths.link({ view: "word", word: text }, word(text));
    link.className = "";
    if (text === current) link.setAttribute("aria-current", "true");
    if (n !== null && n !== undefined) link.append(element("small", {}, n.toLocaleString("en")));
    return element("li", {}, link);
  }));
}

/** What is said of a word that a model does not know, with links to words that are written like it. */
export function unknownCard(unknown, model, paths, to) {
  const cards = unknown.map(({ word: text, near }) => {
    const card = element("article", { class: "card unknown" },
      element("h2", {}, word(text)),
      element("p", {}, `${isolated(model)} does not know this word.`));
    if (near.length) {
      card.append(element("p", { class: "note" }, "Written much like it:"),
        element("ul", { class: "chips" }, ...near.map((other) => element("li", {}, paths.link(to(text, other), word(other))))));
    }
    return card;
  });
  return cards;
}

/** A list of neighbours with their cosines. */
export function nearTable(near, by, paths) {
  const cosines = by === "vectors";
  const rows = near.map((one) => [
    paths.link({ view: "word", word: one.word }, word(one.word)),
    ...(cosines ? [bar(one.cosine, fixed(one.cosine, 4))] : []),
  ]);
  return table("Neighbours", ["Word", ...(cosines ? ["Cosine"] : [])], rows);
}

function crumbs({ path, model }, paths) {
  const steps = Array.from({ length: Math.ceil(path.length / 4) }, (_, k) => path.slice(0, 4 * (k + 1)));
  return element("ol", { class: "crumbs", "aria-label": "Path of the cluster" },
    element("li", {}, paths.link({ view: "tree", model, prefix: "" }, "all")),
    ...steps.map((prefix) => element("li", {}, paths.link({ view: "tree", model, prefix }, prefix.slice(4 * (Math.ceil(prefix.length / 4) - 1))))));
}

async function ofModel(model, text, k) {
  const [look, near] = await Promise.all([
    ask("/api/words/look", { model, word: text, top: 100 }),
    ask("/api/words/neighbours", { model, queries: [text], k }),
  ]);
  return { look, near: near.answers[0], by: near.by };
}

const facts = (pairs) => element("dl", { class: "facts" }, ...pairs.map(([name, value]) => element("div", {},
  element("dt", {}, name), element("dd", {}, value))));

function clusterCard(look, paths) {
  const rows = () => [["path", "word", "count"], ...look.members.map((one) => [look.path, one.word, one.count])];
  const card = element("article", { class: "card" },
    element("h2", {}, "Its cluster", element("small", {}, `by ${isolated(look.model)}`)),
    facts([["path", look.path || "all"], ["members", look.n_members.toLocaleString("en")], ["seen", count(look.count, "time")]]),
    crumbs(look, paths),
    part("members", "The most frequent words first", takeaway("cluster", rows, look), chips(look.members, paths, look.word)));
  const more = look.n_members - look.members.length;
  if (more > 0) card.append(element("p", { class: "note" }, `${count(more, "rarer word")} not listed.`));
  return card;
}

function nearCard(look, near, paths) {
  const rows = () => [["query", "word", "cosine"], ...near.neighbours.map((one) => [near.query, one.word, one.cosine.toFixed(4)])];
  return element("article", { class: "card" },
    element("h2", {}, "Nearest by vector", element("small", {}, `by ${isolated(look.model)}`)),
    part("neighbours", count(near.neighbours.length, "neighbour"), takeaway("neighbours", rows, near), nearTable(near.neighbours, "vectors", paths)));
}

export const wordView = {
  ask({ model, beside, word: text, k }) {
    if (!text) return Promise.resolve(null);
    return Promise.all([model, beside].filter(Boolean).map((name) => ofModel(name, text, k)));
  },

  show(place, answers, _question, paths) {
    if (!answers) return "Type a word; words that begin like it are offered.";
    const [{ look }] = answers;
    const unknown = ({ look: one }) => unknownCard([one.unknown], one.model, paths, (_, other) => ({ view: "word", word: other }));
    if (answers.every((one) => one.look.unknown)) {
      place.replaceChildren(...unknown(answers[0]));
      return look.why;
    }
    const title = element("article", { class: "card" }, element("h2", { class: "big", dir: "auto" }, look.word),
      facts(answers.filter((one) => !one.look.unknown).map(({ look: one }) => [
        `rank in ${isolated(one.model)}`, `${one.rank.toLocaleString("en")} of ${one.n_words.toLocaleString("en")}`])));
    place.replaceChildren(title, ...answers.flatMap((one) => {
      if (one.look.unknown) return unknown(one);
      return one.by === "vectors" ? [nearCard(one.look, one.near, paths)] : [clusterCard(one.look, paths)];
    }));
    return look.why ?? `${isolated(look.word)}: word ${look.rank.toLocaleString("en")} of ${look.n_words.toLocaleString("en")}`;
  },
};
