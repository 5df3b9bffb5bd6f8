// The reference of the API, made of /openapi.json: routes in groups, shapes, and forms to try them.
import { ask } from "/static/api.js";
import { byId, count, element } from "/static/elements.js";
import { copyButton, mountNav } from "/static/shell.js";

const SHOWN = 20_000; // characters of an answer; more are not for reading
const TITLES = { api: "The service", lex: "Readings", dep: "Dependencies", batch: "Many at once" };
const SAMPLES = { text: "The dog barks.", brackets: "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))", source_format: "tokens", target_format: "conllu", word: "the", number: 1 };

let api; // the description

const nameOf = (schema) => schema?.$ref?.split("/").at(-1);
const resolved = (schema) => (schema?.$ref ? api.components.schemas[nameOf(schema)] : schema) ?? {};

/** A type in plain words; a shape of its own is a link to it. */
function typeOf(schema = {}) {
  if (schema.$ref) return [element("a", { href: `#shape-${nameOf(schema)}` }, nameOf(schema))];
  if (schema.anyOf) return schema.anyOf.flatMap((one, k) => (k ? [" or ", ...typeOf(one)] : typeOf(one)));
  if (schema.enum) return [schema.enum.map((one) => JSON.stringify(one)).join(" or ")];
  if (schema.const !== undefined) return [JSON.stringify(schema.const)];
  if (schema.type === "array") return ["list of ", ...typeOf(schema.items)];
  if (schema.type === "object" && schema.additionalProperties) return ["object of ", ...typeOf(schema.additionalProperties === true ? {} : schema.additionalProperties)];
  return [schema.type === "null" ? "null" : schema.type ?? "anything"];
}

function bounds(schema) {
  const told = [];
  for (const one of [schema, ...(schema.anyOf ?? [])]) {
    if (one.minimum !== undefined) told.push(`at least ${one.minimum}`);
    if (one.maximum !== undefined) told.push(`at most ${one.maximum}`);
    if (one.maxLength !== undefined) told.push(`at most ${one.maxLength} characters`);
  }
  return told.join(", ");
}

function propertyRow(name, schema, required) {
  const usual = schema.default === undefined ? "" : `without it ${JSON.stringify(schema.default)}`;
  const notes = [schema.description, bounds(schema), required ? "required" : usual].filter(Boolean);
  return element("tr", {}, element("th", { scope: "row" }, name),
    element("td", {}, ...typeOf(schema)), element("td", {}, notes.join("; ")));
}

function table(rows, caption) {
  const heads = ["name", "type", "what it is"].map((title) => element("th", { scope: "col" }, title));
  const made = element("table", { class: "shape", "aria-label": caption },
    element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
  return element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption }, made);
}

function shapeTable(schema, caption) {
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([name, one]) => propertyRow(name, one, required.has(name)));
  return rows.length ? table(rows, caption) : element("p", { class: "note" }, ...typeOf(schema));
}

/** A value that a field might have: something to begin with. */
function sample(name, schema, depth = 0) {
  if (name in SAMPLES && schema.type !== "array") return SAMPLES[name];
  if (schema.default !== undefined) return schema.default;
  const real = resolved(schema);
  if (real.enum) return real.enum[0];
  if (real.anyOf) return sample(name, real.anyOf[0], depth);
  if (real.type === "object") return depth < 3 ? sampleOf(real, depth + 1) : {};
  return { array: [], integer: 0, number: 0, boolean: false }[real.type] ?? "";
}

/** The smallest request of a shape: what is required, and a text where one may be given. */
function sampleOf(schema, depth = 0) {
  const required = new Set(schema.required ?? []);
  const wanted = Object.entries(schema.properties ?? {}).filter(([name]) => required.has(name) || (name === "text" && !depth));
  return Object.fromEntries(wanted.map(([name, one]) => [name, sample(name, one, depth)]));
}

/** What a change of somebody who is logged in must bring; empty where nobody annotates. */
async function token() {
  if (!("/api/session" in api.paths)) return "";
  return (await (await fetch("/api/session")).json()).csrf ?? "";
}

