// The page of sequences: reads the form, asks the API, shows the answer.  Nothing is computed here.
import { ask } from "/static/api.js";
import { byId, count, direction, element, fieldById, formById, isolated } from "/static/elements.js";
import { drawing, part } from "/static/results.js";
import { asking, choose, early, errorBox, modelSelect, mountNav, ofKind, onSubmit, permalink } from "/static/shell.js";
import { bar, fixed, table, takeaway, word } from "/static/tables.js";

const form = formById("form");
const input = fieldById("input");
const [results, status] = ["results", "status"].map(byId);
const begun = early(form);
const EXAMPLES = [
  ["English", "ptb", "The farmer sold the old horse to a friend. It ran across the field, and nobody saw it again."],
  ["Surprising", "ptb", "The farmer sold the horse. Horse the sold farmer the."],
  ["Arabic", "arabic", "كتب الولد رسالة إلى صديقه. قرأ الصديق الرسالة."],
];
const COLOURS = 6; // as in the graph of states
const SHOWN = 40; // states in the legend
let model = null; // the select of models
/** The kind of the file of the chosen model. */
const kindOf = () => model.models.find((one) => one.name === model.select.value)?.of;

const colour = (state) => `k${state % COLOURS}`;
const colouring = () => form.elements.colour.value;
const tagger = (answer) => answer.of === "latent-tagger";

/* ---- the text */

/** What a state is called: its number and likeliest words, or its tag. */
const called = (answer, state) => (tagger(answer)
  ? answer.names[state] : `${state}: ${isolated(answer.names[state])}`);
const short = (answer, state) => (tagger(answer) ? answer.names[state] : String(state));

function tokenItem(token, answer, most) {
  const item = element("li", {}, element("b", { dir: "auto" }, token.text));
  if (!token.known) {
    item.classList.add("unknown");
    item.title = token.symbol === token.text ? "not seen in training" : `not seen in training: read as ${token.symbol}`;
  }
  if (token.state !== null) {
    item.classList.add(colour(token.state));
    item.dataset.state = token.state;
    const kind = tagger(answer) ? "tag" : "state";
    item.append(element("small", {}, element("span", { class: "hidden" }, `, ${kind} `),
      word(short(answer, token.state)), ` · ${fixed(token.p)}`));
  }
  if (answer.of !== "latent-tagger") {
    const nats = token.surprisal;
    const share = nats === null ? 1 : nats / most;
    item.style.setProperty("--heat", String(Math.min(1, share)));
    item.append(element("small", {}, element("span", { class: "hidden" }, ", surprisal "),
      bar(share, nats === null ? "∞" : fixed(nats))));
  }
  return item;
}

function legend(answer, card) {
  const seen = new Map();
  for (const sentence of answer.sentences) {
    for (const { state } of sentence.tokens) seen.set(state, (seen.get(state) ?? 0) + 1);
  }
  const states = [...seen].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, SHOWN);
  const press = (state, button) => {
    const on = button.getAttribute("aria-pressed") !== "true";
    for (const other of card.querySelectorAll(".legend button")) other.setAttribute("aria-pressed", "false");
    button.setAttribute("aria-pressed", String(on));
    card.classList.toggle("chosen", on);
    for (const item of card.querySelectorAll(".read li")) item.classList.toggle("on", item.dataset.state === String(state));
  };
  const items = states.map(([state, n]) => {
    const button = element("button", { type: "button", class: colour(state), "aria-pressed": "false" },
      word(called(answer, state)), ` × ${n}`);
    button.addEventListener("click", () => press(state, button));
    return element("li", {}, button);
  });
  const more = seen.size > SHOWN ? ` The ${SHOWN} most frequent of ${seen.size} are listed.` : "";
  const kind = tagger(answer) ? "tag" : "state";
  const meaning = tagger(answer)
    ? "Below each word: its tag, and the probability of that tag in this sentence."
    : "Below each word: its state, the probability of that state in this sentence, and the surprisal in nats.";
  return [
    element("p", { class: "legend-note" }, `${meaning} Colours repeat after ${COLOURS}; the ${kind} tells. Press one to see where it is.${more}`),
    element("ul", { class: "legend", "aria-label": tagger(answer) ? "Tags" : "States" }, ...items),
  ];
}

