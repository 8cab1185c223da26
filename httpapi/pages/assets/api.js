// Requests to the API.

const keyName = "holdfast.key";

// key is the API key that the user entered. It is stored until the tab is closed.
export const key = {
  get: () => sessionStorage.getItem(keyName) ?? "",
  set: (secret) => sessionStorage.setItem(keyName, secret),
  forget: () => sessionStorage.removeItem(keyName),
};

// ApiError is a response with an error status, or no response: status 0.
export class ApiError extends Error {
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? `The server answered ${status}.`);
    this.status = status;
    this.code = problem.code ?? "";
    this.problem = problem;
  }

  // retryable means that the same request may succeed later.
  get retryable() {
    return this.status === 0 || this.status === 429 || this.status === 503;
  }
}

export function headers() {
  return key.get() === "" ? {} : { Authorization: `Bearer ${key.get()}` };
}

const requestTimeout = 45_000; // ms; a manual run is answered within 25 s
const maxAttempts = 5;

// call sends one request and returns the JSON of the response, or throws an ApiError.
export async function call(method, path, body) {
  const request = { method, headers: headers(), cache: "no-store", signal: AbortSignal.timeout(requestTimeout) };
  if (body !== undefined) {
    request.headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(path, request);
  } catch {
    throw new ApiError(0, { code: "NO_ANSWER", detail: "The server does not answer." });
  }
  const result = await response.json().catch(() => ({}));
  if (!response.ok) throw new ApiError(response.status, result);
  return result;
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
