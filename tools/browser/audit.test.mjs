// The console's audit: what was done in the console, and with which key.

import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { Holdfast, accessible, browse, expectNoErrors, fits, open, screenshot, until } from "./harness.mjs";

const holdfast = await Holdfast.start({ after }, { API_KEYS: "ann:admin:secret-key-of-ann,bob:admin:secret-key-of-bob" });
const browser = await browse({ after, afterEach });

// as opens the console with a key.
const as = async (secret, hash) => {
  const page = await open(browser, `${holdfast.url}/console#/${hash}`);
  await page.getByLabel("Secret of a key").fill(secret);
  await page.getByRole("button", { name: "Use this key" }).click();
  return page;
};

test("the audit lists what was done, by which key, and what was refused", async () => {
  const event = await holdfast.event("Audited", 10, "secret-key-of-ann");
  await holdfast.lock(event, 4, 600, "secret-key-of-ann");
  const page = await as("secret-key-of-ann", `events/${event.id}`);
  const settings = page.getByRole("region", { name: "Settings", exact: true });
  await settings.getByLabel("Seats in total").fill("3");
  await settings.getByRole("button", { name: "Save" }).click();
  await settings.getByRole("alert").getByText("CAPACITY_BELOW_TAKEN").waitFor();
  await settings.getByRole("button", { name: "Close the sale" }).click();
  await settings.getByRole("button", { name: "Reopen the sale" }).waitFor();
  await page.getByRole("link", { name: "Audit of this event" }).click();
  const rows = page.getByRole("table", { name: "Audit" }).locator("tbody tr");
  await until("both changes are listed", async () => (await rows.count()) === 2);
  assert.match(await rows.nth(0).innerText(), /ann\s+changed the event: status CLOSED\s+event …[0-9a-f]{8}\s+done/);
  assert.match(await rows.nth(1).innerText(), /ann\s+changed the event: totalSeats 3\s+event …[0-9a-f]{8}\s+refused \(409\)/);

  const other = await as("secret-key-of-bob", "");
  await other.getByRole("button", { name: "Run now: reconcile" }).click();
  await until("the job has run", async () => /^reconcile completed/.test(await other.locator("#toast").textContent()));
  await other.getByRole("navigation").getByRole("link", { name: "Audit" }).click();
  const all = other.getByRole("table", { name: "Audit" }).locator("tbody tr");
  await until("all is listed", async () => (await all.count()) === 3);
  assert.match(await all.nth(0).innerText(), /bob\s+ran the job reconcile\s+–\s+done/);
  await all.nth(2).getByRole("link", { name: "ann" }).click();
  await until("what ann did is listed", async () => (await all.count()) === 2);
  await other.reload();
  await until("the filter is in the link", async () => (await all.count()) === 2 && (await other.getByRole("textbox", { name: "Key", exact: true }).inputValue()) === "ann");
  await other.goBack();
  await until("all is listed again", async () => (await all.count()) === 3);
  for (const width of [1280, 390]) {
    await other.setViewportSize({ width, height: 844 });
    await fits(other);
    await accessible(other);
    await screenshot(other, `audit-${width}-phone`);
  }
  expectNoErrors(page);
  expectNoErrors(other);
});

test("no body that was refused breaks the audit, and a long one is shown as far as it was kept", async (t) => {
  const own = await Holdfast.start(t);
  const event = await own.event("Audited", 5);
  const send = (method, path, body) => fetch(own.url + path, {
    method, body, headers: { "Content-Type": "application/json", "X-Request-Id": "console-odd" },
  });
  const blocked = `/api/events/${event.id}/seats/block`;
  for (const body of ['{"seatIds":null}', '{"seatIds":{"length":2}}', "[1]", "nonsense", "null"]) await send("POST", blocked, body);
  await send("POST", "/api/seating-plans", '{"name":{"toString":1}}');
  await send("POST", blocked, JSON.stringify({ seatIds: Array.from({ length: 400 }, (_, n) => `long-seat-${n}`) }));
  await send("POST", "/api/users", '{"name":"Ada","email":"ada-audit@example.com"}');
  const page = await open(browser, `${own.url}/console#/audit`);
  const rows = page.getByRole("table").locator("tbody tr");
  await until("all entries are listed", async () => (await rows.count()) === 8);
  const text = await page.locator("#page").innerText();
  assert.match(text, /long-seat-0/);
  assert.doesNotMatch(text, /blocked 0 seats|undefined|ada-audit/);
  expectNoErrors(page);
});
