// What tasks about words share: the row of words, the one that is chosen, its candidates by number.
import { element } from "/static/elements.js";
import { get } from "/static/annotate/api.js";
import { button, percent } from "/static/annotate/forms.js";
import { sure, turnOf, wordRow } from "/static/annotate/trees.js";

/**
 * An editor of the words of a sentence.  `prefix` begins the names of its items; `shown(value)` is
 * the text below a word, `candidate(candidate)` what is shown of a candidate (an array of parts),
 * `own(editor, item, value)` a form for a value of one's own, or null.
 */
export function wordsEditor({ prefix, shown, candidate, own, none }) {
  let current = 0;
  let before = null; // the sentence that `current` belongs to
  const itemOf = (proposal, word) => proposal.items.find((one) => one.item === `${prefix}${word}`);

  const view = {
    said: (value) => (value.none ? "none is right" : shown(value)),

    describe(value, name, sentence) {
      if (value === null) return "taken back";
      if (value.analysis) return "accepted";
      const word = sentence?.tokens[Number(name.slice(prefix.length))]?.text ?? name;
      return `${word}: ${view.said(value)}`;
    },

    render(place, editor, proposal, sentence) {
      const where = editor.where;
      if (before !== where) {
        before = where;
        const open = proposal.items.find((one) => !one.decided);
        current = open ? Number(open.item.slice(prefix.length)) : 0;
      }
      current = Math.min(current, sentence.tokens.length - 1);
      const said = (word) => { const value = itemOf(proposal, word)?.value ?? null; return value === null ? null : view.said(value); };
      const row = wordRow(sentence.tokens, {
        current,
        chosen: (word) => word === current,
        below: (word) => said(word) ?? "·",
        label: (word) => `${sentence.tokens[word].text}: ${said(word) ?? "open"}, ${sure(itemOf(proposal, word))}`,
        on: (word) => { current = word; editor.fresh(); editor.render(proposal); view.focus(editor); },
        item: (word) => itemOf(proposal, word),
      });
      const panel = element("div", { class: "candidates" });
      place.replaceChildren(row, panel);
      view.panel(panel, editor, itemOf(proposal, current), sentence.tokens[current]);
    },

    panel(panel, editor, item, token) {
      if (!item) { panel.replaceChildren(); return; }
      const list = element("ol", { class: "choices" });
      const fill = (candidates) => list.replaceChildren(...candidates.map((one, k) => {
        const made = element("button", { type: "button", class: "choice" }, k < 9 ? element("kbd", {}, String(k + 1)) : "", ...candidate(one),
          element("small", {}, one.probability === null ? "" : percent(one.probability)));
        if (item.decided && JSON.stringify(one.value) === JSON.stringify(item.value)) made.setAttribute("aria-pressed", "true");
        // the second click of a double one would fall on the next word
        made.addEventListener("click", (event) => { if (event.detail < 2) view.choose(editor, item, one); });
        return element("li", {}, made);
      }));
      view.listed = item.candidates;
      fill(item.candidates);
      const search = element("input", { type: "search", class: "tail", placeholder: "Search in all candidates", "aria-label": "Search in all candidates", dir: "auto" });
      let asked = 0;
      search.addEventListener("input", async () => {
        const turn = ++asked;
        try {
          const { candidates } = await get(`/api/documents/${editor.number}/sentences/${editor.sentence}/candidates`,
            { item: item.item, layer: editor.layer, search: search.value, k: 50 });
          if (turn !== asked) return;
          view.listed = candidates;
          fill(candidates);
        } catch (problem) { editor.studio.fail(problem); }
      });
      search.addEventListener("keydown", (event) => {
        if (event.key === "Escape") { search.value = ""; search.dispatchEvent(new Event("input")); view.focus(editor); }
        if (event.key === "Enter" && view.listed[0]) { event.preventDefault(); view.choose(editor, item, view.listed[0]); }
      });
      const note = element("input", { type: "text", placeholder: "Note", "aria-label": "Note on this word", maxlength: "1000", dir: "auto" });
      note.value = item.note ?? "";
      note.addEventListener("change", () => editor.decide([{ item: item.item, value: item.value, note: note.value }]));
      view.note = () => note.value; // as it is typed: it may be on its way, with the old value
      const more = element("div", { class: "bar" }, search);
      if (none) more.append(button("None is right (0)", () => view.decide(editor, item, none)));
      if (item.decided) more.append(button("Open again", () => editor.decide([{ item: item.item, value: null }])));
      more.append(note);
      panel.replaceChildren(element("h3", { dir: "auto" }, token.text), list, more);
      if (own) panel.append(own(editor, item, (value) => view.decide(editor, item, value)));
    },

    choose(editor, item, one) { return view.decide(editor, item, one.value, one.rank); },

    decide(editor, item, value, rank) {
      const word = current;
      return editor.decide([{ item: item.item, value, rank, note: view.note() }], { then: () => { if (current === word) view.step(editor); } });
    },

    /** After a decision: the next word that is open, or the same; not where somebody has moved on. */
    step(editor) {
      if (!editor.ready) return;
      const open = editor.proposal.items.filter((one) => !one.decided).map((one) => Number(one.item.slice(prefix.length)));
      const next = open.find((word) => word > current) ?? open[0];
      if (next !== undefined) current = next;
      editor.render(editor.proposal);
      view.focus(editor);
    },

    focus(editor) { editor.bench.querySelector(`[data-word="${current}"]`)?.focus(); },

    focusOpen(editor) {
      const open = editor.proposal.items.filter((one) => !one.decided).map((one) => Number(one.item.slice(prefix.length)));
      const next = open.find((word) => word > current);
      if (next === undefined) return false;
      current = next;
      editor.render(editor.proposal);
      view.focus(editor);
      return true;
    },

    key(editor, event) {
      const words = editor.opened.sentences[editor.sentence].tokens.length;
      const row = editor.bench.querySelector(".word-row");
      const turn = turnOf(row);
      const move = { ArrowRight: turn, ArrowLeft: -turn, Home: -words, End: words }[event.key];
      if (move !== undefined) {
        current = Math.max(0, Math.min(words - 1, current + move));
        editor.render(editor.proposal);
        view.focus(editor);
        return true;
      }
      if (event.key === "/") { editor.bench.querySelector(".tail")?.focus(); return true; }
      const item = itemOf(editor.proposal, current);
      if (!item || !/^[0-9]$/.test(event.key)) return false;
      if (editor.isSaving(item.item)) return true; // what comes next is not shown yet
      if (event.key === "0") { if (none) view.decide(editor, item, none); return true; }
      const one = view.listed[Number(event.key) - 1];
      if (one) view.choose(editor, item, one);
      return true;
    },
  };
  return view;
}
