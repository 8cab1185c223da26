// Holds what the customer wants: one lock, taken with the first wish, changed with each further one, and released when
// nothing is wanted. One request at a time; a request without an answer is repeated, with the same key, until it has one:
// only then is it known what to change.

import { Refusal, pause } from "./api.js";

const ended = new Set(["LOCK_EXPIRED", "LOCK_RELEASED", "LOCK_NOT_FOUND"]);

export class Hold {
  lock = null; // as the server answered it last
  #held = null; // the wish that the lock has
  #wanted = null;
  #running = undefined;
  #stop = new AbortController();
  #timer = 0;

  /**
   * @param request has `eventId`, `userId` and, optionally, `ttlSeconds`
   * @param on has `changed()`, `refused(refusal)` (the lock stays as it is), `ended(refusal)` (the lock is gone) and
   * `waiting(refusal)` (no answer yet; undefined: there is one)
   */
  constructor(api, request, on) {
    Object.assign(this, { api, request, on });
  }

  /** adopt takes over a lock that was made before, such as before the page was loaded again. */
  adopt(lock) {
    const wish = wishOf(lock);
    this.#take(lock, wish);
    this.#wanted = wish;
  }

  /** want changes the wish: the part of a request that says which seats; null: none. The promise ends when it is decided. */
  want(wish) {
    this.#wanted = wish;
    this.#running ??= this.#run().finally(() => { this.#running = undefined; });
    return this.#running;
  }

  /** wanted is the wish that is held, or will be. */
  get wanted() { return this.#wanted; }

  /** forget leaves the lock to others, such as to a shop that has sold it. */
  forget() {
    clearTimeout(this.#timer);
    this.lock = this.#held = this.#wanted = null;
  }

  stop() {
    this.#stop.abort();
    clearTimeout(this.#timer);
  }

  async #run() {
    await Promise.resolve(); // clicks at the same moment are one wish
    while (!isSame(this.#wanted, this.#held) && !this.#stop.signal.aborted) {
      const wish = this.#wanted;
      try {
        await this.#change(wish);
        this.on.changed();
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        if (!(error instanceof Refusal)) throw error;
        if (ended.has(error.code) || (wish === null && error.status < 500)) {
          const had = this.lock;
          this.forget();
          if (wish === null) this.on.changed();
          else this.on.ended(error, had);
          return;
        }
        if (isSame(this.#wanted, wish)) this.#wanted = this.#held; // the listener may wish for something else
        this.on.refused(error, wish);
      }
    }
  }

  async #change(wish) {
    if (wish === null) {
      await this.#repeat(() => this.api.call("DELETE", `/api/locks/${this.lock.id}`, undefined, this.#stop.signal));
      clearTimeout(this.#timer);
      this.lock = this.#held = null;
      return;
    }
    if (this.lock !== null) {
      this.#take(await this.#repeat(() => this.api.call("PUT", `/api/locks/${this.lock.id}/seats`, wish, this.#stop.signal)), wish);
      return;
    }
    const body = { ...this.request, ...wish, idempotencyKey: crypto.randomUUID?.() ?? randomKey() };
    this.#take(await this.#repeat(() => this.api.call("POST", "/api/locks", body, this.#stop.signal)), wish);
  }

  // #repeat sends a request again while it has no answer.
  async #repeat(send) {
    for (let delay = 300; ; delay = Math.min(delay * 2, 10_000)) {
      try {
        const answer = await send();
        this.on.waiting(undefined);
        return answer;
      } catch (error) {
        if (!(error instanceof Refusal) || !error.mayPass) {
          this.on.waiting(undefined);
          throw error;
        }
        this.on.waiting(error);
        await pause(Math.max(delay, error.retryAfter * 1000) * (0.75 + Math.random() / 2), this.#stop.signal);
        if (this.#stop.signal.aborted) throw error;
      }
    }
  }

  #take(lock, wish) {
    const best = wish.bestAvailable !== undefined;
    this.lock = lock;
    this.#held = best ? wishOf(lock) : wish;
    if (best && isSame(this.#wanted, wish)) this.#wanted = this.#held;
    clearTimeout(this.#timer);
    const longest = 2 ** 31 - 1; // of a timer
    this.#timer = setTimeout(() => this.#timeOut(), Math.min(Math.max(0, Date.parse(lock.expiresAt) - this.api.now()) + 50, longest));
  }

  // #timeOut asks what has become of the lock: the shop may have extended or sold it.
  async #timeOut() {
    const { lock } = this;
    try {
      const present = await this.#repeat(() => this.api.call("GET", `/api/locks/${lock.id}`, undefined, this.#stop.signal));
      if (this.lock !== lock) return;
      if (present.status === "ACTIVE" && Date.parse(present.expiresAt) > this.api.now()) return this.#take(present, this.#held);
      if (present.status === "CONSUMED") {
        this.lock = present;
        return this.on.changed();
      }
    } catch {
      if (this.lock !== lock || this.#stop.signal.aborted) return;
    }
    this.forget();
    this.on.ended(new Refusal(410, { code: "LOCK_EXPIRED" }), lock);
  }
}

const randomKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

/** wishOf is the wish that asks for what a lock has. */
export function wishOf(lock) {
  const ids = (lock.places ?? []).flatMap((p) => p.seatId ?? []);
  if (ids.length > 0) return { seatIds: ids };
  return { section: lock.places?.[0]?.section, seats: lock.seats };
}

const isSame = (a, b) => {
  if (a === null || b === null) return a === b;
  const text = (w) => JSON.stringify([w.seatIds?.toSorted(), w.section, w.seats, w.bestAvailable]);
  return text(a) === text(b);
};
