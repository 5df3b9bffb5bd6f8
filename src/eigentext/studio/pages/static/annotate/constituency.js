// Constituent trees: choose words and say what they are, or that they are no constituent.  In the
// drawing as on the page Parse (click a node, drag over words), or in the row of words, by a drag or
// with Shift and arrows.
import { count, element } from "/static/elements.js";
import { editTree } from "/static/tree_edit.js";
import { get } from "/static/annotate/api.js";
import { button } from "/static/annotate/forms.js";
import { dragOver, extended, markSpan, nextSpan } from "/static/annotate/spans.js";
import { drawing, kbestBar, turnOf, wordRow } from "/static/annotate/trees.js";

const span = { from: 0, to: 1, anchor: 0 }; // the words that are selected
let before = null;
const offered = new Map(); // project -> its labels and tags
let tree = null; // the editor in the drawing
let inTree = null; // the node that had the focus last, if it was in the drawing
let last = null; // the last correction, and the tree that it was made in
const KEPT = "kept from the tree before"; // the note of what nobody chose, but did not want parsed anew

const labelsIn = (editor) => offered.get(editor.project.id) ?? { labels: [], tags: [] };
const spans = (proposal) => proposal.items.filter((one) => one.item.startsWith("s"));
const placeOf = (item) => item.slice(1).split("-").map(Number);
const nameOf = (start, end) => `s${start}-${end}`;
const valueOf = (chain) => (chain.length > 1 ? { labels: chain } : { label: chain[0] });
const chainOf = (value) => value?.labels ?? (value?.label ? [value.label] : []);
const textOf = (value) => (value?.forbid ? "" : value?.labels?.join(" ") ?? value?.label ?? "");

/** What a tree in brackets has: its constituents and tags, by item, as decisions would say it. */
function itemsOf(brackets) {
  const chains = new Map();
  const tagged = new Map();
  /** @type {any[]} */
  const open = []; // constituents whose end is still to come
  let word = 0;
  for (const [piece] of brackets.matchAll(/\(|\)|[^\s()]+/g)) {
    if (piece === "(") open.push({ start: word, label: null, leaf: false });
    else if (piece === ")") {
      const { start, label, leaf } = open.pop();
      const name = nameOf(start, word);
      if (leaf) tagged.set(`t${start}`, { tag: label });
      else if (label !== null) chains.set(name, [label, ...(chains.get(name) ?? [])]);
    } else if (open.at(-1).label === null) open.at(-1).label = piece;
    else { open.at(-1).leaf = true; word += 1; }
  }
  return new Map([...[...chains].map(([name, chain]) => /** @type {const} */ ([name, valueOf(chain)])), ...tagged]);
}

/** What must be decided to come from one tree to the other. */
function between(first, now) {
  const [theirs, ours] = [itemsOf(first.brackets), itemsOf(now.brackets)];
  const same = (name, value) => JSON.stringify(theirs.get(name)) === JSON.stringify(value);
  const added = [...ours].filter(([name, value]) => !same(name, value)).map(([item, value]) => ({ item, value }));
  const gone = [...theirs.keys()].filter((name) => !ours.has(name)).map((item) => ({ item, value: { forbid: true } }));
  return [...added, ...gone];
}

/** What the tree on view has and the first has not. */
const taken = (editor) => (editor.shown === editor.proposal.analysis ? [] : between(editor.proposal.analysis, editor.shown));

const crosses = ([a, b], [c, d]) => (a < c && c < b && b < d) || (c < a && a < d && d < b);

function set(editor, item, value) {
  last = { where: editor.where, version: editor.version + 1, before: editor.shown.brackets ?? "", item, value };
  const others = taken(editor).filter((one) => one.item !== item);
  const named = new Set([item, ...others.map((one) => one.item)]);
  const inWay = spans(editor.proposal).filter((one) => one.note === KEPT && !named.has(one.item) && item.startsWith("s")
    && !value.forbid && crosses(placeOf(one.item), placeOf(item))).map((one) => ({ item: one.item, value: null }));
  return editor.decide([{ item, value }, ...others, ...inWay]);
}

