/** Queries led by an index travel together on PostgreSQL; one that takes long there keeps nobody else waiting. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { times } from '../kit/lists.ts';
import { Shop } from '../kit/records.ts';
import { ownService } from '../kit/service.ts';

const CUSTOMERS = 2000;
const COSTLY = 60;
const SOON_MS = 2000;

const service = await ownService({
  env: { STOREROOM_DATABASE_CONNECTIONS: '1', STOREROOM_QUERY_BUDGET_MS: '200', STOREROOM_QUERY_THREADS: '1' },
});
const [busy, quiet] = [await Shop.open(service, 'busy'), await Shop.open(service, 'quiet')];
await busy.load(
  'customers',
  times(CUSTOMERS, (index) => ({ CUSTOMER_CODE: `C${index}`, BSTATE: 'ME', NOTES: `${'Long Text '.repeat(800)}end` })),
);
await quiet.createCustomer({ CUSTOMER_NAME: 'Bolts', BSTATE: 'VT' });

/** An exact match on an index leads it, to 2,000 long texts that are searched to their end. */
const costly = [
  { field: 'BSTATE', value: 'ME' },
  ...times(13, () => ({ field: 'NOTES', value: 'end', contains: true })),
  { field: 'NOTES', value: 'needle', contains: true },
];

suite('short queries', () => {
  test('a costly query that an index leads delays no other tenant, and is answered 422', async () => {
    const asked = times(COSTLY, () => busy.queryCustomers(costly));
    const begunAt = performance.now();
    const { status, body } = await quiet.queryCustomers([{ field: 'BSTATE', value: 'VT' }]);
    const ms = performance.now() - begunAt;
    assert.deepEqual([status, body.data.length], [200, 1]);
    assert.ok(ms < SOON_MS, `another tenant waited ${ms} ms`);
    assert.equal((await asked[0]!).body.code, 'QUERY_TOO_COSTLY');
    await service.stop();
    await Promise.allSettled(asked);
  });
});
