// A shop's page on another origin calls the API with a customer's token.

import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { after, afterEach, test } from "node:test";
import { Holdfast, browse, open } from "./harness.mjs";

// The same server has two origins: its name is listed, its address is not.
const shop = createServer((request, response) => {
  response.setHeader("Content-Type", "text/html");
  if (request.url.startsWith("/seats")) { // the strictest policy that lets the seat map work
    response.setHeader("Content-Security-Policy", `default-src 'none'; script-src ${holdfast.url}; connect-src ${holdfast.url}; require-trusted-types-for 'script'; trusted-types 'none'`);
    return response.end(`<!doctype html><title>Shop</title><script type="module" src="${holdfast.url}/assets/holdfast-seats.js"></script><holdfast-seats src="${holdfast.url}"></holdfast-seats>`);
  }
  return response.end("<!doctype html><title>Shop</title>");
});
await new Promise((resolve) => shop.listen(0, "127.0.0.1", resolve));
after(() => shop.close());
const listed = `http://localhost:${shop.address().port}`;
const unlisted = `http://127.0.0.1:${shop.address().port}`;

const secret = randomBytes(32).toString("hex");
const browser = await browse({ after, afterEach });
const holdfast = await Holdfast.start({ after }, { API_KEYS: "ops:admin:secret-key-of-ops", JWT_SECRET: secret, CORS_ORIGINS: listed });

const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

