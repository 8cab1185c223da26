// The console when answers fail, come late or need another key, and when two operators work at the same time.

import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { Holdfast, accessible, answersLate, browse, expectNoErrors, fits, gate, open, until } from "./harness.mjs";

const holdfast = await Holdfast.start({ after }, { LOCK_EXPIRY_INTERVAL: "1h", BOOKING_EXPIRY_INTERVAL: "1h" });
const browser = await browse({ after, afterEach });

const hall = (name) => ({
  name, categories: [{ key: "a", name: "First" }], sections: [{ key: "A", name: "Left", category: "a", rows: [{ key: "1", seats: 6 }] }],
});
const seatedEvent = async (name) => {
  const plan = await holdfast.ask("POST", "/api/seating-plans", hall(name));
  return holdfast.ask("POST", "/api/events", { name, seatingPlanId: plan.id, eventDate: "2027-06-15T19:00:00Z" });
};
const at = (hash, of = holdfast) => `${of.url}/console#/${hash}`;
const card = (page, name) => page.getByRole("region", { name, exact: true });

// openAt opens a page after its requests were redirected.
const openAt = async (hash, routes) => {
  const page = await open(browser, `${holdfast.url}/console`);
  for (const [pattern, handle] of Object.entries(routes)) await page.route(pattern, handle);
  await page.goto(at(hash));
  return page;
};

const busy = (text) => ({ status: 503, json: { status: 503, code: "UNAVAILABLE", detail: text } });

test("each card says what failed, and is loaded again alone", async () => {
  const event = await seatedEvent("Cards");
  let fails = true;
  const failing = (text) => (route) => (fails ? route.fulfill(busy(text)) : route.continue());
  const page = await openAt(`events/${event.id}`, {
    "**/api/locks?*": failing("No locks now."), "**/api/bookings?*": failing("No bookings now."), "**/sales?*": failing("No sales now."),
    "**/api/seating-plans/*": failing("No plan now."),
  });
  for (const [name, text] of [["Locks", "No locks now."], ["Bookings", "No bookings now."], ["Sales over time", "No sales now."], ["Seats", "No plan now."]]) {
    await card(page, name).getByRole("alert").getByText(`${text} (UNAVAILABLE)`).waitFor();
  }
  assert.ok(await page.locator("#alert").isHidden());
  await accessible(page);
  fails = false;
  for (const [name, text] of [["Locks", "No locks yet."], ["Bookings", "No bookings yet."], ["Sales over time", "0 seats sold"], ["Seats", "6 available"]]) {
    await card(page, name).getByRole("button", { name: "Try again" }).click();
    await card(page, name).getByText(text).first().waitFor();
    assert.equal(await card(page, name).getByRole("button", { name: "Try again" }).count(), 0);
  }
  fails = true;
  await page.goto(at(`bookings?eventId=${event.id}`));
  await page.getByText("No bookings now.").waitFor();
  fails = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("No bookings match.").waitFor();
  expectNoErrors(page);
});

test("a part of the page that can't be kept up to date says so until it can", async () => {
  const event = await seatedEvent("Stale");
  let fails = false;
  const page = await openAt(`events/${event.id}`, { "**/api/admin/events/*/seats": (route) => (fails ? route.fulfill(busy("Too busy.")) : route.continue()) });
  const seats = card(page, "Seats");
  await seats.getByText("6 available").waitFor();
  fails = true;
  await seats.getByText("Not up to date: Too busy. (UNAVAILABLE)").waitFor();
  assert.ok(await page.locator("#alert").isHidden());
  fails = false;
  await seats.getByText("Not up to date").waitFor({ state: "hidden" });
  expectNoErrors(page);
});

test("an alert of the overview does not stay on other pages", async () => {
  const page = await openAt("", { "**/api/admin/overview*": (route) => route.fulfill(busy("Overview is busy.")) });
  await page.reload();
  await page.locator("#alert").getByText("Overview is busy.").waitFor();
  await page.getByRole("navigation").getByRole("link", { name: "Plans" }).click();
  await page.locator("#alert").waitFor({ state: "hidden" });
  expectNoErrors(page);
});