function textRows(answer) {
  const rows = [["sentence", "token", "symbol", "state", "p", "likely", "surprisal"]];
  answer.sentences.forEach((sentence, k) => sentence.tokens.forEach((token) => rows.push([
    k + 1, token.text, token.symbol,
    token.state === null ? "" : short(answer, token.state), token.p ?? "",
    token.likely.map(([state, p]) => `${short(answer, state)} ${p}`).join(", "),
    token.surprisal ?? (tagger(answer) ? "" : "inf"),
  ])));
  return rows;
}

const shownOr = (value, digits) => (value === null ? "–" : fixed(value, digits));

function figures(answer) {
  const facts = [
    ["perplexity", shownOr(answer.perplexity)], ["log probability", shownOr(answer.log_prob)],
    ["words", answer.n_tokens.toLocaleString("en")],
    ["not seen in training", answer.sentences.flatMap((one) => one.tokens).filter((token) => !token.known).length.toLocaleString("en")],
  ];
  if (answer.negative_rate !== null) facts.push(["no positive value", `${fixed(100 * answer.negative_rate, 1)} %`]);
  return element("dl", { class: "facts" }, ...facts.map(([name, value]) => element("div", {},
    element("dt", {}, name), element("dd", {}, value))));
}

function textCard(answer) {
  const title = element("h2", {}, "Text", element("small", {}, `by ${isolated(answer.model)}`));
  const card = element("article", { class: "card", id: "read" }, title, figures(answer));
  const all = answer.sentences.flatMap((one) => one.tokens);
  if (!all.length) {
    card.append(element("p", { class: "note" }, "There is no word in this text."));
    return card;
  }
  if (answer.of === "spectral-hmm") card.append(element("p", { class: "legend-note" }, "This model has operators, not states: below each word is its surprisal in nats."));
  else card.append(...legend(answer, card));
  const most = Math.max(1, ...all.map((token) => token.surprisal ?? 0));
  answer.sentences.forEach((sentence, k) => {
    const perplexity = sentence.impossible ? "impossible for this model" : `perplexity ${shownOr(sentence.perplexity)}`;
    card.append(element("section", { class: "part" },
      element("h3", {}, `Sentence ${k + 1}: ${perplexity}`),
      element("ul", { class: "read", dir: direction(sentence.tokens.map((token) => token.text)) }, ...sentence.tokens.map((token) => tokenItem(token, answer, most)))));
  });
  const [head, ...rows] = textRows(answer);
  const details = element("details", { class: "part" }, element("summary", {}, "Table of all words"));
  details.addEventListener("toggle", () => { // long texts have long tables: made when it is wanted
    if (details.open && details.children.length === 1) details.append(table("Words", head, rows.map((row) => row.map(String))));
  });
  card.append(part("text", "Take it away", takeaway("text", () => [head, ...rows], answer)), details);
  return card;
}

/* ---- the model */

function statesCard(answer) {
  const kind = tagger(answer) ? "Tags" : "States";
  const size = `${count(answer.n_states, tagger(answer) ? "tag" : "state")}, ${count(answer.n_symbols, tagger(answer) ? "word" : "symbol")}`;
  const card = element("article", { class: "card", id: "states" },
    element("h2", {}, `${kind} of ${isolated(answer.model)}`, element("small", {}, size)));
  if (answer.svg) card.append(drawing("transitions", `Where ${kind.toLowerCase()} lead`, answer.svg, answer.model));
  const names = new Map(answer.states.map((one) => [one.state, one.name]));
  const list = (pairs, name) => {
    const cell = element("span", { class: "long" });
    pairs.forEach(([what, p], k) => cell.append(k ? " · " : "", word(name(what)), ` ${fixed(p)}`));
    return cell;
  };
  const name = (state) => names.get(state) ?? String(state);
  const rows = answer.states.map((one) => [
    one.name, bar(one.share, `${fixed(100 * one.share, 1)} %`),
    list(one.words, String), list(one.after, name)]);
  const plain = () => [["state", "share", "words", "next"], ...answer.states.map((one) => [
    one.name, one.share, one.words.map(([what, p]) => `${what} ${p}`).join(", "),
    one.after.map(([what, p]) => `${name(what)} ${p}`).join(", ")])];
  const made = table(kind, [kind.slice(0, -1), "Share", "Likeliest words", "Likeliest next"], rows);
  made.querySelectorAll("tbody tr").forEach((row, k) => row.classList.add(colour(answer.states[k].state)));
  card.append(part("states", "Words and transitions", takeaway("states", plain, answer), made));
  if (answer.left_out) card.append(element("p", { class: "note" }, `${count(answer.left_out, "rarer state")} left out.`));
  return card;
}

