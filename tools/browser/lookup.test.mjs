// The console's pages to look things up and to change an event.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, afterEach, test } from "node:test";
import { Holdfast, accessible, browse, expectNoErrors, fits, open, screenshot, until } from "./harness.mjs";

const holdfast = await Holdfast.start({ after }, { LOCK_EXPIRY_INTERVAL: "1h", BOOKING_EXPIRY_INTERVAL: "1h" });
const browser = await browse({ after, afterEach });

const hall = {
  name: "Small hall", categories: [{ key: "seats", name: "Stalls" }, { key: "standing", name: "Standing" }],
  sections: [
    { key: "A", name: "Left", category: "seats", rows: [{ key: "1", seats: 6 }, { key: "2", label: "Second", seats: 6 }] },
    { key: "pit", name: "Pit", category: "standing", capacity: 10 },
  ],
};

const seatedEvent = async (name) => {
  const plan = await holdfast.ask("POST", "/api/seating-plans", hall);
  return holdfast.ask("POST", "/api/events", { name, seatingPlanId: plan.id, eventDate: "2027-06-15T19:00:00Z" });
};

// sell sells what a wish asks for to a new user.
const sell = async (event, wish, reference) => {
  const user = await holdfast.user();
  const lock = await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, ...wish });
  const booking = await holdfast.ask("POST", "/api/bookings", { eventId: event.id, userId: user.id, lockId: lock.id, paymentTtlSeconds: 600 });
  await holdfast.ask("POST", `/api/bookings/${booking.id}/confirm`, { paymentReference: reference });
  return { user, lock, booking };
};

const at = (hash) => `${holdfast.url}/console#/${hash}`;
const card = (page, name) => page.getByRole("region", { name, exact: true });
const hash = (page) => page.evaluate(() => location.hash);

// loaded waits until what an operator sees of a card matches.
const shows = (page, name, pattern) => until(`${name} shows ${pattern}`, async () => pattern.test(await card(page, name).innerText()));

test("the search finds a holder, whose page has the bookings and the locks, and so do lists", async () => {
  const event = await holdfast.event("For carts", 9);
  const holder = "cart <b>1</b> & \u202ereversed";
  const lock = await holdfast.ask("POST", "/api/locks", { eventId: event.id, holder, seats: 2 });
  await holdfast.ask("POST", "/api/bookings", { eventId: event.id, holder, lockId: lock.id, paymentTtlSeconds: 600 });
  const other = await holdfast.ask("POST", "/api/locks", { eventId: event.id, holder: "cart-2", seats: 1 });
  const page = await open(browser, at(`locks/${lock.id}`));
  await page.getByRole("link", { name: holder }).click();
  for (const name of ["Bookings", "Locks"]) await shows(page, name, name === "Locks" ? /ACTIVE/ : /PAYMENT_PENDING/);
  await accessible(page);
  await card(page, "Locks").getByRole("link", { name: "Filter and page" }).click();
  await until("the list has the filter", async () => (await card(page, "Locks").getByLabel("Holder").inputValue()) === holder);
  await until("the list has one lock", async () => (await page.getByRole("table", { name: "Locks" }).locator("tbody tr").count()) === 1);
  const box = page.getByRole("search").getByRole("searchbox");
  await box.fill("cart-2");
  await box.press("Enter");
  await page.getByRole("table", { name: "What was found" }).getByRole("link", { name: "cart-2" }).click();
  await shows(page, "Holder", /cart-2/);
  await shows(page, "Locks", new RegExp(`${other.id.slice(-8)}[^]*ACTIVE`));
  await page.goto(at("holders"));
  await card(page, "Holder").getByLabel("Holder").fill(holder);
  assert.equal(await page.getByRole("table").count(), 0, "without a holder nothing is listed");
  await accessible(page);
  await card(page, "Holder").getByRole("button", { name: "Show" }).click();
  await shows(page, "Locks", new RegExp(lock.id.slice(-8)));
  expectNoErrors(page);
});

