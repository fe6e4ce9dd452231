"use strict";

// Tables: the names of columns become buttons that sort. The first press puts the
// largest number (or the first name) on top, the second reverses the order, the third
// restores the order of the page.

function sortKey(row, column) {
  const cell = row.cells[column];
  if (isText(cell)) return cell.textContent.toLowerCase() || null;
  return "value" in cell.dataset ? Number(cell.dataset.value) : null;
}

function isText(cell) {
  return cell.cellIndex === 0 || cell.classList.contains("text");
}

function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

function sortRows(rows, column, order) {
  if (order === null) return rows;
  const sign = order === "ascending" ? 1 : -1;
  const known = rows.filter((row) => sortKey(row, column) !== null);
  const unknown = rows.filter((row) => sortKey(row, column) === null);
  known.sort((a, b) => sign * compare(sortKey(a, column), sortKey(b, column)));
  return [...known, ...unknown];
}

function makeSortable(table) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    const hasKeys = rows.some((row) => sortKey(row, column) !== null);
    if (rows.length < 2 || !hasKeys) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    const orders = ["descending", "ascending"];
    const [first, second] = isText(header) ? orders.reverse() : orders;
    button.addEventListener("click", () => {
      const before = header.getAttribute("aria-sort");
      const order = before === null ? first : before === first ? second : null;
      for (const other of headers) other.removeAttribute("aria-sort");
      if (order !== null) header.setAttribute("aria-sort", order);
      body.append(...sortRows(rows, column, order));
    });
  });
}

// Print what is folded away, too.

let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const details of folded) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of folded) details.open = false;
});

document.querySelectorAll("table.sortable").forEach(makeSortable);
for (const hint of document.querySelectorAll(".live")) hint.hidden = false;
