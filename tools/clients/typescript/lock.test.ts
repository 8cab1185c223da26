// Uses the types that scripts/clients generates from the OpenAPI document.

import assert from "node:assert/strict";
import test from "node:test";
import createClient from "openapi-fetch";
import type { components, paths } from "./api/api.js";

test("the generated client acquires a lock", async () => {
  const client = createClient<paths>({
    baseUrl: process.env["HOLDFAST_URL"] ?? "",
    headers: { Authorization: `Bearer ${process.env["HOLDFAST_KEY"]}` },
  });
  const event = await client.POST("/api/events", { body: { name: "TypeScript", totalSeats: 3, eventDate: "2030-06-15T19:00:00Z" } });
  assert.ok(event.data, JSON.stringify(event.error));
  const user = await client.POST("/api/users", { body: { name: "Ada", email: `ts-${event.data.id}@example.com` } });
  assert.ok(user.data, JSON.stringify(user.error));
  const request: components["schemas"]["NewLock"] = { eventId: event.data.id, userId: user.data.id, seats: 2 };
  const lock = await client.POST("/api/locks", { body: request });
  assert.ok(lock.data, JSON.stringify(lock.error));
  const status: components["schemas"]["Lock"]["status"] = lock.data.status;
  assert.equal(status, "ACTIVE");
  const refused = await client.POST("/api/locks", { body: request });
  const code: components["schemas"]["Problem"]["code"] | undefined = refused.error?.code;
  assert.equal(code, "SEATS_UNAVAILABLE");
  assert.equal(refused.error?.available, 1);
  const list = await client.GET("/api/locks", { params: { query: { eventId: event.data.id } } });
  assert.equal(list.data?.items.length, 1);
});
