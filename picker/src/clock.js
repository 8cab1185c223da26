const skew = () => Date.now() - performance.now();

/**
 * Clock estimates the server's clock from the page's monotonic clock, which does not follow a device's clock that is set, but may pause
 * while the device sleeps.
 */
export class Clock {
  #offset = undefined; // ms from the monotonic clock to the server's
  #skew = skew();

  /** sync corrects the clock as little as an answer asks for: between sending the request and now, the server's clock was in a range. */
  sync(from, to, sent) {
    const [least, most] = [from - performance.now(), to - sent];
    this.#offset = Math.min(Math.max(this.#offset ?? (least + most) / 2, least), most);
  }

  /** learn is sync by an answer: its header Date, which has whole seconds, and the time of what was created just now. */
  learn(response, sent, answer) {
    const date = Date.parse(response.headers.get("Date") ?? "");
    if (date > 0) this.sync(date, date + 1000, sent);
    if (response.status !== 201 || response.headers.get("Idempotent-Replayed") === "true" || !answer?.createdAt) return;
    const created = Date.parse(answer.createdAt);
    this.sync(created, created, sent);
  }

  /** now is the server's clock, in ms. Before the first answer it is the device's. */
  now() { return this.#offset === undefined ? Date.now() : performance.now() + this.#offset; }

  /** hasJumped reports, once, that the device has slept or that its clock was set. After a sleep, this clock is late until the next answer. */
  hasJumped() {
    const before = this.#skew;
    this.#skew = skew();
    return Math.abs(this.#skew - before) > 1000;
  }
}

/** remaining writes a time in ms, such as 4:07 or 1:02:03. */
export function remaining(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const twoDigits = (n) => String(n).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  return `${hours > 0 ? `${hours}:${twoDigits(minutes % 60)}` : minutes}:${twoDigits(seconds % 60)}`;
}
