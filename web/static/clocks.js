// Keeps running clocks current, by the server's time: the page says when it was
// made. Their words are those of FormatTimeLeft in web/ui/times.go.
"use strict";
{
  const minute = 60_000, hour = 60 * minute, day = 24 * hour;
  const words = (ms) => {
    if (ms < minute) return "less than a minute";
    if (ms < hour) return `${Math.floor(ms / minute)} min`;
    if (ms < 3 * day) return `${Math.floor(ms / hour)} h ${Math.floor(ms / minute) % 60} min`;
    return `${Math.floor(ms / day)} days`;
  };
  const clocks = document.querySelector("[data-now]");
  const ahead = clocks ? Date.parse(clocks.dataset.now) - Date.now() : 0;
  const tick = () => {
    for (const clock of document.querySelectorAll("[data-until]")) {
      const left = Date.parse(clock.dataset.until) - (Date.now() + ahead);
      clock.textContent = `${words(Math.abs(left))} ${left < 0 ? "overdue" : "left"}`;
      if (left < 0 && clock.classList.contains("badge")) clock.className = "badge tone-critical";
    }
  };
  if (clocks) {
    setInterval(tick, 15_000);
    document.addEventListener("visibilitychange", tick); // a tab in the background sleeps
  }
}
