// A shop's calls, at the real API.

import assert from "node:assert/strict";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import test from "node:test";
import {
  CapacityBelowTaken, HoldfastError, SeatLimitReached, SeatOrphaned, SeatsNotAdjacent, SeatsUnavailable, SaleNotOpen, ValidationFailed,
  hasCode, takenSeats,
} from "@holdfast/client";
import { verifyWebhook } from "@holdfast/client/webhooks";
import { Api, tokenFor, until } from "./api.js";

const api = await Api.start();
const shop = api.client();

const refusal = async (promise: Promise<unknown>): Promise<HoldfastError> => {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof HoldfastError, String(error));
    return error;
  }
  return assert.fail("the call was not refused");
};

test("a shop locks, books and confirms seats", async () => {
  const event = await api.event();
  const user = await shop.createUser({ name: "Ada", email: `ada-${event.id}@example.com` });
  assert.deepEqual((await shop.findUser({ email: user.email.toUpperCase() }))?.id, user.id);
  assert.equal(await shop.findUser({ email: "nobody@example.com" }), undefined);

  const lock = await shop.acquireLock({ eventId: event.id, userId: user.id, seats: 2, reference: "R-1", metadata: { cart: "7" } });
  assert.equal(lock.status, "ACTIVE");
  assert.equal(lock.replayed, false);
  const again = await shop.acquireLock({
    eventId: event.id, userId: user.id, seats: 2, reference: "R-1", metadata: { cart: "7" }, idempotencyKey: lock.idempotencyKey ?? "",
  });
  assert.deepEqual([again.id, again.replayed], [lock.id, true]);

  const sale = shop.inEvent(event.id);
  const booking = await shop.createBooking({ eventId: event.id, lockId: lock.id, userId: user.id, paymentTtlSeconds: 900 });
  assert.equal(booking.status, "PAYMENT_PENDING");
  const confirmed = await sale.confirmBooking(booking.id, { paymentReference: `pi-${event.id}`, amount: 4200, currency: "EUR" });
  assert.equal(confirmed.status, "CONFIRMED");
  assert.equal((await shop.getLock(lock.id)).status, "CONSUMED");
  assert.equal((await shop.getEvent(event.id)).availableSeats, 8);
  const fewer = await sale.changeBookingSeats(booking.id, { seats: 1, refund: { amount: 2100 } });
  assert.equal(fewer.seats, 1);
  const [payment] = await shop.listPayments({ bookingId: booking.id, refundDue: "true" }).toArray();
  assert.equal(payment?.amountDue, 2100);
  const noted = await shop.notePartRefunded(payment.id, payment.refunds?.[0]?.id ?? "", { refundReference: "re-1" });
  assert.equal(noted.amountDue, 0);
  assert.equal((await sale.transferBooking(booking.id, { holder: "guest-7" })).holder, "guest-7");
  const other = await api.event();
  assert.equal((await refusal(shop.inEvent(other.id).getBooking(booking.id))).code, "BOOKING_NOT_FOUND");
});

