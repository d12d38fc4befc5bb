// What a page does when it is read: tables sort, terms explain themselves. It works without.
(() => {
  "use strict";

  // Tables: a click on a head sorts by it, another one the other way round; equal rows keep
  // their order, and what has no value is last in both orders.
  const collator = new Intl.Collator("en", { numeric: true });
  const valueOf = (cell) => {
    if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
    const text = cell.textContent.trim();
    if (text === "\u2013" || text === "") return null;
    if (!cell.classList.contains("number")) return text;
    return Number(text.replaceAll(",", "").replace("\u2212", "-").replace("\u221e", "Infinity"));
  };
  const inOrder = (a, b) => (typeof a === "string" ? collator.compare(a, b) : a - b);
  const sortBy = (table, head, column) => {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => [valueOf(row.cells[column]), row]);
    const known = rows.filter(([value]) => value !== null && !Number.isNaN(value));
    const others = rows.filter((row) => !known.includes(row));
    known.sort(([a], [b]) => (down ? inOrder(b, a) : inOrder(a, b)));
    body.append(...[...known, ...others].map(([, row]) => row));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    if (table.tBodies[0].rows.length < 2) continue;
    Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      for (const term of head.querySelectorAll("abbr")) term.removeAttribute("tabindex");
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sortBy(table, head, column));
    });
  }

  // Terms: their meaning appears under the mouse, a finger or the keyboard.
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "tooltip");
  document.body.append(tip);
  for (const term of document.querySelectorAll("abbr.term")) {
    term.dataset.means = term.title;
    term.removeAttribute("title");
  }
  let shown = null;
  const hide = () => {
    if (shown) shown.removeAttribute("aria-describedby");
    shown = null;
    tip.hidden = true;
  };
  const show = (target) => {
    const term = target.closest("abbr.term") || target.querySelector("abbr.term");
    if (!term || term === shown) return;
    hide();
    shown = term;
    tip.textContent = term.dataset.means;
    tip.hidden = false;
    term.setAttribute("aria-describedby", "tip");
    const at = term.getBoundingClientRect();
    const size = tip.getBoundingClientRect();
    const right = document.documentElement.clientWidth - size.width - 8;
    tip.style.left = `${Math.max(8, Math.min(at.left, right))}px`;
    const below = at.bottom + 6;
    const fits = below + size.height < innerHeight;
    tip.style.top = `${fits ? below : Math.max(4, at.top - size.height - 6)}px`;
  };
  const near = (event) => (event.target instanceof Element ? event.target : document.body);
  document.addEventListener("mouseover", (event) => {
    if (near(event).closest("abbr.term")) show(near(event));
    else if (shown && !shown.contains(document.activeElement)) hide();
  });
  document.addEventListener("focusin", (event) => {
    hide();
    if (near(event).matches("abbr.term, th button")) show(near(event));
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("click", (event) => {
    if (near(event).closest("abbr.term")) show(near(event));
    else if (!near(event).closest("th button")) hide();
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  addEventListener("scroll", hide, { passive: true, capture: true });

  // A link to what is folded opens it.
  const unfold = () => {
    const aim = document.getElementById(location.hash.slice(1));
    for (const fold of aim ? aim.querySelectorAll(":scope > details") : []) fold.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();

  // What scrolls sideways can be reached and scrolled by the keyboard.
  for (const box of document.querySelectorAll(".scroll, .drawing, pre")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
})();
