// The parts of the forms that sell and change seats: which seats, for whom, and what was paid.

import { ApiError, call } from "../api.js";
import { el, setText } from "../dom.js";
import { amount } from "./event_fields.js";
import { pickMap } from "./event_map.js";
import { count } from "./format.js";
import { field, load, select } from "./parts.js";

const text = (name, maxLength, properties = {}) => el("input", { name, maxLength, autocomplete: "off", spellcheck: false, ...properties });
const noSeats = { clear: () => {}, refresh: () => {} }; // of a wish without chosen seats
const mostAtOnce = 50; // seats that are named, or the best available

// seatFields ask for the seats of an event: node is for a form, wish() for its request, and clear() takes the chosen seats
// back, refresh() reads their states again. booking is what has the seats now, if there is one.
export function seatFields(page, event, booking) {
  if (!event.seatingPlanId) {
    const seats = amount("seats", booking?.seats ?? 1, 1);
    return { node: el("div", { className: "fields" }, field("Seats", seats, "body.seats")), wish: () => ({ seats: Number(seats.value) }), ...noSeats };
  }
  const node = el("div", { className: "stack" }, el("p", { className: "soft", textContent: "Loading the plan …" }));
  const loading = node.firstChild;
  let kind = { wish: () => ({}), ...noSeats };
  load(page, node, () => call("GET", `/api/seating-plans/${event.seatingPlanId}`), (plan) => {
    const kinds = kindsOf(page, event, plan, booking);
    const choice = select("kind", "", kinds.map((k) => [k.name, k.text]));
    choice.value = (kinds.find((k) => k.isOf(booking)) ?? kinds[0]).name;
    const show = () => {
      kind = kinds.find((k) => k.name === choice.value);
      for (const k of kinds) k.node.hidden = k.node.disabled = k !== kind; // what is not shown is not checked
    };
    choice.addEventListener("change", show);
    show();
    node.replaceChildren(el("div", { className: "fields" }, field("Seats", choice, "body")), ...kinds.map((k) => k.node));
  }).finally(() => loading.remove());
  return { node, wish: () => kind.wish(), clear: () => kind.clear(), refresh: () => kind.refresh() };
}

// kindsOf are the forms of a wish that a plan has.
function kindsOf(page, event, plan, booking) {
  const areas = plan.sections.filter((s) => s.capacity > 0);
  const rows = plan.sections.filter((s) => !(s.capacity > 0));
  const seats = booking?.seats ?? 1;
  return [
    ...(rows.length > 0 ? [namedKind(page, event, plan, booking), bestKind(plan, rows, Math.min(seats, mostAtOnce))] : []),
    ...(areas.length > 0 ? [areaKind(areas, booking, seats)] : []),
  ];
}

const group = (...children) => el("fieldset", { className: "plain stack" }, ...children);

function namedKind(page, event, plan, booking) {
  const had = (booking?.places ?? []).map((p) => p.seatId).filter(Boolean);
  const list = el("ul", { className: "buttons", "aria-label": "Chosen seats" });
  const says = el("p", { className: "small", role: "status" });
  const ids = (seats) => seats.map((i) => pick.hall.ids[i]);
  const show = () => {
    const seats = pick.chosen();
    list.replaceChildren(...seats.map((i) => el("li", {}, el("button", {
      type: "button", className: pick.isTaken(i) ? "small wrong" : "small", textContent: `${pick.hall.ids[i]}${pick.isTaken(i) ? ", taken" : ""} ×`,
      "aria-label": `Take back ${pick.hall.ids[i]}`, onclick: () => choose(i),
    }))));
    const added = ids(seats.filter((i) => !pick.isOwn(i)));
    const gone = ids(pick.own().filter((i) => !seats.includes(i)));
    setText(says, [`${count(seats.length, "seat")} chosen.`, ...(had.length > 0 && added.length > 0 ? [`Added: ${added.join(", ")}.`] : []),
      ...(gone.length > 0 ? [`Given back: ${gone.join(", ")}.`] : [])].join(" "));
  };
  const choose = (i) => {
    pick.toggle(i);
    (list.querySelector("button") ?? node.querySelector("button")).focus();
  };
  const chosen = () => {
    show();
    node.dispatchEvent(new Event("input", { bubbles: true })); // the request is another one
  };
  const pick = pickMap(page, event, plan, had, { chosen, read: show });
  const node = group(pick.root, list, says);
  show();
  return {
    name: "named", text: "chosen on the map", node, isOf: () => had.length > 0,
    clear: pick.clear, refresh: pick.refresh,
    wish: () => {
      const seats = pick.chosen();
      const accessibleSeats = event.accessiblePolicy === "OPEN" ? 0 : seats.filter((i) => pick.hall.kind[i] & 1).length;
      return { seatIds: ids(seats), ...(accessibleSeats > 0 && { accessibleSeats }) };
    },
  };
}

