/** Calls that are repeated as clients do, and how many of them were counted. */
import type { Answer } from './service.ts';

const BUSY = 503;

/** Every answer to an authenticated call says how many there were in the month, unless the call could not be counted. */
export const isCounted = ({ headers }: Pick<Answer, 'headers'>): boolean => headers.has('x-month-requests');

/** The calls of somebody who repeats what is answered 503. A write needs its Idempotency-Key for that. */
export class Repeater {
  /** Answers that say that their call was counted: so many calls there are in the usage, no more and no less. */
  counted = 0;
  /** Calls that were answered 503, counted or not. */
  refused = 0;

  /** The first answer that is no 503. */
  async call(send: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      const answer = await send();
      if (isCounted(answer)) this.counted++;
      if (answer.status !== BUSY) return answer;
      this.refused++;
    }
  }
}
