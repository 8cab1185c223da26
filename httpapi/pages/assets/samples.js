// What the demo shop sells: it puts these events on sale if they are not.

import { callAll } from "./api.js";

export const samples = [
  {
    name: "The Tempest, City theatre", plan: "theatre", orphanRule: "REFUSE", waitlist: "OPEN",
    prices: { premium: 95, first: 72, box: 80, second: 48, third: 32, fourth: 22 },
  },
  { name: "Summer concert, Arena", plan: "arena", prices: { front: 89, standing: 59, one: 79, two: 64, three: 49, four: 35 } },
  { name: "Opening night, unnumbered", totalSeats: 40, waitlist: "OPEN" },
];

const waitlistOfferSeconds = 600;

/** sampleOf is the sample that an event is of; undefined: it is none. */
export const sampleOf = (event) => samples.find((s) => s.name === event.name);

/** isOpen reports whether seats of an event can be had. */
const isOpen = (event) => event.status === "ON_SALE" && event.availableSeats > 0;

/** findSamples looks for the open samples among the events: the newest of each, and how many of it are over. */
export async function findSamples() {
  const found = new Map();
  const sold = new Map(); // how many of each are sold out or closed
  const { items } = await callAll("/api/events?pageSize=200");
  for (const event of items) {
    const sample = sampleOf(event);
    if (sample === undefined || (sample.plan === undefined) !== (event.seatingPlanId === undefined)) continue;
    if (isOpen(event)) found.set(sample, event);
    else sold.set(sample, (sold.get(sample) ?? 0) + 1);
  }
  return { found, sold };
}

/**
 * sellSamples puts the samples on sale that were not found, adds them to those that were, and returns all. Two tabs at the
 * same time make each of them once.
 */
export async function sellSamples(request, { found, sold }) {
  const date = new Date(Date.now() + 30 * 86_400_000);
  date.setUTCHours(19, 0, 0, 0);
  const eventDate = date.toISOString();
  for (const sample of samples) {
    if (found.has(sample)) continue;
    const idempotencyKey = `demo ${sample.name} ${eventDate} ${sold.get(sample) ?? 0}`;
    const body = { name: sample.name, eventDate, idempotencyKey };
    if (sample.waitlist !== undefined) Object.assign(body, { waitlist: sample.waitlist, waitlistOfferSeconds });
    if (sample.plan === undefined) body.totalSeats = sample.totalSeats;
    else {
      const plan = await (await fetch(`/assets/plans/${sample.plan}.json`)).json();
      body.seatingPlanId = (await request("POST", "/api/seating-plans", { ...plan, idempotencyKey: `demo ${sample.plan}` })).id;
      if (sample.orphanRule !== undefined) body.orphanRule = sample.orphanRule;
    }
    found.set(sample, await request("POST", "/api/events", body, { idempotent: true }));
  }
  return found;
}
