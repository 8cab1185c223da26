// The packed tarball in an empty project: compiled and run as a module and as CommonJS, in Node, Bun, Deno and Chromium, and by
// the examples of its README.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { createServer as listen, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { after, test } from "node:test";
import { Api, folder, secret, tokenFor } from "./api.js";

const tarball = process.env["HOLDFAST_TARBALL"] ?? assert.fail("HOLDFAST_TARBALL is not set: run scripts/clients typescript");
const project = mkdtempSync(`${tmpdir()}/holdfast-client-`);
after(() => rmSync(project, { recursive: true }));
const write = (name: string, text: string): void => writeFileSync(`${project}/${name}`, text);

const page = createServer((request, response) => {
  if (request.url?.startsWith("/moved/")) response.writeHead(302, { Location: `${api.url}/api/events` }).end();
});
after(() => page.close());
await new Promise<void>((resolve) => { page.listen(0, "127.0.0.1", resolve); });
const origin = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
const api = await Api.start({ CORS_ORIGINS: origin });
const freePort = (): Promise<number> => new Promise((resolve) => {
  const server = listen().listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo;
    server.close(() => resolve(port));
  });
});
const nowhere = `http://127.0.0.1:${await freePort()}`; // nothing listens there
const environment = { ...process.env, HOLDFAST_URL: api.url, HOLDFAST_KEY: secret, HOLDFAST_NOWHERE: nowhere, HOLDFAST_MOVED: `${origin}/moved` };

function run(program: string, ...args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd: project, env: environment, timeout: 240_000 }, (error, out, log) => {
      if (error) reject(new Error(`${program} ${args.join(" ")}: ${error.message}\n${out}${log}`));
      else resolve(out);
    });
  });
}
const tool = (name: string): string => `${folder}node_modules/.bin/${name}`;

// A program of a shop, in TypeScript. It prints its last line if all went well.
const program = `
import { Holdfast, HoldfastError, SeatsUnavailable, hasCode, type Lock } from "@holdfast/client";
import { WebhookVerificationError, verifyWebhook } from "@holdfast/client/webhooks";

async function main(): Promise<void> {
  const shop = new Holdfast(process.env["HOLDFAST_URL"] ?? "", { key: process.env["HOLDFAST_KEY"] });
  const event = await shop.createEvent({ name: "Opening night", totalSeats: 3, eventDate: "2030-06-15T19:00:00Z" });
  const lock: Lock = await shop.acquireLock({ eventId: event.id, holder: "cart-1", seats: 2 });
  const booking = await shop.createBooking({ eventId: event.id, lockId: lock.id, holder: "cart-1", paymentTtlSeconds: 60 });
  const refused: unknown = await shop.acquireLock({ eventId: event.id, holder: "cart-2", seats: 2 }).catch((error) => error);
  if (!(refused instanceof SeatsUnavailable && refused instanceof HoldfastError && hasCode(refused, "SEATS_UNAVAILABLE"))) throw refused;
  const left: number = refused.available;
  for await (const message of shop.streamEvent(event.id)) {
    if (message.event === "availability" && message.data.availableSeats === left) break;
  }
  const nobody = new Holdfast(process.env["HOLDFAST_NOWHERE"] ?? "", { retryTimeout: 0 });
  const unsent: unknown = await nobody.deleteEvent(event.id).catch((error) => error);
  if (!(unsent instanceof HoldfastError) || unsent.outcomeUnknown) throw unsent;
  const moved = new Holdfast(process.env["HOLDFAST_MOVED"] ?? "");
  const redirected: unknown = await moved.createUser({ name: "Ada", email: "ada@example.com" }).catch((error) => error);
  if (!(redirected instanceof HoldfastError) || redirected.status !== 302) throw redirected;
  try {
    verifyWebhook("whsec_T3RoZXIgc2VjcmV0", "{}", new Headers());
    throw new Error("an unsigned delivery was accepted");
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
  }
  const ids = (await shop.listLocks({ eventId: event.id }).toArray()).map((one) => one.id);
  const sold = await shop.inEvent(event.id).confirmBooking(booking.id);
  console.log(sold.status, left, ids.length);
}
main();
`;
const printed = "CONFIRMED 1 1\n";

const blocksOf = (file: string): string[] => [...readFileSync(file, "utf8").matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => code ?? "");
const blocks = blocksOf(`${folder}README.md`);
// The lines of the project's README, for an API that wants a key.
const front = blocksOf(`${folder}../../README.md`).join("").replace('Holdfast("http://127.0.0.1:8080")', `Holdfast("${api.url}", { key: "${secret}" })`);

