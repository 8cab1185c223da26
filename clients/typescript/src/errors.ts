// What a call fails with.

import { problemCodeValues, type FieldError, type Problem, type RefusedPayment } from "./openapi.js";

/** Code identifies a refusal. Decide by it, not by the text. */
export type Code = Problem["code"];

/** Refused is what is known of an answer with an error status. */
export interface Refused {
  status: number;
  problem: Partial<Problem>;
  detail: string;
  requestId?: string;
  /** seconds */
  retryAfter?: number;
}

/** HoldfastError is a refusal, a redirect, an answer that is not of Holdfast, or a call without an answer (status 0, with the cause). */
export class HoldfastError extends Error {
  override name = "HoldfastError";
  readonly status: number;
  /** code is "" if there was no answer, or if a proxy or another server answered in place of the API. */
  readonly code: Code | "";
  /** detail is an English sentence, which may change. */
  readonly detail: string;
  /** problem has the details of all codes, as the API sent them. */
  readonly problem: Partial<Problem>;
  /** payment must be voided or refunded: it is the payment of a refused confirmation. */
  readonly payment: RefusedPayment | undefined;
  /** requestId finds the request in the server's log. */
  readonly requestId: string;
  /** retryAfter is the delay before a retry in seconds; 0 if the answer gives none. */
  readonly retryAfter: number;
  /** outcomeUnknown is true if the request may have been executed. Repeat it with the same idempotency key to find out. */
  outcomeUnknown = false;
  /** idempotencyKey is the key that the request had, also if the client generated it. */
  idempotencyKey: string | undefined;

  constructor(refused: Refused, options?: ErrorOptions) {
    const { status, problem, detail, requestId = "" } = refused;
    const fields = (problem.errors ?? []).map((f) => `; ${f.location}: ${f.message}`).join("");
    const answer = status === 0 ? "" : ` (status ${status}, request ${requestId || "unknown"})`;
    super(`${problem.code ? `${problem.code}: ` : ""}${detail}${answer}${fields}`, options);
    this.status = status;
    this.code = problem.code ?? "";
    this.detail = detail;
    this.problem = problem;
    this.payment = problem.payment;
    this.requestId = requestId;
    this.retryAfter = refused.retryAfter ?? 0;
  }
}

/** SeatsUnavailable: too few seats are left, or named ones are taken. */
export class SeatsUnavailable extends HoldfastError {
  override readonly code = "SEATS_UNAVAILABLE";
  readonly requested = this.problem.requested ?? 0;
  readonly available = this.problem.available ?? 0;
  /** unavailable has the named seats that are taken or blocked, in plan order. */
  readonly unavailable: readonly string[] = this.problem.unavailable ?? [];
}

/** SeatOrphaned: the choice would leave single seats. */
export class SeatOrphaned extends HoldfastError {
  override readonly code = "SEAT_ORPHANED";
  readonly orphans: readonly string[] = this.problem.orphans ?? [];
}

/** SeatsNotAdjacent: at most `longest` of the seats are together. */
export class SeatsNotAdjacent extends HoldfastError {
  override readonly code = "SEATS_NOT_ADJACENT";
  readonly longest = this.problem.longest ?? 0;
}

/** SeatLimitReached: the customer holds `held` seats of the event, and may have `limit`. */
export class SeatLimitReached extends HoldfastError {
  override readonly code = "SEAT_LIMIT_REACHED";
  readonly limit = this.problem.limit ?? 0;
  readonly held = this.problem.held ?? 0;
}

/** SaleNotOpen: the sale begins at `opensAt`. */
export class SaleNotOpen extends HoldfastError {
  override readonly code = "SALE_NOT_OPEN";
  readonly opensAt = this.problem.opensAt ?? "";
}

/** CapacityBelowTaken: `taken` seats are taken, and the capacity can't be lower. A new plan lacks `missingSeats`; `missing` has the first 100. */
export class CapacityBelowTaken extends HoldfastError {
  override readonly code = "CAPACITY_BELOW_TAKEN";
  readonly taken = this.problem.taken ?? 0;
  readonly missing = this.problem.missing ?? [];
  readonly missingSeats = this.problem.missingSeats ?? 0;
}

