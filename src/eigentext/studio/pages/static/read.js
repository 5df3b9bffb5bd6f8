// The reading page: asks for the readings of a text and shows them.  Nothing is computed here.
import { ask } from "/static/api.js";
import { byId, element, fieldById, formById } from "/static/elements.js";
import { examples } from "/static/examples.js";
import { showReading } from "/static/reader.js";
import { asking, choose, copyButton, downloadButton, early, errorBox, modelSelect, mountNav, ofKind, onSubmit, permalink } from "/static/shell.js";

const TOP = 30;
const LANGUAGES = { en: "English", fr: "French", hu: "Hungarian", tr: "Turkish" };

const form = formById("form");
const input = fieldById("input");
const [results, status] = ["results", "status"].map(byId);
const begun = early(form);
let model; // what `modelSelect` gave

/** The model that is chosen, as the list of models knows it. */
function chosen() {
  const { models, select } = model;
  return models.find((one) => select.value === `${one.kind}:${one.name}` || select.value === one.name) ?? models[0];
}

function choices() {
  const language = chosen()?.language ?? "";
  if (language === "ar") return examples.read;
  const own = examples.pipe.filter(([name]) => name === LANGUAGES[language]);
  return own.length ? own : [];
}

function fillExamples() {
  byId("example").replaceChildren(new Option("Choose …", ""), ...choices().map(([name], k) => new Option(name, String(k))));
  byId("example").closest("label")?.toggleAttribute("hidden", choices().length === 0);
}

async function question() {
  const text = input.value; // what is shown is what was asked
  const { kind, name } = chosen() ?? {};
  return { text, answer: await ask("/api/read", { text, kind, model: name, top: TOP }) };
}

/** The text with the best reading of each word in the place of the word. */
function spoken(text, answer) {
  const characters = Array.from(text); // offsets count code points
  let at = 0;
  const pieces = [];
  for (const { words } of answer.sentences) {
    for (const word of words) {
      pieces.push(characters.slice(at, word.start).join(""), word.candidates[0]?.vocalised || characters.slice(word.start, word.end).join(""));
      at = word.end;
    }
  }
  return pieces.join("") + characters.slice(at).join("");
}

function show({ text, answer }) {
  const summary = showReading(results, answer, text);
  const json = () => `${JSON.stringify(answer, null, 2)}\n`;
  const buttons = element("div", { class: "bar takes" },
    element("span", { class: "note" }, "Take away: "),
    copyButton("text", () => spoken(text, answer), "Copy text"),
    downloadButton("Text", "reading.txt", "text/plain", () => spoken(text, answer)),
    downloadButton("CoNLL-U", "reading.conllu", "text/plain", () => answer.conllu),
    downloadButton("JSON", "reading.json", "application/json", json));
  results.append(buttons);
  return `${summary} · ${answer.model}`;
}

const ask_ = asking({ results, status, button: byId("run"), errors: errorBox(input) }, question, show);

function run(how) {
  permalink.write({ model: model.models.length > 1 ? model.select.value : "", text: input.value }, how);
  return ask_();
}

function restore(told) {
  if (!choose(model.select, told.model)) model.select.selectedIndex = 0;
  fillExamples();
  input.value = told.text ?? choices()[0]?.[1] ?? "";
  return run({ replace: true });
}

/** Another model: the text stays, unless it is an example for the model before. */
function changeModel() {
  const example = Object.values(examples).flat().some(([, text]) => text === input.value);
  fillExamples();
  if (example || !input.value) input.value = choices()[0]?.[1] ?? "";
  run();
}

onSubmit(form, input, () => run());
byId("example").addEventListener("change", () => {
  if (fieldById("example").value === "") return;
  input.value = choices()[Number(fieldById("example").value)][1];
  run();
});

async function start() {
  const health = await mountNav("read");
  // rankers know most of a word, and a pipeline without morphology nothing
  model = modelSelect(health, (models) => [...ofKind("lex")(models), ...models.filter((one) => one.can.includes("morphology"))]);
  byId("choices").prepend(model.field);
  model.select.addEventListener("change", changeModel);
  permalink.onChange(restore);
  await restore({ ...permalink.read(), ...begun() });
}

start();
