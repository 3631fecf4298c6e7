/**
 * Tests docs/nginx.conf: with a real nginx in front of three nodes on one PostgreSQL, the promises of
 * docs/several-nodes/balancer.md hold for nodes that die, hang or restart, for calls that are sent twice, and for
 * credentials in logs. Only `npm run test:balancer` runs this file, because `npm test` must not need nginx.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { untilAnswered } from '../faults/load-moments.ts';
import { HttpClient } from '../kit/http-client.ts';
import { times } from '../kit/lists.ts';
import { basicOf } from '../kit/operations.ts';
import { newDatabase } from '../kit/postgres.ts';
import { BASE_PATH, Service, type Answer, type Keys } from '../kit/service.ts';
import { until } from '../kit/wait.ts';
import { Nginx } from './nginx.ts';

const CONNECTIONS = 16;
/** Writes of the load before a change, and again after it. */
const WRITES = 30;

Nginx.assertInstalled();

let nodes: Service[] = [];
let nginx: Nginx;
let client: HttpClient;
let keys: Keys;
let references = 0;

const hostOf = ({ origin }: Service): string => new URL(origin).host;

before(async () => {
  const env = { STOREROOM_DRAIN_MS: '500' };
  nodes = await Service.startAll(3, { databaseUrl: await newDatabase(), keepsPort: true, env });
  keys = await nodes[0]!.makeTenant('shop');
  nginx = await Nginx.start(nodes.map(hostOf));
  client = await HttpClient.through(nginx, nodes[0]!, CONNECTIONS);
});
after(async () => {
  await nginx?.stop();
  for (const node of nodes) await node.stop('SIGKILL');
});

const newReference = (): string => `#${++references}`;
const getOrder = (orderNum = '1', headers: Record<string, string> = {}): Promise<Answer> =>
  client.call(keys, 'GET', '/orders/single', { query: { orderNum }, headers });
const findOrders = (reference: string): Promise<Answer> =>
  client.call(keys, 'POST', '/orders/query', { body: [{ field: 'REFERENCE_NUMBER', value: reference }] });
const createOrder = (reference: string, headers: Record<string, string> = {}, through = client): Promise<Answer> =>
  through.call(keys, 'PUT', '/orders/create', { body: { REFERENCE_NUMBER: reference }, headers });
const createWithKey = (reference: string): Promise<Answer> => createOrder(reference, { 'idempotency-key': reference });

async function countOrders(reference: string): Promise<number> {
  const { status, body, text } = await findOrders(reference);
  assert.equal(status, 200, text);
  return (body.data as unknown[]).length;
}

/** Checks that a call succeeded, or that a node returned 404: some reads here are of orders that do not exist. */
const assertAnswered = ({ status, text }: Answer): void =>
  assert.ok(status === 200 || status === 404, `${status} ${text}`);

/** Sends reads, queries and writes with an Idempotency-Key on every connection until `isOver`. No call may fail. */
async function loadNodes(written: string[], isOver: () => boolean): Promise<void> {
  const work = async (): Promise<void> => {
    for (let turn = 0; !isOver(); turn++) {
      const reference = newReference();
      assertAnswered(await [createWithKey, getOrder, findOrders][turn % 3]!(reference));
      if (turn % 3 === 0) written.push(reference);
    }
  };
  await Promise.all(times(CONNECTIONS, work));
}

/** Runs `change` under load that continues after it, then checks that every write took effect exactly once. */
async function assertNobodyNotices(change: () => Promise<void>): Promise<void> {
  let isOver = false;
  const written: string[] = [];
  const loading = loadNodes(written, () => isOver);
  const wrote = (count: number): Promise<void> => untilAnswered(client, loading, () => written.length >= count);
  try {
    await wrote(WRITES);
    await change();
    await wrote(written.length + WRITES);
  } finally {
    isOver = true;
  }
  await loading;
  for (const reference of written) assert.equal(await countOrders(reference), 1, reference);
}

/**
 * Waits until nginx sends calls to all three nodes again. After a failure, nginx leaves a node out for the
 * `fail_timeout` of the example, by its own clock. While it considers all nodes dead, it returns 503 itself.
 */
async function untilAllServe(): Promise<void> {
  await until(async () => {
    const known = nginx.readCalls().length;
    for (let index = 0; index < 12; index++) await getOrder();
    const calls = nginx.readCalls().slice(known);
    return new Set(calls.map(({ addresses }) => addresses.at(-1))).size === nodes.length;
  });
}

