// Waiting, and signals.

const maxTimeout = 2 ** 31 - 1; // ms; the timers of all platforms take a longer time for none

/** checkTimeout refuses a time that is not a limit. */
export function checkTimeout(name: string, ms: number | undefined): void {
  if (ms === undefined || (ms > 0 && ms <= maxTimeout)) return;
  throw new RangeError(`${name} must be more than 0 and at most ${maxTimeout} ms, and is ${ms}.`);
}

/** pause waits some ms, or until the signal. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}
