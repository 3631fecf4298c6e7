/** Long queries take turns: a tenant's, abandoned or not, delay no other's, and none runs when its caller is gone. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Visitor } from '../dashboard/visitor.ts';
import { asker, memoryOf, sendUnread } from '../kit/attack.ts';
import { times } from '../kit/lists.ts';
import { basicOf } from '../kit/operations.ts';
import { openSocket, readAnswers, writeRequest } from '../kit/raw-http.ts';
import { expectRefusal, Shop } from '../kit/records.ts';
import { BASE_PATH, ownService } from '../kit/service.ts';

const CUSTOMERS = 2000;
const BUDGET_MS = 500;
const ABANDONED = 60;
const MEMORY_MIB = 256;
/** Of a tenant: one runs, as there is one thread or connection, and 64 wait. */
const RUNNING_AND_WAITING = 65;
/** What runs is ended within this, where it would run for another second or longer. */
const SOON_MS = 1000;
const STOP_MS = 4000;

const service = await ownService({
  env: {
    STOREROOM_QUERY_BUDGET_MS: String(BUDGET_MS),
    STOREROOM_QUERY_THREADS: '1',
    STOREROOM_DATABASE_CONNECTIONS: '1',
  },
});
const [busy, quiet] = [await Shop.open(service, 'busy'), await Shop.open(service, 'quiet')];
const note = 'Long Text '.repeat(800);
await busy.load(
  'customers',
  times(CUSTOMERS, (index) => ({ CUSTOMER_CODE: `C${index}`, NOTES: note })),
);
await quiet.createCustomer({ CUSTOMER_NAME: 'Bolts and Nuts' });

/** Fifty searches of long texts, which find nothing. */
const worst = times(50, (index) => ({ field: 'NOTES', value: `needle ${index}`, contains: true, conjunction: 'OR' }));
const bytes = writeRequest(
  'POST',
  `${BASE_PATH}/customers/query?teamID=busy`,
  [`Authorization: ${basicOf(busy.keys)}`, 'Content-Type: application/json'],
  JSON.stringify(worst),
);

async function search(shop: Shop): Promise<{ ms: number; status: number }> {
  const begunAt = performance.now();
  const { status } = await shop.queryCustomers([{ field: 'CUSTOMER_NAME', value: 'bolts', contains: true }]);
  return { ms: performance.now() - begunAt, status };
}

/** So many searches on connections of their own: one runs, the others wait. */
async function beginWorst(count: number): Promise<Socket[]> {
  const sockets = times(count, () => openSocket(service.origin));
  for (const socket of sockets) {
    if (socket.connecting) await once(socket, 'connect');
    socket.write(bytes);
  }
  await asker(service, busy.keys, '/customers/single', { customerCode: 'C1' })();
  return sockets;
}

