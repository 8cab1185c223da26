// Sends a request once: its address, its key or token, and its time limit.

import { HoldfastError, errorOfAnswer, noAnswer } from "./errors.js";
import { retry, type Safety } from "./retry.js";

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
    this.#baseUrl = baseUrl.replace(/\/+$/, "");
    this.#options = options;
  }

  /** hasFreshTokens is true if another request may have another token. */
  get hasFreshTokens(): boolean { return typeof this.#options.token === "function"; }

  /** call sends a request, with retries. */
  async call(request: Request, { signal, timeout }: CallOptions = {}): Promise<Answer> {
    const least = request.isPlan ? planTimeout : request.isLong ? longTimeout : 0;
    const limit = timeout ?? Math.max(this.#options.timeout ?? defaultTimeout, least);
    const attempt = async (): Promise<Answer> => {
      const ends = [AbortSignal.timeout(limit), ...(signal ? [signal] : [])];
      const response = await this.open(request, AbortSignal.any(ends), signal);
      return this.#read(request, response, signal);
    };
    try {
      return await retry(request, this.#options.retryTimeout ?? defaultRetryTimeout, signal, attempt);
    } catch (error) {
      if (error instanceof HoldfastError) error.idempotencyKey = keyOf(request);
      throw error;
    }
  }

  /** open sends a request once, and returns the answer, of which the body is still to be read. signal is the caller's. */
  async open(request: Request, ends: AbortSignal, signal?: AbortSignal): Promise<Response> {
    const isText = typeof request.body === "string";
    const headers: Record<string, string> = { Accept: "application/json" };
    if (request.body !== undefined) headers["Content-Type"] = isText ? "text/csv" : "application/json";
    const token = await this.#secret();
    if (token) headers["Authorization"] = `Bearer ${token}`;
    Object.assign(headers, request.headers);
    const send = this.#options.fetch ?? fetch;
    try {
      ends.throwIfAborted();
      return await send(this.#baseUrl + request.path + queryOf(request.query), {
        method: request.method,
        headers,
        ...(request.body !== undefined && { body: isText ? String(request.body) : JSON.stringify(request.body) }),
        ...(!request.isPlan && { cache: "no-store" as const }), // browsers keep plans, which never change
        redirect: "manual", // fetch would repeat a POST as a GET, and return what that finds
        signal: ends,
      });
    } catch (cause) {
      signal?.throwIfAborted();
      throw noAnswer(`${request.method} ${request.path} got no answer: ${String(cause)}`, cause);
    }
  }

  async #read(request: Request, response: Response, signal: AbortSignal | undefined): Promise<Answer> {
    let text: string;
    try {
      text = await response.text();
    } catch (cause) {
      signal?.throwIfAborted();
      throw noAnswer(`The answer to ${request.method} ${request.path} was cut off: ${String(cause)}`, cause);
    }
    const { status, headers } = response;
    if (status === 304) return { status, headers, body: undefined };
    if (!response.ok) throw errorOfAnswer(response, text);
    if (text === "" || !/[/+]json/.test(headers.get("Content-Type") ?? "")) return { status, headers, body: text || undefined };
    try {
      return { status, headers, body: JSON.parse(text) };
    } catch (cause) {
      throw noAnswer(`The answer to ${request.method} ${request.path} is not JSON.`, cause);
    }
  }

  async #secret(): Promise<string | undefined> {
    const { key, token } = this.#options;
    return key ?? (typeof token === "function" ? token() : token);
  }
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
