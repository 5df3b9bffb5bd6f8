// The reading helper: a text whose words tell their readings.
import { percent, readings } from "/static/analyses.js";
import { count, element } from "/static/elements.js";

const best = (word) => word.candidates[0];

/** A text with its ranked words; one of them is current, and its readings are shown. */
export class Reader {
  constructor(place, ranked, text) {
    this.ranked = ranked;
    this.words = []; // { sentence, word, typed, item }
    this.current = -1;
    this.vocalise = false;
    this.panel = element("section", { class: "readings", id: "readings", "aria-live": "polite", "aria-label": "Readings" });
    this.flow = element("div", { class: "reading", dir: ranked.direction, lang: ranked.language, role: "group", "aria-label": "Text" });
    this.fill(text);
    const box = element("input", { type: "checkbox", id: "vocalise" });
    box.addEventListener("change", () => { this.vocalise = box.checked; this.refreshAll(); });
    const toggle = element("label", { class: "toggle" }, box, " Vocalised");
    toggle.hidden = !ranked.sentences.some(({ words }) => words.some((word) => best(word)?.vocalised));
    const guesses = ranked.sentences.some(({ words }) => words.some((word) => word.guessed));
    const hint = element("p", { class: "note keys" }, "Choose a word: click, or arrow keys and Enter. ",
      ...(guesses ? [element("span", { class: "word guessed sample" }, "word"), " marks a guess."] : []));
    const head = element("div", { class: "part-head" },
      element("h2", {}, count(this.words.length, "word")), toggle);
    place.replaceChildren(element("article", { class: "card reader" },
      element("div", { class: "reader-text" }, head, this.flow, hint), this.panel));
    this.showPanel();
    this.flow.addEventListener("click", (event) => {
      const item = event.target.closest(".word");
      if (item) this.select(Number(item.dataset.k));
    });
    this.flow.addEventListener("keydown", (event) => this.key(event));
  }

  fill(text) {
    const characters = text === null ? null : Array.from(text); // offsets count code points
    let at = 0;
    for (const [s, sentence] of this.ranked.sentences.entries()) {
      for (const [w, word] of sentence.words.entries()) {
        const placed = characters !== null && word.start !== null;
        if (placed) this.flow.append(characters.slice(at, word.start).join(""));
        else if (this.words.length) this.flow.append(w === 0 ? "\n" : " ");
        const typed = placed ? characters.slice(word.start, word.end).join("") : word.form;
        const k = this.words.length;
        const item = element("span", { class: "word", role: "button", tabindex: k ? "-1" : "0", "data-k": String(k) });
        this.words.push({ sentence: s, word: w, typed, item });
        this.flow.append(item);
        this.refresh(k);
        if (placed) at = word.end;
      }
    }
    if (characters !== null) this.flow.append(characters.slice(at).join("").trimEnd());
  }

  view(k) {
    const { sentence, word } = this.words[k];
    return this.ranked.sentences[sentence].words[word];
  }

  index(sentence, word) {
    return this.words.findIndex((one) => one.sentence === sentence && one.word === word);
  }

  refresh(k) {
    const { typed, item } = this.words[k];
    const view = this.view(k);
    item.textContent = (this.vocalise && best(view)?.vocalised) || typed;
    item.classList.toggle("guessed", view.guessed);
    item.setAttribute("aria-label", typed + (view.guessed ? ", guessed" : ""));
  }

  refreshAll() { this.words.forEach((_, k) => this.refresh(k)); }

  select(k, { focus = true } = {}) {
    this.words[this.current]?.item.removeAttribute("aria-current");
    this.current = k;
    this.focus(k, focus);
    this.words[k].item.setAttribute("aria-current", "true");
    this.showPanel();
    if (focus) this.words[k].item.scrollIntoView({ block: "nearest" });
  }

  focus(k, really = true) {
    for (const { item } of this.words) if (item.tabIndex === 0) item.tabIndex = -1;
    this.words[k].item.tabIndex = 0;
    if (really) this.words[k].item.focus({ preventScroll: true });
  }

  showPanel() {
    if (this.current < 0) {
      const hint = this.words.length ? "The readings of the word you choose are shown here." : "No words.";
      this.panel.replaceChildren(element("p", { class: "note" }, hint));
      return;
    }
    const { typed } = this.words[this.current];
    const view = this.view(this.current);
    const title = element("h3", {}, element("bdi", { lang: this.ranked.language }, typed),
      element("small", {}, count(view.n_candidates, "reading")));
    const notes = [];
    if (view.guessed) notes.push("Nobody knows this word here: its readings are guesses.");
    else if (!view.decided && view.n_candidates > 1 && view.margin < 0.2) notes.push(`A close call: ${percent(view.margin)} between the first two.`);
    this.panel.replaceChildren(title, ...notes.map((text) => element("p", { class: "note" }, text)),
      ...readings(view, this.ranked));
    this.panel.scrollTop = 0;
  }

  key(event) {
    const item = event.target.closest(".word");
    if (!item || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.select(Number(item.dataset.k));
    } else this.move(event, Number(item.dataset.k));
  }

  /** Follow an arrow key from word `k`; whether it was one. */
  move(event, k) {
    const forward = this.ranked.direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    const backward = forward === "ArrowLeft" ? "ArrowRight" : "ArrowLeft";
    const last = this.words.length - 1;
    const targets = {
      [forward]: () => Math.min(k + 1, last), [backward]: () => Math.max(k - 1, 0),
      ArrowDown: () => this.otherLine(k, 1), ArrowUp: () => this.otherLine(k, -1),
      Home: () => 0, End: () => last,
    };
    if (last < 0 || !(event.key in targets)) return false;
    event.preventDefault();
    const to = targets[event.key]();
    if (this.current >= 0) this.select(to);
    else {
      this.focus(to);
      this.words[to].item.scrollIntoView({ block: "nearest" });
    }
    return true;
  }

  /** The word nearest to word `k` on the next line, or on the one before. */
  otherLine(k, way) {
    const box = (n) => this.words[n].item.getBoundingClientRect();
    const { left, width, top, height } = box(k);
    const middle = left + width / 2;
    let line = null;
    let found = k;
    let nearest = Infinity;
    for (let n = k + way; n >= 0 && n < this.words.length; n += way) {
      const there = box(n);
      if (Math.abs(there.top - top) < height / 2) continue; // still on this line
      line ??= there.top;
      if (Math.abs(there.top - line) >= height / 2) break; // a line too far
      const away = Math.abs(there.left + there.width / 2 - middle);
      if (away < nearest) [nearest, found] = [away, n];
    }
    return found;
  }
}

/** Show the answer of /api/lex/rank and return a line that sums it up. */
export function showReading(place, answer, text) {
  const reader = new Reader(place, answer, text);
  const words = answer.sentences.flatMap((sentence) => sentence.words);
  const guessed = words.filter((word) => word.guessed).length;
  return `${count(answer.sentences.length, "sentence")}, ${count(reader.words.length, "word")}`
    + (guessed ? `, ${guessed} guessed` : "");
}