test("an answer that is not JSON, or breaks off, is an error", async () => {
  const event = await holdfast.event("Broken", 5);
  let body = "";
  const page = await openAt("", { "**/api/admin/search?*": (route) => route.fulfill({ status: 200, contentType: "application/json", body }) });
  for (body of ["", '{"items":[', "<html>"]) {
    await page.goto(at(`search?q=${event.id}&n=${body.length}`));
    await card(page, "Search").getByText("The server's answer is incomplete, or not JSON. (BROKEN_ANSWER)").waitFor();
    assert.equal(await page.getByText("Nothing matches.").count(), 0);
  }
  expectNoErrors(page);
});

test("of two choices of the sales' unit the last one is shown, whichever answer comes first", async () => {
  const event = await holdfast.event("Race", 5);
  await holdfast.sell(event, 1);
  const [mayAnswer, answer] = gate();
  const [isAnswered, answered] = gate();
  const page = await openAt(`events/${event.id}`, {
    "**/sales?by=hour": async (route) => {
      await mayAnswer;
      await route.continue();
      answered();
    },
  });
  const sales = card(page, "Sales over time");
  await sales.getByRole("img", { name: /in a day/ }).waitFor();
  const late = page.waitForResponse((r) => r.url().endsWith("by=hour"));
  await sales.getByLabel("Show").selectOption("hour");
  const read = page.waitForResponse((r) => r.url().endsWith("by=day"));
  await sales.getByLabel("Show").selectOption("day");
  await read;
  answer();
  await isAnswered;
  await (await late).finished();
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))); // the page has worked on it
  await sales.getByRole("img", { name: /in a day/ }).waitFor();
  assert.equal(await sales.getByRole("img", { name: /in an hour/ }).count(), 0);
  expectNoErrors(page);
});

test("the preview of a plan is that of the chosen file, also if another one is still being checked", async () => {
  const [mayAnswer, answer] = gate();
  let asked = 0;
  const page = await openAt("plans", {
    "**/seating-plans/convert?*": async (route) => {
      if (asked++ === 0) await mayAnswer;
      await route.continue();
    },
  });
  const choose = (name, content) => page.getByLabel("File", { exact: true }).setInputFiles({ name, mimeType: "application/json", buffer: Buffer.from(content) });
  const check = page.getByRole("button", { name: "Check the file" });
  await choose("first.json", JSON.stringify(hall("First hall")));
  const late = page.waitForResponse((r) => r.url().includes("convert"));
  await check.click();
  await choose("second.json", JSON.stringify(hall("Second hall")));
  answer();
  await (await late).finished();
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
  assert.equal(await page.getByRole("button", { name: "Create the plan" }).count(), 0);
  await check.click();
  await page.getByText("This is the plan of the file second.json.").waitFor();
  await card(page, "Upload").getByText("Second hall").waitFor();
  await choose("third.json", "{");
  assert.equal(await page.getByRole("button", { name: "Create the plan" }).count(), 0);
  await check.click();
  await card(page, "Upload").getByRole("alert").getByText("MALFORMED_REQUEST").waitFor();
  await page.getByLabel("Name, if the file has none").fill("N"); // another choice, so the error is gone
  assert.equal(await card(page, "Upload").getByText("MALFORMED_REQUEST").count(), 0);
  expectNoErrors(page);
});

