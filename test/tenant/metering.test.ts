/** Tests the meter on a usage store in memory whose writes end when the test releases them. */
import assert from 'node:assert/strict';
import { setImmediate as nextRound } from 'node:timers/promises';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Meter } from '../../src/tenant/calls.ts';
import { passing, TestClock } from '../kit/clock.ts';
import type { CallingKey, KeyCount, UsageCount, UsageStore } from '../../src/tenant/tenant-port.ts';

const QUIET = { clock: passing, report: () => undefined, isUsable: () => true };
const NOW = '2026-11-20T09:30:00.000Z';

/** Keeps counts in memory. `release` writes the oldest waiting batch, or makes it fail with the given fault. */
class HeldUsage implements UsageStore {
  readonly batches: UsageCount[][] = [];
  readonly byKey: KeyCount[][] = [];
  readonly #held: { write: () => void; fail: (fault: Error) => void }[] = [];
  readonly #months = new Map<string, number>();
  /** Whether batches are written without `release`. */
  open = false;

  addUsage(counts: readonly UsageCount[], byKey: readonly KeyCount[] = []): Promise<ReadonlyMap<string, number>> {
    this.byKey.push(structuredClone(byKey) as KeyCount[]);
    const batch = structuredClone(counts) as UsageCount[];
    this.batches.push(batch);
    return new Promise((resolve, reject) => {
      const write = (): void => {
        const totals = new Map<string, number>();
        for (const { teamId, day, calls } of batch) {
          const month = `${teamId} ${day.slice(0, 7)}`;
          this.#months.set(month, (this.#months.get(month) ?? 0) + calls);
          totals.set(month, this.#months.get(month)!);
        }
        resolve(totals);
      };
      if (this.open) setImmediate(write);
      else this.#held.push({ write, fail: reject });
    });
  }

  loadMonth(): Promise<never[]> {
    return Promise.resolve([]);
  }

  release(fault?: Error): void {
    const { write, fail } = this.#held.shift()!;
    if (fault) fail(fault);
    else write();
  }

  loadUsage = (): Promise<never> => assert.fail('The meter never asks.');
  loadLastUses = (): Promise<never> => assert.fail('The meter never asks.');
  listMonths = (): Promise<never> => assert.fail('The meter never asks.');
}

/** Opens a meter on a new store. `count` returns the promise that the response to a call waits for. */
function openMeter({ open = false } = {}) {
  const usage = new HeldUsage();
  usage.open = open;
  const meter = new Meter(usage, QUIET);
  const count = (teamId = 'acme', operation = 'getOrder', now = NOW): Promise<number> =>
    meter.countCall(teamId, operation, now, null).monthRequests();
  return { usage, meter, count };
}

const calls = (batch: readonly UsageCount[] | undefined): number => batch!.reduce((sum, one) => sum + one.calls, 0);

test('calls of one turn are saved together; those that arrive meanwhile wait for the next batch', async () => {
  const { usage, count } = openMeter();
  const first = [count(), count(), count()];
  await nextRound();
  assert.deepEqual(usage.batches, [[{ teamId: 'acme', day: '2026-11-20', operation: 'getOrder', calls: 3 }]]);
  const second = [count(), count('acme', 'createOrder')];
  await nextRound();
  assert.equal(usage.batches.length, 1, 'one batch at a time');
  usage.release();
  assert.deepEqual(await Promise.all(first), [3, 3, 3]);
  await nextRound();
  assert.equal(calls(usage.batches[1]), 2);
  usage.release();
  assert.deepEqual(await Promise.all(second), [5, 5]);
});

test('no response is sent before its count is written', async () => {
  const { usage, count } = openMeter();
  let left = false;
  const answer = count().then(() => (left = true));
  for (let turn = 0; turn < 20; turn++) await nextRound();
  assert.ok(!left);
  usage.release();
  assert.ok(await answer);
});

test('a fault reaches exactly the calls of its batch, and the next batch is written', async () => {
  const { usage, count } = openMeter();
  const outcome = (teamId: string): Promise<number | string> => count(teamId).catch((fault: Error) => fault.message);
  const broken = [outcome('acme'), outcome('other')];
  await nextRound();
  const next = [outcome('acme'), outcome('other')];
  usage.release(new Error('disk on fire'));
  assert.deepEqual(await Promise.all(broken), ['disk on fire', 'disk on fire']);
  await nextRound();
  usage.release();
  assert.deepEqual(await Promise.all(next), [1, 1]);
  const later = outcome('acme');
  await nextRound();
  usage.release();
  assert.equal(await later, 2, 'and so is one that opens later');
});

test('a fault without a waiting caller does no harm', async () => {
  const { usage, meter, count } = openMeter();
  meter.countCall('acme', 'getOrder', NOW, null);
  await nextRound();
  usage.release(new Error('disk on fire'));
  await meter.settled();
  usage.open = true;
  assert.equal(await count(), 1);
});

test('settled waits for everything counted so far, and does not wait if there is nothing', async () => {
  const { usage, meter } = openMeter();
  await meter.settled();
  meter.countCall('acme', 'getOrder', NOW, null);
  await nextRound();
  meter.countCall('acme', 'getOrder', NOW, null);
  let settled = false;
  const waiting = meter.settled().then(() => (settled = true));
  usage.release();
  await nextRound();
  await nextRound();
  assert.ok(!settled, 'the second batch is still being written');
  usage.release();
  assert.ok(await waiting);
});

test('settled also waits for calls counted in its own turn, for which no batch is open yet', async () => {
  const usage = new HeldUsage();
  const meter = new Meter(usage, QUIET);
  meter.countCall('acme', 'getOrder', NOW, null);
  let settled = false;
  const waiting = meter.settled().then(() => (settled = true));
  for (let turn = 0; turn < 3; turn++) await nextRound();
  assert.deepEqual([settled, usage.batches.length], [false, 1]);
  usage.release();
  assert.ok(await waiting);
});

test('tenants, days and operations are counted separately; a call gets the total of its tenant and month', async () => {
  const { usage, count } = openMeter({ open: true });
  const totals = await Promise.all([
    count('a', 'getOrder', '2026-11-30T23:59:59.999Z'),
    count('a', 'getOrder', '2026-12-01T00:00:00.000Z'),
    count('a', 'createOrder', '2026-11-30T23:59:59.999Z'),
    count('b', 'getOrder', '2026-11-30T23:59:59.999Z'),
  ]);
  assert.deepEqual(totals, [2, 1, 2, 1]);
  assert.equal(usage.batches[0]!.length, 4);
});

test('calls are counted by pair and month, with the time of the last, in the batch of their counts', async () => {
  const usage = new HeldUsage();
  usage.open = true;
  const meter = new Meter(usage, QUIET);
  const [shop, reports] = ['shop', 'reports'].map((name): CallingKey => ({ apiId: `id-${name}`, name, scope: 'read' }));
  const [late, early] = ['2026-11-30T23:59:59.999Z', '2026-11-30T23:59:58.000Z'];
  const next = '2026-12-01T00:00:00.000Z';
  for (const [operation, now, key] of [
    ['getOrder', late, shop!],
    ['createOrder', early, shop!],
    ['getOrder', next, shop!],
    ['getOrder', late, shop!],
    ['getOrder', early, reports!],
    ['getOrder', early, null],
  ] as const)
    meter.countCall('acme', operation, now, key);
  await meter.settled();
  assert.equal(calls(usage.batches[0]), 6);
  const teamId = 'acme';
  assert.deepEqual(usage.byKey, [
    [
      { teamId, month: '2026-11', apiId: 'id-shop', name: 'shop', calls: 3, usedAt: late },
      { teamId, month: '2026-12', apiId: 'id-shop', name: 'shop', calls: 1, usedAt: next },
      { teamId, month: '2026-11', apiId: 'id-reports', name: 'reports', calls: 1, usedAt: early },
    ],
  ]);
});

test('in any sequence, each call is counted once and totals only grow', async () => {
  const call = fc.record({
    team: fc.constantFrom('a', 'b', 'c'),
    operation: fc.constantFrom('getOrder', 'queryOrders'),
    turns: fc.nat(3),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(call, { maxLength: 60 }), async (arriving) => {
      const { usage, count } = openMeter({ open: true });
      const answers: Promise<[string, number]>[] = [];
      for (const { team, operation, turns } of arriving) {
        for (let turn = 0; turn < turns; turn++) await nextRound();
        answers.push(count(team, operation).then((total) => [team, total]));
      }
      const latest = new Map<string, number>();
      for (const [team, total] of await Promise.all(answers)) {
        assert.ok(total >= (latest.get(team) ?? 1));
        latest.set(team, total);
      }
      for (const team of ['a', 'b', 'c'])
        assert.equal(latest.get(team) ?? 0, arriving.filter((one) => one.team === team).length);
      const found = usage.batches.reduce((sum, batch) => sum + calls(batch), 0);
      assert.equal(found, arriving.length);
    }),
  );
});

test('while batches fail or one waits for five seconds, no call is counted; begin and end are reported', async () => {
  const usage = new HeldUsage();
  const clock = new TestClock();
  const told: string[] = [];
  let isUsable = true;
  const meter = new Meter(usage, { clock, report: (event) => told.push(event), isUsable: () => isUsable });
  const lost = meter.countCall('acme', 'getOrder', NOW, null).monthRequests();
  await nextRound();
  usage.release(new Error('too many connections'));
  await assert.rejects(lost);
  assert.equal(meter.isCounting, false);
  clock.move(0);
  usage.release(new Error('still too many'));
  await nextRound();
  assert.deepEqual([meter.isCounting, usage.batches.length], [false, 2]);
  clock.move(1000);
  assert.deepEqual(usage.batches[2], [], 'it is asked again, with nothing to count');
  usage.release();
  await nextRound();
  assert.equal(meter.isCounting, true);
  const refused = 'Calls cannot be counted, so the service refuses them until it can count again: too many connections';
  assert.deepEqual(told, [refused, 'Calls are counted again.']);

  const unseen = meter.countCall('acme', 'getOrder', NOW, null).monthRequests();
  await nextRound();
  usage.release(new Error('the database is gone'));
  await assert.rejects(unseen);
  assert.equal(meter.isCounting, false);
  isUsable = false;
  assert.equal(meter.isCounting, true, 'the store tells itself that it is gone');
  isUsable = true;
  assert.equal(meter.isCounting, true);

  const late = meter.countCall('acme', 'getOrder', NOW, null).monthRequests();
  await nextRound();
  clock.move(4999);
  assert.equal(meter.isCounting, true);
  clock.move(1);
  assert.equal(meter.isCounting, false);
  usage.release();
  assert.equal(await late, 1);
  assert.equal(meter.isCounting, true);
});

test('a probe that saves the batch of a call before its turn ends leaves later calls counted', async () => {
  const usage = new HeldUsage();
  const clock = new TestClock();
  const meter = new Meter(usage, { ...QUIET, clock });
  const lost = meter.countCall('acme', 'getOrder', NOW, null).monthRequests();
  await nextRound();
  usage.release(new Error('the disk is full'));
  await assert.rejects(lost);
  const probed = meter.countCall('acme', 'getOrder', NOW, null).monthRequests();
  clock.move(0);
  usage.release(); // the probe
  while (usage.batches.length < 3) await Promise.resolve();
  usage.release();
  assert.equal(await probed, 1, 'within the turn in which the call arrived');
  await nextRound();
  const later = meter.countCall('acme', 'getOrder', NOW, null).monthRequests();
  await nextRound();
  assert.equal(usage.batches.length, 4);
  usage.release();
  assert.equal(await later, 2);
});