test("what a shop keeps with an event, a lock and a booking is shown, and found by its reference", async () => {
  const metadata = { "a.b": "<b>two</b>\nlines", ["__proto__"]: "1" };
  const event = await holdfast.event("Kept", 9);
  await holdfast.ask("PATCH", `/api/events/${event.id}`, { reference: "season <27>", metadata });
  const user = await holdfast.user();
  const lock = await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, seats: 1, reference: "order-17", metadata });
  const request = { eventId: event.id, userId: user.id, lockId: lock.id, paymentTtlSeconds: 600 };
  const booking = await holdfast.ask("POST", "/api/bookings", request);
  await holdfast.ask("PATCH", `/api/bookings/${booking.id}`, { reference: "order-18", metadata: null });
  const page = await open(browser, at(""));
  await page.locator("#events tr", { hasText: "Kept" }).getByText("season <27>").waitFor();
  await page.goto(at(`events/${event.id}`));
  await shows(page, "Event", /Reference\s+season <27>[^]*metadata\.a\.b\s+<b>two<\/b>/);
  await page.goto(at(`locks/${lock.id}`));
  await shows(page, "Lock", /Reference\s+order-17[^]*metadata\.__proto__\s+1[^]*metadata\.a\.b\s+<b>two<\/b>/);
  await accessible(page);
  await page.goto(at(`bookings/${booking.id}`));
  await shows(page, "Booking", /Reference\s+order-18/);
  await shows(page, "History", /booking changed\s+reference order-17 → order-18 · metadata none/);
  await page.goto(at("bookings"));
  await card(page, "Bookings").getByLabel("Reference", { exact: true }).fill("order-18");
  await card(page, "Bookings").getByRole("button", { name: "Filter" }).click();
  await until("the list has one booking", async () => (await page.getByRole("table", { name: "Bookings" }).locator("tbody tr").count()) === 1);
  assert.equal(await hash(page), "#/bookings?reference=order-18");
  const box = page.getByRole("search").getByRole("searchbox");
  for (const [text, kind] of [["order-17", "lock"], ["order-18", "booking"]]) {
    await box.fill(text);
    await box.press("Enter");
    await page.getByRole("table", { name: "What was found" }).getByRole("row", { name: new RegExp(`${kind}.*the shop's reference`) }).waitFor();
  }
  expectNoErrors(page);
});

test("the search finds a booking, a lock, a user, an e-mail address, a payment reference and a seat", async () => {
  const event = await seatedEvent("Search for me");
  const { user, lock, booking } = await sell(event, { seatIds: ["A-1-1"] }, "pay-search-1");
  const page = await open(browser, `${holdfast.url}/console`);
  const box = page.getByRole("search").getByRole("searchbox");
  const results = page.getByRole("table", { name: "What was found" });
  const asked = card(page, "Search").getByLabel("ID, e-mail, holder, reference, seat or name");
  for (const [text, kind, n = 1] of [[booking.id, "booking"], [lock.id, "lock"], [user.id, "user"], [user.email.toUpperCase(), "user"], ["pay-search-1", "booking", 2], [event.id, "event"]]) {
    await box.fill(text);
    await box.press("Enter");
    await until(`${text} is looked for`, async () => (await asked.inputValue()) === text);
    await until(`${text} is found`, async () => new RegExp(`^\\s*${kind}\\b`).test(await results.locator("tbody tr").first().innerText()));
    assert.equal(await results.locator("tbody tr").count(), n); // a payment reference is also that of the payment
  }
  await box.fill("nothing like it");
  await box.press("Enter");
  await page.getByText("Nothing matches.").waitFor();
  const form = card(page, "Search");
  await asked.fill("A-1-1");
  await form.getByLabel("Event ID, for a seat").fill(event.id);
  await form.getByRole("button", { name: "Search" }).click();
  await results.getByRole("link", { name: "Seat A-1-1" }).click();
  await shows(page, "Seats", /A-1-1: Left, Row 1, seat 1[^]*Category\s+Stalls[^]*SOLD/);
  await page.goBack();
  await results.getByRole("link", { name: "Seat A-1-1" }).waitFor();
  await page.goBack();
  await page.getByText("Nothing matches.").waitFor();
  assert.equal(await box.inputValue(), "nothing like it");
  expectNoErrors(page);
});

test("a user and a holder are erased, once they hold nothing; a long erasure says how far it is", async () => {
  const event = await seatedEvent("To forget");
  const { user, lock, booking } = await sell(event, { seatIds: ["A-1-1"] }, "pay-forget");
  const held = await holdfast.ask("POST", "/api/locks", { eventId: event.id, holder: "ada", seatIds: ["A-1-2"] });
  const page = await open(browser, at("holders?holder=ada"));
  const erase = async (answer = "Erase the customer") => {
    await card(page, "Erase").getByRole("button", { name: "Erase the customer" }).click();
    await page.getByRole("dialog").getByRole("button", { name: answer }).click();
  };
  await erase("Keep it");
  await erase();
  await shows(page, "Erase", /HOLDS_SEATS/);
  await holdfast.ask("DELETE", `/api/locks/${held.id}`);
  const problem = { status: 503, code: "OUTCOME_UNKNOWN", detail: "500 locks and 2 bookings were changed, and others are left." };
  await page.route("**/api/holders/erase", (route) => route.fulfill({ status: 503, contentType: "application/problem+json", json: problem }), { times: 1 });
  await erase();
  await shows(page, "Erase", /500 locks and 2 bookings/);
  await page.getByText("The customer is erased: 1 lock and 0 bookings were changed.").waitFor();
  await shows(page, "Locks", /no locks/);
  await page.goto(at(`users/${user.id}`));
  await accessible(page);
  await erase();
  await shows(page, "User", /There never was one, or the user is erased/);
  await shows(page, "Bookings", new RegExp(`${booking.id.slice(-8)}[^]*CONFIRMED`));
  await shows(page, "Locks", new RegExp(lock.id.slice(-8)));
  await accessible(page);
  await page.goto(at("audit"));
  await until("the audit has the erasures", async () => /erased the user[^]*erased a holder/.test(await page.locator("main").innerText()));
  expectNoErrors(page);
});

