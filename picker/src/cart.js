// What the customer has chosen, and what of it is held. It decides what a click means; it draws nothing.

import { accessible } from "./hall.js";
import { Hold } from "./hold.js";
import { orphans } from "./orphans.js";

export class Cart {
  chosen = new Set(); // seats
  held = new Set(); // of them, those in the lock
  areas = new Map(); // places in sections of general admission, by the section's number
  #areaHolds = new Map();

  /**
   * @param options has `event`, `userId`, `ttlSeconds`, `most` (seats in all), `holdsAtOnce`
   * @param on has `changed()`, `selected(seat, isChosen)`, `held()`, `ended(lock)`, `said(text)`, `hinted(seats)`,
   * `refused(refusal)` and `waiting(refusal)`
   */
  constructor(api, hall, seats, options, words, on) {
    Object.assign(this, { api, hall, seats, options, words, on });
    this.hold = new Hold(api, this.#request(), {
      changed: () => this.#takeLock(),
      refused: (refusal) => this.#refused(refusal),
      ended: (refusal, lock) => this.#ended(lock),
      waiting: on.waiting,
    });
  }

  #request() {
    const { event, userId, ttlSeconds } = this.options;
    return { eventId: event.id, userId, ...(ttlSeconds > 0 && { ttlSeconds }) };
  }

  /** resume takes over a lock. It returns whether it still holds. */
  async resume(lockID) {
    const lock = await this.api.call("GET", `/api/locks/${lockID}`).catch(() => undefined);
    if (lock?.status !== "ACTIVE" || lock.eventId !== this.options.event.id || Date.parse(lock.expiresAt) <= this.api.now()) return false;
    const [place] = lock.places ?? [];
    const area = place !== undefined && place.seatId === undefined ? this.hall.sectionByKey.get(place.section) : undefined;
    if (area === undefined) {
      this.hold.adopt(lock);
      this.chosen = this.#seatsOf(lock);
      this.#takeLock();
    } else {
      this.#areaHold(area).adopt(lock);
      this.areas.set(area.number, lock.seats);
      this.on.held();
      this.on.changed();
    }
    return true;
  }

  stop() {
    this.hold.stop();
    for (const h of this.#areaHolds.values()) h.stop();
  }

  /** forget drops everything without a request: the shop has sold it. */
  forget() {
    for (const h of this.#holds()) h.forget();
    this.chosen.clear();
    this.held.clear();
    this.areas.clear();
    this.on.changed();
  }

  #holds() { return [this.hold, ...this.#areaHolds.values()]; }

  /** locks are those that hold something. */
  get locks() { return this.#holds().flatMap((h) => (h.lock === null ? [] : [h.lock])); }

  /** size is how many seats are chosen in all. */
  get size() { return this.chosen.size + [...this.areas.values()].reduce((a, b) => a + b, 0); }

  /** deadline is when the first lock ends, in ms of the server's clock; undefined: nothing is held. */
  get deadline() {
    const times = this.locks.filter((l) => l.status === "ACTIVE").map((l) => Date.parse(l.expiresAt));
    return times.length > 0 ? Math.min(...times) : undefined;
  }

  isMine(seat) { return this.held.has(seat); }

  /** canHave reports whether a seat is free for this customer. */
  canHave(seat) { return !this.seats.taken[seat] || this.held.has(seat); }

  /** orphansOf are the seats that a choice would leave single, where the event refuses that. */
  orphansOf(chosen) {
    const { event } = this.options;
    if (event.orphanRule !== "REFUSE") return [];
    const isOpen = event.accessiblePolicy === "OPEN";
    return orphans(this.hall, [...chosen], (i) => this.canHave(i) && (isOpen || !(this.hall.kind[i] & accessible)));
  }

  /** toggle chooses a seat, or gives it up. */
  toggle(seat) {
    if (this.chosen.delete(seat)) return this.#chose(seat, false);
    if (!this.canHave(seat)) return this.on.said(this.words.taken);
    if (this.size >= this.options.most) return this.on.said(this.words.most(this.options.most));
    this.chosen.add(seat);
    return this.#chose(seat, true);
  }

  #chose(seat, isChosen) {
    this.on.selected(seat, isChosen);
    if (this.options.holdsAtOnce) this.#wish();
    else this.#hint();
    this.on.changed();
  }

  #hint() {
    const single = this.orphansOf(this.chosen);
    this.on.hinted(single);
    return single.length > 0;
  }

  // #wish asks for what is chosen, unless the server would refuse it for a single seat: then the customer is told, and
  // the lock stays as it is.
  #wish() {
    if (this.#hint()) return Promise.resolve();
    return this.hold.want(this.chosen.size === 0 ? null : this.#named());
  }

  #named() {
    const seats = [...this.chosen].sort((a, b) => a - b);
    const reserved = seats.filter((i) => this.hall.kind[i] & accessible).length;
    return { seatIds: seats.map((i) => this.hall.ids[i]), ...(reserved > 0 && { accessibleSeats: reserved }) };
  }

  /** setPlaces chooses a number of places in a section of general admission. */
  setPlaces(section, n) {
    const others = this.size - (this.areas.get(section.number) ?? 0);
    if (n > 0 && others + n > this.options.most) {
      this.on.said(this.words.most(this.options.most));
      n = Math.max(0, this.options.most - others);
    }
    if (n > 0) this.areas.set(section.number, n);
    else this.areas.delete(section.number);
    if (this.options.holdsAtOnce) this.#wishPlaces(section);
    this.on.changed();
  }

  #wishPlaces(section) {
    const n = this.areas.get(section.number) ?? 0;
    if (n === 0 && !this.#areaHolds.has(section.number)) return Promise.resolve();
    return this.#areaHold(section).want(n === 0 ? null : { section: section.key, seats: n });
  }

  #areaHold(section) {
    let hold = this.#areaHolds.get(section.number);
    if (hold !== undefined) return hold;
    const restore = () => {
      const had = hold.lock?.seats ?? 0;
      if (had > 0) this.areas.set(section.number, had);
      else this.areas.delete(section.number);
    };
    hold = new Hold(this.api, this.#request(), {
      changed: () => { restore(); this.on.held(); this.on.changed(); },
      refused: (refusal) => { restore(); this.#tell(refusal); this.on.changed(); },
      ended: (refusal, lock) => { restore(); this.on.ended(lock); this.on.changed(); },
      waiting: this.on.waiting,
    });
    this.#areaHolds.set(section.number, hold);
    return hold;
  }

  /** best holds the seats that the server finds best, in place of the chosen ones. */
  best(n, options = {}) {
    const places = [...this.areas.values()].reduce((a, b) => a + b, 0);
    if (places + n > this.options.most) {
      this.on.said(this.words.most(this.options.most));
      return Promise.resolve();
    }
    this.isPicking = true;
    return this.hold.want({ bestAvailable: { seats: n, ...options } }).finally(() => { this.isPicking = false; });
  }

  /** holdAll holds what is chosen, for a shop that holds on check-out. It returns the locks. */
  async holdAll() {
    await Promise.all([this.#wish(), ...[...this.areas.keys()].map((n) => this.#wishPlaces(this.hall.sections[n]))]);
    return this.locks;
  }

  /** clear gives everything up. */
  async clear() {
    this.chosen.clear();
    this.areas.clear();
    this.on.hinted([]);
    this.on.changed();
    await Promise.all(this.#holds().map((h) => h.want(null)));
  }

  /** seatsChanged tells of seats that others have taken while they were chosen. */
  seatsChanged(changed) {
    const gone = changed.filter((i) => this.seats.taken[i] && this.chosen.has(i) && !this.held.has(i) && !this.#asksFor(i));
    if (gone.length > 0) this.#drop(gone);
    else if (changed.some((i) => this.chosen.size > 0 && this.#isNearChosen(i))) this.#hint();
  }

  #asksFor(seat) { return this.hold.wanted?.seatIds?.includes(this.hall.ids[seat]) ?? false; }
  #isNearChosen(seat) { return [...this.chosen].some((i) => this.hall.rowOf[i] === this.hall.rowOf[seat]); }

  #drop(gone) {
    for (const i of gone) {
      this.chosen.delete(i);
      this.on.selected(i, false);
    }
    this.on.gone(gone);
    this.#hint();
    this.on.changed();
  }

  #seatsOf(lock) { return new Set((lock?.places ?? []).flatMap((p) => this.hall.byID.get(p.seatId) ?? [])); }

  #takeLock() {
    this.held = this.#seatsOf(this.hold.lock);
    if (this.isPicking) {
      const before = this.chosen;
      this.chosen = new Set(this.held);
      for (const i of before) if (!this.chosen.has(i)) this.on.selected(i, false);
      for (const i of this.chosen) if (!before.has(i)) this.on.selected(i, true);
    }
    this.#hint();
    this.on.held();
    this.on.changed();
  }

  #refused(refusal) {
    const gone = (refusal.problem.unavailable ?? []).flatMap((id) => this.hall.byID.get(id) ?? []);
    if (gone.length > 0) {
      for (const i of gone) this.seats.taken[i] = 1;
      this.on.taken(gone);
      this.#drop(gone);
      if (!this.options.holdsAtOnce) return;
      this.#wish(); // of what is left
      return;
    }
    if (refusal.code === "SEAT_ORPHANED" && !this.isPicking) {
      this.on.hinted((refusal.problem.orphans ?? []).flatMap((id) => this.hall.byID.get(id) ?? []));
      return;
    }
    if (!this.isPicking) {
      for (const i of this.chosen) if (!this.held.has(i)) this.on.selected(i, false);
      this.chosen = new Set(this.held);
    }
    this.#tell(refusal);
    this.on.changed();
  }

  #tell(refusal) {
    const { code, problem } = refusal;
    const w = this.words;
    if (code === "SEATS_UNAVAILABLE") this.on.said(w.tooFew(problem.available));
    else if (code === "SEATS_NOT_ADJACENT") this.on.said(w.notAdjacent(problem.longest));
    else if (code === "EVENT_NOT_ON_SALE") this.on.said(w.notOnSale);
    else if (code === "LOCK_HAS_BOOKING") this.on.said(w.hasBooking);
    else this.on.said(w.failed(refusal.message));
    this.on.refused(refusal);
  }

  #ended(lock) {
    for (const i of this.chosen) this.on.selected(i, false);
    this.chosen.clear();
    this.held.clear();
    this.on.hinted([]);
    this.on.ended(lock);
    this.on.changed();
  }
}
