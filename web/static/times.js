// Puts instants into the reader's zone and language; their title stays in UTC.
// Dates have no zone and stay as they are.
"use strict";
{
  const shown = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
  for (const element of document.querySelectorAll("time[datetime*='T']")) {
    const at = new Date(element.dateTime);
    if (!Number.isNaN(at.valueOf())) element.textContent = shown.format(at).replace("Sept", "Sep"); // as the server writes it
  }
}
