// Server-sent streams, which connect again and resume when they are cut.

import { HoldfastError, errorOfAnswer, wrongAnswer } from "./errors.js";
import { checkTimeout, pause } from "./time.js";
import { checkHeader, type Query, type Transport } from "./transport.js";

/** StreamOptions are those of one stream. */
export interface StreamOptions {
  /** signal ends the iteration. */
  signal?: AbortSignal | undefined;
  /** lastEventId is the `id` of the last message of an earlier stream with the same sections, behind which this one begins. */
  lastEventId?: string | undefined;
  /** timeout ends a connection that is silent for so long, in ms, and makes another one; default 40,000. The server writes every 15 s. */
  timeout?: number | undefined;
  /** onConnect is called when a connection is made, the first one too. */
  onConnect?: (() => void) | undefined;
  /**
   * onDisconnect is called when a connection ends, or can't be made, also because the function for a token fails. The stream
   * connects again. The error is undefined if the server ended it.
   */
  onDisconnect?: ((error: unknown) => void) | undefined;
}

interface Message { event: string; id?: string; data: unknown }

interface Block { event?: string; id?: string; data?: string; retry?: string }

const connectTimeout = 15_000; // ms
const silenceTimeout = 40_000; // ms
const firstDelay = 500; // ms, before a second attempt to connect
const maxDelay = 15_000; // ms
const maxRetryAfter = 120_000; // ms
const maxRefusals = 5; // one after the other, of a token that may be renewed

/**
 * follow yields the messages of a stream until the signal. It connects again after a lost connection, 5xx and 429, and fails
 * with any other answer, such as EVENT_NOT_FOUND or a page: another attempt would get it too.
 */
export async function* follow<M>(
  transport: Transport, path: string, query: Query, options: StreamOptions = {},
): AsyncGenerator<M, void, void> {
  const signal = options.signal ?? new AbortController().signal;
  let last = options.lastEventId ?? "";
  checkHeader("lastEventId", last);
  checkTimeout("timeout", options.timeout);
  let [delay, retry, refusals] = [firstDelay, 2000, 0];
  while (!signal.aborted) {
    let isReached = false;
    let problem: unknown;
    try {
      for await (const block of connect(transport, path, query, last, signal, options.timeout ?? silenceTimeout)) {
        if (!isReached) options.onConnect?.();
        isReached = true;
        [delay, refusals] = [firstDelay, 0];
        if (Number(block.retry) > 0) retry = Math.min(Number(block.retry), maxDelay);
        if (block.data === undefined) continue;
        const message: Message = { event: block.event ?? "message", data: JSON.parse(block.data) };
        if (block.id !== undefined) message.id = block.id;
        last = message.event === "reset" ? "" : block.id ?? last; // after a reset everything follows again
        yield message as M;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (isFinal(error) && !(error.status === 401 && transport.hasFreshTokens && ++refusals < maxRefusals)) throw error;
      if (error instanceof HoldfastError) delay = Math.max(delay, Math.min(error.retryAfter * 1000, maxRetryAfter));
      problem = error;
    }
    if (signal.aborted) return;
    options.onDisconnect?.(problem);
    // Not at once: a server that restarts has ended the streams of all its listeners.
    await pause((isReached ? retry : delay) * (1 + Math.random() / 2), signal);
    if (!isReached) delay = Math.min(delay * 2, maxDelay);
  }
}

const isFinal = (error: unknown): error is HoldfastError =>
  error instanceof HoldfastError && error.status >= 200 && error.status < 500 && error.status !== 429;

/** connect yields the messages of one connection. It ends a connection that is silent. */
async function* connect(
  transport: Transport, path: string, query: Query, last: string, signal: AbortSignal, timeout: number,
): AsyncGenerator<Block, void, void> {
  const silence = new AbortController();
  const connectTime = Math.min(connectTimeout, timeout);
  const within = async <T>(ms: number, promise: Promise<T>): Promise<T> => {
    const timer = setTimeout(() => silence.abort(new Error(`The stream was silent for ${ms / 1000} s.`)), ms);
    try { return await promise; } finally { clearTimeout(timer); }
  };
  try {
    const headers: Record<string, string> = { Accept: "text/event-stream", ...(last !== "" && { "Last-Event-ID": last }) };
    const ends = AbortSignal.any([signal, silence.signal]);
    const request = { method: "GET", path, query, headers };
    const response = await within(connectTime, transport.open(request, ends, signal));
    if (!response.ok) throw errorOfAnswer(response, await within(connectTime, response.text()));
    const isStream = /^text\/event-stream\b/i.test(response.headers.get("Content-Type") ?? "");
    if (!isStream || response.body === null) throw wrongAnswer(request, response);
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let text = "";
    for (;;) {
      const { value, done } = await within(timeout, reader.read());
      if (done) return;
      const blocks = (text + decoder.decode(value, { stream: true })).split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) yield parse(block);
    }
  } finally {
    silence.abort(); // a consumer that stops ends the connection
  }
}

/** parse reads a message as Holdfast writes it: lines that end with \n. */
function parse(text: string): Block {
  const block: Record<string, string> = {};
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue; // a comment
    const [name, value] = [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
    block[name] = name === "data" && block["data"] !== undefined ? `${block["data"]}\n${value}` : value;
  }
  return block;
}