suite('turns for costly work', () => {
  test('the texts that queries look through cost at most 256 MiB of memory', async () => {
    const idle = memoryOf(service.pid).now;
    for (const shop of [busy, busy]) assert.equal((await shop.queryCustomers(worst)).body.code, 'QUERY_TOO_COSTLY');
    const { peak } = memoryOf(service.pid);
    assert.ok(peak - idle < MEMORY_MIB, `memory rose from ${idle} to ${peak} MiB`);
  });

  test('400 QUERY_TOO_COSTLY when counting takes longer than the budget; the same page without a count is answered', async () => {
    const query = [...worst.slice(1), { field: 'NOTES', value: 'long text', contains: true, conjunction: 'OR' }];
    assert.equal((await busy.queryCustomers(query, { maxReturn: '1' })).status, 200);
    const begunAt = performance.now();
    const counted = await busy.queryCustomers(query, { maxReturn: '1', count: 'exact' });
    expectRefusal(counted, 400, 'QUERY_TOO_COSTLY');
    assert.ok(performance.now() - begunAt < SOON_MS * 2, 'it ends with its budget');
  });

  test('queries that nobody waits for any more keep neither another tenant waiting nor their own', async () => {
    const sockets = times(ABANDONED, () => sendUnread(service.origin, bytes));
    await sleep(200);
    const during = await search(quiet);
    for (const socket of sockets) socket.resetAndDestroy();
    const [other, own] = await Promise.all([search(quiet), search(busy)]);
    assert.deepEqual([during.status, other.status, own.status], [200, 200, 200]);
    assert.ok(during.ms < SOON_MS, `while they waited, another tenant waited ${during.ms} ms`);
    assert.ok(other.ms < SOON_MS, `after they were gone, another tenant waited ${other.ms} ms`);
    assert.ok(own.ms < SOON_MS, `after they were gone, their own tenant waited ${own.ms} ms`);
  });

  test('a caller who has only finished sending still gets the answer', async () => {
    const socket = openSocket(service.origin);
    await once(socket, 'connect');
    socket.end(bytes);
    const [answer] = await readAnswers(socket);
    assert.equal(answer?.body.code, 'QUERY_TOO_COSTLY');
  });

  test('429 TOO_MANY_QUERIES with Retry-After for more than run and wait; reads by key are answered', async () => {
    const sockets = times(RUNNING_AND_WAITING + 20, () => openSocket(service.origin));
    for (const socket of sockets) socket.write(bytes);
    const seen = { answers: 0 };
    for (const socket of sockets) socket.once('data', () => seen.answers++);
    const answers = Promise.all(sockets.map((socket) => readAnswers(socket)));
    await asker(service, busy.keys, '/customers/single', { customerCode: 'C1' })();
    for (let waited = 0; seen.answers < 20 && waited < 5000; waited += 50) await sleep(50);
    for (const socket of sockets) socket.resetAndDestroy();
    const refused = (await answers).flat().filter(({ status }) => status === 429);
    for (const { body, headers } of refused)
      assert.deepEqual([body.code, headers.get('retry-after')], ['TOO_MANY_QUERIES', '1']);
    assert.ok(refused.length >= 10, `${refused.length} were refused`);
  });

  test('reads of a large order that nobody waits for any more leave their places to others', async () => {
    const orderNum = await busy.newOrder();
    await busy.load(
      'lines',
      times(40, () => ({ ORDER_NUMBER: orderNum, DESCRIPTION: note })),
    );
    await busy.getOrder(orderNum); // From here on the embedded store knows that it is large.
    const path = `${BASE_PATH}/orders/single?orderNum=${orderNum}&teamID=busy`;
    const read = writeRequest('GET', path, [`Authorization: ${basicOf(busy.keys)}`]);
    const running = await beginWorst(3);
    const sockets = times(RUNNING_AND_WAITING, () => openSocket(service.origin));
    const refused = Promise.any(sockets.map((socket) => readAnswers(socket)));
    for (const socket of sockets) socket.write(read);
    assert.equal((await refused)[0]?.body.code, 'TOO_MANY_QUERIES');
    for (const socket of sockets) socket.resetAndDestroy();
    await asker(service, busy.keys, '/customers/single', { customerCode: 'C1' })();
    assert.equal((await search(busy)).status, 200);
    for (const socket of running) socket.resetAndDestroy();
  });

  test('the request log and the check of the audit log take the turns of their tenant', async () => {
    const owner = await Visitor.make(service, 'busy', 'owner');
    const sockets = await beginWorst(2);
    const seen = { answers: 0 };
    for (const socket of sockets) socket.once('data', () => seen.answers++);
    const ask = async (path: string, query = {}): Promise<string> => {
      const { status } = await owner.get(path, query);
      return `${path} ${status}, after ${Math.min(seen.answers, 1)}`;
    };
    const asked = [ask('/requests'), ask('/requests/single', { requestID: 'none-1' }), ask('/audit/verify')];
    const expected = ['/requests 200, after 1', '/requests/single 404, after 1', '/audit/verify 200, after 1'];
    assert.deepEqual(await Promise.all(asked), expected);
    for (const socket of sockets) socket.destroy();
  });

  test('a service that stops ends them, and answers 503 SERVICE_BUSY to those who wait', async () => {
    const sockets = times(ABANDONED, () => openSocket(service.origin));
    for (const socket of sockets) socket.write(bytes);
    const answers = Promise.all(sockets.map((socket) => readAnswers(socket)));
    for (const socket of sockets) if (socket.connecting) await once(socket, 'connect');
    await sleep(500);
    const begunAt = performance.now();
    assert.equal(await service.stop(), 0);
    const ms = performance.now() - begunAt;
    assert.ok(ms < STOP_MS, `it took ${ms} ms to stop`);
    const codes = new Set((await answers).flat().map(({ body }) => body.code as string));
    assert.ok(codes.has('SERVICE_BUSY'), [...codes].join());
  });
});
