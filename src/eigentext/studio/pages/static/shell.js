// What every page has: the header with its links, the address that keeps what was asked, the state
// of being at work, and buttons that copy and save.  Nothing of a page's own matter is here.
import { ask, fetched } from "/static/api.js";
import { all, byId, count, element, quietButton } from "/static/elements.js";

const mainPlace = () => all(document, "main")[0];

const TITLES = {
  parse: "Parse", read: "Read", words: "Words", sequences: "Sequences",
  annotate: "Annotate", tools: "Tools", docs: "API",
};
const SLOW = 700; // milliseconds between questions about how far the loading is
const SLOWER = 2_000; // the same while the page can be used

const sleep = (time) => new Promise((done) => { setTimeout(done, time); });

/* ---- the header */

/**
 * Fill `<header id="shell">` with the links to the pages that have their models, and wait until
 * the service has loaded them; what comes back is the answer of /api/health.  Where the page has
 * no model and none is to come it says so, and nothing comes back.  While others come, the answer
 * is kept up to date, with all selects of models, and `more()` is called for each.
 */
export async function mountNav(page, more = () => {}) {
  const place = byId("shell");
  const list = element("ul");
  const about = element("div", { class: "about" });
  place.replaceChildren(
    element("a", { class: "brand", href: "/" }, "eigentext"),
    element("nav", { "aria-label": "Pages" }, list), about);
  // a fragment of the address may hold a text: the skip link must not replace it
  document.querySelector(".skip")?.addEventListener("click", (event) => {
    event.preventDefault();
    byId("results").focus();
  });
  let health;
  try {
    health = await ask("/api/health");
  } catch (error) {
    mainPlace().prepend(element("p", { class: "error", role: "alert" }, (error.fault ?? SILENT).why));
    return never();
  }
  const models = element("span", {});
  const said = element("small", { id: "training", role: "status" });
  about.replaceChildren(models, " ", said);
  const show = () => {
    showIn(list, health.pages, (name) => pageLink(name, name === page));
    showIn(models, [health], aboutService);
    showIn(said, health.training ? [health.training] : [], trained);
  };
  show();
  const wait = loaded(health, page, show);
  if (page !== "docs") await wait; // which needs no model, and no worker
  if (page in health.missing) {
    byId("form").hidden = true;
    byId("status").replaceChildren(...noModel(health, page));
    return never();
  }
  const watch = async () => {
    for (let n = health.models.length; comes(health); n = health.models.length) {
      await renewed(health, SLOWER);
      show();
      if (health.models.length === n) continue;
      for (const fill of selects) fill(health.models);
      more();
    }
  };
  watch();
  return health;
}

const shown = new WeakMap();

/** Show what `make` makes of each, unless it is shown already: somebody may be reading there. */
function showIn(place, values, make) {
  const fresh = element("div", {}, ...values.map(make));
  if (fresh.innerHTML === shown.get(place)) return;
  shown.set(place, fresh.innerHTML);
  const open = place.querySelector("details")?.open;
  const at = place.contains(document.activeElement);
  place.replaceChildren(...fresh.childNodes);
  const fold = place.querySelector("details");
  if (fold && open) fold.open = true;
  if (fold && at) all(fold, "summary")[0].focus();
}

/** There is nothing to do on this page. */
function never() {
  byId("results").setAttribute("aria-busy", "false");
  return new Promise(() => {});
}

const comes = (health) => Boolean(health.training?.names.length);

/** Bring what is known of the service up to date, after a while; if it is silent, that stays. */
async function renewed(health, time) {
  await sleep(time);
  Object.assign(health, await fetched("/api/health").catch(() => ({})));
}

/** Why there is no model for a page: what could not be trained, or how to get one. */
function noModel({ training, missing }, page) {
  const failed = Object.entries(training?.failed ?? {}).map(([name, why]) =>
    element("span", { class: "failed" }, `The sample model ${name} could not be trained: ${why}. `));
  // commands stand between backticks
  return [...failed, ...missing[page].split("`").map((text, k) => (k % 2 ? element("code", {}, text) : text))];
}

function pageLink(name, current) {
  const link = element("a", { href: `/${name}` }, TITLES[name] ?? name);
  if (current) link.setAttribute("aria-current", "page");
  return element("li", {}, link);
}

/** The version, and the models, to be folded out. */
function aboutService({ version: number, models, training }) {
  const version = element("span", { class: "version", id: "version" }, `eigentext ${number}`);
  if (models.length === 0) return version;
  const items = models.map((model) => element("li", {},
    element("b", { dir: "auto" }, model.name), ` ${model.what}`,
    element("small", {}, [model.language, model.summary, model.licence].filter(Boolean).join(" · "))));
  const failed = Object.entries(training?.failed ?? {}).map(([name, why]) => element("li", {},
    element("b", { dir: "auto" }, name), " could not be trained", element("small", {}, why)));
  return element("details", { class: "models" },
    element("summary", {}, version, " ", count(models.length, "model")), element("ul", {}, ...items, ...failed));
}

