// Selecting words that follow each other: by a drag over them, or with Shift and arrows.

/** Mark the words of the span in the row. */
export function markSpan(row, { from, to }) {
  for (const word of row.querySelectorAll("[data-word]")) {
    const k = Number(word.dataset.word);
    word.setAttribute("aria-selected", String(k >= from && k < to));
    word.tabIndex = k === from ? 0 : -1;
  }
}

/** Let the words of `row` be selected by pressing one and going on to others; `changed()` hears of it. */
export function dragOver(row, span, changed) {
  const over = (word) => Object.assign(span, { from: Math.min(span.anchor, word), to: Math.max(span.anchor, word) + 1 });
  let dragging = false;
  const stop = () => { dragging = false; };
  row.addEventListener("pointerdown", (event) => {
    const word = event.target.closest("[data-word]");
    if (!word || event.button !== 0) return;
    event.preventDefault(); // else the words would be selected as text
    const k = Number(word.dataset.word);
    if (!event.shiftKey) span.anchor = k;
    over(k);
    dragging = true;
    addEventListener("pointerup", stop, { once: true });
    changed();
  });
  row.addEventListener("pointermove", (event) => {
    if (!dragging || event.buttons === 0) return;
    const word = /** @type {HTMLElement | null | undefined} */ (
      document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-word]"));
    if (!word || !row.contains(word)) return;
    over(Number(word.dataset.word));
    changed();
  });
}

/** The span after an arrow key, with Shift a longer or shorter one; null for other keys. */
export function extended({ from, to, anchor }, event, n, turn) {
  const move = { ArrowRight: turn, ArrowLeft: -turn }[event.key];
  const within = (k) => Math.max(0, Math.min(n - 1, k));
  if (event.key === "Home" || event.key === "End") {
    const at = event.key === "Home" ? 0 : n - 1;
    return { from: at, to: at + 1, anchor: at };
  }
  if (move === undefined) return null;
  if (!event.shiftKey) {
    const at = within((move > 0 ? to - 1 : from) + move);
    return { from: at, to: at + 1, anchor: at };
  }
  const end = within((anchor === from ? to - 1 : from) + move);
  return { from: Math.min(anchor, end), to: Math.max(anchor, end) + 1, anchor };
}

/** The first of `places`, as [from, to], behind the span in the order of the text. */
export function nextSpan(places, { from, to }) {
  return places.filter(([a, b]) => a > from || (a === from && b > to)).sort((x, y) => x[0] - y[0] || x[1] - y[1])[0];
}
