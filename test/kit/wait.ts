/** Waiting for what another process does, where it tells nobody. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Asks again and again until it is so. The run's watchdog ends a file in which it never is. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await nextTurn();
}
