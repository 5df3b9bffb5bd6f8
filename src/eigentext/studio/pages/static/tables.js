// Tables of words and numbers, and ways to take them away; words are of any direction.
import { element } from "/static/elements.js";
import { copyButton, downloadButton, svgToPng } from "/static/shell.js";

/** A word inside a line, which it must not turn. */
export const word = (text) => element("bdi", { class: "word" }, text);

/** Rows as tab separated values; what would break a row is a space. */
export const tsv = (rows) => rows.map((row) => row
  .map((cell) => String(cell ?? "").replace(/[\t\n\r]+/g, " ")).join("\t")).join("\n") + "\n";

/** A table with a head; cells are texts, numbers or elements.  It scrolls by itself. */
export function table(label, head, rows) {
  const cells = (row) => row.map((cell) => (typeof cell === "number"
    ? element("td", { class: "number" }, String(cell))
    : element("td", {}, typeof cell === "string" ? word(cell) : cell ?? "")));
  const body = rows.map((row) => element("tr", {}, ...cells(row)));
  const frame = element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label });
  frame.append(element("table", { class: "figures" },
    element("thead", {}, element("tr", {}, ...head.map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, ...body)));
  return frame;
}

/** Copy and save buttons for rows and for the whole answer. */
export function takeaway(name, rows, answer) {
  return [
    copyButton(`${name} as TSV`, () => tsv(rows()), "Copy"),
    downloadButton("TSV", `${name}.tsv`, "text/tab-separated-values", () => tsv(rows())),
    downloadButton("JSON", `${name}.json`, "application/json", () => JSON.stringify(answer, null, 1)),
  ];
}

/** Save buttons for a drawing; `get` gives its SVG. */
export function pictures(name, get) {
  return [
    downloadButton("SVG", `${name}.svg`, "image/svg+xml", get),
    downloadButton("PNG", `${name}.png`, "image/png", async () => svgToPng(await get())),
  ];
}

/** A share of 1 as a bar beside its number. */
export function bar(share, text) {
  const fill = element("i");
  fill.style.width = `${Math.round(100 * Math.max(0, Math.min(1, share)))}%`;
  return element("span", { class: "share" }, element("span", { class: "gauge", "aria-hidden": "true" }, fill), text);
}

/** A number with so many digits, in the page's one way. */
export const fixed = (value, digits = 2) => value.toLocaleString("en", {
  minimumFractionDigits: digits, maximumFractionDigits: digits,
});
