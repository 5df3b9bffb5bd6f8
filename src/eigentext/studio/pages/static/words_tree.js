// The tree of clusters: a prefix, what is below it as blocks, its words, and its neighbours.
import { ask } from "/static/api.js";
import { all, count, element, isolated } from "/static/elements.js";
import { drawing, part } from "/static/results.js";
import { takeaway, table, word } from "/static/tables.js";
import { chips } from "/static/words_look.js";

const ROW = 46; // pixels, as in the style sheet
const NARROW = 3; // a block that is not wider is not drawn
const line = (words) => words.map(isolated).join(" · ");

/** Blocks, one row a generation, each as wide as the words below it. */
function blocks(answer, weight, into) {
  const box = element("div", { id: "blocks", role: "group", "aria-label": "Clusters below this prefix" });
  const [root] = answer.below;
  const total = Math.max(1, root[weight]);
  const ends = new Map(); // prefix -> where its next child begins
  let rows = 1;
  const draw = () => {
    const held = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.prefix;
    const wide = box.clientWidth || 900;
    box.replaceChildren();
    ends.clear();
    for (const branch of answer.below) {
      const start = branch === root ? 0 : ends.get(branch.parent);
      if (start === undefined) continue; // its parent is too narrow
      const share = branch[weight] / total;
      if (branch !== root) ends.set(branch.parent, start + share);
      if (share * wide < NARROW) continue;
      ends.set(branch.prefix, start);
      rows = Math.max(rows, branch.depth + 1);
      box.append(block(branch, start, share, wide));
    }
    box.style.height = `${rows * ROW}px`;
    const stop = [...box.children].find((one) => one.dataset.prefix === held) ?? box.firstChild;
    stop.tabIndex = 0;
    if (held !== undefined) stop.focus({ preventScroll: true });
  };
  const block = (branch, start, share, wide) => {
    const step = branch === root ? branch.prefix || "all" : branch.prefix.slice(branch.parent.length);
    const made = element("button", {
      type: "button", tabindex: "-1", title: `${branch.prefix || "all"}: ${line(branch.words)}`,
      "aria-label": `${branch.prefix || "all words"}, ${count(branch.n_clusters, "cluster")}, ${count(branch.n_words, "word")}: ${line(branch.words.slice(0, 3))}`,
    });
    made.dataset.prefix = branch.prefix;
    made.dataset.depth = branch.depth;
    if (share * wide > 24) made.append(element("code", {}, step), element("span", {}, line(branch.words)));
    Object.assign(made.style, { left: `${100 * start}%`, width: `${100 * share}%`, top: `${branch.depth * ROW}px` });
    made.style.setProperty("--hue", String(Math.round(20 + 320 * (start + share / 2))));
    made.addEventListener("click", () => into(branch === root ? answer.above.at(-1) ?? "" : branch.prefix));
    return made;
  };
  box.addEventListener("keydown", (event) => {
    const here = event.target.closest("button");
    if (!here) return;
    const row = [...box.children].filter((one) => one.dataset.depth === here.dataset.depth);
    const at = (prefix) => [...box.children].find((one) => one.dataset.prefix === prefix);
    const branch = answer.below.find((one) => one.prefix === here.dataset.prefix);
    const next = {
      ArrowLeft: () => row[row.indexOf(here) - 1], ArrowRight: () => row[row.indexOf(here) + 1],
      ArrowUp: () => branch !== root && at(branch.parent),
      ArrowDown: () => answer.below.filter((one) => one.parent === branch.prefix && one !== branch).map((one) => at(one.prefix)).find(Boolean),
      Home: () => box.firstChild, End: () => box.lastChild,
    }[event.key];
    if (next) {
      event.preventDefault();
      const target = next();
      if (!target) return;
      here.tabIndex = -1;
      target.tabIndex = 0;
      target.focus({ preventScroll: true });
    } else if (["Escape", "Backspace", "-"].includes(event.key) && answer.prefix) {
      event.preventDefault();
      into(answer.above.at(-1) ?? "");
    }
  });
  return { box, draw };
}

