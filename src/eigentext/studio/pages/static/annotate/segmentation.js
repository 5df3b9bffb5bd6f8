// Sentences and words: cuts between characters.  A caret moves through the text; W begins a word
// at it, S a sentence, X takes a cut away.
import { element } from "/static/elements.js";
import { button } from "/static/annotate/forms.js";

let caret = null;
let before = null;
const AROUND = 60; // characters of context to each side
// eslint-disable-next-line no-control-regex -- separators of files, groups, records and units are white space
const SPACE = /[\x1c-\x1f\x85]|(?!\ufeff)\s/; // what the service takes for white space

const cuts = (proposal) => new Map(proposal.items.filter((one) => one.item.startsWith("b")).map((one) => [Number(one.item.slice(1)), one]));

const view = {
  describe: (value) => (value === null ? "taken back" : value.words ? value.words.join(" + ") : { sentence: "a sentence begins", word: "a word begins", none: "no cut" }[value.cut]),

  render(place, editor, proposal, sentence) {
    const text = [...(editor.opened.text ?? "")]; // code points, as the service counts them
    const first = sentence.tokens[0]?.start ?? 0;
    const last = sentence.tokens.at(-1)?.end ?? text.length;
    const where = editor.where;
    // where the sentence begins and ends is given, and nothing begins with white space
    const allowed = (at) => at > first && at < last && !SPACE.test(text[at]);
    if (before !== where) {
      before = where;
      caret = null;
      for (let at = first + 1; at < last && caret === null; at += 1) if (allowed(at)) caret = at;
    }
    const begin = Math.max(0, first - AROUND);
    const end = Math.min(text.length, last + AROUND);
    const known = cuts(proposal);
    const row = element("div", { class: "cut-row", dir: "auto", role: "listbox", "aria-label": "Places between characters" });
    for (let at = begin; at < end; at += 1) {
      const item = known.get(at);
      const cut = item?.value?.cut ?? "none";
      const made = element("button", { type: "button", class: `gap cut-${cut}`, "data-at": at, role: "option", tabindex: at === caret ? "0" : "-1" });
      made.setAttribute("aria-selected", String(at === caret));
      made.setAttribute("aria-label", `before ${text[at]}: ${view.describe({ cut })}`);
      made.classList.toggle("decided", Boolean(item?.decided));
      made.classList.toggle("unsure", Boolean(item) && !item.decided && item.certainty < 0.8);
      made.classList.toggle("outside", at < first || at >= last);
      made.textContent = { sentence: "‖", word: "|", none: "" }[cut];
      made.disabled = !allowed(at);
      made.addEventListener("click", () => { caret = at; editor.render(editor.proposal); view.focus(editor); });
      row.append(made, element("span", { class: at < first || at >= last ? "outside" : "" }, text[at] === "\n" ? "⏎ " : text[at]));
    }
    const act = (title, cut) => button(title, () => view.cut(editor, cut));
    place.replaceChildren(row, element("div", { class: "bar" }, act("Sentence begins (S)", "sentence"), act("Word begins (W)", "word"), act("No cut (X)", "none"),
      button("Open again", () => { if (caret !== null) editor.decide([{ item: `b${caret}`, value: null }]); })));
  },

  async cut(editor, cut) {
    if (caret === null) return;
    await editor.decide([{ item: `b${caret}`, value: { cut } }]);
    view.focus(editor);
  },

  focus(editor) { editor.bench.querySelector(`[data-at="${caret}"]`)?.focus(); },

  key(editor, event) {
    const row = editor.bench.querySelector(".cut-row");
    const places = [...row.querySelectorAll("[data-at]:enabled")].map((one) => Number(one.dataset.at));
    const turn = getComputedStyle(row).direction === "rtl" ? -1 : 1;
    const move = { ArrowRight: turn, ArrowLeft: -turn, Home: -places.length, End: places.length }[event.key];
    if (move !== undefined) {
      if (!places.length) return true;
      const k = Math.max(0, Math.min(places.length - 1, places.indexOf(caret) + move));
      caret = places[k];
      editor.render(editor.proposal);
      view.focus(editor);
      return true;
    }
    const cut = { s: "sentence", w: "word", x: "none" }[event.key.toLowerCase()];
    if (cut) { if (!editor.isSaving(`b${caret}`)) view.cut(editor, cut); return true; }
    return false;
  },

  focusOpen(editor) {
    const open = editor.proposal.items.filter((one) => one.item.startsWith("b") && !one.decided && one.certainty < 0.99);
    const next = open.map((one) => Number(one.item.slice(1))).filter((at) => at > caret).sort((a, b) => a - b)[0];
    if (next === undefined) return false;
    caret = next;
    editor.render(editor.proposal);
    view.focus(editor);
    return true;
  },
};

export default view;
