// Small things that every view is made of; text goes in as text, never as markup.

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
