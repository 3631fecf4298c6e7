/** Tests that queries over the largest records need memory for their pages, not for all records that they match. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryOf } from '../kit/attack.ts';
import { times } from '../kit/lists.ts';
import { readMetrics, sumOf } from '../kit/metrics.ts';
import { FIELDS, Shop, succeed, type Values } from '../kit/records.ts';
import { ownService, type Answer } from '../kit/service.ts';

const ORDERS = 80;
const AT_ONCE = 20;
const QUERIES = 16;
const FIELD_CHARACTERS = 8000;
const ORDER_FIELDS = 29;
/** Four times the memory of the records in all pages. */
const MEMORY_MIB = 4 * QUERIES * 4;

test(`${QUERIES} queries at once over ${ORDERS} orders of 230 kB cost at most ${MEMORY_MIB} MiB`, async () => {
  // The test measures memory, so no query may be refused because it takes long or because its reader is slow.
  const service = await ownService({
    env: { STOREROOM_QUERY_BUDGET_MS: '60000', STOREROOM_TRAFFIC_BYTES_MAX: String(512 * 1024 * 1024) },
  });
  const shop = await Shop.open(service, 'large');
  const names = FIELDS.orders.filter((name) => /^(B|S|REF|PO|TERMS|CUST|LOC|NOTES|ORDER_STATUS)/.test(name));
  const texts = names.filter((name) => name !== 'SUBTOTAL').slice(0, ORDER_FIELDS);
  assert.equal(texts.length, ORDER_FIELDS);
  const wide = Object.fromEntries(texts.map((name) => [name, 'x'.repeat(FIELD_CHARACTERS)]));
  let busy = 0;
  /** Repeats a call until the service is not too busy for it. */
  const unlessBusy = async (call: () => Promise<Answer>): Promise<Answer> => {
    let answer = await call();
    for (; answer.body.code === 'SERVICE_BUSY'; answer = await call()) busy++;
    return answer;
  };
  const make = (headers: Record<string, string>) => (): Promise<Answer> =>
    service.call(shop.keys, 'PUT', '/orders/create', { body: wide, headers });
  for (let made = 0; made < ORDERS; made += AT_ONCE) {
    const creates = times(AT_ONCE, (index) => make({ 'idempotency-key': `order-${made + index}` }));
    await Promise.all(creates.map((create) => succeed<string>(unlessBusy(create))));
  }
  const idle = memoryOf(service.pid).now;
  const query = (): Promise<Answer> => shop.queryOrders([], { maxReturn: '5000' });
  const answers = await Promise.all(times(QUERIES, () => unlessBusy(query)));
  const { peak } = memoryOf(service.pid);
  assert.ok(peak - idle < MEMORY_MIB, `memory rose from ${idle} to ${peak} MiB`);
  for (const answer of answers) {
    const records = await succeed<Values[]>(Promise.resolve(answer));
    assert.equal(records.length, Math.floor((4 * 1024 * 1024) / JSON.stringify(records[0]).length));
    assert.equal(answer.headers.get('x-has-more'), 'true');
  }
  const { body } = await unlessBusy(() => shop.queryOrders([], { maxReturn: '5000', fields: 'ORDER_NUMBER' }));
  assert.equal((body.data as Values[]).length, ORDERS, 'each order was made once');
  const { samples } = await readMetrics(service);
  assert.equal(sumOf(samples, 'storeroom_requests_total', { status: '503' }) ?? 0, busy);
});
