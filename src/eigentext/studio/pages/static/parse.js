// The page Parse: reads the form, asks /api/parse, shows both trees of every sentence, and asks
// again when somebody requires or forbids a part of one.  Nothing is computed here.
import { ask } from "/static/api.js";
import { editArcs } from "/static/arc_edit.js";
import { byId, count, element, fieldById, formById, isolated } from "/static/elements.js";
import { examples } from "/static/examples.js";
import { addAsked, fromAddress, inAddress, inWords, ofSentence, removed, requestOf } from "/static/parse_asked.js";
import { asking, choose, copyButton, downloadButton, early, errorBox, modelSelect, mountNav, onSubmit, permalink, SILENT, svgToPng } from "/static/shell.js";
import { editTree } from "/static/tree_edit.js";

const form = formById("form");
const input = fieldById("input");
const [results, status, take] = ["results", "status", "take"].map(byId);
const begun = early(form);
const BEST = 5;
const LANGUAGES = { es: "Spanish", ar: "Arabic" };
const FLAGS = {
  fallback: "The grammar has no tree for this: it is put together of pieces, or with other tags.",
  coarse: "The latent models give no tree any weight: this is the plain grammar's.",
  relaxed: "Pruning had to be loosened to find a tree.",
  negative: "The model's score of this tree is not above zero: log p is the plain grammar's.",
  split: "The sentence is long: it was parsed in pieces.",
  unknown: "Some words were never seen in training.",
};
let asked = []; // what the trees must and must not have
let answer = null; // the last answer for the whole text
let text = ""; // that it is the answer for
/** @type {Record<string, any>} */
const selects = { const: null, dep: null };
const cards = new Map(); // by the number of the sentence
const turns = new Map(); // the latest question about each sentence

/* ---- the question */

const layers = () => [...form.elements.layer].filter((box) => box.checked && !box.closest("label").hidden).map((box) => box.value);
const best = () => Math.min(20, Math.max(1, Math.round(Number(fieldById("k").value)) || 1));
const hasRerankers = () => document.getElementById("rerank") !== null; // the list is there for those who serve one
/** The reranker, for a parser that has none of its own. */
const rerank = () => (hasRerankers() && !named("dep")?.startsWith("pipeline:") ? fieldById("rerank").value || null : null);
const named = (kind) => selects[kind]?.select.value || null;

function body(more = {}) {
  return {
    text, kbest: best(), marginals: true, layers: layers(), const: named("const"), dep: named("dep"),
    rerank: rerank(), scheme: fieldById("scheme").value, constraints: requestOf(asked), ...more,
  };
}

function state() {
  const shown = layers();
  const usual = (kind) => selects[kind]?.select.selectedIndex <= 0;
  return {
    text,
    const: usual("const") ? "" : named("const"),
    dep: usual("dep") ? "" : named("dep"),
    rerank: rerank() ?? "",
    scheme: fieldById("scheme").value === "ptb" ? "" : fieldById("scheme").value,
    k: best() === BEST ? "" : String(best()),
    only: shown.length === 1 && !byId("layers").hidden ? shown[0] : "",
    asked: inAddress(asked),
  };
}

const ask_ = asking({ results, status, button: byId("run"), errors: errorBox(input) }, () => {
  take.hidden = true;
  cards.clear();
  return parsed();
}, show);

/** The answer; when what is asked cannot be had, the one without it, and why: so it can be taken back. */
async function parsed() {
  try {
    return await ask("/api/parse", body());
  } catch (error) {
    if (error.status !== 422 || !asked.length) throw error;
    const free = await ask("/api/parse", body({ constraints: [] }));
    asked = asked.filter((one) => one.sentence < free.n_sentences);
    return { ...free, refused: error.fault };
  }
}

function run(how) {
  if (input.value !== text) asked = how?.keep ? asked : [];
  text = input.value;
  turns.clear();
  permalink.write(state(), how);
  return ask_();
}

/* ---- the answer */

