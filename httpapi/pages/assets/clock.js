// Locks expire by the database's clock. This module estimates its offset from the
// browser's clock.

let offset = 0; // database time minus browser time, in ms
let roundTrip = Infinity; // duration of the request that the offset comes from, in ms

// sync takes a database time that was in the response to a request.
export function sync(time, sentAt, receivedAt) {
  const duration = receivedAt - sentAt;
  if (duration > roundTrip + 20) return; // a faster request gave a better estimate
  roundTrip = duration;
  offset = Date.parse(time) - (sentAt + receivedAt) / 2;
}

export const now = () => Date.now() + offset;

// timeUntil returns the time until then in ms, negative for a past time.
export const timeUntil = (time) => Date.parse(time) - now();

// formatRemaining formats a duration in ms, such as 4:07 or 1:02:03.
export function formatRemaining(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const twoDigits = (n) => String(n).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${twoDigits(seconds % 60)}`;
  return `${Math.floor(minutes / 60)}:${twoDigits(minutes % 60)}:${twoDigits(seconds % 60)}`;
}

// formatAgo formats the time since then, such as 5 min ago.
export function formatAgo(time) {
  const seconds = Math.max(0, Math.round(-timeUntil(time) / 1000));
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}
