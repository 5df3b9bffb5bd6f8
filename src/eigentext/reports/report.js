"use strict";
// Tables sort by a click on a heading; without this script they are plain tables.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  if (body.rows.length < 3) continue;
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const order = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const key = (row) => row.cells[column].dataset.key;
      const compare = (a, b) => {
        const [x, y] = [key(a), key(b)];
        if ((x === undefined) !== (y === undefined)) return x === undefined ? 1 : -1;
        if (x !== undefined) {
          const difference = Number(x) - Number(y);
          if (!Number.isNaN(difference)) return sign * difference;
        }
        const text = (row) => row.cells[column].textContent;
        return sign * text(a).localeCompare(text(b));
      };
      body.append(...[...body.rows].sort(compare));
    });
  });
}
