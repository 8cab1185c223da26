// The console's pages of webhooks: endpoints, their secrets, tests, deliveries and replays.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, afterEach, test } from "node:test";
import { Webhook } from "standardwebhooks";
import { Holdfast, accessible, browse, expectNoErrors, fits, open, until } from "./harness.mjs";

const holdfast = await Holdfast.start({ after }, { WEBHOOK_ALLOW_PRIVATE: "true", API_KEYS: "ann:admin:secret-key-of-ann" });
const browser = await browse({ after, afterEach });
const key = "secret-key-of-ann";

const card = (page, name) => page.getByRole("region", { name, exact: true });

// as opens the console with the key.
async function as(hash) {
  const page = await open(browser, `${holdfast.url}/console#/${hash}`, { permissions: ["clipboard-read", "clipboard-write"] });
  await page.getByLabel("Secret of a key").fill(key);
  await page.getByRole("button", { name: "Use this key" }).click();
  return page;
}

// receive listens, and keeps what it gets.
async function receive(t) {
  const receiver = { status: 204, got: [] };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request.setEncoding("utf8")) body += part;
    receiver.got.push({ headers: request.headers, body });
    response.writeHead(receiver.status).end();
  });
  t.after(() => new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  }));
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  receiver.url = `http://127.0.0.1:${server.address().port}/hook`;
  return receiver;
}

// isSigned reports whether the latest delivery was signed with a secret.
function isSigned({ got }, secret) {
  const { headers, body } = got.at(-1);
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

const create = (url, types) => holdfast.ask("POST", "/api/webhooks", { url, types }, key);

// drop removes what a test has created, so that the next one begins without endpoints.
async function drop() {
  const { items } = await holdfast.ask("GET", "/api/webhooks", undefined, key);
  for (const { id } of items) {
    const { status } = await fetch(`${holdfast.url}/api/webhooks/${id}`, { method: "DELETE", headers: { Authorization: `Bearer ${key}` } });
    assert.equal(status, 204);
  }
}

test("an operator creates an endpoint, whose secret is shown once, tests it, changes its secret and its state, and deletes it", async (t) => {
  const receiver = await receive(t);
  const page = await as("");
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Webhooks" }).click();
  await page.getByText("There are no endpoints.").waitFor();

  const form = page.getByRole("form", { name: "New endpoint" });
  const url = form.getByLabel("URL");
  await url.fill("ftp://example.com/");
  await form.getByRole("button", { name: "Create the endpoint" }).click();
  await until("the URL is refused at its field", async () => (await url.getAttribute("aria-invalid")) === "true");
  await url.fill(`${receiver.url}?a=%3Cimg+src=x+onerror=alert(1)%3E`);
  await form.getByLabel("Types").fill("holdfast.<b>event</b>");
  await form.getByRole("button", { name: "Create the endpoint" }).click();
  await until("the types are refused at their field", async () => (await form.getByLabel("Types").getAttribute("aria-invalid")) === "true");
  assert.equal(await url.getAttribute("aria-invalid"), null);
  await form.getByLabel("Types").fill("holdfast.event.*, holdfast.lock.created");
  await form.getByLabel("ID of an event").fill("1".repeat(24));
  await form.getByRole("button", { name: "Create the endpoint" }).click();
  await form.getByRole("alert").getByText("EVENT_NOT_FOUND").waitFor();
  await form.getByLabel("ID of an event").fill("");
  await form.getByRole("button", { name: "Create the endpoint" }).click();

  const created = card(page, "New endpoint").getByRole("group", { name: "Secret" });
  const secret = await created.locator("code").innerText();
  assert.match(secret, /^whsec_/);
  await created.getByRole("button", { name: "Copy the secret" }).click();
  await until("the secret is in the clipboard", async () => (await page.evaluate(() => navigator.clipboard.readText())) === secret);
  const row = page.getByRole("table", { name: "Endpoints" }).locator("tbody tr");
  await until("the endpoint is listed", async () =>
    /hook\?a=[^]*holdfast\.event\.\*, holdfast\.lock\.created[^]*ENABLED[^]*0 pending, 0 dead[^]*none/.test(await row.innerText()));
  await accessible(page);
  await row.getByRole("link").first().click();

  const endpoint = card(page, "Endpoint");
  await endpoint.getByText("holdfast.event.*, holdfast.lock.created").waitFor();
  assert.ok(!(await page.content()).includes(secret), "the secret is still in the page");
  await endpoint.getByRole("button", { name: "Send a test event" }).click();
  await endpoint.getByText("The endpoint accepted the event. (status 204").waitFor();
  assert.ok(isSigned(receiver, secret));
  receiver.status = 500;
  await endpoint.getByRole("button", { name: "Send a test event" }).click();
  await endpoint.getByText(/another status than 2xx\. \(status 500/).waitFor();
  receiver.status = 204;

  const rotation = endpoint.getByRole("form", { name: "New secret" });
  await rotation.getByLabel("Hours").fill("0");
  await rotation.getByRole("button", { name: "Make a new secret" }).click();
  const second = await endpoint.getByRole("group", { name: "Secret" }).locator("code").innerText();
  assert.notEqual(second, secret);
  await endpoint.getByRole("button", { name: "Send a test event" }).click();
  await endpoint.getByText("The endpoint accepted the event.").waitFor();
  assert.deepEqual([isSigned(receiver, secret), isSigned(receiver, second)], [false, true]);
  await rotation.getByLabel("Hours").fill("1.5");
  await rotation.getByRole("button", { name: "Make a new secret" }).click();
  await until("there is a third secret", async () => (await endpoint.getByRole("group", { name: "Secret" }).locator("code").innerText()) !== second);
  await endpoint.getByRole("button", { name: "Send a test event" }).click();
  await until("the third event has come", async () => receiver.got.length === 4);
  assert.ok(isSigned(receiver, second), "the previous secret signs too");

  await endpoint.getByRole("button", { name: "Disable" }).click();
  await endpoint.getByText("DISABLED by an operator").waitFor();
  await endpoint.getByRole("button", { name: "Enable", exact: true }).click();
  await endpoint.getByText("ENABLED").waitFor();
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 844 });
    await fits(page);
    await accessible(page);
  }

  await endpoint.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Keep it" }).click();
  await endpoint.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete the endpoint" }).click();
  await page.getByText("There are no endpoints.").waitFor();

  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Audit" }).click();
  const audit = page.getByRole("table", { name: "Audit" });
  await until("the audit has it", async () => {
    const text = await audit.innerText();
    return /deleted the endpoint[^]*state ENABLED[^]*state DISABLED[^]*overlapSeconds 5400[^]*sent a test event[^]*created an endpoint: [^]*127\.0\.0\.1/.test(text) &&
      !text.includes("whsec_") && !text.includes("/hook") && !text.includes("onerror");
  });
  expectNoErrors(page);
});

