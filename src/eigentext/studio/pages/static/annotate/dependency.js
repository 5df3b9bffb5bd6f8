// Dependency trees: choose a word, then its head and relation.  In the drawing as on the page Parse
// (drag a word onto its head, click an arc), or in the row of words, by clicks or by keys.
import { editArcs } from "/static/arc_edit.js";
import { element } from "/static/elements.js";
import { get } from "/static/annotate/api.js";
import { button, percent } from "/static/annotate/forms.js";
import { drawing, kbestBar, sure, turnOf, wordRow } from "/static/annotate/trees.js";

let current = 0; // from 0; items count from 1
let picking = null; // while a head is being chosen: the word that would be it
let before = null;
const offered = new Map(); // project -> its relations
let arcs = null; // the editor in the drawing
let inTree = false; // whether the focus was in the drawing last
const passed = new Map(); // word -> its arc as it was when the cursor went on from it: it was right

const relationsIn = (editor) => offered.get(editor.project.id) ?? [];
const item = (editor, word) => editor.proposal.items.find((one) => one.item === `a${word + 1}`);
const formOf = (sentence, head) => (head === 0 ? "root" : sentence.tokens[head - 1]?.text ?? "?");
const headOf = (editor, word) => editor.shown.head?.[word] ?? null;
const relationOf = (editor, word) => { const name = editor.shown.deprel?.[word]; return name && name !== "_" ? name : undefined; };

/**
 * Save an arc; where another of the best trees is shown, what is its own comes with it, and so do
 * the arcs before it that were passed over, marked as such: they bind when the rest is parsed anew.
 */
function set(editor, word, value, rank) {
  picking = null;
  current = word;
  const own = { item: `a${word + 1}`, value, rank };
  const others = taken(editor).filter((one) => one.item !== own.item);
  const known = new Set(others.map((one) => one.item));
  return editor.decide([own, ...others, ...passedOver(editor, word, value.head).filter((one) => !known.has(one.item))]);
}

const arcOf = (editor, word) => ({ head: headOf(editor, word), deprel: relationOf(editor, word) });

/** The cursor goes from one word to another: those it goes over are right as they are shown. */
function pass(editor, from, to) {
  for (let word = from; word < to; word += 1) if (headOf(editor, word) !== null) passed.set(word, arcOf(editor, word));
}

/**
 * What a new arc means for those that were passed over: open ones before it are decided with it,
 * but none that would make two roots or a circle with it; if such a one is bound, it is let go.
 */
function passedOver(editor, word, head) {
  let over = head; // up the tree, as it is shown, from the new head
  const above = new Set();
  while (over && over !== word + 1 && !above.has(over)) { above.add(over); over = headOf(editor, over - 1); }
  const circle = over === word + 1;
  const against = (k, to) => (head === 0 ? to === 0 : circle && above.has(k + 1));
  const bound = editor.proposal.items.filter((one) => one.decided && one.value?.passed && one.item !== `a${word + 1}`);
  const freed = bound.filter((one) => against(Number(one.item.slice(1)) - 1, one.value.head)).map((one) => ({ item: one.item, value: null }));
  if (!(editor.project.settings.passed ?? true) || editor.proposal.source !== "model") return freed;
  const open = [...passed].filter(([k, arc]) => {
    const now = arcOf(editor, k);
    return k < word && !item(editor, k)?.decided && now.head === arc.head && now.deprel === arc.deprel && !against(k, arc.head);
  });
  return [...freed, ...open.map(([k, { head: to, deprel }]) => ({
    item: `a${k + 1}`, value: { head: to, ...(deprel ? { deprel } : {}), passed: true },
    rank: item(editor, k)?.candidates.find((one) => one.value.head === to)?.rank,
  }))];
}

/** @param {any} editor @param {number} word @param {number} head @param {string | null} relation */
function setHead(editor, word, head, relation = null) {
  const known = item(editor, word);
  // the relation is proposed anew for another head, unless a person decided it
  const kept = known?.decided && known.value?.deprel !== "root" ? known.value?.deprel : undefined;
  const deprel = head === 0 ? "root" : relation ?? (headOf(editor, word) === head ? relationOf(editor, word) : kept);
  const rank = known?.candidates.find((one) => one.value.head === head)?.rank;
  return set(editor, word, { head, ...(deprel ? { deprel } : {}) }, rank);
}

function setRelation(editor, word, deprel) {
  const head = headOf(editor, word);
  return set(editor, word, { ...(head === null ? {} : { head }), deprel });
}

