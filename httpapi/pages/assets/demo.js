// The demo shop. A tab is one customer, who locks, books and pays for seats.

import { WaitingBox, Waitlist, saleText, takesEntries, words } from "/assets/holdfast-seats.js";
import { ApiError, call, callWithRetry, key } from "./api.js";
import * as clock from "./clock.js";
import { byID, el, part, poll, setNumber, setOff, setText, updateList, whileOff } from "./dom.js";
import { showErrors, showToast } from "./feedback.js";
import { findSamples, sampleOf, samples, sellSamples } from "./samples.js";
import { subscribe } from "./stream.js";

const sessionName = "holdfast.demo";
const session = JSON.parse(sessionStorage.getItem(sessionName) ?? "{}"); // holder, eventID, lockIDs, bookingIDs, pendingLock
const saveSession = () => sessionStorage.setItem(sessionName, JSON.stringify(session));

let locks = []; // of one event: one, or one for numbered seats and one for each standing area
let bookings = []; // one for each lock, once the seats are booked
let selected = null; // event
let map = null; // of the selected event, if its seats are numbered

const randomHex = () => Array.from(crypto.getRandomValues(new Uint8Array(8)), (b) => b.toString(16).padStart(2, "0")).join("");

const maxLogEntries = 50;
const maxLogText = 300; // characters of a body: a seating plan is long

// request is call, shown in the log of the page. Idempotent requests are retried.
async function request(method, path, body, { idempotent = false } = {}) {
  let outcome = "";
  try {
    const result = await (idempotent ? callWithRetry : call)(method, path, body);
    outcome = result.status ?? "done";
    return result;
  } catch (error) {
    outcome = error instanceof ApiError ? `${error.status || "no answer"} ${error.code}` : String(error);
    throw error;
  } finally {
    if (method !== "GET") logRequest(method, path, body, outcome);
  }
}

function logRequest(method, path, body, outcome) {
  const log = byID("log");
  const text = body === undefined ? "" : JSON.stringify(body);
  log.prepend(el("li", {}, el("code", { textContent: `${method} ${path}` }), ` → ${outcome} `,
    el("span", { className: "soft", textContent: text.length > maxLogText ? `${text.slice(0, maxLogText)} …` : text })));
  if (log.children.length > maxLogEntries) log.lastChild.remove();
}

// Customer

// A guest has no account: the holder of the seats is the cart of the tab.
session.holder ??= `cart-${randomHex()}`;
saveSession();
setText(byID("customer"), session.holder);

// Events

const pageSize = 50;
let maxEvents = pageSize;
let sampleIDs = []; // of the samples on sale: they are first, and may be newer than all events that are listed

async function loadEvents() {
  const items = [];
  let token = "";
  do {
    const page = await call("GET", `/api/events?pageSize=${pageSize}${token === "" ? "" : `&pageToken=${token}`}`);
    items.push(...page.items);
    token = page.nextPageToken;
  } while (token !== "" && items.length < maxEvents);
  byID("more").hidden = token === "";
  const listed = new Map(items.map((e) => [e.id, e]));
  const first = await Promise.all(sampleIDs.map((id) => listed.get(id) ?? readEvent(id)));
  const shown = [...first.filter((e) => e !== null), ...items.filter((e) => !sampleIDs.includes(e.id))];
  updateList(byID("events"), shown, (e) => e.id, createEventItem, updateEventItem);
  const restored = shown.find((e) => e.id === session.eventID);
  if (selected === null && restored !== undefined) selectEvent(restored);
  else Object.assign(selected ?? {}, shown.find((e) => e.id === selected?.id)); // streams don't say whether its waiting list is open
}

// readEvent returns an event; null if the server has another database now.
async function readEvent(id) {
  try {
    return await call("GET", `/api/events/${id}`);
  } catch (error) {
    if (error.status !== 404) throw error;
    return null;
  }
}

function createEventItem(e) {
  return el("li", {}, el("button", { onclick: () => chooseEvent(e) }, el("span", { "data-part": "name" }),
    el("span", { className: "small soft number", "data-part": "seats" })));
}

