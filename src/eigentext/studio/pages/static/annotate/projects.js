// All projects, and the form for a new one.
import { element } from "/static/elements.js";
import { post } from "/static/annotate/api.js";
import { field, openLink, table } from "/static/annotate/forms.js";
import { usersPanel } from "/static/annotate/people.js";

export const TASKS = {
  lexical: "Readings of words",
  dependency: "Dependency trees",
  constituency: "Constituent trees",
  tags: "Tags and lemmas",
  entities: "Names and other entities",
  segmentation: "Sentences and words",
};
/** The kinds of models that can propose in each task. */
export const KINDS = {
  lexical: ["lex"], dependency: ["dep", "pipeline"], constituency: ["const"],
  tags: ["pipeline", "tagger"], entities: ["tagger"], segmentation: ["pipeline"],
};

export function showProjects(place, studio, projects, still) {
  const rows = projects.map((project) => {
    const link = openLink(studio, project.name, { project: project.id });
    return [link, TASKS[project.task], project.language, project.model || "none"];
  });
  const list = element("section", { class: "card", "aria-label": "Projects" }, element("h2", {}, "Projects"),
    rows.length ? table(["Name", "Task", "Language", "Model"], rows)
      : element("p", { class: "note" }, "There is no project yet."));
  place.replaceChildren(list);
  if (studio.may("project.create")) place.append(newProject(studio));
  if (studio.may("user.see")) usersPanel(studio).then((panel) => { if (still()) place.append(panel); }, (problem) => { if (still()) studio.fail(problem); });
}

function newProject(studio) {
  const name = element("input", { required: "", maxlength: "200", dir: "auto" });
  const task = element("select", {}, ...Object.entries(TASKS).map(([value, title]) => new Option(title, value)));
  const language = element("input", { maxlength: "40", size: "6", placeholder: "en" });
  const model = element("select", {});
  const labels = element("input", { maxlength: "2000", placeholder: "PER LOC ORG" });
  const fill = () => {
    const fitting = studio.health.models.filter((one) => KINDS[task.value].includes(one.kind));
    model.replaceChildren(new Option("none: from scratch", ""), ...fitting.map((one) => new Option(one.name)));
    if (fitting.length) model.value = fitting[0].name;
  };
  task.addEventListener("change", fill);
  fill();
  const form = element("form", { class: "panel", "aria-label": "New project" }, element("h2", {}, "New project"),
    field("Name", name), field("Task", task), field("Language", language, "A code such as en or ar."),
    field("Model that proposes", model), field("Labels to offer", labels, "With spaces between; those of the model are offered anyway."),
    element("button", { class: "primary" }, "Make it"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    studio.clear();
    try {
      const listed = labels.value.split(/\s+/).filter(Boolean);
      const made = await post("/api/projects", {
        name: name.value, task: task.value, language: language.value.trim(), model: model.value,
        settings: listed.length ? { labels: listed } : {},
      });
      await studio.go({ project: made.id });
    } catch (problem) { studio.fail(problem); }
  });
  return form;
}
