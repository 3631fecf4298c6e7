/** Tests getUsage: GET /usage. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { times } from '../kit/lists.ts';
import { expectRefusal, Shop, succeed } from '../kit/records.ts';
import { sharedService, type Answer } from '../kit/service.ts';

interface Usage {
  month: string;
  total: number;
  quota: number | null;
  days: { day: string; operation: string; calls: number }[];
}

const service = await sharedService();
const shop = await Shop.open(service, 'usage');
const limited = await Shop.open(service, 'limited', '--quota', '1000');

const ask = ({ keys }: Shop, query?: Record<string, string>): Promise<Answer> =>
  service.call(keys, 'GET', '/usage', { query });
const callsOf = ({ days }: Usage, operation: string): number =>
  days.filter((row) => row.operation === operation).reduce((sum, { calls }) => sum + calls, 0);
const month = service.timeAt().slice(0, 7);

// Holds S6.22.
test('200 usage by day and operation includes this call, and agrees with header and command', async () => {
  await shop.newOrder();
  await shop.newOrder();
  const answer = await ask(shop);
  const usage = answer.body.data as Usage;
  assert.deepEqual([usage.month, usage.total, usage.quota], [month, 3, null]);
  assert.deepEqual([callsOf(usage, 'createOrder'), callsOf(usage, 'getUsage')], [2, 1]);
  for (const { day } of usage.days) assert.match(day, /^\d{4}-\d\d-\d\d$/);
  assert.equal(answer.headers.get('x-month-requests'), '3');
  assert.equal(await service.usageOf('usage'), 3);
  const again = await succeed<Usage>(ask(shop, { month }));
  assert.deepEqual([again.total, callsOf(again, 'getUsage')], [4, 2]);
});

// Holds S6.22.
test('each of 64 calls at once is included in its own total, and none is counted twice', async () => {
  const before = (await succeed<Usage>(ask(shop))).total;
  const totals = await Promise.all(times(64, async () => (await succeed<Usage>(ask(shop))).total));
  for (const total of totals) assert.ok(total > before && total <= before + 64, `${total}`);
  const after = await succeed<Usage>(ask(shop));
  assert.equal(after.total, before + 65);
  assert.equal(
    after.days.reduce((sum, { calls }) => sum + calls, 0),
    after.total,
  );
});

// Holds S6.22.
test('another month has its own calls, and the quota of the tenant', async () => {
  const usage = await succeed<Usage>(ask(limited, { month: '2001-02' }));
  assert.deepEqual(usage, { month: '2001-02', total: 0, quota: 1000, days: [] });
  // The total does not contain the calls of other tenants.
  assert.equal((await succeed<Usage>(ask(limited))).total, 2);
});

// Holds S6.22.
test('400 INVALID_PARAMETER for an invalid month', async () => {
  for (const wrong of ['2026-13', '2026-00', '2026-1', '2026', '2026-11-01', '11/2026', '', ' 2026-11', '２０２６-11'])
    assert.match(expectRefusal(await ask(shop, { month: wrong }), 400, 'INVALID_PARAMETER', 'month'), /2026-11/);
});