/** The tree that the last correction was made in, with that correction alone. */
function corrected({ before: brackets, item, value }) {
  const items = itemsOf(brackets);
  const chain = chainOf(items.get(item));
  if (item.startsWith("t")) items.set(item, value);
  else if (value.forbid) {
    const left = value.label ? chain.filter((label) => label !== value.label) : [];
    if (left.length) items.set(item, valueOf(left)); else items.delete(item);
  } else {
    for (const name of [...items.keys()]) if (name.startsWith("s") && crosses(placeOf(name), placeOf(item))) items.delete(name);
    if (!(value.label && chain.includes(value.label))) items.set(item, value);
  }
  return items;
}

/** Decisions that keep all but the last correction as it was; none where nothing else has changed. */
function keeping(editor) {
  if (last?.where !== editor.where || last.version !== editor.version || !editor.proposal.analysis.brackets) return [];
  const [now, kept] = [itemsOf(editor.proposal.analysis.brackets), corrected(last)];
  const same = (name) => JSON.stringify(now.get(name)) === JSON.stringify(kept.get(name));
  const whole = nameOf(0, editor.opened.sentences[editor.sentence].tokens.length);
  const known = new Set(editor.proposal.items.filter((one) => one.decided).map((one) => one.item));
  if (![...now.keys(), ...kept.keys()].some((name) => name !== last.item && !same(name))) return [];
  const top = chainOf(now.get(whole))[0]; // of every tree, in many treebanks: nobody decides about it
  const labels = (name) => { const chain = chainOf(kept.get(name)); return name === whole && chain.length > 1 && chain[0] === top ? chain.slice(1) : chain; };
  const value = (name) => (name.startsWith("t") ? kept.get(name) : { labels: labels(name) });
  const stay = [...kept.keys()].filter((name) => name !== last.item && !((name === whole || known.has(name)) && same(name)))
    .map((name) => ({ item: name, value: value(name), note: KEPT }));
  const gone = [...now.keys()].filter((name) => !kept.has(name) && name !== last.item && name !== whole)
    .map((name) => ({ item: name, value: { forbid: true }, note: KEPT }));
  return [...stay, ...gone];
}

function keep(editor) {
  const changes = keeping(editor);
  return changes.length ? editor.decide(changes) : Promise.resolve(false);
}
function require(editor, text, { start, end } = { start: span.from, end: span.to }) {
  const listed = text.split(/[\s>]+/).filter(Boolean);
  return listed.length ? set(editor, nameOf(start, end), valueOf(listed)) : Promise.resolve();
}
const forbid = (editor, { start, end } = { start: span.from, end: span.to }) => set(editor, nameOf(start, end), { forbid: true });