/** How far the training of sample models is. */
function trained({ done, total, names, failed }) {
  const missed = Object.keys(failed).length;
  const now = names.length ? `training sample models, ${done} of ${total}` : `${done} of ${total} sample models`;
  return now + (missed ? `, ${missed} failed` : "");
}

/** Wait while the service loads or trains models that the page needs, and say how far it is. */
async function loaded(health, page, show) {
  const awaited = () => health.status === "starting" || (health.status === "ok" && page in health.missing && comes(health));
  if (health.status === "ok" && !awaited()) return;
  const bar = element("progress", { "aria-label": "Loading models" });
  const words = element("span", {});
  const notice = element("p", { class: "loading panel", id: "loading", role: "status" }, words, bar);
  mainPlace().prepend(notice);
  while (awaited()) {
    const starting = health.status === "starting";
    const { done, total, name } = (starting ? health.loading : health.training) ?? { done: 0, total: 0 };
    const which = name ? ` (${name})` : "";
    if (!total) words.textContent = "The service is starting …";
    else if (starting) words.textContent = `Loading models: ${done} of ${total}${which} …`;
    else words.textContent = `This page waits for its model: ${trained(health.training)} …`;
    if (total) Object.assign(bar, { max: total, value: done });
    await renewed(health, SLOW);
    show();
  }
  if (health.status === "ok") notice.remove();
  else {
    notice.replaceChildren(`The models could not be loaded: ${health.why ?? "the log of the service says why"}`);
    notice.className = "error";
  }
}

/* ---- the address */

const IN_QUERY = 1_500; // characters; a longer text goes into the fragment
const IN_ADDRESS = 100_000; // one that is longer still stays with this tab

/** What the address and the tab keep: a flat object of strings; `text` may be long. */
export const permalink = {
  read() {
    const query = Object.fromEntries(new URLSearchParams(location.search));
    const fragment = new URLSearchParams(location.hash.slice(1));
    if (fragment.has("text")) query.text = fragment.get("text") ?? "";
    return { ...query, ...(history.state?.kept ?? {}) };
  },

  /** The address with this state; what is empty is left out. */
  address(state) {
    const entries = Object.entries(state).filter(([, value]) => value !== "" && value !== null && value !== undefined);
    const short = entries.filter(([name, value]) => name !== "text" || encodeURIComponent(value).length <= IN_QUERY);
    const query = new URLSearchParams(short).toString();
    const text = entries.length > short.length && state.text.length <= IN_ADDRESS
      ? `#${new URLSearchParams({ text: state.text })}` : "";
    return location.pathname + (query && `?${query}`) + text;
  },

  /** Put the state of a question into the address; a new one is a step that "back" goes back. */
  write(state, { replace = false } = {}) {
    const address = this.address(state);
    const kept = (state.text ?? "").length > IN_ADDRESS ? { text: state.text } : {};
    const same = address === location.pathname + location.search + location.hash;
    history[replace || same ? "replaceState" : "pushState"]({ kept }, "", address);
  },

  /** Call `act(state)` when the person goes back or forward. */
  onChange(act) {
    addEventListener("popstate", () => act(this.read()));
  },
};

/* ---- being at work */

/** Clear what was shown before and say at once that something is being done. */
export function working(results, status = byId("status")) {
  results.replaceChildren();
  results.setAttribute("aria-busy", "true");
  if (status) status.textContent = "Working …";
}

/** The box that says what is wrong, with the line of the input where that is known. */
export function errorBox(input) {
  const place = element("strong");
  const why = element("span");
  const shownLine = element("code", { dir: "auto" });
  const box = element("div", { id: "error", class: "error", role: "alert" }, place, why, shownLine);
  box.hidden = true;
  input.after(box);
  const clear = () => { box.hidden = true; input.removeAttribute("aria-invalid"); };
  input.addEventListener("input", clear);
  return {
    clear,
    show(fault) {
      const line = fault.line === null ? undefined : input.value.split("\n")[fault.line - 1];
      place.textContent = fault.line === null ? "" : `Line ${fault.line}: `;
      why.textContent = fault.why;
      shownLine.textContent = line === undefined ? "" : line.slice(0, 200);
      shownLine.hidden = !line;
      box.hidden = false;
      input.setAttribute("aria-invalid", "true");
      if (line !== undefined && !input.hidden) selectLine(input, fault.line);
    },
  };
}

function selectLine(input, number) {
  const lines = input.value.split("\n");
  const start = lines.slice(0, number - 1).reduce((sum, line) => sum + line.length + 1, 0);
  input.focus();
  input.setSelectionRange(start, start + lines[number - 1].length);
}

export const SILENT = { line: null, why: "The service does not answer. Is it still running?" };

/**
 * A function that asks: `question()` promises an answer, `show(answer)` puts it into the results
 * and returns a line that sums it up.  Of several questions the last one is shown.
 */
