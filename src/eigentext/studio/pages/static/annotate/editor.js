// One document: its sentences, the one at hand with what the model proposes, and every decision
// saved at once.  What is particular to a task is in its own file; here is what all have.
import { count, element } from "/static/elements.js";
import { permalink } from "/static/shell.js";
import { get, post } from "/static/annotate/api.js";
import { button, percent } from "/static/annotate/forms.js";

const EDITORS = {
  lexical: () => import("/static/annotate/lexical.js"),
  dependency: () => import("/static/annotate/dependency.js"),
  constituency: () => import("/static/annotate/constituency.js"),
  tags: () => import("/static/annotate/tags.js"),
  entities: () => import("/static/annotate/entities.js"),
  segmentation: () => import("/static/annotate/segmentation.js"),
};
const KEYS = [
  ["arrows, Home, End", "move within the sentence"], ["Enter", "accept the sentence and go to the next"],
  ["N", "next open item, then the next open sentence"], ["Page Up, Page Down", "previous and next sentence"],
  ["Ctrl Z, Ctrl Shift Z", "undo, redo"], ["?", "show or hide the keys"],
];
const MORE = {
  dependency: [["H, arrows, Enter", "choose the head of the word"], ["0", "make it the root"], ["1 to 9", "take one of the likely heads"], ["R", "type the relation"], ["B", "show the next of the best trees"]],
  constituency: [["Shift and arrows", "select words"], ["L", "say what they are"], ["X", "they are no constituent"], ["arrow up", "select what is around"], ["K", "keep all but the last correction as it was"], ["B", "show the next of the best trees"]],
  lexical: [["1 to 9", "choose a reading"], ["0", "none of them is right"], ["/", "search in all readings"]],
  tags: [["1 to 9", "choose tags"], ["/", "search in all tags"]],
  entities: [["Shift and arrows", "select words"], ["1 to 9", "say of which type they are"], ["0", "no entity"], ["/", "type another type"]],
  segmentation: [["S", "a sentence begins here"], ["W", "a word begins here"], ["X", "no cut here"]],
};
const MOVES = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown", "Tab"]; // may be held down
const FINDINGS = 8; // shown at once
const K = 5; // whole trees to choose from

export class Editor {
  constructor(place, studio, opened, state) {
    this.place = place;
    this.studio = studio;
    this.opened = opened;
    this.project = opened.project;
    this.task = opened.project.task;
    this.number = opened.document.id;
    this.layer = state.layer ?? "mine";
    this.order = state.order === "certainty" ? "certainty" : "text";
    this.version = opened.layer.version;
    this.writable = opened.writable;
    this.values = new Map(); // sentence -> item -> value
    for (const one of opened.decisions) this.keep(one);
    const wanted = Number(state.sentence);
    const there = state.sentence !== undefined && wanted >= 0 && wanted < opened.sentences.length;
    this.sentence = there ? wanted : this.firstOpen();
    this.proposal = null;
    this.trees = []; // the proposal, and others of the best trees
    this.best = 0; // which of them is shown
    /** @type {Promise<any>} whether what was last saved was taken */
    this.saving = Promise.resolve();
    this.pending = 0; // what is being saved
    this.underway = new Map(); // sentence and item -> how many decisions about it are being saved
    this.accepting = false;
    this.ended = false;
    this.turn = 0; // of what is to be shown: only the latest counts
    this.held = false; // whether the focus was in the bench before that was emptied
    this.typed = null; // the field of the bench that was typed in last
    this.began = performance.now();
    this.keys = 0;
    this.onKey = (event) => this.key(event);
    this.onClick = () => { this.keys += 1; };
    this.certain = new Map();
    this.channel = this.toTabs();
  }

  keep(decision) {
    const own = this.values.get(decision.sentence) ?? new Map();
    if (decision.value === null) own.delete(decision.item); else own.set(decision.item, decision.value);
    this.values.set(decision.sentence, own);
  }

  isDone(sentence) { return this.values.get(sentence)?.has("done") ?? false; }

  /** Whether what is shown is of the sentence at hand: else there is nothing to decide about. */
  get ready() { return this.proposal?.sentence === this.sentence; }

  /** The place in the text, for views that remember where somebody was. */
  get where() { return `${this.number} ${this.layer} ${this.sentence}`; }

  firstOpen() {
    const k = this.opened.sentences.findIndex((_, number) => !this.isDone(number));
    return Math.max(0, k);
  }

