// The waiting list in the console, and in the demo shop.

import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { Holdfast, accessible, browse, expectNoErrors, fits, open, until } from "./harness.mjs";

const holdfast = await Holdfast.start({ after });
const browser = await browse({ after, afterEach });

const card = (page, name) => page.getByRole("region", { name, exact: true });
const at = (hash) => `${holdfast.url}/console#/${hash}`;
const date = "2027-06-15T19:00:00Z";
const join = (event, holder, wish) => holdfast.ask("POST", `/api/events/${event.id}/waitlist`, { holder, ...wish });
const entriesOf = async (event) => (await holdfast.ask("GET", `/api/events/${event.id}/waitlist`)).items;
const eventOf = (event) => holdfast.ask("GET", `/api/events/${event.id}`);
const rows = (page) => card(page, "Entries").locator("tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].map((c) => c.innerText.trim())));

// soldOut is an event all of whose seats are locked, with its list open.
async function soldOut(name, seats, settings = {}) {
  const event = await holdfast.ask("POST", "/api/events", { name, totalSeats: seats, eventDate: date, waitlist: "OPEN", waitlistOfferSeconds: 600, ...settings });
  const locks = [];
  for (let n = 0; n < seats; n++) locks.push(await holdfast.ask("POST", "/api/locks", { eventId: event.id, holder: `seat-${n}`, seats: 1, ttlSeconds: 3000 }));
  return { event, free: (lock) => holdfast.ask("DELETE", `/api/locks/${lock.id}`), locks };
}

test("the page of a waiting list shows its entries in order, and an offer with its end", async () => {
  const hall = { name: "Hall", categories: [{ key: "a", name: "Stalls <b>" }, { key: "b", name: "Balcony" }], sections: [
    { key: "A", name: "Left", category: "a", rows: [{ key: "1", seats: [1, 2, 3].map((n) => ({ id: `A-1-${n}`, accessible: n === 3 })) }] },
    { key: "B", name: "Top", category: "b", rows: [{ key: "1", seats: 3 }] }, { key: "pit", name: "Pit", category: "b", capacity: 3 }] };
  const plan = await holdfast.ask("POST", "/api/seating-plans", hall);
  const event = await holdfast.ask("POST", "/api/events", { name: "List <i>", seatingPlanId: plan.id, eventDate: date, waitlist: "OPEN", waitlistOfferSeconds: 600 });
  const stalls = await holdfast.ask("POST", "/api/locks", { eventId: event.id, holder: "all", seatIds: ["A-1-1", "A-1-2", "A-1-3"], accessibleSeats: 1, ttlSeconds: 3000 });
  for (const wish of [{ seatIds: ["B-1-1", "B-1-2", "B-1-3"] }, { section: "pit", seats: 3 }]) {
    await holdfast.ask("POST", "/api/locks", { eventId: event.id, holder: "all", ttlSeconds: 3000, ...wish });
  }
  await join(event, "<script>ada</script>", { seats: 2, categories: ["b", "a"], adjacent: "REQUIRED", reference: "order-1" });
  await join(event, "bob", { seats: 2, categories: ["a"], accessibleSeats: 1 });
  await join(event, "eve", { seats: 3, section: "pit" });
  const page = await open(browser, at(`events/${event.id}`));
  await page.getByText("Waiting", { exact: true }).waitFor();
  assert.match(await page.getByLabel("Seats", { exact: true }).first().innerText(), /Waiting\s+3/);
  await accessible(page);
  await page.getByRole("link", { name: "Entries and settings of the waiting list" }).click();
  await until("the entries are there", async () => (await rows(page)).length === 3);
  const shown = async () => (await rows(page)).map((cells) => cells.slice(0, 6));
  await until("with their names", async () => /Balcony/.test((await shown())[0][2]));
  assert.deepEqual(await shown(), [
    ["1", "<script>ada</script>", "2 seats next to each other, Balcony or Stalls <b>", "WAITING", "–", "order-1"],
    ["2", "bob", "2 seats, Stalls <b>, 1 of them accessible", "WAITING", "–", "–"], ["3", "eve", "3 seats, Pit", "WAITING", "–", "–"]]);
  await card(page, "Waiting list").getByText("3 entries wait.").waitFor();
  await accessible(page);

  await holdfast.ask("DELETE", `/api/locks/${stalls.id}`); // two seats together, and one that is accessible
  await until("an offer is shown", async () => (await shown())[0][3] === "OFFERED");
  await until("it counts down", async () => /^…[0-9a-f]{8}\s+(9:\d\d|10:00) left$/.test((await shown())[0][4]));
  assert.deepEqual((await shown()).slice(1).map((cells) => cells[0]), ["1", "2"]);
  const [before] = (await shown())[0][4].split(" ").slice(-2);
  await until("the next second", async () => (await shown())[0][4].split(" ").at(-2) !== before);
  await page.setViewportSize({ width: 390, height: 844 });
  await fits(page);
  await accessible(page);

  const filter = page.getByRole("form", { name: "Filter the entries" });
  await filter.getByLabel("Status").selectOption("OFFERED");
  await filter.getByLabel("Status").focus();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await until("one is left", async () => (await rows(page)).length === 1);
  assert.match(page.url(), /status=OFFERED/);
  await card(page, "Entries").getByRole("link", { name: /^…/ }).click();
  await card(page, "Lock").getByRole("link", { name: "of the waiting list" }).click();
  await until("all are listed again", async () => (await rows(page)).length === 3);
  await page.goto(at(""));
  await page.getByRole("link", { name: "2 waiting" }).waitFor();
  expectNoErrors(page);
});

test("a list of several pages", async () => {
  const { event } = await soldOut("Pages", 1);
  for (let n = 0; n < 52; n++) await join(event, `cart-${n}`, { seats: 1 });
  const page = await open(browser, at(`waitlist/${event.id}`));
  await until("the first page", async () => (await rows(page)).length === 50);
  await page.getByRole("link", { name: "Next page" }).click();
  await until("the last two", async () => (await rows(page)).map(([position, name]) => `${position} ${name}`).join() === "51 cart-50,52 cart-51");
  assert.ok(await page.getByRole("link", { name: "Next page" }).isHidden());
  await page.getByRole("link", { name: "First page" }).click();
  await until("the first page again", async () => (await rows(page))[0]?.[1] === "cart-0");
  expectNoErrors(page);
});

test("the settings are changed in place; closing is asked for, and ends those who wait", async () => {
  const { event } = await soldOut("Settings", 1);
  await join(event, "ada", { seats: 1 });
  const page = await open(browser, at(`waitlist/${event.id}`));
  const form = page.getByRole("form", { name: "Settings of the waiting list" });
  const save = form.getByRole("button", { name: "Save" });
  const changes = [];
  page.on("request", (r) => { if (r.method() === "PATCH") changes.push(r.postDataJSON()); });
  await form.getByLabel("An offer lasts (seconds)").fill("59");
  await save.click();
  assert.deepEqual(changes, []); // the browser refuses it
  await form.getByLabel("An offer lasts (seconds)").fill("120");
  await form.getByLabel("Offers go").selectOption("STRICT");
  await save.click();
  await page.getByText("The settings are saved.").waitFor();
  assert.deepEqual(changes, [{ waitlistOfferSeconds: 120, waitlistFit: "STRICT" }]);
  await holdfast.ask("PATCH", `/api/events/${event.id}`, { waitlist: "PAUSED" }); // by another operator
  await until("the form follows", async () => (await form.getByLabel("Waiting list").inputValue()) === "PAUSED");
  await card(page, "Waiting list").getByText("PAUSED", { exact: true }).waitFor();

  await form.getByLabel("Waiting list").selectOption("CLOSED");
  await save.focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Close the waiting list of Settings?" });
  await dialog.getByText(/^1 entry that waits is ended: .* also if the list is opened again\. Offers that were made stay\./).waitFor();
  await accessible(page);
  await page.keyboard.press("Enter"); // once too often
  await dialog.waitFor({ state: "hidden" });
  assert.equal((await eventOf(event)).waitlist, "PAUSED");
  await save.click();
  await dialog.getByRole("button", { name: "Close the waiting list" }).click();
  await until("it is closed", async () => (await eventOf(event)).waitlist === "CLOSED");
  await until("its entry is ended", async () => (await rows(page))[0]?.[3] === "CLOSED");
  await card(page, "Waiting list").getByText("0 entries wait.").waitFor();
  expectNoErrors(page);
});

test("an event that never had a list says so, and its page has no number of entries", async () => {
  const event = await holdfast.event("Never", 5);
  const page = await open(browser, at(`waitlist/${event.id}`));
  await card(page, "Waiting list").getByText("The list was never open.").waitFor();
  await card(page, "Entries").getByText("No entries.").waitFor();
  await accessible(page);
  await page.getByRole("link", { name: "Never" }).click();
  await page.getByLabel("Seats", { exact: true }).getByText("Seats in total").waitFor();
  assert.equal(await page.getByText("Waiting", { exact: true }).count(), 0);
  expectNoErrors(page);
});

test("in the demo shop a customer waits; another one releases, and the first page shows the offer and books it", async () => {
  await holdfast.ask("POST", "/api/events", { name: "Last row", totalSeats: 3, eventDate: date, waitlist: "OPEN", waitlistOfferSeconds: 600 });
  const [ada, bob] = [await open(browser, `${holdfast.url}/demo`), await open(browser, `${holdfast.url}/demo`)];
  for (const page of [ada, bob]) await page.getByRole("button", { name: "Last row" }).click();
  const acquire = async (page, seats) => {
    await page.locator("#seats").fill(String(seats));
    await page.locator("#acquire").click();
  };
  const box = ada.getByRole("region", { name: "Waiting list" });
  await bob.locator("#ttl").selectOption("600");
  await acquire(bob, 2);
  await bob.getByText("2 seats are locked for you").waitFor();
  assert.ok(await box.isHidden());
  await acquire(ada, 2);
  await ada.locator("#toast").getByText("Only 1 seat is available.").waitFor();
  const form = ada.getByRole("form", { name: "Join the waiting list" });
  assert.equal(await form.getByLabel("How many seats").inputValue(), "2");
  await accessible(ada);
  await form.getByRole("button").click();
  await box.getByText("You are number 1 on the waiting list, 2 seats.").waitFor();
  await ada.reload();
  await box.getByText("You are number 1 on the waiting list, 2 seats.").waitFor();
  await bob.getByRole("button", { name: "Release the seats" }).click();
  await bob.locator("#lock").waitFor({ state: "hidden" });
  const asked = [];
  ada.on("request", (r) => { if (/\/api\/waitlist\//.test(r.url())) asked.push(r); });
  await ada.getByText("2 seats are locked for you: Last row").waitFor();
  assert.equal(asked.length, 1, "the next poll has told it");
  await box.getByText("From the waiting list: 2 seats are held for you.").waitFor();
  await accessible(ada);
  await ada.setViewportSize({ width: 390, height: 844 });
  await fits(ada);
  await ada.reload(); // the offer is found again
  await ada.getByText("2 seats are locked for you: Last row").waitFor();
  await ada.getByRole("button", { name: "Book the seats" }).click();
  await until("a booking can't be declined", () => box.getByRole("button", { name: "Decline the offer" }).isHidden());
  await ada.getByRole("button", { name: "Pay", exact: true }).click();
  await ada.getByText("You bought 2 seats: Last row").waitFor();
  await until("the entry has nothing to say any more", () => box.isHidden());
  for (const page of [ada, bob]) expectNoErrors(page);
});

test("in the demo shop an offer is declined, and one that waits leaves; a list that is not open is not shown", async () => {
  const { event, locks, free } = await soldOut("Second thoughts", 2);
  const page = await open(browser, `${holdfast.url}/demo`);
  await page.getByRole("button", { name: "Second thoughts" }).click();
  const [box, form] = [page.getByRole("region", { name: "Waiting list" }), page.getByRole("form", { name: "Join the waiting list" })];
  await form.getByRole("button").click();
  await box.getByRole("button", { name: "Leave the waiting list" }).click();
  await box.getByText("You have left the waiting list.").waitFor();
  await form.getByRole("button").click();
  await box.getByText("You are number 1").waitFor();
  await free(locks[0]);
  await box.getByRole("button", { name: "Decline the offer" }).click();
  await box.getByText("You have declined the offer.").waitFor();
  assert.ok(await page.locator("#lock").isHidden());
  assert.deepEqual((await entriesOf(event)).map((e) => e.status), ["LEFT", "DECLINED"]);
  await until("its seat is free", async () => (await eventOf(event)).availableSeats === 1);
  await holdfast.ask("PATCH", `/api/events/${event.id}`, { waitlist: "CLOSED" });
  await page.reload();
  await page.getByText("Live updates").waitFor();
  assert.ok(await box.isHidden());
  expectNoErrors(page);
});
