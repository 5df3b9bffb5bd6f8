// The map of words: frequent words in the plane, to be moved, zoomed and searched.
import { ask } from "/static/api.js";
import { count, element, fieldById, isolated, quietButton } from "/static/elements.js";
import { part } from "/static/results.js";
import { pictures, takeaway, word } from "/static/tables.js";

const SVG = "http://www.w3.org/2000/svg";
const COLOURS = ["#3b82c4", "#d9772b", "#3a9a63", "#9a6fd0"]; // as in the drawings of the library
const SHAPES = [ // around 0, 0: colour is never the only sign
  "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0Z", "M-2.7-2.7h5.4v5.4h-5.4Z", "M0-3.4L3.3 2.4H-3.3Z", "M0-3.8L3.2 0L0 3.8L-3.2 0Z",
];
const FONT = "12px system-ui, 'Noto Sans', sans-serif";
const [STEP, ZOOM, MARGIN, HEIGHT] = [60, 1.4, 40, 15];
const LISTED = 60; // words in view that are listed below the map

const svgElement = (tag, attributes, ...children) => {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

class WordMap {
  constructor(answer, told) {
    this.answer = answer;
    this.told = told; // is called with the word that was chosen, or null
    this.chosen = -1;
    /** @type {number[]} the words that are drawn */
    this.seen = [];
    this.canvas = svgElement("svg", { xmlns: SVG, "aria-hidden": "true" });
    this.plane = element("div", {
      id: "plane", tabindex: "0", role: "application", "aria-roledescription": "map",
      "aria-label": `Map of ${answer.words.length} words`, "aria-describedby": "map-keys",
    }, this.canvas);
    this.inView = element("ul", { class: "chips", id: "in-view", "aria-label": "Words in view" });
    this.pen = element("canvas").getContext("2d");
    this.pen.font = FONT;
    this.widths = answer.words.map((text) => this.pen.measureText(text.slice(0, 40)).width);
    this.listen();
  }

  size() { return [this.plane.clientWidth || 800, this.plane.clientHeight || 500]; }

  /** Show everything. */
  whole() {
    const [wide, high] = this.size();
    const [xs, ys] = [0, 1].map((axis) => this.answer.points.map((point) => point[axis]));
    const [left, right, low, top] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    this.centre = [(left + right) / 2, (low + top) / 2];
    this.scale = Math.min((wide - 2 * MARGIN) / (right - left || 1), (high - 2 * MARGIN) / (top - low || 1));
    this.least = this.scale / 2;
    this.draw();
  }

  /** Where a point is on the screen; the second axis goes up. */
  at([x, y]) {
    const [wide, high] = this.size();
    return [wide / 2 + (x - this.centre[0]) * this.scale, high / 2 - (y - this.centre[1]) * this.scale];
  }

  move(dx, dy) {
    this.centre = [this.centre[0] - dx / this.scale, this.centre[1] + dy / this.scale];
    this.draw();
  }

  /** Zoom about a place on the screen, which stays where it is. */
  zoom(factor, place = this.size().map((side) => side / 2)) {
    const [wide, high] = this.size();
    const before = this.scale;
    this.scale = Math.min(Math.max(before * factor, this.least), this.least * 2000);
    const shift = 1 / before - 1 / this.scale;
    this.centre = [this.centre[0] + (place[0] - wide / 2) * shift, this.centre[1] - (place[1] - high / 2) * shift];
    this.draw();
  }

  /** Mark a word, and bring it into the middle. */
  choose(index, { centre = true } = {}) {
    this.chosen = index;
    if (index >= 0 && centre) {
      this.centre = [...this.answer.points[index]];
      this.scale = Math.max(this.scale, this.least * 6);
    }
    this.draw();
    this.told(index < 0 ? null : this.answer.words[index]);
  }

  /** The number of the word, or of the first that begins so; -1: none. */
  find(text) {
    const small = text.toLowerCase();
    const { words } = this.answer;
    const exact = words.indexOf(text);
    if (exact >= 0) return exact;
    const same = words.findIndex((one) => one.toLowerCase() === small);
    return same >= 0 ? same : words.findIndex((one) => one.toLowerCase().startsWith(small));
  }

  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.render(); });
  }

  render() {
    const [wide, high] = this.size();
    const { words, points, groups } = this.answer;
    const order = words.map((_, k) => k);
    if (this.chosen >= 0) { order.splice(this.chosen, 1); order.unshift(this.chosen); }
    const dots = [];
    const labels = [];
    const taken = [];
    this.seen = [];
    for (const k of order) {
      const [x, y] = this.at(points[k]);
      if (x < -5 || y < -5 || x > wide + 5 || y > high + 5) continue;
      this.seen.push(k);
      const group = groups ? groups[k] % COLOURS.length : 0;
      const big = k === this.chosen;
      dots.push(svgElement("path", {
        d: SHAPES[group], fill: COLOURS[group], "data-word": k, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})${big ? " scale(2)" : ""}`,
        ...(big ? { stroke: "currentColor", "stroke-width": "0.8" } : {}),
      }));
      const text = words[k].length > 40 ? `${words[k].slice(0, 39)}…` : words[k];
      const spot = this.room(x, y, this.widths[k], taken, wide);
      if (!spot && !big) continue;
      const label = svgElement("text", {
        x: ((spot ?? [x + 6])[0] + (big && (spot?.[0] ?? x) >= x ? 4 : 0)).toFixed(1), y: (y + 4).toFixed(1), "font-size": "12", "data-word": k, fill: "currentColor", direction: "ltr",
        ...(big ? { "font-weight": "700" } : {}),
      });
      label.textContent = isolated(text);
      labels.push(label);
    }
    this.canvas.setAttribute("viewBox", `0 0 ${wide} ${high}`);
    this.canvas.replaceChildren(...dots.reverse(), ...labels.reverse());
    this.list();
  }

  /** Room for a label beside its dot, to the right or to the left; null: there is none. */
  room(x, y, width, taken, wide) {
    for (const left of [x + 6, x - 6 - width]) {
      const box = [left, y - HEIGHT / 2, left + width, y + HEIGHT / 2];
      if (left < 2 || box[2] > wide - 2) continue;
      if (taken.some((other) => other[0] < box[2] && other[2] > box[0] && other[1] < box[3] && other[3] > box[1])) continue;
      taken.push(box);
      return [left];
    }
    return null;
  }

  /** The frequent words in view as buttons: the map for those who do not see it. */
  list() {
    const shown = this.seen.filter((k) => k !== this.chosen).sort((a, b) => a - b).slice(0, LISTED);
    if (this.inView.contains(document.activeElement)) return; // nobody's place is lost
    this.inView.replaceChildren(...shown.map((k) => {
      const button = element("button", { type: "button", class: "quiet" }, word(this.answer.words[k]));
      button.addEventListener("click", () => this.choose(k));
      return element("li", {}, button);
    }));
  }

  /** The nearest word in a direction from the chosen one, or from the middle. */
  step(forward) {
    const seen = [...this.seen].sort((a, b) => a - b);
    if (!seen.length) return;
    const at = seen.indexOf(this.chosen);
    this.choose(seen.at((at + (forward ? 1 : -1) + (at < 0 && !forward ? 1 : 0)) % seen.length), { centre: false });
  }

  listen() {
    const { plane } = this;
    const keys = {
      ArrowLeft: () => this.move(STEP, 0), ArrowRight: () => this.move(-STEP, 0), ArrowUp: () => this.move(0, STEP), ArrowDown: () => this.move(0, -STEP),
      "+": () => this.zoom(ZOOM), "=": () => this.zoom(ZOOM), "-": () => this.zoom(1 / ZOOM), 0: () => this.whole(), Home: () => this.whole(),
      n: () => this.step(true), p: () => this.step(false), Escape: () => this.choose(-1),
      Enter: () => this.chosen >= 0 && this.choose(this.chosen), "/": () => fieldById("seek").focus(),
    };
    plane.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
    plane.addEventListener("wheel", (event) => { // the page scrolls until the map is clicked
      if (!event.ctrlKey && document.activeElement !== plane) return;
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, this.place(event));
    }, { passive: false });
    const held = new Map(); // fingers
    let moved = 0;
    plane.addEventListener("pointerdown", (event) => {
      held.set(event.pointerId, this.place(event));
      plane.setPointerCapture(event.pointerId);
      plane.classList.add("held");
      moved = 0;
      this.under = event.target.dataset?.word;
    });
    plane.addEventListener("pointermove", (event) => {
      const from = held.get(event.pointerId);
      if (!from) return;
      const to = this.place(event);
      moved += Math.hypot(to[0] - from[0], to[1] - from[1]);
      const [other] = [...held].filter(([id]) => id !== event.pointerId);
      if (other) {
        const apart = ([a, b], [c, d]) => Math.hypot(a - c, b - d) || 1;
        this.zoom(apart(to, other[1]) / apart(from, other[1]), other[1]);
      } else this.move(to[0] - from[0], to[1] - from[1]);
      held.set(event.pointerId, to);
    });
    for (const end of ["pointerup", "pointercancel"]) {
      plane.addEventListener(end, (event) => {
        held.delete(event.pointerId);
        if (!held.size) plane.classList.remove("held");
        if (end === "pointerup" && moved < 5 && this.under !== undefined) this.choose(Number(this.under), { centre: false });
      });
    }
    plane.addEventListener("dblclick", (event) => this.zoom(2, this.place(event)));
  }

  /** Where a pointer is in the map. @param {MouseEvent} event @returns {[number, number]} */
  place(event) {
    const box = this.plane.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** What is in view as a drawing of its own. */
  svg() {
    const [wide, high] = this.size();
    const copy = this.canvas.cloneNode(true);
    copy.removeAttribute("aria-hidden");
    for (const [name, value] of [["width", wide], ["height", high], ["role", "img"], ["font-family", "system-ui, 'Noto Sans', sans-serif"]]) copy.setAttribute(name, value);
    const title = svgElement("title", {});
    title.textContent = "Map of words";
    copy.prepend(title);
    for (const node of copy.querySelectorAll("[data-word]")) node.removeAttribute("data-word");
    return new XMLSerializer().serializeToString(copy);
  }
}

function key({ prefixes, colours }) {
  return element("ul", { class: "key", "aria-label": `First bits of the clusters of ${colours}` }, ...prefixes.map((prefix, k) => {
    const sign = svgElement("svg", { viewBox: "-4 -4 8 8", "aria-hidden": "true" },
      svgElement("path", { d: SHAPES[k % SHAPES.length], fill: COLOURS[k % COLOURS.length] }));
    return element("li", {}, sign, prefix || "all");
  }));
}

export const mapView = {
  ask({ model, n, colours }) {
    return ask("/api/words/map", { model, n_words: n, colours: colours === "none" ? "" : colours || null });
  },

  show(place, answer, _question, paths) {
    const about = element("p", { class: "note", id: "about", role: "status" });
    const tell = (text) => {
      if (text === null) { about.replaceChildren(); return; }
      about.replaceChildren(word(text), " · ", paths.link({ view: "word", word: text }, "look it up"));
    };
    const map = new WordMap(answer, tell);
    const seek = fieldById("seek");
    const look = () => {
      const text = seek.value.trim();
      const found = text ? map.find(text) : -1;
      if (found >= 0) map.choose(found);
      else {
        map.choose(-1);
        if (text) about.replaceChildren("No word on this map begins with ", word(text), `: it has the ${count(answer.words.length, "most frequent word")}.`);
      }
      paths.keep({ seek: seek.value });
    };
    seek.oninput = look;
    const buttons = [["Zoom in", () => map.zoom(ZOOM)], ["Zoom out", () => map.zoom(1 / ZOOM)], ["Whole map", () => map.whole()]]
      .map(([name, act]) => quietButton(name, act));
    const rows = () => [["word", "x", "y", "group"], ...answer.words.map((text, k) => [text, ...answer.points[k], answer.groups ? answer.prefixes[answer.groups[k]] : ""])];
    const legend = answer.groups ? [key(answer)] : [];
    const keys = element("p", { class: "keys", id: "map-keys" },
      "Drag to move, wheel or pinch to zoom (click the map first), double click to zoom in. Keys: arrows, + and −, 0 for the whole map, n and p for the next and previous word, / to find.");
    place.replaceChildren(element("article", { class: "card" },
      element("h2", {}, "Map", element("small", {}, `by ${isolated(answer.model)}`)),
      part("map", `The ${count(answer.words.length, "most frequent word")} with a letter, of ${answer.n_words.toLocaleString("en")}`,
        [...pictures("map", () => map.svg()), ...takeaway("map", rows, answer)],
        element("div", { class: "tools" }, ...buttons, ...legend), map.plane, keys, about),
      element("section", { class: "part" }, element("h3", {}, "Words in view, the most frequent first"), map.inView)));
    map.whole();
    if (seek.value.trim()) look();
    let size = map.size().join();
    const observer = new ResizeObserver(() => {
      if (!map.plane.isConnected) observer.disconnect();
      else if (map.size().join() !== size) { size = map.size().join(); map.draw(); }
    });
    observer.observe(map.plane);
    return `${count(answer.words.length, "frequent word")} on the two main directions of their vectors, drawn in at the edges`;
  },
};
