// What the tests of the seat map share: a small hall, a page with its map, and what is asked of it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { after, afterEach } from "node:test";
import { Holdfast, browse, open, until } from "./harness.mjs";

export const holdfast = await Holdfast.start({ after });
export const browser = await browse({ after, afterEach });
export const file = (name) => readFileSync(new URL(`../../${name}`, import.meta.url));

// studio is a hall of two rows of six seats, one of them for a wheelchair, a box of two, and 20 places to stand.
export const studio = (more = {}) => ({
  name: "Studio", categories: [{ key: "seats", name: "Seats" }, { key: "box", name: "Box" }, { key: "standing", name: "Standing" }], focalPoint: { x: 4, y: -3 },
  sections: [
    { key: "A", name: "Stalls", category: "seats", rows: [
      { key: "1", seats: [1, 2, 3, 4, 5, 6].map((n) => ({ id: `A-1-${n}`, label: String(n), x: n, y: 0, ...(n === 6 && { accessible: true }) })) },
      { key: "2", seats: [1, 2, 3, 4, 5, 6].map((n) => ({ id: `A-2-${n}`, label: String(n), x: n, y: 1.2, ...(n === 1 && { restrictedView: true }) })) },
    ] },
    { key: "B", name: "Box", category: "box", rows: [{ key: "1", adjacency: "ALL", seats: [{ id: "B-1-1", x: 9, y: 0 }, { id: "B-1-2", x: 10, y: 0 }] }] },
    { key: "pit", name: "Pit", category: "standing", capacity: 20, outline: [[1, 3], [6, 3], [6, 6], [1, 6]] },
  ], ...more,
});

export async function sell(plan, settings = {}, on = holdfast) {
  const { id } = await on.ask("POST", "/api/seating-plans", plan);
  return on.ask("POST", "/api/events", { name: plan.name, seatingPlanId: id, eventDate: "2027-06-15T19:00:00Z", ...settings });
}

// show opens a page with the map of an event for a new customer. options are those of open, and: user; on (another
// Holdfast than the file's); isReady false, to return at once; before(page), which is called before the map gets its event.
export async function show(event, attributes = {}, options = {}) {
  const { url } = options.on ?? holdfast;
  const user = options.user ?? (await (options.on ?? holdfast).user());
  const page = await open(browser, `${url}/demo/examples?event=`, options);
  await options.before?.(page);
  const map = page.locator("#first");
  await map.evaluate((e, { event, attributes, user }) => {
    e.told = [];
    for (const type of ["seatselected", "placesselected", "holdchanged", "holdexpired", "waitlistchanged", "error", "ready"]) e.addEventListener(type, ({ detail }) => e.told.push({ type, ...detail }));
    for (const [name, value] of Object.entries({ user, ...attributes, event })) e.setAttribute(name, value);
  }, { event: event.id, attributes, user: user.id });
  if (options.isReady !== false) await until("the map is ready", () => told(map, "ready").then((list) => list.length > 0));
  return { page, map, user };
}

export const told = (map, type) => map.evaluate((e, of) => e.told.filter((t) => t.type === of), type);
export const chosen = (map) => map.evaluate((e) => e.selection.map((s) => s.id ?? `${s.seats} in ${s.section}`));
export const held = (map) => map.evaluate((e) => e.locks.flatMap((l) => l.places.map((p) => p.seatId ?? `${l.seats} in ${p.section}`)));
export const holds = (map, ...seats) => until(`holds ${seats}`, async () => {
  const now = (await held(map)).sort();
  if (now.length === seats.length && now.every((s, i) => s === [...seats].sort()[i])) return true;
  throw new Error(`It holds ${now}, and told ${JSON.stringify(await map.evaluate((e) => e.told))}`);
});
const live = (map) => map.getByRole("status").textContent();
export const says = (map, text) => until(`says ${text}`, async () => text.test(await live(map)));

// positionOf is where a seat is on the page, when it moves no more.
export async function positionOf(map, seat) {
  await map.locator(".map").scrollIntoViewIfNeeded();
  await map.evaluate((e, id) => e.showSeat(id), seat);
  let [now, before] = [undefined, undefined];
  do {
    before = now;
    await map.page().waitForTimeout(60); // some frames
    now = await map.locator(".cursor").boundingBox();
  } while (now.x !== before?.x || now.y !== before?.y);
  return { x: now.x, y: now.y };
}

export async function click(map, seat) {
  const { x, y } = await positionOf(map, seat);
  await map.page().mouse.click(x, y);
}

export const locksOf = async (event) => (await holdfast.ask("GET", `/api/locks?eventId=${event.id}&status=ACTIVE`)).items;

// cable is a connection to a server that can be pulled out. It keeps what the server has sent since it was plugged in again.
export async function cable(t, to) {
  const sockets = new Set();
  let [isOut, received] = [false, ""];
  const server = createServer((socket) => {
    if (isOut) return socket.destroy();
    const { hostname, port } = new URL(to.url);
    const other = connect(Number(port), hostname).on("data", (text) => { received += text; });
    for (const [one, another] of [[socket, other], [other, socket]]) {
      sockets.add(one);
      one.on("error", () => {}).on("close", () => { sockets.delete(one); another.destroy(); }).pipe(another);
    }
    return undefined;
  });
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  t.after(() => server.close());
  return {
    url: `http://127.0.0.1:${server.address().port}`, user: () => to.user(),
    pull: () => { isOut = true; for (const s of sockets) s.destroy(); },
    plug: () => { [isOut, received] = [false, ""]; },
    get received() { return received; },
  };
}
