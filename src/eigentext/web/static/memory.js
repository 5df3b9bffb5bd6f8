// What the page remembers: the name for good, mode and texts as long as the tab is open.
const NAME = "eigentext-annotator";
const BENCH = "eigentext-bench";

// storage may be forbidden or full: then a name is typed again, and a reload starts anew
function put(storage, key, value) {
  try { window[storage].setItem(key, value); } catch { /* see above */ }
}

function get(storage, key) {
  try { return window[storage].getItem(key); } catch { return null; }
}

export const rememberName = (name) => put("localStorage", NAME, name);
export const rememberedName = () => get("localStorage", NAME) ?? "";

export const rememberBench = (bench) => put("sessionStorage", BENCH, JSON.stringify(bench));

export function rememberedBench() {
  try { return JSON.parse(get("sessionStorage", BENCH)) ?? {}; } catch { return {}; }
}
