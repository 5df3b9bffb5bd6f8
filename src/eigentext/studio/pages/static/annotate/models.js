// Models that learn from decisions: make the next one, see whether it is better, use it.
import { element } from "/static/elements.js";
import { get, post } from "/static/annotate/api.js";
import { button, table } from "/static/annotate/forms.js";

const sleep = (time) => new Promise((done) => { setTimeout(done, time); });

export async function modelsView(studio, project) {
  const place = element("section", { class: "card", "aria-label": "Models" });
  const told = element("p", { class: "note", role: "status", id: "retraining" });
  const bar = element("progress", { "aria-label": "Retraining" });
  bar.hidden = true;
  const list = element("div", {});
  const fill = async () => {
    const { models } = await get(`/api/projects/${project.id}/models`);
    const figure = (value) => (typeof value === "number" ? value.toFixed(1) : "");
    const rows = [...models].reverse().map((one) => [one.made.slice(0, 19).replace("T", " "), one.by ?? "",
      String(one.scores.n_examples ?? ""), String(one.scores.n_held_out ?? ""), one.scores.figure ?? "", figure(one.scores.old), figure(one.scores.new), one.scores.said ?? "",
      one.in_use ? element("b", {}, "in use") : studio.may("model.retrain")
        ? button("Use it", async () => { try { await post(`/api/projects/${project.id}/models/${one.id}/use`); await fill(); } catch (problem) { studio.fail(problem); } }) : ""]);
    list.replaceChildren(rows.length ? table(["Made", "By", "Learned from", "Held out", "Figure", "Before", "New", "Beside the model before", ""], rows, "Models of this project")
      : element("p", { class: "note" }, "No model has learned from the decisions of this project yet."));
  };
  const watch = async () => {
    bar.hidden = false;
    for (;;) {
      const now = await get(`/api/projects/${project.id}/retrain`);
      if (now.total) Object.assign(bar, { max: now.total, value: now.done });
      told.textContent = { never: "", running: `Working: ${now.doing || "learning"} …`, failed: `It failed: ${now.why}`, finished: now.report.said ?? "Finished." }[now.state];
      if (now.state !== "running") break;
      await sleep(700);
      if (!place.isConnected) return; // the person has gone elsewhere
    }
    bar.hidden = true;
    start.disabled = false;
    await fill();
  };
  const start = button("Learn from the decisions", async () => {
    studio.clear();
    start.disabled = true;
    try { await post(`/api/projects/${project.id}/retrain`); await watch(); } catch (problem) { start.disabled = false; bar.hidden = true; studio.fail(problem); }
  }, "primary");
  place.append(element("h2", {}, "Models"),
    element("p", { class: "note" }, "The next model learns from all accepted sentences. Some of them are held out to compare it with the present one; it takes over only if it is not worse."),
    ...(studio.may("model.retrain") ? [start] : []), told, bar, list);
  await fill();
  const now = await get(`/api/projects/${project.id}/retrain`);
  if (now.state === "running") { start.disabled = true; watch().catch((problem) => studio.fail(problem)); } else if (now.state === "finished") told.textContent = now.report.said ?? "";
  return place;
}
