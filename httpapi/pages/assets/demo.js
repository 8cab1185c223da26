// The demo shop: a customer, an event, a lock, a booking. A tab is a customer.

import { Refusal, call, insist } from "./api.js";
import * as clock from "./clock.js";
import { byID, el, every, keyed, part, setNumber, setText } from "./dom.js";
import { listen } from "./stream.js";
import { guarded, say } from "./talk.js";

const keptName = "holdfast.demo";
const kept = JSON.parse(sessionStorage.getItem(keptName) ?? "{}"); // userID, userName, eventID, lockID, bookingID
const keep = () => sessionStorage.setItem(keptName, JSON.stringify(kept));

let lock = null;
let booking = null;
let seen = null; // the chosen event

const random = () => Array.from(crypto.getRandomValues(new Uint8Array(8)), (b) => b.toString(16).padStart(2, "0")).join("");

// ask is call, told below the page; clocked answers tell the server's time, too.
async function ask(method, path, body, { retried = false, clocked = "" } = {}) {
  const sent = Date.now();
  let outcome = "";
  try {
    const answer = await (retried ? insist : call)(method, path, body);
    if (clocked !== "") clock.learn(answer[clocked], sent, Date.now());
    outcome = answer.status ?? "done";
    return answer;
  } catch (refusal) {
    outcome = refusal instanceof Refusal ? `${refusal.status || "no answer"} ${refusal.code}` : String(refusal);
    throw refusal;
  } finally {
    if (method !== "GET") {
      byID("log").prepend(el("li", {}, el("code", { textContent: `${method} ${path}` }), ` → ${outcome} `,
        el("span", { className: "soft", textContent: body === undefined ? "" : JSON.stringify(body) })));
      if (byID("log").children.length > 50) byID("log").lastChild.remove();
    }
  }
}

// The customer.

async function customer() {
  if (kept.userID === undefined) {
    const name = `Guest ${random().slice(0, 4)}`;
    const user = await ask("POST", "/api/users", { name, email: `${random()}@example.com` });
    Object.assign(kept, { userID: user.id, userName: name });
    keep();
  }
  setText(byID("customer"), kept.userName);
}

// The events.

let shown = 50;

async function events() {
  const items = [];
  let token = "";
  do {
    const page = await call("GET", `/api/events?pageSize=50${token === "" ? "" : `&pageToken=${token}`}`);
    items.push(...page.items);
    token = page.nextPageToken;
  } while (token !== "" && items.length < shown);
  byID("empty").hidden = items.length > 0;
  byID("more").hidden = token === "";
  keyed(byID("events"), items, (e) => e.id,
    (e) => el("li", {}, el("button", { onclick: () => choose(e) }, el("span", { "data-part": "name" }), el("span", { className: "small soft number", "data-part": "left" }))),
    (li, e) => {
      setText(part(li, "name"), e.name);
      if (e.id !== seen?.id) showLeft(li, e); // the stream is ahead of the list
      li.firstChild.setAttribute("aria-pressed", String(e.id === seen?.id));
    });
  const chosen = items.find((e) => e.id === kept.eventID);
  if (seen === null && chosen !== undefined) choose(chosen);
}

function showLeft(li, e) {
  setText(part(li, "left"), `${e.availableSeats.toLocaleString("en")} of ${e.totalSeats.toLocaleString("en")} left${e.status === "ON_SALE" ? "" : ` · ${e.status}`}`);
}

let unhear = () => {};

function choose(e) {
  unhear();
  seen = e;
  kept.eventID = e.id;
  keep();
  for (const li of byID("events").children) li.firstChild.setAttribute("aria-pressed", String(li.dataset.key === e.id));
  setText(byID("name"), e.name);
  byID("event").hidden = false;
  showSeats(e);
  setText(byID("live"), "connecting …");
  unhear = listen(`/api/events/${e.id}/stream`, (state) => {
    setText(byID("live"), "live: as it changes");
    showSeats(state);
  }, (gone) => setText(byID("live"), gone ? "There is no such event any more." : "not live; connecting …"));
}

function showSeats(e) {
  const li = byID("events").querySelector(`[data-key="${seen.id}"]`);
  if (li !== null) showLeft(li, e);
  setNumber(byID("available"), e.availableSeats);
  setText(byID("of"), `of ${e.totalSeats.toLocaleString("en")} seats left`);
  setText(byID("sale"), e.status);
  byID("sale").className = `badge ${e.status === "ON_SALE" ? "good" : "warn"}`;
  byID("bar").firstElementChild.style.width = `${(100 * (e.totalSeats - e.availableSeats)) / e.totalSeats}%`;
  byID("bar").setAttribute("aria-label", `${e.totalSeats - e.availableSeats} of ${e.totalSeats} seats taken`);
}

// What the customer holds.

async function hold(event) {
  event.preventDefault();
  const wanted = { eventId: seen.id, userId: kept.userID, seats: byID("seats").valueAsNumber, ttlSeconds: Number(byID("hold").value) };
  await attempt(byID("lock"), async () => {
    const idempotencyKey = keyOf(JSON.stringify(wanted));
    try {
      lock = await ask("POST", "/api/locks", { ...wanted, idempotencyKey }, { retried: true, clocked: "createdAt" });
    } catch (refusal) {
      if (!refusal.unsettled) delete kept.wish;
      throw refusal;
    }
    delete kept.wish;
    booking = null;
  });
}

