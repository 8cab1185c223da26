// <holdfast-seats event="…" src="…">: a seat map on which customers choose and hold seats.

import { Api, Refusal, pause } from "./api.js";
import { Cart } from "./cart.js";
import { Choice } from "./choice.js";
import { el, setAgain, setText } from "./dom.js";
import { Feed } from "./feed.js";
import { Hall, accessible, companion, restricted } from "./hall.js";
import { languageOf, wordsOf } from "./language.js";
import { free, taken } from "./painter.js";
import { SeatMap } from "./map.js";
import { Panel } from "./panel.js";
import { rowName } from "./rows.js";
import { Sale, saleText } from "./sale.js";
import { Seats } from "./seats.js";
import { css } from "./style.js";
import { colorsOf } from "./theme.js";
import { pictureOf } from "./view.js";
import { WaitingBox, keyOf } from "./waiting.js";
import { Waitlist, takesEntries } from "./waitlist.js";
import { words as english } from "./words/en.js";

/** @import { BestOptions, HoldfastSeatsError, HoldfastSeatsEventDetails, Lock, Price, Selected, SelectedPlaces, SelectedSeat, Token, WaitlistEntry, Words } from "./types.js" */

let sheet;

const toastTime = 7000; // ms
const restTime = 600; // ms of the pointer at a seat, until the view from there is loaded
const defaultMost = 10; // seats
const mostSeats = 50; // that one lock may have
const pollInterval = 30_000; // ms, of the locks: they may be bought on another device
const waitlistInterval = 30_000; // ms, at least, from one reading of the event to the next, while nothing else asks for it
const soldOutDelay = 5000; // ms, at most, until the event is read: all pages see at the same moment that seats are gone
const numbers = new Set(); // of the maps on the page

/**
 * A seat map on which customers choose and hold seats.
 *
 * @tagname holdfast-seats
 *
 * @attr {string} event - ID of the event
 * @attr {string} src - address of the Holdfast server; without it, the page's origin
 * @attr {string} user - ID of the user whose seats these are; without it and `holder`, the token says it
 * @attr {string} holder - the customer whose seats these are, in place of `user`
 * @attr {"click" | "checkout"} [hold=click] - `click`: each click holds the seat on the server. `checkout`: seats are only marked until `hold()` is called
 * @attr {number} [max-seats=10] - maximum number of chosen seats and places, at most 50
 * @attr {number} ttl-seconds - how long seats are held; without it, as long as the server holds them
 * @attr {string} lock - IDs of locks to continue with, separated by spaces, such as after a reload
 * @attr {boolean} paying - nothing can be chosen or given up while the shop is paid. The element sets and removes it too
 * @attr {string} selectable - keys of the categories that can be chosen, separated by spaces; without it, all. It is what is shown, and no protection
 * @attr {string} prices - JSON, by category key: numbers (see `currency`) or texts
 * @attr {string} currency - such as EUR, for prices that are numbers
 * @attr {string} lang - the language of texts, dates and prices; without it, the page's or the browser's
 * @attr {"light" | "dark"} theme - without it, the browser's
 *
 * @fires {CustomEvent<HoldfastSeatsEventDetails["ready"]>} ready - the map is drawn; `seats` leaves standing places out
 * @fires {CustomEvent<HoldfastSeatsEventDetails["seatselected"]>} seatselected - a seat was chosen or given up, by the customer, because it is gone, or by `finish()`
 * @fires {CustomEvent<HoldfastSeatsEventDetails["placesselected"]>} placesselected - the number of standing places in a section changed to `places.seats`
 * @fires {CustomEvent<HoldfastSeatsEventDetails["holdchanged"]>} holdchanged - what is held changed
 * @fires {CustomEvent<HoldfastSeatsEventDetails["holdexpired"]>} holdexpired - a lock has expired, or was released elsewhere
 * @fires {CustomEvent<HoldfastSeatsEventDetails["waitlistchanged"]>} waitlistchanged - the status or the position of the customer's entry changed. `lock` is the offer
 * @fires {CustomEvent<HoldfastSeatsError>} error - a refusal of the server, or no answer. It does not bubble
 *
 * @csspart root - everything
 * @csspart toolbar - the buttons above the map
 * @csspart sale - the text while the event is not on sale
 * @csspart notice - the text over a map that is not live
 * @csspart map - the map
 * @csspart minimap - the small picture of the hall on the map
 * @csspart cursor - the seat or section that has the keyboard's focus
 * @csspart list - the list of seats, in place of the map
 * @csspart tip - the text at the pointer
 * @csspart toast - the last message
 * @csspart panel - everything below or next to the map
 * @csspart legend - the categories and shapes
 * @csspart best - the form of best available
 * @csspart areas - the standing places
 * @csspart waitlist - the waiting list
 * @csspart cart - the chosen seats
 * @csspart time - how long they are held
 * @csspart total - their number and price
 *
 * @cssprop --holdfast-background - background
 * @cssprop --holdfast-floor - sections
 * @cssprop --holdfast-ink - texts
 * @cssprop --holdfast-soft - lesser texts, borders of buttons
 * @cssprop --holdfast-line - other borders
 * @cssprop --holdfast-taken - seats that are not available
 * @cssprop --holdfast-mine - chosen seats
 * @cssprop --holdfast-focus - the keyboard's focus
 * @cssprop --holdfast-warn - warnings
 * @cssprop --holdfast-accent - button of best available
 * @cssprop --holdfast-accent-ink - its text
 * @cssprop --holdfast-font - font
 * @cssprop --holdfast-height - height of the map
 */
export class HoldfastSeats extends HTMLElement {
  static observedAttributes = ["event", "src", "user", "holder", "max-seats", "hold", "prices", "currency", "ttl-seconds", "lock", "paying", "selectable", "theme", "lang"];

