// Who annotates: a name where there are no accounts, a name and a password where there are.
import { element } from "/static/elements.js";
import { get, patch, post, rememberSession } from "/static/annotate/api.js";
import { field, table } from "/static/annotate/forms.js";

const ROLES = ["reader", "annotator", "adjudicator", "admin"];

/** Ask who is there; `then()` is called when that is known. */
export function askName(place, studio, then) {
  const { accounts } = studio.session;
  const name = element("input", { id: "name", name: "name", autocomplete: "username", required: "", maxlength: "200", dir: "auto" });
  const password = element("input", { id: "password", name: "password", type: "password", autocomplete: "current-password", required: "", maxlength: "1000" });
  const form = element("form", { class: "panel narrow" },
    element("h2", {}, accounts ? "Log in" : "Who annotates?"),
    element("p", { class: "note" }, accounts
      ? "Ask an admin of this service for an account."
      : "Decisions are kept under a name. There are no passwords, since only this machine reaches the service."),
    field("Name", name));
  if (accounts) form.append(field("Password", password));
  form.append(element("button", { class: "primary" }, accounts ? "Log in" : "Start"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    studio.clear();
    try {
      const given = { name: name.value, password: accounts ? password.value : "-" };
      rememberSession(await post("/api/session", given));
      await then();
    } catch (problem) { studio.fail(problem); password.value = ""; }
  });
  place.replaceChildren(form);
  name.focus();
}

/** The users, for those who may see them; admins change them here. */
export async function usersPanel(studio) {
  const panel = element("section", { class: "card", "aria-label": "People" }, element("h2", {}, "People"));
  const { users } = await get("/api/users");
  const change = async (user, values) => {
    studio.clear();
    try { await patch(`/api/users/${user.id}`, values); studio.say(`Saved: ${user.name}.`); } catch (problem) { studio.fail(problem); }
  };
  const rows = users.map((user) => {
    const role = element("select", { "aria-label": `Role of ${user.name}` }, ...ROLES.map((one) => new Option(one)));
    role.value = user.role;
    role.disabled = !studio.may("user.change");
    role.addEventListener("change", () => change(user, { role: role.value }));
    const active = element("input", { type: "checkbox", "aria-label": `${user.name} may log in` });
    active.checked = user.active;
    active.disabled = !studio.may("user.change");
    active.addEventListener("change", () => change(user, { active: active.checked }));
    return [element("span", { dir: "auto" }, user.name), role, active];
  });
  panel.append(table(["Name", "Role", "Active"], rows));
  if (studio.may("user.change")) panel.append(newUser(studio, panel));
  return panel;
}

function newUser(studio, panel) {
  const name = element("input", { required: "", maxlength: "200", dir: "auto" });
  const role = element("select", {}, ...ROLES.map((one) => new Option(one)));
  role.value = "annotator";
  const password = element("input", { type: "password", autocomplete: "new-password", maxlength: "1000" });
  const form = element("form", { class: "bar" }, field("Name", name), field("Role", role));
  if (studio.session.accounts) form.append(field("Password", password));
  form.append(element("button", { class: "primary" }, "Add"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    studio.clear();
    try {
      await post("/api/users", { name: name.value, role: role.value, password: password.value || null });
      panel.replaceWith(await usersPanel(studio));
    } catch (problem) { studio.fail(problem); }
  });
  return form;
}
