/** Waits for what another process does, if the process does not report it. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Asks again and again until `isSo` returns true. run.ts ends a file that waits forever. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await nextTurn();
}
