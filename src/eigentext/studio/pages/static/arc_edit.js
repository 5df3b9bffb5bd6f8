// A dependency tree, as the server has drawn it, in which arcs can be required, forbidden, renamed
// and moved: by mouse, by touch and by keys.  What comes of it is the caller's business.
import { isolated } from "/static/elements.js";
import { keepTouch, openMenu, rove, under } from "/static/choice_menu.js";

const ROOT = "root";
const told = (arc) => ({ head: Number(arc.dataset.head), dependent: Number(arc.dataset.dependent), relation: arc.dataset.relation });

/**
 * Make arcs and words of `svg` choosable.  Words count from 1, head 0 is the root.
 *
 * `words`      the sentence
 * `relations`  that may be chosen
 * `asked`      `[{ kind: "require" | "forbid", head, dependent, relation }]`, what is asked for
 * `onArc(dependent, head, relation)`  relation null: any
 * `onForbid(dependent, head, relation)`  the same; without it nothing can be forbidden
 * `onClear(dependent)`
 *
 * @param {any} svg
 * @param {{ words: string[], relations: string[], asked?: any[], onClear: (dependent: number) => any,
 *   onArc: (dependent: number, head: number, relation: string | null) => any,
 *   onForbid?: (dependent: number, head: number, relation: string | null) => any }} options
 */
export function editArcs(svg, { words, relations, asked = [], onArc, onForbid, onClear }) {
  const arcs = [...svg.querySelectorAll(".et-arc")].sort((a, b) => a.dataset.dependent - b.dataset.dependent);
  const places = [...svg.querySelectorAll(".et-place")].sort((a, b) => a.dataset.word - b.dataset.word);
  if (!arcs.length) return { focus: () => false };
  const rightToLeft = svg.dataset.direction === "rtl";
  const word = (number) => (number ? isolated(words[number - 1]) : ROOT);
  const arcTo = (dependent) => arcs.find((arc) => Number(arc.dataset.dependent) === dependent);

  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", "Dependencies: arrows move, Enter opens a menu");
  for (const arc of arcs) {
    const { head, dependent, relation } = told(arc);
    const pinned = asked.some((one) => one.kind === "require" && one.dependent === dependent && one.head === head);
    arc.classList.toggle("pinned", pinned);
    const value = arc.dataset.value === undefined ? "" : `, probability ${arc.dataset.value}`;
    arc.setAttribute("aria-label", `${relation || "arc"} from ${word(head)} to ${word(dependent)}${value}${pinned ? ", required" : ""}`);
  }
  for (const place of places) place.setAttribute("aria-label", `word ${word(Number(place.dataset.word))}`);
  for (const each of [...arcs, ...places]) {
    each.setAttribute("role", "button");
    each.setAttribute("aria-haspopup", "menu");
  }
  rove([...arcs, ...places]);

  /* ---- menus */

  const heads = (dependent) => [["0", ROOT], ...words.map((form, k) => [String(k + 1), `${k + 1} ${form}`])]
    .filter(([number]) => Number(number) !== dependent);
  const clear = (dependent) => (asked.some((one) => one.dependent === dependent) ? [{ text: "Clear what is asked here", act: () => onClear(dependent) }] : []);

  function menuOfArc(arc, at) {
    const { head, dependent, relation } = told(arc);
    openMenu(arc, `${word(head)} → ${word(dependent)}`, [
      { text: "Require this arc", act: () => onArc(dependent, head, null) },
      ...(relation ? [{ text: `Require it as ${relation}`, act: () => onArc(dependent, head, relation) }] : []),
      ...(onForbid ? [{ text: "Forbid this arc", act: () => onForbid(dependent, head, null) }] : []),
      ...(relations.length ? [{ text: "Change the relation", options: relations.map((name) => [name, name]), chosen: relation, act: (name) => onArc(dependent, head, name) }] : []),
      { text: "Change the head", options: heads(dependent), chosen: String(head), act: (number) => onArc(dependent, Number(number), null) },
      ...clear(dependent),
    ], at);
  }

  function menuOfWord(place, at) {
    const dependent = Number(place.dataset.word);
    const now = arcTo(dependent);
    openMenu(place, word(dependent), [
      { text: "Choose its head", options: heads(dependent), chosen: now?.dataset.head, act: (number) => onArc(dependent, Number(number), null) },
      ...clear(dependent),
    ], at);
  }

  const menuOf = (each, at) => (each.matches(".et-arc") ? menuOfArc(each, at) : menuOfWord(each, at));

  /* ---- keys: left and right along the sentence, up from a word to its arc and on to its head's */

  function near(each, key) {
    const step = { ArrowLeft: rightToLeft ? 1 : -1, ArrowRight: rightToLeft ? -1 : 1 }[key];
    const row = each.matches(".et-arc") ? arcs : places;
    if (step) return row[row.indexOf(each) + step];
    if (key === "ArrowUp") return row === places ? arcTo(Number(each.dataset.word)) : arcTo(Number(each.dataset.head));
    if (key === "ArrowDown" && row === arcs) return places.find((place) => place.dataset.word === each.dataset.dependent);
    if (key === "Home") return row[0];
    return key === "End" ? row.at(-1) : undefined;
  }

  const quick = {
    r: ({ head, dependent }) => onArc(dependent, head, null),
    f: ({ head, dependent }) => onForbid?.(dependent, head, null),
    c: ({ dependent }) => onClear(dependent),
    Delete: ({ dependent }) => onClear(dependent),
  };

  svg.addEventListener("keydown", (event) => {
    const each = event.target.closest(".et-arc, .et-place");
    if (!each || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = near(each, event.key);
    if (next) next.focus();
    else if (event.key === "Enter" || event.key === " ") menuOf(each);
    else if (quick[event.key] && each.matches(".et-arc")) quick[event.key](told(each));
    else if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
  });

  /* ---- mouse and touch: a word is dragged onto its head */

  let dragged = null;
  let target = null;
  const aim = (place) => {
    target?.classList.remove("chosen");
    target = place && place !== dragged && svg.contains(place) ? place : null;
    target?.classList.add("chosen");
  };
  const drop = () => {
    dragged?.classList.remove("chosen");
    aim(null);
    dragged = null;
  };
  let done = false; // a drag has ended: the click that may follow means nothing
  svg.addEventListener("pointerdown", (event) => { done = false; dragged = event.button === 0 ? event.target.closest(".et-place") : null; });
  svg.addEventListener("pointermove", (event) => {
    if (!dragged || event.buttons === 0) return;
    aim(under(event, ".et-place"));
    dragged.classList.toggle("chosen", Boolean(target));
  });
  keepTouch(svg, () => dragged !== null);
  svg.addEventListener("pointercancel", drop);
  svg.addEventListener("pointerup", () => {
    const [from, onto] = [dragged, target];
    drop();
    done = Boolean(from && onto);
    if (done) onArc(Number(from.dataset.word), Number(onto.dataset.word), null);
  });
  svg.addEventListener("click", (event) => {
    const each = event.target.closest(".et-arc, .et-place");
    if (each && !done) menuOf(each, { x: event.clientX, y: event.clientY + 8 });
  });

  return {
    /** Put the focus on the arc to this word. */
    focus({ dependent }) {
      (arcTo(dependent) ?? arcs[0]).focus({ preventScroll: true });
      return true;
    },
  };
}