test("an event is created, found by its name and status, and gets another date and late payments", async (t) => {
  const own = await Holdfast.start(t);
  const page = await open(browser, `${own.url}/console`);
  await page.getByText("No events yet.").waitFor();
  const plan = await own.ask("POST", "/api/seating-plans", hall);
  await page.route("**/api/seating-plans?pageSize=500", (route) => route.fulfill({ json: { items: [], nextPageToken: "second" } }), { times: 1 });
  await page.route("**/api/seating-plans?pageSize=500&pageToken=second", (route) => route.continue({ url: `${own.url}/api/seating-plans?pageSize=500` }));
  await page.getByRole("link", { name: "New event" }).click();
  const creation = page.getByRole("form", { name: "New event" });
  await creation.getByLabel("Name").fill("Hamlet");
  await creation.getByLabel("Date and time").fill("2027-06-15T19:30");
  await creation.getByLabel("Sale from").fill("2027-01-01T10:00:05");
  await creation.getByLabel("Seats in total").fill("20");
  await accessible(page);
  await fits(page);
  await screenshot(page, "new-event-desktop-phone", { fullPage: true });
  await creation.getByLabel("Seating plan").selectOption({ label: "Small hall, 22 seats" });
  await creation.getByLabel("Seats in total").waitFor({ state: "hidden" });
  await creation.getByLabel("Single seats").selectOption("REFUSE");
  await creation.getByLabel("Seats per user").fill("4");
  await creation.getByLabel("Late payments").selectOption("ACCEPT");
  await creation.getByLabel("Too late after").fill("3600");
  await page.route("**/api/events", (route) => route.fetch().then(() => route.abort()), { times: 1 }); // the answer is lost
  await creation.getByRole("button", { name: "Create the event" }).click();
  await creation.getByText("The server does not answer.").waitFor();
  await creation.getByRole("button", { name: "Create the event" }).click();
  await page.getByText("The event is created.").waitFor();
  await shows(page, "Event", /Hamlet[^]*The sale begins on January 1, 2027[^]*2027-06-15 19:30:00 UTC/);
  const { items: [hamlet, ...others] } = await own.ask("GET", "/api/events");
  assert.deepEqual(others, []); // the same request creates one event
  const { id, seatingPlanId, totalSeats, orphanRule, maxSeatsPerUser, latePayments, latePaymentSeconds } = hamlet;
  assert.deepEqual([seatingPlanId, totalSeats, orphanRule, maxSeatsPerUser, latePayments, latePaymentSeconds], [plan.id, 22, "REFUSE", 4, "ACCEPT", 3600]);
  assert.deepEqual([hamlet.saleStartsAt, hamlet.saleEndsAt], ["2027-01-01T10:00:05.000Z", undefined]);

  const settings = page.getByRole("form", { name: "Settings" });
  assert.equal(await settings.getByLabel("Date and time").inputValue(), "2027-06-15T19:30");
  assert.ok(await settings.getByLabel("Seats in total").isHidden());
  await settings.getByLabel("Date and time").fill("2027-07-01T20:00");
  await settings.getByLabel("Late payments").selectOption("REFUSE");
  assert.equal(await settings.getByLabel("Sale from").inputValue(), "2027-01-01T10:00:05");
  await settings.getByLabel("Sale until").fill("2027-01-01T10:00:05");
  await settings.getByRole("button", { name: "Save" }).click();
  await settings.getByText("saleEndsAt must be later than saleStartsAt.", { exact: true }).waitFor();
  await settings.getByLabel("Sale from").fill("");
  await settings.getByRole("button", { name: "Save" }).click();
  await shows(page, "Event", /2027-07-01 20:00:00 UTC/);
  const changed = await own.ask("GET", `/api/events/${id}`);
  assert.deepEqual([changed.eventDate, changed.latePayments, changed.latePaymentSeconds, changed.name], ["2027-07-01T20:00:00.000Z", "REFUSE", 3600, "Hamlet"]);
  assert.deepEqual([changed.saleStartsAt, changed.saleEndsAt], [undefined, "2027-01-01T10:00:05.000Z"]);
  await fits(page);
  await screenshot(page, "event-settings-desktop-phone", { fullPage: true });

  await own.event("Macbeth", 9);
  await page.getByRole("link", { name: "Overview" }).click();
  const events = page.locator("#events tr");
  await until("both events are listed", async () => (await events.count()) === 2);
  const filter = page.getByRole("form", { name: "Filter the events" });
  await filter.getByLabel("Part of the name").fill("haml");
  await filter.getByRole("button", { name: "Filter" }).click();
  await until("one event is listed", async () => (await events.count()) === 1);
  assert.match(await events.first().innerText(), /Hamlet[^]*2027-07-01 20:00:00 UTC/);
  assert.equal(await hash(page), "#/?name=haml");
  await filter.getByLabel("Status").selectOption("CLOSED");
  await filter.getByRole("button", { name: "Filter" }).click();
  await page.getByText("No event matches.").waitFor();
  await page.goBack();
  const searches = [];
  page.on("request", (request) => { if (request.url().includes("/api/admin/overview?name=")) searches.push(request.url()); });
  await until("the filter before is back", async () => (await events.count()) === 1 && (await filter.getByLabel("Status").inputValue()) === "");
  await page.waitForRequest("**/api/admin/overview?pageSize=1");
  assert.ok(searches.length <= 1, "a filtered list is not polled");
  await page.getByRole("link", { name: "Overview" }).click();
  await until("both events are back", async () => (await events.count()) === 2);
  await accessible(page);
  await fits(page);
  await screenshot(page, "events-desktop-phone", { fullPage: true });

  const user = await own.ask("POST", "/api/users", { name: "Ophelia Haml", email: "ophelia@example.com" });
  await page.getByRole("search").getByRole("searchbox").fill("HAML");
  await page.getByRole("search").getByRole("searchbox").press("Enter");
  await page.getByText("2 matches.").waitFor();
  await page.getByRole("table", { name: "What was found" }).getByText("ophelia@example.com").waitFor();
  await screenshot(page, "search-desktop-phone", { fullPage: true });
  await page.setViewportSize({ width: 390, height: 844 });
  for (const [path, name] of [["", "events"], ["new-event", "new-event"], [`events/${id}`, "event-settings"], ["search?q=haml", "search"]]) {
    await page.goto(`${own.url}/console#/${path}`);
    await until("the page is there", async () => (await page.getByRole("main").innerText()).length > 100);
    await fits(page);
    await screenshot(page, `${name}-phone`, { fullPage: true });
  }
  await page.goto(`${own.url}/console#/audit`);
  await page.getByText("created the event Hamlet").first().waitFor();
  await page.goto(`${own.url}/console#/users/${user.id}`);
  await page.getByText("Ophelia Haml").first().waitFor();
  expectNoErrors(page);
});

