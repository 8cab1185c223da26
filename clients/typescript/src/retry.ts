// Which calls are repeated, and when: the rules of the Go client.

import { HoldfastError, errorOf } from "./errors.js";
import { pause } from "./time.js";

const initialDelay = 50; // ms
const maxDelay = 2000; // ms
const growth = 1.5;

/** Safety is what a repetition of a request depends on. */
export interface Safety {
  method: string;
  /** isUnsafe is set if a second execution has a second effect: the request is repeated only if it was certainly not executed. */
  isUnsafe?: boolean;
}

/**
 * retry repeats attempt while a repetition may succeed and has no second effect, until the timeout in ms, 0 for no
 * retries. It passes errors on that are not of the API, such as the reason of the caller's signal.
 */
export async function retry<T>(request: Safety, timeout: number, signal: AbortSignal | undefined, attempt: () => Promise<T>): Promise<T> {
  const begin = performance.now();
  let interval = initialDelay;
  let isUnknown = false; // whether an attempt may have been executed
  for (;;) {
    try {
      return await attempt();
    } catch (cause) {
      if (!(cause instanceof HoldfastError)) throw cause;
      const error = isUnknown ? notSettled(cause) : cause;
      isUnknown ||= mayHaveWritten(request, error);
      error.outcomeUnknown = isUnknown && isUndecided(error);
      if (timeout === 0 || !mayRetry(request, cause)) throw error;
      let delay = interval * (0.5 + Math.random());
      interval = Math.min(interval * growth, maxDelay);
      if (error.retryAfter > 0) [delay, interval] = [error.retryAfter * 1000, initialDelay];
      if (performance.now() - begin + delay > timeout) throw error;
      await pause(delay, signal);
    }
  }
}

/** mayRetry reports whether a repeated request may succeed and has no second effect. */
function mayRetry(request: Safety, error: HoldfastError): boolean {
  switch (error.status) {
    case 0:
      return !request.isUnsafe || isNotSent(error);
    case 429:
      return true;
    case 502: case 503: case 504:
      return !request.isUnsafe || error.code === "UNAVAILABLE";
    default:
      return false;
  }
}

/** mayHaveWritten reports whether a request that failed may have been executed. */
function mayHaveWritten(request: Safety, error: HoldfastError): boolean {
  return request.method !== "GET" && !isNotSent(error) && isUndecided(error);
}

const isUndecided = (error: HoldfastError): boolean => error.code === "" || error.code === "OUTCOME_UNKNOWN";

/**
 * notSettled is the error of an attempt that was not executed, after an attempt with an unknown outcome: so the outcome of
 * the call is unknown.
 */
function notSettled(error: HoldfastError): HoldfastError {
  if (error.code !== "UNAVAILABLE" && error.code !== "TOO_MANY_REQUESTS") return error;
  const detail = `An earlier attempt may have been executed, and this one was not: ${error.detail}`;
  const { status, problem, requestId, retryAfter } = error;
  return errorOf({ status, problem: { ...problem, code: "OUTCOME_UNKNOWN" }, detail, requestId, retryAfter }, { cause: error });
}

/** isNotSent: nothing listened, as Node (ECONNREFUSED), Bun (ConnectionRefused) and Deno (a text) say it. Browsers don't say it. */
function isNotSent(error: HoldfastError): boolean {
  for (let cause = error.cause; cause instanceof Error; cause = cause.cause) {
    const code = "code" in cause ? cause.code : undefined;
    if (code === "ECONNREFUSED" || code === "ConnectionRefused" || /tcp connect error: Connection refused/.test(cause.message)) return true;
  }
  return false;
}
