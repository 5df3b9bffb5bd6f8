// What is asked of the trees of a text: a list of demands, in the address, in words, in a request.
// A demand is `{ sentence, kind, a, b, name }`: a span from a to b (words from 0, b excluded) that is
// to "require" or "forbid", the "tag" of word a, or an arc from head a to dependent b (words from 1)
// that is to "require-arc" or "forbid-arc"; name is the label, the tag, the relation, or null.
import { isolated } from "/static/elements.js";

const KINDS = ["require", "forbid", "tag", "require-arc", "forbid-arc"];

export const ofSentence = (asked, sentence) => asked.filter((one) => one.sentence === sentence);
export const removed = (asked, gone) => asked.filter((one) => one !== gone);

/** The list with one more; what it replaces goes. */
export function addAsked(asked, added) {
  const at = (one) => one.sentence === added.sentence && one.a === added.a && one.b === added.b;
  const replaced = {
    require: (one) => at(one) && ["require", "forbid"].includes(one.kind),
    forbid: (one) => at(one) && ((["require", "tag"].includes(one.kind) && (added.name === null || one.name === null || one.name === added.name))
      || (one.kind === "forbid" && (added.name === null || one.name === added.name))),
    tag: (one) => at(one) && (one.kind === "tag" || (one.kind === "forbid" && one.name === added.name)),
    "require-arc": (one) => one.sentence === added.sentence && one.b === added.b
      && (one.kind === "require-arc" || (one.kind === "forbid-arc" && one.a === added.a && (one.name === null || added.name === null || one.name === added.name))),
    "forbid-arc": (one) => at(one) && one.kind.endsWith("-arc"),
  }[added.kind];
  return [...asked.filter((one) => !replaced(one)), added];
}

/** As the body of a request has them. */
export function requestOf(asked) {
  const sentences = [...new Set(asked.map((one) => one.sentence))];
  return sentences.map((sentence) => {
    const of = (kind, make) => ofSentence(asked, sentence).filter((one) => one.kind === kind).map(make);
    const span = (one) => ({ start: one.a, end: one.b, label: one.name });
    const arc = (one) => ({ head: one.a, dependent: one.b, relation: one.name });
    return {
      sentence,
      required: of("require", span), forbidden: of("forbid", span),
      tags: of("tag", (one) => ({ word: one.a, tag: one.name })),
      required_arcs: of("require-arc", arc), forbidden_arcs: of("forbid-arc", arc),
    };
  });
}

export const inAddress = (asked) => (asked.length
  ? JSON.stringify(asked.map((one) => [one.sentence, KINDS.indexOf(one.kind), one.a, one.b, ...(one.name === null ? [] : [one.name])])) : "");

/** What an address says; whatever makes no sense is left out. */
export function fromAddress(written) {
  let rows = [];
  try {
    rows = JSON.parse(written ?? "[]");
  } catch { /* somebody has cut the address short */ }
  const whole = (value) => Number.isInteger(value) && value >= 0 && value < 100_000;
  return (Array.isArray(rows) ? rows : []).filter((row) => Array.isArray(row) && row.slice(0, 4).length === 4
    && row.slice(0, 4).every(whole) && KINDS[row[1]] && ["string", "undefined"].includes(typeof row[4])
    && (KINDS[row[1]] !== "tag" || row[4]))
    .map(([sentence, kind, a, b, name]) => ({ sentence, kind: KINDS[kind], a, b, name: name || null }));
}

/** One demand as people say it. */
export function inWords(one, words) {
  const span = () => isolated(words.slice(one.a, one.b).join(" "));
  const word = (number) => (number ? isolated(words[number - 1] ?? "?") : "root");
  const what = one.name ?? "a constituent";
  return {
    require: () => `${what} over ${span()} required`,
    forbid: () => `${what} over ${span()} forbidden`,
    tag: () => `${span()} tagged ${one.name}`,
    "require-arc": () => `${word(one.a)} → ${word(one.b)}${one.name ? ` as ${one.name}` : ""} required`,
    "forbid-arc": () => `${word(one.a)} → ${word(one.b)}${one.name ? ` as ${one.name}` : ""} forbidden`,
  }[one.kind]();
}
