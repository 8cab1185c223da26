// Requests to the API.

import * as clock from "./clock.js";

const keyName = "holdfast.key";
const keyListeners = []; // called after a key was entered
let keysEntered = 0;

// key is the API key that the user entered. It is stored until the tab is closed.
export const key = {
  get: () => sessionStorage.getItem(keyName) ?? "",
  set: (secret) => {
    sessionStorage.setItem(keyName, secret);
    keysEntered += 1;
    for (const listener of keyListeners) listener();
  },
  forget: () => sessionStorage.removeItem(keyName),
  onEntered: (listener) => keyListeners.push(listener),
  entered: () => keysEntered,
};

// ApiError is a response with an error status, or no response that can be read: status 0.
export class ApiError extends Error {
  // keysEntered is key.entered() at the time of the request.
  constructor(status, problem, keysEntered = key.entered()) {
    super(problem.detail ?? problem.title ?? `The server answered ${status}.`);
    this.status = status;
    this.code = problem.code ?? "";
    this.problem = problem;
    this.keysEntered = keysEntered;
  }

  // retryable means that the same request may succeed soon. The page's clock may be early for the start of a sale.
  get retryable() {
    const isEarly = this.code === "SALE_NOT_OPEN" && clock.timeUntil(this.problem.opensAt) < 1000;
    return this.status === 0 || this.status === 429 || this.status === 503 || isEarly;
  }
}

export function headers() {
  return key.get() === "" ? {} : { Authorization: `Bearer ${key.get()}` };
}

let requestName = "";

// nameRequests gives requests IDs that begin with a name, by which the server knows where they come from.
export function nameRequests(name) {
  requestName = name;
}

function requestID() {
  const random = crypto.getRandomValues(new Uint8Array(12));
  return `${requestName}-${[...random].map((b) => b.toString(16).padStart(2, "0")).join("")}`;
}

// newKey makes an idempotency key.
export const newKey = requestID;

const requestTimeout = 45_000; // ms; a manual run is answered within 25 s
const maxAttempts = 5;

// call sends one request and returns the JSON of the response, or the text of CSV, or throws an ApiError. A Blob is sent as it is.
export async function call(method, path, body) {
  const request = { method, headers: headers(), cache: "no-store", signal: AbortSignal.timeout(requestTimeout) };
  if (requestName !== "") request.headers["X-Request-Id"] = requestID();
  if (body instanceof Blob) {
    request.headers["Content-Type"] = body.type || "application/octet-stream";
    request.body = body;
  } else if (body !== undefined) {
    request.headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  const [keysBefore, sentAt] = [key.entered(), performance.now()];
  let response;
  try {
    response = await fetch(path, request);
  } catch {
    throw new ApiError(0, { code: "NO_ANSWER", detail: "The server does not answer." });
  }
  if (response.status === 204) return {};
  const isCSV = response.headers.get("Content-Type")?.startsWith("text/csv");
  const result = await (isCSV ? response.text() : response.json()).catch(() => null);
  clock.learn(response, sentAt, result);
  if (!response.ok) throw new ApiError(response.status, result ?? {}, keysBefore);
  if (result === null) throw new ApiError(0, { code: "BROKEN_ANSWER", detail: "The server's answer is incomplete, or not JSON." });
  return result;
}

const maxPages = 20;

// callAll reads the pages of a list, whose path has a query: all items of the first 20 pages, and whether more follow.
export async function callAll(path) {
  const items = [];
  let token = "";
  for (let page = 0; page < maxPages; page++) {
    const answer = await call("GET", `${path}${token === "" ? "" : `&pageToken=${token}`}`);
    items.push(...answer.items);
    token = answer.nextPageToken;
    if (token === "") break;
  }
  return { items, more: token !== "" };
}

// callWithRetry is call for idempotent requests: it retries while the outcome is
// unknown.
export async function callWithRetry(method, path, body) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call(method, path, body);
    } catch (error) {
      if (!(error instanceof ApiError) || !error.retryable || attempt === maxAttempts) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200 * 2 ** attempt));
    }
  }
}
