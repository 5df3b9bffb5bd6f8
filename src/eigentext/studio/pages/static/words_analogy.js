// Analogies: a is to b as c is to what?
import { ask } from "/static/api.js";
import { element, isolated } from "/static/elements.js";
import { part } from "/static/results.js";
import { takeaway, word } from "/static/tables.js";
import { nearTable, unknownCard } from "/static/words_look.js";

export const analogyView = {
  async ask({ model, a, b, c, k }) {
    if (!a || !b || !c) return null;
    const { answers } = await ask("/api/words/neighbours", { model, queries: [`${a}:${b}::${c}`], k });
    return answers[0];
  },

  show(place, answer, question, paths) {
    if (!answer) return "Type three words: a is to b as c is to what?";
    const { a, b, c, model } = question;
    if (answer.unknown.length) {
      const instead = (text, other) => Object.fromEntries([["view", "analogy"],
        ...["a", "b", "c"].map((id) => [id, question[id] === text ? other : question[id]])]);
      place.replaceChildren(...unknownCard(answer.unknown, model, paths, instead));
      return answer.why;
    }
    const best = answer.neighbours[0]?.word ?? "?";
    const rows = () => [["query", "word", "cosine"], ...answer.neighbours.map((one) => [answer.query, one.word, one.cosine.toFixed(4)])];
    place.replaceChildren(element("article", { class: "card" },
      element("h2", {}, word(a), " is to ", word(b), " as ", word(c), " is to ", element("strong", {}, word(best))),
      part("analogy", `Nearest to ${isolated(b)} − ${isolated(a)} + ${isolated(c)}`, takeaway("analogy", rows, answer),
        nearTable(answer.neighbours, "vectors", paths))));
    return `${isolated(a)} is to ${isolated(b)} as ${isolated(c)} is to ${isolated(best)}`;
  },
};
