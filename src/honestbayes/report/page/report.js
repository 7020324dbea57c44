"use strict";
// The table of predictions: sorted, searched and paged. Text from data goes in as text only.
(() => {
  const data = JSON.parse(document.getElementById("case-data").textContent);
  const table = document.getElementById("cases");
  const body = table.tBodies[0];
  const heads = Array.from(table.tHead.rows[0].cells);
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  const page = document.getElementById("page");
  const previous = document.getElementById("previous");
  const next = document.getElementById("next");
  const perPage = 25;
  const order = new Intl.Collator(undefined, { numeric: true });
  let rows = data.rows;
  let sorted = { column: -1, down: false };
  let first = 0;

  function compare(a, b) {
    const x = a[sorted.column], y = b[sorted.column];
    const result = typeof x === "number" && typeof y === "number" ? x - y : order.compare(x, y);
    return sorted.down ? -result : result;
  }

  function shown(value, column) {
    if (typeof value !== "number" || column.digits === null) return String(value);
    if (value <= column.low) return column.below;
    return value >= column.high ? column.above : value.toFixed(column.digits);
  }

  function draw() {
    const part = rows.slice(first, first + perPage).map((row) => {
      const line = document.createElement("tr");
      row.forEach((value, j) => {
        const cell = document.createElement("td");
        cell.textContent = shown(value, data.columns[j]);
        line.append(cell);
      });
      return line;
    });
    body.replaceChildren(...part);
    found.textContent = rows.length + (rows.length === 1 ? " case" : " cases");
    const pages = Math.max(1, Math.ceil(rows.length / perPage));
    page.textContent = "page " + (first / perPage + 1) + " of " + pages;
    previous.disabled = first === 0;
    next.disabled = first + perPage >= rows.length;
    heads.forEach((head, j) => {
      const state = sorted.down ? "descending" : "ascending";
      head.setAttribute("aria-sort", j === sorted.column ? state : "none");
    });
  }

  function select() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    rows = data.rows.filter((row) => {
      const text = row.map((value, j) => shown(value, data.columns[j])).join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    });
    if (sorted.column >= 0) rows = rows.slice().sort(compare);
    first = 0;
    draw();
  }

  heads.forEach((head, j) => {
    head.querySelector("button").addEventListener("click", () => {
      sorted = { column: j, down: sorted.column === j && !sorted.down };
      select();
    });
  });
  search.addEventListener("input", select);
  previous.addEventListener("click", () => { first = Math.max(0, first - perPage); draw(); });
  next.addEventListener("click", () => { first += perPage; draw(); });
  select();
})();

// The contents are folded where they would stand above the text. Sections that a first reading does
// not need are folded, and opened by a link to them; paper shows all.
(() => {
  const contents = document.getElementById("contents");
  const beside = matchMedia("(min-width: 68rem)");
  const unfold = document.getElementById("unfold");
  const parts = Array.from(document.querySelectorAll("main details"));
  const fold = () => { contents.open = beside.matches; };
  const openTarget = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const part = target && target.querySelector("details");
    if (part) { part.open = true; target.scrollIntoView(); }
  };
  const openAll = () => { parts.forEach((part) => { part.open = true; }); };
  parts.forEach((part) => { part.open = !part.classList.contains("folded"); });
  unfold.hidden = false;
  unfold.addEventListener("click", openAll);
  fold();
  openTarget();
  beside.addEventListener("change", fold);
  window.addEventListener("hashchange", openTarget);
  contents.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link) return;
    if (link.hash === location.hash) openTarget();
    if (!beside.matches) contents.open = false;
  });
  window.addEventListener("beforeprint", openAll);
})();