function updateEventItem(li, e) {
  setText(part(li, "name"), e.name);
  if (e.id !== selected?.id) showEventSeats(li, e); // the stream updates the selected event
  li.firstChild.setAttribute("aria-pressed", String(e.id === selected?.id));
}

function showEventSeats(li, e) {
  const status = e.status === "ON_SALE" ? "" : ` · ${e.status}`;
  setText(part(li, "seats"), `${e.availableSeats.toLocaleString("en")} of ${e.totalSeats.toLocaleString("en")} available${status}`);
}

let unsubscribe = () => {};

// chooseEvent shows an event, and leads there: on a phone it is below the list.
function chooseEvent(e) {
  if (e.id !== selected?.id) selectEvent(e);
  byID("name").focus({ preventScroll: true });
  if (matchMedia("(max-width: 46rem)").matches) byID("event").scrollIntoView({ block: "start" });
}

function selectEvent(e) {
  unsubscribe();
  if (locks.length > 0 && locks[0].eventId !== e.id) leave();
  selected = e;
  isOnSale = true;
  setOff(byID("acquire"), false);
  session.eventID = e.id;
  saveSession();
  for (const li of byID("events").children) li.firstChild.setAttribute("aria-pressed", String(li.dataset.key === e.id));
  setText(byID("name"), e.name);
  byID("event").hidden = false;
  byID("choose").hidden = true;
  showMap(e);
  showLock();
  followWaitlist(e);
  showSeats(e);
  setText(byID("stream-state"), "Connecting …");
  unsubscribe = subscribe(`/api/events/${e.id}/stream`, (state) => {
    setText(byID("stream-state"), "Live updates");
    showSeats(state);
  }, (deleted) => setText(byID("stream-state"), deleted ? "This event does not exist any more." : "Disconnected. Reconnecting …"));
}

function showSeats(e) {
  const li = byID("events").querySelector(`[data-key="${selected.id}"]`);
  if (li !== null) showEventSeats(li, e);
  const taken = e.totalSeats - e.availableSeats;
  setNumber(byID("available"), e.availableSeats);
  setText(byID("total"), `of ${seatCount(e.totalSeats)} available`);
  setText(byID("sale"), e.status);
  byID("sale").className = `badge ${e.status === "ON_SALE" ? "good" : "warn"}`;
  byID("bar").firstElementChild.style.width = `${(100 * taken) / e.totalSeats}%`;
  sale = e;
  showSale();
  byID("bar").setAttribute("aria-label", `${taken.toLocaleString("en")} of ${seatCount(e.totalSeats)} taken`);
}

let sale = {}; // of the selected event: its status and times
let isOnSale = true;

// showSale says when the sale begins, and that it has begun or ended. Before and after, nothing can be locked.
function showSale() {
  const text = saleText(sale, clock.now(), words, "en");
  setText(byID("opening"), text ?? "");
  byID("opening").hidden = text === undefined;
  if (isOnSale !== (text === undefined)) {
    isOnSale = !isOnSale;
    setOff(byID("acquire"), false);
    showToast(text ?? words.opened);
  }
  if (!isOnSale) setOff(byID("acquire"), true);
}

const seatCount = (n) => `${n.toLocaleString("en")} ${n === 1 ? "seat" : "seats"}`;
const tooFew = (n) => (n === 0 ? "No seats are available any more." : `Only ${seatCount(n)} ${n === 1 ? "is" : "are"} available.`);

const sectionNames = new Map(); // of the map, by their keys: locks have keys

// showMap shows the seat map of an event with numbered seats.
function showMap(e) {
  map?.remove();
  map = null;
  sectionNames.clear();
  if (e.seatingPlanId === undefined) return;
  map = el("holdfast-seats", { holder: session.holder, currency: "EUR", "max-seats": "8", "ttl-seconds": "300" });
  map.prices = sampleOf(e)?.prices ?? {};
  map.token = () => key.get();
  map.setAttribute("lock", (session.lockIDs ?? []).join(" "));
  map.setAttribute("event", e.id);
  const shown = map;
  map.addEventListener("holdchanged", ({ detail }) => {
    for (const { section, sectionName } of detail.selection) sectionNames.set(section, sectionName);
    if (shown !== map || bookings.length > 0) return;
    locks = detail.locks;
    showLock();
  });
  map.addEventListener("holdexpired", () => {
    if (shown !== map) return;
    locks = locks.map((l) => ({ ...l, status: "EXPIRED" }));
    showLock();
  });
  byID("map").append(map);
}

