// The API, as the pages call it.

const keyName = "holdfast.key";

// key is the secret that a person gave, kept in this tab and until it is closed.
export const key = {
  get: () => sessionStorage.getItem(keyName) ?? "",
  set: (secret) => sessionStorage.setItem(keyName, secret),
  forget: () => sessionStorage.removeItem(keyName),
};

// Refusal is an answer that is no success; status 0 is no answer.
export class Refusal extends Error {
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? `The server answered ${status}.`);
    this.status = status;
    this.code = problem.code ?? "";
    this.problem = problem;
  }

  // unsettled tells that the same request may be sent again.
  get unsettled() {
    return this.status === 0 || this.status === 429 || this.status === 503;
  }
}

export function headers() {
  return key.get() === "" ? {} : { Authorization: `Bearer ${key.get()}` };
}

const patience = 45_000; // a run by hand is answered after 25 s at the latest

// call sends one request and returns its JSON, or throws a Refusal.
export async function call(method, path, body) {
  const request = { method, headers: headers(), cache: "no-store", signal: AbortSignal.timeout(patience) };
  if (body !== undefined) {
    request.headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(path, request);
  } catch {
    throw new Refusal(0, { code: "NO_ANSWER", detail: "The server does not answer." });
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refusal(response.status, answer);
  return answer;
}

// insist is call for a request with an idempotency key: where the outcome is not
// known it asks again, and it has one effect.
export async function insist(method, path, body) {
  for (let tries = 1; ; tries++) {
    try {
      return await call(method, path, body);
    } catch (refusal) {
      if (!(refusal instanceof Refusal) || !refusal.unsettled || tries === 5) throw refusal;
      await new Promise((resolve) => setTimeout(resolve, 200 * 2 ** tries));
    }
  }
}
