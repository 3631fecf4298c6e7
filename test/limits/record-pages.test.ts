/** Looking at records in the dashboard is not counted, and yet nobody has more of it than a person needs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openScene, openTenant } from '../dashboard/scene.ts';

const LOOKS = 600;
const AT_ONCE = 20;
/** 200 at once, and 20 a second while the looks go on, which nobody's machine draws out for so long. */
const ANSWERED_MAX = 400;
const PATIENCE_MS = 5000;

const service = await openScene();

test('429 a session that reads records without pause must wait; other users, explorer and API go on', async () => {
  const { owner, keys, teamID } = await openTenant(service);
  const viewer = await owner.add('viewer');
  const look = () => viewer.get('/records/orders/single', { orderNum: '1' });
  const statuses = new Map<number, number>();
  for (let sent = 0; sent < LOOKS; sent += AT_ONCE)
    for (const { status, headers } of await Promise.all(Array.from({ length: AT_ONCE }, look))) {
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 429) assert.equal(headers.get('retry-after'), '1');
    }
  const answered = statuses.get(404) ?? 0;
  assert.ok(answered >= 200 && answered <= ANSWERED_MAX, JSON.stringify([...statuses]));
  assert.equal(statuses.get(429), LOOKS - answered);
  assert.equal((await owner.get('/records/orders/single', { orderNum: '1' })).status, 404);
  assert.equal((await viewer.get('/explorer/orders/single', { orderNum: '1' })).status, 404);
  assert.equal((await service.call(keys, 'GET', '/orders/single', { query: { orderNum: '1' } })).status, 404);
  assert.equal(await service.usageOf(teamID), 2, 'looks were counted');
  const giveUpAt = Date.now() + PATIENCE_MS;
  while ((await look()).status === 429) {
    assert.ok(Date.now() < giveUpAt, 'it is never let in again');
    await sleep(50);
  }
});
