/** Tests the lease of the sender: one node sends at a time, even if the holder stops, hangs or comes back late. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lease } from '../../src/webhooks/sender.ts';
import type { SenderLease } from '../../src/webhooks/webhooks-port.ts';
import { TestClock } from '../kit/clock.ts';

const SECOND_MS = 1000;

/** Makes two nodes with one clock, and a lease in memory that works as in both stores (see contract-webhooks.ts). */
function makeNodes({ isAlone = false } = {}) {
  const clock = new TestClock();
  let lease: SenderLease = { owner: '', tick: 0, changes: 0, hasWebhooks: true };
  const webhooks = {
    loadLease: async () => lease,
    takeLease: async (owner: string, tick: number) => {
      if (tick !== lease.tick) return false;
      lease = { ...lease, owner, tick: tick + 1 };
      return true;
    },
  };
  const [first, second] = [new Lease({ webhooks, clock, isAlone }), new Lease({ webhooks, clock, isAlone })];
  const removeWebhooks = (): void => void (lease = { ...lease, hasWebhooks: false });
  return { clock, first, second, removeWebhooks };
}
const stateOf = ({ isHeld, mayBegin }: Lease): boolean[] => [isHeld, mayBegin];

// Holds S16.1.
test('the first node that looks has the lease, and keeps it while it renews it', async () => {
  const { clock, first, second } = makeNodes();
  assert.deepEqual(stateOf(first), [false, false]);
  await Promise.all([first.keep(), second.keep()]);
  for (let looks = 0; looks < 60; looks++) {
    assert.deepEqual(
      [stateOf(first), stateOf(second)],
      [
        [true, true],
        [false, false],
      ],
    );
    clock.move(2 * SECOND_MS);
    await Promise.all([first.keep(), second.keep()]);
  }
});

// Holds S16.1.
test('a node takes over when the holder has not renewed the lease for 30 seconds, not earlier', async () => {
  const { clock, first, second } = makeNodes();
  await first.keep();
  await second.keep();
  clock.move(30 * SECOND_MS - 1);
  await second.keep();
  assert.equal(second.isHeld, false);
  clock.move(1);
  await second.keep();
  assert.deepEqual(stateOf(second), [true, true]);
});

// Holds S16.1.
test('a holder that could not renew begins no delivery after 12 seconds, so that all end before a takeover', async () => {
  const { clock, first, second } = makeNodes();
  await first.keep();
  await second.keep();
  clock.move(12 * SECOND_MS - 1);
  assert.deepEqual(stateOf(first), [true, true]);
  clock.move(1);
  assert.deepEqual(stateOf(first), [true, false]);
  clock.move(18 * SECOND_MS);
  assert.deepEqual(stateOf(first), [false, false]);
  await second.keep();
  await first.keep();
  assert.deepEqual([first.isHeld, second.isHeld], [false, true]);
});

test('a lease that was given back is taken at once, and is not renewed while there are no webhooks', async () => {
  const { clock, first, second, removeWebhooks } = makeNodes();
  await first.keep();
  await first.release();
  assert.equal(first.isHeld, false);
  await second.keep();
  assert.equal(second.isHeld, true);
  removeWebhooks();
  clock.move(30 * SECOND_MS);
  await second.keep();
  await first.keep();
  assert.deepEqual([first.isHeld, second.isHeld], [false, false]);
});

test('a service that is alone with its store holds the lease at once, after any time since its last look', async () => {
  const { clock, first, second } = makeNodes({ isAlone: true });
  await first.keep();
  await second.keep();
  clock.move(3600 * SECOND_MS);
  assert.deepEqual(stateOf(second), [true, true]);
});
