/** Tests that long queries take turns: they do not delay other tenants, and none runs after its caller has left. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { suite, test } from 'node:test';
import { Visitor } from '../dashboard/visitor.ts';
import { asker, memoryOf, sendTogether } from '../kit/attack.ts';
import { times } from '../kit/lists.ts';
import { readMetrics, sumOf } from '../kit/metrics.ts';
import { basicOf } from '../kit/operations.ts';
import { openSocket, readAnswers, writeRequest, type RawAnswer } from '../kit/raw-http.ts';
import { expectRefusal, Shop } from '../kit/records.ts';
import { BASE_PATH, ownService, type Answer } from '../kit/service.ts';
import { until } from '../kit/wait.ts';

const CUSTOMERS = 2000;
const BUDGET_MS = 500;
const ABANDONED = 60;
const MEMORY_MIB = 256;
/** Queries of a tenant: one runs, because there is one thread or connection, and 64 wait. */
const RUNNING_AND_WAITING = 65;
const REFUSED = 20;
/** Time that a stopping service gives queries to end. */
const STOPPING_MS = 1000;
/** Interval at which the service looks for callers that have left. */
const LOOK_MS = 25;
const LOOKS_MAX = 20;

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
await quiet.createCustomer({ NOTES: 'Bolts and Nuts' });

/** A query with fifty searches in long texts, which find nothing. */
const worst = times(50, (index) => ({ field: 'NOTES', value: `needle ${index}`, contains: true, conjunction: 'OR' }));
const bytes = writeRequest(
  'POST',
  `${BASE_PATH}/customers/query?teamID=busy`,
  [`Authorization: ${basicOf(busy.keys)}`, 'Content-Type: application/json'],
  JSON.stringify(worst),
);

/** Searches without an index, so that the query needs a turn. The first record matches, so it ends early. */
const search = (shop: Shop): Promise<Answer> =>
  shop.queryCustomers([{ field: 'NOTES', value: shop === busy ? 'long text' : 'bolts', contains: true }], {
    maxReturn: '1',
  });

/** Returns the number of long queries that run or wait. */
async function measureTurns(): Promise<number> {
  const { samples } = await readMetrics(service);
  return sumOf(samples, 'storeroom_queries_running')! + sumOf(samples, 'storeroom_queries_waiting')!;
}

/** Sends this many worst queries at once, each on its own connection. One runs, and the others wait. */
async function beginWorst(count: number): Promise<Socket[]> {
  await until(async () => (await measureTurns()) === 0);
  const sockets = times(count, () => openSocket(service.origin).on('error', () => undefined));
  await sendTogether(
    service,
    sockets.map((socket) => [socket, bytes]),
  );
  // Some queries may have ended before all have arrived.
  await until(async () => (await measureTurns()) > 0.75 * Math.min(count, RUNNING_AND_WAITING));
  return sockets;
}

