// Keeps the seats of an event as they are: reads all of them once, then follows the stream of the sections in view.
// The server follows at most 20 sections of a listener: the others of the view are read again when their counts change.

import { Stream } from "./stream.js";

const mostFollowed = 20; // sections of a stream
const viewDelay = 250; // ms, until a moving view has settled
const rereadInterval = 1500; // ms
const mostRead = 100; // sections of one read

export class Feed {
  #view = []; // keys of sections, the most wanted first
  #followed = "";
  #stop = new AbortController();
  #stream;
  #timer = 0;
  #reread = 0;

  /**
   * @param on has `changed(seats, sections)`, `read(section)` (all of its seats are as they are now), `connected(is)`, `missed()` (changes
   * were lost: what follows is the whole state), `replaced()` (the event may have another plan) and `gone(refusal)`
   */
  constructor(api, eventID, seats, on) {
    this.api = api;
    this.path = `/api/events/${eventID}`;
    this.seats = seats;
    this.on = on;
    this.#stream = new Stream(api, () => this.#next(), {
      message: (m) => this.#take(m), connected: on.connected, gone: on.gone,
      refused: ({ status }) => { if (status === 422) on.replaced(); }, // a section is not in the event's plan any more
    }, this.#stop.signal);
  }

  /** start reads all seats, and then follows them until stop is called. */
  async start() {
    await this.#read([]);
    this.#stream.run();
  }

  stop() {
    clearTimeout(this.#timer);
    clearTimeout(this.#reread);
    this.#stop.abort();
  }

  /** reconnect tries whether the server can still be reached. */
  reconnect() { this.#stream.reconnect(); }

  /** follow says which sections are in view, by their keys, the most wanted first. */
  follow(keys) {
    this.#view = keys;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (followed(keys) !== this.#followed) this.reconnect();
      this.#readStale();
    }, viewDelay);
  }

  async #read(keys) {
    const query = keys.map((key) => `section=${encodeURIComponent(key)}`).join("&");
    const answer = await this.api.call("GET", `${this.path}/seats${query && `?${query}`}`, undefined, this.#stop.signal);
    const [changed, sections] = [[], []];
    for (const s of answer.sections) {
      const section = this.seats.hall.sectionByKey.get(s.key);
      const seats = section === undefined || s.bitmap === undefined ? [] : this.seats.setBitmap(section, s.bitmap, answer.rev);
      if (section === undefined || seats === undefined) return this.on.replaced();
      if (answer.rev >= this.#revision) this.seats.setAvailable(section, s.available);
      this.seats.stale.delete(section.number);
      for (const i of seats) changed.push(i);
      sections.push(section);
    }
    this.on.changed(changed, sections);
  }

  #revision = -1; // the latest of the stream

  // #readStale reads sections of which only the count is known to have changed, and whose seats are shown: those in view
  // that the stream does not follow, and those of several categories, for the count of each.
  #readStale() {
    if (this.#reread !== 0 || this.#stop.signal.aborted) return;
    const { hall, stale } = this.seats;
    const streamed = new Set(this.#followed.split("&"));
    const isStale = (s) => s !== undefined && stale.has(s.number) && !streamed.has(`section=${encodeURIComponent(s.key)}`);
    const inView = this.#view.map((key) => hall.sectionByKey.get(key)).filter(isStale);
    const mixed = hall.sections.filter((s) => s.categories.length > 1 && isStale(s));
    const wanted = [...new Set([...inView, ...mixed])].slice(0, mostRead);
    if (wanted.length === 0) return;
    this.#reread = setTimeout(async () => {
      try {
        await this.#read(wanted.map((s) => s.key));
        this.#rereadDelay = rereadInterval;
      } catch (error) { // the stream says whether the server can be reached
        this.#rereadDelay = Math.min(60_000, Math.max(2 * this.#rereadDelay, (error.retryAfter ?? 0) * 1000));
      }
      this.#reread = 0;
      this.#readStale();
    }, this.#rereadDelay);
  }

  #rereadDelay = rereadInterval;

  // #next is the path of the next connection.
  #next() {
    const query = followed(this.#view);
    if (query !== this.#followed) this.#stream.lastID = ""; // an ID is of the same sections
    this.#followed = query;
    return `${this.path}/seats/stream${query && `?${query}`}`;
  }

  #take(message) {
    if (message.event === "reset") {
      this.#stream.lastID = "";
      this.seats.revisions.fill(-1);
      this.on.missed();
      return this.on.replaced();
    }
    if (message.event !== "sections" && message.event !== "seats") return;
    const data = JSON.parse(message.data);
    const { hall } = this.seats;
    if (message.event === "sections") {
      const known = data.map(({ key, available }) => ({ section: hall.sectionByKey.get(key), available }));
      if (known.some(({ section }) => section === undefined)) return this.on.replaced();
      const sections = known.flatMap(({ section, available }) => (this.seats.setAvailable(section, available) ? [section] : []));
      if (sections.length > 0) this.on.changed([], sections);
      return this.#readStale();
    }
    const section = hall.sectionByKey.get(data.section);
    if (section === undefined) return this.on.replaced();
    this.#revision = Math.max(this.#revision, data.rev);
    let changed;
    if (data.bitmap !== undefined) changed = this.seats.setBitmap(section, data.bitmap, data.rev);
    else {
      this.seats.revisions[section.number] = Math.max(this.seats.revisions[section.number], data.rev);
      changed = [...this.seats.setTaken(data.taken, 1), ...this.seats.setTaken(data.freed, 0)];
    }
    if (changed === undefined) return this.on.replaced();
    this.seats.stale.delete(section.number);
    if (changed.length > 0) this.on.changed(changed, [section]);
    if (data.bitmap !== undefined) this.on.read(section);
  }
}

// followed is the stream's query for the sections of a view.
const followed = (keys) => keys.slice(0, mostFollowed).sort().map((key) => `section=${encodeURIComponent(key)}`).join("&");