// Waiting list of an event without numbered seats: the map has its own.

let waiting = null; // {list, box, stop, offered, hasMissed} of the selected event

function followWaitlist(e) {
  waiting?.stop.abort();
  waiting = null;
  byID("waiting").replaceChildren();
  if (e.seatingPlanId !== undefined) return;
  const stop = new AbortController();
  const list = new Waitlist({ call: (method, path, body) => request(method, path, body), now: clock.now }, e.id, () => ({ holder: session.holder }), waitlistChanged, stop.signal);
  const box = new WaitingBox([["", "", {}]], (text) => text, {
    join: (seats) => showRefusals(() => list.join(seats)), leave: () => showRefusals(() => list.leave()),
    instead: () => showRefusals(async () => {
      await giveUp(locks, bookings);
      locks = bookings = [];
      takeOffer();
    }),
  }, words);
  waiting = { list, box, stop, offered: "", hasMissed: false }; // offered: the ID of the last offer that the page has shown
  byID("waiting").append(box.node);
  if (e.waiting !== undefined) showErrors("waitlist", () => list.find());
}

const mostWaiting = 50; // seats of an entry

// takeOffer has the offered seats locked for the customer, unless others are.
function takeOffer() {
  const { list: { lock, left } } = waiting;
  if (locks.some((l) => l.id === lock?.id)) waiting.offered = lock.id; // the page was reloaded
  if (!(left > 0) || lock.status !== "ACTIVE" || lock.id === waiting.offered || (locks.length > 0 && !isPaid() && !isOver())) return;
  waiting.offered = lock.id;
  [locks, bookings] = [[lock], []];
  showLock();
}

function waitlistChanged(before) {
  const { list: { entry, left }, box } = waiting;
  takeOffer();
  if ((entry?.status === "DECLINED" || entry?.status === "LEFT") && locks[0]?.id === before?.lockId) startOver();
  const text = box.textOf(entry, left);
  if (text !== "" && before?.status !== entry?.status) showToast(text);
  showWaiting();
}

function showWaiting() {
  if (waiting === null) return;
  const { list, box, offered, hasMissed } = waiting;
  const mayJoin = takesEntries({ ...sale, waitlist: selected.waitlist }, clock.now()) && (hasMissed || sale.availableSeats === 0);
  box.show(list, { mayJoin, most: mostWaiting, isPaying: bookings.length > 0, isHeld: offered === list.lock?.id });
}

// leave gives up what is held of an event that is not shown any more, unless it was bought.
function leave() {
  const [heldLocks, heldBookings] = isPaid() ? [[], []] : [locks, bookings];
  locks = bookings = [];
  showErrors("shop", () => giveUp(heldLocks, heldBookings));
}

async function giveUp(heldLocks, heldBookings) {
  for (const b of heldBookings) await request("POST", `${inEvent(b)}/bookings/${b.id}/cancel`, undefined, { idempotent: true }).catch(ignoreEnded);
  if (heldBookings.length > 0) return;
  for (const l of heldLocks) await request("DELETE", `${inEvent(l)}/locks/${l.id}`, undefined, { idempotent: true }).catch(ignoreEnded);
}

function ignoreEnded(error) {
  if (error.status !== 410 && error.status !== 409 && error.status !== 404) throw error;
}

// Lock and booking

// inEvent begins the path of what is in an event, so that a load balancer can send its requests to one process.
const inEvent = ({ eventId }) => `/api/events/${encodeURIComponent(eventId)}`;

