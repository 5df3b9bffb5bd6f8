// The page of words: the form and the address; each view asks and shows in a file of its own.
import { all, byId, fieldById, formById } from "/static/elements.js";
import { ask } from "/static/api.js";
import { asking, choose, early, errorBox, modelSelect, mountNav, ofKind, permalink } from "/static/shell.js";
import { analogyView } from "/static/words_analogy.js";
import { compareView } from "/static/words_compare.js";
import { mapView } from "/static/words_map.js";
import { treeView } from "/static/words_tree.js";
import { wordView } from "/static/words_look.js";

const form = formById("form");
const [results, status] = ["results", "status"].map(byId);
const begun = early(form);
const VIEWS = { word: wordView, tree: treeView, analogy: analogyView, map: mapView, compare: compareView };
// what each view keeps in the address, besides model and view
const KEPT = { word: ["word", "k"], tree: ["prefix"], analogy: ["a", "b", "c", "k"], map: ["n", "colours", "seek"], compare: ["other", "word", "k"] };
const USUAL = { k: "10", n: "500" };
const PAUSE = 120; // milliseconds without a key before words are looked for
let model = null; // the selects of models
let other = null;

const view = () => form.elements.view.value;
const field = (id) => (id === "other" ? other.select : byId(id));
/** The state of a view: the fields that it keeps, but for what is to change. */
const stateOf = (which, change = {}) => Object.fromEntries([
  ["view", which], ["model", model.models.length > 1 ? change.model ?? model.select.value : ""],
  ...KEPT[which].map((id) => [id, change[id] ?? field(id).value]).map(([id, value]) => [id, value === USUAL[id] ? "" : value]),
]);
const state = () => stateOf(view());

const TREES = ["clusters", "class-bigram"]; // kinds of model files with clusters; others have vectors
const hasTree = (one) => TREES.includes(one?.of);
const NEEDS_TREE = { tree: true, map: false, analogy: false }; // other views take any model
const fits = (one, which) => NEEDS_TREE[which] === undefined || hasTree(one) === NEEDS_TREE[which];
const chosen = () => model.models.find((one) => one.name === model.select.value);

/** What a view is told: the fields, and the first model that has what the chosen one lacks. */
const asked = () => ({
  model: model.select.value, other: other.select.value,
  beside: model.models.find((one) => hasTree(one) !== hasTree(chosen()))?.name ?? null, k: Number(fieldById("k").value), n: Number(fieldById("n").value),
  ...Object.fromEntries(["word", "prefix", "a", "b", "c", "colours", "seek"].map((id) => [id, fieldById(id).value.trim()])),
});

let after = null; // what to do when the next answer is shown
const place = { // errors stand below the form
  after: (box) => form.after(box), setAttribute() {}, removeAttribute() {},
  addEventListener: (name, act) => form.addEventListener(name, act), value: "", hidden: true,
};
const ask_ = asking({ results, status, button: byId("run"), errors: errorBox(place) },
  () => { const question = asked(); return VIEWS[view()].ask(question).then((answer) => ({ question, answer })); },
  ({ question, answer }) => {
    const line = VIEWS[view()].show(results, answer, question, paths);
    after?.();
    after = null;
    return line;
  });

function run(how) {
  showFields();
  permalink.write(state(), how);
  return ask_();
}

/** Change some fields and ask; `then` is done when the answer is there. */
function go(change, then = null) {
  restore({ ...state(), ...change });
  after = then ?? (() => results.focus({ preventScroll: true }));
  run();
}

/** Links to other states of this page: real addresses, followed without loading it anew. */
const paths = {
  go,
  link(change, ...content) {
    const link = document.createElement("a");
    link.href = permalink.address(stateOf(change.view, change));
    link.className = "go";
    link.append(...content);
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      go(change);
    });
    return link;
  },
  /** Keep what a view changed by itself, such as the word that was found on the map. */
  keep(change) {
    for (const [id, value] of Object.entries(change)) field(id).value = value;
    permalink.write(state(), { replace: true });
  },
};

function showFields() {
  for (const part of all(form, "[data-for]")) {
    part.hidden = !(part.dataset.for ?? "").split(" ").includes(view());
  }
  other.field.hidden = view() !== "compare" || other.models.length < 2;
  byId("run").textContent = { word: "Look up", analogy: "Solve", compare: "Compare" }[view()] ?? "Show";
}

/** The view that needs nothing typed. */
const firstView = () => (hasTree(chosen()) ? "tree" : "map");

function restore(before) {
  const which = before.view in VIEWS ? before.view : null;
  const first = model.models.find((one) => fits(one, which)) ?? model.models[0];
  choose(model.select, before.model || first.name);
  form.elements.view.value = which ?? firstView();
  for (const id of KEPT[view()]) {
    const value = before[id] ?? "";
    if (field(id).tagName !== "SELECT") field(id).value = value;
    else if (!choose(field(id), value || USUAL[id])) field(id).selectedIndex = id === "other" ? Math.min(1, other.models.length - 1) : 0;
  }
}

/* ---- words that begin like what is being typed */

let pause = 0;
function offer(event) {
  clearTimeout(pause);
  const text = event.target.value.trim();
  if (event.target.getAttribute("list") !== "found" || !text) return;
  pause = setTimeout(async () => {
    try {
      const { words } = await ask("/api/words/find", { model: model.select.value, text, n: 12 });
      byId("found").replaceChildren(...words.map((word) => new Option(word, word)));
    } catch { /* the words can be typed */ }
  }, PAUSE);
}

async function start() {
  const health = await mountNav("words", showFields);
  model = modelSelect(health, ofKind("words"));
  other = modelSelect(health, ofKind("words"), { id: "other", label: "Beside" });
  byId("choices").append(model.field, other.field);
  const trees = model.models.filter(hasTree);
  byId("colours").replaceChildren(new Option("automatic", ""), ...trees.map((one) => new Option(one.name)), new Option("no clusters", "none"));
  form.addEventListener("submit", (event) => { event.preventDefault(); run(); });
  form.addEventListener("input", offer);
  for (const choice of form.elements.view) choice.addEventListener("change", () => {
    restore({ ...state(), ...carried(), ...(fits(chosen(), view()) ? {} : { model: "" }) }); // the first that has what the view needs
    run();
  });
  for (const select of [model.select, other.select, ...["k", "n", "colours"].map(byId)]) select.addEventListener("change", () => run());
  permalink.onChange((before) => { restore(before); showFields(); ask_(); });
  restore({ ...permalink.read(), ...begun() });
  await run({ replace: true });
}

/** What was typed in one view is there in the next. */
const carried = () => Object.fromEntries(KEPT[view()].map((id) => [id, field(id).value]));

start();
