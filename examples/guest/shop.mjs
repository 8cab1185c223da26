// The back end of a page with a seat map, for guests without accounts; picker/README.md has its steps. Start Holdfast by
//   API_KEYS=shop:admin:$KEY JWT_SECRET=… CORS_ORIGINS=http://127.0.0.1:3000 scripts/run
// and this by HOLDFAST=http://127.0.0.1:8080 EVENT=… KEY=… JWT_SECRET=… node examples/guest/shop.mjs

import { createHmac, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const { HOLDFAST, KEY, JWT_SECRET, EVENT, PORT = "3000" } = process.env; // KEY needs the scope booking only
const page = readFileSync(new URL("page.html", import.meta.url), "utf8").replaceAll("HOLDFAST", HOLDFAST).replaceAll("EVENT", EVENT);
const prices = { seats: 4200, standing: 2500 }; // cents, by category
const orders = new Map(); // bookings by cart; keep yours in a database

const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

function tokenOf(holder) { // for ten minutes
  const claims = `${part({ alg: "HS256", typ: "JWT" })}.${part({ holder, exp: Math.floor(Date.now() / 1000) + 600 })}`;
  return `${claims}.${createHmac("sha256", JWT_SECRET).update(claims).digest("base64url")}`;
}

async function send(path, body) {
  const headers = { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" };
  const response = await fetch(`${HOLDFAST}/api/events/${EVENT}/bookings${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw answer;
  return answer;
}

// A lock of standing places has one place; seats is their number.
const amountOf = ({ places, seats }) => places.reduce((sum, p) => sum + prices[p.category] * (p.seatId ? 1 : seats), 0);

const routes = {
  "/token": (cart) => tokenOf(cart),
  "/checkout": async (cart, locks) => {
    const reference = `R-${randomUUID()}`;
    const book = (lockId) => send("", { holder: cart, lockId, reference, paymentTtlSeconds: 900 }); // another cart's lock is 404
    const bookings = await Promise.all(locks.map(book)); // a repeat answers the same ones, with their first reference
    orders.set(cart, bookings);
    return { amount: bookings.reduce((sum, b) => sum + amountOf(b), 0), until: bookings.map((b) => b.paymentExpiresAt).sort()[0] };
  },
  "/paid": async (cart) => { // the provider has authorized the charge: ask it, not the page
    const bookings = orders.get(cart);
    for (const b of bookings) {
      const charge = { paymentReference: `pi-${b.reference}`, paymentPart: b.id, amount: amountOf(b), currency: "EUR" };
      await send(`/${b.id}/confirm`, charge);
    }
    return bookings.map((b) => b.lockId);
  },
  "/cancel": async (cart) => Promise.all(orders.get(cart).map((b) => send(`/${b.id}/cancel`, {}))), // ends the locks too
};

createServer(async (request, response) => {
  if (!Object.hasOwn(routes, request.url)) {
    response.setHeader("Content-Type", "text/html; charset=utf-8");
    response.end(page);
    return;
  }
  const cart = /cart=([\w-]+)/.exec(request.headers.cookie)?.[1] ?? randomUUID();
  response.setHeader("Set-Cookie", `cart=${cart}; HttpOnly; SameSite=Lax`);
  let body = "";
  for await (const text of request) body += text;
  try {
    response.end(JSON.stringify(await routes[request.url](cart, JSON.parse(body || "null"))));
  } catch (problem) {
    response.writeHead(409).end(JSON.stringify(problem));
  }
}).listen(Number(PORT), "127.0.0.1");
