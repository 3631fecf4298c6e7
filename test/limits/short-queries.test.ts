/** Tests queries that use an index and are sent to PostgreSQL together: a long one does not delay other tenants. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { times } from '../kit/lists.ts';
import { Shop } from '../kit/records.ts';
import { ownService } from '../kit/service.ts';

const CUSTOMERS = 2000;
const COSTLY = 60;

const service = await ownService({
  env: { STOREROOM_DATABASE_CONNECTIONS: '1', STOREROOM_QUERY_BUDGET_MS: '200', STOREROOM_QUERY_THREADS: '1' },
});
const [busy, quiet] = [await Shop.open(service, 'busy'), await Shop.open(service, 'quiet')];
await busy.load(
  'customers',
  times(CUSTOMERS, (index) => ({ CUSTOMER_CODE: `C${index}`, BSTATE: 'ME', NOTES: `${'Long Text '.repeat(800)}end` })),
);
await quiet.createCustomer({ CUSTOMER_NAME: 'Bolts', BSTATE: 'VT' });

/** A query whose exact filter uses an index and finds 2,000 records, whose long texts are searched to their end. */
const costly = [
  { field: 'BSTATE', value: 'ME' },
  ...times(13, () => ({ field: 'NOTES', value: 'end', contains: true })),
  { field: 'NOTES', value: 'needle', contains: true },
];

suite('short queries', () => {
  test('a query of another tenant runs before most costly queries that an index leads, and those get 422', async () => {
    let answered = 0;
    const asked = times(COSTLY, async () => {
      const { body } = await busy.queryCustomers(costly);
      answered++;
      return body.code as string;
    });
    const { status, body } = await quiet.queryCustomers([{ field: 'BSTATE', value: 'VT' }]);
    assert.deepEqual([status, body.data.length], [200, 1]);
    assert.ok(answered < COSTLY / 2, `${answered} of the other tenant were answered before`);
    assert.equal(await Promise.race(asked), 'QUERY_TOO_COSTLY');
    await service.stop('SIGKILL');
    await Promise.allSettled(asked);
  });
});
