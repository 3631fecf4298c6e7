/** Repeats calls as clients do, and counts how many of them the service has counted. */
import type { Answer } from './service.ts';

const BUSY = 503;

/** Returns whether the call was counted: only then does the answer say how many calls the month has. */
export const isCounted = ({ headers }: Pick<Answer, 'headers'>): boolean => headers.has('x-month-requests');

/** A caller who repeats calls that are answered 503. A write needs an Idempotency-Key for that. */
export class Repeater {
  /** Number of answers to counted calls. The usage must contain exactly this number of calls. */
  counted = 0;
  /** Number of answers with 503, whether their calls were counted or not. */
  refused = 0;

  /** Repeats a call until it is answered with another status than 503, and returns that answer. */
  async call(send: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      const answer = await send();
      if (isCounted(answer)) this.counted++;
      if (answer.status !== BUSY) return answer;
      this.refused++;
    }
  }
}
