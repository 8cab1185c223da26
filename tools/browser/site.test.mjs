// The site of the documents: scripts/site builds it, and fails if a link or an anchor is wrong.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { after, afterEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { browse, expectNoErrors, fits, open, until } from "./harness.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
await promisify(execFile)(join(root, "scripts/site"));

const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".svg": "image/svg+xml", ".png": "image/png" };
const server = createServer(async (request, response) => {
  let file = join(root, ".build/site", normalize(decodeURIComponent(new URL(request.url, "http://site").pathname)));
  if (file.endsWith("/")) {
    file += "index.html";
  }
  if (!await stat(file).then((s) => s.isFile(), () => false)) {
    return response.writeHead(404).end();
  }
  response.writeHead(200, { "Content-Type": types[extname(file)] ?? "application/octet-stream" });
  createReadStream(file).pipe(response);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const site = `http://127.0.0.1:${server.address().port}`;
const browser = await browse({ after, afterEach });
after(() => server.close());

test("the search finds a setting and a route", async () => {
  const page = await open(browser, `${site}/`);
  for (const [words, found] of [["RECOVERY_BOOT_WAIT", /operations|runbook|jobs/], ["waitlist decline", /api/]]) {
    await page.getByRole("textbox", { name: "Search" }).fill("");
    await page.getByRole("textbox", { name: "Search" }).pressSequentially(words);
    const links = page.locator(".md-search-result__link");
    await until(`${words} is found`, async () => (await links.evaluateAll((all) => all.map((a) => a.href))).some((href) => found.test(href)));
  }
  expectNoErrors(page);
});

test("the API's reference has its routes", async () => {
  const page = await open(browser, `${site}/api/`);
  const frame = page.frameLocator("iframe");
  await until("routes are listed", async () => await frame.locator(".opblock-tag").count() > 5);
  expectNoErrors(page);
});

test("diagrams are drawn, by what the site itself has", async () => {
  const page = await open(browser, `${site}/concepts/`);
  const hosts = new Set();
  page.on("request", (request) => hosts.add(new URL(request.url()).host));
  await page.reload();
  await until("all are drawn", async () => await page.locator("div.mermaid").count() === 3 && await page.locator("pre.mermaid").count() === 0);
  assert.deepEqual([...hosts], [new URL(site).host]);
  expectNoErrors(page);
});

test("a page is light or dark, as the visitor chooses, and fits on a phone", async () => {
  const page = await open(browser, `${site}/concepts/`, { viewport: { width: 390, height: 800 } });
  const scheme = () => page.evaluate(() => document.body.dataset.mdColorScheme);
  const first = await scheme();
  await page.locator("label[for^=__palette]:visible").click();
  await until("the other scheme is shown", async () => await scheme() !== first);
  await fits(page);
  expectNoErrors(page);
});
