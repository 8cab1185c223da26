// The receivers of docs/webhooks.md and examples/webhooks, exactly as they are there: they are built and run, and get changes from real
// processes.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHTTPServer } from "node:http";
import { createServer } from "node:net";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Webhook } from "standardwebhooks";
import { Holdfast, until } from "./harness.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (name) => readFileSync(`${root}${name}`, "utf8");

// block is the last block of code in a language of the page.
const block = (language) => [...read("docs/webhooks.md").matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "gms"))].at(-1)[1];

// folder makes a folder inside of the project, so that the programs find its packages.
function folder(t, parent) {
  mkdirSync(`${root}${parent}`, { recursive: true });
  const path = mkdtempSync(`${root}${parent}/receiver-`);
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

const languages = {
  Go: (t) => {
    const path = folder(t, ".build");
    writeFileSync(`${path}/main.go`, block("go"));
    execFileSync("go", ["build", "-o", `${path}/receiver`, `${path}/main.go`], { cwd: root, stdio: "inherit" });
    return [`${path}/receiver`, []];
  },
  JavaScript: (t) => {
    const path = folder(t, "tools/browser/node_modules/.receivers");
    writeFileSync(`${path}/receiver.mjs`, read("examples/webhooks/receiver.mjs"));
    return [process.execPath, [`${path}/receiver.mjs`], { INBOX: `${path}/inbox.jsonl` }];
  },
};

// freePort is a port that nothing listens on.
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().on("error", reject).listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

// Receiver runs a program, and keeps the lines that it prints.
class Receiver {
  printed = "";

  constructor(t, program, port, secret, database) {
    Object.assign(this, { program, port });
    this.environment = {
      ...process.env, PORT: String(port), WEBHOOK_SECRET: secret, MONGODB_URI: process.env.HOLDFAST_TEST_MONGODB_URI, MONGODB_DATABASE: database,
    };
    t.after(() => this.kill());
  }

  async start() {
    const [command, args, settings] = this.program;
    this.process = spawn(command, args, { env: { ...this.environment, ...settings }, stdio: ["ignore", "pipe", "inherit"] });
    this.process.stdout.on("data", (text) => { this.printed += text; });
    await until("the receiver listens", async () => (await this.post("{}", {})) === 401);
  }

  async kill() {
    if (!this.process || this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = new Promise((resolve) => { this.process.on("exit", resolve); });
    this.process.kill("SIGKILL");
    await ended;
  }

  // post returns the status of the answer.
  async post(body, headers) {
    const response = await fetch(`http://127.0.0.1:${this.port}/`, { method: "POST", body, headers });
    await response.arrayBuffer();
    return response.status;
  }

  count(line) {
    return this.printed.split("\n").filter((l) => l === line).length;
  }
}

// signed are the headers of a delivery.
function signed(secret, id, body, at = new Date()) {
  return {
    "webhook-id": id, "webhook-timestamp": String(Math.floor(at.getTime() / 1000)), "webhook-signature": new Webhook(secret).sign(id, at, body),
  };
}

for (const [language, build] of Object.entries(languages)) {
  test(`the receiver in ${language} verifies, works each change once, and keeps what is newer`, async (t) => {
    const holdfast = await Holdfast.start(t, { WEBHOOK_ALLOW_PRIVATE: "true" });
    const old = await holdfast.event("Before the endpoint", 10);
    const port = await freePort();
    const endpoint = await holdfast.ask("POST", "/api/webhooks", { url: `http://127.0.0.1:${port}/`, types: ["holdfast.event.*", "holdfast.lock.*"] });
    const receiver = new Receiver(t, build(t), port, endpoint.secret, `${holdfast.environment.MONGODB_DATABASE}_shop`);
    await receiver.start();
    const worked = (line, n = 1) => until(`${line}, ${n} times`, () => receiver.count(line) === n);
    const rename = async (event) => holdfast.ask("PATCH", `/api/events/${event.id}`, { name: randomUUID() });

    const tested = await holdfast.ask("POST", `/api/webhooks/${endpoint.id}/test`);
    assert.equal(tested.status, 204, JSON.stringify(tested));
    await worked(`worked holdfast.webhook.test webhooks/${endpoint.id}`);

    const lock = await holdfast.lock(old, 2);
    await worked(`worked holdfast.lock.created locks/${lock.id}`);
    await rename(old);
    await worked(`worked holdfast.event.changed events/${old.id}`);

    const { items } = await holdfast.ask("GET", "/api/changes?type=holdfast.lock.created");
    const change = JSON.stringify(items[0]);
    const headers = signed(endpoint.secret, items[0].id, change);
    assert.equal(await receiver.post(change.replace('"seats":2', '"seats":9'), headers), 401, "a tampered body");
    assert.equal(await receiver.post(change, { ...headers, "webhook-id": "another" }), 401, "another ID");
    assert.equal(await receiver.post(change, signed(`whsec_${randomBytes(32).toString("base64")}`, items[0].id, change)), 401, "another secret");
    assert.equal(await receiver.post(change, signed(endpoint.secret, items[0].id, change, new Date(Date.now() - 600_000))), 401, "an old try");
    assert.equal(await receiver.post(change, headers), 204, "a repeat");

    // A replay sends the lock's change again, with the same ID, and the event's creation for the first time, after its change.
    const listed = async (state) => (await holdfast.ask("GET", `/api/webhooks/${endpoint.id}/deliveries?state=${state}`)).items.length;
    await until("both deliveries are noted", async () => (await listed("DELIVERED")) === 2);
    const { deliveries } = await holdfast.ask("POST", `/api/webhooks/${endpoint.id}/replay`, {});
    assert.equal(deliveries, 3);
    await worked(`old holdfast.event.created events/${old.id}`);

    // What was received before a crash is a repeat after it, too.
    await receiver.kill();
    const late = await holdfast.event("While the receiver was down", 5);
    await receiver.start();
    assert.equal(await receiver.post(change, headers), 204, "a repeat after the crash");
    await worked(`worked holdfast.event.created events/${late.id}`);
    assert.equal(receiver.count(`worked holdfast.lock.created locks/${lock.id}`), 1);
    assert.equal(receiver.count(`old holdfast.lock.created locks/${lock.id}`), 0);
    await until("all is delivered", async () => (await listed("PENDING")) === 0 && (await listed("DELIVERED")) === 4);

    // The receiver goes on with the previous secret until the overlap ends.
    const { secret } = await holdfast.ask("POST", `/api/webhooks/${endpoint.id}/rotate-secret`);
    await rename(late);
    await worked(`worked holdfast.event.changed events/${late.id}`);
    receiver.environment.WEBHOOK_SECRET = secret;
    await receiver.kill();
    await receiver.start();
    await rename(late);
    await worked(`worked holdfast.event.changed events/${late.id}`, 2);
  });
}

// plain replaces what differs from run to run: IDs, times, and the name of the database.
const plain = (text) => text.replace(/\b[0-9a-f]{24}\b/g, "<id>").replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>").replace(/\/holdfast\/\w+/, "/holdfast/<database>");

test("a delivery is what the page shows", async (t) => {
  const holdfast = await Holdfast.start(t, { WEBHOOK_ALLOW_PRIVATE: "true", API_KEYS: "shop:admin:sesame-open-to-me" });
  let secret = "";
  const received = new Promise((resolve, reject) => {
    const server = createHTTPServer(async (request, response) => {
      let body = "";
      for await (const part of request.setEncoding("utf8")) body += part;
      response.writeHead(204).end();
      try {
        new Webhook(secret).verify(body, request.headers);
        resolve({ headers: request.headers, body });
      } catch (error) {
        reject(error);
      }
    });
    t.after(() => server.close());
    server.listen(0, "127.0.0.1", async () => {
      const request = { url: `http://127.0.0.1:${server.address().port}/`, types: ["holdfast.booking.confirmed"] };
      ({ secret } = await holdfast.ask("POST", "/api/webhooks", request, "sesame-open-to-me"));
      const event = await holdfast.event("Shown", 10, "sesame-open-to-me");
      const lock = await holdfast.lock(event, 2, 600, "sesame-open-to-me");
      const booking = await holdfast.ask("POST", "/api/bookings",
        { userId: lock.userId, eventId: event.id, lockId: lock.id, paymentTtlSeconds: 600 }, "sesame-open-to-me");
      await fetch(`${holdfast.url}/api/bookings/${booking.id}/confirm`, {
        method: "POST", body: JSON.stringify({ paymentReference: "pi_4711" }),
        headers: { "Content-Type": "application/json", Authorization: "Bearer sesame-open-to-me", "X-Request-Id": "cart-17" },
      });
    });
  });
  const { headers, body } = await received;
  const [head, shown] = block("http").split("\n\n");
  assert.equal(plain(JSON.stringify(JSON.parse(body))), plain(JSON.stringify(JSON.parse(shown))));
  for (const line of head.split("\n").slice(1)) {
    const [name, value] = line.split(": ");
    const same = name.startsWith("webhook-") ? (text) => plain(text).replace(/\d{10}/, "<seconds>").replace(/v1,[\w+/]{43}=/g, "v1,<signature>") : plain;
    assert.equal(same(headers[name.toLowerCase()]), same(value), name);
  }
});