function bestKind(plan, rows, seats) {
  const number = amount("bestSeats", seats, 1, mostAtOnce);
  const category = select("category", "", [["", "any"], ...plan.categories.map((c) => [c.key, c.name])]);
  const section = select("bestSection", "", [["", "any"], ...rows.map((s) => [s.key, s.name])]);
  const accessible = amount("accessibleSeats", 0, 0, mostAtOnce);
  const adjacent = select("adjacent", "PREFERRED", [["PREFERRED", "if possible"], ["REQUIRED", "only so"]]);
  return {
    name: "best", text: "the best available", isOf: () => false, ...noSeats,
    node: group(el("div", { className: "fields" }, field("Number", number, "body.bestAvailable.seats"), field("Category", category, "body.bestAvailable.categories"),
      field("Section", section, "body.bestAvailable.section"), field("Accessible seats", accessible, "body.bestAvailable.accessibleSeats"),
      field("Next to each other", adjacent, "body.bestAvailable.adjacent"))),
    wish: () => ({ bestAvailable: {
      seats: Number(number.value), accessibleSeats: Number(accessible.value), adjacent: adjacent.value,
      ...(category.value !== "" && { categories: [category.value] }), ...(section.value !== "" && { section: section.value }),
    } }),
  };
}

function areaKind(areas, booking, seats) {
  const now = booking?.places?.find((p) => !p.seatId)?.section;
  const section = select("section", now ?? areas[0].key, areas.map((s) => [s.key, s.name]));
  const number = amount("areaSeats", seats, 1);
  return {
    name: "area", text: "general admission", isOf: () => now !== undefined, ...noSeats,
    node: group(el("div", { className: "fields" }, field("Section", section, "body.section"), field("Number", number, "body.seats"))),
    wish: () => ({ section: section.value, seats: Number(number.value) }),
  };
}

// chargeFields ask for a payment that the shop took. at is the part of the request that it is; charge() is empty without a reference.
export function chargeFields(at, legend) {
  const controls = {
    paymentReference: ["Payment reference", text("paymentReference", 200)], paymentPart: ["Part of the charge", text("paymentPart", 100)],
    provider: ["Provider", text("provider", 64)], amount: ["Amount, in minor units", amount("chargeAmount", "", 0, Number.MAX_SAFE_INTEGER)],
    currency: ["Currency", text("currency", 3, { pattern: "[A-Z]{3}", title: "Three capital letters, as EUR", size: 3 })],
  };
  controls.amount[1].required = false;
  const filled = () => Object.entries(controls).map(([name, [, control]]) => [name, control.value.trim()]).filter(([, value]) => value !== "");
  return {
    node: el("fieldset", { className: "plain stack" }, el("legend", { className: "strong", textContent: legend }),
      el("div", { className: "fields" }, ...Object.entries(controls).map(([name, [label, control]]) => field(label, control, `${at}.${name}`)))),
    charge: () => Object.fromEntries(filled().map(([name, value]) => [name, name === "amount" ? Number(value) : value])),
    clear: () => { for (const [, control] of Object.values(controls)) control.value = ""; },
  };
}

// customerFields ask for a customer: a holder, or a user by e-mail or ID. customer() reads the user of an e-mail.
export function customerFields() {
  const kind = select("customerKind", "holder", [["holder", "Holder"], ["user", "User, by e-mail or ID"]]);
  const name = text("customer", 256, { required: true });
  const fields = [field("Customer", kind), field("Holder, e-mail or ID", name, "body.holder")];
  kind.addEventListener("change", () => { fields[1].dataset.where = kind.value === "holder" ? "body.holder" : "body.userId"; });
  return {
    fields, clear: () => { name.value = ""; },
    customer: async () => {
      const value = name.value.trim();
      if (kind.value === "holder") return { holder: name.value };
      if (/^[0-9a-f]{24}$/i.test(value)) return { userId: value };
      const { items } = await call("GET", `/api/users?${new URLSearchParams({ email: value })}`);
      if (items.length === 0) throw new ApiError(404, { code: "USER_NOT_FOUND", detail: "No user has this address." });
      return { userId: items[0].id };
    },
  };
}