  async start() {
    this.build();
    document.addEventListener("keydown", this.onKey);
    this.place.addEventListener("click", this.onClick);
    this.channel.onmessage = ({ data }) => this.hear(data);
    try {
      this.view = (await EDITORS[this.task]()).default;
      await this.show(this.sentence, { replace: true });
      if (!this.ended) this.fillCertainty();
    } catch (problem) { if (!this.ended) this.studio.fail(problem); }
  }

  end() {
    this.ended = true;
    document.removeEventListener("keydown", this.onKey);
    this.place.removeEventListener("click", this.onClick);
    this.channel.close();
  }

  /** A channel to other tabs with this layer. */
  toTabs() { return new BroadcastChannel(`eigentext-document-${this.number}-${this.layer}`); }

  tell(version) {
    const channel = this.ended ? this.toTabs() : this.channel; // what was under way is told after the end, too
    channel.postMessage(version);
    if (this.ended) channel.close();
  }

  /* ---- the frame */

  build() {
    const { opened } = this;
    this.list = element("ol", { class: "sentences", "aria-label": "Sentences" });
    const order = element("select", { id: "order" }, new Option("in the order of the text", "text"), new Option("least certain first", "certainty"));
    order.value = this.order;
    order.addEventListener("change", () => { this.order = order.value; this.fillList(); this.write(true); });
    this.bar = element("progress", { max: Math.max(1, opened.sentences.length), value: 0, "aria-label": "Sentences done" });
    this.told = element("p", { class: "note", id: "progress" });
    const side = element("aside", { class: "side", "aria-label": "Sentences" },
      element("label", { for: "order", class: "field" }, "Sentences "), order, this.told, this.bar, this.list);
    this.bench = element("section", { class: "card bench", "aria-label": "Sentence" });
    this.bench.addEventListener("input", (event) => { this.typed = event.target; });
    this.undoButton = button("Undo", () => this.step("undo"));
    this.redoButton = button("Redo", () => this.step("redo"));
    this.acceptButton = button("Accept and go on", () => this.accept(), "primary");
    this.reopenButton = button("Open it again", () => this.reopen());
    this.nextButton = button("Next open", () => this.nextOpen());
    this.finishButton = button("", () => this.finish());
    this.saved = element("p", { class: "note", id: "saved", role: "status" });
    const bar = element("div", { class: "bar editor-bar" }, this.acceptButton, this.reopenButton, this.nextButton, this.undoButton, this.redoButton, this.finishButton, this.saved);
    this.conflict = element("div", { class: "error", role: "alert", id: "conflict" });
    this.conflict.hidden = true;
    this.findings = element("ul", { class: "findings", "aria-label": "Checks" });
    this.others = element("div", {});
    this.help = element("details", { class: "card", id: "keys" }, element("summary", {}, "Keys"),
      element("dl", {}, ...[...MORE[this.task], ...KEYS].flatMap(([key, does]) => [element("dt", {}, element("kbd", {}, key)), element("dd", {}, does)])));
    this.past = element("details", { class: "card", id: "history" }, element("summary", {}, "History of this sentence"));
    this.past.addEventListener("toggle", () => { if (this.past.open) this.fillHistory(); });
    const guidelines = element("details", { class: "card" }, element("summary", {}, "Guidelines"),
      element("div", { class: "guidelines", dir: "auto" }, this.project.guidelines || "There are none."));
    const main = element("div", { class: "editor-main" }, this.conflict, this.bench, bar, this.others, this.findings, guidelines, this.past, this.help);
    this.place.replaceChildren(element("div", { class: "editor" }, side, main));
    if (!this.writable) this.place.prepend(element("p", { class: "card note" }, opened.layer.closed ? "This layer is closed: the adjudication has been seen." : "You can look at this layer, but not change it."));
    this.fillList();
    this.progress(opened.layer, opened.can_undo, opened.can_redo);
  }

