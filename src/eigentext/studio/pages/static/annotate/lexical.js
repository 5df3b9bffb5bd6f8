// Readings of words: candidates ranked in context, one of one's own, or none.
import { element } from "/static/elements.js";
import { field } from "/static/annotate/forms.js";
import { wordsEditor } from "/static/annotate/words.js";

const text = (value) => value.vocalised || value.lemma || Object.values(value.label ?? {}).filter((one) => one && one !== "-").join(" ") || "?";

function candidate(one) {
  const { vocalised, lemma, gloss, morphology } = one.shown;
  return [element("b", { dir: "auto" }, vocalised || lemma || text(one.value)), element("span", { dir: "auto" }, gloss ?? ""),
    element("span", { class: "note", dir: "auto" }, morphology || Object.values(one.value.label ?? {}).join(" "))];
}

/** A reading that the model does not list. */
function own(_editor, item, decide) {
  const given = item.value ?? {};
  const elements = Object.keys(given.label ?? item.candidates[0]?.value.label ?? {});
  const fields = new Map();
  const input = (name, value) => {
    const made = element("input", { dir: "auto", maxlength: "200" });
    made.value = value ?? "";
    fields.set(name, made);
    return field(name, made);
  };
  const form = element("form", { class: "own" }, ...["lemma", "vocalised", "gloss"].map((name) => input(name, given[name])),
    ...elements.map((name) => input(`label ${name}`, given.label?.[name])), element("button", { class: "quiet" }, "Save this reading"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const value = { label: {} };
    for (const [name, made] of fields) {
      if (name.startsWith("label ")) value.label[name.slice(6)] = made.value.trim();
      else if (made.value.trim()) value[name] = made.value.trim();
    }
    decide(value);
  });
  return element("details", {}, element("summary", {}, "A reading of my own"), form);
}

export default wordsEditor({ prefix: "w", shown: text, candidate, own, none: { none: true } });
