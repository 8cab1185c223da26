// A customer's entry on the waiting list of an event: it is found, made, followed and ended. It draws nothing.

import { pause } from "./api.js";

const pollInterval = 15_000; // ms
const hiddenInterval = 60_000; // ms, while the page is not seen
const maxAttempts = 8; // of one request: about a minute

/** takesEntries reports whether an event's waiting list can be joined, at a time of the server's clock in ms. */
export const takesEntries = ({ waitlist, status, saleEndsAt }, now) =>
  (waitlist === "OPEN" || waitlist === "PAUSED") && status !== "CANCELLED" && !(now >= Date.parse(saleEndsAt));

/** Waitlist has the open entry of a customer, or the one that ended last. While it is open it is read again and again. */
export class Waitlist {
  entry = null; // as the server answered it last
  lock = null; // that the entry is offered
  #asked = 0; // raised by each request: an answer to an earlier one is of the past
  #timer = 0;

  /**
   * @param api has `call(method, path, body, signal)`, and `now()`
   * @param customer returns `userId` or `holder`, as a request names the customer
   * @param changed gets the entry as it was before
   */
  constructor(api, eventID, customer, changed, stop) {
    this.api = api;
    this.customer = customer;
    this.changed = changed;
    this.stop = stop;
    this.path = `/api/events/${encodeURIComponent(eventID)}/waitlist`;
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#wait() : this.poll()), { signal: stop });
    stop.addEventListener("abort", () => clearTimeout(this.#timer));
  }

  get isWaiting() { return this.entry?.status === "WAITING"; }
  get isOffered() { return this.entry?.status === "OFFERED"; }

  /** left is how long the offer lasts, in ms; 0 if it is over, even if the entry does not say so yet; undefined if that is not known. */
  get left() {
    if (!this.isOffered || this.lock === null) return undefined;
    return this.lock.status === "EXPIRED" ? 0 : Math.max(0, Date.parse(this.lock.expiresAt) - this.api.now());
  }

  /** find looks for the customer's open entry, such as after a reload. */
  async find() {
    const asked = ++this.#asked;
    const found = await this.#repeat(() => Promise.all(["OFFERED", "WAITING"].map((status) =>
      this.api.call("GET", `${this.path}?${new URLSearchParams({ ...this.customer(), status, pageSize: 1 })}`, undefined, this.stop))));
    const [entry = null] = found.flatMap(({ items }) => items);
    await this.#take(entry, asked);
  }

  /** join makes an entry, and throws the refusal of the server. With an open entry of another wish, that one is shown. */
  async join(seats, options = {}) {
    const asked = ++this.#asked;
    try {
      await this.#take(await this.#repeat(() => this.api.call("POST", this.path, { ...this.customer(), seats, ...options }, this.stop)), asked);
    } catch (error) {
      if (error.code === "WAITLIST_ENTRY_EXISTS") await this.find();
      throw error;
    }
  }

  /** leave declines the offer, or gives up the place on the list. It throws the refusal of the server. */
  async leave() {
    const { id } = this.entry;
    const [method, end] = this.isOffered ? ["POST", "/decline"] : ["DELETE", ""];
    const asked = ++this.#asked;
    try {
      await this.#take(await this.#repeat(() => this.api.call(method, `/api/waitlist/${id}${end}`, undefined, this.stop)), asked);
    } catch (error) {
      await this.poll(); // the entry may have ended, or have an offer
      throw error;
    }
  }

  /** poll reads the entry. Without an answer it stays as it is. */
  async poll() {
    if (!this.isWaiting && !this.isOffered) return;
    const asked = ++this.#asked;
    let retryAfter = 0;
    try {
      await this.#take(await this.api.call("GET", `/api/waitlist/${this.entry.id}`, undefined, this.stop), asked);
    } catch (error) {
      if (error.status === 404) return this.#take(null, asked);
      retryAfter = error.retryAfter ?? 0;
    }
    if (asked === this.#asked) this.#wait(retryAfter * 1000);
    return undefined;
  }

  async #take(entry, asked) {
    const lock = entry?.status === "OFFERED" ? await this.#lockOf(entry) : null;
    if (asked !== this.#asked || this.stop.aborted) return;
    const before = this.entry;
    this.entry = entry;
    this.lock = lock;
    this.#wait();
    this.changed(before);
  }

  // #lockOf is the lock of an offer; as it was, without an answer.
  async #lockOf({ lockId }) {
    try {
      return await this.api.call("GET", `/api/locks/${lockId}`, undefined, this.stop);
    } catch {
      return this.lock?.id === lockId ? this.lock : null;
    }
  }

  #wait(least = 0) {
    clearTimeout(this.#timer);
    const interval = document.hidden ? hiddenInterval : pollInterval;
    if ((this.isWaiting || this.isOffered) && !this.stop.aborted) this.#timer = setTimeout(() => this.poll(), Math.max(interval, least));
  }

  // #repeat sends a request again while it has no answer: an open entry is its own key, and an end is answered again.
  async #repeat(send) {
    for (let attempt = 1, delay = 300; ; attempt++, delay = Math.min(2 * delay, 10_000)) {
      try {
        return await send();
      } catch (error) {
        const mayPass = error.status === 0 || error.status === 429 || error.status >= 500;
        if (!mayPass || attempt === maxAttempts || this.stop.aborted) throw error;
        await pause(Math.max(delay * (0.75 + Math.random() / 2), (error.retryAfter ?? 0) * 1000), this.stop);
        if (this.stop.aborted) throw error;
      }
    }
  }
}
