// Sends a request once: its address, its key or token, and its time limit.

import { HoldfastError, errorOfAnswer, noAnswer, wrongAnswer } from "./errors.js";
import { retry, type Safety } from "./retry.js";
import { checkTimeout } from "./time.js";

/** Options configure a client. */
export interface Options {
  /** key is the secret of an API key. Keep it out of browsers. */
  key?: string | undefined;
  /** token is a customer's token, or a function that returns or promises a fresh one: it is called for each request. */
  token?: string | (() => string | Promise<string>);
  /** timeout limits one request and its answer, in ms; default 15,000. Plans and calls that take long have more. */
  timeout?: number;
  /** retryTimeout limits a call with its retries, in ms; default 60,000; 0 disables retries. */
  retryTimeout?: number;
  /** fetch replaces the function of the platform. */
  fetch?: typeof fetch;
}

/** CallOptions are those of one call. */
export interface CallOptions {
  /** signal ends the call: it then throws the signal's reason. A request in flight may be executed nevertheless. */
  signal?: AbortSignal | undefined;
  /** timeout limits one request of this call and its answer, in ms. */
  timeout?: number | undefined;
}

export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;

/** Request describes a call. */
export interface Request extends Safety {
  /** path is escaped, such as /api/locks. */
  path: string;
  query?: Query | undefined;
  /** body is sent as JSON, a text as it is. */
  body?: unknown;
  headers?: Readonly<Record<string, string>> | undefined;
  /** isPlan is set if the body or the answer may be as large as a seating plan. */
  isPlan?: boolean;
  /** isLong is set if the server may take longer than the default timeout. */
  isLong?: boolean;
  /** answer is what a 2xx answer has: a JSON object, if it is not set. A page is one with items. */
  answer?: "page" | "nothing" | "anything";
}

export interface Answer {
  status: number;
  headers: Headers;
  /** body is JSON if the server says so, a text if not, and undefined if there is none. */
  body: unknown;
}

const defaultTimeout = 15_000;
const defaultRetryTimeout = 60_000;
const longTimeout = 45_000; // more than the 40 s in which the server answers in any case
const planTimeout = 300_000; // for the largest plan over a slow line

export class Transport {
  readonly #baseUrl: string;
  readonly #options: Options;

  constructor(baseUrl: string, options: Options) {
    checkUrl(baseUrl);
    checkHeader("key", options.key);
    if (typeof options.token === "string") checkHeader("token", options.token);
    checkTimeout("timeout", options.timeout);
    if (options.retryTimeout !== 0) checkTimeout("retryTimeout", options.retryTimeout);
    this.#baseUrl = baseUrl.replace(/\/+$/, "");
    this.#options = options;
  }