  fillList() {
    const numbers = this.opened.sentences.map((_, k) => k);
    if (this.order === "certainty") {
      const rank = (k) => (this.isDone(k) ? 2 : this.certain.get(k)?.certainty ?? 1);
      numbers.sort((a, b) => rank(a) - rank(b) || a - b);
    }
    this.inOrder = numbers;
    this.list.replaceChildren(...numbers.map((k) => {
      const words = this.opened.sentences[k].tokens.slice(0, 14).map((token) => token.text).join(" ");
      const sure = this.certain.get(k);
      const mark = this.isDone(k) ? "done" : sure && sure.n_open !== undefined && this.studio.health ? percent(sure.certainty) : "";
      const made = element("button", { type: "button", class: "sentence", dir: "auto", "data-sentence": k },
        element("span", { class: "number" }, String(k + 1)), element("span", { class: "words" }, words), element("small", {}, mark));
      if (k === this.sentence) made.setAttribute("aria-current", "true");
      made.classList.toggle("is-done", this.isDone(k));
      made.addEventListener("click", () => this.show(k));
      return element("li", {}, made);
    }));
  }

  async fillCertainty() {
    try {
      const { sentences } = await get(`/api/documents/${this.number}/certainty`, { layer: this.layer });
      for (const one of sentences) this.certain.set(one.sentence, one);
      this.fillList();
    } catch { /* a list without figures will do */ }
  }

  progress(layer, canUndo, canRedo) {
    this.bar.value = layer.done_sentences;
    this.told.textContent = `${layer.done_sentences} of ${count(this.opened.sentences.length, "sentence")} done, ${count(layer.decided, "decision")}`;
    this.undoButton.disabled = !canUndo || !this.writable;
    this.redoButton.disabled = !canRedo || !this.writable;
    this.acceptButton.disabled = !this.writable;
    this.finishButton.textContent = layer.done ? "Not finished after all" : "Document finished";
    // closed, since its annotator has seen the adjudication: those who adjudicate open it again
    const opens = layer.closed && this.studio.may("layer.reopen");
    this.finishButton.disabled = !(opens || (this.writable && !layer.closed));
    this.finished = Boolean(layer.done);
  }

  write(replace = false) {
    permalink.write({
      document: this.number, sentence: this.sentence,
      layer: this.layer === "mine" ? "" : this.layer, order: this.order === "text" ? "" : this.order,
    }, { replace });
  }

  /* ---- a sentence */

  /** What is shown is of another sentence, or old: it is gone until the answer is there. */
  empty() {
    this.held ||= this.bench.contains(document.activeElement);
    this.proposal = null;
    this.trees = [];
    this.best = 0;
    this.bench.replaceChildren();
  }

  async show(sentence, { replace = false } = {}) {
    if (this.ended) return;
    const turn = ++this.turn;
    if (sentence !== this.sentence) this.empty();
    this.sentence = sentence;
    this.write(replace);
    this.fillList();
    this.others.replaceChildren();
    this.findings.replaceChildren();
    this.past.open = false;
    this.bench.setAttribute("aria-busy", "true");
    const path = `/api/documents/${this.number}/sentences/${sentence}`;
    try {
      const proposal = await get(path, { layer: this.layer, k: K });
      if (turn !== this.turn || this.ended) return;
      this.render(proposal);
      this.fresh();
      this.check();
      if (this.layer === "adjudication" && this.studio.may("measures.see")) this.fillOthers();
    } catch (problem) { if (turn === this.turn && !this.ended) this.studio.fail(problem); } finally { if (turn === this.turn) this.bench.setAttribute("aria-busy", "false"); }
  }

  /** The analysis that is shown, which is what gets accepted. */
  get shown() { return this.trees[this.best].analysis; }

  get shownSvg() { return this.trees[this.best].svg; }

  showTree(k) { this.best = k; this.render(this.proposal); this.view.focus(this); }

  nextTree() { if (this.trees.length > 1) this.showTree((this.best + 1) % this.trees.length); }

  render(proposal) {
    const held = this.bench.contains(document.activeElement) || (this.held && document.activeElement === document.body);
    this.held = false;
    if (proposal !== this.proposal) this.setTrees(proposal);
    this.proposal = proposal;
    const done = this.isDone(this.sentence);
    this.reopenButton.hidden = !done || !this.writable;
    this.acceptButton.textContent = done ? "Go on" : "Accept and go on";
    const notes = proposal.notes.map((text) => element("p", { class: "note", dir: "auto" }, text));
    const inside = element("div", { class: `task-${this.task}` });
    this.bench.replaceChildren(element("h2", {}, `Sentence ${this.sentence + 1}`,
      element("small", {}, proposal.source === "done" ? " accepted" : proposal.source === "none" ? " no model" : ` certainty ${percent(proposal.certainty)}`)), inside, ...notes);
    this.view.render(inside, this, proposal, this.opened.sentences[this.sentence]);
    if (held) this.view.focus(this);
  }

