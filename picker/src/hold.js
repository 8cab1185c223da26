// Holds what the customer wants: one lock, taken with the first wish, changed with each further one, and released when
// nothing is wanted. One request at a time; a request without an answer is repeated, with the same key, until it has one:
// only then is it known what to change.

import { Refusal, pause } from "./api.js";

const ended = new Set(["LOCK_EXPIRED", "LOCK_RELEASED", "LOCK_NOT_FOUND"]);
const maxAttempts = 60; // of one request: some minutes

export class Hold {
  lock = null; // as the server answered it last
  #held = null; // the wish that the lock has
  #wanted = null;
  #isForced = false; // nothing is wanted, even if that cancels a booking
  #refusal = undefined; // of what was wanted last
  #epoch = 0; // raised when the lock has ended or is forgotten: what is in flight is of the past then
  #running = undefined;
  #stop = new AbortController();
  #timer = 0;

  /**
   * @param request returns `eventId`, `userId` or `holder` and, optionally, `ttlSeconds`
   * @param on has `changed(wish)` (that is held now), `changedElsewhere(previous lock)`, `refused(refusal, wish)` (the lock stays as it is, and
   * nothing is tried again; without a wish: a look at the lock failed), `ended(refusal, lock)` (the lock is gone), `sold()` (the lock was
   * bought, and is not changed any more), `waiting(refusal)` (no answer yet; undefined: there is one), and `wishOf(lock)`, the wish for what a lock has
   */
  constructor(api, request, on) {
    this.api = api;
    this.request = request;
    this.on = on;
  }

  /** adopt takes over a lock that was made before, such as before the page was loaded again. */
  adopt(lock) {
    this.#wanted = this.#take(lock, this.on.wishOf(lock));
  }

  /**
   * want changes the wish: the part of a request that says which seats; null: none. It promises the refusal of what was wanted last;
   * undefined: it is held. A lock whose booking is being paid for is released only if that is forced, because it cancels the booking.
   */
  want(wish, isForced = false) {
    this.#wanted = wish;
    this.#isForced = isForced;
    this.#refusal = undefined;
    this.#running ??= this.#run();
    return this.#running;
  }

