// Lost answers, restarts and cut streams, at the real API.

import assert from "node:assert/strict";
import test from "node:test";
import { Holdfast, HoldfastError, type AvailabilityMessage, type Options, type StreamOptions } from "@holdfast/client";
import { Api, secret, tokenFor } from "./api.js";
import { Proxy } from "./proxy.js";

const api = await Api.start();
const shop = api.client();
const proxy = await Proxy.start(api.url);
const client = new Holdfast(proxy.url, { key: secret });

// once gives the first request that begins with a text a fate.
function once(begin: string, fate: "cut" | "hold"): void {
  proxy.fate = (request) => {
    if (!request.startsWith(begin)) return "pass";
    proxy.fate = () => "pass";
    return fate;
  };
}

async function failure(promise: Promise<unknown>): Promise<HoldfastError> {
  const error = await promise.then(() => assert.fail("the call did not fail"), (e: unknown) => e);
  assert.ok(error instanceof HoldfastError, String(error));
  return error;
}

test("a lost answer is asked for again: there is one lock", async () => {
  const event = await api.event();
  const locks = `POST /api/events/${event.id}/locks `;
  once(locks, "cut");
  const lock = await client.acquireLock({ eventId: event.id, holder: "a", seats: 2 });
  assert.equal(lock.replayed, true);
  assert.equal(proxy.count(locks), 2);
  assert.deepEqual((await shop.listLocks({ eventId: event.id }).toArray()).map((l) => l.id), [lock.id]);
  assert.equal((await shop.getEvent(event.id)).availableSeats, 8);
});

test("an answer that does not come in time is asked for again", async () => {
  const event = await api.event();
  once(`POST /api/events/${event.id}/sales `, "hold");
  const booking = await client.sellSeats(event.id, { holder: "a", seats: 2 }, { timeout: 500 });
  assert.equal(booking.replayed, true);
  assert.equal((await shop.getEvent(event.id)).availableSeats, 8);
});

test("an unknown outcome is found out with the key of the error", async () => {
  const event = await api.event();
  once("POST", "cut");
  const request = { eventId: event.id, holder: "a", seats: 2 };
  const impatient = new Holdfast(proxy.url, { key: secret, retryTimeout: 0 });
  const error = await failure(impatient.acquireLock(request));
  assert.deepEqual([error.status, error.code, error.outcomeUnknown], [0, "", true]);
  const lock = await shop.acquireLock({ ...request, idempotencyKey: error.idempotencyKey ?? "" });
  assert.equal(lock.replayed, true);
});

test("a refusal after a lost answer does not say that nothing happened", async () => {
  const limited = await Api.start({ RATE_LIMIT_PER_USER: "1/m" });
  const lossy = await Proxy.start(limited.url);
  const event = await limited.event();
  lossy.fate = (request) => (request.startsWith("POST") && lossy.count("POST") === 1 ? "cut" : "pass");
  const hasty = new Holdfast(lossy.url, { key: secret, retryTimeout: 10_000 }); // less than the minute of Retry-After
  const error = await failure(hasty.acquireLock({ eventId: event.id, holder: "a", seats: 2 }));
  assert.deepEqual([error.status, error.code, error.outcomeUnknown], [429, "OUTCOME_UNKNOWN", true]);
  assert.ok(error.retryAfter > 10, String(error.retryAfter));
  assert.equal(lossy.count("POST"), 2); // it does not try before Retry-After
  assert.equal((await limited.client().getEvent(event.id)).availableSeats, 8);
  const refused = await failure(hasty.acquireLock({ eventId: event.id, holder: "a", seats: 1 }));
  assert.deepEqual([refused.code, refused.outcomeUnknown], ["TOO_MANY_REQUESTS", false]);
});