test("a lock's seats are changed, and given back", async () => {
  const event = await api.hall();
  const lock = await shop.acquireLock({ eventId: event.id, holder: "cart-1", seatIds: ["A-1-1"] });
  const sale = shop.inEvent(event.id);
  const changed = await sale.changeSeats(lock.id, { seatIds: ["A-1-2", "A-2-4"] });
  assert.deepEqual(changed.places?.map((place) => place.seatId), ["A-1-2", "A-2-4"]);
  const plan = await shop.getSeatingPlan(event.seatingPlanId ?? "", { section: ["A"] });
  const map = await shop.getSeats(event.id, { section: ["A"] });
  assert.deepEqual([...takenSeats(plan.sections[0] ?? assert.fail(), map.sections[0]?.bitmap ?? "")], ["A-1-2", "A-2-4"]);
  assert.equal(await shop.getSeats(event.id, { section: ["A"] }, { previous: map }), map);
  assert.equal((await shop.getSeats(event.id, {}, { previous: map })).sections.length, 2); // another query
  assert.equal((await sale.releaseLock(lock.id)).status, "RELEASED");
  const fresh = await shop.getSeats(event.id, { section: ["A"] }, { previous: map });
  assert.notEqual(fresh, map);
  assert.equal(fresh.sections[0]?.available, 8);
  const copy = await shop.createSeatingPlan(await shop.getSeatingPlan(event.seatingPlanId ?? ""));
  assert.notEqual(copy.id, event.seatingPlanId);
  assert.equal(copy.totalSeats, 28);
  const converted = await shop.convertSeatingPlan("section,row,seat,category\nA,1,1,seats\nA,1,2,seats\n", { format: "csv", name: "Small" });
  assert.equal(converted.totalSeats, 2);
  const preview = await shop.previewSeatingPlan({ plan: converted.plan, seats: [2, 3] });
  assert.deepEqual(preview.picks.map((pick) => [pick.seatIds.length, pick.adjacent]), [[2, true], [0, false]]);
  assert.deepEqual((await shop.previewSeatingPlan({ plan: { ...converted.plan, name: " " }, seats: [] })).problems.map((p) => p.where), ["name"]);
  const exported = await shop.exportSeatingPlan(await shop.getSeatingPlan(copy.id), { format: "csv" });
  assert.match(exported.file, /^section,row,seat/);
  assert.ok((await shop.exportSeatingPlan(converted.plan, { format: "svg" })).file.startsWith("<svg"));
});

test("a customer waits, and gets an offer", async () => {
  const event = await api.event({ totalSeats: 2, waitlist: "OPEN" });
  const lock = await shop.acquireLock({ eventId: event.id, holder: "first", seats: 2 });
  const entry = await shop.joinWaitlist(event.id, { holder: "second", seats: 1 });
  assert.deepEqual([entry.status, entry.position], ["WAITING", 1]);
  assert.equal((await shop.joinWaitlist(event.id, { holder: "second", seats: 1 })).id, entry.id);
  await shop.releaseLock(lock.id);
  const offered = await until("an offer", async () => {
    const now = await shop.getWaitlistEntry(entry.id);
    return now.status === "OFFERED" && now;
  });
  assert.equal((await shop.getLock(offered.lockId ?? "")).waitlistEntryId, entry.id);
  assert.deepEqual((await shop.listWaitlist(event.id, { status: "OFFERED" }).toArray()).map((e) => e.id), [entry.id]);
  assert.equal((await shop.declineOffer(entry.id)).status, "DECLINED");
});