const view = {
  taken,

  describe(value, name, sentence) {
    if (value === null) return "taken back";
    if (value.analysis) return "accepted";
    const [start, end = start + 1] = placeOf(name);
    const words = sentence?.tokens.slice(start, end).map((token) => token.text).join(" ") ?? name;
    return `${words}: ${value.tag ?? (value.forbid ? `no ${value.label ?? "constituent"}` : value.labels?.join(" over ") ?? value.label)}`;
  },

  differs: (a, b) => between(a, b).length,

  render(place, editor, proposal, sentence) {
    const where = editor.where;
    if (before !== where) { before = where; inTree = null; Object.assign(span, { from: 0, to: 1, anchor: 0 }); }
    const picture = drawing(editor.shownSvg);
    tree = null;
    if (!picture.firstChild) inTree = null;
    if (picture.firstChild && editor.writable) view.edit(picture, editor, proposal);
    picture.addEventListener("focusin", (event) => {
      const node = event.target.closest(".et-node");
      if (!node) return;
      inTree = { start: Number(node.dataset.start), end: Number(node.dataset.end), label: node.dataset.label };
      Object.assign(span, { from: inTree.start, to: inTree.end, anchor: inTree.start });
      view.told(editor);
    });
    const tagOf = (word) => proposal.items.find((one) => one.item === `t${word}`);
    const row = wordRow(sentence.tokens, {
      current: span.from,
      chosen: (word) => word >= span.from && word < span.to,
      below: (word) => tagOf(word)?.value?.tag ?? "",
      label: (word) => `${sentence.tokens[word].text}: ${tagOf(word)?.value?.tag ?? "no tag"}`,
      on: () => {},
      item: (word) => (tagOf(word)?.decided ? tagOf(word) : null),
    });
    row.addEventListener("focusin", () => { inTree = null; });
    dragOver(row, span, () => { inTree = null; view.told(editor); view.focus(editor); });
    const decided = spans(proposal).filter((one) => one.decided && one.note !== KEPT);
    const kept = proposal.items.filter((one) => one.decided && one.note === KEPT);
    const list = element("ul", { class: "chips", "aria-label": "Decided" }, ...decided.map((one) => {
      const said = view.describe(one.value, one.item, sentence);
      const back = button("×", () => editor.decide([{ item: one.item, value: null }]));
      back.setAttribute("aria-label", `Take back: ${said}`);
      return element("li", { class: one.value?.forbid ? "forbid" : "require", dir: "auto" }, said, back);
    }));
    if (kept.length) {
      const back = button("×", () => editor.decide(kept.map((one) => ({ item: one.item, value: null }))));
      back.setAttribute("aria-label", "Take back: the rest is kept");
      list.append(element("li", { class: "require" }, `The rest is kept: ${count(kept.length, "item")}`, back));
    }
    const label = element("input", { class: "tail", list: "labels", "aria-label": "Label of the span", placeholder: "Label", maxlength: "60", autocomplete: "off", size: "10" });
    label.addEventListener("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); require(editor, label.value); }
      if (event.key === "Escape") view.focus(editor);
    });
    const tag = element("input", { class: "tag", "aria-label": "Tag of the word", placeholder: "Tag", maxlength: "40", size: "6" });
    tag.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && tag.value.trim()) { event.preventDefault(); set(editor, `t${span.from}`, { tag: tag.value.trim() }); }
      if (event.key === "Escape") view.focus(editor);
    });
    const choices = element("datalist", { id: "labels" }, ...labelsIn(editor).labels.map((one) => new Option(one)));
    if (editor.writable) view.fillLabels(editor);
    const act = element("div", { class: "bar" }, element("b", { class: "selection", dir: "auto" }), label, choices,
      button("Is a constituent (L)", () => require(editor, label.value)), button("Is none (X)", () => forbid(editor)), tag);
    if (editor.writable && keeping(editor).length) act.append(button("Keep the rest as it was (K)", () => keep(editor)));
    place.replaceChildren(picture, row, act, list, kbestBar(editor));
    view.told(editor, place);
  },

  edit(picture, editor, proposal) {
    const asked = proposal.items.filter((one) => one.decided).flatMap((one) => {
      const [start, end = start + 1] = placeOf(one.item);
      if (one.value.tag) return [{ kind: "tag", start, end, label: one.value.tag }];
      if (one.value.forbid) return [{ kind: "forbid", start, end, label: one.value.label ?? null }];
      return (one.value.labels ?? [one.value.label]).map((label) => ({ kind: "require", start, end, label }));
    });
    const known = (role) => [...new Set([...picture.querySelectorAll(`.et-node[data-role="${role}"]`)].map((node) => node.dataset.label))];
    const { labels, tags } = labelsIn(editor);
    tree = editTree(picture.firstChild, {
      labels: labels.length ? labels : known("label"), tags: tags.length ? tags : known("tag"), asked, any: false,
      onRequire: (place, label) => require(editor, label, place),
      onForbid: (place, label) => set(editor, nameOf(place.start, place.end), { forbid: true, ...(label ? { label } : {}) }),
      onTag: (word, tag) => set(editor, `t${word}`, { tag }),
      onClear: ({ start, end }) => editor.decide(asked.filter((one) => one.start === start && one.end === end)
        .map((one) => ({ item: one.kind === "tag" ? `t${start}` : nameOf(start, end), value: null }))),
    });
  },

  async fillLabels(editor) {
    const { id, settings } = editor.project;
    if (offered.has(id)) return;
    offered.set(id, { labels: [], tags: [] }); // asked once, even if there are none
    try {
      const path = `/api/documents/${editor.number}/sentences/${editor.sentence}/candidates`;
      const ask = (item) => get(path, { item, layer: editor.layer, k: 200 });
      const [ofSpans, ofTags] = await Promise.all([ask("s0-1"), ask("t0")]);
      const labels = [...new Set([...(settings.labels ?? []), ...ofSpans.candidates.map((one) => one.value?.label)])].filter(Boolean).sort();
      const tags = [...new Set(ofTags.candidates.map((one) => one.value?.tag))].filter(Boolean).sort();
      offered.set(id, { labels, tags });
      editor.bench.querySelector("#labels")?.replaceChildren(...labels.map((one) => new Option(one)));
    } catch { offered.delete(id); /* any label can be typed */ }
  },

  select(editor, from, to, anchor = from) {
    Object.assign(span, { from, to, anchor });
    inTree = null;
    view.told(editor);
    view.focus(editor);
  },

  /** What is selected, and what it is in the tree that is shown. */
  told(editor, place = editor.bench) {
    markSpan(place.querySelector(".word-row"), span);
    const tokens = editor.opened.sentences[editor.sentence].tokens;
    place.querySelector(".selection").textContent = tokens.slice(span.from, span.to).map((token) => token.text).join(" ");
    const decided = spans(editor.proposal).find((one) => one.item === nameOf(span.from, span.to) && one.decided);
    const now = decided?.value ?? itemsOf(editor.shown.brackets ?? "").get(nameOf(span.from, span.to));
    place.querySelector(".tail").value = textOf(now);
    const tag = place.querySelector(".tag");
    tag.hidden = span.to !== span.from + 1;
    tag.value = editor.proposal.items.find((one) => one.item === `t${span.from}`)?.value?.tag ?? "";
  },

  focus(editor) {
    if (inTree && tree) tree.focus(inTree);
    else editor.bench.querySelector(`.word[data-word="${span.anchor === span.from ? span.to - 1 : span.from}"]`)?.focus();
  },

  key(editor, event) {
    const n = editor.opened.sentences[editor.sentence].tokens.length;
    const move = extended(span, event, n, turnOf(editor.bench.querySelector(".word-row")));
    if (move) { view.select(editor, move.from, move.to, move.anchor); return true; }
    if (event.key === "ArrowUp") { // the smallest constituent around the selection
      const around = [...itemsOf(editor.shown.brackets ?? "").keys()].filter((name) => name.startsWith("s")).map(placeOf)
        .filter(([a, b]) => a <= span.from && span.to <= b && b - a > span.to - span.from).sort((x, y) => x[1] - x[0] - (y[1] - y[0]))[0];
      if (around) view.select(editor, ...around);
      return true;
    }
    const key = event.key.toLowerCase();
    if (key === "l" || key === "/") { const field = editor.bench.querySelector(".tail"); field?.focus(); field?.select(); return true; }
    if (key === "x") { if (!editor.isSaving(nameOf(span.from, span.to))) forbid(editor); return true; }
    if (key === "k") { keep(editor); return true; }
    if (key === "b") { editor.nextTree(); return true; }
    return false;
  },

  focusOpen(editor) {
    const next = nextSpan(spans(editor.proposal).filter((one) => !one.decided).map((one) => placeOf(one.item)), span);
    if (!next) return false;
    view.select(editor, ...next);
    return true;
  },
};

export default view;
