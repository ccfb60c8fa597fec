// Sorting is a convenience: without it the table stands in the order of its first column.
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const original = [...body.rows];
  const key = (row, k) => {
    const cell = row.cells[k];
    return cell.dataset.sort === undefined ? cell.textContent : Number(cell.dataset.sort);
  };
  heads.forEach((head, k) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = original.slice().sort((a, b) => {
        const [x, y] = [key(a, k), key(b, k)];
        return typeof x === "number" ? x - y : x.localeCompare(y, "en", { numeric: true });
      });
      body.replaceChildren(...(down ? rows.reverse() : rows));
    });
  });
}