test("deliveries are listed by state and in pages, and past changes are replayed", async (t) => {
  await drop();
  const receiver = await receive(t);
  const { id } = await create(receiver.url, ["holdfast.event.created"]);
  const events = [];
  for (let n = 0; n < 60; n += 1) events.push(await holdfast.event(`Event ${n}`, 5, key));
  const listed = async (state) => (await holdfast.ask("GET", `/api/webhooks/${id}/deliveries?pageSize=500&state=${state}`, undefined, key)).items;
  await until("all are delivered", async () => (await listed("DELIVERED")).length === 60);

  const page = await as(`webhooks/${id}`);
  const deliveries = card(page, "Deliveries");
  const rows = deliveries.getByRole("table").locator("tbody tr");
  await until("a page is shown", async () => (await rows.count()) === 50);
  await deliveries.getByRole("link", { name: "Older" }).click();
  await until("the rest is shown", async () => (await rows.count()) === 10);
  await deliveries.getByRole("link", { name: "Newest" }).click();
  await until("the first page is shown", async () => (await rows.count()) === 50);
  assert.match(await rows.first().innerText(), /holdfast\.event\.created[^]*event …[0-9a-f]{8}[^]*DELIVERED[^]*1[^]*204/);

  receiver.status = 503;
  const failing = await holdfast.event("Failing", 5, key);
  await until("it is pending", async () => (await listed("PENDING")).length === 1);
  await deliveries.getByLabel("State").selectOption("PENDING");
  await deliveries.getByRole("button", { name: "Filter" }).click();
  await until("it is shown", async () => (await rows.count()) === 1 && /PENDING[^]*503[^]*UTC/.test(await rows.first().innerText()));
  assert.ok((await rows.first().getByRole("link").getAttribute("href")).endsWith(`events/${failing.id}`));
  await page.goto(`${holdfast.url}/console#/webhooks`);
  await until("the list has it", async () => /1 pending, 0 dead[^]*(PENDING|DELIVERED)/.test(await page.getByRole("table", { name: "Endpoints" }).innerText()));
  receiver.status = 204;
  await until("it is delivered", async () => (await listed("PENDING")).length === 0);

  await page.goto(`${holdfast.url}/console#/webhooks/${id}?state=DEAD`);
  await deliveries.getByText("No deliveries.").waitFor();
  const replay = page.getByRole("form", { name: "Replay" });
  await replay.getByLabel("Changes since").fill("<i>yesterday</i>");
  await replay.getByRole("button", { name: "Replay" }).click();
  await until("the time is refused at its field", async () => (await replay.getByLabel("Changes since").getAttribute("aria-invalid")) === "true");
  await replay.getByLabel("Changes since").fill("2020-01-01T00:00:00Z");
  await replay.getByLabel("Before").fill("2020-01-02T00:00:00Z");
  await replay.getByRole("button", { name: "Replay" }).click();
  await card(page, "Replay").getByText("0 deliveries planned.").waitFor();
  await replay.getByLabel("Before").fill("");
  await replay.getByLabel("Types").fill("holdfast.event.*");
  const before = receiver.got.length;
  await replay.getByRole("button", { name: "Replay" }).click();
  await card(page, "Replay").getByText("61 deliveries planned.").waitFor();
  await until("all come again", async () => receiver.got.length >= before + 61);
  const again = new Set(receiver.got.slice(before).map(({ headers }) => headers["webhook-id"]));
  assert.equal(again.size, 61);
  for (const { id: event } of events) assert.ok(again.has(`events-${event}-0-event.created`), event);
  expectNoErrors(page);
});

test("what fails is told in place", async () => {
  await drop();
  const { id } = await create("http://127.0.0.1:1/nothing", ["*"]);
  const page = await as(`webhooks/${id}`);
  const endpoint = card(page, "Endpoint");
  await endpoint.getByRole("button", { name: "Send a test event" }).click();
  await endpoint.getByText(/No connection to the endpoint.*\(no answer/).waitFor();
  await drop(); // in another tab
  await endpoint.getByRole("button", { name: "Disable" }).click();
  await endpoint.getByRole("alert").getByText("WEBHOOK_NOT_FOUND").waitFor();
  await card(page, "Deliveries").getByRole("button", { name: "Refresh" }).click();
  await card(page, "Deliveries").getByRole("alert").getByText("WEBHOOK_NOT_FOUND").waitFor();
  await page.reload();
  await page.getByText("WEBHOOK_NOT_FOUND").first().waitFor();
  expectNoErrors(page);
});