// tokenOf signs a token as the shop's back end does.
function tokenOf(user, seconds = 3600) {
  const signed = `${encode({ alg: "HS256", typ: "JWT" })}.${encode({ sub: user.id, exp: Math.floor(Date.now() / 1000) + seconds })}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

// call fetches in the page, and returns what the page can read: the status, the body and some headers, or the error.
const call = (page, method, url, token, body) => page.evaluate(async ([method, url, token, body]) => {
  const headers = { "X-Request-Id": "from-the-page" };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  try {
    const response = await fetch(url, { method, headers, body: body && JSON.stringify(body) });
    const names = ["X-Request-Id", "ETag", "Retry-After", "Location", "Idempotent-Replayed", "Date"];
    return { status: response.status, headers: Object.fromEntries(names.map((n) => [n, response.headers.get(n)])), body: await response.json() };
  } catch (error) {
    return { error: String(error) };
  }
}, [method, url, token, body]);

// follow reads a stream in the page, up to the text last. When the text first has come, it counts as followed.
const follow = (page, url, token, first, last) => page.evaluate(async ([url, token, first, last]) => {
  const stop = new AbortController();
  const response = await fetch(url, { headers: { Authorization: `Bearer ${token}`, "Last-Event-ID": "1" }, signal: stop.signal });
  let received = "";
  for (const reader = response.body.pipeThrough(new TextDecoderStream()).getReader(); !received.includes(last);) {
    const { value, done } = await reader.read();
    if (done) break;
    const had = received.includes(first);
    received += value;
    if (!had && received.includes(first)) globalThis.followed = (globalThis.followed ?? 0) + 1;
  }
  stop.abort();
  return received;
}, [url, token, first, last]);

const locksOf = async (event) => (await holdfast.ask("GET", `/api/locks?eventId=${event.id}`, undefined, "secret-key-of-ops")).items.length;

test("a page of a listed origin locks seats with a customer's token, and follows the streams", async () => {
  const plan = await holdfast.ask("POST", "/api/seating-plans", {
    name: "Studio", categories: [{ key: "c", name: "C" }], sections: [{ key: "A", name: "A", category: "c", rows: [{ key: "1", seats: 8 }] }],
  }, "secret-key-of-ops");
  const event = await holdfast.ask("POST", "/api/events", { name: "Embedded", seatingPlanId: plan.id, eventDate: "2027-06-15T19:00:00Z" }, "secret-key-of-ops");
  const user = await holdfast.user("secret-key-of-ops");
  const token = tokenOf(user);
  const page = await open(browser, listed);
  const seats = follow(page, `${holdfast.url}/api/events/${event.id}/seats/stream?section=A`, token, "bitmap", '"A-1-2"');
  const left = follow(page, `${holdfast.url}/api/events/${event.id}/stream`, token, '"availableSeats":8', '"availableSeats":6');
  await page.waitForFunction(() => globalThis.followed === 2);

  const map = await call(page, "GET", `${holdfast.url}/api/events/${event.id}/seats`, token);
  assert.equal(map.status, 200, JSON.stringify(map));
  assert.ok(map.headers.ETag);
  assert.equal(map.headers["X-Request-Id"], "from-the-page");
  const request = { eventId: event.id, userId: user.id, seatIds: ["A-1-1"], idempotencyKey: "cart" };
  const lock = await call(page, "POST", `${holdfast.url}/api/locks`, token, request);
  assert.equal(lock.status, 201, JSON.stringify(lock));
  assert.ok(lock.headers.Date && lock.headers.Location);
  const again = await call(page, "POST", `${holdfast.url}/api/locks`, token, request);
  assert.deepEqual([again.status, again.headers["Idempotent-Replayed"], again.body.id], [201, "true", lock.body.id]);
  const changed = await call(page, "PUT", `${holdfast.url}/api/locks/${lock.body.id}/seats`, token, { seatIds: ["A-1-1", "A-1-2"] });
  assert.equal(changed.status, 200, JSON.stringify(changed));
  assert.match(await seats, /event: seats/);
  assert.match(await left, /event: availability/);
  const booking = await call(page, "POST", `${holdfast.url}/api/bookings`, token,
    { eventId: event.id, userId: user.id, lockId: lock.body.id, paymentTtlSeconds: 60 });
  assert.equal(booking.body.status, "PAYMENT_PENDING");
  const cancelled = await call(page, "POST", `${holdfast.url}/api/bookings/${booking.body.id}/cancel`, token);
  assert.equal(cancelled.body.status, "CANCELLED");
  assert.equal((await call(page, "DELETE", `${holdfast.url}/api/locks/${lock.body.id}`, token)).status, 200);
  assert.deepEqual(page.errors, []);
  assert.ok(page.foreignRequests.length > 5 && !page.foreignRequests.some((url) => url.includes(token)));
});

test("a page of a listed origin can read why it is refused", async () => {
  const event = await holdfast.event("Refused", 1, "secret-key-of-ops");
  const user = await holdfast.user("secret-key-of-ops");
  const page = await open(browser, listed);
  const lock = (token, seats) => call(page, "POST", `${holdfast.url}/api/locks`, token, { eventId: event.id, userId: user.id, seats });
  for (const [token, seats, status, code] of [
    [tokenOf(user), 2, 409, "SEATS_UNAVAILABLE"], [tokenOf(user, -60), 1, 401, "UNAUTHENTICATED"], ["secret-key-of-ops", 1, 403, "FORBIDDEN"],
    [tokenOf(await holdfast.user("secret-key-of-ops")), 1, 404, "USER_NOT_FOUND"],
  ]) {
    const refused = await lock(token, seats);
    assert.deepEqual([refused.status, refused.body?.code], [status, code], JSON.stringify(refused));
  }
  const key = await call(page, "GET", `${holdfast.url}/api/events`, "secret-key-of-ops");
  assert.deepEqual([key.status, key.body?.code], [403, "FORBIDDEN"]);
  assert.equal(await locksOf(event), 0);
  assert.deepEqual(page.errors, []);
});

test("a page of a listed origin calls customers' routes alone", async () => {
  const event = await holdfast.event("Unchanged", 4, "secret-key-of-ops");
  const user = await holdfast.user("secret-key-of-ops");
  const page = await open(browser, listed);
  for (const secret of [tokenOf(user), "secret-key-of-ops"]) {
    for (const [method, path, body] of [
      ["PATCH", `/api/events/${event.id}`, { name: "Changed" }], ["POST", "/api/events", { name: "E", totalSeats: 1, eventDate: "2027-06-15T19:00:00Z" }],
      ["GET", "/api/admin/jobs"], ["POST", "/api/admin/jobs/lock-expiry/run"], ["GET", "/api/changes"], ["POST", "/api/users", { name: "A", email: "a@example.com" }],
    ]) {
      const refused = await call(page, method, holdfast.url + path, secret, body);
      assert.match(refused.error ?? JSON.stringify(refused), /^TypeError/, `${method} ${path}`);
    }
  }
  assert.equal((await holdfast.ask("GET", `/api/events/${event.id}`, undefined, "secret-key-of-ops")).name, "Unchanged");
});

test("a page of another origin reads nothing and changes nothing", async () => {
  const event = await holdfast.event("Foreign", 4, "secret-key-of-ops");
  const user = await holdfast.user("secret-key-of-ops");
  const page = await open(browser, unlisted);
  const body = { eventId: event.id, userId: user.id, seats: 1 };
  for (const token of [undefined, tokenOf(user)]) {
    for (const [method, path, sent] of [["GET", `/api/events/${event.id}`], ["GET", `/api/events/${event.id}/stream`], ["POST", "/api/locks", body]]) {
      const refused = await call(page, method, holdfast.url + path, token, sent);
      assert.match(refused.error ?? JSON.stringify(refused), /^TypeError/, `${method} ${path}`);
    }
  }
  assert.ok(page.errors.length > 0 && page.errors.every((text) => text.includes("blocked by CORS policy")), page.errors.join("\n"));
  assert.equal(await locksOf(event), 0);
});

test("on a server without keys a listed page needs no token", async (t) => {
  const own = await Holdfast.start(t, { CORS_ORIGINS: listed });
  const event = await own.event("Tried", 4);
  const user = await own.user();
  const body = { eventId: event.id, userId: user.id, seats: 1 };
  const lock = await call(await open(browser, listed), "POST", `${own.url}/api/locks`, undefined, body);
  assert.equal(lock.status, 201, JSON.stringify(lock));
  // Without asking first: a browser sends this request, and does not show the answer.
  const foreign = await open(browser, unlisted);
  await foreign.evaluate(([url, text]) => fetch(url, { method: "POST", mode: "no-cors", body: text }), [`${own.url}/api/locks`, JSON.stringify(body)]);
  const { items } = await own.ask("GET", `/api/locks?eventId=${event.id}`);
  assert.equal(items.length, 1);
});

test("a page of a listed origin embeds the seat map with a customer's token", async () => {
  const plan = await holdfast.ask("POST", "/api/seating-plans", {
    name: "Studio", categories: [{ key: "c", name: "C" }], sections: [{ key: "A", name: "A", category: "c", rows: [{ key: "1", seats: 8 }] }],
  }, "secret-key-of-ops");
  const event = await holdfast.ask("POST", "/api/events", { name: "Embedded map", seatingPlanId: plan.id, eventDate: "2027-06-15T19:00:00Z" }, "secret-key-of-ops");
  const user = await holdfast.user("secret-key-of-ops");
  const page = await open(browser, `${listed}/seats`);
  const map = page.locator("holdfast-seats");
  let tokens = 0;
  await page.exposeFunction("newToken", () => {
    tokens++;
    return tokenOf(user);
  });
  await map.evaluate((e, id) => {
    e.token = () => globalThis.newToken();
    e.setAttribute("event", id);
  }, event.id);
  await map.locator(".map").waitFor();
  await map.evaluate((e) => e.best(2));
  const [lock] = await map.evaluate((e) => e.locks);
  assert.deepEqual([lock.seats, lock.userId], [2, user.id]);
  await map.evaluate((e) => e.setAttribute("lang", "nl"));
  await map.getByRole("heading", { name: "Uw plaatsen" }).waitFor(); // a file of the other origin, too
  await map.evaluate((e) => e.removeAttribute("lang"));
  await map.getByRole("heading", { name: "Your seats" }).waitFor();
  const other = await holdfast.user("secret-key-of-ops");
  await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: other.id, seatIds: ["A-1-1"] }, "secret-key-of-ops");
  await page.waitForFunction(() => {
    const e = document.querySelector("holdfast-seats");
    e.showSeat("A-1-1");
    return /not available$/.test(e.shadowRoot.querySelector(".cursor").textContent);
  });
  assert.ok(tokens >= 4, "the token is asked for again");
  assert.deepEqual(page.errors, []);
  assert.equal(page.foreignRequests.some((url) => /[?&]token=|eyJ/.test(url)), false);
  await map.evaluate((e, token) => {
    e.token = token;
    return e.best(2).catch(() => {});
  }, tokenOf(user, -60));
  await map.getByRole("status").getByText("You are no longer signed in. Please load the page again.").waitFor();

  const stranger = await open(browser, `${unlisted}/seats`);
  await stranger.locator("holdfast-seats").evaluate((e, [id, token]) => {
    e.token = token;
    e.setAttribute("event", id);
  }, [event.id, tokenOf(user)]);
  await stranger.getByText("Connection lost.").waitFor();
});
