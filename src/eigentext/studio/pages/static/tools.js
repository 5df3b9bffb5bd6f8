// The bench: trees in brackets, tokens, formats.  Reads the form, asks the API, shows the answer.
import { ask } from "/static/api.js";
import { all, byId, count, element, fieldById, formById } from "/static/elements.js";
import { examples } from "/static/examples.js";
import { part, showTokens, showTrees } from "/static/results.js";
import { asking, choose, copyButton, downloadButton, early, errorBox, mountNav, onSubmit, permalink } from "/static/shell.js";

const form = formById("form");
const input = fieldById("input");
const [results, status] = ["results", "status"].map(byId);
const begun = early(form);
const FIELDS = ["heads", "scheme", "source", "target"];
const DEFAULTS = { heads: "english", scheme: "ptb", source: "ptb", target: "conllu" };
const WORDS = {
  trees: ["Draw", "Trees in Penn Treebank brackets"],
  text: ["Tokenise", "Raw text"],
  convert: ["Convert", "What a file in the source format would hold"],
};
const SCHEMES = { English: "ptb", Arabic: "arabic" };
const drafts = { trees: "", text: "", convert: "" }; // what each tool had in the box when it was left
let shown = "trees"; // the tool whose text is in the box

const mode = () => form.elements.mode.value;
const value = (id) => fieldById(id).value;

const questions = {
  trees: () => ask("/api/trees", { brackets: input.value, head_rules: value("heads") }),
  text: async () => {
    const text = input.value; // what is shown is what was asked
    return { text, answer: await ask("/api/tokenise", { text, scheme: value("scheme") }) };
  },
  convert: async () => {
    const target = value("target");
    const body = { text: input.value, source_format: value("source"), target_format: target, head_rules: value("heads") };
    return { target, answer: await ask("/api/convert", body) };
  },
};
const shows = {
  trees: (answer) => showTrees(results, answer),
  text: ({ answer, text }) => showTokens(results, answer, text),
  convert: ({ answer, target }) => showConverted(answer, target),
};

function showConverted(answer, target) {
  const buttons = [copyButton(target, () => answer.text), downloadButton("File", `converted.${target}`, "text/plain", () => answer.text)];
  const box = part("converted", `As ${target}`, buttons, element("pre", { tabindex: "0", role: "group", "aria-label": `As ${target}` }, answer.text));
  results.replaceChildren(element("article", { class: "card" }, box));
  return `${count(answer.n_sentences, "sentence")} converted`;
}

const ask_ = asking({ results, status, button: byId("run"), errors: errorBox(input) },
  () => questions[mode()](), (answer) => shows[mode()](answer));

/** What the address says of the question; what is as usual is left out. */
function state() {
  const used = FIELDS.filter((id) => !byId(id).closest("[data-for][hidden]") && value(id) !== DEFAULTS[id]);
  return { mode: mode() === "trees" ? "" : mode(), ...Object.fromEntries(used.map((id) => [id, value(id)])), text: input.value };
}

function run(how) {
  permalink.write(state(), how);
  return ask_();
}

function chooseExample(index) {
  const [name, text] = examples[mode()][index] ?? ["", ""];
  input.value = text;
  if (mode() === "text") fieldById("scheme").value = SCHEMES[name] ?? "generic";
  else fieldById("heads").value = ["Arabic", "Chinese"].includes(name) ? "neutral" : "english";
}

function showFields() {
  const now = mode();
  for (const field of all(form, "[data-for]")) field.hidden = !field.dataset.for?.split(" ").includes(now);
  [byId("run").textContent, byId("input-label").textContent] = WORDS[now];
  const options = examples[now].map(([name], k) => new Option(name, String(k)));
  byId("example").replaceChildren(new Option("Choose …", ""), ...options);
}

function changeMode() {
  drafts[shown] = input.value;
  shown = mode();
  showFields();
  if (drafts[shown]) input.value = drafts[shown];
  else chooseExample(0);
  run();
}

/** Show what an address says, and ask. */
function restore(told) {
  form.elements.mode.value = told.mode in WORDS ? told.mode : "trees";
  shown = mode();
  showFields();
  for (const id of FIELDS) fieldById(id).value = DEFAULTS[id];
  if (told.text === undefined) chooseExample(0);
  else input.value = told.text;
  for (const id of FIELDS) choose(byId(id), told[id]);
  return run({ replace: true });
}

function changeViews() {
  for (const box of form.elements.view) results.classList.toggle(`no-${box.value}`, !box.checked);
}

onSubmit(form, input, () => run());
for (const choice of form.elements.mode) choice.addEventListener("change", changeMode);
for (const box of form.elements.view) box.addEventListener("change", changeViews);
for (const id of FIELDS) byId(id).addEventListener("change", () => run());
byId("example").addEventListener("change", () => {
  if (fieldById("example").value === "") return;
  chooseExample(Number(fieldById("example").value));
  run();
});

async function start() {
  changeViews();
  const health = await mountNav("tools");
  for (const [id, names] of [["scheme", health.schemes], ["source", health.formats], ["target", health.formats]]) {
    byId(id).replaceChildren(...names.map((name) => new Option(name)));
  }
  permalink.onChange(restore);
  await restore({ ...permalink.read(), ...begun() });
}

start();
