// Lists: keys move between records, and rows are selected together. Every list works
// without it. page.js applies filters on change.
"use strict";
{
  // Selected rows, with one check box for all rows of the page.
  const boxes = [...document.querySelectorAll("td.chooser input")], every = document.querySelector("[data-select-all]");
  const count = document.querySelector(".bulk-count");
  const counted = () => {
    const n = boxes.filter((box) => box.checked).length;
    count.textContent = n ? `Change ${n} selected` : "Change selected";
    every.checked = n === boxes.length;
    every.indeterminate = n > 0 && n < boxes.length;
  };
  if (every && count) {
    every.hidden = false;
    every.addEventListener("change", () => { for (const box of boxes) box.checked = every.checked; });
    document.addEventListener("change", counted);
    window.addEventListener("pageshow", counted); // the browser restores check boxes
  }

  // Keys, unless the user turns them off or types a text.
  const help = document.querySelector("dialog.keys"), on = help.querySelector("[data-keys-on]");
  const rows = [...document.querySelectorAll("main > .scroll tbody tr")];
  try { on.checked = localStorage.getItem("keys") !== "off"; } catch { /* on */ }
  on.addEventListener("change", () => { try { localStorage.setItem("keys", on.checked ? "on" : "off"); } catch { /* for this page */ } });
  const open = document.querySelector("[data-keys]");
  open.hidden = false;
  open.addEventListener("click", () => help.showModal());
  const go = (from, step) => rows[Math.min(Math.max(rows.indexOf(from) + step, 0), rows.length - 1)]?.querySelector("th a")?.focus();
  const keys = {
    "/": () => document.querySelector(".filters [type=search]")?.focus(),
    "j": (row) => go(row, 1),
    "k": (row) => go(row, row ? -1 : 1),
    "x": (row) => row?.querySelector(".chooser input")?.click(),
    "?": () => help.showModal(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !on.checked || help.open || !keys[event.key]) return;
    if (event.target.closest("input:not([type=checkbox]), select, textarea, dialog")) return;
    event.preventDefault();
    keys[event.key](event.target.closest("main > .scroll tbody tr"));
  });
}
