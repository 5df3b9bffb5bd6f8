// The tree bench: reads the form, asks the API, shows the answer.  Nothing is computed here.
import { examples } from "/static/examples.js";
import { showParses, showTrees, showTokens } from "/static/results.js";

const byId = (id) => document.getElementById(id);
const [form, input, results, status] = ["bench", "input", "results", "status"].map(byId);
const [errorBox, errorPlace, errorWhy, errorLine] =
  ["error", "error-place", "error-why", "error-line"].map(byId);
const drafts = { trees: "", text: "", parse: "" }; // what each mode had in the box when it was left
const words = {
  trees: ["Draw", "Trees in Penn Treebank brackets"],
  text: ["Tokenise", "Raw text"],
  parse: ["Parse", "Raw text to parse"],
};
let shown = "trees"; // the mode whose text is in the box
const schemes = { English: "ptb", Arabic: "arabic" };
let asked = 0;

const mode = () => form.elements.mode.value;

async function ask(path, body) {
  const answer = await fetch(path, body && {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const content = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(content.error.why), { fault: content.error });
  return content;
}

function showError(fault) {
  const line = fault.line === null ? undefined : input.value.split("\n")[fault.line - 1];
  errorPlace.textContent = fault.line === null ? "" : `Line ${fault.line}: `;
  errorWhy.textContent = fault.why;
  errorLine.textContent = line === undefined ? "" : line.slice(0, 200);
  errorLine.hidden = !line;
  errorBox.hidden = false;
  input.setAttribute("aria-invalid", "true");
  if (line !== undefined) selectLine(fault.line);
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
  text: () => ask("/api/tokenise", { text: input.value, scheme: byId("scheme").value }),
  parse: () => ask("/api/dep/parse", {
    text: input.value, scheme: byId("scheme").value, kbest: Number(byId("kbest").value), marginals: true,
  }),
};
const shows = {
  trees: (answer) => showTrees(results, answer),
  text: (answer) => showTokens(results, answer, input.value),
  parse: (answer) => showParses(results, answer),
};

async function run() {
  const turn = ++asked;
  const now = mode();
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

function fillExamples() {
  const options = examples[mode()].map(([name], k) => new Option(name, String(k)));
  byId("example").replaceChildren(new Option("Choose …", ""), ...options);
}

function chooseExample(index) {
  const [name, text] = examples[mode()][index];
  input.value = text;
  if (mode() === "text") byId("scheme").value = schemes[name] ?? "generic";
  else if (mode() === "parse") byId("scheme").value = "ptb";
  else byId("heads").value = ["Arabic", "Chinese"].includes(name) ? "neutral" : "english";
}

function changeMode() {
  const now = mode();
  drafts[shown] = input.value;
  shown = now;
  for (const element of form.querySelectorAll("[data-for]")) {
    element.hidden = !element.dataset.for.split(" ").includes(now);
  }
  [byId("run").textContent, byId("input-label").textContent] = words[now];
  fillExamples();
  if (drafts[now]) input.value = drafts[now];
  else chooseExample(0);
  run();
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
byId("scheme").addEventListener("change", run);
byId("kbest").addEventListener("change", run);
byId("example").addEventListener("change", (event) => {
  if (event.target.value === "") return;
  chooseExample(Number(event.target.value));
  run();
});

async function start() {
  form.elements.mode.value = "trees"; // browsers restore forms; the page starts with trees
  fillExamples();
  changeViews();
  if (!input.value) chooseExample(0);
  try {
    const health = await ask("/api/health");
    byId("version").textContent = `eigentext ${health.version}`;
    byId("scheme").replaceChildren(...health.schemes.map((scheme) => new Option(scheme)));
    byId("scheme").value = "ptb";
    byId("parse-mode").hidden = !health.features.includes("dep/parse");
  } catch { /* run() says what is wrong */ }
  await run();
}

start();