test("Retry-After may be a time, which is compared with the Date of the answer", async () => {
  const at = "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n";
  const waits = { [`${at}Date: Fri, 31 Dec 1999 23:59:29 GMT\r\n`]: 30, [`${at}Date: Sat, 01 Jan 2000 00:00:00 GMT\r\n`]: 0, [at]: 0 };
  const impatient = new Holdfast(proxy.url, { key: secret, retryTimeout: 0 });
  for (const [headers, seconds] of Object.entries(waits)) {
    proxy.fate = () => `HTTP/1.1 503 Service Unavailable\r\n${headers}Content-Length: 0\r\n\r\n`;
    assert.equal((await failure(impatient.getHealth())).retryAfter, seconds, headers);
  }
  proxy.fate = () => "pass";
});

test("an unsafe call is not repeated, unless it was certainly not executed", async () => {
  const event = await api.event();
  const update = `PATCH /api/events/${event.id} `;
  once(update, "cut");
  const error = await failure(client.updateEvent(event.id, { name: "Second night" }));
  assert.deepEqual([error.status, error.outcomeUnknown], [0, true]);
  assert.equal(proxy.count(update), 1);
  assert.equal((await shop.getEvent(event.id)).name, "Second night");

  await api.stop();
  const refused = await failure(new Holdfast(api.url, { key: secret, retryTimeout: 0 }).deleteEvent(event.id));
  assert.equal(refused.outcomeUnknown, false);
  assert.match(refused.message, /fetch failed: connect ECONNREFUSED/);
  const pending = shop.updateEvent(event.id, { name: "Third night" });
  await api.run();
  assert.equal((await pending).name, "Third night");
});

test("a lease is freed once, because the next process may have it", async () => {
  const lease = "DELETE /api/admin/jobs/lock-expiry/lease ";
  once(lease, "cut");
  assert.equal((await failure(client.freeLease("lock-expiry"))).outcomeUnknown, true);
  assert.equal(proxy.count(lease), 1);
  once(lease, "cut");
  assert.equal((await failure(client.request("DELETE", "/api/admin/jobs/lock-expiry/lease"))).outcomeUnknown, true);
  assert.equal(proxy.count(lease), 2);
});

test("a redirect is an error that names the address to use, and nothing is sent again", async () => {
  const before = proxy.requests.length;
  proxy.fate = () => `HTTP/1.1 302 Found\r\nLocation: ${api.url}/api/events?to=1\r\nContent-Length: 0\r\n\r\n`;
  const error = await failure(client.createEvent({ name: "Opening night", totalSeats: 10, eventDate: "2030-06-15T19:00:00Z" }));
  const streamed = await failure(client.streamEvent("0".repeat(24)).next());
  proxy.fate = () => "pass";
  assert.deepEqual([error.status, error.code, streamed.status], [302, "", 302]);
  const said = `${proxy.url}/api/events redirects to ${api.url}/api/events, and the client follows no redirects: give it the base URL of that address.`;
  assert.equal(error.detail, said);
  assert.equal(proxy.requests.length, before + 2);
});