/** The arcs that the tree on view has and the first has not. */
function taken(editor) {
  const [now, first] = [editor.shown, editor.proposal.analysis];
  if (now === first) return [];
  return now.head.map((head, k) => ({ item: `a${k + 1}`, value: { head, deprel: now.deprel[k] } }))
    .filter((_, k) => now.head[k] !== first.head[k] || now.deprel[k] !== first.deprel[k]);
}

const openWords = (proposal) => proposal.items.filter((one) => !one.decided).map((one) => Number(one.item.slice(1)) - 1).sort((a, b) => a - b);

const view = {
  taken,

  describe(value, name, sentence) {
    if (value === null) return "taken back";
    if (value.analysis) return "accepted";
    const word = sentence?.tokens[Number(name.slice(1)) - 1]?.text ?? name;
    const arc = `${value.deprel ?? "_"} ← ${value.head === undefined ? "?" : sentence ? formOf(sentence, value.head) : value.head}`;
    return `${word}: ${arc}${value.passed ? ", passed over as right" : ""}`;
  },

  differs: (a, b) => a.head.filter((head, k) => head !== b.head[k] || a.deprel[k] !== b.deprel[k]).length,

  render(place, editor, proposal, sentence) {
    const where = editor.where;
    if (before !== where) {
      before = where;
      picking = null;
      passed.clear();
      current = openWords(proposal)[0] ?? 0;
    }
    current = Math.max(0, Math.min(current, sentence.tokens.length - 1));
    const tree = drawing(editor.shownSvg);
    arcs = null;
    if (!tree.firstChild) inTree = false;
    if (tree.firstChild && editor.writable) view.edit(tree, editor, proposal, sentence);
    const known = (word) => item(editor, word);
    const row = wordRow(sentence.tokens, {
      current: picking ?? current,
      chosen: (word) => word === current || word === picking,
      below: (word) => (headOf(editor, word) === null && !relationOf(editor, word) ? "·"
        : `${relationOf(editor, word) ?? "_"} ← ${headOf(editor, word) === null ? "?" : formOf(sentence, headOf(editor, word))}`),
      label: (word) => `${sentence.tokens[word].text}: ${headOf(editor, word) === null ? "no head"
        : `${relationOf(editor, word) ?? "no relation"} of ${formOf(sentence, headOf(editor, word))}`}, ${known(word)?.value?.passed ? "passed over" : sure(known(word))}`,
      on: (word) => {
        if (picking !== null && word !== current) { setHead(editor, current, word + 1); return; }
        picking = null;
        view.select(editor, word);
        editor.fresh();
      },
      item: known,
    });
    [...row.children].forEach((made, word) => made.classList.toggle("passed", Boolean(known(word)?.decided && known(word).value?.passed)));
    row.addEventListener("focusin", () => { inTree = false; });
    tree.addEventListener("focusin", (event) => {
      const at = event.target.closest(".et-arc, .et-place");
      if (!at) return;
      inTree = true;
      picking = null;
      view.select(editor, Number(at.dataset.dependent ?? at.dataset.word) - 1, { focus: false });
    });
    const panel = element("div", { class: "panel-of-word" });
    place.replaceChildren(tree, row, panel, kbestBar(editor));
    view.panel(editor, panel);
  },

  edit(tree, editor, proposal, sentence) {
    arcs = editArcs(tree.firstChild, {
      words: sentence.tokens.map((token) => token.text),
      relations: relationsIn(editor).length ? relationsIn(editor) : [...new Set(editor.shown.deprel)],
      asked: proposal.items.filter((one) => one.decided && one.value?.head !== undefined)
        .map((one) => ({ kind: "require", dependent: Number(one.item.slice(1)), head: one.value.head, relation: one.value.deprel ?? null })),
      onArc: (dependent, head, relation) => setHead(editor, dependent - 1, head, relation),
      onClear: (dependent) => editor.decide([{ item: `a${dependent}`, value: null }]),
    });
  },

  /** What can be done with the word that is chosen. */
  panel(editor, panel = editor.bench.querySelector(".panel-of-word")) {
    const sentence = editor.opened.sentences[editor.sentence];
    const own = item(editor, current);
    const heads = (own?.candidates ?? []).map((one, k) => {
      const made = button("", (event) => { if (event.detail < 2) setHead(editor, current, one.value.head); }, "choice");
      made.append(element("kbd", {}, String(k + 1)), element("b", { dir: "auto" }, formOf(sentence, one.value.head)), element("small", {}, percent(one.probability)));
      return element("li", {}, made);
    });
    const now = relationOf(editor, current) ?? "";
    const relation = element("input", { class: "tail", list: "relations", "aria-label": `Relation of ${sentence.tokens[current]?.text}`, placeholder: "Relation", maxlength: "60", autocomplete: "off", size: "12" });
    relation.value = now;
    let sent = now; // Enter and leaving the field would both save it
    let sending = null;
    const save = async () => {
      const text = relation.value.trim();
      if (!text || text === sent || text === sending) return;
      sending = text;
      if (await setRelation(editor, current, text)) sent = text;
      sending = null;
    };
    relation.addEventListener("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); if (relation.value.trim() === sent) view.focus(editor); else save(); }
      if (event.key === "Escape") { sent = relation.value; view.focus(editor); relation.value = now; }
    });
    relation.addEventListener("change", save);
    const list = element("datalist", { id: "relations" }, ...relationsIn(editor).map((one) => new Option(one)));
    if (editor.writable) view.fillRelations(editor);
    const act = element("div", { class: "bar" }, element("b", { dir: "auto", class: "of-word" }, sentence.tokens[current]?.text ?? ""),
      button(picking === null ? "Choose its head (H)" : "Now click the head, or arrows and Enter", () => view.pick(editor)),
      button("Root (0)", () => setHead(editor, current, 0)), relation, list);
    if (own?.decided) act.append(button("Open again", () => editor.decide([{ item: own.item, value: null }])));
    panel.replaceChildren(act, element("ol", { class: "choices heads", "aria-label": "Heads" }, ...heads));
  },

  async fillRelations(editor) {
    const { id, settings } = editor.project;
    if (offered.has(id)) return;
    offered.set(id, []); // asked once, even if there are none
    try {
      const { candidates } = await get(`/api/documents/${editor.number}/sentences/${editor.sentence}/candidates`, { item: "a1", layer: editor.layer, k: 200 });
      const found = [...new Set([...(settings.labels ?? []), ...candidates.map((one) => one.value.deprel)])].filter(Boolean).sort();
      offered.set(id, found);
      editor.bench.querySelector("#relations")?.replaceChildren(...found.map((one) => new Option(one)));
    } catch { offered.delete(id); /* any relation can be typed */ }
  },

  /** Another word is at hand; nothing is drawn anew. */
  select(editor, word, { focus = true } = {}) {
    current = word;
    for (const made of editor.bench.querySelectorAll(".word")) {
      const k = Number(made.dataset.word);
      made.setAttribute("aria-selected", String(k === current || k === picking));
      made.tabIndex = k === (picking ?? current) ? 0 : -1;
    }
    view.panel(editor);
    if (focus) view.focus(editor);
  },

  pick(editor) { picking = picking === null ? current : null; inTree = false; view.select(editor, current); },

  focus(editor) {
    if (inTree && arcs) arcs.focus({ dependent: current + 1 });
    else editor.bench.querySelector(`.word[data-word="${picking ?? current}"]`)?.focus();
  },

  key(editor, event) {
    const n = editor.opened.sentences[editor.sentence].tokens.length;
    const turn = turnOf(editor.bench.querySelector(".word-row"));
    const move = { ArrowRight: turn, ArrowLeft: -turn, Home: -n, End: n }[event.key];
    if (move !== undefined) {
      const to = Math.max(0, Math.min(n - 1, (picking ?? current) + move));
      if (picking !== null) picking = to; else pass(editor, current, to);
      inTree = false;
      view.select(editor, picking === null ? to : current);
      return true;
    }
    const key = event.key.toLowerCase();
    if (key === "h") { view.pick(editor); return true; }
    if (event.key === "Escape" && picking !== null) { view.pick(editor); return true; }
    if (event.key === "Enter" && picking !== null) { if (picking !== current) setHead(editor, current, picking + 1); return true; }
    if (/^[0-9]$/.test(key) && editor.isSaving(`a${current + 1}`)) return true;
    if (key === "0") { setHead(editor, current, 0); return true; }
    if (key === "r" || key === "/") { const field = editor.bench.querySelector(".tail"); field?.focus(); field?.select(); return true; }
    if (key === "b") { editor.nextTree(); return true; }
    if (/^[1-9]$/.test(key)) {
      const one = item(editor, current)?.candidates[Number(key) - 1];
      if (one) setHead(editor, current, one.value.head);
      return true;
    }
    return false;
  },

  focusOpen(editor) {
    const next = openWords(editor.proposal).find((word) => word > current);
    if (next === undefined) return false;
    if (picking === null) pass(editor, current, next);
    picking = null;
    inTree = false;
    view.select(editor, next);
    return true;
  },
};

export default view;
