/** Tests overload: a caller who asks too much is refused, and the service continues for the others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { times } from '../kit/lists.ts';
import { getOrder } from '../kit/orders.ts';
import { Shop } from '../kit/records.ts';
import { ownService } from '../kit/service.ts';
import { HttpClient } from '../kit/http-client.ts';

const CUSTOMERS = 2000;
/** More callers than queries may run and wait together. */
const CALLERS = 100;
/** Number of counted calls, enough for several checkpoints of the usage. */
const READS = 450;
const READERS = 2;
/** By this number of answers, one of the callers must have met a full queue. */
const ANSWERS_MAX = 20 * CALLERS;

const service = await ownService({ env: { STOREROOM_QUERY_THREADS: '1' } });
const client = await HttpClient.open(service, CALLERS + READERS);
const [busy, quiet] = [await Shop.open(service, 'busy'), await Shop.open(service, 'quiet')];
await busy.load(
  'customers',
  times(CUSTOMERS, (index) => ({ CUSTOMER_CODE: `C${index}` })),
);

test('429 TOO_MANY_QUERIES with Retry-After for long queries that cannot wait; another team is served', async () => {
  let [answered, refused] = [0, 0];
  const over = new AbortController();
  /** Lets refused callers return one by one, each when another query is answered, so that the queue stays full. */
  const comeBack: (() => void)[] = [];
  const { promise: isFull, resolve: tellFull } = Promise.withResolvers<void>();
  const ask = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const { status, body, headers } = await client.call(busy.keys, 'POST', '/customers/query', {
        body: [{ field: 'NOTES', value: 'nowhere', contains: true }],
      });
      if (status === 200) {
        assert.ok(++answered < ANSWERS_MAX || refused > 0, 'the line was never full');
        comeBack.shift()?.();
        continue;
      }
      assert.equal(`${status} ${body.code}`, '429 TOO_MANY_QUERIES');
      assert.equal(headers.get('retry-after'), '1');
      refused++;
      tellFull();
      if (!over.signal.aborted) await new Promise<void>((resolve) => comeBack.push(resolve));
    }
  };
  const asking = Promise.all(times(CALLERS, ask));
  await Promise.race([isFull, asking]);
  const refusedFirst = refused;
  let reads = READS;
  const read = async (): Promise<void> => {
    while (reads-- > 0) assert.equal((await getOrder(client, quiet.keys, '1')).status, 404);
  };
  try {
    await Promise.all(times(READERS, read));
  } finally {
    over.abort();
    for (const resolve of comeBack) resolve();
    await asking;
  }
  assert.ok(refused > refusedFirst, 'the line was not full while the others read');
  assert.equal(await service.usageOf('quiet'), READS);
});
