/**
 * Nodes serve one PostgreSQL under load, while nodes are killed, PostgreSQL is stopped, connections are lost between a
 * commit and its answer, and keys are replaced. Nothing acknowledged is lost, no number is given twice, every answered
 * call is counted, repeating a write of unknown outcome with its key settles it, and replaced keys stop working
 * everywhere at once. STOREROOM_TEST_KILLS, _RESTARTS, _CUTS and _REPLACEMENTS set how often.
 */
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { times } from '../kit/lists.ts';
import { createOrder, getOrder } from '../kit/orders.ts';
import { PostgresServer, runStatement } from '../kit/postgres.ts';
import { Repeater } from '../kit/repeat.ts';
import { Service, type Answer, type Keys } from '../kit/service.ts';
import { trials } from '../kit/trials.ts';
import { HttpClient } from '../kit/http-client.ts';
import { until } from '../kit/wait.ts';
import { MixedLoad } from './mixed-load.ts';
import { PostgresProxy } from './postgres-proxy.ts';

const KILLS = trials('KILLS', { quick: 1, all: 3 });
const RESTARTS = trials('RESTARTS', { quick: 1, all: 1 });
const CUTS = trials('CUTS', { quick: 4, all: 10 });
const REPLACEMENTS = trials('REPLACEMENTS', { quick: 1, all: 3 });
const NODES = trials('NODES', { quick: 3, all: 5 });
const CONNECTIONS = trials('CONNECTIONS', { quick: 16, all: 64 });
/** Calls of each connection with the old keys after they were replaced. */
const AFTERWARDS = 5;
/** Maximum acknowledged writes, or answers, before a fault. */
const UNTIL_FAULT_MAX = 100;
/** Number of faults after which the store is checked. */
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

const anyCount = (): number => 1 + Math.floor(Math.random() * UNTIL_FAULT_MAX);

/** Counts statements that PostgreSQL has ended because they took too long: on a busy machine, calls may be refused. */
const countCanceled = (): number => server.log.match(/canceling statement due to \w+ timeout/g)?.length ?? 0;

/** Runs `work` while no time passes for the nodes. They then refuse no call because the machine is busy. */
async function whileTimeStands(work: () => Promise<void>): Promise<void> {
  await Promise.all(nodes.map((node) => node.stand()));
  try {
    await work();
  } finally {
    await Promise.all(nodes.map((node) => node.pass()));
  }
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
  commit: () => proxy.cutNext('commit'),
  statement: () => proxy.cutNext('statement'),
} as const satisfies Record<string, () => Promise<void>>;

