/** Tests the PostgreSQL store: the group `tenants` of contract.ts, and how long a node keeps keys. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeOwnTenants } from '../../src/store/postgres/control-database.ts';
import { TestClock } from '../kit/clock.ts';
import { describeStore } from './contract.ts';
import { openDatabase, runProcess } from './postgres-database.ts';
import { NOW } from './store-under-test.ts';

describeStore('PostgreSQL', 'tenants', openDatabase, runProcess);

test('a key that is found slowly is cached for 100 ms from the query, not from its result', async () => {
  const clock = new TestClock();
  let asked = 0;
  const row = ['id', new Uint8Array(32), '', 'default', 'write', 'team', 'T', NOW, 'pims_1', 'worksheet', 0];
  const connection = {
    isIdle: true,
    askRows: async () => {
      asked++;
      // Meanwhile the key is replaced. Whoever replaces it waits for 101 ms.
      clock.move(80);
      return [[...row, null, null, null]];
    },
  } as unknown as Parameters<typeof makeOwnTenants>[0];
  const own = makeOwnTenants(connection, connection, () => Promise.reject(new Error('not used')), clock);
  for (const [ms, questions] of [
    [0, 1],
    [15, 1],
    [10, 2],
  ] as const) {
    clock.move(ms);
    await own.findCaller('team', 'id', NOW);
    assert.equal(asked, questions, `after another ${ms} ms`);
  }
});