test("an event has a report of its seats, also as a file", async () => {
  const event = await seatedEvent("Counted");
  await sell(event, { seatIds: ["A-1-1", "A-1-2"] }, "pay-report");
  const page = await open(browser, at(`events/${event.id}`));
  await page.evaluate(() => {
    const { createObjectURL, revokeObjectURL } = URL;
    globalThis.files = new Set();
    URL.createObjectURL = (blob) => {
      const url = createObjectURL.call(URL, blob);
      files.add(url);
      return url;
    };
    URL.revokeObjectURL = (url) => {
      files.delete(url);
      revokeObjectURL.call(URL, url);
    };
  });
  await page.getByRole("link", { name: "Report of this event" }).click();
  const rows = page.getByRole("table", { name: "Seats by their state" }).locator("tbody tr");
  await page.getByRole("link", { name: "Counted" }).waitFor();
  const texts = async () => (await rows.allInnerTexts()).map((text) => text.trim().split(/\s+/).join(" "));
  assert.deepEqual(await texts(), [
    "event Counted 22 20 0 2 0 0 0 0", "section A seats 12 10 0 2 0 0", "section pit standing 10 10 0 0 0 0",
    "category seats seats 12 10 0 2 0 0", "category standing standing 10 10 0 0 0 0"]);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download as CSV" }).click()]);
  assert.equal(download.suggestedFilename(), `report-${event.id}.csv`);
  assert.match(readFileSync(await download.path(), "utf8"), /^row,key,category,total,[^]*\nsection,A,seats,12,10,0,2,0,0,,\n/);
  await holdfast.ask("POST", `/api/events/${event.id}/seats/block`, { seatIds: ["A-2-6"] });
  await page.getByRole("button", { name: "Count again" }).click();
  await until("the blocked seat is counted", async () => (await texts())[1] === "section A seats 12 9 0 2 1 0");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Count again");
  assert.equal(await page.evaluate(() => files.size), 1, "the file before is given up");
  await accessible(page);
  await page.setViewportSize({ width: 390, height: 844 });
  await fits(page);
  await page.goto(at("locks"));
  await card(page, "Locks").waitFor();
  assert.equal(await page.evaluate(() => files.size), 0);
  expectNoErrors(page);
});

test("a user gets another name and address, and a refusal is shown at its field", async () => {
  const [user, other] = [await holdfast.user(), await holdfast.user()];
  const page = await open(browser, at(`users/${user.id}`));
  const form = page.getByRole("form", { name: "Change the user" });
  await form.getByLabel("Name").fill("Ada B.");
  await form.getByLabel("E-mail").fill(other.email.toUpperCase());
  await form.getByRole("button", { name: "Save" }).click();
  await form.getByText("EMAIL_TAKEN").waitFor();
  await form.getByLabel("E-mail").fill("ada@b,c");
  await form.getByRole("button", { name: "Save" }).click();
  await until("the field says what is wrong", async () => (await form.getByLabel("E-mail").getAttribute("aria-invalid")) === "true");
  await form.getByLabel("E-mail").fill(`ä-${user.email}`);
  await form.getByRole("button", { name: "Save" }).click();
  await page.getByText("The user is changed.").waitFor();
  await shows(page, "User", new RegExp(`Ada B\\.[^]*ä-${user.email}`));
  const sent = [];
  page.on("request", (request) => { if (request.method() === "PATCH") sent.push(request.postData()); });
  await form.getByRole("button", { name: "Save" }).click();
  await page.getByText("Nothing was changed.").waitFor();
  await form.getByLabel("Name").fill("Ada");
  await form.getByRole("button", { name: "Save" }).click();
  await shows(page, "User", /^Ada\n/);
  assert.deepEqual(sent, ['{"name":"Ada"}']);
  assert.deepEqual(await holdfast.ask("GET", `/api/users/${user.id}`), { ...user, name: "Ada", email: `ä-${user.email}` });
  await accessible(page);
  await fits(page);
  await page.goto(at(`audit?targetId=${user.id}`));
  await page.getByText("changed the user").first().waitFor();
  assert.doesNotMatch(await page.getByRole("main").innerText(), /Ada/);
  expectNoErrors(page);
});

