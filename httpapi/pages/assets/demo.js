// The demo shop. A tab is one customer, who locks, books and pays for seats.

import { ApiError, call, callWithRetry } from "./api.js";
import * as clock from "./clock.js";
import { byID, el, part, poll, setNumber, setText, updateList } from "./dom.js";
import { showErrors, showToast } from "./feedback.js";
import { subscribe } from "./stream.js";

const sessionName = "holdfast.demo";
const session = JSON.parse(sessionStorage.getItem(sessionName) ?? "{}"); // userID, userName, eventID, lockID, bookingID, pendingLock
const saveSession = () => sessionStorage.setItem(sessionName, JSON.stringify(session));

let lock = null;
let booking = null;
let selected = null; // event

const randomHex = () => Array.from(crypto.getRandomValues(new Uint8Array(8)), (b) => b.toString(16).padStart(2, "0")).join("");

const maxLogEntries = 50;

// request is call, shown in the log of the page. Idempotent requests are retried.
// timeField names a field of the result with the current database time.
async function request(method, path, body, { idempotent = false, timeField = "" } = {}) {
  const sentAt = Date.now();
  let outcome = "";
  try {
    const result = await (idempotent ? callWithRetry : call)(method, path, body);
    if (timeField !== "") clock.sync(result[timeField], sentAt, Date.now());
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
  log.prepend(el("li", {}, el("code", { textContent: `${method} ${path}` }), ` → ${outcome} `,
    el("span", { className: "soft", textContent: body === undefined ? "" : JSON.stringify(body) })));
  if (log.children.length > maxLogEntries) log.lastChild.remove();
}

// Customer

async function ensureCustomer() {
  if (session.userID === undefined) {
    const name = `Guest ${randomHex().slice(0, 4)}`;
    const user = await request("POST", "/api/users", { name, email: `${randomHex()}@example.com` });
    Object.assign(session, { userID: user.id, userName: name });
    saveSession();
  }
  setText(byID("customer"), session.userName);
}

// Events

const pageSize = 50;
let maxEvents = pageSize;

async function loadEvents() {
  const items = [];
  let token = "";
  do {
    const page = await call("GET", `/api/events?pageSize=${pageSize}${token === "" ? "" : `&pageToken=${token}`}`);
    items.push(...page.items);
    token = page.nextPageToken;
  } while (token !== "" && items.length < maxEvents);
  byID("empty").hidden = items.length > 0;
  byID("more").hidden = token === "";
  updateList(byID("events"), items, (e) => e.id, createEventItem, updateEventItem);
  const restored = items.find((e) => e.id === session.eventID);
  if (selected === null && restored !== undefined) selectEvent(restored);
}

function createEventItem(e) {
  return el("li", {}, el("button", { onclick: () => selectEvent(e) }, el("span", { "data-part": "name" }),
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

function selectEvent(e) {
  unsubscribe();
  selected = e;
  session.eventID = e.id;
  saveSession();
  for (const li of byID("events").children) li.firstChild.setAttribute("aria-pressed", String(li.dataset.key === e.id));
  setText(byID("name"), e.name);
  byID("event").hidden = false;
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
  setText(byID("total"), `of ${e.totalSeats.toLocaleString("en")} seats available`);
  setText(byID("sale"), e.status);
  byID("sale").className = `badge ${e.status === "ON_SALE" ? "good" : "warn"}`;
  byID("bar").firstElementChild.style.width = `${(100 * taken) / e.totalSeats}%`;
  byID("bar").setAttribute("aria-label", `${taken} of ${e.totalSeats} seats taken`);
}

// Lock and booking

async function acquireLock(event) {
  event.preventDefault();
  const wanted = { eventId: selected.id, userId: session.userID, seats: byID("seats").valueAsNumber, ttlSeconds: Number(byID("ttl").value) };
  await runAction(byID("acquire"), async () => {
    const idempotencyKey = idempotencyKeyFor(JSON.stringify(wanted));
    try {
      lock = await request("POST", "/api/locks", { ...wanted, idempotencyKey }, { idempotent: true, timeField: "createdAt" });
    } catch (error) {
      if (!error.retryable) delete session.pendingLock;
      throw error;
    }
    delete session.pendingLock;
    booking = null;
  });
}

// idempotencyKeyFor returns the same key for the same request until the outcome is
// known: pressing the button again must not lock more seats.
function idempotencyKeyFor(wanted) {
  if (session.pendingLock?.wanted !== wanted) session.pendingLock = { wanted, key: randomHex() };
  saveSession();
  return session.pendingLock.key;
}

const createBooking = () => runAction(byID("book"), async () => {
  const body = { userId: session.userID, eventId: lock.eventId, lockId: lock.id, paymentExpiresAt: lock.expiresAt };
  booking = await request("POST", "/api/bookings", body, { idempotent: true });
});

const payBooking = () => runAction(byID("pay"), async () => {
  const body = { paymentReference: `demo-${booking.id}` };
  booking = await request("POST", `/api/bookings/${booking.id}/confirm`, body, { idempotent: true });
  showToast("Paid. The booking is confirmed.");
});

const release = () => runAction(byID("release"), async () => {
  if (booking !== null) booking = await request("POST", `/api/bookings/${booking.id}/cancel`, undefined, { idempotent: true });
  else lock = await request("DELETE", `/api/locks/${lock.id}`, undefined, { idempotent: true });
  startOver();
});

function startOver() {
  lock = booking = null;
  showLock();
}

// runAction runs the action of a button and shows a refusal.
async function runAction(button, work) {
  button.disabled = true;
  await showErrors("shop", async () => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ApiError) || error.status === 401 || error.status === 403) throw error;
      showToast(error.code === "SEATS_UNAVAILABLE" ? `Only ${error.problem.available} seats are available.` : `${error.code}: ${error.message}`);
      if (error.status === 410) await refresh();
    }
  });
  button.disabled = false;
  showLock();
}