test("what was entered stays when a new key is needed, and nothing is done twice", async (t) => {
  const own = await Holdfast.start(t, { API_KEYS: "boss:admin:boss-secret-key-1,shop:booking:shop-secret-key-1" });
  const event = await own.event("Half filled", 5, "boss-secret-key-1");
  const page = await open(browser, at(`events/${event.id}`, own));
  const use = async (secret) => {
    await page.getByLabel("Secret of a key").fill(secret);
    await page.getByRole("button", { name: "Use this key" }).click();
  };
  await page.getByText("This server requires a key.").waitFor();
  await use("shop-secret-key-1");
  await page.getByText("This key does not have the required scope.").waitFor();
  await use("boss-secret-key-1");
  await card(page, "Locks").getByText("No locks yet.").waitFor();
  assert.ok(await page.locator("#key").isHidden());
  const settings = card(page, "Settings");
  await settings.getByLabel("Name").fill("Another name");
  await page.evaluate(() => sessionStorage.setItem("holdfast.key", "revoked"));
  await page.getByText("The server does not accept this key.").waitFor(); // the page polls
  await use("boss-secret-key-1");
  assert.equal(await settings.getByLabel("Name").inputValue(), "Another name");
  await page.route("**/api/admin/events/*", (route) => route.abort()); // so that the form is the first that needs the key
  await settings.getByRole("button", { name: "Save" }).evaluate((button) => { // at once: the page polls
    sessionStorage.setItem("holdfast.key", "revoked");
    button.click();
  });
  await page.getByText("The server does not accept this key.").waitFor();
  await use("boss-secret-key-1");
  await settings.getByText("Do it again with the new key.").waitFor();
  assert.equal(await settings.getByLabel("Name").inputValue(), "Another name");
  assert.equal((await own.ask("GET", `/api/events/${event.id}`, undefined, "boss-secret-key-1")).name, "Half filled");
  await settings.getByRole("button", { name: "Save" }).click();
  await page.getByText("The settings are saved.").waitFor();
  assert.equal((await own.ask("GET", `/api/events/${event.id}`, undefined, "boss-secret-key-1")).name, "Another name");
  expectNoErrors(page);
});

test("a page whose key dialog was closed can be tried again", async (t) => {
  const own = await Holdfast.start(t, { API_KEYS: "boss:admin:boss-secret-key-1" });
  const page = await open(browser, at("plans", own));
  await page.getByText("This server requires a key.").waitFor();
  await page.locator("#key").evaluate((dialog) => dialog.close());
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByLabel("Secret of a key").fill("boss-secret-key-1");
  await page.getByRole("button", { name: "Use this key" }).click();
  await page.getByText("No seating plans yet.").waitFor();
  expectNoErrors(page);
});

test("a list shows the new name of an event, and keeps few names", async () => {
  const event = await holdfast.event("Old name", 5);
  await holdfast.lock(event, 1);
  const page = await open(browser, `${holdfast.url}/console`);
  await page.clock.install();
  await page.goto(at(`locks?eventId=${event.id}`));
  const name = (text) => card(page, "Locks").getByRole("link", { name: text, exact: true });
  await name("Old name").waitFor();
  await holdfast.ask("PATCH", `/api/events/${event.id}`, { name: "New name" });
  await page.clock.runFor(20_000);
  await card(page, "Locks").getByRole("button", { name: "Filter" }).click();
  await name("New name").waitFor();

  const lock = (n) => ({ id: `${n}`.padStart(24, "1"), eventId: `${n}`.padStart(24, "2"), userId: "3".repeat(24), seats: 1, status: "ACTIVE", createdAt: event.createdAt, expiresAt: event.createdAt });
  let first = 0;
  await page.route("**/api/locks?*", (route) => route.fulfill({ json: { items: Array.from({ length: 50 }, (_, i) => lock(first + i)), nextPageToken: "" } }));
  const asked = new Map();
  await page.route("**/api/events/2*", (route) => {
    const id = route.request().url().slice(-24);
    asked.set(id, (asked.get(id) ?? 0) + 1);
    return route.fulfill({ json: { name: `Event ${Number(id.replace(/^2+/, ""))}` } });
  });
  const show = async (from) => {
    first = from;
    await card(page, "Locks").getByRole("button", { name: "Filter" }).click();
    await name(`Event ${from + 49}`).waitFor();
  };
  for (const from of [0, 50, 100, 150, 200, 0]) await show(1000 + from);
  assert.equal(asked.get(lock(1000).eventId), 2); // it was forgotten for those of the last page
  assert.equal(asked.get(lock(1200).eventId), 1);
  expectNoErrors(page);
});

