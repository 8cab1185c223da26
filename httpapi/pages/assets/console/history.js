// The history of a lock or a booking, from the changes of its event.

import { call } from "../api.js";
import { el } from "../dom.js";
import { count, time } from "./format.js";
import { query } from "./lists.js";
import { card, load, table } from "./parts.js";

// A part of the changes is at most pageSize, and the server reads some thousand records at most for it. After partsAtOnce
// parts, or pageSize changes, the user says whether to go on.
const partsAtOnce = 20;
const pageSize = 200;

const shown = {
  status: "status", reference: "reference", seats: "seats", expiresAt: "expires", paymentExpiresAt: "payment until", paymentReference: "payment reference", bookingId: "booking",
  amount: "amount", reason: "reason", refundReference: "refund", name: "name", totalSeats: "total", availableSeats: "available", maxSeatsPerUser: "seats per user", blockedSeats: "blocked",
  waitlist: "waiting list", waitlistOfferSeconds: "offer seconds", waitlistFit: "offers", saleStartsAt: "sale from", holder: "holder", userId: "user", saleEndsAt: "sale until",
};

function write(value) {
  return value === undefined || value === "" ? "none" : String(value).replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d).*Z$/, "$1 $2");
}

const metadataOf = (data) => Object.entries(data?.metadata ?? {}).map(([key, value]) => `${key}: ${value}`).join(", ");
const placesOf = (data) => (data?.places ?? []).map((p) => p.seatId ?? p.section).join(", ");

// difference says what is different in two states of a resource.
function difference(before, after) {
  const parts = [];
  for (const [name, label] of Object.entries(shown)) {
    if (before === undefined && after[name] !== undefined) parts.push(`${label} ${write(after[name])}`);
    else if (before !== undefined && before[name] !== after[name]) parts.push(`${label} ${write(before[name])} → ${write(after[name])}`);
  }
  if (metadataOf(before) !== metadataOf(after)) parts.push(`metadata ${metadataOf(after) || "none"}`);
  if (placesOf(before) !== placesOf(after)) parts.push(`places ${placesOf(after)}`);
  return parts.join(" · ");
}

const columns = [
  { name: "Time", cell: (c) => time(c.time) },
  { name: "What", cell: (c) => el("strong", { className: "word", textContent: c.type.replace("holdfast.", "").replace(/[._]/g, " ") }) },
  { name: "Change", cell: (c) => c.difference || "–" },
  { name: "By", cell: (c) => c.actor ?? "no key" },
  { name: "Request or run", cell: (c) => el("code", { textContent: c.runid ?? c.requestid ?? "–" }) },
];

// subjectsOf names a lock and its booking, as far as there are any.
export const subjectsOf = (lock, bookingId) => [lock.id && `locks/${lock.id}`, bookingId && `bookings/${bookingId}`].filter(Boolean);

export const historyCard = (page, of) => card("History", [], historyOf(page, of));

// historyOf shows the changes of some subjects, from a time on. first is the type that the history begins with, or several
// types: if none is there, the beginning was removed.
export function historyOf(page, { eventId, subjects, since, until, first }) {
  const progress = el("p", { className: "soft small", role: "status" });
  const list = el("div");
  const more = el("button", { type: "button", hidden: true, textContent: "Go on", onclick: () => read() });
  const part = el("div");
  const filter = new URLSearchParams(query({ eventId, since, until, pageSize }));
  for (const s of subjects) filter.append("subject", s);
  const found = [];
  const latest = new Map(); // data by subject
  let token = "";
  let parts = 0;
  let isEnd = false;

  const readPart = () => {
    progress.textContent = `Reading the changes of the event, part ${parts + 1}: ${count(found.length, "change")} so far …`;
    if (token !== "") filter.set("pageToken", token);
    return call("GET", `/api/changes?${filter}`);
  };
  const showPart = ({ items, nextPageToken }) => {
    for (const c of items) {
      found.push({ ...c, difference: difference(latest.get(c.subject), c.data) });
      latest.set(c.subject, c.data);
    }
    if (items.length > 0) list.replaceChildren(table("History", columns, found));
    parts++;
    isEnd = nextPageToken === token;
    token = nextPageToken;
  };
  const read = async () => {
    more.hidden = true;
    const shownBefore = found.length;
    for (let n = 0; n < partsAtOnce && found.length < shownBefore + pageSize; n++) {
      const isRead = await load(page, part, readPart, showPart, read);
      if (!isRead) progress.textContent = `Stopped after ${count(parts, "part")}.`;
      else if (isEnd) finish();
      if (!isRead || isEnd) return;
    }
    progress.textContent = `${count(found.length, "change")} in ${count(parts, "part")} of the event's changes. There are more parts.`;
    more.hidden = false;
  };
  const finish = () => {
    const isWhole = found.some((c) => [first].flat().includes(c.type));
    progress.textContent = isWhole ? `${count(found.length, "change")}, oldest first.`
      : `${count(found.length, "change")}. The beginning is missing: it is older than the server keeps changes (CHANGES_RETENTION), or was not recorded.`;
  };
  read();
  return el("div", { className: "stack" }, progress, list, part, more);
}