test("a booking's page has its history, which says who did what", async () => {
  const event = await holdfast.event("History", 10);
  const { booking, lock } = await sell(event, { seats: 2 }, "pay-history");
  await sell(event, { seats: 1 }, "of another booking");
  await holdfast.ask("POST", `/api/bookings/${booking.id}/cancel`);
  const page = await open(browser, at(`bookings/${booking.id}`));
  await shows(page, "Booking", /CANCELLED[^]*History[^]*2 seats[^]*pay-history/);
  const rows = page.getByRole("table", { name: "History" }).locator("tbody tr");
  await until("the history is there", async () => {
    await page.reload();
    await page.getByText(/changes?, oldest first|beginning is missing/).waitFor();
    return (await rows.count()) === 9;
  });
  const text = await rows.allInnerTexts();
  assert.match(text[0], /lock created/);
  assert.match(text[2], /booking created/);
  assert.match(text[4], /booking confirmed[^]*PAYMENT_PENDING → CONFIRMED[^]*pay-history[^]*no key/);
  assert.match(text[5], /payment accepted[^]*ACCEPTED/);
  assert.match(text[7], /booking cancelled[^]*CONFIRMED → CANCELLED/);
  assert.match(text[8], /payment refund due[^]*ACCEPTED → REFUND_DUE/);
  await page.getByText("9 changes, oldest first.").waitFor();
  await card(page, "Booking").getByRole("link", { name: lock.id.slice(-8) }).click();
  await shows(page, "Lock", /RELEASED/);
  await page.getByText("changes, oldest first.").waitFor();
  await accessible(page);
  expectNoErrors(page);
});

test("a history whose beginning was removed says so", async (t) => {
  const own = await Holdfast.start(t);
  const event = await own.event("Old", 10);
  const lock = await own.lock(event, 1);
  const page = await open(browser, `${own.url}/console`);
  // The answer of a server that has removed the first changes.
  await page.route("**/api/changes?*", (route) => route.fulfill({ json: { items: [], nextPageToken: "t" } }));
  await page.goto(`${own.url}/console#/locks/${lock.id}`);
  await page.getByText("0 changes. The beginning is missing").waitFor();
  expectNoErrors(page);
});

test("a long history is read in parts, and goes on when it is asked to", async () => {
  const event = await holdfast.event("Long", 10);
  const lock = await holdfast.lock(event, 1);
  const page = await open(browser, `${holdfast.url}/console`);
  const parts = 23;
  let asked = 0;
  await page.route("**/api/changes?*", (route) => {
    asked++;
    const items = asked === parts ? [{ id: "x", type: "holdfast.lock.created", subject: `locks/${lock.id}`, time: lock.createdAt, data: lock }] : [];
    return route.fulfill({ json: { items, nextPageToken: `t${Math.min(asked, parts)}` } });
  });
  await page.goto(at(`locks/${lock.id}`));
  await page.getByText("0 changes in 20 parts of the event's changes.").waitFor();
  await page.getByRole("button", { name: "Go on" }).click();
  await page.getByText("1 change, oldest first.").waitFor();
  assert.equal(asked, parts + 1);
  assert.ok(await page.getByRole("button", { name: "Go on" }).isHidden());
  expectNoErrors(page);
});

test("a lock is released after a confirmation", async () => {
  const event = await holdfast.event("Release", 10);
  const lock = await holdfast.lock(event, 1);
  const page = await open(browser, at(`locks/${lock.id}`));
  const release = page.getByRole("button", { name: "Release the lock" });
  await release.click();
  await page.getByRole("dialog").getByText("The customer loses 1 seat").waitFor();
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  assert.equal((await holdfast.ask("GET", `/api/locks/${lock.id}`)).status, "ACTIVE");
  await release.click();
  await page.getByRole("dialog").getByRole("button", { name: "Release the lock" }).click();
  await until("the toast", async () => (await page.locator("#toast").textContent()) === "The lock is RELEASED. 1 seat can be sold again.");
  await shows(page, "Lock", /RELEASED/);
  assert.ok(await release.isHidden());
  await holdfast.ask("GET", `/api/events/${event.id}`).then((e) => assert.equal(e.availableSeats, 10));
  expectNoErrors(page);
});