async function acquireLock(event) {
  event.preventDefault();
  const wanted = { eventId: selected.id, holder: session.holder, seats: byID("seats").valueAsNumber, ttlSeconds: Number(byID("ttl").value) };
  await runAction(byID("acquire"), async () => {
    const idempotencyKey = idempotencyKeyFor(JSON.stringify(wanted));
    try {
      locks = [await request("POST", `${inEvent(wanted)}/locks`, { ...wanted, idempotencyKey }, { idempotent: true })];
    } catch (error) {
      if (!error.retryable) delete session.pendingLock;
      if (error.code === "SEATS_UNAVAILABLE") {
        waiting.box?.fill(Math.min(wanted.seats, mostWaiting), {});
        waiting.hasMissed = true;
      }
      throw error;
    }
    delete session.pendingLock;
    bookings = [];
  });
}

// idempotencyKeyFor returns the same key for the same request until the outcome is
// known: pressing the button again must not lock more seats.
function idempotencyKeyFor(wanted) {
  if (session.pendingLock?.wanted !== wanted) session.pendingLock = { wanted, key: randomHex() };
  saveSession();
  return session.pendingLock.key;
}

const orderNumber = () => `demo-${locks[0].id.slice(-8)}`; // one for all that is bought at once

const createBooking = () => runAction(byID("book"), async () => {
  const made = [];
  for (const lock of locks) {
    const body = { holder: session.holder, reference: orderNumber(), eventId: lock.eventId, lockId: lock.id, paymentExpiresAt: lock.expiresAt };
    made.push(await request("POST", `${inEvent(lock)}/bookings`, body, { idempotent: true }));
  }
  bookings = made;
  if (map !== null) map.paying = true;
});

const payBooking = () => runAction(byID("pay"), async () => {
  for (const [n, booking] of bookings.entries()) {
    bookings[n] = await request("POST", `${inEvent(booking)}/bookings/${booking.id}/confirm`, { paymentReference: `demo-${booking.id}` }, { idempotent: true });
  }
  map?.finish(locks.map((l) => l.id));
  waiting?.list.poll();
  showToast("Paid. The booking is confirmed.");
});

const release = () => runAction(byID("release"), async () => {
  if (map !== null && bookings.length === 0) await map.release();
  else {
    await giveUp(locks, bookings);
    map?.finish();
  }
  startOver();
});

function startOver() {
  locks = bookings = [];
  map?.finish();
  waiting?.list.poll(); // an offer may have ended with its lock
  showLock();
}

// runAction runs the action of a button and shows a refusal.
const runAction = (button, work) => whileOff(button, async () => {
  await showRefusals(work);
  showLock();
});

const showRefusals = (work) => showErrors("shop", async () => {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 401 || error.status === 403) throw error;
    showToast(error.code === "SEATS_UNAVAILABLE" ? tooFew(error.problem.available) : `${error.code}: ${error.message}`);
    if (error.status === 410) await refresh();
  }
});

// refresh reads the locks and the bookings again.
async function refresh() {
  locks = await Promise.all(locks.map((l) => call("GET", `/api/locks/${l.id}`)));
  bookings = await Promise.all(bookings.map((b) => call("GET", `/api/bookings/${b.id}`)));
}

const isPaid = () => bookings.length > 0 && bookings.every((b) => b.status === "CONFIRMED");
const timeLeft = () => Math.min(...(bookings.length > 0 ? bookings.map((b) => b.paymentExpiresAt) : locks.map((l) => l.expiresAt)).map(clock.timeUntil));
const ended = ["EXPIRED", "RELEASED", "CANCELLED"];
const isOver = () => !isPaid() && (timeLeft() <= 0 || [...locks, ...bookings].some((x) => ended.includes(x.status)));

function showLock() {
  const focused = document.activeElement;
  showStep();
  const steps = [byID("lock"), byID("lock-form")];
  if (focused?.checkVisibility() !== false || !steps.some((step) => step.contains(focused))) return;
  const next = [...byID("lock").querySelectorAll("button")].find((button) => button.checkVisibility()); // with the keyboard one goes on there
  (next ?? byID("name")).focus({ preventScroll: true });
}

