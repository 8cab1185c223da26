// Locks expire by the database's clock.

import { Clock, remaining } from "/assets/holdfast-seats.js";

const clock = new Clock();

export const formatRemaining = remaining;

export const hasJumped = () => clock.hasJumped();

// learn takes an answer to a request that was sent at a monotonic time.
export const learn = (response, sentAt, answer) => clock.learn(response, sentAt, answer);

// sync takes a database time that was in such an answer.
export const sync = (time, sentAt) => clock.sync(Date.parse(time), Date.parse(time), sentAt);

// now is the server's clock, in ms.
export const now = () => clock.now();

// timeUntil returns the time until then in ms, negative for a past time.
export const timeUntil = (time) => Date.parse(time) - clock.now();

// formatAgo formats the time since then, such as 5 min ago.
export function formatAgo(time) {
  const seconds = Math.max(0, Math.round(-timeUntil(time) / 1000));
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}
