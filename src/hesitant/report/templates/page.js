// Everything here is a convenience: without it tables and pictures stand as they are.
document.documentElement.classList.add("scripts");

// -- tables: sort, filter, download --
const key = (row, k) => {
  const cell = row.cells[k];
  return cell.dataset.sort === undefined ? cell.textContent : Number(cell.dataset.sort);
};
const asField = (text) => {
  // a spreadsheet must not take a name for a formula
  const safe = /^[=+\-@\t\r]/.test(text) && isNaN(Number(text)) ? `'${text}` : text;
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

function addTools(table, number) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const original = [...body.rows];
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
  const tools = document.createElement("div");
  tools.className = "tools";
  const filter = document.createElement("input");
  filter.type = "search";
  filter.placeholder = "Filter rows";
  filter.setAttribute("aria-label", `Filter: ${table.caption.textContent}`);
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of original) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
  const save = document.createElement("button");
  save.type = "button";
  save.textContent = "Download CSV";
  save.addEventListener("click", () => {
    const lines = [heads.map((head) => asField(head.textContent))];
    for (const row of body.rows) {
      if (row.hidden) continue;
      lines.push([...row.cells].map((cell) => asField(cell.dataset.sort ?? (cell.title || cell.textContent))));
    }
    const link = document.createElement("a");
    const text = "\ufeff" + lines.map((line) => line.join(",") + "\r\n").join("");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = `${table.caption.textContent.toLowerCase().replace(/[^a-z]+/g, "-")}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
  });
  tools.append(filter, save);
  table.parentElement.before(tools);
}
document.querySelectorAll("table[data-tools]").forEach(addTools);

// -- pictures: say which row a point is, and find it --
const told = JSON.parse(document.getElementById("points").textContent);
const tip = document.getElementById("tip");

function findRow(number) {
  const row = document.querySelector(`tr[data-row="${number}"]:not([hidden])`);
  if (!row) return;
  row.closest("details")?.setAttribute("open", "");
  row.scrollIntoView({ block: "center" });
  document.querySelectorAll("tr.found").forEach((other) => other.classList.remove("found"));
  row.classList.add("found");
  row.tabIndex = -1;
  row.focus({ preventScroll: true });
}

function addPoints(chart) {
  const points = [];
  for (const path of chart.querySelectorAll("path[data-rows]")) {
    const places = path.getAttribute("d").split("M").slice(1).map((part) => part.split("h")[0].split(",").map(Number));
    path.dataset.rows.split(" ").forEach((row, k) => points.push({ x: places[k][0], y: places[k][1], row }));
  }
  points.sort((a, b) => a.x - b.x || a.y - b.y);
  const ring = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  ring.setAttribute("class", "ring");
  ring.setAttribute("r", "5");
  ring.setAttribute("visibility", "hidden");
  chart.append(ring);
  chart.tabIndex = 0;
  let at = -1;

  function show(k) {
    at = k;
    const point = points[k];
    ring.setAttribute("visibility", point ? "visible" : "hidden");
    tip.hidden = !point;
    if (!point) return;
    ring.setAttribute("cx", point.x);
    ring.setAttribute("cy", point.y);
    tip.textContent = told[point.row];
    const box = ring.getBoundingClientRect();
    const left = Math.min(Math.max(8, box.left + 14), document.documentElement.clientWidth - tip.offsetWidth - 8);
    const above = box.top - tip.offsetHeight - 8;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(above < 4 ? box.bottom + 8 : above) + scrollY}px`;
  }
  function nearest(event) {
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse());
    let best = -1;
    let least = 64;
    points.forEach((point, k) => {
      const away = (point.x - place.x) ** 2 + (point.y - place.y) ** 2;
      if (away < least) [best, least] = [k, away];
    });
    return best;
  }
  chart.addEventListener("pointermove", (event) => show(nearest(event)));
  chart.addEventListener("pointerleave", () => show(-1));
  chart.addEventListener("blur", () => show(-1));
  chart.addEventListener("click", (event) => {
    const k = nearest(event);
    show(k);
    if (k >= 0) findRow(points[k].row);
  });
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) show((at + step + points.length + (at < 0 && step < 0 ? 1 : 0)) % points.length);
    else if (event.key === "Home") show(0);
    else if (event.key === "End") show(points.length - 1);
    else if (event.key === "Enter" && at >= 0) findRow(points[at].row);
    else if (event.key === "Escape") show(-1);
    else return;
    event.preventDefault();
  });
}
document.querySelectorAll("svg.rows").forEach(addPoints);
