// Fields, tables and questions that the views of annotation are made of.
import { element } from "/static/elements.js";
import { permalink } from "/static/shell.js";

let made = 0;

/** A field with its label. */
export function field(label, input, hint = "") {
  input.id ||= `field-${++made}`;
  const parts = [element("label", { for: input.id }, label), input];
  if (hint) parts.push(element("small", { id: `${input.id}-hint` }, hint));
  if (hint) input.setAttribute("aria-describedby", `${input.id}-hint`);
  return element("div", { class: "field-row" }, ...parts);
}

/** A table of rows of texts or elements; `name` is for those who do not see it. */
export function table(heads, rows, name = "") {
  const head = element("thead", {}, element("tr", {}, ...heads.map((text) => (text ? element("th", { scope: "col" }, text) : element("td", {})))));
  const body = element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell ?? "")))));
  const whole = element("table", {}, head, body);
  return element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": name || heads.filter(Boolean).join(", ") }, whole);
}

export function button(text, act, kind = "quiet") {
  const made_ = element("button", { type: "button", class: kind }, text);
  made_.addEventListener("click", act);
  return made_;
}

/** A link to another place of this page; with a key held the browser opens it as it does any other. */
export function openLink(studio, title, state) {
  const link = element("a", { href: permalink.address(state), dir: "auto" }, title);
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    studio.go(state);
  });
  return link;
}

/** Ask in a dialog; the promise is of the text typed, or null. */
export function confirmName(title, why, name) {
  const input = element("input", { dir: "auto", autocomplete: "off" });
  const dialog = element("dialog", { "aria-label": title },
    element("form", { method: "dialog" },
      element("h2", {}, title), element("p", {}, why),
      field(`Type its name to be sure: ${name}`, input),
      element("p", { class: "bar" },
        element("button", { value: "no", class: "quiet" }, "Keep it"),
        element("button", { value: "yes", class: "primary danger" }, "Delete"))));
  document.body.append(dialog);
  dialog.showModal();
  input.focus();
  return new Promise((done) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      done(dialog.returnValue === "yes" ? input.value : null);
    });
  });
}

export const percent = (number) => (number === null || number === undefined ? "" : `${Math.round(100 * number)} %`);
