/**
 * Nodes over one PostgreSQL under load, while nodes are killed, PostgreSQL is stopped, connections are lost between a
 * commit and its answer, and keys are replaced: nothing acknowledged is lost, no number is given twice, every answered
 * call is counted, a write of unknown outcome is settled by repeating it with its key, and replaced keys end everywhere
 * at once. How often: STOREROOM_TEST_KILLS, _RESTARTS, _CUTS and _REPLACEMENTS.
 */
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { times } from '../kit/lists.ts';
import { createOrder, getOrder } from '../kit/orders.ts';
import { PostgresServer, runStatement } from '../kit/postgres.ts';
import { Service, type Keys } from '../kit/service.ts';
import { trials } from '../kit/trials.ts';
import { HttpClient } from '../kit/http-client.ts';
import { MixedLoad } from './mixed-load.ts';
import { PostgresProxy } from './postgres-proxy.ts';

const KILLS = trials('KILLS', { quick: 1, all: 3 });
const RESTARTS = trials('RESTARTS', { quick: 1, all: 1 });
const CUTS = trials('CUTS', { quick: 4, all: 10 });
const REPLACEMENTS = trials('REPLACEMENTS', { quick: 1, all: 3 });
const NODES = trials('NODES', { quick: 3, all: 5 });
const CONNECTIONS = trials('CONNECTIONS', { quick: 16, all: 64 });
/** How long the old keys are tried on after they were replaced. */
const AFTERWARDS_MS = 300;
/** Within which something has to happen that happens many times a second. */
const SOON_MS = 20_000;
/** What a node may answer on a busy machine. It says nothing about keys and records. */
const BUSY = 503;
const BUSY_TRIES = 10;
/** The store is checked after as many faults. */
const CHECK_EVERY = 35;

const server = await PostgresServer.start();
const databaseUrl = await server.newDatabase();
const proxy = await PostgresProxy.open(databaseUrl);
const nodes = await Service.startAll(NODES, { databaseUrl: proxy.url });
after(async () => {
  await Promise.all(nodes.map((node) => node.stop('SIGKILL')));
  proxy.close();
  await server.remove();
});
const client = await HttpClient.open(nodes, CONNECTIONS);

function shuffle<T>(list: readonly T[]): T[] {
  const placed = list.map((one) => ({ one, place: Math.random() }));
  return placed.toSorted((a, b) => a.place - b.place).map(({ one }) => one);
}

/** Fails when it does not happen soon. */
async function soon<T>(what: string, happening: Promise<T>): Promise<T> {
  const stop = new AbortController();
  const late = sleep(SOON_MS, undefined, { signal: stop.signal }).then(() =>
    assert.fail(`${what} did not happen within ${SOON_MS} ms`),
  );
  try {
    return await Promise.race([happening, late]);
  } finally {
    late.catch(() => undefined);
    stop.abort();
  }
}

async function untilAcknowledged(load: MixedLoad, isOver: () => boolean): Promise<void> {
  const { acknowledged } = load;
  while (load.acknowledged === acknowledged && !isOver()) await sleep(10);
}

const FAULTS = {
  kill: async (): Promise<void> => {
    const node = nodes[Math.floor(Math.random() * NODES)]!;
    assert.equal(await node.stop('SIGKILL'), null, 'a node ended before it was killed');
    await node.restart();
  },
  restart: async (): Promise<void> => {
    await server.stop('immediate');
    await server.restart();
  },
  commit: () => soon('a COMMIT', proxy.cutNext('commit')),
  statement: () => soon('a statement that commits by itself', proxy.cutNext('statement')),
} as const satisfies Record<string, () => Promise<void>>;

/** A read whose answer says that the node is not too busy for it. */
async function getOrderInTime(node: Service, keys: Keys, orderNum: string) {
  for (let tries = 1; ; tries++) {
    const answer = await getOrder(node, keys, orderNum);
    if (answer.status !== BUSY || tries === BUSY_TRIES) return answer;
  }
}