suite(`${NODES} nodes over one PostgreSQL`, () => {
  test('that started at the same moment on an empty database all work with one schema', async () => {
    assert.equal((await runStatement(databaseUrl, 'SELECT * FROM storeroom."SCHEMA"')).length, 1);
    const keys = await nodes[0]!.makeTenant('shop');
    const repeater = new Repeater();
    const create = async (node: Service, index: number): Promise<string> => {
      const key = { 'idempotency-key': `first-${index}` };
      const { status, body, text } = await repeater.call(() => createOrder(node, keys, {}, key));
      assert.equal(status, 200, text);
      return body.data as string;
    };
    const numbers = await Promise.all(nodes.map(create));
    assert.equal(new Set(numbers).size, NODES);
    for (const node of nodes)
      for (const orderNum of numbers)
        assert.equal((await repeater.call(() => getOrder(node, keys, orderNum))).status, 200);
    assert.equal(await nodes[1]!.usageOf('shop'), repeater.counted);
  });

  test(`keys replaced ${REPLACEMENTS} times end at once, and every node accepts the new ones`, async (context) => {
    let keys = await nodes[0]!.makeTenant('replacing');
    const orderNum = (await createOrder(client, keys)).body.data as string;
    let inForce = 0;
    for (let replacement = 0; replacement < REPLACEMENTS; replacement++) {
      const replaced = keys;
      const state = { isReplaced: false, isOver: false };
      const [early, late]: [number[], number[]] = [[], []];
      const work = async (): Promise<void> => {
        while (!state.isOver) {
          const calls = state.isReplaced ? late : early;
          const { status, text } = await new Repeater().call(() => getOrder(client, replaced, orderNum));
          assert.ok(status === 200 || status === 401, text);
          calls.push(status);
        }
      };
      const working = Promise.all(times(CONNECTIONS, work)).finally(() => (state.isOver = true));
      const answers = anyCount();
      await until(() => early.length >= answers || state.isOver);
      const { code, json, stderr } = await nodes[0]!.command('keys', 'replace', 'replacing', '--json');
      state.isReplaced = true;
      assert.equal(code, 0, stderr);
      keys = json() as Keys;
      for (const node of nodes) {
        const { status, text } = await new Repeater().call(() => getOrder(node, keys, orderNum));
        assert.equal(status, 200, `the new keys on every node: ${text}`);
      }
      await until(() => late.length >= AFTERWARDS * CONNECTIONS || state.isOver);
      state.isOver = true;
      await working;
      const succeeded = late.filter((status) => status === 200).length;
      assert.equal(succeeded, 0, 'calls with the old keys that succeeded after they were replaced');
      inForce += early.filter((status) => status === 200).length;
    }
    context.diagnostic(`${inForce} calls with keys in force`);
    assert.ok(inForce > 0);
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
      const failing = (async (): Promise<void> => {
        for (const fault of faults.splice(0, CHECK_EVERY)) {
          if (isOver) return; // an answer was wrong
          await load.acknowledges(anyCount());
          await FAULTS[fault]();
        }
        await load.acknowledges(CONNECTIONS);
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

  test(`calls whose count is cut off after its commit succeed, and count once (${CUTS} cuts)`, async () => {
    const keys = await nodes[0]!.makeTenant('counted');
    const orderNum = (await createOrder(client, keys)).body.data as string;
    const repeater = new Repeater();
    const canceled = countCanceled();
    const state = { cuts: 0, isOver: false };
    /** Number of cuts when the current call of each reader began. */
    const begunAfter = new Map<number, number>();
    const send = async (): Promise<Answer> => {
      const answer = await getOrder(client, keys, orderNum);
      if (answer.status === 503 && countCanceled() === canceled) assert.equal(answer.status, 200);
      return answer;
    };
    const read = async (reader: number): Promise<void> => {
      while (!state.isOver) {
        begunAfter.set(reader, state.cuts);
        const { status, text } = await repeater.call(send);
        assert.equal(status, 200, text);
      }
    };
    const cut = async (): Promise<void> => {
      for (; state.cuts < CUTS; state.cuts++) {
        // A count is repeated only once, so the next cut must not hit the repetition.
        await until(() => begunAfter.values().every((cuts) => cuts === state.cuts) || state.isOver);
        await Promise.race([FAULTS.statement(), reading]);
      }
    };
    let reading: Promise<unknown> = Promise.resolve();
    const cutBefore = proxy.cuts.statement;
    await whileTimeStands(async () => {
      reading = Promise.all(times(CONNECTIONS, read)).finally(() => (state.isOver = true));
      await Promise.all([reading, cut().finally(() => (state.isOver = true))]);
    });
    assert.equal(proxy.cuts.statement - cutBefore, CUTS);
    const calls = 1 + repeater.counted;
    const counted = await nodes[0]!.usageOf('counted');
    assert.equal(counted, calls, `${counted} of ${calls} calls are counted`);
  });

  test('a write whose COMMIT has no response gets 503 and exists; its key replays it on any node', async () => {
    const keys = await nodes[0]!.makeTenant('repeating');
    const create = (node: Service, key: string) =>
      createOrder(node, keys, { REFERENCE_NUMBER: key }, { 'idempotency-key': key });
    await whileTimeStands(async () => {
      for (const [index, node] of nodes.entries()) {
        const cutting = FAULTS.commit();
        let answer = await create(node, `key-${index}`);
        // A busy database refuses the write before its COMMIT.
        while (answer.body.code === 'SERVICE_BUSY') answer = await create(node, `key-${index}`);
        const { status, body, headers, text } = answer;
        assert.equal(`${status} ${body.code} ${headers.get('retry-after')}`, '503 STORE_UNAVAILABLE 1', text);
        await cutting;
        const filters = [{ field: 'REFERENCE_NUMBER', value: `key-${index}` }];
        const find = () => node.call(keys, 'POST', '/orders/query', { body: filters });
        const [order] = (await new Repeater().call(find)).body.data;
        for (const other of nodes) {
          const again = await new Repeater().call(() => create(other, `key-${index}`));
          assert.deepEqual([again.status, again.body.data], [200, order.ORDER_NUMBER], again.text);
        }
      }
    });
    const all = await nodes[0]!.call(keys, 'POST', '/orders/query', { body: [] });
    assert.equal(all.body.data.length, nodes.length);
  });
});