test("a click on a seat shows its state, lock, booking, customer and history", async () => {
  const event = await seatedEvent("Clicked");
  const user = await holdfast.ask("POST", "/api/users", { name: "<b>Ada</b>", email: "ada-clicked@example.com" });
  const lock = await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, seatIds: ["A-1-1"] });
  const booking = await holdfast.ask("POST", "/api/bookings", { eventId: event.id, userId: user.id, lockId: lock.id, paymentTtlSeconds: 600 });
  await holdfast.ask("POST", `/api/bookings/${booking.id}/confirm`, { paymentReference: "pay-clicked" });
  await until("the changes are numbered", async () => {
    const { items } = await holdfast.ask("GET", `/api/changes?eventId=${event.id}&subject=bookings/${booking.id}`);
    return items.some((c) => c.type === "holdfast.booking.confirmed");
  });
  const page = await open(browser, at(`events/${event.id}`), { viewport: { width: 390, height: 844 } });
  const seats = card(page, "Seats");
  await seats.getByText("1 sold", { exact: true }).waitFor();
  await seats.locator(".cursor").focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Enter");
  await seats.getByText("ada-clicked@example.com").waitFor();
  await seats.getByRole("link", { name: `…${lock.id.slice(-8)}` }).waitFor();
  await seats.getByRole("link", { name: `…${booking.id.slice(-8)}` }).waitFor();
  await seats.getByRole("table", { name: "History" }).getByText(/PAYMENT_PENDING → CONFIRMED/).waitFor();
  await seats.getByText("changes, oldest first.").waitFor();
  await fits(page);
  await accessible(page);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await seats.getByText("AVAILABLE", { exact: true }).waitFor();
  assert.equal(await seats.getByText("ada-clicked@example.com").count(), 0);
  await seats.getByLabel("Seat ID").fill("A-1-1");
  await seats.getByRole("button", { name: "Look up the seat" }).click();
  await seats.getByRole("link", { name: "<b>Ada</b>" }).click();
  await card(page, "User").getByText("ada-clicked@example.com").waitFor();
  expectNoErrors(page);
});

test("two operators: the buttons follow what the other one did, and what was entered stays", async () => {
  const event = await holdfast.event("Shared", 5);
  const [ann, bob] = [await open(browser, at(`events/${event.id}`)), await open(browser, at(`events/${event.id}`))];
  await card(bob, "Settings").getByLabel("Name").fill("Name of bob");
  await card(ann, "Settings").getByRole("button", { name: "Close the sale" }).click();
  await card(bob, "Settings").getByRole("button", { name: "Reopen the sale" }).waitFor();
  await card(ann, "Settings").getByLabel("Seats in total").fill("7");
  await card(ann, "Settings").getByRole("button", { name: "Save" }).click();
  await ann.getByText("The settings are saved.").waitFor();
  await card(bob, "Settings").getByRole("button", { name: "Save" }).click();
  await bob.getByText("The settings are saved.").waitFor();
  const e = await holdfast.ask("GET", `/api/events/${event.id}`);
  assert.deepEqual([e.name, e.totalSeats, e.status], ["Name of bob", 7, "CLOSED"]);
  for (const page of [ann, bob]) expectNoErrors(page);
});

test("a closed sale stays closed when what was read before it is answered after it", async () => {
  const event = await holdfast.event("Overtaken", 5);
  const page = await open(browser, at(`events/${event.id}`));
  const reading = await answersLate(page, `${holdfast.url}/api/admin/events/${event.id}`);
  await reading.begin();
  await card(page, "Settings").getByRole("button", { name: "Close the sale" }).click();
  await card(page, "Event").getByText("CLOSED").waitFor();
  await reading.end();
  assert.ok(await card(page, "Event").getByText("CLOSED").isVisible());
  assert.ok(await card(page, "Settings").getByRole("button", { name: "Reopen the sale" }).isVisible());
  expectNoErrors(page);
});
