// The packages @holdfast/seats, @holdfast/seats-react and @holdfast/plan-editor, as scripts/picker packs them, in an empty project: compiled, bundled, and used in Chromium.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHmac, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { Holdfast, browse, open, until } from "./harness.mjs";
import { click, held, holds, studio } from "./picker.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const modules = `${root}tools/packages/node_modules/`;
const tarball = (name) => `${root}.build/clients/${name}-${JSON.parse(read("picker/package.json")).version}.tgz`;
const [seats, seatsReact, planEditor] = ["holdfast-seats", "holdfast-seats-react", "holdfast-plan-editor"].map(tarball);
const project = mkdtempSync(join(tmpdir(), "holdfast-seats-"));
after(() => rmSync(project, { recursive: true }));

function read(name) { return readFileSync(root + name, "utf8"); }
const write = (name, text) => writeFileSync(join(project, name), text);
const codeOf = (name, language) => [...read(name).matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(([, code]) => code);

// run runs a program in the project, and returns what it prints.
const run = (program, ...args) => new Promise((resolve, reject) => {
  execFile(program, args, { cwd: project, timeout: 300_000 }, (error, out, log) => {
    if (error) reject(new Error(`${program} ${args.join(" ")}: ${error.message}\n${out}${log}`));
    else resolve(out);
  });
});
const tool = (name, ...args) => run(`${modules}.bin/${name}`, ...args);

// The shop's server has what was bundled, on another origin than Holdfast.
const types = { ".html": "text/html", ".js": "text/javascript" };
const shop = createServer(async (request, response) => {
  const path = new URL(request.url, "http://shop").pathname;
  if (path.startsWith("/holdfast/")) { // its back end passes on what its own people ask
    const answer = await fetch(holdfast.url + request.url.slice("/holdfast".length), {
      method: request.method, body: request, duplex: "half", headers: { Authorization: `Bearer ${key}`, "Content-Type": request.headers["content-type"] },
    });
    response.writeHead(answer.status, { "Content-Type": answer.headers.get("Content-Type") }).end(await answer.text());
    return;
  }
  try {
    const text = readFileSync(join(project, path.endsWith("/") ? `${path}index.html` : path));
    response.writeHead(200, { "Content-Type": types[extname(path)] ?? types[".html"] }).end(text);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((resolve) => { shop.listen(0, "127.0.0.1", resolve); });
after(() => shop.close());
const origin = `http://127.0.0.1:${shop.address().port}`;
const [key, secret] = [randomBytes(16).toString("hex"), randomBytes(32).toString("hex")];
const holdfast = await Holdfast.start({ after }, { API_KEYS: `shop:admin:${key}`, JWT_SECRET: secret, CORS_ORIGINS: origin });
const browser = await browse({ after, afterEach });

// tokenOf signs a guest's token, as the shop's back end does.
function tokenOf(holder) {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${encode({ alg: "HS256", typ: "JWT" })}.${encode({ holder, exp: Math.floor(Date.now() / 1000) + 3600 })}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

const { id: planID } = await holdfast.ask("POST", "/api/seating-plans", studio(), key);
const event = await holdfast.ask("POST", "/api/events", { name: "Packed", seatingPlanId: planID, eventDate: "2027-06-15T19:00:00Z" }, key);
// real puts the server and the event into an example of a README.
const real = (code) => code.replace("https://tickets.example", holdfast.url).replace("6b068ff364c6c697c11a1865", event.id);
const locksOf = async (holder) => (await holdfast.ask("GET", `/api/locks?eventId=${event.id}&status=ACTIVE&pageSize=100`, undefined, key)).items.filter((l) => l.holder === holder);

before(async () => {
  await run(`${root}scripts/picker`, "--pack");
  write("package.json", JSON.stringify({ name: "shop", private: true, type: "module" }));
  // What a shop has of the registry, by the versions of the lock file.
  const others = ["react", "react-dom", "scheduler", "@types/react", "@types/react-dom", "csstype"].map((name) => modules + name);
  const packed = (await run("npm", "pack", "--silent", "--ignore-scripts", ...others)).trim().split("\n");
  await run("npm", "install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", seats, seatsReact, planEditor, ...packed.map((name) => `./${name}`));
});

test("the packages are laid out as bundlers expect, and the module is small", async () => {
  for (const packed of [seats, seatsReact, planEditor]) await tool("publint", "run", packed, "--strict");
  const dist = join(project, "node_modules/@holdfast/seats/dist");
  assert.ok(gzipSync(readFileSync(join(dist, "holdfast-seats.js"))).length <= 40_000);
  // What it loads when it is needed has all of its code: no further request follows.
  const parts = readdirSync(join(dist, "holdfast-seats")).filter((name) => name.endsWith(".js"));
  assert.ok(parts.length > 0);
  for (const name of parts) {
    const code = readFileSync(join(dist, "holdfast-seats", name), "utf8");
    assert.doesNotMatch(code, /\bimport\b/, name);
    assert.ok(gzipSync(code).length <= 4000, name);
  }
});

test("the custom elements manifest has what the README documents, and nothing else", () => {
  const installed = join(project, "node_modules/@holdfast/seats");
  const { customElements, exports, types: declared } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  assert.equal(exports["."].types, declared);
  const manifest = JSON.parse(readFileSync(join(installed, customElements), "utf8"));
  const [element, ...others] = manifest.modules.flatMap((m) => m.declarations);
  assert.deepEqual([element.tagName, element.name, others], ["holdfast-seats", "HoldfastSeats", []]);

  const readme = read("picker/README.md");
  const section = (title) => readme.split(`\n## ${title}\n`)[1].split("\n## ")[0];
  const code = (text) => [...text.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
  const column = (title) => section(title).split("\n").filter((line) => line.startsWith("| `")).flatMap((line) => code(line.split("|")[1]));
  const look = section("Look").split("\n\n");
  const members = column("Properties and methods");
  const documented = {
    attributes: column("Attributes"), events: column("Events"),
    fields: members.filter((m) => !m.includes("(")), methods: members.filter((m) => m.includes("(")).map((m) => m.slice(0, m.indexOf("("))),
    cssProperties: code(look[0]).filter((name) => name.startsWith("--holdfast-")), cssParts: code(look.find((text) => text.startsWith("Parts:"))),
  };
  const sorted = (names) => [...new Set(names)].sort();
  const ofKind = (kind) => element.members.filter((m) => m.kind === kind);
  for (const [what, list] of Object.entries({ ...element, fields: ofKind("field"), methods: ofKind("method") }).filter(([name]) => name in documented)) {
    assert.deepEqual(sorted(list.map((one) => one.name)), sorted(documented[what]), what);
    assert.ok(list.every((one) => one.description), what);
    if (what === "attributes" || what === "events" || what === "fields") assert.ok(list.every((one) => one.type?.text), what);
    delete documented[what];
  }
  assert.deepEqual(documented, {});

  // What it is compared with is in the source too.
  const source = ["element", "list", "map", "minimap", "panel", "waiting"].map((name) => read(`picker/src/${name}.js`)).join("");
  assert.deepEqual(sorted(element.cssParts.map((p) => p.name)), sorted([...source.matchAll(/\bpart: "(\w+)"/g)].map(([, name]) => name)));
  assert.deepEqual(sorted(element.cssProperties.map((p) => p.name)), sorted(read("picker/src/style.js").match(/--holdfast-[a-z]+(-[a-z]+)*/g)));
});

test("programs of shops compile, and their mistakes do not", async () => {
  write("shop.ts", `
import { HoldfastSeats, version, type BestOptions, type HoldfastSeatsError, type HoldfastSeatsEventDetails, type HoldfastSeatsEventMap, type Lock,
  type Selected, type SelectedPlaces, type SelectedSeat, type WaitlistEntry } from "@holdfast/seats";

const map = document.createElement("holdfast-seats");
const same: HoldfastSeats | null = document.querySelector("holdfast-seats");
const html: HTMLElement = map;
map.token = async () => "token";
map.token = "token";
map.prices = { stalls: 45, box: "from €60" };
map.selectable = map.selectable === null ? ["stalls"] : null;
map.words = { stage: "Bühne", free: (n: number) => \`\${n} frei\` };
map.paying = !map.paying;
map.addEventListener("ready", function ({ detail }) { const n: number = detail.seats; this.showSeat(detail.event + String(n)); });
map.addEventListener("seatselected", ({ detail: { seat, selected, selection } }) => { const all: [SelectedSeat, boolean, Selected[]] = [seat, selected, selection]; return all; });
map.addEventListener("placesselected", ({ detail }) => { const places: SelectedPlaces = detail.places; return places.seats * Number(places.price); });
map.addEventListener("holdchanged", (event: HoldfastSeatsEventMap["holdchanged"]) => { const until: string | undefined = event.detail.expiresAt; return until; });
map.addEventListener("holdexpired", ({ detail }) => { const lock: Lock | null = detail.lock; return lock?.places[0]?.seatId; });
map.addEventListener("waitlistchanged", ({ detail }) => { const entry: WaitlistEntry | null = detail.entry; return entry?.position; });
map.addEventListener("error", ({ detail }) => { const error: HoldfastSeatsError = detail; return error.retrying; });
map.addEventListener("click", (event) => event.clientX);
const first: HoldfastSeatsEventDetails["holdexpired"] = { lock: null };
const options: BestOptions = { categories: ["stalls"], adjacent: "REQUIRED" };
const [selected] = map.selection;
if (selected !== undefined && "id" in selected) map.showSeat(selected.id);
const locks: Lock[] = await map.hold();
await map.best(2, options);
const entry: WaitlistEntry | null = await map.joinWaitlist(2, options);
await map.leaveWaitlist();
await map.release();
await map.finish(map.locks.map((lock) => lock.id));
const open: WaitlistEntry | null = map.waitlistEntry;
console.log(version, same, html, first, locks, entry, open);
// @ts-expect-error: it is a number
map.best("2");
// @ts-expect-error: it can't be set
map.selection = [];
// @ts-expect-error: there is no such status
if (locks[0]?.status === "HELD") console.log();
// @ts-expect-error: there is no such text
map.words = { stages: "" };
// @ts-expect-error: there is no such detail
map.addEventListener("ready", ({ detail }) => detail.rows);
// @ts-expect-error: it is of the element alone
map.root.remove();
`);
  write("shop.tsx", `
import { useRef } from "react";
import type { HoldfastSeats as SeatsElement } from "@holdfast/seats";
import { HoldfastSeats, type HoldfastSeatsProps } from "@holdfast/seats-react";

const look: HoldfastSeatsProps = { event: "e", theme: "dark" };
export function Shop() {
  const map = useRef<SeatsElement>(null);
  return <HoldfastSeats {...look} ref={map} hold="checkout" maxSeats={4} prices={{ stalls: 45 }} selectable={["stalls"]} onReady={() => void map.current?.best(2)}
    onHoldChanged={({ detail }) => console.log(detail.locks.map((lock) => lock.expiresAt))} />;
}
// @ts-expect-error: an event is needed
export const none = <HoldfastSeats />;
// @ts-expect-error: there is no such detail
export const wrong = <HoldfastSeats event="e" onReady={({ detail }) => detail.rows} />;
`);
  write("tsconfig.json", JSON.stringify({
    compilerOptions: {
      strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, verbatimModuleSyntax: true, skipLibCheck: false,
      target: "es2022", lib: ["es2022", "dom", "dom.iterable"], module: "nodenext", jsx: "react-jsx", noEmit: true, types: [],
    },
    files: ["shop.ts", "shop.tsx"],
  }));
  await tool("tsc", "-p", ".");
});

// usable chooses seats on a page, as a guest whose token the page has.
async function usable(page, holder, seat) {
  const map = page.locator("holdfast-seats");
  await until("the map is drawn", () => map.locator(".map").isVisible());
  assert.match(await map.evaluate((e) => getComputedStyle(e.shadowRoot.querySelector(".root")).display), /./);
  await click(map, seat);
  await holds(map, seat);
  const [lock] = await locksOf(holder);
  assert.deepEqual(lock.places.map((p) => p.seatId), [seat]);
  assert.deepEqual(page.errors, []);
  return map;
}

// give sets the token, unless the page does.
const give = (page, token) => page.locator("holdfast-seats").evaluate((e, value) => {
  e.told = []; // what holds() reports
  if (value !== undefined) e.token = value;
}, token);

test("the README's page, bundled by Vite, shows the map and holds a seat", async () => {
  const [, page] = codeOf("picker/README.md", "html");
  mkdirSync(join(project, "vite"));
  write("vite/index.html", `<!doctype html><html lang="fr"><title>Shop</title>${real(page)}</html>`);
  await tool("vite", "build", "vite", "--base", "/vite/dist/", "--logLevel", "warn");
  const opened = await open(browser, `${origin}/vite/dist/`);
  await give(opened, tokenOf("vite"));
  const map = await usable(opened, "vite", "A-1-1");
  assert.equal(await map.getByRole("heading").first().textContent(), "Vos places");
});

test("a module, bundled by esbuild, shows the map and holds a seat", async () => {
  mkdirSync(join(project, "esbuild"));
  write("esbuild/shop.js", `
import { HoldfastSeats, version } from "@holdfast/seats";
const map = new HoldfastSeats();
map.setAttribute("src", "${holdfast.url}");
map.setAttribute("event", "${event.id}");
map.token = async () => "${tokenOf("esbuild")}";
map.title = version;
map.lang = "pl";
map.told = [];
document.body.append(map);
`);
  write("esbuild/index.html", '<!doctype html><html lang="en"><title>Shop</title><body><script type="module" src="bundle.js"></script></body></html>');
  await tool("esbuild", "esbuild/shop.js", "--bundle", "--format=esm", "--minify", "--outfile=esbuild/bundle.js", "--log-level=warning");
  const page = await open(browser, `${origin}/esbuild/`);
  const map = await usable(page, "esbuild", "A-1-3");
  assert.equal(await map.getByRole("heading").first().textContent(), "Państwa miejsca");
  assert.equal(await map.getAttribute("title"), JSON.parse(read("picker/package.json")).version);
});

for (const [version, seat, aliases] of [[19, "A-2-1", {}], [18, "A-2-3", { react: `${modules}react-18`, "react-dom": `${modules}react-dom-18` }]]) {
  test(`the README's component, in React ${version} with Vite, shows the map, calls its handlers and follows its props`, async () => {
    const name = `react${version}`;
    const [component] = codeOf("picker/README.md", "jsx");
    assert.deepEqual(codeOf("picker/react/README.md", "jsx"), [component]);
    mkdirSync(join(project, name));
    write(`${name}/seats.jsx`, real(component));
    write(`${name}/shop.jsx`, `
import { StrictMode, createRef, useState, version } from "react";
import { createRoot } from "react-dom/client";
import { HoldfastSeats } from "@holdfast/seats-react";
import { Seats } from "./seats.jsx";

const map = createRef();
const token = () => window.token;
function Shop() {
  const [locks, setLocks] = useState([]);
  const [props, set] = useState({ isReadme: true });
  Object.assign(window, { set, map, version });
  if (props.isReadme) return <><Seats token={window.token} setLocks={setLocks} /><output>{locks.flatMap((l) => l.places.map((p) => p.seatId)).join()}</output></>;
  return <HoldfastSeats src="${holdfast.url}" event="${event.id}" ref={map} token={token} className="shop" prices={{ seats: 7 }} currency="EUR"
    onReady={({ detail }) => { window.ready = detail.seats; }} onSeatSelected={() => { window.selected = props.mark; }} {...props} />;
}
window.token = "${tokenOf(name)}";
createRoot(document.querySelector("#shop")).render(<StrictMode><Shop /></StrictMode>);
`);
    write(`${name}/index.html`, '<!doctype html><html lang="en"><title>Shop</title><div id="shop"></div><script type="module" src="shop.jsx"></script></html>');
    write(`${name}/vite.config.js`, `export default ${JSON.stringify({ base: `/${name}/dist/`, resolve: { alias: aliases } })};`);
    await tool("vite", "build", name, "--logLevel", "warn", "--config", `${name}/vite.config.js`);

    const page = await open(browser, `${origin}/${name}/dist/`);
    assert.equal(await page.evaluate(() => parseInt(window.version)), version);
    await give(page);
    let map = await usable(page, name, seat);
    await until("the handler got it", async () => (await page.locator("output").textContent()) === seat);
    const isReleased = () => until("it is released", async () => (await locksOf(name)).length === 0);
    await map.evaluate((e) => e.release());
    await isReleased();

    await page.evaluate(() => window.set({ hold: "checkout", maxSeats: 3, selectable: ["seats"] }));
    await page.waitForFunction(() => window.ready === 14);
    map = page.locator("holdfast-seats.shop");
    assert.deepEqual(await map.evaluate((e) => [e === window.map.current, e.getAttribute("hold"), e.getAttribute("max-seats"), typeof e.hold, e.prices, e.selectable]),
      [true, "checkout", "3", "function", { seats: 7 }, ["seats"]]);
    await give(page);

    // What has changed is set, and nothing else; the next event calls the next handler.
    await map.evaluate((e) => Object.defineProperty(e, "token", { set: () => { window.isSetAgain = true; }, configurable: true }));
    await page.evaluate(() => window.set({ hold: "checkout", maxSeats: 2, mark: "second" }));
    await page.waitForFunction(() => window.map.current.getAttribute("max-seats") === "2");
    assert.equal(await map.evaluate((e) => delete e.token && window.isSetAgain), undefined);
    await click(map, seat);
    await page.waitForFunction(() => window.selected === "second");
    assert.deepEqual(await held(map), []); // as hold says
    await map.evaluate((e) => e.hold());
    await holds(map, seat);
    await map.evaluate((e) => e.release());
    await isReleased();
    assert.deepEqual(page.errors, []);
  });
}

test("the component is rendered on a server", async () => {
  write("server.jsx", `
import { renderToString } from "react-dom/server";
import { HoldfastSeats } from "@holdfast/seats-react";
console.log(renderToString(<HoldfastSeats event="e" className="shop" onReady={() => {}} />));
`);
  await tool("esbuild", "server.jsx", "--bundle", "--packages=external", "--platform=node", "--format=esm", "--jsx=automatic", "--outfile=server.js", "--log-level=warning");
  assert.equal(await run(process.execPath, "server.js"), '<holdfast-seats class="shop"></holdfast-seats>\n');
});

test("the plan editor is compiled, bundled, draws, and asks the server", async () => {
  const readme = read("editor/README.md");
  const [embedding] = codeOf("editor/README.md", "html").slice(0, 1);
  const [program] = codeOf("editor/README.md", "js");
  mkdirSync(join(project, "drawing"));
  write("drawing/main.js", program);
  const [, body] = embedding.split("\n");
  write("drawing/index.html", `<!doctype html><html lang="en"><title>Hall</title><style>holdfast-plan-editor { height: 600px; }</style>${body}<script type="module" src="main.js"></script></html>`);
  write("drawing/types.ts", `
import { HoldfastPlanEditor, version, type Plan } from "@holdfast/plan-editor";
const editor: HoldfastPlanEditor = document.createElement("holdfast-plan-editor");
editor.token = async () => "secret";
editor.addEventListener("save", (event) => { const plan: Plan = event.detail.plan; console.log(plan.sections.length, version, event.currentTarget); });
editor.open();
editor.plan = { name: "Hall" };
const seats: number = editor.totalSeats;
void editor.keep("hall").then(() => editor.saved()).then(() => seats);
`);
  await tool("tsc", "--noEmit", "--strict", "--target", "esnext", "--module", "esnext", "--moduleResolution", "bundler", "--lib", "esnext,dom", "drawing/types.ts");
  write("drawing/vite.config.js", 'export default { base: "/drawing/dist/" };');
  await tool("vite", "build", "drawing", "--logLevel", "warn", "--config", "drawing/vite.config.js");

  const page = await open(browser, `${origin}/drawing/dist/`);
  const editor = page.locator("holdfast-plan-editor");
  const members = [...readme.split("\n## Properties and methods\n")[1].split("\n## ")[0].matchAll(/^\| (.*?) \|/gm)]
    .flatMap(([, cell]) => [...cell.matchAll(/`(\w+)/g)].map(([, name]) => name));
  const declared = [...read("editor/index.d.ts").split("declare class HoldfastPlanEditor")[1].split("\n}")[0].matchAll(/^ {2}(?:[gs]et )?(\w+)\??[(:]/gm)]
    .map(([, name]) => name).filter((name) => name !== "addEventListener");
  assert.deepEqual([...new Set(members)].sort(), [...new Set(declared)].sort());
  assert.deepEqual(await editor.evaluate((e, names) => names.filter((name) => !(name in e)), members), []);

  await editor.getByRole("button", { name: "Block of seats" }).click();
  const { x, y, width, height } = await editor.getByRole("application").boundingBox();
  await page.mouse.move(x + width / 3, y + height / 3);
  await page.mouse.down();
  await page.mouse.move(x + width / 2, y + height / 2, { steps: 4 });
  await page.mouse.up();
  const seats = await editor.evaluate((e) => e.totalSeats);
  assert.ok(seats > 3);
  await editor.getByRole("tab", { name: "Plan" }).click();
  await editor.getByLabel("Name of the plan").fill("Bundled");
  await editor.getByLabel("Name of the plan").press("Enter");
  await editor.evaluate((e) => e.save());
  await until("it is saved", async () => !await editor.evaluate((e) => e.isChanged));
  const { items } = await holdfast.ask("GET", "/api/seating-plans?pageSize=100", undefined, key);
  assert.deepEqual(items.filter((plan) => plan.name === "Bundled").map((plan) => plan.totalSeats), [seats]);
  assert.deepEqual(page.errors, []);
});
