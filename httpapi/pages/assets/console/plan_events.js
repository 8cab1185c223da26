// Moving events to a plan: which events have another one, and what is in the way.

import { ApiError, call, callAll } from "../api.js";
import { el } from "../dom.js";
import { confirmAction, showToast } from "../feedback.js";
import { count, time } from "./format.js";
import { act, card, load, table } from "./parts.js";
import { link } from "./router.js";

const mostNamed = 50; // seats in the way

// moveEventsCard lists the events that can be moved to a plan: those of the plan that it is a copy of, or all.
export function moveEventsCard(page, plan) {
  const body = el("div", { className: "stack" });
  const of = page.query.from;
  const list = (from) => load(page, body, () => callAll("/api/events?pageSize=500"), ({ items, more }) => {
    const events = items.filter((e) => e.seatingPlanId && e.seatingPlanId !== plan.id && e.status !== "CANCELLED" && (!from || e.seatingPlanId === from));
    show(body, plan, events, more);
    if (from) body.append(el("div", { className: "buttons" }, el("button", { type: "button", textContent: "List the events of all plans", onclick: () => list() })));
  });
  if (of) list(of);
  else body.append(el("div", { className: "buttons" }, el("button", { type: "button", textContent: "List the events", onclick: () => list() })));
  return card("Move an event to this plan", [], el("p", { className: "soft small",
    textContent: "An event can change to a plan that has all of its taken and blocked seats, by their IDs, and all areas with taken places." }), body);
}

function show(body, plan, events, more) {
  if (events.length === 0) return body.replaceChildren(el("p", { className: "soft", textContent: "No event has another plan." }));
  return body.replaceChildren(table("Events with another plan", [
    { name: "Event", cell: (e) => el("a", { href: link(`events/${e.id}`), textContent: e.name }) },
    { name: "Date", cell: (e) => time(e.eventDate) },
    { name: "Plan", cell: (e) => el("a", { href: link(`plans/${e.seatingPlanId}`), textContent: "its plan" }) },
    { name: "Actions", cell: (e) => moveForm(plan, e) },
  ], events), ...more ? [el("p", { className: "small soft", textContent: "Only the first 10,000 events are listed." })] : []);
}

function moveForm(plan, event) {
  const problem = el("div", { className: "wrong", role: "alert", "data-part": "problem" });
  const node = el("div", { className: "stack" });
  node.append(el("button", { type: "button", textContent: "Move to this plan", "aria-label": `Move to this plan: ${event.name}`, onclick: () => move() }), problem);
  const move = () => act(node, async () => {
    const missing = await missingSeats(event, plan);
    if (missing.length > 0) return problem.append(...named(missing));
    const text = "Customers who look at its seat map get the new one at once. What is locked and sold stays.";
    if (!await confirmAction(`Move ${event.name} to ${plan.name}?`, text, "Move the event")) return undefined;
    try {
      await call("PATCH", `/api/events/${event.id}`, { seatingPlanId: plan.id });
    } catch (error) {
      const sold = error instanceof ApiError && error.code === "CAPACITY_BELOW_TAKEN" ? await missingSeats(event, plan) : []; // since then
      if (sold.length === 0) throw error;
      return problem.append(...named(sold));
    }
    showToast(`${event.name} has this plan now.`);
    return node.replaceChildren("has this plan now");
  });
  return node;
}

const stateNames = { L: "locked", S: "sold", B: "blocked" };

// missingSeats are the taken seats of an event that a plan lacks, and the areas.
async function missingSeats(event, plan) {
  const [{ sections: states }, old] = await Promise.all([call("GET", `/api/admin/events/${event.id}/seats`), call("GET", `/api/seating-plans/${event.seatingPlanId}`)]);
  const ids = new Set(plan.sections.flatMap((s) => s.rows ?? []).flatMap((r) => r.seats).filter(Boolean).map((seat) => seat.id));
  const areas = new Set(plan.sections.filter((s) => s.capacity).map((s) => s.key));
  const byKey = new Map(states.map((s) => [s.key, s]));
  const missing = [];
  for (const section of old.sections) {
    const state = byKey.get(section.key);
    if (state === undefined) continue;
    if (section.capacity) {
      const taken = state.locked + state.sold + state.blocked;
      if (taken > 0 && !areas.has(section.key)) missing.push({ what: section.name, state: `${count(taken, "place")} taken` });
      continue;
    }
    let i = 0;
    for (const row of section.rows) {
      for (const seat of row.seats) {
        if (seat === null) continue;
        const is = stateNames[state.states[i]];
        i++;
        if (is && !ids.has(seat.id)) missing.push({ what: `${section.name}, ${row.label}, seat ${seat.label}`, id: seat.id, state: is });
      }
    }
  }
  return missing;
}

function named(missing) {
  const items = missing.slice(0, mostNamed).map(({ what, id, state }) => el("li", {}, `${what}: ${state} `, ...id ? [el("code", { textContent: id })] : []));
  if (missing.length > mostNamed) items.push(el("li", { textContent: `and ${(missing.length - mostNamed).toLocaleString("en")} more` }));
  return [el("p", { textContent: "The plan lacks what is taken of the event:" }), el("ul", { className: "list small" }, ...items)];
}
