// What editors of trees share: the drawing, the best trees to choose from, a row of words.
import { direction, element } from "/static/elements.js";
import { button, percent } from "/static/annotate/forms.js";

/** A drawing of the service as an element; it is markup of ours, read as XML, never as HTML. */
export function drawing(svg) {
  const place = element("div", { class: "scroll drawing", tabindex: "0", role: "group", "aria-label": "Tree" });
  if (svg) place.append(document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true));
  else place.hidden = true;
  return place;
}

/** The best trees: a button for each shows it; what is shown is what gets accepted. */
export function kbestBar(editor) {
  const { trees } = editor;
  if (trees.length < 2) return element("div", {});
  const buttons = trees.map(({ score, n }, k) => {
    const made = button(k ? `${k + 1} (${n} other)` : "1", () => editor.showTree(k));
    made.setAttribute("aria-pressed", String(k === editor.best));
    made.setAttribute("aria-label", `Tree ${k + 1}${score === null ? "" : `, score ${score.toFixed(2)}`}, ${n} differences`);
    if (score !== null) made.title = `score ${score.toFixed(2)}`;
    return made;
  });
  return element("div", { class: "bar kbest", role: "group", "aria-label": "The best trees" }, element("span", { class: "note" }, "The best trees (B: next):"), ...buttons);
}

/**
 * A row of words as buttons: `chosen(word)` says which are marked, `on(word, event)` hears clicks,
 * `item(word)` is what is decided or proposed of it.
 *
 * @param {any[]} tokens
 * @param {{ current: number, chosen: (word: number) => boolean, below: (word: number) => string,
 *   label: (word: number) => string, on: (word: number, event: MouseEvent) => any, item?: (word: number) => any }} how
 */
export function wordRow(tokens, { current, chosen, below, label, on, item }) {
  const row = element("div", { class: "word-row", role: "listbox", "aria-multiselectable": "true", "aria-label": "Words", dir: direction(tokens.map((token) => token.text)) });
  tokens.forEach((token, word) => {
    const known = item?.(word);
    const made = element("button", { type: "button", class: "word", role: "option", "data-word": word, tabindex: word === current ? "0" : "-1" },
      element("b", { dir: "auto" }, token.text), element("small", { dir: "auto" }, below(word)));
    made.setAttribute("aria-selected", String(chosen(word)));
    made.setAttribute("aria-label", label(word));
    made.classList.toggle("decided", Boolean(known?.decided));
    made.classList.toggle("unsure", Boolean(known) && !known.decided && known.certainty < 0.8);
    made.addEventListener("click", (event) => on(word, event));
    row.append(made);
  });
  return row;
}

export const sure = (item) => (item?.decided ? "decided" : item ? percent(item.certainty) : "");

/** 1 where words go from left to right, -1 where they go the other way. */
export const turnOf = (row) => (row && getComputedStyle(row).direction === "rtl" ? -1 : 1);
