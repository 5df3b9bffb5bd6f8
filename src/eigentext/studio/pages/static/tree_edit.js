// A constituent tree, as the server has drawn it, in which constituents can be required, forbidden
// and renamed: by mouse, by touch and by keys.  What comes of it is the caller's business.
import { isolated } from "/static/elements.js";
import { keepTouch, openMenu, rove, under } from "/static/choice_menu.js";

const told = (node) => ({ start: Number(node.dataset.start), end: Number(node.dataset.end), label: node.dataset.label, role: node.dataset.role });
const same = (one, other) => one.start === other.start && one.end === other.end;

/**
 * Make the nodes of `svg` choosable.  Spans are `{ start, end }`, words counted from 0.
 *
 * `labels, tags`   that may be chosen
 * `asked`          `[{ kind: "require" | "forbid" | "tag", start, end, label }]`, what is asked for
 * `any`            whether a constituent may be required with any label
 * `onRequire(span, label)`, `onForbid(span, label)`  label null: any
 * `onTag(word, tag)`, `onClear(span)`
 */
export function editTree(svg, { labels, tags, asked = [], any = true, onRequire, onForbid, onTag, onClear }) {
  const nodes = [...svg.querySelectorAll(".et-node")];
  if (!nodes.length) return { focus: () => false };
  const words = nodes.filter((node) => node.dataset.role === "word");
  const text = (span) => words.slice(span.start, span.end).map((word) => word.dataset.label).join(" ");
  const parents = family(nodes);
  const rightToLeft = svg.dataset.direction === "rtl";
  let anchor = null; // the word at which a selection began
  let chosen = null; // the span that is selected

  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", "Constituents: arrows move, Enter opens a menu, Shift and arrows select words");
  for (const node of nodes) dress(node);
  rove(nodes);

  function dress(node) {
    const span = told(node);
    const own = asked.filter((one) => same(one, span) && one.kind !== "forbid"
      && (one.label === null || one.label === span.label) && (one.kind === "tag") === (span.role === "tag"));
    const pinned = span.role !== "word" && own.length > 0;
    node.classList.toggle("pinned", pinned);
    const value = node.dataset.value === undefined ? "" : `, posterior ${node.dataset.value}`;
    const name = span.role === "word" ? `word ${isolated(span.label)}` : `${span.label} over ${isolated(text(span))}${value}`;
    node.setAttribute("role", "button");
    node.setAttribute("aria-haspopup", "menu");
    node.setAttribute("aria-label", pinned ? `${name}, required` : name);
  }

  function select(span) {
    chosen = span;
    for (const [k, word] of words.entries()) word.classList.toggle("chosen", Boolean(span) && k >= span.start && k < span.end);
    if (span) svg.setAttribute("data-chosen", `${span.start}-${span.end}`);
    else svg.removeAttribute("data-chosen");
  }

  /* ---- menus */

  const pairs = (names) => names.map((name) => [name, name]);
  const clear = (span) => (asked.some((one) => same(one, span)) ? [{ text: "Clear what is asked here", act: () => onClear(span) }] : []);

  function menuOfSpan(opener, span, at) {
    const whole = span.start === 0 && span.end === words.length;
    openMenu(opener, isolated(text(span)), [
      { text: "Require as", options: pairs(labels), chosen: labels.includes("NP") ? "NP" : undefined, act: (label) => { select(null); onRequire(span, label); } },
      ...(any ? [{ text: "Require, with any label", act: () => { select(null); onRequire(span, null); } }] : []),
      ...(whole || span.end === span.start + 1 ? [] : [{ text: "Forbid", act: () => { select(null); onForbid(span, null); } }]),
      ...clear(span),
    ], at);
  }

  function menuOfNode(node, at) {
    const span = told(node);
    const whole = span.start === 0 && span.end === words.length;
    if (span.role === "word") return menuOfWord(node, span, at);
    if (span.role === "tag") {
      return openMenu(node, `${span.label} ${isolated(text(span))}`, [
        { text: `Require the tag ${span.label}`, act: () => onTag(span.start, span.label) },
        { text: "Change the tag", options: pairs(tags), chosen: span.label, act: (tag) => onTag(span.start, tag) },
        { text: `Forbid the tag ${span.label}`, act: () => onForbid(span, span.label) },
        ...clear(span),
      ], at);
    }
    return openMenu(node, `${span.label} ${isolated(text(span))}`, [
      { text: `Require ${span.label} here`, act: () => onRequire(span, span.label) },
      { text: `Forbid ${span.label} here`, act: () => onForbid(span, span.label) },
      { text: "Change the label", options: pairs(labels), chosen: span.label, act: (label) => onRequire(span, label) },
      ...(whole || span.end === span.start + 1 ? [] : [{ text: "Forbid any constituent here", act: () => onForbid(span, null) }]),
      ...clear(span),
    ], at);
  }

  function menuOfWord(node, span, at) {
    if (chosen && span.start >= chosen.start && span.start < chosen.end) return menuOfSpan(node, chosen, at);
    const ends = words.slice(span.start).map((word, k) => [String(span.start + k + 1), word.dataset.label]);
    return openMenu(node, isolated(span.label), [
      { text: "Change the tag", options: pairs(tags), act: (tag) => onTag(span.start, tag) },
      { text: "Select from here to", options: ends, act: (end) => { select({ start: span.start, end: Number(end) }); menuOfSpan(node, chosen); } },
      ...clear(span),
    ], at);
  }

  /* ---- keys */

  function near(node, key) {
    const step = { ArrowLeft: rightToLeft ? 1 : -1, ArrowRight: rightToLeft ? -1 : 1 }[key];
    if (key === "ArrowUp") return parents.get(node);
    if (key === "ArrowDown") return nodes.find((other) => parents.get(other) === node);
    if (key === "Home") return nodes[0];
    if (key === "End") return nodes.at(-1);
    if (!step) return undefined;
    const sisters = nodes.filter((other) => parents.get(other) === parents.get(node));
    const next = sisters[sisters.indexOf(node) + step];
    if (next) return next;
    const alike = nodes.filter((other) => other.dataset.role === node.dataset.role); // across the edge of the constituent
    return alike[alike.indexOf(node) + step];
  }

  function extend(node, key) {
    const step = { ArrowLeft: rightToLeft ? 1 : -1, ArrowRight: rightToLeft ? -1 : 1 }[key];
    const at = words.indexOf(node);
    const next = words[at + step];
    if (at < 0 || !step || !next) return;
    anchor ??= at;
    select({ start: Math.min(anchor, at + step), end: Math.max(anchor, at + step) + 1 });
    next.focus();
  }

  const quick = {
    r(span) {
      if (span.role === "tag") onTag(span.start, span.label);
      else if (span.label || any) onRequire(span, span.label ?? null);
    },
    f: (span) => onForbid(span, span.label ?? null),
    c: (span) => onClear(span),
    Delete: (span) => onClear(span),
  };

  svg.addEventListener("keydown", (event) => {
    const node = event.target.closest(".et-node");
    if (!node || event.ctrlKey || event.metaKey || event.altKey) return;
    const span = chosen ?? told(node);
    if (event.key.startsWith("Arrow") && event.shiftKey) extend(node, event.key);
    else if (near(node, event.key)) {
      anchor = null;
      select(null);
      near(node, event.key).focus();
    } else if (event.key === "Enter" || event.key === " ") menuOfNode(node);
    else if (event.key === "Escape" && chosen) { anchor = null; select(null); }
    else if (quick[event.key] && (chosen || span.role !== "word")) { select(null); quick[event.key](span); }
    else if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
  });

  /* ---- mouse and touch */

  let pressed = null;
  let done = false; // a drag has ended: the click that may follow means nothing
  svg.addEventListener("pointerdown", (event) => {
    done = false;
    const node = event.target.closest(".et-node");
    pressed = node && words.includes(node) && event.button === 0 ? words.indexOf(node) : null;
    if (pressed !== null && chosen && (pressed < chosen.start || pressed >= chosen.end)) select(null);
    anchor = null;
  });
  svg.addEventListener("pointermove", (event) => {
    if (pressed === null || event.buttons === 0) return;
    const at = words.indexOf(under(event, ".et-node"));
    if (at < 0 || (at === pressed && !chosen)) return;
    select({ start: Math.min(pressed, at), end: Math.max(pressed, at) + 1 });
  });
  keepTouch(svg, () => pressed !== null);
  svg.addEventListener("pointercancel", () => { pressed = null; });
  svg.addEventListener("pointerup", (event) => {
    done = pressed !== null && chosen !== null && chosen.end - chosen.start > 1;
    pressed = null;
    if (done) menuOfSpan(words[chosen.start], chosen, { x: event.clientX, y: event.clientY + 8 });
  });
  svg.addEventListener("click", (event) => {
    if (done) return;
    const node = event.target.closest(".et-node");
    if (node) menuOfNode(node, { x: event.clientX, y: event.clientY + 8 });
    else select(null);
  });

  return {
    /** Put the focus on the node of this span and label, or on one over the same words. */
    focus(span) {
      const fits = nodes.filter((node) => same(told(node), span) && node.dataset.role !== "word");
      const found = fits.find((node) => node.dataset.label === span.label) ?? fits[0] ?? nodes[0];
      found.focus({ preventScroll: true });
      return true;
    },
  };
}

/** The parent of each node; nodes come from the top down, left to right. */
function family(nodes) {
  const parents = new Map();
  const above = [];
  for (const node of nodes) {
    const span = told(node);
    const holds = (other) => other.dataset.role !== "word" && Number(other.dataset.start) <= span.start && Number(other.dataset.end) >= span.end;
    while (above.length && !holds(above.at(-1))) above.pop();
    parents.set(node, above.at(-1));
    above.push(node);
  }
  return parents;
}