// refresh reads the lock and the booking again.
async function refresh() {
  lock = await call("GET", `/api/locks/${lock.id}`);
  if (booking !== null) booking = await call("GET", `/api/bookings/${booking.id}`);
}

const isPaid = () => booking?.status === "CONFIRMED";
const timeLeft = () => clock.timeUntil(booking?.paymentExpiresAt ?? lock.expiresAt);
const isOver = () => !isPaid() &&
  (timeLeft() <= 0 || ["EXPIRED", "RELEASED"].includes(lock.status) || ["EXPIRED", "CANCELLED"].includes(booking?.status));

function showLock() {
  Object.assign(session, { lockID: lock?.id, bookingID: booking?.id });
  saveSession();
  byID("lock").hidden = lock === null;
  byID("lock-form").hidden = lock !== null;
  if (lock === null) return;
  const paid = isPaid();
  const over = isOver();
  const ms = timeLeft();
  let title = `${lock.seats} seats are locked for you`;
  if (paid) title = `You bought ${lock.seats} seats`;
  else if (over) title = "Your time is over";
  setText(byID("lock-title"), title);
  setText(byID("state"), booking?.status ?? lock.status);
  byID("state").className = `badge ${paid ? "good" : over ? "bad" : "warn"}`;
  byID("timer").parentElement.hidden = paid;
  setText(byID("timer"), over ? "0:00" : clock.formatRemaining(ms));
  byID("timer").classList.toggle("short", ms < 10_000);
  setText(byID("timer-label"), over ? "The seats go back on sale." : booking === null ? "left to book" : "left to pay");
  byID("book").hidden = paid || over || booking !== null;
  byID("pay").hidden = paid || over || booking === null;
  byID("release").hidden = paid || over;
  byID("restart").hidden = !paid && !over;
}

// restore reads the lock and the booking that this tab had before it was reloaded.
async function restore() {
  if (session.lockID === undefined) return;
  const bookingID = session.bookingID;
  try {
    lock = await call("GET", `/api/locks/${session.lockID}`);
    if (bookingID !== undefined) booking = await call("GET", `/api/bookings/${bookingID}`);
  } catch (error) {
    if (error.status !== 404) throw error;
    lock = booking = null; // the server has another database now
  }
}

async function createSample() {
  await runAction(byID("sample"), async () => {
    const inAMonth = new Date(Date.now() + 30 * 86_400_000);
    inAMonth.setUTCHours(19, 0, 0, 0);
    selectEvent(await request("POST", "/api/events", { name: "Opening night", totalSeats: 40, eventDate: inAMonth.toISOString() }));
    await loadEvents();
  });
}

byID("lock-form").addEventListener("submit", acquireLock);
byID("book").addEventListener("click", createBooking);
byID("pay").addEventListener("click", payBooking);
byID("release").addEventListener("click", release);
byID("restart").addEventListener("click", startOver);
byID("sample").addEventListener("click", createSample);
byID("more").addEventListener("click", () => {
  maxEvents += pageSize;
  showErrors("shop", loadEvents);
});

let isReady = false;
poll(5000, () => showErrors("shop", async () => {
  if (!isReady) {
    await ensureCustomer();
    await restore();
    isReady = true;
    showLock();
  }
  await loadEvents();
  if (lock !== null && isOver() && (booking ?? lock).status !== "EXPIRED") await refresh(); // until a sweep has ended it
}));
setInterval(() => { if (lock !== null) showLock(); }, 250);