suite('turns for costly work', () => {
  test('the texts that queries search cost at most 256 MiB of memory', async () => {
    const idle = memoryOf(service.pid).now;
    for (const shop of [busy, busy]) assert.equal((await shop.queryCustomers(worst)).body.code, 'QUERY_TOO_COSTLY');
    const { peak } = memoryOf(service.pid);
    assert.ok(peak - idle < MEMORY_MIB, `memory rose from ${idle} to ${peak} MiB`);
  });

  // Holds S6.20.
  test('400 QUERY_TOO_COSTLY when counting exceeds the budget; the same page without a count succeeds', async () => {
    const query = [...worst.slice(1), { field: 'NOTES', value: 'long text', contains: true, conjunction: 'OR' }];
    assert.equal((await busy.queryCustomers(query, { maxReturn: '1' })).status, 200);
    const counted = await busy.queryCustomers(query, { maxReturn: '1', count: 'exact' });
    expectRefusal(counted, 400, 'QUERY_TOO_COSTLY');
  });

  test('queries of a tenant delay no other tenant, and queries whose caller has left are not run', async () => {
    const sockets = await beginWorst(ABANDONED);
    assert.equal((await search(quiet)).status, 200);
    assert.ok((await measureTurns()) > ABANDONED / 2, 'another tenant is answered before most of them');
    for (const socket of sockets) socket.resetAndDestroy();
    assert.equal((await search(quiet)).status, 200);
    for (let look = 0; look < 2; look++) await service.move(LOOK_MS);
    const left = await measureTurns();
    assert.ok(left <= 1, `${left} of those abandoned run or wait`);
    assert.equal((await search(busy)).status, 200);
  });

  test('a caller who has only closed the sending side still gets the response', async () => {
    const socket = openSocket(service.origin);
    await once(socket, 'connect');
    socket.end(bytes);
    const [answer] = await readAnswers(socket);
    assert.equal(answer?.body.code, 'QUERY_TOO_COSTLY');
  });

  // Holds S3.13.
  test('429 TOO_MANY_QUERIES with Retry-After when no more queries may run or wait; reads by key succeed', async () => {
    const sockets = await beginWorst(RUNNING_AND_WAITING + REFUSED);
    const answers: RawAnswer[] = [];
    const answering = sockets.map(async (socket) => answers.push(...(await readAnswers(socket))));
    await until(async () => answers.length + (await measureTurns()) >= sockets.length);
    const refused = answers.filter(({ status }) => status === 429);
    for (const { body, headers } of refused)
      assert.deepEqual([body.code, headers.get('retry-after')], ['TOO_MANY_QUERIES', '1']);
    // Queries that have ended may have made room before all had arrived.
    const ended = answers.length - refused.length;
    assert.ok(
      refused.length <= REFUSED && refused.length >= REFUSED - ended,
      `${refused.length} refused, ${ended} ended`,
    );
    await asker(service, busy.keys, '/customers/single', { customerCode: 'C1' })();
    assert.ok((await measureTurns()) > RUNNING_AND_WAITING / 2, 'a read by key comes before most of them');
    for (const socket of sockets) socket.resetAndDestroy();
    await Promise.all(answering);
    await until(async () => (await measureTurns()) < RUNNING_AND_WAITING); // the service has noticed
    assert.equal((await search(busy)).status, 200);
  });

  test('reads of a large order whose callers have left free their places for others', async () => {
    const orderNum = await busy.newOrder();
    await busy.load(
      'lines',
      times(40, () => ({ ORDER_NUMBER: orderNum, DESCRIPTION: note })),
    );
    await busy.getOrder(orderNum); // From here on the embedded store knows that the order is large.
    const path = `${BASE_PATH}/orders/single?orderNum=${orderNum}&teamID=busy`;
    const read = writeRequest('GET', path, [`Authorization: ${basicOf(busy.keys)}`]);
    const running = await beginWorst(3);
    const sockets = times(RUNNING_AND_WAITING, () => openSocket(service.origin));
    const refused = Promise.any(sockets.map((socket) => readAnswers(socket)));
    for (const socket of sockets) socket.write(read);
    assert.equal((await refused)[0]?.body.code, 'TOO_MANY_QUERIES');
    for (const socket of sockets) socket.resetAndDestroy();
    await asker(service, busy.keys, '/customers/single', { customerCode: 'C1' })();
    await until(async () => (await measureTurns()) < RUNNING_AND_WAITING);
    assert.equal((await search(busy)).status, 200);
    for (const socket of running) socket.resetAndDestroy();
  });

  test('changes whose caller has left are not read and delay no other tenant', async () => {
    const path = `${BASE_PATH}/changes?after=0&types=orders&teamID=busy`;
    const ask = (more: string): Buffer => writeRequest('GET', path + more, [`Authorization: ${basicOf(busy.keys)}`]);
    const running = await beginWorst(3);
    const sockets = times(ABANDONED, () => openSocket(service.origin).on('error', () => undefined));
    const calls = ['', '&wait=25', '&include=records'].map(ask);
    const sent = sockets.map((socket, at) => [socket, calls[at % calls.length]!] as const);
    await sendTogether(service, sent);
    await until(async () => (await measureTurns()) > ABANDONED / 2);
    assert.equal((await search(quiet)).status, 200);
    for (const socket of sockets) socket.resetAndDestroy();
    // The service may look before it hears of the last connection. Reading all changes would take far longer.
    let left = ABANDONED;
    for (let look = 0; look < LOOKS_MAX && left > running.length; look++) {
      await service.move(LOOK_MS);
      left = await measureTurns();
    }
    assert.ok(left <= running.length, `${left} run or wait`);
    for (const socket of running) socket.resetAndDestroy();
    const answer = await service.call(busy.keys, 'GET', '/changes', { query: { after: '0', types: 'orders' } });
    const types = (answer.body.data as { type: string }[]).map(({ type }) => type);
    assert.deepEqual([answer.status, new Set(types)], [200, new Set(['orders'])]);
  });

  test('long reads of the dashboard, and changes of rare types, use the turns of their tenant', async () => {
    const owner = await Visitor.make(service, 'busy', 'owner');
    await busy.load('inventory', [{ PART_CODE: 'P' }]);
    const sockets = await beginWorst(2);
    const seen = { answers: 0 };
    for (const socket of sockets) socket.once('data', () => seen.answers++);
    const ask = async (path: string, query = {}): Promise<string> => {
      const { status } = await owner.get(path, query);
      await measureTurns(); // Responses that the service sent earlier have arrived by then.
      return `${path} ${status}, after ${Math.min(seen.answers, 1)}`;
    };
    const paths = [
      '/requests',
      '/audit/verify',
      '/audit',
      '/usage',
      '/keys',
      '/orders/history?ORDER_NUMBER=1',
      '/stock/movements?PART_CODE=P',
      '/stock/waiting?PART_CODE=P',
      '/stock/serial?serial=S',
      '/records/changes?after=0&types=orders',
    ];
    const asked = [ask('/requests/single', { requestID: 'none-1' }), ...paths.map((path) => ask(path))];
    const expected = ['/requests/single 404, after 1', ...paths.map((path) => `${path} 200, after 1`)];
    assert.deepEqual(await Promise.all(asked), expected);
    for (const socket of sockets) socket.destroy();
  });

  test('a service that stops ends them after a second, and sends 503 SERVICE_BUSY to waiting callers', async () => {
    await service.stand();
    const sockets = await beginWorst(ABANDONED);
    const codes: string[] = [];
    const answering = sockets.map(async (socket) => {
      const [answer] = await readAnswers(socket);
      codes.push(answer?.body.code as string);
    });
    await until(async () => codes.length + (await measureTurns()) >= ABANDONED);
    process.kill(service.pid, 'SIGTERM');
    await service.said((output) => output.includes('Stopping'));
    await service.move(0); // The service drains for 0 ms.
    await service.move(STOPPING_MS - 1);
    for (let turn = 0; turn < 3; turn++) await service.move(0);
    assert.ok(!codes.includes('SERVICE_BUSY'));
    await service.move(1);
    await Promise.all(answering);
    const ended = codes.filter((code) => code === 'SERVICE_BUSY').length;
    assert.ok(ended > ABANDONED / 2, codes.join());
    assert.ok(new Set(codes).isSubsetOf(new Set(['QUERY_TOO_COSTLY', 'SERVICE_BUSY'])), codes.join());
    assert.equal(await service.stop(), 0);
  });
});
