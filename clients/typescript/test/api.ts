// An API of the tests' own, on a real MongoDB, which can be stopped and started again.

import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { createHmac, randomBytes } from "node:crypto";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { Holdfast, type Event, type Options } from "@holdfast/client";

export const folder = fileURLToPath(new URL("../", import.meta.url)); // of the package
export const secret = "secret-of-the-tests";
const jwtSecret = "secret-of-customers-tokens-in-tests";

export class Api {
  url = "";
  #process: ChildProcess | undefined;
  #log = "";
  readonly #environment: NodeJS.ProcessEnv;

  private constructor(settings: NodeJS.ProcessEnv) {
    const mongodb = process.env["HOLDFAST_TEST_MONGODB_URI"];
    assert.ok(mongodb, "HOLDFAST_TEST_MONGODB_URI is not set: run scripts/clients typescript");
    this.#environment = {
      ...process.env, MONGODB_URI: mongodb, MONGODB_DATABASE: `holdfast_typescript_${randomBytes(6).toString("hex")}`,
      HTTP_ADDR: "127.0.0.1:0", SHUTDOWN_DELAY: "0s", LOG_FORMAT: "json", LOG_LEVEL: "info", RUN_JOBS: "true", LOCK_EXPIRY_INTERVAL: "1s",
      API_KEYS: `tests:admin:${secret}`, JWT_SECRET: jwtSecret, WEBHOOK_ALLOW_PRIVATE: "true", ...settings,
    };
  }

  /** start runs an API until the end of the file. */
  static async start(settings: NodeJS.ProcessEnv = {}): Promise<Api> {
    const api = new Api(settings);
    after(() => api.stop());
    await api.run();
    return api;
  }

  /** run starts the process, at the address that it had before. */
  async run(): Promise<void> {
    this.#log = "";
    this.#process = spawn(`${folder}../../.build/api`, [], { env: this.#environment, stdio: ["ignore", "ignore", "pipe"] });
    this.#process.stderr?.on("data", (text) => { this.#log += text; });
    const address = await until("the API listens", () => {
      assert.equal(this.#process?.exitCode, null, this.#log);
      return /"Listening","addr":"(.+?)"/.exec(this.#log)?.[1];
    });
    this.#environment["HTTP_ADDR"] = address;
    this.url = `http://${address}`;
    await until("the API is ready", async () => (await fetch(`${this.url}/readyz`)).ok);
  }

  /** stop ends the process; SIGKILL as a crash does. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    const running = this.#process;
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
    await new Promise((resolve) => {
      running.on("exit", resolve);
      running.kill(signal);
    });
  }

  client(options: Options = {}): Holdfast { return new Holdfast(this.url, { key: secret, ...options }); }

  event(more: { totalSeats?: number; seatingPlanId?: string; waitlist?: "OPEN"; maxSeatsPerUser?: number } = { totalSeats: 10 }): Promise<Event> {
    return this.client().createEvent({ name: "Opening night", eventDate: "2030-06-15T19:00:00Z", ...more });
  }

  /** hall is an event with a section A of two rows with four seats each, and a place to stand. */
  async hall(): Promise<Event> {
    const plan = await this.client().createSeatingPlan({
      name: "Studio",
      categories: [{ key: "seats", name: "Seats" }, { key: "standing", name: "Standing" }],
      sections: [
        { key: "A", name: "Stalls", category: "seats", rows: [{ key: "1", seats: 4 }, { key: "2", seats: 4 }] },
        { key: "pit", name: "Pit", category: "standing", capacity: 20 },
      ],
    });
    return this.event({ seatingPlanId: plan.id });
  }
}

/** tokenFor is a customer's token, as a shop makes it. */
export function tokenFor(holder: string): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part({ sub: holder, exp: Math.floor(Date.now() / 1000) + 600 })}`;
  return `${signed}.${createHmac("sha256", jwtSecret).update(signed).digest("base64url")}`;
}

/** until polls until there is a value; the test fails after a minute. */
export async function until<T>(what: string, read: () => T | undefined | false | Promise<T | undefined | false>): Promise<T> {
  const deadline = Date.now() + 60_000;
  let last: unknown;
  while (Date.now() < deadline) {
    try {
      const value = await read();
      if (value !== undefined && value !== false) return value;
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return assert.fail(`${what}: not within a minute ${String(last ?? "")}`);
}