test("an empty project installs and compiles it", async () => {
  write("package.json", "{}");
  await run("npm", "install", "--no-audit", "--no-fund", "--prefer-offline", tarball);
  write("shop.mts", program);
  write("shop.cts", program);
  assert.ok(blocks.length >= 4);
  write("readme.mts", blocks.join("\n"));
  write("front.mts", front);
  const strict = { strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, target: "es2022", lib: ["es2022", "dom"] };
  const types = { typeRoots: [`${folder}node_modules/@types`], types: ["node"] };
  write("tsconfig.json", JSON.stringify({ compilerOptions: { ...strict, ...types, module: "nodenext" }, include: ["*.mts", "*.cts"] }));
  await run(tool("tsc"), "-p", ".");
});

for (const [runtime, program, ...args] of [
  ["Node, as a module", process.execPath, "shop.mjs"],
  ["Node, as CommonJS", process.execPath, "shop.cjs"],
  ["Bun", tool("bun"), "shop.mjs"],
  ["Deno", tool("deno"), "run", "--no-remote", "--allow-env", "--allow-net", "--allow-read", "shop.mjs"],
] as const) {
  test(`it runs in ${runtime}`, async () => assert.equal(await run(program, ...args), printed));
}

test("the examples of the README print what they say", async () => {
  const port = await freePort();
  write("readme.mjs", readFileSync(`${project}/readme.mjs`, "utf8").replaceAll("4300", String(port)));
  const said = blocks.join("").split("\n").flatMap((line) => /console\.log\(.*; \/\/ (.*)$/.exec(line)?.[1] ?? []);
  assert.ok(said.length >= 6);
  assert.deepEqual((await run(process.execPath, "readme.mjs")).trim().split("\n"), said);
});

test("the lines of the project's README sell seats", async () => {
  assert.match(front, /console\.log\(.*; \/\/ 1$/m);
  assert.equal(await run(process.execPath, "front.mjs"), "1\n");
});

test("publint and attw find nothing", async () => {
  await run(tool("publint"), "run", tarball, "--strict");
  await run(tool("attw"), tarball, "--profile", "node16"); // without the resolution of before package.json had exports
});

test("it runs in Chromium, with a customer's token", async () => {
  const event = await api.event({ totalSeats: 3 });
  const script = `
import { Holdfast, SeatsUnavailable } from "/esm/index.js";
let result;
try {
  const page = new Holdfast("${api.url}", { token: async () => "${tokenFor("cart-1")}" });
  const lock = await page.acquireLock({ eventId: "${event.id}", holder: "cart-1", seats: 2 });
  const again = await page.acquireLock({ eventId: "${event.id}", holder: "cart-1", seats: 2, idempotencyKey: lock.idempotencyKey });
  const refused = await page.acquireLock({ eventId: "${event.id}", holder: "cart-1", seats: 2 }).catch((error) => error);
  for await (const message of page.streamEvent("${event.id}")) {
    if (message.event === "availability" && message.data.availableSeats === 1) break;
  }
  const booking = await page.createBooking({ eventId: "${event.id}", lockId: lock.id, holder: "cart-1", paymentTtlSeconds: 60 });
  const redirected = await new Holdfast("/moved").createUser({ name: "Ada", email: "ada@example.com" }).catch((error) => error);
  result = [again.id === lock.id, again.replayed, refused instanceof SeatsUnavailable, refused.available, booking.status, redirected.status];
} catch (error) {
  result = String(error?.stack ?? error);
}
await fetch("/result", { method: "POST", body: JSON.stringify(result) });
`;
  const result = new Promise<string>((resolve) => {
    page.on("request", async (request: IncomingMessage, response) => {
      const path = request.url ?? "";
      if (path.startsWith("/moved/")) return;
      if (path === "/result") resolve(Buffer.concat(await request.toArray()).toString());
      response.setHeader("Content-Type", path === "/" ? "text/html" : "text/javascript");
      if (/^\/esm\/\w+\.js$/.test(path)) response.end(readFileSync(`${project}/node_modules/@holdfast/client/dist${path}`));
      else response.end(path === "/" ? '<script type="module" src="/page.js"></script>' : path === "/page.js" ? script : "");
    });
  });
  const chromium = process.env["HOLDFAST_TEST_CHROMIUM"] ?? assert.fail("HOLDFAST_TEST_CHROMIUM is not set: run scripts/clients typescript");
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", `--user-data-dir=${project}/profile`];
  const browser = spawn(chromium, [...flags, `${origin}/`], { stdio: "ignore" });
  const ended = new Promise((resolve) => { browser.on("exit", resolve); });
  const failed = ended.then((code) => `Chromium ended with ${String(code)}`);
  const said = await Promise.race([result, failed]);
  browser.kill();
  await ended;
  page.closeAllConnections();
  assert.equal(said, '[true,true,true,1,"PAYMENT_PENDING",302]');
});
