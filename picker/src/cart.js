// The seats that the customer has chosen, and those of them that are held. It decides what a click means, and draws nothing.

import { Refusal, pause } from "./api.js";
import { accessible } from "./hall.js";
import { Hold } from "./hold.js";
import { orphans } from "./orphans.js";
import { saleOf } from "./sale.js";

const maxReads = 10; // of a lock that is taken over

export class Cart {
  chosen = new Set(); // seats
  held = new Set(); // chosen seats that are in the lock
  areas = new Map(); // places in sections of general admission, by the section's number
  #areaHolds = new Map();

  /**
   * @param options has `event`, `customer`, `ttlSeconds`, `most` (seats in all), `holdsAtOnce`, `isPaying` (nothing can be
   * chosen or given up)
   * @param on has `changed()`, `selected(seat, isChosen)`, `placed(section)` (another number of its
   * places), `held()`, `ended(refusal, lock)`, `gone(seats)`, `taken(seats)`,
   * `barred(category)` (why its seats can't be chosen; undefined if they can), `said(text, seat that it is about)`, `hinted(seats)`, `named(seats)` (their names), `refused(refusal, wish for places)` and
   * `waiting(refusal)`
   */
  constructor(api, hall, seats, options, words, on) {
    this.api = api;
    this.hall = hall;
    this.seats = seats;
    this.options = options;
    this.words = words;
    this.on = on;
    this.hold = new Hold(api, () => this.#request(), {
      changed: (wish) => this.#takeLock(wish),
      changedElsewhere: () => this.#takeLock(),
      refused: (refusal, wish) => this.#refused(refusal, wish),
      ended: (refusal, lock) => this.#ended(refusal, lock),
      sold: () => on.said(words.sold),
      waiting: on.waiting,
      wishOf: (lock) => this.#named(this.#seatsOf(lock)),
    });
  }

  #request() {
    const { event, customer, ttlSeconds } = this.options;
    return { eventId: event.id, ...customer, ...(ttlSeconds > 0 && { ttlSeconds }) };
  }

  /** resume takes over a lock of the event that is ACTIVE, and returns its status; undefined if it can't be read. */
  async resume(lockID, signal) {
    const lock = await this.#read(lockID, signal);
    if (lock?.status !== "ACTIVE" || lock.eventId !== this.options.event.id) return lock?.status;
    if (Date.parse(lock.expiresAt) <= this.api.now()) return "EXPIRED";
    const area = this.#areaOf(lock);
    if (area === undefined) {
      this.hold.adopt(lock);
      this.chosen = this.#seatsOf(lock);
      this.held = this.#seatsOf(lock);
    } else {
      this.#areaHold(area).adopt(lock);
      this.areas.set(area.number, lock.seats);
    }
    return lock.status;
  }

  // #areaOf is the section of general admission that a lock has places in; undefined if it has numbered seats.
  #areaOf({ places: [place] = [] }) {
    return place !== undefined && place.seatId === undefined ? this.hall.sectionByKey.get(place.section) : undefined;
  }

  #holdOf(lock) {
    const area = this.#areaOf(lock);
    return area === undefined ? this.hold : this.#areaHold(area);
  }

  /** take takes over a lock that the customer got elsewhere, such as an offer. It returns false while another one is in its place. */
  take(lock) {
    const [area, hold] = [this.#areaOf(lock), this.#holdOf(lock)];
    if (hold.lock?.id === lock.id) return true;
    if (hold.lock !== null || !hold.isSettled) return false;
    hold.adopt(lock);
    if (area === undefined) {
      this.held = this.#seatsOf(lock);
      this.#choose([...this.chosen, ...this.held]);
      this.#hint();
    } else this.#place(area, lock.seats);
    this.on.held();
    this.on.changed();
    return true;
  }

  /** swap releases what is in the place of a lock, and takes that. */
  async swap(lock) {
    const area = this.#areaOf(lock);
    if (area === undefined) this.#drop([...this.chosen]);
    else this.#place(area, 0);
    await this.#holdOf(lock).want(null); // a refusal is shown
    this.take(lock);
  }

  /** lose forgets a lock that was released by another request. */
  lose(id) {
    const hold = this.#holds().find(({ lock }) => lock?.id === id);
    if (hold === undefined) return;
    const area = this.#areaOf(hold.lock);
    hold.forget();
    if (area === undefined) {
      this.held.clear();
      this.#drop([...this.chosen]);
    } else this.#place(area, 0);
    this.on.held();
    this.on.changed();
  }

  async #read(lockID, signal) {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.api.call("GET", `/api/locks/${encodeURIComponent(lockID)}`, undefined, signal);
      } catch (error) {
        if (!(error instanceof Refusal) || signal.aborted) throw error;
        if (error.status === 404) return { status: "EXPIRED" };
        if (!error.mayPass || attempt === maxReads) return undefined;
        await pause(Math.max(500 * attempt, error.retryAfter * 1000), signal);
      }
    }
  }

  stop() {
    this.hold.stop();
    for (const h of this.#areaHolds.values()) h.stop();
  }

  /**
   * forget drops everything. Locks with these IDs, without IDs all locks, get no request: the shop has sold them. Others are
   * released, unless they have a booking.
   */
  async forget(ids) {
    const others = this.#holds().filter(({ lock }) => lock !== null && ids !== undefined && !ids.includes(lock.id));
    for (const h of this.#holds()) if (!others.includes(h)) h.forget();
    if (this.hold.lock === null) this.held.clear();
    this.#drop([...this.chosen]);
    this.#placeNone();
    this.on.held();
    this.on.changed();
    await Promise.all(others.map((h) => h.want(null)));
  }

  #holds() { return [this.hold, ...this.#areaHolds.values()]; }

  /** locks are the locks that hold seats or places. */
  get locks() { return this.#holds().flatMap((h) => (h.lock === null ? [] : [h.lock])); }

  /** size is the number of chosen seats and places. */
  get size() { return this.chosen.size + [...this.areas.values()].reduce((a, b) => a + b, 0); }

  /** deadline is when the first lock ends, in ms of the server's clock; undefined if nothing is held. */
  get deadline() {
    const times = this.locks.filter((l) => l.status === "ACTIVE").map((l) => Date.parse(l.expiresAt));
    return times.length > 0 ? Math.min(...times) : undefined;
  }

  isMine(seat) { return this.held.has(seat); }

  /** isPicking is true while the server is asked for the best available seats, which replace the chosen ones. */
  get isPicking() { return this.hold.wanted?.bestAvailable !== undefined; }

  /** canHave reports whether a seat is free for this customer. */
  canHave(seat) { return !this.seats.taken[seat] || this.held.has(seat); }

  /** orphansOf are the seats that a choice would leave single, if the event refuses that. */
  orphansOf(chosen) {
    const { event } = this.options;
    if (event.orphanRule !== "REFUSE") return [];
    const isOpen = event.accessiblePolicy === "OPEN";
    return orphans(this.hall, [...chosen], (i) => this.canHave(i) && (isOpen || !(this.hall.kind[i] & accessible)));
  }

  /** toggle chooses a seat, or releases it. */
  toggle(seat) {
    if (this.isPicking) return undefined; // another choice is being made
    if (this.options.isPaying) return this.on.said(this.words.hasBooking);
    if (this.chosen.delete(seat)) {
      const single = this.options.holdsAtOnce && this.held.has(seat) && this.chosen.size > 0 ? this.orphansOf(this.chosen) : [];
      if (single.length === 0) return this.#chose(seat, false);
      this.chosen.add(seat); // the server would refuse it
      return this.#hintAt(single, true);
    }
    if (this.#isClosed()) return undefined;
    if (!this.canHave(seat)) return this.on.said(this.words.taken, seat);
    const barred = this.on.barred(this.hall.category[seat]);
    if (barred !== undefined) return this.on.said(barred);
    if (this.size >= this.options.most) return this.on.said(this.words.most(this.options.most));
    this.chosen.add(seat);
    return this.#chose(seat, true);
  }

  // #isClosed reports, and says, that nothing more can be chosen.
  #isClosed() {
    const text = this.on.closed();
    if (text !== undefined) this.on.said(text);
    return text !== undefined;
  }

  #chose(seat, isChosen) {
    this.on.selected(seat, isChosen);
    if (this.options.holdsAtOnce) this.#wish(true);
    else this.#hint();
    this.on.changed();
  }

  #hinted = [];

  /** unheld is the number of chosen seats that are not held because of a single seat, if each click holds. */
  get unheld() { return this.options.holdsAtOnce && this.#hinted.length > 0 ? [...this.chosen].filter((i) => !this.held.has(i)).length : 0; }

  #hint(isToldAgain) { return this.#hintAt(this.orphansOf(this.chosen), isToldAgain); }

  #hintAt(single, isToldAgain = false) {
    const isNew = single.length !== this.#hinted.length || single.some((i, n) => i !== this.#hinted[n]);
    this.#hinted = single;
    if (isNew || (isToldAgain && single.length > 0)) this.on.hinted(single);
    return single.length > 0;
  }

  // #wish asks for what is chosen, unless the server would refuse it for a single seat: then the customer gets a message, and
  // the lock stays as it is. After a click that is said again: it was not held, even if its row has no single seat. It
  // promises the refusal, the server's or that one.
  #wish(isClick = false) {
    if (this.options.isPaying) return Promise.resolve(); // the server would refuse it
    const single = this.orphansOf(this.chosen);
    if (!this.#hintAt(single, isClick)) return this.hold.want(this.chosen.size === 0 ? null : this.#named(this.chosen));
    return Promise.resolve(this.#isHeld ? undefined : new Refusal(0, {
      code: "SEAT_ORPHANED", detail: this.words.orphan(this.on.named(single)), orphans: single.map((i) => this.hall.ids[i]),
    }));
  }

  // #isHeld reports whether the lock has the chosen seats, and no others.
  get #isHeld() { return this.chosen.size === this.held.size && [...this.chosen].every((i) => this.held.has(i)); }

  #named(places) {
    const seats = [...places].sort((a, b) => a - b);
    const reserved = seats.filter((i) => this.hall.kind[i] & accessible).length;
    return { seatIds: seats.map((i) => this.hall.ids[i]), ...(reserved > 0 && { accessibleSeats: reserved }) };
  }

  /** setPlaces chooses a number of places in a section of general admission. */
  setPlaces(section, n) {
    const had = this.areas.get(section.number) ?? 0;
    if (this.options.isPaying) {
      this.on.said(this.words.hasBooking);
      return this.on.changed(); // shows the previous number again
    }
    const barred = this.on.barred(section.category);
    if (n > had && barred !== undefined) this.on.said(barred);
    if (n > had && (barred !== undefined || this.#isClosed())) n = had;
    const others = this.size - had;
    if (n > 0 && others + n > this.options.most) {
      this.on.said(this.words.most(this.options.most));
      n = Math.max(0, this.options.most - others);
    }
    this.#place(section, n);
    if (this.options.holdsAtOnce) this.#wishPlaces(section);
    return this.on.changed();
  }

  #place(section, n) {
    if (n === (this.areas.get(section.number) ?? 0)) return;
    if (n > 0) this.areas.set(section.number, n);
    else this.areas.delete(section.number);
    this.on.placed(section);
  }

  #placeNone() {
    for (const number of [...this.areas.keys()]) this.#place(this.hall.sections[number], 0);
  }

  #wishPlaces(section) {
    const n = this.areas.get(section.number) ?? 0;
    if (n === 0 && !this.#areaHolds.has(section.number)) return Promise.resolve();
    return this.#areaHold(section).want(n === 0 ? null : { section: section.key, seats: n });
  }

  #areaHold(section) {
    let hold = this.#areaHolds.get(section.number);
    if (hold !== undefined) return hold;
    const show = () => { this.on.held(); this.on.changed(); };
    hold = new Hold(this.api, () => this.#request(), {
      changed: show,
      changedElsewhere: ({ seats }) => {
        if (hold.isSettled) this.#place(section, Math.max(0, (this.areas.get(section.number) ?? 0) + hold.lock.seats - seats));
        show();
      },
      refused: (refusal, wish) => {
        if (this.#restores(refusal)) this.#place(section, hold.wanted?.seats ?? 0); // there may have been further clicks
        this.#tell(refusal, wish);
        this.on.changed();
      },
      ended: (refusal, lock) => { this.#place(section, 0); this.on.ended(refusal, lock); show(); },
      sold: () => this.on.said(this.words.sold),
      waiting: this.on.waiting,
      wishOf: (lock) => ({ section: section.key, seats: lock.seats }),
    });
    this.#areaHolds.set(section.number, hold);
    return hold;
  }

  /** areaIsHeld reports whether the server holds the places chosen in a section. */
  areaIsHeld(number) { return this.areas.has(number) && this.#areaHolds.get(number)?.lock?.seats === this.areas.get(number); }

  #picks = 0; // how often the best available seats were asked for
  #trial = undefined; // a wish whose refusal is not shown, because another one follows

  /** best holds the best available seats, in place of the chosen ones. It throws the refusal of the server. */
  async best(n, options = {}) {
    if (this.options.isPaying) throw this.#paying();
    if (this.#isClosed()) throw this.#closed();
    const places = [...this.areas.values()].reduce((a, b) => a + b, 0);
    if (places + n > this.options.most) {
      this.on.said(this.words.most(this.options.most));
      throw new Refusal(0, { code: "TOO_MANY", detail: this.words.most(this.options.most) });
    }
    const pick = ++this.#picks;
    const wish = { seats: n, ...options };
    let refusal;
    // The server keeps the present seats if their number and their one category stay the same, unless they must be side by side.
    const mayKeep = options.adjacent === undefined && (n === this.held.size || n === this.chosen.size);
    if (mayKeep) {
      this.#trial = { bestAvailable: { ...wish, adjacent: "REQUIRED" } };
      refusal = await this.hold.want(this.#trial);
    }
    if (!mayKeep || (refusal?.code === "SEATS_NOT_ADJACENT" && pick === this.#picks)) refusal = await this.hold.want({ bestAvailable: wish });
    if (refusal !== undefined) throw refusal;
  }

  /**
   * holdAll holds the chosen seats, for a shop that holds on check-out, and returns the locks. It throws the refusal of the
   * server, or SEAT_ORPHANED, or LOCK_HAS_BOOKING while they are being paid and others are chosen.
   */
  async holdAll() {
    const areas = new Set([...this.areas.keys(), ...this.#areaHolds.keys()]);
    if (this.options.isPaying) {
      if (this.#isHeld && [...this.areas.keys()].every((n) => this.areaIsHeld(n))) return this.locks;
      throw this.#paying();
    }
    const refusals = await Promise.all([this.#wish(true), ...[...areas].map((n) => this.#wishPlaces(this.hall.sections[n]))]);
    const refusal = refusals.find((r) => r !== undefined);
    if (refusal !== undefined) throw refusal;
    return this.locks;
  }

  /** clear releases everything, even seats that are being paid for, whose booking it cancels. */
  async clear() {
    this.#placeNone();
    this.#drop([...this.chosen]);
    await Promise.all(this.#holds().map((h) => h.want(null, true)));
  }

  /** poll checks whether the shop has sold the locks, or another tab or device has changed them. */
  poll() {
    for (const h of this.#holds()) h.poll();
  }

  /** check reads the locks, such as after the device has slept: their time may be over. */
  check() {
    for (const h of this.#holds()) h.check();
  }

  /** seatsChanged reports seats that other customers have taken while they were chosen, or that a lock has lost. */
  seatsChanged(changed) {
    if (changed.some((i) => this.#isLost(i))) this.hold.check();
    const gone = changed.filter((i) => this.seats.taken[i] && this.chosen.has(i) && !this.held.has(i) && !this.#asksFor(i));
    if (gone.length > 0) this.#lose(gone);
    else if (this.#hinted.length > 0 && changed.some((i) => this.#isNearChosen(i))) {
      if (this.options.holdsAtOnce && !this.isPicking) this.#wish(); // it may be allowed now
      else this.#hint();
    }
  }

  /** sectionRead is called when all seats of a section were read: a held seat that is free is no longer held. */
  sectionRead(section) {
    if ([...this.held].some((i) => this.hall.sectionOf[i] === section.number && this.#isLost(i))) this.hold.check();
  }

  #isLost(seat) { return this.held.has(seat) && this.chosen.has(seat) && !this.seats.taken[seat] && this.hold.isSettled; }

  #asksFor(seat) { return this.hold.wanted?.seatIds?.includes(this.hall.ids[seat]) ?? false; }
  #isNearChosen(seat) { return [...this.chosen].some((i) => this.hall.rowOf[i] === this.hall.rowOf[seat]); }

  // #drop takes seats out of the choice, and reports each.
  #drop(gone) {
    const had = gone.filter((i) => this.chosen.delete(i));
    for (const i of had) this.on.selected(i, false);
    this.#hint();
    this.on.changed();
  }

  #lose(gone) {
    this.#drop(gone);
    this.on.gone(gone);
    if (this.options.holdsAtOnce && !this.isPicking && this.chosen.size + this.held.size > 0) this.#wish(); // of what is left
  }

  #seatsOf(lock) { return new Set((lock?.places ?? []).flatMap((p) => this.hall.byID.get(p.seatId) ?? [])); }

  // #choose sets the choice to the seats of the lock.
  #choose(seats) {
    const before = this.chosen;
    this.chosen = new Set(seats);
    for (const i of before) if (!this.chosen.has(i)) this.on.selected(i, false);
    for (const i of this.chosen) if (!before.has(i)) this.on.selected(i, true);
  }

  // #takeLock shows the seats of a lock. The choice stays as it is if the lock has the requested seats, because there may have been
  // further clicks. Seats that the server has picked replace the choice. A change elsewhere, without a wish, is applied to it.
  #takeLock(wish) {
    const before = this.held;
    this.held = this.#seatsOf(this.hold.lock);
    if (this.hold.isSettled && wish?.bestAvailable !== undefined) this.#choose(this.held);
    else if (this.hold.isSettled && wish === undefined) {
      const stay = [...this.chosen].filter((i) => !before.has(i) || this.held.has(i));
      this.#choose([...stay, ...[...this.held].filter((i) => !before.has(i))]);
    }
    this.#hint();
    this.on.held();
    this.on.changed();
  }

  #refused(refusal, wish) {
    if (wish === this.#trial && refusal.code === "SEATS_NOT_ADJACENT") return;
    const gone = (refusal.problem.unavailable ?? []).flatMap((id) => this.hall.byID.get(id) ?? []);
    if (gone.length > 0) {
      for (const i of gone) this.seats.taken[i] = 1;
      const chosen = gone.filter((i) => this.chosen.has(i));
      this.#drop(chosen);
      this.on.taken(gone);
      this.#lose(chosen);
      this.on.refused(refusal);
      return;
    }
    if (refusal.code === "SEAT_ORPHANED" && !this.isPicking) {
      this.#hintAt((refusal.problem.orphans ?? []).flatMap((id) => this.hall.byID.get(id) ?? []));
      this.on.refused(refusal);
      return;
    }
    const wasAsked = wish !== undefined && wish?.bestAvailable === undefined; // for what is chosen
    if (wasAsked && this.#restores(refusal) && (this.hold.isSettled || this.isPicking)) this.#choose(this.held);
    this.#tell(refusal);
    this.on.changed();
  }

  // #restores reports whether the choice becomes what is held, after a refusal.
  #restores({ code }) { return this.options.holdsAtOnce || code === "LOCK_HAS_BOOKING"; }

  // #closed is the refusal of an event that is not on sale, as the server would answer it.
  #closed() {
    const { event } = this.options;
    const isBefore = saleOf(event, this.api.now()) === "before";
    return new Refusal(0, { code: isBefore ? "SALE_NOT_OPEN" : "EVENT_NOT_ON_SALE", detail: this.on.closed(), ...(isBefore && { opensAt: event.saleStartsAt }) });
  }

  #paying() {
    this.on.said(this.words.hasBooking);
    return new Refusal(0, { code: "LOCK_HAS_BOOKING", detail: this.words.hasBooking });
  }

  #tell(refusal, wish) {
    const { code, problem } = refusal;
    const w = this.words;
    if (code === "SEATS_UNAVAILABLE") this.on.said(w.tooFew(problem.available));
    else if (code === "SEATS_NOT_ADJACENT") this.on.said(w.notAdjacent(problem.longest));
    else if (code === "EVENT_NOT_ON_SALE" || code === "SALE_NOT_OPEN") this.on.said(w.notOnSale);
    else if (code === "LOCK_HAS_BOOKING") this.on.said(w.hasBooking);
    else if (code === "LOCK_CONSUMED") this.on.said(w.sold);
    else if (code === "SEAT_LIMIT_REACHED" && problem.limit > 0) this.on.said(w.most(problem.limit));
    else this.on.said(refusal.status === 401 ? w.signedOut : w.failed);
    this.on.refused(refusal, wish);
  }

  #ended(refusal, lock) {
    this.held.clear();
    this.#drop([...this.chosen]);
    this.on.ended(refusal, lock);
    this.on.held();
    this.on.changed();
  }
}
