// The readings of one word, best first, as elements.
import { count, element } from "/static/elements.js";

const SHOWN = 3; // the others come with "more"

/** A share as people say it; what is not certain never reads as certain. */
export function percent(share) {
  if (share > 0.999 && share < 1) return "> 99.9 %";
  if (share > 0 && share < 0.001) return "< 0.1 %";
  return `${(100 * share).toFixed(share === 1 || share === 0 ? 0 : 1)} %`;
}

function vocalised(candidate, word, language) {
  const shown = element("span", { class: "vocalised", dir: "auto", lang: language });
  if (candidate.pieces.length === 0) shown.append(candidate.vocalised || candidate.lemma || word.form);
  for (const piece of candidate.pieces) {
    shown.append(element("span", { class: `piece-${piece.kind}` }, piece.text));
  }
  return shown;
}

// vowel signs that stand alone need something to sit on
const visible = (text) => (/^\p{M}/u.test(text) ? `\u25cc${text}` : text);

function segments(candidate, language, direction) {
  const list = element("ul", { class: "segments", dir: direction, "aria-label": "Segments" });
  for (const segment of candidate.segments) {
    list.append(element("li", { class: `piece-${segment.kind}`, title: segment.tag },
      element("b", { dir: "auto", lang: language }, visible(segment.text)),
      element("small", { dir: "ltr" }, segment.meaning)));
  }
  return list;
}

function facts(candidate, language) {
  const list = element("dl", { class: "facts" });
  const add = (name, value) => {
    if (value) list.append(element("div", {}, element("dt", {}, name),
      element("dd", { dir: "auto", lang: language }, value)));
  };
  add("Root", candidate.root);
  add("Lemma", candidate.lemma);
  return list;
}

function also(candidate, language) {
  const items = candidate.also.map((sense) => {
    const shown = [sense.vocalised, sense.lemma].filter((text, k, all) => text && all.indexOf(text) === k);
    return element("li", {}, element("bdi", { lang: language }, shown.join(" · ")), sense.gloss ? ` ${sense.gloss}` : "");
  });
  return element("details", { class: "also" },
    element("summary", {}, `${count(items.length, "more reading")} with this label`),
    element("ul", {}, ...items));
}

function item(candidate, word, ranked, chosen) {
  const { language, direction } = ranked;
  const chance = percent(candidate.probability);
  const bar = element("meter", { min: "0", max: "1", value: String(candidate.probability), "aria-hidden": "true" });
  const head = element("div", { class: "candidate-head" });
  head.append(vocalised(candidate, word, language),
    element("span", { class: "chance" }, bar, element("span", {}, chosen ? "chosen" : chance)));
  const made = element("li", { class: chosen ? "candidate chosen" : "candidate" }, head);
  if (candidate.gloss) made.append(element("p", { class: "gloss" }, candidate.gloss));
  const origin = candidate.guess ? " (a guess)" : candidate.source === "observed" ? " (seen in training)" : "";
  made.append(element("p", { class: "morphology" }, candidate.morphology + origin));
  if (candidate.segments.length > 1) made.append(segments(candidate, language, direction));
  made.append(facts(candidate, language));
  if (candidate.also.length) made.append(also(candidate, language));
  return made;
}

/** The readings of a word. */
export function readings(word, ranked) {
  const items = word.candidates.map((candidate, k) => item(candidate, word, ranked, word.decided && k === 0));
  const list = element("ol", { class: "candidates" }, ...items.slice(0, SHOWN));
  const parts = [list];
  const left = word.n_candidates - Math.min(items.length, SHOWN);
  if (left > 0) {
    const more = element("button", { type: "button", class: "quiet more" }, `${left} more`);
    more.addEventListener("click", () => {
      list.append(...items.slice(SHOWN));
      const unlisted = word.n_candidates - items.length;
      more.replaceWith(...(unlisted > 0
        ? [element("p", { class: "note" }, `${count(unlisted, "reading")} with less chance are not listed.`)] : []));
      const first = items[SHOWN];
      first.tabIndex = -1;
      first.focus();
    });
    parts.push(more);
  }
  return parts;
}