  setTrees(proposal) {
    const first = { analysis: proposal.analysis, svg: proposal.svg, score: proposal.kbest[0]?.score ?? null, n: 0 };
    const others = this.isDone(this.sentence) ? [] : proposal.kbest.map((one) => ({ ...one, n: this.view.differs?.(proposal.analysis, one.analysis) ?? 0 })).filter(({ n }) => n);
    this.trees = [first, ...others];
    this.best = 0;
  }

  fresh() { this.began = performance.now(); this.keys = 0; }

  async check() {
    const sentence = this.sentence;
    if (!["dependency", "tags"].includes(this.task)) return;
    try {
      const { findings } = await get(`/api/documents/${this.number}/sentences/${sentence}/checks`, { layer: this.layer });
      if (sentence !== this.sentence) return;
      const more = findings.length - FINDINGS;
      this.findings.replaceChildren(...findings.slice(0, FINDINGS).map((one) => {
        const words = one.words.map((w) => this.opened.sentences[sentence].tokens[w]?.text).filter(Boolean).join(" ");
        return element("li", { class: one.level, dir: "auto" }, element("b", {}, one.level === "error" ? "Error: " : "Hint: "),
          one.message, words ? ` (${words})` : "", element("small", {}, ` ${one.source} ${one.rule}`));
      }), ...(more > 0 ? [element("li", { class: "hint" }, `and ${count(more, "finding")} more`)] : []));
    } catch { /* checks are a help, not a need */ }
  }

  /** What the other layers say, for the one who adjudicates. */
  async fillOthers() {
    const sentence = this.sentence;
    try {
      const { layers, differing } = await get(`/api/documents/${this.number}/sentences/${sentence}/layers`);
      if (sentence !== this.sentence) return;
      const voices = layers.filter((one) => one.kind === "annotator");
      const cards = voices.map((one) => {
        const values = Object.entries(one.items);
        const list = element("ul", {}, ...values.map(([item, value]) => element("li", { class: differing.includes(item) ? "differs" : "" },
          this.view.describe(value, item, this.opened.sentences[sentence]))));
        const take = button("Take this", () => this.take(one));
        take.disabled = !this.writable;
        return element("div", { class: "card voice" }, element("h3", { dir: "auto" }, one.user, one.done ? " (accepted)" : ""), list, take);
      });
      this.others.replaceChildren(element("section", { "aria-label": "Layers" },
        element("h3", {}, differing.length ? `The layers differ in ${count(differing.length, "item")}` : "The layers agree"),
        element("div", { class: "voices" }, ...cards)));
    } catch (problem) { this.studio.fail(problem); }
  }

  /** Take all that another layer says of this sentence. */
  take(voice) {
    const changes = Object.entries(voice.values).map(([item, value]) => ({ item, value }));
    if (!changes.some(({ item }) => item === "done")) changes.push({ item: "done", value: { analysis: voice.analysis } });
    return this.decide(changes);
  }

  /* ---- decisions */

  /**
   * Save decisions about this sentence: [{item, value, rank?, note?}]; the promise tells whether they are.
   * @param {any[]} changes @param {{ then?: () => void }} after
   */
  decide(changes, { then } = {}) {
    if (!this.writable || !this.ready) return Promise.resolve(false);
    const sentence = this.sentence;
    const opens = this.isDone(sentence) && !changes.some(({ item }) => item === "done");
    const all = opens ? [...changes, { item: "done", value: null }] : changes;
    const seconds = Math.round(performance.now() - this.began) / 1000;
    const keys = this.keys;
    this.fresh();
    const full = all.map((one, k) => ({ sentence, seconds: k ? null : seconds, keys: k ? null : keys, rank: one.rank ?? null, note: one.note ?? "", item: one.item, value: one.value }));
    this.saved.textContent = "Saving …";
    const names = all.map(({ item }) => `${sentence} ${item}`);
    const count_ = (by) => { for (const name of names) this.underway.set(name, (this.underway.get(name) ?? 0) + by); };
    count_(1);
    return this.send("decisions", { changes: full }, () => (this.sentence === sentence ? then?.() : undefined)).finally(() => count_(-1));
  }

