// Small things that every view is made of; text goes in as text, never as markup.

/** An element of the page's HTML: without it the page is broken, and says so. @param {string} id */
export function byId(id) {
  const place = document.getElementById(id);
  if (place === null) throw new Error(`this page has no element ${id}`);
  return place;
}

/** A box to write in or a list to choose from. @param {string} id */
export const fieldById = (id) => /** @type {HTMLInputElement} */ (byId(id));

/** A form with its fields by name. @param {string} id */
export const formById = (id) => /** @type {HTMLFormElement & { elements: Record<string, any> }} */ (byId(id));

/** All elements that fit. @param {ParentNode} place @param {string} selector @returns {NodeListOf<HTMLElement>} */
export const all = (place, selector) => place.querySelectorAll(selector);

/**
 * @param {string} tag @param {Record<string, any>} attributes @param {...(Node | string)} children
 * @returns {any} of the kind that the tag says
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function count(n, noun) {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

export function quietButton(text, act) {
  const button = element("button", { type: "button", class: "quiet" }, text);
  button.addEventListener("click", () => act(button));
  return button;
}

/** The direction of a row of words: that of the first one with a letter. */
export function direction(words) {
  const first = words.find((word) => /\p{L}/u.test(word));
  return first && /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/.test(first) ? "rtl" : "ltr";
}

/** Text of any direction inside a line, which it must not turn. */
export const isolated = (text) => `\u2068${text}\u2069`;