function tryForm(path, method, about) {
  const parameters = about.parameters ?? [];
  const fields = parameters.map((one) => {
    const usual = one.name === "job" ? "tokenise" : one.required ? sample(one.name, one.schema) : "";
    const input = element("input", { type: "text", name: one.name, value: String(usual), autocomplete: "off" });
    return [one, input];
  });
  const content = about.requestBody?.content ?? {};
  const [kind] = Object.keys(content);
  const shape = kind && resolved(content[kind].schema);
  const body = kind && element("textarea", { rows: "4", spellcheck: "false", dir: "auto" });
  if (kind === "application/json") body.value = JSON.stringify(sampleOf(shape), null, 2);
  else if (kind) body.value = `${JSON.stringify({ text: "The dog barks." })}\n${JSON.stringify({ text: "It sleeps." })}`;
  const said = element("p", { class: "status", role: "status" });
  const answer = element("pre", { tabindex: "0", role: "group", "aria-label": "Answer", dir: "auto" });
  answer.hidden = true;
  let whole = "";
  const copy = copyButton("answer", () => whole);
  copy.hidden = true;
  const send = element("button", { type: "submit", class: "primary" }, "Send");
  const form = element("form", { class: "try" },
    ...fields.map(([one, input]) => element("label", {}, `${one.name} (${one.in})`, input)),
    ...(body ? [element("label", {}, `Body, ${kind}`, body)] : []), send, " ", copy, said, answer);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    said.textContent = "Working …";
    answer.hidden = copy.hidden = true;
    const query = new URLSearchParams();
    let address = path;
    for (const [one, { value }] of fields) {
      // a job has a slash in its name
      if (one.in === "path") address = address.replace(`{${one.name}}`, value.split("/").map(encodeURIComponent).join("/"));
      else if (value !== "") query.set(one.name, value);
    }
    try {
      const headers = { ...(body && { "Content-Type": kind }), ...(method !== "GET" && { "X-CSRF-Token": await token() }) };
      const asked = { method, headers, ...(body && { body: body.value }) };
      const came = await fetch(address + (query.size ? `?${query}` : ""), asked);
      whole = await came.text();
      if (came.headers.get("Content-Type") === "application/json") whole = JSON.stringify(JSON.parse(whole), null, 2);
      said.textContent = `${came.status} ${came.statusText}, ${count(whole.length, "character")}`;
      answer.textContent = whole.length > SHOWN ? `${whole.slice(0, SHOWN)}\n… the rest is not shown; Copy takes all` : whole;
      answer.hidden = copy.hidden = false;
    } catch {
      said.textContent = "The service does not answer. Is it still running?";
    }
  });
  return form;
}

function answers(about) {
  const rows = Object.entries(about.responses).map(([status, one]) => {
    const schema = Object.values(one.content ?? {})[0]?.schema;
    return element("tr", {}, element("th", { scope: "row" }, status),
      element("td", {}, ...(schema ? typeOf(schema) : [""])), element("td", {}, one.description));
  });
  return table(rows, "Answers by status");
}

function routeCard(path, method, about) {
  const id = `route-${method}-${path}`;
  const card = element("article", { class: "card route", id },
    element("h3", {}, element("span", { class: "method" }, method.toUpperCase()), path),
    element("p", {}, about.description ?? about.summary ?? ""));
  const parameters = about.parameters ?? [];
  if (parameters.length) {
    const rows = parameters.map((one) => propertyRow(one.name, { ...one.schema, description: one.description ?? one.schema.description }, one.required));
    card.append(table(rows, `Parameters of ${path}`));
  }
  const [schema] = Object.values(about.requestBody?.content ?? {}).map((one) => one.schema);
  if (schema?.$ref) card.append(shapeTable(resolved(schema), `Body of ${path}`));
  const fold = (title, make) => {
    const inside = element("details", {}, element("summary", {}, title));
    inside.addEventListener("toggle", () => { if (inside.open && inside.children.length === 1) inside.append(make()); });
    return inside;
  };
  card.append(fold(`Answers of ${method.toUpperCase()} ${path}`, () => answers(about)),
    fold(`Try ${method.toUpperCase()} ${path}`, () => tryForm(path, method.toUpperCase(), about)));
  return card;
}

/** The group of a route: the first part of its path after /api, where several share it. */
function groups(routes) {
  const part = (path) => path.split("/")[2];
  const shared = (name) => routes.filter(([path]) => part(path) === name && path.split("/").length > 3).length > 0;
  const made = new Map();
  for (const route of routes) {
    const name = shared(part(route[0])) ? part(route[0]) : "api";
    made.set(name, [...(made.get(name) ?? []), route]);
  }
  return made;
}

function show() {
  const routes = Object.entries(api.paths).flatMap(([path, ways]) =>
    Object.entries(ways).map(([method, about]) => [path, method, about]));
  const list = byId("routes");
  const place = byId("results");
  list.replaceChildren();
  place.replaceChildren();
  for (const [name, those] of groups(routes)) {
    const title = TITLES[name] ?? name[0].toUpperCase() + name.slice(1);
    list.append(element("h2", {}, title), element("ul", {}, ...those.map(([path, method]) =>
      element("li", {}, element("a", { href: `#route-${method}-${path}` }, `${method.toUpperCase()} ${path}`)))));
    place.append(element("h2", { class: "group" }, title), ...those.map((route) => routeCard(...route)));
  }
  place.append(element("h2", { class: "group", id: "shapes" }, "Shapes"));
  for (const [name, schema] of Object.entries(api.components.schemas)) {
    place.append(element("article", { class: "card route", id: `shape-${name}` }, element("h3", {}, name),
      element("p", {}, schema.description ?? ""), shapeTable(schema, `Shape ${name}`)));
  }
  return `${count(routes.length, "route")}, ${count(Object.keys(api.components.schemas).length, "shape")}`;
}

async function start() {
  await mountNav("docs");
  api = await ask("/openapi.json");
  byId("status").textContent = show();
  if (location.hash) byId(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

start();
