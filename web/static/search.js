// The dialog of the search. Ctrl+K or the link "Search" opens it. Its results are those of
// the page /search, as options of a list that the arrow keys move through.
"use strict";
{
  const dialog = document.querySelector("#palette");
  const [input, list, status] = ["input", "[role=listbox]", "[role=status]"].map((part) => dialog.querySelector(part));
  const delay = 200; // ms between the last key and the search
  let options = [], active = -1, timer, request;

  const choose = (i) => {
    options[active]?.setAttribute("aria-selected", "false");
    active = options.length ? (i + options.length) % options.length : -1;
    const option = options[active];
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
  };

  const show = (results, message) => {
    list.replaceChildren(...results);
    for (const group of results) {
      const title = group.querySelector("h2");
      group.setAttribute("role", "group");
      group.removeAttribute("aria-labelledby");
      group.setAttribute("aria-label", title.textContent);
      title.removeAttribute("id"); // the page can have the same
      title.setAttribute("aria-hidden", "true");
      for (const item of group.querySelectorAll("ul, li")) item.setAttribute("role", "none");
    }
    options = [...list.querySelectorAll("a")];
    options.forEach((option, i) => {
      option.id = `palette-${i}`;
      option.tabIndex = -1;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
    });
    list.hidden = options.length === 0;
    input.setAttribute("aria-expanded", String(options.length > 0));
    status.textContent = message;
    choose(0);
  };

  const search = async () => {
    timer = undefined;
    request?.abort();
    const mine = request = new AbortController();
    const path = `/search?q=${encodeURIComponent(input.value)}`;
    try {
      const response = await fetch(path, { signal: mine.signal });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const found = page.querySelector("#found");
      if (!found && response.redirected) location.assign(path); // the session has ended
      const hint = (found ?? page).querySelector(found ? "p" : "main h1")?.textContent ?? "";
      const groups = found ? [...found.querySelectorAll("section")] : [];
      const count = groups.reduce((sum, group) => sum + group.querySelectorAll("a").length, 0);
      request = undefined;
      show(groups, hint || `${count} ${count === 1 ? "result" : "results"}`);
    } catch (error) {
      if (mine.signal.aborted) return;
      request = undefined;
      show([], "The search failed. Try again.");
    }
  };

  const open = () => {
    if (dialog.open) return;
    dialog.showModal();
    input.select();
    search();
  };

  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    open();
  });
  for (const link of document.querySelectorAll("[data-search]")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // a new tab
      event.preventDefault();
      open();
    });
  }
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, delay);
  });
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    choose(active + step);
  });
  dialog.querySelector("form").addEventListener("submit", (event) => {
    if (timer || request || !options[active]) return; // the form opens the page of the search
    event.preventDefault();
    options[active].click();
  });
  dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // beside it
  });
  dialog.addEventListener("close", () => {
    clearTimeout(timer);
    timer = undefined;
    request?.abort();
    request = undefined;
  });
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) dialog.close();
  });
}
