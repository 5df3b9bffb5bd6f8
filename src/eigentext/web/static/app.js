// The bench: reads the form, asks the API, shows the answer.  Nothing is computed here.
import { AnnotateForm } from "/static/annotate_form.js";
import { ask } from "/static/api.js";
import { examples } from "/static/examples.js";
import { rememberBench, rememberedBench } from "/static/memory.js";
import { showReading } from "/static/reader.js";
import { showDocument } from "/static/document.js";
import { showParses, showTrees, showTokens } from "/static/results.js";

const byId = (id) => document.getElementById(id);
const [form, input, results, status] = ["bench", "input", "results", "status"].map(byId);
const [errorBox, errorPlace, errorWhy, errorLine] =
  ["error", "error-place", "error-why", "error-line"].map(byId);
const drafts = { trees: "", text: "", pipe: "", parse: "", read: "", annotate: "" }; // what each mode had in the box when it was left
const words = {
  trees: ["Draw", "Trees in Penn Treebank brackets"],
  text: ["Tokenise", "Raw text"],
  pipe: ["Annotate", "Raw text for the pipeline"],
  parse: ["Parse", "Raw text to parse"],
  read: ["Read", "Text to read"],
  annotate: ["Open", "Text to annotate"],
};
let shown = "trees"; // the mode whose text is in the box
const schemes = { English: "ptb", Arabic: "arabic" };
let asked = 0;
let language = null; // of the readings that the service ranks

const mode = () => form.elements.mode.value;
const scheme = () => byId("scheme").value;
const annotating = new AnnotateForm(results, (text) => { status.textContent = text; }, (fault) => (fault ? showError(fault) : clearError()));

function showError(fault) {
  const line = fault.line === null ? undefined : input.value.split("\n")[fault.line - 1];
  errorPlace.textContent = fault.line === null ? "" : `Line ${fault.line}: `;
  errorWhy.textContent = fault.why;
  errorLine.textContent = line === undefined ? "" : line.slice(0, 200);
  errorLine.hidden = !line;
  errorBox.hidden = false;
  input.setAttribute("aria-invalid", "true");
  if (line !== undefined && !input.hidden) selectLine(fault.line);
}

function selectLine(number) {
  const lines = input.value.split("\n");
  const start = lines.slice(0, number - 1).reduce((sum, line) => sum + line.length + 1, 0);
  input.focus();
  input.setSelectionRange(start, start + lines[number - 1].length);
}

function clearError() {
  errorBox.hidden = true;
  input.removeAttribute("aria-invalid");
}

const questions = {
  trees: () => ask("/api/trees", { brackets: input.value, head_rules: byId("heads").value }),
  text: () => ask("/api/tokenise", { text: input.value, scheme: scheme() }),
  pipe: () => ask("/api/pipe", {
    text: input.value, model: byId("pipe-model").value || null, draw: true,
  }),
  parse: () => ask("/api/dep/parse", {
    text: input.value, scheme: scheme(), kbest: Number(byId("kbest").value), marginals: true,
  }),
  read: async () => {
    const text = input.value; // what is shown is what was asked
    return { text, answer: await ask("/api/lex/rank", { text, scheme: scheme(), top: 30 }) };
  },
  annotate: () => annotating.open(input.value, scheme()),
};
const shows = {
  trees: (answer) => showTrees(results, answer),
  text: (answer) => showTokens(results, answer, input.value),
  pipe: (answer) => showDocument(results, answer),
  parse: (answer) => showParses(results, answer),
  read: ({ answer, text }) => showReading(results, answer, text),
  annotate: (summary) => { showFields(); return summary; },
};

async function run() {
  const storing = mode() === "annotate" && !annotating.stored();
  if (storing && byId("run").hasAttribute("aria-disabled")) return; // a text is stored once
  const turn = ++asked;
  const now = mode();
  if (now === "annotate") annotating.leave();
  clearError();
  byId("run").setAttribute("aria-disabled", "true");
  try {
    const answer = await questions[now]();
    if (turn !== asked) return; // a newer question is on its way
    status.textContent = shows[now](answer);
  } catch (error) {
    if (turn !== asked) return;
    results.replaceChildren();
    status.textContent = "";
    showError(error.fault ?? { line: null, why: "The service does not answer. Is it still running?" });
  } finally {
    if (turn === asked) byId("run").removeAttribute("aria-disabled");
  }
}

const reads = () => ["read", "annotate"].includes(mode());
const choices = () => (reads() && language !== "ar" ? [] : examples[mode()]);

/** The example in the language of the model, where there is one. */
function firstExample() {
  const model = byId("pipe-model").value.toLowerCase();
  const fits = ([name]) => mode() === "pipe" && model.startsWith(name.toLowerCase());
  return Math.max(0, choices().findIndex(fits));
}

function fillExamples() {
  const options = choices().map(([name], k) => new Option(name, String(k)));
  byId("example").replaceChildren(new Option("Choose …", ""), ...options);
}

