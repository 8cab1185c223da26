// The client has all operations of the OpenAPI document, and so has the table of the README.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { Holdfast, HoldfastError, List } from "@holdfast/client";
import { Api, folder, secret } from "./api.js";
import { Proxy } from "./proxy.js";

interface Operation { operationId: string; requestBody?: object }

const api = await Api.start();
const proxy = await Proxy.start(api.url);
const document = await (await fetch(`${api.url}/openapi.json`)).json() as { paths: Record<string, Record<string, Operation>> };
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })));
const ofMethod = (operationId: string): string => operationId.replace(/-in-event$/, "").replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
const names = [...new Set(operations.map((o) => ofMethod(o.operationId)))].sort();
const ownNames = ["constructor", "inEvent", "list", "request"]; // not operations
const namesEventItself = ["acquireLock", "createBooking"];

test("each operation has a method, and each method has an operation", () => {
  assert.ok(names.length > 60);
  assert.deepEqual(Object.getOwnPropertyNames(Holdfast.prototype).filter((name) => !ownNames.includes(name)).sort(), names);
});

test("each operation is in the table of the README", () => {
  const rows = readFileSync(`${folder}README.md`, "utf8").split("\n").filter((line) => line.startsWith("|"));
  const listed = rows.flatMap((row) => [...row.matchAll(/`(\w+)\(/g)].map(([, name]) => name ?? ""));
  assert.deepEqual(listed.filter((name) => !ownNames.includes(name)).sort(), names);
});

test("each method sends the request of its operation", async () => {
  const id = "0123456789abcdef01234567";
  const client = new Holdfast(proxy.url, { key: secret, retryTimeout: 0 });
  for (const { operationId, path, method, requestBody } of operations) {
    const name = ofMethod(operationId);
    const isInEvent = operationId.endsWith("-in-event");
    if (namesEventItself.includes(name) && !isInEvent) continue;
    const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter).filter((p) => !isInEvent || p !== "eventId");
    const body = namesEventItself.includes(name) ? { eventId: id } : {};
    const caller = (isInEvent ? client.inEvent(id) : client) as unknown as Record<string, (...args: unknown[]) => unknown>;
    const before = proxy.requests.length;
    let call: unknown;
    try {
      call = caller[name]?.call(caller, ...parameters.map(() => id), ...(requestBody ? [body] : []));
      if (call instanceof List) await call.toArray();
      else if (Symbol.asyncIterator in Object(call)) await (call as AsyncIterator<unknown>).next();
      else await call;
    } catch (error) {
      assert.ok(error instanceof HoldfastError, `${operationId}: ${String(error)}`); // of an ID of nothing
      if (call instanceof List) assert.match(error.code, /NOT_FOUND$/);
    }
    const lines = [...new Set(proxy.requests.slice(before).map((request) => /^(\S+ [^\s?]+)/.exec(request)?.[1]))]; // a list may have two pages
    assert.deepEqual(lines, [`${method} ${path.replaceAll(/\{\w+\}/g, id)}`], operationId);
  }
});
