/** Queries over records as large as a body allows cost what their pages cost, not what their records cost. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { memoryOf } from '../kit/attack.ts';
import { times } from '../kit/lists.ts';
import { FIELDS, Shop, succeed, type Values } from '../kit/records.ts';
import { ownService, type Answer } from '../kit/service.ts';

const ORDERS = 80;
const QUERIES = 16;
const FIELD_CHARACTERS = 8000;
const ORDER_FIELDS = 29;
/** A busy machine may refuse a call for a while. */
const TRIES = 20;
/** All that the records of the pages take, four times over. */
const MEMORY_MIB = 4 * QUERIES * 4;

/** The answer, once the service is not too busy for the call. */
async function inTime(call: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    const answer = await call();
    if (answer.status !== 503 || tries === TRIES) return answer;
    await sleep(1000 * Number(answer.headers.get('retry-after')));
  }
}

test(`${QUERIES} queries at once over ${ORDERS} orders of 230 kB cost at most ${MEMORY_MIB} MiB`, async () => {
  // What is measured is memory: no query is cut short for its time.
  const service = await ownService({ env: { STOREROOM_QUERY_BUDGET_MS: '60000' } });
  const shop = await Shop.open(service, 'large');
  const names = FIELDS.orders.filter((name) => /^(B|S|REF|PO|TERMS|CUST|LOC|NOTES|ORDER_STATUS)/.test(name));
  const texts = names.filter((name) => name !== 'SUBTOTAL').slice(0, ORDER_FIELDS);
  assert.equal(texts.length, ORDER_FIELDS);
  const wide = Object.fromEntries(texts.map((name) => [name, 'x'.repeat(FIELD_CHARACTERS)]));
  for (let made = 0; made < ORDERS; made += 20)
    await Promise.all(times(20, () => succeed<string>(inTime(() => shop.createOrder(wide)))));
  const idle = memoryOf(service.pid).now;
  const answers = await Promise.all(times(QUERIES, () => inTime(() => shop.queryOrders([], { maxReturn: '5000' }))));
  const { peak } = memoryOf(service.pid);
  assert.ok(peak - idle < MEMORY_MIB, `memory rose from ${idle} to ${peak} MiB`);
  for (const answer of answers) {
    const records = await succeed<Values[]>(Promise.resolve(answer));
    assert.equal(records.length, Math.floor((4 * 1024 * 1024) / JSON.stringify(records[0]).length));
    assert.equal(answer.headers.get('x-has-more'), 'true');
  }
});
