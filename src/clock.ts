/** Tells the time and runs work later. main.ts passes the real clock, tests their own. Source: decision 0061. */

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

export interface Clock {
  /** Returns UTC in milliseconds since 1970, for times that are stored. It goes back when the clock is set back. */
  readonly now: () => number;
  /** Returns milliseconds since an arbitrary moment, for waits and durations. It never goes back. */
  readonly elapsed: () => number;
  /** Runs `work` once after `ms` milliseconds, unless the timer is closed. Does not keep the process alive. */
  readonly after: (ms: number, work: () => void) => Timer;
  /** Resolves after `ms` milliseconds. Keeps the process alive. */
  readonly sleep: (ms: number) => Promise<void>;
}

export interface Timer {
  readonly close: () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after: (ms, work) => {
    const timer = setTimeout(work, ms).unref();
    return { close: () => clearTimeout(timer) };
  },
  sleep: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
};

let formatted = { ms: Number.NaN, text: '' };

/** Formats a time as UTC ISO 8601. Calls of the same millisecond share the text. */
export function formatTime(ms: number): string {
  if (formatted.ms !== ms) formatted = { ms, text: new Date(ms).toISOString() };
  return formatted.text;
}

/** Runs `work` every `ms` milliseconds until the timer is closed. */
export function every({ after }: Clock, ms: number, work: () => void): Timer {
  const again = (): Timer =>
    after(ms, () => {
      timer = again();
      work();
    });
  let timer = again();
  return { close: () => timer.close() };
}