export const treeView = {
  ask({ model, prefix }) {
    return ask("/api/words/tree", { model, prefix, depth: 5, top: 60, draw: true });
  },

  show(place, answer, _question, paths) {
    const weight = { words: "n_words", tokens: "n_tokens", clusters: "n_clusters" };
    const into = (prefix) => paths.go({ view: "tree", prefix }, () => all(document, "#blocks button")[0]?.focus({ preventScroll: true }));
    const share = answer.total_tokens ? ` · ${(100 * answer.n_tokens / answer.total_tokens).toFixed(1)} % of all tokens` : "";
    const facts = `${count(answer.n_clusters, "cluster")} · ${count(answer.n_words, "word")} · ${count(answer.n_tokens, "token")}${share}`;
    const crumbs = element("ol", { class: "crumbs", "aria-label": "Prefixes above" },
      ...answer.above.map((prefix, k) => element("li", {}, paths.link({ view: "tree", prefix }, prefix.slice(answer.above[k - 1]?.length ?? 0) || "all"))),
      element("li", { "aria-current": "true" }, answer.prefix.slice(answer.above.at(-1)?.length ?? 0) || "all"));
    const card = element("article", { class: "card" },
      element("h2", {}, answer.prefix ? `Prefix ${answer.prefix}` : "All words", element("small", {}, facts)), crumbs);
    let made = blocks(answer, weight.words, into);
    const choice = element("select", { id: "weight" }, ...Object.keys(weight).map((name) => new Option(name)));
    choice.addEventListener("change", () => {
      const next = blocks(answer, weight[choice.value], into);
      made.box.replaceWith(next.box);
      made = next;
      made.draw();
    });
    const rows = () => [["prefix", "clusters", "words", "tokens", "examples"],
      ...answer.below.map((one) => [one.prefix, one.n_clusters, one.n_words, one.n_tokens, one.words.join(" ")])];
    if (answer.n_clusters > 1 || answer.prefix) {
      const head = part("tree", "Below it", [element("label", { class: "field" }, "Width shows ", choice), ...takeaway("clusters", rows, answer)], made.box,
        element("p", { class: "keys" }, "Click a block to go into it, the top one to go up. Keys: arrows to move, Enter to go in, Escape to go up."));
      card.append(head);
    }
    card.append(part("words", answer.n_clusters > 1 ? "Most frequent words" : "Words of this cluster", [], chips(answer.words, paths)));
    const around = [...answer.below.filter((one) => one.depth === 1), ...answer.beside];
    if (around.length) {
      card.append(part("around", "One step down, and beside it", [], table("One step", ["Prefix", "Clusters", "Words", "Most frequent"],
        around.map((one) => [paths.link({ view: "tree", prefix: one.prefix }, one.prefix), one.n_clusters, one.n_words, listed(one.words)]))));
    }
    const drawn = answer.n_clusters > 1 ? [element("article", { class: "card" },
      drawing("cluster-tree", "The tree below this prefix", answer.svg, answer.prefix || "all"))] : [];
    place.replaceChildren(card, ...drawn);
    made.draw();
    watch(() => made);
    return `${answer.prefix || "all words"}: ${facts}`;
  },
};

function listed(words) {
  const cell = element("span");
  words.forEach((text, k) => cell.append(k ? " · " : "", word(text)));
  return cell;
}

/** Blocks are drawn anew when the page gets wider or narrower. */
function watch(now) {
  let wide = now().box.clientWidth;
  const observer = new ResizeObserver(() => {
    const { box, draw } = now();
    if (!box.isConnected) observer.disconnect();
    else if (Math.abs(box.clientWidth - wide) >= 1) { wide = box.clientWidth; draw(); }
  });
  observer.observe(now().box);
}