test("an event's settings are changed, and the server's refusals are shown in place", async () => {
  const event = await holdfast.event("Settings", 10);
  await holdfast.lock(event, 4);
  const page = await open(browser, at(`events/${event.id}`));
  const settings = card(page, "Settings");
  const tile = (name) => page.locator(".tile", { hasText: name }).locator("dd").first();
  const total = settings.getByLabel("Seats in total");
  await total.fill("3");
  await settings.getByRole("button", { name: "Save" }).click();
  await settings.getByRole("alert").getByText("CAPACITY_BELOW_TAKEN").waitFor();
  await total.fill("20");
  await settings.getByLabel("Seats per user").fill("5");
  await settings.getByLabel("Name").fill(" ");
  await settings.getByRole("button", { name: "Save" }).click();
  await until("the name is refused at its field", async () => (await settings.getByLabel("Name").getAttribute("aria-invalid")) === "true");
  await accessible(page);
  await settings.getByLabel("Name").fill("Other settings");
  await settings.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Other settings" }).waitFor();
  await until("the total is shown", async () => (await tile("Seats in total").textContent()) === "20");
  const changed = await holdfast.ask("GET", `/api/events/${event.id}`);
  assert.deepEqual([changed.name, changed.totalSeats, changed.maxSeatsPerUser], ["Other settings", 20, 5]);
  await settings.getByRole("button", { name: "Save" }).click();
  await page.getByText("Nothing was changed.").waitFor();

  await settings.getByRole("button", { name: "Close the sale" }).click();
  await shows(page, "Event", /CLOSED/);
  await settings.getByRole("button", { name: "Reopen the sale" }).click();
  await shows(page, "Event", /ON_SALE/);
  expectNoErrors(page);
});

test("a seated event has its sections, and a seat is looked up, blocked and unblocked", async () => {
  const event = await seatedEvent("Seated");
  const { booking } = await sell(event, { seatIds: ["A-1-1", "A-1-2"] }, "pay-seated");
  const page = await open(browser, at(`events/${event.id}`));
  const section = (name) => page.getByRole("table", { name: "Sections" }).locator("tr", { hasText: name });
  await until("the sections are shown", async () => /Left\s+A\s+Stalls\s+10\s+12/.test(await section("Left").innerText()) && /Pit\s+pit\s+Standing\s+10\s+10/.test(await section("Pit").innerText()));
  const seats = card(page, "Seats");
  const lookUp = async (id) => {
    await seats.getByLabel("Seat ID").fill(id);
    await seats.getByRole("button", { name: "Look up the seat" }).click();
  };
  await lookUp("A-1-1");
  await seats.getByText("SOLD", { exact: true }).waitFor();
  assert.match(await hash(page), /\?seat=A-1-1$/);
  await page.reload();
  await seats.getByText("SOLD", { exact: true }).waitFor();
  await seats.getByRole("link", { name: booking.id.slice(-8) }).click();
  await shows(page, "Booking", /CONFIRMED[^]*2 seats: A-1-1, A-1-2/);
  await page.goBack();
  await lookUp("A-9-9");
  await seats.getByRole("alert").getByText("SEAT_NOT_FOUND").waitFor();
  await lookUp("A-2-3");
  await seats.getByText("row Second").waitFor();
  await seats.getByRole("button", { name: "Block the seat" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Block the seat" }).click();
  await seats.getByText("BLOCKED", { exact: true }).waitFor();
  await page.getByText("1 seat of the event is blocked.").waitFor();
  await until("the section has one seat less", async () => /\s9\s+12/.test(await section("Left").innerText()));
  await seats.getByRole("button", { name: "Unblock the seat" }).click();
  await seats.getByText("AVAILABLE", { exact: true }).waitFor();
  await page.getByText("0 seats of the event are blocked.").waitFor();

  const settings = card(page, "Settings");
  await settings.getByLabel("Capacity of pit").fill("15");
  await settings.getByLabel("Single seats").selectOption("REFUSE");
  await settings.getByLabel("Accessible seats").selectOption("OPEN");
  await settings.getByRole("button", { name: "Save" }).click();
  await until("the capacity is shown", async () => /\s15\s+15/.test(await section("Pit").innerText()));
  const changed = await holdfast.ask("GET", `/api/events/${event.id}`);
  assert.deepEqual([changed.orphanRule, changed.accessiblePolicy, changed.totalSeats], ["REFUSE", "OPEN", 27]);
  assert.ok(await settings.getByLabel("Seats in total").isHidden());
  expectNoErrors(page);
});

test("an event without locks is deleted, another one is not", async (t) => {
  const own = await Holdfast.start(t);
  const [empty, sold] = [await own.event("Empty", 5), await own.event("Sold", 5)];
  await own.lock(sold, 1);
  const page = await open(browser, `${own.url}/console#/events/${sold.id}`);
  const sale = page.getByRole("group", { name: "Sale" });
  const dialog = page.getByRole("dialog");
  await sale.getByRole("button", { name: "Delete the event" }).click();
  await accessible(page);
  await dialog.getByRole("button", { name: "Delete the event" }).click();
  await sale.getByText("The event has locks, blocked seats, bookings or entries of its waiting list. Close or cancel it instead. (EVENT_HAS_LOCKS)").waitFor();
  await page.goto(`${own.url}/console#/events/${empty.id}`);
  await page.getByRole("heading", { name: "Empty" }).waitFor();
  await sale.getByRole("button", { name: "Delete the event" }).click();
  await dialog.getByRole("button", { name: "Keep the event" }).click();
  await sale.getByRole("button", { name: "Delete the event" }).click();
  await dialog.getByRole("button", { name: "Delete the event" }).click();
  await page.getByText("The event is deleted.").waitFor();
  await until("the overview is shown", async () => (await hash(page)).replace("#/", "") === "");
  const { items } = await own.ask("GET", "/api/events");
  assert.deepEqual(items.map((e) => e.id), [sold.id]);
  expectNoErrors(page);
});

test("sales over time are a chart and a table", async () => {
  const event = await holdfast.event("Sales", 30);
  await sell(event, { seats: 2 }, "s1");
  await sell(event, { seats: 3 }, "s2");
  const page = await open(browser, at(`events/${event.id}`));
  await shows(page, "Sales over time", /5 seats sold/);
  const sales = card(page, "Sales over time");
  await sales.getByRole("img", { name: /at most 5 seats in a day/ }).waitFor();
  await sales.getByText("As a table").click();
  assert.match(await sales.locator("tbody tr").first().innerText(), /\d{4}-\d\d-\d\d\s+2\s+5/);
  await sales.getByLabel("Show").selectOption("hour");
  await sales.getByRole("img", { name: /in an hour/ }).waitFor();
  const none = await holdfast.event("No sales", 30);
  await page.goto(at(`events/${none.id}`));
  await shows(page, "Sales over time", /0 seats sold/);
  assert.equal(await sales.getByRole("img").count(), 0);
  expectNoErrors(page);
});

test("lists have their filters and their page in the link", async () => {
  const event = await holdfast.event("Many", 1000);
  const user = await holdfast.user();
  for (let i = 0; i < 52; i++) await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, seats: 1 });
  await sell(event, { seats: 1 }, "in a list");
  const page = await open(browser, at(`events/${event.id}`));
  await card(page, "Locks").getByRole("link", { name: "All locks" }).click();
  const rows = page.getByRole("table", { name: "Locks" }).locator("tbody tr");
  await until("a page is full", async () => (await rows.count()) === 50);
  await page.getByRole("link", { name: "Next page" }).click();
  await until("the rest is shown", async () => (await rows.count()) === 3);
  await page.goBack();
  await until("the first page is back", async () => (await rows.count()) === 50);
  await card(page, "Locks").getByLabel("Status", { exact: true }).selectOption("CONSUMED");
  await page.getByRole("button", { name: "Filter" }).click();
  await until("one lock is consumed", async () => (await rows.count()) === 1);
  assert.match(await hash(page), new RegExp(`eventId=${event.id}&status=CONSUMED`));
  await page.reload();
  await until("the filter is in the link", async () => (await rows.count()) === 1 && (await card(page, "Locks").getByLabel("Status", { exact: true }).inputValue()) === "CONSUMED");
  await rows.getByRole("link", { name: "Many" }).waitFor(); // the event's name
  await page.getByRole("navigation").getByRole("link", { name: "Bookings" }).click();
  await card(page, "Bookings").getByLabel("User ID").fill(user.id);
  await card(page, "Bookings").getByRole("button", { name: "Filter" }).click();
  await page.getByText("No bookings match.").waitFor();
  await page.goto(at(`users/${user.id}`));
  await shows(page, "Locks", /All locks/);
  await page.goto(at("bookings?status=nonsense"));
  await page.getByText("query.status").waitFor();
  expectNoErrors(page);
});