test("refusals have the details of their codes", async () => {
  const event = await api.hall();
  await shop.acquireLock({ eventId: event.id, holder: "a", seatIds: ["A-1-2"] });
  const taken = await refusal(shop.acquireLock({ eventId: event.id, holder: "b", seatIds: ["A-1-1", "A-1-2"] }));
  assert.ok(taken instanceof SeatsUnavailable);
  assert.deepEqual([taken.status, taken.code, taken.requested, taken.available, taken.unavailable], [409, "SEATS_UNAVAILABLE", 2, 1, ["A-1-2"]]);
  assert.ok(hasCode(taken, "LOCK_EXPIRED", "SEATS_UNAVAILABLE") && !hasCode(taken, "LOCK_EXPIRED") && !hasCode(new Error(), "LOCK_EXPIRED"));
  assert.match(taken.requestId, /./);
  assert.equal(taken.outcomeUnknown, false);

  await shop.updateEvent(event.id, { orphanRule: "REFUSE" });
  const orphaned = await refusal(shop.acquireLock({ eventId: event.id, holder: "b", seatIds: ["A-2-2"] }));
  assert.ok(orphaned instanceof SeatOrphaned);
  assert.deepEqual(orphaned.orphans, ["A-2-1"]);
  const apart = await refusal(shop.acquireLock({ eventId: event.id, holder: "b", bestAvailable: { seats: 5, adjacent: "REQUIRED" } }));
  assert.ok(apart instanceof SeatsNotAdjacent);
  assert.equal(apart.longest, 4);

  const plan = await shop.getSeatingPlan(event.seatingPlanId ?? "");
  const other = await shop.createSeatingPlan({ ...plan, sections: plan.sections.filter((section) => section.key !== "A") });
  const lacking = await refusal(shop.updateEvent(event.id, { seatingPlanId: other.id }));
  assert.ok(lacking instanceof CapacityBelowTaken);
  assert.deepEqual([lacking.taken, lacking.missing, lacking.missingSeats], [1, ["A-1-2"], 1]);

  const limited = await api.event({ totalSeats: 9, maxSeatsPerUser: 2 });
  const limit = await refusal(shop.acquireLock({ eventId: limited.id, holder: "b", seats: 3 }));
  assert.ok(limit instanceof SeatLimitReached);
  assert.equal(limit.limit, 2);
  const opensAt = new Date(Date.now() + 3_600_000).toISOString();
  await shop.updateEvent(limited.id, { saleStartsAt: opensAt });
  const early = await refusal(shop.acquireLock({ eventId: limited.id, holder: "b", seats: 1 }));
  assert.ok(early instanceof SaleNotOpen);
  assert.equal(early.opensAt, opensAt);
  assert.ok(early.retryAfter > 0);
  const wrong = await refusal(shop.acquireLock({ eventId: limited.id, seats: 1 }));
  assert.ok(wrong instanceof ValidationFailed);
  assert.ok(wrong.fields.length > 0);

  const expired = await shop.acquireLock({ eventId: event.id, holder: "c", seats: 1, section: "pit", expiresAt: "2020-01-01T00:00:00Z" });
  assert.equal((await refusal(shop.extendLock(expired.id, { ttlSeconds: 60 }))).code, "LOCK_EXPIRED");
  assert.equal((await refusal(api.client({ key: "not-a-key-of-this-api" }).getEvent(event.id))).code, "UNAUTHENTICATED");
});

test("a refused confirmation names the payment to refund", async () => {
  const event = await api.event();
  const booking = await shop.sellSeats(event.id, { holder: "a", seats: 1, paymentReference: `first-${event.id}`, amount: 100, currency: "EUR" });
  const refused = await refusal(shop.confirmBooking(booking.id, { paymentReference: `second-${event.id}` }));
  assert.deepEqual([refused.code, refused.payment?.status, refused.payment?.reason], ["BOOKING_CONFIRMED", "REFUND_DUE", "duplicate"]);
  const payment = await shop.refundPayment(refused.payment?.id ?? "", { refundReference: "void-1" });
  assert.equal(payment.status, "REFUNDED");
});

test("lists are read page after page", async () => {
  const event = await api.event({ totalSeats: 100 });
  const sale = shop.inEvent(event.id);
  const made = new Set<string>();
  for (let i = 0; i < 5; i++) made.add((await sale.acquireLock({ eventId: event.id, holder: `h${i}`, seats: 1 })).id);
  const read: string[] = [];
  for await (const lock of shop.listLocks({ eventId: event.id, pageSize: 2 })) read.push(lock.id);
  assert.deepEqual(new Set(read), made);
  assert.equal(read.length, 5);
  const sizes: number[] = [];
  let token = "";
  for await (const page of shop.listLocks({ eventId: event.id, pageSize: 2 }).pages()) {
    sizes.push(page.items.length);
    if (sizes.length === 1) token = page.nextPageToken;
  }
  assert.deepEqual(sizes, [2, 2, 1]);
  assert.deepEqual((await shop.listLocks({ eventId: event.id, pageSize: 2, pageToken: token }).toArray()).map((l) => l.id), read.slice(2));
  for await (const lock of shop.list<{ id: string }>("/api/locks", { eventId: event.id })) {
    assert.ok(made.has(lock.id));
    break; // a consumer may stop
  }
});

