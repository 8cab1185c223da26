// Locks expire by the database's clock. This module estimates its offset from the
// browser's monotonic clock, which does not change when the clock of the device is set.

let offset; // database time minus monotonic time, in ms

// sync takes a database time that was in the response to a request, which was sent at a monotonic time. It changes the offset as
// little as possible: the monotonic clock may have paused while the device slept.
export function sync(time, sentAt) {
  const [least, most] = [Date.parse(time) - performance.now(), Date.parse(time) - sentAt];
  offset = Math.min(Math.max(offset ?? (least + most) / 2, least), most);
}

export const now = () => (offset === undefined ? Date.now() : performance.now() + offset);

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
