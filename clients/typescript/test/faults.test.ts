// Lost answers, restarts and cut streams, at the real API.

import assert from "node:assert/strict";
import test from "node:test";
import { Holdfast, HoldfastError, type AvailabilityMessage, type StreamOptions } from "@holdfast/client";
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

test("an unsafe call is not repeated, unless it was certainly not executed", async () => {
  const event = await api.event();
  const update = `PATCH /api/events/${event.id} `;
  once(update, "cut");
  const error = await failure(client.updateEvent(event.id, { name: "Second night" }));
  assert.deepEqual([error.status, error.outcomeUnknown], [0, true]);
  assert.equal(proxy.count(update), 1);
  assert.equal((await shop.getEvent(event.id)).name, "Second night");

  await api.stop();
  assert.equal((await failure(new Holdfast(api.url, { key: secret, retryTimeout: 0 }).deleteEvent(event.id))).outcomeUnknown, false);
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
