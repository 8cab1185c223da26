// Keeps the seats of an event as they are: reads all of them once, then follows the stream of the sections in view.
// The server follows at most 20 sections of a listener: the others of the view are read again when their counts change.

import { pause } from "./api.js";

const mostFollowed = 20; // sections of a stream
const viewDelay = 250; // ms, until a moving view has settled
const rereadInterval = 1000; // ms

export class Feed {
  #view = []; // keys of sections, the most wanted first
  #followed = "";
  #stop = new AbortController();
  #connection = new AbortController();
  #timer = 0;
  #reread = 0;
  #lastID = "";

  /**
   * @param on has `changed(seats, sections)`, `connected(is)`, `replaced()` (the event has another plan) and
   * `gone(refusal)`
   */
  constructor(api, eventID, seats, on) {
    Object.assign(this, { api, path: `/api/events/${eventID}`, seats, on });
  }

  /** start reads all seats, and then follows them until stop is called. */
  async start() {
    await this.#read([]);
    this.#run();
  }

  stop() {
    clearTimeout(this.#timer);
    clearTimeout(this.#reread);
    this.#stop.abort();
    this.#connection.abort();
  }

  /** follow says which sections are in view, by their keys, the most wanted first. */
  follow(keys) {
    this.#view = keys;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (followed(keys) !== this.#followed) this.#connection.abort();
      this.#readStale();
    }, viewDelay);
  }

  async #read(keys) {
    const query = keys.map((key) => `section=${encodeURIComponent(key)}`).join("&");
    const answer = await this.api.call("GET", `${this.path}/seats${query && `?${query}`}`, undefined, this.#stop.signal);
    const [changed, sections] = [[], []];
    for (const s of answer.sections) {
      const section = this.seats.hall.sectionByKey.get(s.key);
      if (section === undefined) return this.on.replaced();
      this.seats.setAvailable(section, s.available);
      if (s.bitmap !== undefined) for (const i of this.seats.setBitmap(section, s.bitmap)) changed.push(i);
      this.seats.totals[section.number] = s.total;
      sections.push(section);
    }
    this.on.changed(changed, sections);
  }

  // #readStale reads sections in view that the stream does not follow, and of which only the count is known to have
  // changed.
  #readStale() {
    const streamed = new Set(this.#followed.split("&"));
    const stale = this.#view.filter((key) => !streamed.has(`section=${encodeURIComponent(key)}`) &&
      this.seats.stale.has(this.seats.hall.sectionByKey.get(key)?.number));
    if (stale.length === 0 || this.#reread !== 0) return;
    this.#reread = setTimeout(async () => {
      try {
        await this.#read(stale.slice(0, 100));
      } catch {
        // The stream says whether the server can be reached.
      }
      this.#reread = 0;
      if (!this.#stop.signal.aborted) this.#readStale();
    }, rereadInterval);
  }

  async #run() {
    let delay = 500;
    while (!this.#stop.signal.aborted) {
      this.#connection = new AbortController();
      const query = followed(this.#view);
      if (query !== this.#followed) this.#lastID = ""; // an ID is of the same sections
      this.#followed = query;
      try {
        for await (const message of this.api.stream(`${this.path}/seats/stream${query && `?${query}`}`, this.#lastID,
          AbortSignal.any([this.#stop.signal, this.#connection.signal]))) {
          this.on.connected(true);
          delay = 500;
          if (message.id !== undefined) this.#lastID = message.id;
          await this.#take(message);
        }
      } catch (error) {
        if (error.status === 404 || error.status === 422 || error.status === 401 || error.status === 403) {
          this.on.connected(false);
          return this.on.gone(error);
        }
        if (error.retryAfter > 0) delay = Math.max(delay, error.retryAfter * 1000);
      }
      if (this.#stop.signal.aborted) return;
      if (this.#connection.signal.aborted) continue; // for other sections
      this.on.connected(false);
      await pause(delay * (0.5 + Math.random()), this.#stop.signal);
      delay = Math.min(delay * 2, 15_000);
    }
  }

  async #take(message) {
    if (message.event === "reset") {
      this.#lastID = "";
      return this.on.replaced();
    }
    if (message.event !== "sections" && message.event !== "seats") return;
    const data = JSON.parse(message.data);
    const { hall } = this.seats;
    if (message.event === "sections") {
      const sections = data.flatMap(({ key, available }) => {
        const section = hall.sectionByKey.get(key);
        return section !== undefined && this.seats.setAvailable(section, available) ? [section] : [];
      });
      if (sections.length > 0) this.on.changed([], sections);
      return this.#readStale();
    }
    const section = hall.sectionByKey.get(data.section);
    if (section === undefined) return;
    const changed = data.bitmap === undefined
      ? [...this.seats.setTaken(data.taken, 1), ...this.seats.setTaken(data.freed, 0)]
      : this.seats.setBitmap(section, data.bitmap);
    this.seats.stale.delete(section.number);
    if (changed.length > 0) this.on.changed(changed, [section]);
  }
}

// followed is the stream's query for the sections of a view.
const followed = (keys) => keys.slice(0, mostFollowed).sort().map((key) => `section=${encodeURIComponent(key)}`).join("&");
