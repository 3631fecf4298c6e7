/** Overload: what one caller asks too much of is refused to it, and the service goes on for the others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { times } from '../kit/lists.ts';
import { getOrder } from '../kit/orders.ts';
import { Shop } from '../kit/records.ts';
import { ownService } from '../kit/service.ts';
import { HttpClient } from '../kit/http-client.ts';

const CUSTOMERS = 2000;
/** More than run and wait together. */
const CALLERS = 100;
/** Enough counted calls for several checkpoints of the usage. */
const READS = 450;
const READERS = 2;
/** Sooner than they are told, so that the line stays full. */
const RETRY_MS = 300;

const service = await ownService({ env: { STOREROOM_QUERY_THREADS: '1' } });
const client = await HttpClient.open(service, CALLERS + READERS);
const [busy, quiet] = [await Shop.open(service, 'busy'), await Shop.open(service, 'quiet')];
await busy.load(
  'customers',
  times(CUSTOMERS, (index) => ({ CUSTOMER_CODE: `C${index}` })),
);

test('429 TOO_MANY_QUERIES with Retry-After for long queries that cannot wait; another team is served', async () => {
  let reads = READS;
  let refused = 0;
  const isOver = (): boolean => reads <= 0;
  const ask = async (): Promise<void> => {
    while (!isOver()) {
      const { status, body, headers } = await client.call(busy.keys, 'POST', '/customers/query', {
        body: [{ field: 'NOTES', value: 'nowhere', contains: true }],
      });
      if (status === 200) continue;
      assert.equal(`${status} ${body.code}`, '429 TOO_MANY_QUERIES');
      assert.equal(headers.get('retry-after'), '1');
      refused++;
      await sleep(RETRY_MS);
    }
  };
  const read = async (): Promise<void> => {
    while (reads-- > 0) assert.equal((await getOrder(client, quiet.keys, '1')).status, 404);
  };
  await Promise.all([...times(CALLERS, ask), ...times(READERS, read)]);
  assert.ok(refused > 0, 'nothing was refused: the line was never full');
  assert.equal(service.hasExited, false);
  assert.equal(await service.usageOf('quiet'), READS);
});
