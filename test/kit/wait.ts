/** Waits for what has to happen within a minute. An error then names what did not. */
import { once, type EventEmitter } from 'node:events';
import { setImmediate as nextRound } from 'node:timers/promises';

const PATIENCE_MS = 60_000;
const giveUp = (waitedFor: unknown, patienceMs: number) =>
  new Error(`This did not happen within ${patienceMs / 1000} s: ${String(waitedFor)}`);

/** Asks again and again, after each turn, until `isSo` returns true. */
export async function until(
  isSo: () => boolean | Promise<boolean>,
  turn: () => Promise<unknown> = () => nextRound(),
  patienceMs = PATIENCE_MS,
): Promise<void> {
  const endsAt = performance.now() + patienceMs;
  while (!(await isSo())) {
    if (performance.now() > endsAt) throw giveUp(isSo, patienceMs);
    await turn();
  }
}

/** Asks after each event of this name until `isSo` returns true. `waitedFor` names in an error what did not happen. */
export async function untilTold(
  emitter: EventEmitter,
  event: string,
  isSo: () => boolean,
  waitedFor: unknown = isSo,
  patienceMs = PATIENCE_MS,
): Promise<void> {
  const signal = AbortSignal.timeout(patienceMs);
  while (!isSo())
    await once(emitter, event, { signal }).catch((fault: unknown) => {
      throw signal.aborted ? giveUp(waitedFor, patienceMs) : fault;
    });
}