function show(found) {
  answer = found;
  const made = found.sentences.map((sentence) => {
    const card = element("article", { class: "card" });
    cards.set(sentence.index, card);
    fill(card, sentence);
    if (found.refused && ofSentence(asked, sentence.index).length) refuse(card, found.refused);
    return card;
  });
  results.replaceChildren(...made);
  take.replaceChildren(...taking(found.sentences, "all"));
  take.hidden = found.sentences.length < 2;
  const words = found.sentences.reduce((sum, one) => sum + one.tokens.length, 0);
  const models = [found.const && `constituents by ${found.const}`, found.dep && `dependencies by ${found.dep}`];
  return [`${count(found.sentences.length, "sentence")}, ${count(words, "word")}`, ...models.filter(Boolean)].join(" · ");
}

/** Buttons that take sentences away: `name` is in the names of files. */
function taking(sentences, name) {
  const brackets = () => sentences.map((one) => `${one.constituents.brackets}\n`).join("");
  const conllu = () => sentences.map((one) => one.dependencies.conllu).join("");
  return [
    ...(sentences[0]?.constituents ? [downloadButton("Brackets", `trees-${name}.mrg`, "text/plain", brackets)] : []),
    ...(sentences[0]?.dependencies ? [downloadButton("CoNLL-U", `trees-${name}.conllu`, "text/plain", conllu)] : []),
    downloadButton("JSON", `trees-${name}.json`, "application/json", () => JSON.stringify(name === "all" ? answer : sentences[0], null, 1)),
  ];
}

function fill(card, sentence, focus = null) {
  const number = sentence.index + 1;
  const several = answer.n_sentences > 1;
  const words = sentence.tokens.map((token) => token.text);
  const both = element("div", { class: "both" });
  if (sentence.constituents) both.append(constituents(sentence, focus));
  if (sentence.dependencies) both.append(dependencies(sentence, words, focus));
  const title = element("h2", {}, several ? `Sentence ${number}` : "Sentence", element("small", {}, count(words.length, "word")));
  card.replaceChildren(element("div", { class: "bar" }, title,
    element("div", { class: "bar push", role: "group", "aria-label": `Sentence ${number}` },
      downloadButton("JSON", `sentence-${number}.json`, "application/json", () => JSON.stringify(sentence, null, 1)))),
  element("p", { class: "sentence", dir: "auto" }, shownText(sentence, words)), ...chips(sentence.index, words), both);
  card.setAttribute("aria-busy", "false");
}

function shownText(sentence, words) {
  const first = sentence.tokens[0]?.start;
  const whole = first === null || first === undefined ? words.join(" ") : Array.from(text).slice(first, sentence.tokens.at(-1).end).join("");
  return whole.length > 300 ? `${whole.slice(0, 299)}…` : whole;
}

/** What is asked of the sentence, each to be taken back. */
function chips(index, words) {
  const own = ofSentence(asked, index);
  if (!own.length) return [];
  const items = element("ul", { class: "chips", "aria-label": "Asked for" });
  for (const one of own) {
    const said = inWords(one, words);
    const button = element("button", { type: "button", "aria-label": `Remove: ${said}` }, "×");
    button.addEventListener("click", () => change(index, removed(asked, one), null));
    items.append(element("li", { class: one.kind.startsWith("forbid") ? "forbid" : "require" }, said, button));
  }
  if (own.length > 1) {
    const all = element("button", { type: "button", class: "quiet" }, "Remove all");
    all.addEventListener("click", () => change(index, asked.filter((one) => !own.includes(one)), null));
    items.append(element("li", {}, all));
  }
  return [items];
}

/* ---- both kinds of trees */

const number_ = (value) => (value === null ? "–" : value.toFixed(3));

