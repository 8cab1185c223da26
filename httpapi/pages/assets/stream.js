// Server-sent events through fetch: an EventSource can't send a key.

import { headers } from "./api.js";

// subscribe reads a stream, and reconnects when it breaks, until the returned
// function is called. onState gets each state; onDisconnect gets whether the event
// does not exist any more.
export function subscribe(path, onState, onDisconnect) {
  const stop = new AbortController();
  run(path, onState, onDisconnect, stop.signal);
  return () => stop.abort();
}

const heartbeatTimeout = 40_000; // ms; the server sends a heartbeat each 15 s

async function run(path, onState, onDisconnect, stopped) {
  let lastID = "";
  let reconnectDelay = 2000;
  while (!stopped.aborted) {
    const broken = new AbortController();
    let watchdog = 0;
    const resetWatchdog = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => broken.abort(), heartbeatTimeout);
    };
    try {
      const response = await fetch(path, {
        headers: lastID === "" ? headers() : { ...headers(), "Last-Event-ID": lastID },
        cache: "no-store",
        signal: AbortSignal.any([stopped, broken.signal]),
      });
      if (response.status === 404) return onDisconnect(true);
      if (!response.ok) throw new Error(`${response.status}`);
      resetWatchdog();
      for await (const message of messages(response.body, resetWatchdog)) {
        if (message.retry !== undefined) reconnectDelay = message.retry;
        if (message.id !== undefined) lastID = message.id;
        if (message.event === "availability") onState(JSON.parse(message.data));
      }
    } catch {
      // The stream broke or was stopped.
    }
    clearTimeout(watchdog);
    if (stopped.aborted) return;
    onDisconnect(false);
    await new Promise((resolve) => setTimeout(resolve, reconnectDelay));
  }
}

// messages reads the format of the HTML standard, section 9.2.
async function* messages(body, onData) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    onData();
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
