/** The time, and what happens later. main.ts gives the real one; tests give one that they move. Source: decision 0061. */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Clock {
  /** UTC in milliseconds since 1970, for what is written down. It can be set, so it can jump, and go back. */
  readonly now: () => number;
  /** Milliseconds since some moment of the process, for what is waited for. They never go back. */
  readonly elapsed: () => number;
  /** Runs `work` once after `ms` milliseconds, unless it is closed. Does not keep the process alive. */
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
  sleep: (ms) => sleep(ms),
};

/** Runs `work` every `ms` milliseconds until it is closed. */
export function every({ after }: Clock, ms: number, work: () => void): Timer {
  const again = (): Timer =>
    after(ms, () => {
      timer = again();
      work();
    });
  let timer = again();
  return { close: () => timer.close() };
}
