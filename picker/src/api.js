// Requests to Holdfast, and its streams. A token goes into a header, never into an address.

import { Clock } from "./clock.js";

/** Refusal is an answer with an error status, or no answer: status 0. */
export class Refusal extends Error {
  constructor(status, problem, retryAfter = 0) {
    super(problem.detail ?? problem.title ?? "");
    this.status = status;
    this.code = problem.code ?? "";
    this.problem = problem;
    this.retryAfter = retryAfter; // seconds
  }

  /** mayPass reports whether the same request may succeed soon. The page's clock may be early for the start of a sale. */
  get mayPass() {
    return this.status === 0 || this.status === 429 || this.status >= 500 || (this.code === "SALE_NOT_OPEN" && this.retryAfter === 1);
  }
}

const answerTimeout = 15_000; // ms
const maxRetryAfter = 120; // seconds
const silenceTimeout = 40_000; // ms; the server sends a heartbeat each 15 s

export class Api {
  clock = new Clock();

  /** @param base of the server, "" for the page's own; @param token a text, or a function that returns or promises one */
  constructor(base, token) {
    this.base = base.replace(/\/+$/, "");
    this.token = token;
  }

  // #token is the token. A page that has none at the moment, such as because its own server does not answer, may have one later.
  async #token() {
    if (typeof this.token !== "function") return this.token;
    try {
      return await inTime(this.token());
    } catch (cause) {
      if (cause instanceof Refusal) throw cause;
      console.warn("<holdfast-seats>: the function token failed.", cause);
      throw new Refusal(0, { code: "NO_TOKEN", detail: String(cause) });
    }
  }

  async #headers(more = {}) {
    const token = await this.#token();
    return token ? { ...more, Authorization: `Bearer ${token}` } : more;
  }

  /**
   * customer is whom the token is for, as a request names it: by `userId` or `holder`. It is undefined without a token. The token
   * is only read here; the server checks it. It throws a Refusal if the page has no token at the moment.
   */
  async customer() {
    const token = await this.#token();
    try {
      const bytes = atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/"));
      const { sub, holder } = JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes, (b) => b.charCodeAt(0))));
      return holder === undefined && /^[0-9a-f]{24}$/i.test(sub) ? { userId: sub } : { holder: holder ?? sub };
    } catch {
      return undefined;
    }
  }

  /** call sends one request and returns the JSON of the answer; it throws a Refusal. */
  async call(method, path, body, signal) {
    const mayBeCached = path.startsWith("/api/seating-plans/");
    const sent = performance.now();
    let response;
    let text;
    try {
      response = await fetch(this.base + path, {
        method, body: body === undefined ? undefined : JSON.stringify(body),
        cache: mayBeCached ? "default" : "no-store",
        headers: await this.#headers(body === undefined ? {} : { "Content-Type": "application/json" }),
        signal: AbortSignal.any([AbortSignal.timeout(answerTimeout), ...(signal ? [signal] : [])]),
      });
      text = await response.text();
    } catch (cause) {
      if (signal?.aborted || cause instanceof Refusal) throw cause;
      throw new Refusal(0, { code: "NO_ANSWER", detail: String(cause) });
    }
    const answer = parseJSON(text);
    if (answer === undefined && response.ok) throw new Refusal(0, { code: "NO_ANSWER", detail: "The answer is not JSON." });
    if (!mayBeCached) this.clock.learn(response, sent, answer);
    if (!response.ok) throw refusalOf(response, answer, this.now());
    return answer;
  }

  /** now is the server's clock, in ms. */
  now() { return this.clock.now(); }

  /** stream yields the messages of one connection, `{event, data, id, retry}`; it throws if the answer is an error. */
  async *stream(path, lastID, signal) {
    const broken = new AbortController();
    let watchdog = setTimeout(() => broken.abort(), answerTimeout);
    const sent = performance.now();
    try {
      const response = await fetch(this.base + path, {
        headers: await this.#headers(lastID === "" ? {} : { "Last-Event-ID": lastID }),
        cache: "no-store", signal: AbortSignal.any([signal, broken.signal]),
      });
      this.clock.learn(response, sent);
      if (!response.ok) throw refusalOf(response, parseJSON(await response.text()), this.now());
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        clearTimeout(watchdog);
        watchdog = setTimeout(() => broken.abort(), silenceTimeout);
        const { value, done } = await reader.read();
        if (done) return;
        const blocks = (text + value).split("\n\n");
        text = blocks.pop();
        for (const block of blocks) yield parse(block);
      }
    } finally {
      clearTimeout(watchdog);
      broken.abort(); // a consumer that stops ends the connection
    }
  }
}

// inTime is the value of a page's promise, if it settles within the time for an answer.
function inTime(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Refusal(0, { code: "NO_TOKEN", detail: "The page gave no token." })), answerTimeout);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function parseJSON(text) {
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    return undefined;
  }
}

// refusalOf reads Retry-After in both of its forms.
function refusalOf(response, problem, now) {
  const header = response.headers.get("Retry-After") ?? "0";
  const seconds = Number(header) >= 0 ? Number(header) : (Date.parse(header) - now) / 1000;
  return new Refusal(response.status, problem ?? {}, Math.min(Math.max(0, seconds || 0), maxRetryAfter));
}

// parse reads a message of server-sent events, as Holdfast writes them: one line of data.
function parse(block) {
  const message = { event: "", data: "" };
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue; // a comment
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (line.startsWith("data:")) message.data += value;
    else message[line.slice(0, colon)] = value;
  }
  return message;
}

/** pause waits, and ends early with the signal, or when the browser is online again. */
export const pause = (ms, signal) => new Promise((resolve) => {
  const end = () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
    removeEventListener("online", end);
    resolve();
  };
  const timer = setTimeout(end, ms);
  signal?.addEventListener("abort", end);
  addEventListener("online", end);
});