  /** Whether a decision about an item of this sentence is on its way: a key pressed again is not meant for it. */
  isSaving(item) { return (this.underway.get(`${this.sentence} ${item}`) ?? 0) > 0; }

  /** One after the other: each job finds what the one before has left, and is told whether that was done. */
  queue(job) {
    this.pending += 1;
    this.saving = this.saving.catch(() => false).then(job).finally(() => { this.pending -= 1; });
    return this.saving;
  }

  send(what, body, then) {
    return this.queue(async () => {
      const seen = this.version;
      let answer;
      try {
        answer = await post(`/api/documents/${this.number}/${what}`, { layer: this.layer, seen, k: K, ...body });
      } catch (problem) { await this.refused(problem); return false; }
      this.took(answer);
      // nothing is proposed yet, or somebody else's change came between: what is shown is old
      if (!answer.proposals.length || answer.version !== seen + 1) await this.renew();
      if (this.ended) return true;
      this.saved.textContent = `Saved, version ${answer.version}.`;
      await then?.(answer);
      return true;
    });
  }

  took(answer) {
    this.version = answer.version;
    this.tell(answer.version);
    if (this.ended) return;
    this.conflict.hidden = true;
    this.studio.clear();
    const touched = new Set(answer.proposals.map((one) => one.sentence));
    for (const sentence of touched) this.values.delete(sentence);
    for (const one of answer.changed) this.keep(one);
    this.progress(answer.progress, answer.can_undo, answer.can_redo);
    const mine = answer.proposals.find((one) => one.sentence === this.sentence);
    if (mine) { this.turn += 1; this.bench.setAttribute("aria-busy", "false"); this.render(mine); this.check(); }
    for (const one of answer.proposals) {
      const before = this.certain.get(one.sentence);
      if (before) this.certain.set(one.sentence, { ...before, certainty: one.certainty });
    }
    this.fillList();
  }

  async refused(problem) {
    this.saved.textContent = "Not saved.";
    if (problem.status !== 409 || this.ended) { this.studio.fail(problem); return; }
    const changes = problem.conflict?.changes ?? [];
    const { decisions } = await get(`/api/documents/${this.number}/history`, { layer: this.layer }).catch(() => ({ decisions: [] }));
    const by = new Map(decisions.map((one) => [one.id, one.by]));
    const shown = changes.map((one) => element("li", { dir: "auto" },
      `${one.undone ? "taken back" : "decided"} by ${by.get(one.id) ?? "somebody"}: sentence ${one.sentence + 1}, ${this.view.describe(one.value, one.item, this.opened.sentences[one.sentence])}`));
    const again = button("Show the newest", () => this.reload(), "primary");
    this.conflict.replaceChildren(element("strong", {}, "Nothing was saved. "), problem.fault.why, element("ul", {}, ...shown), again);
    this.conflict.hidden = false;
    again.focus();
  }

  /** Show what is stored now, when all is saved. */
  reload() { return this.queue(async (fine) => { await this.renew(); return fine; }); }

  /** Another tab has made this version; what is being typed here, or a conflict, is not taken away. */
  hear(version) {
    return this.queue(async (fine) => {
      if (this.ended || version <= this.version || !this.conflict.hidden) return fine;
      const field = this.typed;
      if (field === null || field !== document.activeElement) { await this.renew(); return fine; }
      this.saved.textContent = "Another tab has changed this document: you see it when you leave the field.";
      field.addEventListener("blur", () => this.hear(version), { once: true });
      return fine;
    });
  }

  async renew() {
    if (this.ended) return;
    try {
      const opened = await get(`/api/documents/${this.number}`, { layer: this.layer });
      if (this.ended) return;
      this.opened = opened;
      this.version = opened.layer.version;
      this.values.clear();
      for (const one of opened.decisions) this.keep(one);
      this.conflict.hidden = true;
      this.progress(opened.layer, opened.can_undo, opened.can_redo);
      this.empty();
      await this.show(Math.min(this.sentence, opened.sentences.length - 1), { replace: true });
    } catch (problem) { if (!this.ended) this.studio.fail(problem); }
  }

  step(which) {
    if (!this.writable) return Promise.resolve(false);
    return this.send(which, {}, async ({ proposals }) => {
      const [first] = proposals;
      if (first && !proposals.some((one) => one.sentence === this.sentence)) await this.show(first.sentence);
      this.saved.textContent = which === "undo" ? "Taken back." : "Brought back.";
    });
  }

