// A TypeScript client with types that openapi-typescript generated, and openapi-fetch.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./generated.js";

const api = createClient<paths>({
  baseUrl: process.env.BASE_URL,
  headers: { Authorization: `Bearer ${process.env.API_KEY}` },
});
const run = `typescript-${process.pid}-${Date.now()}`;
let keys = 0;
const once = () => ({ "Idempotency-Key": `${run}-${++keys}` });

// Paging: every risk once, newest first.
const ids = new Set<string>();
let last: components["schemas"]["Risk"] | undefined;
let pages = 0;
for (let cursor: string | undefined; ; ) {
  const { data, error } = await api.GET("/risks", { params: { query: { limit: 7, cursor } } });
  assert(data, JSON.stringify(error));
  for (const risk of data.data) {
    assert(!ids.has(risk.id), "a risk came twice");
    ids.add(risk.id);
    last = risk;
  }
  pages++;
  assert.equal(data.has_more, data.next_cursor !== null);
  if (!data.next_cursor) break;
  cursor = data.next_cursor;
}
assert(pages > 3 && last && ids.size > 20, `${ids.size} risks on ${pages} pages`);

// A create.
const created = await api.POST("/risks", {
  params: { header: once() },
  body: {
    title: "Drift",
    description: "Decisions drift with the season of the year.",
    severity: "HIGH",
    likelihood: "POSSIBLE",
    owner_name: "Model owner",
    target_date: "2027-06-30",
  },
});
const risk = created.data?.data;
assert(risk, JSON.stringify(created.error));
assert.equal(risk.source, "user_added");
assert.equal(risk.owner_name, "Model owner");

// A PATCH with null.
const changed = await api.PATCH("/risks/{id}", {
  params: { path: { id: risk.id } },
  body: { owner_name: null, target_date: null },
});
assert(changed.data, JSON.stringify(changed.error));
assert.equal(changed.data.data.owner_name, null);
assert.equal(changed.data.data.target_date, null);
assert.equal(changed.data.data.severity, "HIGH");

// A check-in, with a value that float32 does not hold.
const kpis = await api.GET("/kpis", { params: { query: { limit: 1 } } });
const kpi = kpis.data?.data[0];
assert(kpi, JSON.stringify(kpis.error));
const batch = await api.POST("/kpis/checkins", {
  params: { header: once() },
  body: { checkins: [{ key_result_code: kpi.code, value: 16777217.25, note: "From the TypeScript client" }] },
});
assert(batch.data, JSON.stringify(batch.error));
assert.equal(batch.data.data.accepted, 1);
assert.equal(batch.data.data.checkins[0].value, 16777217.25);

// An error.
const missing = await api.PATCH("/risks/{id}", {
  params: { path: { id: "01990000-0000-7000-8000-000000000000" } },
  body: { title: "Unknown" },
});
assert.equal(missing.response.status, 404);
const refusal: components["schemas"]["Error"] | undefined = missing.error;
assert.equal(refusal?.error.code, "not_found");
assert.equal(refusal.error.request_id, missing.response.headers.get("X-Request-Id"));

console.log(`${ids.size} risks on ${pages} pages, a create, a PATCH with null, a check-in and an error`);
