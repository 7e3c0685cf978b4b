// Lists: filters apply on change, keys move between records, and rows are selected
// together. Every list works without it.
"use strict";
{
  const kept = { get: (name) => { try { return sessionStorage.getItem(name); } catch { return null; } }, set: (name, value) => { try { sessionStorage.setItem(name, value); } catch { /* not kept */ } } };

  // A filter applies when it changes. The field that has the focus then keeps it.
  for (const form of document.querySelectorAll("form[data-live]")) {
    form.addEventListener("change", ({ target }) => {
      if (target.type === "date" && target.value && target.value < "1900") return; // a year that is being typed
      setTimeout(() => { // after the focus has moved
        kept.set("focus", form.contains(document.activeElement) ? document.activeElement.id : "");
        form.requestSubmit();
      });
    });
  }
  const field = document.getElementById(kept.get("focus") || "-");
  kept.set("focus", "");
  if (field) {
    field.focus();
    if (/^(text|search)$/.test(field.type)) field.setSelectionRange(field.value.length, field.value.length);
  }

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
