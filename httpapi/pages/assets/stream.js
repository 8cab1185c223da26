// Server-sent events by fetch: an EventSource can't send a key.

import { headers } from "./api.js";

// listen hears a stream until it is stopped, comes back when it breaks, and says by
// told what it hears and by lost when it hears nothing. The result stops it.
export function listen(path, told, lost) {
  const stop = new AbortController();
  run(path, told, lost, stop.signal);
  return () => stop.abort();
}

const silence = 40_000; // ms; heartbeats come each 15 s

async function run(path, told, lost, stopped) {
  let lastID = "";
  let pause = 2000;
  while (!stopped.aborted) {
    const broken = new AbortController();
    let watchdog = 0;
    const alive = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => broken.abort(), silence);
    };
    try {
      const response = await fetch(path, {
        headers: lastID === "" ? headers() : { ...headers(), "Last-Event-ID": lastID },
        cache: "no-store",
        signal: AbortSignal.any([stopped, broken.signal]),
      });
      if (response.status === 404) return lost(true);
      if (!response.ok) throw new Error(`${response.status}`);
      alive();
      for await (const message of messages(response.body, alive)) {
        if (message.retry !== undefined) pause = message.retry;
        if (message.id !== undefined) lastID = message.id;
        if (message.event === "availability") told(JSON.parse(message.data));
      }
    } catch {
      // it broke, or was stopped
    }
    clearTimeout(watchdog);
    if (stopped.aborted) return;
    lost(false);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

// messages reads the format of the HTML standard, section 9.2.
async function* messages(body, alive) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    alive();
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) yield parse(block);
  }
}

function parse(block) {
  const message = { event: "message", data: "" };
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue; // a comment
    const field = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") message.data += value;
    else if (field === "retry") message.retry = Number(value);
    else message[field] = value;
  }
  return message;
}