  /** Accept the sentence as it stands, and go on; once, however often it is asked. */
  async accept() {
    if (!this.writable || !this.ready || this.accepting) return;
    const sentence = this.sentence;
    this.accepting = true;
    try {
      // what was decided just now belongs to it
      if (this.pending && (await this.saving) === false) return;
      if (!this.ready || this.sentence !== sentence) return;
      await this.acceptShown();
    } finally { this.accepting = false; }
  }

  acceptShown() {
    if (this.isDone(this.sentence)) return this.next();
    const analysis = this.shown;
    if (!Object.keys(analysis).length) { this.saved.textContent = "Decide every word first: this sentence is shown without the model's choice."; return undefined; }
    // what another of the best trees has is decided, too: it stays when the sentence is opened again
    const own = this.best ? this.view.taken(this) : [];
    return this.decide([...own, { item: "done", value: { analysis } }], { then: () => this.next() });
  }

  /** Take the acceptance of this sentence back, to go on with it. */
  reopen() { return this.decide([{ item: "done", value: null }]); }

  next() {
    const at = this.inOrder.indexOf(this.sentence);
    const later = [...this.inOrder.slice(at + 1), ...this.inOrder.slice(0, at)].find((k) => !this.isDone(k));
    if (later === undefined && !this.isDone(this.sentence)) { this.saved.textContent = "This is the last open sentence."; return Promise.resolve(); }
    if (later === undefined) { this.saved.textContent = "All sentences are done."; return this.show(this.sentence, { replace: true }); }
    return this.show(later);
  }

  nextOpen() {
    if (!this.ready) return Promise.resolve();
    if (!this.isDone(this.sentence) && this.view.focusOpen?.(this)) return Promise.resolve();
    return this.next();
  }

  async finish() {
    try {
      const layer = await post(`/api/documents/${this.number}/done`, { layer: this.layer, done: !this.finished });
      this.progress(layer, !this.undoButton.disabled, !this.redoButton.disabled);
      this.saved.textContent = layer.done ? "The document is finished." : "The document is open again.";
    } catch (problem) { this.studio.fail(problem); }
  }

  async fillHistory() {
    const sentence = this.sentence;
    try {
      const { decisions } = await get(`/api/documents/${this.number}/history`, { layer: this.layer, sentence });
      const items = decisions.map((one) => element("li", { class: one.undone ? "undone" : "", dir: "auto" },
        `${one.at.slice(0, 19).replace("T", " ")} ${one.by ?? ""}: ${this.view.describe(one.value, one.item, this.opened.sentences[sentence])}`,
        one.note ? ` (${one.note})` : "", one.undone ? `, taken back ${one.undone.slice(0, 19).replace("T", " ")}` : ""));
      this.past.replaceChildren(this.past.firstChild, items.length ? element("ol", {}, ...items) : element("p", { class: "note" }, "Nothing was decided yet."));
    } catch (problem) { this.studio.fail(problem); }
  }

  /* ---- keys */

  key(event) {
    const typing = event.target.closest("input:not([type=checkbox]), textarea, select, dialog, .menu");
    this.keys += ["Shift", "Control", "Alt", "Meta"].includes(event.key) ? 0 : 1;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !typing) {
      event.preventDefault();
      this.step(event.shiftKey ? "redo" : "undo");
      return;
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.repeat && !MOVES.includes(event.key)) { event.preventDefault(); return; } // held down, it is meant once
    if (this.ready && this.view.key?.(this, event)) { event.preventDefault(); return; }
    const act = {
      PageDown: () => this.show(this.inOrder[Math.min(this.inOrder.indexOf(this.sentence) + 1, this.inOrder.length - 1)]),
      PageUp: () => this.show(this.inOrder[Math.max(this.inOrder.indexOf(this.sentence) - 1, 0)]),
      n: () => this.nextOpen(), N: () => this.nextOpen(),
      "?": () => { this.help.open = !this.help.open; },
    }[event.key];
    const onControl = event.target.closest("button:not([role=option]), a, summary, [role=button]");
    if (event.key === "Enter" && !onControl) { event.preventDefault(); this.accept(); return; }
    if (act) { event.preventDefault(); act(); }
  }
}

/** Show the document; what comes back ends it. */
export function openEditor(place, studio, opened, state) {
  const editor = new Editor(place, studio, opened, state);
  editor.start();
  return () => editor.end();
}
