// The annotator: number keys choose, the service keeps, the words after are ranked anew.
import { ask } from "/static/api.js";
import { element, isolated, quietButton } from "/static/elements.js";
import { Reader } from "/static/reader.js";
import { listen, tell } from "/static/tabs.js";

const TOP = 30;
const DIGITS = ["0123456789", "٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹"]; // as keyboards of several scripts give them

const digit = (key) => (key.length === 1 ? Math.max(...DIGITS.map((digits) => digits.indexOf(key))) : -1);
const typing = (target) => target.closest?.(
  "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]") ?? null;
const figure = (share) => (share === null ? "–" : share.toFixed(1));

let active = null; // the one session that keys go to
document.addEventListener("keydown", (event) => active?.key(event));

/** One text of one annotator on the page. */
export class Annotator {
  constructor(place, say, complain) {
    Object.assign(this, { place, say, complain, busy: false, opened: 0, newest: 0 });
    listen((news) => this.hear(news));
  }

  leave() {
    this.opened += 1;
    if (active === this) active = null;
  }

  /** Open a stored text at a word, or else at the next open one; what comes back sums it up. */
  async open(number, annotator, at) {
    const turn = ++this.opened;
    const asked = new URLSearchParams({ annotator, top: TOP });
    const answer = await ask(`/api/lex/documents/${number}?${asked}`);
    if (turn !== this.opened) return ""; // another text was opened meanwhile
    Object.assign(this, { number, annotator, revision: answer.revision, newest: answer.revision });
    const inside = at === undefined || this.place.contains(document.activeElement);
    this.choices = new Map(answer.decisions.map((one) => [`${one.sentence}.${one.word}`, one]));
    this.reader = new Reader(this.place, answer.ranked, answer.text, {
      choose: (candidate) => this.choose(candidate),
      decided: (sentence, word) => this.choices.get(`${sentence}.${word}`)?.label,
      followFocus: true,
    });
    this.bar();
    this.progress(answer.progress);
    active = this;
    const focus = inside && !document.activeElement.matches("select, textarea"); // whose keys must not be taken away
    this.reader.select(at ?? this.next(-1), { focus });
    return `${isolated(answer.name)}: ${answer.progress.decided} of ${answer.progress.words} words decided`;
  }

  bar() {
    this.figures = element("p", { class: "figures", role: "status", "aria-label": "Progress" });
    this.undoButton = quietButton("Undo", () => this.undo());
    const keys = element("p", { class: "note keys" },
      element("kbd", {}, "1"), "–", element("kbd", {}, "9"), " choose a reading, ",
      element("kbd", {}, "0"), " none of them, arrows move, ",
      element("kbd", {}, "Ctrl"), " ", element("kbd", {}, "Z"), " takes the last choice back.");
    const link = (format, text, document) => {
      const asked = new URLSearchParams({ annotator: this.annotator, format, ...(document && { document }) });
      return element("a", { href: `/api/lex/export?${asked}`, download: "" }, text);
    };
    const exports = element("p", { class: "note exports" },
      "Export this text: ", link("conllu", "CoNLL-U", this.number), " · ", link("jsonl", "training data", this.number),
      "; all my texts: ", link("conllu", "CoNLL-U"), " · ", link("jsonl", "training data"));
    const old = this.place.querySelector(".reader-text .keys");
    old.replaceWith(keys, exports);
    this.place.querySelector(".reader-text .part-head").after(
      element("div", { class: "progress-bar" }, this.figures, this.undoButton));
  }

  progress({ decided, words, a1, a2, scored }) {
    this.figures.replaceChildren(
      element("b", {}, `${decided} / ${words}`), " decided · A1 ", element("b", {}, figure(a1)),
      " · A2 ", element("b", {}, figure(a2)), element("small", {}, ` of ${scored}`));
    this.figures.title = "How often the right reading was ranked first (A1), or among the first two (A2), before the decision";
    this.undoButton.disabled = decided === 0;
  }

  /** The next word with a letter that is not decided, or else the next word. */
  next(from) {
    const { words } = this.reader;
    for (let k = from + 1; k < words.length; k += 1) {
      const { sentence, word, typed } = words[k];
      if (/\p{L}/u.test(typed) && !this.choices.has(`${sentence}.${word}`)) return k;
    }
    return Math.max(0, Math.min(from + 1, words.length - 1));
  }

