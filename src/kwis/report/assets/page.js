
"use strict";
(() => {
  const root = document.documentElement;
  const remembered = (write) => { try { return write(window.localStorage); } catch { return null; } };

  const theme = document.getElementById("theme");
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const label = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  const kept = remembered((store) => store.getItem("kwis-theme"));
  if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  theme.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    remembered((store) => store.setItem("kwis-theme", root.dataset.theme));
    label();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  label();
  theme.hidden = false;

  // The browser's own tooltip waits for a second and never comes on a touch screen.
  const tip = document.getElementById("tip");
  const hints = new WeakMap();
  for (const title of document.querySelectorAll("svg g.k-mark > title")) {
    hints.set(title.parentNode, title.textContent);
    title.remove();
  }
  const show = (event) => {
    const mark = event.target.closest ? event.target.closest("g.k-mark") : null;
    if (!mark || !hints.get(mark)) { tip.hidden = true; return; }
    tip.textContent = hints.get(mark);
    tip.hidden = false;
    const edge = 12;
    const left = Math.min(Math.max(event.clientX - tip.offsetWidth / 2, edge), innerWidth - tip.offsetWidth - edge);
    const above = event.clientY - tip.offsetHeight - 16;
    tip.style.left = `${left}px`;
    tip.style.top = `${above < edge ? event.clientY + 20 : above}px`;
  };
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.order === undefined ? cell.textContent : Number(cell.dataset.order);
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return Number.isNaN(a) - Number.isNaN(b) || a - b;
    if (typeof a === "number" || typeof b === "number") return typeof a === "number" ? -1 : 1;
    return a.localeCompare(b, undefined, { numeric: true });
  };
  for (const table of document.querySelectorAll("table")) {
    const rows = table.tBodies[0].rows;
    if (rows.length < 2) continue;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") === "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "descending" : "ascending");
        const sorted = [...rows].sort((a, b) => (up ? -1 : 1) * compare(value(a, column), value(b, column)));
        table.tBodies[0].append(...sorted);
      });
    });
  }

  root.dataset.ready = "yes";
})();