test("a link to nothing says so", async () => {
  const page = await open(browser, at("bookings/000000000000000000000001"));
  await page.getByText("There is no booking with this ID.").or(page.locator("#page .card")).first().waitFor();
  await page.goto(at("nonsense/x"));
  await page.getByText("There is no such page.").waitFor();
  await page.getByRole("navigation").getByRole("link", { name: "Overview" }).click();
  await page.getByRole("heading", { name: "Jobs" }).waitFor();
  await page.keyboard.press("Tab");
  expectNoErrors(page);
});

test("the pages ask for the key, and go on once it was entered", async (t) => {
  const own = await Holdfast.start(t, { API_KEYS: "boss:admin:boss-secret-key-1" });
  const event = await own.event("Behind a key", 5, "boss-secret-key-1");
  const page = await open(browser, `${own.url}/console#/events/${event.id}`);
  await page.getByText("This server requires a key.").waitFor();
  await page.getByLabel("Secret of a key").fill("boss-secret-key-1");
  await page.getByRole("button", { name: "Use this key" }).click();
  await page.getByRole("heading", { name: "Behind a key" }).waitFor();
  await shows(page, "Sales over time", /0 seats sold/);
  assert.equal(await page.getByRole("heading", { name: "Behind a key" }).count(), 1);
  await page.getByRole("button", { name: "Close the sale" }).click();
  await shows(page, "Event", /CLOSED/);
  expectNoErrors(page);
});