function chooseExample(index) {
  const [name, text] = choices()[index] ?? ["", ""];
  input.value = text;
  if (mode() === "text") byId("scheme").value = schemes[name] ?? "generic";
  else if (mode() === "parse") byId("scheme").value = "ptb";
  else if (mode() === "trees") byId("heads").value = ["Arabic", "Chinese"].includes(name) ? "neutral" : "english";
}

function showFields() {
  const now = mode();
  for (const part of form.querySelectorAll("[data-for]")) {
    part.hidden = !part.dataset.for.split(" ").includes(now);
  }
  const stored = now === "annotate" && annotating.stored();
  for (const part of form.querySelectorAll("[data-new]")) part.hidden ||= stored;
  input.hidden = stored;
  form.classList.toggle("reads", reads());
  [byId("run").textContent, byId("input-label").textContent] = words[now];
  if (now === "annotate" && !stored) byId("run").textContent = "Start";
}

/** Choose what was chosen before, if it is still there to choose. */
function restore(field, value) {
  if ([...field.options].some((option) => option.value === value)) field.value = value;
}

function changeMode() {
  drafts[shown] = input.value;
  enter();
}

/** Show the chosen mode, with what it had `before` the page was loaded anew. */
async function enter(before = {}) {
  const now = mode();
  shown = now;
  annotating.leave();
  clearError();
  if (reads()) byId("scheme").value = language === "ar" ? "arabic" : "generic";
  fillExamples();
  const fields = Object.entries(before.fields ?? {});
  for (const [id, value] of fields) restore(byId(id), value);
  if (drafts[now]) input.value = drafts[now];
  else chooseExample(firstExample());
  for (const [id, value] of fields) restore(byId(id), value); // an example may have changed some
  showFields();
  if (now !== "annotate") { run(); return; }
  const turn = ++asked; // answers on their way to another mode come too late
  byId("run").removeAttribute("aria-disabled");
  results.replaceChildren();
  status.textContent = "";
  try {
    await annotating.list(before.document);
  } catch (error) {
    if (turn === asked) showError(error.fault ?? { line: null, why: "The service does not answer. Is it still running?" });
    return;
  }
  if (turn === asked) changeDocument(); // unless something was opened meanwhile
}

/** Another stored text, another name, or a new text: open what can be opened. */
function changeDocument() {
  showFields();
  clearError();
  annotating.leave();
  results.replaceChildren();
  status.textContent = "";
  if (annotating.stored() && annotating.name()) run();
}

function changeViews() {
  for (const box of form.elements.view) results.classList.toggle(`no-${box.value}`, !box.checked);
}

form.addEventListener("submit", (event) => { event.preventDefault(); run(); });
input.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run(); }
});
input.addEventListener("input", clearError);
for (const choice of form.elements.mode) choice.addEventListener("change", changeMode);
for (const box of form.elements.view) box.addEventListener("change", changeViews);
byId("heads").addEventListener("change", run);
byId("scheme").addEventListener("change", () => { if (mode() !== "annotate") run(); });
byId("annotator").addEventListener("change", changeDocument);
byId("annotator").addEventListener("input", clearError); // before the click on Start, which would miss a button that moves
byId("document").addEventListener("change", changeDocument);
byId("kbest").addEventListener("change", run);
byId("pipe-model").addEventListener("change", run);
byId("example").addEventListener("change", (event) => {
  if (event.target.value === "") return;
  chooseExample(Number(event.target.value));
  if (mode() !== "annotate") run();
});

const FIELDS = ["heads", "scheme", "kbest", "pipe-model"];

function remember() {
  rememberBench({
    mode: mode(),
    drafts: { ...drafts, [shown]: input.value },
    document: byId("document").value,
    fields: Object.fromEntries(FIELDS.map((id) => [id, byId(id).value])),
  });
}

async function start() {
  form.elements.mode.value = "trees"; // browsers restore forms; the page does that itself
  changeViews();
  try {
    const health = await ask("/api/health");
    byId("version").textContent = `eigentext ${health.version}`;
    byId("scheme").replaceChildren(...health.schemes.map((scheme) => new Option(scheme)));
    byId("scheme").value = "ptb";
    language = health.language;
    byId("pipe-model").replaceChildren(...health.pipes.map((name) => new Option(name)));
    byId("pipe-mode").hidden = !health.features.includes("pipe");
    byId("parse-mode").hidden = !health.features.includes("dep/parse");
    byId("read-mode").hidden = !health.features.includes("lex/rank");
    byId("annotate-mode").hidden = !health.features.includes("lex/annotate");
  } catch { /* run() says what is wrong */ }
  const before = rememberedBench();
  Object.assign(drafts, before.drafts);
  const first = before.mode ?? (byId("pipe-mode").hidden ? "trees" : "pipe");
  for (const choice of form.elements.mode) {
    if (choice.value === first && !choice.closest("label").hidden) choice.checked = true;
  }
  addEventListener("pagehide", remember);
  await enter(before);
}

start();
