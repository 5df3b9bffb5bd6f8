// Who annotates, and which text: the fields of the form that belong to annotating.
import { Annotator } from "/static/annotator.js";
import { ask } from "/static/api.js";
import { count, isolated } from "/static/elements.js";
import { rememberedName, rememberName } from "/static/memory.js";
import { listen, tell } from "/static/tabs.js";

const byId = (id) => document.getElementById(id);

/** The name, the list of stored texts, and the text that is open. */
export class AnnotateForm {
  constructor(results, say, complain) {
    this.annotator = new Annotator(results, say, complain);
    this.listed = 0;
    byId("annotator").value ||= rememberedName();
    listen((news) => { if (news.texts && this.listed) this.list().catch(() => { /* asked again with the next text */ }); });
  }

  name() { return byId("annotator").value.trim(); }

  stored() { return byId("document").value !== ""; }

  leave() { this.annotator.leave(); }

  async list(wanted) {
    const turn = ++this.listed;
    const { documents } = await ask("/api/lex/documents");
    if (turn !== this.listed) return; // a newer list is on its way
    const chosen = wanted ?? byId("document").value;
    const options = documents.filter((one) => one.usable).map((one) =>
      new Option(`${one.id}. ${isolated(one.name)} (${count(one.n_words, "word")})`, String(one.id)));
    byId("document").replaceChildren(new Option("New text …", ""), ...options);
    byId("document").value = options.some((one) => one.value === chosen) ? chosen : "";
  }

  /** Open the chosen text, or store a new one first. */
  async open(text, scheme) {
    const name = this.name();
    if (!name) {
      byId("annotator").focus();
      const why = "Who annotates? Give a name first; decisions are kept under it.";
      throw Object.assign(new Error(why), { fault: { line: null, why } });
    }
    rememberName(name);
    if (!this.stored()) {
      const made = await ask("/api/lex/documents", { text, scheme });
      tell({ texts: true });
      await this.list(String(made.id));
    }
    return this.annotator.open(Number(byId("document").value), name);
  }
}
