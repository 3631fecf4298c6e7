/**
 * Measures how long a server has sent no row and completed no response while one is due. It counts time in steps, and
 * reads all arrived data before each. A process that was stopped, or whose clock was set forward, therefore does not
 * count that time as silence.
 */
import { every, type Clock, type Timer } from '../../../clock.ts';

const STEP_MS = 100;

export class Silence {
  readonly #clock: Clock;
  readonly #msMax: number;
  readonly #giveUp: () => void;
  /** The timer. It runs only while a response is due. */
  #watch: Timer | undefined;
  #isWaiting = false;
  #isCounting = false;
  #steps = 0;

  /** `giveUp` runs when the silence has lasted longer than `msMax`. */
  constructor(clock: Clock, msMax: number, giveUp: () => void) {
    this.#clock = clock;
    this.#msMax = msMax;
    this.#giveUp = giveUp;
  }

  /** Restarts at zero. `isWaiting` is whether a response is due. */
  restartSilence(isWaiting: boolean): void {
    this.#isWaiting = isWaiting;
    this.#steps = 0;
    if (isWaiting) this.#watch ??= every(this.#clock, STEP_MS, () => this.#countStep());
  }

  close(): void {
    this.#isWaiting = false;
    this.#watch?.close();
    this.#watch = undefined;
  }

  #countStep(): void {
    if (!this.#isWaiting) return this.close();
    if (this.#isCounting) return;
    this.#isCounting = true;
    setImmediate(() => {
      this.#isCounting = false;
      if (this.#isWaiting && ++this.#steps * STEP_MS > this.#msMax) this.#giveUp();
    });
  }
}