suite('three nodes behind the nginx of the example', () => {
  test('share the calls', async () => {
    const known = nginx.readCalls().length;
    for (let index = 0; index < 90; index++) assertAnswered(await getOrder());
    const counts = Map.groupBy(nginx.readCalls().slice(known), ({ addresses }) => addresses.join());
    assert.deepEqual(new Set(counts.keys()), new Set(nodes.map(hostOf)));
    for (const [address, calls] of counts) assert.ok(calls.length >= 20, `${address}: ${calls.length} of 90`);
  });

  test('a killed node fails no read and no write with an Idempotency-Key', async () => {
    const known = nginx.readCalls().length;
    await assertNobodyNotices(async () => void (await nodes[1]!.stop('SIGKILL')));
    const repeated = nginx
      .readCalls()
      .slice(known)
      .filter(({ addresses }) => addresses.length > 1);
    assert.ok(repeated.length > 0, 'no call met the dead node');
    await nodes[1]!.restart();
    await untilAllServe();
  });

  test('a node that hangs: a write without Idempotency-Key is never sent twice, one with it written once', async () => {
    process.kill(nodes[2]!.pid, 'SIGSTOP');
    const [bare, keyed] = [times(12, newReference), times(12, newReference)];
    const wide = await HttpClient.through(nginx, nodes[0]!, 24);
    const create = async (reference: string, headers?: Record<string, string>) => ({
      reference,
      ...(await createOrder(reference, headers, wide)),
    });
    const answering = bare.map((reference) => create(reference));
    const repeating = keyed.map((reference) => create(reference, { 'idempotency-key': reference }));
    const [answers, repeated] = await Promise.all([Promise.all(answering), Promise.all(repeating)]).finally(() =>
      process.kill(nodes[2]!.pid, 'SIGCONT'),
    );
    await untilAllServe();

    for (const { reference, status, text } of repeated) assert.equal(status, 200, `${reference}: ${text}`);
    for (const reference of keyed) assert.equal(await countOrders(reference), 1, reference);
    let late = 0;
    for (const { reference, status, body } of answers) {
      const count = await countOrders(reference);
      if (status === 200) assert.equal(count, 1, reference);
      else assert.equal(body.code, 'SERVICE_BUSY', reference);
      assert.ok(count <= 1, `${reference} was written ${count} times`);
      if (status !== 200 && count === 1) late++;
    }
    assert.ok(late > 0, 'no unanswered write was carried out after all: a second one would not have been seen');
  });

  test('restarted one after the other under load: no read and no write with an Idempotency-Key fails', async () => {
    await assertNobodyNotices(async () => {
      for (const node of nodes) {
        assert.equal(await node.stop(), 0);
        await node.restart();
        await untilAllServe();
      }
    });
  });

  test('restarted after nginx stopped using them: writes without Idempotency-Key succeed too', async () => {
    const [node] = nodes as [Service];
    // A reload closes idle connections, which callers must expect anyway. Here each call has its own connection.
    const single = await HttpClient.through(nginx, nodes[1]!);
    const written: string[] = [];
    const over = new AbortController();
    const work = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const reference = newReference();
        const { status, text } = await createOrder(reference, {}, single);
        assert.equal(status, 200, text);
        written.push(reference);
      }
    };
    const working = Promise.all(times(4, work)).then(() => undefined);
    const wrote = (count: number): Promise<void> => untilAnswered(single, working, () => written.length >= count);
    await wrote(WRITES);
    await nginx.takeOut(hostOf(node));
    assert.equal(await node.stop(), 0);
    await node.restart();
    await nginx.takeOut();
    await wrote(written.length + WRITES);
    over.abort();
    await working;
    for (const reference of written) assert.equal(await countOrders(reference), 1, reference);
    await untilAllServe();
  });

  test('the service refuses requests that are too large, and nginx does not', async () => {
    const long = await getOrder('x'.repeat(9000));
    assert.equal(long.body.code, 'URL_TOO_LONG');
    const large = await client.call(keys, 'PUT', '/orders/create', { body: { NOTES: 'x'.repeat(300 * 1024) } });
    assert.equal(large.body.code, 'BODY_TOO_LARGE');
    const headers = await getOrder('1', { 'x-long': 'x'.repeat(9000) });
    assert.equal(headers.body.code, 'HEADERS_TOO_LARGE');
  });

  test('no failure writes a credential into a log', async () => {
    const { teamID, apiID, apiSecret } = keys;
    const inQuery = { query: { teamID, apiID, apiSecret, orderNum: '1' } };
    const callAll = async (): Promise<number[]> => {
      const answers = [
        await client.request('GET', '/orders/single', inQuery),
        await client.request('PUT', '/orders/create', { body: { ...keys, REFERENCE_NUMBER: newReference() } }),
        await client.request('PUT', '/orders/create', { ...inQuery, body: {} }),
        await client.request('GET', '/no/such/path', inQuery),
        await getOrder('x'.repeat(9000)),
      ];
      return answers.map(({ status }) => status);
    };
    await callAll();
    process.kill(nodes[0]!.pid, 'SIGSTOP');
    await Promise.all([callAll(), callAll()]);
    process.kill(nodes[0]!.pid, 'SIGCONT');
    for (const node of nodes) await node.stop('SIGKILL');
    for (const status of [...(await callAll()), ...(await callAll())]) assert.equal(status, 503);

    const logs = nginx.readLogs();
    const half = apiSecret.slice(0, apiSecret.length / 2);
    for (const secret of [apiID, apiSecret, half, basicOf(keys).slice('Basic '.length)])
      assert.ok(!logs.includes(secret), `a log has ${secret === apiID ? 'the ID' : 'the secret, or a part of it'}`);
    assert.ok(logs.includes(`"GET ${BASE_PATH}/orders/single" 503`), 'the calls are in the log');
    for (const node of nodes) await node.restart();
    await untilAllServe();
  });
});
