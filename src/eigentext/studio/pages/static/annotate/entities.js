// Entities: words that follow each other, with a type; chosen by a drag or by Shift and arrows.
import { element } from "/static/elements.js";
import { button, percent } from "/static/annotate/forms.js";
import { dragOver, extended, markSpan, nextSpan } from "/static/annotate/spans.js";
import { turnOf, wordRow } from "/static/annotate/trees.js";

const span = { from: 0, to: 1, anchor: 0 };
let before = null;

const spanOf = (item) => item.slice(1).split("-").map(Number);
const found = (proposal) => proposal.items.filter((one) => one.value?.type).map((one) => [...spanOf(one.item), one]);
const types = (editor) => {
  const known = editor.proposal.items.flatMap((one) => [one.value?.type, ...one.candidates.map((c) => c.value?.type)]);
  return [...new Set([...(editor.project.settings.labels ?? []), ...(editor.proposal.analysis.types ?? []), ...known])].filter(Boolean).slice(0, 30);
};
const textOf = (sentence, from, to) => sentence.tokens.slice(from, to).map((token) => token.text).join(" ");

function mark(editor, type) {
  const overlapping = found(editor.proposal).filter(([a, b, one]) => one.decided && a < span.to && span.from < b && one.item !== `e${span.from}-${span.to}`);
  return editor.decide([...overlapping.map(([, , one]) => ({ item: one.item, value: null })), { item: `e${span.from}-${span.to}`, value: { type } }]);
}

function unmark(editor) {
  const here = found(editor.proposal).find(([a, b]) => a < span.to && span.from < b)?.[2];
  return editor.decide([{ item: here ? here.item : `e${span.from}-${span.to}`, value: { type: null } }]);
}

const view = {
  describe(value, name, sentence) {
    if (value === null) return "taken back";
    if (value.analysis) return "accepted";
    const words = sentence ? textOf(sentence, ...spanOf(name)) : name;
    return `${words}: ${value.type ?? "no entity"}`;
  },

  render(place, editor, proposal, sentence) {
    const where = editor.where;
    if (before !== where) { before = where; Object.assign(span, { from: 0, to: 1, anchor: 0 }); }
    const all = found(proposal);
    const inside = (word) => all.find(([a, b]) => a <= word && word < b);
    const row = wordRow(sentence.tokens, {
      current: span.from,
      chosen: (word) => word >= span.from && word < span.to,
      below: (word) => (inside(word) ? (inside(word)[0] === word ? inside(word)[2].value.type : "…") : ""),
      label: (word) => `${sentence.tokens[word].text}${inside(word) ? `: ${inside(word)[2].value.type}` : ""}`,
      on: () => {},
      item: (word) => inside(word)?.[2],
    });
    [...row.children].forEach((made, word) => made.classList.toggle("in-entity", Boolean(inside(word))));
    dragOver(row, span, () => { view.told(editor); view.focus(editor); });
    const choices = types(editor).map((type, k) => {
      const made = button("", (event) => { if (event.detail < 2) mark(editor, type); }, "choice");
      made.append(...(k < 9 ? [element("kbd", {}, String(k + 1))] : []), type);
      return element("li", {}, made);
    });
    const own = element("input", { class: "tail", placeholder: "Another type", "aria-label": "Another type", maxlength: "60", size: "14" });
    own.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && own.value.trim()) { event.preventDefault(); mark(editor, own.value.trim()); }
      if (event.key === "Escape") view.focus(editor);
    });
    const list = element("ul", { class: "entities-found" }, ...all.map(([a, b, one]) => element("li", {},
      button(textOf(sentence, a, b), () => view.select(editor, a, b)), ` ${one.value.type} `, element("small", {}, one.decided ? "decided" : percent(one.certainty)), " ",
      button("Remove", () => editor.decide([{ item: one.item, value: { type: null } }])))));
    place.replaceChildren(row, element("h3", { class: "selection", dir: "auto" }), element("ol", { class: "choices" }, ...choices),
      element("div", { class: "bar" }, own, button("No entity (0)", () => unmark(editor))), list);
    view.told(editor, place);
  },

  told(editor, place = editor.bench) {
    markSpan(place.querySelector(".word-row"), span);
    place.querySelector(".selection").textContent = textOf(editor.opened.sentences[editor.sentence], span.from, span.to);
  },

  select(editor, from, to, anchor = from) {
    Object.assign(span, { from, to, anchor });
    view.told(editor);
    view.focus(editor);
  },

  focus(editor) { editor.bench.querySelector(`.word[data-word="${span.anchor === span.from ? span.to - 1 : span.from}"]`)?.focus(); },

  key(editor, event) {
    const n = editor.opened.sentences[editor.sentence].tokens.length;
    const move = extended(span, event, n, turnOf(editor.bench.querySelector(".word-row")));
    if (move) { view.select(editor, move.from, move.to, move.anchor); return true; }
    if (/^[0-9]$/.test(event.key) && editor.isSaving(`e${span.from}-${span.to}`)) return true;
    if (/^[1-9]$/.test(event.key)) { const type = types(editor)[Number(event.key) - 1]; if (type) mark(editor, type); return true; }
    if (event.key === "0") { unmark(editor); return true; }
    if (event.key === "/") { editor.bench.querySelector(".tail")?.focus(); return true; }
    return false;
  },

  focusOpen(editor) {
    const next = nextSpan(found(editor.proposal).filter(([, , one]) => !one.decided), span);
    if (!next) return false;
    view.select(editor, next[0], next[1]);
    return true;
  },
};

export default view;
