// Tags of words: part of speech, features, lemma.
import { element } from "/static/elements.js";
import { field } from "/static/annotate/forms.js";
import { wordsEditor } from "/static/annotate/words.js";

const COLUMNS = ["upos", "xpos", "feats", "lemma"];
const text = (value) => [value.upos ?? value.xpos ?? "", value.lemma ?? ""].filter(Boolean).join(" ");

function candidate({ value }) {
  return [element("b", {}, value.upos ?? value.xpos ?? ""), element("span", { dir: "auto" }, value.lemma ?? ""),
    element("span", { class: "note" }, [value.upos ? value.xpos : "", value.feats].filter(Boolean).join(" "))];
}

function own(_editor, item, decide) {
  const fields = COLUMNS.map((name) => {
    const made = element("input", { dir: "auto", maxlength: "200" });
    made.value = item.value?.[name] ?? "";
    return [name, made];
  });
  const form = element("form", { class: "own" }, ...fields.map(([name, made]) => field(name.toUpperCase(), made)), element("button", { class: "quiet" }, "Save these tags"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    decide(Object.fromEntries(fields.map(([name, made]) => [name, made.value.trim()]).filter(([, value]) => value)));
  });
  return element("details", {}, element("summary", {}, "Tags of my own"), form);
}

export default wordsEditor({ prefix: "t", shown: text, candidate, own, none: null });
