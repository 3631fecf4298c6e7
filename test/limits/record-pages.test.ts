/** Tests that reading records in the dashboard is not counted, but limited to what a person needs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BEHIND_PROXY, openTenant } from '../dashboard/scene.ts';
import type { Reply } from '../dashboard/visitor.ts';
import { times } from '../kit/lists.ts';
import { ownService } from '../kit/service.ts';

const AT_ONCE = 20;
/** Time after which one more read is answered after a burst. */
const NEXT_MS = 50;

const service = await ownService({ env: BEHIND_PROXY });

test('429 a session that reads records 200 times at once then has 20 a second; others are not limited', async () => {
  const { owner, keys, teamID } = await openTenant(service);
  const viewer = await owner.add('viewer');
  await service.stand();
  const look = () => viewer.get('/records/orders/single', { orderNum: '1' });
  /** Reads an unknown order this many times. Returns how many reads got 404, and how many 429. */
  const lookMany = async (count: number): Promise<[number, number]> => {
    const replies: Reply[] = [];
    for (let sent = 0; sent < count; sent += AT_ONCE) replies.push(...(await Promise.all(times(AT_ONCE, look))));
    const waiting = replies.filter(({ status }) => status === 429);
    for (const { headers } of waiting) assert.equal(headers.get('retry-after'), '1');
    return [replies.filter(({ status }) => status === 404).length, waiting.length];
  };
  assert.deepEqual(await lookMany(300), [200, 100]);
  assert.equal((await owner.get('/records/orders/single', { orderNum: '1' })).status, 404);
  assert.equal((await viewer.get('/explorer/orders/single', { orderNum: '1' })).status, 404);
  assert.equal((await service.call(keys, 'GET', '/orders/single', { query: { orderNum: '1' } })).status, 404);
  assert.equal(await service.usageOf(teamID), 2, 'looks were counted');
  await service.move(NEXT_MS - 1);
  assert.deepEqual(await lookMany(20), [0, 20]);
  await service.move(1);
  assert.deepEqual(await lookMany(20), [1, 19]);
  await service.move(1000);
  assert.deepEqual(await lookMany(40), [20, 20]);
});
