// One project: its documents, guidelines, measures, models, and what comes out of it.
import { count, element } from "/static/elements.js";
import { save } from "/static/shell.js";
import { get, patch, post, remove } from "/static/annotate/api.js";
import { button, confirmName, field, openLink, table } from "/static/annotate/forms.js";
import { measuresView } from "/static/annotate/measures.js";
import { modelsView } from "/static/annotate/models.js";

const VIEWS = [
  ["documents", "Documents", () => true],
  ["guidelines", "Guidelines", () => true],
  ["measures", "Measures", (studio) => studio.may("measures.see")],
  ["models", "Models", (studio) => studio.may("model.see")],
  ["export", "Export", (studio) => studio.may("layer.export") || studio.may("adjudication.export")],
  ["settings", "Settings", (studio) => studio.may("project.change")],
];
const SHOW = { documents, guidelines, measures: measuresView, models: modelsView, export: exporting, settings };

/** Show a view of the project, if by then nobody has gone elsewhere. */
export async function showProject(place, studio, project, state, still) {
  const view = VIEWS.some(([name]) => name === state.view) ? state.view : "documents";
  const links = VIEWS.filter(([, , fits]) => fits(studio)).map(([name, title]) => {
    const link = openLink(studio, title, { project: project.id, view: name });
    if (name === view) link.setAttribute("aria-current", "true");
    return element("li", {}, link);
  });
  const inside = await SHOW[view](studio, project);
  if (!still()) return;
  place.replaceChildren(element("nav", { class: "views-nav", "aria-label": "Of the project" }, element("ul", {}, ...links)), inside);
}

async function documents(studio, project) {
  const { documents: all } = await get(`/api/projects/${project.id}/documents`);
  const people = studio.may("document.assign") ? (await get("/api/users")).users : [];
  const mine = studio.session.user.name;
  const usual = studio.may("layer.decide") ? "" : "adjudication"; // readers have no layer of their own
  const assigned = all.some((one) => one.assigned.length);
  const rows = all.map((one) => {
    const own = one.layers.find((layer) => layer.kind === "annotator" && layer.user === mine);
    const layers = element("ul", { class: "layers" }, ...one.layers.map((layer) => {
      const title = layer.kind === "adjudication" ? "adjudication" : layer.user;
      const user = people.find((person) => person.name === layer.user);
      const which = layer.kind === "adjudication" ? "adjudication" : layer.user === mine ? "mine" : user?.id;
      const name = which === undefined ? element("span", { dir: "auto" }, title)
        : openLink(studio, title, { document: one.id, layer: which });
      return element("li", {}, name, ` ${layer.done_sentences} of ${one.n_sentences}${layer.done ? ", finished" : ""}`);
    }));
    const more = [];
    if (studio.may("adjudication.decide")) more.push(openLink(studio, "Adjudicate", { document: one.id, layer: "adjudication" }));
    if (studio.may("document.assign")) more.push(assignment(studio, one, people));
    if (studio.may("document.delete")) {
      more.push(button("Delete …", async () => {
        const typed = await confirmName("Delete the document?", "It is put aside with all decisions; an admin can have it back.", one.name);
        if (typed === null) return;
        try { await remove(`/api/documents/${one.id}`, { confirm: typed }); await studio.go({ project: project.id }, { replace: true }); } catch (problem) { studio.fail(problem); }
      }));
    }
    const bar = element("progress", { max: Math.max(1, one.n_sentences), value: own?.done_sentences ?? 0, "aria-label": `Done in ${one.name}` });
    return [
      openLink(studio, one.name, { document: one.id, layer: usual }), one.n_sentences.toLocaleString("en"), one.n_words.toLocaleString("en"),
      bar, layers, one.assigned.join(", ") || (assigned ? "nobody" : "everybody"), element("div", { class: "bar" }, ...more),
    ];
  });
  const place = element("section", { class: "card", "aria-label": "Documents" },
    element("div", { class: "part-head" }, element("h2", {}, "Documents"),
      ...(all.length && studio.may("layer.decide") ? [button("Least certain first", () => leastCertain(studio, project), "primary")] : [])),
    all.length ? table(["Name", "Sentences", "Words", "Done by you", "Layers", "For", ""], rows, "Documents")
      : element("p", { class: "note" }, "There is no document yet."));
  const whole = element("div", {}, place);
  if (studio.may("document.import")) whole.append(importing(studio, project));
  return whole;
}

