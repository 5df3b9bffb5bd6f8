// The page of annotation: who you are, projects, one project, one document; each has its address.
import { byId, element } from "/static/elements.js";
import { mountNav, permalink, SILENT } from "/static/shell.js";
import { get, remove, session } from "/static/annotate/api.js";
import { openEditor } from "/static/annotate/editor.js";
import { openLink } from "/static/annotate/forms.js";
import { askName } from "/static/annotate/people.js";
import { showProject } from "/static/annotate/project.js";
import { showProjects } from "/static/annotate/projects.js";

const place = byId("results");
const status = byId("status");
const error = byId("error");
let turn = 0;
let leave = () => {};

/** What all views share: the service, who is at work, and where messages go. */
export const studio = {
  /** @type {any} */
  health: null,
  /** @type {any} */
  session: null,
  may: (action) => studio.session?.may.includes(action) ?? false,
  say: (text) => { status.textContent = text; },
  fail(problem) {
    const fault = problem?.fault ?? SILENT;
    error.textContent = (fault.line ? `Line ${fault.line}: ` : "") + fault.why;
    error.hidden = false;
    status.textContent = "";
    if (!problem?.fault && !(problem instanceof TypeError)) throw problem;
  },
  clear() { error.hidden = true; },
  /** Go to another place of this page; it is a step that "back" goes back. */
  go(state, options) { permalink.write(state, options); return show(); },
};

/** A list of links from the projects down to where we are. */
function trail(...steps) {
  const items = steps.map(([title, state], k) => {
    const last = k === steps.length - 1;
    return element("li", {}, last ? element("span", { "aria-current": "page", dir: "auto" }, title) : openLink(studio, title, state));
  });
  byId("trail").replaceChildren(element("ol", {}, ...items));
}

async function show() {
  const now = ++turn;
  const still = () => now === turn; // else somebody has gone elsewhere
  leave();
  leave = () => {};
  studio.clear();
  place.replaceChildren();
  place.setAttribute("aria-busy", "true");
  status.textContent = "Working …";
  try {
    const state = permalink.read();
    studio.session = await session();
    if (!still()) return;
    who();
    if (!studio.session.user) { trail(["Annotate", {}]); askName(place, studio, show); status.textContent = ""; return; }
    if (state.document) {
      const opened = await get(`/api/documents/${Number(state.document)}`, { layer: state.layer ?? "mine" });
      if (!still()) return;
      const { project, document: text } = opened;
      trail(["Projects", {}], [project.name, { project: project.id }], [text.name, {}]);
      leave = openEditor(place, studio, opened, state);
    } else if (state.project) {
      const project = await get(`/api/projects/${Number(state.project)}`);
      if (!still()) return;
      trail(["Projects", {}], [project.name, {}]);
      await showProject(place, studio, project, state, still);
    } else {
      const { projects } = await get("/api/projects");
      if (!still()) return;
      trail(["Projects", {}]);
      showProjects(place, studio, projects, still);
    }
    if (still() && status.textContent === "Working …") status.textContent = "";
  } catch (problem) {
    if (still()) studio.fail(problem);
  } finally {
    if (still()) place.setAttribute("aria-busy", "false");
  }
}

/** Who is at work, and how to be somebody else. */
function who() {
  const { user, accounts } = studio.session;
  const parts = [];
  if (user) {
    const out = element("button", { type: "button", class: "quiet" }, accounts ? "Log out" : "Another name");
    out.addEventListener("click", async () => {
      try { await remove("/api/session"); await show(); } catch (problem) { studio.fail(problem); }
    });
    parts.push(element("b", { dir: "auto" }, user.name), accounts ? ` (${user.role}) ` : " ", out);
  }
  if (!accounts) parts.push(element("small", {}, "No passwords here: the service is reached from this machine alone."));
  byId("who").replaceChildren(...parts);
}

async function start() {
  try {
    studio.health = await mountNav("annotate");
    if (!studio.health.features.includes("annotate")) {
      place.replaceChildren(element("p", { class: "card" },
        "This service keeps no annotations. Start it with ", element("code", {}, "eigentext studio --annotations FILE"), "."));
      status.textContent = "";
      place.setAttribute("aria-busy", "false");
      return;
    }
    permalink.onChange(show);
    await show();
  } catch (problem) { studio.fail(problem); place.setAttribute("aria-busy", "false"); }
}

start();