function showStep() {
  Object.assign(session, { lockIDs: locks.map((l) => l.id), bookingIDs: bookings.map((b) => b.id) });
  saveSession();
  const hasLock = locks.length > 0;
  const isOfSelected = hasLock && locks[0].eventId === selected?.id;
  byID("lock").hidden = !hasLock;
  byID("lock-form").hidden = isOfSelected || map !== null;
  byID("map").hidden = map === null || (isOfSelected && bookings.length > 0);
  if (!hasLock) return;
  const paid = isPaid();
  const over = isOver();
  const ms = timeLeft();
  const n = locks.reduce((sum, l) => sum + l.seats, 0);
  const event = selected?.name ?? "";
  let title = `${seatCount(n)} ${n === 1 ? "is" : "are"} locked for you: ${event}`;
  if (paid) title = `You bought ${seatCount(n)}: ${event}`;
  else if (over) title = `Your time is over: ${event}`;
  setText(byID("lock-title"), title);
  setText(byID("places"), locks.flatMap((l) => (l.places ?? []).map(placeName)).join(" · "));
  setText(byID("order"), bookings.length > 0 ? `Order ${bookings[0].reference ?? ""}` : "");
  setText(byID("state"), bookings[0]?.status ?? locks[0].status);
  byID("state").className = `badge ${paid ? "good" : over ? "bad" : "warn"}`;
  byID("timer").parentElement.hidden = paid;
  setText(byID("timer"), over ? "0:00" : clock.formatRemaining(ms));
  byID("timer").classList.toggle("short", ms < 10_000);
  setText(byID("timer-label"), over ? "The seats go back on sale." : bookings.length === 0 ? "left to book" : "left to pay");
  byID("book").hidden = paid || over || bookings.length > 0;
  byID("pay").hidden = paid || over || bookings.length === 0;
  byID("release").hidden = paid || over;
  byID("restart").hidden = !paid && !over;
  for (const id of ["book", "release", "restart"]) setText(byID(id), byID(id).dataset[n === 1 ? "one" : "many"]);
}

const placeName = (p) => [sectionNames.get(p.section) ?? p.section, p.row && (/^row\b/i.test(p.row) ? p.row : `row ${p.row}`), p.label && `seat ${p.label}`].filter(Boolean).join(", ");

// restore reads the locks and the bookings that this tab had before it was reloaded.
async function restore() {
  try {
    locks = await Promise.all((session.lockIDs ?? []).map((id) => call("GET", `/api/locks/${id}`)));
    bookings = await Promise.all((session.bookingIDs ?? []).map((id) => call("GET", `/api/bookings/${id}`)));
  } catch (error) {
    if (error.status !== 404) throw error;
    locks = bookings = []; // the server has another database now
  }
}

byID("lock-form").addEventListener("submit", acquireLock);
byID("book").addEventListener("click", createBooking);
byID("pay").addEventListener("click", payBooking);
byID("release").addEventListener("click", release);
byID("restart").addEventListener("click", startOver);
byID("more").addEventListener("click", () => {
  maxEvents += pageSize;
  showErrors("shop", loadEvents);
});

// prepare puts the samples on sale, unless the page's key may not: then the shop sells what there is.
async function prepare() {
  const sale = await findSamples();
  try {
    await sellSamples(request, sale);
  } catch (error) {
    if (error.status !== 401 && error.status !== 403) throw error;
    setText(byID("no-samples"), "The example events are put on sale with a key of the scope admin.");
  }
  sampleIDs = samples.flatMap((sample) => sale.found.get(sample)?.id ?? []);
}

let isReady = false;
poll(5000, () => showErrors("shop", async () => {
  if (!isReady) {
    await restore();
    await prepare();
    isReady = true;
  }
  await loadEvents();
  if (locks.length > 0 && isOver() && (bookings[0] ?? locks[0]).status !== "EXPIRED") await refresh(); // until a sweep has ended it
  if (selected === null) byID("choose").hidden = false;
}));
setInterval(() => {
  if (clock.hasJumped() && selected !== null) readEvent(selected.id).catch(() => {}); // the answer corrects the clock
  if (locks.length > 0) showLock();
  if (selected !== null) showSale();
  showWaiting();
}, 250);