  async choose(candidate) {
    const { sentence, word, typed } = this.reader.words[this.reader.current];
    const label = candidate === null ? null : candidate.label;
    const from = this.reader.current;
    const body = { annotator: this.annotator, sentence, word, label };
    const answer = await this.send("decisions", body);
    if (!answer) return;
    this.reader.select(this.next(from));
    const chosen = label === null ? "none of the readings" : isolated(candidate.vocalised || candidate.lemma);
    this.say(`Saved: ${isolated(typed)}, ${chosen}`);
  }

  async undo() {
    const answer = await this.send("undo", { annotator: this.annotator });
    if (!answer) return;
    const k = this.reader.index(answer.sentence, answer.word);
    this.reader.select(k);
    this.say(`Taken back: ${isolated(this.reader.words[k].typed)}`);
  }

  /** Ask for a change and show what it did; keys wait for nobody, so nothing else is sent meanwhile. */
  async send(what, body) {
    if (this.busy) return null;
    this.busy = true;
    this.complain(null); // of what came before
    try {
      return await this.change(what, body);
    } catch (error) {
      this.complain(error.fault ?? { line: null, why: "Not saved: the service does not answer. Is it still running?" });
      return null;
    } finally {
      this.busy = false;
      this.catchUp();
    }
  }

  /** The same; what was decided elsewhere comes first, and is not changed unseen. */
  async change(what, body, again = true) {
    const seen = this.revision;
    const held = () => this.choices.get(`${body.sentence}.${body.word}`)?.at;
    const before = held();
    try {
      const answer = await ask(`/api/lex/documents/${this.number}/${what}?top=${TOP}`, { ...body, revision: seen });
      if (answer.revision === seen + 1) {
        this.revision = answer.revision;
        this.take(answer);
      } else await this.open(this.number, this.annotator, this.reader.current);
      tell({ document: this.number, annotator: this.annotator, revision: this.revision });
      return answer;
    } catch (error) {
      if (error.status !== 409) throw error;
      await this.open(this.number, this.annotator, this.reader.current);
      if (this.revision === seen) throw error; // nothing was decided elsewhere
      if (what === "decisions" && again && held() === before) return this.change(what, body, false);
      const why = what === "undo"
        ? "Not taken back: something was decided in another window meanwhile. It is shown now."
        : "Not saved: this word was decided in another window meanwhile. It is shown now; choose again to change it.";
      throw Object.assign(new Error(why), { fault: { line: null, why } });
    }
  }

  /** Another tab has changed something. */
  hear({ document: number, annotator, revision }) {
    if (active !== this || number !== this.number || annotator !== this.annotator) return;
    this.newest = Math.max(this.newest, revision);
    this.catchUp();
  }

  async catchUp() {
    if (this.busy || active !== this || this.newest <= this.revision) return;
    try {
      const summary = await this.open(this.number, this.annotator, this.reader.current);
      if (summary) this.say(`Changed in another window. ${summary}`);
    } catch { /* the next choice finds out */ }
  }

  take(answer) {
    const key = `${answer.sentence}.${answer.word}`;
    if (answer.choice) this.choices.set(key, answer.choice);
    else this.choices.delete(key);
    for (const { sentence, word, view } of answer.changed) {
      this.reader.ranked.sentences[sentence].words[word] = view;
      this.reader.refresh(this.reader.index(sentence, word));
    }
    this.progress(answer.progress);
  }

  key(event) {
    if (event.defaultPrevented || typing(event.target) || event.altKey) return;
    if (event.ctrlKey || event.metaKey) {
      if (event.key.toLowerCase() === "z" && !event.shiftKey) { event.preventDefault(); this.undo(); }
      return;
    }
    const number = digit(event.key);
    if (number >= 0 && !event.repeat) {
      const shown = this.reader.panel.querySelectorAll(".candidate").length; // what nobody sees is not chosen
      if (number > shown || this.reader.current < 0) return;
      event.preventDefault();
      this.choose(number === 0 ? null : this.reader.view(this.reader.current).candidates[number - 1]);
    } else if (event.key.startsWith("Arrow") && !event.target.closest?.("input, .readings, button, a, [role=button]")) {
      this.reader.move(event, Math.max(0, this.reader.current));
    }
  }
}