// answer is one of a gateway, or of another server.
const answer = (status: string, type: string, body: string): `HTTP/1.1 ${string}` =>
  `HTTP/1.1 ${status}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

test("an error of a gateway is not taken for one of the API, and a write is repeated", async () => {
  const event = await api.event();
  const request = { eventId: event.id, holder: "a", seats: 1 };
  const impatient = new Holdfast(proxy.url, { key: secret, retryTimeout: 0 });
  for (const [status, type, body] of [
    ["503 Service Unavailable", "application/json", '{"title":"x","errors":{"a":["b"]}}'],
    ["503 Service Unavailable", "application/problem+json", '{"title":"x","errors":{"a":["b"]}}'],
    ["503 Service Unavailable", "application/json", '{"code":"UNAVAILABLE"}'],
    ["504 Gateway Timeout", "application/problem+json", '{"code":504}'],
    ["504 Gateway Timeout", "application/problem+json", '{"code":"GATEWAY_TIMEOUT","payment":{}}'],
    ["504 Gateway Timeout", "application/problem+json", '{"code":"constructor"}'],
    ["502 Bad Gateway", "application/problem+json", "null"],
  ] as const) {
    proxy.fate = () => answer(status, type, body);
    const error = await failure(impatient.acquireLock(request));
    assert.deepEqual([error.status, error.code, error.outcomeUnknown, error.payment], [Number(status.slice(0, 3)), "", true, undefined], body);
    assert.equal((await failure(impatient.updateEvent(event.id, { name: "x" }))).outcomeUnknown, true, body);
    const answers = [answer(status, type, body)];
    proxy.fate = () => answers.pop() ?? "pass";
    assert.match((await client.acquireLock(request)).id, /./, body);
    assert.equal(answers.length, 0);
  }
});

test("a success that is not of Holdfast is an error that says so, and is not asked for again", async () => {
  const id = "0".repeat(24);
  const html = answer("200 OK", "text/html", "<!doctype html>");
  const json = (body: string): `HTTP/1.1 ${string}` => answer("200 OK", "application/json", body);
  const newEvent = { name: "Opening night", totalSeats: 10, eventDate: "2030-06-15T19:00:00Z" };
  for (const [fate, call] of [
    ...[html, json(""), json("null"), json("[]"), json("{"), json('"text"'), answer("204 No Content", "text/html", "")].flatMap((fate) =>
      [() => client.getEvent(id), () => client.createEvent(newEvent), () => client.listEvents().toArray(), () => client.getSeats(id)]
        .map((call) => [fate, call] as const)),
    [html, () => client.deleteEvent(id)],
    [json("{"), () => client.request("GET", "/api/events")],
    [json("{}"), () => client.listEvents().toArray()],
    [json('{"items":null}'), () => client.findUser({ email: "ada@example.com" })],
    ["HTTP/1.1 304 Not Modified\r\n\r\n", () => client.getSeats(id)],
    [html, () => client.streamEvent(id).next()],
    [json("{}"), () => client.streamEvent(id).next()],
    ["HTTP/1.1 204 No Content\r\n\r\n", () => client.streamSeats(id).next()],
  ] as const) {
    const before = proxy.requests.length;
    proxy.fate = () => fate;
    const error = await failure(call());
    assert.deepEqual([error.code, error.status, proxy.requests.length - before], ["", Number(fate.slice(9, 12)), 1], `${fate} ${String(call)}`);
    if (error.status !== 304) assert.match(error.message, /the base URL may be wrong/);
    assert.equal(error.outcomeUnknown, /createEvent|deleteEvent/.test(String(call)));
  }
  proxy.fate = () => "pass";
});

test("a wrong URL, key or time limit is refused by the constructor", () => {
  for (const url of ["", "tickets.example", "/tickets", "ftp://tickets.example", "http://", "https://tickets .example", " https://tickets.example",
    "https://tickets.example/?a=1", "https://shop:hidden@tickets.example", "localhost:8080"]) {
    assert.throws(() => new Holdfast(url), (error) => error instanceof TypeError && !error.message.includes("hidden"), url);
  }
  for (const [key, token] of [["hidden\n"], ["hid\0den"], ["hidden\u20ac"], [undefined, "hidden\r\n"]]) {
    const options = { ...(key && { key }), ...(token && { token }) };
    assert.throws(() => new Holdfast(api.url, options), (error) => error instanceof TypeError && !/hid/.test(error.message));
  }
  for (const options of [{ timeout: Infinity }, { timeout: NaN }, { timeout: 0 }, { timeout: 2 ** 31 }, { retryTimeout: NaN }, { retryTimeout: -1 }]) {
    assert.throws(() => new Holdfast(api.url, options satisfies Options), { name: "RangeError", message: /imeout must be more than 0/ });
  }
});

test("a mistake in a call rejects its promise at once, and nothing is sent", async () => {
  const before = proxy.requests.length;
  const id = "0".repeat(24);
  const circular: Record<string, unknown> = {};
  circular["itself"] = circular;
  const token = new Holdfast(proxy.url, { token: () => "hidden\n" });
  for (const call of [
    () => client.getLock(""), () => client.getLock(".."), () => client.getLock("\ud800"), () => client.inEvent("").releaseLock(id),
    () => client.acquireLock({ eventId: "", holder: "a", seats: 1 }), () => client.listWaitlist("").toArray(), () => client.listRuns("").pages().next(),
    () => client.streamEvent("").next(), () => client.streamSeats("\ud800").next(), () => client.streamEvent(id, { lastEventId: "1\n" }).next(),
    () => client.streamEvent(id, { lastEventId: "\u20ac" }).next(),
    () => client.updateLock(id, { metadata: { big: 1n } } as object), () => client.updateLock(id, { metadata: circular } as object),
    () => client.request("GET", "/api/events", { headers: { "X-Mine": "hidden\n" } }), () => client.request("GET", "/api/events", { body: {} }),
    () => client.request("NO METHOD", "/api/events"), () => token.getEvent(id),
  ]) {
    const made = call(); // does not throw
    const error = await made.then(() => assert.fail(String(call)), (e: unknown) => e);
    assert.ok(error instanceof TypeError || error instanceof URIError, `${String(call)}: ${String(error)}`);
    assert.doesNotMatch(error.message, /hidden/);
  }
  for (const timeout of [Infinity, NaN, 0, -1]) {
    await assert.rejects(client.getEvent(id, { timeout }), { name: "RangeError", message: /^timeout must be more than 0/ });
    await assert.rejects(client.streamEvent(id, { timeout }).next(), { name: "RangeError", message: /^timeout must be more than 0/ });
  }
  assert.equal(proxy.requests.length, before);
  assert.equal((await failure(client.getEvent(id, { timeout: 15_000.5 }))).code, "EVENT_NOT_FOUND");
});

test("calls that take the server long have the time for it", async () => {
  const event = await api.event();
  const user = await shop.createUser({ name: "Ada", email: `ada-${event.id}@example.com` });
  const slow: typeof fetch = async (...request) => {
    await new Promise((resolve) => { setTimeout(resolve, 300); });
    return fetch(...request);
  };
  const hasty = new Holdfast(api.url, { key: secret, timeout: 100, retryTimeout: 0, fetch: slow });
  assert.equal((await failure(hasty.getEvent(event.id))).status, 0);
  assert.equal((await hasty.getEventReport(event.id)).eventId, event.id);
  await hasty.getSurvey();
  await hasty.eraseUser(user.id);
  await hasty.eraseHolder({ holder: "nobody" });
});

test("the caller's signal ends a call and its retries", async () => {
  const stop = new AbortController();
  proxy.fate = () => { stop.abort(new Error("the customer left")); return "hold"; };
  await assert.rejects(client.getEvent("0".repeat(24), { signal: stop.signal }), /the customer left/);
  proxy.fate = () => "cut"; // for ever
  const late = AbortSignal.timeout(300);
  await assert.rejects(client.getEvent("0".repeat(24), { signal: late }), { name: "TimeoutError" });
  proxy.fate = () => "pass";
});

// follow reads a stream as a test wants it: message after message.
function follow(at: Holdfast, eventId: string, options: StreamOptions = {}) {
  const messages = at.streamEvent(eventId, options);
  return async (wanted: (m: AvailabilityMessage) => boolean): Promise<AvailabilityMessage[]> => {
    const read: AvailabilityMessage[] = [];
    for (;;) {
      const { value } = await messages.next();
      assert.ok(value, "the stream ended");
      read.push(value);
      if (wanted(value)) return read;
    }
  };
}
const seatsLeft = (n: number) => (m: AvailabilityMessage): boolean => m.event === "availability" && m.data.availableSeats === n;

test("a stream resumes behind its last message when it is cut", async () => {
  const event = await api.event();
  const disconnects: unknown[] = [];
  const next = follow(client, event.id, { onDisconnect: (error) => disconnects.push(error) });
  const [first] = await next(seatsLeft(10));
  await shop.acquireLock({ eventId: event.id, holder: "a", seats: 1 });
  const last = (await next(seatsLeft(9))).at(-1);
  assert.ok(first?.event === "availability" && last?.event === "availability" && Number(last.id) > Number(first.id));
  proxy.cut();
  await shop.acquireLock({ eventId: event.id, holder: "b", seats: 1 });
  const rest = await next(seatsLeft(8));
  assert.deepEqual(rest.map((m) => m.event), ["availability"]); // no reset
  assert.equal(disconnects.length, 1);
  const streams = proxy.requests.filter((r) => r.startsWith(`GET /api/events/${event.id}/stream `));
  assert.deepEqual(streams.map((r) => /^last-event-id: (.*)\r$/im.exec(r)?.[1]), [undefined, last.id]);
});

for (const signal of ["SIGTERM", "SIGKILL"] as const) {
  test(`streams go on after a restart of the API (${signal})`, async () => {
    const event = await api.hall();
    const counts = follow(shop, event.id);
    await counts(seatsLeft(28));
    const stop = new AbortController();
    const seats = shop.streamSeats(event.id, { section: ["A"] }, { signal: stop.signal });
    const taken = async (isWanted: (taken: readonly string[], bitmap: string) => boolean): Promise<void> => {
      for (;;) {
        const { value } = await seats.next();
        assert.ok(value, "the stream ended");
        if (value.event !== "seats") continue;
        if (isWanted("taken" in value.data ? value.data.taken : [], "bitmap" in value.data ? value.data.bitmap : "")) return;
      }
    };
    await taken((_, bitmap) => bitmap === "AA==");
    await api.stop(signal);
    await api.run();
    await shop.acquireLock({ eventId: event.id, holder: "a", seatIds: ["A-1-1"] });
    await counts(seatsLeft(27));
    await taken((ids, bitmap) => ids.includes("A-1-1") || bitmap === "gA==");
    await shop.acquireLock({ eventId: event.id, holder: "b", seatIds: ["A-1-2"] });
    await counts(seatsLeft(26));
    await taken((ids) => ids.includes("A-1-2"));
    const ended = seats.next();
    stop.abort();
    assert.equal((await ended).done, true);
  });
}

test("a stream goes on after 5xx and 429", async () => {
  const event = await api.event();
  const answers = ["500 Error", "429 Too Many Requests"].map((status) => `HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n` as const);
  proxy.fate = () => answers.shift() ?? "pass";
  const refusals: unknown[] = [];
  const next = follow(client, event.id, { onDisconnect: (error) => refusals.push(error instanceof HoldfastError && error.status) });
  await next(seatsLeft(10));
  assert.deepEqual(refusals, [500, 429]);
});

test("a stream fails with a refusal that would come again", async () => {
  const event = await api.event();
  const next = follow(shop, event.id);
  await next(seatsLeft(10));
  await shop.deleteEvent(event.id);
  assert.equal((await failure(next(() => false))).code, "EVENT_NOT_FOUND");
  assert.equal((await failure(shop.streamSeats("0".repeat(24)).next())).code, "EVENT_NOT_FOUND");
  assert.equal((await failure(new Holdfast(api.url, { token: "stale" }).streamEvent(event.id).next())).code, "UNAUTHENTICATED");
});

test("a stream that is silent is connected again", async () => {
  const event = await api.event();
  const next = follow(client, event.id, { timeout: 1000 });
  await next(seatsLeft(10));
  proxy.freeze();
  await shop.acquireLock({ eventId: event.id, holder: "a", seats: 1 });
  await next(seatsLeft(9));
  once(`GET /api/events/${event.id}/stream`, "hold"); // the next connection has no answer at all
  proxy.cut();
  await shop.acquireLock({ eventId: event.id, holder: "b", seats: 1 });
  await next(seatsLeft(8));
});

test("a stream asks for a fresh token", async () => {
  const event = await api.event();
  const tokens = [() => { throw new Error("no session"); }, () => "stale", () => tokenFor("cart-1")];
  const disconnects: unknown[] = [];
  const token = (): string => tokens.shift()?.() ?? "none";
  const next = follow(new Holdfast(api.url, { token }), event.id, { onDisconnect: (error) => disconnects.push(error) });
  await next(seatsLeft(10));
  assert.equal(tokens.length, 0);
  assert.match(String(disconnects), /no session.*UNAUTHENTICATED/);
});