function blocksCard(answer) {
  const size = `${count(answer.n_states, "state")}, ${count(answer.n_symbols, "symbol")}`;
  return element("article", { class: "card", id: "states" },
    element("h2", {}, `States of ${isolated(answer.model)}`, element("small", {}, size)),
    element("p", { class: "note" }, "Each word has a few states of its own, which are called by the word and a number; there are too many to list."));
}

const CARDS = { "spectral-hmm": valuesCard, "blocked-hmm": blocksCard };

function valuesCard(answer) {
  const size = `${count(answer.n_states, "dimension")}, ${count(answer.n_symbols, "symbol")}`;
  const most = Math.max(...answer.singular_values, 1e-300);
  const rows = answer.singular_values.map((value, k) => [k + 1, bar(value / most, String(Number(value.toPrecision(4))))]);
  const plain = () => [["rank", "singular value"], ...answer.singular_values.map((value, k) => [k + 1, value])];
  return element("article", { class: "card", id: "states" },
    element("h2", {}, `Operators of ${isolated(answer.model)}`, element("small", {}, size)),
    element("p", { class: "note" }, `Estimator ${answer.estimator}; there are no states to look at.`),
    part("values", "Singular values", takeaway("singular-values", plain, answer), table("Singular values", ["Rank", "Value"], rows)));
}

/* ---- asking */

async function question() {
  const chosen = model.select.value;
  const method = kindOf() === "latent-tagger" ? "viterbi" : fieldById("method").value;
  const [text, states] = await Promise.all([
    ask("/api/sequences/text", { model: chosen, text: input.value, scheme: fieldById("scheme").value, method }),
    ask("/api/sequences/states", { model: chosen, top: 8, draw: true }),
  ]);
  return { text, states };
}

function show({ text, states }) {
  results.replaceChildren(textCard(text), (CARDS[states.of] ?? statesCard)(states));
  const perplexity = text.perplexity === null ? "" : `, perplexity ${fixed(text.perplexity)}`;
  return `${count(text.sentences.length, "sentence")}, ${count(text.n_tokens, "word")}${perplexity}`;
}

const ask_ = asking({ results, status, button: byId("run"), errors: errorBox(input) }, question, show);

function asked() {
  const usual = (id, value) => (fieldById(id).value === value ? "" : fieldById(id).value);
  return {
    model: model.models.length > 1 ? model.select.value : "", scheme: usual("scheme", "ptb"),
    method: usual("method", "viterbi"), colour: colouring() === "state" ? "" : colouring(), text: input.value,
  };
}

function run(how) {
  showFields();
  permalink.write(asked(), how);
  return ask_();
}

/** What the chosen model can show. */
function showFields() {
  const kind = kindOf();
  const hidden = kind === "hmm" || kind === "blocked-hmm"; // it has hidden states
  byId("method-field").hidden = !hidden;
  byId("colour").hidden = !hidden;
  const now = hidden ? colouring() : kind === "spectral-hmm" ? "surprisal" : "state";
  results.classList.toggle("by-state", now === "state");
  results.classList.toggle("by-surprisal", now === "surprisal");
}

function restore(before) {
  choose(model.select, before.model ?? model.models[0].name);
  choose(byId("scheme"), before.scheme ?? "ptb");
  choose(byId("method"), before.method ?? "viterbi");
  form.elements.colour.value = before.colour === "surprisal" ? "surprisal" : "state";
  input.value = before.text ?? EXAMPLES[0][2];
}

async function start() {
  const health = await mountNav("sequences");
  model = modelSelect(health, ofKind("hmm"));
  byId("choices").prepend(model.field);
  byId("scheme").replaceChildren(...health.schemes.map((scheme) => new Option(scheme)));
  byId("example").replaceChildren(new Option("Choose …", ""), ...EXAMPLES.map(([name], k) => new Option(name, String(k))));
  byId("example").addEventListener("change", () => {
    const [, scheme, text] = EXAMPLES[fieldById("example").value] ?? [];
    if (text === undefined) return;
    choose(byId("scheme"), scheme);
    input.value = text;
    run();
  });
  for (const field of [model.select, byId("scheme"), byId("method")]) field.addEventListener("change", () => run());
  for (const choice of form.elements.colour) {
    choice.addEventListener("change", () => { showFields(); permalink.write(asked(), { replace: true }); });
  }
  onSubmit(form, input, () => run());
  permalink.onChange((before) => { restore(before); showFields(); ask_(); });
  restore({ ...permalink.read(), ...begun() });
  await run({ replace: true });
}

start();
