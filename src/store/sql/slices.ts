/**
 * Shares the event loop between long writes. A write runs for a slice of time, and then waits until other work has had
 * as much time, and each other long write a slice. Source: decision 0029.
 */
import { setImmediate as nextRound } from 'node:timers/promises';

/** Work that yields where it can wait for its next slice. */
export type Steps<T> = Generator<undefined, T, void>;

const SLICE_MS = 5;
/** A round of the event loop that took less time had no other work. */
const IDLE_ROUND_MS = 0.1;

let endsAt = 0;
/** Resolves when the long writes that wait at the moment have had their slices. */
let lastSlice = Promise.resolve();

/** Returns whether the slice that is running has used its time. */
export const isSliceOver = (): boolean => performance.now() > endsAt;

/** Runs work to its end. Work that ends within its first slice never waits. */
export async function runInSlices<T>(steps: Steps<T>): Promise<T> {
  for (let end: (() => void) | undefined; ;) {
    endsAt = performance.now() + SLICE_MS;
    try {
      const step = steps.next();
      if (step.done) return step.value;
    } finally {
      end?.();
    }
    const before = lastSlice;
    ({ promise: lastSlice, resolve: end } = Promise.withResolvers<void>());
    await before;
    await letOthersRun();
  }
}

/** Waits until other work has had the time of a slice, or there is none. */
async function letOthersRun(): Promise<void> {
  const until = performance.now() + SLICE_MS;
  for (let roundAt = 0; performance.now() - roundAt > IDLE_ROUND_MS && performance.now() < until;) {
    roundAt = performance.now();
    await nextRound();
  }
}
