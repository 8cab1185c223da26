// Locks expire by the server's clock; this one follows it.

let offset = 0; // what the server's clock is ahead of the browser's, in ms
let doubt = Infinity; // how long the answer took that told so

// learn takes a time that the server gave while it answered a request.
export function learn(text, sent, received) {
  const took = received - sent;
  if (took > doubt + 20) return; // a quicker answer told better
  doubt = took;
  offset = Date.parse(text) - (sent + received) / 2;
}

export const now = () => Date.now() + offset;

// left is the time until then in ms, below 0 when it has passed.
export const left = (text) => Date.parse(text) - now();

// remaining writes a time that is left as a clock does.
export function remaining(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const two = (n) => String(n).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
}

// ago writes how long something is past.
export function ago(text) {
  const seconds = Math.max(0, Math.round(-left(text) / 1000));
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}
