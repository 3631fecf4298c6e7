/**
 * How long a server that is waited for has said nothing. Time counts in steps, and a step counts once what has arrived
 * is read: a process that was held, or whose clock was set forward, has not listened meanwhile.
 */
import { every, type Clock, type Timer } from '../../../clock.ts';

const STEP_MS = 100;

export class Silence {
  readonly #clock: Clock;
  readonly #mostMs: number;
  readonly #giveUp: () => void;
  /** Only while something is waited for. */
  #watch: Timer | undefined;
  #isWaiting = false;
  #isCounting = false;
  #steps = 0;

  /** `giveUp` runs when it has lasted longer than this. */
  constructor(clock: Clock, mostMs: number, giveUp: () => void) {
    this.#clock = clock;
    this.#mostMs = mostMs;
    this.#giveUp = giveUp;
  }

  /** Begins anew: something was heard, and more is waited for or not. */
  begin(isWaiting: boolean): void {
    this.#isWaiting = isWaiting;
    this.#steps = 0;
    if (isWaiting) this.#watch ??= every(this.#clock, STEP_MS, () => this.#count());
  }

  close(): void {
    this.#isWaiting = false;
    this.#watch?.close();
    this.#watch = undefined;
  }

  #count(): void {
    if (!this.#isWaiting) return this.close();
    if (this.#isCounting) return;
    this.#isCounting = true;
    setImmediate(() => {
      this.#isCounting = false;
      if (this.#isWaiting && ++this.#steps * STEP_MS > this.#mostMs) this.#giveUp();
    });
  }
}