/** Open the sentence of all documents that the model is least sure of. */
async function leastCertain(studio, project) {
  studio.clear();
  studio.say("Working …");
  try {
    const { sentences } = await get(`/api/projects/${project.id}/queue`, { limit: 1 });
    if (!sentences.length) { studio.say("Everything is done."); return; }
    await studio.go({ document: sentences[0].document, sentence: sentences[0].sentence, order: "certainty" });
  } catch (problem) { studio.fail(problem); }
}

function assignment(studio, one, people) {
  const select = element("select", { "aria-label": `Who annotates ${one.name}` }, new Option("Assign …", ""),
    ...people.filter((user) => user.active).map((user) => new Option(`${one.assigned.includes(user.name) ? "✓ " : ""}${user.name}`, user.id)));
  select.addEventListener("change", async () => {
    const user = people.find((person) => String(person.id) === select.value);
    if (!user) return;
    try {
      await post(`/api/documents/${one.id}/assignments`, { user: user.id, assigned: !one.assigned.includes(user.name) });
      await studio.go({ project: one.project }, { replace: true });
    } catch (problem) { studio.fail(problem); }
  });
  return select;
}

function importing(studio, project) {
  const name = element("input", { required: "", maxlength: "200", dir: "auto" });
  const format = element("select", {}, new Option("Text", "text"), new Option("CoNLL-U", "conllu"), new Option("Trees in brackets", "ptb"));
  const scheme = element("select", {}, ...studio.health.schemes.map((one) => new Option(one)));
  if (studio.health.schemes.includes("generic")) scheme.value = "generic";
  if (project.language === "ar" && studio.health.schemes.includes("arabic")) scheme.value = "arabic";
  const pipelines = studio.health.models.filter((one) => one.kind === "pipeline");
  const pipeline = element("select", {}, new Option("no: by the scheme", ""), ...pipelines.map((one) => new Option(one.name)));
  const text = element("textarea", { required: "", dir: "auto", rows: "6" });
  const file = element("input", { type: "file", accept: ".txt,.conllu,.mrg,.ptb,text/plain" });
  file.addEventListener("change", async () => {
    const [chosen] = file.files;
    if (!chosen) return;
    text.value = await chosen.text();
    name.value ||= chosen.name;
    if (/\.conllu$/.test(chosen.name)) format.value = "conllu";
    if (/\.(mrg|ptb)$/.test(chosen.name)) format.value = "ptb";
  });
  const form = element("form", { class: "panel", "aria-label": "Import" }, element("h2", {}, "Import"),
    field("File", file, "Or type and paste below."), field("Name", name), field("Format", format),
    field("Tokens of text", scheme), field("Segment by a pipeline", pipeline), field("Content", text),
    element("button", { class: "primary" }, "Import"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    studio.clear();
    studio.say("Working …");
    try {
      const { documents: made } = await post(`/api/projects/${project.id}/documents`, {
        name: name.value, format: format.value, text: text.value, scheme: scheme.value, pipeline: pipeline.value || null,
      });
      await studio.go({ project: project.id }, { replace: true });
      studio.say(`Imported ${count(made.length, "document")}.`);
    } catch (problem) { studio.fail(problem); }
  });
  return form;
}

async function guidelines(studio, project) {
  const shown = element("div", { class: "guidelines", dir: "auto" }, project.guidelines || "There are no guidelines yet.");
  const place = element("section", { class: "card", "aria-label": "Guidelines" }, element("h2", {}, "Guidelines"), shown);
  if (studio.may("guidelines.change")) {
    const text = element("textarea", { rows: "14", dir: "auto", maxlength: "200000" });
    text.value = project.guidelines;
    const form = element("form", {}, field("Change them", text), element("button", { class: "primary" }, "Save"));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      try {
        const changed = await patch(`/api/projects/${project.id}`, { guidelines: text.value });
        shown.textContent = changed.guidelines;
        studio.say("Saved.");
      } catch (problem) { studio.fail(problem); }
    });
    place.append(form);
  }
  return place;
}

