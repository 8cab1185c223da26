// Reads a stream of an event, and connects again when it breaks.

import { Refusal, pause } from "./api.js";

const maxRefusals = 5; // one after the other, of a token that may be renewed
const firstDelay = 500; // ms, before a second attempt to connect
const maxDelay = 15_000; // ms
const steadyTime = 5000; // ms; a proxy may end each stream sooner: then it is not asked for again and again

export class Stream {
  /** lastID is the ID of the last message, behind which a new connection goes on; "" for the present state. */
  lastID = "";
  #connection = new AbortController();

  /**
   * @param path returns the path of the next connection
   * @param on has `message(message)`, and optionally `connected(is)`, `refused(refusal)`, after which it is tried again, and
   * `gone(refusal)`, after which it is not
   * @param stop a signal
   */
  constructor(api, path, on, stop) {
    this.api = api;
    this.path = path;
    this.on = on;
    this.stop = stop;
  }

  /** reconnect ends the connection, and makes another one at once. */
  reconnect() { this.#connection.abort(); }

  /** run reads until the signal. */
  async run() {
    let [delay, retry] = [firstDelay, 2000];
    let refusals = 0;
    while (!this.stop.aborted) {
      this.#connection = new AbortController();
      const path = this.path();
      let since; // the first message: not undefined if the server was reached
      try {
        for await (const message of this.api.stream(path, this.lastID, AbortSignal.any([this.stop, this.#connection.signal]))) {
          this.on.connected?.(true);
          [delay, refusals] = [firstDelay, 0];
          since ??= performance.now();
          if (message.retry > 0) retry = Math.min(Number(message.retry), maxDelay);
          this.on.message(message);
          if (message.id !== undefined) this.lastID = message.id;
        }
      } catch (error) {
        if (error instanceof Refusal) this.on.refused?.(error);
        if (error.status === 404 || ((error.status === 401 || error.status === 403) && ++refusals === maxRefusals)) return this.on.gone?.(error);
        if (error.retryAfter > 0) delay = Math.max(delay, error.retryAfter * 1000);
        if (!isOfNetwork(error)) reportError(error);
      }
      if (this.stop.aborted) return undefined;
      if (this.#connection.signal.aborted) continue; // for another path
      if (since !== undefined) { // a proxy ends long answers: the next attempt shows whether the server is there
        const isSteady = performance.now() - since >= steadyTime;
        // Not at once: a server that restarts has ended the streams of all its listeners.
        await pause(retry * (isSteady ? Math.random() : 1 + Math.random() / 2), this.stop);
        continue;
      }
      this.on.connected?.(false);
      await pause(delay * (1 + Math.random() / 2), this.stop);
      delay = Math.min(delay * 2, maxDelay);
    }
    return undefined;
  }
}

// isOfNetwork: fetch and its streams fail with a TypeError, an abort with a DOMException.
const isOfNetwork = (error) => error instanceof Refusal || error instanceof DOMException || (error instanceof TypeError && /fetch|network|load/i.test(error.message));
