// What the decisions of a project say: agreement, how good the proposals were, time and keys.
import { element } from "/static/elements.js";
import { downloadButton } from "/static/shell.js";
import { get } from "/static/annotate/api.js";
import { table } from "/static/annotate/forms.js";

export async function measuresView(_studio, project) {
  const { measures, table: rows } = await get(`/api/projects/${project.id}/measures`);
  const told = measures.in_words.map((text) => element("li", { dir: "auto" }, text));
  const tsv = () => ["about\tmeasure\tvalue", ...rows.map((row) => row.join("\t"))].join("\n");
  return element("section", { class: "card", "aria-label": "Measures" },
    element("div", { class: "part-head" }, element("h2", {}, "Measures"),
      downloadButton("TSV", "measures.tsv", "text/tab-separated-values", tsv),
      downloadButton("JSON", "measures.json", "application/json", () => JSON.stringify(measures, null, 1))),
    element("ul", { id: "in-words" }, ...told),
    rows.length ? table(["About", "Measure", "Value, and its interval of 95 %"], rows, "Measures")
      : element("p", { class: "note" }, "There is nothing to measure yet."));
}