  /** wanted is the wish that is held, or will be. */
  get wanted() { return this.#wanted; }

  /** isSettled reports whether what is wanted is held. */
  get isSettled() { return isSame(this.#wanted, this.#held); }

  /** forget leaves the lock to others, such as to a shop that has sold it. */
  forget() {
    clearTimeout(this.#timer);
    this.#epoch++;
    this.lock = this.#held = this.#wanted = null;
  }

  /** stop leaves the lock as it is. A request in flight comes to its end: a lock that it makes is released. */
  stop() {
    this.#epoch++;
    this.#refusal = new Refusal(0, { code: "NO_ANSWER", detail: "The map was removed, or loaded again." });
    this.#stop.abort();
    clearTimeout(this.#timer);
  }

  async #run() {
    await Promise.resolve(); // clicks at the same moment are one wish
    try {
      while (!this.isSettled && !this.#stop.signal.aborted) await this.#step();
      return this.#refusal;
    } finally {
      this.#running = undefined; // at once: what is wanted next is another run
    }
  }

  async #step() {
    const [wish, isForced, epoch] = [this.#wanted, this.#isForced, this.#epoch];
    try {
      if (!(await this.#change(wish, isForced, epoch))) return;
      this.#refusal = undefined;
      this.on.changed(wish);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (epoch !== this.#epoch) return;
      if (ended.has(error.code)) {
        this.#end(error);
        return;
      }
      const isLast = isSame(this.#wanted, wish) && this.#isForced === isForced;
      this.#refusal = isLast ? error : undefined;
      if (isLast) this.#wanted = this.#held; // the listener may wish for something else
      this.on.refused(error, wish);
      if (error.code === "LOCK_CONSUMED" && this.lock?.status === "ACTIVE") await this.check(true); // bought elsewhere
    }
  }

  // #change carries out a wish. It returns false if the lock has ended meanwhile.
  async #change(wish, isForced, epoch) {
    const { lock } = this;
    const send = (method, path, body) => this.#repeat(epoch, () => this.api.call(method, path, body));
    if (wish === null) {
      // A lock whose booking is being paid can't be changed, but released: that would cancel the booking.
      if (!isForced) await send("PUT", `${pathOf(lock)}/seats`, this.on.wishOf(lock));
      await send("DELETE", pathOf(lock));
      if (epoch !== this.#epoch) return false;
      clearTimeout(this.#timer);
      this.lock = this.#held = null;
      return true;
    }
    if (lock !== null) {
      const answer = await send("PUT", `${pathOf(lock)}/seats`, wish);
      if (epoch === this.#epoch) this.#take(answer, wish);
      return epoch === this.#epoch;
    }
    const request = this.request();
    const [path, body] = [locksOf(request), { ...request, ...wish, idempotencyKey: newKey() }];
    const answer = await send("POST", path, body);
    if (epoch !== this.#epoch) {
      if (answer !== undefined) this.api.call("DELETE", pathOf(answer)).catch(() => {}); // the customer does not want it any more
      return false;
    }
    if (answer.status !== "ACTIVE") throw new Refusal(410, { code: "LOCK_EXPIRED" }); // a repeat came too late
    this.#take(answer, wish);
    return true;
  }

  // #repeat sends a request again while it has no answer. It ends with undefined if the lock has ended meanwhile.
  async #repeat(epoch, send) {
    let delay = 300; // ms
    for (let attempt = 1; epoch === this.#epoch; attempt++) {
      try {
        const answer = await send();
        this.on.waiting(undefined);
        return answer;
      } catch (error) {
        if (!(error instanceof Refusal) || !error.mayPass || attempt === maxAttempts) {
          this.on.waiting(undefined);
          throw error;
        }
        this.on.waiting(error);
        await pause(Math.max(delay * (0.75 + Math.random() / 2), error.retryAfter * 1000), this.#stop.signal);
        if (this.#stop.signal.aborted) throw error;
        delay = Math.min(delay * 2, 10_000);
      }
    }
    this.on.waiting(undefined);
    return undefined;
  }

  // #take notes what the lock has now, and returns the wish for that.
  #take(lock, wish) {
    const best = wish.bestAvailable !== undefined;
    this.lock = lock;
    this.#held = best ? this.on.wishOf(lock) : wish;
    if (best && isSame(this.#wanted, wish)) this.#wanted = this.#held;
    clearTimeout(this.#timer);
    const longest = 2 ** 31 - 1; // of a timer
    this.#timer = setTimeout(() => this.check(), Math.min(Math.max(0, Date.parse(lock.expiresAt) - this.api.now()) + 50, longest));
    return this.#held;
  }

  #end(refusal) {
    const { lock } = this;
    this.forget();
    this.#refusal = refusal;
    this.on.ended(refusal, lock);
  }

  /** poll checks the lock if one request, which may fail, says that it has changed. */
  async poll() {
    const { lock } = this;
    if (lock?.status !== "ACTIVE" || this.#running !== undefined) return;
    try {
      const present = await this.api.call("GET", `/api/locks/${lock.id}`, undefined, this.#stop.signal);
      if (present.status === "ACTIVE" && said(present) === said(lock)) return;
    } catch (error) {
      if (error.status !== 404) return;
    }
    if (this.lock === lock) await this.check();
  }

  /** check reads the state of the lock: the shop may have extended or sold it, or another tab changed it. */
  async check(isKnownAsSold = false) {
    const [lock, epoch] = [this.lock, this.#epoch];
    if (lock?.status !== "ACTIVE") return;
    let present;
    try {
      present = await this.#repeat(epoch, () => this.api.call("GET", `/api/locks/${lock.id}`, undefined, this.#stop.signal));
    } catch (error) {
      if (this.#stop.signal.aborted || !(error instanceof Refusal)) return;
      if (error.status !== 404) return this.on.refused(error);
      present = { status: "EXPIRED" };
    }
    if (epoch !== this.#epoch || this.lock !== lock || present === undefined) return undefined; // it has changed meanwhile
    if (present.status === "CONSUMED") {
      clearTimeout(this.#timer);
      this.lock = present;
      if (!isKnownAsSold) this.on.sold();
      return this.on.changedElsewhere(lock);
    }
    if (present.status !== "ACTIVE" || Date.parse(present.expiresAt) <= this.api.now()) {
      return this.#end(new Refusal(410, { code: present.status === "RELEASED" ? "LOCK_RELEASED" : "LOCK_EXPIRED" }));
    }
    const isIdle = this.isSettled;
    const held = this.#take(present, this.on.wishOf(present));
    if (isIdle) this.#wanted = held;
    return said(present) === said(lock) ? undefined : this.on.changedElsewhere(lock);
  }
}

// The event is in the path, so that a load balancer can send its requests to one process.
const locksOf = ({ eventId }) => `/api/events/${encodeURIComponent(eventId)}/locks`;
const pathOf = (lock) => `${locksOf(lock)}/${lock.id}`;

// said is the part of a lock that the page gets.
const said = ({ expiresAt, seats, places, bookingId }) => JSON.stringify([expiresAt, seats, places, bookingId]);

const newKey = () => crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

const isSame = (a, b) => {
  if (a === null || b === null) return a === b;
  const text = (w) => JSON.stringify([w.seatIds?.toSorted(), w.section, w.seats, w.bestAvailable]);
  return text(a) === text(b);
};