  #language = "en";
  #table = english; // the texts of the language
  #own = {}; // the page's
  #words = english; // both
  #token = undefined; // until the page sets it
  #prices = undefined;
  #parts = undefined; // the parts of the map, while an event is shown
  #load = undefined; // aborts the work of the last load
  #kept = new Map(); // IDs of the locks of the last load, by event
  #mustTell = false; // the page knows of locks, or of the end of one: it gets an event even if nothing is held any more
  #told = new Set(); // IDs of the locks in the last event to the page
  #hinted = [];
  #tip = -1;
  #isOffline = false;
  #isGone = false; // the map is not live any more
  #toastTimer = 0;
  #left = Infinity; // remaining ms of the locks, when the time was shown last
  #money = undefined;
  #wasToldOfWheel = false;
  #number = 0; // among the maps on the page
  #connected = new AbortController();

  constructor() {
    super();
    if (sheet === undefined) {
      sheet = new CSSStyleSheet();
      sheet.replaceSync(css);
    }
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet];
    /** @private */
    this.live = el("p", { className: "hidden", role: "status" });
    /** @private */
    this.notice = el("p", { className: "notice", part: "notice", role: "alert", hidden: true });
    /** @private */
    this.root = el("div", { className: "root", part: "root" });
    root.append(this.root, this.live);
    setAgain(this, ["token", "prices", "words", "paying", "selectable"]);
  }

  /**
   * words are the texts. Words that are set replace those of the language; see words/en.js for all of them.
   * @type {Words}
   */
  get words() { return this.#words; }
  /** @param {Partial<Words>} words */
  set words(words) {
    this.#own = words ?? {};
    this.#mix();
    this.#reload();
  }

  /**
   * token is the customer's token, or a function that returns or promises one: it is called before each request. It is sent in a
   * header alone. Set it again for another customer.
   * @type {Token}
   */
  get token() { return this.#token ?? ""; }
  set token(token) {
    this.#token = token;
    if (this.#parts === undefined || this.#isGone) this.#reload();
    else {
      this.#parts.api.token = token; // from the next request on
      this.#checkUser(this.#parts);
    }
  }

  /**
   * prices are by category key: numbers (see the attribute currency) or texts.
   * @type {Record<string, Price>}
   */
  get prices() { return this.#prices ?? parsePrices(this.getAttribute("prices")); }
  set prices(prices) {
    this.#prices = prices;
    this.#parts?.list?.all();
    this.#showAll();
  }

  /**
   * selection has the chosen seats, and the places in areas.
   * @type {Selected[]}
   */
  get selection() {
    const p = this.#parts;
    if (p === undefined) return [];
    return [...[...p.cart.chosen].sort((a, b) => a - b).map((i) => this.#seat(i)),
      ...[...p.cart.areas.keys()].map((n) => this.#places(p.hall.sections[n]))];
  }

  /**
   * locks are the locks that hold the selection, as the server answered them.
   * @type {Lock[]}
   */
  get locks() { return this.#parts?.cart.locks ?? []; }

  /**
   * hold holds the selection, and promises the locks: for hold="checkout". It rejects with the refusal of the server
   * ({code, status, message, problem}). The selection stays, except for seats that are gone.
   * @returns {Promise<Lock[]>}
   */
  hold() { return this.#parts?.cart.holdAll() ?? Promise.resolve([]); }

  /**
   * best holds the best available seats, in place of the chosen ones. It rejects with the refusal of the server.
   * @param {number} seats
   * @param {BestOptions} [options]
   * @returns {Promise<void>}
   */
  async best(seats, options = {}) {
    const p = this.#parts;
    if (p === undefined) return;
    await this.#best(p, seats, p.choice.wish(options));
  }

  async #best(p, seats, options) {
    try {
      if (options.categories?.length === 0) {
        this.#say(this.words.tooFew(0));
        throw new Refusal(0, { code: "NOT_SELECTABLE", detail: this.words.tooFew(0) });
      }
      await p.cart.best(seats, options);
    } catch (refusal) {
      this.#missed(p, refusal, seats, options);
      throw refusal;
    }
    const found = [...p.cart.chosen].sort((a, b) => a - b);
    if (found.length === 0 || this.#parts !== p) return;
    this.#say(this.words.found(this.#rowsOf(found)));
    this.#showFloorOf(found[0]);
    p.map.focusSeat(found[0], p.map.node.contains(this.shadowRoot.activeElement));
  }

  /**
   * paying is the attribute: the choice can't be changed while the shop is paid. It ends when nothing is held any more.
   * @type {boolean}
   */
  get paying() { return this.hasAttribute("paying"); }
  set paying(is) { this.toggleAttribute("paying", is); }

  /**
   * selectable is the attribute, as a list of keys; null: all categories can be chosen.
   * @type {string[] | null}
   */
  get selectable() { return this.getAttribute("selectable")?.split(/\s+/).filter(Boolean) ?? null; }
  set selectable(keys) {
    if (keys == null) this.removeAttribute("selectable");
    else this.setAttribute("selectable", keys.join(" "));
  }

  /**
   * waitlistEntry is the customer's entry on the waiting list, open or ended on this page, as the server answered it; null: there is none.
   * @type {WaitlistEntry | null}
   */
  get waitlistEntry() { return this.#parts?.waitlist.entry ?? null; }

  /**
   * joinWaitlist waits for seats. options are those of best(), or the section of standing places. It rejects with the refusal of the server.
   * @param {number} seats
   * @param {BestOptions} [options]
   * @returns {Promise<WaitlistEntry | null>}
   */
  async joinWaitlist(seats, options = {}) {
    await this.#parts?.waitlist.join(seats, options);
    return this.waitlistEntry;
  }

  /**
   * leaveWaitlist gives up the place on the list, or declines the offer.
   * @returns {Promise<void>}
   */
  async leaveWaitlist() {
    const { isWaiting, isOffered } = this.#parts?.waitlist ?? {};
    if (!isWaiting && !isOffered) return;
    const p = this.#parts;
    p.isLeaving = true;
    await p.waitlist.leave().finally(() => { p.isLeaving = false; });
  }

  /**
   * release releases everything that is chosen and held. It cancels a booking of the locks that is not paid.
   * @returns {Promise<void>}
   */
  release() { return this.#parts?.cart.clear() ?? Promise.resolve(); }

  /**
   * finish forgets the locks without releasing them, after the shop has sold them: those with these IDs, or all. Others are
   * released, unless they have a booking.
   * @param {string[]} [ids]
   * @returns {Promise<void>}
   */
  finish(ids) { return this.#parts?.cart.forget(ids) ?? Promise.resolve(); }

  /**
   * showSeat moves the map and the keyboard to a seat, by its ID.
   * @param {string} id
   * @returns {void}
   */
  showSeat(id) {
    const seat = this.#parts?.hall.byID.get(id);
    if (seat === undefined) return;
    this.#showFloorOf(seat);
    this.#parts.map.focusSeat(seat);
  }

  // #checkUser notices the token of another customer. It loads the map again if there are locks, which that customer can't change.
  async #checkUser({ api, cart }) {
    const customer = await api.customer().catch(() => undefined); // without a token the customer is not known
    if (this.#parts?.cart !== cart || this.#named !== undefined || customer === undefined) return;
    const { userId, holder } = cart.options.customer ?? {};
    if (customer.userId === userId && customer.holder === holder) return;
    cart.options.customer = customer;
    this.#parts.waitlist.find().catch(() => {});
    if (cart.locks.length > 0 || (cart.options.holdsAtOnce && cart.size > 0)) this.#reload();
  }

  // #named is the customer whom an attribute names; undefined: the token does.
  get #named() {
    const [userId, holder] = [this.getAttribute("user"), this.getAttribute("holder")];
    return userId ? { userId } : holder ? { holder } : undefined;
  }

  #showFloorOf(seat) {
    const { hall, map, floors } = this.#parts;
    if (map.painter.isShown(hall.section(seat))) return;
    floors.value = hall.section(seat).floor;
    map.setFloor(floors.value);
  }

  connectedCallback() {
    for (this.#number = 1; numbers.has(this.#number);) this.#number++;
    numbers.add(this.#number);
    this.#connected = new AbortController();
    const listen = (target, type, listener) => target.addEventListener(type, listener, { signal: this.#connected.signal });
    for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) listen(matchMedia(query), "change", () => this.#setColors());
    listen(window, "offline", () => {
      if (this.#parts === undefined || this.#isGone) return;
      this.#setOffline(true);
      this.#parts.feed.reconnect(); // its next message corrects that
    });
    const poll = () => document.visibilityState === "visible" && !this.#isOffline && this.#parts?.cart.poll();
    const seen = () => {
      poll();
      const p = this.#parts;
      if (!document.hidden && p?.panel?.isSoldOut && performance.now() - p.readAt > waitlistInterval) this.#readWaitlist(p); // it may be open now
    };
    listen(document, "visibilitychange", seen);
    listen(window, "focus", seen);
    const timer = setInterval(poll, pollInterval);
    this.#connected.signal.addEventListener("abort", () => clearInterval(timer));
    this.#reload();
  }

  disconnectedCallback() {
    numbers.delete(this.#number);
    this.#connected.abort();
    this.#end();
  }

  attributeChangedCallback(name, before, after) {
    if (before === after || !this.isConnected) return;
    if (name === "prices" || name === "currency") {
      this.#money = undefined;
      this.#parts?.list?.all();
      this.#showAll();
    } else if (name === "theme") this.#setColors();
    else if (name === "selectable") this.#select();
    else if (["max-seats", "hold", "ttl-seconds", "paying"].includes(name)) {
      Object.assign(this.#parts?.cart.options ?? {}, this.#options());
      this.#showAll();
    }
    else if (name !== "lock") this.#reload(); // it is read when an event is shown
  }

  // #select applies the attribute selectable.
  #select() {
    const p = this.#parts;
    if (p?.panel === undefined) return;
    p.choice.setSelectable(this.selectable);
    const box = this.#waitingBox(p);
    p.box.node.replaceWith(box.node);
    p.box = box;
    this.#showChoice(p);
  }

  #showChoice(parts) {
    parts.map.redraw();
    parts.list?.all();
    parts.panel.showChoice();
  }

  #reload() {
    if (!this.isConnected) return;
    this.#end();
    const load = new AbortController();
    this.#load = load;
    queueMicrotask(() => { // attributes that are set together load once
      if (!load.signal.aborted) this.#show(load.signal);
    });
  }

  // #end stops the parts of an event. Its locks stay, for the next load of the same event. The load's end stops the cart.
  #end() {
    this.#load?.abort();
    clearTimeout(this.#tipTimer);
    const p = this.#parts;
    this.#parts = undefined;
    [this.#hinted, this.#tip, this.#shown, this.#left, this.#isGone] = [[], -1, new Set(), Infinity, false];
    this.#hideToast();
    if (p === undefined) return;
    this.#kept.set(p.event.id, p.cart.locks.map((l) => l.id));
    clearInterval(p.clock);
    p.feed.stop();
    p.map.stop();
  }

  #mix() { this.#words = { ...this.#table, ...this.#own }; }

  // #speak learns the language of the element. Nothing is shown in another one while its texts load.
  async #speak(signal) {
    const language = languageOf(this);
    const found = wordsOf(language);
    const table = found instanceof Promise ? await found : found;
    if (signal.aborted) return;
    [this.#language, this.#table, this.#money] = [language, table, undefined];
    this.#mix();
    const spoken = table === english && Object.keys(this.#own).length === 0 ? "en" : language; // English, if it has no texts
    this.root.lang = this.live.lang = spoken;
  }

  async #show(signal) {
    const id = this.getAttribute("event");
    if (!id) return this.root.replaceChildren();
    this.root.setAttribute("aria-busy", "true");
    this.root.replaceChildren();
    await this.#speak(signal);
    if (signal.aborted) return undefined;
    this.root.replaceChildren(el("p", { className: "soft", textContent: this.words.loading }));
    if (this.#token === undefined && this.#named === undefined) return undefined; // without both it would be refused; the token loads
    const api = new Api(this.getAttribute("src") ?? "", this.token);
    for (let delay = 1000; ; delay = Math.min(2 * delay, 15_000)) {
      try {
        const event = await api.call("GET", `/api/events/${encodeURIComponent(id)}`, undefined, signal);
        if (!event.seatingPlanId) throw new Refusal(422, { code: "NO_MAP", detail: this.words.noMap });
        const plan = await api.call("GET", `/api/seating-plans/${event.seatingPlanId}`, undefined, signal);
        const customer = this.#named ?? (await api.customer());
        if (!signal.aborted) await this.#build(api, event, customer, new Hall(plan), signal);
        return undefined;
      } catch (error) {
        if (signal.aborted) return undefined;
        const isRefusal = error instanceof Refusal;
        this.#isGone = true;
        if (isRefusal) this.#fail(error, error.mayPass);
        this.notice.hidden = false;
        setText(this.notice, isRefusal && error.mayPass ? this.words.lost : isRefusal && error.code === "NO_MAP" ? error.message : this.#ending(error));
        this.root.replaceChildren(this.notice);
        this.root.removeAttribute("aria-busy");
        if (!isRefusal) throw error;
        if (!error.mayPass) return undefined;
        await pause(Math.max(delay * (1 + Math.random() / 2), error.retryAfter * 1000), signal);
        if (signal.aborted) return undefined;
      }
    }
  }

  async #build(api, event, customer, hall, signal) {
    const w = this.words;
    const seats = new Seats(hall);
    const choice = new Choice(hall, this.selectable);
    /** @type {any} */
    const parts = { api, event, hall, seats, choice, readAt: performance.now() };
    parts.cart = new Cart(api, hall, seats, { event, customer, ...this.#options() }, w, {
      changed: () => this.#showAll(),
      selected: (seat, isChosen) => this.#parts === parts && this.#tell("seatselected", { seat: this.#seat(seat), selected: isChosen, selection: this.selection }),
      placed: (section) => this.#parts === parts && this.#tell("placesselected", { places: this.#places(section), selection: this.selection }),
      held: () => {
        if (this.#parts !== parts) return;
        this.#tellHeld();
        this.#offer(parts);
        if (parts.waitlist.isOffered && parts.offer === parts.waitlist.lock?.id && !this.locks.some((l) => l.id === parts.offer)) parts.waitlist.poll();
      },
      ended: (refusal, lock) => {
        this.#say(refusal.code === "LOCK_RELEASED" ? w.released : w.expired, "end");
        this.#tell("holdexpired", { lock });
      },
      gone: (list) => list.length > 0 && this.#say(w.gone(this.#names(list))),
      named: (list) => this.#names(list),
      barred: (category) => this.#barred(category),
      taken: (list) => this.#changed(list, []),
      hinted: (list) => {
        this.#hinted = list;
        if (list.length > 0) this.#say([w.orphan(this.#names(list)), parts.cart.unheld > 0 && w.notHeld].filter(Boolean).join(" "), "hint");
        else this.#unsay("hint");
      },
      said: (text, seat) => this.#say(seat === undefined ? text : this.#describe(seat).text),
      refused: (refusal, places) => {
        if (places?.section !== undefined) this.#missed(parts, refusal, places.seats, { section: places.section });
        if (refusal.code === "EVENT_NOT_ON_SALE" || refusal.code === "SALE_NOT_OPEN") parts.sale.refresh();
        if (refusal.code === "LOCK_HAS_BOOKING") this.paying = true;
        this.#fail(refusal);
      },
      closed: () => this.#closed(parts),
      waiting: (refusal) => this.#parts === parts && this.#wait(refusal),
    });
    signal.addEventListener("abort", () => parts.cart.stop());
    parts.sale = new Sale(api, event, (now, before) => this.#saleChanged(parts, now, before), signal);
    parts.waitlist = new Waitlist(api, event.id, () => parts.cart.options.customer, (before) => this.#waitlistChanged(parts, before), signal);
    parts.feed = new Feed(api, event.id, seats, {
      changed: (list, sections) => this.#changed(list, sections),
      read: (section) => parts.cart.sectionRead(section),
      connected: (is) => this.#setOffline(!is),
      missed: () => parts.cart.hold.check(), // a held seat may have been freed, and taken by another customer
      replaced: () => this.#checkPlan(parts),
      gone: (refusal) => { // such as a token that has expired: a new one loads the map again
        this.#fail(refusal);
        this.#isOffline = this.#isGone = true;
        this.notice.hidden = false;
        setText(this.notice, this.#ending(refusal));
      },
    });
    const kept = this.#kept.get(event.id) ?? [];
    for (const id of new Set([...(this.getAttribute("lock") ?? "").split(/\s+/).filter(Boolean), ...kept])) {
      const status = await parts.cart.resume(id, signal);
      if (signal.aborted) return;
      if (!kept.includes(id) || (status !== "EXPIRED" && status !== "RELEASED")) continue;
      this.#mustTell = true;
      this.#tell("holdexpired", { lock: null });
    }
    choice.setSelectable(this.selectable); // the page may have changed it while the locks were read
    this.#parts = parts;
    const look = {
      hasMini: true, stage: w.stage, available: (s) => (this.#isClosedTo(s) ? 0 : seats.available[s.number]), text: (s) => this.#freeIn(s),
      state: (i) => ((seats.taken[i] === 1 && !parts.cart.isMine(i)) || !choice.isSelectable(hall.category[i]) ? taken : free),
      isFaint: (c) => choice.isFaint(c), isFaintSection: (s) => choice.isFaintSection(s),
      describe: (i) => this.#describe(i), describeSection: (s) => this.#describeSection(s),
      overlay: () => ({ mine: [...parts.cart.held].filter((i) => parts.cart.chosen.has(i)), pending: [...parts.cart.chosen].filter((i) => !parts.cart.held.has(i)), hinted: this.#hinted }),
      warning: (i) => this.#warning(i),
    };
    const left = () => this.root.querySelector(".toolbar button").focus();
    parts.map = new SeatMap(hall, look, {
      seat: (i, isTouch) => {
        if (isTouch && !parts.cart.chosen.has(i)) this.#showToast(this.#describe(i).name); // a finger has no tip, and the list may be out of view
        parts.cart.toggle(i);
      },
      area: (s) => this.#toArea(s),
      hover: (i, at) => this.#hover(i, at), left,
      moved: (sections) => this.#follow(sections), scrolled: () => this.#tellOfWheel(),
    }, w);
    parts.newList = (SeatList) => new SeatList(hall, look, {
      seat: (i) => parts.cart.toggle(i), area: (s) => this.#toArea(s), moved: (sections) => this.#follow(sections), left,
    }, w, { el, setText, rowName });
    parts.panel = new Panel(hall, seats, parts.cart, {
      most: () => parts.cart.options.most, describe: (i) => this.#describe(i), color: (c) => parts.map.painter.fills?.[c] ?? hall.categories[c].color,
      label: (text) => (this.#number === 1 ? text : w.another(text, this.#number)), price: (c) => this.#price(c), total: (list, areas) => this.#total(list, areas),
      timeLeft: () => (parts.cart.deadline === undefined ? undefined : parts.cart.deadline - api.now()), choice,
    }, {
      best: (n, category) => this.#best(parts, n, choice.wish(category === "" ? {} : { categories: [category] }, true)).catch(() => {}), // the refusal has been shown
      picked: (c) => {
        choice.toggle(c);
        this.#showChoice(parts);
      },
      places: (s, n) => parts.cart.setPlaces(s, n), remove: (i) => parts.cart.toggle(i),
    }, w);
    parts.box = this.#waitingBox(parts);
    parts.panel.node.lastChild.before(parts.box.node); // above the chosen seats
    this.#tipNode = el("div", { className: "tip", part: "tip", hidden: true });
    this.#toast = el("p", { className: "toast", part: "toast", hidden: true, "aria-hidden": "true" });
    this.notice.hidden = true;
    this.#isOffline = false;
    this.root.replaceChildren(this.#toolbar(parts),
      el("div", { className: "view" }, parts.map.node, this.#tipNode, this.#toast, this.notice), parts.panel.node);
    if (hall.floorsMeet) parts.map.setFloor(hall.floors[0]);
    this.#setColors();
    this.root.removeAttribute("aria-busy");
    this.#tick(parts);
    parts.clock = setInterval(() => this.#tick(parts), 250);
    for (let delay = 1000; ; delay = Math.min(2 * delay, 15_000)) {
      try {
        await parts.feed.start();
        break;
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof Refusal) || !error.mayPass) throw error;
        this.#setOffline(true);
        await pause(Math.max(delay * (1 + Math.random() / 2), error.retryAfter * 1000), signal);
        if (signal.aborted) return;
      }
    }
    parts.isReady = true;
    this.#tell("ready", { event: event.id, seats: hall.seats });
    if (this.locks.length > 0 || this.#mustTell) this.#tellHeld();
    if (event.waiting !== undefined) await parts.waitlist.find().catch(() => {}); // the list was open: the customer may have an entry
  }

  // #waitingBox shows the waiting list. What a customer can wait for is as in best available, or standing places.
  #waitingBox(parts) {
    const { hall, cart, waitlist, choice } = parts;
    const kindOf = (wish, name) => [keyOf(wish), name, wish];
    const seated = choice.seated.filter((c) => choice.isSelectable(c)).map((c) => hall.categories[c]);
    const kinds = [...(seated.length === 0 || seated.length < choice.seated.length ? [] : [kindOf({}, this.words.waitAny)]),
      ...seated.map((c) => kindOf({ categories: [c.key] }, c.name)),
      ...hall.sections.filter((s) => s.capacity > 0 && choice.isSelectable(s.category)).map((s) => kindOf({ section: s.key }, s.name))];
    const said = (refusal) => {
      const w = this.words;
      const texts = { WAITLIST_CLOSED: w.listClosed, WAITLIST_FULL: w.listFull, SEATS_STILL_AVAILABLE: w.stillFree, EVENT_NOT_ON_SALE: w.notOnSale,
        VALIDATION_FAILED: w.neverFits, WAITLIST_ENTRY_EXISTS: parts.box.textOf(waitlist.entry), LOCK_EXPIRED: w.offerOver,
        SEAT_LIMIT_REACHED: refusal.problem?.limit > 0 ? w.most(refusal.problem.limit) : undefined };
      if (!(refusal instanceof Refusal)) throw refusal;
      this.#say(texts[refusal.code] || (refusal.status === 401 ? w.signedOut : w.failed));
      this.#fail(refusal);
      if (refusal.code === "WAITLIST_CLOSED") this.#readWaitlist(parts);
    };
    return new WaitingBox(kinds, (text) => (this.#number === 1 ? text : this.words.another(text, this.#number)), {
      join: (seats, wish) => this.joinWaitlist(seats, wish).catch(said), leave: () => this.leaveWaitlist().catch(said),
      instead: () => waitlist.lock !== null && cart.swap(waitlist.lock),
    }, this.words);
  }

  // #missed notes what was asked for in vain: the customer may wait for it.
  #missed(parts, { code }, seats, wish) {
    if (this.#parts !== parts || (code !== "SEATS_UNAVAILABLE" && code !== "SEATS_NOT_ADJACENT")) return;
    parts.box.fill(seats, wish);
    parts.hasMissed = true;
    this.#readWaitlist(parts);
  }

  // #readWaitlist reads whether the list takes entries: streams don't say it.
  async #readWaitlist(parts, delay = 0) {
    parts.readAt = performance.now();
    await pause(delay * Math.random(), this.#load.signal);
    if (this.#parts === parts) await parts.sale.refresh();
    this.#showWaiting(parts);
  }

  #showWaiting({ api, event, cart, panel, waitlist, box, hasMissed, offer }) {
    box?.show(waitlist, {
      mayJoin: takesEntries(event, api.now()) && (hasMissed || panel.isSoldOut), most: cart.options.most, isPaying: this.paying,
      isHeld: offer === waitlist.lock?.id,
    });
  }

  // #offer has the offered seats held, once: what the customer gives up of them is not offered again.
  #offer(parts) {
    const { left, lock } = parts.waitlist;
    if (left > 0 && lock.status === "ACTIVE" && lock.id !== parts.offer && parts.cart.take(lock)) parts.offer = lock.id;
    this.#showWaiting(parts);
  }

  #waitlistChanged(parts, before) {
    if (this.#parts !== parts) return;
    const { cart, waitlist, box } = parts;
    const { entry } = waitlist;
    if (before?.status === "OFFERED" && entry?.lockId === before.lockId && !waitlist.isOffered) {
      if (parts.isLeaving) cart.lose(before.lockId);
      else cart.check(); // it was booked or declined elsewhere, or its time is over
    }
    this.#offer(parts);
    if (before?.id === entry?.id && before?.status === entry?.status && before?.position === entry?.position) return;
    const text = box.textOf(entry, waitlist.left);
    if (text !== "" && before?.status !== entry?.status) this.#say(text);
    this.#tell("waitlistchanged", { entry, lock: waitlist.lock });
  }

  #tipNode;
  #toast;

  #options() {
    return {
      ttlSeconds: Number(this.getAttribute("ttl-seconds") ?? 0), holdsAtOnce: this.getAttribute("hold") !== "checkout",
      isPaying: this.paying, most: Math.min(mostSeats, Math.max(1, Number(this.getAttribute("max-seats") ?? 0) || defaultMost)),
    };
  }

  #toolbar(parts) {
    const { hall, map } = parts;
    const w = this.words;
    const button = (text, name, onclick) => el("button", { type: "button", textContent: text, title: name, "aria-label": name, onclick });
    const floors = hall.floors.length < 2 ? undefined : el("select", { "aria-label": w.floor, onchange: () => map.setFloor(floors.value === "*" ? undefined : floors.value) },
      hall.floorsMeet ? undefined : el("option", { value: "*", textContent: w.allFloors }), ...hall.floors.map((f) => el("option", { value: f, textContent: w.floorName(f) })));
    parts.floors = floors;
    const toggle = el("button", { type: "button", textContent: w.list, onclick: async () => {
      const list = await this.#list(parts);
      if (list === undefined || this.#parts !== parts) return;
      const isList = list.node.hidden;
      list.node.hidden = !isList;
      for (const part of [map.node, zoom, ...(floors === undefined ? [] : [floors])]) part.hidden = isList;
      setText(toggle, isList ? w.backToMap : w.list);
      this.#follow(isList ? list.sections : []);
      if (!isList) map.draw();
    } });
    const zoom = el("span", { className: "zoom" },
      button("−", w.zoomOut, () => map.zoomOut()), button("+", w.zoomIn, () => map.zoomIn()), button("⤢", w.whole, () => map.whole()));
    parts.opening = el("p", { className: "sale", part: "sale", role: "timer", "aria-live": "off", hidden: true });
    return el("div", { className: "toolbar", part: "toolbar" }, parts.opening, toggle, floors, zoom);
  }

  // #list is the list of seats; undefined if it can't be loaded.
  async #list(parts) {
    if (parts.list !== undefined) return parts.list;
    try {
      const { SeatList } = await import("./list.js");
      if (parts.list === undefined) {
        parts.list = parts.newList(SeatList);
        parts.map.node.after(parts.list.node);
      }
      return parts.list;
    } catch {
      this.#say(this.words.failed);
      return undefined;
    }
  }

  // #checkPlan loads the event again if it has another plan.
  async #checkPlan(parts) {
    for (let delay = 500; this.#parts === parts; delay = Math.min(2 * delay, 15_000)) {
      try {
        const event = await parts.api.call("GET", `/api/events/${parts.event.id}`, undefined, this.#load.signal);
        if (this.#parts === parts && event.seatingPlanId !== parts.event.seatingPlanId) this.#reload();
        return;
      } catch (error) {
        if (!(error instanceof Refusal) || !error.mayPass) return;
        await pause(delay, this.#load.signal);
      }
    }
  }

  #follow(sections) { this.#parts?.feed.follow(sections.map((s) => s.key)); }

  #changed(list, sections) {
    const p = this.#parts;
    if (p === undefined) return;
    const touched = new Set(sections);
    for (const i of list) touched.add(p.hall.section(i));
    p.map.changed(list, touched);
    p.list?.changed(list, touched);
    p.cart.seatsChanged(list);
    const wasSoldOut = p.panel.isSoldOut;
    p.panel.showCounts();
    if (p.panel.isSoldOut && !wasSoldOut && p.isReady) this.#readWaitlist(p, soldOutDelay);
    if (list.includes(this.#tip)) this.#showTip(p);
  }

  #shown = new Set(); // seats that were drawn as the customer's

  #showAll() {
    const p = this.#parts;
    if (p?.panel === undefined) return;
    const mine = new Set([...p.cart.chosen, ...p.cart.held]);
    const changed = [...new Set([...mine, ...this.#shown])];
    this.#shown = mine;
    p.map.changed(changed, []);
    p.list?.changed(changed, []);
    p.panel.show();
    if (this.#tip >= 0) this.#showTip(p);
  }

  #setColors() {
    const p = this.#parts;
    if (p?.map === undefined) return;
    const names = ["background", "floor", "ink", "soft", "line", "taken", "mine", "focus", "warn"];
    p.map.setColors(colorsOf(this.root, Object.fromEntries(names.map((name) => [name, `--_${name}`]))));
    p.list?.all();
    p.panel.show();
  }

  #describe(i) {
    const { hall, cart, seats, map } = this.#parts;
    const w = this.words;
    const [section, row, category] = [hall.section(i), hall.row(i), hall.categories[hall.category[i]]];
    const name = w.seat({ section: section.name, row: rowName(row.label), label: hall.labels[i], category: category.name, price: this.#price(hall.category[i]) });
    const kind = hall.kind[i];
    const marks = [kind & accessible && w.accessible, kind & companion && w.companion, kind & restricted && w.restricted, hall.notes.get(i)].filter(Boolean);
    const isTaken = seats.taken[i] === 1 && !cart.isMine(i);
    const isPressed = cart.chosen.has(i);
    const isSelectable = this.#parts.choice.isSelectable(hall.category[i]);
    const state = isPressed ? (cart.held.has(i) ? w.held : w.chosen) : isTaken ? w.taken : isSelectable ? w.available : w.notSelectable;
    const isBarred = !isPressed && (isTaken || !this.#parts.choice.allows(hall.category[i]));
    return { name, text: [name, ...marks, state].join(", "), isPressed, isBarred, color: map?.painter.fills?.[hall.category[i]] ?? category.color };
  }

  #names(list) { return list.map((i) => this.#describe(i).name).join("; "); }

  // #barred is why seats of a category can't be chosen; undefined if they can.
  #barred(category) {
    const { hall, choice } = this.#parts;
    const { name } = hall.categories[category];
    if (choice.allows(category)) return undefined;
    return choice.isSelectable(category) ? this.words.filtered(name) : `${name}: ${this.words.notSelectable}`;
  }

  #toArea(section) {
    const barred = this.#barred(section.category);
    if (barred === undefined) this.#parts.panel.focusArea(section);
    else this.#say(barred);
  }

  // #isClosedTo reports whether nothing in a section can be chosen.
  #isClosedTo({ categories }) {
    const { choice } = this.#parts;
    return categories.length > 0 && !categories.some((c) => choice.isSelectable(c));
  }

  #freeIn(section) {
    const free = this.#parts.seats.available[section.number];
    return this.#isClosedTo(section) ? this.words.notSelectable : free === 0 ? this.words.soldOut : this.words.free(free);
  }

  #describeSection(s) {
    const { hall } = this.#parts;
    const prices = s.categories.map((c) => priceOf(this.prices, hall.categories[c].key)).filter((p) => p !== undefined);
    const amounts = prices.filter((p) => typeof p === "number");
    const range = amounts.length === 0 ? [] : [...new Set([Math.min(...amounts), Math.max(...amounts)].map((p) => this.#format(p)))];
    const price = [range.join(" – "), ...new Set(prices.filter((p) => typeof p !== "number").map(String))].filter(Boolean).join(", ");
    return this.words.section({ name: s.name, category: hall.categories[s.category].name, free: this.#freeIn(s), price });
  }

  /** @returns {SelectedSeat} */
  #seat(i) {
    const { hall, cart } = this.#parts;
    return {
      id: hall.ids[i], ...this.#where(hall.section(i), hall.category[i]), row: hall.row(i).label, label: hall.labels[i],
      accessible: (hall.kind[i] & accessible) > 0, held: cart.held.has(i),
    };
  }

  /** @returns {SelectedPlaces} */
  #places(section) {
    const { cart } = this.#parts;
    return { ...this.#where(section, section.category), seats: cart.areas.get(section.number) ?? 0, held: cart.areaIsHeld(section.number) };
  }

  #where(section, c) {
    const category = this.#parts.hall.categories[c];
    return { section: section.key, sectionName: section.name, category: category.key, categoryName: category.name, price: priceOf(this.prices, category.key) };
  }

  #price(category) {
    const price = priceOf(this.prices, this.#parts.hall.categories[category].key);
    return typeof price === "number" ? this.#format(price) : String(price ?? "");
  }

  #format(amount) {
    if (this.#money === undefined) {
      const currency = this.getAttribute("currency");
      try {
        this.#money = new Intl.NumberFormat(this.#language, currency ? { style: "currency", currency } : {});
      } catch { // no such currency or language
        this.#money = new Intl.NumberFormat();
      }
    }
    return this.#money.format(amount);
  }

  #total(list, areas) {
    const { hall } = this.#parts;
    const priceIn = (category) => priceOf(this.prices, hall.categories[category].key);
    const prices = [...list.map((i) => priceIn(hall.category[i])), ...[...areas].map(([n, places]) => priceIn(hall.sections[n].category) * places)];
    return prices.every((p) => Number.isFinite(p)) ? this.#format(prices.reduce((a, b) => a + b, 0)) : "";
  }

  #hover(seat, at) {
    const p = this.#parts;
    if (p === undefined) return;
    this.#tipAt = at;
    if (seat !== this.#tip) {
      this.#tip = seat;
      this.#tipPicture = undefined;
      clearTimeout(this.#tipTimer);
      const view = seat < 0 ? undefined : p.hall.viewOf(seat);
      if (view !== undefined) this.#tipTimer = setTimeout(() => this.#loadView(p, seat, view), restTime);
      this.#showTip(p);
      p.map.draw();
    }
    this.#placeTip(p);
  }

  #tipAt;
  #tipPicture; // the view from the seat under the pointer, when it has been loaded
  #tipTimer = 0;

  #loadView(p, seat, view) {
    const picture = pictureOf(view, "", { onload: () => {
      if (this.#parts !== p || this.#tip !== seat) return;
      this.#tipPicture = picture;
      this.#showTip(p);
      this.#placeTip(p);
    } });
  }

  #placeTip(p) {
    if (this.#tip < 0) return;
    const at = this.#tipAt;
    const { clientWidth, clientHeight } = p.map.node;
    const [x, y] = [Math.min(at.x + 14, clientWidth - this.#tipNode.offsetWidth - 4), at.y + 18 + this.#tipNode.offsetHeight > clientHeight ? at.y - this.#tipNode.offsetHeight - 12 : at.y + 18];
    this.#tipNode.style.transform = `translate(${Math.max(4, x)}px, ${Math.max(4, y)}px)`;
  }

  // #rowsOf are seats by their rows, as words.found takes them.
  #rowsOf(list) {
    const { hall } = this.#parts;
    return Object.values(Object.groupBy(list, (i) => hall.rowOf[i]))
      .map((row) => ({ section: hall.section(row[0]).name, row: rowName(hall.row(row[0]).label), labels: row.map((i) => hall.labels[i]) }));
  }

  // #singles are the seats that choosing a seat would leave single.
  #singles(seat) {
    const { cart } = this.#parts;
    return cart.canHave(seat) && !cart.chosen.has(seat) ? cart.orphansOf(new Set([...cart.chosen, seat])) : [];
  }

  // #warning is the text about them before the click; undefined if there are none.
  #warning(seat) {
    const { hall, choice } = this.#parts;
    if (choice.isFaint(hall.category[seat])) return this.words.filtered(hall.categories[hall.category[seat]].name);
    const single = this.#singles(seat);
    return single.length === 0 ? undefined : this.words.orphan(single.map((i) => this.#parts.hall.labels[i]).join(", "));
  }

  // #showTip describes the seat under the pointer.
  #showTip({ cart }) {
    const seat = this.#tip;
    const single = seat < 0 ? [] : this.#singles(seat);
    this.#hinted = single.length > 0 ? single : cart.orphansOf(cart.chosen);
    this.#tipNode.hidden = seat < 0;
    if (seat < 0) return;
    const warning = this.#warning(seat);
    this.#tipNode.replaceChildren(this.#describe(seat).text, ...(warning === undefined ? [] : [el("span", { className: "warn", textContent: warning })]), this.#tipPicture ?? "");
  }

  #tellHeld() {
    const { locks, selection } = this;
    const time = this.#parts.cart.deadline;
    this.#mustTell = locks.length > 0;
    if (locks.some((l) => !this.#told.has(l.id))) this.#unsay("end"); // it is not the last that happened
    this.#told = new Set(locks.map((l) => l.id));
    if (locks.length === 0) this.paying = false;
    else if (locks.some((l) => l.status === "ACTIVE" && l.bookingId !== undefined)) this.paying = true; // an ACTIVE lock's booking is open
    this.#tell("holdchanged", { locks, selection, expiresAt: time === undefined ? undefined : new Date(time).toISOString() });
  }

  #tick(parts) {
    const { cart, api, panel, sale, opening } = parts;
    if (api.clock.hasJumped()) { // the answer corrects the clock
      cart.check();
      if (sale.state === "before") sale.refresh();
    }
    sale.check();
    setText(opening, this.#closed(parts) ?? "");
    opening.hidden = opening.textContent === "";
    panel.showTime();
    this.#showWaiting(parts);
    const left = cart.deadline === undefined ? Infinity : cart.deadline - api.now();
    if (left < 60_000 && this.#left >= 60_000 && this.#left < Infinity) this.#say(this.words.timeLeft("1:00"));
    this.#left = left;
  }

  // #closed is the text for an event that is not on sale; undefined while it is.
  #closed({ api, event }) { return saleText(event, api.now(), this.words, this.#language); }

  #saleChanged(parts, now, before) {
    if (now !== "open") this.#say(this.#closed(parts), "sale");
    else if (before !== undefined) this.#say(this.words.opened, "sale");
  }

  #wait(refusal) {
    if (refusal !== undefined) this.#fail(refusal, true);
    if (this.#isOffline) return;
    this.notice.hidden = refusal === undefined;
    setText(this.notice, refusal === undefined ? "" : this.words.waiting);
  }

  #setOffline(is) {
    if (is === this.#isOffline) return;
    this.#isOffline = is;
    this.notice.hidden = !is;
    setText(this.notice, is ? this.words.lost : "");
    if (is) return;
    const { text = "", about } = this.#said; // keeps the previous text
    this.#say([this.words.back, text.replace(this.words.back, "").trim()].filter(Boolean).join(" "), about);
  }

  // #tellOfWheel explains once how the wheel zooms.
  #tellOfWheel() {
    if (this.#wasToldOfWheel) return;
    this.#wasToldOfWheel = true;
    this.#showToast(this.words.scrolled);
  }

  #said = {}; // the last message: its text, and its subject

  // #say shows a message: in the live region for screen readers, and as a text on the map. about is for #unsay.
  #say(text, about = "") {
    this.live.replaceChildren(el("span", { textContent: text })); // a new one, so that the same text is read again
    this.#showToast(text);
    this.#said = { text, about };
  }

  // #unsay takes back what was said about something, if it is still shown, because it is not so any more.
  #unsay(about) {
    if (this.#said.about === about) this.#hideToast();
  }

  #showToast(text) {
    this.#hideToast();
    if (this.#toast === undefined) return;
    this.#toast.textContent = text;
    this.#toast.hidden = false;
    this.#toastTimer = setTimeout(() => this.#hideToast(), toastTime);
  }

  #hideToast() {
    clearTimeout(this.#toastTimer);
    this.#said = {};
    if (this.#toast !== undefined) this.#toast.hidden = true;
  }

  // #ending is the notice of a refusal after which the map shows nothing new.
  #ending({ code, status }) {
    if (code === "EVENT_NOT_FOUND" || code === "VALIDATION_FAILED") return this.words.noEvent; // such as a wrong ID
    return status === 401 ? this.words.signedOut : this.words.notLoaded;
  }

  #fail(refusal, retrying = false) {
    this.#tell("error", { code: refusal.code, status: refusal.status, message: refusal.message, problem: refusal.problem, retrying });
  }

  /**
   * @template {keyof HoldfastSeatsEventDetails} Type
   * @param {Type} type
   * @param {HoldfastSeatsEventDetails[Type]} detail
   */
  #tell(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail, bubbles: type !== "error", composed: true })); }
}

const priceOf = (prices, key) => (Object.hasOwn(prices, key) ? prices[key] : undefined);

function parsePrices(text) {
  try {
    const prices = JSON.parse(text ?? "{}");
    return typeof prices === "object" && prices !== null ? prices : {};
  } catch {
    return {};
  }
}