/** JobRunning: the process `holder` runs the job. */
export class JobRunning extends HoldfastError {
  override readonly code = "JOB_RUNNING";
  readonly holder = this.problem.holder ?? "";
}

/** ValidationFailed: the request is wrong at the locations of `fields`. */
export class ValidationFailed extends HoldfastError {
  override readonly code = "VALIDATION_FAILED";
  readonly fields: readonly FieldError[] = this.problem.errors ?? [];
}

const classes: Partial<Record<Code, typeof HoldfastError>> = {
  SEATS_UNAVAILABLE: SeatsUnavailable, SEAT_ORPHANED: SeatOrphaned, SEATS_NOT_ADJACENT: SeatsNotAdjacent,
  SEAT_LIMIT_REACHED: SeatLimitReached, SALE_NOT_OPEN: SaleNotOpen, CAPACITY_BELOW_TAKEN: CapacityBelowTaken,
  JOB_RUNNING: JobRunning, VALIDATION_FAILED: ValidationFailed,
};

/** hasCode reports whether a call was refused with one of the codes. */
export function hasCode<C extends Code>(error: unknown, ...codes: C[]): error is HoldfastError & { readonly code: C } {
  return error instanceof HoldfastError && codes.some((code) => code === error.code);
}

/** errorOf is the error of a refusal, of the class of its code. */
export function errorOf(refused: Refused, options?: ErrorOptions): HoldfastError {
  const code = refused.problem.code;
  return new ((code && classes[code]) ?? HoldfastError)(refused, options);
}

/** errorOfAnswer reads an answer with an error status. */
export function errorOfAnswer(response: Response, text: string): HoldfastError {
  const seconds = retryAfter(response.headers);
  const problem = problemIn(response, text);
  const isRedirect = response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400);
  return errorOf({
    status: response.status || hiddenStatus,
    problem,
    detail: isRedirect ? redirected(response) : problem.detail ?? "A proxy or another server answered, not Holdfast.",
    requestId: response.headers.get("X-Request-Id") ?? "",
    retryAfter: seconds > 0 ? seconds : 0, // a negative number, or none
  });
}

/** retryAfter reads a delay, or a time, which it compares with the answer's own Date: the clock of this machine may be wrong. */
function retryAfter(headers: Headers): number {
  const value = headers.get("Retry-After") ?? "";
  const seconds = Number(value);
  return Number.isNaN(seconds) ? (Date.parse(value) - Date.parse(headers.get("Date") ?? "")) / 1000 : seconds;
}

/** hiddenStatus stands for the status of a redirect, which browsers hide. */
const hiddenStatus = 302;

/** redirected says where a redirect leads. It leaves queries out, which may have personal data. */
function redirected(response: Response): string {
  const location = response.headers.get("Location") ?? "";
  const place = URL.canParse(location, response.url) ? new URL(location, response.url) : undefined;
  const target = place === undefined ? "an address that is not known here" : place.origin + place.pathname;
  return `${response.url.replace(/[?#].*/s, "")} redirects to ${target}, and the client follows no redirects: give it the base URL of that address.`;
}

/** wrongAnswer is the error of an answer that says it is a success, and can't be Holdfast's. */
export function wrongAnswer({ method, path }: { method: string; path: string }, { status, headers }: Response): HoldfastError {
  const type = headers.get("Content-Type") ?? "no content type";
  const detail = `The answer to ${method} ${path} (${type}) is not one of Holdfast: the base URL may be wrong.`;
  return errorOf({ status, problem: {}, detail, requestId: headers.get("X-Request-Id") ?? "" });
}

/** noAnswer is the error of a request that was sent, or could not be sent, and got no answer. */
export function noAnswer(detail: string, cause: unknown): HoldfastError {
  return errorOf({ status: 0, problem: {}, detail }, { cause });
}

/** problemIn is empty if the answer is not of Holdfast: a proxy's JSON may have a code too. */
function problemIn(response: Response, text: string): Partial<Problem> {
  if (!/^application\/problem\+json\b/i.test(response.headers.get("Content-Type") ?? "")) return {};
  try {
    const problem = JSON.parse(text) as Partial<Problem> | null;
    return problem && problemCodeValues.some((code) => code === problem.code) ? problem : {};
  } catch {
    return {};
  }
}
