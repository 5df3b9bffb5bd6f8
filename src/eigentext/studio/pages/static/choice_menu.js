// A menu at a place on the page, for mouse and keys alike: arrows move, Enter takes, Escape leaves.
// An entry may ask for one of several values; it is then chosen in a small form in the same place.
import { element } from "/static/elements.js";

let close = () => {}; // the menu that is open now

/**
 * Open a menu next to an element (or at `{x, y}`); the focus goes back to `opener` when it closes.
 * An entry is `{ text, act }`, or `{ text, options: [[value, shown], …], chosen, act(value) }`.
 */
export function openMenu(opener, title, entries, at = null) {
  close();
  const box = element("div", { class: "menu" });
  const place = at ?? corner(opener);
  const leave = (back) => {
    box.remove();
    removeEventListener("pointerdown", outside, true);
    close = () => {};
    if (back) opener.focus?.();
  };
  const outside = (event) => { if (!box.contains(event.target)) leave(false); };
  close = () => leave(false);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape" || event.key === "Tab") { event.preventDefault(); event.stopPropagation(); leave(true); }
  });
  const take = (entry, value) => { leave(true); entry.act(value); };
  showEntries(box, title, entries, (entry) => {
    if (entry.options) showOptions(box, entry, (value) => take(entry, value), () => leave(true));
    else take(entry);
  });
  (document.querySelector("main") ?? document.body).append(box);
  const { width, height } = box.getBoundingClientRect();
  box.style.left = `${Math.max(4, Math.min(place.x, innerWidth - width - 4))}px`;
  box.style.top = `${Math.max(4, Math.min(place.y, innerHeight - height - 4))}px`;
  box.querySelector("[role=menuitem]")?.focus();
  addEventListener("pointerdown", outside, true);
}

function corner(opener) {
  const box = opener.getBoundingClientRect();
  return { x: box.left, y: box.bottom + 4 };
}

function showEntries(box, title, entries, take) {
  const list = element("div", { role: "menu", "aria-label": title });
  for (const entry of entries) {
    const item = element("button", { type: "button", role: "menuitem", tabindex: "-1" }, entry.options ? `${entry.text} …` : entry.text);
    item.addEventListener("click", () => take(entry));
    list.append(item);
  }
  list.addEventListener("keydown", (event) => {
    const items = [...list.children];
    const at = items.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    items[(next + items.length) % items.length].focus();
  });
  box.replaceChildren(element("p", { class: "menu-title", dir: "auto", "aria-hidden": "true" }, title), list);
}

function showOptions(box, entry, take, leave) {
  const select = element("select", {});
  select.append(...entry.options.map(([value, shown]) => new Option(shown, value, false, value === entry.chosen)));
  const form = element("form", {}, element("label", { class: "field" }, entry.text, select),
    element("button", { type: "submit", class: "primary" }, "Apply"));
  form.addEventListener("submit", (event) => { event.preventDefault(); take(select.value); });
  select.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); take(select.value); }
  });
  const back = element("button", { type: "button", class: "quiet" }, "Cancel");
  back.addEventListener("click", leave);
  form.append(back);
  box.replaceChildren(form);
  box.setAttribute("role", "dialog");
  box.setAttribute("aria-label", entry.text);
  select.focus();
}

/** One of the elements can be reached with Tab, the others with arrows from there. */
export function rove(elements) {
  let current = elements[0];
  for (const each of elements) {
    each.setAttribute("tabindex", each === current ? "0" : "-1");
    each.addEventListener("focus", () => {
      current.setAttribute("tabindex", "-1");
      current = each;
      current.setAttribute("tabindex", "0");
    });
  }
}

/** The element of this class under the pointer, wherever it was pressed. */
export function under(event, selector) {
  return document.elementFromPoint(event.clientX, event.clientY)?.closest(selector) ?? null;
}

/** While `dragging()`, a finger that goes sideways drags, where the frame of the drawing would scroll. */
export function keepTouch(svg, dragging) {
  let from = null;
  svg.addEventListener("touchstart", ({ touches }) => { [from] = touches; }, { passive: true });
  svg.addEventListener("touchmove", (event) => {
    const [to] = event.touches;
    const sideways = Math.abs(to.clientX - from.clientX) > Math.abs(to.clientY - from.clientY);
    if (dragging() && sideways && event.cancelable) event.preventDefault();
  }, { passive: false });
}
