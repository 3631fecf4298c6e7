/**
 * Measures how long a server has sent no row and completed no response while one is due. It counts time in steps, and
 * reads all arrived data before each. A process that was stopped, or whose clock was set forward, therefore does not
 * count that time as silence.
 */
import { every, type Clock, type Timer } from '../../../clock.ts';

const STEP_MS = 100;

/** `giveUp` runs when the silence has lasted longer than `msMax`. */
export function makeSilence(clock: Clock, msMax: number, giveUp: () => void) {
  /** The timer. It runs only while a response is due. */
  let watch: Timer | undefined;
  let [isDue, isCounting, steps] = [false, false, 0];
  const countStep = () => {
    if (!isDue) return silence.close();
    if (isCounting) return;
    isCounting = true;
    setImmediate(() => {
      isCounting = false;
      if (isDue && ++steps * STEP_MS > msMax) giveUp();
    });
  };
  const silence = {
    /** Restarts at zero. `isWaiting` is whether a response is due. */
    restartSilence(isWaiting: boolean) {
      isDue = isWaiting;
      steps = 0;
      if (isWaiting) watch ??= every(clock, STEP_MS, countStep);
    },
    close() {
      isDue = false;
      watch?.close();
      watch = undefined;
    },
  };
  return silence;
}
