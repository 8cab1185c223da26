// Verifies deliveries of webhooks: https://www.standardwebhooks.com.

import { Webhook } from "standardwebhooks";
import type { HoldfastChange } from "./changes.js";

export type { HoldfastChange } from "./changes.js";

/** WebhookVerificationError: the signature is wrong, missing or old. The message says which. */
export class WebhookVerificationError extends Error {
  override name = "WebhookVerificationError";
}

/**
 * verifyWebhook returns the change of a delivery whose signature is right and not older than five minutes; otherwise it
 * throws a WebhookVerificationError. body is the raw body, as it was received, and headers are those of the request.
 */
export function verifyWebhook(
  secret: string, body: string | Uint8Array, headers: Headers | Readonly<Record<string, string | string[] | undefined>>,
): HoldfastChange {
  if (typeof body !== "string" && !ArrayBuffer.isView(body)) {
    throw new TypeError("The body must be a string or bytes, as it was received, and not parsed JSON: in Express, use express.raw().");
  }
  const text = typeof body === "string" ? body : new TextDecoder("utf-8", { ignoreBOM: true }).decode(body);
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const signed = Object.fromEntries(entries.filter(([name]) => /^webhook-/i.test(name)).map(([name, value]) => [name.toLowerCase(), String(value)]));
  try {
    return new Webhook(secret).verify(text, signed) as HoldfastChange;
  } catch (cause) {
    throw new WebhookVerificationError(`The delivery can't be verified: ${(cause as Error).message}`, { cause });
  }
}
