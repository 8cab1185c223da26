// When an event is on sale: its status, and the window of its sale.

import { remaining } from "./clock.js";
import { Stream } from "./stream.js";

const day = 86_400_000; // ms

/** saleOf is, at a time of the server's clock in ms: "open"; "before" its start; "ended", after its end; or "closed", by its status. */
export function saleOf({ status, saleStartsAt, saleEndsAt }, now) {
  if (status !== "ON_SALE") return "closed";
  if (now >= Date.parse(saleEndsAt)) return "ended"; // nothing is later than a time that is not there
  return now < Date.parse(saleStartsAt) ? "before" : "open";
}

/** saleText says so; undefined while the event is on sale. */
export function saleText(event, now, words, language) {
  const state = saleOf(event, now);
  const left = Date.parse(event.saleStartsAt) - now;
  if (state === "before") return left < day ? words.opensIn(remaining(left)) : words.opensOn(dateTime(event.saleStartsAt, language));
  return { ended: words.saleEnded, closed: words.notOnSale }[state];
}

function dateTime(time, language) {
  const form = /** @type {const} */ ({ dateStyle: "long", timeStyle: "short" });
  try {
    return new Date(time).toLocaleString(language || undefined, form);
  } catch { // no such language
    return new Date(time).toLocaleString(undefined, form);
  }
}

/** Sale follows an event while it is not on sale: an operator may move the start. While it is, nothing is asked for. */
export class Sale {
  state = undefined;
  #watch = undefined;

  /** @param on gets the state when it has changed, and the one before */
  constructor(api, event, on, stop) {
    this.api = api;
    this.event = event;
    this.on = on;
    this.stop = stop;
  }

  /** check is called again and again. */
  check() {
    const before = this.state;
    this.state = saleOf(this.event, this.api.now());
    if (this.state === "open" || this.event.status === "CANCELLED") this.#unwatch();
    else this.#watch ??= this.#follow();
    if (this.state !== before) this.on(this.state, before);
  }

  /** refresh reads the event, such as after a refusal. */
  async refresh() {
    const event = await this.api.call("GET", `/api/events/${this.event.id}`, undefined, this.stop).catch(() => undefined);
    if (event !== undefined && !this.stop.aborted) this.#take(event);
  }

  #follow() {
    const watch = new AbortController();
    new Stream(this.api, () => `/api/events/${this.event.id}/stream`, {
      message: ({ event, data }) => { if (event === "availability" && !watch.signal.aborted) this.#take(JSON.parse(data)); },
    }, AbortSignal.any([this.stop, watch.signal])).run();
    return watch;
  }

  #unwatch() {
    this.#watch?.abort();
    this.#watch = undefined;
  }

  // #take notes what an answer or a message says; the latter has no waiting list.
  #take({ status, saleStartsAt, saleEndsAt, waitlist = this.event.waitlist }) {
    Object.assign(this.event, { status, saleStartsAt, saleEndsAt, waitlist });
    this.check();
  }
}
