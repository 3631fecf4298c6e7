/**
 * A line of callers whose passwords are checked one at a time, since each check needs a core for 25 ms. Who has made
 * the fewest attempts goes first, so that the attempts of many strangers do not delay a user. Source: decision 0023.
 */
import { refuseForNow } from '../errors.ts';

const WAITING_MAX = 50;

/**
 * Runs work of a caller when the line reaches it. If too many wait, throws SERVICE_BUSY for the caller with the most
 * attempts. Of equal callers the newest goes first, because the oldest may no longer wait for an answer.
 */
export type RunInLine = <T>(attempts: number, work: () => Promise<T>) => Promise<T>;

export function makeLine(): RunInLine {
  /** The caller with the most attempts comes first. Of those with equally many, the newest comes last. */
  const waiting: (PromiseWithResolvers<void> & { attempts: number })[] = [];
  let isBusy = false;
  return async (attempts, work) => {
    if (isBusy) {
      const waiter = { attempts, ...Promise.withResolvers<void>() };
      const place = waiting.findLastIndex((other) => other.attempts >= attempts) + 1;
      waiting.splice(place, 0, waiter);
      const refused = waiting.length > WAITING_MAX ? waiting.shift() : undefined;
      refused?.reject(refuseForNow('SERVICE_BUSY', 'Too many sign-ins at the same time. Retry in a moment.'));
      await waiter.promise;
    }
    isBusy = true;
    try {
      return await work();
    } finally {
      const next = waiting.pop();
      isBusy = next !== undefined;
      next?.resolve();
    }
  };
}