  /** hasFreshTokens is true if another request may have another token. */
  get hasFreshTokens(): boolean { return typeof this.#options.token === "function"; }

  /** call sends a request, with retries. */
  async call(request: Request, { signal, timeout }: CallOptions = {}): Promise<Answer> {
    checkTimeout("timeout", timeout);
    const text = typeof request.body === "string" ? request.body : JSON.stringify(request.body);
    const least = request.isPlan ? planTimeout : request.isLong ? longTimeout : 0;
    const limit = timeout ?? Math.max(this.#options.timeout ?? defaultTimeout, least);
    const attempt = async (): Promise<Answer> => {
      const ends = [AbortSignal.timeout(Math.ceil(limit)), ...(signal ? [signal] : [])];
      const response = await this.open(request, AbortSignal.any(ends), signal, text);
      return this.#read(request, response, signal);
    };
    try {
      return await retry(request, this.#options.retryTimeout ?? defaultRetryTimeout, signal, attempt);
    } catch (error) {
      if (error instanceof HoldfastError) error.idempotencyKey = keyOf(request);
      throw error;
    }
  }

  /** open sends a request once, and returns the answer, of which the body is still to be read. signal is the caller's, text the body. */
  async open(request: Request, ends: AbortSignal, signal?: AbortSignal, text?: string): Promise<Response> {
    const headers: Record<string, string> = { Accept: "application/json" };
    if (text !== undefined) headers["Content-Type"] = typeof request.body === "string" ? "text/csv" : "application/json";
    const token = await this.#secret();
    if (token) headers["Authorization"] = `Bearer ${token}`;
    Object.assign(headers, request.headers);
    for (const [name, value] of Object.entries(headers)) checkHeader(name, value);
    const send = this.#options.fetch ?? fetch;
    const url = this.#baseUrl + request.path + queryOf(request.query);
    const init: RequestInit = {
      method: request.method,
      headers,
      ...(text !== undefined && { body: text }),
      ...(!request.isPlan && { cache: "no-store" }), // browsers keep plans, which never change
      redirect: "manual", // fetch would repeat a POST as a GET, and return what that finds
    };
    void new globalThis.Request(url, init); // throws what fetch would throw each time, such as for a method that does not exist
    try {
      ends.throwIfAborted();
      return await send(url, { ...init, signal: ends });
    } catch (cause) {
      signal?.throwIfAborted();
      throw noAnswer(`${request.method} ${request.path} got no answer: ${reasonOf(cause)}`, cause);
    }
  }

  async #read(request: Request, response: Response, signal: AbortSignal | undefined): Promise<Answer> {
    let text: string;
    try {
      text = await response.text();
    } catch (cause) {
      signal?.throwIfAborted();
      throw noAnswer(`The answer to ${request.method} ${request.path} was cut off: ${reasonOf(cause)}`, cause);
    }
    const { status, headers } = response;
    if (status === 304 && request.headers) return { status, headers, body: undefined };
    if (!response.ok) throw errorOfAnswer(response, text);
    const body = bodyOf(response, text);
    if (!isExpected(request, body)) throw wrongAnswer(request, response);
    return { status, headers, body };
  }

  async #secret(): Promise<string | undefined> {
    const { key, token } = this.#options;
    return key ?? (typeof token === "function" ? token() : token);
  }
}

/** reasonOf adds the cause: Node says "fetch failed" whatever it is. With several addresses the cause has a code and no message. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : undefined;
  return [String(error), cause?.message || (cause && "code" in cause ? cause.code : undefined)].filter(Boolean).join(": ");
}

/** checkUrl refuses what can't be a base URL. A page may name a path of its own server, such as /tickets. */
function checkUrl(url: string): void {
  const page = globalThis.location?.href;
  const parsed = URL.canParse(url, page) ? new URL(url, page) : undefined;
  if (/^(https?:\/)?\/[^\s?#]*$/i.test(url) && parsed?.protocol.startsWith("http") && parsed.username + parsed.password === "") return;
  throw new TypeError("The base URL must be such as https://tickets.example: with http or https, and without spaces, a password or a query.");
}

/** checkHeader refuses a value that no header may have. It does not say the value, which may be secret. */
export function checkHeader(name: string, value = ""): void {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return;
  throw new TypeError(`The ${name} has a character that no header may have, such as a line break.`);
}

const notJson = Symbol("an answer that says it is JSON, and is not");

function bodyOf({ headers }: Response, text: string): unknown {
  if (text === "" || !/[/+]json/.test(headers.get("Content-Type") ?? "")) return text || undefined;
  try {
    return JSON.parse(text);
  } catch {
    return notJson;
  }
}

function isExpected({ answer }: Request, body: unknown): boolean {
  if (answer === "anything") return body !== notJson;
  if (answer === "nothing") return body === undefined;
  const isObject = typeof body === "object" && body !== null && !Array.isArray(body);
  return isObject && (answer !== "page" || ("items" in body && Array.isArray(body.items)));
}

function queryOf(query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined && one !== null) search.append(name, String(one));
  }
  return search.size > 0 ? `?${search}` : "";
}

function keyOf({ body, headers }: Request): string | undefined {
  if (typeof body === "object" && body !== null && "idempotencyKey" in body) return String(body.idempotencyKey);
  return headers?.["Idempotency-Key"];
}
