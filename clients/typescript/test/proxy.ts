// A TCP proxy in front of the API, which loses answers.

import { createServer, connect, type AddressInfo, type Server, type Socket } from "node:net";
import { after } from "node:test";

type Fate = "pass" | "cut" | "hold" | `HTTP/1.1 ${string}`;

export class Proxy {
  /** requests are the request lines that came, such as `GET /api/events`, each with its headers. */
  readonly requests: string[] = [];
  /**
   * fate decides what becomes of the answer to a request: it is cut off once the API has executed the request, or held back. A
   * request with an answer of the proxy itself does not reach the API.
   */
  fate: (request: string) => Fate = () => "pass";
  url = "";
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #frozen = new WeakSet<Socket>();

  private constructor(target: URL) {
    this.#server = createServer((client) => {
      const api = connect(Number(target.port), target.hostname);
      let fate: Fate = "pass";
      for (const socket of [client, api]) {
        this.#sockets.add(socket);
        socket.on("error", () => undefined);
        socket.on("close", () => {
          this.#sockets.delete(socket);
          client.destroy();
          api.destroy();
        });
      }
      client.on("data", (part) => {
        const text = part.toString("latin1");
        if (/^[A-Z]+ \S+ HTTP\/1\.1\r\n/.test(text)) { // a client sends the next request after the answer
          this.requests.push(text);
          fate = this.fate(text);
          if (isOwn(fate)) client.write(fate);
        }
        if (!isOwn(fate)) api.write(part);
      });
      api.on("data", (part) => {
        if (fate === "cut") client.destroy();
        else if (fate === "pass" && !this.#frozen.has(client)) client.write(part);
      });
    });
  }

  static async start(url: string): Promise<Proxy> {
    const proxy = new Proxy(new URL(url));
    after(() => proxy.close());
    await new Promise<void>((resolve) => { proxy.#server.listen(0, "127.0.0.1", resolve); });
    proxy.url = `http://127.0.0.1:${(proxy.#server.address() as AddressInfo).port}`;
    return proxy;
  }

  /** count is the number of requests that begin with a text. */
  count(begin: string): number { return this.requests.filter((request) => request.startsWith(begin)).length; }

  /** freeze keeps the connections that are there open, and passes no more answers. */
  freeze(): void { for (const socket of this.#sockets) this.#frozen.add(socket); }

  /** cut ends all connections. */
  cut(): void { for (const socket of this.#sockets) socket.destroy(); }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => { this.#server.close(resolve); });
    this.cut();
    await closed;
  }
}

const isOwn = (fate: Fate): boolean => fate.startsWith("HTTP/");