async function exporting(studio, project) {
  const layer = element("select", {}, ...(studio.may("layer.export") ? [new Option("my own decisions", "mine")] : []), new Option("the adjudication", "adjudication"));
  if (studio.may("user.see")) {
    const { users } = await get("/api/users");
    layer.append(...users.map((user) => new Option(user.name, user.id)));
  }
  const format = element("select", {}, ...project.formats.map((one) => new Option(one)));
  const unfinished = element("input", { type: "checkbox" });
  const form = element("form", { class: "card", "aria-label": "Export" }, element("h2", {}, "Export"),
    field("Layer", layer), field("Format", format), field("Unfinished sentences, too", unfinished),
    element("button", { class: "primary" }, "Save file"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    studio.clear();
    const query = new URLSearchParams({ layer: layer.value, format: format.value, unfinished: unfinished.checked });
    try {
      const answer = await fetch(`/api/projects/${project.id}/export?${query}`);
      if (!answer.ok) throw Object.assign(new Error(), { fault: (await answer.json()).error });
      save(await answer.blob(), `${project.name}.${format.value}`, "text/plain");
    } catch (problem) { studio.fail(problem); }
  });
  return form;
}

async function settings(studio, project) {
  const { KINDS } = await import("/static/annotate/projects.js");
  const fitting = studio.health.models.filter((one) => KINDS[project.task].includes(one.kind));
  const model = element("select", {}, new Option("none", ""), ...fitting.map((one) => new Option(one.name)));
  if (project.model && !fitting.some((one) => one.name === project.model)) model.append(new Option(`${project.model} (not served now)`, project.model));
  model.value = project.model;
  const labels = element("input", {});
  labels.value = (project.settings.labels ?? []).join(" ");
  const compare = element("input", { type: "checkbox" });
  compare.checked = Boolean(project.settings.compare);
  const checks = element("input", { type: "checkbox" });
  checks.checked = project.settings.checks ?? true;
  const passed = element("input", { type: "checkbox" });
  passed.checked = project.settings.passed ?? true;
  const form = element("form", { class: "card", "aria-label": "Settings" }, element("h2", {}, "Settings"),
    field("Model that proposes", model), field("Labels to offer", labels),
    ...(["dependency", "tags"].includes(project.task) ? [field("Check the rules of Universal Dependencies", checks, "While annotating; without, trees are still checked for one root and no circle.")] : []),
    ...(project.options.includes("passed") ? [field("Arcs passed over are right", passed, "What the cursor goes over on its way to a correction then stays when the rest is parsed anew.")] : []),
    ...(project.options.includes("compare") ? [field("Compare ranked with unranked", compare, "Half of the sentences are shown without the model's order; Measures tell what ranking is worth.")] : []),
    element("button", { class: "primary" }, "Save"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    studio.clear();
    const listed = labels.value.split(/\s+/).filter(Boolean);
    const kept = { ...project.settings, compare: compare.checked, checks: checks.checked, ...(project.options.includes("passed") ? { passed: passed.checked } : {}) };
    if (listed.length) kept.labels = listed; else delete kept.labels;
    try { await patch(`/api/projects/${project.id}`, { model: model.value, settings: kept }); studio.say("Saved."); } catch (problem) { studio.fail(problem); }
  });
  const place = element("div", {}, form);
  if (studio.may("project.delete")) {
    place.append(button("Delete the project …", async () => {
      const typed = await confirmName("Delete the project?", "It is put aside with all documents and decisions; an admin can have it back.", project.name);
      if (typed === null) return;
      try { await remove(`/api/projects/${project.id}`, { confirm: typed }); await studio.go({}); } catch (problem) { studio.fail(problem); }
    }));
  }
  return place;
}