// keyOf gives a wish the same key until there is an answer to it: whoever presses
// the button again asks for the same seats, and not for more.
function keyOf(wanted) {
  if (kept.wish?.wanted !== wanted) kept.wish = { wanted, key: random() };
  keep();
  return kept.wish.key;
}

const book = () => attempt(byID("book"), async () => {
  booking = await ask("POST", "/api/bookings", { userId: kept.userID, eventId: lock.eventId, lockId: lock.id, paymentExpiresAt: lock.expiresAt }, { retried: true });
});

const pay = () => attempt(byID("pay"), async () => {
  booking = await ask("POST", `/api/bookings/${booking.id}/confirm`, { paymentReference: `demo-${booking.id}` }, { retried: true });
  say("Paid. The seats are yours.");
});

const release = () => attempt(byID("release"), async () => {
  if (booking !== null) booking = await ask("POST", `/api/bookings/${booking.id}/cancel`, undefined, { retried: true });
  else lock = await ask("DELETE", `/api/locks/${lock.id}`, undefined, { retried: true });
  again();
});

function again() {
  lock = booking = null;
  show();
}

// attempt does what a button says, and tells what was refused.
async function attempt(button, work) {
  button.disabled = true;
  await guarded("shop", async () => {
    try {
      await work();
    } catch (refusal) {
      if (!(refusal instanceof Refusal) || refusal.status === 401 || refusal.status === 403) throw refusal;
      say(refusal.code === "SEATS_UNAVAILABLE" ? `Only ${refusal.problem.available} seats are left.` : `${refusal.code}: ${refusal.message}`);
      if (refusal.status === 410) await look();
    }
  });
  button.disabled = false;
  show();
}

// look asks how the lock and the booking are.
async function look() {
  lock = await call("GET", `/api/locks/${lock.id}`);
  if (booking !== null) booking = await call("GET", `/api/bookings/${booking.id}`);
}

const isPaid = () => booking?.status === "CONFIRMED";
const timeLeft = () => clock.left(booking?.paymentExpiresAt ?? lock.expiresAt);
const isOver = () => !isPaid() && (timeLeft() <= 0 || ["EXPIRED", "RELEASED"].includes(lock.status) || ["EXPIRED", "CANCELLED"].includes(booking?.status));

function show() {
  Object.assign(kept, { lockID: lock?.id, bookingID: booking?.id });
  keep();
  byID("held").hidden = lock === null;
  byID("choose").hidden = lock !== null;
  if (lock === null) return;
  const paid = isPaid();
  const ms = timeLeft();
  const over = isOver();
  setText(byID("held-title"), paid ? `${lock.seats} seats are yours` : over ? "Time is up" : `${lock.seats} seats are held for you`);
  setText(byID("state"), booking?.status ?? lock.status);
  byID("state").className = `badge ${paid ? "good" : over ? "bad" : "warn"}`;
  byID("timer").parentElement.hidden = paid;
  setText(byID("timer"), over ? "0:00" : clock.remaining(ms));
  byID("timer").classList.toggle("short", ms < 10_000);
  setText(byID("timer-says"), over ? "The seats go back on sale." : booking === null ? "left to go to the payment" : "left to pay");
  byID("book").hidden = paid || over || booking !== null;
  byID("pay").hidden = paid || over || booking === null;
  byID("release").hidden = paid || over;
  byID("again").hidden = !paid && !over;
}

// resume takes up what this tab held before it was loaded anew.
async function resume() {
  if (kept.lockID === undefined) return;
  const bookingID = kept.bookingID;
  try {
    lock = await call("GET", `/api/locks/${kept.lockID}`);
    if (bookingID !== undefined) booking = await call("GET", `/api/bookings/${bookingID}`);
  } catch (refusal) {
    if (refusal.status !== 404) throw refusal;
    lock = booking = null; // of another database
  }
}

async function sample() {
  await attempt(byID("sample"), async () => {
    const inAMonth = new Date(Date.now() + 30 * 86_400_000);
    inAMonth.setUTCHours(19, 0, 0, 0);
    choose(await ask("POST", "/api/events", { name: "Opening night", totalSeats: 40, eventDate: inAMonth.toISOString() }));
    await events();
  });
}

byID("choose").addEventListener("submit", hold);
byID("book").addEventListener("click", book);
byID("pay").addEventListener("click", pay);
byID("release").addEventListener("click", release);
byID("again").addEventListener("click", again);
byID("sample").addEventListener("click", sample);
byID("more").addEventListener("click", () => {
  shown += 50;
  guarded("shop", events);
});

let ready = false;
every(5000, () => guarded("shop", async () => {
  if (!ready) {
    await customer();
    await resume();
    ready = true;
    show();
  }
  await events();
  if (lock !== null && isOver() && (booking ?? lock).status !== "EXPIRED") await look(); // a sweep ends it
}));
setInterval(() => { if (lock !== null) show(); }, 250);