for (const colorScheme of ["light", "dark"]) {
  test(`long names fit, and axe-core finds nothing, ${colorScheme}, on a desktop and on a phone`, async () => {
    const long = "W".repeat(200);
    const event = await seatedEvent(long);
    const email = `${long.slice(0, 60).toLowerCase()}@example.com`;
    const user = await holdfast.ask("POST", "/api/users", { name: long, email: `${colorScheme}${email}` });
    const lock = await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, seatIds: ["A-1-1", "A-1-2", "A-1-3"], idempotencyKey: "k".repeat(200) });
    const booking = await holdfast.ask("POST", "/api/bookings", { eventId: event.id, userId: user.id, lockId: lock.id, paymentTtlSeconds: 600 });
    const reference = `${colorScheme}-${"r".repeat(180)}`;
    await holdfast.ask("POST", `/api/bookings/${booking.id}/confirm`, { paymentReference: reference });
    const holder = `${colorScheme}-${long.slice(0, 120)}`;
    await holdfast.ask("POST", "/api/locks", { eventId: event.id, holder, seatIds: ["A-1-4"] });
    const page = await open(browser, `${holdfast.url}/console`, { colorScheme });
    const pages = {
      event: [`events/${event.id}?seat=A-1-1`, async () => { await shows(page, "Seats", /SOLD/); await shows(page, "Locks", /CONSUMED/); }],
      booking: [`bookings/${booking.id}`, () => page.getByText(/changes?, oldest first|beginning is missing/).waitFor()],
      lock: [`locks/${lock.id}`, () => page.getByText(/changes?, oldest first|beginning is missing/).waitFor()],
      holder: [`holders?holder=${encodeURIComponent(holder)}`, () => shows(page, "Locks", /ACTIVE/)],
      user: [`users/${user.id}`, () => shows(page, "Locks", /CONSUMED/)],
      bookings: [`bookings?eventId=${event.id}`, () => shows(page, "Bookings", /CONFIRMED/)],
      search: [`search?q=${encodeURIComponent(reference)}`, () => shows(page, "Search", /2 matches/)],
    };
    for (const [name, [path, ready]] of Object.entries(pages)) {
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.goto(at(path));
      await ready();
      await fits(page);
      await accessible(page);
      await screenshot(page, `lookup-${name}-${colorScheme}-desktop-phone`, { fullPage: true });
      for (const width of [1100, 768]) {
        await page.setViewportSize({ width, height: 900 });
        await fits(page);
      }
      await page.setViewportSize({ width: 390, height: 844 });
      await fits(page);
      await accessible(page);
      await screenshot(page, `lookup-${name}-${colorScheme}-phone`, { fullPage: true });
    }
    expectNoErrors(page);
  });
}

test("the map of an event: the state of each seat, a click looks it up, a rectangle blocks and unblocks", async () => {
  const event = await seatedEvent("On the map");
  const { booking } = await sell(event, { seatIds: ["A-1-1"] }, "pay-map");
  const user = await holdfast.user();
  const lock = await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, seatIds: ["A-1-2", "A-1-3"] });
  const page = await open(browser, at(`events/${event.id}`));
  const seats = card(page, "Seats");
  await seats.getByText("19 available").waitFor();
  for (const text of ["2 locked", "1 sold", "0 blocked"]) await seats.getByText(text, { exact: true }).waitFor();
  const canvas = await seats.locator("canvas").boundingBox();
  const cursor = seats.locator(".cursor");
  await cursor.focus();
  await page.keyboard.press("Enter"); // into the section, to its first free seat
  await until("a seat has the focus", async () => /seat 4, available$/.test(await cursor.textContent()));
  for (const key of ["ArrowLeft", "ArrowLeft", "ArrowLeft"]) await page.keyboard.press(key);
  assert.match(await cursor.textContent(), /seat 1, sold$/);
  await page.keyboard.press("Enter");
  await seats.getByRole("link", { name: `…${booking.id.slice(-8)}` }).waitFor();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await seats.getByRole("link", { name: `…${lock.id.slice(-8)}` }).waitFor();

  await seats.getByRole("button", { name: "Whole hall" }).click();
  await seats.getByRole("button", { name: "Select seats" }).click();
  await page.mouse.move(canvas.x + 5, canvas.y + 5);
  await page.mouse.down();
  await page.mouse.move(canvas.x + canvas.width - 5, canvas.y + canvas.height - 5, { steps: 5 });
  await page.mouse.up();
  await seats.getByText("12 seats selected.").waitFor();
  await seats.getByRole("button", { name: "Block 9 seats" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Block 9 seats" }).click();
  await seats.getByText("9 blocked", { exact: true }).waitFor();
  assert.equal((await holdfast.ask("GET", `/api/events/${event.id}`)).blockedSeats, 9);
  await accessible(page);
  await page.mouse.move(canvas.x + 5, canvas.y + 5);
  await page.mouse.down();
  await page.mouse.move(canvas.x + canvas.width - 5, canvas.y + canvas.height - 5, { steps: 5 });
  await page.mouse.up();
  await seats.getByRole("button", { name: "Unblock 9 seats" }).click();
  await seats.getByText("0 blocked", { exact: true }).waitFor();
  expectNoErrors(page);
});
