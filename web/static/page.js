// Small comforts; every page works without them.
"use strict";

// Menus close on Escape, and when something else is chosen.
const menus = () => document.querySelectorAll("details[data-menu][open]");
document.addEventListener("click", (event) => {
  for (const menu of menus()) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of menus()) {
    const inside = menu.contains(document.activeElement);
    menu.open = false;
    if (inside) menu.querySelector("summary").focus();
  }
});

// A refused form is shown with the summary of its errors in focus.
document.querySelector(".form-errors")?.focus();

// Copy buttons, where the browser lets a page copy.
for (const button of navigator.clipboard ? document.querySelectorAll("[data-copy]") : []) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
    const words = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = words; }, 2000);
  });
}

// Print buttons.
for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}

// A form is sent once.
for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "true";
  });
}
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// A theme counts at once: what is typed on the page stays.
for (const form of document.querySelectorAll("[data-theme-form]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    delete form.dataset.sent;
    const { value } = event.submitter;
    await fetch(form.action, { method: "POST", body: new URLSearchParams({ theme: value }), redirect: "manual" });
    if (value) document.documentElement.dataset.theme = value;
    else delete document.documentElement.dataset.theme;
    document.querySelector("meta[name=color-scheme]").content = value || "light dark";
    for (const button of form.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button === event.submitter));
  });
}

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
}