test("changes continue from the last token", async () => {
  const event = await api.event();
  let last = "";
  const types: string[] = [];
  const read = async (): Promise<void> => {
    for await (const page of shop.listChanges({ eventId: event.id, ...(last && { pageToken: last }) }).pages()) {
      for (const change of page.items) {
        types.push(change.type);
        if (change.type === "holdfast.lock.created") assert.equal(change.data.seats, 3);
      }
      last = page.nextPageToken;
    }
  };
  await until("the event's change", async () => { await read(); return types.length === 1; });
  await shop.acquireLock({ eventId: event.id, holder: "a", seats: 3 });
  await until("the lock's change", async () => { await read(); return types.length > 1; });
  assert.deepEqual(types, ["holdfast.event.created", "holdfast.lock.created"]);
});

test("a customer's token comes from a function", async () => {
  const event = await api.event();
  let asked = 0;
  const customer = api.client({ key: undefined, token: async () => { asked++; return tokenFor("cart-9"); } });
  const lock = await customer.acquireLock({ eventId: event.id, holder: "cart-9", seats: 1 });
  assert.equal((await customer.getLock(lock.id)).holder, "cart-9");
  assert.equal(asked, 2);
  assert.equal((await refusal(customer.sellSeats(event.id, { holder: "cart-9", seats: 1 }))).code, "FORBIDDEN");
  const lost = api.client({ key: undefined, token: () => { throw new Error("no session"); } });
  await assert.rejects(lost.getEvent(event.id), /no session/);
});

test("any route can be called", async () => {
  const event = await api.event();
  assert.equal((await shop.request<{ id: string }>("GET", `/api/events/${event.id}`)).id, event.id);
  assert.match(await shop.request<string>("GET", `/api/events/${event.id}/report`, { query: { format: "csv" } }), /,/);
  await assert.rejects(shop.request("GET", "//elsewhere.example/"), TypeError);
  assert.equal(await shop.deleteEvent(event.id), undefined);
});

test("a delivery of a webhook is verified", async (t) => {
  const got: { headers: IncomingMessage["headers"]; body: Buffer }[] = [];
  const server = createServer(async (request, response) => {
    got.push({ headers: request.headers, body: Buffer.concat(await request.toArray()) });
    response.writeHead(204).end();
  });
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  await new Promise<void>((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/holdfast`;
  const event = await api.event();
  const webhook = await shop.createWebhook({ url, types: ["holdfast.booking.confirmed"], eventId: event.id });
  const booking = await shop.sellSeats(event.id, { holder: "a", seats: 2 });
  const { headers, body } = await until("a delivery", () => got[0]);
  const change = verifyWebhook(webhook.secret ?? "", body, headers);
  assert.ok(change.type === "holdfast.booking.confirmed");
  assert.deepEqual([change.data.id, change.data.seats], [booking.id, 2]);
  assert.equal(verifyWebhook(webhook.secret ?? "", body.toString(), new Headers(headers as Record<string, string>)).id, change.id);
  const tampered = body.toString().replace('"seats":2', '"seats":9');
  assert.notEqual(tampered, body.toString());
  for (const [secret, text] of [[webhook.secret ?? "", tampered], ["whsec_T3RoZXIgc2VjcmV0", body]] as const) {
    assert.throws(() => verifyWebhook(secret, text, headers), /WebhookVerificationError: .* can't be verified: No matching signature/);
  }
  assert.throws(() => verifyWebhook(webhook.secret ?? "", body, {}), /WebhookVerificationError: .* Missing required headers/);
  assert.throws(() => verifyWebhook(webhook.secret ?? "", JSON.parse(body.toString()), headers), /TypeError: .* not parsed JSON/);
  const deliveries = await until("the record of the delivery", async () => {
    const list = await shop.listDeliveries(webhook.id, { state: "DELIVERED" }).toArray();
    return list.length > 0 && list;
  });
  assert.equal(deliveries[0]?.changeId, change.id);
  assert.equal((await shop.testWebhook(webhook.id)).status, 204);
  const { secret } = await shop.rotateWebhookSecret(webhook.id);
  assert.notEqual(secret, webhook.secret);
  await shop.deleteWebhook(webhook.id);
});