export function asking({ results, status, button, errors }, question, show) {
  let asked = 0;
  return async () => {
    const turn = ++asked;
    errors.clear();
    working(results, status);
    button?.setAttribute("aria-disabled", "true");
    try {
      const answer = await question();
      if (turn !== asked) return; // a newer question is on its way
      status.textContent = show(answer) ?? "";
    } catch (error) {
      if (turn !== asked) return;
      results.replaceChildren();
      status.textContent = "";
      errors.show(error.fault ?? SILENT);
      if (!error.fault && !(error instanceof TypeError)) throw error; // a fault of this page
    } finally {
      if (turn === asked) {
        button?.removeAttribute("aria-disabled");
        results.setAttribute("aria-busy", "false");
      }
    }
  };
}

/**
 * Until a page has its models it cannot ask.  What a person does to the form before that is not
 * lost: nothing is sent, and the function that comes back lets the form go and tells the fields
 * that were changed, as an address would.
 */
export function early(form) {
  const changed = {};
  const hold = (event) => {
    const { type, target, key, ctrlKey, metaKey } = event;
    if (type === "keydown" && !(key === "Enter" && (ctrlKey || metaKey))) return;
    if (type === "input") changed[target.id === "input" ? "text" : target.id || target.name] = target.value;
    if (type === "submit") event.preventDefault();
    event.stopImmediatePropagation();
  };
  const kinds = ["submit", "input", "change", "keydown"];
  for (const kind of kinds) form.addEventListener(kind, hold, true);
  return () => {
    for (const kind of kinds) form.removeEventListener(kind, hold, true);
    return changed;
  };
}

/** Ctrl Enter in the text asks, as the button does. */
export function onSubmit(form, input, run) {
  form.addEventListener("submit", (event) => { event.preventDefault(); run(); });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run(); }
  });
}

/* ---- choosing */

/** Choose a value of a select if it is there to choose; whether it was. */
export function choose(select, value) {
  const there = value !== undefined && [...select.options].some((option) => option.value === value);
  if (there) select.value = value;
  return there;
}

const selects = []; // what fills each select of models anew

/**
 * A labelled select of the models that `fits` gives of all; with one model alone it is hidden.
 * It takes models that come later, and what was chosen stays.
 */
export function modelSelect(health, fits, { id = "model", label = "Model" } = {}) {
  const select = element("select", { id });
  const field = element("label", { class: "field" }, `${label} `, select);
  const made = { field, select, models: /** @type {any[]} */ ([]) };
  const fill = (all_) => {
    const before = made.models[select.selectedIndex];
    made.models = fits(all_);
    const several = new Set(made.models.map((model) => model.kind)).size > 1;
    // the kind belongs to the value where names alone would not tell two models apart
    select.replaceChildren(...made.models.map((model) => new Option(
      several ? `${model.name} (${model.what})` : model.name,
      several ? `${model.kind}:${model.name}` : model.name)));
    if (before) select.selectedIndex = made.models.findIndex((model) => model.kind === before.kind && model.name === before.name);
    field.hidden = made.models.length < 2;
  };
  fill(health.models);
  selects.push(fill);
  return made;
}

/** The models of a kind, for `modelSelect`. */
export const ofKind = (kind) => (models) => models.filter((model) => model.kind === kind);

/* ---- taking away */

async function flash(button, text) {
  const before = button.textContent;
  button.textContent = text;
  await sleep(1500);
  button.textContent = before;
}

/** A button that copies what `get()` gives. */
export function copyButton(name, get, title = "Copy") {
  const button = quietButton(title, async () => {
    try {
      await navigator.clipboard.writeText(await get());
      flash(button, "Copied");
    } catch {
      flash(button, "Not allowed here");
    }
  });
  button.setAttribute("aria-label", `${title}: ${name}`);
  return button;
}

/** Save bytes or a text under a name. */
export function save(content, file, mime) {
  const link = element("a", { download: file });
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: mime }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** A button that saves what `get()` gives, a text or a Blob. */
export function downloadButton(title, file, mime, get) {
  const button = quietButton(title, async () => {
    try {
      save(await get(), file, mime);
    } catch {
      flash(button, "Not possible");
    }
  });
  button.setAttribute("aria-label", `Save ${title}: ${file}`);
  return button;
}

/** An SVG drawing as a PNG, twice as large as on the screen, in the colours of light pages. */
export async function svgToPng(svg, scale = 2) {
  const drawing = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  const box = (drawing.getAttribute("viewBox") ?? "").split(/[\s,]+/).map(Number);
  const width = parseFloat(drawing.getAttribute("width") ?? "") || box[2] || 800;
  const height = parseFloat(drawing.getAttribute("height") ?? "") || box[3] || 600;
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = element("canvas", { width: Math.ceil(width * scale), height: Math.ceil(height * scale) });
  const pen = canvas.getContext("2d");
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, failed) => {
    canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("too large"))), "image/png");
  });
}
