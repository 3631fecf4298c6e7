/** Waiting for what another process does. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

/** Looks again and again until it is so; fails with the complaint once `ms` are over. */
export async function waitUntil(ms: number, complaint: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + ms;
  while (!(await isSo())) {
    assert.ok(performance.now() < giveUpAt, complaint);
    await sleep(5);
  }
}