/** A drawing with its buttons and the list of the best; `edit(svg)` makes it one to choose from. */
function part(kind, title, choices, { buttons, notes, edit, differs, focus }) {
  const frame = element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": title });
  let shown = choices[0];
  const draw = (choice, put = null) => {
    shown = choice;
    if (choice.svg === null) {
      frame.replaceChildren(element("p", { class: "note" }, "The tree is too large to draw."));
      return;
    }
    const drawn = new DOMParser().parseFromString(choice.svg, "image/svg+xml").documentElement;
    const svg = document.importNode(drawn, true);
    frame.replaceChildren(svg);
    const editor = edit(svg);
    if (put) queueMicrotask(() => editor.focus(put));
  };
  draw(shown, focus);
  const pictures = choices[0].svg === null ? [] : [
    downloadButton("SVG", `${kind}.svg`, "image/svg+xml", () => shown.svg),
    downloadButton("PNG", `${kind}.png`, "image/png", () => svgToPng(shown.svg)),
  ];
  const head = element("div", { class: "part-head" }, element("h3", {}, title), ...buttons(() => shown), ...pictures);
  return element("section", { class: "part", "data-view": kind.split("-")[0], "aria-label": title }, head,
    ...notes.map((note) => element("p", { class: "note" }, note)), frame, ...bestList(kind, choices, draw, differs));
}

/** The best trees to choose from: radio buttons, so that arrows go from one to the next. */
function bestList(kind, choices, draw, differs) {
  if (choices.length < 2) return [];
  const box = element("fieldset", { class: "kbest", tabindex: "-1" }, element("legend", {}, `The ${choices.length} best: score, and what differs from the first`));
  for (const choice of choices) {
    const radio = element("input", { type: "radio", name: `kbest-${kind}`, value: String(choice.rank) });
    radio.checked = choice.rank === 1;
    radio.addEventListener("change", () => draw(choice));
    const what = element("span", { class: "differs", dir: "auto" }, ...(choice.rank === 1 ? ["the best"] : differs(choice)));
    box.append(element("label", {}, radio, String(choice.rank), element("span", { class: "score" }, number_(choice.score ?? choice.log_score ?? null)), what));
  }
  return [box];
}

const MOST = 6; // differences that are named

function cut(parts) {
  return parts.length > MOST ? [...parts.slice(0, MOST), `and ${parts.length - MOST} more`] : parts;
}

function constituents(sentence, focus) {
  const view = sentence.constituents;
  const { index } = sentence;
  const words = sentence.tokens.map((token) => token.text);
  const named_ = (span) => `${span.label} ${isolated(words.slice(span.start, span.end).join(" "))}`;
  const own = ofSentence(asked, index).filter((one) => ["require", "forbid", "tag"].includes(one.kind))
    .map((one) => ({ kind: one.kind, start: one.a, end: one.b, label: one.name }));
  const set = (one, span) => change(index, addAsked(asked, { sentence: index, ...one }), { tree: span });
  return part(`constituents-${index + 1}`, "Constituents", view.kbest.length ? view.kbest : [view], {
    buttons: (shown) => [
      copyButton("brackets", () => shown().brackets, "Copy brackets"),
      downloadButton("Brackets", `tree-${index + 1}.mrg`, "text/plain", () => `${shown().brackets}\n`),
    ],
    notes: view.flags.map((flag) => FLAGS[flag] ?? flag),
    focus: focus?.tree,
    differs: (choice) => cut([
      ...choice.added.map((span) => element("ins", {}, named_(span))),
      ...choice.missing.map((span) => element("del", {}, named_(span))),
    ]),
    edit: (svg) => editTree(svg, {
      labels: answer.labels, tags: answer.tags, asked: own,
      onRequire: (span, label) => set({ kind: "require", a: span.start, b: span.end, name: label }, { ...span, label }),
      onForbid: (span, label) => set({ kind: "forbid", a: span.start, b: span.end, name: label }, span),
      onTag: (word, tag) => set({ kind: "tag", a: word, b: word + 1, name: tag }, { start: word, end: word + 1, label: tag }),
      onClear: (span) => change(index, asked.filter((one) => !(one.sentence === index && ["require", "forbid", "tag"].includes(one.kind)
        && one.a === span.start && one.b === span.end)), { tree: span }),
    }),
  });
}

const COLUMNS = [["id", ""], ["form", "word"], ["lemma", "lemma"], ["upos", "tag"], ["xpos", "own tag"],
  ["feats", "features"], ["head", "head"], ["relation", "relation"], ["probability", "p"]];

