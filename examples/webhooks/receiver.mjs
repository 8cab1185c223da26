// A receiver of webhooks: docs/webhooks.md says what it does.

import { createServer } from "node:http";
import { existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { Webhook } from "standardwebhooks";

const { WEBHOOK_SECRET, PORT, INBOX = "inbox.jsonl" } = process.env;
const webhook = new Webhook(WEBHOOK_SECRET);

const inbox = new Map(); // by webhook-id: the body, or null once it is handled
const latest = new Map(); // by subject: the sequence of the latest change

// read loads the inbox. An incomplete line was never answered.
function read() {
  if (!existsSync(INBOX)) return;
  for (const line of readFileSync(INBOX, "utf8").split("\n")) {
    try {
      const { id, body, subject, sequence } = JSON.parse(line);
      inbox.set(id, body ?? null);
      if (subject) latest.set(subject, sequence);
    } catch { /* incomplete */ }
  }
}
read();
const file = openSync(INBOX, "a");

// write returns when the entry is on disk.
function write(entry) {
  writeSync(file, `\n${JSON.stringify(entry)}`);
  fsyncSync(file);
}

// work applies a change, unless a later one of its subject has been applied. Here it keeps only the sequence.
function work(id, body) {
  const { type, subject, sequence = "" } = JSON.parse(body);
  const isOld = sequence < (latest.get(subject) ?? "");
  if (!isOld) latest.set(subject, sequence);
  console.log(isOld ? "old" : "worked", type, subject);
  write(isOld ? { id } : { id, subject, sequence });
  inbox.set(id, null);
}

function workAll() {
  for (const [id, body] of inbox) {
    try {
      if (body !== null) work(id, body);
    } catch (error) {
      console.error(id, error); // it stays in the inbox
    }
  }
}

createServer(async (request, response) => {
  const answer = (status) => response.writeHead(status).end();
  let body = "";
  try {
    for await (const part of request.setEncoding("utf8")) {
      body += part;
      if (body.length > 1_000_000) return answer(413);
    }
    webhook.verify(body, request.headers);
  } catch {
    return answer(401);
  }
  const id = request.headers["webhook-id"];
  if (!inbox.has(id)) {
    try {
      write({ id, body });
    } catch (error) {
      console.error(error);
      return answer(503); // it is sent again
    }
    inbox.set(id, body);
  }
  answer(204);
  setImmediate(workAll);
}).listen(PORT, "127.0.0.1", workAll);