/** Calls with these keys from all connections until told to stop; when each began and how it was answered. */
async function callUntil(stop: AbortSignal, keys: Keys, orderNum: string) {
  const calls: { begunAt: number; status: number }[] = [];
  const work = async (): Promise<void> => {
    while (!stop.aborted) {
      const begunAt = performance.now();
      const { status, text } = await getOrder(client, keys, orderNum);
      assert.ok(status === 200 || status === 401 || status === BUSY, text);
      calls.push({ begunAt, status });
    }
  };
  await Promise.all(times(CONNECTIONS, work));
  return calls;
}

suite(`${NODES} nodes over one PostgreSQL`, () => {
  test('that started at the same moment on an empty database are all up, over one schema', async () => {
    assert.equal((await runStatement(databaseUrl, 'SELECT * FROM storeroom."SCHEMA"')).length, 1);
    const keys = await nodes[0]!.makeTenant('shop');
    let refused = 0;
    // On a busy machine a database that has just been made may be too slow for the first call of a node.
    const create = async (node: Service): Promise<string> => {
      const { status, body, text } = await createOrder(node, keys);
      if (status !== 503 || ++refused > NODES) assert.equal(status, 200, text);
      return status === 200 ? (body.data as string) : create(node);
    };
    const numbers = await Promise.all(nodes.map(create));
    assert.equal(new Set(numbers).size, NODES);
    for (const node of nodes)
      for (const orderNum of numbers) assert.equal((await getOrder(node, keys, orderNum)).status, 200);
    const calls = await nodes[1]!.usageOf('shop');
    const answered = NODES + NODES ** 2;
    assert.ok(calls >= answered && calls <= answered + refused, `${calls} calls counted`);
  });

  test(`keys replaced ${REPLACEMENTS} times end at once, and the new ones are good on every node`, async (context) => {
    let keys = await nodes[0]!.makeTenant('replacing');
    const orderNum = (await createOrder(client, keys)).body.data as string;
    let inForce = 0;
    let afterwards = 0;
    for (let replacement = 0; replacement < REPLACEMENTS; replacement++) {
      const stop = new AbortController();
      const calling = callUntil(stop.signal, keys, orderNum);
      await sleep(Math.random() * 100);
      const { code, json, stderr } = await nodes[0]!.command('keys', 'replace', 'replacing', '--json');
      const replacedAt = performance.now();
      assert.equal(code, 0, stderr);
      const renewed = json() as Keys;
      const answers = await Promise.all(nodes.map((node) => getOrderInTime(node, renewed, orderNum)));
      for (const { status, text } of answers) assert.equal(status, 200, `the new keys on every node: ${text}`);
      await sleep(AFTERWARDS_MS);
      stop.abort();
      const calls = await calling;
      const late = calls.filter(({ begunAt }) => begunAt >= replacedAt);
      const succeeded = late.filter(({ status }) => status === 200);
      assert.deepEqual(succeeded, [], 'calls with the old keys that succeeded after they were replaced');
      inForce += calls.filter(({ status }) => status === 200).length;
      afterwards += late.filter(({ status }) => status === 401).length;
      keys = renewed;
    }
    context.diagnostic(`${inForce} calls with keys in force, ${afterwards} after they were replaced`);
    assert.ok(inForce > 0 && afterwards >= REPLACEMENTS * CONNECTIONS, 'there were calls on both sides');
  });

  test(`${KILLS} kills, ${RESTARTS} restarts, ${CUTS} cuts: nothing is lost or doubled`, async (context) => {
    const load = await MixedLoad.open(client, nodes[0]!);
    const half = Math.floor(CUTS / 2);
    const counts = { kill: KILLS, restart: RESTARTS, commit: CUTS - half, statement: half };
    const names = Object.entries(counts) as [keyof typeof FAULTS, number][];
    const faults = shuffle(names.flatMap(([name, count]) => times(count, () => name)));
    while (faults.length > 0) {
      let isOver = false;
      const working = load.run(CONNECTIONS, () => isOver).finally(() => (isOver = true));
      const acknowledge = () =>
        soon(
          'an acknowledged write',
          untilAcknowledged(load, () => isOver),
        );
      const failing = (async (): Promise<void> => {
        for (const fault of faults.splice(0, CHECK_EVERY)) {
          if (isOver) return; // an answer was wrong
          await acknowledge();
          await sleep(Math.random() * 200);
          await FAULTS[fault]();
        }
        await acknowledge();
      })().finally(() => (isOver = true));
      await Promise.all([working, failing]);
      await load.repeatUnanswered();
      await load.check(nodes[0]!);
    }
    const { commit, statement } = proxy.cuts;
    context.diagnostic(`${load.acknowledged} acknowledged writes, ${load.unanswered} calls unanswered`);
    context.diagnostic(`${JSON.stringify([...load.statuses])}; cut after ${commit} COMMIT and ${statement} statements`);
    assert.deepEqual({ commit, statement }, { commit: counts.commit, statement: counts.statement });
    const expected = new Set([200, 400, 401, 409, '503 STORE_UNAVAILABLE', '503 SERVICE_BUSY']);
    assert.deepEqual(new Set(load.statuses.keys()).difference(expected), new Set(), 'no other answers than these');
  });

  test(`calls whose count is cut off after its commit are answered, and counted once (${CUTS} cuts)`, async () => {
    const keys = await nodes[0]!.makeTenant('counted');
    const orderNum = (await createOrder(client, keys)).body.data as string;
    const stop = new AbortController();
    const begun = new Map<number, number>();
    let calls = 1;
    // A busy node may refuse a call before it is counted, or afterwards. A lost connection it calls by another name.
    let busy = 0;
    const read = async (reader: number): Promise<void> => {
      while (!stop.signal.aborted) {
        begun.set(reader, performance.now());
        const { status, body, text } = await getOrder(client, keys, orderNum);
        if (body.code === 'SERVICE_BUSY') busy++;
        else assert.equal(status, 200, text);
        calls++;
      }
    };
    const cutBefore = proxy.cuts.statement;
    const cutting = (async (): Promise<void> => {
      for (let cut = 0; cut < CUTS; cut++) {
        await FAULTS.statement();
        // A count is repeated once: the next cut must not hit the repetition.
        const cutAt = performance.now();
        while (begun.values().some((at) => at <= cutAt) && !stop.signal.aborted) await sleep(5);
      }
    })();
    const reading = times(CONNECTIONS, read);
    try {
      await Promise.race([cutting, Promise.all(reading)]);
    } finally {
      stop.abort();
    }
    await Promise.all([cutting, ...reading]);
    assert.equal(proxy.cuts.statement - cutBefore, CUTS);
    const counted = await nodes[0]!.usageOf('counted');
    assert.ok(busy <= calls / 10, `${busy} of ${calls} calls were refused`);
    assert.ok(
      counted <= calls && counted >= calls - busy,
      `${counted} of ${calls} calls are counted, ${busy} were refused`,
    );
  });

  test('a write whose COMMIT has no answer is answered 503 and is there; its key repeats it on any node', async () => {
    const keys = await nodes[0]!.makeTenant('repeating');
    const create = (node: Service, key: string) =>
      createOrder(node, keys, { REFERENCE_NUMBER: key }, { 'idempotency-key': key });
    for (const [index, node] of nodes.entries()) {
      const cutting = FAULTS.commit();
      const { status, body, headers } = await create(node, `key-${index}`);
      await cutting;
      assert.equal(`${status} ${body.code} ${headers.get('retry-after')}`, '503 STORE_UNAVAILABLE 1');
      const found = await node.call(keys, 'POST', '/orders/query', {
        body: [{ field: 'REFERENCE_NUMBER', value: `key-${index}` }],
      });
      const [order] = found.body.data;
      for (const other of nodes) {
        const again = await create(other, `key-${index}`);
        assert.deepEqual([again.status, again.body.data], [200, order.ORDER_NUMBER], again.text);
      }
    }
    const all = await nodes[0]!.call(keys, 'POST', '/orders/query', { body: [] });
    assert.equal(all.body.data.length, nodes.length);
  });
});