/** The words with all that is known of them, to be folded out. */
function wordTable(sentence, words) {
  const rows = sentence.dependencies.words;
  const columns = COLUMNS.filter(([key]) => rows.some((row) => !["_", "", null].includes(row[key])));
  const cell = (row, key) => {
    if (key === "head") return [row.head ? `${row.head}\u00a0${words[row.head - 1]}` : "root"];
    if (key === "probability") return [row.probability === null ? "" : row.probability.toFixed(3)];
    if (row[key] === "_") return [];
    if (key !== "feats") return [String(row[key])];
    return row.feats.split("|").flatMap((one, k) => (k ? ["|", element("wbr"), one] : [one])); // may be broken
  };
  const characters = Array.from(text);
  const lines = rows.map((row, k) => {
    const line = element("tr", {}, ...columns.map(([key]) => element("td", { dir: "auto" }, ...cell(row, key))));
    const { start: from, end } = sentence.tokens[k];
    const typed = from === null ? row.form : characters.slice(from, end).join("");
    if (typed !== row.form) {
      line.className = "part-of";
      line.title = `typed: ${typed}`;
    }
    return line;
  });
  const head = columns.map(([key, title]) => (key === "id" ? element("td") : element("th", { scope: "col" }, title)));
  const frame = element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": `Words of sentence ${sentence.index + 1}` },
    element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...lines)));
  return element("details", { class: "words" }, element("summary", {}, "Words"), frame);
}

function dependencies(sentence, words, focus) {
  const view = sentence.dependencies;
  const { index } = sentence;
  const named_ = (head, word, relation) => `${isolated(words[word - 1])} ← ${relation} ${head ? isolated(words[head - 1]) : "root"}`;
  const own = ofSentence(asked, index).filter((one) => one.kind.endsWith("-arc"))
    .map((one) => ({ kind: one.kind.split("-")[0], head: one.a, dependent: one.b, relation: one.name }));
  const set = (kind, dependent, head, relation) => change(index,
    addAsked(asked, { sentence: index, kind, a: head, b: dependent, name: relation }), { arc: { dependent } });
  const made = part(`dependencies-${index + 1}`, "Dependencies", view.kbest.length ? view.kbest : [view], {
    buttons: (shown) => [
      copyButton("CoNLL-U", () => shown().conllu, "Copy CoNLL-U"),
      downloadButton("CoNLL-U", `tree-${index + 1}.conllu`, "text/plain", () => shown().conllu),
    ],
    notes: view.approximate ? [view.kbest.length ? "The list of the best trees is approximate: others as good may exist." : "The search for this tree is approximate: a better one may exist."] : [],
    focus: focus?.arc,
    differs: (choice) => cut(choice.differs.map((word) => element("ins", {}, named_(choice.heads[word - 1], word, choice.relations[word - 1])))),
    edit: (svg) => editArcs(svg, {
      words, relations: answer.relations, asked: own,
      onArc: (dependent, head, relation) => set("require-arc", dependent, head, relation),
      onForbid: (dependent, head, relation) => set("forbid-arc", dependent, head, relation),
      onClear: (dependent) => change(index, asked.filter((one) => !(one.sentence === index && one.kind.endsWith("-arc") && one.b === dependent)), { arc: { dependent } }),
    }),
  });
  made.append(wordTable(sentence, words));
  return made;
}

/* ---- asking again */

/** There is no tree to show: only why, and what was asked for. */
function refuse(card, fault) {
  card.querySelector(".both").replaceChildren();
  card.append(element("p", { class: "error", role: "alert" }, fault.why));
  card.setAttribute("aria-busy", "false");
}

/** Parse one sentence again with what is asked now; `focus` says where the person was. */
async function change(index, now, focus) {
  const mine = Symbol(index);
  turns.set(index, mine);
  asked = now;
  permalink.write(state());
  const card = cards.get(index);
  const known = answer.sentences.find((one) => one.index === index);
  const words = known.tokens.map((token) => token.text);
  card.setAttribute("aria-busy", "true");
  card.querySelector(".error")?.remove();
  card.querySelector(".chips")?.remove();
  card.querySelector(".sentence").after(...chips(index, words));
  status.textContent = "Working …";
  try {
    const found = await ask("/api/parse", body({ only: [index] }));
    if (turns.get(index) !== mine) return;
    const [sentence] = found.sentences;
    answer.sentences[answer.sentences.indexOf(known)] = sentence;
    fill(card, sentence, focus);
    status.textContent = `Parsed again: ${count(ofSentence(asked, index).length, "demand")}`;
  } catch (error) {
    if (turns.get(index) !== mine) return;
    refuse(card, error.fault ?? SILENT);
    status.textContent = "";
    card.querySelector(".chips button")?.focus();
    if (!error.fault && !(error instanceof TypeError)) throw error; // a fault of this page
  }
}

/* ---- the page */

function restore(told) {
  for (const kind of ["const", "dep"]) {
    selects[kind].select.selectedIndex = 0;
    choose(selects[kind].select, told[kind]);
  }
  if (hasRerankers()) {
    fieldById("rerank").value = "";
    choose(byId("rerank"), told.rerank);
  }
  fieldById("scheme").value = "ptb";
  choose(byId("scheme"), told.scheme);
  fieldById("k").value = told.k ?? String(BEST);
  for (const box of form.elements.layer) box.checked = !told.only || !["const", "dep"].includes(told.only) || box.value === told.only;
  input.value = told.text ?? exampleFor();
  asked = fromAddress(told.asked);
  text = input.value;
  return run({ replace: true, keep: true });
}

let language = "";
const exampleFor = () => (examples.parse.find(([name]) => name === LANGUAGES[language]) ?? examples.parse[0])[1];

/** What there is to choose; both trees are shown, of what has a model. */
function showLayers() {
  for (const box of form.elements.layer) box.closest("label").hidden = !selects[box.value].models.length;
  byId("layers").hidden = [...form.elements.layer].filter((box) => !box.closest("label").hidden).length < 2;
}

function mountModels(health) {
  for (const [kind, stage, label] of [["const", "const", "Constituents by"], ["dep", "parser", "Dependencies by"]]) {
    selects[kind] = modelSelect(health, (models) => models.filter((model) =>
      model.kind === kind || (model.kind === "pipeline" && model.can.includes(stage))), { id: `${kind}-model`, label });
    selects[kind].select.addEventListener("change", () => run());
    byId("models").append(selects[kind].field);
  }
  showLayers();
  const rerankers = health.models.filter((model) => model.kind === "reranker");
  if (rerankers.length) {
    const select = element("select", { id: "rerank" });
    select.append(new Option("nothing", ""), ...rerankers.map((model) => new Option(model.name)));
    select.addEventListener("change", () => run());
    byId("models").append(element("label", { class: "field" }, "Reranked by ", select));
  }
  language = [...selects.dep.models, ...selects.const.models][0]?.language ?? "";
  byId("scheme").replaceChildren(...health.schemes.map((name) => new Option(name)));
  fieldById("scheme").value = "ptb";
}

onSubmit(form, input, () => run());
byId("k").addEventListener("change", () => run());
byId("scheme").addEventListener("change", () => { asked = []; run(); });
for (const box of form.elements.layer) {
  box.addEventListener("change", () => {
    if (!layers().length) box.checked = true; // one of them has to be there
    run();
  });
}
byId("example").replaceChildren(new Option("Choose …", ""), ...examples.parse.map(([name], k) => new Option(name, String(k))));
byId("example").addEventListener("change", () => {
  if (fieldById("example").value === "") return;
  [, input.value] = examples.parse[Number(fieldById("example").value)];
  run();
});

async function start() {
  mountModels(await mountNav("parse", showLayers));
  permalink.onChange(restore);
  const told = permalink.read();
  const typed = begun();
  if (typed.text !== undefined) delete told.asked; // that was about another text
  await restore({ ...told, ...typed });
}

start();
